"""AUC against m, the largest share of words that RR-training removes: Figure 7."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from muattack.evaluate.labels import DOMAINS, SMALL, reported_tasks, task_mathtext
from muattack.evaluate.published import SUGGESTED_M
from muattack.figures.style import blank, handle, looks, marks, placeholder, styled
from muattack.results import sweep_detectors


@styled
def draw_sweep(metrics: pd.DataFrame, config: Mapping) -> Figure:
    """Draw AUC by m for each task, a panel a domain, with intervals as bands; m = 0 is Finetune.

    The range of m that the paper suggests is shaded. `metrics` is metrics.csv.
    """
    steps = {name: m for name, m in {"finetune": 0.0, **sweep_detectors(config["detectors"])}.items() if (metrics.detector == name).any()}
    if len(steps) < 2:
        return placeholder("AUC by m", "This run has no detectors rr_m… of the sweep.")
    here = metrics[metrics.detector.isin(list(steps))]
    here = here.assign(m=here.detector.map(steps)).sort_values("m", kind="stable")
    domains = [name for name in DOMAINS if (here.domain == name).any()]
    tasks = [task for task in reported_tasks(config) if (here.task == task).any()]
    figure = Figure(figsize=(3.5 * len(domains) + 2.0, 3.6))
    panels = figure.subplots(1, len(domains), sharey=True, squeeze=False)[0]
    for axes, domain in zip(panels, domains, strict=True):
        axes.axvspan(*SUGGESTED_M, color="0.93", zorder=0, linewidth=0)
        axes.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        for number, (task, look) in enumerate(looks(tasks).items()):
            rows = here[(here.domain == domain) & (here.task == task)].dropna(subset=["auc"])
            if rows.empty:
                continue
            width = 0.7 if rows.n_machine.max() < SMALL else look.width
            axes.fill_between(rows.m, rows.auc_low, rows.auc_high, color=look.color, alpha=0.13, linewidth=0, zorder=1.5)
            axes.plot(rows.m, rows.auc, color=look.color, linestyle=look.dash, linewidth=width, zorder=3 - number / 100, **marks(look))
        values = sorted(set(steps.values()))
        axes.set_xticks(values, ["0\nFinetune" if m == 0 else f"{m:g}" for m in values])
        axes.set(xlabel="m, largest share of words removed in training", title=DOMAINS[domain])
    panels[0].set_ylabel("AUC")
    first = here[here.domain == domains[0]].groupby("task").n_machine.max()
    handles, texts = [], []
    for task, look in looks(tasks).items():
        n = first[task]
        handles.append(handle(look, 0.7 if n < SMALL else None) if n else blank())
        texts.append(f"{task_mathtext(task)}, n = {n:,}" if n else f"{task_mathtext(task)}: no text")
    handles.append(Patch(color="0.93"))
    texts.append(f"m suggested by the paper\n({SUGGESTED_M[0]} to {SUGGESTED_M[1]})")
    where = f", {DOMAINS[domains[0]].lower()}" if len(domains) > 1 else ""
    confidence = f"{100 * config['evaluate']['confidence']:g} %"
    panels[-1].legend(
        handles,
        texts,
        title=f"Bands: {confidence} intervals\nn: machine texts{where}",
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
        alignment="left",
        labelspacing=0.7,
    )
    return figure
