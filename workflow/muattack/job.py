"""Start a rule's script: the log before anything else, hubs offline, errors for people.

Imports nothing outside the standard library, so that the log is open before anything heavy can fail.
"""

import os
import sys
import time
import traceback

from muattack.alive import end_with_parent
from muattack.errors import InputError


def go_offline() -> None:
    """Tell every hub client to stay off the network; only the fetch stage may reach it."""
    os.environ.update(
        HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1",
        TOKENIZERS_PARALLELISM="false",
    )  # fmt: skip


_terminal = sys.stderr


def tell(message: str) -> None:
    """Say something to the person at the terminal that the log alone would hide; the log has it too."""
    print(message, flush=True)
    print(f"\n{message}\n", file=_terminal, flush=True)


def start_log(snakemake) -> None:
    """Send everything the process prints, tracebacks included, to the rule's log.

    File descriptors are redirected, so that output of C libraries and child processes lands there too. On an uncaught
    error the traceback goes to the log and one paragraph to the terminal, with the log's path unless the error is the
    user's input (its message says all there is to say).
    """
    global _terminal
    terminal = _terminal = os.fdopen(os.dup(2), "w")
    log = os.open(snakemake.log[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)
    go_offline()
    end_with_parent()
    print(f"{snakemake.rule} started {time.strftime('%Y-%m-%d %H:%M:%S')}", flush=True)

    def report(kind, error, trace) -> None:
        traceback.print_exception(kind, error, trace)
        if isinstance(error, InputError):
            terminal.write(f"\n{snakemake.rule}: {error}\n\n")
        else:
            terminal.write(f"\n{snakemake.rule} failed: {kind.__name__}: {error}\nThe traceback is in {snakemake.log[0]}\n\n")
        terminal.flush()

    sys.excepthook = report
