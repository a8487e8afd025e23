"""Accuracy and AUC of classifiers on texts corrupted at several severities, each with n and an interval. Source: corrupted-text.

Severity 0 is the texts as they are. Every classifier sees the same texts at every severity, so each severity is also compared with 0 pair
by pair, and all AUCs come from the same resamples.
"""

import numpy as np
import pandas as pd

from muattack.errors import InputError
from muattack.evaluate.attacks import difference_interval, share_interval
from muattack.evaluate.intervals import Resamples, percentile_interval, resample_images
from muattack.evaluate.metrics import HumanSide

KEYS = ("classifier", "severity", "id")
COLUMNS = ["dataset", "classifier", "severity", "metric", "n", "value", "low", "high", "published", "note"]
METRICS = ("accuracy", "accuracy_change", "auc")
# Accuracy that the source prints by severity; facts to be laid beside a run's own, never targets.
PUBLISHED = {"imdb": {0.0: 0.87, 0.1: 0.81, 0.3: 0.78, 0.5: 0.75, 0.7: 0.71, 0.9: 0.66, 1.0: 0.64}}
SOURCE = (
    "Published: the page of *corrupted-text*, to the whole per cent; a small transformer on IMDB reviews, synonyms from WordNet, base fitted on its training and test reviews. "
    "n is not stated there. Classifier, training rows, number of test reviews and synonyms may differ from ours: they show the course to expect, and nothing is tuned to them."
)


def published_accuracy(dataset: str, severity: float) -> float | None:
    """Return the accuracy that the source prints for a data set, by its name (imdb, IMDB), and a severity; None where it prints none."""
    key = "".join(letter for letter in dataset.lower() if letter.isalnum())
    return PUBLISHED.get(key, {}).get(round(float(severity), 6))


def severity_table(predictions: pd.DataFrame, dataset: str = "", confidence: float = 0.95, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return accuracy, its change from severity 0 and, for two classes, AUC by classifier and severity (COLUMNS, one row a metric).

    `predictions` holds the rows of `evaluate.predictions.predictions_table` for all classifiers and severities. n counts texts. Accuracy has Wilson's
    interval, at the effective number of texts where several share an image_id; its change Newcombe's for paired shares; AUC (class 1
    above class 0) percentiles of a bootstrap over image_ids. What is undefined is NaN with a note. Raises InputError for missing or
    repeated rows, severities that see other texts or labels than the others, and scores that are not finite.
    """
    frame = _checked(predictions)
    classes = max(int(frame["label"].max()), int(frame["predicted"].max())) + 1
    draws = resample_images(frame["image_id"], resamples, seed) if classes == 2 else None
    rows = []
    for classifier, own in frame.groupby("classifier", sort=False):
        parts = {severity: part.sort_values("id", kind="stable") for severity, part in own.groupby("severity")}
        clean = parts.get(0.0)
        for severity, part in parts.items():
            hit, image = _hit(part), part["image_id"].to_numpy(dtype=object)
            about = {"dataset": dataset, "classifier": classifier, "severity": severity, "n": len(part), "published": np.nan, "note": ""}
            value, low, high = share_interval(hit, image, confidence)
            known = published_accuracy(dataset, severity)
            rows.append(about | {"metric": "accuracy", "value": value, "low": low, "high": high, "published": np.nan if known is None else known})
            if clean is not None and severity > 0:
                value, low, high = difference_interval(hit, _hit(clean), image, confidence)
                rows.append(about | {"metric": "accuracy_change", "value": value, "low": low, "high": high})
            if draws is not None:
                value, low, high, note = _auc(part, draws, confidence)
                rows.append(about | {"metric": "auc", "value": value, "low": low, "high": high, "note": note})
    return pd.DataFrame(rows, columns=COLUMNS)


def _hit(part: pd.DataFrame) -> np.ndarray:
    return part["label"].to_numpy() == part["predicted"].to_numpy()


def _auc(part: pd.DataFrame, draws: Resamples, confidence: float) -> tuple[float, float, float, str]:
    """Return AUC, its interval and a note; NaN where a class is empty, no interval for a single image."""
    positive, scores = part["label"].to_numpy() == 1, part["score"].to_numpy(float)
    at = draws.positions(part["image_id"])
    if positive.all() or not positive.any():
        return np.nan, np.nan, np.nan, "texts of one class only: undefined"
    side = HumanSide(scores[~positive], at[~positive], draws, {"threshold": 0.5, "fpr": 0.05})
    estimate, values = side.against(scores[positive], at[positive])
    if len(draws.images) < 2:
        return estimate["auc"], np.nan, np.nan, "texts of one image only: no interval"
    return estimate["auc"], *percentile_interval(values["auc"], estimate["auc"], confidence), ""


def _checked(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions with an image_id; raise InputError where they cannot be compared."""
    needed = [*KEYS, "label", "predicted", "score"]
    lacking = [column for column in needed if column not in predictions.columns]
    if lacking:
        raise InputError(
            f"The predictions lack the column {', '.join(lacking)}. They need {', '.join(needed)}; evaluate.predictions.predictions_table makes them."
        )
    if predictions.empty:
        raise InputError("There are no predictions to tabulate. Score the texts of at least one severity.")
    frame = predictions if "image_id" in predictions.columns else predictions.assign(image_id=predictions["id"])
    frame = frame.assign(severity=frame["severity"].astype(float), id=frame["id"].astype(str), image_id=frame["image_id"].astype(str))
    bad = frame[~frame["severity"].between(0, 1)]
    if len(bad):
        raise InputError(f"Predictions of {bad['classifier'].iloc[0]} are at severity {bad['severity'].iloc[0]:g}. A severity is from 0 to 1.")
    bad = frame[~np.isfinite(frame["score"].to_numpy(float))]
    if len(bad):
        raise InputError(f"{bad['classifier'].iloc[0]} has no finite score for text {bad['id'].iloc[0]} at severity {bad['severity'].iloc[0]:g}.")
    bad = frame[frame.duplicated(list(KEYS))]
    if len(bad):
        raise InputError(
            f"{bad['classifier'].iloc[0]} predicts text {bad['id'].iloc[0]} at severity {bad['severity'].iloc[0]:g} twice. Give each once."
        )
    texts = frame.drop_duplicates("id").set_index("id")[["label", "image_id"]]
    for (classifier, severity), part in frame.groupby(["classifier", "severity"], sort=False):
        missing = texts.index.difference(part["id"])
        if len(missing):
            raise InputError(
                f"{classifier} has no prediction for text {missing[0]} at severity {severity:g} ({len(missing)} are missing), but another severity or classifier has. "
                "All are compared on the same texts: score them all."
            )
        own = part.set_index("id")[["label", "image_id"]].loc[texts.index]
        differs = (own != texts).any(axis=1)
        if differs.any():
            raise InputError(
                f"Text {own.index[differs.to_numpy()][0]} has another label or image_id at severity {severity:g} of {classifier} than elsewhere."
            )
    return frame
