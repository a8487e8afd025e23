"""Batches by token budget: texts of like length together, each batch padded to its own longest text."""

from collections.abc import Sequence

import numpy as np
import torch

# Texts are sorted by length within stretches of about this many batches: short stretches keep the order random,
# long ones save padding.
STRETCH = 16


def cut_by_budget(order: Sequence[int], lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Cut indices, in the order given, into batches with (texts x longest text) <= budget.

    A text longer than the budget makes a batch of its own. Cut where texts are sorted by length, or padding eats the budget.
    """
    batches, batch, longest = [], [], 0
    for index in order:
        grown = max(longest, lengths[index])
        if batch and grown * (len(batch) + 1) > budget:
            batches.append(batch)
            batch, grown = [], lengths[index]
        batch.append(index)
        longest = grown
    return [*batches, batch] if batch else batches


def shuffled_batches(lengths: Sequence[int], budget: int, random: np.random.Generator) -> list[list[int]]:
    """Return all indices once, in random batches of texts of like length with (texts x longest text) <= budget."""
    lengths = np.asarray(lengths)
    if not len(lengths):
        return []
    order = random.permutation(len(lengths))
    stretch = max(1, int(STRETCH * budget / max(1.0, lengths.mean())))
    batches = []
    for start in range(0, len(order), stretch):
        part = order[start : start + stretch]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches.extend(cut_by_budget(part.tolist(), lengths.tolist(), budget))
    return [batches[index] for index in random.permutation(len(batches))]


def in_steps(batches: Sequence[list[int]], texts: int | None) -> list[tuple[list[int], float, int, bool]]:
    """Return the batches in their order, each with its share of the texts of its step, how many of the step were before it, and whether more come.

    A step takes batches until it has `texts` texts or more (null: one batch); the last one of an epoch takes what is left.
    """
    steps: list[list[list[int]]] = []
    for batch in batches:
        if steps and texts and sum(map(len, steps[-1])) < texts:
            steps[-1].append(batch)
        else:
            steps.append([batch])
    return [(batch, len(batch) / sum(map(len, step)), number, number + 1 < len(step)) for step in steps for number, batch in enumerate(step)]


def pad(
    sequences: Sequence[Sequence[int]], pad_id: int, length: int | None = None, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids (n, longest) and the attention mask on `device`, padded on the right to `length` or to the longest sequence."""
    longest = length or max(map(len, sequences))
    ids = np.full((len(sequences), longest), pad_id, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return to_device(torch.from_numpy(ids), device), to_device(torch.from_numpy(mask), device)


def to_device(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """Return a tensor on `device`; to a GPU through pinned memory, so that the processor does not wait for the copy."""
    if device is not None and device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
