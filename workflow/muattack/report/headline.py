"""What a run found, in sentences: what breaks which detector most, and what training buys. Every number with its interval and n."""

from collections.abc import Callable, Mapping

import pandas as pd

from muattack.evaluate.attack_pages import attack_label, victim_label
from muattack.evaluate.labels import CLEAN, SMALL, detector_label, main_detectors, reported_tasks, task_label, unit
from muattack.evaluate.tables import interval, number, per_cent

Tables = Mapping[str, pd.DataFrame]


def findings(config: Mapping, tables: Tables) -> list[str]:
    """Return the findings of a run as sentences in Markdown, the most telling first.

    `tables` holds what the run has of its CSV files, by name: metrics, differences and those of its folder `tables`. What a run does not
    have is not spoken of.
    """
    parts: list[tuple[str, Callable[[Mapping, Tables], list[str]]]] = [
        ("metrics", _broken),
        ("differences", _bought),
        ("operators", _worst_operator),
        ("articles", _articles),
        ("attacks", _attacked),
        ("severity", _corrupted),
        ("normalisers", _restored),
        ("transfer", _transferred),
    ]
    return [sentence for name, tell in parts if name in tables and len(tables[name]) for sentence in tell(config, tables)]


def with_interval(value: float, low: float, high: float, sign: bool = False) -> str:
    """Return a number with its interval; alone where there is none."""
    return number(value, sign=sign) if pd.isna(low) else f"{number(value, sign=sign)} {interval(low, high, sign=sign)}"


def in_per_cent(value: float, low: float, high: float) -> str:
    """Return a share with its interval in per cent."""
    return f"{per_cent(value)} %" + ("" if pd.isna(low) else f" [{per_cent(low)}, {per_cent(high)}]")


def plain_detector(names: list[str]) -> str:
    """Return the detector that others are held against: finetune, or the first."""
    return "finetune" if "finetune" in names else names[0]


def worst_tasks(config: Mapping, metrics: pd.DataFrame) -> pd.DataFrame:
    """Return for each of the main detectors its row of unmutated texts and that of the task with the lowest AUC, in distribution.

    Columns: detector, and those of metrics.csv once as they are (the worst task) and once with `clean_` before them. Detectors without a
    defined AUC on a mutated task are left out, and tasks of fewer than SMALL texts where there are larger ones.
    """
    inside = metrics[metrics.domain == "in"]
    clean = inside[inside.task == CLEAN].set_index("detector")
    mutated = inside[inside.task.isin(reported_tasks(config)) & (inside.task != CLEAN) & inside.auc.notna()]
    rows = []
    for name in main_detectors(list(config["detectors"]), config["detectors"]):
        part = mutated[mutated.detector == name]
        part = _not_small(part)
        if len(part) and name in clean.index:
            rows.append(part.loc[part.auc.idxmin()].to_dict() | {f"clean_{key}": value for key, value in clean.loc[name].items()})
    return pd.DataFrame(rows)


def _not_small(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that rest on SMALL texts of each class at least; all of them where none does."""
    enough = rows[rows[["n_human", "n_machine"]].min(axis=1) >= SMALL]
    return enough if len(enough) else rows


def _broken(config: Mapping, tables: Tables) -> list[str]:
    worst = worst_tasks(config, tables["metrics"])
    if not len(worst):
        return []
    row = worst.set_index("detector").loc[plain_detector(list(worst.detector))]
    who = detector_label(row.name, config["detectors"])
    clean = with_interval(row.clean_auc, row.clean_auc_low, row.clean_auc_high)
    after = with_interval(row.auc, row.auc_low, row.auc_high)
    of = f" of {row.n_images:,} images" if unit(config) == "images" else ""
    turned = " Below 0.5, mutated machine texts look more human to it than people's own." if row.auc < 0.5 else ""
    return [
        f"**{task_label(row.task)}** is hardest for **{who}**: its AUC is {clean} on unmutated texts and {after} here "
        f"(n = {row.n_human:,} human and {row.n_machine:,} machine texts{of}).{turned}"
    ]


def _bought(config: Mapping, tables: Tables) -> list[str]:
    frame = tables["differences"]
    frame = frame[(frame.metric == "auc") & (frame.domain == "in") & frame.task.isin(reported_tasks(config)) & frame.difference.notna()]
    pair = frame[(frame.detector_a == "rr") & (frame.detector_b == "finetune")]
    if not len(pair):
        return []
    mutated, clean = pair[pair.task != CLEAN], pair[pair.task == CLEAN]
    sentences = []
    if len(mutated):
        settled = mutated[(mutated.low > 0) | (mutated.high < 0)]
        best = mutated.loc[_not_small(mutated).difference.abs().idxmax()]
        up, down = (settled.difference > 0).sum(), (settled.difference < 0).sum()
        sentences.append(
            f"**RR-training** changes the AUC most on {task_label(best.task)}: by {with_interval(best.difference, best.low, best.high, sign=True)} against Finetune "
            f"(paired, n = {best.n_human:,} human and {best.n_machine:,} machine texts). Of {len(mutated)} mutated tasks it is better on {up} and worse on {down} with an interval that excludes 0."
        )
    if len(clean):
        row = clean.iloc[0]
        verdict = "not settled, the interval includes 0" if row.low <= 0 <= row.high else "a difference, the interval excludes 0"
        sentences.append(
            f"On **unmutated texts** RR-training changes the AUC by {with_interval(row.difference, row.low, row.high, sign=True)}: {verdict}."
        )
    return sentences


def _worst_operator(config: Mapping, tables: Tables) -> list[str]:
    frame = tables["operators"]
    who = plain_detector(list(dict.fromkeys(frame.detector)))
    # A text that the detector missed before says nothing of the operator.
    least = config["evaluate"]["min_mutants"]
    frame = frame[(frame.detector == who) & (frame.detected_before >= least) & frame.flipped.notna()]
    if not len(frame):
        return [
            f"No single **operator** can be ranked by what it hides from {detector_label(who, config['detectors'])}: none changes {least} machine texts that score "
            f"{config['evaluate']['threshold']:g} or more."
        ]
    row = frame.loc[frame.flipped.idxmax()]
    return [
        f"Of single operators **{row.operator}** hides most from {detector_label(who, config['detectors'])}: {in_per_cent(row.flipped, row.flipped_low, row.flipped_high)} of "
        f"{row.detected_before:,.0f} machine texts that it had found."
    ]


def _articles(config: Mapping, tables: Tables) -> list[str]:
    names = {"human": "human", "machine": "machine", "machine_ood": "out-of-distribution machine"}
    shares = [
        f"{per_cent(row.share, 2)} % [{per_cent(row.low, 2)}, {per_cent(row.high, 2)}] of {row.n:,} {names[row.source]} texts"
        for row in tables["articles"].itertuples()
    ]
    return [f"**Without an article** are {', '.join(shares)}: what the article operators imitate."]


def _attacked(config: Mapping, tables: Tables) -> list[str]:
    sentences = []
    for (dataset, attack), part in tables["attacks"].groupby(["dataset", "attack"], sort=False):
        part = part[part.aua.notna()].set_index("victim")
        if not len(part):
            continue
        best = part.loc[part.aua.idxmax()]
        plain = part.loc[best.plain] if best.plain in part.index else best
        told = [
            f"Under **{attack_label(config, attack)}** on {dataset}, {victim_label(config, dataset, plain.name)} stays right on "
            f"{in_per_cent(plain.aua, plain.aua_low, plain.aua_high)} of {plain.n:,.0f} texts ({per_cent(plain.clean)} % before)"
        ]
        if best.aua <= plain.aua:
            told.append("none of the others on more" if len(part) > 1 else "")
        else:
            difference = f"{number(100 * best.aua_difference, 1, True)} [{number(100 * best.aua_difference_low, 1, True)}, {number(100 * best.aua_difference_high, 1, True)}]"
            unsettled = ", which includes 0" if best.aua_difference_low <= 0 <= best.aua_difference_high else ""
            told.append(
                f"the best, {victim_label(config, dataset, best.name)}, on {in_per_cent(best.aua, best.aua_low, best.aua_high)}: {difference} points{unsettled}"
            )
        sentences.append("; ".join(filter(None, told)) + ".")
    return sentences


def _corrupted(config: Mapping, tables: Tables) -> list[str]:
    sentences = []
    accuracy = tables["severity"].query("metric == 'accuracy'")
    for (dataset, classifier), part in accuracy.groupby(["dataset", "classifier"], sort=False):
        first, last = part.loc[part.severity.idxmin()], part.loc[part.severity.idxmax()]
        sentences.append(
            f"**Natural corruptions** of severity {last.severity:g} take the accuracy of {classifier} on {dataset} from "
            f"{in_per_cent(first.value, first.low, first.high)} to {in_per_cent(last.value, last.low, last.high)} (n = {last.n:,.0f})."
        )
    return sentences


def _restored(config: Mapping, tables: Tables) -> list[str]:
    overall = tables["normalisers"].query("type == 'overall'").dropna(subset="value")
    if not len(overall):
        return []
    best = overall.loc[overall.value.idxmax()]
    return [
        f"Of {len(overall)} **normalisers**, {best.normaliser} restores most perturbed words: {in_per_cent(best.value, best.low, best.high)} of {best.n:,.0f}."
    ]


def _transferred(config: Mapping, tables: Tables) -> list[str]:
    sentences = []
    success = tables["transfer"].query("measure == 'success'").dropna(subset="value")
    for dataset, part in success.groupby("dataset", sort=False):
        for role, texts, what in (("source", "attacked", "fools the classifier it was made for"), ("target", "attacked", "carries over to")):
            rows = part[(part.role == role) & (part.texts == texts)]
            if len(rows):
                best = rows.loc[rows.value.idxmax()]
                model = "" if role == "source" else f" {best.model}"
                sentences.append(
                    f"On {dataset}, **{best.method}** {what}{model} most often: {in_per_cent(best.value, best.low, best.high)} of {best.n:,.0f} texts."
                )
    return sentences
