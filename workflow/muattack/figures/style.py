"""How all figures look and are written: readable in grey, the same bytes every time.

Every task has its own lightness, dash and marker: a filled marker on a solid line is a word-level task, an open one on a
dashed line a character-level task; the marker's shape tells the word list. The colours run from dark to light
(viridis), which colour-blind readers and grey prints keep apart.
"""

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import NamedTuple, ParamSpec

import matplotlib
import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from muattack.evaluate.labels import CLEAN
from muattack.records import complete_or_absent

Params = ParamSpec("Params")

RC = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.constrained_layout.use": True,
    "figure.dpi": 200,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.title_fontsize": 8,
    "savefig.dpi": 200,
    # Ids inside an SVG are hashes; with a fixed salt they are the same in every run.
    "svg.hashsalt": "muattack",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Dark to light for detectors side by side, with hatches for prints.
FILLS = (("0.25", ""), ("0.55", "////"), ("0.85", "...."))


class Look(NamedTuple):
    """How a task is drawn."""

    color: str | tuple
    dash: str | tuple
    marker: str | None
    filled: bool
    width: float


def styled(draw: Callable[Params, Figure]) -> Callable[Params, Figure]:
    """Make a drawing function use this style and nothing of the user's own settings."""

    @wraps(draw)
    def drawn(*args: Params.args, **kwargs: Params.kwargs) -> Figure:
        with matplotlib.style.context(["default", RC]):
            return draw(*args, **kwargs)

    return drawn


def looks(tasks: Sequence[str]) -> dict[str, Look]:
    """Return how each task is drawn; H vs. M is a thick black line, the others follow their order and level."""
    mutated = [task for task in tasks if task != CLEAN]
    colors = matplotlib.colormaps["viridis"]
    found = {CLEAN: Look("black", "-", None, True, 2.2)}
    seen = {True: 0, False: 0}
    for number, task in enumerate(mutated):
        word_level = not task.startswith(("mc", "char"))
        color = colors(0.05 + 0.75 * number / max(len(mutated) - 1, 1))
        marker = MARKERS[seen[word_level] % len(MARKERS)]
        seen[word_level] += 1
        found[task] = Look(color, "-" if word_level else (0, (4, 1.6)), marker, word_level, 1.4)
    return {task: found[task] for task in tasks}


def marks(look: Look, size: float = 4.5) -> dict:
    """Return the keyword arguments of a look's markers."""
    face = look.color if look.filled else "white"
    return {"marker": look.marker or "", "markersize": size, "markerfacecolor": face, "markeredgecolor": look.color, "markeredgewidth": 1.1}


def handle(look: Look, width: float | None = None) -> Line2D:
    """Return a legend's sample of a look."""
    return Line2D([], [], color=look.color, linestyle=look.dash, linewidth=width or look.width, **marks(look))


def blank() -> Line2D:
    """Return a legend's sample of nothing, for what cannot be drawn."""
    return Line2D([], [], linestyle="none")


def placeholder(title: str, text: str) -> Figure:
    """Return a figure that says why there is nothing to draw."""
    figure = Figure(figsize=(5, 2))
    figure.suptitle(title, x=0.02, ha="left", fontsize=9.5)
    figure.text(0.5, 0.45, text, ha="center", va="center", wrap=True)
    return figure


def save(figure: Figure, *paths: str | os.PathLike) -> None:
    """Write a figure to each path, PNG (200 dots an inch) or SVG by its ending, without a time stamp."""
    with matplotlib.style.context(["default", RC]):
        for path in paths:
            with complete_or_absent(path) as temporary:
                ending = Path(path).suffix.lstrip(".")
                figure.savefig(temporary, format=ending, metadata={"Date": None} if ending == "svg" else {"Software": None}, facecolor="white")
