"""Accuracy against severity: values by hand, what is refused, and what the figure shows."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from muattack.errors import InputError
from muattack.evaluate.attacks import difference_interval, share_interval
from muattack.evaluate.auc import auc_value
from muattack.evaluate.predictions import predictions_table
from muattack.evaluate.severity import COLUMNS, PUBLISHED, published_accuracy, severity_table
from muattack.figures.severity import PUBLISHED_LOOK, draw_severity
from muattack.figures.style import save

SEVERITIES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
IDS = [f"t{number}" for number in range(120)]
LABELS = np.arange(120) % 2


def scored(classifier, severities=SEVERITIES, slope=1.5, seed=0, images=None):
    """Return made predictions of 120 texts, the worse the higher the severity."""
    noise = np.random.default_rng(seed).normal(size=120)
    parts = []
    for severity in severities:
        machine = 1 / (1 + np.exp(-((2 * LABELS - 1) * (1.6 - slope * severity) + noise)))
        parts.append(predictions_table(classifier, severity, IDS, LABELS, np.c_[1 - machine, machine], images))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def table():
    return severity_table(pd.concat([scored("finetune"), scored("rr", slope=0.8, seed=1)]), "imdb", resamples=200)


def cell(table, classifier, severity, metric):
    rows = table[(table.classifier == classifier) & (table.severity == severity) & (table.metric == metric)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_published_values_stand_beside_imdb_alone():
    assert [published_accuracy("IMDB", severity) for severity in SEVERITIES] == [0.87, 0.81, 0.78, 0.75, 0.71, 0.66, 0.64]
    assert tuple(PUBLISHED["imdb"]) == SEVERITIES
    assert published_accuracy("imdb", 0.2) is None
    assert published_accuracy("captions", 0.5) is None


def test_accuracy_by_hand():
    # Four texts, three right at severity 0, one at 0.5: each row of probabilities, its likeliest class, the text's class.
    clean = predictions_table("c", 0, list("abcd"), [0, 1, 1, 0], np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.3, 0.7]]))
    hard = predictions_table("c", 0.5, list("dcba"), [0, 1, 1, 0], np.array([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]]))
    table = severity_table(pd.concat([clean, hard]), "imdb", resamples=50)
    assert list(table.columns) == COLUMNS
    first, second = cell(table, "c", 0.0, "accuracy"), cell(table, "c", 0.5, "accuracy")
    assert (first.value, first.n, first.published) == (0.75, 4, 0.87)
    assert (second.value, second.n, second.published) == (0.25, 4, 0.75)
    # Wilson's interval of 3 of 4, by the formula.
    z2 = 1.959963984540054**2
    centre, half = (0.75 + z2 / 8) / (1 + z2 / 4), np.sqrt(z2 * (0.1875 / 4 + z2 / 64)) / (1 + z2 / 4)
    assert (first.low, first.high) == pytest.approx((centre - half, centre + half))
    # Machine texts b 0.5 and c 0.8, human ones a 0.1 and d 0.7: three of four pairs in order.
    assert cell(table, "c", 0.0, "auc").value == 0.75
    # At 0.5: b 0.7 and c 0.4 against a 0.6 and d 0.9: one of four.
    assert cell(table, "c", 0.5, "auc").value == 0.25
    assert cell(table, "c", 0.5, "accuracy_change").value == -0.5


def test_every_severity_has_value_and_interval(table):
    assert len(table) == 2 * (7 + 6 + 7)
    for name, slope, seed in (("finetune", 1.5, 0), ("rr", 0.8, 1)):
        frame = scored(name, slope=slope, seed=seed)
        clean = frame[frame.severity == 0]
        for severity in SEVERITIES:
            part = frame[frame.severity == severity]
            hit, human = (part.label == part.predicted).to_numpy(), (part.label == 0).to_numpy()
            accuracy, auc = cell(table, name, severity, "accuracy"), cell(table, name, severity, "auc")
            assert (accuracy.value, accuracy.low, accuracy.high) == share_interval(hit, part.id.to_numpy(), 0.95)
            assert auc.value == pytest.approx(auc_value(part.score[human].to_numpy(), part.score[~human].to_numpy()))
            assert auc.low < auc.value < auc.high
            if severity:
                change = cell(table, name, severity, "accuracy_change")
                expected = difference_interval(hit, (clean.label == clean.predicted).to_numpy(), part.id.to_numpy(), 0.95)
                assert (change.value, change.low, change.high) == expected
                assert change.n == 120


def test_order_of_rows_and_seed(table):
    frame = pd.concat([scored("finetune"), scored("rr", slope=0.8, seed=1)])
    shuffled = frame.sample(frac=1, random_state=3)
    again = severity_table(shuffled, "imdb", resamples=200).set_index(["classifier", "severity", "metric"]).loc[table.set_index(["classifier", "severity", "metric"]).index]  # fmt: skip
    pd.testing.assert_frame_equal(again.reset_index()[COLUMNS], table)


def test_texts_of_one_image_count_less():
    images = [f"i{number // 10}" for number in range(120)]
    alone, together = severity_table(scored("c"), resamples=200), severity_table(scored("c", images=images), resamples=200)
    assert (together.value == alone.value).all()
    wide = [
        (t := cell(together, "c", 0.5, metric)).high - t.low != (a := cell(alone, "c", 0.5, metric)).high - a.low for metric in ("accuracy", "auc")
    ]
    assert all(wide)


def test_more_than_two_classes_have_no_auc():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]])
    table = severity_table(predictions_table("c", 0, list("abc"), [0, 2, 0], probabilities), "agnews")
    assert table.metric.tolist() == ["accuracy"]
    assert table.value[0] == pytest.approx(2 / 3)
    assert np.isnan(table.published[0])


def test_texts_of_one_class_have_no_auc():
    table = severity_table(predictions_table("c", 0, list("ab"), [1, 1], np.array([[0.5, 0.5], [0.1, 0.9]])), resamples=20)
    auc = cell(table, "c", 0.0, "auc")
    assert np.isnan(auc.value)
    assert auc.note == "texts of one class only: undefined"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="score"), "lack the column score"),
        (lambda frame: frame.head(0), "no predictions"),
        (lambda frame: frame.assign(severity=frame.severity + 0.5), "at severity 1.2"),
        (lambda frame: frame.assign(score=frame.score.where(frame.index != 5)), "no finite score for text t5"),
        (lambda frame: pd.concat([frame, frame.tail(1)]), "text t119 at severity 1 twice"),
        (lambda frame: frame.drop(index=7), "no prediction for text t7 at severity 0 .1 are missing"),
        (lambda frame: frame.assign(label=frame.label.where(frame.index != 130, 7)), "Text t10 has another label"),
    ],
)
def test_predictions_that_cannot_be_compared(change, message):
    with pytest.raises(InputError, match=message):
        severity_table(change(scored("c")))


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (np.array([0.1, 0.9]), "have the shape"),
        (np.array([[1.0], [1.0]]), "two classes at least"),
        (np.ones((3, 2)), "for 2 texts"),
        (np.array([[0.5, 0.5], [np.nan, 1]]), "text b at severity 0.5 a probability that is not finite"),
    ],
)
def test_probabilities_that_are_none(probabilities, message):
    with pytest.raises(InputError, match=message):
        predictions_table("c", 0.5, ["a", "b"], [0, 1], probabilities)


# --- The figure -------------------------------------------------------------------------------------------------------


def test_the_figure_shows_values_intervals_and_the_published_line(table):
    figure = draw_severity(table, {"finetune": "Finetune"})
    axes, below = figure.axes
    assert [panel.get_ylabel() for panel in (axes, below)] == ["accuracy, %", "AUC"]
    for panel, metric, factor in ((axes, "accuracy", 100), (below, "auc", 1)):
        assert len(panel.containers) == 2
        for bars, name in zip(panel.containers, ("finetune", "rr"), strict=True):
            rows = table[(table.classifier == name) & (table.metric == metric)]
            np.testing.assert_allclose(bars.lines[0].get_ydata(), factor * rows.value)
            np.testing.assert_allclose(bars.lines[0].get_xdata(), rows.severity, atol=0.02)
            ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
            np.testing.assert_allclose(ends, factor * rows[["low", "high"]])
    # No AUC is published.
    assert not [line for line in below.lines if list(line.get_xdata()) == list(SEVERITIES)]
    published = [line for line in axes.lines if list(line.get_xdata()) == list(SEVERITIES)]
    assert len(published) == 1
    np.testing.assert_allclose(published[0].get_ydata(), [87, 81, 78, 75, 71, 66, 64])
    assert [text.get_text() for text in below.get_xticklabels()] == ["0", "0.1", "0.3", "0.5", "0.7", "0.9", "1"]
    assert axes.get_title(loc="left") == "imdb: n = 120"
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["Finetune", "rr", "published (corrupted-text), small transformer on IMDB"]


def test_lines_differ_in_grey_too(table):
    many = pd.concat([table[table.classifier == "rr"].assign(classifier=f"c{number}") for number in range(4)])
    figure = draw_severity(many)
    lines = [bars.lines[0] for bars in figure.axes[0].containers]
    light = [np.dot(to_rgb(line.get_color()), [0.299, 0.587, 0.114]) for line in lines]
    assert np.all(np.diff(light) > 0.08)
    assert len({line.get_marker() for line in lines} | {PUBLISHED_LOOK.marker}) == 5
    assert len({str(line._dash_pattern) for line in lines}) == 4


def test_a_panel_for_each_data_set(table):
    both = pd.concat([table, table.assign(dataset="captions", published=np.nan)])
    figure = draw_severity(both)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["imdb: n = 120", "captions: n = 120", "", ""]
    assert [sum(list(line.get_xdata()) == list(SEVERITIES) for line in axes.lines) for axes in figure.axes] == [1, 0, 0, 0]


def test_data_sets_without_an_auc(table):
    accuracy = table[table.metric == "accuracy"]
    figure = draw_severity(accuracy)
    assert [axes.get_ylabel() for axes in figure.axes] == ["accuracy, %"]
    assert figure.get_suptitle().startswith("Accuracy by severity")
    figure = draw_severity(pd.concat([table, accuracy.assign(dataset="topics")]))
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [[], [], [], ["no AUC here"]]


def test_nothing_to_draw_and_the_same_bytes(table, tmp_path):
    figure = draw_severity(table.head(0))
    assert any("no classifier" in text.get_text() for text in figure.texts)
    for name in ("a.svg", "b.svg"):
        save(draw_severity(table), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
