"""Chinese perturbations: Tradition, Rewrite and Splitting-character, word by word or on a whole text.

Source: the paper of the OAD evaluation of large language models' robustness, 3.1.1.2. It names nine methods and its
printed page describes three; these three are here, the other six are not guessed at. Another method is added by
configuration, `method: module:function`, a function (word, generator) -> new word, or None where there is nothing to do.
Nor does the page give formulas for its scores ORS and OFS: nothing here or in the evaluation computes them.

Where the page leaves something open the choice is a setting: pinyin is written without tones (`style`), and all left-right
characters of a word are split (`characters`).
"""

import importlib
import random
import warnings
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

import regex

from muattack.errors import InputError
from muattack.mutate.operator import EMPTY_TEXT, Edit, Mutation, apply_edits
from muattack.mutate.registry import OperatorSet, known
from muattack.seeds import digest, generator
from muattack.words import WORD

NO_CHINESE = "the text has no Chinese character"
NO_TRADITIONAL = "no character of the text has another traditional form"
ALREADY_TRADITIONAL = "the text is in traditional characters already"
NO_PINYIN = "no character of the text has a known pinyin"
NO_LEFT_RIGHT = "no character of the text can be split into left and right"
NOTHING_NEW = "the method changes no word of the text"
NONE_DRAWN = "no word that can change was drawn"

# Chinese characters; the signs for radicals alone (⼀ U+2F00) are no letters.
HAN = regex.compile(r"(?:(?=\p{Han})[\p{L}\p{N}])++")
# A Chinese character is a word, and so is every other run of letters, digits and marks.
CHARACTER = regex.compile(r"(?=\p{Han})[\p{L}\p{N}]\p{M}*+|(?:(?!\p{Han})[\p{L}\p{N}\p{M}])++")
VARIANTS = ("s2t", "s2tw", "s2hk")
STYLES = ("normal", "tone", "tone3")
CHARACTERS = ("all", "one")
SEGMENTERS = ("jieba", "characters")
# The numbers of cjk-semantic-split for the places of a character's two parts.
LEFT_RIGHT = (30, 40)
# The components that are single strokes: a character made of nothing else is no pair of parts.
STROKES = "一丨丶丿乀乁亅乙乚㇆㇠"

Spans = list[tuple[int, int]]


class Method(Protocol):
    """What a perturbation of words provides; `key` is the number that all chance of a text comes from."""

    name: str

    def edits(self, text: str, start: int, end: int, key: int) -> tuple[Edit, ...]:
        """Return the edits on text[start:end], one word, in order; none where there is nothing to do."""
        ...

    def nothing(self, text: str) -> str:
        """Say why no word of the text can change."""
        ...


class Tradition:
    """Put the traditional form for every simplified character, by OpenCC.

    The text around a word decides between several traditional forms (头发 -> 頭髮, 发现 -> 發現). `variant` is OpenCC's
    standard: s2t, s2tw (Taiwan) or s2hk (Hong Kong). A text that is written in traditional characters is left alone, though
    OpenCC would level some of them too (台灣 -> 臺灣).
    """

    name = "tradition"

    def __init__(self, variant: str = "s2t") -> None:
        self.variant = variant
        # An attack asks for one word after another of the same text.
        self._found = lru_cache(maxsize=64)(self._convert)

    def edits(self, text: str, start: int, end: int, key: int = 0) -> tuple[Edit, ...]:
        """Return one edit for each character of the word that has another traditional form."""
        found = self._found(text)[0]
        return found[bisect_left(found, start, key=_start) : bisect_left(found, end, key=_start)]

    def nothing(self, text: str) -> str:
        """Say why nothing changes: traditional already, or the same in both scripts."""
        return self._found(text)[1]

    def _convert(self, text: str) -> tuple[tuple[Edit, ...], str]:
        """Return the edits of the whole text, and why there are none."""
        found: list[Edit] = []
        traditional = False
        for match in HAN.finditer(text):
            run, first = match.group(), match.start()
            converted = _converted(self.variant, run)
            found += (Edit(first + at, first + at + 1, new) for at, (old, new) in enumerate(zip(run, converted, strict=True)) if old != new)
            traditional = traditional or any(old != new and _only_traditional(old) for old, new in zip(run, _converted("t2s", run), strict=True))
        if found and traditional and not any(_only_simplified(text[edit.start]) for edit in found):
            found = []
        if found:
            return tuple(found), ""
        return (), ALREADY_TRADITIONAL if traditional else NO_TRADITIONAL


class Rewrite:
    """Put its pinyin for one character of the word, drawn by chance, by pypinyin.

    The word decides how a character is read (银行 yin hang, 行走 xing zou). `style` normal writes no tones (ü as v), tone marks them, tone3 puts
    the number behind.
    """

    name = "rewrite"

    def __init__(self, style: str = "normal") -> None:
        self.style = style

    def edits(self, text: str, start: int, end: int, key: int) -> tuple[Edit, ...]:
        """Return the one edit of the word, none where no character of it has a pinyin."""
        choices = [
            (match.start() + at, pinyin)
            for match in HAN.finditer(text, start, end)
            for at, pinyin in enumerate(_pinyin(match.group(), self.style))
            if pinyin
        ]
        if not choices:
            return ()
        place, pinyin = choices[digest(key, "rewrite", start) % len(choices)]
        return (Edit(place, place + 1, pinyin),)

    def nothing(self, text: str) -> str:
        """Say why nothing changes."""
        return NO_PINYIN


class Splitting:
    """Split left-right characters of the word into their two parts (好 -> 女子); others stay, so that the text can still be read.

    `characters` all splits every such character of the word, one draws one of them by chance: the page does not say which.
    """

    name = "splitting"

    def __init__(self, characters: str = "all") -> None:
        self.characters = characters

    def edits(self, text: str, start: int, end: int, key: int) -> tuple[Edit, ...]:
        """Return one edit for each character that is split."""
        found = tuple(Edit(at, at + 1, parts) for at in range(start, end) if text[at] > "\u2e7f" and (parts := left_right(text[at])))
        if self.characters == "one" and len(found) > 1:
            return (found[digest(key, "splitting", start) % len(found)],)
        return found

    def nothing(self, text: str) -> str:
        """Say why nothing changes."""
        return NO_LEFT_RIGHT


class Custom:
    """A method of the user's: a function (word, generator) -> the new word, or None where there is nothing to do."""

    def __init__(self, name: str, function: Callable[[str, random.Random], str | None]) -> None:
        self.name, self.function = name, function

    def edits(self, text: str, start: int, end: int, key: int) -> tuple[Edit, ...]:
        """Return the one edit of the word. Raises InputError where the function fails or returns no text."""
        word = text[start:end]
        try:
            new = self.function(word, generator(key, self.name, start))
        except Exception as error:
            raise InputError(f"The method {self.name} failed on the word {word!r}: {type(error).__name__}: {error}. Mend the function.") from error
        if new is not None and not isinstance(new, str):
            raise InputError(f"The method {self.name} returned {new!r} for the word {word!r}. It must return the new word, or None to leave it.")
        return () if new is None or new == word else (Edit(start, end, new),)

    def nothing(self, text: str) -> str:
        """Say why nothing changes."""
        return NOTHING_NEW


class ChineseOperator:
    """Perturb the words of a text by one method.

    All chance of a text comes from one number: the digest of (seed, operator name, text), or one draw of the generator that is handed
    in. A word's own chance is the digest of that number and its place, so what happens to it does not depend on the
    others. `share` is the chance of each word to be perturbed; with a larger share the same words change, and more.
    """

    def __init__(self, name: str, method: Method, words: str = "jieba", share: float = 1.0, seed: int = 0) -> None:
        self.name, self.method, self.words, self.share, self.seed = name, method, words, share, seed

    def spans(self, text: str) -> Spans:
        """Return (start, end) of every word of the text, in order."""
        return segment(text, self.words)

    def key(self, text: str, rng: random.Random | None = None) -> int:
        """Return the number that all chance of this text comes from."""
        return digest(self.seed, self.name, text) if rng is None else rng.getrandbits(64)

    def word(self, text: str, start: int, end: int, key: int) -> tuple[Edit, ...]:
        """Return the edits on one word of the text, whatever the share; none where there is nothing to do."""
        return self.method.edits(text, start, end, key)

    def apply(self, text: str, rng: random.Random | None = None) -> Mutation:
        """Perturb the words of the text."""
        if not text:
            return Mutation(text, (), EMPTY_TEXT)
        # A method of the user's may change any word.
        if not isinstance(self.method, Custom) and not HAN.search(text):
            return Mutation(text, (), NO_CHINESE)
        key = self.key(text, rng)
        spans = self._apart(text)
        drawn = spans if self.share >= 1 else [span for span in spans if digest(key, "share", span[0]) < self.share * 2**64]
        edits = tuple(edit for span in drawn for edit in self.word(text, *span, key))
        if edits:
            return Mutation(apply_edits(text, edits), edits)
        able = len(drawn) < len(spans) and any(self.word(text, *span, key) for span in spans)
        return Mutation(text, (), NONE_DRAWN if able else self.method.nothing(text))

    def _apart(self, text: str) -> Spans:
        """Return what is perturbed apart: the words, or the whole text where words make no difference and cost time."""
        whole = isinstance(self.method, Tradition) or (isinstance(self.method, Splitting) and self.method.characters == "all")
        return [(0, len(text))] if whole and self.share >= 1 else self.spans(text)


# --- Words ------------------------------------------------------------------------------------------------------------


def segment(text: str, words: str = "jieba") -> Spans:
    """Return (start, end) of the words of a text, in order: those with a letter, digit or mark.

    `words` is jieba, characters (each Chinese character and each other run of letters and digits), or `module:function`, a
    function text -> [(start, end)]. Raises InputError for spans that overlap or lie outside the text.
    """
    if words == "jieba":
        spans = [(start, end) for _, start, end in _jieba().tokenize(text)]
    elif words == "characters":
        return [match.span() for match in CHARACTER.finditer(text)]
    else:
        spans = list(named_function(words, "words")(text))
        after = 0
        for span in spans:
            if len(span) != 2 or not after <= span[0] < span[1] <= len(text):
                raise InputError(
                    f"The segmenter {words} returned {tuple(span)!r} behind position {after} of a text of {len(text)} characters. "
                    "It must return (start, end) of each word, in order and without overlap."
                )
            after = span[1]
    return [(start, end) for start, end in spans if WORD.search(text, start, end)]


@cache
def _jieba():
    """Return a tokenizer of jieba with the dictionary of its wheel.

    jieba's own loading writes a file to the temporary folder, trusts whatever lies there under its name, and logs to standard error.
    """
    with warnings.catch_warnings():
        # Escapes in its patterns, and pkg_resources.
        warnings.simplefilter("ignore")
        jieba = _library("jieba", "jieba")
        jieba.setLogLevel("WARNING")
        tokenizer = jieba.Tokenizer()
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


# --- Characters -------------------------------------------------------------------------------------------------------


def _start(edit: Edit) -> int:
    return edit.start


def _library(module: str, package: str):
    """Import a library of this family; InputError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"The Chinese perturbations need the package {package}, which cannot be imported ({error}): pip install {package}."
        ) from error


@cache
def _converter(config: str):
    return _library("opencc", "opencc-py").OpenCC(config)


def _converted(config: str, run: str) -> Sequence[str]:
    """Return what each character of a run becomes; a phrase of another length would be converted character by character."""
    new = _converter(config).convert(run)
    return new if len(new) == len(run) else [_converter(config).convert(character) for character in run]


# The national standards of the two scripts tell what only one of them writes: GB 2312 the mainland's, Big5 Taiwan's.
@lru_cache(maxsize=8192)
def _only_simplified(character: str) -> bool:
    return not _encodable(character, "big5")


@lru_cache(maxsize=8192)
def _only_traditional(character: str) -> bool:
    return not _encodable(character, "gb2312")


def _encodable(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=65536)
def _pinyin(run: str, style: str) -> tuple[str, ...]:
    """Return the pinyin of each character of a run of Chinese characters, empty where none is known."""
    pypinyin = _library("pypinyin", "pypinyin")

    def read(part: str) -> list[str]:
        return pypinyin.lazy_pinyin(part, style=pypinyin.Style[style.upper()], errors=lambda unknown: [""] * len(unknown))

    found = read(run)
    if len(found) != len(run):
        found = ["".join(read(character)) for character in run]
    return tuple("" if new == old else new or "" for old, new in zip(run, found, strict=True))


@lru_cache(maxsize=65536)
def left_right(character: str) -> str:
    """Return the left and the right part of a left-right character as one text of two, "" for every other character.

    By the table of cjk-semantic-split, which knows 7,594 characters of China's general list. Not split: what the table does not know
    (traditional characters among them), single strokes side by side (八), and characters with a part outside Unicode's basic plane,
    which most fonts cannot show.
    """
    parts = _decompositions().get(character) or ()
    both = "".join(part for part, _ in parts)
    shown = all(part <= "\uffff" for part in both) and any(part not in STROKES for part in both)
    return both if shown and tuple(place for _, place in parts) == LEFT_RIGHT else ""


@cache
def _decompositions():
    return _library("chinese_decompose.loader", "cjk-semantic-split").make_loader(script="zh-Hans")


# --- Configuration ----------------------------------------------------------------------------------------------------

# The methods and the settings of each: key, allowed values, default.
METHODS: dict[str, tuple[type, str, tuple[str, ...]]] = {
    "tradition": (Tradition, "variant", VARIANTS),
    "rewrite": (Rewrite, "style", STYLES),
    "splitting": (Splitting, "characters", CHARACTERS),
}


def chinese_set(name: str, settings: Mapping, folder: Path) -> OperatorSet:
    """Make a set of kind `chinese`.

    Settings: method (tradition, rewrite, splitting or module:function), words (jieba, characters or module:function), share (above 0, at most 1),
    seed, and the method's own: variant, style, characters. Raises InputError.
    """
    where = f"mutate.sets.{name}"
    method = settings.get("method")
    if not isinstance(method, str) or not (method in METHODS or ":" in method):
        known(method, METHODS, "method", f"{where}.method (or write module:function for one of your own)")
    own = [METHODS[method][1]] if method in METHODS else []
    for key in settings:
        known(key, ["method", "words", "share", "seed", *own], "key", where)
    words = settings.get("words", "jieba")
    if not isinstance(words, str) or ":" not in words:
        known(words, SEGMENTERS, "segmenter", f"{where}.words (or write module:function for one of your own)")
    else:
        named_function(words, f"{where}.words")
    share = settings.get("share", 1.0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise InputError(f"{where}.share: expected a number above 0 and at most 1, the chance of a word to be perturbed; found {share!r}.")
    seed = settings.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"{where}.seed: expected a whole number; found {seed!r}.")
    resolved = {"method": method, "words": words, "share": float(share), "seed": seed}
    if method in METHODS:
        made, key, values = METHODS[method]
        resolved[key] = settings.get(key, values[0])
        known(resolved[key], values, key, f"{where}.{key}")
        perturb = made(resolved[key])
    else:
        perturb = Custom(method, named_function(method, f"{where}.method"))
    return OperatorSet(name, "chinese", (), resolved, ChineseOperator(name, perturb, words, float(share), seed), 1, 1)


@cache
def named_function(spec: str, where: str) -> Callable:
    """Return the function that "module:function" names. Raises InputError."""
    module, _, name = spec.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{where}: {spec} cannot be imported ({error}). Write module:function, with the module on PYTHONPATH.") from error
    if not callable(function):
        raise InputError(f"{where}: {spec} is a {type(function).__name__}, which cannot be called. Name a function.")
    return function
