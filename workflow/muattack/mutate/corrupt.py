"""Natural corruptions: bad autocorrect, bad autocompletion, bad synonym, typo. Source: corrupted-text.

A base is fitted on a corpus: its common words, the nearest of them by edit distance, and synonyms. Of the words of a text
(two characters and more, numbers too, outside tags and entities) the first round(severity x words) of an order drawn for the text are
corrupted, each once at most, by a corruption drawn by weight:

    autocorrect     another common word among the five nearest, nearer ones likelier (1 / distance)
    autocompletion  another common word with the same first letters: five, else four, else three; else autocorrect
    synonym         one of the word's synonyms, context ignored; a typo where it has none
    typo            one letter becomes another one of a to z

What cannot be done leaves the word as it is, so severity is the share of words tried; a fallback of weight 0 is not taken. All
chance comes from the seed and the text itself: the same text gives the same result wherever it stands, and a higher severity
corrupts the words of a lower one in the same way, and more. The source fixes the fallback of autocompletion; the numbers five,
1 / distance and the typo in place of a missing synonym are what its library does.
"""

import gc
import hashlib
import json
import math
import os
import random
import sys
import zipfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from importlib import resources
from itertools import accumulate
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

import pandas as pd
import regex

from muattack.errors import InputError
from muattack.mutate.operator import EMPTY_TEXT, Edit, Mutation, apply_edits, fold
from muattack.mutate.registry import OperatorSet, known, own_list
from muattack.mutate.word import like
from muattack.records import write_text
from muattack.seeds import generator
from muattack.words import WORD, word_spans

CORRUPTIONS = ("autocorrect", "autocompletion", "synonym", "typo")
WEIGHTS = {"autocorrect": 0.30, "autocompletion": 0.30, "synonym": 0.35, "typo": 0.05}
# The severities of the source's table; 0 is the text as it is.
SEVERITIES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
# What can be tried where a corruption is not possible.
FALLBACK = {"autocompletion": "autocorrect", "synonym": "typo"}
# Common words of a base and their fewest characters, as in the source's library; and how many distinct words make a corpus.
COMMON_WORDS, MIN_LENGTH, FEWEST_WORDS = 4000, 5, 100
# The first letters that an autocompletion shares, the most first.
STARTS = (5, 4, 3)
# An autocorrection is one of so many nearest words, at a distance of a third of the word's length (rounded up), at most three.
NEAREST, FARTHEST = 5, 3
# Words of fewer characters are left alone.
SHORTEST = 2
# What each letter may become by a typo.
OTHERS = {letter: letters.replace(letter, "") for letters in (ascii_lowercase, ascii_uppercase) for letter in letters}
OTHER_LETTERS = len(ascii_lowercase) - 1
# Words that a base remembers the neighbours of, and words whose distances are computed at a time (1,000 x 4,000 bytes).
REMEMBERED, BLOCK = 100_000, 1000
# Texts whose words are looked up together.
BATCH = 256

FORMAT, VERSION = "muattack corruption base", 1
SYNONYM_SOURCES = ("own", "wordnet", "auto", "none")
CORPORA = (".txt", ".jsonl", ".parquet")

SEVERITY_ZERO = "severity 0"
NO_WORD = "no word of the text can be corrupted"
NONE_DRAWN = "the text is so short that the severity stands for no word"
NO_CORRUPTION = "none of the words drawn has a corruption of its kind"

# ASCII characters that no word has inside.
SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
# Tags, comments and entities are no words of the text. A tag ends before the next one begins, so this is linear.
MARKUP = regex.compile(r"<[\p{L}/!?][^<>]*+>|&(?:\p{L}\w*+|#\w++);")


# A word drawn for corruption: its place among the words, start, end, how it is compared, its kind of corruption, and a number in [0, 1) to
# choose by. A plain tuple, since millions are made.
Drawn = tuple[int, int, int, str, str, float]


class Corrupted(NamedTuple):
    """A text at one severity: the mutation, the kind of each edit, and how many words of the text could have been drawn."""

    mutation: Mutation
    corruptions: tuple[str, ...]
    words: int


# --- The base ---------------------------------------------------------------------------------------------------------


class Base:
    """What corruptions are made of: common words (most frequent first), their neighbours, synonyms, and where all is from.

    `neighbours` has for each common word the numbers and distances of the nearest others, nearest first, or is empty: then
    they are looked up when they are needed, with the same result. `facts` (JSON-able) says what the base was made from.
    """

    def __init__(
        self,
        words: Sequence[str],
        synonyms: Mapping[str, Sequence[str]],
        facts: Mapping,
        neighbours: Sequence[Sequence[tuple[int, int]]] = (),
    ) -> None:
        self.words = tuple(words)
        self.synonyms = synonyms
        self.facts = dict(facts)
        self.places = {word: place for place, word in enumerate(self.words)}
        self.neighbours = tuple(neighbours)
        self._remembered: dict[str, tuple[list[str], list[float]]] = {}
        self._completions: dict[str, list[str]] = {}
        for word, found in zip(self.words, self.neighbours, strict=bool(self.neighbours)):
            self._remembered[word] = self._options(found)

    def look_up(self, keys: Iterable[str]) -> None:
        """Find the neighbours of these words, many at a time, and remember them."""
        if len(self._remembered) > REMEMBERED + len(self.words):
            self._remembered = {word: self._remembered[word] for word in self.words if word in self._remembered}
        wanted = [key for key in dict.fromkeys(keys) if key not in self._remembered]
        if wanted:
            for key, found in zip(wanted, nearest(wanted, self.words), strict=True):
                self._remembered[key] = self._options(found)

    def autocorrections(self, key: str) -> tuple[list[str], list[float]]:
        """Return the words that one may be corrected to and their cumulated weights (1 / distance)."""
        if key not in self._remembered:
            self.look_up([key])
        return self._remembered[key]

    def _options(self, found: Sequence[tuple[int, int]]) -> tuple[list[str], list[float]]:
        return [self.words[place] for place, _ in found], list(accumulate(1 / distance for _, distance in found))

    def completions(self, key: str) -> list[str]:
        """Return the other common words with the same first letters: as many letters as any shares, from five down to three."""
        found = self._completions.get(key)
        if found is None:
            if len(self._completions) > REMEMBERED:
                self._completions.clear()
            bags = (self.bags.get(key[:length], ()) for length in STARTS if len(key) >= length)
            others = ([word for word in bag if word != key] for bag in bags)
            found = self._completions[key] = next(filter(None, others), [])
        return found

    @cached_property
    def bags(self) -> dict[str, list[str]]:
        """Return the common words by their first three, four and five characters."""
        bags: dict[str, list[str]] = {}
        for word in self.words:
            for length in STARTS:
                if len(word) >= length:
                    bags.setdefault(word[:length], []).append(word)
        return bags

    @cached_property
    def content(self) -> str:
        """Return the base as JSON on one line, the same for the same base."""
        value = {
            "format": FORMAT,
            "version": VERSION,
            "facts": self.facts,
            "words": self.words,
            "neighbours": self.neighbours,
            "synonyms": {word: list(self.synonyms[word]) for word in sorted(self.synonyms)},
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"

    @cached_property
    def sha256(self) -> str:
        """Return the SHA-256 of the base as it is saved."""
        return hashlib.sha256(self.content.encode()).hexdigest()


def nearest(keys: Sequence[str], words: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Return for each key its nearest words as (number, Levenshtein distance), nearest first, then in the words' order.

    At most NEAREST, none farther than a third of the key's length (rounded up, at most FARTHEST), the key itself not among them.
    """
    import numpy as np
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    sizes = np.fromiter(map(len, words), np.int64, len(words))
    found: list[list[tuple[int, int]]] = [[] for _ in keys]
    by_size: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        by_size.setdefault(len(key), []).append(row)
    for size, rows in by_size.items():
        limit = min(FARTHEST, -(-size // 3))
        # Words whose lengths differ by more are farther away: half of the work is not to be done.
        places = np.flatnonzero(abs(sizes - size) <= limit)
        choices = [words[place] for place in places.tolist()]
        for first in range(0, len(rows) if choices else 0, BLOCK):
            part = rows[first : first + BLOCK]
            # Two lists, also where both are of the same words: for one list rapidfuzz takes another path that is slower.
            queries = [keys[row] for row in part]
            distances = process.cdist(queries, choices, scorer=Levenshtein.distance, score_cutoff=limit, dtype=np.uint8, workers=1)
            which, near = np.nonzero((distances <= limit) & (distances > 0))
            far = distances[which, near]
            order = np.lexsort((near, far, which))
            for row, place, distance in zip(which[order].tolist(), places[near[order]].tolist(), far[order].tolist(), strict=True):
                if len(found[part[row]]) < NEAREST:
                    found[part[row]].append((place, distance))
    return found


def fit_base(
    texts: Iterable[str],
    common_words: int = COMMON_WORDS,
    min_length: int = MIN_LENGTH,
    synonyms: str | Path = "own",
    folder: str | Path = ".",
    what: str = "The base corpus",
) -> Base:
    """Fit a base on the texts of a corpus.

    The most frequent words of at least `min_length` characters without digits become the common ones, equally frequent ones by
    the alphabet. `synonyms` is own (the list that comes with muattack), wordnet (an error where it is not installed), auto (wordnet
    where it is installed, else own: another machine may give other results), none, or a path from `folder`: see
    `read_synonyms`. Raises InputError for a corpus of fewer than 100 distinct words; `what` is what it is called there.
    """
    _whole(common_words, 1, "common_words")
    _whole(min_length, 1, "min_length")
    counts = count_words(texts)
    if len(counts) < FEWEST_WORDS:
        raise InputError(
            f"{what} has {len(counts)} distinct words, but a base needs at least {FEWEST_WORDS} to choose wrong words from. "
            "Give more texts, or write `base: own` for muattack's own word lists."
        )
    fitting = [word for word in counts if len(word) >= min_length and not any(map(str.isnumeric, word))]
    words = _some(sorted(fitting, key=lambda word: (-counts[word], word))[:common_words], min_length)
    table, about = read_synonyms(synonyms, folder)
    total = sum(counts.values())
    facts = {
        "corpus": {"source": "texts", "distinct_words": len(counts), "words": total},
        "common_words": {"count": len(words), "asked": common_words, "min_length": min_length, "share": _share(counts, words, total)},
        "synonyms": about | {"share": _share(counts, table, total)},
    }
    return Base(words, table, facts, nearest(words, words))


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of some texts as they are compared: lower case, canonical equivalents as one, numbers and markup left out."""
    pieces: Counter[str] = Counter()
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"The base corpus has {text!r} where a text should be. Give texts alone, without missing ones.")
        pieces.update(_blanked(text).translate(SEPARATORS).split())
    # No word has a blank inside, so it is enough to look for words in each distinct piece; most are a word as they stand.
    counts: Counter[str] = Counter()
    for piece, count in pieces.items():
        for word in (piece,) if piece.isalpha() else WORD.findall(piece):
            counts[_key(word)] += count
    for word in [word for word in counts if word.isnumeric()]:
        del counts[word]
    return counts


@cache
def own_base(common_words: int = COMMON_WORDS, min_length: int = MIN_LENGTH, synonyms: str | Path = "own", folder: str | Path = ".") -> Base:
    """Return the base that needs no corpus: the adjectives, adverbs and synonyms that come with muattack, by the alphabet.

    It knows no frequencies and few nouns and verbs: for figures to be quoted, fit a base on texts of the kind that is corrupted.
    """
    of_groups = {word for group in _own_groups() for word in group if WORD.fullmatch(word)}
    lists = {*own_list("adjectives"), *own_list("adverbs"), *of_groups}
    words = _some(sorted(word for word in lists if len(word) >= min_length)[:common_words], min_length)
    table, about = read_synonyms(synonyms, folder)
    facts = {
        "corpus": {"source": "muattack's own word lists, no corpus", "distinct_words": len(lists)},
        "common_words": {"count": len(words), "asked": common_words, "min_length": min_length},
        "synonyms": about,
    }
    return Base(words, table, facts)


def _some(words: list[str], min_length: int) -> list[str]:
    if not words:
        raise InputError(f"The base has no word of {min_length} and more characters without digits, so there are no common words. Lower min_length.")
    return words


def make_base(settings: Mapping, texts: Iterable[str], folder: str | Path = ".", where: str = "corrupted") -> Base:
    """Return the base that the configuration's block `corrupted` asks for: base, synonyms, common_words and min_length.

    `base` is run (fitted on `texts`), own, a fitted base (.json), which brings the other three along, or a corpus; paths count from `folder`. Raises InputError.
    """
    fitting = {key: settings[key] for key in ("synonyms", "common_words", "min_length")}
    if settings["base"] == "run":
        return fit_base(texts, **fitting, folder=folder, what=f"The base corpus ({where}.base: run, the training texts)")
    fitted = settings["base"].endswith(".json")
    return _configured_base({"base": settings["base"]} | ({} if fitted else fitting), Path(folder), where)[0]


def save_base(path: str | os.PathLike, base: Base) -> None:
    """Write a base as JSON, complete or not at all."""
    write_text(path, base.content)


def load_base(path: str | os.PathLike) -> Base:
    """Read a base that `save_base` wrote. Raises InputError, with the place, where it is not what it should be."""
    return _parse_base(str(path), _read_bytes(path, "base"))


@lru_cache(maxsize=4)
def _parse_base(path: str, content: bytes) -> Base:
    """Return the base of a file's content; the sets of a severity sweep share one."""
    mend = "Fit it anew, or give a corpus (.txt, .jsonl or .parquet)."
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The base {path} is not JSON ({error}). {mend}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InputError(f"The file {path} is JSON, but no base of corruptions: it lacks the entry format: {FORMAT!r}. {mend}")
    if value.get("version") != VERSION:
        raise InputError(f"The base {path} is of version {value.get('version')!r}; this muattack reads version {VERSION}. {mend}")
    words, neighbours, synonyms = value.get("words"), value.get("neighbours"), value.get("synonyms")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words) or len(set(words)) < len(words):
        raise InputError(f"In the base {path} `words` must be a list of distinct words, at least one. {mend}")
    if not isinstance(neighbours, list) or len(neighbours) not in (0, len(words)):
        raise InputError(f"In the base {path} `neighbours` must be a list with one entry for each of the {len(words)} words. {mend}")
    for word, found in zip(words, neighbours, strict=bool(neighbours)):
        if not isinstance(found, list) or not all(_is_neighbour(one, len(words)) and words[one[0]] != word for one in found):
            raise InputError(
                f"In the base {path} the neighbours of {word!r} must be pairs of the number of another word (0 to {len(words) - 1}) and a distance. {mend}"
            )
    good = isinstance(synonyms, dict) and all(isinstance(found, list) and found and all(map(_is_text, found)) for found in synonyms.values())
    if not good or not isinstance(value.get("facts"), dict):
        raise InputError(f"In the base {path} `synonyms` must be an object of words with lists of words, and `facts` an object. {mend}")
    return Base(words, synonyms, value["facts"], [[(place, distance) for place, distance in found] for found in neighbours])


def _is_neighbour(value: object, count: int) -> bool:
    whole = isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)
    return whole and 0 <= value[0] < count and value[1] >= 1


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


# --- Synonyms ---------------------------------------------------------------------------------------------------------


def read_synonyms(source: str | Path, folder: str | Path = ".") -> tuple[dict[str, list[str]], dict]:
    """Return {word: [synonyms]} (words in lower case, synonyms sorted) and facts about it (source, words).

    `source` is own, wordnet, auto or none, or a path from `folder`: a text file with words that mean the same in each line, parted
    by commas; JSON {word: [words]} or {word: [[word, number], ...]}; or a folder with WordNet's data.noun, data.verb, data.adj
    and data.adv. Synonyms may be of several words. Raises InputError.
    """
    if source == "none":
        return {}, _about("none", {})
    if source == "own":
        table, name = _flat(_own_groups()), "own"
    elif source in ("wordnet", "auto"):
        place = find_wordnet()
        if place is None and source == "wordnet":
            raise InputError(
                "synonyms: WordNet is not installed. Install it (python -m nltk.downloader wordnet, or Debian's package wordnet-base), name the folder of its "
                "files data.noun, data.verb, data.adj and data.adv, or write `synonyms: own` for the list that comes with muattack."
            )
        table, name = (_flat(_own_groups()), "own") if place is None else (_flat(_wordnet_groups(place)), "wordnet")
    else:
        path = Path(folder) / source
        if path.is_dir():
            table = _flat(_wordnet_groups(path))
        elif path.suffix == ".json":
            from muattack.attack.tables import read_neighbours

            _read_bytes(path, "table of synonyms")
            table = _tidy(read_neighbours(path))
        else:
            hint = f"Write one of {', '.join(SYNONYM_SOURCES)}, or the path of a file or folder."
            groups = [line.split(",") for line in _decoded(_read_bytes(path, "table of synonyms", hint), path).split("\n") if line.strip()]
            table = _flat(groups)
        if not table:
            raise InputError(
                f"The table of synonyms {path} has no word with a synonym. Write a line for each group of words, parted by commas: film, movie, picture."
            )
        name = path.name
    return table, _about(name, table)


def _about(source: str, table: Mapping) -> dict:
    """Return what a result says of its synonyms: the source that was in fact used, and what becomes of words that it lacks."""
    return {"source": source, "words": len(table), "words_without": "get a typo instead"}


def find_wordnet() -> Path | None:
    """Return where WordNet's files are (a folder, or NLTK's zip file of them), None where it is not installed.

    Looked for where WordNet's own variables WNSEARCHDIR and WNHOME say, where NLTK keeps its data, and where Debian puts it.
    NLTK's list of folders is written out here, since importing NLTK takes two seconds.
    """
    own = [os.environ.get("WNSEARCHDIR"), Path(os.environ["WNHOME"], "dict") if os.environ.get("WNHOME") else None]
    stores = [*os.environ.get("NLTK_DATA", "").split(os.pathsep), Path.home() / "nltk_data"]
    stores += [Path(sys.prefix, part) for part in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    stores += [f"/usr/{part}/nltk_data" for part in ("share", "local/share", "lib", "local/lib")]
    places = [Path(place) for place in own if place]
    places += [Path(store, "corpora", name) for store in stores if store for name in ("wordnet", "wordnet.zip")]
    for place in (*places, Path("/usr/share/wordnet")):
        if place.joinpath("data.noun").is_file() or (place.suffix == ".zip" and place.is_file()):
            return place
    return None


def _wordnet_groups(place: Path) -> Iterator[list[str]]:
    """Yield the words of every synset of WordNet, in the format of its manual page wndb(5WN).

    Read here, not by NLTK: its reader makes an object of each of 117,000 synsets, when all that is wanted is their words.
    """
    for part in ("noun", "verb", "adj", "adv"):
        name = f"data.{part}"
        try:
            if place.suffix == ".zip":
                with zipfile.ZipFile(place) as archive:
                    content = archive.read(f"wordnet/{name}")
            else:
                content = (place / name).read_bytes()
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise InputError(f"The file {name} of WordNet cannot be read from {place} ({error}). Give WordNet's folder of data files.") from None
        for row, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            # The licence at the top is indented.
            if line.startswith(" ") or not line:
                continue
            fields = line.split(" ", 4)
            try:
                count = int(fields[3], 16)
                words = fields[4].split(" ", 2 * count)[: 2 * count : 2]
            except (IndexError, ValueError):
                raise InputError(f"{place}, {name}, row {row}: this is no line of WordNet's data files. Install WordNet anew.") from None
            if count > 1:
                # An adjective may carry a mark of where it stands, as in galore(ip).
                yield [word.partition("(")[0].replace("_", " ") for word in words]


@cache
def _own_groups() -> tuple[tuple[str, ...], ...]:
    """Return the groups of words that mean much the same, of the list that comes with muattack."""
    text = (resources.files("muattack.mutate") / "words" / "synonyms.txt").read_text(encoding="utf-8")
    return tuple(tuple(word.strip() for word in line.split(",")) for line in text.splitlines())


def _flat(groups: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Return for every single word of the groups all the others of its groups, whatever they mean there."""
    table: dict[str, list[str]] = {}
    for group in groups:
        tidy = [" ".join(word.split()) for word in group]
        for word in tidy:
            table.setdefault(word, []).extend(tidy)
    return _tidy(table)


def _tidy(table: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the table with words as they are compared, each synonym once and sorted; what is no single word of a text is left out."""
    merged: dict[str, set[str]] = {}
    for word, found in table.items():
        if WORD.fullmatch(word):
            key = _key(word)
            merged.setdefault(key, set()).update(new for new in found if new.strip() and _key(new) != key)
    return {word: sorted(merged[word]) for word in sorted(merged) if merged[word]}


# --- The operator -----------------------------------------------------------------------------------------------------


class CorruptOperator:
    """Corrupt the words of a text; see the module's text. The name has no part in what is drawn: sets of several severities nest."""

    def __init__(self, name: str, base: Base, severity: float, weights: Mapping[str, float] = WEIGHTS, seed: int = 0) -> None:
        """Raise InputError for a severity outside ]0, 1] and for weights that are negative or all 0; weights not named are 0."""
        self.name, self.base, self.seed = name, base, seed
        self.severity = check_severity(severity)
        self.weights = check_weights(weights)
        self._kinds = [kind for kind in CORRUPTIONS if self.weights[kind] > 0]
        self._bounds = list(accumulate(self.weights[kind] for kind in self._kinds))

    def apply(self, text: str, rng: random.Random | None = None) -> Mutation:
        """Corrupt one text. `rng` is not used: the text itself is what chance depends on."""
        return self.corrupt([text])[0][0].mutation

    def corrupt(self, texts: Sequence[str], severities: Sequence[float] | None = None) -> list[list[Corrupted]]:
        """Return for each text what becomes of it at each severity (by default the operator's own); 0 leaves it as it is.

        Equal to text by text, but faster: the neighbours of rare words are looked up together. Raises InputError for a severity
        outside [0, 1].
        """
        severities = [self.severity] if severities is None else [0.0 if severity == 0 else check_severity(severity) for severity in severities]
        most = max(severities, default=0.0)
        found = []
        for first in range(0, len(texts), BATCH):
            batch = texts[first : first + BATCH]
            with _no_collection():
                drawn = [self._draw(text, most) for text in batch]
                self._look_up(words for _, words in drawn)
                found += [self._at_severities(text, *one, severities) for text, one in zip(batch, drawn, strict=True)]
        return found

    def _draw(self, text: str, severity: float) -> tuple[int, list[Drawn]]:
        """Return how many words of the text can be drawn, and those drawn at this severity in the order of the draw."""
        spans = [span for span in word_spans(_blanked(text)) if span[1] - span[0] >= SHORTEST]
        count = len(spans)
        wanted = round(severity * count)
        if not wanted:
            return count, []
        # What `_key` does to each word, at once where it can be.
        lowered = text.lower() if text.isascii() else None
        chance = generator("corrupt", self.seed, text).random
        order = [chance() for _ in range(count)]
        kinds, bounds, total, last = self._kinds, self._bounds, self._bounds[-1], len(self._kinds) - 1
        words = []
        # Numbers are drawn word by word in this order, so that a lower severity draws a beginning of the same.
        for place in sorted(range(count), key=order.__getitem__)[:wanted]:
            start, end = spans[place]
            key = lowered[start:end] if lowered is not None else _key(text[start:end])
            kind = kinds[min(bisect_right(bounds, chance() * total), last)]
            words.append((place, start, end, key, kind, chance()))
        return count, words

    def _look_up(self, drawn: Iterable[Sequence[Drawn]]) -> None:
        """Find the neighbours of all words that will need them."""
        if "autocorrect" in self._kinds:
            of = self.base.completions
            self.base.look_up(
                key for words in drawn for *_, key, kind, _ in words if kind == "autocorrect" or (kind == "autocompletion" and not of(key))
            )

    def _at_severities(self, text: str, count: int, drawn: Sequence[Drawn], severities: Sequence[float]) -> list[Corrupted]:
        made = self._make(text, count, drawn)
        found = []
        for severity in severities:
            wanted = round(severity * count)
            done = made if wanted == len(drawn) else [one for one in made if one[0] < wanted]
            if done:
                edits = tuple([edit for _, edit, _ in done])
                found.append(Corrupted(Mutation(apply_edits(text, edits), edits), tuple([kind for _, _, kind in done]), count))
                continue
            reason = EMPTY_TEXT if not text else SEVERITY_ZERO if not severity else NO_WORD if not count else NO_CORRUPTION if wanted else NONE_DRAWN
            found.append(Corrupted(Mutation(text, (), reason), (), count))
        return found

    def _make(self, text: str, count: int, drawn: Sequence[Drawn]) -> list[tuple[int, Edit, str]]:
        """Return what becomes of the words drawn, in the order of the text: place in the draw, edit, corruption that it is.

        One loop, since a function call a word would double the time.
        """
        base, weights = self.base, self.weights
        completions, synonyms, autocorrections = base.completions, base.synonyms, base.autocorrections
        made: list[tuple[int, Edit, str] | None] = [None] * count
        for rank, (place, start, end, key, kind, choice) in enumerate(drawn):
            options = completions(key) if kind == "autocompletion" else synonyms.get(key) if kind == "synonym" else None
            if options:
                new = options[int(choice * len(options))]
            else:
                kind = FALLBACK.get(kind, kind)
                if not weights[kind]:
                    continue
                if kind == "typo":
                    edit = typo(text, start, end, choice)
                    if edit is not None:
                        made[place] = rank, edit, kind
                    continue
                words, bounds = autocorrections(key)
                if not words:
                    continue
                # Rounding may put the product on the last bound itself.
                new = words[min(bisect_right(bounds, choice * bounds[-1]), len(words) - 1)]
            word = text[start:end]
            if not word.islower():
                new = like(word, new)
            if new != word:
                made[place] = rank, Edit(start, end, new), kind
        return [one for one in made if one is not None]


def typo(text: str, start: int, end: int, choice: float) -> Edit | None:
    """Return an edit that puts another letter in the place of one of the word's letters of a to z, in its case; None where it has none.

    `choice` in [0, 1) chooses both, each with the same chance.
    """
    word = text[start:end]
    if word.isascii() and word.isalpha():
        places: Sequence[int] = range(start, end)
    else:
        places = [place for place, letter in enumerate(word, start) if letter.isascii() and letter.isalpha()]
        if not places:
            return None
    number = choice * len(places)
    which = int(number)
    place = places[which]
    # The whole part has chosen the place, what is left chooses the letter.
    return Edit(place, place + 1, OTHERS[text[place]][int((number - which) * OTHER_LETTERS)])


def check_severity(severity: object, where: str = "severity") -> float:
    """Return the severity; raise InputError where it is no number in ]0, 1]."""
    if isinstance(severity, bool) or not isinstance(severity, int | float) or not 0 < severity <= 1:
        raise InputError(
            f"{where} is {severity!r}, but must be a number above 0 and at most 1: the share of words that are tried, such as 0.5. "
            "The texts at severity 0 are the originals."
        )
    return float(severity)


def check_weights(weights: object, where: str = "weights") -> dict[str, float]:
    """Return the weight of every corruption (0 where it is not named); raise InputError where they are no weights."""
    example = "for example {autocorrect: 0.3, autocompletion: 0.3, synonym: 0.35, typo: 0.05}"
    if not isinstance(weights, Mapping):
        raise InputError(f"{where}: expected a weight for each corruption, {example}; found {weights!r}.")
    for kind, weight in weights.items():
        known(kind, CORRUPTIONS, "corruption", where)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise InputError(f"{where}.{kind} is {weight!r}, but must be a number that is not negative; 0 leaves this corruption out.")
    if not any(weights.values()):
        raise InputError(f"{where}: all weights are 0, so there is nothing to draw from. Give at least one above 0, {example}.")
    return {kind: float(weights.get(kind, 0)) for kind in CORRUPTIONS}


# --- Many texts -------------------------------------------------------------------------------------------------------


def severity_sweep(
    frame: pd.DataFrame, operator: CorruptOperator, severities: Sequence[float] = SEVERITIES, edits: bool = True
) -> tuple[pd.DataFrame, dict]:
    """Corrupt texts at several severities; return a table, sorted by severity in the order given, and its meta (JSON-able).

    `frame` has id and text (and label, image_id, kept where they are there). The table has severity, id, original, text, edits
    (list of start, end, replacement on the original), corruptions (kind of each edit), words (how many could be drawn) and reason (why nothing changed);
    without `edits` the two lists are left out: they take most of the memory. A text's rows are the same whatever other
    texts there are. meta counts for each severity texts, changed texts, words, words corrupted and what they are corrupted by.
    Raises InputError for a severity outside [0, 1] and for a text that is missing.
    """
    texts = frame["text"].tolist()
    for name, text in zip(frame["id"], texts, strict=True):
        if not isinstance(text, str):
            raise InputError(f"The text of {name} is {text!r}, but must be text. Give it one, or take the row out.")
    severities = list(severities)
    corrupted = operator.corrupt(texts, severities)
    kept = [column for column in ("id", "image_id", "label") if column in frame.columns]
    parts, counts = [], []
    for number, severity in enumerate(severities):
        here = [one[number] for one in corrupted]
        part = frame[kept].reset_index(drop=True)
        part.insert(0, "severity", float(severity))
        part["original"] = texts
        part["text"] = [one.mutation.text for one in here]
        if edits:
            part["edits"] = [[edit._asdict() for edit in one.mutation.edits] for one in here]
            part["corruptions"] = [list(one.corruptions) for one in here]
        part["words"] = [one.words for one in here]
        part["reason"] = [one.mutation.reason for one in here]
        parts.append(part)
        counts.append(_counts(float(severity), here))
    meta = {
        "severities": counts,
        "weights": operator.weights,
        "seed": operator.seed,
        "base": operator.base.facts,
        "base_sha256": operator.base.sha256,
    }
    return pd.concat(parts, ignore_index=True), meta


def _counts(severity: float, here: Sequence[Corrupted]) -> dict:
    kinds = Counter(kind for one in here for kind in one.corruptions)
    words, changed = sum(one.words for one in here), sum(kinds.values())
    return {
        "severity": severity,
        "texts": len(here),
        "changed": sum(one.mutation.changed for one in here),
        "words": words,
        "words_corrupted": changed,
        "share": changed / words if words else 0.0,
        "corruptions": {kind: kinds[kind] for kind in CORRUPTIONS},
    }


# --- By configuration -------------------------------------------------------------------------------------------------


def corrupt_set(name: str, settings: Mapping, folder: Path) -> OperatorSet:
    """Make a set of kind `corrupt`: severity, and optionally weights, base, synonyms, common_words, min_length and seed.

    `base` is own (muattack's word lists), a fitted base (.json) or a corpus to fit one on: .txt with a text a line, .jsonl or .parquet with
    a column `text`. A fitted base brings its synonyms and common words along. Raises InputError.
    """
    where = f"mutate.sets.{name}"
    for key in settings:
        known(key, ("severity", "weights", "base", "synonyms", "common_words", "min_length", "seed"), "key", where)
    if "severity" not in settings:
        raise InputError(f"{where}: a set of kind corrupt needs a severity above 0 and at most 1, for example severity: 0.5.")
    severity = check_severity(settings["severity"], f"{where}.severity")
    weights = check_weights(settings.get("weights", WEIGHTS), f"{where}.weights")
    seed = settings.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"{where}.seed is {seed!r}, but must be a whole number.")
    base, origin = _configured_base(settings, folder, where)
    operator = CorruptOperator(name, base, severity, weights, seed)
    resolved = {"severity": severity, "weights": weights, "seed": seed, "base": origin, "base_facts": base.facts, "base_sha256": base.sha256}
    return OperatorSet(name, "corrupt", base.words, resolved, operator, 1, 1)


def _configured_base(settings: Mapping, folder: Path, where: str) -> tuple[Base, str]:
    """Return the base of a set's settings and what it is called."""
    source = settings.get("base", "own")
    if not isinstance(source, str) or not source:
        raise InputError(f"{where}.base: expected own, the path of a fitted base (.json) or of a corpus ({', '.join(CORPORA)}); found {source!r}.")
    if not isinstance(settings.get("synonyms", "own"), str):
        raise InputError(f"{where}.synonyms: expected one of {', '.join(SYNONYM_SOURCES)} or a path; found {settings['synonyms']!r}.")
    fitting = {key: settings[key] for key in ("common_words", "min_length") if key in settings}
    for key, value in fitting.items():
        _whole(value, 1, f"{where}.{key}")
    path = folder / source
    if path.suffix == ".json":
        fixed = [key for key in ("synonyms", "common_words", "min_length") if key in settings]
        if fixed:
            raise InputError(
                f"{where}.{fixed[0]}: the base {path.name} is fitted already and brings its own. Leave {fixed[0]} out, or give a corpus."
            )
        return load_base(path), path.name
    options = fitting | {"synonyms": settings.get("synonyms", "own"), "folder": folder}
    if source == "own":
        return own_base(**options), "own"
    if path.suffix not in CORPORA:
        raise InputError(f"{where}.base: {source!r} is neither own nor the path of a fitted base (.json) or of a corpus ({', '.join(CORPORA)}).")
    return _fit_file(path, _read_bytes(path, "base corpus"), tuple(options.items())), path.name


@lru_cache(maxsize=4)
def _fit_file(path: Path, content: bytes, options: tuple) -> Base:
    """Return the base fitted on a file of texts; the sets of a severity sweep share one."""
    return fit_base(_corpus(path, content), **dict(options), what=f"The base corpus {path}")


def _corpus(path: Path, content: bytes) -> list[str]:
    """Return the texts of a file. Raises InputError with the row of the first that is none."""
    if path.suffix == ".txt":
        return [line for line in _decoded(content, path).split("\n") if line.strip()]
    if path.suffix == ".parquet":
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(io.BytesIO(content), columns=["text"]).to_pylist()
        except (pa.ArrowException, KeyError) as error:
            raise InputError(f"The base corpus {path} is no Parquet file with a column text ({' '.join(str(error).split())[:200]}).") from None
    else:
        rows = []
        for row, line in enumerate(_decoded(content, path).split("\n"), 1):
            try:
                rows += [json.loads(line)] if line.strip() else []
            except (ValueError, RecursionError) as error:
                raise InputError(f"The base corpus {path}, row {row}, is not JSON ({error}). Write one object a line.") from None
    for row, value in enumerate(rows, 1):
        if not isinstance(value, dict) or not isinstance(value.get("text"), str):
            raise InputError(f"The base corpus {path}, row {row}, has no text. Every row needs a text under text.")
    return [value["text"] for value in rows]


# --- Helpers ----------------------------------------------------------------------------------------------------------


@contextmanager
def _no_collection() -> Iterator[None]:
    """Put off the search for cyclic garbage: edits make none, and looking through hundreds of thousands of them takes half of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _key(word: str) -> str:
    """Return what a word is compared by: lower case, canonical equivalents and both apostrophes as one."""
    return word.lower() if word.isascii() else fold(word, case_sensitive=True).lower()


def _blanked(text: str) -> str:
    """Return the text with blanks in place of tags and entities; positions stay."""
    if "<" not in text and "&" not in text:
        return text
    return MARKUP.sub(lambda match: " " * (match.end() - match.start()), text)


def _share(counts: Mapping[str, int], words: Iterable[str], total: int) -> float:
    return round(sum(counts[word] for word in words if word in counts) / total, 4) if total else 0.0


def _whole(value: object, least: int, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{where} is {value!r}, but must be a whole number of at least {least}.")


def _read_bytes(path: str | os.PathLike, what: str, hint: str = "Check the path; relative ones count from the folder of the run.") -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise InputError(f"The {what} {path} {reason}. {hint}") from None


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"The file {path}, row {row}, is not UTF-8. Save it as UTF-8.") from None
