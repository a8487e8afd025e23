"""What a run meets in the wild: a full disk, a file where results should land, results of another version, ids and texts that mean harm."""

import json
import os
import resource

import pytest
from chaos import make_captions
from runs import snakemake

from muattack.records import read_records, write_json

pytestmark = pytest.mark.slow
SMALL = ("--cores", "2", "--configfile")


def left(folder):
    """Everything that is not Snakemake's own, and its locks."""
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and ".snakemake" not in path.parts}
    return files, list((folder / ".snakemake").glob("locks/*.lock"))


def test_a_full_disk_ends_a_run_that_the_same_command_goes_on_with(root, tmp_path, monkeypatch):
    monkeypatch.setenv("MUATTACK_DATA", str(root / "tests" / "workflow"))
    small = root / "tests" / "workflow" / "small.yaml"
    target = "results/small/simulated/scenes.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, before[1]))
    try:
        code, said = snakemake(root, tmp_path, target, *SMALL, small)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code
    assert "cannot be written: File too large. Make room" in said
    assert "the same command" in said
    files, locks = left(tmp_path)
    assert {file for file in files if "/simulated/" in file} == set()
    assert locks == []
    code, said = snakemake(root, tmp_path, target, *SMALL, small)
    assert code == 0, said
    assert (tmp_path / target).is_file()


def test_where_results_cannot_land_nothing_is_begun(root, tmp_path):
    small = root / "tests" / "workflow" / "small.yaml"
    (tmp_path / "results").write_text("mine")
    code, said = snakemake(root, tmp_path, *SMALL, small)
    assert code
    assert "results is no folder" in said
    assert "Traceback" not in said
    assert left(tmp_path) == ({"results"}, [])
    (tmp_path / "results").unlink()
    write_json(tmp_path / "results" / "small" / "meta.json", {"versions": {"muattack": "0.0.1"}})
    code, said = snakemake(root, tmp_path, *SMALL, small)
    assert code
    assert "was made by muattack 0.0.1" in said
    assert left(tmp_path) == ({"results/small/meta.json"}, [])


def test_no_id_and_no_text_leaves_the_folder_of_results(root, tmp_path, monkeypatch):
    make_captions(tmp_path / "data")
    for source in ("human", "machine", "machine_ood"):
        path = tmp_path / "data" / f"{source}.json"
        captions = {f"../../../{image}/x": texts for image, texts in list(json.loads(path.read_text()).items())[:38]}
        captions["../../../0/x"] = ['<script>alert(1)</script> the ../../x $(touch owned) `touch owned` {run} {{run}} "the" \x1b[2J dog']
        captions["/etc/passwd"] = ["the %s dog \\u0000 \x00 the"]
        path.write_text(json.dumps(captions))
    monkeypatch.setenv("MUATTACK_DATA", str(tmp_path / "data"))
    folder = tmp_path / "a" / "b" / "run"
    folder.mkdir(parents=True)
    targets = ["results/chaos/captions.parquet", "results/chaos/mutants/word_articles.parquet", "results/chaos/mutants/operators.parquet"]
    code, said = snakemake(root, folder, *targets, *SMALL, root / "tests" / "workflow" / "chaos.yaml")
    assert code == 0, said
    files = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"a", "data"}
    assert all(file.startswith("results/chaos/") for file in left(folder)[0])
    assert sorted(os.listdir(tmp_path / "a" / "b")) == ["run"]
    # Everything came through as it went in.
    captions = read_records(folder / targets[0])
    assert {"../../../0/x", "/etc/passwd"} <= set(captions.image_id)
    assert (captions.text.str.contains("<script>alert(1)</script>", regex=False)).any()
