import numpy as np
import pytest
from made_attacks import made_config, make_attacks
from matplotlib.colors import to_rgb

from muattack.evaluate.attack_families import attack_figures, plain_victim, selection_families, step_families
from muattack.evaluate.attacks import attack_table, read_runs
from muattack.evaluate.tables import read_csv, write_csv
from muattack.figures.attacks import _series, draw_attack_figure

ROWS = {"files": ["rows.csv"], "format": "csv", "text": ["text"], "label": "label"}
NEWS = {"train": ROWS, "test": ROWS, "labels": {"0": "World", "1": "Sports"}}
RECIPES = {
    "textfooler_k5": {"recipe": "textfooler", "k_max": 5}, "textfooler_k10": {"recipe": "textfooler", "k_max": 10}, "bert_attack": None,
    "textfooler_q5": {"recipe": "textfooler", "queries_per_word": 5}, "textbugger_r1": {"recipe": "textbugger", "rho_max": 0.1},
}  # fmt: skip
DEFENCES = {f"{method}_t{t}": {"adversarial": {"method": method, "steps": t}} for method in ("freelb_pp", "pgd_kpp") for t in (30,)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacks")
    config = made_config(
        attacks={"victims": ["finetune"], "recipes": RECIPES},
        classification={"datasets": {"news": NEWS}, "defences": DEFENCES},
    )
    run = make_attacks(folder, config, texts=24)
    write_csv(folder / "attacks.csv", attack_table(config, read_runs(config, run["records"]), run["clean"], run["captions"]))
    return config, read_csv(folder / "attacks.csv")


def drawn(axes):
    """Return the values of every series of error bars, as (x, y) lists."""
    return [(list(bars.lines[0].get_xdata()), list(bars.lines[0].get_ydata())) for bars in axes.containers]


def legend_texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_a_run_has_all_figures(made):
    assert attack_figures(made[0]) == ["attack_accuracy", "attack_steps", "attack_k", "attack_rho", "attack_queries"]


def test_accuracy_shows_clean_and_aua_of_every_victim(made):
    config, frame = made
    figure = draw_attack_figure("attack_accuracy", frame, config)
    assert legend_texts(figure) == ["Clean, whole test split", "Clean, attacked texts", "Aua, TextFooler", "Aua, TextBugger"]
    for axes, dataset in zip(figure.axes, ("captions", "news"), strict=True):
        part = frame[frame.dataset == dataset]
        clean, attacked, textfooler, textbugger = (x for x, _ in drawn(axes))
        np.testing.assert_allclose(attacked, 100 * part[part.attack == "textfooler"].clean)
        np.testing.assert_allclose(clean, 100 * part[part.attack == "textfooler"].clean_test)
        np.testing.assert_allclose(textfooler, 100 * part[part.attack == "textfooler"].aua)
        np.testing.assert_allclose(textbugger, 100 * part[part.attack == "textbugger"].aua)
        assert len(axes.get_yticklabels()) == part.victim.nunique()
        assert axes.get_title(loc="left").startswith(f"{dataset}: n = 24 attacked texts")


def test_steps_are_figure_2(made):
    config, frame = made
    figure = draw_attack_figure("attack_steps", frame, config)
    freelb, pgd = step_families(config)[::-1] if step_families(config)[0].label == "PGD-K++" else step_families(config)
    assert list(freelb.members.values()) == [5, 30]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Clean, whole test\nn = 24", "Aua, TextFooler\nn = 24", "Aua, TextBugger\nn = 24"]
    for axes, (name, attack) in zip(figure.axes, (("clean_test", "textfooler"), ("aua", "textfooler"), ("aua", "textbugger")), strict=True):
        rows = frame[frame.attack == attack].set_index("victim")[name]
        told = {tuple(np.round(y, 9)) for _, y in drawn(axes)}
        assert told == {tuple(np.round(100 * rows.loc[list(family.members)], 9)) for family in (freelb, pgd)}
        dotted = [line for line in axes.lines if len(set(line.get_ydata())) == 1 and list(line.get_xdata()) == [0, 1]]
        assert dotted[0].get_ydata()[0] == pytest.approx(100 * rows[plain_victim(config, "news")])
        assert [text.get_text() for text in axes.get_xticklabels()] == ["5", "30"]
    assert legend_texts(figure)[-1] == "without adversarial training"
    # All attacks on one scale.
    assert figure.axes[1].get_ylim() == figure.axes[2].get_ylim()


@pytest.mark.parametrize(
    ("name", "key", "ticks"),
    [("attack_k", "k_max", ["5", "10", "50"]), ("attack_rho", "rho_max", ["0.1", "0.3"]), ("attack_queries", "queries_per_word", ["5", "50"])],
)
def test_selection_figures_show_aua_by_the_constraint(made, name, key, ticks):
    config, frame = made
    figure = draw_attack_figure(name, frame, config)
    panels = [axes for axes in figure.axes if axes.has_data()]
    assert len(panels) == frame.victim.nunique()
    victims = list(dict.fromkeys(frame.victim))
    for axes, victim in zip(panels, victims, strict=True):
        (family,) = (one for one in selection_families(config, key) if one.dataset == axes.get_title(loc="left").split(":")[0])
        rows = frame[frame.victim == victim].set_index("attack").aua
        ((_, y),) = drawn(axes)
        np.testing.assert_allclose(y, 100 * rows.loc[list(family.members)])
        assert [text.get_text() for text in axes.get_xticklabels()] == ticks
        assert "n = 24" in axes.get_title(loc="left")
    assert legend_texts(figure) == ["TextFooler" if name != "attack_rho" else "TextBugger"]


def test_nothing_lies_on_anything_else(made):
    config, frame = made
    for name in ("attack_accuracy", "attack_k"):
        figure = draw_attack_figure(name, frame, config)
        figure.draw_without_rendering()
        panels = [axes for axes in figure.axes if axes.axison]
        boxes = [axes.get_window_extent() for axes in panels]
        (legend,) = [one.get_window_extent() for one in figure.legends]
        labels = [axes.xaxis.label.get_window_extent() for axes in panels if axes.get_xlabel()]
        assert labels
        assert not any(legend.overlaps(box) for box in [*boxes, *labels])
        for axes in panels:
            tight = axes.get_tightbbox()
            assert tight.x0 >= -1
            assert tight.x1 <= figure.bbox.x1 + 1
            assert tight.y0 >= -1
            assert tight.y1 <= figure.bbox.y1 + 1
        for one, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[one + 1 :])


def test_series_differ_in_grey():
    for total in (2, 4, 7):
        found = [_series(number, total) for number in range(total)]
        lightness = [float(np.dot(to_rgb(look["color"]), [0.2126, 0.7152, 0.0722])) for look in found]
        assert all(np.diff(lightness) > 0.03)
        assert lightness[-1] < 0.75
        assert len({look["marker"] for look in found}) == total


def test_runs_that_lack_something_say_so(made):
    config, frame = made
    bare = made_config()
    for name, told in (("attack_steps", "ascent steps"), ("attack_k", "differ in k_max only"), ("attack_accuracy", "attacked nothing")):
        figure = draw_attack_figure(name, frame.iloc[:0] if name == "attack_accuracy" else frame, bare)
        assert told in " ".join(text.get_text() for text in figure.texts)
    with pytest.raises(KeyError):
        draw_attack_figure("fig7", frame, config)


def test_a_value_without_interval_is_drawn_without_bar(made):
    config, frame = made
    one = frame.assign(aua=0.0, aua_low=np.nan, aua_high=np.nan, clean_test=np.nan)
    axes = draw_attack_figure("attack_accuracy", one, config).axes[0]
    clean, _, textfooler, _ = (x for x, _ in drawn(axes))
    assert np.isnan(clean).all()
    assert textfooler == [0]
