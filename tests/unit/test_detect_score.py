"""Scores of a run: one row for every test caption and every mutant."""

import micro
import numpy as np
import pandas as pd
import pytest

from muattack.detect.detector import load_detector
from muattack.detect.features import encode_texts
from muattack.detect.score import score_captions, score_classes
from muattack.records import write_records
from muattack.train.loop import train_detector


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A trained micro detector of each kind, and two mutant tables."""
    folder = tmp_path_factory.mktemp("run")
    config = micro.settings()
    train_detector(micro.captions(), config["encoders"]["tiny"], micro.tiny(), config["training"], {}, folder / "tiny", 1)
    train_detector(micro.captions(), micro.frozen_bert(), None, config["training"], {}, folder / "frozen", 1)
    test = micro.captions().query("split == 'test' and label == 1")
    mutated = test["text"].str.replace("a ", "α ", regex=False)
    write_records(
        folder / "mcr.parquet", pd.DataFrame({"id": test["id"], "text": test["text"], "mutated": mutated, "changed": mutated != test["text"]}), {}
    )
    operators = pd.DataFrame({"id": test["id"].iloc[:3], "operator": "char:a", "mutated": mutated.iloc[:3]})
    write_records(folder / "operators.parquet", pd.concat([operators, operators.assign(operator="word:a")]), {})
    return folder


def test_every_row_is_scored_in_its_order(run):
    mutants = {"mcr": run / "mcr.parquet", "operators": run / "operators.parquet"}
    table, meta = score_captions(run / "tiny", micro.captions(), mutants)
    assert table.column_names == ["task", "id", "operator", "score", "truncated"]
    scores = table.to_pandas()
    assert scores["task"].value_counts().to_dict() == {"clean": 30, "mcr": 20, "operators": 6} == meta["tasks"]
    assert set(scores.query("task == 'clean'")["id"]) == set(micro.captions().query("split == 'test'")["id"])
    assert scores.query("task == 'operators'")["operator"].tolist() == ["char:a"] * 3 + ["word:a"] * 3
    assert (scores.query("task != 'operators'")["operator"] == "").all()
    detector = load_detector(run / "tiny")
    mutated = pd.read_parquet(run / "mcr.parquet")["mutated"].tolist()
    assert np.allclose(scores.query("task == 'mcr'")["score"], detector.predict(mutated)[:, -1], atol=1e-6)
    assert scores["score"].between(0, 1).all()


def test_cached_features_give_the_same_scores(run, tmp_path):
    mutants = {"mcr": run / "mcr.parquet"}
    texts = [*micro.captions()["text"], *pd.read_parquet(run / "mcr.parquet")["mutated"].iloc[:5]]
    write_records(tmp_path / "0.parquet", *encode_texts(texts, micro.frozen_bert()))
    direct, none = score_captions(run / "frozen", micro.captions(), mutants)
    cached, some = score_captions(run / "frozen", micro.captions(), mutants, [tmp_path / "0.parquet"])
    assert none["from_features"] == 0
    assert 0 < some["from_features"] < some["distinct_texts"]
    assert direct.drop_columns("score").equals(cached.drop_columns("score"))
    assert np.allclose(direct["score"].to_numpy(), cached["score"].to_numpy(), atol=1e-6)


def test_features_are_left_alone_by_detectors_that_trained_their_encoder(run, tmp_path):
    write_records(tmp_path / "0.parquet", *encode_texts(["a dog"], micro.frozen_bert()))
    assert score_captions(run / "tiny", micro.captions(), {}, [tmp_path / "0.parquet"])[1]["from_features"] == 0


def test_a_classifier_is_judged_on_its_own_test_texts():
    """Right values by hand, of a function in place of a model."""

    class Fixed:
        def predict(self, texts):
            return np.array([{"a": [0.5, 0.3, 0.2], "b": [0.1, 0.2, 0.7], "c": [0.4, 0.4, 0.2]}[text] for text in texts])

        def truncated(self, texts):
            return np.array([text == "b" for text in texts])

    table = pd.DataFrame(
        {"id": ["1", "2", "3", "4"], "text": ["c", "a", "b", "a"], "label": [1, 0, 2, 1], "split": ["test", "train", "test", "test"]}
    )
    scores, meta = score_classes(Fixed(), table)
    assert scores.to_pydict() == {
        "id": ["1", "3", "4"],
        "label": [1, 2, 1],
        # Of equal probabilities the first class is taken.
        "predicted": [0, 2, 0],
        "score": [0.4, 0.7, 0.3],
        "truncated": [False, True, False],
    }
    assert meta == {"rows": 3, "accuracy": pytest.approx(1 / 3), "share_truncated": pytest.approx(1 / 3)}
