"""What classifiers predict of texts at each severity of corruption, as tables read it. Imports nothing that makes tables: editing those scores nothing anew."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from muattack.errors import InputError


def predictions_table(
    classifier: str, severity: float, ids: Sequence[str], labels: Sequence[int], probabilities: np.ndarray, images: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return a classifier's predictions at one severity as `evaluate.severity.severity_table` reads them.

    `probabilities` is what a detector's `predict` returns (n, classes). Columns: classifier, severity, id, image_id (what is drawn
    together in intervals; the id where there is none), label, predicted (the likeliest class, of equals the last, so that 0.5 is machine)
    and score (of the last class). Raises InputError where a probability is not finite or the shapes differ.
    """
    probabilities = np.asarray(probabilities, float)
    if probabilities.ndim != 2 or probabilities.shape[1] < 2 or not len(ids) == len(labels) == len(probabilities):
        raise InputError(
            f"The predictions of {classifier} at severity {severity:g} have the shape {probabilities.shape} for {len(ids)} texts and {len(labels)} labels, "
            "but must be (texts, classes), two classes at least."
        )
    if not np.isfinite(probabilities).all():
        row = int(np.flatnonzero(~np.isfinite(probabilities).all(axis=1))[0])
        raise InputError(f"{classifier} gave text {ids[row]} at severity {severity:g} a probability that is not finite. Mend the classifier.")
    classes = probabilities.shape[1]
    return pd.DataFrame(
        {
            "classifier": classifier,
            "severity": float(severity),
            "id": list(ids),
            "image_id": list(ids if images is None else images),
            "label": np.asarray(labels, int),
            "predicted": classes - 1 - probabilities[:, ::-1].argmax(axis=1),
            "score": probabilities[:, -1],
        }
    )
