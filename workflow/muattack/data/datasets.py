"""Read labelled sets, and texts of one class (`label` None), from lines, CSV, TSV, JSON lines, Parquet and saved Hugging Face data sets: every row, or a clear error.

Nothing is guessed and nothing dropped: as many texts come out as rows stand in the files, "null" and "NA" are words, line breaks
inside quotes and doubled quotes survive, backslashes stay. Parsing is left to csv (strict), json, pyarrow and datasets.
"""

import codecs
import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import regex

from muattack.config import files_inside
from muattack.data.captions import SPLITS
from muattack.errors import InputError
from muattack.records import sha256
from muattack.seeds import digest

PARTS = ("train", "test")
# Share of the training rows that picks the best epoch, where the configuration says nothing.
VALIDATION = 0.1
# A field that somebody quoted: quotes around it, doubled ones inside.
QUOTED = regex.compile(r'"(?:[^"]|"")*+"')

# Where a row stands, for people; the fields of its text; its label as it stands there.
Row = tuple[str, list[str], object]


def read_dataset(name: str, entry: Mapping, files: Mapping[str, Sequence[str]], seed: int) -> tuple[pd.DataFrame, dict]:
    """Read a data set of the configuration; return one table of its training, validation and test rows, and its meta.

    entry: an entry of `classification.datasets`. files: {"train": [paths], "test": [paths]}, where they lie. The table has id
    ({name}-train-{row} or {name}-test-{row}, row counted from 0 over the files of a part), image_id (the same), source (the name), text,
    label (int8: the place of the class among meta's `labels`) and split, sorted by split and row. What is used and what validates
    is drawn by a digest of seed and id alone: a larger `train_rows` keeps the rows of a smaller one. Every class has its share in
    the validation split. meta counts rows, classes and duplicates. Raises InputError with file and row.
    """
    labels = list(dict.fromkeys(entry["labels"].values()))
    written = {part: entry[part].get("labels") or entry["labels"] for part in PARTS}
    known = {part: {label_key(value): labels.index(label) for value, label in written[part].items()} for part in PARTS}
    whole = {part: _read_part(files[part], entry[part], known[part], bool(entry.get("lower_case"))) for part in PARTS}
    frames, rows_read, repeated = {}, {}, {}
    for part, (texts, classes) in whole.items():
        ids = [f"{name}-{part}-{row}" for row in range(len(texts))]
        rows_read[part] = len(texts)
        table = pd.DataFrame({"id": ids, "image_id": ids, "source": name, "text": texts, "label": pd.array(classes, dtype="int8")})
        _check_classes(table["label"], labels, written[part], part, files[part])
        repeated[part] = _repeated(table)
        frames[part] = _draw(table, entry.get(f"{part}_rows"), seed, f"classification.datasets.{name}.{part}_rows", files[part])
    share = entry.get("validation", VALIDATION)
    train = frames["train"]
    train["split"] = _validation(train, labels, share, seed, files["train"])
    frame = pd.concat([*(train[train["split"] == split] for split in SPLITS[:2]), frames["test"].assign(split="test")], ignore_index=True)
    split = frame["split"]
    test = split == "test"
    meta = {
        "dataset": name,
        "labels": labels,
        "files": {part: [{"name": Path(path).name, "sha256": sha256(path)} for path in files_inside(files[part])] for part in PARTS},
        "rows_read": rows_read,
        "rows": {part: int((split == part).sum()) for part in SPLITS},
        "classes": {part: {label: int((frame["label"][split == part] == k).sum()) for k, label in enumerate(labels)} for part in SPLITS},
        "repeated": repeated,
        "test_texts_also_in_train": int(frame["text"][test].isin(set(frame["text"][~test])).sum()),
        "validation_texts_also_in_train": int(frame["text"][split == "val"].isin(set(frame["text"][split == "train"])).sum()),
        "lower_case": bool(entry.get("lower_case")),
        "validation": share,
        "seed": seed,
    }
    return frame, meta


def label_key(value: object) -> str:
    """Return how a label is written as a key of `labels`: 1 and "1" are the same label, true is "true"."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


# --- From rows to texts and classes -----------------------------------------------------------------------------------


def _read_part(paths: Sequence[str], rows: Mapping, known: Mapping[str, int], lower_case: bool) -> tuple[list[str], list[int]]:
    """Return text and class of every row of the files of a part, in order."""
    texts, classes = [], []
    for path in paths:
        before = len(texts)
        for place, fields, label in READERS[rows["format"]](path, rows, known):
            key = label_key(label)
            if key not in known:
                raise InputError(
                    f"The file {path}, {place}, has the label {key!r}, which is not among the labels of the configuration: {', '.join(map(repr, known))}. "
                    "Mend the row, or name the label under `labels`."
                )
            text = joined(path, place, fields, rows)
            texts.append(text.lower() if lower_case else text)
            classes.append(known[key])
        if len(texts) == before:
            raise InputError(f"The file {path} has no rows. Name another, or take it out of `files`.")
    return texts, classes


def joined(path: str, place: str, fields: Sequence[str], rows: Mapping) -> str:
    """Return the text of a row from its columns; raise InputError, naming file and row, where there is none."""
    # A column that is empty in this row adds no blank.
    text = " ".join(field for field in fields if field.strip())
    if not text:
        raise InputError(f"The file {path}, {place}, has no text in {_columns(rows['text'])}. Give it one, or take the row out.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"The file {path}, {place}, holds half of a surrogate pair, which is no character. Mend it.") from None
    return text


def _check_classes(found: pd.Series, labels: Sequence[str], written: Mapping, part: str, paths: Sequence[str]) -> None:
    """Raise InputError where a class has no row to learn from, or all rows to test on are of one class."""
    lacking = [label for k, label in enumerate(labels) if not (found == k).any()]
    where = ", ".join(map(str, paths))
    if part == "train" and lacking:
        keys = ", ".join(repr(label_key(value)) for value, label in written.items() if label in lacking)
        raise InputError(
            f"No row to train on ({where}, {len(found)} rows) is of the class {', '.join(lacking)} (label {keys}). Give rows of every class, or drop it from `labels`."
        )
    if len(labels) - len(lacking) < 2:
        raise InputError(
            f"All {len(found)} rows to test on ({where}) are of the class {labels[found.iloc[0]]}: nothing can be told apart. "
            "Is the file sorted by class and cut short? Give rows of two classes at least."
        )


def _repeated(table: pd.DataFrame) -> dict[str, int]:
    """Count rows whose text stood before, and texts that occur with different labels."""
    return {
        "rows": int(table["text"].duplicated().sum()),
        "texts_with_different_labels": int((table.groupby("text")["label"].nunique() > 1).sum()),
    }


def _draw(table: pd.DataFrame, count: int | None, seed: int, key: str, paths: Sequence[str]) -> pd.DataFrame:
    """Return `count` of the rows in their order, those with the lowest digest of seed and id."""
    if count is None:
        return table.copy()
    if count > len(table):
        raise InputError(
            f"{key} asks for {count} rows, but there are {len(table)} in {', '.join(map(str, paths))}. Write `{key.rpartition('.')[2]}: {len(table)}` or null."
        )
    rank = [digest(seed, "rows", one) for one in table["id"]]
    return table.iloc[sorted(sorted(range(len(table)), key=rank.__getitem__)[:count])].copy()


def _validation(train: pd.DataFrame, labels: Sequence[str], share: float, seed: int, paths: Sequence[str]) -> pd.Series:
    """Return "val" for the given share of each class, at least one row, "train" for the others."""
    split = pd.Series("train", index=train.index)
    for k, label in enumerate(labels):
        ids = train["id"][train["label"] == k]
        if len(ids) < 2:
            raise InputError(
                f"Of the {len(train)} rows of {', '.join(map(str, paths))} that are trained on, {len(ids)} are of the class {label}; two are needed at least, one to "
                "train and one to validate. Raise train_rows, or give more rows."
            )
        rank = {row: digest(seed, "validation", one) for row, one in ids.items()}
        split[sorted(rank, key=rank.__getitem__)[: min(max(1, round(share * len(ids))), len(ids) - 1)]] = "val"
    return split


def _wanted(rows: Mapping) -> list:
    """Return the columns to read: those of the text, and that of the label where there is one."""
    return [*rows["text"], *([] if rows["label"] is None else [rows["label"]])]


def _keys(rows: Mapping) -> str:
    """Return the keys of the configuration that name the columns."""
    return "`text`" if rows["label"] is None else f"`text` and `{rows.get('called', 'label')}`"


def _columns(columns: Sequence) -> str:
    return f"the column{'s' * (len(columns) > 1)} {', '.join(map(str, columns))}"


# --- The formats ------------------------------------------------------------------------------------------------------


def _read_text(path: str) -> str:
    """Return a file's text without a byte order mark; line breaks as they are."""
    raw = _bytes(path).removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"The file {path} is not UTF-8 (line {line}, byte {raw[error.start]:#04x}). Save it as UTF-8.") from None


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"The file {path} does not exist. Check `files` of the data set, and `data`, the folder that its paths count from."
        ) from None
    except OSError as error:
        raise InputError(
            f"The file {path} cannot be read: {error.strerror}. Give a file, or `format: huggingface` for the folder of a data set."
        ) from None


def _read_lines(path: str, rows: Mapping, known: Collection[str]) -> Iterator[Row]:
    """Yield the lines of a text file, a text each; blank ones at its end are layout."""
    lines = _read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    for row, line in enumerate(lines, 1):
        if not line.strip():
            raise InputError(
                f"The file {path}, line {row}, is blank. Every line is a text: take it out, or write JSON lines for texts of several lines."
            )
        yield f"line {row}", [line.removesuffix("\r")], None


def _read_delimited(path: str, rows: Mapping, known: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a CSV or TSV file.

    A CSV field may stand in double quotes, and then hold line breaks and doubled quotes. A TSV field may not (`quoted` turns both
    around): a quote is a character like others, and blanks around a field are layout. Names of columns and labels are compared
    without outer blanks.
    """
    tsv = rows["format"] == "tsv"
    quoted = rows.get("quoted", not tsv)
    text = _read_text(path)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter="\t" if tsv else ",",
            quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            strict=True,
        )
        lines: list[tuple[int, list[str]]] = []
        try:
            before = 0
            for fields in reader:
                lines.append((before + 1, fields))
                before = reader.line_num
        except csv.Error as error:
            hint = "A quote inside quotes is doubled; where quotes are plain characters, write `quoted: false`." if quoted else ""
            raise InputError(f"The file {path} cannot be read from line {before + 1} on: {error}. {hint}".rstrip()) from None
    finally:
        csv.field_size_limit(limit)
    while lines and not lines[-1][1]:
        lines.pop()
    if not lines:
        raise InputError(f"The file {path} is empty. Name another.")

    wanted = _wanted(rows)
    header = rows.get("header", True)
    names = [name.strip() for name in lines[0][1]] if header else list(range(len(lines[0][1])))
    width = len(names)
    for column in wanted:
        count = names.count(column.strip() if isinstance(column, str) else column)
        if count != 1:
            kind = "names the columns" if header else f"has {width} columns, by number"
            raise InputError(
                f"The file {path} has {count or 'no'} column{'s' * (count > 1)} {column!r}. Its first line {kind}: {', '.join(map(repr, names))}. "
                + (f"Mend {_keys(rows)}, or write `header: false` and number them from 0." if header else f"Mend {_keys(rows)}.")
            )
    places = [names.index(column.strip() if isinstance(column, str) else column) for column in wanted]
    for row, (line, fields) in enumerate(lines[1:] if header else lines, 1):
        place = f"row {row} (line {line})"
        if len(fields) != width:
            what = "is blank" if not fields else f"has {len(fields)} column{'s' * (len(fields) != 1)}, but the first line has {width}"
            hint = "" if quoted else " A field with line breaks or tabs needs quotes: write `quoted: true` where the file has them."
            raise InputError(f"The file {path}, {place}, {what}. Mend the row, or take it out.{hint}")
        texts = [fields[column] for column in places]
        label = None if rows["label"] is None else texts.pop().strip()
        if not quoted:
            if "quoted" not in rows and any('""' in field and QUOTED.fullmatch(field.strip()) for field in texts):
                raise InputError(
                    f"The file {path}, {place}, has a field in quotes with doubled quotes inside. Say whether quotes enclose fields in this file: "
                    "`quoted: true`, or `quoted: false` where they are plain characters."
                )
            texts = [field.strip() for field in texts]
        yield place, texts, label


def _read_jsonl(path: str, rows: Mapping, known: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object a line."""
    lines = _read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    wanted = _wanted(rows)
    for row, line in enumerate(lines, 1):
        place = f"row {row}"
        try:
            value = json.loads(line, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise InputError(f"The file {path}, {place}, is not JSON ({error}). Write one object a line.") from None
        if not isinstance(value, dict):
            raise InputError(f"The file {path}, {place}, is JSON, but no object. Write one object a line, as in {{{json.dumps(wanted[0])}: ...}}.")
        lacking = [column for column in wanted if column not in value]
        if lacking:
            raise InputError(f"The file {path}, {place}, lacks {_columns(lacking)}. It has: {', '.join(value) or 'nothing'}.")
        yield _typed(path, place, rows, [value[column] for column in wanted])


def _once(pairs: list[tuple[str, object]]) -> dict:
    keys = Counter(key for key, _ in pairs)
    twice = next((key for key, count in keys.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"the key {twice!r} stands twice")
    return dict(pairs)


def _read_parquet(path: str, rows: Mapping, known: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a Parquet file."""
    try:
        file = pq.ParquetFile(io.BytesIO(_bytes(path)))
        table = file.read(columns=[column for column in file.schema_arrow.names if column in _wanted(rows)])
        # A text that is no UTF-8 shows here.
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        # Of a damaged file pyarrow raises each of them.
        raise InputError(f"The file {path} is not a Parquet file that can be read ({' '.join(str(error).split())[:200]}).") from None
    yield from _read_table(path, rows, table, file.schema_arrow.names)


def _read_huggingface(path: str, rows: Mapping, known: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a data set that `datasets` saved with save_to_disk.

    Where its label column numbers named classes, `labels` of the configuration may have the numbers or the names.
    """
    # A second and a half of imports that the other formats do not pay.
    import datasets

    try:
        found = datasets.load_from_disk(str(path))
    except Exception as error:
        raise InputError(
            f"The folder {path} is no data set that save_to_disk wrote, or it is damaged ({type(error).__name__}: {' '.join(str(error).split())[:200]})."
        ) from None
    if isinstance(found, datasets.DatasetDict):
        splits = list(found)
        raise InputError(f"The folder {path} holds several splits: {', '.join(splits)}. Name the folder of one, such as {Path(path, splits[0])}.")
    table = found.with_format("arrow")[:] if len(found) else found.data.table
    feature = found.features.get(rows["label"])
    named = isinstance(feature, datasets.ClassLabel) and not set(feature.names).isdisjoint(known)
    for place, texts, label in _read_table(path, rows, table, table.column_names):
        # -1 marks a row without a label.
        yield place, texts, feature.int2str(label) if named and label >= 0 else label


def _read_table(path: str, rows: Mapping, table: pa.Table, names: Sequence[str]) -> Iterator[Row]:
    wanted = _wanted(rows)
    for column in wanted:
        if list(names).count(column) != 1:
            raise InputError(f"The file {path} has no column {column!r}, or more than one. It has: {', '.join(names)}. Mend {_keys(rows)}.")
    for row, values in enumerate(zip(*(table[column].to_pylist() for column in wanted), strict=True), 1):
        yield _typed(path, f"row {row}", rows, values)


def _typed(path: str, place: str, rows: Mapping, values: Sequence) -> Row:
    """Return a row whose values have types of their own; raise InputError for a text that is none, and a missing label."""
    texts = list(values)
    label = None if rows["label"] is None else texts.pop()
    for column, text in zip(rows["text"], texts, strict=True):
        if not isinstance(text, str):
            what = "is missing (null)" if text is None else f"is a {type(text).__name__} ({str(text)[:60]!r}) and no text"
            raise InputError(f"The file {path}, {place}: {column} {what}. Give it a text, or take the row out.")
    if label is None and rows["label"] is not None:
        raise InputError(
            f"The file {path}, {place}: the {rows.get('called', 'label')} {rows['label']} is missing (null). Give it one, or take the row out."
        )
    return place, texts, label


READERS = {
    "lines": _read_lines,
    "csv": _read_delimited,
    "tsv": _read_delimited,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
    "huggingface": _read_huggingface,
}
