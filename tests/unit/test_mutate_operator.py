"""Operators text by text: right values by hand, and what holds for every text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muattack.mutate.character import CharacterOperator
from muattack.mutate.operator import (
    EMPTY_TEXT,
    NO_LETTER,
    NO_WORD,
    SPACES,
    Edit,
    JointOperator,
    Operator,
    apply_edits,
    fold,
    remove_words,
)  # fmt: skip
from muattack.mutate.word import WordOperator
from muattack.words import word_spans

ARTICLES = ("a", "an", "the")
REMOVE = WordOperator("remove", (*ARTICLES, "red", "big", "very"))
ALPHA = CharacterOperator("alpha", ARTICLES, {"a": "α"})
EPSILON = CharacterOperator("epsilon", ARTICLES, {"e": "ϵ"})
BOTH = JointOperator("both", [ALPHA, EPSILON])
SOME = WordOperator("some", ARTICLES, replacement="some")
MIXED = JointOperator("mixed", [EPSILON, WordOperator("w", ("a", "red"))])
OPERATORS = [REMOVE, ALPHA, EPSILON, BOTH, SOME, MIXED]

# Pieces that provoke: words of the lists in all cases, look-alikes of them, spaces of all kinds, what parts or joins words.
ZOO = [
    "a", "A", "an", "AN", "the", "The", "THE", "red", "Red", "very", "big", "cat", "a's", "the’s", "red-haired", "theatre", "a1", "x_the", " ", "  ",
    "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "'", "’", "''", "-", ".", ",", "<b>the</b>", "&amp;", "😀", "👩‍👩‍👧", "日本", "中", "ａ", "ｔｈｅ", "İ", "ı", "ß",
    "ſ", "\u212a", "e\u0301", "é", "a\u0301", "\u0301", "\u200b", "\u00ad", "\x00", "\ufeff", "α", "ϵ", "Α", "Ε", "שלום", "ا",
]  # fmt: skip
# No deadline: other work on the machine must not fail a test.
few = settings(max_examples=30, deadline=None)
texts = st.lists(st.sampled_from(ZOO) | st.text(max_size=3), max_size=14).map("".join)
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "mutated"),
    [
        ("The cat", "cat"),
        ("the cat sat on a mat", "cat sat on mat"),
        ("on the mat.", "on mat."),
        ("cat theatre Anna a1 a's x", "cat theatre Anna a1 a's x"),
        ("THE CAT, An egg", "CAT, egg"),
        ("a big red car", "car"),
        ("one big red car", "one car"),
        ("The red", ""),
        ("a", ""),
        ("a a a", ""),
        (" a a a ", " "),
        ("x a a a", "x"),
        ("a\nthe cat", "\ncat"),
        ("dog\nthe cat", "dog\ncat"),
        ("the, red", ","),
        ("(the) end", "() end"),
        ("red-haired a-b", "-haired-b"),
        ("x  a  y", "x   y"),
        ("the\u00a0cat and\u3000the cat", "cat and cat"),
        ("<p>The cat</p>", "<p>cat</p>"),
        ("a😀the", "😀"),
    ],
)
def test_removal_takes_one_neighbouring_space(text, mutated):
    assert REMOVE.apply(text).text == mutated


def test_removal_edits_stand_on_the_original():
    assert REMOVE.apply("The big cat, a red").edits == (Edit(0, 4, ""), Edit(4, 8, ""), Edit(12, 14, ""), Edit(14, 18, ""))


@pytest.mark.parametrize(
    ("operator", "text", "mutated"),
    [
        (ALPHA, "A cat and an ant ate the AN", "\u0391 cat and \u03b1n ant ate the \u0391N"),
        (EPSILON, "The THE the hen", "Th\u03f5 TH\u0395 th\u03f5 hen"),
        (BOTH, "The cat, a hen", "Thϵ cat, α hen"),
        (SOME, "The cat, A hen, AN EGG, the", "Some cat, Some hen, SOME EGG, some"),
        (WordOperator("exact", ARTICLES, replacement="some", case="exact"), "The cat", "some cat"),
        (WordOperator("sensitive", ("the",), case_sensitive=True), "The the cat", "The cat"),
        (CharacterOperator("all", ("tree",), {"e": "ϵ"}), "Tree tree", "Trϵϵ trϵϵ"),
        (CharacterOperator("first", ("eagle",), {"e": "ϵ", "a": "α"}, occurrences="first"), "EAGLE eagle", "ΕΑGLE ϵαglE".replace("glE", "gle")),
        (CharacterOperator("named", ("AbA",), {"a": "α", "A": "4"}), "aBA", "αB4"),
        (CharacterOperator("longer", ("so",), {"s": "$$"}), "So so", "$$o $$o"),
        (MIXED, "the red a", "thϵ"),
        (JointOperator("two maps", [ALPHA, CharacterOperator("other", ("a", "man"), {"a": "@", "n": "п"})]), "a man", "α m@п"),
    ],
)
def test_replacements(operator, text, mutated):
    assert operator.apply(text).text == mutated


@pytest.mark.parametrize(
    ("words", "text", "mutated"),
    [
        (("café",), "Cafe\u0301 CAFÉ cafe", "cafe"),
        (("cafe\u0301",), "café", ""),
        (("don't",), "don’t do", "do"),
        (("in",), "İn in ın", "İn ın"),
        (("straße",), "STRASSE straße", ""),
        (("the",), "ｔｈｅ the\u0301 the", "ｔｈｅ the\u0301"),
        (("kind",), "\u212aind", ""),
        (("σοφος",), "ΣΟΦΟΣ σοφος", ""),
    ],
)
def test_what_counts_as_the_same_word(words, text, mutated):
    assert WordOperator("w", words).apply(text).text == mutated


def test_canonical_equivalents_are_one_word_also_where_case_counts():
    assert WordOperator("w", ("café",), case_sensitive=True).apply("cafe\u0301 Cafe\u0301 café").text == "Cafe\u0301"


def test_letters_of_decomposed_words_are_replaced_under_their_marks():
    assert CharacterOperator("c", ("café",), {"e": "ϵ"}).apply("cafe\u0301 café").text == "cafϵ\u0301 café"


def test_reasons_for_doing_nothing():
    assert (REMOVE.apply("").reason, REMOVE.apply("cat").reason, ALPHA.apply("the cat").reason) == (EMPTY_TEXT, NO_WORD, NO_LETTER)
    assert REMOVE.apply("a").reason == ""


def test_a_word_replaced_by_itself_is_no_change():
    operator = WordOperator("same", ("the", "a"), replacement="the")
    assert not operator.apply("the The THE").changed
    assert operator.apply("a").text == "the"
    assert operator.effective == 1


@few
@given(text=texts)
def test_removed_words_take_at_most_one_space_and_leave_none_double_or_leading(text):
    mutation = REMOVE.apply(text)
    for start, end, _ in mutation.edits:
        taken = text[start:end]
        assert fold(taken.strip("".join(SPACES))) in REMOVE.keys
        assert sum(character in SPACES for character in taken) <= 1
    clean = " ".join(text.split())
    removed = REMOVE.apply(clean).text
    assert "  " not in removed
    assert not removed.startswith(" ")


@pytest.mark.parametrize("operator", [REMOVE, ALPHA, EPSILON, BOTH], ids=lambda operator: operator.name)
@few
@given(words=st.lists(st.sampled_from(["a", "The", "red", "cat", "AN", "very", "a's"]), max_size=10))
def test_a_second_time_changes_nothing(operator, words):
    once = operator.apply(" ".join(words)).text
    assert not operator.apply(once).changed


@few
@given(text=texts)
def test_single_operators_change_one_word_of_the_list_each(text):
    found = dict(REMOVE.individually(text))
    assert list(found) == sorted(found, key=REMOVE.words.index)
    present = {fold(text[start:end]) for start, end in word_spans(text)}
    assert set(found) == present & set(REMOVE.words)
    for word, mutation in found.items():
        assert mutation == WordOperator("one", (word,)).apply(text)


@few
@given(text=texts, seed=st.randoms(use_true_random=False))
def test_remove_words_is_the_word_operator_by_position(text, seed):
    spans = word_spans(text)
    matching = [index for index, (start, end) in enumerate(spans) if fold(text[start:end]) in REMOVE.keys]
    assert remove_words(text, matching) == REMOVE.apply(text).text
    chosen = seed.sample(range(len(spans)), seed.randint(0, len(spans)))
    left = remove_words(text, chosen, spans)
    gone = sum(end - start for index, (start, end) in enumerate(spans) if index in chosen)
    assert gone <= len(text) - len(left) <= gone + len(chosen)


def test_remove_words_by_hand():
    text = "The small dog, a very red dog."
    assert remove_words(text, []) == text
    assert remove_words(text, [0]) == "small dog, a very red dog."
    assert remove_words(text, [6, 1, 1]) == "The dog, a very red."
    assert remove_words(text, range(7)) == ",."
    assert remove_words("one", [0]) == ""
    with pytest.raises(IndexError):
        remove_words("one", [1])
    with pytest.raises(IndexError):
        remove_words("one two", [-1])


def test_edits_that_overlap_are_refused():
    for edits in ([Edit(0, 2, ""), Edit(1, 3, "")], [Edit(2, 9, "")], [Edit(2, 1, "")]):
        with pytest.raises(ValueError, match="overlaps"):
            apply_edits("abc", edits)


def test_operators_fit_the_protocol():
    assert all(isinstance(operator, Operator) for operator in OPERATORS)
