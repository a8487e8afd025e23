"""What a mutation operator is, and the machinery that word and character operators share.

The contract: `apply(text, rng) -> Mutation`. An edit names a stretch of the original string; everything outside the
edits is the same to the byte. The result depends on the text, the operator and the generator alone, never on hash
seeds, processes or the order of calls. Where there is nothing to do the text comes back with a reason; no string makes
an operator raise, be it empty, one character, markup, emoji, lone surrogates or 50,000 characters.
"""

import random
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

from muattack.words import word_spans

# What a removed word may take along: a tab and Unicode's space separators. Never a line end, which parts two lines.
SPACES = frozenset("\t \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")

EMPTY_TEXT = "the text is empty"
NO_WORD = "no word of the text is in the set"
NO_LETTER = "the matching words have nothing to replace"


class Edit(NamedTuple):
    """Replace text[start:end] of the original string; positions are indices into the Python string."""

    start: int
    end: int
    replacement: str


class Mutation(NamedTuple):
    """A mutated text with its edits, sorted and without overlap; `reason` says why there are none."""

    text: str
    edits: tuple[Edit, ...]
    reason: str = ""

    @property
    def changed(self) -> bool:
        """Whether the text differs from the original: an edit that changes nothing is never made."""
        return bool(self.edits)


@runtime_checkable
class Operator(Protocol):
    """What every family of operators provides; see the module's text for what `apply` promises."""

    name: str

    def apply(self, text: str, rng: random.Random | None = None) -> Mutation:
        """Mutate one text. `rng` is a generator seeded by the text's identity; operators without chance ignore it."""
        ...


class Action(NamedTuple):
    """What an operator does to one word: `word` is its position in the list, edits are relative to the word's start."""

    word: int
    edits: tuple[Edit, ...]
    removal: bool


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits made. Edits are sorted and do not overlap, else ValueError."""
    pieces, position = [], 0
    for start, end, replacement in edits:
        if not position <= start <= end <= len(text):
            raise ValueError(f"edit ({start}, {end}) overlaps the one before it or lies outside a text of {len(text)} characters")
        pieces += (text[position:start], replacement)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def removal_span(text: str, start: int, end: int, free: int) -> tuple[int, int]:
    """Widen a word's span by one neighbouring space: the one before, else the one after, else none.

    `free` is where the edit before ends; a space that it took is not there any more. So neither a double nor a leading
    space comes into being, and no more than one character beside the word is touched.
    """
    if start > free and text[start - 1] in SPACES:
        return start - 1, end
    if end < len(text) and text[end] in SPACES:
        return start, end + 1
    return start, end


def remove_words(text: str, indices: Iterable[int], spans: Sequence[tuple[int, int]] | None = None) -> str:
    """Return the text without the words at these positions (0 is the first word), spaces treated as by a word operator.

    `spans` are the text's `word_spans`, where the caller has them already. A position that does not exist is an IndexError.
    """
    if spans is None:
        spans = word_spans(text)
    pieces, free = [], 0
    for index in sorted(set(indices)):
        if index < 0:
            raise IndexError(f"word {index} does not exist")
        start, end = removal_span(text, *spans[index], free)
        pieces.append(text[free:start])
        free = end
    pieces.append(text[free:])
    return "".join(pieces)


def fold(word: str, case_sensitive: bool = False) -> str:
    """Return what words are compared by: canonical equivalents, both apostrophes and, unless told otherwise, cases are one."""
    if word.isascii():
        return word if case_sensitive else word.lower()
    word = unicodedata.normalize("NFC", word).replace("’", "'")
    return word if case_sensitive else unicodedata.normalize("NFC", word.casefold())


class LexicalOperator:
    """Base of operators that look at one word at a time: subclasses say what happens to a word of the list."""

    # Whether a matching word is taken as a whole, so that nothing else can happen to it in a joint application.
    whole: bool

    def __init__(self, name: str, words: Sequence[str], case_sensitive: bool = False) -> None:
        self.name = name
        self.words = tuple(words)
        self.case_sensitive = case_sensitive
        self.keys = {fold(word, case_sensitive): index for index, word in enumerate(self.words)}

    def rewrite(self, word: str) -> Action:
        """Return the action on a word as the text writes it; its `word` is not looked at."""
        raise NotImplementedError

    def action(self, word: str) -> Action | None:
        """Return what happens to a word of a text, None when it is not in the list."""
        index = self.keys.get(fold(word, self.case_sensitive))
        return None if index is None else self.rewrite(word)._replace(word=index)

    def apply(self, text: str, rng: random.Random | None = None) -> Mutation:
        """Mutate every matching word of the text."""
        return self._mutate(text, self._actions(text))

    def individually(self, text: str) -> Iterator[tuple[str, Mutation]]:
        """Yield (word of the list, mutation) for every word of the list that changes the text, in the list's order."""
        by_word: dict[int, list[tuple[int, int, Action]]] = {}
        for found in self._actions(text):
            by_word.setdefault(found[2].word, []).append(found)
        for index in sorted(by_word):
            mutation = self._mutate(text, by_word[index])
            if mutation.changed:
                yield self.words[index], mutation

    @property
    def effective(self) -> int:
        """How many words of the list the operator can change, in whatever case they may match."""
        forms = [(word,) if self.case_sensitive else (word, word.lower(), word.upper()) for word in self.words]
        return sum(any(self.rewrite(form).edits for form in of_word) for of_word in forms)

    def _actions(self, text: str) -> list[tuple[int, int, Action]]:
        action = self._remembered
        return [(start, end, done) for start, end in word_spans(text) if (done := action(text[start:end])) is not None]

    @cached_property
    def _remembered(self) -> Callable[[str], Action | None]:
        """Return `action` with a memory: few words make up most of a text."""
        return lru_cache(maxsize=4096)(self.action)

    @staticmethod
    def _mutate(text: str, found: list[tuple[int, int, Action]]) -> Mutation:
        edits: list[Edit] = []
        for start, end, action in found:
            if action.removal:
                edits.append(Edit(*removal_span(text, start, end, edits[-1].end if edits else 0), ""))
            else:
                edits += (Edit(start + edit.start, start + edit.end, edit.replacement) for edit in action.edits)
        if not edits:
            return Mutation(text, (), EMPTY_TEXT if not text else NO_LETTER if found else NO_WORD)
        return Mutation(apply_edits(text, edits), tuple(edits))


class JointOperator(LexicalOperator):
    """Apply several lexical operators to the original text at once.

    A word that a word operator takes is its alone, the first one's where several match. Otherwise the letters of all
    character operators are replaced together; of two that name one letter the first one wins.
    """

    def __init__(self, name: str, parts: Sequence[LexicalOperator]) -> None:
        self.name = name
        self.parts = tuple(parts)
        self.words = tuple(dict.fromkeys(word for part in parts for word in part.words))
        self.indices = {word: index for index, word in enumerate(self.words)}

    @property
    def keys(self) -> dict[str, int]:
        """Return the folded words of all parts."""
        return {key: self.indices[part.words[index]] for part in self.parts for key, index in part.keys.items()}

    def rewrite(self, word: str) -> Action:
        """Return the joint action on a word; without edits where no part matches it."""
        return self.action(word) or Action(-1, (), False)

    def action(self, word: str) -> Action | None:
        """Return what the parts together do to a word of a text, None when it is in none of their lists."""
        matching = [(part, action) for part in self.parts if (action := part.action(word)) is not None]
        if not matching:
            return None
        index = self.indices[matching[0][0].words[matching[0][1].word]]
        for part, action in matching:
            if part.whole:
                return action._replace(word=index)
        letters: dict[int, Edit] = {}
        for _, action in matching:
            for edit in action.edits:
                letters.setdefault(edit.start, edit)
        return Action(index, tuple(letters[start] for start in sorted(letters)), False)
