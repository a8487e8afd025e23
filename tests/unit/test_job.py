"""A slot for each GPU: jobs side by side take different ones. The devices are pretended, by CUDA_VISIBLE_DEVICES alone."""

import json
import os
import select
import subprocess
import sys
import time

from muattack.job import visible_gpus

# A rule's script: it says what it was given, and keeps it until it is told to end.
SCRIPT = """
import json, os, sys, types
from muattack.job import start_log
asked = json.loads(sys.argv[2])
start_log(types.SimpleNamespace(rule="pretend", log=[sys.argv[1]], resources=types.SimpleNamespace(**asked)))
given = {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "MUATTACK_DEVICE")}
os.write(4, (json.dumps(given) + "\\n").encode())
sys.stdin.readline()
"""


class Job:
    """A rule's process, with a pipe on which it says what it was given."""

    def __init__(self, folder, name, asked, **environment):
        self.log = folder / f"{name}.log"
        reads, writes = os.pipe()
        known = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "CUDA_", "MUATTACK_DEVICE"))}
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 4>&{writes}', "-", sys.executable, "-c", SCRIPT, str(self.log), json.dumps(asked)],
            stdin=subprocess.PIPE, pass_fds=[writes], env={**known, "TMPDIR": str(folder), **environment},
        )  # fmt: skip
        os.close(writes)
        self.answers = os.fdopen(reads)

    def given(self):
        return json.loads(self.answers.readline())

    def waits(self):
        """Until the job says that it waits; that it has not been given anything then, is what its answers must show."""
        until = time.monotonic() + 60
        while "are taken: waiting" not in (self.log.read_text() if self.log.exists() else ""):
            assert time.monotonic() < until, "it does not say that it waits"
            time.sleep(0.05)
        assert not select.select([self.answers], [], [], 0)[0]

    def end(self):
        self.process.communicate(b"\n", timeout=60)


def test_jobs_side_by_side_take_different_gpus_and_a_third_waits(tmp_path):
    pair = {"CUDA_VISIBLE_DEVICES": "4,GPU-a1"}
    first, second = (Job(tmp_path, name, {"gpu": 1}, **pair) for name in ("first", "second"))
    given = [first.given(), second.given()]
    assert {one["CUDA_VISIBLE_DEVICES"] for one in given} == {"4", "GPU-a1"}
    assert {one["MUATTACK_DEVICE"] for one in given} == {"cuda"}
    third = Job(tmp_path, "third", {"gpu": 1}, **pair)
    third.waits()
    # A job that is killed frees its slot, without anything left to clear away.
    first.process.kill()
    assert third.given()["CUDA_VISIBLE_DEVICES"] == given[0]["CUDA_VISIBLE_DEVICES"]
    assert "all GPUs (4, GPU-a1) are taken: waiting" in third.log.read_text()
    for job in (second, third):
        job.end()


def test_the_scheduler_of_a_cluster_has_chosen_already(tmp_path):
    # Two jobs on one node, each of which sees its own GPU as number 0: no lock may keep them apart.
    jobs = [Job(tmp_path, name, {"gres": "gpu:1"}, CUDA_VISIBLE_DEVICES="0", SLURM_JOB_ID=name) for name in ("7", "8")]
    assert [job.given() for job in jobs] == [{"CUDA_VISIBLE_DEVICES": "0", "MUATTACK_DEVICE": "cuda"}] * 2
    for job in jobs:
        job.end()


def test_a_job_that_asks_for_no_gpu_gets_none(tmp_path):
    job = Job(tmp_path, "light", {"mem_mb": 500}, CUDA_VISIBLE_DEVICES="0,1", MUATTACK_DEVICE="cuda")
    assert job.given() == {"CUDA_VISIBLE_DEVICES": "0,1", "MUATTACK_DEVICE": None}
    job.end()


def test_gpus_are_those_that_are_visible_or_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", " 2, 3")
    assert visible_gpus() == ["2", "3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA A (UUID: GPU-1)'\necho 'GPU 1: NVIDIA A (UUID: GPU-2)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert visible_gpus() == ["0", "1"]
