"""Read texts of people and of machines that describe nothing in common: the table of captions of a run on the user's own texts."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from muattack.config import files_inside
from muattack.data.captions import SPLITS, normalise, split_images
from muattack.data.datasets import READERS, joined
from muattack.errors import InputError
from muattack.records import sha256

# What a file's ending says of its format; a folder is a saved data set.
FORMATS = {
    ".txt": "lines",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
# Fewest texts of a class: below that an interval says nothing.
FEWEST = 10


def read_texts(path: str, entry: Mapping) -> list[tuple[str, str, object]]:
    """Return (place, text, group) of each row of a file or saved data set; the group is None where none is named.

    entry: format (None: by the file's ending), text (columns, joined by a blank), group (a column or None), header and quoted as in
    `classification.datasets`. Raises InputError with file and row.
    """
    kind = entry.get("format") or ("huggingface" if Path(path).is_dir() else FORMATS.get(Path(path).suffix.lower()))
    if kind is None:
        raise InputError(
            f"The ending of the file {path} does not say what it is. Known are {', '.join(FORMATS)} and folders that save_to_disk wrote; for another ending write "
            "`format: lines`, say."
        )
    group = entry.get("group")
    if kind == "lines" and group is not None:
        raise InputError(f"The file {path} is read line by line, so it has no column {group!r} to group by. Take `group` out, or give JSON lines.")
    rows = {**entry, "format": kind, "label": group, "called": "group"}
    found = [(place, joined(path, place, fields, rows), group) for place, fields, group in READERS[kind](path, rows, ())]
    if not found:
        raise InputError(f"The file {path} has no texts. Name another.")
    return found


def collect_texts(sources: Mapping[str, Mapping], mode: str, shares: Mapping[str, float], seed: int) -> tuple[pd.DataFrame, dict]:
    """Join the texts of all sources into one table, split by group.

    sources: for human, machine and, where there is one, machine_ood an entry as `read_texts` takes it, with its located `files`. Every
    text is an "image" of its own, or belongs to that of its `group`, which may hold texts of several sources. Returns the table
    (id, image_id, source, text, label, split) and what is known of its making. Raises InputError.
    """
    rows = []
    for source, entry in sources.items():
        before = len(rows)
        for path in entry["files"]:
            for place, raw, group in read_texts(path, entry):
                text = normalise(raw, mode)
                if not text.strip():
                    raise InputError(
                        f"The file {path}, {place}, is empty once normalised ({raw!r}; captions.normalise: {mode}). Take it out or write `normalise: none`."
                    )
                name = f"{source}-{len(rows) - before}"
                rows.append((name, name if group is None else str(group), source, text, int(source != "human")))
        if len(rows) - before < FEWEST:
            raise InputError(
                f"There are only {len(rows) - before} texts of {source} ({', '.join(map(str, entry['files']))}). Give at least {FEWEST} of each class."
            )
    table = pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label"]).astype({"label": "int8"})
    images = list(dict.fromkeys(table["image_id"]))
    split = split_images(images, dict(shares), seed)
    table["split"] = table["image_id"].map(split)
    for part in split_lacks(table):
        raise InputError(
            f"The split {part[0]} holds no {part[1]} text: {len(table)} texts are too few for {part[0]}: {shares[part[0]]:g}. Give more, or a larger share."
        )
    texts = table.groupby("source")["text"].agg(set)
    meta = {
        "files": {
            source: [{"name": Path(path).name, "sha256": sha256(path)} for path in files_inside(entry["files"])] for source, entry in sources.items()
        },
        "images": len(images),
        "normalise": mode,
        "rows": {source: int((table["source"] == source).sum()) for source in sources},
        "rows_by_split": {part: int((table["split"] == part).sum()) for part in SPLITS if part in shares},
        "texts_of_both_classes": len(texts["human"] & texts["machine"]),
        "repeated": int(table.duplicated(["source", "text"]).sum()),
        "seed": seed,
        "shares": dict(shares),
    }
    return table, meta


def split_lacks(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the (split, source) that hold no text, of people and of the machine to detect."""
    have = set(zip(table["split"], table["source"], strict=True))
    return [(part, source) for part in table["split"].unique() for source in ("human", "machine") if (part, source) not in have]
