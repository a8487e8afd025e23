"""Whose locks are left over, and jobs that end with the process that started them."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from muattack import alive
from muattack.alive import PARENT, clear_leftover_locks, leftover, wait_for_the_end_of
from muattack.records import complete_or_absent
from muattack.sources import PACKAGE

HOLD = """
import sys, time
from muattack.alive import clear_leftover_locks
sign = clear_leftover_locks(sys.argv[1], sys.argv[2])
print("holds", flush=True)
time.sleep(60)
"""


def start(code, *arguments, **environment):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True, env=environment)


def lock(folder, number, run, kinds=("input", "output")):
    """The locks of a run as Snakemake writes them."""
    made = []
    (folder / "locks").mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        made.append(folder / "locks" / f"{number}.{kind}.lock")
        made[-1].write_text(f"workflow/muattack/seeds.py\nresults/{run}/captions.parquet\n" if kind == "input" else f"results/{run}/metrics.csv\n")
    return made


def test_the_locks_of_a_killed_process_are_removed_and_those_of_a_living_one_stay(tmp_path):
    mine, others = lock(tmp_path, 0, "demo"), lock(tmp_path, 1, "demo2")
    process = start(HOLD, "demo", tmp_path)
    assert process.stdout.readline() == "holds\n"
    # That process found leftovers of its own; these are what it works on now.
    mine = lock(tmp_path, 0, "demo")
    sign, told = clear_leftover_locks("demo", tmp_path)
    assert told == ""
    assert all(path.is_file() for path in mine)
    sign.close()
    process.send_signal(signal.SIGKILL)
    process.wait()
    sign, told = clear_leftover_locks("demo", tmp_path)
    assert "its lock is removed" in told
    assert not any(path.exists() for path in mine)
    assert all(path.is_file() for path in others)
    # Holding on is what protects this process from the next one.
    mine = lock(tmp_path, 0, "demo")
    second, told = clear_leftover_locks("demo", tmp_path)
    assert (told, [path.is_file() for path in mine]) == ("", [True, True])
    second.close()
    sign.close()


def test_two_living_processes_protect_each_other_after_one_is_killed(tmp_path):
    first, second = (start(HOLD, "demo", tmp_path) for _ in range(2))
    assert [process.stdout.readline() for process in (first, second)] == ["holds\n"] * 2
    mine = lock(tmp_path, 0, "demo")
    first.kill()
    first.wait()
    clear_leftover_locks("demo", tmp_path)[0].close()
    assert all(path.is_file() for path in mine)
    second.kill()
    second.wait()
    clear_leftover_locks("demo", tmp_path)[0].close()
    assert not any(path.exists() for path in mine)


def test_a_process_of_another_machine_cannot_be_asked(tmp_path):
    mine = lock(tmp_path, 0, "demo")
    (tmp_path / "demo.alive").write_text("login2")
    sign, told = clear_leftover_locks("demo", tmp_path)
    assert "ran on login2" in told
    assert "--unlock" in told
    assert all(path.is_file() for path in mine)
    sign.close()
    # Unlocked by hand: from now on this machine is the one to ask.
    for path in mine:
        path.unlink()
    clear_leftover_locks("demo", tmp_path)[0].close()
    assert (tmp_path / "demo.alive").read_text() == socket.gethostname()


def test_a_folder_or_file_system_without_locks_is_left_alone(tmp_path, monkeypatch):
    mine = lock(tmp_path, 0, "demo")

    def refuse(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(alive.fcntl, "flock", refuse)
    assert clear_leftover_locks("demo", tmp_path) == (None, "")
    assert all(path.is_file() for path in mine)
    (tmp_path / "file").write_text("")
    assert clear_leftover_locks("demo", tmp_path / "file") == (None, "")


def test_only_whole_names_of_runs_count(tmp_path):
    lock(tmp_path, 0, "demo2")
    [mine] = lock(tmp_path, 1, "demo", kinds=["output"])
    (tmp_path / "locks" / "notes.lock").write_text("results/demo/metrics.csv\n")
    (tmp_path / "locks" / "2.output.lock").write_bytes(b"\xff\n")
    assert leftover("demo", tmp_path / "locks") == [mine]
    assert leftover("demo", tmp_path / "none") == []


JOB = """
import types
snakemake = types.SimpleNamespace(rule="wait", log=[{log!r}])
from muattack.job import start_log
start_log(snakemake)
import time
time.sleep(60)
"""

PARENT_OF_A_JOB = """
import os, subprocess, sys, time
os.environ["MUATTACK_SNAKEMAKE"] = str(os.getpid())
# As Snakemake does it: a shell stands between the two.
job = subprocess.Popen(["bash", "-c", f"{sys.executable} -c '{sys.argv[1]}'; true"])
print(job.pid, flush=True)
time.sleep(60)
"""


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def wait_until(what, seconds=20):
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="looks at processes as Linux shows them")
def test_a_job_ends_with_the_snakemake_that_started_it(tmp_path):
    log = tmp_path / "job.log"
    parent = start(PARENT_OF_A_JOB, JOB.format(log=str(log)).replace("'", '"'))
    shell = int(parent.stdout.readline())
    wait_until(lambda: log.is_file() and "started" in log.read_text())
    [job] = children(shell)
    parent.kill()
    parent.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{job}"))
    assert "is gone, so the job ends" in log.read_text()


def test_a_parent_that_is_gone_before_the_job_begins_is_noticed():
    process = start("pass")
    process.wait()
    wait_for_the_end_of(process.pid)
    environment = {PARENT: str(process.pid)}
    code = "from muattack.alive import end_with_parent\nend_with_parent()\nimport time\ntime.sleep(60)"
    assert start(code, **environment).wait(20) == 1


def test_where_processes_have_no_handles_they_are_looked_at(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    process = start("import time; time.sleep(0.5)")
    begun = time.monotonic()
    wait_for = alive.wait_for_the_end_of
    # Reaped elsewhere, as by the system: a process that nobody waited for would still be there to look at.
    import threading

    threading.Thread(target=process.wait, daemon=True).start()
    wait_for(process.pid, every=0.05)
    assert time.monotonic() - begun > 0.3


def test_what_a_killed_write_left_goes_with_the_next_one(tmp_path):
    left = tmp_path / ".a.csv.x1_y2z3w.csv"
    kept = [tmp_path / name for name in (".a.csv.bak", ".ab.csv.x1_y2z3w.csv", "a.csv.x1_y2z3w.csv")]
    for path in [left, *kept]:
        path.write_text("half")
    with complete_or_absent(tmp_path / "a.csv") as temporary:
        temporary.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "a.csv"])


def test_locks_stay_as_long_as_jobs_of_a_killed_run_are_on_the_cluster(tmp_path, monkeypatch):
    mine = lock(tmp_path, 0, "demo")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "1.snakemake.log").write_text("Building DAG of jobs...\nSLURM run ID: 12-ab\n")
    # A queue that holds whatever the file says.
    queue = tmp_path / "squeue"
    queue.write_text(f"#!/bin/sh\ncat {tmp_path}/jobs\n")
    queue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "jobs").write_text("12-ab\n")
    sign, told = clear_leftover_locks("demo", tmp_path)
    sign.close()
    assert "scancel --name 12-ab" in told
    assert all(path.is_file() for path in mine)
    (tmp_path / "jobs").write_text("somebody-elses\n")
    sign, told = clear_leftover_locks("demo", tmp_path)
    sign.close()
    assert "its lock is removed" in told
    assert not any(path.exists() for path in mine)
