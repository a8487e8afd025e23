"""Tables of synonyms: from texts, vectors and tables; what is wrong with a file is said with its line."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from muattack.attack.synonyms import build_synonyms, corpus_vectors, nearest, read_antonyms, read_vectors, words_of
from muattack.attack.tables import read_neighbours
from muattack.errors import InputError

# "dog" and "hound", "red" and "crimson" stand in the same places.
TEXTS = [
    f"a {colour} {animal} {verb} on the {place}"
    for colour in ("red", "crimson", "tall", "old")
    for animal in ("dog", "hound")
    for verb in ("sits", "sleeps", "barks")
    for place in ("street", "beach", "table")
] + [
    f"the {number} trains of {city} were late {when}"
    for number in ("two", "nine")
    for city in ("Paris", "Rome")
    for when in ("today", "again", "twice")
]
CORPUS = {"source": "corpus", "min_cosine": 0.5}


def build(tmp_path, settings, name="out.json", **other):
    arguments = {"path": None, "texts": None, "words": None, "k_max": 5, "antonyms": None, "seed": 1, **other}
    facts = build_synonyms(settings, out=tmp_path / name, **arguments)
    return facts, json.loads((tmp_path / name).read_text(encoding="utf-8"))


def test_words_of_like_contexts_are_neighbours(tmp_path):
    facts, table = build(tmp_path, CORPUS, texts=TEXTS)
    assert table["dog"][0][0] == "hound"
    assert table["dog"][0][1] > 0.9
    assert all(len(near) <= 5 and word not in dict(near) for word, near in table.items())
    assert all(cosine >= 0.5 for near in table.values() for _, cosine in near)
    assert facts["words"] == len(table)
    assert read_neighbours(tmp_path / "out.json")["dog"][0] == "hound"


def test_only_wanted_words_get_an_entry(tmp_path):
    _, table = build(tmp_path, CORPUS, texts=TEXTS, words=["Dog", "unheard"])
    assert list(table) == ["dog"]
    assert words_of(["A well-known Dog, don't"]) == ["a", "dog", "don't", "well-known"]


@pytest.mark.slow
def test_no_hash_seed_and_no_number_of_threads_changes_a_byte(tmp_path):
    settings = {"source": "corpus", "min_cosine": 0.1}
    build(tmp_path, settings, "here.json", texts=TEXTS, k_max=9)
    code = (
        "import json, sys; from muattack.attack.synonyms import build_synonyms; "
        f"build_synonyms({settings}, None, json.load(open(sys.argv[1])), None, 9, None, 1, sys.argv[2])"
    )
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    environment = {**os.environ, "PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "texts.json"), str(tmp_path / "there.json")], check=True, env=environment)
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()


def test_vectors_of_the_corpus_are_those_of_a_dense_decomposition():
    # Positive pointwise mutual information by hand, and NumPy's decomposition.
    vocabulary, vectors = corpus_vectors(TEXTS, 1)
    ids = {word: i for i, word in enumerate(vocabulary)}
    counts = np.zeros((len(ids), len(ids)))
    for text in TEXTS:
        words = text.lower().split()
        for i, word in enumerate(words):
            for other in words[max(i - 4, 0) : i] + words[i + 1 : i + 5]:
                if word in ids and other in ids:
                    counts[ids[word], ids[other]] += 1
    seen = counts.sum(1)
    context = seen**0.75 / (seen**0.75).sum()
    with np.errstate(divide="ignore"):
        positive = np.maximum(np.log(counts / seen[:, None] / context[None, :]), 0)
    left, values, _ = np.linalg.svd(positive)
    width = vectors.shape[1]
    dense = left[:, :width] * np.sqrt(values[:width])
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    assert np.allclose(vectors @ vectors.T, dense @ dense.T, atol=1e-4)


def test_a_file_of_vectors(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("4 2\nGood 1 0\nfine 0.9 0.1\nbad 0.8 -0.1\nfar 0 1\ngood 0 7\n")
    vocabulary, vectors = read_vectors(path)
    assert vocabulary == ["good", "fine", "bad", "far"]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    settings = {"source": "vectors", "min_cosine": 0.5}
    _, table = build(tmp_path, settings, path=path, words=["good"])
    assert [word for word, _ in table["good"]] == ["fine", "bad"]
    (tmp_path / "ant.txt").write_text("good bad\n\n")
    _, table = build(tmp_path, settings, path=path, words=["good"], antonyms=tmp_path / "ant.txt")
    assert [word for word, _ in table["good"]] == ["fine"]
    _, table = build(tmp_path, settings, path=path, k_max=1)
    assert {word: near[0][0] for word, near in table.items()} == {"good": "fine", "fine": "good", "bad": "good"}


def test_nearest_is_the_order_of_all_cosines():
    vectors = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    names = [f"w{i}" for i in range(60)]
    found = nearest(names, vectors, ["w7"], 10, -1)["w7"]
    order = np.argsort(-np.round(vectors[7] @ vectors.T, 4), kind="stable")
    assert [word for word, _ in found] == [names[i] for i in order if i != 7][:10]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a 1 2\nb 1 2 3\n", "Line 2 .* has 3 numbers behind its word, but the first row has 2"),
        ("a 1 2\nb 1\n", "Line 2 .* has 1 numbers"),
        ("a 1 2\n\n", "Line 2"),
        ("a 1 x\n", "Line 1 .*no finite number"),
        ("a 1 nan\n", "Line 1 .*no finite number"),
        ("", "holds no vector"),
    ],
)
def test_ragged_vectors_are_refused_with_the_line(tmp_path, text, match):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=match):
        build(tmp_path, {"source": "vectors", "min_cosine": 0.5}, path=tmp_path / "v.txt")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[1]", "is a list, but must be an object"),
        ('{"dog": "hound"}', "entry 'dog' is \"hound\", but must be a list"),
        ('{"dog": [["hound"]]}', "pairs"),
        ('{"dog": [1]}', "pairs"),
        ("{", "not JSON"),
    ],
)
def test_a_table_of_the_wrong_shape_is_refused(tmp_path, text, match):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InputError, match=match):
        build(tmp_path, {"source": "neighbours", "min_cosine": 0.5}, path=tmp_path / "t.json")


def test_a_table_as_it_is(tmp_path):
    (tmp_path / "t.json").write_text('{"Dog": ["hound", "dog", "hound", ""], "cat": [], "bus": [["coach", 0.9]]}')
    _, table = build(tmp_path, {"source": "neighbours", "min_cosine": 0.5}, path=tmp_path / "t.json")
    assert table == {"bus": [["coach", None]], "dog": [["hound", None]]}


def test_other_input_that_cannot_be_used(tmp_path):
    for settings, other, match in (
        ({"source": "corpus", "min_cosine": 0.5}, {"texts": []}, "no training texts"),
        ({"source": "corpus", "min_cosine": 0.5}, {"texts": ["one two"]}, "too few for synonyms"),
        ({"source": "vectors", "min_cosine": 0.5}, {}, "needs a file"),
        ({"source": "vectors", "min_cosine": 0.5}, {"path": tmp_path / "none"}, "does not exist"),
        ({"source": "neighbours", "min_cosine": 0.5}, {"path": tmp_path / "none"}, "does not exist"),
        ({"source": "wordnet", "min_cosine": 0.5}, {}, "must be one of corpus, vectors, neighbours"),
    ):
        with pytest.raises(InputError, match=match):
            build(tmp_path, settings, **other)
    (tmp_path / "a.txt").write_text("good bad\nbig\n")
    with pytest.raises(InputError, match=r"Line 2 .* has 1 words"):
        read_antonyms(tmp_path / "a.txt")


@pytest.mark.data
@pytest.mark.slow
def test_the_counter_fitted_table_as_it_lies(tmp_path, data):
    path = data / "words" / "counterfitted_neighbors.json"
    facts, table = build(tmp_path, {"source": "neighbours", "min_cosine": 0.5}, path=path, k_max=50)
    assert facts["words"] == sum(bool(near) for near in json.loads(path.read_text(encoding="utf-8")).values())
    assert [word for word, _ in table["the"]] == ["du", "to", "de", "nova"]
