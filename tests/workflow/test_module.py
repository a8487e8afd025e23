"""Another workflow uses this one as a module: what docs/module.md says, done."""

import re
import subprocess
import sys

import pytest
import yaml

from muattack.records import read_meta, read_records


def blocks(page):
    """The code blocks of a page by language."""
    return dict(re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


@pytest.mark.slow
def test_another_workflow_takes_its_captions_from_here(root, tmp_path):
    told = blocks(root / "docs" / "module.md")
    (tmp_path / "muattack").symlink_to(root)
    (tmp_path / "workflow").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "workflow" / "Snakefile").write_text(told["python"])
    config = yaml.safe_load(told["yaml"])
    # The captioners of the test are made in seconds.
    small = {"captioner_scenes": 100, "captions_per_scene": 2} | {name: {"width": 16, "epochs": 1} for name in ("machine", "machine_ood")}
    config["muattack"]["captions"]["simulate"] = small
    (tmp_path / "config" / "config.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "counts.txt").read_text().strip().endswith("results/mine/captions.parquet")
    captions = tmp_path / "results" / "mine" / "captions.parquet"
    assert read_records(captions).image_id.nunique() == 40
    assert read_meta(captions)["images"] == 40
    listed = subprocess.run([*command, "--dry-run", "muattack_all"], cwd=tmp_path, capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    assert "muattack_write_report" in listed.stdout
