"""Where models run: the processor, or the GPU that a job was given."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from muattack.errors import InputError

VARIABLE = "MUATTACK_DEVICE"


def device() -> torch.device:
    """Return the device that models and what they are fed lie on: the processor unless MUATTACK_DEVICE is `cuda`.

    A job of the workflow gets the variable with its GPU (`muattack.job.take_gpu`). Raises InputError for another name, and where torch
    sees no GPU: a model that silently ran on the processor would take days where hours were asked for.
    """
    name = os.environ.get(VARIABLE) or "cpu"
    if name not in ("cpu", "cuda"):
        raise InputError(f"The environment variable {VARIABLE} is {name!r}, but must be cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = "it is the build without CUDA" if torch.version.cuda is None else f"CUDA_VISIBLE_DEVICES is {visible!r}"
        raise InputError(
            f"A GPU was asked for, but torch {torch.__version__} sees none ({why}). Write `device: cpu` in your configuration, or install a build of torch "
            "for this machine's driver and start the job where a GPU is (on SLURM: the partition and the gpu flag of the profile)."
        )
    return torch.device(name)


def device_name() -> str:
    """Return what meta.json says of the device: `cpu`, or `cuda` with the name of the GPU."""
    return "cpu" if device().type == "cpu" else f"cuda ({torch.cuda.get_device_name()})"


@contextmanager
def enough_memory(lower: str) -> Iterator[None]:
    """Turn a GPU's lack of memory inside the block into an InputError: what it needs, what there is, and which key to `lower`."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        free, total = torch.cuda.mem_get_info()
        asked = re.search(r"Tried to allocate ([\d.]+ \w+)", str(error))
        raise InputError(
            f"The GPU ({torch.cuda.get_device_name()}, {total / 2**30:.1f} GiB) is too small: the job held {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB and "
            f"needed {asked[1] if asked else 'some'} more, where {free / 2**30:.1f} GiB were free. Lower {lower}, or give the job a larger GPU that nobody else uses."
        ) from error
