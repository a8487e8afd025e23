"""Optimiser, learning-rate schedule, the step that every way of training ends in, and what meta.json says of a training run."""

import platform
from dataclasses import dataclass, field

import numpy
import safetensors
import tokenizers
import torch
import transformers

from muattack import __version__
from muattack.device import device_name


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


@dataclass
class State:
    """Where training stands. With the seed, this is all that the next epoch depends on: what a state folder has to hold."""

    model: torch.nn.Module
    optimiser: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    clip_norm: float = 1.0
    seed: int = 0
    precision: str = "float32"
    # Of the batch that is being worked on: its share of the texts of a step, how many batches of the step were before it, whether more come.
    part: float = 1.0
    before: int = 0
    more: bool = False
    epoch: int = 0
    history: list[dict] = field(default_factory=list)
    cut: list[float] = field(default_factory=list)
    best_epoch: int = -1
    best_weights: dict[str, torch.Tensor] = field(default_factory=dict)


def batch_loss(feed, state: State, inputs: tuple[torch.Tensor, ...], labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of a batch (float32); the forward pass runs in the precision of training."""
    with torch.autocast(inputs[0].device.type, torch.bfloat16, enabled=state.precision == "bfloat16"):
        logits = feed.forward(state.model, inputs)
    return torch.nn.functional.cross_entropy(logits.float(), labels)


def backward(state: State, loss: torch.Tensor) -> None:
    """Add the gradients of a batch's mean loss to those that lie at the weights, by the batch's share of the step."""
    (loss if state.part == 1 else loss * state.part).backward()


def take_step(state: State) -> None:
    """Clip the gradients that lie at the weights, move the weights by them, clear them; nothing where the step has more batches to come."""
    if state.more:
        return
    torch.nn.utils.clip_grad_norm_([parameter for parameter in state.model.parameters() if parameter.requires_grad], state.clip_norm)
    state.optimiser.step()
    state.schedule.step()
    state.optimiser.zero_grad(set_to_none=True)


def run_facts(threads: int, precision: str = "float32") -> dict:
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
        "device": device_name(),
        "dtype": precision,
        "threads": threads,
    }
