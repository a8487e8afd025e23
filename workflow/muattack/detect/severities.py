"""Judge corrupted texts of all severities with one detector or classifier."""

import os

import pandas as pd

from muattack.detect.detector import Detector, load_detector
from muattack.evaluate.predictions import predictions_table


def score_severities(detector: str | os.PathLike | Detector, name: str, corrupted: pd.DataFrame) -> tuple[pd.DataFrame, dict]:
    """Return what a detector or classifier predicts of texts at every severity, and its meta.

    `corrupted` has the rows of `severity_sweep` (severity, id, image_id, label, text). The table has the columns of `predictions_table` and `truncated`
    (whether the text is longer than the model sees); meta the accuracy and the share truncated by severity. Each distinct text is scored once.
    """
    if not hasattr(detector, "predict"):
        detector = load_detector(detector, mode="none")
    texts = corrupted["text"].tolist()
    judged = detector.judge(texts) if hasattr(detector, "judge") else (detector.predict(texts), detector.truncated(texts))
    made, by_severity = [], []
    for severity, rows in corrupted.reset_index(drop=True).groupby("severity", sort=False):
        part = predictions_table(name, severity, rows["id"].tolist(), rows["label"].tolist(), judged[0][rows.index], rows["image_id"].tolist())
        part["truncated"] = judged[1][rows.index]
        made.append(part)
        accuracy, cut = (part["label"] == part["predicted"]).mean(), part["truncated"].mean()
        by_severity.append({"severity": float(severity), "texts": len(part), "accuracy": float(accuracy), "share_truncated": float(cut)})
    return pd.concat(made, ignore_index=True), {"classifier": name, "rows": len(corrupted), "severities": by_severity}
