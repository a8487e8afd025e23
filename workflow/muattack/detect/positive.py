"""Open a classifier of the run, of the user's or a function, to score texts by the probability of one class."""

import os
from collections.abc import Callable, Sequence

import numpy as np

from muattack.detect.detector import load_detector
from muattack.errors import InputError

Predict = Callable[[Sequence[str]], np.ndarray]


def open_positive(spec: str | os.PathLike, labels: Sequence[str] | None = None, positive: str | None = None) -> tuple[Predict, Predict]:
    """Return texts -> probability of the class `positive` (n), and texts -> which are longer than the classifier sees (n, bool).

    spec: the folder of a detector or classifier that a run trained (its labels are known), of a sequence classifier in Hugging Face
    format or its hub id (with `labels`, its classes in order), or module:function, whose last column counts. positive: one of the classes, by
    default the last. Raises InputError.
    """
    if labels is None:
        detector = load_detector(spec, mode="none")
    else:
        # The detector protocol knows the outputs of a foreign classifier of two classes only where one is called machine.
        detector = load_detector(spec, ["machine" if label == positive else f"other {number}" for number, label in enumerate(labels)], mode="none")
    column = -1
    # A function, or what stands before a model, has no classes by name: its last column counts.
    if hasattr(detector, "labels"):
        names = list(detector.labels if labels is None else labels)
        if positive is not None and positive not in names:
            raise InputError(f"The classifier {spec} has no class `{positive}`; it knows {', '.join(names)}. Name one of them.")
        # The protocol may have put another column last.
        column = detector.columns.index(len(names) - 1 if positive is None else names.index(positive))
    return lambda texts: detector.predict(list(texts))[:, column], lambda texts: detector.truncated(list(texts))
