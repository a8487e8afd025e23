"""Each rule's script on a fixture of a few rows: what it writes, and what it says when the input is wrong."""

import json
import subprocess
import sys

import pandas as pd
import pytest
import yaml

from muattack.config import read_config
from muattack.records import read_meta, read_records, write_records

# Runs a script as Snakemake does, in a process of its own, with an object `snakemake` made from JSON.
DRIVER = """
import json, runpy, sys, types
class Named(list):
    def __init__(self, value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        super().__init__()
        for key, item in items:
            self.extend(item if isinstance(item, list) else [item])
            if isinstance(key, str):
                setattr(self, key, Named(item) if isinstance(item, list) else item)
    def __getitem__(self, key):
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)
spec = json.loads(sys.argv[1])
snakemake = types.SimpleNamespace(rule=spec["rule"], log=[spec["log"]], **{k: Named(spec[k]) for k in ("input", "output")},
    params=types.SimpleNamespace(**spec["params"]), wildcards=types.SimpleNamespace(**spec["wildcards"]))
runpy.run_path(spec["script"], init_globals={"snakemake": snakemake}, run_name="__main__")
"""


@pytest.fixture
def run(root, tmp_path):
    def run_script(name, *, input=(), output=(), params=None, wildcards=None):
        spec = {
            "rule": name, "script": str(root / "workflow" / "scripts" / f"{name}.py"), "log": str(tmp_path / f"{name}.log"),
            "input": input, "output": output, "params": params or {}, "wildcards": wildcards or {},
        }  # fmt: skip
        return subprocess.run([sys.executable, "-c", DRIVER, json.dumps(spec)], capture_output=True, text=True, cwd=tmp_path)

    return run_script


@pytest.fixture
def captions(tmp_path):
    """Three test captions, one of each source, and their file."""
    rows = [
        ("human-1-0", "1", "human", "a red cat", 0, "test"),
        ("machine-1-0", "1", "machine", "The cat sits slowly", 1, "test"),
        ("machine_ood-1-0", "1", "machine_ood", "cat, e.g. there", 1, "test"),
    ]
    path = tmp_path / "captions.parquet"
    write_records(path, pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"]).astype({"label": "int8"}), {})
    return str(path)


def test_every_rule_has_its_script_and_every_script_its_rule(root):
    rules = {
        line.split()[1].rstrip(":")
        for file in (root / "workflow" / "rules").glob("*.smk")
        for line in file.read_text().splitlines()
        if line.startswith("rule ")
    }
    scripts = {path.stem: path.read_text().splitlines() for path in (root / "workflow" / "scripts").glob("*.py")}
    assert rules == scripts.keys()
    for name, lines in scripts.items():
        assert len(lines) <= 40, name
        code = [line for line in lines if line and not line.startswith(('"""', "#"))]
        assert code[:2] == ["from muattack.job import start_log", "start_log(snakemake)"], name


def test_every_rule_is_complete(root):
    for file in sorted((root / "workflow" / "rules").glob("*.smk")):
        for rule in file.read_text().split("\nrule ")[1:]:
            for directive in (
                "input:",
                "output:",
                "log:",
                "benchmark:",
                "conda:",
                "threads:",
                "resources:",
                "mem_mb",
                "runtime",
                "message:",
                "script:",
                "library=",
            ):
                assert directive in rule, f"{file.name}: {rule.split(':')[0]} lacks {directive}"


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def test_collect_captions(run, tmp_path):
    files = {name: write(tmp_path / f"{name}.json", {str(i): [f"A {name} caption, {i}."] for i in range(12)}) for name in ("human", "machine")}
    params = {
        "sources": ["human", "machine"],
        "images": None,
        "normalise": "paper",
        "split": json.dumps({"train": 0.7, "val": 0.15, "test": 0.15}),
        "seed": 1,
    }
    done = run("collect_captions", input=files, output=["out.parquet"], params=params)
    assert done.returncode == 0, done.stderr
    table = read_records(tmp_path / "out.parquet")
    assert len(table) == 24
    assert set(table.text[table.source == "human"]) == {f"a human caption {i}" for i in range(12)}
    assert read_meta(tmp_path / "out.parquet")["rows"] == {"human": 12, "machine": 12}

    (tmp_path / "human.json").write_text("{")
    (tmp_path / "out.parquet").unlink()
    done = run("collect_captions", input=files, output=["out.parquet"], params=params)
    assert done.returncode == 1
    assert "human.json is not valid JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in (tmp_path / "collect_captions.log").read_text()
    assert not (tmp_path / "out.parquet").exists()


def test_mutate_captions(run, captions, tmp_path):
    mutate = read_config()["mutate"]
    block = {
        "sets": {"word_articles": mutate["sets"]["word_articles"]},
        "tasks": {"mwr": ["word_articles"]},
        "apply": "jointly",
        "classes": ["machine"],
    }
    done = run(
        "mutate_captions",
        input={"captions": captions},
        output=["mwr.parquet"],
        params={"mutate": json.dumps(block), "seed": 1, "data": "."},
        wildcards={"set": "mwr"},
    )
    assert done.returncode == 0, done.stderr
    table = read_records(tmp_path / "mwr.parquet")
    assert table[["id", "text", "mutated", "changed"]].values.tolist() == [
        ["machine-1-0", "The cat sits slowly", "cat sits slowly", True],
        ["machine_ood-1-0", "cat, e.g. there", "cat, e.g. there", False],
    ]
    assert [dict(edit) for edit in table.edits[0]] == [{"start": 0, "end": 4, "replacement": ""}]


def test_mutate_operators(run, captions, tmp_path):
    done = run(
        "mutate_operators",
        input={"captions": captions},
        output=["operators.parquet"],
        params={"sets": json.dumps(read_config()["mutate"]["sets"]), "data": "."},
    )
    assert done.returncode == 0, done.stderr
    table = read_records(tmp_path / "operators.parquet")
    assert dict(zip(table.operator, table.mutated, strict=True)) == {
        "word_articles:the": "cat sits slowly",
        "char_e_articles:the": "Thϵ cat sits slowly",
        "word_adverbs:slowly": "The cat sits",
    }


def test_copy_detector(run, tmp_path):
    (tmp_path / "rr").mkdir()
    (tmp_path / "rr" / "config.json").write_text("{}")
    done = run("copy_detector", input={"same": "rr"}, output=["rr_m0.3"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rr_m0.3" / "config.json").read_text() == "{}"


def test_schemas_of_the_configurations_are_yaml_without_tabs(root):
    for file in (root / "config").glob("*.yaml"):
        assert "\t" not in file.read_text(encoding="utf-8")
        assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)
