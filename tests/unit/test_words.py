"""The definition of a word, and our own word lists."""

import re

import pytest

from muattack.mutate.registry import own_list
from muattack.words import word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man's hat", ["A", "man's", "hat"]),
        ("a’s 'quoted' dogs'", ["a’s", "quoted", "dogs"]),
        ("well-known", ["well", "known"]),
        ("rock'n'roll a''b", ["rock'n'roll", "a", "b"]),
        ("cafe\u0301 3d x_y", ["cafe\u0301", "3d", "x", "y"]),
        ("日本 the😀a", ["日本", "the", "a"]),
        ("<b>the</b>&amp;", ["b", "the", "b", "amp"]),
        ("th\u00ade a\u200bn", ["th", "e", "a", "n"]),
        ("", []),
        ("\ud800a", ["a"]),
    ],
)
def test_words_of_a_text(text, words):
    assert [text[start:end] for start, end in word_spans(text)] == words


@pytest.mark.parametrize(("name", "size"), [("articles", 3), ("adjectives", 527), ("adverbs", 255)])
def test_lists_have_the_papers_sizes_and_are_clean(name, size):
    words = own_list(name)
    assert len(words) == size
    assert list(words) == sorted(set(words))
    assert all(re.fullmatch("[a-z]+", word) for word in words)


def test_lists_share_no_word_and_hold_what_captions_say():
    lists = [own_list(name) for name in ("articles", "adjectives", "adverbs")]
    assert sum(map(len, lists)) == len(set().union(*lists)) == 785
    assert lists[0] == ("a", "an", "the")
    assert {"white", "red", "large", "young", "wooden", "green", "small", "black"} <= set(lists[1])
    assert {"together", "outside", "away", "slowly", "very"} <= set(lists[2])
