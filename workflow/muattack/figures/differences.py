"""What RR-training changes, task by task: RR − Finetune with paired intervals."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from muattack.evaluate.labels import DOMAINS, MEASURES, reported_tasks, task_mathtext
from muattack.figures.style import placeholder, styled


@styled
def draw_differences(differences: pd.DataFrame, config: Mapping, a: str = "rr", b: str = "finetune") -> Figure:
    """Draw the differences a − b in AUC, accuracy and TPR of every task and single set, with paired intervals.

    `differences` is differences.csv. Filled marks are in distribution, open ones out of distribution.
    """
    here = differences[(differences.detector_a == a) & (differences.detector_b == b)]
    names = {"rr": "RR", "finetune": "Finetune"}
    title = f"{names.get(a, a)} − {names.get(b, b)}, paired, with {100 * config['evaluate']['confidence']:g} % intervals: right of 0, {names.get(a, a)} is better"
    if here.empty:
        return placeholder(title, f"This run lacks one of the detectors {a} and {b}.")
    reported = reported_tasks(config)
    tasks = list(dict.fromkeys([*(task for task in reported if (here.task == task).any()), *here.task]))
    domains = [name for name in DOMAINS if (here.domain == name).any()]
    figure = Figure(figsize=(8.2, 1.2 + 0.27 * len(tasks)))
    panels = figure.subplots(1, len(MEASURES), sharey=True)
    at = -np.arange(len(tasks), dtype=float)
    for axes, (measure, label) in zip(panels, MEASURES.items(), strict=True):
        axes.axvline(0, color="black", linewidth=0.9, zorder=2)
        for number, domain in enumerate(domains):
            rows = here[(here.metric == measure) & (here.domain == domain)].set_index("task").reindex(tasks)
            place = at + (0.16 - 0.32 * number if len(domains) > 1 else 0)
            color, face = (("0.1", "0.1"), ("0.45", "white"))[number]
            known = rows.low.notna().to_numpy()
            axes.hlines(place[known], rows.low[known], rows.high[known], colors=color, linewidth=1.3, zorder=3)
            axes.plot(
                rows.difference,
                place,
                "os"[number],
                markersize=4.5,
                markerfacecolor=face,
                markeredgecolor=color,
                zorder=4,
                label=DOMAINS[domain],
                linestyle="none",
            )
        axes.set_xlabel(f"{label} difference" if measure != "tpr" else f"TPR difference at FPR ≤ {100 * config['evaluate']['fpr']:g} %")
        if 0 < len([task for task in tasks if task in reported]) < len(tasks):
            axes.axhline(-sum(task in reported for task in tasks) + 0.5, color="0.6", linewidth=0.8)
    counts = here[(here.domain == domains[0]) & (here.metric == "auc")].set_index("task").n_machine
    panels[0].set_yticks(at, [f"{_name(task, reported)}  (n = {counts[task]:,})" for task in tasks])
    panels[0].set_ylim(at[-1] - 0.6, 0.6)
    handles, texts = panels[0].get_legend_handles_labels()
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    figure.legend(handles, texts, loc="outside lower center", ncols=2)
    return figure


def _name(task: str, reported: list[str]) -> str:
    return task_mathtext(task) if task in reported else task
