"""The workflow as a whole: dry runs of every configuration, and one small real run."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

HERE = Path(__file__).parent
TASKS = ["H_vs_M", "mwr", "mwj", "mwd", "mcr", "mcj", "mcd"]


def snakemake(root, folder, *arguments, hash_seed="0"):
    """Run the workflow in a folder of its own, so that no run of the user's is touched or locked."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--directory", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONHASHSEED": hash_seed})
    return done.returncode, done.stdout + done.stderr


def jobs(output):
    """The table of jobs that Snakemake prints: rule -> count."""
    rows = [line.split() for line in output.splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def fingerprints(run):
    """The bytes of every result that must not depend on how the run was made."""
    kept = [path for path in sorted(run.rglob("*")) if path.is_file() and not {"logs", "benchmarks"} & set(path.relative_to(run).parts)]
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept if path.name != ".snakemake_timestamp"}


@pytest.mark.parametrize("name", ["config", "captions"])
def test_dry_run(root, data, tmp_path, name, monkeypatch):
    if name == "captions" and not data.is_dir():
        pytest.skip(f"the real data is not at {data}; set MUATTACK_DATA to its folder")
    monkeypatch.setenv("MUATTACK_DATA", str(data))
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--configfile", str(root / "config" / f"{name}.yaml"))
    assert code == 0, output
    listed = jobs(output)
    assert listed["train_detector"] == 12
    assert listed["copy_detector"] == 1
    assert listed["score_texts"] == 13
    assert listed["plot_roc"] == 6


def test_frozen_encoder_dry_run(root, tmp_path):
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", "--config", "encoder=minilm")
    assert code == 0, output
    assert jobs(output)["encode_training_texts"] == 2
    assert jobs(output)["encode_test_texts"] == 2
    assert "pretrain_encoder" not in output


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--config", "encodr=tiny"], ["Unknown key `encodr`", "Did you mean `encoder`?"]),
        (["--config", "mutate={sets: {mine: {kind: word, words: none.txt}}}"], ["none.txt", "does not exist"]),
        (["--config", "captions={source: files, files: {human: a.json, machine: b.json}}", "detectors={base: null}"], ["a.json", "does not exist"]),
    ],
)
def test_bad_configuration_is_one_paragraph(root, tmp_path, arguments, parts):
    code, output = snakemake(root, tmp_path, "--dry-run", "--cores", "2", *arguments)
    assert code != 0
    assert all(part in output for part in parts), output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_small_run_makes_everything_and_the_same_bytes_again(root, tmp_path):
    runs = {}
    for cores, seed in (("2", "1"), ("1", "2")):
        folder = tmp_path / cores
        folder.mkdir()
        code, output = snakemake(root, folder, "--cores", cores, "--configfile", str(HERE / "small.yaml"), hash_seed=seed)
        assert code == 0, output[-5000:]
        runs[cores] = folder / "results" / "small"
    run = runs["2"]

    metrics = pd.read_csv(run / "metrics.csv")
    detectors = sorted(metrics.detector.unique())
    assert len(detectors) == 13
    assert set(metrics.domain) == {"in", "ood"}
    # Texts of one image only have no interval.
    measured = metrics.dropna(subset=["auc", "auc_low"])
    assert len(measured) > 100
    assert ((measured.auc_low <= measured.auc) & (measured.auc <= measured.auc_high)).all()
    for task in TASKS:
        assert set(metrics.detector[metrics.task == task]) == set(detectors)
    captions = pd.read_parquet(run / "captions.parquet")
    assert len(captions) == 40 * 3 * 3
    assert captions.groupby("image_id").split.nunique().eq(1).all()
    for task in TASKS[1:]:
        mutants = pd.read_parquet(run / "mutants" / f"{task}.parquet")
        assert (mutants.changed == (mutants.text != mutants.mutated)).all()
        assert len(mutants) == ((captions.label == 1) & (captions.split == "test")).sum()
    for meta in run.rglob("meta.json"):
        json.loads(meta.read_text(encoding="utf-8"))
    assert not [path for path in run.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    for figure in ("fig3a", "fig3b", "fig4", "fig5", "fig6a", "fig6b", "fig6c", "fig7"):
        assert (run / "figures" / f"{figure}.png").stat().st_size > 10_000
        assert "<dc:date>" not in (run / "figures" / f"{figure}.svg").read_text(encoding="utf-8")

    one, other = fingerprints(runs["2"]), fingerprints(runs["1"])
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []

    code, output = snakemake(root, tmp_path / "2", "--cores", "2", "--configfile", str(HERE / "small.yaml"))
    assert "Nothing to be done" in output

    # An operator set of the user's own: its mutants, every score and what hangs on them, but no training and no other mutants.
    mine = ["--config", "mutate={sets: {colours: {kind: word, words: [red, blue]}}, tasks: {colour: [colours]}}"]
    code, output = snakemake(root, tmp_path / "2", "--dry-run", "--cores", "2", "--configfile", str(HERE / "small.yaml"), *mine)
    listed = jobs(output)
    assert listed["mutate_captions"] == 2
    assert listed["score_texts"] == 13
    assert not {"train_detector", "pretrain_encoder", "collect_captions", "train_captioner"} & listed.keys()

    report = tmp_path / "2" / "report.html"
    code, output = snakemake(root, tmp_path / "2", "--cores", "1", "--configfile", str(HERE / "small.yaml"), "--report", str(report))
    assert code == 0, output
    page = report.read_text(encoding="utf-8")
    assert all(f"{figure}.png" in page for figure in ("fig3a", "fig3b", "fig4", "fig5", "fig6a", "fig6b", "fig6c", "fig7", "differences"))
    assert "table1.csv" in page
