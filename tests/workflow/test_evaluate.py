"""`muattack evaluate` from end to end, on the example of docs/detectors.md."""

import json
import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest

HUMAN = ["Two {0}s near the {1}.", "Looks like a {0} in my {1}!", "{0} and {1}, both quite old.", "That {0} slept all day."]
MACHINE = ["A {0} is standing next to a {1}.", "The {0} is on the {1} of a small room.", "A young {0} sits near the {1}."]
THINGS = ["dog", "cat", "bus", "kite", "table", "bench", "girl", "boy", "train", "horse"]


def code_blocks(root, language):
    page = (root / "docs" / "detectors.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


@pytest.fixture
def example(root, tmp_path):
    """The files of the page's first example, in a folder."""
    (tmp_path / "my_detector.py").write_text(code_blocks(root, "python")[0], encoding="utf-8")
    for name, templates in (("human", HUMAN), ("machine", MACHINE)):
        texts = [templates[k % len(templates)].format(THINGS[k % 10], THINGS[(3 * k + 1) % 10]) for k in range(30)]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return tmp_path


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "muattack.cli", *arguments], cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_the_page_s_example_runs_as_it_is_written(root, example):
    (command,) = [line.split()[1:] for line in code_blocks(root, "bash")[0].splitlines() if line.startswith("muattack evaluate")]
    code, told, errors = run(example, *command)
    assert code == 0, errors
    folder = example / "results" / "evaluate"
    metrics = pd.read_csv(folder / "metrics.csv").set_index("task")
    assert set(metrics.detector) == {"my_detector"}
    assert metrics.n_human["H_vs_M"] == metrics.n_machine["H_vs_M"] == 30
    # Without articles nothing is left to count.
    assert metrics.auc["mwr"] < 0.3 < 0.8 < metrics.auc["H_vs_M"]
    assert f"{metrics.auc['mwr']:.3f}" in told
    assert "H vs. M_mwr is hardest for my_detector" in told
    assert "Of single operators" in told
    assert str(folder.relative_to(example) / "report.html") in told
    assert (folder / "report.html").stat().st_size > 100_000
    assert (folder / "figures" / "roc_my_detector.svg").is_file()
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    assert {os.path.basename(name) for name in meta["inputs"]} == {"human.txt", "machine.txt", "my_detector.py"}

    # A detector that changed is scored anew, and nothing is mutated again.
    before = {path: path.stat().st_mtime_ns for path in (folder / "mutants").glob("*.parquet")}
    module = example / "my_detector.py"
    module.write_text(module.read_text(encoding="utf-8").replace("min(1.0, 3 *", "min(1.0, 0.5 *"), encoding="utf-8")
    code, told, errors = run(example, *command)
    assert code == 0, errors
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "No single operator can be ranked" in told

    # One that fails is told in a paragraph.
    module.write_text("def score(texts):\n    return [float('nan')] * len(texts)\n", encoding="utf-8")
    code, told, errors = run(example, *command)
    assert code == 1
    assert "The run failed. score_texts: The detector my_detector:score returned a score that is not finite" in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_language_model_is_calibrated_and_measured_with_and_without_a_defence(example):
    from test_zero_shot import gpt2

    shutil.copytree(gpt2(1), example / "gpt2")
    texts = ["--human", "human.txt", "--machine", "machine.txt", "--out", "zero"]
    code, told, errors = run(
        example, "evaluate", "--detector", "gpt2", "--measure", "fast-detectgpt", "--defend", "zero-width", "confusables", *texts
    )
    assert code == 0, errors
    folder = example / "results" / "zero"
    metrics = pd.read_csv(folder / "metrics.csv").set_index(["detector", "task"])
    assert set(metrics.index.unique("detector")) == {"gpt2-fast-detectgpt", "gpt2-fast-detectgpt-defended"}
    curve = json.loads((folder / "detectors" / "gpt2-fast-detectgpt" / "muattack.json").read_text(encoding="utf-8"))["opened"]["calibration"]
    # Of 30 texts of each class three in ten are calibrated on, and the others tested.
    assert curve["n_human"] + curve["n_machine"] == 18
    assert curve["n_human"] + metrics.n_human["gpt2-fast-detectgpt", "H_vs_M"] == 30
    table = pd.read_csv(folder / "tables" / "defended.csv")
    # Nobody mutated these: nothing is there to undo.
    assert table.difference[table.task == "H_vs_M"].tolist() == [0, 0, 0]
    assert "Defences at inference, off and on" in (folder / "report.html").read_text(encoding="utf-8")
    assert str(folder.relative_to(example) / "report.html") in told


def test_every_configuration_of_the_page_passes(root):
    import yaml

    from muattack.config import check_config, overlay, read_config

    blocks = code_blocks(root, "yaml")
    assert len(blocks) >= 2
    below = {"captions": {"source": "texts", "texts": {"human": "h.txt", "machine": "m.txt"}}, "detectors": {"base": None}}
    for block in blocks:
        check_config(overlay(overlay(read_config(), below), yaml.safe_load(block)))
