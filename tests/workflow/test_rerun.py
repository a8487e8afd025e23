"""What an edited file re-runs: a library module exactly the rules that use it, a README nothing."""

import json
import os
import shutil

import pytest
from runs import snakemake

from muattack import __version__

# Times of change: of the project, of what was made of it, of an edit. Whole seconds, so that no file system rounds them.
PROJECT, MADE, EDITED = 1.0e9, 1.1e9, 1.2e9


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy of the project beside a folder in which every result of the small run is there, empty and newer than all that it is made of."""
    from conftest import ROOT

    copy, folder = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("run")
    for name in ("Snakefile", "README.md", "Makefile", "pyproject.toml"):
        shutil.copy2(ROOT / name, copy / name)
    for name in ("config", "profiles", "workflow", "docs", "envs", "tests/workflow"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*"):
        os.utime(path, (PROJECT, PROJECT))
    made = summary(copy, folder)
    assert len(made) > 100
    for name in made:
        path = folder / name
        if path.suffix:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The run's own description is read at every start; the others are only looked at.
            path.write_text(json.dumps({"versions": {"muattack": __version__}}) if name.endswith("small/meta.json") else "")
        else:
            path.mkdir(parents=True, exist_ok=True)
    for path in (folder / "results").rglob("*"):
        os.utime(path, (MADE, MADE))
    return copy, folder


def summary(copy, folder):
    """What Snakemake says of each result: {file: (rule, status)}."""
    os.environ["MUATTACK_DATA"] = str(copy / "tests" / "workflow")
    code, output = snakemake(copy, folder, "--cores", "1", "--configfile", str(copy / "tests" / "workflow" / "small.yaml"), "--summary")
    assert code == 0, output
    rows = [line.split("\t") for line in output.splitlines() if "\t" in line]
    assert rows[0] == ["output_file", "date", "rule", "log-file(s)", "status", "plan"]
    return {row[0]: (row[2], row[4], row[5]) for row in rows[1:]}


def rerun_by(copy, folder, *edited):
    """The rules that run again because of these files themselves, and whether anything runs at all."""
    for name in edited:
        os.utime(copy / name, (EDITED, EDITED))
    found = summary(copy, folder)
    for name in edited:
        os.utime(copy / name, (PROJECT, PROJECT))
    return {rule for rule, status, _ in found.values() if status == "updated input files"}, any(plan != "no update" for _, _, plan in found.values())


# By module, the rules that use it, and no others; what hangs on their results follows as for any new result.
USED_BY = {
    "figures/roc.py": {"plot_roc"},
    "mutate/word.py": {"mutate_captions", "mutate_operators"},
    "train/adversarial.py": {"train_detector", "train_classifier"},
    "train/pretrain.py": {"pretrain_encoder", "pretrain_dataset_encoder"},
    "attack/search.py": {"attack_texts"},
}


@pytest.mark.parametrize("module", USED_BY)
def test_an_edited_module_re_runs_exactly_what_uses_it(finished, module):
    assert rerun_by(*finished, f"workflow/muattack/{module}") == (USED_BY[module], True)


def test_what_no_result_is_made_of_re_runs_nothing(finished):
    copy, folder = finished
    texts = ["README.md", "Makefile", "pyproject.toml", "docs/attacks.md", "config/README.md", "tests/workflow/test_rerun.py"]
    assert rerun_by(copy, folder, *[name for name in texts if (copy / name).is_file()], "workflow/muattack/cli.py") == (set(), False)
