"""Texts of an attack put to another model: what counts as an answer, and the shares of the table by hand."""

import numpy as np
import pandas as pd
import pytest

import muattack.detect.detector  # noqa: F401 (looks for a socket when it is loaded, which no test may open)
from muattack.attack.records import FIELDS
from muattack.errors import InputError
from muattack.evaluate.intervals import wilson
from muattack.evaluate.transfer import ANSWER_COLUMNS, CANNOT, COLUMNS, Transfer, ask_target, read_answers, transfer_table

LABELS = ["negative", "positive"]
TEXTS = ["好", "差", "好", "？"]


def record(name: str, status: str, label: int = 1, original: str = "好", perturbed: str | None = "女子") -> dict:
    made = dict.fromkeys((*FIELDS, "perturbed"))
    return made | {
        "id": name, "label": label, "original": original, "perturbed": perturbed if status in ("succeeded", "failed") else None, "status": status,
        "predicted_before": 1 - label if status == "skipped" else label, "reason": "", "edits": [],
    }  # fmt: skip


HEADER = {"victim": "toy", "dataset": "made", "labels": LABELS, "texts": 0, "attack": {"recipe": "importance", "method": "splitting"}}


# --- Answers ----------------------------------------------------------------------------------------------------------


def test_label_texts_and_nothing():
    answers = {"好": " Positive。", "差": "ＮＥＧＡＴＩＶＥ", "？": None}
    asked = []

    def target(texts):
        asked.append(list(texts))
        return [answers[text] for text in texts]

    assert read_answers(target, TEXTS, LABELS).tolist() == [1, 0, 1, CANNOT]
    assert [sorted(texts) for texts in asked] == [sorted(set(TEXTS))]


@pytest.mark.parametrize("answer", ["", "  ", "I cannot say", "not positive", "positive or negative", "positively", "。", None])
def test_other_texts_are_no_guess(answer):
    assert read_answers(lambda texts: [answer] * len(texts), ["好"], LABELS).tolist() == [CANNOT]


def test_several_answers_may_mean_one_class():
    labels = {"差评": 0, "负面": 0, "好评": 1, "正面": 1}
    answers = {"好": "“正面”", "差": "差评！", "？": "不知道"}
    assert read_answers(lambda texts: [answers[text] for text in texts], TEXTS, labels).tolist() == [1, 0, 1, CANNOT]


@pytest.mark.parametrize(
    "make",
    [
        lambda text: [0.2, 0.8] if text == "好" else [0.9, 0.1],
        lambda text: 0.8 if text == "好" else 0.1,
        lambda text: int(text == "好"),
        lambda text: np.int64(text == "好"),
        lambda text: "positive" if text == "好" else "negative",
    ],
)
def test_probabilities_numbers_and_names_are_answers(make):
    assert read_answers(lambda texts: [make(text) for text in texts], TEXTS, LABELS).tolist() == [1, 0, 1, 0]


def test_detectors_and_arrays_are_targets():
    class Detector:
        def predict(self, texts):
            return np.array([[0.3, 0.3, 0.4] if text == "好" else [0.5, 0.3, 0.2] for text in texts])

    assert read_answers(Detector(), TEXTS, ["a", "b", "c"]).tolist() == [2, 0, 2, 0]
    assert read_answers(lambda texts: np.array([1, 2, 0][: len(texts)]), ["a", "b"], ["x", "y", "z"]).tolist() == [1, 2]
    assert read_answers("test_transfer:answer_none", TEXTS, LABELS).tolist() == [CANNOT] * 4
    assert read_answers(Detector(), [], LABELS).shape == (0,)


def answer_none(texts):
    return [None] * len(texts)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda texts: ["positive"], "returned 1 answers for 3 texts"),
        (lambda texts: None, "returned None for 3 texts"),
        (lambda texts: "positive", "returned 'positive' for 3 texts"),
        (lambda texts: [2] * len(texts), "numbered from 0 to 1"),
        (lambda texts: [-1] * len(texts), "numbered from 0 to 1"),
        (lambda texts: [[0.1, 0.2, 0.7]] * len(texts), "Return probabilities of the 2 classes"),
        (lambda texts: [True] * len(texts), "Return probabilities of the 2 classes"),
        (lambda texts: [{"label": 1}] * len(texts), "Return probabilities of the 2 classes"),
        (lambda texts: [[np.nan, np.nan]] * len(texts), "is not finite"),
        (lambda texts: 1 / 0, "failed on a list of 3 texts: ZeroDivisionError"),
    ],
)
def test_what_is_no_answer_is_refused(target, message):
    with pytest.raises(InputError, match=message):
        read_answers(target, TEXTS, LABELS, "chat")


def test_labels_that_cannot_be_told_apart_are_refused():
    with pytest.raises(InputError, match="cannot be told from another"):
        read_answers(answer_none, TEXTS, ["Good", "good."])


# --- Asking about an attack -------------------------------------------------------------------------------------------


def test_the_texts_of_attacks_that_ended_are_asked_about():
    records = [
        record("a", "succeeded"), record("b", "skipped"), record("c", "failed", original="新", perturbed="新"), record("d", "timed_out"),
        record("e", "succeeded", label=0, original="差", perturbed="cha"),
    ]  # fmt: skip
    answers = {"好": "positive", "女子": None, "新": "positive", "差": "negative", "cha": "positive"}
    frame, meta = ask_target((HEADER, records), lambda texts: [answers[text] for text in texts], "chat")
    assert frame.columns.tolist() == ANSWER_COLUMNS
    assert frame.values.tolist() == [["a", 1, "succeeded", 1, CANNOT], ["c", 1, "failed", 1, 1], ["e", 0, "succeeded", 0, 1]]
    assert (meta["rows_in"], meta["rows_out"], meta["cannot_classify"]) == (5, 3, {"before": 0, "after": 1})


def test_an_attack_that_did_not_keep_its_texts_is_refused():
    with pytest.raises(InputError, match="did not keep the perturbed texts"):
        ask_target((HEADER, [record("a", "failed", perturbed=None)]), answer_none, "chat")


# --- The table --------------------------------------------------------------------------------------------------------


def answered(rows: list[tuple[str, int, str, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=ANSWER_COLUMNS)


RECORDS = [
    *(record(f"s{number}", "succeeded") for number in range(4)),
    *(record(f"f{number}", "failed") for number in range(3)),
    record("k", "skipped"), record("t", "timed_out"), record("e", "error") | {"predicted_before": None},
]  # fmt: skip
ANSWERS = answered(
    [
        ("s0", 1, "succeeded", 1, 0), ("s1", 1, "succeeded", 1, CANNOT), ("s2", 1, "succeeded", 0, 0), ("s3", 1, "succeeded", 1, 1),
        ("f0", 1, "failed", 1, 0), ("f1", 1, "failed", CANNOT, CANNOT), ("f2", 1, "failed", 1, 1),
    ]
)  # fmt: skip


def test_the_table_by_hand():
    table = transfer_table([Transfer(HEADER, RECORDS, {"chat": ANSWERS})])
    assert table.columns.tolist() == COLUMNS
    found = {(row.role, row.texts, row.measure): (row.n, row.value) for row in table.itertuples()}
    expected = {
        ("source", "all", "accuracy"): (10, 8 / 10),
        ("source", "all", "accuracy_after"): (10, 3 / 10),
        ("source", "attacked", "success"): (8, 4 / 8),
        ("target", "attacked", "accuracy"): (7, 5 / 7),
        ("target", "attacked", "accuracy_after"): (7, 2 / 7),
        ("target", "attacked", "success"): (5, 2 / 5),
        ("target", "attacked", "lost"): (5, 3 / 5),
        ("target", "attacked", "cannot_classify_before"): (7, 1 / 7),
        ("target", "attacked", "cannot_classify"): (7, 2 / 7),
        ("target", "adversarial", "accuracy"): (4, 3 / 4),
        ("target", "adversarial", "accuracy_after"): (4, 1 / 4),
        ("target", "adversarial", "success"): (3, 1 / 3),
        ("target", "adversarial", "lost"): (3, 2 / 3),
        ("target", "adversarial", "cannot_classify_before"): (4, 0),
        ("target", "adversarial", "cannot_classify"): (4, 1 / 4),
    }
    assert found == {key: (n, pytest.approx(value)) for key, (n, value) in expected.items()}
    row = table[(table["role"] == "target") & (table["texts"] == "attacked") & (table["measure"] == "success")].iloc[0]
    low, high = wilson(np.array(0.4), np.array(5), 0.95)
    assert (row.low, row.high) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert (row.dataset, row.method, row.model) == ("made", "splitting", "chat")


def test_shares_of_nothing_are_told():
    table = transfer_table([Transfer(HEADER, [record("k", "skipped")], {"chat": answered([])})])
    empty = table[table["measure"] == "success"]
    assert empty["n"].tolist() == [0, 0, 0]
    assert empty["value"].isna().all()
    assert set(empty["note"]) == {"no text to count"}
    assert len(transfer_table([])) == 0


def test_answers_on_other_texts_are_refused():
    with pytest.raises(InputError, match="are not on the texts of the attack on toy"):
        transfer_table([Transfer(HEADER, RECORDS, {"chat": ANSWERS.iloc[1:]})])


def test_the_order_is_that_of_the_attacks_and_targets():
    other = {**HEADER, "attack": {**HEADER["attack"], "method": "rewrite"}}
    table = transfer_table([Transfer(other, RECORDS, {"b": ANSWERS, "a": ANSWERS}), Transfer(HEADER, RECORDS, {})])
    assert table[["method", "model"]].drop_duplicates().values.tolist() == [
        ["rewrite", "toy"],
        ["rewrite", "b"],
        ["rewrite", "a"],
        ["splitting", "toy"],
    ]
