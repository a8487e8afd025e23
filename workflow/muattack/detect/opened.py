"""Detectors that exist: how an entry of the configuration with `use` is opened, and what of it stands in a run's folder."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from muattack.data.captions import normalise
from muattack.detect.detector import DESCRIPTION, Detector, TransformersDetector, distinct, load_detector
from muattack.detect.encoder import of_the_run
from muattack.records import sha256, write_json
from muattack.results import detector_kind

if TYPE_CHECKING:
    from muattack.detect.zero_shot import ZeroShotDetector


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


def open_entry(entry: Mapping, folder: str | os.PathLike | None = None) -> Detector:
    """Open a detector by its entry: `use`, and what stands beside it (labels, max_length, normalise; measure, reference, calibration; endpoint;
    defend).

    `folder` is the detector's in the run, results/{run}/detectors/{name}: what an endpoint says is kept in results/{run}/state/endpoints. Texts are normalised as the entry says; where it says nothing, as a folder of ours was trained. Raises InputError.
    """
    mode = entry.get("normalise")
    if "measure" in entry:
        detector = _zero_shot(entry)
    elif detector_kind(entry["use"]) == "endpoint":
        # Imported here, as what zero-shot detectors need: no other detector needs it.
        from muattack.detect.endpoint import EndpointDetector

        kept = Path(folder).parents[1] / "state" / "endpoints" if folder is not None else None
        detector = EndpointDetector(entry["use"], kept, **entry.get("endpoint", {}))
    else:
        detector = load_detector(entry["use"], entry.get("labels"), entry.get("max_length"), mode)
    if not isinstance(detector, TransformersDetector) and mode not in (None, "none"):
        detector = Prepared(detector, lambda text: normalise(text, mode))
    return defended(detector, entry["defend"]) if entry.get("defend") else detector


def defended(detector: Detector, names: Sequence[str]) -> Prepared:
    """Return the detector behind normalisers (names of muattack.mutate.normaliser_names.OFFLINE) that every text passes in this order."""
    from muattack.mutate.normalise_text import make_normaliser

    steps = [make_normaliser(name).text for name in names]

    def prepare(text: str) -> str:
        for step in steps:
            text = step(text).text
        return text

    return Prepared(detector, prepare)


def _zero_shot(entry: Mapping) -> "ZeroShotDetector":
    from muattack.detect.zero_shot import ZeroShotDetector

    return ZeroShotDetector(entry["measure"], entry["use"], entry.get("reference"), entry.get("max_length"), entry.get("calibration"))


def write_opened(folder: str | os.PathLike, entry: Mapping, files: Iterable[str | os.PathLike], captions: pd.DataFrame | None = None) -> None:
    """Write the folder of a detector that is opened: its entry, and the SHA-256 of each file that it depends on.

    A function is imported at once, and an endpoint's key looked up, so that what is misspelt is told before anything is scored. A zero-shot detector is calibrated on the validation
    split of `captions`, the second captioner's left out. Raises InputError.
    """
    entry = dict(entry)
    if detector_kind(entry["use"]) in ("function", "endpoint"):
        open_entry(entry)
    if "measure" in entry:
        shown = of_the_run(captions[captions["split"] == "val"])
        texts = [normalise(text, entry.get("normalise", "none")) for text in shown["text"]]
        entry["calibration"] = _zero_shot(entry).calibrate(texts, shown["label"])
    Path(folder).mkdir(parents=True, exist_ok=True)
    found = [Path(path) for path in files if Path(path).is_file()]
    # Two models have files of the same names.
    several = len({path.parent for path in found}) > 1
    sums = {f"{path.parent.name}/{path.name}" if several else path.name: sha256(path) for path in found}
    write_json(Path(folder) / DESCRIPTION, {"opened": entry, "labels": ["human", "machine"], "sha256": sums})
