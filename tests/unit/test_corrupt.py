"""Natural corruptions: right values by hand, what holds for every text, the fitted base and its files."""

import hashlib
import json
import math
import os
import random
import subprocess
import sys
import zipfile
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muattack.errors import InputError
from muattack.mutate import corrupt, registry
from muattack.mutate.apply import mutate_texts
from muattack.mutate.corrupt import (
    CORRUPTIONS,
    MARKUP,
    NO_CORRUPTION,
    NO_WORD,
    NONE_DRAWN,
    SEVERITIES,
    SEVERITY_ZERO,
    WEIGHTS,
    Base,
    CorruptOperator,
    count_words,
    fit_base,
    load_base,
    nearest,
    own_base,
    read_synonyms,
    save_base,
    severity_sweep,
    typo,
)
from muattack.mutate.operator import EMPTY_TEXT, Edit, Operator, apply_edits
from muattack.records import read_records, write_records
from muattack.words import WORD, word_spans

SMALL = Base(["house", "horse", "mouse", "housing"], {"film": ["motion picture", "movie"], "house": ["home"]}, {})
OWN = own_base()
# Pieces that provoke, as for the other operators: all scripts, what parts or joins words, markup whole and broken.
ZOO = [
    "the", "The", "THE", "movie", "Movie", "MOVIE", "film", "terrible", "really", "iPhone", "a", "I", "don't", "don’t", "well-known", "1980", "80s", "x_y", " ", "  ",
    "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "'", "’", "-", ".", ",", "<br />", "<b>good</b>", "<", ">", "<x", "&amp;", "&", "&#39;", "😀", "👩‍👩‍👧", "日本", "中",
    "ａ", "İ", "ı", "ß", "\u212a", "e\u0301", "naïve", "café", "\u0301", "\u200b", "\x00", "α", "шалаш", "שלום", "\ud800",
]  # fmt: skip
few = settings(max_examples=40, deadline=None)
texts = st.lists(st.sampled_from(ZOO) | st.text(max_size=3), max_size=16).map("".join)
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=40)
severities = st.floats(0, 1, exclude_min=True)
REVIEW = (
    "<p>A really GOOD Movie, the acting was terrible; don't miss it!</p>\n\nI'd watch it again &amp; again -- 10/10 (1980s charm).  Great   story."
)
# A hundred distinct words and more.
CORPUS = [f"{a}{b}" for a in ("sail", "bark", "cook", "farm", "paint", "teach", "plant", "train", "hunt", "bank") for b in ("", "s", "ed", "er", "ers", "ing", "ings", "y", "ery", "able")]  # fmt: skip


def only(kind, base=SMALL, severity=1.0, seed=0):
    return CorruptOperator("c", base, severity, {kind: 1}, seed)


def digest_of(operator, some):
    return hashlib.sha256(repr([operator.apply(text) for text in some]).encode("utf-8", "surrogatepass")).hexdigest()


# --- Right values -----------------------------------------------------------------------------------------------------


def test_neighbours_by_hand():
    # housing is three edits from house, whose third is two; horse and mouse are two apart, and equally far ones stand in the words' order.
    assert nearest(SMALL.words, SMALL.words) == [[(1, 1), (2, 1)], [(0, 1), (2, 2)], [(0, 1), (1, 2)], [(0, 3)]]
    assert nearest(["houses", "the", "ab"], SMALL.words) == [[(0, 1), (1, 2), (2, 2)], [], []]


def test_at_most_five_neighbours_the_nearest():
    words = ["barn", "bark", "band", "bars", "bare", "bard", "card", "cord"]
    assert nearest(["barb"], words)[0] == [(0, 1), (1, 1), (3, 1), (4, 1), (5, 1)]


@few
@given(
    keys=st.lists(st.text("abcé", min_size=1, max_size=9), max_size=6),
    words=st.lists(st.text("abcé", min_size=1, max_size=9), min_size=1, max_size=30, unique=True),
)
def test_neighbours_are_those_of_all_distances(keys, words):
    found = nearest(keys, words)
    for key, neighbours in zip(keys, found, strict=True):
        limit = min(3, math.ceil(len(key) / 3))
        pairs = [(place, edit_distance(key, word)) for place, word in enumerate(words)]
        assert neighbours == sorted((pair for pair in pairs if 0 < pair[1] <= limit), key=lambda pair: pair[::-1])[:5]


def edit_distance(a, b):
    """Return the Levenshtein distance by its definition."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


def test_autocorrect_prefers_near_words_by_one_over_distance():
    # For horse: house at 1, mouse at 2: weights 1 and 1/2, so two thirds of the numbers choose house.
    operator = only("autocorrect")
    drawn = [(0, 0, 5, "horse", "autocorrect", (k + 0.5) / 300) for k in range(300)]
    chosen = [operator._make("horse", 1, [one])[0][1].replacement for one in drawn]
    assert chosen == ["house"] * 200 + ["mouse"] * 100


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("house", "housing"),
        ("The house, HOUSE House.", "The housing, HOUSING Housing."),
        ("houseboat housing", None),
        ("hou ho mice", None),
    ],
)
def test_autocompletion_shares_the_most_first_letters(text, completed):
    found = only("autocompletion").apply(text).text
    if completed is not None:
        assert found == completed
    elif text.startswith("houseboat"):
        # Five letters of houseboat are those of house alone; four of housing are those of house.
        assert found == "house house"
    else:
        # Three letters are enough, two are not.
        assert found in ("house ho mice", "housing ho mice")


def test_autocompletion_without_a_word_is_an_autocorrection_unless_its_weight_is_0():
    both = CorruptOperator("c", SMALL, 1, {"autocompletion": 1, "autocorrect": 1e-12})
    assert both.corrupt(["mouse"])[0][0].corruptions == ("autocorrect",)
    assert both.apply("mouse").text in ("house", "horse")
    assert only("autocompletion").apply("mouse").reason == NO_CORRUPTION


def test_synonyms_keep_the_case_and_may_be_of_several_words():
    found = {only("synonym", seed=seed).apply("Film, FILM; house").text for seed in range(20)}
    assert found == {f"{a}, {b}; home" for a in ("Movie", "Motion picture") for b in ("MOVIE", "MOTION PICTURE")}


def test_a_word_without_synonym_gets_a_typo_unless_its_weight_is_0():
    mutation = CorruptOperator("c", SMALL, 1, {"synonym": 1, "typo": 1e-12}).apply("zebra")
    assert len(mutation.edits) == 1
    assert len(mutation.text) == 5
    assert only("synonym").apply("zebra").reason == NO_CORRUPTION


@pytest.mark.parametrize(
    ("text", "choice", "edit"),
    [
        ("cat", 0.0, Edit(0, 1, "a")),
        ("cat", 1 / 3 + 1e-9, Edit(1, 2, "b")),
        ("cat", 0.999999, Edit(2, 3, "z")),
        ("CAT", 0.0, Edit(0, 1, "A")),
        ("ca'é", 0.999999, Edit(1, 2, "z")),
        ("80s", 0.5, Edit(2, 3, "m")),
    ],
)
def test_typo_by_hand(text, choice, edit):
    assert typo(text, 0, len(text), choice) == edit


def test_a_typo_needs_a_letter_of_a_to_z():
    assert only("typo").apply("1980 шалаш 日本").reason == NO_CORRUPTION


def test_kinds_are_drawn_by_weight():
    # 4,000 words that can all be corrupted in all four ways: the shares are those of the weights to three standard errors.
    operator = CorruptOperator("c", SMALL, 1.0)
    kinds = Counter(operator.corrupt([" ".join(["house"] * 4000)])[0][0].corruptions)
    for kind, weight in WEIGHTS.items():
        assert abs(kinds[kind] / 4000 - weight) < 3 * (weight * (1 - weight) / 4000) ** 0.5
    assert list(WEIGHTS.values()) == [0.30, 0.30, 0.35, 0.05]


def test_severity_is_the_share_of_words_tried():
    text = " ".join(["house"] * 200)
    assert [len(CorruptOperator("c", SMALL, severity).apply(text).edits) for severity in (0.1, 0.5, 0.625, 1)] == [20, 100, 125, 200]


def test_reasons_for_doing_nothing():
    half = CorruptOperator("c", OWN, 0.5)
    assert half.apply("").reason == EMPTY_TEXT
    assert half.apply("a 1 <br /> &amp; !").reason == NO_WORD
    assert half.apply("1980 2001").reason == NO_CORRUPTION
    assert CorruptOperator("c", OWN, 0.1).apply("good movie").reason == NONE_DRAWN
    assert half.corrupt(["good movie"], [0])[0][0].mutation.reason == SEVERITY_ZERO


def test_markup_stays():
    text = '<br /><a href="movie.html">movie</a>&quot;film&quot; <!-- film --> 3 < 5'
    mutation = CorruptOperator("c", OWN, 1.0).apply(text)
    assert mutation.changed
    assert MARKUP.findall(mutation.text) == MARKUP.findall(text)


# --- What holds for every text ----------------------------------------------------------------------------------------


@few
@given(text=texts | strange, severity=severities)
def test_every_text_keeps_the_contract(text, severity):
    operator = CorruptOperator("c", OWN, severity)
    mutation = operator.apply(text)
    position = 0
    spans = word_spans(text)
    hit = []
    for edit in mutation.edits:
        assert position <= edit.start < edit.end <= len(text)
        assert text[edit.start : edit.end] != edit.replacement
        hit += [span for span in spans if span[0] <= edit.start and edit.end <= span[1]]
        position = edit.end
    # Every edit lies in a word, and no word has two.
    assert len(hit) == len(set(hit)) == len(mutation.edits)
    assert mutation.text == apply_edits(text, mutation.edits)
    assert mutation.changed == (mutation.text != text) == (not mutation.reason)
    assert len(mutation.edits) <= round(severity * len(spans))
    assert operator.apply(text) == mutation


@few
@given(text=texts, low=severities, high=severities)
def test_a_higher_severity_does_the_same_and_more(text, low, high):
    low, high = sorted((low, high))
    less, more = CorruptOperator("low", OWN, low).corrupt([text])[0][0], CorruptOperator("high", OWN, high).corrupt([text])[0][0]
    assert set(zip(less.mutation.edits, less.corruptions, strict=True)) <= set(zip(more.mutation.edits, more.corruptions, strict=True))


@few
@given(some=st.lists(texts, max_size=5), severity=severities)
def test_a_text_does_not_depend_on_its_neighbours(some, severity):
    operator = CorruptOperator("c", OWN, severity)
    together = [one[0].mutation for one in operator.corrupt(some)]
    assert together == [CorruptOperator("other name", OWN, severity).apply(text) for text in some]
    assert together[::-1] == [one[0].mutation for one in operator.corrupt(some[::-1])]


def test_the_generator_handed_in_is_not_used_and_the_seed_is():
    operator = CorruptOperator("c", OWN, 0.5)

    assert operator.apply(REVIEW, random.Random(1)) == operator.apply(REVIEW, random.Random(2)) == operator.apply(REVIEW)
    assert operator.apply(REVIEW) != CorruptOperator("c", OWN, 0.5, seed=1).apply(REVIEW)


@pytest.mark.slow
def test_other_processes_and_hash_seeds_give_the_same_bytes(tmp_path):
    base = fit_base([*CORPUS, REVIEW])
    save_base(tmp_path / "base.json", base)
    program = (
        "import sys, hashlib; from muattack.mutate.corrupt import *\n"
        "texts = sys.stdin.read().split('\\x1e'); base = load_base(sys.argv[1])\n"
        "found = [repr([CorruptOperator('c', one, 0.7).apply(text) for text in texts]) for one in (base, fit_base([*texts]), own_base())]\n"
        "print(base.sha256, fit_base([*texts]).sha256, own_base().sha256, hashlib.sha256(''.join(found).encode()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / "base.json"],
            input="\x1e".join([*CORPUS, REVIEW]), text=True, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "4242")
    }  # fmt: skip
    assert len(outputs) == 1
    assert outputs.pop().split()[0] == base.sha256


def test_the_operator_fits_the_protocol():
    assert isinstance(CorruptOperator("c", OWN, 0.5), Operator)


# --- Bad settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("severity", [0, -0.1, 1.01, float("nan"), float("inf"), "0.5", None, True])
def test_severity_outside_its_range(severity):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        CorruptOperator("c", SMALL, severity)


def test_a_sweep_takes_0_but_nothing_below_or_above():
    operator = CorruptOperator("c", SMALL, 0.5)
    for severity in (-0.1, 1.1):
        with pytest.raises(InputError, match="severity"):
            operator.corrupt(["house"], [0, severity])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"typo": -1}, "not negative"),
        ({"typo": float("nan")}, "not negative"),
        ({"typo": float("inf")}, "not negative"),
        ({"typo": "1"}, "not negative"),
        ({"typo": True}, "not negative"),
        ({"typo": 0, "synonym": 0}, "all weights are 0"),
        ({}, "all weights are 0"),
        ({"typos": 1}, "Did you mean typo"),
        ([1, 2], "expected a weight for each"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(InputError, match=message):
        CorruptOperator("c", SMALL, 0.5, weights)


# --- Fitting ----------------------------------------------------------------------------------------------------------


@few
@given(some=st.lists(texts, max_size=4))
def test_words_are_counted_as_they_stand(some):
    plain = Counter()
    for text in some:
        cleared = MARKUP.sub(lambda match: " " * len(match.group()), text)
        plain.update(corrupt._key(word) for word in WORD.findall(cleared) if not word.isnumeric())
    assert count_words(some) == plain


def test_common_words_are_the_most_frequent():
    base = fit_base([*CORPUS, "painting Painting <painting> painting, hunters 1980 80s80s", "hunters"], common_words=3, min_length=6)
    assert base.words == ("painting", "hunters", "bankable")
    assert base.facts["common_words"] == {"count": 3, "asked": 3, "min_length": 6, "share": round(8 / 106, 4)}
    assert base.facts["corpus"] == {"source": "texts", "distinct_words": 101, "words": 106}
    assert base.facts["synonyms"]["source"] == "own"


def test_a_small_corpus_is_refused_by_its_distinct_words():
    with pytest.raises(InputError, match="has 99 distinct words, but a base needs at least 100"):
        fit_base(CORPUS[:99] * 3)
    assert len(fit_base(CORPUS[:100], min_length=1).words) == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": 30}, "no word of 30 and more"),
        ({"min_length": 0}, "min_length is 0"),
        ({"common_words": 2.5}, "common_words is 2.5"),
        ({"synonyms": "nowhere.txt"}, "does not exist"),
    ],
)
def test_fitting_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        fit_base(CORPUS, **options)


def test_a_missing_text_is_refused():
    with pytest.raises(InputError, match="None where a text should be"):
        fit_base([*CORPUS, None])


def test_neighbours_are_the_same_whether_fitted_or_looked_up():
    fitted = fit_base([*CORPUS, REVIEW])
    late = Base(fitted.words, fitted.synonyms, fitted.facts)
    assert [fitted.autocorrections(word) for word in fitted.words] == [late.autocorrections(word) for word in fitted.words]
    assert len(fitted.neighbours) == len(fitted.words)


def test_own_base_needs_no_corpus_and_says_so():
    assert len(OWN.words) > 1000
    assert list(OWN.words) == sorted(OWN.words)
    assert OWN.facts["corpus"]["source"] == "muattack's own word lists, no corpus"
    assert OWN.facts["synonyms"] == {"source": "own", "words": len(OWN.synonyms), "words_without": "get a typo instead"}
    with pytest.raises(InputError, match="Lower min_length"):
        own_base(min_length=40)


def test_own_synonyms_are_tidy():
    groups = corrupt._own_groups()
    assert len({group[0] for group in groups}) == len(groups) > 500
    assert all(len(set(group)) == len(group) > 1 and all(word and word == word.lower() for word in group) for group in groups)


# --- Files ------------------------------------------------------------------------------------------------------------


def test_a_base_comes_back_as_it_was_saved(tmp_path):
    base = fit_base([*CORPUS, REVIEW, "naïve café œuvre"], synonyms="own")
    save_base(tmp_path / "base.json", base)
    again = load_base(tmp_path / "base.json")
    assert (again.words, again.synonyms, again.neighbours, again.facts, again.sha256) == (
        base.words, base.synonyms, tuple(base.neighbours), base.facts, base.sha256,
    )  # fmt: skip
    assert digest_of(CorruptOperator("c", again, 1), [REVIEW]) == digest_of(CorruptOperator("c", base, 1), [REVIEW])
    assert (tmp_path / "base.json").read_text(encoding="utf-8") == base.content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda base: "{", "not JSON"),
        (lambda base: "[" * 100_000, "not JSON"),
        (lambda base: "[]", "lacks the entry format"),
        (lambda base: base | {"format": "other"}, "lacks the entry format"),
        (lambda base: base | {"version": 2}, "of version 2"),
        (lambda base: base | {"words": []}, "`words` must be"),
        (lambda base: base | {"words": ["one", "one", "two", "six"]}, "distinct"),
        (lambda base: base | {"neighbours": [[]]}, "one entry for each of the 4 words"),
        (lambda base: base | {"neighbours": [[[9, 1]], [], [], []]}, "neighbours of 'house'"),
        (lambda base: base | {"neighbours": [[[0, 1]], [], [], []]}, "another word"),
        (lambda base: base | {"neighbours": [[[1, 0]], [], [], []]}, "a distance"),
        (lambda base: base | {"neighbours": [[[1, True]], [], [], []]}, "a distance"),
        (lambda base: base | {"synonyms": {"film": []}}, "`synonyms` must be"),
        (lambda base: base | {"synonyms": {"film": [1]}}, "`synonyms` must be"),
        (lambda base: base | {"facts": None}, "`facts` an object"),
    ],
)
def test_a_base_edited_by_hand(tmp_path, change, message):
    changed = change(json.loads(SMALL.content))
    path = tmp_path / "base.json"
    path.write_text(changed if isinstance(changed, str) else json.dumps(changed), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_base(path)


def test_a_base_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_base(tmp_path / "base.json")


NOUNS = """  1 This line is of the licence.
00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 | that which is
00002137 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 001 @ 00001930 n 0000 | a member of the genus Canis
00002138 05 n 02 frump 0 dog 1 001 @ 00001930 n 0000 | a dull unattractive person
"""
ADJECTIVES = "00003131 00 a 02 abounding(p) 0 galore(ip) 0 000 | existing in abundance\n"
DOG = ["Canis familiaris", "domestic dog", "frump"]


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_synonyms_from_wordnet(tmp_path, monkeypatch, form):
    files = {"data.noun": NOUNS, "data.verb": "", "data.adj": ADJECTIVES, "data.adv": ""}
    if form == "folder":
        place = tmp_path / "corpora" / "wordnet"
        place.mkdir(parents=True)
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
        assert read_synonyms(place)[0]["dog"] == DOG
    else:
        (tmp_path / "corpora").mkdir()
        with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"wordnet/{name}", text)
    for name in ("WNSEARCHDIR", "WNHOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    for source in ("wordnet", "auto"):
        table, about = read_synonyms(source)
        assert table == {"abounding": ["galore"], "dog": DOG, "frump": ["dog"], "galore": ["abounding"]}
        assert about == {"source": "wordnet", "words": 4, "words_without": "get a typo instead"}


def test_without_wordnet(monkeypatch):
    monkeypatch.setattr(corrupt, "find_wordnet", lambda: None)
    with pytest.raises(InputError, match="WordNet is not installed"):
        read_synonyms("wordnet")
    assert read_synonyms("auto") == read_synonyms("own")
    assert read_synonyms("auto")[1]["source"] == "own"
    assert read_synonyms("none") == ({}, {"source": "none", "words": 0, "words_without": "get a typo instead"})


def test_broken_wordnet(tmp_path):
    with pytest.raises(InputError, match=r"data\.noun of WordNet cannot be read"):
        read_synonyms(tmp_path)
    for name in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"data.{name}").write_text("00001740 03 n\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"data\.noun, row 1"):
        read_synonyms(tmp_path)


@pytest.mark.skipif(corrupt.find_wordnet() is None, reason="WordNet is not installed")
def test_installed_wordnet():
    table, about = read_synonyms("wordnet")
    assert "domestic dog" in table["dog"]
    assert "movie" in table["film"]
    assert about["words"] > 50_000


def test_synonyms_from_files(tmp_path):
    (tmp_path / "groups.txt").write_text("Film, movie,  motion  picture\n\nmovie, flick\n", encoding="utf-8")
    assert read_synonyms("groups.txt", tmp_path)[0] == {
        "film": ["motion picture", "movie"], "flick": ["movie"], "movie": ["Film", "flick", "motion picture"],
    }  # fmt: skip
    (tmp_path / "near.json").write_text('{"Dog": ["hound", "dog"], "cat": [["kitty", 0.9]], "well-known": ["famous"]}', encoding="utf-8")
    assert read_synonyms("near.json", tmp_path)[0] == {"cat": ["kitty"], "dog": ["hound"]}
    for name, text in (("a.txt", "film\n"), ("a.json", "{}")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="no word with a synonym"):
            read_synonyms(name, tmp_path)
    (tmp_path / "b.json").write_text('{"dog": 3}', encoding="utf-8")
    with pytest.raises(InputError, match="'dog'"):
        read_synonyms("b.json", tmp_path)
    (tmp_path / "b.txt").write_bytes(b"a, b\n\xff, c\n")
    with pytest.raises(InputError, match="row 2, is not UTF-8"):
        read_synonyms("b.txt", tmp_path)


# --- Many texts -------------------------------------------------------------------------------------------------------


def test_a_sweep_has_every_text_at_every_severity():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "text": [REVIEW, "", "Good movie"], "label": [1, 0, 1], "other": 1})
    table, meta = severity_sweep(frame, CorruptOperator("c", OWN, 0.5))
    assert list(table.columns) == ["severity", "id", "label", "original", "text", "edits", "corruptions", "words", "reason"]
    assert table["severity"].tolist() == [severity for severity in SEVERITIES for _ in range(3)]
    assert table[table.severity == 0].text.tolist() == frame.text.tolist()
    for row in table.itertuples():
        edits = [Edit(**edit) for edit in row.edits]
        assert row.text == apply_edits(row.original, edits)
        assert len(edits) == len(row.corruptions)
        assert bool(row.reason) == (not edits)
        if row.severity:
            assert row.text == CorruptOperator("x", OWN, row.severity).apply(row.original).text
    last = meta["severities"][-1]
    of_last = [kind for kinds in table[table.severity == 1].corruptions for kind in kinds]
    assert last["corruptions"] == {kind: of_last.count(kind) for kind in CORRUPTIONS}
    assert (last["texts"], last["words_corrupted"], last["words"]) == (3, len(of_last), sum(table[table.severity == 1].words))
    assert meta["base_sha256"] == OWN.sha256
    assert json.loads(json.dumps(meta)) == meta
    thin, _ = severity_sweep(frame, CorruptOperator("c", OWN, 0.5), (0.5,), edits=False)
    assert "edits" not in thin.columns
    assert thin.text.tolist() == table[table.severity == 0.5].text.tolist()


def test_a_sweep_goes_into_a_file_and_back(tmp_path):
    table, meta = severity_sweep(pd.DataFrame({"id": ["a"], "text": [REVIEW]}), CorruptOperator("c", OWN, 0.5), (0.0, 0.5))
    write_records(tmp_path / "sweep.parquet", table, meta)
    assert read_records(tmp_path / "sweep.parquet").text.tolist() == table.text.tolist()


def test_a_sweep_refuses_a_missing_text():
    with pytest.raises(InputError, match="The text of b is"):
        severity_sweep(pd.DataFrame({"id": ["a", "b"], "text": ["x", None]}), CorruptOperator("c", OWN, 0.5))


# --- By configuration -------------------------------------------------------------------------------------------------


@pytest.fixture
def kind(monkeypatch):
    monkeypatch.setitem(registry.KINDS, "corrupt", "muattack.mutate.corrupt:corrupt_set")


def made(settings, folder="."):
    return registry.make_set("corrupt_05", {"kind": "corrupt", **settings}, folder)


@pytest.mark.usefixtures("kind")
def test_a_set_by_configuration():
    one = made({"severity": 0.5, "weights": {"typo": 1}, "seed": 3})
    assert one.settings["weights"] == {"autocorrect": 0.0, "autocompletion": 0.0, "synonym": 0.0, "typo": 1.0}
    assert (one.settings["severity"], one.settings["seed"], one.settings["base"]) == (0.5, 3, "own")
    assert one.settings["base_facts"]["synonyms"]["source"] == "own"
    assert json.dumps(registry.describe([one]))
    # Whatever ids and rows the texts have.
    some = [REVIEW, "a good movie", REVIEW]
    first, second = mutate_texts(some, [one], seed=1, ids=["a", "b", "c"]), mutate_texts(some[::-1], [one], seed=2)
    assert first["mutated"].to_pylist() == second["mutated"].to_pylist()[::-1] == [one.operator.apply(text).text for text in some]


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("name", ["base.json", "texts.txt", "texts.jsonl", "texts.parquet"])
def test_a_set_with_a_base_of_its_own(tmp_path, name):
    base = fit_base(CORPUS)
    if name.endswith(".json"):
        save_base(tmp_path / name, base)
    elif name.endswith(".txt"):
        (tmp_path / name).write_text("\r\n".join(CORPUS) + "\r\n", encoding="utf-8")
    elif name.endswith(".jsonl"):
        (tmp_path / name).write_text("\n".join(json.dumps({"text": text, "id": 1}) for text in CORPUS), encoding="utf-8")
    else:
        pd.DataFrame({"id": range(len(CORPUS)), "text": CORPUS}).to_parquet(tmp_path / name)
    one = made({"severity": 1, "base": name}, tmp_path)
    assert one.settings["base"] == name
    assert one.settings["base_sha256"] == base.sha256
    assert one.operator.apply("the painter").text == CorruptOperator("x", base, 1).apply("the painter").text


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs a severity"),
        ({"severity": 2}, r"mutate\.sets\.corrupt_05\.severity is 2"),
        ({"severity": 0.5, "weights": {"typo": -1}}, r"mutate\.sets\.corrupt_05\.weights\.typo is -1"),
        ({"severity": 0.5, "weights": {"typo": 0}}, "all weights are 0"),
        ({"severity": 0.5, "wieghts": {}}, "Did you mean weights"),
        ({"severity": 0.5, "seed": "x"}, "seed is 'x'"),
        ({"severity": 0.5, "base": 3}, "expected own"),
        ({"severity": 0.5, "base": "texts.csv"}, "neither own nor"),
        ({"severity": 0.5, "base": "none.txt"}, "does not exist"),
        ({"severity": 0.5, "base": "small.txt"}, r"The base corpus \S*small\.txt has 3 distinct words"),
        ({"severity": 0.5, "base": "bad.jsonl"}, "row 2, is not JSON"),
        ({"severity": 0.5, "base": "lacks.jsonl"}, "row 1, has no text"),
        ({"severity": 0.5, "base": "bad.parquet"}, "no Parquet file"),
        ({"severity": 0.5, "base": "base.json", "min_length": 3}, "fitted already"),
        ({"severity": 0.5, "synonyms": 3}, "expected one of own"),
        ({"severity": 0.5, "common_words": 0}, "common_words is 0"),
    ],
)
def test_a_set_that_cannot_be_made(tmp_path, settings, message):
    files = {"small.txt": "one two three", "bad.jsonl": '{"text": "a"}\n{', "lacks.jsonl": '{"id": 1}', "bad.parquet": "x"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    save_base(tmp_path / "base.json", SMALL)
    with pytest.raises(InputError, match=message):
        made(settings, tmp_path)


# --- Real reviews -----------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_on_real_reviews(data):
    lines = (data / "sentiment" / "imdb" / "test.jsonl").read_text(encoding="utf-8").split("\n")[:400]
    frame = pd.DataFrame([json.loads(line) for line in lines])
    operator = CorruptOperator("c", fit_base(frame.text), 1.0)
    table, meta = severity_sweep(frame.head(60), operator, (0.1, 0.5, 1.0))
    shares = [one["share"] / one["severity"] for one in meta["severities"]]
    # Of the words tried about four in five are corrupted, at every severity alike.
    assert np.ptp(shares) < 0.05
    assert 0.7 < min(shares) < 0.95
    for row in table.itertuples():
        assert MARKUP.findall(row.text) == MARKUP.findall(row.original)
        assert row.text.count("\n") == row.original.count("\n")
