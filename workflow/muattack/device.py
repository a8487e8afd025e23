"""Where models run: the processor, or the GPU that a job was given."""

import os

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
