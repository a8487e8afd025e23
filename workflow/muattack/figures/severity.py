"""Accuracy against the severity of natural corruptions, one line a classifier, the published line beside it where there is one.

Colours run from dark to light, and every line has its own marker and dash, so that prints in grey can be read.
"""

from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from muattack.figures.style import MARKERS, Look, handle, marks, placeholder, styled

DASHES = ("-", (0, (5, 1.6)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
# Thin and grey, with a cross: not a line of ours.
PUBLISHED_LOOK = Look("0.45", (0, (1, 1.6)), "x", True, 1.2)


@styled
def draw_severity(table: pd.DataFrame, labels: Mapping[str, str] | None = None, confidence: float = 0.95) -> Figure:
    """Draw accuracy in per cent by severity with intervals, a panel a data set; severity 0 is the texts as they are.

    `table` has the rows of `evaluate.severity.severity_table`, of one data set or several; `labels` says what classifiers are called.
    Bars of several lines stand side by side, so that none hides another.
    """
    title = f"Accuracy by severity of corruption, with {100 * confidence:g} % intervals"
    rows = table[(table["metric"] == "accuracy") & table["value"].notna()]
    if rows.empty:
        return placeholder(title, "This run has no classifier scored on corrupted texts.")
    names = {name: name for name in rows["classifier"]} | dict(labels or {})
    datasets = list(dict.fromkeys(rows["dataset"]))
    figure = Figure(figsize=(max(3.6 * len(datasets), 4.6), 3.9))
    panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
    looks = _looks(list(dict.fromkeys(rows["classifier"])))
    published = False
    for axes, dataset in zip(panels, datasets, strict=True):
        here = rows[rows["dataset"] == dataset]
        own = [name for name in looks if (here["classifier"] == name).any()]
        for number, name in enumerate(own):
            line = here[here["classifier"] == name].sort_values("severity")
            value = 100 * line["value"].to_numpy(float)
            spread = np.array([value - 100 * line["low"].to_numpy(float), 100 * line["high"].to_numpy(float) - value])
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
        known = here.dropna(subset=["published"]).drop_duplicates("severity").sort_values("severity")
        if len(known):
            published = True
            look = PUBLISHED_LOOK
            axes.plot(
                known["severity"].to_numpy(float),
                100 * known["published"].to_numpy(float),
                color=look.color,
                linestyle=look.dash,
                linewidth=look.width,
                zorder=2.5,
                **marks(look),
            )
        low, high = int(here["n"].min()), int(here["n"].max())
        count = f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"
        axes.set_title(f"{dataset}: {count}" if dataset else count)
        axes.set_xticks(sorted(set(here["severity"])))
        axes.set_xticklabels([f"{severity:g}" for severity in sorted(set(here["severity"]))])
        axes.set_xlabel("severity (0: the texts as they are)")
    panels[0].set_ylabel("accuracy, %")
    handles = [handle(look) for look in looks.values()] + ([handle(PUBLISHED_LOOK)] if published else [])
    texts = [names[name] for name in looks] + (["published (corrupted-text), small transformer on IMDB"] if published else [])
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    figure.legend(handles, texts, loc="outside lower center", ncols=min(len(texts), 2))
    return figure


def _looks(names: list[str]) -> dict[str, Look]:
    """Return how each classifier is drawn: dark to light, own marker and dash, faces filled and open by turns."""
    shades = matplotlib.colormaps["viridis"](0.05 + 0.75 * np.arange(len(names)) / max(len(names) - 1, 1))
    return {
        name: Look(tuple(shades[number]), DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)], number % 2 == 0, 1.4)
        for number, name in enumerate(names)
    }
