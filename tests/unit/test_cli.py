"""The command line: right lines out, streaming, errors for people."""

import io
import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from muattack import __version__, cli
from muattack.sources import PACKAGE

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
COMMAND = [sys.executable, "-m", "muattack.cli"]


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """Run a command in this process: (status, lines out as bytes, what was said on standard error)."""

    def call(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as ended:
            status = ended.code
        out, error = capfdbinary.readouterr()
        return status, out, error.decode()

    return call


def parsed(out: bytes) -> list[dict]:
    return [json.loads(line) for line in out.decode("utf-8", "surrogatepass").split("\n")[:-1]]


def test_sets_lists_sizes_totals_and_tasks(run):
    status, out, _ = run("sets")
    lines = out.decode().splitlines()
    assert status == 0
    assert lines[1].split() == ["word_articles", "word", "3", "articles", "removal", "3", "3"]
    assert lines[4].split() == ["char_a_articles", "character", "3", "articles", "a→α", "3", "2"]
    assert lines[10].split()[:2] == ["total", "2355"]
    assert int(lines[10].split()[2]) == sum(int(line.split()[-1]) for line in lines[1:10])
    assert "task mcr: char_a_articles, char_e_articles" in lines


def test_lines_have_their_numbers_as_ids_and_every_line_comes_back(run):
    status, out, error = run("mutate", "mwr", stdin="The cat\r\n\n x\u2028the\u00a0end \nno newline at the end".encode())
    assert (status, error) == (0, "")
    assert parsed(out) == [
        {"id": "1", "text": "The cat", "mutated": "cat", "changed": True, "edits": [{"start": 0, "end": 4, "replacement": ""}]},
        {"id": "2", "text": "", "mutated": "", "changed": False, "edits": []},
        {
            "id": "3",
            "text": " x\u2028the\u00a0end ",
            "mutated": " x\u2028end ",
            "changed": True,
            "edits": [{"start": 3, "end": 7, "replacement": ""}],
        },
        {
            "id": "4",
            "text": "no newline at the end",
            "mutated": "no newline at end",
            "changed": True,
            "edits": [{"start": 13, "end": 17, "replacement": ""}],
        },
    ]


def test_records_keep_their_ids_and_strange_characters(run):
    lines = ['{"id": "x", "text": "the \\ud800 \\u0000é\\n", "other": 1}', '{"text": "A", "id": 7}']
    status, out, _ = run("mutate", "mcr", stdin="\n".join(lines).encode())
    assert status == 0
    assert [(row["id"], row["mutated"]) for row in parsed(out)] == [("x", "thϵ \ud800 \0é\n"), (7, "Α")]
    assert "\\ud800" in out.decode()
    assert "Α" in out.decode()


def test_the_format_is_told_by_the_file_name_or_by_the_first_line(run, tmp_path):
    record = b'{"id": "x", "text": "the"}\n'
    for name in ("a.txt", "a.jsonl", "a.NDJSON"):
        (tmp_path / name).write_bytes(record)
    ids = {name: parsed(run("mutate", "mwr", tmp_path / name)[1])[0]["id"] for name in ("a.txt", "a.jsonl", "a.NDJSON")}
    assert ids == {"a.txt": "1", "a.jsonl": "x", "a.NDJSON": "x"}
    assert parsed(run("mutate", "mwr", "-", stdin=record)[1])[0]["id"] == "x"
    assert parsed(run("mutate", "mwr", "--format", "lines", stdin=record)[1])[0]["id"] == "1"
    assert parsed(run("mutate", "mwr", tmp_path / "a.txt", "--format", "jsonl")[1])[0]["id"] == "x"
    assert [row["text"] for row in parsed(run("mutate", "mwr", stdin=b'[1]\n{"id": 1}')[1])] == ["[1]", '{"id": 1}']
    code, output, errors = run("mutate", "mwr", stdin=b'{"id": 1}\n[1]')
    assert (code, output) == (1, b"")
    assert 'row 1: the object has no "text"' in errors
    assert "--format lines" in errors
    assert run("mutate", "mwr", stdin=b"")[:2] == (0, b"")


def test_individually_gives_one_line_an_operator(run):
    status, out, _ = run("mutate", "mcj", "--individually", stdin=b"A large red car\nnothing\n")
    assert status == 0
    assert [(row["id"], row["operator"], row["mutated"]) for row in parsed(out)] == [
        ("1", "char_a_adjectives:large", "A lαrge red car"),
        ("1", "char_e_adjectives:large", "A largϵ red car"),
        ("1", "char_e_adjectives:red", "A large rϵd car"),
    ]


def test_own_sets_are_laid_over_the_defaults(run, tmp_path, monkeypatch):
    monkeypatch.delenv("MUATTACK_DATA", raising=False)
    (tmp_path / "colours.txt").write_text("red\nblue\n")
    config = tmp_path / "mine.yaml"
    config.write_text(
        f"data: {tmp_path}\nmutate: {{sets: {{colours: {{kind: word, words: colours.txt, replacement: green}}}}, tasks: {{both: [colours]}}}}\n"
    )
    assert parsed(run("mutate", "colours", "--config", config, stdin=b"Red or BLUE-ish")[1])[0]["mutated"] == "Green or GREEN-ish"
    assert parsed(run("mutate", "both", "--config", config, stdin=b"red")[1])[0]["mutated"] == "green"
    assert parsed(run("mutate", "mwr", "--config", config, stdin=b"the red")[1])[0]["mutated"] == "red"
    out = run("sets", "--config", config)[1].decode()
    assert "2 colours.txt" in out
    assert "→green" in out
    assert "2357" in out


@pytest.mark.parametrize(
    ("arguments", "stdin", "messages"),
    [
        (("mutate", "mwrr"), b"", ["Did you mean mwr"]),
        (("mutate", "mwr", "missing.txt"), b"", ["missing.txt", "No such file"]),
        (("mutate", "mwr", "."), b"", ["directory"]),
        (("mutate", "mwr"), b"fine\nb\xff", ["standard input, row 2", "UTF-8"]),
        (("mutate", "mwr"), b"\xef\xbb\xbfthe", ["row 1", "byte order mark"]),
        (("mutate", "mwr"), b'{"id": 1, "text": "a"}\n{"id": 1', ["row 2", "not JSON"]),
        (("mutate", "mwr"), b'{"id": 1, "text": "a"}\n\n', ["row 2", "not JSON"]),
        (("mutate", "mwr"), b'{"id": 1, "text": "a"}\n["a"]', ["row 2", "not an object"]),
        (("mutate", "mwr"), b'{"text": "a"}', ["row 1", 'no "id"']),
        (("mutate", "mwr"), b'{"id": 1, "text": "a"}\n{"id": 2}', ["row 2", 'no "text"']),
        (("mutate", "mwr"), b'{"id": 1, "text": null}', ["row 1", '"text" is None']),
        (("mutate", "mwr"), b'{"id": true, "text": ""}', ["row 1", '"id" is True']),
        (("mutate", "mwr", "--format", "jsonl"), b"[" * 100_000, ["row 1", "not JSON"]),
        (("sets", "--config", "missing.yaml"), b"", ["missing.yaml does not exist"]),
        (("score", "no/such/folder"), b"a", ["no/such/folder"]),
    ],
)
def test_bad_input_gives_one_paragraph_and_status_1(run, arguments, stdin, messages):
    status, _, error = run(*arguments, stdin=stdin)
    assert status == 1
    assert error.startswith(f"muattack {arguments[0]}: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    for message in messages:
        assert message in error


def test_a_bad_configuration_is_told(run, tmp_path):
    for text, message in (
        ("mutate: {sets: {x: {kind: word, word: articles}}}", "word"),
        ("mutate: {tasks: {t: [nosuch]}}", "nosuch"),
        ("mutat: {}", "mutat"),
    ):
        (tmp_path / "c.yaml").write_text(text)
        status, out, error = run("sets", "--config", tmp_path / "c.yaml")
        assert (status, out) == (1, b"")
        assert message in error


@pytest.mark.parametrize(
    "arguments", [(), ("mutate",), ("nosuch",), ("mutate", "mwr", "--format", "csv"), ("score", "x", "--batch", "0"), ("sets", "--nosuch")]
)
def test_bad_usage_is_status_2(run, arguments):
    status, out, error = run(*arguments)
    assert (status, out) == (2, b"")
    assert "usage: muattack" in error


def test_version_and_help(run):
    assert run("--version")[:2] == (0, f"muattack {__version__}\n".encode())
    for command in ((), ("sets",), ("mutate",), ("score",)):
        assert run(*command, "--help")[0] == 0


def test_outside_the_repository_the_sets_must_be_given(run, tmp_path, monkeypatch):
    monkeypatch.setattr("muattack.config.DEFAULTS", tmp_path / "config.yaml")
    status, _, error = run("sets")
    assert status == 1
    assert "--config" in error
    (tmp_path / "own.yaml").write_text("mutate: {sets: {own: {kind: word, words: articles}}}")
    assert run("mutate", "own", "--config", tmp_path / "own.yaml", stdin=b"the end")[0] == 0


def test_score_writes_the_last_column_in_batches(run, monkeypatch, tmp_path):
    sizes = []

    class Fake:
        def predict(self, texts):
            sizes.append(len(texts))
            machine = np.array([len(text) / 10 for text in texts])
            return np.stack([1 - machine, machine], axis=1)

    module = types.ModuleType("muattack.detect.detector")
    module.load_detector = lambda folder: Fake()
    monkeypatch.setitem(sys.modules, "muattack.detect.detector", module)
    status, out, error = run("score", tmp_path, "--batch", "2", stdin=b"a\nabc\n\n")
    assert (status, error) == (0, "")
    assert out == b'{"id": "1", "score": 0.1}\n{"id": "2", "score": 0.3}\n{"id": "3", "score": 0.0}\n'
    assert sizes == [2, 1]


def test_a_line_is_answered_before_the_next_one_comes():
    process = subprocess.Popen([*COMMAND, "mutate", "mwr"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
    with process:
        for number in ("1", "2"):
            process.stdin.write(b"the end\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    (tmp_path / "lines.txt").write_text("the end\n" * 50_000)
    process = subprocess.Popen([*COMMAND, "mutate", "mwr", tmp_path / "lines.txt"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    with process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_mutate_starts_without_what_is_slow_to_import():
    code = (
        "import sys; from muattack import cli; cli.main(['mutate', 'mcr']); "
        "print([name for name in ('torch', 'transformers', 'pandas', 'pyarrow', 'numpy', 'datasets') if name in sys.modules])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], input=b"the a\n", env={**ENVIRONMENT, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "01"
    }
    assert len(outputs) == 1
    assert outputs.pop().endswith(b"[]\n")
