"""The GPU check, on a processor and at a small shape: every measurement runs, and one that fails does not hide the others."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import gpu_check


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Run the check; return its exit status and what it wrote."""
    # What the check sets is gone after the test.
    monkeypatch.setenv("MUATTACK_DEVICE", "cpu")

    def run(*more):
        status = gpu_check.main(["--cpu", "--small", "--each", "0.02", "--reserve", "0", "--out", str(tmp_path / "found.json"), *more])
        return status, json.loads((tmp_path / "found.json").read_text())

    return run


@pytest.mark.slow
def test_every_measurement_runs(check, capsys):
    status, found = check()
    assert status == 0, found["failed"]
    names = {row["measurement"] for row in found["rows"]}
    assert {"scoring, token budget", "scoring, padded to 50", "training, full", "training, frozen encoder", "training, padded to 50"} <= names
    assert {"training, FreeLB++ K = 5", "Trainer of transformers"} <= names
    assert all(row["texts_per_second"] > 0 for row in found["rows"])
    assert found["agreement"]["passed"]
    assert set(found["loss by heart"]) == {"frozen encoder", "full"}
    for one in found["loss by heart"].values():
        assert one["last three"] < one["first"]
        assert 0 < one["peak_memory_gb"] < 20
    assert "| scoring, token budget | float32 |" in capsys.readouterr().out


@pytest.mark.slow
def test_what_fails_is_told_and_the_others_go_on(check, monkeypatch):
    monkeypatch.setattr(gpu_check.Check, "scoring", lambda self: 1 / 0)
    status, found = check()
    assert status == 1
    assert list(found["failed"]) == ["scoring"]
    assert "training, full" in {row["measurement"] for row in found["rows"]}


@pytest.mark.slow
def test_one_measurement_alone(check):
    status, found = check("--only", "falls")
    assert (status, found["rows"], found["failed"]) == (0, [], {})
    assert "agreement" not in found
    assert found["loss by heart"]["full"]["last three"] < found["loss by heart"]["full"]["first"]


def test_texts_are_as_long_as_captions():
    lengths = [len(text) for text in gpu_check.make_texts(2000, 500)]
    assert 8 <= min(lengths) <= max(lengths) <= 50
    assert 13 < np.mean(lengths) < 15


def test_without_a_gpu_it_says_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr(gpu_check.torch.cuda, "is_available", lambda: False)
    monkeypatch.setitem(os.environ, "MUATTACK_DEVICE", "cpu")
    assert gpu_check.main([]) == 2
    assert "No NVIDIA GPU" in capsys.readouterr().err
