"""Seeds, records, logs, progress, and the imports that decide what re-runs."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from muattack import seeds
from muattack.errors import InputError
from muattack.progress import pace, progress
from muattack.records import complete_or_absent, read_meta, read_records, write_records
from muattack.sources import PACKAGE, library_sources


def test_digest_is_the_same_in_every_process_and_depends_on_parts():
    # BLAKE2b of the parts joined by a unit separator: a change of this would change every result.
    assert seeds.digest(1, "split", "42") == 17041508152127401556
    code = "from muattack.seeds import digest, generator; print(digest(1, 'x'), generator(1, 'x').random())"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(PACKAGE.parent)}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "01"
    }
    assert runs == {f"{seeds.digest(1, 'x')} {seeds.generator(1, 'x').random()}\n"}
    assert seeds.digest("a", "bc") != seeds.digest("ab", "c")


def test_records_carry_their_meta(tmp_path):
    frame = pd.DataFrame({"id": ["1"], "text": ["null\n"]})
    write_records(tmp_path / "x.parquet", frame, {"rows": 1, "α": "ϵ"})
    assert read_records(tmp_path / "x.parquet").equals(frame)
    assert read_meta(tmp_path / "x.parquet") == {"rows": 1, "α": "ϵ"}


def test_a_failed_write_leaves_nothing(tmp_path):
    target = tmp_path / "x.txt"

    def fail_halfway():
        with complete_or_absent(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert list(tmp_path.iterdir()) == []


def test_unreadable_records_are_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_records(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(InputError, match="not a Parquet file"):
        read_records(tmp_path / "bad.parquet")


def test_progress_prints_a_line_a_minute_not_a_bar(capsys):
    assert list(progress(range(9), "short work", closing=False)) == list(range(9))
    assert capsys.readouterr().err == ""
    assert list(progress(range(3), "work", every=0.0)) == [0, 1, 2]
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" after")[0].split(" in ")[0] for line in lines] == ["work: 1 of 3", "work: 2 of 3", "work: 3 of 3", "work: 3"]
    assert all(line.endswith(" left") for line in lines[:3])


def test_progress_tells_rate_and_time_left():
    assert pace(50, 200, 10.0) == ", 5.0 a second, 30 s left"
    assert pace(2, 102, 60.0) == ", 30.0 s each, 50 min left"
    assert pace(1, 1001, 60.0) == ", 60.0 s each, 16.7 h left"
    assert pace(7, None, 2.0) == ", 3.5 a second"


def test_a_rule_says_on_the_terminal_of_the_workflow_how_far_it_is(tmp_path):
    log = tmp_path / "train" / "one.log"
    log.parent.mkdir()
    body = (
        "import types\nfrom muattack.job import start_log\n"
        f"start_log(types.SimpleNamespace(rule='train', log=[{str(log)!r}]))\n"
        "from muattack.progress import progress\nlist(progress(range(2), 'epochs', every=0.0))\n"
    )
    main, terminal = pty.openpty()
    subprocess.run([sys.executable, "-c", body], stderr=terminal, env={"PYTHONPATH": str(PACKAGE.parent)}, check=True)
    os.close(terminal)
    said = os.read(main, 10_000).decode()
    os.close(main)
    assert said.splitlines()[0].startswith("train/one: epochs: 1 of 2 after ")
    assert "epochs: 2 of 2 after " in log.read_text()


def run_job(tmp_path, body):
    script = tmp_path / "job.py"
    script.write_text(
        "import types\n"
        f"snakemake = types.SimpleNamespace(rule='try_it', log=[{str(tmp_path / 'job.log')!r}])\n"
        "from muattack.job import start_log\nstart_log(snakemake)\n" + body
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env={"PYTHONPATH": str(PACKAGE.parent)})
    return done, (tmp_path / "job.log").read_text()


def test_input_errors_reach_people_and_tracebacks_the_log(tmp_path):
    done, log = run_job(tmp_path, "print('hello')\nfrom muattack.errors import InputError\nraise InputError('The file x is empty.')\n")
    assert done.returncode == 1
    assert "The file x is empty." in done.stderr
    assert "Traceback" not in done.stderr
    assert "hello" in log
    assert "Traceback" in log
    assert "InputError: The file x is empty." in log


def test_other_errors_point_to_the_log(tmp_path):
    done, log = run_job(tmp_path, "import os\nos.system('echo child')\n1 / 0\n")
    assert "ZeroDivisionError" in done.stderr
    assert "job.log" in done.stderr
    assert "Traceback" not in done.stderr
    assert "child" in log
    assert "1 / 0" in log


def test_sources_follow_imports_through_the_package(root):
    used = [str(path) for path in library_sources(root / "workflow" / "scripts" / "collect_captions.py")]
    names = {path.removeprefix(str(PACKAGE) + "/") for path in used}
    assert {"data/captions.py", "seeds.py", "records.py", "errors.py", "job.py", "__init__.py"} <= names
    assert not any(name.startswith(("train/", "detect/", "figures/")) for name in names)


def test_sources_see_module_names_in_strings(tmp_path):
    script = tmp_path / "s.py"
    script.write_text("REGISTRY = {'w': 'muattack.words:WORD'}\n")
    assert str(PACKAGE / "words.py") in library_sources(script)


LIGHT = ["mutate_captions", "mutate_operators", "collect_captions", "compute_metrics", "write_tables", "plot_roc"]
LIGHT += ["collect_dataset", "gather_attacks", "write_attack_tables", "plot_attacks", "describe_run"]


@pytest.mark.parametrize("script", LIGHT)
def test_light_jobs_import_no_torch(root, script):
    """Follow the imports at the top of every module a light job runs."""
    files = library_sources(root / "workflow" / "scripts" / f"{script}.py")
    for path in files:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            assert not line.startswith(("import torch", "from torch", "import transformers", "from transformers", "import textattack")), path
            assert not line.startswith(("import datasets", "from datasets")), path
