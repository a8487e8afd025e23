"""What a word is: the one definition that operators, RR-training and the article statistic share.

A word is a maximal run of letters, digits and marks. An apostrophe (' or U+2019) with such characters on both sides
belongs to the word; a hyphen separates. Positions are indices into the Python string.
"""

import regex

# Possessive quantifiers: a run, once taken, is never given back, so long inputs cannot backtrack.
WORD = regex.compile(r"[\p{L}\p{N}\p{M}]++(?:['’][\p{L}\p{N}\p{M}]++)*+")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of every word of the text, in order."""
    return [match.span() for match in WORD.finditer(text)]
