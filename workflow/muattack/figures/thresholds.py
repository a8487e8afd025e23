"""Accuracy against the decision threshold, clean and perturbed: NoisyHate's Figure 4, a panel a classifier."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from muattack.evaluate.thresholds import THRESHOLD, VERSIONS
from muattack.figures.style import placeholder, styled

# Told apart in grey: solid and dark, dashed and lighter.
LINES = {"clean": {"color": "0.1", "linestyle": "-"}, "perturbed": {"color": "#c2410c", "linestyle": (0, (4, 1.6))}}
# Panels side by side before a new row begins.
WIDE = 3


@styled
def draw_thresholds(curves: Mapping[str, pd.DataFrame], areas: Mapping[str, pd.DataFrame], confidence: float = 0.95) -> Figure:
    """Draw the curves of each classifier with their bands, AUC_diff and its interval above each panel.

    curves, areas: a classifier's name and what `thresholds.curves` and `thresholds.areas` return.
    """
    if not curves:
        return placeholder("Accuracy by threshold", "This run has no classifier with scores of pairs.")
    columns = min(WIDE, len(curves))
    rows = -(-len(curves) // columns)
    figure = Figure(figsize=(2.9 * columns + 1.7, 2.9 * rows))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (name, table) in zip(panels, curves.items(), strict=False):
        for version in VERSIONS:
            line = table[table["version"] == version].sort_values("threshold")
            axes.fill_between(line["threshold"], line["low"], line["high"], color=LINES[version]["color"], alpha=0.13, linewidth=0)
            axes.plot(line["threshold"], line["value"], linewidth=1.6, **LINES[version])
        axes.axvline(THRESHOLD, color="0.6", linewidth=0.8, linestyle=":")
        found = areas[name].set_index("measure").loc["AUC_diff"]
        axes.set_title(f"{name}, n = {int(found['n']):,}\nAUC_diff {found['value']:.4f} [{found['low']:.4f}, {found['high']:.4f}]")
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
    for axes in panels[len(curves) :]:
        axes.set_visible(False)
    for number, axes in enumerate(panels[: len(curves)]):
        if number % columns == 0:
            axes.set_ylabel("accuracy")
        if number + columns >= len(curves):
            axes.set_xlabel("threshold")
            axes.tick_params(labelbottom=True)
    figure.legend(
        [Line2D([], [], linewidth=1.6, **LINES[version]) for version in VERSIONS],
        list(VERSIONS),
        title=f"Bands and brackets:\n{100 * confidence:g} % intervals",
        loc="outside right center",
        alignment="left",
    )
    return figure
