"""How many perturbed words normalisers restore, by type and overall, with the published figures beside. Source: NoisyHate, 5.1, Table 3.

A word counts as restored where the normaliser's answer, in small letters, is the clean word: the paper lowers it before comparing. Pairs
of one clean word are no independent observations (they share its neighbours among the known words), so intervals take the clean word for a cluster.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from muattack.evaluate.intervals import clustered_shares
from muattack.mutate.human import OTHER, TYPES
from muattack.mutate.normalise_text import Normaliser
from muattack.mutate.operator import fold
from muattack.progress import progress

OVERALL = "overall"
SOURCE = "NoisyHate, Table 3"
# Accuracy of the published normalisers by type and overall, on 1,339 pairs; no intervals and no n by type were printed.
PUBLISHED: dict[str, dict[str, float]] = {
    name: dict(zip((*TYPES, OVERALL), values, strict=True))
    for name, values in {
        "Google SerpApi": (0.698, 0.751, 0.322, 0.934, 0.954, 0.755),
        "Bing API": (0.406, 0.533, 0.426, 0.943, 0.963, 0.633),
        "pyspellchecker": (0.544, 0.480, 0.809, 0.948, 0.954, 0.728),
        "NeuSpell": (0.294, 0.550, 0.448, 0.867, 0.931, 0.583),
    }.items()
}
# Our name of a normaliser and that of its published row.
COUNTERPART = {"pyspellchecker": "pyspellchecker", "serpapi": "Google SerpApi"}
COLUMNS = ["normaliser", "type", "n", "words", "value", "low", "high", "published"]


def restore(pairs: pd.DataFrame, normalisers: Sequence[Normaliser]) -> pd.DataFrame:
    """Return what every normaliser makes of every pair's form.

    pairs: id, word, form, type (see `noisyhate.read_pairs`). The table has id, word, form, type, normaliser, restored (its answer) and
    hit (whether that is the clean word). Equal forms are asked for once.
    """
    parts = []
    for one in normalisers:
        answers = {form: one.word(form) for form in progress(sorted(set(pairs["form"])), f"forms seen by {one.name}")}
        restored = [answers[form] for form in pairs["form"]]
        hit = [fold(answer) == fold(word) for answer, word in zip(restored, pairs["word"], strict=True)]
        parts.append(pairs[["id", "word", "form", "type"]].assign(normaliser=one.name, restored=restored, hit=hit))
    return pd.concat(parts, ignore_index=True)


def accuracy(restored: pd.DataFrame, confidence: float = 0.95, published: Mapping[str, Mapping[str, float]] = PUBLISHED) -> pd.DataFrame:
    """Return the accuracy of each normaliser by type and overall, the published value beside ours where there is one.

    restored: what `restore` returns. Rows: normaliser in its order, then the five types, OTHER where a form is of none of them, and overall; n
    counts pairs, words distinct clean words. value, low and high are NaN where n is 0, published where nothing was printed. Published
    rows without a counterpart among the normalisers come last, n being 0: their pairs are not ours to count.
    """
    rows = []
    kinds = [*TYPES, *([OTHER] if (restored["type"] == OTHER).any() else [])]
    for name in dict.fromkeys(restored["normaliser"]):
        part = restored[restored["normaliser"] == name]
        clusters = np.unique(part["word"].to_numpy(str), return_inverse=True)[1]
        group = part["type"].map({kind: number for number, kind in enumerate(kinds)}).to_numpy(np.int64)
        by_type = clustered_shares(part["hit"].to_numpy(bool), group, len(kinds), clusters, confidence)
        overall = clustered_shares(part["hit"].to_numpy(bool), np.zeros(len(part), np.int64), 1, clusters, confidence)
        printed = published.get(COUNTERPART.get(name, ""), {})
        for number, kind in enumerate([*kinds, OVERALL]):
            found, at = (overall, 0) if kind == OVERALL else (by_type, number)
            rows.append((name, kind, *(found[key][at] for key in ("n", "images", "share", "low", "high")), printed.get(kind, np.nan)))
    ours = {COUNTERPART.get(name) for name in restored["normaliser"].unique()}
    for name, printed in published.items():
        if name not in ours:
            rows += [(name, kind, 0, 0, np.nan, np.nan, np.nan, value) for kind, value in printed.items()]
    return pd.DataFrame(rows, columns=COLUMNS)
