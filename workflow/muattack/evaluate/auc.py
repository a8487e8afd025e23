"""The area under the ROC curve, for jobs that need no more of the evaluation."""

import numpy as np


def auc_value(human: np.ndarray, machine: np.ndarray) -> float:
    """Return the chance that a machine text scores above a human text, ties counting half; NaN if a class is empty."""
    if not len(human) or not len(machine):
        return np.nan
    ordered = np.sort(human)
    return float((np.searchsorted(ordered, machine, "left") + np.searchsorted(ordered, machine, "right")).sum() / 2 / len(human) / len(machine))
