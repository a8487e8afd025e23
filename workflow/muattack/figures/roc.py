"""ROC curves of the seven tasks: Figures 3a, 4, 5, 6a, 6b and 6c, and one for each detector that is opened."""

import os
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from muattack.evaluate.labels import DOMAINS, SMALL, detector_label, reported_tasks, task_mathtext
from muattack.evaluate.metrics import DOMAINS as SOURCES
from muattack.evaluate.metrics import collect_texts, look_up, read_scores, roc_points
from muattack.figures.style import blank, handle, looks, marks, placeholder, styled
from muattack.results import figure_detectors

# The domain of each figure; the others are in distribution.
FIGURE_DOMAIN = {"fig5": "ood"}


def curves(
    captions: pd.DataFrame,
    scores: Mapping[str, str | os.PathLike],
    mutants: Mapping[str, str | os.PathLike],
    config: Mapping,
    domain: str,
) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return (false, true positive rates) by detector and reported task; tasks without texts of both classes are left out."""
    tasks = reported_tasks(config)
    texts = collect_texts(captions, {name: path for name, path in mutants.items() if name in tasks}, config["mutate"])
    found: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for detector, path in scores.items():
        table = read_scores(detector, path)
        found[detector] = {}
        for task in tasks:
            if task not in texts:
                continue
            values, source = look_up(table, texts[task], detector), texts[task].source
            human, machine = values[source == "human"], values[source == SOURCES[domain]]
            if len(human) and len(machine):
                found[detector][task] = roc_points(human, machine)
    return found


def draw_curves(axes: Axes, points: Mapping[str, tuple[np.ndarray, np.ndarray]], metrics: pd.DataFrame, tasks: Sequence[str], title: str) -> None:
    """Draw a detector's curves into axes; `metrics` are its rows of one domain, indexed by task. Small tasks are thin."""
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=":", zorder=1)
    for number, (task, look) in enumerate(looks(tasks).items()):
        if task not in points:
            continue
        false, true = points[task]
        width = 0.7 if metrics.n_machine[task] < SMALL else look.width
        axes.plot(false, true, color=look.color, linestyle=look.dash, linewidth=width, zorder=3 - number / 100)
        if look.marker:
            # Markers of different tasks stand at different rates, so that they do not hide each other.
            at = np.arange(0.04 + 0.02 * number, 1, 0.2)
            axes.plot(at, np.interp(at, false, true), linestyle="none", zorder=4, **marks(look, 4))
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="False positive rate", ylabel="True positive rate", aspect="equal", title=title)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.set_yticks(np.linspace(0, 1, 6))


@styled
def draw_roc(
    name: str,
    captions: pd.DataFrame,
    scores: Mapping[str, str | os.PathLike],
    mutants: Mapping[str, str | os.PathLike],
    metrics: pd.DataFrame,
    config: Mapping,
) -> Figure:
    """Draw one of the paper's ROC figures, or that of one detector (roc_{name}): a panel a detector, AUC and n in the legend.

    `scores` and `mutants` map detectors and tasks to files, `metrics` is metrics.csv. Where a detector or the second
    captioner is missing, the figure says so.
    """
    detectors, domain = figure_detectors(name), FIGURE_DOMAIN.get(name, "in")
    labels = {detector: detector_label(detector, config["detectors"]) for detector in detectors}
    title = " and ".join(labels.values()) + f": {DOMAINS[domain].lower()}"
    lacking = [labels[detector] for detector in detectors if detector not in scores]
    here = metrics[metrics.domain == domain]
    if lacking or here.empty:
        what = f"no detector {' and '.join(lacking)}" if lacking else "no second captioner (captions.files.machine_ood)"
        return placeholder(title, f"This run has {what}.")
    points = curves(captions, {detector: scores[detector] for detector in detectors}, mutants, config, domain)
    rows = {detector: here[here.detector == detector].set_index("task") for detector in detectors}
    tasks = [task for task in reported_tasks(config) if task in rows[detectors[0]].index]
    figure = Figure(figsize=(6.1, 3.55) if len(detectors) == 1 else (3.25 * len(detectors) + 3.1, 3.55))
    panels = figure.subplots(1, len(detectors), sharey=True, squeeze=False)[0]
    for axes, detector in zip(panels, detectors, strict=True):
        draw_curves(axes, points[detector], rows[detector], tasks, labels[detector] if len(detectors) > 1 else title)
    for axes in panels[1:]:
        axes.set_ylabel("")
    handles, texts = [], []
    for task, look in looks(tasks).items():
        n = rows[detectors[0]].n_machine[task]
        drawn = all(task in points[detector] for detector in detectors)
        handles.append(handle(look, 0.7 if n < SMALL else None) if drawn else blank())
        texts.append(f"{task_mathtext(task)}\n{_areas(rows, detectors, labels, task, n) if drawn else 'no text: not defined'}")
    about = f"AUC [{100 * config['evaluate']['confidence']:g} % interval]" if len(detectors) == 1 else "AUC"
    panels[-1].legend(
        handles,
        texts,
        title=f"{about}, n machine texts",
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
        alignment="left",
        labelspacing=0.55,
    )
    return figure


def _areas(rows: Mapping[str, pd.DataFrame], detectors: Sequence[str], labels: Mapping[str, str], task: str, n: int) -> str:
    small = ", small" if n < SMALL else ""
    if len(detectors) == 1:
        row = rows[detectors[0]].loc[task]
        span = "" if pd.isna(row.auc_low) else f" [{row.auc_low:.2f}, {row.auc_high:.2f}]"
        return f"{row.auc:.3f}{span}, n = {n:,}{small}"
    return " → ".join(f"{labels[name].split(' (')[0]} {rows[name].auc[task]:.3f}" for name in detectors) + f", n = {n:,}{small}"
