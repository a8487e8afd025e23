"""Runs that were killed: whose Snakemake locks are left over, and jobs whose Snakemake is gone.

Snakemake marks in .snakemake/locks which files a process works on, but not which process; after SIGKILL the marks stay, and it refuses to
start until somebody says --unlock. Here every process holds an advisory lock of the operating system on .snakemake/{run}.alive for as long
as it lives, which ends with the process whatever ended it: whoever gets this lock alone knows that the marks are left over.

A job that goes on after its Snakemake was killed would write into the files of the job that the next run starts in its place, so it ends itself.
"""

import fcntl
import os
import re
import select
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

PARENT = "MUATTACK_SNAKEMAKE"


def clear_leftover_locks(run: str, folder: str | os.PathLike = ".snakemake") -> tuple[IO | None, str]:
    """Delete the locks that killed processes left on results/{run}/, and hold a sign of life for this process until it ends.

    Returns the open file that is the sign of life (keep it: closing it is dying), None where the file system has no such locks,
    and a line for the person at the terminal, "" where there is nothing to say. Locks are left alone while any process of the run in
    this folder lives, and where the last one ran on another machine, which cannot be asked.
    """
    message = ""
    try:
        os.makedirs(folder, exist_ok=True)
        # In append mode: network file systems lock only what may be written, and nothing is truncated before it is read.
        sign = open(Path(folder, f"{run}.alive"), "a+", encoding="utf-8")  # noqa: SIM115 (open as long as the process lives)
    except OSError:
        return None, message
    try:
        try:
            fcntl.flock(sign, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Another process of this run lives, if only to list its jobs: what is locked stays locked.
            fcntl.flock(sign, fcntl.LOCK_SH)
            return sign, message
        left = leftover(run, Path(folder, "locks"))
        sign.seek(0)
        last, here = sign.read(), socket.gethostname()
        if left and last not in ("", here):
            message = (
                f"The results of the run {run} are locked by a Snakemake that ran on {last}; this is {here}, from where nobody can see whether it lives. "
                "If it does not, say `snakemake --unlock` and start again."
            )
        elif left and (running := cluster_runs(Path(folder, "log"))):
            message = (
                f"An earlier Snakemake was killed while it made the run {run}, and its jobs are still on the cluster: they would write the same files as new "
                f"ones. Say `scancel --name {','.join(running)}` and start again."
            )
        else:
            for path in left:
                path.unlink(missing_ok=True)
            sign.truncate(0)
            sign.write(here)
            sign.flush()
            if left:
                message = (
                    f"An earlier Snakemake was killed while it made the run {run}: its lock is removed, and what it left incomplete is made anew."
                )
        fcntl.flock(sign, fcntl.LOCK_SH)
    except OSError:
        sign.close()
        return None, message
    return sign, message


def leftover(run: str, locks: Path) -> list[Path]:
    """Return Snakemake's lock files that name a file of results/{run}/."""
    found = []
    for path in sorted(locks.glob("*.lock")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if re.fullmatch(r"\d+\.(input|output)\.lock", path.name) and any(line.startswith(f"results/{run}/") for line in lines):
            found.append(path)
    return found


def cluster_runs(logs: Path, newest: int = 20) -> list[str]:
    """Return the ids of earlier runs through SLURM, as the newest of Snakemake's logs tell them, whose jobs wait or run."""
    files = sorted(logs.glob("*.log"))[-newest:]
    known = {
        found for file in files for found in re.findall(r"^SLURM run ID: (\S+)", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    }
    if not known:
        return []
    try:
        asked = ["squeue", "--noheader", "--format=%j", f"--name={','.join(sorted(known))}"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return sorted(known & set(told.split()))


def end_with_parent() -> None:
    """End this process as soon as the Snakemake that started its job is gone (its number is in MUATTACK_SNAKEMAKE; nothing without it)."""
    if parent := os.environ.get(PARENT):
        threading.Thread(target=_wait_and_end, args=(int(parent),), daemon=True).start()


def _wait_and_end(parent: int) -> None:
    wait_for_the_end_of(parent)
    print("The Snakemake that started this job is gone, so the job ends. Start the same command again: it goes on from here.", flush=True)
    os._exit(1)


def wait_for_the_end_of(process: int, every: float = 1.0) -> None:
    """Return when a process of this machine has ended."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        # Not on Linux, or an old one: look now and then.
        while True:
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return
            except PermissionError:
                pass
            time.sleep(every)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    waiting.poll()
    os.close(handle)
