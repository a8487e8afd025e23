"""Every reader with files that it takes, and ways of spoiling them. Not a test: `test_hostile.py` and `fuzz_readers.py` use it.

A reader may do one of two things with any file: return what the file says, or raise InputError with one paragraph that names the file.
"""

import hashlib
import io
import json
import re
import tempfile
import zlib
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml
from hypothesis import strategies as st
from made_attacks import record

from muattack import errors
from muattack.attack.records import FIELDS, STATUSES, apply_edits, read_attack
from muattack.attack.synonyms import read_antonyms, read_vectors
from muattack.attack.tables import read_neighbours
from muattack.cli import read_records as read_command_line
from muattack.config import DEFAULTS, check_config, overlay, read_yaml
from muattack.data.captions import read_captions
from muattack.data.datasets import read_dataset
from muattack.data.noisyhate import read_pairs, read_words
from muattack.data.passages import read_passages
from muattack.data.unpaired import read_texts
from muattack.detect.endpoint import Memory
from muattack.errors import InputError
from muattack.fetch.catalogue import CATALOGUE, read_catalogue
from muattack.fetch.images import first_images
from muattack.fetch.lock import read_lock
from muattack.judge.answers import read_answers
from muattack.judge.page import FORMAT, VERSION, batch_name, tasks
from muattack.kept import KeptLines
from muattack.mutate.anthro import read_corpus, read_table
from muattack.mutate.corrupt import Base, load_base, read_synonyms
from muattack.mutate.normalise_text import read_frequencies
from muattack.mutate.registry import read_words as read_word_list
from muattack.records import read_meta, read_records, write_records
from muattack.train.resume import Checkpoint


@dataclass(frozen=True)
class Reader:
    """How a kind of file is read: its ending, files that are right, what reads it, and what holds of all it returns."""

    ending: str
    samples: tuple[bytes, ...]
    read: Callable[[Path], object]
    holds: Callable[[object], bool] = lambda value: True


def attempt(reader: Reader, path: Path, content: bytes) -> object:
    """Return what the reader makes of the content, None where it refused it; fail at anything else."""
    path.write_bytes(content)
    try:
        value = reader.read(path)
    except InputError as error:
        said = str(error)
        assert path.name in said, f"the message names no file: {said[:300]}"
        assert len(said) < 4000, f"no paragraph: {len(said)} characters"
        # Several faults of a configuration stand in a line each.
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", said), f"what a terminal would obey: {said[:300]!r}"
        return None
    assert reader.holds(value), f"the reader returned {str(value)[:300]}"
    return value


# --- What is done to files --------------------------------------------------------------------------------------------

TOKENS = [
    *(b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\x1b[31m", b'"', b'""', b"'", b"\\", b"\\ud800", b"\\u0000", b"\t", b",", b":"),
    *(b"\r", b"\n", b"\r\n", b"\n\n", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b", b"\xe2\x80\xae", b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80", b"<script>"),
    *(b"null", b"true", b"NaN", b"Infinity", b"-1", b"0", b"1.5", b"1e999", b"1" * 5000, b"{}", b"[]", b"[" * 20_000, b'{"a":' * 20_000, b"../../x"),
    *(b"&a [*a]", b"&a {b: *a}", b"*a", b"!!python/object/apply:os.system [id]", b"<<: ", b"? [a]\n: b", b"2001-99-99", b"2001-01-01", b"0x", b"1:99", b"- "),
    *(b"!!binary x", b"!!timestamp 1", b"!!int a", b"!!float a", b"!!set {a}", b"!!omap [a]", b"=", b"\xd9\xa3", b"\xc2\xb2", b"%YAML 9.9\n---\n", b"---\n"),
]  # fmt: skip

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([10**30, -(10**400), 0.5, -1.5, 1e300, float("inf"), float("nan")])
    | st.text(max_size=5)
    | st.sampled_from(["", " ", "a", "dog", "human", "machine", "null", "../../x", "\ud800", "\x1b[2J", "word\nword", "ﬁ", "ß" * 3, "asset:x", "run:a", "x:y"]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3) | st.sampled_from(["id", "text", "a", "words"]), inside, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def spoilt(draw, samples: tuple[bytes, ...]) -> bytes:
    """A file that is right with a few of its bytes replaced, or one of its values where it is JSON."""
    content = draw(st.sampled_from(samples))
    if draw(st.booleans()):
        lines = content.split(b"\n") if content.count(b"\n{") else [content]
        number = draw(st.integers(0, len(lines) - 1))
        try:
            lines[number] = json.dumps(draw(with_another_value(json.loads(lines[number])))).encode()
            content = b"\n".join(lines)
        except ValueError:
            pass
        else:
            if draw(st.integers(0, 3)):
                return content
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 0, 1, 3, 20, 10**6])))
        new = draw(st.sampled_from(TOKENS) | st.binary(max_size=4) | st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")))
        content = content[:start] + new + content[end:]
    return content


@st.composite
def with_another_value(draw, value: object) -> object:
    """The JSON value with another one, or nothing, in the place of one of its parts, or with one more."""
    places = list(_places(value))
    place = draw(st.sampled_from(places))
    if not place:
        return draw(values)
    return _put(value, place, draw(st.just(_GONE) | values), draw(st.sampled_from(["put", "put", "add", "name"])), draw(st.text(max_size=4)))


_GONE = object()


def _places(value: object, trail: tuple = ()):
    yield trail
    for key, inside in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(inside, (*trail, key))


def _put(value: object, place: tuple, new: object, how: str, name: str) -> object:
    copy = dict(value) if isinstance(value, dict) else list(value)
    (key, *rest) = place
    if rest:
        copy[key] = _put(value[key], tuple(rest), new, how, name)
    elif new is _GONE:
        del copy[key]
    elif how == "add" and isinstance(copy, list):
        copy.insert(key, new)
    elif how != "put" and isinstance(copy, dict):
        copy[name] = copy.pop(key) if how == "name" else new
    else:
        copy[key] = new
    return copy


# --- The readers ------------------------------------------------------------------------------------------------------


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def lines_of(rows: list) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


def _is_text(text: object) -> bool:
    """Whether this is a text that every later step can write."""
    return isinstance(text, str) and bool(text.strip()) and text == text.encode().decode()


CAPTIONS = {"1": ["A dog runs.", "Two men sit."], "2": ["A red cat."]}
ANNOTATIONS = {
    "images": [{"id": 2}, {"id": 1}],
    "annotations": [{"image_id": 1, "id": 7, "caption": "A dog."}, {"image_id": 2, "id": 6, "caption": "A cat."}],
}
ROWS = [
    {"text": "good film", "label": 0, "group": "a"},
    {"text": "bad film", "label": 1, "group": "b"},
    {"text": "so so", "label": 0, "group": "a"},
] * 2
DATASET = {"labels": {0: "good", 1: "bad"}, "validation": 0.4}


def _parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


def _texts(kind: str) -> Callable[[Path], object]:
    group = None if kind == "lines" else "group"
    return lambda path: read_texts(str(path), {"format": kind, "text": ["text"], "group": group})


def _dataset(kind: str) -> Callable[[Path], object]:
    part = {"format": kind, "text": ["text"], "label": "label"}
    return lambda path: read_dataset("toy", {"train": part, "test": part, **DATASET}, {"train": [str(path)], "test": [str(path)]}, 1)[0]


def _good_dataset(frame: pd.DataFrame) -> bool:
    return all(map(_is_text, frame["text"])) and set(frame["label"]) == {0, 1} and set(frame["split"]) == {"train", "val", "test"}


def _config(path: Path) -> dict:
    try:
        return check_config(overlay(read_yaml(DEFAULTS), read_yaml(path)))
    except InputError as error:
        # What is wrong inside is told by the key, since a run may have several files.
        raise InputError(f"{path.name}: {error}") from None


def _catalogue(path: Path) -> dict:
    try:
        return read_catalogue(path)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _good_vectors(found: tuple[list[str], np.ndarray]) -> bool:
    words, vectors = found
    lengths = np.linalg.norm(vectors, axis=1)
    return len(words) == len(set(words)) == len(vectors) and bool(np.all(np.isclose(lengths, 1, atol=1e-4) | (lengths == 0)))


def _good_attack(found: tuple[dict, pd.DataFrame]) -> bool:
    _, frame = found
    made = [apply_edits(row.original, row.edits) for row in frame.itertuples()]
    return list(frame.columns) == list(FIELDS) and set(frame["status"]) <= set(STATUSES) and all(isinstance(text, str) for text in made)


def _command_line(path: Path) -> list:
    with open(path, "rb") as stream:
        return list(read_command_line(stream, path.name, "auto"))


def _memory(path: Path) -> dict:
    """What is damaged counts as not asked yet."""
    memory = Memory(path)
    with redirect_stdout(io.StringIO()):
        memory.read()
    return {text: memory[text] for text in ("a", "b") if text in memory}


def _kept(path: Path) -> dict:
    """What is damaged is not used."""
    with redirect_stdout(io.StringIO()):
        kept = KeptLines(path, STATE, lambda record: True)
    kept.close()
    return kept.done


def _kept_lines() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        kept = KeptLines(Path(folder, "a.jsonl"), STATE, lambda record: True)
        kept.add(*DONE.values())
        kept.close()
        return kept.path.read_bytes()


def _training(path: Path) -> tuple | str:
    """Likewise, of a training; its tensors lie beside it and are right."""
    folder = path.parent / "state"
    folder.mkdir(exist_ok=True)
    (folder / "epoch-1.safetensors").write_bytes(_trained()[1])
    (folder / "state.json").write_bytes(path.read_bytes())
    with redirect_stdout(io.StringIO()):
        return Checkpoint(folder, errors.__file__, lambda: STATE, 0).read() or "not used"


@cache
def _trained() -> tuple[bytes, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        Checkpoint(folder, errors.__file__, lambda: STATE, 0).write(1, {"weight": torch.ones(2)}, {"rates": [0.1]})
        return tuple(Path(folder, name).read_bytes() for name in ("state.json", "epoch-1.safetensors"))


STATE = {"seed": "1"}
DONE = {one: {"id": one, "status": "failed"} for one in ("a", "b")}
PAIRS = pd.DataFrame(
    [("p1", "a silly plan", "a s1lly plan", "SpecialChar"), ("p2", "two people sit", "two ppl sit", "Abbr")],
    columns=["id", "clean", "perturbed", "type"],
)


@cache
def _batch() -> tuple:
    return tuple(tasks(PAIRS))


def _answers() -> dict:
    batch = list(_batch())
    rows = [{"pair": task.id, "word": word, "quality": 4, "ms": 6000} for task, word in zip(batch, (1, 1), strict=True)]
    told = {"format": FORMAT, "version": VERSION, "batch": batch_name(batch), "worker": "w1", "wait": 5, "answers": rows}
    lines = [FORMAT, VERSION, batch_name(batch), "w1", 5, *(value for row in rows for value in row.values())]
    return told | {"check": zlib.crc32("\n".join(map(str, lines)).encode())}


def _base() -> bytes:
    return Base(["large", "house"], {"large": ["big"]}, {"source": "made up"}, [[(1, 4)], [(0, 4)]]).content.encode()


def _records() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_records(Path(folder, "a.parquet"), pd.DataFrame({"id": ["a", "b"], "text": ["A dog.", "A cat."]}), {"seed": 1})
        return Path(folder, "a.parquet").read_bytes()


ATTACK = [
    {"header": True, "attack": {"recipe": "textfooler"}, "victim": "rr", "dataset": "captions", "texts": 3, "seed": 1},
    record("a", 1, "succeeded"),
    record("b", 1, "failed"),
    record("c", 1, "skipped"),
]

TABLE = pd.DataFrame(ROWS)
CSV = b"text,label,group\r\n" + b"".join(f'"{row["text"]}, ""really""",{row["label"]},{row["group"]}\r\n'.encode() for row in ROWS)
TSV = b"text\tlabel\tgroup\n" + b"".join(f"{row['text']}\t{row['label']}\t{row['group']}\n".encode() for row in ROWS)
NEIGHBOURS = (_json({"dog": ["hound", "puppy"], "red": ["crimson"]}), _json({"dog": [["hound", 0.9], ["puppy", None]]}))
MEMORY = b"".join(_json({"sha256": hashlib.sha256(text.encode()).hexdigest(), "score": 0.25}) + b"\n" for text in ("a", "b"))
LOCK = {"a/b": {"url": "https://host/a", "size": 3, "sha256": "0" * 64}}


def _configurations() -> tuple[bytes, ...]:
    files = [
        file
        for file in sorted(DEFAULTS.parent.glob("*.yaml"))
        if file.stem in ("config", "captions", "corrupted", "defenders", "chinese", "noisyhate")
    ]
    return (*(json.dumps(yaml.load(file.read_bytes(), yaml.CSafeLoader)).encode() for file in files), b"run: mine\nseed: 3\n")


def _all_texts(rows: list) -> bool:
    return bool(rows) and all(_is_text(text) for _, text, _ in rows)


def _all_words(words: object) -> bool:
    return bool(words) and all(isinstance(word, str) and word.strip() for word in words)


READERS = {
    "configuration": Reader(".yaml", _configurations(), _config, lambda config: isinstance(config["seed"], int)),
    "captions": Reader(
        ".json",
        (_json(CAPTIONS), _json(ANNOTATIONS), _json(ANNOTATIONS["annotations"])),
        read_captions,
        lambda found: all(_is_text(text) for texts in found.values() for text in texts),
    ),
    "passages": Reader(".json", (_json({"original": ["A dog. It ran."], "sampled": ["A dog. He sat."]}),), read_passages, bool),
    "texts, lines": Reader(".txt", (b"A dog runs.\nTwo men sit.\r\n",), _texts("lines"), _all_texts),
    "texts, csv": Reader(".csv", (CSV,), _texts("csv"), _all_texts),
    "texts, tsv": Reader(".tsv", (TSV,), _texts("tsv"), _all_texts),
    "texts, jsonl": Reader(".jsonl", (lines_of(ROWS),), _texts("jsonl"), _all_texts),
    "texts, parquet": Reader(".parquet", (_parquet(TABLE),), _texts("parquet"), _all_texts),
    "data set, csv": Reader(".csv", (CSV,), _dataset("csv"), _good_dataset),
    "data set, tsv": Reader(".tsv", (TSV,), _dataset("tsv"), _good_dataset),
    "data set, jsonl": Reader(".jsonl", (lines_of(ROWS),), _dataset("jsonl"), _good_dataset),
    "data set, parquet": Reader(".parquet", (_parquet(TABLE),), _dataset("parquet"), _good_dataset),
    "word list": Reader(
        ".txt", (b"red\nblue\n", "schön\r\ngrün\r\n".encode()), lambda path: read_word_list(path.name, path.parent, "words")[0], _all_words
    ),
    "English words": Reader(".txt", (b"red\nblue\n",), read_words, _all_words),
    "frequencies": Reader(".txt", (b"red 3\nblue 12\n",), read_frequencies, bool),
    "neighbours": Reader(
        ".json", NEIGHBOURS, read_neighbours, lambda table: _json(table).decode().isascii() and all(map(str.encode, table)) is not None
    ),
    "antonyms": Reader(".txt", (b"good bad\nhot cold\n",), read_antonyms),
    "vectors": Reader(".txt", (b"2 3\ndog 1 2 3\ncat -1 0.5 1e-3\n", b"dog 1 2\ncat 0 0\n"), read_vectors, _good_vectors),
    "synonyms": Reader(".txt", (b"film, movie, picture\nbig, large\n",), lambda path: read_synonyms(path.name, path.parent)[0], bool),
    "table of synonyms": Reader(".json", NEIGHBOURS, lambda path: read_synonyms(path.name, path.parent)[0], bool),
    "base of corruptions": Reader(".json", (_base(),), load_base, lambda base: bool(base.words)),
    "table of perturbations": Reader(".json", (_json({"silly": ["sillyyy", "s1lly"], "dog": ["d0g"]}),), read_table, bool),
    "corpus": Reader(".txt", (b"that is a sillyyy dog\nwhat a d0g\n",), lambda path: read_corpus([path]), bool),
    "pairs": Reader(
        ".csv", (b"clean_version,perturbed_version,toxicity\na silly plan,a s1lly plan,0.5\n",), read_pairs, lambda frame: len(frame) > 0
    ),
    "judge answers": Reader(".json", (_json(_answers()),), lambda path: read_answers([path], list(_batch())), lambda frame: len(frame) <= 2),
    "attack records": Reader(".jsonl", (lines_of(ATTACK), lines_of([{**ATTACK[0], "texts": 0}])), read_attack, _good_attack),
    "records": Reader(".parquet", (_records(),), lambda path: (read_records(path), read_meta(path)), lambda found: isinstance(found[1], dict)),
    "command line": Reader(".jsonl", (lines_of([{"id": "1", "text": "A dog."}, {"id": 2, "text": ""}]), b"A dog.\n\n"), _command_line),
    "catalogue": Reader(".yaml", (_json({"mine": yaml.safe_load(CATALOGUE.read_bytes())["wordnet"]}),), _catalogue),
    "kept lines": Reader(".jsonl", (_kept_lines(),), _kept, lambda done: done.items() <= DONE.items()),
    "state of a training": Reader(".json", (_trained()[0],), _training, lambda state: state == "not used" or state[1] == {"rates": [0.1]}),
    "lock": Reader(".json", (_json(LOCK),), read_lock, lambda lock: isinstance(lock, dict)),
    "annotations of images": Reader(
        ".json", (_json({"images": [{"id": 391895, "file_name": "000000391895.jpg"}]}),), lambda path: first_images(path, 1)
    ),
    "answers of an address": Reader(
        ".jsonl", (MEMORY,), _memory, lambda found: all(isinstance(score, float) and 0 <= score <= 1 for score in found.values())
    ),
}
