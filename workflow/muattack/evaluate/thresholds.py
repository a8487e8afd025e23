"""Accuracy at every decision threshold, clean and perturbed, with AUC_diff, and recall by type of perturbation.

Source: NoisyHate, 5.2 and Figure 4. A text is called positive where its score is strictly above the threshold. The paper's texts are
all positive; here negative ones may be among them. The curve over thresholds from 0 to 1 is a staircase whose area is exact: a positive
text counts with its score, a negative one with 1 - score. AUC_diff is the area of the clean curve less that of the perturbed one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from muattack.errors import InputError
from muattack.evaluate.intervals import clustered_shares, percentile_interval, resample_images, wilson
from muattack.mutate.human import OTHER, TYPES

VERSIONS = ("clean", "perturbed")
OVERALL = "overall"
THRESHOLD, GRID = 0.5, tuple(round(step / 100, 2) for step in range(101))
RESAMPLES = 1000
# AUC_diff as printed below the paper's Figure 4, and recall at 0.5 of clean and perturbed texts as published.
PUBLISHED_AREA = {"Perspective API": 0.0568, "bertweet-offensive": 0.15133, "roberta-offensive": 0.21178}
PUBLISHED_RECALL = {"bertweet-offensive": (0.898, 0.557), "roberta-offensive": (0.916, 0.521)}


def check_pairs(scores: pd.DataFrame, who: str = "the classifier") -> pd.DataFrame:
    """Return scores of pairs with what is missing filled in: label 1, type "", group the id. Raises InputError.

    Wanted columns: id, clean, perturbed (scores between 0 and 1, P(positive)); optional: label (1 or 0), type, and group, which texts
    are no independent observations (one clean word's, say).
    """
    for column in ("id", *VERSIONS):
        if column not in scores:
            raise InputError(
                f"The scores of {who} have no column {column}; they have {', '.join(map(str, scores.columns))}. Give id, clean and perturbed."
            )
    if not len(scores):
        raise InputError(f"There are no scores of {who}. Give one pair at least.")
    if scores["id"].duplicated().any():
        raise InputError(f"The scores of {who} hold the pair {scores['id'][scores['id'].duplicated()].iloc[0]} twice. Give each once.")
    scores = scores.assign(**{key: value for key, value in (("label", 1), ("type", ""), ("group", scores["id"])) if key not in scores})
    for version in VERSIONS:
        values = scores[version].to_numpy(np.float64, na_value=np.nan)
        bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if len(bad):
            raise InputError(
                f"The {version} score of {who} for the pair {scores['id'].iloc[bad[0]]} is {values[bad[0]]}. Thresholds go from 0 to 1: give probabilities of the positive class."
            )
    labels = scores["label"].to_numpy(np.float64, na_value=np.nan)
    if not np.isin(labels, (0, 1)).all():
        raise InputError(
            f"A label of the pairs that {who} scored is neither 1 (positive) nor 0: {scores['label'][~np.isin(labels, (0, 1))].iloc[0]}."
        )
    return scores


def curves(scores: pd.DataFrame, grid: Sequence[float] = GRID, confidence: float = 0.95, who: str = "the classifier") -> pd.DataFrame:
    """Return accuracy at each threshold of the grid: version, threshold, n, value, low, high (Wilson's interval).

    scores: see `check_pairs`. Pairs count as independent here: the band says how sure one point is, `areas` compares the curves.
    """
    scores = check_pairs(scores, who)
    positive = scores["label"].to_numpy(np.int64) == 1
    parts = []
    for version in VERSIONS:
        right = (scores[version].to_numpy(np.float64)[:, None] > np.asarray(grid)[None, :]) == positive[:, None]
        value = right.mean(axis=0)
        low, high = wilson(value, np.full(len(grid), len(scores)), confidence)
        parts.append(pd.DataFrame({"version": version, "threshold": grid, "n": len(scores), "value": value, "low": low, "high": high}))
    return pd.concat(parts, ignore_index=True)


def areas(scores: pd.DataFrame, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95, who: str = "the classifier") -> pd.DataFrame:
    """Return the area under each curve and AUC_diff, exact, with intervals by bootstrap over groups: measure, n, value, low, high.

    The rows are clean, perturbed and AUC_diff. A resample holds both texts of a pair, so the difference is a paired one.
    """
    scores = check_pairs(scores, who)
    positive = scores["label"].to_numpy(np.int64) == 1
    shares = {version: np.where(positive, values := scores[version].to_numpy(np.float64), 1 - values) for version in VERSIONS}
    shares["AUC_diff"] = shares["clean"] - shares["perturbed"]
    drawn = resample_images(scores["group"].astype(str), resamples, seed)
    where = drawn.positions(scores["group"].astype(str))
    sizes = drawn.totals(where)
    rows = []
    for measure, each in shares.items():
        value = float(each.mean())
        rows.append((measure, len(scores), value, *percentile_interval(drawn.totals(where, each) / sizes, value, confidence)))
    return pd.DataFrame(rows, columns=["measure", "n", "value", "low", "high"])


def recall_by_type(scores: pd.DataFrame, threshold: float = THRESHOLD, confidence: float = 0.95, who: str = "the classifier") -> pd.DataFrame:
    """Return the recall of positive pairs by type of perturbation and overall: type, version, threshold, n, value, low, high.

    Types come in the paper's order, then others by name, then overall. The clean rows of a type are the clean texts of its pairs.
    Intervals take a group for a cluster.
    """
    scores = check_pairs(scores, who)
    scores = scores[scores["label"].to_numpy(np.int64) == 1]
    present = set(scores["type"])
    kinds = [kind for kind in (*TYPES, OTHER) if kind in present] + sorted(present - {*TYPES, OTHER, ""})
    cluster = np.unique(scores["group"].to_numpy(str), return_inverse=True)[1]
    rows = []
    for kind in [*kinds, OVERALL]:
        of_kind = np.ones(len(scores), bool) if kind == OVERALL else (scores["type"] == kind).to_numpy(bool)
        for version in VERSIONS:
            hit = scores[version].to_numpy(np.float64)[of_kind] > threshold
            found = clustered_shares(hit, np.zeros(len(hit), np.int64), 1, cluster[of_kind], confidence)
            rows.append((kind, version, threshold, *(found[key][0] for key in ("n", "share", "low", "high"))))
    return pd.DataFrame(rows, columns=["type", "version", "threshold", "n", "value", "low", "high"])


def score_pairs(pairs: pd.DataFrame, predict, texts: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return `check_pairs`' table for pairs of texts: id, clean, perturbed (scores), and label, type and word (as group) where the pairs have them.

    pairs: what `noisyhate.read_pairs` or `human.perturb` returns; `texts` names the columns of the clean and the perturbed text, by default
    those of the former. predict: texts -> scores (n) or probabilities (n, classes), the last column being the positive class, as a
    detector's `predict`. Every distinct text is scored once.
    """
    columns = {"clean": "clean", "perturbed": "perturbed", **(texts or {})}
    unique = sorted(set(pairs[columns["clean"]]) | set(pairs[columns["perturbed"]]))
    values = np.asarray(predict(unique), dtype=np.float64)
    values = values[:, -1] if values.ndim == 2 else values
    if values.shape != (len(unique),):
        raise InputError(
            f"The classifier returned scores of shape {values.shape} for {len(unique)} texts. It must return one score a text, or (texts, classes)."
        )
    score = dict(zip(unique, values, strict=True))
    out = pd.DataFrame({"id": pairs["id"], **{version: [score[text] for text in pairs[columns[version]]] for version in VERSIONS}})
    extra = {"label": "label", "type": "type", "group": "word"}
    return check_pairs(out.assign(**{name: pairs[column].to_numpy() for name, column in extra.items() if column in pairs}))
