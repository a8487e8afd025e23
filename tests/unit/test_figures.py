import json
import os
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from made_scores import MUTATE, SETTINGS, make_run
from matplotlib.colors import to_rgb

from muattack.evaluate.metrics import compute_metrics
from muattack.figures.accuracy import draw_accuracy
from muattack.figures.differences import draw_differences
from muattack.figures.roc import curves, draw_roc
from muattack.figures.style import looks, save
from muattack.figures.sweep import draw_sweep
from muattack.results import FIGURE_DETECTORS

DETECTORS = {"base": {}, "finetune": {}, "rr": {"rr": 0.3}, "dropout": {}, "rr_dropout": {"rr": 0.3}, "rr_m0.2": {"rr": 0.2}, "rr_m0.5": {"rr": 0.5}}
CONFIG = {"detectors": DETECTORS, "mutate": MUTATE, "evaluate": {**SETTINGS, "bootstrap": 50}, "seed": 1}
TASKS = ["H_vs_M", *MUTATE["tasks"]]
ROC = [name for name in FIGURE_DETECTORS if name != "fig3b"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    # Few adjectives and no adverb at all: small tasks and empty ones.
    run = make_run(folder, images=24, detectors=tuple(DETECTORS), share={"r": 0.97, "j": 0.06, "d": 0})
    run["metrics"], run["differences"] = compute_metrics(run["captions"], run["scores"], run["mutants"], CONFIG["evaluate"], MUTATE, 1)
    return run


def legend_texts(figure):
    found = [axes.get_legend() for axes in figure.axes if axes.get_legend()] + list(figure.legends)
    return [text.get_text() for legend in found for text in legend.get_texts()]


@pytest.mark.parametrize("name", ROC)
def test_roc_legends_tell_auc_and_n_of_the_right_detector_and_domain(made, name):
    figure = draw_roc(name, made["captions"], made["scores"], made["mutants"], made["metrics"], CONFIG)
    rows = made["metrics"][made["metrics"].domain == ("ood" if name == "fig5" else "in")].set_index(["detector", "task"])
    texts = legend_texts(figure)
    assert len(texts) == 7
    for task, text in zip(TASKS, texts, strict=True):
        for detector in FIGURE_DETECTORS[name]:
            row = rows.loc[(detector, task)]
            if row.n_machine:
                assert f"{row.auc:.3f}" in text
                assert f"n = {row.n_machine}" in text
                assert ("small" in text) == (row.n_machine < 10)
            else:
                assert "no text" in text
    assert len(figure.axes) == len(FIGURE_DETECTORS[name])


def test_curves_have_the_area_of_the_metrics(made):
    points = curves(made["captions"], {"rr": made["scores"]["rr"]}, made["mutants"], CONFIG, "ood")["rr"]
    rows = made["metrics"].query("detector == 'rr' and domain == 'ood'").set_index("task")
    assert set(points) == {task for task in TASKS if rows.n_machine[task]}
    for task, (false, true) in points.items():
        assert np.trapezoid(true, false) == pytest.approx(rows.auc[task], abs=1e-12)


def boxes_apart(figure):
    """Check that no legend lies on axes: text beside the data, not over it."""
    figure.draw_without_rendering()
    panels = [axes.get_window_extent() for axes in figure.axes]
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()] + list(figure.legends)
    assert legends
    page = figure.bbox
    for legend in legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(panel) for panel in panels)
        assert box.x0 >= page.x0 - 1
        assert box.x1 <= page.x1 + 1
        assert box.y0 >= page.y0 - 1
    for axes in figure.axes:
        if axes.get_ylabel():
            assert axes.yaxis.label.get_window_extent().x0 >= page.x0 - 1


def test_legends_do_not_cover_data_and_nothing_is_cut_off(made):
    for name in ("fig3a", "fig4"):
        boxes_apart(draw_roc(name, made["captions"], made["scores"], made["mutants"], made["metrics"], CONFIG))
    boxes_apart(draw_accuracy(made["metrics"], CONFIG))
    boxes_apart(draw_sweep(made["metrics"], CONFIG))
    boxes_apart(draw_differences(made["differences"], CONFIG))


def test_accuracy_bars_are_the_metrics(made):
    axes = draw_accuracy(made["metrics"], CONFIG).axes[0]
    rows = made["metrics"][made["metrics"].domain == "in"].set_index(["detector", "task"]).accuracy
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers if hasattr(bars, "patches")]
    for detector, drawn in zip(FIGURE_DETECTORS["fig3b"], heights, strict=True):
        np.testing.assert_array_equal(drawn, [rows[detector, task] for task in TASKS])


def test_sweep_starts_at_finetune(made):
    figure = draw_sweep(made["metrics"], CONFIG)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["In distribution", "Out of distribution"]
    rows = made["metrics"].query("domain == 'in' and task == 'mwr'").set_index("detector").auc
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]
    drawn = [line for line in lines if np.allclose(line.get_ydata(), [rows["finetune"], rows["rr_m0.2"], rows["rr_m0.5"]])]
    assert len(drawn) == 1
    assert list(drawn[0].get_xdata()) == [0, 0.2, 0.5]


def test_every_task_looks_different_in_grey():
    found = looks(TASKS)
    lightness = [np.dot(to_rgb(look.color), [0.2126, 0.7152, 0.0722]) for look in found.values()]
    assert all(np.diff(lightness) > 0.02)
    assert lightness[-1] < 0.75
    assert len({(str(look.dash), look.marker, look.filled) for look in found.values()}) == 7


def test_runs_without_a_detector_or_a_second_captioner_say_so(made):
    lone = {"finetune": made["scores"]["finetune"]}
    for name, told in (("fig3a", "no detector Base"), ("fig4", "no detector RR")):
        figure = draw_roc(name, made["captions"], lone, made["mutants"], made["metrics"], CONFIG)
        assert told in " ".join(text.get_text() for text in figure.texts)
    inside = made["metrics"][made["metrics"].domain == "in"]
    figure = draw_roc("fig5", made["captions"], made["scores"], made["mutants"], inside, CONFIG)
    assert "no second captioner" in " ".join(text.get_text() for text in figure.texts)
    assert "no detectors" in " ".join(text.get_text() for text in draw_sweep(made["metrics"].query("detector == 'base'"), CONFIG).texts)
    assert "none of the detectors" in " ".join(text.get_text() for text in draw_accuracy(inside.iloc[:0], CONFIG).texts)
    assert "lacks one" in " ".join(text.get_text() for text in draw_differences(made["differences"].iloc[:0], CONFIG).texts)


@pytest.mark.slow
def test_files_are_the_same_bytes_in_another_process_without_a_time_stamp(made, tmp_path):
    code = (
        "import json, sys; import pandas as pd; from muattack.evaluate.tables import read_csv;"
        "from muattack.figures.roc import draw_roc; from muattack.figures.style import save; given = json.loads(sys.argv[1]);"
        "metrics = read_csv(given['metrics']); captions = pd.read_parquet(given['captions']);"
        "save(draw_roc('fig3a', captions, given['scores'], given['mutants'], metrics, given['config']), *sys.argv[2:])"
    )
    made["captions"].to_parquet(tmp_path / "captions.parquet")
    made["metrics"].to_csv(tmp_path / "metrics.csv", index=False)
    given = {"metrics": str(tmp_path / "metrics.csv"), "captions": str(tmp_path / "captions.parquet"), "config": CONFIG}
    given |= {part: {name: str(path) for name, path in made[part].items()} for part in ("scores", "mutants")}
    here, there = ([tmp_path / f"{name}.{ending}" for ending in ("svg", "png")] for name in ("here", "there"))
    before = dict(matplotlib.rcParams)
    save(draw_roc("fig3a", made["captions"], made["scores"], made["mutants"], made["metrics"], CONFIG), *here)
    assert dict(matplotlib.rcParams) == before
    # The other process draws at another time, with another hash seed and with settings of the user's.
    (tmp_path / "matplotlibrc").write_text("font.size: 20\nfigure.dpi: 50\n")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "MATPLOTLIBRC": str(tmp_path / "matplotlibrc")}
    subprocess.run([sys.executable, "-c", code, json.dumps(given), *map(str, there)], env=environment, check=True)
    for one, other in zip(here, there, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert "<dc:date>" not in here[0].read_text(encoding="utf-8")
    assert here[1].read_bytes().startswith(b"\x89PNG")
