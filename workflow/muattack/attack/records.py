"""Attack records: a header, then one JSON object a text. Imports neither torch nor TextAttack.

{"header": true, "attack": {...}, "victim", "dataset", "victim_sha256", "texts", "seed", "versions", "device"}, then {"id", "label", "original",
"adversarial", "edits", "status", "reason", "predicted_before", "predicted_after", "score_before", "score_after", "queries", "similarity",
"words", "words_changed", "seconds"} a text. Only `seconds`, and the status timed_out, know the clock.
"""

import json
import os
from collections.abc import Iterable, Sequence

import pandas as pd

from muattack.errors import InputError
from muattack.records import write_text

STATUSES = ("succeeded", "failed", "skipped", "timed_out", "error")
FIELDS = (
    "id", "label", "original", "adversarial", "edits", "status", "reason", "predicted_before", "predicted_after", "score_before", "score_after",
    "queries", "similarity", "words", "words_changed", "seconds",
)  # fmt: skip
# Of what kind the values are; those of an attack that did not get so far are null.
TEXT, WHOLE, NUMBER = (str,), (int,), (int, float)
KINDS = {
    "id": TEXT, "original": TEXT, "adversarial": TEXT, "reason": TEXT, "label": WHOLE, "predicted_before": WHOLE, "predicted_after": WHOLE, "queries": WHOLE,
    "words": WHOLE, "words_changed": WHOLE, "score_before": NUMBER, "score_after": NUMBER, "similarity": NUMBER, "seconds": NUMBER,
}  # fmt: skip
UNKNOWN = ("adversarial", "predicted_before", "predicted_after", "score_before", "score_after", "similarity")


def apply_edits(text: str, edits: Iterable[dict]) -> str:
    """Return the text with every [start, end) replaced; edits are sorted and do not overlap, positions count in the original."""
    parts, after = [], 0
    for edit in edits:
        if not after <= edit["start"] <= edit["end"] <= len(text):
            raise ValueError(f"the edit {edit} does not fit a text of {len(text)} characters behind position {after}")
        parts += [text[after : edit["start"]], edit["replacement"]]
        after = edit["end"]
    return "".join([*parts, text[after:]])


def write_attack(path: str | os.PathLike, header: dict, records: Iterable[dict]) -> None:
    """Write a header and its records, completely or not at all."""
    lines = [json.dumps(one, ensure_ascii=False, allow_nan=False) for one in ({"header": True, **header}, *records)]
    # A lone surrogate cannot be written as UTF-8; JSON's escape can stand for it.
    write_text(path, "".join(_encodable(line) + "\n" for line in lines))


def _encodable(line: str) -> str:
    try:
        line.encode("utf-8")
        return line
    except UnicodeEncodeError:
        return json.dumps(json.loads(line), allow_nan=False)


def read_lines(path: str | os.PathLike) -> tuple[dict, list[dict]]:
    """Return the header and the records of a file, as written. Raises InputError, with the line, for a file that is none."""
    where = f"the attack records {path}"
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            rows = [json.loads(line, parse_constant=_no_number) for line in file]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. The workflow makes it: run snakemake with this file as its target.") from None
    except OSError as error:
        raise InputError(
            f"The attack records {path} cannot be read ({error.strerror}). Delete what is there, and the workflow makes them anew."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"In {where} a line is not JSON ({error}). Delete the file, and the workflow makes it anew.") from error
    if not rows or not isinstance(rows[0], dict) or rows[0].get("header") is not True:
        raise InputError(f"The attack records {path} do not begin with a header, so what was attacked is not known. Delete the file and run again.")
    if not _is(rows[0].get("texts"), WHOLE):
        raise InputError(f"The header of {where} does not say how many texts were attacked. Delete the file and run again.")
    for number, row in enumerate(rows[1:], start=2):
        if wrong := _wrong(row):
            raise InputError(f"Line {number} of {where} {wrong}. Delete the file, and the workflow makes it anew.")
    return {key: value for key, value in rows[0].items() if key != "header"}, rows[1:]


def _wrong(row: object) -> str:
    """Return what is wrong with a record, nothing where it is right."""
    if missing := [field for field in FIELDS if not isinstance(row, dict) or field not in row]:
        return f"lacks {', '.join(missing)}"
    if row["status"] not in STATUSES:
        return f"has the status {row['status']!r}, which is none of {', '.join(STATUSES)}"
    for field, kinds in KINDS.items():
        if not _is(row[field], kinds) and not (row[field] is None and field in UNKNOWN):
            return f"has {row[field]!r} as {field}"
    try:
        apply_edits(row["original"], row["edits"])
    except (ValueError, TypeError, KeyError) as error:
        return f"has edits that are none ({error})"
    return ""


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    """Return whether a value is a text, or a number that a table can hold."""
    return type(value) in kinds and (isinstance(value, str) or abs(value) < 2**63)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def read_attack(path: str | os.PathLike) -> tuple[dict, pd.DataFrame]:
    """Return the header and one row a text (columns FIELDS); numbers that are not known are missing.

    Raises InputError for a file that is no attack record, or one that holds another number of texts than its header says.
    """
    header, rows = read_lines(path)
    if "shard" not in header and len(rows) != header["texts"]:
        raise InputError(f"The attack records {path} hold {len(rows)} texts, but the header says {header['texts']}. Delete the file and run again.")
    frame = pd.DataFrame({field: pd.Series([row[field] for row in rows], dtype=object) for field in FIELDS})
    whole = ("label", "predicted_before", "predicted_after", "queries", "words", "words_changed")
    frame = frame.astype(dict.fromkeys(whole, "Int64"))
    return header, frame.astype(dict.fromkeys(("score_before", "score_after", "similarity", "seconds"), "float64"))


def gather(shards: Sequence[str | os.PathLike], out: str | os.PathLike) -> None:
    """Join the shards of one attack in the order of its texts; the result does not depend on how many shards there were.

    Raises InputError where shards are of different attacks, or where one is missing or there twice.
    """
    parts = {}
    first = None
    for path in shards:
        header, records = read_lines(path)
        shard, count = header.pop("shard", 0), header.pop("shards", 1)
        first = first or (path, header, count)
        if header != first[1] or count != first[2] or shard in parts:
            raise InputError(f"The attack shards {first[0]} and {path} do not belong together. Delete both, and the workflow makes them anew.")
        parts[shard] = records
    if first is None or sorted(parts) != list(range(first[2])):
        have = ", ".join(map(str, sorted(parts))) or "none"
        raise InputError(
            f"Shards {have} of {first[2] if first else '?'} are there to make {out}; all are needed. Run the workflow, which makes them."
        )
    header, count = first[1], first[2]
    total = header["texts"]
    for shard, records in parts.items():
        if len(records) != len(range(shard, total, count)):
            raise InputError(
                f"Shard {shard} of {count} for {out} holds {len(records)} of {len(range(shard, total, count))} texts. Delete it and run again."
            )
    write_attack(out, header, [parts[position % count][position // count] for position in range(total)])
