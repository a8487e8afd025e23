"""Detectors that exist: how an entry of the configuration with `use` is opened, and what of it stands in a run's folder."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from muattack.data.captions import normalise
from muattack.detect.detector import DESCRIPTION, Detector, distinct, load_detector
from muattack.records import sha256, write_json
from muattack.results import detector_kind


class Prepared:
    """A detector that sees every text only after it went through `prepare`."""

    def __init__(self, detector: Detector, prepare: Callable[[str], str]) -> None:
        self.detector, self.prepare = detector, prepare

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, classes) of the texts as they are prepared, P(machine) last."""
        return self.detector.predict(self._prepared(texts))

    def truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return which prepared texts are longer than the detector sees (n, bool)."""
        return self.detector.truncated(self._prepared(texts))

    def _prepared(self, texts: Sequence[str]) -> list[str]:
        unique, inverse = distinct(texts)
        prepared = [self.prepare(text) for text in unique]
        return [prepared[place] for place in inverse]


def open_entry(entry: Mapping) -> Detector:
    """Open a detector by its entry: `use`, and what stands beside it (labels, max_length, normalise). Raises InputError.

    Texts are normalised as the entry says; where it says nothing, as a folder of ours was trained.
    """
    mode = entry.get("normalise")
    detector = load_detector(entry["use"], entry.get("labels"), entry.get("max_length"), mode)
    if mode in (None, "none") or detector_kind(entry["use"]) == "model":
        return detector
    return Prepared(detector, lambda text: normalise(text, mode))


def write_opened(folder: str | os.PathLike, entry: Mapping, files: Iterable[str | os.PathLike]) -> None:
    """Write the folder of a detector that is opened: its entry, and the SHA-256 of each file that it depends on.

    A function is imported at once, so that a misspelt name is told before anything is scored.
    """
    if detector_kind(entry["use"]) == "function":
        load_detector(entry["use"])
    Path(folder).mkdir(parents=True, exist_ok=True)
    sums = {Path(path).name: sha256(path) for path in files if Path(path).is_file()}
    write_json(Path(folder) / DESCRIPTION, {"opened": dict(entry), "labels": ["human", "machine"], "sha256": sums})
