"""Files that are broken in every way: each reader returns what a file says, or one paragraph that names it; never a traceback, never half."""

import os

import pytest
from hostile import ATTACK, READERS, attempt, lines_of, spoilt
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from muattack.judge.page import FORMAT


def search(name: str, folder, examples: int) -> None:
    """Let one reader meet so many broken files."""
    reader, path = READERS[name], folder / f"hostile{READERS[name].ending}"

    # The same files each time, unless very many are asked for: what fails by chance is nobody's fault.
    @settings(
        max_examples=examples,
        derandomize=examples < 10_000,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(st.data())
    def every(data):
        attempt(reader, path, data.draw(spoilt(reader.samples)))

    every()


@pytest.mark.parametrize("name", READERS)
def test_a_right_file_is_read(name, tmp_path):
    for sample in READERS[name].samples:
        assert attempt(READERS[name], tmp_path / f"right{READERS[name].ending}", sample) is not None


# What made a reader fail once, not with a message but with a traceback, or with a message of no use.
ENDLESS = b"[" * 100_000
FOUND = {
    "a date that no calendar has": ("configuration", b"run: 2001-99-99"),
    "a time that is none": ("configuration", b"run: !!timestamp 1"),
    "neither true nor false": ("configuration", b"run: !!bool x"),
    "a whole number that is empty": ("configuration", b"run: !!int ''"),
    "a time that is none in a catalogue": ("catalogue", b"mine: !!timestamp 1"),
    "an alias inside its own anchor": ("configuration", b"captions: &a {files: *a}"),
    "aliases that multiply": ("configuration", b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (n + 1, n + 1, n, n) for n in range(97, 121))),
    "no entries but a number": ("catalogue", b"0"),
    "nested without end in a catalogue": ("catalogue", ENDLESS),
    "nested without end in a lock": ("lock", b'{"a":' * 100_000),
    "half of a surrogate pair": ("neighbours", b'{"dog": ["\\ud800"]}'),
    "nested without end in a table": ("neighbours", ENDLESS),
    "a number of thousands of digits": ("neighbours", b'{"dog": ' + b"1" * 5000 + b"}"),
    "how often, in thousands of digits": ("frequencies", b"red " + b"1" * 5000),
    "nested without end in records": ("attack records", ENDLESS),
    "a header without the number of texts": ("attack records", b'{"header": true}\n'),
    "a label that is a text": ("attack records", lines_of([{**ATTACK[0], "texts": 1}, {**ATTACK[1], "label": "1"}])),
    "a score that is not finite": ("attack records", lines_of([{**ATTACK[0], "texts": 1}, {**ATTACK[1], "score_after": float("nan")}])),
    "more queries than a table can hold": ("attack records", lines_of([{**ATTACK[0], "texts": 1}, {**ATTACK[1], "queries": 2**63}])),
    "edits that do not fit": (
        "attack records",
        lines_of([{**ATTACK[0], "texts": 1}, {**ATTACK[1], "edits": [{"start": 9, "end": 8, "replacement": ""}]}]),
    ),
    "an edit without its replacement": ("attack records", lines_of([{**ATTACK[0], "texts": 1}, {**ATTACK[1], "edits": [{"start": 0, "end": 1}]}])),
    "the foot of a Parquet file": ("records", READERS["records"].samples[0].replace(b"\x15", b"\x00")),
    "the foot of a Parquet file of texts": ("texts, parquet", READERS["texts, parquet"].samples[0].replace(b"\x15", b"\x00")),
    "a key that a terminal obeys": ("judge answers", b'{"format": "%s", "\\u001b[2J": 1}' % FORMAT.encode()),
    "a column of thousands of letters": ("texts, csv", b"a" * 20_000 + b"\n"),
}


@pytest.mark.parametrize("fault", FOUND)
def test_faults_that_were_found(fault, tmp_path):
    name, content = FOUND[fault]
    assert attempt(READERS[name], tmp_path / f"found{READERS[name].ending}", content) is None


def test_what_an_address_said_is_asked_for_again_where_its_memory_is_damaged(tmp_path):
    reader = READERS["answers of an address"]
    for damage in (b"{", b"[]", b"{}", ENDLESS, b'{"sha256": 1, "score": 0.5}', b'{"sha256": "a", "score": NaN}', b'{"sha256": "a", "score": "0"}'):
        lines = reader.samples[0].split(b"\n")
        assert attempt(reader, tmp_path / "memory.jsonl", b"\n".join([lines[0], damage, *lines[1:]])) == {"a": 0.25, "b": 0.25}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_broken_files(name, tmp_path):
    search(name, tmp_path, 200)


@pytest.mark.nightly
@pytest.mark.parametrize("name", READERS)
def test_very_many_broken_files(name, tmp_path):
    search(name, tmp_path, int(os.environ.get("EXAMPLES") or 10_000))
