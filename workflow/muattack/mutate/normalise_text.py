"""Normalisers: what turns perturbed words back into standard ones, behind one interface.

A normaliser has a name, `word(word) -> str` and `text(text) -> Mutation`: edits on the original string, everything outside them the same to
the byte, as for operators. Nothing here opens a network but `WebNormaliser`, and that only where the user's key is in the environment.

Source: NoisyHate, 5.1 (pyspellchecker and others). SymSpell and the folding of Unicode's confusables are additions.
"""

import os
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import regex

from muattack.errors import InputError
from muattack.mutate.anthro import LOOK_ALIKES, TOKEN, homoglyph, read_text
from muattack.mutate.operator import EMPTY_TEXT, Edit, Mutation, apply_edits, fold
from muattack.mutate.registry import known
from muattack.mutate.word import like

NOTHING = "the normaliser finds nothing to change"
# Longer runs of letters are no words, and a corrector's time grows with the square of the length.
LONGEST = 30
# Numbers with an ending are none of the words that people write with digits for letters.
COUNTED = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm)", re.IGNORECASE)
# Letters, digits, punctuation and blanks whose look no invisible character beside them changes: of scripts that neither join nor stack their letters.
_PLAIN = (
    r"[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Han}\p{Nd}\p{P}\p{Z}\p{Cc}\p{Sc}\p{Sm}]"
)
# A run of characters that are not seen, between two such or an end of the text. Unicode's property, as the package regex has it.
INVISIBLE = regex.compile(rf"(?<=^|{_PLAIN})\p{{Default_Ignorable_Code_Point}}++(?={_PLAIN}|\Z)")
# Words remembered: few make up most of a text.
MEMORY = 65536
# Seconds that a web service may take to answer.
TIMEOUT = 20.0


class Normaliser(Protocol):
    """What every normaliser provides."""

    name: str

    def word(self, word: str) -> str: ...

    def text(self, text: str) -> Mutation: ...


class WordNormaliser:
    """Base of normalisers that look at one word at a time; subclasses give `correct(word)`, and a text is done word by word.

    A word is a token as people write it (`anthro.TOKEN`), so st*lid and j@r are one. Equal words get equal results.
    """

    name: str

    def correct(self, word: str) -> str:
        """Return the standard word for a word, the word itself where there is nothing to do or to be found."""
        raise NotImplementedError

    @cached_property
    def word(self) -> Callable[[str], str]:
        """Return `correct` with a memory; words of more than LONGEST characters stay as they are."""
        correct = lru_cache(MEMORY)(self.correct)
        return lambda word: correct(word) if 0 < len(word) <= LONGEST else word

    def text(self, text: str) -> Mutation:
        """Normalise every word of a text."""
        edits = tuple(Edit(*match.span(), new) for match in TOKEN.finditer(text) if (new := self.word(match[0])) != match[0])
        return Mutation(apply_edits(text, edits), edits) if edits else Mutation(text, (), NOTHING if text else EMPTY_TEXT)


class PySpellChecker(WordNormaliser):
    """The most frequent known word within a Levenshtein distance, by pyspellchecker. Source: NoisyHate, 5.1; by default two edits."""

    name = "pyspellchecker"

    def __init__(self, distance: int = 2, words: Mapping[str, int] | None = None) -> None:
        """`words` are known words with how often they are used, by default the package's English list."""
        self.distance, self.words = distance, words

    @cached_property
    def checker(self):
        """Return the package's spell checker; its list takes part of a second to read."""
        from spellchecker import SpellChecker

        if self.words is None:
            return SpellChecker(language="en", distance=self.distance)
        checker = SpellChecker(language=None, distance=self.distance)
        checker.word_frequency.load_json(dict(self.words))
        return checker

    def correct(self, word: str) -> str:
        """Return the known word, in the word's capitals; of equally frequent ones the first by the alphabet, for the package's choice depends on hash seeds."""
        low = fold(word)
        best = self._best(low)
        return word if best == low else like(word, best)

    @cached_property
    def _best(self) -> Callable[[str], str]:
        """Return the search for the known word of a folded word, with a memory: two edits of a long word cost a second."""

        def search(low: str) -> str:
            found = self.checker.candidates(low)
            return low if not found or low in found else min(found, key=lambda one: (-self.checker[one], one))

        return lru_cache(MEMORY)(search)


class SymSpellChecker(WordNormaliser):
    """The nearest known word within an edit distance, the most frequent of the nearest, by symspellpy."""

    name = "symspellpy"

    def __init__(self, distance: int = 2, words: Mapping[str, int] | None = None) -> None:
        """`words` are known words with how often they are used, by default the package's 82,765 English ones."""
        self.distance, self.words = distance, words

    @cached_property
    def checker(self):
        """Return the package's spell checker; its list takes some seconds to read."""
        from importlib.resources import files

        from symspellpy import SymSpell

        checker = SymSpell(max_dictionary_edit_distance=self.distance, prefix_length=7)
        if self.words is None:
            checker.load_dictionary(str(files("symspellpy") / "frequency_dictionary_en_82_765.txt"), term_index=0, count_index=1)
        else:
            for known_word in sorted(self.words):
                checker.create_dictionary_entry(known_word, self.words[known_word])
        return checker

    def correct(self, word: str) -> str:
        """Return the known word, in the word's capitals; of equals the first by the alphabet."""
        from symspellpy import Verbosity

        low = fold(word)
        found = self.checker.lookup(low, Verbosity.CLOSEST, max_edit_distance=self.distance)
        if not found:
            return word
        best = min(found, key=lambda one: (one.distance, -one.count, one.term)).term
        return word if best == low else like(word, best)


class ConfusableFolder(WordNormaliser):
    """Letters of other scripts, with marks, or in fancy styles as the ASCII letters they look like, by Unicode's list of confusables.

    That list takes the Greek epsilons for ꞓ, a c with a bar: that they stand for e is an addition of ours (`anthro.LOOK_ALIKES`).

    A word changes only where all of it then is ASCII, so that words of other scripts and languages with letters of their own are
    left alone; invisible characters inside a word go. With `signs` the digits and signs of `anthro.LOOK_ALIKES` are read as letters too
    (j0ke, $illy), in words that hold a letter, but not in numbers with an ending (1st, 90s, 5pm).
    """

    def __init__(self, signs: bool = False) -> None:
        self.signs = signs
        self.name = "look-alikes" if signs else "confusables"

    def correct(self, word: str) -> str:
        """Return the word with every look-alike as its letter."""
        # A sign stands for a letter in a word only: €5 is a price.
        written = any(homoglyph(character).isalpha() for character in word)
        folded = "".join(
            LOOK_ALIKES[character][0] if written and not character.isascii() and character in LOOK_ALIKES else homoglyph(character)
            for character in word
        )
        if self.signs and written and not COUNTED.fullmatch(word):
            folded = "".join(LOOK_ALIKES.get(character, character)[0] for character in folded)
        return folded if folded and folded.isascii() else word


class SmallLetters(WordNormaliser):
    """Every word in small letters, for classifiers that saw no others: the other normalisers keep a word's capitals."""

    name = "lower-case"

    def correct(self, word: str) -> str:
        """Return the word in small letters."""
        return word.lower()


class ZeroWidth(WordNormaliser):
    """Invisible characters out: zero-width spaces and joiners, soft hyphens, direction marks and all else that Unicode calls default-ignorable.

    Beside emoji and beside letters of scripts that join or stack theirs they stay, for there they carry meaning.
    """

    name = "zero-width"

    def correct(self, word: str) -> str:
        """Return the word without invisible characters."""
        return INVISIBLE.sub("", word)

    def text(self, text: str) -> Mutation:
        """Take invisible characters out, between words too."""
        edits = tuple(Edit(*match.span(), "") for match in INVISIBLE.finditer(text))
        return Mutation(apply_edits(text, edits), edits) if edits else Mutation(text, (), NOTHING if text else EMPTY_TEXT)


class Chain(WordNormaliser):
    """Several normalisers of words, one after the other: folding look-alikes before a spell checker, say."""

    def __init__(self, parts: Sequence[WordNormaliser]) -> None:
        self.parts = tuple(parts)
        self.name = "+".join(part.name for part in parts)

    def correct(self, word: str) -> str:
        """Return what the last normaliser makes of what the others made."""
        for part in self.parts:
            word = part.word(word)
        return word


class WebNormaliser:
    """A web service: `ask(text, key) -> corrected text`, called only when the environment variable `variable` holds the user's key.

    Opens a network, as nothing else here does, and only by `ask`. Without a key making one raises InputError: nothing is sent. The
    answer must be a text; what differs from the text sent, between what both begin and end with, becomes one edit. Equal texts
    are asked for once.
    """

    def __init__(self, name: str, ask: Callable[[str, str], str], variable: str) -> None:
        key = os.environ.get(variable, "").strip()
        if not key:
            raise InputError(
                f"The normaliser {name} is a web service and needs your key: set the environment variable {variable}. Without it nothing is sent; take {name} out of the list otherwise."
            )
        self.name, self.variable = name, variable
        self._ask = lru_cache(MEMORY)(lambda text: self._answer(ask, text, key))

    def word(self, word: str) -> str:
        """Return the service's answer to a word."""
        return self._ask(word) if word.strip() else word

    def text(self, text: str) -> Mutation:
        """Return the service's answer to a text, as one edit."""
        if not text.strip():
            return Mutation(text, (), EMPTY_TEXT)
        answer = self._ask(text)
        if answer == text:
            return Mutation(text, (), NOTHING)
        start = _alike(text, answer)
        tail = _alike(text[start:][::-1], answer[start:][::-1])
        edits = (Edit(start, len(text) - tail, answer[start : len(answer) - tail]),)
        return Mutation(apply_edits(text, edits), edits)

    def _answer(self, ask: Callable[[str, str], str], text: str, key: str) -> str:
        try:
            answer = ask(text, key)
        except Exception as error:
            # A message may quote the address that was asked, and the key in it.
            said = str(error).replace(key, "…")
            raise InputError(
                f"The web service {self.name} did not answer ({type(error).__name__}: {said}). Check the network and the key in {self.variable}."
            ) from None
        if not isinstance(answer, str):
            raise InputError(f"The web service {self.name} answered {type(answer).__name__} instead of a text. Mend the function that asks it.")
        return answer


def _alike(one: str, other: str) -> int:
    """Return how many characters two strings begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def ask_serpapi(text: str, key: str) -> str:
    """Return Google's suggestion for a text by SerpApi's search service, the text itself where it has none. Source: NoisyHate, 5.1."""
    import json
    import urllib.parse
    import urllib.request

    query = urllib.parse.urlencode({"engine": "google", "output": "json", "q": text, "api_key": key})
    with urllib.request.urlopen(f"https://serpapi.com/search?{query}", timeout=TIMEOUT) as reply:
        said = json.load(reply)
    about = said.get("search_information", {})
    return about.get("spelling_fix") or about.get("showing_results_for") or text


# --- By name ----------------------------------------------------------------------------------------------------------

OFFLINE: dict[str, Callable[[], WordNormaliser]] = {
    "pyspellchecker": PySpellChecker,
    "symspellpy": SymSpellChecker,
    "confusables": ConfusableFolder,
    "look-alikes": lambda: ConfusableFolder(signs=True),
    "lower-case": SmallLetters,
    "zero-width": ZeroWidth,
}
# Name: what asks the service, and the variable that holds the key.
WEB: dict[str, tuple[Callable[[str, str], str], str]] = {"serpapi": (ask_serpapi, "SERPAPI_KEY")}


def make_normaliser(entry: str | Mapping, where: str = "normalisers") -> Normaliser:
    """Return a normaliser by its entry in a configuration. Raises InputError.

    A name of OFFLINE; several joined by + (look-alikes+symspellpy); a name of WEB, whose key must be in the environment; or {name, ask:
    module:function, key: VARIABLE}, a web service of the user's.
    """
    if isinstance(entry, Mapping):
        if set(entry) != {"name", "ask", "key"} or not all(isinstance(value, str) and value for value in entry.values()):
            raise InputError(
                f"{where}: a web service needs {{name: mine, ask: module:function, key: MY_KEY}}, key being an environment variable; found {dict(entry)!r}."
            )
        try:
            ask = pkgutil.resolve_name(entry["ask"])
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(f"{where}: {entry['ask']} cannot be imported: {error}. Write module:function, with the module on PYTHONPATH.") from None
        return WebNormaliser(entry["name"], ask, entry["key"])
    if entry in WEB:
        ask, variable = WEB[entry]
        return WebNormaliser(entry, ask, variable)
    names = entry.split("+") if isinstance(entry, str) else [entry]
    for name in names:
        known(name, [*OFFLINE, *(WEB if len(names) == 1 else ())], "normaliser", where)
    parts = [OFFLINE[name]() for name in names]
    return parts[0] if len(parts) == 1 else Chain(parts)


def read_frequencies(path: str | Path) -> dict[str, int]:
    """Return a user's word list for a spell checker: a UTF-8 text file, in each line a word and how often it is used. Raises InputError."""
    words: dict[str, int] = {}
    for row, line in enumerate(read_text(path, "word list").splitlines(), 1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 2 or not parts[1].isdecimal() or len(parts[1]) > 18:
            raise InputError(
                f"The word list {path}, row {row}, is {line!r}. Write a word and a whole number of at most 18 digits, parted by a blank."
            )
        words[parts[0].lower()] = words.get(parts[0].lower(), 0) + int(parts[1])
    if not words:
        raise InputError(f"The word list {path} is empty. Write a word and how often it is used in each line.")
    return words
