"""Success of attacks on Chinese words: the classifier that was attacked against the targets that were only asked."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from muattack.figures.style import MARKERS, placeholder, styled

# Height of one mark with its interval, in inches.
LINE = 0.17


@styled
def draw_transfer(table: pd.DataFrame, confidence: float = 0.95) -> Figure:
    """Draw success in per cent with intervals from tables/transfer.csv: a panel a data set, a group a method, n beside each mark.

    The source is a black dot. Each target has a shade and a marker of its own, filled for all attacked texts, open for those that fooled
    the source.
    """
    title = f"Success of the attack on the source, and of its texts on targets, with {100 * confidence:g} % intervals"
    rows = table[table["measure"] == "success"]
    if rows.empty:
        return placeholder(title, "This run has attacked nothing.")
    targets = list(dict.fromkeys(rows["model"][rows["role"] == "target"]))
    shades = matplotlib.colormaps["viridis"](0.2 + 0.55 * np.arange(len(targets)) / max(len(targets) - 1, 1))
    marks = [("source", None, "attacked", "source", _look("black", "o", True))]
    for number, name in enumerate(targets):
        color, marker = tuple(shades[number]), MARKERS[1 + number % (len(MARKERS) - 1)]
        marks.append(("target", name, "attacked", f"{name}: all attacked texts", _look(color, marker, True)))
        marks.append(("target", name, "adversarial", f"{name}: those that fooled the source", _look(color, marker, False)))
    datasets = list(dict.fromkeys(rows["dataset"]))
    methods = {dataset: list(dict.fromkeys(rows["method"][rows["dataset"] == dataset])) for dataset in datasets}
    heights = [LINE * (len(marks) + 1) * len(methods[dataset]) for dataset in datasets]
    figure = Figure(figsize=(6.8, 1.0 + 0.2 * ((len(marks) + 1) // 2) + sum(heights) + 0.45 * len(datasets)))
    panels = figure.subplots(len(datasets), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, dataset in zip(panels, datasets, strict=True):
        for at, method in enumerate(methods[dataset]):
            part = rows[(rows["dataset"] == dataset) & (rows["method"] == method)]
            for line, (role, model, texts, _, look) in enumerate(marks):
                found = part[(part["role"] == role) & (part["texts"] == texts) & ((part["model"] == model) | (role == "source"))]
                for row in found.itertuples():
                    place = -at - (line + 1) / (len(marks) + 1) + 0.5
                    if np.isfinite(row.value):
                        spread = [[100 * (row.value - row.low)], [100 * (row.high - row.value)]]
                        axes.errorbar(100 * row.value, place, xerr=np.clip(spread, 0, None), elinewidth=1, capsize=2, zorder=3, clip_on=False, **look)
                    axes.text(101, place, f"n = {row.n:,}", fontsize=6.5, va="center", color="0.25", clip_on=False)
        axes.set_yticks(-np.arange(len(methods[dataset])), methods[dataset])
        axes.set_ylim(0.5 - len(methods[dataset]), 0.5)
        for edge in np.arange(1, len(methods[dataset])) - 0.5:
            axes.axhline(-edge, color="0.6", linewidth=0.6)
        axes.grid(axis="y", visible=False)
        axes.set_title(dataset)
        axes.set_xlim(0, 100)
    panels[-1].set_xlabel("success, % of the texts judged right before")
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    handles = [matplotlib.lines.Line2D([], [], **look) for *_, look in marks]
    figure.legend(handles, [label for *_, label, _ in marks], loc="outside lower center", ncols=2)
    return figure


def _look(color: str | tuple, marker: str, filled: bool) -> dict:
    return {
        "color": color, "marker": marker, "markersize": 5, "markerfacecolor": color if filled else "white", "markeredgecolor": color,
        "markeredgewidth": 1.1, "linestyle": "none",
    }  # fmt: skip
