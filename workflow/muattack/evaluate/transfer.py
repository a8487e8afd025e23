"""The transfer of an attack: texts made against a classifier with soft labels, put to a target that may know hard labels only.

Source: the paper of the OAD evaluation, chapter 3 (indirect attack: a classifier whose confidences are known is attacked, and the texts are put
to a chat model). The target is anything that answers texts: a detector, or a Python function that returns probabilities, class numbers,
label texts, or None. What is none of the labels counts as "cannot classify", never as a guess.

The paper turns such counts into two scores, ORS and OFS, whose formulas its printed page does not give. None is made up here: the table has the plain
shares, each with n and an interval.
"""

import os
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from muattack.attack.records import read_lines
from muattack.errors import InputError
from muattack.evaluate.attacks import share_interval

CANNOT = -1
# Statuses of texts whose attack ended: these are put to a target. The others have no perturbed text.
ENDED = ("succeeded", "failed")
ANSWER_COLUMNS = ["id", "label", "status", "before", "after"]
COLUMNS = ["dataset", "method", "model", "role", "texts", "measure", "n", "value", "low", "high", "note"]


class Transfer(NamedTuple):
    """An attack and what targets answered: the attack file's header and records, and {target: answers (ANSWER_COLUMNS)}."""

    header: dict
    records: list[dict]
    answers: Mapping[str, pd.DataFrame]


# --- Asking a target --------------------------------------------------------------------------------------------------


def read_answers(target: object, texts: Sequence[str], labels: Sequence[str] | Mapping[str, int], who: str = "target") -> np.ndarray:
    """Ask a target about texts; return the class of each, int (n), CANNOT where it gives none.

    target: a detector or classifier with `predict`, a function of a list of texts, a folder, or "module:function". For each text it returns
    probabilities of the classes (of two classes also the last one's alone, as a float), a class number, a label text, or None. labels: names
    in the order of the classes, or {answer: class} where several answers mean one. A label text is compared without case, width,
    and blanks and punctuation around it; any other text, None and an empty answer are CANNOT.
    Each distinct text is asked about once. Raises InputError where the target fails, or answers what is nothing of these.
    """
    from muattack.detect.detector import distinct

    names = dict(labels) if isinstance(labels, Mapping) else {name: number for number, name in enumerate(labels)}
    classes = max(names.values()) + 1
    by_text: dict[str, int] = {}
    for name, number in names.items():
        if by_text.setdefault(_fold(name), number) != number:
            raise InputError(
                f"The label {name!r} cannot be told from another one: case, width and outer punctuation do not count. Rename one of {list(names)}."
            )
    unique, inverse = distinct(texts)
    if not unique:
        return np.zeros(0, np.int64)
    ask = _open(target)
    try:
        answers = ask(unique)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"The target {who} failed on a list of {len(unique)} texts: {type(error).__name__}: {error}. Mend the function.") from error
    if answers is None or isinstance(answers, str) or not hasattr(answers, "__len__") or len(answers) != len(unique):
        have = f"{len(answers)} answers" if hasattr(answers, "__len__") and not isinstance(answers, str) else repr(answers)[:80]
        raise InputError(f"The target {who} returned {have} for {len(unique)} texts. It must return one answer for each, None where it has none.")
    found = [_class(answer, by_text, classes, who, text) for answer, text in zip(answers, unique, strict=True)]
    return np.array(found, np.int64)[inverse]


def answer_classes(labels: Sequence[str], others: Mapping[str, str] | None = None) -> dict[str, int]:
    """Return {answer: class} for the names of the classes, and for what else may be answered ({answer: name}), where its class is one of these."""
    found = {name: number for number, name in enumerate(labels)}
    return found | {str(answer): found[name] for answer, name in (others or {}).items() if name in found}


def _open(target: object) -> Callable:
    if isinstance(target, str | os.PathLike) and (Path(target).is_dir() or ":" not in str(target)):
        from muattack.detect.detector import load_detector

        target = load_detector(target, mode="none")
    elif isinstance(target, str):
        from muattack.mutate.chinese import named_function

        target = named_function(target, "The target")
    return target.predict if hasattr(target, "predict") else target


def _class(answer: object, by_text: Mapping[str, int], classes: int, who: str, text: str) -> int:
    """Return the class that one answer stands for, or CANNOT."""
    if answer is None:
        return CANNOT
    if isinstance(answer, str):
        return by_text.get(_fold(answer), CANNOT)
    value = np.asarray(answer)
    if value.ndim == 0 and value.dtype.kind in "iu":
        if not 0 <= value < classes:
            raise InputError(f"The target {who} answered {answer!r} for {text[:60]!r}, but the classes are numbered from 0 to {classes - 1}.")
        return int(value)
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise InputError(f"The target {who} answered {answer!r} for {text[:60]!r}, which is not finite. Return None where there is no answer.")
    if value.ndim == 0 and value.dtype.kind == "f" and classes == 2:
        return int(value > 0.5)
    if value.dtype.kind in "iuf" and value.shape == (classes,):
        return int(value.argmax())
    raise InputError(
        f"The target {who} answered {answer!r} for {text[:60]!r}. Return probabilities of the {classes} classes, a class number, a label text, or None."
    )


def _fold(answer: str) -> str:
    """Return what label texts are compared by: no case, width, outer blanks or punctuation."""
    folded = unicodedata.normalize("NFKC", answer).casefold()
    start, end = 0, len(folded)
    while start < end and _outer(folded[start]):
        start += 1
    while end > start and _outer(folded[end - 1]):
        end -= 1
    return folded[start:end]


def _outer(character: str) -> bool:
    return unicodedata.category(character)[0] in "ZPC"


class Unsure:
    """A classifier that gives no label where its likeliest class has a probability below `least`."""

    def __init__(self, classifier: object, least: float) -> None:
        self.classifier, self.least = classifier, least

    def predict(self, texts: Sequence[str]) -> list[int | None]:
        """Return the class of each text, or None."""
        scores = np.asarray(self.classifier.predict(texts))
        return [int(one.argmax()) if one.max() >= self.least else None for one in scores]


def open_target(target: Mapping, folder: str | os.PathLike | None) -> object:
    """Return who an entry of `chinese.targets` asks: its function, or the classifier in the folder, which may be one that is not always sure."""
    if "function" in target or "least" not in target:
        return target.get("function") or folder
    from muattack.detect.detector import load_detector

    return Unsure(load_detector(folder, mode="none"), target["least"])


def ask_target(
    attack: str | os.PathLike | tuple[dict, list[dict]], target: object, who: str, labels: Mapping[str, int] | None = None
) -> tuple[pd.DataFrame, dict]:
    """Put the original and the perturbed text of every attack that ended to a target.

    attack: an attack file of `muattack.attack.importance`, or its header and records. Returns a row a text (ANSWER_COLUMNS; before and
    after are classes, CANNOT where it gives none) and meta. labels: see `read_answers`; by default the header's.
    Raises InputError, also for attack files without perturbed texts.
    """
    header, records = read_lines(attack) if isinstance(attack, str | os.PathLike) else attack
    ended = _ended(header, records)
    texts = [text for record in ended for text in (record["original"], record["perturbed"])]
    answers = read_answers(target, texts, labels or header["labels"], who).reshape(-1, 2)
    frame = pd.DataFrame(
        {
            "id": [record["id"] for record in ended],
            "label": np.array([record["label"] for record in ended], np.int64),
            "status": [record["status"] for record in ended],
            "before": answers[:, 0],
            "after": answers[:, 1],
        },
        columns=ANSWER_COLUMNS,
    )
    counts = {column: int((frame[column] == CANNOT).sum()) for column in ("before", "after")}
    about = {"target": who, "dataset": header["dataset"], "victim": header["victim"], "attack": header["attack"]}
    return frame, {**about, "rows_in": len(records), "rows_out": len(frame), "cannot_classify": counts}


def _ended(header: Mapping, records: Sequence[Mapping]) -> list[Mapping]:
    ended = [record for record in records if record["status"] in ENDED]
    if any(record.get("perturbed") is None for record in ended):
        raise InputError(
            f"The attack on {header['victim']} ({header['dataset']}) did not keep the perturbed texts of attacks that failed, so it cannot be put to "
            "another model. Use an attack of recipe importance."
        )
    return ended


# --- The table --------------------------------------------------------------------------------------------------------


def transfer_table(transfers: Sequence[Transfer], confidence: float = 0.95) -> pd.DataFrame:
    """Return the table method x dataset x model, one row a measure (COLUMNS): n, value, low and high, shares from 0 to 1.

    Of the attacked model (role source, texts all or attacked):

        accuracy        right before the attack, of all texts
        accuracy_after  right after the attack, of all texts; attacks that broke off count as not right
        success         attacks that succeeded, of the texts right before

    Of a target (role target), on all texts whose attack ended (texts attacked) and on those of them that fooled the source (texts adversarial):

        accuracy, accuracy_after              right on the original, on the perturbed text
        success                               answered another label on the perturbed text, of those right on the original
        lost                                  the same, "cannot classify" counted too
        cannot_classify_before, cannot_classify  no label given, on the original, on the perturbed text

    Intervals are Wilson's. A share of no text is NaN, and `note` says so. The order is that of the transfers and of their targets.
    Raises InputError where answers are not those of the attack's texts.
    """
    rows = []
    for transfer in transfers:
        header, records = transfer.header, transfer.records
        about = {"dataset": header["dataset"], "method": method_of(header)}
        status = np.array([record["status"] for record in records], dtype=object)
        right = np.isin(status, ENDED) | np.array(
            [record["status"] != "skipped" and record["predicted_before"] == record["label"] for record in records], dtype=bool
        )
        source = {**about, "model": header["victim"], "role": "source"}
        rows.append({**source, "texts": "all", **_share("accuracy", right, confidence)})
        rows.append({**source, "texts": "all", **_share("accuracy_after", status == "failed", confidence)})
        rows.append({**source, "texts": "attacked", **_share("success", (status == "succeeded")[right], confidence)})
        ids = [record["id"] for record in _ended(header, records)]
        for name, answers in transfer.answers.items():
            if answers["id"].tolist() != ids:
                raise InputError(
                    f"The answers of {name} are not on the texts of the attack on {header['victim']} ({header['dataset']}, {about['method']}): "
                    f"{len(answers)} answers, {len(ids)} texts. Delete the answers, and they are asked for anew."
                )
            for which, part in (("attacked", answers), ("adversarial", answers[answers["status"] == "succeeded"])):
                shares = _target(part, confidence)
                rows += [{**about, "model": name, "role": "target", "texts": which, **one} for one in shares]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"n": "int64", "value": float, "low": float, "high": float})


def method_of(header: Mapping) -> str:
    """Return what an attack is called in the table: its operator set, for two sets can be of one method."""
    return header["attack"].get("operator") or header["attack"]["method"]


def _target(answers: pd.DataFrame, confidence: float) -> list[dict]:
    """Return the shares of one target on one choice of texts."""
    label, before, after = (answers[column].to_numpy() for column in ("label", "before", "after"))
    known = before == label
    return [
        _share("accuracy", known, confidence),
        _share("accuracy_after", after == label, confidence),
        _share("success", ((after != label) & (after != CANNOT))[known], confidence),
        _share("lost", (after != label)[known], confidence),
        _share("cannot_classify_before", before == CANNOT, confidence),
        _share("cannot_classify", after == CANNOT, confidence),
    ]


def _share(measure: str, hit: np.ndarray, confidence: float) -> dict:
    hit = np.asarray(hit, bool)
    value, low, high = share_interval(hit, np.arange(len(hit)), confidence)
    return {"measure": measure, "n": len(hit), "value": value, "low": low, "high": high, "note": "" if len(hit) else "no text to count"}
