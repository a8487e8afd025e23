"""Optimiser, learning-rate schedule and the facts of a training run that belong into its meta.json."""

import platform

import numpy
import safetensors
import tokenizers
import torch
import transformers

from muattack import __version__


def make_optimiser(model: torch.nn.Module, learning_rate: float, weight_decay: float) -> torch.optim.Optimizer:
    """Return AdamW on what is trainable; vectors (biases, layer norms) do not decay."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.dim() >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=learning_rate, fused=True)


def make_schedule(optimiser: torch.optim.Optimizer, steps: int, warmup_share: float) -> torch.optim.lr_scheduler.LambdaLR:
    """Return a schedule, to be stepped with the optimiser: linear warm-up over a share of the steps, then linear decay to zero."""
    warmup = max(1, round(steps * warmup_share))

    def factor(step: int) -> float:
        return (step + 1) / warmup if step < warmup else max(0.0, (steps - step) / max(1, steps - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimiser, factor)


def run_facts(threads: int) -> dict:
    """Return what may change the last digits of a result: versions, device, precision, threads."""
    return {
        "versions": {
            "muattack": __version__,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            "safetensors": safetensors.__version__,
        },
        "device": "cpu",
        "dtype": "float32",
        "threads": threads,
    }
