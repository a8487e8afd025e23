"""Score all test captions and mutants of a run with one detector."""

import os
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from muattack.detect.detector import Detector, TransformersDetector, check_scores, distinct, load_detector
from muattack.detect.features import load_features


def score_captions(
    detector: str | os.PathLike | Detector,
    captions: pd.DataFrame,
    mutants: Mapping[str, str | os.PathLike],
    features: Sequence[str | os.PathLike] | None = None,
) -> tuple[pa.Table, dict]:
    """Return the table (task, id, operator, score, truncated) of a detector, and its meta.

    Task "clean" has every caption of split `test`; each name in `mutants` has one row for each row of its file, in that
    order. `score` is P(machine), `truncated` whether the text is longer than the detector sees. Each distinct text is
    scored once; with a frozen encoder its vector comes from `features` where they hold it.
    """
    if not hasattr(detector, "predict"):
        # The run's texts are normalised already, and what a mutation put in must reach the detector as it is.
        detector = load_detector(detector, mode="none")
    test = captions[captions["split"] == "test"]
    parts = [("clean", test["id"].tolist(), [""] * len(test), test["text"].tolist())]
    for name, path in mutants.items():
        columns = [column for column in ("id", "mutated", "operator") if column in pq.read_schema(path).names]
        table = pq.read_table(path, columns=columns)
        operators = table["operator"].to_pylist() if "operator" in columns else [""] * len(table)
        parts.append((name, table["id"].to_pylist(), operators, table["mutated"].to_pylist()))
    unique, inverse = distinct([text for *_, texts in parts for text in texts])
    scores, truncated, cached = _score(detector, unique, features)
    table = pa.table(
        {
            "task": pa.array([name for name, ids, *_ in parts for _ in ids], type=pa.string()),
            "id": pa.array([one for _, ids, *_ in parts for one in ids], type=pa.string()),
            "operator": pa.array([one for _, _, operators, _ in parts for one in operators], type=pa.string()),
            "score": pa.array(scores[inverse], type=pa.float64()),
            "truncated": pa.array(truncated[inverse], type=pa.bool_()),
        }
    )
    meta = {
        "rows": len(table),
        "distinct_texts": len(unique),
        "from_features": cached,
        "share_truncated": float(truncated[inverse].mean()) if len(table) else 0.0,
        "tasks": {name: len(ids) for name, ids, *_ in parts},
    }
    return table, meta


def score_classes(classifier: str | os.PathLike | Detector, table: pd.DataFrame) -> tuple[pa.Table, dict]:
    """Return the table (id, label, predicted, score, truncated) of a classifier on the split `test` of a data set, and its meta.

    `score` is the probability of the true label, `predicted` the most likely one (of equal ones the first), `truncated` whether the
    text is longer than the classifier sees. meta holds the accuracy. Each distinct text is scored once.
    """
    if not hasattr(classifier, "predict"):
        classifier = load_detector(classifier, mode="none")
    test = table[table["split"] == "test"]
    texts, labels = test["text"].tolist(), test["label"].to_numpy(dtype=np.int8)
    scores, truncated = classifier.judge(texts) if hasattr(classifier, "judge") else (classifier.predict(texts), classifier.truncated(texts))
    predicted = scores.argmax(axis=1).astype(np.int8)
    made = pa.table(
        {
            "id": pa.array(test["id"].tolist(), type=pa.string()),
            "label": labels,
            "predicted": predicted,
            "score": scores[np.arange(len(texts)), labels],
            "truncated": truncated,
        }
    )
    return made, {"rows": len(texts), "accuracy": float((predicted == labels).mean()), "share_truncated": float(truncated.mean())}


def _score(detector: Detector, texts: list[str], features: Sequence[str | os.PathLike] | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Return P(machine) and `truncated` of distinct texts, and how many came from the features."""
    scores, truncated = np.empty(len(texts)), np.zeros(len(texts), dtype=bool)
    rows = np.full(len(texts), -1)
    if features and isinstance(detector, TransformersDetector) and detector.frozen:
        cache = load_features(features)
        if cache.sha256 == detector.encoder_sha256:
            rows = cache.rows(texts)
            known = np.flatnonzero(rows >= 0)
            if len(known):
                scores[known] = check_scores(detector.predict_vectors(cache.vectors[rows[known]]), [texts[i] for i in known], detector.who)[:, -1]
                truncated[known] = cache.truncated[rows[known]]
    missing = np.flatnonzero(rows < 0).tolist()
    if missing:
        rest = [texts[i] for i in missing]
        judged = detector.judge(rest) if isinstance(detector, TransformersDetector) else (detector.predict(rest), detector.truncated(rest))
        scores[missing], truncated[missing] = judged[0][:, -1], judged[1]
    return scores, truncated, len(texts) - len(missing)
