"""Accuracy by task and detector: Figure 3b."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from muattack.evaluate.labels import detector_label, reported_tasks, task_mathtext
from muattack.figures.style import FILLS, placeholder, styled
from muattack.results import FIGURE_DETECTORS

FLOOR = "every text called human"


@styled
def draw_accuracy(metrics: pd.DataFrame, config: Mapping) -> Figure:
    """Draw the accuracy of Base, Finetune and RR on each task, in distribution, with intervals.

    A short dotted line shows what calling every text human would reach: where few machine texts are in a task, that is
    much, and a bar says little. `metrics` is metrics.csv.
    """
    here = metrics[(metrics.domain == "in") & metrics.detector.isin(FIGURE_DETECTORS["fig3b"])]
    title = f"Accuracy at a score of {config['evaluate']['threshold']:g}, in distribution"
    if here.empty:
        return placeholder(title, "This run has none of the detectors base, finetune and rr.")
    detectors = [name for name in FIGURE_DETECTORS["fig3b"] if (here.detector == name).any()]
    tasks = [task for task in reported_tasks(config) if (here.task == task).any()]
    figure = Figure(figsize=(7.2, 3.4))
    axes = figure.subplots()
    width = 0.8 / len(detectors)
    at = np.arange(len(tasks))
    for number, detector in enumerate(detectors):
        rows = here[here.detector == detector].set_index("task").loc[tasks]
        color, hatch = FILLS[FIGURE_DETECTORS["fig3b"].index(detector)]
        place = at - 0.4 + width * (number + 0.5)
        axes.bar(
            place,
            rows.accuracy,
            width,
            color=color,
            hatch=hatch,
            edgecolor="0.15",
            linewidth=0.6,
            label=detector_label(detector, config["detectors"]),
        )
        spread = [rows.accuracy - rows.accuracy_low, rows.accuracy_high - rows.accuracy]
        axes.errorbar(place, rows.accuracy, yerr=np.nan_to_num(np.array(spread)), fmt="none", ecolor="black", elinewidth=1, capsize=2)
    counts = here[here.detector == detectors[0]].set_index("task").loc[tasks]
    texts = counts.n_human + counts.n_machine
    floor = np.where((counts.n_machine > 0) & (counts.n_human > 0), counts.n_human / texts.where(texts > 0), np.nan)
    axes.hlines(floor, at - 0.45, at + 0.45, colors="black", linestyles=(0, (1, 1)), linewidth=1.4, label=FLOOR, zorder=5)
    for place, human, machine in zip(at, counts.n_human, counts.n_machine, strict=True):
        if not human or not machine:
            axes.text(place, 0.02, "no text" if not machine else "no human text", ha="center", va="bottom", fontsize=8)
    # Where human texts are mutated too, their number differs by task like the machine's.
    same = counts.n_human.nunique() == 1
    numbers = [f"{m:,}" if same else f"{h:,} / {m:,}" for h, m in zip(counts.n_human, counts.n_machine, strict=True)]
    axes.set_xticks(at, [f"{task_mathtext(task)}\nn = {n}" for task, n in zip(tasks, numbers, strict=True)])
    axes.grid(axis="x", visible=False)
    axes.set(
        xlim=(-0.6, len(tasks) - 0.4),
        ylim=(0, 1),
        ylabel="Accuracy",
        xlabel=f"n: machine texts of the task (against {counts.n_human.max():,} human texts)" if same else "n: human / machine texts of the task",
    )
    axes.set_title(title)
    handles, texts = axes.get_legend_handles_labels()
    # Bars first, in their order; the line last.
    order = sorted(range(len(texts)), key=lambda one: texts[one] == FLOOR)
    figure.legend([handles[one] for one in order], [texts[one] for one in order], loc="outside lower center", ncols=len(texts))
    return figure
