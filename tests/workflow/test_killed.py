"""After SIGKILL the same command works again. (`make chaos` does it at many moments; here once, and looking at what is left.)"""

import os
import signal
import time

import pytest
from chaos import make_captions, running_jobs, start

TARGET = "results/chaos/captions.parquet"


def wait_until(what, seconds=300):
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.mark.parametrize("way", ["snakemake", "all"])
def test_the_same_command_works_after_sigkill(root, tmp_path, way):
    make_captions(tmp_path / "data")
    folder = tmp_path / "run"
    folder.mkdir()
    process = start(root, folder, tmp_path / "data", TARGET)
    wait_until(lambda: running_jobs(folder))
    os.kill(process.pid, signal.SIGKILL) if way == "snakemake" else os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # Snakemake's lock stays; a job does not outlive the Snakemake that started it.
    assert list((folder / ".snakemake" / "locks").glob("*.lock"))
    wait_until(lambda: not running_jobs(folder), 60)
    assert not (folder / TARGET).exists()

    assert start(root, folder, tmp_path / "data", TARGET).wait() == 0, (folder / "snakemake.txt").read_text()
    assert (folder / TARGET).is_file()
    assert "An earlier Snakemake was killed while it made the run chaos" in (folder / "snakemake.txt").read_text()
    assert not list((folder / ".snakemake").glob("locks/*.lock"))
