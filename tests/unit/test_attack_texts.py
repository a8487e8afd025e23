"""Which texts are attacked."""

import micro
import pandas as pd
import pytest

from muattack.attack.texts import choose_texts
from muattack.errors import InputError

TABLE = micro.captions(40, 5, 20)


def test_a_larger_number_adds_texts_behind_the_same_ones_in_any_order_of_rows():
    few, many = choose_texts(TABLE, 5, None, 1), choose_texts(TABLE, 30, None, 1)
    assert few.equals(many.head(5))
    assert choose_texts(TABLE.sample(frac=1, random_state=3), 30, None, 1).equals(many)
    assert choose_texts(TABLE, 30, None, 2)["id"].tolist() != many["id"].tolist()
    assert few.columns.tolist() == ["id", "text", "label"]


def test_only_test_texts_of_the_classes_and_each_text_once():
    chosen = choose_texts(TABLE, 1000, [1], 1)
    kept = TABLE[TABLE["id"].isin(chosen["id"])]
    assert set(kept["split"]) == {"test"}
    assert set(kept["source"]) == {"machine"}
    assert chosen["text"].is_unique
    test = TABLE[(TABLE["split"] == "test") & (TABLE["source"] == "machine")]
    assert set(chosen["text"]) == set(test["text"])


def test_a_table_of_another_source_is_taken_whole():
    table = pd.DataFrame({"id": ["d-test-0", "d-test-1"], "source": "news", "text": ["one", "two"], "label": [3, 0], "split": "test"})
    assert sorted(choose_texts(table, 9, None, 1)["label"]) == [0, 3]


def test_nothing_to_attack_is_an_error():
    with pytest.raises(InputError, match="labels 0, 1, and texts of class 7"):
        choose_texts(TABLE, 5, [7], 1)
    with pytest.raises(InputError, match=r"attacks\.texts is 0"):
        choose_texts(TABLE, 0, None, 1)
