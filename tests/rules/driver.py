"""Run a rule's script as Snakemake does, with an object `snakemake` of its own, in a process of its own.

The process is forked from one that has imported the libraries: a test need not wait for torch a dozen times.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path

PRELOAD = [
    "torch",
    "muattack.detect.detector",
    "transformers.models.roberta.modeling_roberta",
    "jsonschema",
    "matplotlib.figure",
    "pandas",
    "pyarrow.parquet",
]


class Named(list):
    """Snakemake's lists: by position, and by name where there is one."""

    def __init__(self, value):
        super().__init__()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            self.extend(item if isinstance(item, list) else [item])
            if isinstance(key, str):
                setattr(self, key, Named(item) if isinstance(item, list) else item)

    def __getitem__(self, key):
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)


def _child(spec: dict) -> None:
    os.chdir(spec["folder"])
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(spec[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), number)
    snakemake = types.SimpleNamespace(
        rule=spec["rule"],
        log=[spec["log"]],
        **{key: Named(spec[key]) for key in ("input", "output")},
        **{key: types.SimpleNamespace(**spec[key]) for key in ("params", "wildcards")},
    )
    try:
        runpy.run_path(spec["script"], init_globals={"snakemake": snakemake}, run_name="__main__")
    except BaseException:
        # The script's own hook, which multiprocessing would pass over.
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    sys.stderr.flush()


def run_script(spec: dict, folder: Path) -> subprocess.CompletedProcess:
    """Run the script in `folder`; return its exit status and what it wrote."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    written = {name: folder / f".{name}" for name in ("stdout", "stderr")}
    process = context.Process(target=_child, args=({**spec, "folder": str(folder), **{name: str(path) for name, path in written.items()}},))
    process.start()
    process.join()
    return subprocess.CompletedProcess(spec["script"], process.exitcode, *(path.read_text() for path in written.values()))
