"""NoisyHate's data: comments cleaned step by step, each step's counts told, and the pairs of a clean and a perturbed text.

Source: NoisyHate, 3.2: duplicated texts, special characters, special punctuation, links and numbers are removed, and texts with words
that are no standard English. The order of the steps and what each takes away are ours, see `STEPS`.
"""

import csv
import math
from collections.abc import Callable, Collection
from pathlib import Path

import pandas as pd
import regex

from muattack.data.datasets import READERS
from muattack.errors import InputError
from muattack.mutate.anthro import english_words, read_text
from muattack.mutate.human import classify
from muattack.mutate.operator import fold

CHUNK = regex.compile(r"\S++")
# What a bare address ends with; an address with :// or www. needs none of these.
DOMAINS = frozenset({"com", "org", "net", "gov", "edu", "info", "io", "htm", "html", "uk", "ca"})
# Digits with what writes larger numbers; digits inside a word are left, and make it no English word.
NUMBER = regex.compile(r"(?<![\p{L}\p{N}])[\p{N}]++(?:[.,:/-][\p{N}]++)*+(?:%|st|nd|rd|th|s)?(?![\p{L}\p{N}])", regex.IGNORECASE)
# An apostrophe inside a word is closed up (dont), as in the published clean texts; every other sign becomes a space.
APOSTROPHE = regex.compile(r"(?<=\p{L})['’](?=\p{L})")
SPECIAL = regex.compile(r"[^\p{L}\p{N}\s]++")
BLANKS = regex.compile(r"\s++")
CLEAN, PERTURBED = "clean_version", "perturbed_version"


def _no_links(text: str) -> str:
    return CHUNK.sub(lambda match: " " if is_link(match[0]) else match[0], text)


def is_link(chunk: str) -> bool:
    """Return whether a run without blanks is a web address, one without http:// (site.org/page) or a mail address."""
    bare = chunk.strip("()[]<>{}\"'“”‘’.,;:!?*").lower()
    host = bare.partition("/")[0]
    name, _, domain = host.rpartition(".")
    return "://" in bare or bare.startswith("www.") or (bool(name) and domain in DOMAINS) or ("@" in name.strip("@") and domain.isalpha())


def _no_numbers(text: str) -> str:
    return NUMBER.sub(" ", text)


def _no_special(text: str) -> str:
    return BLANKS.sub(" ", SPECIAL.sub(" ", APOSTROPHE.sub("", text))).strip()


# Links go before the signs that they are made of, capitals last.
CHANGES: dict[str, Callable[[str], str]] = {"links": _no_links, "numbers": _no_numbers, "special characters": _no_special, "capitals": str.lower}
STEPS = ("duplicates", *CHANGES, "empty", "duplicates after cleaning", "non-English words")


def clean(frame: pd.DataFrame, english: Collection[str] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Clean texts as NoisyHate does; return those that are left and what each step did.

    frame: id, text and whatever else, which is kept. english: the words that count as English, lower case, by default
    `english_words()`; written without their apostrophe they count too. The table has the columns of the frame, `text` being the clean
    text in small letters and single spaces, and `original`; rows keep their order and of equal texts the first stays. The steps are a
    table step, rows_in, rows_out, changed (texts that the step changed and kept). Raises InputError for a text that is none.
    """
    for row, text in enumerate(frame["text"]):
        if not isinstance(text, str):
            raise InputError(
                f"Row {row} of the texts to clean (id {frame['id'].iloc[row]}) is a {type(text).__name__}, not a text. Take it out, or write it as text."
            )
    words = english_words() if english is None else frozenset(word.lower() for word in english)
    words = words | {word.replace("'", "") for word in words if "'" in word}
    left = frame.assign(original=frame["text"])
    steps = []

    def keep(step: str, mask: pd.Series) -> None:
        nonlocal left
        steps.append({"step": step, "rows_in": len(left), "rows_out": int(mask.sum()), "changed": 0})
        left = left[mask]

    def change(step: str, function: Callable[[str], str]) -> None:
        nonlocal left
        new = pd.Series([function(text) for text in left["text"]], index=left.index, dtype=object)
        steps.append(
            {"step": step, "rows_in": len(left), "rows_out": len(left), "changed": sum(a != b for a, b in zip(new, left["text"], strict=True))}
        )
        left = left.assign(text=new)

    keep("duplicates", ~left["text"].duplicated())
    for step, function in CHANGES.items():
        change(step, function)
    keep("empty", left["text"].map(bool).astype(bool))
    keep("duplicates after cleaning", ~left["text"].duplicated())
    keep("non-English words", left["text"].map(lambda text: all(word in words for word in text.split())).astype(bool))
    return left.reset_index(drop=True), pd.DataFrame(steps)


def read_words(path: str | Path) -> frozenset[str]:
    """Return the words of a user's list of English words: a UTF-8 text file with one word a line. Raises InputError."""
    words = frozenset(line.strip().lower() for line in read_text(path, "word list").splitlines() if line.strip())
    if not words:
        raise InputError(f"The word list {path} is empty. Write one word a line.")
    return words


def read_pairs(
    path: str | Path, clean: str = CLEAN, perturbed: str = PERTURBED, columns: Collection[str] = ("toxicity", "quality_mean")
) -> pd.DataFrame:
    """Read pairs of a clean and a perturbed text from a CSV file; every row, or an error that names it.

    clean, perturbed: the columns of the texts. columns: more columns of numbers to bring along, each only where the file has it. The
    table has id (the row, counted from 1), clean, perturbed, place (which blank-separated word differs, from 0), start and end (of that
    word in the clean text), word (the clean word, folded), form, type and the columns asked for (float64). Raises InputError where a row
    has not exactly one word that differs, or a number is none.
    """
    header = _header(path)
    extra = [column for column in columns if column in header]
    rows = {"format": "csv", "text": [clean, perturbed, *extra], "label": clean}
    out = []
    for row, (place, (one, other, *values), _) in enumerate(READERS["csv"](str(path), rows, ()), 1):
        where = f"The file {path}, {place}"
        words, forms = one.split(), other.split()
        differ = [at for at, (word, form) in enumerate(zip(words, forms, strict=False)) if word != form]
        if len(words) != len(forms) or len(differ) != 1:
            found = f"{len(words)} and {len(forms)} words" if len(words) != len(forms) else f"{len(differ)} words that differ"
            raise InputError(f"{where}: a pair has one word that differs, at the same place; this one has {found}. Mend the row, or take it out.")
        (at,) = differ
        start, end = [match.span() for match in regex.finditer(r"\S++", one)][at]
        numbers = [_number(value, f"{where}: {column}") for column, value in zip(extra, values, strict=True)]
        word = fold(words[at])
        out.append((str(row), one, other, at, start, end, word, forms[at], classify(word, forms[at]), *numbers))
    if not out:
        raise InputError(f"The file {path} has no pairs. Name another.")
    return pd.DataFrame(out, columns=["id", "clean", "perturbed", "place", "start", "end", "word", "form", "type", *extra])


def pairs_of(perturbed: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Return the texts that were perturbed as pairs, with the columns of `read_pairs`, label and importance.

    perturbed: what `human.perturb` returns of `texts` (id, text, label), row by row. Raises InputError where no text changed.
    """
    label = texts["label"].to_numpy()[changed := (perturbed["form"] != "").to_numpy(bool)]
    rows = perturbed[changed]
    if rows.empty:
        reasons = perturbed["reason"].value_counts().sort_index()
        said = "; ".join(f"{reason} ({count} of {len(perturbed)})" for reason, count in reasons.items()) or "no text is left after cleaning"
        raise InputError(
            f"No text was perturbed: {said}. Give noisyhate.perturbations more words, write `skip_unknown: true` or a lower `threshold`, or name another source."
        )
    edits = [edit for (edit,) in rows["edits"]]
    starts = [edit["start"] for edit in edits]
    return pd.DataFrame(
        {
            "id": rows["id"].astype(str),
            "clean": rows["original"],
            "perturbed": rows["text"],
            "place": [len(text[:start].split()) for text, start in zip(rows["original"], starts, strict=True)],
            "start": starts,
            "end": [edit["end"] for edit in edits],
            **{column: rows[column] for column in ("word", "form", "type")},
            "label": label,
            "importance": rows["importance"],
        }
    ).reset_index(drop=True)


def _header(path: str | Path) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return [name.strip() for name in next(csv.reader(file), [])]
    except (OSError, UnicodeDecodeError, csv.Error):
        # The reader of rows says what is wrong.
        return []


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where} is {text!r}, not a number. Mend it, or take the row out.")
    return value
