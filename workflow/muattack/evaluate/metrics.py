"""AUC, accuracy and the rate found at few false alarms, each with n and an interval by bootstrap over images.

The machine is the positive class and a higher score means machine, so an AUC below 0.5 says that mutated machine texts look
more human than human texts do. All detectors and tasks see the same resamples of images: differences between two
detectors are paired.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from muattack.errors import InputError
from muattack.evaluate.intervals import Resamples, percentile_interval, resample_images
from muattack.progress import progress
from muattack.records import read_records
from muattack.words import word_spans

CLEAN = "H_vs_M"
DOMAINS = {"in": "machine", "ood": "machine_ood"}
MEASURES = ("auc", "accuracy", "tpr")
COLUMNS = [
    "detector", "domain", "task", "auc", "auc_low", "auc_high", "accuracy", "accuracy_low", "accuracy_high", "n_human", "n_machine", "n_images",
    "n_images_machine", "tpr_at_fpr5", "tpr_low", "tpr_high", "fpr_reached", "threshold_fpr5", "resamples", "seed", "note",
]  # fmt: skip
DIFFERENCE_COLUMNS = [
    "detector_a", "detector_b", "domain", "task", "metric", "difference", "low", "high", "n_human", "n_machine", "n_images", "n_images_machine",
    "resamples", "seed", "note",
]  # fmt: skip
# Texts that a resample gathers at a time: small enough for the processor's cache.
BLOCK = 48


@dataclass(frozen=True)
class Texts:
    """The texts of one task: which rows of the scores to look up, each text's class, source and image."""

    task: str
    source_task: np.ndarray
    id: np.ndarray
    operator: np.ndarray
    source: np.ndarray
    image: np.ndarray
    words: np.ndarray


def allowed_alarms(n: int | np.ndarray, fpr: float) -> int | np.ndarray:
    """Return how many of n human texts may be called machine: the whole part of n times the rate, without rounding errors."""
    rate = Fraction(str(fpr))
    return n * rate.numerator // rate.denominator


def threshold_at_fpr(human: np.ndarray, fpr: float) -> float:
    """Return the exact quantile of human scores above which at most a share `fpr` of them lies.

    It is the smallest human score with that property; a text is called machine when its score is strictly above. With
    ties the reached rate may be well below `fpr`: always report it.
    """
    return float(np.sort(human)[len(human) - 1 - allowed_alarms(len(human), fpr)])


def roc_points(human: np.ndarray, machine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return false and true positive rates over all thresholds, from (0, 0) to (1, 1), corners only; its area is `auc_value`."""
    cuts = np.unique(np.concatenate([human, machine]))[::-1]
    false = np.concatenate([[0], len(human) - np.searchsorted(np.sort(human), cuts, "left")])
    true = np.concatenate([[0], len(machine) - np.searchsorted(np.sort(machine), cuts, "left")])
    # A point between two steps of the same direction adds nothing to the line.
    turn = np.ones(len(false), bool)
    turn[1:-1] = np.diff(false)[:-1] * np.diff(true)[1:] != np.diff(false)[1:] * np.diff(true)[:-1]
    return false[turn] / len(human), true[turn] / len(machine)


def read_scores(detector: str, path: str | Path) -> pd.Series:
    """Read a detector's scores, indexed by (task, id, operator), and check that each is one finite number.

    Raises InputError naming the detector and the row.
    """
    frame = read_records(path, columns=["task", "id", "operator", "score"])
    values = frame.score.to_numpy(dtype=float, na_value=np.nan)
    if not np.isfinite(values).all():
        row = frame.iloc[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise InputError(
            f"Detector {detector} gave the score {row.score} to text {row.id} of task {row.task}"
            f"{f' ({row.operator})' if row.operator else ''}, in {path}. A score is a finite number, higher for machine; "
            f"mend the detector and delete the file."
        )
    index = pd.MultiIndex.from_frame(frame[["task", "id", "operator"]])
    if index.has_duplicates:
        task, text, operator = index[index.duplicated()][0]
        raise InputError(f"Detector {detector} scored text {text} of task {task}{f' ({operator})' if operator else ''} twice, in {path}. Delete it.")
    return pd.Series(values, index=index)


def task_names(mutate: Mapping) -> list[str]:
    """Return H_vs_M, the configured tasks and the single sets, in this order and each once."""
    return list(dict.fromkeys([CLEAN, *mutate["tasks"], *mutate["sets"]]))


def collect_texts(captions: pd.DataFrame, mutants: Mapping[str, str | Path], mutate: Mapping) -> dict[str, Texts]:
    """Work out which texts enter each task.

    H_vs_M holds all test captions. In a mutated task the classes named in `mutate.classes` appear as mutants (with
    `keep: changed` only those a set changed), the other class as it is. Tasks without a file in `mutants` are left out.
    Order of the rows does not matter. Raises InputError when a mutant belongs to no test caption.
    """
    test = captions[captions.split == "test"].sort_values("id", kind="stable")
    index = pd.Index(test.id)
    ids, source, image = (test[name].to_numpy(dtype=object) for name in ("id", "source", "image_id"))
    words = np.fromiter((len(word_spans(text)) for text in test.text), int, len(test))
    sources = {"human": ["human"], "machine": ["machine", "machine_ood"]}
    mutated = np.isin(source, [name for kind in mutate["classes"] for name in sources[kind]])
    texts = {}
    for task in task_names(mutate):
        if task == CLEAN:
            place, source_task, operator = np.arange(len(test)), ["clean"] * len(test), [""] * len(test)
        elif task in mutants:
            individually = mutate["apply"] == "individually"
            frame = read_records(mutants[task], columns=["id", "changed", *(["operator"] if individually else [])])
            place = index.get_indexer(frame.id)
            if (place < 0).any():
                stray = frame.id.iloc[int(np.flatnonzero(place < 0)[0])]
                raise InputError(f"{mutants[task]} holds a mutant of {stray}, which is no test caption of this run. Delete it.")
            keep = mutated[place] & (frame.changed.to_numpy(dtype=bool) | (mutate["keep"] == "all"))
            place, operator = place[keep], frame.operator.to_numpy(dtype=object)[keep] if individually else np.full(keep.sum(), "", dtype=object)
            order = np.lexsort((operator, place)) if individually else np.argsort(place, kind="stable")
            still = np.flatnonzero(~mutated)
            source_task = ["clean"] * len(still) + [task] * len(place)
            place, operator = np.concatenate([still, place[order]]), [""] * len(still) + list(operator[order])
        else:
            continue
        columns = {"source_task": np.array(source_task, dtype=object), "operator": np.array(operator, dtype=object)}
        texts[task] = Texts(task, **columns, id=ids[place], source=source[place], image=image[place], words=words[place])
    return texts


def look_up(scores: pd.Series, texts: Texts, detector: str) -> np.ndarray:
    """Return the detector's score of each text; raises InputError where it gave none."""
    wanted = pd.MultiIndex.from_arrays([texts.source_task, texts.id, texts.operator])
    place = scores.index.get_indexer(wanted)
    if (place < 0).any():
        task, text, operator = wanted[int(np.flatnonzero(place < 0)[0])]
        raise InputError(
            f"Detector {detector} gave text {text} of task {task}{f' ({operator})' if operator else ''} no score. "
            f"Delete scores/{detector}.parquet, and the workflow makes it anew."
        )
    return scores.to_numpy()[place]


class HumanSide:
    """A detector's human scores of one task, ready to be compared with any machine texts in every resample.

    The threshold of the true positive rate belongs to clean human texts: those of `clean`, or these where it is None. The
    rate reached is that of these texts.
    """

    def __init__(self, scores: np.ndarray, positions: np.ndarray, resamples: Resamples, settings: Mapping, clean: "HumanSide | None" = None):
        self.resamples, self.threshold = resamples, settings["threshold"]
        order = np.argsort(scores, kind="stable")
        self.scores, self.n, self.images = scores[order], len(scores), np.unique(positions)
        # For each rank and resample, how many of the drawn texts rank below it.
        self.below = np.zeros((len(scores) + 1, resamples.counts.shape[1]))
        np.cumsum(resamples.counts[positions[order]], axis=0, out=self.below[1:])
        self.right = resamples.totals(positions, scores < self.threshold)
        self.right_now = int((scores < self.threshold).sum())
        if clean is not None:
            self.cut, self.cuts = clean.cut, clean.cuts
        else:
            self.cut = threshold_at_fpr(scores, settings["fpr"]) if self.n else np.nan
            self.cuts = self._resampled_cuts(settings["fpr"])
        self.reached = float((scores > self.cut).mean()) if self.n else np.nan

    def _resampled_cuts(self, fpr: float) -> np.ndarray:
        """Return the threshold of every resample; NaN where it drew no human text."""
        if not self.n:
            return np.full(self.below.shape[1], np.nan)
        # Weights are whole numbers, so the k-th lowest drawn score is the first whose cumulated count reaches k.
        total = self.below[-1].astype(np.int64)
        first = (self.below < total - allowed_alarms(total, fpr)).sum(axis=0)
        return np.where(total > 0, self.scores[np.maximum(first - 1, 0)], np.nan)

    def against(self, machine: np.ndarray, positions: np.ndarray) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Return the three measures against machine texts, and their values in every resample (NaN where a class is empty)."""
        counts = self.resamples.counts
        left, right = np.searchsorted(self.scores, machine, "left"), np.searchsorted(self.scores, machine, "right")
        wins, found = np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
        for start in range(0, len(machine), BLOCK):
            block = slice(start, start + BLOCK)
            drawn = counts[positions[block]]
            wins += np.einsum("jb,jb->b", drawn, self.below[left[block]] + self.below[right[block]])
            found += np.einsum("jb,jb->b", drawn, machine[block, None] > self.cuts)
        humans, machines = self.below[-1], self.resamples.totals(positions)
        right_machine = self.resamples.totals(positions, machine >= self.threshold)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = {"auc": wins / 2 / humans / machines, "accuracy": (self.right + right_machine) / (humans + machines), "tpr": found / machines}
        empty = (humans == 0) | (machines == 0)
        for value in values.values():
            value[empty] = np.nan
        if not self.n or not len(machine):
            return dict.fromkeys(MEASURES, np.nan), values
        estimate = {
            "auc": float((left + right).sum() / 2 / self.n / len(machine)),
            "accuracy": (self.right_now + int((machine >= self.threshold).sum())) / (self.n + len(machine)),
            "tpr": float((machine > self.cut).mean()),
        }
        return estimate, values


def _note(n_human: int, n_machine: int, images_human: int, images_machine: int) -> str:
    if not n_human and not n_machine:
        return "no text"
    if not n_machine:
        return "no machine text in this task: undefined"
    if not n_human:
        return "no human text in this task: undefined"
    if min(images_human, images_machine) < 2:
        return "texts of one image only: no interval"
    if min(images_human, images_machine) < 10:
        return "texts of fewer than 10 images: the interval is too narrow"
    return ""


class Evaluation:
    """One run's captions, tasks and resamples; detectors are added one by one."""

    def __init__(self, captions: pd.DataFrame, mutants: Mapping[str, str | Path], mutate: Mapping, settings: Mapping, seed: int):
        self.settings, self.seed = settings, seed
        self.texts = collect_texts(captions, mutants, mutate)
        clean = self.texts[CLEAN]
        if not len(clean.id):
            raise InputError(
                "captions.parquet has no caption in the split test: nothing can be evaluated. "
                "Use more images or a larger share `captions.split.test`."
            )
        self.domains = [name for name, source in DOMAINS.items() if name == "in" or (clean.source == source).any()]
        self.resamples = resample_images(clean.image, settings["bootstrap"], seed)
        self.positions = {task: self.resamples.positions(texts.image) for task, texts in self.texts.items()}
        self.rows: list[dict] = []
        # (detector, domain, task) -> estimates and resampled values, for paired differences.
        self.cells: dict[tuple[str, str, str], tuple[dict[str, float], dict[str, np.ndarray]]] = {}

    def add(self, detector: str, scores: pd.Series) -> None:
        """Measure a detector on every task and domain."""
        clean = self.texts[CLEAN]
        clean_scores = look_up(scores, clean, detector)
        is_human = clean.source == "human"
        untouched = HumanSide(clean_scores[is_human], self.positions[CLEAN][is_human], self.resamples, self.settings)
        for task, texts in self.texts.items():
            values = look_up(scores, texts, detector)
            positions, human_rows = self.positions[task], texts.source == "human"
            human = untouched
            if (texts.source_task[human_rows] != "clean").any() or human_rows.sum() != untouched.n:
                human = HumanSide(values[human_rows], positions[human_rows], self.resamples, self.settings, untouched)
            for domain in self.domains:
                rows = texts.source == DOMAINS[domain]
                self._add_cell(detector, domain, task, human, values[rows], positions[rows])

    def _add_cell(self, detector: str, domain: str, task: str, human: HumanSide, machine: np.ndarray, positions: np.ndarray) -> None:
        estimate, values = human.against(machine, positions)
        self.cells[detector, domain, task] = estimate, values
        images = np.unique(positions)
        row = dict.fromkeys(COLUMNS, np.nan) | {
            "detector": detector,
            "domain": domain,
            "task": task,
            "auc": estimate["auc"],
            "accuracy": estimate["accuracy"],
            "n_human": human.n,
            "n_machine": len(machine),
            "n_images": len(np.union1d(human.images, images)),
            "n_images_machine": len(images),
            "tpr_at_fpr5": estimate["tpr"],
            "fpr_reached": human.reached,
            "threshold_fpr5": human.cut,
            "resamples": int((~np.isnan(values["auc"])).sum()),
            "seed": self.seed,
            "note": _note(human.n, len(machine), len(human.images), len(images)),
        }
        if min(len(human.images), len(images)) >= 2:
            for measure in MEASURES:
                low, high = percentile_interval(values[measure], estimate[measure], self.settings["confidence"])
                row |= {f"{measure}_low": low, f"{measure}_high": high}
        self.rows.append(row)

    def add_lengths(self, detector: str, scores: pd.Series) -> None:
        """Measure a detector on clean texts of like length, human and machine, in every bucket of `settings.lengths`."""
        texts, positions = self.texts[CLEAN], self.positions[CLEAN]
        values = look_up(scores, texts, detector)
        is_human = texts.source == "human"
        clean = HumanSide(values[is_human], positions[is_human], self.resamples, self.settings)
        for bucket, (low, high) in length_buckets(self.settings["lengths"]).items():
            inside = (texts.words >= low) & (texts.words < high)
            rows = inside & is_human
            human = HumanSide(values[rows], positions[rows], self.resamples, self.settings, clean)
            for domain in self.domains:
                rows = inside & (texts.source == DOMAINS[domain])
                self._add_cell(detector, domain, bucket, human, values[rows], positions[rows])

    def metrics(self) -> pd.DataFrame:
        """Return the rows of metrics.csv."""
        return pd.DataFrame(self.rows, columns=COLUMNS)

    def difference(self, a: str, b: str) -> pd.DataFrame:
        """Return a − b for every domain, task and measure, paired: the same texts in the same resamples."""
        table = self.metrics().set_index(["detector", "domain", "task"])
        rows = []
        for (detector, domain, task), (estimate, values) in self.cells.items():
            if detector != a:
                continue
            other, other_values = self.cells[b, domain, task]
            about = table.loc[(a, domain, task)]
            for measure in MEASURES:
                difference = estimate[measure] - other[measure]
                low = high = np.nan
                if not np.isnan(about[f"{measure}_low"]):
                    low, high = percentile_interval(values[measure] - other_values[measure], difference, self.settings["confidence"])
                row = {"detector_a": a, "detector_b": b, "domain": domain, "task": task, "metric": measure}
                row |= {"difference": difference, "low": low, "high": high}
                rows.append(row | {name: about[name] for name in DIFFERENCE_COLUMNS if name in about.index})
        return pd.DataFrame(rows, columns=DIFFERENCE_COLUMNS)


def length_buckets(edges: Sequence[int]) -> dict[str, tuple[int, float]]:
    """Return the buckets between the edges as label -> (fewest words, fewest words of the next bucket)."""
    if not edges or list(edges) != sorted(set(edges)) or edges[0] < 1:
        raise InputError(f"evaluate.lengths is {list(edges)}. Write the numbers of words at which a new bucket begins, rising: [9, 11, 13].")
    bounds = [0, *edges, np.inf]
    labels = [f"up to {edges[0] - 1}", *(f"{a}" if a == b - 1 else f"{a} to {b - 1}" for a, b in itertools.pairwise(edges)), f"{edges[-1]} and more"]
    return dict(zip(labels, itertools.pairwise(bounds), strict=True))


def default_pairs(detectors: Sequence[str]) -> list[tuple[str, str]]:
    """Return the comparisons the paper makes among the detectors of a run, as (a, b) for a − b; every rr_m… is one of the sweep."""
    sweep = [(name, "finetune") for name in detectors if name.startswith("rr_m")]
    wanted = [("rr", "finetune"), ("dropout", "finetune"), ("rr_dropout", "rr"), ("finetune", "base"), *sweep]
    return [(a, b) for a, b in wanted if a in detectors and b in detectors]


def compute_metrics(
    captions: pd.DataFrame,
    scores: Mapping[str, str | Path],
    mutants: Mapping[str, str | Path],
    settings: Mapping,
    mutate: Mapping,
    seed: int,
    pairs: Sequence[Sequence[str]] = (),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure every detector on every task and domain; return the rows of metrics.csv and differences.csv.

    `captions` is captions.parquet as a frame, `scores` and `mutants` map detectors and tasks to their files, `settings` and
    `mutate` are the configuration's blocks `evaluate` and `mutate`, `pairs` detectors (a, b) to be compared beside the paper's. Intervals are percentiles of a bootstrap over images
    (human and machine captions of an image are drawn together), widened where needed to hold the estimate; resamples in
    which a class is empty are left out, `resamples` counts the others. What is undefined (an empty task, one class only) is
    NaN with a note. Accuracy calls a text machine at or above `settings.threshold`; the true positive rate calls it machine
    above the quantile of clean human scores that leaves at most `settings.fpr` of them above. Raises InputError for scores
    that are missing, repeated or not finite.
    """
    evaluation = Evaluation(captions, mutants, mutate, settings, seed)
    for detector, path in progress(scores.items(), "detectors evaluated", total=len(scores)):
        evaluation.add(detector, read_scores(detector, path))
    compared = [evaluation.difference(a, b) for a, b in [*default_pairs(list(scores)), *pairs]]
    differences = pd.concat(compared, ignore_index=True) if compared else pd.DataFrame(columns=DIFFERENCE_COLUMNS)
    return evaluation.metrics(), differences


def compute_lengths(captions: pd.DataFrame, scores: Mapping[str, str | Path], settings: Mapping, seed: int) -> pd.DataFrame:
    """Measure every detector on clean texts by their number of words: the columns of metrics.csv, `task` renamed `words`.

    The threshold of the true positive rate is that of all clean human texts, so `fpr_reached` differs by bucket.
    """
    evaluation = Evaluation(captions, {}, {"tasks": {}, "sets": {}, "classes": [], "keep": "all", "apply": "jointly"}, settings, seed)
    for detector, path in scores.items():
        evaluation.add_lengths(detector, read_scores(detector, path))
    return evaluation.metrics().rename(columns={"task": "words"})
