"""The attack figures: Clean and Aua by victim and attack, Aua by ascent steps (paper, Figure 2), by K_max, rho_max and the query budget.

All are drawn from tables/attacks.csv. Bars are its intervals. Colours run from dark to light and every series has its own
marker and dash, so that prints in grey can be read.
"""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from muattack.evaluate.attack_families import SELECTION_FIGURES, Family, main_attacks, plain_victim, selection_families, step_families
from muattack.evaluate.attack_pages import attack_label, victim_label
from muattack.figures.style import MARKERS, placeholder, styled

DASHES = ("-", (0, (5, 1.6)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (1, 1)), (0, (8, 2)))
AXES = {
    "k_max": "$K_{max}$, substitutes tried for a word",
    "rho_max": "$\\rho_{max}$, largest share of words changed",
    "queries_per_word": "queries allowed a word ($Q_{max}$ / L)",
}


@styled
def draw_attack_figure(name: str, attacks: pd.DataFrame, config: Mapping) -> Figure:
    """Draw one of attack_accuracy, attack_steps, attack_k, attack_rho and attack_queries from tables/attacks.csv.

    Where a run has nothing to draw, the figure says so. Raises KeyError for another name.
    """
    if name == "attack_accuracy":
        return _accuracy(attacks, config)
    if name == "attack_steps":
        return _steps(attacks, config)
    return _selection(attacks, config, SELECTION_FIGURES[name])


def _series(number: int, total: int) -> dict:
    """Return how the series of that number is drawn: dark to light, own marker, dash and face."""
    color = matplotlib.colormaps["viridis"](0.05 + 0.75 * number / max(total - 1, 1))
    face = color if number % 2 == 0 else "white"
    return {
        "color": color, "marker": MARKERS[number % len(MARKERS)], "markersize": 5, "markerfacecolor": face, "markeredgecolor": color, "markeredgewidth": 1.1,
        "linestyle": DASHES[number % len(DASHES)], "linewidth": 1.4,
    }  # fmt: skip


def _bars(rows: pd.DataFrame, name: str) -> np.ndarray:
    """Return the lengths of the interval below and above each value, in per cent; 0 where there is no interval."""
    value = rows[name].to_numpy(float)
    spread = [value - rows[f"{name}_low"].to_numpy(float), rows[f"{name}_high"].to_numpy(float) - value]
    return 100 * np.clip(np.nan_to_num(np.array(spread)), 0, None)


def _n(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _accuracy(attacks: pd.DataFrame, config: Mapping) -> Figure:
    """Draw Clean on the whole test split and Aua of each attack, a panel a data set, a row a victim."""
    title = f"Accuracy before and under attack, with {100 * config['evaluate']['confidence']:g} % intervals"
    here = attacks[attacks.attack.isin(main_attacks(config))]
    if here.empty:
        return placeholder(title, "This run has attacked nothing.")
    names = [attack for attack in main_attacks(config) if (here.attack == attack).any()]
    datasets = list(dict.fromkeys(here.dataset))
    victims = {dataset: list(dict.fromkeys(here.victim[here.dataset == dataset])) for dataset in datasets}
    # Column, attack and look of each mark. The second Clean is of the texts that Aua is of.
    total = len(names) + 2
    black = {"color": "black", "markeredgecolor": "black", "linestyle": "none"}
    marks = [("clean_test", None, _series(0, total) | black | {"markerfacecolor": "black"})]
    marks += [("clean", None, _series(0, total) | black | {"markerfacecolor": "white"})]
    marks += [("aua", name, _series(number, total - 1) | {"linestyle": "none"}) for number, name in enumerate(names, start=1)]
    row = max(0.13 * total + 0.09, 0.36)
    heights = [row * len(victims[dataset]) for dataset in datasets]
    figure = Figure(figsize=(6.8, 1.1 + sum(heights) + 0.52 * len(datasets)))
    panels = figure.subplots(len(datasets), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, dataset in zip(panels, datasets, strict=True):
        part = here[here.dataset == dataset]
        at = -np.arange(len(victims[dataset]), dtype=float)
        for number, (name, attack, look) in enumerate(marks):
            rows = part.drop_duplicates("victim") if attack is None else part[part.attack == attack]
            rows = rows.set_index("victim").reindex(victims[dataset])
            place = at + 0.78 * (0.5 - (number + 0.5) / total)
            axes.errorbar(100 * rows[name], place, xerr=_bars(rows, name), elinewidth=1, capsize=2, zorder=3, **look)
        for border in at[:-1]:
            axes.axhline(border - 0.5, color="0.8", linewidth=0.6)
        tests = part.drop_duplicates("victim").n_test
        axes.set_title(f"{dataset}: n = {_n(part.n)} attacked texts; Clean: {_n(tests)} test texts")
        axes.set_yticks(at, [victim_label(config, dataset, victim) for victim in victims[dataset]])
        axes.set_ylim(at[-1] - 0.55, 0.55)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    panels[-1].set(xlim=(-1.5, 101.5), xlabel="%")
    labels = ["Clean, whole test split", "Clean, attacked texts", *(f"Aua, {attack_label(config, attack)}" for attack in names)]
    handles = [Line2D([], [], **look) for _, _, look in marks]
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _ticks(axes: Axes, values: Sequence[float]) -> None:
    """Mark exactly the values there are; steps that grow by factors stand on a logarithmic axis."""
    values = sorted(set(values))
    if values[0] > 0 and values[-1] / values[0] >= 8:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values, [f"{value:g}" for value in values])


def _dodge(axes: Axes, values: np.ndarray, number: int, total: int) -> np.ndarray:
    """Return places beside the values, so that the bars of several series do not hide each other."""
    shift = 0.012 * (number - (total - 1) / 2)
    low, high = axes.get_xlim()
    if axes.get_xscale() == "log":
        return values * (high / low) ** shift
    return values + shift * (high - low)


def _lines(axes: Axes, lines: Sequence[tuple[np.ndarray, pd.DataFrame, dict]], name: str) -> None:
    """Draw lines (x, rows, look) of one column with its intervals into axes with ticks at all x."""
    values = np.concatenate([x for x, _, _ in lines])
    _ticks(axes, values.tolist())
    low, high = values.min(), values.max()
    if axes.get_xscale() == "log":
        axes.set_xlim(low * (low / high) ** 0.06, high * (high / low) ** 0.06)
    else:
        axes.set_xlim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    for number, (x, rows, look) in enumerate(lines):
        place = _dodge(axes, x, number, len(lines))
        axes.errorbar(place, 100 * rows[name].to_numpy(float), yerr=_bars(rows, name), elinewidth=1, capsize=2, zorder=3, **look)


def _steps(attacks: pd.DataFrame, config: Mapping) -> Figure:
    """Draw Clean% and Aua% against t, the ascent steps of adversarial training, a row a data set (paper, Figure 2)."""
    title = f"Clean and Aua by ascent steps t of adversarial training, with {100 * config['evaluate']['confidence']:g} % intervals"
    families = [family for family in step_families(config) if attacks.victim.isin(list(family.members)).any()]
    if not families:
        return placeholder(title, "This run has no victims that differ in the ascent steps only.")
    datasets = list(dict.fromkeys(family.dataset for family in families))
    names = [attack for attack in main_attacks(config) if (attacks.attack == attack).any()]
    kinds = list(dict.fromkeys(family.label for family in families))
    figure = Figure(figsize=(max(2.3 * (len(names) + 1) + 0.4, 5.2), 2.4 * len(datasets) + 0.8))
    panels = figure.subplots(len(datasets), len(names) + 1, squeeze=False)
    for line, dataset in zip(panels, datasets, strict=True):
        own = [family for family in families if family.dataset == dataset]
        part = attacks[attacks.dataset == dataset]
        plain = plain_victim(config, dataset)
        for axes, attack in zip(line, [None, *names], strict=True):
            name = "clean_test" if attack is None else "aua"
            rows = part.drop_duplicates("victim") if attack is None else part[part.attack == attack]
            rows = rows.set_index("victim")
            lines = []
            for family in own:
                members = [victim for victim in family.members if victim in rows.index]
                if members:
                    lines.append(
                        (
                            np.array([family.members[victim] for victim in members], float),
                            rows.loc[members],
                            _series(kinds.index(family.label), len(kinds)),
                        )
                    )
            if not lines:
                axes.set_axis_off()
                continue
            _lines(axes, lines, name)
            if plain in rows.index and pd.notna(rows.loc[plain, name]):
                axes.axhline(100 * rows.loc[plain, name], color="0.35", linewidth=1.2, linestyle=(0, (1, 1.2)), zorder=2)
            n = rows.n_test if attack is None else rows.n
            head = "Clean, whole test" if attack is None else f"Aua, {attack_label(config, attack)}"
            axes.set_title(f"{head}\nn = {_n(n)}")
            axes.set_xlabel("ascent steps t")
        line[0].set_ylabel(f"{dataset}, %")
        for axes in line[1:]:
            # The attacks of one data set on one scale; Clean varies too little to be seen on it.
            axes.set_ylim(min(other.get_ylim()[0] for other in line[1:]), max(other.get_ylim()[1] for other in line[1:]))
    handles = [Line2D([], [], **_series(number, len(kinds))) for number in range(len(kinds))]
    handles.append(Line2D([], [], color="0.35", linewidth=1.2, linestyle=(0, (1, 1.2))))
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    figure.legend(handles, [*kinds, "without adversarial training"], loc="outside lower center", ncols=min(len(handles), 3))
    return figure


def _selection(attacks: pd.DataFrame, config: Mapping, key: str) -> Figure:
    """Draw Aua% against one constraint, a panel a victim, a line a recipe (paper, Section 3.2)."""
    title = f"Aua by {AXES[key].split(',')[0].split(' (')[0]}, with {100 * config['evaluate']['confidence']:g} % intervals"
    families = [family for family in selection_families(config, key) if attacks.attack.isin(list(family.members)).any()]
    if not families:
        return placeholder(title, f"This run has no attacks of one recipe that differ in {key} only.")
    datasets = list(dict.fromkeys(family.dataset for family in families))
    victims = {dataset: list(dict.fromkeys(attacks.victim[attacks.dataset == dataset])) for dataset in datasets}
    columns = min(max(len(names) for names in victims.values()), 3)
    # Every data set begins on a line of its own.
    lines = [(dataset, names[start : start + columns]) for dataset, names in victims.items() for start in range(0, len(names), columns)]
    kinds = list(dict.fromkeys(family.label for family in families))
    figure = Figure(figsize=(max(2.45 * columns + 0.4, 4.6), 2.1 * len(lines) + 0.9))
    panels = figure.subplots(len(lines), columns, squeeze=False, sharey=True)
    for place, (dataset, names) in enumerate(lines):
        for axes, victim in zip(panels[place], names, strict=False):
            rows = attacks[(attacks.dataset == dataset) & (attacks.victim == victim)].set_index("attack")
            _panel(axes, [family for family in families if family.dataset == dataset], rows, kinds)
            axes.set_title(f"{dataset}: {victim_label(config, dataset, victim)}, n = {_n(rows.n)}")
        for axes in panels[place][len(names) :]:
            axes.set_axis_off()
        panels[place][0].set_ylabel("Aua, %")
        for column in range(len(names)):
            if place + 1 == len(lines) or column >= len(lines[place + 1][1]):
                panels[place][column].set_xlabel(AXES[key])
    handles = [Line2D([], [], **_series(number, len(kinds))) for number in range(len(kinds))]
    figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    figure.legend(handles, kinds, loc="outside lower center", ncols=min(len(kinds), 3))
    return figure


def _panel(axes: Axes, families: Sequence[Family], rows: pd.DataFrame, kinds: Sequence[str]) -> None:
    lines = []
    for family in families:
        members = [attack for attack in family.members if attack in rows.index]
        if members:
            lines.append(
                (np.array([family.members[attack] for attack in members], float), rows.loc[members], _series(kinds.index(family.label), len(kinds)))
            )
    if lines:
        _lines(axes, lines, "aua")
