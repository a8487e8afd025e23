"""Accuracy and AUC against the severity of natural corruptions, one line a classifier, the published line beside it where there is one.

Colours run from dark to light, and every line has its own marker and dash, so that prints in grey can be read.
"""

from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from muattack.figures.style import MARKERS, Look, handle, marks, placeholder, styled

DASHES = ("-", (0, (5, 1.6)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
# Thin and grey, with a cross: not a line of ours.
PUBLISHED_LOOK = Look("0.45", (0, (1, 1.6)), "x", True, 1.2)


# What a row of panels shows: the metric, its name on the axis, and what its values are multiplied by.
ROWS = (("accuracy", "accuracy, %", 100), ("auc", "AUC", 1))


@styled
def draw_severity(table: pd.DataFrame, labels: Mapping[str, str] | None = None, confidence: float = 0.95) -> Figure:
    """Draw accuracy in per cent, and AUC below it where there is any, by severity with intervals, a panel a data set; severity 0 is the texts as they are.

    `table` has the rows of `evaluate.severity.severity_table`, of one data set or several; `labels` says what classifiers are called.
    Bars of several lines stand side by side, so that none hides another.
    """
    rows = table[table["value"].notna()]
    kinds = [row for row in ROWS if (rows["metric"] == row[0]).any()]
    title = f"{' and '.join(['Accuracy', 'AUC'][: len(kinds) or 1])} by severity of corruption, with {100 * confidence:g} % intervals"
    if not kinds:
        return placeholder(title, "This run has no classifier scored on corrupted texts.")
    names = {name: name for name in rows["classifier"]} | dict(labels or {})
    datasets = list(dict.fromkeys(rows["dataset"]))
    figure = Figure(figsize=(max(3.6 * len(datasets), 4.6), 1.4 + 2.3 * len(kinds)))
    grid = figure.subplots(len(kinds), len(datasets), squeeze=False, sharex="col", sharey="row")
    looks = _looks(list(dict.fromkeys(rows["classifier"])))
    for panels, (metric, name, factor) in zip(grid, kinds, strict=True):
        for axes, dataset in zip(panels, datasets, strict=True):
            here = rows[(rows["dataset"] == dataset) & (rows["metric"] == metric)]
            _draw_lines(axes, here, looks, factor)
            if here.empty:
                axes.text(0.5, 0.5, f"no {name} here", transform=axes.transAxes, ha="center", color="0.4")
        panels[0].set_ylabel(name)
    for column, dataset in enumerate(datasets):
        here = rows[rows["dataset"] == dataset]
        low, high = int(here["n"].min()), int(here["n"].max())
        count = f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"
        grid[0, column].set_title(f"{dataset}: {count}" if dataset else count)
        severities = sorted(set(here["severity"]))
        grid[-1, column].set_xticks(severities, [f"{severity:g}" for severity in severities])
        grid[-1, column].set_xlabel("severity (0: the texts as they are)")
    figure.align_ylabels(grid[:, 0])
    published = bool(rows["published"].notna().any())
    handles = [handle(look) for look in looks.values()] + ([handle(PUBLISHED_LOOK)] if published else [])
    texts = [names[name] for name in looks] + (["published (corrupted-text), small transformer on IMDB"] if published else [])
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    figure.legend(handles, texts, loc="outside lower center", ncols=min(len(texts), 2))
    return figure


def _draw_lines(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, Look], factor: int) -> None:
    """Draw one metric of one data set: each classifier's line with its intervals, and the published line where there is one."""
    own = [name for name in looks if (rows["classifier"] == name).any()]
    for number, name in enumerate(own):
        line = rows[rows["classifier"] == name].sort_values("severity")
        value = factor * line["value"].to_numpy(float)
        spread = np.array([value - factor * line["low"].to_numpy(float), factor * line["high"].to_numpy(float) - value])
        look = looks[name]
        axes.errorbar(
            line["severity"].to_numpy(float) + 0.01 * (number - (len(own) - 1) / 2),
            value,
            yerr=np.clip(np.nan_to_num(spread), 0, None),
            color=look.color,
            linestyle=look.dash,
            linewidth=look.width,
            elinewidth=1,
            capsize=2,
            zorder=3,
            **marks(look),
        )
    known = rows.dropna(subset=["published"]).drop_duplicates("severity").sort_values("severity")
    if len(known):
        severities, values, look = known["severity"].to_numpy(float), factor * known["published"].to_numpy(float), PUBLISHED_LOOK
        axes.plot(severities, values, color=look.color, linestyle=look.dash, linewidth=look.width, zorder=2.5, **marks(look))


def _looks(names: list[str]) -> dict[str, Look]:
    """Return how each classifier is drawn: dark to light, own marker and dash, faces filled and open by turns."""
    shades = matplotlib.colormaps["viridis"](0.05 + 0.75 * np.arange(len(names)) / max(len(names) - 1, 1))
    return {
        name: Look(tuple(shades[number]), DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)], number % 2 == 0, 1.4)
        for number, name in enumerate(names)
    }
