"""The workflow on a real SLURM: the bytes of a local run, and what is left after a job or the client was ended.

    make slurm-test

brings a one-machine cluster up (one_machine_slurm.py). MUATTACK_SLURM=running uses the cluster that the machine is part of instead, and
MUATTACK_SLURM=/path/to/script one that this script starts; partitions then come from MUATTACK_PARTITION, as in any run.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import one_machine_slurm
import pytest
from test_workflow import fingerprints

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

HERE = Path(__file__).parent
# So long that it is still being trained when something happens to it.
LONG = "training: {epochs: 100000}\n"
DETECTOR = "results/cluster/detectors/finetune"


@pytest.fixture(scope="module")
def cluster():
    """The environment of a cluster."""
    given = os.environ.get("MUATTACK_SLURM", "")
    if given:
        if given != "running":
            subprocess.run([given], check=True)
        if shutil.which("sinfo") is None or subprocess.run(["sinfo"], capture_output=True).returncode:
            pytest.skip("MUATTACK_SLURM is set, but sinfo finds no cluster")
        yield {}
        return
    if one_machine_slurm.missing():
        pytest.skip(
            f"{', '.join(one_machine_slurm.missing())} not installed (Debian: apt-get install slurm-wlm munge), and MUATTACK_SLURM names no cluster"
        )
    # munge wants a folder that all may enter and a short path: pytest's own are neither.
    folder = Path(tempfile.mkdtemp(prefix="muattack-slurm-"))
    folder.chmod(0o755)
    # In a process of its own: here the tests' ban of sockets holds.
    done = subprocess.run([sys.executable, one_machine_slurm.__file__, str(folder), "up"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    yield {**one_machine_slurm.environment(folder), "MUATTACK_PARTITION": "light", "MUATTACK_GPU_PARTITION": "gpus"}
    one_machine_slurm.down(folder)
    shutil.rmtree(folder)


class Run:
    """A run of the workflow in a folder of its own, through the profile."""

    def __init__(self, root, folder, environment):
        self.root, self.folder = root, folder
        self.environment = {**os.environ, "MUATTACK_DATA": str(HERE), "PYTHONUNBUFFERED": "1", **environment}
        # Where the cluster is another one, it is found as the machine finds it.
        self.profile = ["--workflow-profile", str(root / "workflow" / "profiles" / "slurm"), "--slurm-init-seconds-before-status-checks", "5"]

    def command(self, *arguments, configs=()):
        files = [str(HERE / "small.yaml"), str(HERE / "cluster.yaml"), *map(str, configs)]
        return [sys.executable, "-m", "snakemake", "--snakefile", str(self.root / "Snakefile"), *arguments, "--configfile", *files]

    def local(self, *arguments, configs=()):
        """Run snakemake without the cluster; return its exit status and what it said."""
        done = subprocess.run(
            self.command(*arguments, configs=configs),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def start(self, *arguments, configs=()):
        """Start snakemake on the cluster."""
        self.said = self.folder / "client.txt"
        with self.said.open("w") as out:
            command = self.command(*self.profile, *arguments, configs=configs)
            self.client = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=out, stderr=subprocess.STDOUT)
        return self

    def end(self, seconds=1800):
        """Wait for snakemake; return its exit status and what it said."""
        try:
            self.client.wait(seconds)
        except subprocess.TimeoutExpired:
            self.client.kill()
            pytest.fail(f"snakemake did not end in {seconds} s; it said: {self.said.read_text()[-3000:]}")
        return self.client.returncode, self.said.read_text()

    def slurm(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout

    @property
    def run_id(self):
        return re.search(r"SLURM run ID: (\S+)", self.said.read_text())[1]

    def running(self, run_id=None):
        """The ids of the jobs of a run, this one unless said, that run."""
        return self.slurm("squeue", "--noheader", "--states=running", "--format=%A", f"--name={run_id or self.run_id}").split()

    def wait_for_training(self, seconds=600):
        """Wait until the detector is being trained; return the id of its job."""
        log = self.folder / "results" / "cluster" / "logs" / "train_detector" / "finetune.log"
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if log.exists() and "epoch 2:" in log.read_text() and self.running():
                return self.running()[0]
            if self.client.poll() is not None:
                break
            time.sleep(0.5)
        pytest.fail(f"the detector is not being trained: {self.said.read_text()[-3000:]}")


def report(what, since):
    """Tell how long something took: read with -s, or in the summary of `make slurm-test`."""
    print(f"{what}: {time.monotonic() - since:.0f} s")


@pytest.fixture(scope="module")
def runs(cluster, tmp_path_factory):
    """The same run on this machine and on the cluster, whole: folders, and what the cluster's client said."""
    root, found = HERE.parents[1], {}
    since = time.monotonic()
    made = {where: Run(root, tmp_path_factory.mktemp(where), cluster) for where in ("local", "cluster")}
    # Side by side: most of the cluster's time is waiting.
    made["cluster"].start()
    code, said = made["local"].local("--cores", "2")
    if code:
        made["cluster"].client.kill()
    assert code == 0, said[-5000:]
    found["local"] = (made["local"].folder, said)
    report("the run, local", since)
    code, said = made["cluster"].end()
    assert code == 0, said[-5000:]
    found["cluster"] = (made["cluster"].folder, said)
    report("the run, cluster", since)
    return found


@pytest.fixture
def copy(runs, cluster, root, tmp_path):
    """The finished run once more, with its detector gone: it and nothing else has to be made."""
    # As deep as the first: the library's files are inputs by their path from here, and another path would make everything anew.
    folder = tmp_path
    shutil.copytree(runs["local"][0], folder, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(folder / DETECTOR)
    (folder / "results" / "cluster" / "logs" / "train_detector" / "finetune.log").unlink()
    (folder / "long.yaml").write_text(LONG)
    return Run(root, folder, cluster)


def detector(folder):
    return {name: digest for name, digest in fingerprints(folder / "results" / "cluster").items() if name.startswith("detectors/finetune/")}


def test_every_result_is_that_of_a_local_run_byte_for_byte(runs):
    one, other = (fingerprints(runs[where][0] / "results" / "cluster") for where in ("local", "cluster"))
    assert len(one) > 50
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []
    # Light jobs went together: some thirty jobs in half as many of the cluster's.
    submitted = set(re.findall(r"submitted with SLURM jobid (\d+)", runs["cluster"][1]))
    print(f"{len(one)} files are the same; {len(submitted)} jobs of the cluster")
    assert 8 <= len(submitted) <= 16
    # Rule logs stand alone.
    log = (runs["cluster"][0] / "results" / "cluster" / "logs" / "train_detector" / "finetune.log").read_text()
    assert log.startswith("train_detector started ")
    assert "epoch 1: train loss" in log


def test_a_cancelled_job_is_told_and_nothing_of_it_is_left(copy, runs):
    since = time.monotonic()
    copy.start("--retries", "0", DETECTOR, configs=[copy.folder / "long.yaml"])
    copy.slurm("scancel", copy.wait_for_training())
    code, said = copy.end()
    assert code != 0
    assert f"train_detector ({DETECTOR}) failed: it was cancelled with scancel" in said
    assert "The end of results/cluster/logs/train_detector/finetune.log:\n" in said
    assert re.search(r"^    epoch \d+: train loss", said, re.MULTILINE)
    assert "To go on:" in said
    assert not (copy.folder / DETECTOR / "muattack.json").exists()
    code, said = copy.start(DETECTOR).end()
    assert code == 0, said[-3000:]
    assert detector(copy.folder) == detector(runs["local"][0])
    report("a job cancelled, and the run gone on with", since)


def test_a_job_past_its_memory_is_tried_again_with_more(copy, runs):
    since = time.monotonic()
    if "OverMemoryKill" not in copy.slurm("scontrol", "show", "config") and not re.search(r"task/cgroup", copy.slurm("scontrol", "show", "config")):
        pytest.skip("this cluster enforces no memory")
    # Snakemake alone needs more than the first attempt is given.
    code, said = copy.start("--set-resources", "train_detector:mem_mb=100 if attempt < 2 else 2000", "--retries", "1", DETECTOR).end()
    assert code == 0, said[-3000:]
    assert "Error in rule train_detector" in said
    assert "Trying to restart job" in said
    assert detector(copy.folder) == detector(runs["local"][0])
    report("a job past its memory", since)


def test_a_job_past_its_time_is_told_and_how_to_give_it_more(copy):
    since = time.monotonic()
    code, said = copy.start("--set-resources", "train_detector:runtime=1", "--retries", "0", DETECTOR, configs=[copy.folder / "long.yaml"]).end()
    assert code != 0
    assert "SLURM status is: 'TIMEOUT'" in said
    assert "--set-resources train_detector:runtime=MINUTES" in said
    report("a job past its time", since)


def test_a_client_that_was_killed_is_gone_on_with_as_the_page_says(copy, runs):
    since = time.monotonic()
    copy.start(DETECTOR, configs=[copy.folder / "long.yaml"])
    copy.wait_for_training()
    os.kill(copy.client.pid, signal.SIGKILL)
    copy.client.wait()
    killed = copy.run_id
    # The job runs on by itself, and would write the same files as a new one: nothing starts, and what to do is told.
    assert copy.running()
    code, said = copy.start(DETECTOR).end()
    assert code != 0
    assert f"scancel --name {killed}" in said
    assert copy.running(killed)
    copy.slurm("scancel", "--name", killed)
    until = time.monotonic() + 60
    while copy.running(killed) and time.monotonic() < until:
        time.sleep(0.5)
    assert not copy.running(killed)
    # The same command again.
    code, said = copy.start(DETECTOR).end()
    assert code == 0, said[-3000:]
    assert "its lock is removed" in said
    assert detector(copy.folder) == detector(runs["local"][0])
    report("the client killed, and the run gone on with", since)


def test_a_job_that_asks_for_a_gpu_gets_one_in_the_partition_for_it(copy):
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has a GPU: the pretended one would not be in vain")
    since = time.monotonic()
    code, said = copy.start("--retries", "0", "--config", "device=cuda", "--", DETECTOR).end()
    # A pretended GPU is none: torch finds nothing behind it.
    assert code != 0
    assert "train_detector" in said
    jobs = re.findall(r"submitted with SLURM jobid (\d+)", said)
    assert len(jobs) == 1
    about = copy.slurm("scontrol", "show", "job", jobs[0])
    if "MUATTACK_GPU_PARTITION" in copy.environment:
        assert f"Partition={copy.environment['MUATTACK_GPU_PARTITION']}" in about
    assert "gres/gpu=1" in about or "gres:gpu:1" in about
    log = (copy.folder / "results" / "cluster" / "logs" / "train_detector" / "finetune.log").read_text()
    assert "A GPU was asked for, but torch" in log
    report("a job with a GPU", since)
