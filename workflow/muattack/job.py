"""Start a rule's script: the log before anything else, hubs offline, errors for people.

Imports nothing outside the standard library, so that the log is open before anything heavy can fail.
"""

import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from muattack.alive import end_with_parent
from muattack.errors import InputError, no_room


def go_offline() -> None:
    """Tell every hub client to stay off the network; only the fetch stage may reach it."""
    os.environ.update(
        HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1",
        TOKENIZERS_PARALLELISM="false",
    )  # fmt: skip


def visible_gpus() -> list[str]:
    """Return the GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else the machine's, by number."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [one.strip() for one in named.split(",") if one.strip()]
    try:
        listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^GPU (\d+):", listed, re.MULTILINE)


_slot = None


def take_gpu(every: float = 2.0) -> None:
    """Take a GPU that no other job of this user has on this machine, wait for one where all are taken, and keep it until the process ends.

    A slot is a lock on a file a GPU in the folder for temporary files: the system frees it however the process ends. Sets CUDA_VISIBLE_DEVICES
    and MUATTACK_DEVICE, before torch is imported. On a cluster the scheduler has chosen already (and may number each job's GPUs from 0).
    """
    global _slot
    os.environ["MUATTACK_DEVICE"] = "cuda"
    gpus = visible_gpus()
    # Without any, `muattack.device` says what to do.
    if not gpus or "SLURM_JOB_ID" in os.environ:
        return
    folder = Path(tempfile.gettempdir(), f"muattack-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    said = False
    while _slot is None:
        for gpu in gpus:
            slot = open(folder / re.sub(r"\W", "_", gpu), "w")  # noqa: SIM115 (the lock lives as long as the process)
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                slot.close()
                continue
            _slot = slot
            os.environ["CUDA_VISIBLE_DEVICES"] = gpu
            print(f"on GPU {gpu} of {', '.join(gpus)}", flush=True)
            return
        if not said:
            said = True
            print(
                f"all GPUs ({', '.join(gpus)}) are taken: waiting. `--resources gpu={len(gpus)}` starts no more jobs than there are GPUs.", flush=True
            )
        time.sleep(every)


_terminal = sys.stderr


def tell(message: str) -> None:
    """Say something to the person at the terminal that the log alone would hide; the log has it too."""
    print(message, flush=True)
    print(f"\n{message}\n", file=_terminal, flush=True)


_who = ""


def on_terminal(message: str) -> None:
    """Say how far a rule's script is to the person at the terminal, if there is one: a job of a cluster has none, and a file would only fill up."""
    if _who and _terminal.isatty():
        print(f"{_who}: {message}", file=_terminal, flush=True)


def start_log(snakemake) -> None:
    """Send everything the process prints, tracebacks included, to the rule's log.

    File descriptors are redirected, so that output of C libraries and child processes lands there too. On an uncaught
    error the traceback goes to the log and one paragraph to the terminal, with the log's path unless the error is the
    user's input (its message says all there is to say).
    """
    global _terminal, _who
    _who = "/".join(Path(snakemake.log[0]).with_suffix("").parts[-2:])
    terminal = _terminal = os.fdopen(os.dup(2), "w", errors="backslashreplace")
    log = os.open(snakemake.log[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)
    go_offline()
    end_with_parent()
    print(f"{snakemake.rule} started {time.strftime('%Y-%m-%d %H:%M:%S')}", flush=True)
    # A site's own flag (gres) may stand in place of the number.
    resources = getattr(snakemake, "resources", None)
    if getattr(resources, "gpu", 0) or "gpu" in str(getattr(resources, "gres", "")):
        take_gpu()
    else:
        os.environ.pop("MUATTACK_DEVICE", None)

    def report(kind, error, trace) -> None:
        traceback.print_exception(kind, error, trace)
        if not isinstance(error, InputError) and (told := no_room(error)):
            # Written by a library; the log ends with what to do.
            error = told
            traceback.print_exception(error)
        if isinstance(error, InputError):
            terminal.write(f"\n{snakemake.rule}: {error}\n\n")
        else:
            terminal.write(f"\n{snakemake.rule} failed: {kind.__name__}: {error}\nThe traceback is in {snakemake.log[0]}\n\n")
        terminal.flush()

    sys.excepthook = report
