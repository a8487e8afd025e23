"""What every operator of the registry keeps, whatever its family: one list of properties for all of them."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from muattack.config import read_config
from muattack.mutate import apply, registry
from muattack.mutate.apply import mutate_texts
from muattack.mutate.operator import EMPTY_TEXT, Operator
from muattack.mutate.registry import OperatorSet, join, make_set
from muattack.seeds import generator

# Sets of users, in every kind; the nine sets of the default configuration come before them.
SETS = {
    "swap": {"kind": "word", "words": ["red", "café", "don't"], "replacement": "some"},
    "exact": {"kind": "word", "words": ["The", "film"], "replacement": "x y", "case": "exact", "case_sensitive": True},
    "signs": {"kind": "character", "words": ["silly", "terrible", "the"], "letters": {"i": "1", "l": "|", "e": "€€"}, "occurrences": "first"},
    "corrupt": {"kind": "corrupt", "severity": 1},
    "corrupt_half": {"kind": "corrupt", "severity": 0.5, "weights": {"typo": 1, "synonym": 1}, "seed": 3},
    "human": {"kind": "human"},
    "human_proxy": {"kind": "human", "proxy": "test_every_operator:weight", "skip_unknown": True, "seed": 3},
    "human_table": {"kind": "human", "perturbations": {"table": "forms.json"}},
    "anthro": {"kind": "human", "perturbations": {"corpus": ["corpus.txt"]}, "proxy": "test_every_operator:weight"},
    "tradition": {"kind": "chinese", "method": "tradition"},
    "tradition_words": {"kind": "chinese", "method": "tradition", "variant": "s2tw", "words": "characters", "share": 0.5},
    "rewrite": {"kind": "chinese", "method": "rewrite"},
    "rewrite_half": {"kind": "chinese", "method": "rewrite", "style": "tone", "words": "characters", "share": 0.5, "seed": 3},
    "splitting": {"kind": "chinese", "method": "splitting"},
    "splitting_one": {"kind": "chinese", "method": "splitting", "characters": "one", "words": "test_every_operator:pairs"},
    "own_method": {"kind": "chinese", "method": "test_every_operator:repeat", "share": 0.8},
}
# As good as switched off: what each kind has for a severity, so low that no text changes.
IDLE = {
    "word": {"kind": "word", "words": ["a" * 60]},
    "character": {"kind": "character", "words": ["the"], "letters": {"z": "2"}},
    "corrupt": {"kind": "corrupt", "severity": 1e-9},
    "human": {"kind": "human", "proxy": "test_every_operator:weight", "threshold": 0.999},
    "chinese": {"kind": "chinese", "method": "rewrite", "share": 1e-18},
}
TASKS = {"joint": ["char_a_articles", "char_e_articles"], "mixed": ["word_adjectives", "signs"]}
FORMS = {"silly": ["sillyyy", "slly", "s1lly", "SiLLy"], "terrible": ["terr1ble"], "film": ["f!lm"]}


def weight(texts):
    """A proxy: the more letters l, the higher."""
    return [text.count("l") / (1 + len(text)) for text in texts]


def pairs(text):
    """A segmenter: two characters are a word."""
    return [(at, min(at + 2, len(text))) for at in range(0, len(text), 2)]


def repeat(word, rng):
    """A method: some words again, by chance."""
    return word * rng.randint(2, 4) if "好" in word or "film" in word else None


@cache
def folder() -> Path:
    made = tempfile.TemporaryDirectory()
    path = Path(made.name)
    (path / "forms.json").write_text(json.dumps(FORMS), encoding="utf-8")
    (path / "corpus.txt").write_text("a silly sillyyy film\nSiLLy s1lly slly terr1ble\n", encoding="utf-8")
    folder.made = made
    return path


def made(names: dict | None = None) -> dict[str, list[OperatorSet]]:
    """Return every operator, made anew: a set alone, or the sets of a task."""
    entries = names or {**read_config()["mutate"]["sets"], **SETS}
    sets = {name: make_set(name, entry, folder()) for name, entry in entries.items()}
    return {name: [one] for name, one in sets.items()} | ({} if names else {name: [sets[one] for one in members] for name, members in TASKS.items()})


OPERATORS = made()
OFF = made(IDLE)

# Pieces that provoke: words of the lists and forms of them, all scripts, markup whole and broken, what parts or joins words.
ZOO = [
    "a", "An", "THE", "the", "red", "Very", "film", "Film", "terrible", "silly", "SiLLy", "SILLY", "really", "don't", "don’t", "red-haired", "a1", "80s", "1980", "x_the", "iPhone",
    "房间", "很好", "好", "头发", "银行", "台灣", "乾隆", "，", "〇", "々", "⼀", "𠀀", "日本の", "カ", "한국", "שלום", "ا", "шалаш", "İ", "ı", "ß", "\u212a", "ﬁ", "ａ", "ｔｈｅ", "α",
    "é", "e\u0301", "café", "a\u0301", "\u0301", "\u200b", "\u00ad", "\ufeff", "\x00", "\ud800", "\udfff", "\U0003ffff", "😀", "👩‍👩‍👧", "'", "’", "''", "-", ".", ",", "%", "_",
    "<b>the</b>", "<br />", "<", "<x", ">", "&amp;", "&", "&#39;", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028",
]  # fmt: skip
TEXTS = [
    "", "a", "好", "\ud800", "😀", "<p>The silly <b>film</b> &amp; a red car</p>", "the 😀 film 👩‍👩‍👧 silly",
    "房间很干净，头发长；银行在2楼，2M宽Good!服务员的态度非常好😀", "<p>房间</p>很好&nbsp;的the",
    "A really GOOD film, the acting was terrible; don't miss it!\r\n\r\nSilly me: I'd watch it again -- 10/10 (1980s charm).  Great   story.",
]  # fmt: skip
# Nothing that any of them works on: no words, numbers alone, markup alone.
NOTHING = ["", " ", "\n\u3000\t", "…—!?“”", "😀👩‍👩‍👧", "\ud800", "1980 2001", "<br />", "&amp;", "\u0301\u200b"]
# A text of the other language than the kind's.
FOREIGN = {"chinese": "The quiet old house, 2M wide"} | dict.fromkeys(("word", "character", "corrupt", "human"), "房间很干净，服务员的态度非常好。")

# No deadline: other work on the machine must not fail a test.
few = settings(max_examples=20, deadline=None)
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=30)
texts = st.lists(st.sampled_from(ZOO) | st.text(max_size=3), max_size=14).map("".join) | strange
every = pytest.mark.parametrize("name", OPERATORS)


def test_every_kind_of_the_registry_and_all_default_sets_are_here():
    assert {one.kind for sets in OPERATORS.values() for one in sets} == set(IDLE) == set(FOREIGN) == set(registry.KINDS)
    assert len(read_config()["mutate"]["sets"]) == 9
    assert read_config()["mutate"]["sets"].keys() < OPERATORS.keys()


def keeps_the_contract(name: str, text: str) -> None:
    """What is outside the edits stays, and the result is always the same."""
    operator = join(OPERATORS[name])
    assert isinstance(operator, Operator)
    for rng in (None, 1):
        mutation = operator.apply(text, rng and generator(rng))
        position, left = 0, mutation.text
        for edit in mutation.edits:
            assert position <= edit.start < edit.end <= len(text)
            assert text[edit.start : edit.end] != edit.replacement
            kept = text[position : edit.start] + edit.replacement
            assert left.startswith(kept)
            left, position = left[len(kept) :], edit.end
        assert left == text[position:]
        assert mutation.changed == bool(mutation.edits) == (mutation.text != text) == (not mutation.reason)
        assert operator.apply(text, rng and generator(rng)) == mutation


@every
@few
@given(text=texts)
@example(TEXTS[5])
@example(TEXTS[7])
@example(TEXTS[9])
def test_what_is_outside_the_edits_stays_and_the_result_is_always_the_same(name, text):
    keeps_the_contract(name, text)


def search(name: str, examples: int) -> None:
    """Let one operator meet so many texts: the same ones each time, unless very many are asked for."""

    @settings(max_examples=examples, derandomize=examples < 10_000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(text=texts)
    def meet(text):
        keeps_the_contract(name, text)

    meet()


@pytest.mark.slow
@every
def test_hundreds_of_texts(name):
    search(name, 200)


@pytest.mark.nightly
@every
def test_very_many_texts(name):
    search(name, int(os.environ.get("EXAMPLES") or 10_000))


@every
def test_every_operator_does_something(name):
    assert any(join(OPERATORS[name]).apply(text).changed for text in [*TEXTS, "A very red cat, largely the same"])


@every
@few
@given(some=st.lists(texts, max_size=4))
@example(TEXTS)
def test_a_text_does_not_depend_on_those_before_it(name, some):
    operator = join(OPERATORS[name])
    forward = [operator.apply(text) for text in some]
    assert [operator.apply(text) for text in reversed(some)] == forward[::-1]


@every
def test_operators_made_anew_and_batches_in_any_order_give_the_same(name, monkeypatch):
    sets, again = OPERATORS[name], made()[name]
    assert [join(again).apply(text) for text in TEXTS[::-1]] == [join(sets).apply(text) for text in TEXTS][::-1]
    ids = [f"id{number}" for number, text in enumerate(TEXTS) if "\ud800" not in text]
    some = [text for text in TEXTS if "\ud800" not in text]
    expected = [join(sets).apply(text, generator(5, join(sets).name, one)).text for one, text in zip(ids, some, strict=True)]
    assert mutate_texts(some, sets, 5, ids)["mutated"].to_pylist() == expected
    monkeypatch.setattr(apply, "BATCH", 3)
    assert mutate_texts(some[::-1], again, 5, ids[::-1])["mutated"].to_pylist() == expected[::-1]


@every
def test_no_match_is_identity_with_a_reason(name):
    for text in NOTHING:
        mutation = join(OPERATORS[name]).apply(text)
        assert (mutation.text, mutation.edits) == (text, ()), text
        assert mutation.reason == EMPTY_TEXT if not text else mutation.reason


@every
def test_a_text_of_another_language_is_left_alone(name):
    text = FOREIGN[OPERATORS[name][0].kind]
    mutation = join(OPERATORS[name]).apply(text)
    assert (mutation.text, mutation.edits) == (text, ())
    assert mutation.reason


@pytest.mark.parametrize("kind", OFF)
@few
@given(text=texts)
@example(TEXTS[7])
@example(TEXTS[9])
def test_a_severity_of_nothing_is_identity_with_a_reason(kind, text):
    mutation = join(OFF[kind]).apply(text)
    assert (mutation.text, mutation.edits) == (text, ())
    assert mutation.reason


LONG = ["the red silly film ", "房间很干净，"]
MORE_LONG = ["a", "x'", "abcdefghijklmnopqrstuvwxyz", "\u0301", "<b", "<p>a!", "&a\n", "😀the red", "好", " "]


@every
@pytest.mark.parametrize("unit", [*LONG, *(pytest.param(unit, marks=pytest.mark.slow) for unit in MORE_LONG)])
def test_50_000_characters(name, unit):
    text = unit * (50_000 // len(unit))
    operator = join(OPERATORS[name])
    operator.apply(unit)
    before = time.process_time()
    mutation = operator.apply(text)
    assert time.process_time() - before < 3
    assert mutation.changed == (mutation.text != text) == (not mutation.reason)


def fingerprint() -> str:
    """Return a digest of what every operator does to the texts."""
    found = [(name, [join(sets).apply(text) for text in TEXTS]) for name, sets in OPERATORS.items()]
    return hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "4242"])
def test_other_processes_and_hash_seeds_give_the_same(seed):
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", "import test_every_operator as one; print(one.fingerprint())"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, fingerprint()), done.stderr
