"""The scripts of human-written perturbations on a few rows, from texts to tables, figure and judging page."""

import json
import zlib

import pandas as pd
import pytest

from muattack.config import check_config, overlay, read_config
from muattack.judge.page import FORMAT, VERSION, batch_name, tasks
from muattack.mutate.human import classify
from muattack.records import read_meta, read_records, write_records

# Two scorers: one that knows silly and lousy as they are spelt, and one behind a normaliser.
CONFIG = {
    "noisyhate": {
        "source": "captions",
        "proxy": "speller",
        "classifiers": {"speller": {"function": "my_scorer:score"}, "folded": {"function": "my_scorer:score", "normaliser": "look-alikes"}},
        "normalisers": ["confusables", "look-alikes"],
        "judging": {"pairs": 4},
    },
    "evaluate": {"bootstrap": 20},
}
SCORER = "def score(texts):\n    return [min(0.9, 0.1 + 0.4 * sum(text.split().count(word) for word in ('silly', 'lousy'))) for text in texts]\n"
FORMS = {"silly": ["s1lly", "sillyyy", "SiLLy"], "lousy": ["l0usy", "lusy"]}


@pytest.fixture
def config():
    return check_config(overlay(read_config(), CONFIG))


@pytest.fixture
def captions(tmp_path, monkeypatch):
    """Machine captions, one of them twice but for its signs, one with a word that is none; captions of people and of the other captioner."""
    (tmp_path / "my_scorer.py").write_text(SCORER)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "forms.json").write_text(json.dumps(FORMS))
    texts = [
        "A silly dog!",
        "a silly dog",
        "a lousy plan at 10 o'clock",
        "a silly qwrtz",
        "a boy on a field",
        "two silly lousy people",
        "that silly boy",
    ]
    rows = [("machine", text, 1) for text in texts] + [("human", "a silly cat", 0), ("machine_ood", "a silly horse", 1)]
    frame = pd.DataFrame(rows, columns=["source", "text", "label"]).astype({"label": "int8"})
    frame = frame.assign(id=[f"c{row}" for row in range(len(rows))], image_id=[str(row) for row in range(len(rows))], split="test")
    write_records(tmp_path / "captions.parquet", frame, {})
    return "captions.parquet"


def clean(run, captions, negatives=False, english=()):
    made = {"texts": "clean.parquet", "csv": "cleaning.csv", "md": "cleaning.md"}
    params = {"source": "captions", "positive": "machine", "label": 1, "negatives": negatives, "seed": 1}
    done = run("clean_posts", input={"texts": captions, "english": list(english)}, output=made, params=params)
    assert done.returncode == 0, done.stderr


def perturb(run, config, proxy=True, forms="forms.json"):
    made = {"texts": "perturbed.parquet", "pairs": "pairs.parquet", "csv": "perturbing.csv", "md": "perturbing.md"}
    opened = json.dumps({"spec": "my_scorer:score", "labels": None, "positive": None}) if proxy else ""
    params = {"proxy": opened, "name": "speller" if proxy else "", "config": json.dumps(config), "threads": 1}
    return run("perturb_posts", input={"texts": "clean.parquet", "forms": forms, "proxy": []}, output=made, params=params)


def test_texts_are_cleaned_and_their_most_important_word_is_perturbed(run, config, captions, tmp_path):
    clean(run, captions)
    cleaned = read_records(tmp_path / "clean.parquet")
    assert cleaned["text"].tolist() == ["a silly dog", "a lousy plan at oclock", "a boy on a field", "two silly lousy people", "that silly boy"]
    steps = pd.read_csv(tmp_path / "cleaning.csv").set_index("step")
    assert steps.loc["duplicates after cleaning", ["rows_in", "rows_out"]].tolist() == [7, 6]
    assert steps.loc["non-English words", ["rows_in", "rows_out"]].tolist() == [6, 5]
    assert "5 of 7 are left" in (tmp_path / "cleaning.md").read_text()

    done = perturb(run, config)
    assert done.returncode == 0, done.stderr
    perturbed, pairs = read_records(tmp_path / "perturbed.parquet"), read_records(tmp_path / "pairs.parquet")
    assert perturbed["original"].tolist() == cleaned["text"].tolist()
    # Without "a", "boy" or "field" the score stays as it is.
    assert perturbed.set_index("original").loc["a boy on a field", ["text", "form"]].tolist() == ["a boy on a field", ""]
    assert len(pairs) == 4
    for pair in pairs.itertuples():
        assert pair.form in FORMS[pair.word]
        assert pair.clean[pair.start : pair.end] == pair.word == pair.clean.split()[pair.place]
        assert pair.perturbed == pair.clean[: pair.start] + pair.form + pair.clean[pair.end :]
        assert pair.type == classify(pair.word, pair.form)
        assert (pair.label, round(pair.importance, 9)) == (1, 0.4)
    draws = pd.read_csv(tmp_path / "perturbing.csv")
    assert len(draws) == 10
    assert draws["entropy"][draws["kept"]].tolist() == [draws["entropy"].max()]
    assert read_meta(tmp_path / "perturbed.parquet")["proxy"] == "speller"
    page = (tmp_path / "perturbing.md").read_text()
    assert "Of 5 texts 4 changed (2 distinct words)" in page
    assert "<del>silly</del>" in page

    # Other words count as English, and other classes come along.
    (tmp_path / "words.txt").write_text("a\nsilly\ncat\nqwrtz\n")
    clean(run, captions, True, ["words.txt"])
    cleaned = read_records(tmp_path / "clean.parquet")
    assert list(zip(cleaned["text"], cleaned["label"], strict=True)) == [("a silly qwrtz", 1), ("a silly cat", 0)]
    assert perturb(run, config, proxy=False).returncode == 0
    assert read_records(tmp_path / "pairs.parquet")["label"].tolist() == [1, 0]

    (tmp_path / "none.json").write_text('{"green": ["gr33n"]}')
    done = perturb(run, config, forms="none.json")
    assert done.returncode == 1
    assert "No text was perturbed: no word of the text has a known perturbation (2 of 2)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_lookup_from_a_corpus(run, tmp_path):
    (tmp_path / "corpus.txt").write_text("a silly dog\nsuch a s1lly, SILLY dog\nhow siLLyyy\na sally\n")
    entry = json.dumps({"corpus": ["corpus.txt"]})
    done = run("build_lookup", input={"files": ["corpus.txt"]}, output=["forms.json"], params={"perturbations": entry, "data": "."})
    assert done.returncode == 0, done.stderr
    # Capitals alone are ordinary, and sally is another word.
    assert json.loads((tmp_path / "forms.json").read_text()) == {"silly": ["s1lly", "siLLyyy"]}
    done = run("build_lookup", input={"files": []}, output=["demo.json"], params={"perturbations": '"demo"', "data": "."})
    assert done.returncode == 0, done.stderr
    assert "sillyyy" in json.loads((tmp_path / "demo.json").read_text())["silly"]


PAIRS = [
    ("a silly dog", "a $illy dog", "silly", "$illy"),
    ("a lousy plan", "a l0usy plan", "lousy", "l0usy"),
    ("that silly boy", "that sillyyy boy", "silly", "sillyyy"),
    ("two lousy men", "two lusy men", "lousy", "lusy"),
]


@pytest.fixture
def pairs(run, captions, tmp_path):
    """Four pairs, read from a file as people publish them."""
    lines = ["clean_version,perturbed_version,quality_mean", *(f"{one},{other},4.0" for one, other, *_ in PAIRS)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    columns = json.dumps({"clean": "clean_version", "perturbed": "perturbed_version"})
    done = run("read_pairs", input={"pairs": ["pairs.csv"]}, output=["pairs.parquet"], params={"columns": columns})
    assert done.returncode == 0, done.stderr
    found = read_records(tmp_path / "pairs.parquet")
    assert list(found[["clean", "perturbed", "word", "form"]].itertuples(index=False, name=None)) == PAIRS
    assert found["label"].tolist() == [1] * 4
    return "pairs.parquet"


def test_normalisers_and_classifiers_of_pairs(run, config, pairs, tmp_path):
    for name in config["noisyhate"]["normalisers"]:
        done = run("restore_pairs", input={"pairs": pairs, "module": []}, output=[f"{name}.parquet"], params={"normaliser": json.dumps(name)})
        assert done.returncode == 0, done.stderr
    made = {"csv": "normalisers.csv", "md": "normalisers.md"}
    restored = ["confusables.parquet", "look-alikes.parquet"]
    done = run("write_normaliser_table", input={"restored": restored}, output=made, params={"config": json.dumps(config)})
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "normalisers.csv").set_index(["normaliser", "type"])
    # Digits for letters are no confusables of Unicode's; repeated and lost letters are none of either's.
    assert table.loc[("confusables", "overall"), ["n", "words", "value"]].tolist() == [4, 2, 0]
    assert table.loc[("look-alikes", "SpecialChar"), ["n", "words", "value"]].tolist() == [2, 2, 1]
    # These are not the published pairs.
    assert table["published"].isna().all()
    page = (tmp_path / "normalisers.md").read_text()
    assert "published" not in page.lower()
    assert "n = 4 pairs" in page

    for name, entry in config["noisyhate"]["classifiers"].items():
        params = {
            "classifier": json.dumps({"spec": entry["function"], "labels": None, "positive": None}),
            "normaliser": entry.get("normaliser", ""),
            "threads": 1,
        }
        done = run("score_pairs", input={"pairs": pairs, "classifier": []}, output=[f"{name}.scores"], params=params, wildcards={"scorer": name})
        assert done.returncode == 0, done.stderr
    assert read_records(tmp_path / "speller.scores")["perturbed"].tolist() == [0.1] * 4
    assert read_records(tmp_path / "folded.scores")["perturbed"].tolist() == [0.5, 0.5, 0.1, 0.1]

    made = {
        "thresholds": "thresholds.csv",
        "areas": "areas.csv",
        "recall": "recall.csv",
        "thresholds_md": "thresholds.md",
        "recall_md": "recall.md",
    }
    lower = overlay(config, {"noisyhate": {"recall_at": 0.4}})
    given = {"scores": ["speller.scores", "folded.scores"]}
    params = {"scorers": json.dumps(["speller", "folded"]), "config": json.dumps(lower)}
    done = run("write_threshold_tables", input=given, output=made, params=params)
    assert done.returncode == 0, done.stderr
    areas = pd.read_csv(tmp_path / "areas.csv").set_index(["classifier", "measure"])["value"]
    assert areas["speller"].tolist() == pytest.approx([0.5, 0.1, 0.4])
    assert areas["folded"].tolist() == pytest.approx([0.5, 0.3, 0.2])
    recall = pd.read_csv(tmp_path / "recall.csv").set_index(["classifier", "type", "version"])["value"].sort_index()
    assert recall["folded", "SpecialChar"].tolist() == [1, 1]
    assert recall["folded", "overall"].tolist() == [1, 0.5]
    assert "behind the normaliser look-alikes" in (tmp_path / "recall.md").read_text()
    assert "0.4000 [" in (tmp_path / "thresholds.md").read_text()

    drawn = {"png": "t.png", "svg": "t.svg"}
    done = run("plot_thresholds", input={"curves": "thresholds.csv", "areas": "areas.csv"}, output=drawn, params={"confidence": 0.95})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t.png").stat().st_size > 10_000
    assert "AUC_diff 0.2000" in (tmp_path / "t.svg").read_text()


def answers(path, batch, worker, qualities, missed=()):
    """Write a file as the page does."""
    rows = [
        {"pair": task.id, "word": task.place + (task.id in missed), "quality": quality, "ms": 6000}
        for task, quality in zip(batch, qualities, strict=True)
    ]
    lines = [FORMAT, VERSION, batch_name(batch), worker, 5, *(value for row in rows for value in row.values())]
    told = {"format": FORMAT, "version": VERSION, "batch": batch_name(batch), "worker": worker, "wait": 5, "answers": rows}
    path.write_text(json.dumps({**told, "check": zlib.crc32("\n".join(map(str, lines)).encode())}))


def test_a_page_is_judged_and_its_answers_filter_the_pairs(run, config, pairs, tmp_path):
    done = run("write_judging_page", input={"pairs": pairs}, output=["judging.html"], params={"pairs": 3, "wait": 5, "seed": 1})
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "judging.html").read_text()
    embedded = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    found = read_records(tmp_path / pairs)
    shown = [pair["id"] for pair in embedded["pairs"]]
    assert len(shown) == 3
    batch = tasks(found[found["id"].isin(shown)])
    assert batch_name(batch) == embedded["batch"]

    files = [f"w{number}.json" for number in range(6)]
    for number, name in enumerate(files[:5]):
        # Three of five find the first likely, two the second, all the third.
        answers(tmp_path / name, batch, f"w{number}", [4 if number < 3 else 1, 5 if number < 2 else 2, 5])
    # One more misses a word, and does not count.
    answers(tmp_path / files[5], batch, "w5", [1, 5, 1], missed={shown[0]})
    judged = overlay(config, {"noisyhate": {"judging": {"pairs": 3}}})
    made = {"pairs": "kept.parquet", "csv": "judging.csv", "md": "judging.md"}
    done = run("filter_pairs", input={"pairs": pairs, "answers": files}, output=made, params={"config": json.dumps(judged)})
    assert done.returncode == 0, done.stderr
    kept = read_records(tmp_path / "kept.parquet")
    assert kept["id"].tolist() == [shown[0], shown[2]]
    assert kept["quality_n"].tolist() == [5, 5]
    table = pd.read_csv(tmp_path / "judging.csv").set_index("type")
    assert table.loc["overall", ["n", "kept"]].tolist() == [3, 2]
    assert "2 of 5 find it likely, 3 are needed" in (tmp_path / "judging.md").read_text()

    # Edited by hand: refused, and nothing changes.
    told = json.loads((tmp_path / "w0.json").read_text())
    told["answers"][0]["quality"] = 1
    (tmp_path / "w0.json").write_text(json.dumps(told))
    before = (tmp_path / "kept.parquet").read_bytes()
    done = run("filter_pairs", input={"pairs": pairs, "answers": files}, output=made, params={"config": json.dumps(judged)})
    assert done.returncode == 1
    assert "edited by hand: its check sum does not fit" in done.stderr
    assert (tmp_path / "kept.parquet").read_bytes() == before
