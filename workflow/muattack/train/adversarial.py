"""Adversarial training on word embeddings: PGD-K and FreeLB, bounded by a norm, and their forms without a bound.

A perturbation delta is added to the word embeddings of a batch and climbs the loss for `steps` steps (Eq. 3 of "Searching for
an Effective Defender", arXiv 2108.12777):

    delta <- P(delta + step_size * g / ||g||)        g = gradient of the loss with respect to delta

Norms are Frobenius norms over one whole text. P scales a text's delta back to `max_norm` where it is longer; the ++ forms have
no P. FreeLB takes the mean gradient of the weights over `steps` passes, the first of them at the initial delta; PGD-K climbs
`steps` times without touching the weights, dropout off, and takes the gradient at the last delta only. Padding is never perturbed, and
nothing that a text meets depends on how far it is padded.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch

from muattack.detect.encoder import shifted_embeddings
from muattack.errors import InputError
from muattack.seeds import digest
from muattack.train.optimise import State, backward, batch_loss, take_step

# Whether a method keeps to `max_norm`.
BOUNDED = {"pgd_k": True, "freelb": True, "pgd_kpp": False, "freelb_pp": False}
LENGTHS = ("step_size", "initial_magnitude", "max_norm")


def embedding_norm(model: torch.nn.Module, tokenizer) -> float:
    """Return the mean L2 norm of the encoder's word embeddings, special tokens left out."""
    weight = model.body.get_input_embeddings().weight.detach()[: len(tokenizer)]
    words = torch.ones(len(weight), dtype=torch.bool)
    words[[token for token in tokenizer.all_special_ids if token < len(weight)]] = False
    return torch.linalg.vector_norm(weight[words.to(weight.device)].double(), dim=1).mean().item()


def resolve(settings: Mapping, norm: float) -> dict:
    """Return method, steps and the three lengths in absolute terms; `norm` is the mean norm of the word embeddings.

    `max_norm` is null for the forms without a bound. Raises InputError for an unknown method or unit and for a setting that is
    missing or out of its range.
    """
    method = settings.get("method")
    if method not in BOUNDED:
        raise InputError(
            f"The method of adversarial training is {method!r}, but must be one of {', '.join(BOUNDED)}. Write `adversarial: {{method: freelb_pp}}`."
        )
    unit = settings.get("unit", "absolute")
    if unit not in ("absolute", "embedding_norm"):
        raise InputError(f"training.adversarial.unit is {unit!r}, but must be absolute or embedding_norm.")
    needed = LENGTHS if BOUNDED[method] else LENGTHS[:2]
    for key in ("steps", *needed):
        value, least = settings.get(key), {"steps": "at least 1", "max_norm": "more than 0"}.get(key, "at least 0")
        if isinstance(value, bool) or not isinstance(value, int if key == "steps" else int | float):
            raise InputError(f"training.adversarial.{key} is {value!r}, but the method {method} needs a number of {least}.")
        if not (value >= 1 if key == "steps" else 0 < value < float("inf") if key == "max_norm" else 0 <= value < float("inf")):
            raise InputError(f"training.adversarial.{key} is {value}, but must be a number of {least}.")
    factor = norm if unit == "embedding_norm" else 1.0
    return {"method": method, "steps": settings["steps"], "max_norm": None} | {key: settings[key] * factor for key in needed}


def adversarial_facts(settings: Mapping, norm: float) -> dict:
    """Return what meta.json says of an adversarial training: the three lengths as they are and in units of the word embeddings' mean norm."""
    resolved = resolve(settings, norm)
    lengths = {key: None if resolved[key] is None else {"absolute": resolved[key], "relative": resolved[key] / norm} for key in LENGTHS}
    return {"method": resolved["method"], "steps": resolved["steps"], "unit": settings.get("unit", "absolute"), "embedding_norm": norm, **lengths}


# --- One perturbation a text ------------------------------------------------------------------------------------------


def by_text(values: torch.Tensor) -> torch.Tensor:
    """Return the Frobenius norm of each text's block of (n, length, width) as (n, 1, 1)."""
    return torch.linalg.vector_norm(values.flatten(1), dim=1)[:, None, None]


def project(delta: torch.Tensor, max_norm: float | None) -> torch.Tensor:
    """Scale each text's perturbation (n, length, width) down to `max_norm` where it is longer; null: leave it."""
    if max_norm is None:
        return delta
    # A factor of exactly 1 leaves the shorter ones as they are to the bit; a text without a perturbation divides by zero and keeps its factor.
    return delta * (max_norm / by_text(delta)).clamp(max=1)


def initial_perturbation(mask: torch.Tensor, width: int, magnitude: float, random: torch.Generator) -> torch.Tensor:
    """Return delta_0 (n, length, width; float32): uniform on (-1, 1) times magnitude / sqrt(tokens of that text x width), zero on padding.

    Numbers are drawn for real tokens only, so that padding does not shift them.
    """
    real = mask.bool()
    delta = torch.zeros(*mask.shape, width, device=mask.device)
    delta[real] = torch.empty(int(real.sum()), width).uniform_(-1, 1, generator=random).to(mask.device)
    tokens = mask.sum(1).clamp(min=1)
    return delta * (magnitude / (tokens * width).sqrt())[:, None, None]


def climb(delta: torch.Tensor, gradient: torch.Tensor, step_size: float, max_norm: float | None) -> torch.Tensor:
    """Return delta after one ascent step of Eq. 3 (n, length, width); a text without a gradient stays where it is."""
    norm = by_text(gradient)
    return project(torch.addcmul(delta, gradient, torch.where(norm > 0, step_size / norm, 0.0)), max_norm)


# --- Steps of training ------------------------------------------------------------------------------------------------


def make_step(settings: Mapping, norm: float = 1.0) -> Callable[..., float]:
    """Return the adversarial `step` for `muattack.train.loop.fit`: (feed, state, inputs, labels) -> mean loss.

    `settings` is training.adversarial with a detector's `adversarial` laid over it, `norm` the mean norm of the encoder's word
    embeddings, which the lengths count in where `unit` is embedding_norm. The feed must give tokens (ids and mask). The loss
    returned is the one that the weights are moved by: FreeLB's mean over its passes, PGD-K's at the last perturbation.
    """
    resolved = resolve(settings, norm)
    step = freelb_step if resolved["method"].startswith("freelb") else pgd_step

    def take(feed, state: State, inputs: tuple[torch.Tensor, ...], labels: torch.Tensor) -> float:
        return step(feed, state, inputs, labels, resolved)

    return take


def first_perturbation(state: State, mask: torch.Tensor, lengths: Mapping) -> torch.Tensor:
    """Return delta_0 of a batch; its draw depends on the run's seed and the number of steps taken, and leaves dropout's draws alone."""
    # The batches of one step draw their own.
    place = [state.schedule.last_epoch, *([state.before] if state.before else [])]
    random = torch.Generator().manual_seed(digest(state.seed, "perturbation", *place))
    width = state.model.body.get_input_embeddings().weight.shape[1]
    return project(initial_perturbation(mask, width, lengths["initial_magnitude"], random), lengths["max_norm"])


def perturbed_loss(feed, state: State, inputs: tuple[torch.Tensor, ...], labels: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of a batch whose word embeddings are shifted by delta."""
    with shifted_embeddings(state.model, delta):
        return batch_loss(feed, state, inputs, labels)


@contextmanager
def held(model: torch.nn.Module) -> Iterator[None]:
    """Inside the block no gradients of weights are recorded and dropout is off: delta climbs the loss of the network as it will be used.

    With dropout each ascent would follow another thinned network, at the price of its draws.
    """
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    modules = [module for module in model.modules() if module.training]
    for weight in weights:
        weight.requires_grad_(False)
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)
        for module in modules:
            module.training = True


def freelb_step(feed, state: State, inputs: tuple[torch.Tensor, ...], labels: torch.Tensor, lengths: Mapping) -> float:
    """Take one optimiser step on the mean of the gradients at `steps` perturbations; each pass also gives the ascent to the next."""
    steps = lengths["steps"]
    delta = first_perturbation(state, inputs[1], lengths)
    total = 0.0
    for number in range(1, steps + 1):
        # What the last pass would climb to is seen by nobody.
        delta.requires_grad_(number < steps)
        loss = perturbed_loss(feed, state, inputs, labels, delta) / steps
        backward(state, loss)
        total += loss.item()
        if number < steps:
            delta = climb(delta.detach(), delta.grad, lengths["step_size"], lengths["max_norm"])
    take_step(state)
    return total


def pgd_step(feed, state: State, inputs: tuple[torch.Tensor, ...], labels: torch.Tensor, lengths: Mapping) -> float:
    """Climb `steps` times with the weights held, then take one optimiser step at the last perturbation."""
    delta = first_perturbation(state, inputs[1], lengths)
    with held(state.model):
        for _ in range(lengths["steps"]):
            delta.requires_grad_(True)
            (gradient,) = torch.autograd.grad(perturbed_loss(feed, state, inputs, labels, delta), delta)
            delta = climb(delta.detach(), gradient, lengths["step_size"], lengths["max_norm"])
    loss = perturbed_loss(feed, state, inputs, labels, delta)
    backward(state, loss)
    take_step(state)
    return loss.item()
