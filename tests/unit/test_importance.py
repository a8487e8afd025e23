"""The attack by the importance of words: Eq. 7 by hand, what is asked in which order, records, and what breaks off."""

import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muattack.detect.detector  # noqa: F401 (looks for a socket when it is loaded, which no test may open)
from muattack import progress
from muattack.attack import importance as module
from muattack.attack.importance import NO_WORDS, NOT_CHANGED, NOT_IMPORTANT, Remembering, attack_methods, attack_texts, importance
from muattack.attack.records import FIELDS, apply_edits, read_attack, read_lines
from muattack.errors import InputError
from muattack.mutate.chinese import ChineseOperator, Custom, Rewrite, Splitting
from muattack.sources import code_sha256

SPLIT = ChineseOperator("split", Splitting(), words="characters")
REWRITE = ChineseOperator("rewrite", Rewrite(), words="characters")
LABELS = ("negative", "positive")
WEIGHTS = {"好": 2.0, "新": 1.5, "差": -3.0, "大": 1.2, "旧": -2.0, "国": 2.5}
BIAS = -1.0


class Toy:
    """A classifier by the characters of a text, which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def predict(self, texts):
        self.asked += texts
        positive = [1 / (1 + math.exp(-BIAS - sum(WEIGHTS.get(character, 0.0) for character in text))) for text in texts]
        return np.array([[1 - p, p] for p in positive])


def table(*rows: tuple[str, int]) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": [f"t{number}" for number in range(len(rows))], "text": [text for text, _ in rows], "label": [label for _, label in rows]}
    )


def attack(rows, operator=SPLIT, classifier=None, out=None, **settings):
    settings = {"victim": "toy", "dataset": "made", "labels": LABELS, **settings}
    return attack_texts(table(*rows), classifier or Toy(), operator, out, **settings)[1]


# --- Eq. 7 ------------------------------------------------------------------------------------------------------------


def test_both_branches_of_equation_7_by_hand():
    before = [0.6, 0.3, 0.1]
    without = [
        [0.5, 0.4, 0.1],  # still right: 0.6 - 0.5
        [0.2, 0.7, 0.1],  # now class 1: (0.6 - 0.2) + (0.7 - 0.3)
        [0.7, 0.2, 0.1],  # still right, and surer: 0.6 - 0.7
        [0.1, 0.2, 0.7],  # now class 2: (0.6 - 0.1) + (0.7 - 0.1)
        [0.6, 0.3, 0.1],  # nothing changes
    ]
    assert importance(before, without, 0) == pytest.approx([0.1, 0.8, -0.1, 1.1, 0.0])
    assert importance(before, np.zeros((0, 3)), 0).shape == (0,)


def test_equation_7_is_not_defined_for_a_text_that_is_classified_wrong():
    with pytest.raises(ValueError, match="class 1 is likeliest, the label is 0"):
        importance([0.4, 0.6], [[0.5, 0.5]], 0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), min_size=2, max_size=8))
def test_equation_7_word_by_word(rows):
    scores = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    before, without = scores[0], scores[1:]
    y = int(before.argmax())
    for found, one in zip(importance(before, without, y), without, strict=True):
        other = int(one.argmax())
        plain = before[y] - one[y]
        assert found == pytest.approx(plain if other == y else plain + one[other] - before[other])
        # A word whose loss changes the label is always important.
        assert other == y or found > 0


# --- The attack -------------------------------------------------------------------------------------------------------


def test_important_words_are_perturbed_in_descending_order_until_the_label_changes():
    toy = Toy()
    record = attack([("新很好大", 1)], classifier=toy)[0]
    # 好 weighs 2, 新 1.5, 大 1.2, 很 nothing: 很 is not important, and 大 is no left-right character.
    assert toy.asked[0] == "新很好大"
    assert sorted(toy.asked[1:5]) == sorted(["很好大", "新好大", "新很大", "新很好"])
    assert toy.asked[5:] == ["新很女子大", "亲斤很女子大"] == ["新很女子大", record["perturbed"]]
    assert (record["status"], record["queries"], record["words"], record["words_changed"]) == ("failed", 7, 4, 0)
    assert (record["adversarial"], record["edits"], record["reason"]) == (None, [], "")
    record = attack([("新很好", 1)])[0]
    assert (record["status"], record["queries"], record["words"], record["words_changed"]) == ("succeeded", 6, 3, 2)
    assert record["adversarial"] == record["perturbed"] == "亲斤很女子"
    assert record["edits"] == [{"start": 0, "end": 1, "replacement": "亲斤"}, {"start": 2, "end": 3, "replacement": "女子"}]
    assert apply_edits("新很好", record["edits"]) == record["adversarial"]
    assert (record["predicted_before"], record["predicted_after"]) == (1, 0)
    assert record["score_before"] == pytest.approx(1 / (1 + math.exp(-2.5)))
    assert record["score_after"] == pytest.approx(1 / (1 + math.exp(1)))
    assert tuple(record) == (*FIELDS, "perturbed")


def test_the_attack_stops_at_the_first_change_of_the_label():
    record = attack([("新大旧好", 1)], REWRITE)[0]
    # 好 is enough; 新 and 大 are important too.
    assert (record["status"], record["perturbed"], record["queries"]) == ("succeeded", "新大旧hao", 1 + 4 + 1)


def test_of_equally_important_words_the_first_goes_first():
    toy = Toy()
    attack([("好国好", 1)], classifier=toy, operator=REWRITE)
    assert toy.asked[-3:] == ["好guo好", "haoguo好", "haoguohao"]


def test_a_word_that_cannot_change_costs_no_query():
    record = attack([("国好", 1)])[0]
    assert (record["queries"], record["status"], record["perturbed"]) == (1 + 2 + 1, "failed", "国女子")


@pytest.mark.parametrize(
    ("text", "label", "status", "reason", "queries"),
    [
        ("好差", 1, "skipped", "misclassified before the attack", 1),
        ("，。", 0, "failed", NO_WORDS, 1),
        ("", 0, "failed", NO_WORDS, 1),
        ("很", 0, "failed", NOT_IMPORTANT, 2),
        ("国", 1, "failed", NOT_CHANGED, 2),
        ("Good 2M", 0, "failed", NOT_IMPORTANT, 3),
    ],
)
def test_texts_that_cannot_be_attacked(text, label, status, reason, queries):
    record = attack([(text, label)])[0]
    assert (record["status"], record["reason"], record["queries"]) == (status, reason, queries)
    assert record["perturbed"] == (None if status == "skipped" else text)


def pairs(text: str) -> list[tuple[int, int]]:
    """A segmenter: two characters are a word."""
    return [(at, min(at + 2, len(text))) for at in range(0, len(text), 2)]


def test_words_of_a_segmenter_are_left_out_and_perturbed_whole():
    toy = Toy()
    record = attack([("新好很旧好国", 1)], ChineseOperator("pairs", Splitting(), words="test_importance:pairs"), toy)[0]
    # The pairs weigh 3.5, -2 and 4.5: 旧 speaks against the label, so its pair is not important.
    assert toy.asked[0] == "新好很旧好国"
    assert sorted(toy.asked[1:4]) == sorted(["很旧好国", "新好好国", "新好很旧"])
    assert toy.asked[4:] == ["新好很旧女子国", "亲斤女子很旧女子国"]
    assert (record["status"], record["words"], record["words_changed"]) == ("succeeded", 3, 2)


def test_chance_comes_from_the_run_s_seed_and_the_text():
    operator = ChineseOperator("rewrite", Rewrite(), words="test_importance:pairs")
    rows = [("好大新大" * 5, 1), ("差", 0), ("好大新大" * 5, 1)]
    found = {seed: [record["perturbed"] for record in attack(rows, operator, seed=seed)] for seed in range(4)}
    # The same text, whatever its id and place.
    assert all(first == last for first, _, last in found.values())
    assert len({first for first, *_ in found.values()}) > 1
    assert attack(rows, operator, seed=1)[0]["perturbed"] == found[1][0]
    own = ChineseOperator("rewrite", Rewrite(), words="test_importance:pairs", seed=5)
    assert [record["perturbed"] for record in attack(rows, own, seed=0)] != found[0]


def test_a_list_of_texts_is_asked_about_once_and_counted_each_time():
    toy = Toy()
    remembered = Remembering(toy)
    alone = [{**attack(ROWS, operator, seconds=60)[number], "seconds": 0} for operator in (SPLIT, REWRITE) for number in range(len(ROWS))]
    shared = [{**record, "seconds": 0} for operator in (SPLIT, REWRITE) for record in attack(ROWS, operator, remembered, seconds=60)]
    assert shared == alone
    # Both rank the words of four texts, some of one word: a list of a single text is not kept.
    assert len(toy.asked) < sum(record["queries"] for record in shared)
    assert set(map(len, remembered.known)) == {2, 3}


def test_all_sets_of_a_data_set(tmp_path):
    sets = {"r": {"kind": "chinese", "method": "rewrite", "style": "tone3"}, "s": {"kind": "chinese", "method": "splitting", "words": "characters"}}
    out = {name: tmp_path / f"{name}.jsonl" for name in sets}
    settings = {"victim": "toy", "dataset": "made", "labels": LABELS, "state": tmp_path / "state", "seed": 1, "seconds": 60.0}
    attack_methods(table(*ROWS), "test_importance:answer", sets, out, **settings)
    header = read_lines(out["r"])[0]
    assert {"method": "rewrite", "style": "tone3", "words": "jieba", "operator": "r"}.items() <= header["attack"].items()
    made = [ChineseOperator("r", Rewrite("tone3")), ChineseOperator("s", Splitting(), words="characters")]
    for operator in made:
        alone = attack(ROWS, operator, "test_importance:answer", seed=1)
        assert [{**record, "seconds": 0} for record in read_lines(out[operator.name])[1]] == [{**record, "seconds": 0} for record in alone]
        assert [record["status"] for record in alone].count("skipped") == 1
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["r-importance.jsonl", "s-importance.jsonl"]


def answer(texts):
    """A classifier for `load_detector`."""
    return Toy().predict(texts)


@settings(max_examples=20, deadline=None)
@given(st.text("好新国大差旧很，a😀", max_size=12))
def test_records_of_any_text(text):
    label = int(Toy().predict([text])[0].argmax())
    for operator in (SPLIT, REWRITE):
        record = attack([(text, label)], operator)[0]
        assert record["status"] in ("succeeded", "failed")
        assert (record["adversarial"] is not None) == (record["status"] == "succeeded")
        if record["status"] == "succeeded":
            assert apply_edits(text, record["edits"]) == record["adversarial"] == record["perturbed"]
            assert Toy().predict([record["adversarial"]])[0].argmax() != label
        assert {**record, "seconds": 0} == {**attack([(text, label)], operator)[0], "seconds": 0}


# --- Files ------------------------------------------------------------------------------------------------------------

ROWS = [("新很好", 1), ("好差", 1), ("国好", 1), ("大好新", 1), ("差", 0), ("", 0)]


def test_records_are_read_as_those_of_other_attacks(tmp_path):
    records = attack(ROWS, out=tmp_path / "a.jsonl", seed=3, attack={"variant": "s2t"})
    header, frame = read_attack(tmp_path / "a.jsonl")
    assert frame["status"].tolist() == [record["status"] for record in records]
    assert header["attack"] == {
        "recipe": "importance", "method": "splitting", "words": "characters", "operator": "split", "operator_seed": 0, "variant": "s2t", "seconds": 600.0,
    }  # fmt: skip
    assert (header["victim"], header["dataset"], header["labels"], header["texts"], header["seed"]) == ("toy", "made", list(LABELS), 6, 3)
    assert {"muattack", "pypinyin", "cjk-semantic-split"} <= set(header["versions"])
    assert [row["perturbed"] for row in read_lines(tmp_path / "a.jsonl")[1]] == [record["perturbed"] for record in records]


def test_a_killed_attack_goes_on_after_its_last_text(tmp_path):
    whole = attack(ROWS, out=tmp_path / "whole.jsonl")

    class Killed(Toy):
        def predict(self, texts):
            if texts == ["大好新"]:
                raise KeyboardInterrupt
            return super().predict(texts)

    with pytest.raises(KeyboardInterrupt):
        attack(ROWS, classifier=Killed(), out=tmp_path / "b.jsonl", state=tmp_path / "state")
    assert not (tmp_path / "b.jsonl").exists()
    toy = Toy()
    resumed = attack(ROWS, classifier=toy, out=tmp_path / "b.jsonl", state=tmp_path / "state")
    assert toy.asked[0] == "大好新"
    assert [{**one, "seconds": 0} for one in resumed] == [{**one, "seconds": 0} for one in whole]
    toy = Toy()
    attack(ROWS, REWRITE, classifier=toy, state=tmp_path / "state")
    assert toy.asked[0] == "新很好"


# --- What breaks off --------------------------------------------------------------------------------------------------


def test_one_text_that_fails_does_not_stop_the_others(capsys):
    def failing(text):
        if "国" in text:
            raise RuntimeError("no words")
        return [(0, len(text))]

    operator = ChineseOperator("own", Custom("own", lambda word, rng: "差"), words="characters")
    operator.spans = failing
    records = attack([("新很好", 1), ("国好", 1)], operator)
    assert [record["status"] for record in records] == ["succeeded", "error"]
    assert records[1]["reason"] == "RuntimeError: no words"
    assert "RuntimeError" in capsys.readouterr().err


def test_a_text_that_takes_too_long(monkeypatch):
    class Slow(Toy):
        def predict(self, texts):
            time.sleep(0.03 if "国" in texts[0] else 0)
            return super().predict(texts)

    records = attack([("国好", 1), ("差", 0)], classifier=Slow(), seconds=0.02)
    assert records[0]["status"] == "timed_out"
    assert records[0]["reason"] == "the limit of 0.02 s for one text"
    assert records[0]["perturbed"] is None


def test_a_broken_classifier_stops_the_attack():
    with pytest.raises(InputError, match="not finite"):
        attack([("好", 1)], classifier=lambda texts: np.full((len(texts), 2), np.nan))
    with pytest.raises(InputError, match=r"gave 3 probabilities a text, but there are 2 labels \(negative, positive\)"):
        attack([("好", 1)], classifier=lambda texts: np.ones((len(texts), 3)) / 3)
    with pytest.raises(InputError, match="failed on a list of 1 texts: KeyError"):
        attack([("好", 1)], classifier=lambda texts: {}["x"])


def test_wrong_settings_are_told_before_anything_is_asked():
    toy = Toy()
    with pytest.raises(InputError, match="has the label 2, but the classes are 2"):
        attack([("好", 1), ("好", 2)], classifier=toy)
    with pytest.raises(InputError, match="must be above 0"):
        attack([("好", 1)], classifier=toy, seconds=0)
    assert toy.asked == []


def test_the_attack_lowers_the_accuracy_of_a_classifier_that_was_trained():
    from muattack.data.chinese import simulate_reviews

    frame, meta = simulate_reviews(train=300, test=60, seed=2)
    train, test = frame[frame["split"] == "train"], frame[frame["split"] == "test"]
    characters = sorted(set("".join(train["text"])))

    def counts(texts):
        return np.array([[text.count(character) > 0 for character in characters] for text in texts], float)

    # Naive Bayes by hand, to load no library.
    features, label = counts(train["text"]), train["label"].to_numpy()
    share = np.array([(features[label == k].sum(axis=0) + 1) / ((label == k).sum() + 2) for k in (0, 1)])

    def classify(texts):
        found = counts(texts)
        odds = np.exp(np.clip(found @ np.log(share).T + (1 - found) @ np.log(1 - share).T, -700, None))
        return odds / odds.sum(axis=1, keepdims=True)

    _, records = attack_texts(test, classify, REWRITE, None, victim="bayes", dataset="reviews", labels=meta["labels"])
    status = [record["status"] for record in records]
    right = len(status) - status.count("skipped")
    assert right / len(status) > 0.8
    assert status.count("failed") / len(status) < 0.4
    assert set(status) == {"skipped", "succeeded", "failed"}


def test_the_state_knows_the_code_that_wrote_it():
    own = code_sha256(module.__file__)
    assert own == code_sha256(module.__file__)
    assert own != code_sha256(progress.__file__)
