"""Mutate many texts: columns in, columns out, for any set or task.

The fast path works on the bytes and code points of a whole batch in numpy: word boundaries by table look-up, candidate
words by a hash of length and three letters, and Python only for the few words that may be in a list. It gives what
`Operator.apply` gives text by text. Batches keep memory flat however many texts there are.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from muattack.errors import InputError
from muattack.mutate.operator import SPACES, Action, LexicalOperator, Operator, remove_words
from muattack.mutate.registry import APPLY, OperatorSet, describe, join, known, load_sets, resolve
from muattack.records import META_KEY, complete_or_absent
from muattack.seeds import generator
from muattack.words import WORD

__all__ = ["BATCH", "mutate_captions", "mutate_file", "mutate_individually", "mutate_operators", "mutate_texts", "remove_words"]

# Texts and bytes of one batch: large enough that numpy's cost a call vanishes, small enough to stay in the processor's cache.
BATCH = 16384
BATCH_BYTES = 1 << 20
# Characters of words that an operator's plan remembers before it starts anew.
FORMS_SIZE = 1 << 20

EDIT = pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32()), pa.field("replacement", pa.string())])
EDITS = pa.list_(EDIT)
CLASSES = {"human": 0, "machine": 1}

# What a code point is, found out when it first occurs: bit 1 letter, digit or mark; bit 2 apostrophe; bit 4 space.
_WORD, _APOSTROPHE, _SPACE, _KNOWN = 1, 2, 4, 8
_ASCII_KINDS = np.zeros(256, np.uint8)
_KINDS: np.ndarray | None = None


def mutate_texts(
    texts: Sequence[str] | pa.Array | pa.ChunkedArray, sets: Sequence[OperatorSet], seed: int = 0, ids: Sequence[str] | None = None
) -> pa.Table:
    """Apply the sets together to every text.

    Returns a pyarrow Table of mutated (string), changed (bool) and edits (list of start, end, replacement on the
    text, positions in characters), one row a text, equal to `join(sets).apply` text by text. Operators with chance draw
    from the digest of `seed`, their name and the text's id (its row where no ids are given). Raises InputError on a text
    that is not UTF-8 or is missing.
    """
    return _mutate(texts, join(sets), seed, ids)


def _mutate(texts: Sequence[str] | pa.Array | pa.ChunkedArray, operator: Operator, seed: int, ids: Sequence[str] | None) -> pa.Table:
    """Apply one operator to every text, see `mutate_texts`."""
    batches = []
    first = 0
    for batch in _batches(_strings(texts)):
        if isinstance(operator, LexicalOperator):
            layout = _Layout(batch)
            batches.append(_assemble(layout, *_find(layout, plan := _plan(operator)), plan))
        else:
            names = range(first, first + len(batch)) if ids is None else ids[first : first + len(batch)]
            batches.append(_plain_batch(batch, operator, seed, names))
        first += len(batch)
    return pa.Table.from_batches(batches, schema=_MUTATED)


def mutate_individually(texts: Sequence[str] | pa.Array | pa.ChunkedArray, sets: Sequence[OperatorSet]) -> pa.Table:
    """Apply every operator of the sets alone, to the texts it can change.

    Returns a pyarrow Table of row (of the text), operator ("set:word"), set, word, text, mutated, changed and edits,
    ordered by text, then set, then word. Raises InputError for sets whose operators do not work word by word.
    """
    for one in sets:
        if not isinstance(one.operator, LexicalOperator):
            raise InputError(f"{one.name} of kind {one.kind} has no operators for single words. Use `apply: jointly` for it.")
    batches = []
    first = 0
    for batch in _batches(_strings(texts)):
        table = pa.concat_tables([_single_batch(batch, one, first) for one in sets])
        order = np.argsort(table["row"].to_numpy(), kind="stable")
        batches.append(table.take(order))
        first += len(batch)
    return pa.concat_tables(batches) if batches else _SINGLE.empty_table()


def mutate_captions(captions: pd.DataFrame, name: str, mutate: Mapping, folder: str | Path | None = None, seed: int = 0) -> tuple[pa.Table, dict]:
    """Mutate the test captions of the classes in `mutate.classes` by one set or task.

    Returns the table of mutants/{name}.parquet and its meta data: rows in and out, changed texts a source, operators
    nominal and effective, settings. Rows in = rows out and in the same order, or, with `apply: individually`, one row for
    each operator that changes a text. Raises InputError.
    """
    sets = resolve(mutate, name, folder)
    count = _Counter(name, sets, mutate, seed)
    table = pa.Table.from_pandas(captions[["id", "source", "text", "label", "split"]], preserve_index=False)
    result = pa.concat_tables([count.schema.empty_table(), *(count.mutate(part) for part in table.to_batches())])
    return result.combine_chunks(), count.meta()


def mutate_operators(captions: pd.DataFrame, mutate: Mapping, folder: str | Path | None = None) -> tuple[pa.Table, dict]:
    """Apply every operator of every set alone to the machine's test captions of the domain (source "machine").

    Returns the table of mutants/operators.parquet (id, operator, set, word, text, mutated, changed, edits; only operators
    that change the text) and its meta data. Sets that do not work word by word are left out and named in `left_out`.
    """
    loaded = list(load_sets(mutate, folder).values())
    sets = [one for one in loaded if isinstance(one.operator, LexicalOperator)]
    chosen = captions[(captions["split"] == "test") & (captions["source"] == "machine")]
    table = mutate_individually(pa.array(chosen["text"], pa.string()), sets)
    ids = pa.array(chosen["id"], pa.string()).take(table["row"].combine_chunks())
    result = table.drop_columns("row").add_column(0, "id", ids)
    applied = result["operator"].value_counts()
    meta = {
        "rows_in": len(captions), "captions": len(chosen), "rows_out": result.num_rows, "operators_applied": len(applied),
        "nominal": sum(one.nominal for one in sets), "effective": sum(one.effective for one in sets),
        "sets": describe(sets), "left_out": [one.name for one in loaded if one not in sets],
    }  # fmt: skip
    return result, meta


def mutate_file(
    captions: str | os.PathLike, target: str | os.PathLike, name: str, mutate: Mapping, folder: str | Path | None = None, seed: int = 0
) -> dict:
    """Mutate a Parquet file of captions to another one, batch by batch; see `mutate_captions`.

    Memory does not grow with the number of captions. The file appears when it is complete. Returns the meta data, which
    travels in the file. Raises InputError.
    """
    count = _Counter(name, resolve(mutate, name, folder), mutate, seed)
    columns = ["id", "source", "text", "label", "split"]
    try:
        source = pq.ParquetFile(captions)
    except FileNotFoundError:
        raise InputError(f"{captions} does not exist. The workflow makes it: run snakemake with this file as its target.") from None
    except pa.ArrowInvalid as error:
        raise InputError(f"{captions} is not a Parquet file that can be read ({error}). Delete it, and the workflow makes it anew.") from error
    with source, complete_or_absent(target) as temporary:
        for column in columns:
            known(column, [column] if column in source.schema_arrow.names else source.schema_arrow.names, "column", str(captions))
        # The counts are known after the last batch only. Added then, they are found by `read_meta` in a file without a stored
        # Arrow schema, which would hide them; these columns need none.
        with pq.ParquetWriter(temporary, count.schema, compression="zstd", store_schema=False) as writer:
            for batch in source.iter_batches(batch_size=BATCH, columns=columns):
                writer.write_table(count.mutate(batch))
            meta = count.meta()
            writer.add_key_value_metadata({META_KEY.decode(): json.dumps(meta, ensure_ascii=False, sort_keys=True)})
    return meta


class _Counter:
    """Mutate batches of caption records for one set or task and count what happened."""

    def __init__(self, name: str, sets: Sequence[OperatorSet], mutate: Mapping, seed: int) -> None:
        self.name, self.sets, self.seed = name, sets, seed
        self.operator = join(sets)
        self.lexical = isinstance(self.operator, LexicalOperator)
        self.apply = mutate.get("apply", "jointly")
        known(self.apply, APPLY, "way to apply sets", "mutate.apply")
        self.classes = list(mutate.get("classes", ["machine"]))
        for one in self.classes:
            known(one, CLASSES, "class", "mutate.classes")
        extra = [pa.field("operator", pa.string())] if self.apply == "individually" else []
        self.schema = pa.schema([pa.field("id", pa.string()), pa.field("text", pa.string()), *_MUTATED, *extra])
        self.rows_in = self.captions = self.rows_out = 0
        self.sources: dict[str, dict[str, int]] = {}

    def mutate(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the mutants of one batch of records."""
        label = batch["label"].to_numpy(zero_copy_only=False)
        chosen = np.isin(label, [CLASSES[one] for one in self.classes]) & (np.asarray(batch["split"].to_pylist()) == "test")
        self.rows_in += len(batch)
        batch = batch.filter(pa.array(chosen))
        ids, text = batch["id"].cast(pa.string()), _strings(batch["text"])
        if self.apply == "individually":
            mutants = mutate_individually(text, self.sets)
            rows = mutants["row"].combine_chunks()
            table = pa.table({"id": ids.take(rows), **{field: mutants[field] for field in self.schema.names[1:]}}, schema=self.schema)
            changed = np.bincount(rows.to_numpy(), minlength=len(batch)) > 0
        else:
            mutants = _mutate(text, self.operator, self.seed, None if self.lexical else ids.to_pylist())
            table = pa.table({"id": ids, "text": text, **{field: mutants[field] for field in _MUTATED.names}}, schema=self.schema)
            changed = mutants["changed"].to_numpy()
        self.captions += len(batch)
        self.rows_out += table.num_rows
        source = pd.Series(changed).groupby(np.asarray(batch["source"].to_pylist(), dtype=object)).agg(["size", "sum"])
        for key, texts, altered in source.itertuples():
            entry = self.sources.setdefault(key, {"captions": 0, "changed": 0})
            entry["captions"] += int(texts)
            entry["changed"] += int(altered)
        return table

    def meta(self) -> dict:
        """Return the counts and settings so far."""
        return {
            "name": self.name, "apply": self.apply, "classes": self.classes, "seed": self.seed, "sets": describe(self.sets),
            "nominal": sum(one.nominal for one in self.sets), "effective": sum(one.effective for one in self.sets),
            "rows_in": self.rows_in, "captions": self.captions, "rows_out": self.rows_out,
            "changed": sum(entry["changed"] for entry in self.sources.values()), "sources": self.sources,
        }  # fmt: skip


_MUTATED = pa.schema([pa.field("mutated", pa.string()), pa.field("changed", pa.bool_()), pa.field("edits", EDITS)])
_SINGLE = pa.schema([("row", pa.int64()), ("operator", pa.string()), ("set", pa.string()), ("word", pa.string()), ("text", pa.string()), *_MUTATED])


def _strings(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the texts as Arrow strings; InputError where one is missing or cannot be written as UTF-8."""
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        try:
            texts = pa.array(texts, pa.large_string())
        except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
            row = next((row for row, text in enumerate(texts) if not isinstance(text, str) or not _encodable(text)), None)
            raise InputError(f"text {row}: not a text that can be written as UTF-8 ({error}). Give strings without lone surrogates.") from error
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        texts = texts.cast(pa.large_string())
    if texts.null_count:
        row = texts.is_null().index(True).as_py()
        raise InputError(f"text {row} is missing. Every record needs a text; write an empty string where there is none.")
    return texts


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _batches(texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """Cut an array of texts into string arrays of at most BATCH texts and about BATCH_BYTES bytes."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        sizes = np.cumsum(pc.binary_length(chunk).to_numpy(zero_copy_only=False), dtype=np.int64)
        first = 0
        while first < len(chunk):
            reached = sizes[first - 1] if first else 0
            last = max(first + 1, min(first + BATCH, int(np.searchsorted(sizes, reached + BATCH_BYTES, side="right"))))
            yield chunk.slice(first, last - first).cast(pa.string())
            first = last


class _Layout:
    """A batch of texts as bytes and code points, with every word that an operator's filter lets through."""

    def __init__(self, texts: pa.Array) -> None:
        _, offsets, data = texts.buffers()
        starts = np.frombuffer(offsets, np.int32, len(texts) + 1, 4 * texts.offset)
        low, high = int(starts[0]), int(starts[-1])
        self.count = len(texts)
        self.raw = np.frombuffer(data, np.uint8, high - low, low) if high > low else np.zeros(0, np.uint8)
        self.byte_starts = starts - low
        self.bytes = self.raw.tobytes()
        self.ascii = self.bytes.isascii()
        self.string = self.bytes.decode()
        if self.ascii:
            self.codes, self.starts, self.byte_of = self.raw, self.byte_starts, None
        else:
            self.codes = np.frombuffer(self.string.encode("utf-32-le"), np.uint32)
            begins = (self.raw & 0xC0) != 0x80
            self.byte_of = np.append(np.flatnonzero(begins), len(self.raw))
            self.starts = np.searchsorted(self.byte_of, self.byte_starts)

    def bytes_at(self, positions: np.ndarray) -> np.ndarray:
        """Return byte positions of character positions."""
        return positions if self.byte_of is None else self.byte_of[positions]

    def words(self, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return starts and ends of all words, and the kinds of all characters."""
        kinds = _kinds(self.codes)
        first = np.zeros(size + 1, bool)
        first[self.starts] = True
        inside = (kinds & _WORD).view(bool)
        between = np.flatnonzero(kinds & _APOSTROPHE)
        if len(between):
            between = between[(between > 0) & (between < size - 1)]
            joins = inside[between - 1] & inside[between + 1] & ~first[between] & ~first[between + 1]
            inside[between[joins]] = True
        begins, ends = np.empty(size, bool), np.empty(size, bool)
        begins[0] = inside[0]
        np.greater(inside[1:], inside[:-1] & ~first[1:size], out=begins[1:])
        np.greater(inside[:-1], inside[1:] & ~first[1:size], out=ends[:-1])
        ends[-1] = inside[-1]
        return np.flatnonzero(begins), np.flatnonzero(ends) + 1, kinds


class _Plan:
    """What the fast path keeps of an operator: the filter for candidate words and the actions met so far."""

    def __init__(self, operator: LexicalOperator) -> None:
        self.operator = operator
        self.filter = np.zeros(1 << 16, bool)
        keys = [key for key in operator.keys if key.isascii()]
        ends = np.cumsum([len(key) for key in keys], dtype=np.int64)
        if keys:
            self.filter[_hash(np.frombuffer("".join(keys).encode(), np.uint8), np.append(0, ends[:-1]), ends)] = True
        self.clear()

    def clear(self) -> None:
        """Forget the forms of words met so far."""
        self.number: dict[str, int] = {}
        self.size = 0
        self.actions: list[Action] = []
        self.arrays: tuple | None = None

    def look_up(self, forms: list[str]) -> np.ndarray:
        """Return the number of each form's action, -1 where there is none."""
        number = self.number
        try:
            return np.array([number[form] for form in forms], np.int32)
        except KeyError:
            for form in forms:
                if form not in number:
                    action = self.operator.action(form)
                    self.size += len(form)
                    number[form] = -1 if action is None else len(self.actions)
                    if action is not None:
                        self.actions.append(action)
                        self.arrays = None
            return np.array([number[form] for form in forms], np.int32)

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str]]:
        """Return the actions as arrays: first edit and number of edits, removal, word; start, end and text of edits."""
        if self.arrays is None:
            counts = np.array([len(action.edits) for action in self.actions], np.int64)
            edits = [edit for action in self.actions for edit in action.edits]
            self.arrays = (
                np.cumsum(counts) - counts, counts,
                np.array([action.removal for action in self.actions], bool), np.array([action.word for action in self.actions], np.int64),
                np.array([edit.start for edit in edits], np.int64), np.array([edit.end for edit in edits], np.int64),
                [edit.replacement for edit in edits],
            )  # fmt: skip
        return self.arrays


_PLANS: WeakKeyDictionary[LexicalOperator, _Plan] = WeakKeyDictionary()


def _plan(operator: LexicalOperator) -> _Plan:
    """Return the plan of an operator, made once as long as the operator lives."""
    plan = _PLANS.get(operator)
    if plan is None:
        plan = _PLANS[operator] = _Plan(operator)
    # Texts with ever new words in other scripts must not fill the memory.
    if plan.size > FORMS_SIZE:
        plan.clear()
    return plan


def _find(layout: _Layout, plan: _Plan) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the matching words: row, start, end, number of the action; and the kinds of all characters."""
    size = len(layout.codes)
    if not size:
        none = np.zeros(0, np.int64)
        return none, none, none, none, np.zeros(0, np.uint8)
    starts, ends, kinds = layout.words(size)
    keep = plan.filter[_hash(layout.codes, starts, ends)]
    if not layout.ascii:
        foreign = np.append(0, np.cumsum(layout.codes > 127))
        keep |= foreign[ends] > foreign[starts]
    starts, ends = starts[keep], ends[keep]
    string = layout.string
    number = plan.look_up([string[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    hit = number >= 0
    starts, ends, number = starts[hit], ends[hit], number[hit]
    return np.searchsorted(layout.starts, starts, side="right") - 1, starts, ends, number, kinds


def _assemble(
    layout: _Layout, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, number: np.ndarray, kinds: np.ndarray, plan: _Plan
) -> pa.RecordBatch:
    """Make the edits of the matching words and the mutated texts. Matches are sorted by row and start."""
    first, counts, removal, _, edit_starts, edit_ends, replacements = plan.tables()
    many = counts[number]
    owner = np.repeat(np.arange(len(number)), many)
    edit = first[number][owner] + np.arange(len(owner)) - (np.cumsum(many) - many)[owner]
    row = rows[owner]
    start, end = starts[owner] + edit_starts[edit], starts[owner] + edit_ends[edit]
    removed = np.flatnonzero(removal[number][owner])
    if len(removed):
        start[removed], end[removed] = _removal_spans(layout, row[removed], start[removed], end[removed], kinds)

    per_row = np.bincount(row, minlength=layout.count)
    offsets = np.append(0, np.cumsum(per_row)).astype(np.int32)
    base = layout.starts[row]
    struct = pa.StructArray.from_arrays(
        [
            pa.array((start - base).astype(np.int32)),
            pa.array((end - base).astype(np.int32)),
            pa.array(replacements, pa.string()).take(pa.array(edit)),
        ],
        fields=list(EDIT),
    )
    mutated = _splice(layout, row, layout.bytes_at(start), layout.bytes_at(end), edit, [text.encode() for text in replacements])
    return pa.RecordBatch.from_arrays(
        [mutated, pa.array(per_row > 0), pa.ListArray.from_arrays(pa.array(offsets), struct, type=EDITS)], schema=_MUTATED
    )


def _removal_spans(layout: _Layout, row: np.ndarray, start: np.ndarray, end: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Widen the spans of removed words by one neighbouring space each, as `removal_span` does one after the other.

    A word may take the space before it unless the removal before took that one as its space after. Only words parted by
    a single space contend, so in each chain of such words all do as the first can: take the space before, or the one after.
    """
    before = (start > layout.starts[row]) & (kinds[start - 1] & _SPACE > 0)
    after = (end < layout.starts[row + 1]) & (kinds[np.minimum(end, len(kinds) - 1)] & _SPACE > 0)
    linked = np.zeros(len(start), bool)
    linked[1:] = (start[1:] == end[:-1] + 1) & after[:-1] & (row[1:] == row[:-1])
    chain = np.cumsum(~linked) - 1
    leading = before[~linked][chain]
    return start - (leading & before), end + (~leading & after)


def _splice(layout: _Layout, row: np.ndarray, start: np.ndarray, end: np.ndarray, edit: np.ndarray, replacements: list[bytes]) -> pa.StringArray:
    """Return the texts with bytes start:end replaced."""
    data, pieces, position = layout.bytes, [], 0
    for low, high, which in zip(start.tolist(), end.tolist(), edit.tolist(), strict=True):
        pieces += (data[position:low], replacements[which])
        position = high
    pieces.append(data[position:])
    grown = np.array([len(text) for text in replacements], np.int64)[edit] - (end - start)
    growth = np.zeros(layout.count + 1, np.int64)
    np.add.at(growth, row + 1, grown)
    offsets = (layout.byte_starts + np.cumsum(growth)).astype(np.int32)
    return pa.StringArray.from_buffers(layout.count, pa.py_buffer(offsets), pa.py_buffer(b"".join(pieces)))


def _single_batch(batch: pa.Array, one: OperatorSet, first: int) -> pa.Table:
    """Apply each operator of a set alone: a text is repeated for every word that can change it."""
    layout, plan = _Layout(batch), _plan(one.operator)
    rows, starts, ends, number, _ = _find(layout, plan)
    _, counts, _, word, *_ = plan.tables()
    able = counts[number] > 0
    rows, starts, ends, number = rows[able], starts[able], ends[able], number[able]
    if not len(rows):
        return _SINGLE.empty_table()
    pairs, pair = np.unique(rows * len(one.words) + word[number], return_inverse=True)
    pair_row, pair_word = np.divmod(pairs, len(one.words))
    texts = batch.take(pa.array(pair_row))
    order = np.argsort(pair, kind="stable")
    repeated = _Layout(texts)
    shift = repeated.starts[pair[order]] - layout.starts[rows[order]]
    mutants = _assemble(repeated, pair[order], starts[order] + shift, ends[order] + shift, number[order], _kinds(repeated.codes), plan)
    words = pa.array(one.words, pa.string()).take(pa.array(pair_word))
    names = pa.array([f"{one.name}:{text}" for text in one.words], pa.string()).take(pa.array(pair_word))
    columns = [pa.array(pair_row + first), names, pa.array([one.name] * len(pairs), pa.string()), words, texts, *mutants.columns]
    return pa.Table.from_arrays(columns, schema=_SINGLE)


def _plain_batch(batch: pa.Array, operator: Operator, seed: int, names: Sequence) -> pa.RecordBatch:
    """Apply an operator of any kind text by text."""
    mutations = [operator.apply(text, generator(seed, operator.name, name)) for text, name in zip(batch.to_pylist(), names, strict=True)]
    edits = [[{"start": edit.start, "end": edit.end, "replacement": edit.replacement} for edit in mutation.edits] for mutation in mutations]
    columns = [
        pa.array([mutation.text for mutation in mutations], pa.string()),
        pa.array([mutation.changed for mutation in mutations], pa.bool_()),
        pa.array(edits, EDITS),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_MUTATED)


def _kinds(codes: np.ndarray) -> np.ndarray:
    """Return the kind of every code point."""
    global _KINDS
    if codes.dtype == np.uint8:
        table = _ASCII_KINDS
        missing = np.arange(128) if not table[0] else ()
    else:
        if _KINDS is None:
            _KINDS = np.zeros(0x110000, np.uint8)
        table = _KINDS
        missing = np.unique(codes[table[codes] == 0])
    for code in missing:
        character = chr(code)
        word = _WORD if WORD.fullmatch(character) else 0
        table[code] = _KNOWN | word | (_APOSTROPHE if character in "'’" else 0) | (_SPACE if character in SPACES else 0)
    return table[codes]


def _hash(codes: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return a 16-bit hash of words from their length and three of their characters, small and capital letters alike."""
    first = codes[starts].astype(np.uint32) | 32
    middle = codes[(starts + ends) >> 1].astype(np.uint32) | 32
    last = codes[ends - 1].astype(np.uint32) | 32
    return (first * 2053 + middle * 331 + last * 53 + (ends - starts).astype(np.uint32) * 7919) & 0xFFFF
