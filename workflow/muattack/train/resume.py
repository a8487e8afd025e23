"""Where a training stands, on disk: a job that was killed goes on after the last epoch that was written down, to the same bytes.

A state is a folder of two files: the tensors (safetensors) and state.json, which names them with their SHA-256 and holds everything
else. state.json is written last and replaced in one step, so that it always speaks of tensors that are complete. What a state belongs
to (settings, data, first weights, code, versions) is a digest each: one that belongs to something else, or that is damaged, is told in
the log and never used.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from muattack.records import complete_or_absent, sha256, write_json
from muattack.sources import code_sha256

# Seconds of training that are worth a state: the training of a small run ends sooner than it would be read.
WORTH = 10.0
# Between two states lies at least this many times what writing one took: states cost less than 2 % of the time.
SPARING = 50
_INTERVAL = "MUATTACK_STATE_SECONDS"


def state_folder(output: str | os.PathLike, run: str) -> Path:
    """Return the folder for the state of the job that makes `output`, results/{run}/state/training/...

    It is no declared output: Snakemake deletes those before a job runs again.
    """
    results = Path("results", run)
    return results / "state" / "training" / Path(output).relative_to(results)


def digest_of(*values: object) -> str:
    """Return a SHA-256 of tensors, arrays, lists of either or of numbers and texts, and of anything JSON can write."""
    joined = hashlib.sha256()
    for value in values:
        for part in value if isinstance(value, list | tuple) else [value]:
            if isinstance(part, torch.Tensor):
                joined.update(f"{part.dtype}{tuple(part.shape)}".encode())
                part = part.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            if isinstance(part, np.ndarray):
                joined.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
            else:
                joined.update(json.dumps(part, sort_keys=True, default=str).encode())
            joined.update(b"\x1f")
        joined.update(b"\x1e")
    return joined.hexdigest()


def first_weights(model: torch.nn.Module) -> str:
    """Return a digest of all of a model's weights, frozen ones included: what training starts from."""
    return digest_of(*(part for name, value in model.state_dict().items() for part in (name, value)))


class Checkpoint:
    """The state of one training in a folder of its own; `None` as the folder keeps nothing.

    `belongs_to` returns what the weights depend on, a digest by its name; that of the code (`module` and all it imports) is added. `every` is the least time between two states in seconds (WORTH, or the environment's MUATTACK_STATE_SECONDS); 0
    writes one after every epoch, whatever it costs.
    """

    def __init__(
        self, folder: str | os.PathLike | None, module: str, belongs_to: Callable[[], Mapping[str, str]], every: float | None = None
    ) -> None:
        self.folder = Path(folder) if folder is not None else None
        self.every = float(os.environ.get(_INTERVAL) or WORTH) if every is None else every
        self.cost = 0.0
        self.since = time.monotonic()
        if self.folder is not None:
            self.belongs_to = {**belongs_to(), "code": code_sha256(module)}

    def read(self) -> tuple[dict[str, torch.Tensor], dict] | None:
        """Return tensors and facts of the last state; None, with a line in the log, where there is none that may be used."""
        if self.folder is None or not (path := self.folder / "state.json").is_file():
            return None
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
            body = written["state"]
            if written["sha256"] != digest_of(body):
                raise ValueError("it does not have the checksum written in it")
            tensors = self.folder / body["tensors"]
            if sha256(tensors) != body["tensors_sha256"]:
                raise ValueError(f"{tensors.name} does not have the checksum written in it")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            print(f"{path} is damaged ({type(error).__name__}: {error}): it is not used, training starts from the beginning", flush=True)
            return None
        other = [name for name in self.belongs_to | body["belongs_to"] if self.belongs_to.get(name) != body["belongs_to"].get(name)]
        if other:
            print(f"{path} is the state of a training with other {', '.join(other)}: it is not used, training starts from the beginning", flush=True)
            return None
        print(f"{path}: training goes on after epoch {body['epoch']}", flush=True)
        return load_file(tensors), body["facts"]

    def due(self) -> bool:
        """Return whether so much was trained since the last state that another one is worth its cost."""
        if self.folder is None or not self.every:
            return self.folder is not None
        return time.monotonic() - self.since >= max(self.every, SPARING * self.cost)

    def write(self, epoch: int, tensors: Mapping[str, torch.Tensor], facts: dict) -> None:
        """Write the state after `epoch` epochs in place of the one before."""
        started = time.monotonic()
        name = f"epoch-{epoch}.safetensors"
        with complete_or_absent(self.folder / name) as temporary:
            save_file({key: value.detach().cpu().contiguous() for key, value in tensors.items()}, temporary)
        body = {"belongs_to": self.belongs_to, "epoch": epoch, "tensors": name, "tensors_sha256": sha256(self.folder / name), "facts": facts}
        write_json(self.folder / "state.json", {"state": body, "sha256": digest_of(body)})
        for path in self.folder.iterdir():
            if path.name not in (name, "state.json"):
                path.unlink()
        self.since = time.monotonic()
        self.cost = self.since - started

    def remove(self) -> None:
        """Delete the state: the job has written its results."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def pack(model: torch.nn.Module, optimiser: torch.optim.Optimizer, schedule: torch.optim.lr_scheduler.LRScheduler) -> tuple[dict, dict]:
    """Return tensors and facts of what every training has: what is trained, moments of the optimiser, learning rates, torch's generators."""
    tensors = {f"model/{name}": value for name, value in _moving(model)}
    for index, values in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{index}/{name}": value for name, value in values.items()}
    tensors["generator/cpu"] = torch.get_rng_state()
    if torch.cuda.is_initialized():
        tensors["generator/cuda"] = torch.cuda.get_rng_state()
    return tensors, {"rates": [group["lr"] for group in optimiser.param_groups], "schedule": schedule.state_dict()}


def unpack(
    tensors: Mapping[str, torch.Tensor],
    facts: Mapping,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
) -> None:
    """Set model, optimiser, schedule and torch's generators, all made as at the beginning, to what `pack` returned."""
    with torch.no_grad():
        for name, value in _moving(model):
            value.copy_(tensors[f"model/{name}"])
    moments: dict[int, dict] = {}
    for name, value in tensors.items():
        if name.startswith("optimiser/"):
            _, index, key = name.split("/")
            moments.setdefault(int(index), {})[key] = value.clone()
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
    for group, rate in zip(optimiser.param_groups, facts["rates"], strict=True):
        group["lr"] = rate
    schedule.load_state_dict(dict(facts["schedule"]))
    torch.set_rng_state(tensors["generator/cpu"])
    if "generator/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["generator/cuda"])


def _moving(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Return what may change in training, tied weights once."""
    return [(name, value) for name, value in model.named_parameters() if value.requires_grad] + list(model.named_buffers())
