"""Each operator on its own: how many of its mutants a detector takes for human text (the mutation score)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from muattack.errors import InputError
from muattack.evaluate.intervals import clustered_shares
from muattack.evaluate.metrics import read_scores
from muattack.records import read_records

COLUMNS = [
    "operator", "set", "word", "detector", "mutants", "images", "fooled", "fooled_low", "fooled_high", "missed_before", "detected_before",
    "flipped", "flipped_low", "flipped_high",
]  # fmt: skip


def count_operators(captions: pd.DataFrame, operators: str | Path, scores: Mapping[str, str | Path], settings: Mapping) -> pd.DataFrame:
    """Count for each operator and detector the mutants that the detector takes for human text; the worst operators come first.

    `operators` is mutants/operators.parquet (one mutant for each machine text and operator that changes it). Columns: mutants
    and images (n), fooled (share of mutants scored below `settings.threshold`, the mutation score) with interval,
    missed_before (share of the same texts scored below it unmutated), detected_before (count of the others) and flipped
    (share of those that the mutation hides) with interval. Intervals allow for captions of one image being alike.
    Rows are ordered by the operator's fooled share on `finetune` (or the first detector), larger n first among equals.
    """
    pairs = read_records(operators, columns=["id", "operator", "set", "word"]).sort_values(["operator", "id"], kind="stable", ignore_index=True)
    image_of = captions.set_index("id").image_id
    names, first, group = np.unique(pairs.operator.to_numpy(dtype=object), return_index=True, return_inverse=True)
    images = pd.factorize(pairs.id.map(image_of), sort=True)[0]
    if (images < 0).any():
        raise InputError(f"{operators} holds a mutant of {pairs.id[images < 0].iloc[0]}, which is no caption of this run. Delete it.")
    frames = []
    for detector, path in scores.items():
        table = read_scores(detector, path)
        places = [
            table.index.get_indexer(pd.MultiIndex.from_arrays([[task] * len(pairs), pairs.id, operator]))
            for task, operator in (("operators", pairs.operator), ("clean", [""] * len(pairs)))
        ]
        for place, what in zip(places, ("mutant", "text"), strict=True):
            if (place < 0).any():
                row = pairs.iloc[int(np.flatnonzero(place < 0)[0])]
                raise InputError(f"Detector {detector} gave {what} {row.id} ({row.operator}) no score, in {path}. Delete it, and it is made anew.")
        below, missed = (table.to_numpy()[place] < settings["threshold"] for place in places)
        fooled = clustered_shares(below, group, len(names), images, settings["confidence"])
        flipped = clustered_shares(below[~missed], group[~missed], len(names), images[~missed], settings["confidence"])
        frame = pd.DataFrame({"operator": names, "set": pairs["set"].to_numpy()[first], "word": pairs.word.to_numpy()[first], "detector": detector})
        frame["mutants"], frame["images"] = fooled["n"], fooled["images"]
        for name, shares in (("fooled", fooled), ("flipped", flipped)):
            frame[name], frame[f"{name}_low"], frame[f"{name}_high"] = shares["share"], shares["low"], shares["high"]
        frame["detected_before"] = flipped["n"]
        frame["missed_before"] = 1 - flipped["n"] / fooled["n"]
        frames.append(frame)
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    worst = frames[list(scores).index("finetune") if "finetune" in scores else 0]
    rank = pd.Series(np.lexsort((worst.operator, -worst.mutants, -worst.fooled)).argsort(kind="stable"), index=worst.operator)
    order = {name: number for number, name in enumerate(scores)}
    table = pd.concat(frames, ignore_index=True)
    place = np.lexsort((table.detector.map(order), table.operator.map(rank)))
    return table.iloc[place][COLUMNS].reset_index(drop=True)


def count_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Add the operators of each set up: set, detector, applied (operators with a mutant), mutants, fooled (share over mutants)."""
    sums = table.assign(hits=table.fooled * table.mutants).groupby(["set", "detector"], sort=True)
    frame = sums.agg(applied=("operator", "nunique"), mutants=("mutants", "sum"), hits=("hits", "sum")).reset_index()
    return frame.assign(fooled=frame.hits / frame.mutants).drop(columns="hits")
