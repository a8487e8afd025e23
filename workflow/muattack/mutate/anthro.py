"""ANTHRO's look-up: the ways people write a word, found in any corpus by its sound, or read from a table.

Source: the published method behind NoisyHate (paper, 3.3). A token's sound at phonetic level k is its first k + 1 letters and the
Soundex codes of the consonants after them, not cut to a length; look-alikes (0 for o, @ for a, other scripts' letters) are folded
first. Tokens of one sound within an edit distance d of a word are that word's perturbations; the public dictionary is asked with
k = 1 and d = 5, which are the defaults here.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from itertools import groupby, product
from pathlib import Path
from types import MappingProxyType

import editdistance
import regex

from muattack.errors import InputError
from muattack.mutate.operator import fold
from muattack.words import WORD

LEVEL, DISTANCE = 1, 5

# What a character may stand for, the source's reading first. Readings that the source does not name are ours.
LOOK_ALIKES = MappingProxyType(
    {
        "0": "o", "1": "li", "5": "s", "6": "b", "9": "g", "@": "a", "+": "t", "!": "i",
        "3": "e", "4": "a", "7": "t", "8": "b", "$": "s", "€": "e", "|": "li", "¡": "i", "ϵ": "e", "ε": "e",
    }
)  # fmt: skip
# Readings of one token: more would let a row of digits take for ever.
READINGS = 8

VOWELS = "aeiouy"
CODES = {letter: code for code, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1) for letter in letters}

# A token as people write it: a word of ours, with the signs that stand for letters, and invisible characters, inside it. A full stop
# or an exclamation mark ends a sentence far more often than a word, so they count only between two characters of a word.
TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}@$+€](?:[\p{L}\p{N}\p{M}@$+€]|[!|*_'’¡\p{Cf}]++(?=[\p{L}\p{N}\p{M}@$+€]))*+")
# Unlike other combining marks and signs, joiners inside emoji and Indic words carry meaning, but none inside an English word.
IGNORED = frozenset({"Mn", "Me", "Cf"})


def tokens(text: str) -> list[str]:
    """Return the text's tokens that hold a letter: words, also with signs inside that stand for letters (st*lid, j0ke, $illy)."""
    return [found for found in TOKEN.findall(text) if any(character.isalpha() for character in found)]


@cache
def english_words(usage: int = 0) -> frozenset[str]:
    """Return the English words of pyspellchecker's word list, lower case, that were counted at least `usage` times in its corpus."""
    from spellchecker import SpellChecker

    return frozenset(word for word, count in SpellChecker(language="en").word_frequency.items() if count >= usage)


# --- Folding and sound ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=65536)
def homoglyph(character: str) -> str:
    """Return the ASCII letters that a character looks like, in its case; the character itself where it looks like none.

    A letter with marks loses them, an invisible character becomes nothing. Other scripts' letters are looked up in Unicode's
    list of confusables (package confusable-homoglyphs). ASCII characters stay as they are.
    """
    if character.isascii():
        return character
    plain = "".join(part for part in unicodedata.normalize("NFKD", character) if unicodedata.category(part) not in IGNORED)
    if plain.isascii():
        return plain
    letters = [target for entry in _confusables().get(character, ()) if len(target := entry["c"]) == 1 and target.isascii() and target.isalpha()]
    if not letters:
        return character
    # Unicode's list has one prototype, l, for capital I, small l and the digit 1.
    if character.isupper():
        return "I" if letters == ["l"] else next((letter for letter in letters if letter.isupper()), letters[0])
    return next((letter for letter in letters if letter.islower()), letters[0])


@cache
def _confusables() -> Mapping[str, list[dict]]:
    from confusable_homoglyphs.confusables import confusables_data

    return confusables_data


def readings(token: str, look_alikes: Mapping[str, str] = LOOK_ALIKES) -> list[str]:
    """Return what a token may read as, lower case, the first reading of every character first; at most READINGS of them."""
    choices, many = [], 1
    for character in token:
        found = look_alikes.get(character)
        if found is None:
            letters = homoglyph(character)
            found = look_alikes.get(letters) or (letters.lower(),)
        if many * len(found) > READINGS:
            found = found[:1]
        many *= len(found)
        choices.append(found)
    return ["".join(choice) for choice in product(*choices)]


def sound(letters: str, level: int = LEVEL) -> str:
    """Return the sound of folded letters at a phonetic level: level + 1 characters, then the codes of the consonants after them.

    As in Soundex, consonants of one code that follow each other, or are parted by h or w alone, count once; a vowel between
    them makes them two. Nothing is cut or filled up: long words keep all their codes.
    """
    codes, before = [], 0
    for place, letter in enumerate(letters):
        code = CODES.get(letter, 0)
        if code and code != before and place > level:
            codes.append(str(code))
        if letter not in "hw":
            before = code
    return letters[: level + 1].upper() + "".join(codes)


def _vowels(letters: str) -> str:
    return "".join(letter for letter, _ in groupby(letter for letter in letters if letter in VOWELS))


def keeps_vowels(word: str, form: str, look_alikes: Mapping[str, str] = LOOK_ALIKES) -> bool:
    """Return whether a form changes no vowel of the word into something that does not look like it.

    A vowel may be repeated, left out or put in, not exchanged. So, with look-alikes read as letters and runs taken once, the vowels of one
    must be found in the other's, in order. This wording of the strict rule is ours; y counts as a vowel.
    """
    wanted = _vowels(word)
    return any(subsequence(wanted, found) or subsequence(found, wanted) for found in map(_vowels, readings(form, look_alikes)))


def subsequence(short: str, long: str) -> bool:
    """Return whether all letters of one string are found in another, in order."""
    rest = iter(long)
    return all(letter in rest for letter in short)


def ordinary(word: str, form: str) -> bool:
    """Return whether a form is the word in ordinary capitals: small, Capitalised or ALL CAPITALS."""
    return form in (word, word.lower(), word.upper(), word.lower().capitalize())


# --- Look-ups ---------------------------------------------------------------------------------------------------------


class Anthro:
    """The tokens of a corpus by sound; `forms` finds the perturbations of a word among them.

    counts: how often each token occurs, as the corpus writes it. strict: leave out forms that are another English word or fail
    `keeps_vowels`; english: the words that count as English, by default `english_words()`.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        level: int = LEVEL,
        distance: int = DISTANCE,
        strict: bool = True,
        look_alikes: Mapping[str, str] = LOOK_ALIKES,
        english: Collection[str] | None = None,
    ) -> None:
        self.level, self.distance, self.strict, self.look_alikes = level, distance, strict, dict(look_alikes)
        self.counts = dict(counts)
        self.english = english_words() if english is None else english
        self.sounds: dict[str, list[str]] = {}
        for token in sorted(self.counts):
            for one in dict.fromkeys(sound(letters, level) for letters in readings(token, self.look_alikes)):
                self.sounds.setdefault(one, []).append(token)

    def forms(self, word: str) -> tuple[str, ...]:
        """Return how people write the word, the most frequent first, then by code point; its ordinary spellings are left out."""
        word = fold(word)
        alike = dict.fromkeys(token for letters in readings(word, {}) for token in self.sounds.get(sound(letters, self.level), ()))
        return tuple(sorted((token for token in alike if self._perturbs(word, token)), key=lambda token: (-self.counts[token], token)))

    def table(self, words: Iterable[str] | None = None) -> dict[str, tuple[str, ...]]:
        """Return the words that have perturbations with them, sorted; by default of all English words that the corpus holds."""
        if words is None:
            words = {low for token in self.counts if (low := token.lower()) in self.english}
        return {word: forms for word in sorted(set(words)) if (forms := self.forms(word))}

    def _perturbs(self, word: str, token: str) -> bool:
        low = fold(token)
        if ordinary(word, token):
            return False
        if abs(len(low) - len(word)) > self.distance or editdistance.eval(word, low) > self.distance:
            return False
        return not self.strict or ((low == word or low not in self.english) and keeps_vowels(word, token, self.look_alikes))


def count_tokens(texts: Iterable[str], minimum: int = 1) -> Counter[str]:
    """Count the tokens of texts as they are written; those that occur fewer than `minimum` times are left out."""
    counts = Counter(token for text in texts for token in tokens(text))
    return Counter({token: count for token, count in counts.items() if count >= minimum})


def read_corpus(paths: Iterable[str | Path]) -> list[str]:
    """Return the lines of text files, in order. Raises InputError for a file that is missing, no UTF-8, or without a line."""
    lines = []
    for path in paths:
        found = [line for line in read_text(path, "corpus").splitlines() if line.strip()]
        if not found:
            raise InputError(f"The corpus {path} is empty. Name a text file with a text a line.")
        lines += found
    return lines


def read_text(path: str | Path, what: str) -> str:
    """Return a UTF-8 file's text. Raises InputError that says what the file is for."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"The {what} {path} does not exist. Check the path; relative ones count from the working directory.") from None
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read ({error.strerror}). Name a file.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"The {what} {path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None


def read_json(path: str | Path, what: str) -> object:
    """Return a JSON file's value; a key that stands twice is an error, as is everything that `read_text` refuses. Raises InputError."""
    try:
        return json.loads(read_text(path, what), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The {what} {path} is not JSON: {error}. Mend it there, or take the file as it was before it was edited.") from None


def _once(pairs: list[tuple[str, object]]) -> dict:
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} stands twice")
    return dict(pairs)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def read_table(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read a table of perturbations: a JSON object, each word with the list of its forms.

    Words are compared without regard to case; forms of one word written twice are joined. Ordinary spellings of the word (see
    `ordinary`) are left out, and so are words without any other form. Raises InputError with the word and the form.
    """
    found = read_json(path, "table of perturbations")
    shape = 'Write an object with a list of forms for each word, for example {"silly": ["sillyyy", "s1lly"]}'
    if not isinstance(found, dict):
        raise InputError(f"The table of perturbations {path} holds a {type(found).__name__}, not an object. {shape}.")
    table: dict[str, list[str]] = {}
    for word, forms in found.items():
        if not WORD.fullmatch(word):
            raise InputError(f"The table of perturbations {path}: {word!r} is not one word: blanks, hyphens and other signs separate words. {shape}.")
        if not isinstance(forms, list) or not all(isinstance(form, str) for form in forms):
            wrong = forms if not isinstance(forms, list) else next(form for form in forms if not isinstance(form, str))
            raise InputError(f"The table of perturbations {path}: the forms of {word!r} are no list of texts ({wrong!r}). {shape}.")
        for form in forms:
            if not form or any(character.isspace() for character in form):
                raise InputError(
                    f"The table of perturbations {path}: {word!r} has the form {form!r}. A form is not empty and has no blanks in it. {shape}."
                )
            try:
                form.encode("utf-8")
            except UnicodeEncodeError:
                raise InputError(f"The table of perturbations {path}: a form of {word!r} holds half of a surrogate pair. Mend it.") from None
        table.setdefault(fold(word), []).extend(forms)
    table = {word: list(dict.fromkeys(form for form in forms if not ordinary(word, form))) for word, forms in table.items()}
    if not any(table.values()):
        raise InputError(f"The table of perturbations {path} holds no word with a form other than its ordinary spellings. {shape}.")
    return {word: tuple(table[word]) for word in sorted(table) if table[word]}
