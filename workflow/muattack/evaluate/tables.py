"""The tables of a run: each as CSV with every digit, and as Markdown for people.

A builder takes `Inputs` and returns (frame for the CSV, Markdown text). Numbers are those of metrics.csv, differences.csv
and the scores; the paper's stand beside them.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from muattack.evaluate.articles import count_missing_articles
from muattack.evaluate.labels import (
    DOMAINS,
    MEASURE_COLUMNS,
    MEASURES,
    SMALL,
    detector_label,
    main_detectors,
    reported_tasks,
    task_label,
    unit,
)
from muattack.evaluate.metrics import compute_lengths, length_buckets
from muattack.evaluate.operators import count_operators, count_sets
from muattack.evaluate.published import DOUBT, MISSING_ARTICLES, OPERATORS, SUGGESTED_M, comparable, is_doubtful, published
from muattack.records import read_meta, write_text
from muattack.results import defended_pairs, sweep_detectors

# Operators shown in the ranking for people.
SHOWN = 30
NONE = "–"
LONG_COLUMNS = [
    "domain", "metric", "task", "detector", "value", "low", "high", "published", "published_doubtful", "n_human", "n_machine", "n_images",
    "n_images_machine", "note",
]  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """What tables are made from: frames of a run, the operators' file, scores by detector, the whole configuration."""

    captions: pd.DataFrame
    metrics: pd.DataFrame
    differences: pd.DataFrame
    operators: str | os.PathLike
    scores: Mapping[str, str | os.PathLike]
    config: Mapping


def write_csv(path: str | os.PathLike, frame: pd.DataFrame) -> None:
    """Write a frame as CSV: full precision, empty cells for what is undefined."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))


def read_csv(path: str | os.PathLike) -> pd.DataFrame:
    """Read what `write_csv` wrote; notes without text are empty strings, other empty cells NaN."""
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return frame.assign(note=frame.note.astype(object).fillna("").astype(str)) if "note" in frame else frame


def write_tables(names: Iterable[str], folder: str | os.PathLike, inputs: Inputs) -> None:
    """Write {name}.csv and {name}.md of each named table (a key of BUILDERS) into the folder."""
    for name in names:
        frame, text = BUILDERS[name](inputs)
        if frame.empty:
            text += "\nThis run has none of the detectors or texts that this table is about.\n"
        write_csv(Path(folder) / f"{name}.csv", frame)
        write_text(Path(folder) / f"{name}.md", text)


def number(value: float, digits: int = 3, sign: bool = False) -> str:
    """Return a number for people; a dash for what is undefined."""
    return NONE if pd.isna(value) else f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def interval(low: float, high: float, digits: int = 3, sign: bool = False) -> str:
    """Return an interval for people; a dash for what is undefined."""
    return NONE if pd.isna(low) else f"[{number(low, digits, sign)}, {number(high, digits, sign)}]"


def per_cent(value: float, digits: int = 1) -> str:
    """Return a share in per cent for people."""
    return NONE if pd.isna(value) else f"{100 * value:.{digits}f}"


def grid(header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a Markdown table; all but the first `text_columns` columns are set to the right."""
    lines = [header, ["---"] * text_columns + ["---:"] * (len(header) - text_columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def page(title: str, *parts: str) -> str:
    """Return a Markdown page from its title and paragraphs; empty parts are left out."""
    return "\n\n".join([f"# {title}", *(part.rstrip("\n") for part in parts if part)]) + "\n"


def about_intervals(config: Mapping) -> str:
    """Say what the intervals are."""
    evaluate = config["evaluate"]
    return (
        f"Square brackets: {100 * evaluate['confidence']:g} % intervals from {evaluate['bootstrap']:,} bootstrap resamples of the test {unit(config)}, seed "
        f"{config['seed']}; one of no width only says that all resamples agree. They cover other {unit(config)}, not another training seed."
    )


def about_tasks(config: Mapping) -> str:
    """Say what the tasks are and which texts they hold."""
    mutate = config["mutate"]
    kept = "only texts that the mutation changes enter a task" if mutate["keep"] == "changed" else "unchanged texts stay in the tasks"
    made = "; ".join(f"{task}: {' + '.join(sets)}" for task, sets in mutate["tasks"].items())
    return (
        f"H vs. M sets human against machine texts, H vs. M_x the same after the mutation x ({made}). "
        f"Mutated are the {' and '.join(mutate['classes'])} texts, and {kept}. "
        "Machine is the positive class: an AUC below 0.5 means that machine texts look more human than human texts do."
    )


def about_small(rows: pd.DataFrame) -> str:
    """Name the tasks of a table that are empty or small."""
    lines = []
    for domain, part in rows.groupby("domain", sort=False):
        tasks = part.drop_duplicates("task")
        where = DOMAINS[domain].lower()
        lines += [f"{task_label(row.task)} {where}: {row.note}." for row in tasks.itertuples() if row.n_machine == 0 or row.n_human == 0]
        lines += [
            f"{task_label(row.task)} {where} has {n} {who} texts only: read its numbers with care."
            for row in tasks.itertuples()
            for n, who in ((row.n_human, "human"), (row.n_machine, "machine"))
            if 0 < n < SMALL and min(row.n_human, row.n_machine) > 0
        ]
    return " ".join(lines)


def domains_of(metrics: pd.DataFrame) -> list[str]:
    """Return the domains there are, in distribution first."""
    return [name for name in DOMAINS if (metrics.domain == name).any()]


def long_table(inputs: Inputs, detectors: Sequence[str]) -> pd.DataFrame:
    """Return one row for each domain, measure, task and detector: value, low, high, published, counts."""
    rows = []
    table = inputs.metrics.set_index(["detector", "domain", "task"])
    for domain in domains_of(inputs.metrics):
        for measure, (value, low, high) in MEASURE_COLUMNS.items():
            for task in reported_tasks(inputs.config):
                for detector in detectors:
                    if (detector, domain, task) not in table.index:
                        continue
                    row = table.loc[(detector, domain, task)]
                    known = published(detector, measure, task) if domain == "in" and comparable(inputs.config["mutate"], task) else None
                    counts = {name: row[name] for name in ("n_human", "n_machine", "n_images", "n_images_machine", "note")}
                    values = {"value": row[value], "low": row[low], "high": row[high], "published": known}
                    names = {"domain": domain, "metric": measure, "task": task, "detector": detector}
                    rows.append(names | values | {"published_doubtful": known is not None and is_doubtful(measure, task)} | counts)
    return pd.DataFrame(rows, columns=LONG_COLUMNS)


def printed(row: pd.Series) -> str:
    """Return the paper's value as it prints it."""
    return NONE if pd.isna(row.published) else f"{row.published:.4f}{' ?' if row.published_doubtful else ''}"


def counts_row(part: pd.DataFrame, tasks: Sequence[str], blank: Sequence[str]) -> list[list[str]]:
    """Return the rows that tell how many texts and images a table's columns rest on."""
    first = part.drop_duplicates("task").set_index("task")
    return [
        ["n human / machine", *blank, *(f"{first.n_human[task]:,} / {first.n_machine[task]:,}" for task in tasks)],
        ["images with machine texts", *blank, *(f"{first.n_images_machine[task]:,}" for task in tasks)],
    ]


def measure_name(measure: str, config: Mapping) -> str:
    """Return a measure's name, with its operating point where it has one."""
    return f"TPR at FPR ≤ {100 * config['evaluate']['fpr']:g} %" if measure == "tpr" else MEASURES[measure]


def table1(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build Table 1: the base detector on the seven tasks."""
    frame = long_table(inputs, ["base"])
    parts = []
    for domain, part in frame.groupby("domain", sort=False):
        tasks = list(dict.fromkeys(part.task))
        rows = []
        for measure, values in part.groupby("metric", sort=False):
            by_task = values.set_index("task")
            name = measure_name(measure, inputs.config)
            rows.append([f"**{name}**", *(number(by_task.value[task]) for task in tasks)])
            rows.append(["interval", *(interval(by_task.low[task], by_task.high[task]) for task in tasks)])
            if values.published.notna().any():
                rows.append([f"{name}, paper", *(printed(by_task.loc[task]) for task in tasks)])
        rows += counts_row(part, tasks, [])
        parts += [f"## {DOMAINS[domain]}", grid(["", *map(task_label, tasks)], rows)]
    text = page(
        "Table 1. Base, the detector trained on another domain",
        about_tasks(inputs.config),
        f"{about_intervals(inputs.config)} {DOUBT}",
        *parts,
        about_small(frame),
    )
    return frame, text


def table2(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build Table 2: Finetune and RR on the seven tasks, the better of the two in bold, their difference with its interval."""
    names = [name for name in ("finetune", "rr") if name in inputs.scores]
    frame = long_table(inputs, names)
    values = frame.groupby(["domain", "metric", "task"], sort=False).value
    # Of two equal ones neither is the better.
    frame["best"] = (frame.value == values.transform("max")) & (values.transform("nunique") > 1)
    pair = inputs.differences.query("detector_a == 'rr' and detector_b == 'finetune'").set_index(["domain", "metric", "task"])
    for column in ("difference", "low", "high"):
        rows = zip(frame.domain, frame.metric, frame.task, frame.detector, strict=True)
        known = [pair[column].get((domain, metric, task)) if detector == "rr" else None for domain, metric, task, detector in rows]
        frame[column if column == "difference" else f"difference_{column}"] = pd.Series(known, index=frame.index, dtype=float)
    labels = {name: detector_label(name, inputs.config["detectors"]) for name in names}
    parts = []
    for domain, part in frame.groupby("domain", sort=False):
        tasks = list(dict.fromkeys(part.task))
        rows = []
        for measure, values in part.groupby("metric", sort=False):
            name = measure_name(measure, inputs.config)
            for detector in names:
                by_task = values[values.detector == detector].set_index("task")
                shown = [f"**{number(row.value)}**" if row.best else number(row.value) for row in map(by_task.loc.__getitem__, tasks)]
                rows.append([name, labels[detector], *shown])
                rows.append(["", "interval", *(interval(by_task.low[task], by_task.high[task]) for task in tasks)])
            if len(names) == 2:
                rows.append(["", "RR − Finetune", *(settled(by_task.loc[task]) for task in tasks)])
                rows.append(["", "interval", *(interval(by_task.difference_low[task], by_task.difference_high[task], sign=True) for task in tasks)])
            if values.published.notna().any():
                for detector in names:
                    by_task = values[values.detector == detector].set_index("task")
                    rows.append(["", f"paper, {labels[detector].split(' (')[0]}", *(printed(by_task.loc[task]) for task in tasks)])
        rows += counts_row(part, tasks, [""])
        parts += [f"## {DOMAINS[domain]}", grid(["Metric", "Model", *map(task_label, tasks)], rows, 2), summary(part) if len(names) == 2 else ""]
    text = page(
        "Table 2. Finetune and RR",
        about_tasks(inputs.config),
        f"{about_intervals(inputs.config)} Bold: the higher of the two. The difference is paired (same texts, same resamples); ° marks one whose "
        f"interval includes 0: which of the two is better is then not settled. {DOUBT}",
        *parts,
        about_small(frame),
    )
    return frame, text


def settled(row: pd.Series) -> str:
    """Return a difference, marked where its interval includes 0 or is unknown."""
    if pd.isna(row.difference):
        return NONE
    clear = pd.notna(row.difference_low) and not row.difference_low <= 0 <= row.difference_high
    return number(row.difference, sign=True) + ("" if clear else " °")


def summary(part: pd.DataFrame) -> str:
    """Count where RR is ahead on AUC and accuracy, as the paper does (it finds 11 of 14)."""
    rows = part[(part.detector == "rr") & part.metric.isin(["auc", "accuracy"]) & part.difference.notna()]
    ahead, behind = (rows.difference_low > 0).sum(), (rows.difference_high < 0).sum()
    paper = " (the paper: 11 of 14)" if (part.domain == "in").all() else ""
    return (
        f"RR is the higher in {(rows.difference > 0).sum()} of {len(rows)} values of AUC and accuracy{paper}. "
        f"With intervals that exclude 0 it is higher in {ahead} and lower in {behind}."
    )


def differences(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the table of paired differences RR − Finetune on all tasks and single sets."""
    frame = inputs.differences.query("detector_a == 'rr' and detector_b == 'finetune'").reset_index(drop=True)
    parts = []
    for domain, part in frame.groupby("domain", sort=False):
        table = part.set_index(["task", "metric"])
        rows = []
        for task in dict.fromkeys(part.task):
            cells = []
            for measure in MEASURES:
                row = table.loc[(task, measure)]
                cells.append(settled(row.rename({"low": "difference_low", "high": "difference_high"})))
                cells.append(interval(row.low, row.high, sign=True))
            rows.append([task_label(task), *cells, f"{row.n_human:,} / {row.n_machine:,}", row.n_images_machine])
        header = [
            "Task",
            *(cell for measure in MEASURES for cell in (measure_name(measure, inputs.config), "interval")),
            "n human / machine",
            "images",
        ]
        parts += [f"## {DOMAINS[domain]}", grid(header, rows)]
    text = page(
        "What RR-training changes: RR − Finetune",
        about_tasks(inputs.config) + " Single operator sets follow the tasks.",
        f"{about_intervals(inputs.config)} Differences are paired: both detectors see the same texts in the same resamples. "
        "° marks an interval that includes 0.",
        *parts,
        about_small(frame),
    )
    return frame, text


def defended(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the table of defences at inference: each detector's AUC without and with the normalisers in front of it, and the paired difference."""
    config, metrics = inputs.config, inputs.metrics.set_index(["detector", "domain", "task"])
    pairs = defended_pairs(config["detectors"])
    parts, frames = [], []
    for on, off in pairs:
        frame = inputs.differences[(inputs.differences.detector_a == on) & (inputs.differences.detector_b == off)]
        for name, detector in (("off", off), ("on", on)):
            values = [metrics.loc[(detector, row.domain, row.task), MEASURE_COLUMNS[row.metric][0]] for row in frame.itertuples()]
            frame = frame.assign(**{name: values})
        frames.append(frame.assign(defend=" + ".join(config["detectors"][on]["defend"])))
        for domain, part in frame[frame.metric == "auc"].groupby("domain", sort=False):
            rows = []
            for row in part.itertuples():
                bounds = [metrics.loc[(name, domain, row.task), ["auc_low", "auc_high"]] for name in (off, on)]
                values = [f"{number(value)} {interval(*one)}" for value, one in zip((row.off, row.on), bounds, strict=True)]
                change = [settled(pd.Series({"difference": row.difference, "difference_low": row.low, "difference_high": row.high}))]
                change.append(interval(row.low, row.high, sign=True))
                rows.append([task_label(row.task), *values, *change, f"{row.n_human:,} / {row.n_machine:,}"])
            title = (
                f"## {detector_label(off, config['detectors'])} behind {', then '.join(config['detectors'][on]['defend'])}: {DOMAINS[domain].lower()}"
            )
            parts += [title, grid(["AUC", "off", "on", "on − off", "interval", "n human / machine"], rows)]
    frame = pd.concat(frames, ignore_index=True).rename(columns={"detector_a": "defended", "detector_b": "detector"})
    text = page(
        "Defences at inference, off and on",
        "Each text, people's and the machine's, passes the normalisers before the detector sees it; nothing is trained for it. H vs. M shows what that costs on texts "
        "that nobody mutated. " + about_tasks(config) + " Single operator sets follow the tasks.",
        f"{about_intervals(config)} Differences are paired: the same texts in the same resamples. ° marks an interval that includes 0.",
        *parts,
        about_small(frame),
    )
    return frame, text


def articles(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the table of texts without an article, by source."""
    confidence = inputs.config["evaluate"]["confidence"]
    frame = count_missing_articles(inputs.captions, confidence)
    names = {"human": "Human", "machine": "Machine", "machine_ood": "Machine, out of distribution"}
    rows = [
        [
            names[row.source],
            f"{row.n:,}",
            f"{row.images:,}",
            f"{row.without:,}",
            per_cent(row.share, 3),
            f"[{per_cent(row.low, 3)}, {per_cent(row.high, 3)}]",
            NONE if row.source not in MISSING_ARTICLES else ("about 4" if row.source == "human" else "0.04"),
        ]
        for row in frame.itertuples()
    ]
    shares = frame.set_index("source").share
    ratio = ""
    if shares.get("human", 0) > 0 and shares.get("machine", 0) > 0:
        ratio = (
            f"A human text lacks an article {shares['human'] / shares['machine']:.3g} times as often as a machine text (the paper: about 100 times)."
        )
    text = page(
        "Texts without an article",
        "Texts in which no word is a, an or the, in any case, over all splits. A word is a run of letters and digits; parts of words do not count.",
        grid(["Source", "texts", "images", "without an article", "%", f"{100 * confidence:g} % interval", "paper, %"], rows),
        ratio,
        "The interval is Wilson's at the effective number of texts: captions of one image resemble each other.",
    )
    return frame, text


def operators(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the operator table: each operator alone, its mutants and the share that fools each detector, worst first."""
    config, names = inputs.config, list(inputs.scores)
    least = config["evaluate"]["min_mutants"]
    frame = count_operators(inputs.captions, inputs.operators, inputs.scores, config["evaluate"])
    shown = main_detectors(names, config["detectors"])
    labels = [detector_label(name, config["detectors"]) for name in shown]
    wide = frame[frame.detector.isin(shown)]
    many = wide[wide.mutants >= least]
    ranking = []
    for operator in list(dict.fromkeys(many.operator))[:SHOWN]:
        part = many[many.operator == operator].set_index("detector")
        first = part.iloc[0]
        fooled = [f"{per_cent(part.fooled[name])} [{per_cent(part.fooled_low[name], 0)}, {per_cent(part.fooled_high[name], 0)}]" for name in shown]
        ranking.append(
            [first["set"], first.word, f"{first.mutants:,}", f"{first.images:,}", *fooled, *(per_cent(part.flipped[name]) for name in shown)]
        )
    flips = [f"flipped, {label}" for label in labels]
    meta = {one["name"]: one for one in read_meta(inputs.operators).get("sets", [])}
    sets = count_sets(wide).set_index(["set", "detector"]) if len(wide) else pd.DataFrame()
    by_set = []
    for name in dict.fromkeys([*meta, *wide["set"]]):
        sizes = [f"{meta[name][key]:,}" if name in meta else NONE for key in ("nominal", "effective")]
        here = (name, shown[0]) in sets.index
        counted = [f"{sets.applied[name, shown[0]]:,}", f"{sets.mutants[name, shown[0]]:,}"] if here else ["0", "0"]
        by_set.append([name, *sizes, *counted, *(per_cent(sets.fooled[name, detector]) if here else NONE for detector in shown)])
    applied, mutants = frame.operator.nunique(), frame.drop_duplicates("operator").mutants.sum()
    total = [f"{sum(one[key] for one in meta.values()):,}" if meta else NONE for key in ("nominal", "effective")]
    overall = [
        per_cent((part.fooled * part.mutants).sum() / part.mutants.sum()) if len(part) else NONE
        for part in (wide[wide.detector == name] for name in shown)
    ]
    by_set.append(["**all**", *total, f"{applied:,}", f"{mutants:,}", *overall])
    text = page(
        "Operators, each on its own",
        "An operator is one word and one mutation of it (its removal, or its letters replaced). Here each is applied alone to every machine text, in distribution, of "
        "the test split that it changes. A mutant fools a detector when its score falls below the threshold, "
        f"{config['evaluate']['threshold']:g}; the share that does is the operator's mutation score, in %. Flipped: of the texts that were detected "
        "before, the share that the mutation hides, in %.",
        "## Sets",
        grid(["Set", "operators, nominal", "effective", "applied here", "mutants", *(f"fools {label}" for label in labels)], by_set),
        f"Nominal counts (word, mutation) pairs (the paper: up to {OPERATORS:,}); effective those whose word has a letter to replace; applied here "
        "those that changed a text of this run.",
        f"## The {len(ranking)} worst operators with at least {least} mutants",
        f"Worst first for {detector_label('finetune' if 'finetune' in names else names[0], config['detectors'])}; in brackets the "
        f"{100 * config['evaluate']['confidence']:g} % interval (Wilson's at the effective number of texts). {many.operator.nunique()} of {applied} "
        "operators have that many mutants; operators.csv has all of them and all detectors.",
        grid(["Set", "word", "mutants", "images", *(f"fools {label}" for label in labels), *flips], ranking, 2)
        if ranking
        else "No operator has that many mutants.",
    )
    return frame, text


def lengths(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the table of H vs. M by the number of words."""
    config = inputs.config
    frame = compute_lengths(inputs.captions, inputs.scores, config["evaluate"], config["seed"])
    shown = main_detectors(list(inputs.scores), config["detectors"])
    buckets = list(length_buckets(config["evaluate"]["lengths"]))
    parts = []
    for domain, part in frame.groupby("domain", sort=False):
        table = part.set_index(["detector", "words"])
        rows = []
        for measure in ("auc", "tpr"):
            value, low, high = MEASURE_COLUMNS[measure]
            for name in shown:
                cells = [table.loc[(name, bucket)] for bucket in buckets]
                shown_cells = [f"{number(cell[value])} {interval(cell[low], cell[high])}" if pd.notna(cell[value]) else NONE for cell in cells]
                rows.append([measure_name(measure, config), detector_label(name, config["detectors"]), *shown_cells])
        rows.append(
            ["n human / machine", "", *(f"{table.n_human[shown[0], bucket]:,} / {table.n_machine[shown[0], bucket]:,}" for bucket in buckets)]
        )
        parts += [f"## {DOMAINS[domain]}", grid(["Metric", "Model", *(f"{bucket} words" for bucket in buckets)], rows, 2)]
    text = page(
        "H vs. M by the length of the texts",
        "Unmutated human and machine texts of like length against each other: a detector that is good on long texts may be of no use on short ones.",
        f"{about_intervals(config)} The threshold of the TPR is that of all human texts.",
        *parts,
    )
    return frame, text


def sweep(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the table of AUC by m, the largest share of words removed in RR-training; Finetune is m = 0."""
    config = inputs.config
    steps = ({"finetune": 0.0} if "finetune" in inputs.scores else {}) | {
        name: m for name, m in sweep_detectors(config["detectors"]).items() if name in inputs.scores
    }
    tasks = reported_tasks(config)
    frame = inputs.metrics[inputs.metrics.detector.isin(list(steps)) & inputs.metrics.task.isin(tasks)]
    columns = ["domain", "task", "auc", "auc_low", "auc_high", "n_human", "n_machine", "n_images", "n_images_machine", "note"]
    frame = frame.assign(m=frame.detector.map(steps))[["m", "detector", *columns]]
    pair = inputs.differences.query("metric == 'auc' and detector_b == 'finetune'")[["detector_a", "domain", "task", "difference", "low", "high"]]
    pair = pair.rename(columns={"detector_a": "detector", "low": "difference_low", "high": "difference_high"})
    place = {name: number for number, name in enumerate(dict.fromkeys([*DOMAINS, *tasks]))}
    frame = frame.merge(pair, on=["detector", "domain", "task"], how="left")
    frame = frame.sort_values(
        ["domain", "m", "task"], key=lambda column: column.map(place) if column.name != "m" else column, kind="stable", ignore_index=True
    )
    parts = []
    for domain, part in frame.groupby("domain", sort=False):
        best = part.groupby("task").auc.max()
        # Where all are equal, as at 0, none is the best.
        best[part.groupby("task").auc.min() == best] = float("nan")
        table = part.set_index(["detector", "task"])
        present = [task for task in tasks if task in best.index]
        rows = []
        for detector, m in dict.fromkeys(zip(part.detector, part.m, strict=True)):
            cells = []
            for task in present:
                row = table.loc[(detector, task)]
                value = f"**{number(row.auc)}**" if row.auc == best[task] else number(row.auc)
                mark = (
                    ""
                    if detector == "finetune" or pd.isna(row.difference_low)
                    else "↑"
                    if row.difference_low > 0
                    else "↓"
                    if row.difference_high < 0
                    else ""
                )
                cells.append(f"{value}{mark} {interval(row.auc_low, row.auc_high, 2)}" if pd.notna(row.auc) else NONE)
            rows.append(["0 (Finetune)" if detector == "finetune" else f"{m:g}", *cells])
        rows += [["n machine", *(f"{table.n_machine[part.detector.iloc[0], task]:,}" for task in present)]]
        parts += [f"## {DOMAINS[domain]}", grid(["m", *map(task_label, present)], rows)]
    text = page(
        "AUC by m, the largest share of words that RR-training removes",
        about_tasks(config),
        f"{about_intervals(config)} Bold: the best of a column. ↑ ↓: above or below Finetune with a paired interval that excludes 0. "
        f"The paper suggests m from {SUGGESTED_M[0]} to {SUGGESTED_M[1]}.",
        *parts,
        about_small(frame),
    )
    return frame, text


def about_repeated(captions: pd.DataFrame) -> str:
    """Say how many test texts stand word for word among the training texts: captioners repeat themselves."""
    if not (captions.split == "train").any():
        return ""
    seen = set(captions.text[(captions.split == "train") & (captions.source != "machine_ood")])
    test = captions[captions.split == "test"]
    counts = [f"{test.text[test.source == name].isin(seen).sum():,} of {(test.source == name).sum():,} ({name})" for name in test.source.unique()]
    return f"Test texts that stand word for word among the training texts of either class: {', '.join(counts)}."


def tasks(inputs: Inputs) -> tuple[pd.DataFrame, str]:
    """Build the table of AUC on all tasks and single sets for every detector."""
    config = inputs.config
    names = list(inputs.scores)
    frame = inputs.metrics[inputs.metrics.detector.isin(names)].reset_index(drop=True)
    parts = []
    for domain, part in frame.groupby("domain", sort=False):
        table = part.set_index(["task", "detector"])
        rows = []
        for task in dict.fromkeys(part.task):
            cells = [table.loc[(task, name)] for name in names]
            first = cells[0]
            values = [f"{number(cell.auc)} {interval(cell.auc_low, cell.auc_high, 2)}" if pd.notna(cell.auc) else NONE for cell in cells]
            rows.append([task_label(task), f"{first.n_human:,} / {first.n_machine:,}", *values])
        header = ["Task", "n human / machine", *(detector_label(name, config["detectors"]) for name in names)]
        parts += [f"## {DOMAINS[domain]}", grid(header, rows)]
    text = page(
        "AUC on all tasks and single operator sets",
        about_tasks(config),
        f"{about_intervals(config)} {about_repeated(inputs.captions)}",
        *parts,
        about_small(frame),
    )
    return frame, text


BUILDERS: dict[str, Callable[[Inputs], tuple[pd.DataFrame, str]]] = {
    "table1": table1,
    "table2": table2,
    "articles": articles,
    "operators": operators,
    "lengths": lengths,
    "sweep": sweep,
    "defended": defended,
    "differences": differences,
    "tasks": tasks,
}
