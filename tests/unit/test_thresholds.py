"""Accuracy against threshold, exact areas, recall by type, and the figure."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muattack.errors import InputError
from muattack.evaluate.intervals import wilson
from muattack.evaluate.thresholds import areas, check_pairs, curves, recall_by_type, score_pairs
from muattack.figures.style import save
from muattack.figures.thresholds import draw_thresholds

SCORES = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "clean": [0.9, 0.8, 0.5, 0.2],
        "perturbed": [0.6, 0.8, 0.1, 0.2],
        "type": ["Abbr", "Abbr", "RepeatChar", "MixedCase"],
        "group": ["x", "x", "y", "z"],
    }
)


def test_accuracy_at_each_threshold_a_score_on_it_is_negative():
    table = curves(SCORES, grid=(0, 0.2, 0.5, 0.85, 1))
    assert list(table["value"]) == [1, 0.75, 0.5, 0.25, 0, 1, 0.5, 0.5, 0, 0]
    assert list(table["version"]) == ["clean"] * 5 + ["perturbed"] * 5
    assert (table["n"] == 4).all()
    low, high = wilson(np.array(0.75), np.array(4), 0.95)
    assert table.loc[1, ["low", "high"]].to_list() == [low, high]


def test_areas_are_exact_and_their_difference_is_paired():
    table = areas(SCORES, resamples=200).set_index("measure")
    assert table["value"].to_list() == pytest.approx([0.6, 0.425, 0.175])
    assert (table["low"] <= table["value"]).all()
    assert (table["high"] >= table["value"]).all()
    pd.testing.assert_frame_equal(areas(SCORES.iloc[::-1], resamples=200), areas(SCORES, resamples=200))
    # The same shift everywhere leaves nothing to chance.
    shifted = SCORES.assign(perturbed=SCORES["clean"] - 0.1)
    row = areas(shifted, resamples=50).set_index("measure").loc["AUC_diff"]
    assert [row["low"], row["value"], row["high"]] == pytest.approx([0.1] * 3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1)), min_size=1, max_size=30))
def test_the_area_is_that_of_the_staircase(rows):
    scores = pd.DataFrame(
        {"id": range(len(rows)), "clean": [a / 1000 for a, _, _ in rows], "perturbed": [b / 1000 for _, b, _ in rows], "label": [y for *_, y in rows]}
    )
    # Every score is a multiple of a thousandth: between two of them the curve is level.
    grid = [step / 1000 for step in range(1000)]
    table = curves(scores, grid)
    found = areas(scores, resamples=5).set_index("measure")["value"]
    for version in ("clean", "perturbed"):
        assert found[version] == pytest.approx(table["value"][table["version"] == version].mean())
    assert found["AUC_diff"] == pytest.approx(found["clean"] - found["perturbed"])


def test_negative_texts_count_the_other_way():
    scores = SCORES.assign(label=[1, 1, 0, 0])
    assert curves(scores, grid=(0.5,))["value"].to_list() == [1, 1]
    assert areas(scores, resamples=5)["value"].to_list()[0] == pytest.approx((0.9 + 0.8 + 0.5 + 0.8) / 4)
    assert recall_by_type(scores)["n"].to_list() == [2, 2, 2, 2]


def test_recall_by_type_in_the_papers_order():
    table = recall_by_type(SCORES, threshold=0.5)
    assert list(dict.fromkeys(table["type"])) == ["RepeatChar", "Abbr", "MixedCase", "overall"]
    rows = table.set_index(["type", "version"])
    assert rows.loc[("Abbr", "clean"), "value"] == 1
    assert rows.loc[("overall", "clean"), "value"] == 0.5
    assert rows.loc[("overall", "perturbed"), "value"] == 0.5
    assert rows.loc[("overall", "clean"), "n"] == 4
    # All of a type hit: its two pairs of one word count once.
    assert rows.loc[("Abbr", "clean"), "low"] == pytest.approx(float(wilson(np.array(1.0), np.array(1), 0.95)[0]))


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (SCORES.drop(columns="clean"), "no column clean"),
        (SCORES.assign(clean=[0.1, 0.2, 1.5, 0.3]), "for the pair c is 1.5"),
        (SCORES.assign(perturbed=[0.1, float("nan"), 0.5, 0.3]), "for the pair b is nan"),
        (SCORES.assign(id="a"), "the pair a twice"),
        (SCORES.assign(label=[1, 0, 2, 1]), "neither 1 (positive) nor 0: 2"),
        (SCORES.iloc[:0], "There are no scores"),
    ],
)
def test_wrong_scores_are_errors(scores, said):
    with pytest.raises(InputError) as raised:
        check_pairs(scores)
    assert said in str(raised.value)


def test_pairs_are_scored_each_text_once():
    pairs = pd.DataFrame(
        {
            "id": ["1", "2"],
            "clean": ["a silly plan", "a silly plan"],
            "perturbed": ["a slly plan", "a s1lly plan"],
            "type": ["Abbr", "SpecialChar"],
            "word": "silly",
        }
    )
    seen = []

    def predict(texts):
        seen.extend(texts)
        score = np.array([0.9 if "silly" in text else 0.4 for text in texts])
        return np.stack([1 - score, score], axis=1)

    scores = score_pairs(pairs, predict)
    assert scores.to_dict("records")[0] == {"id": "1", "clean": 0.9, "perturbed": 0.4, "label": 1, "type": "Abbr", "group": "silly"}
    assert sorted(seen) == ["a s1lly plan", "a silly plan", "a slly plan"]
    renamed = pairs.rename(columns={"clean": "original", "perturbed": "text"})
    assert score_pairs(renamed, predict, {"clean": "original", "perturbed": "text"}).equals(scores)
    with pytest.raises(InputError, match="shape"):
        score_pairs(pairs, lambda texts: [0.5])


def test_the_figure(tmp_path):
    figure = draw_thresholds({"one": curves(SCORES), "two": curves(SCORES)}, {"one": areas(SCORES, resamples=20), "two": areas(SCORES, resamples=20)})
    assert [axes.get_title(loc="left").split("\n")[0] for axes in figure.axes] == ["one, n = 4", "two, n = 4"]
    assert "AUC_diff 0.1750 [" in figure.axes[0].get_title(loc="left")
    assert [len(axes.lines) for axes in figure.axes] == [3, 3]
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), curves(SCORES)["value"][:101])
    save(figure, tmp_path / "a.svg")
    save(draw_thresholds({"one": curves(SCORES)}, {"one": areas(SCORES, resamples=20)}), tmp_path / "b.png")
    assert (tmp_path / "a.svg").stat().st_size > 1000
    assert draw_thresholds({}, {}) is not None
