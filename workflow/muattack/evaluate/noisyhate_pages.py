"""The tables of human-written perturbations for people: cleaning, draws, normalisers, thresholds, recall by type, judging."""

import os
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from muattack.evaluate.attack_pages import marked, plain_text, span
from muattack.evaluate.normalisers import COUNTERPART, OVERALL, PUBLISHED, SOURCE, accuracy
from muattack.evaluate.tables import NONE, grid, number, page, per_cent, write_csv
from muattack.evaluate.thresholds import PUBLISHED_AREA, PUBLISHED_RECALL, VERSIONS, areas, curves, recall_by_type
from muattack.mutate.human import OTHER, TYPES
from muattack.records import write_text

# How many pairs the published figures are of. They stand beside figures of ours that are of as many pairs, read from a file, only.
PUBLISHED_PAIRS = 1339
# Thresholds that the page shows; the CSV has all.
SHOWN = (0.1, 0.3, 0.5, 0.7, 0.9)
CLUSTERS = "Pairs of one clean word are no independent observations, so a clean word counts as a cluster."


def write_cleaning(steps: pd.DataFrame, source: str, texts: str, csv: str | os.PathLike, md: str | os.PathLike) -> None:
    """Write cleaning.csv and cleaning.md: what `noisyhate.clean` tells of each step. `source`: whose texts; `texts`: which of them."""
    header = ["step", "texts before", "left out", "changed", "texts after"]
    lines = [[row.step, f"{row.rows_in:,}", f"{row.rows_in - row.rows_out:,}", f"{row.changed:,}", f"{row.rows_out:,}"] for row in steps.itertuples()]
    first, last = int(steps["rows_in"].iloc[0]), int(steps["rows_out"].iloc[-1])
    text = page(
        "Cleaning",
        f"The test texts of {plain_text(source)} ({plain_text(texts)}), cleaned in the steps of the table, one after the other: {last:,} of {first:,} are left.",
        grid(header, lines),
        "Duplicates: of equal texts the first stays. Links, numbers, special characters and capitals are taken out of texts; what is left without a word is left out, and "
        "so is a text with a word that is not on the list of English words. The paper names what is removed (3.2); order and rules of the steps are ours.",
    )
    write_csv(csv, steps)
    write_text(md, text)


def write_perturbing(
    config: Mapping, perturbed: pd.DataFrame, draws: pd.DataFrame, proxy: str | None, csv: str | os.PathLike, md: str | os.PathLike
) -> None:
    """Write perturbing.csv (a row a draw) and perturbing.md: the draws, why texts stayed as they are, an example of each type.

    perturbed, draws: what `human.perturb` returns.
    """
    noisyhate = config["noisyhate"]
    kinds = [kind for kind in TYPES if kind in draws]
    lines = [
        [f"**{row['seed']}**" if row["kept"] else str(row["seed"]), number(row["entropy"], 4), *(f"{row[kind]:,}" for kind in kinds)]
        for row in draws.to_dict("records")
    ]
    reasons = perturbed.loc[perturbed["form"] == "", "reason"].value_counts().sort_index()
    changed = perturbed[perturbed["form"] != ""]
    by = (
        f"the word that moves the score of {plain_text(proxy)} most, by more than {noisyhate['threshold']:g}"
        if proxy
        else "the longest word that has a form"
    )
    which = " (of the words that have a form)" if proxy and noisyhate["skip_unknown"] else ""
    stayed = "; ".join(f"{reason}: {count:,}" for reason, count in reasons.items())
    examples = []
    for kind in kinds:
        of_kind = changed[changed["type"] == kind]
        if len(of_kind):
            row = of_kind.iloc[0]
            examples.append(f"- {kind}: {marked(row['original'], row['edits'])}")
    text = page(
        "Perturbing",
        f"One word of each clean text is written as people write it: {by}{which}. Of {len(perturbed):,} texts {len(changed):,} changed ({changed['word'].nunique():,} distinct words)."
        + (f" The others stay as they are: {stayed}." if stayed else ""),
        f"Types were drawn {len(draws)} times, rare ones more often (weight: one over the number of the type's forms). Bold: the draw with the highest entropy of types, which is kept.",
        grid(["draw", "entropy, bits", *kinds], lines),
        *(["**An example of each type**", "\n".join(examples)] if examples else []),
    )
    write_csv(csv, draws)
    write_text(md, text)


def write_normalisers(config: Mapping, restored: pd.DataFrame, csv: str | os.PathLike, md: str | os.PathLike) -> None:
    """Write normalisers.csv and normalisers.md: the share of perturbed words restored, by type and overall. restored: see `normalisers.restore`."""
    names = list(dict.fromkeys(restored["normaliser"]))
    pairs = int((restored["normaliser"] == names[0]).sum())
    beside = published_pairs(config, pairs)
    frame = accuracy(restored, config["evaluate"]["confidence"], PUBLISHED if beside else {})
    kinds = list(dict.fromkeys(frame["type"]))
    table = frame.set_index(["normaliser", "type"])
    counts = [table.loc[(names[0], kind)] for kind in kinds]
    lines = [["n (clean words)", *(f"{int(row['n']):,} ({int(row['words']):,})" for row in counts)]]
    for name in names:
        lines.append([plain_text(name), *(span(*table.loc[(name, kind), ["value", "low", "high"]]) for kind in kinds)])
        if table.loc[name, "published"].notna().any():
            lines.append([f"*{COUNTERPART[name]}, published*", *(per_cent(table.loc[(name, kind), "published"]) for kind in kinds)])
    for name in [one for one in dict.fromkeys(frame["normaliser"]) if one not in names]:
        lines.append([f"*{name}, published*", *(per_cent(table["published"].get((name, kind), np.nan)) for kind in kinds)])
    text = page(
        "Normalisers",
        f"Share of perturbed words that a normaliser restores, %, by type of perturbation. {_about(config, pairs)} The answer counts in small letters, as in the paper, so a form that differs "
        "in capitals alone is restored by whatever leaves the word alone, and by whatever lowers it.",
        grid(["", *kinds], lines),
        f"Square brackets: {100 * config['evaluate']['confidence']:g} % intervals (Wilson's, at the effective number of pairs). {CLUSTERS}"
        + (f" {OTHER}: forms that are of none of the five types." if OTHER in kinds else ""),
        f"Published: {SOURCE}; it prints neither n by type nor intervals, nor how types were told; ours are told by rule." if beside else "",
    )
    write_csv(csv, frame)
    write_text(md, text)


def write_thresholds(config: Mapping, scores: Mapping[str, pd.DataFrame], files: Mapping[str, str | os.PathLike]) -> None:
    """Write the curves, their areas and recall by type: files `thresholds`, `thresholds_md`, `areas`, `recall`, `recall_md`.

    scores: classifier -> what `thresholds.score_pairs` returns.
    """
    evaluate, noisyhate = config["evaluate"], config["noisyhate"]
    confidence, at = evaluate["confidence"], noisyhate["recall_at"]
    parts = {"thresholds": [], "areas": [], "recall": []}
    for name, table in scores.items():
        parts["thresholds"].append(curves(table, confidence=confidence, who=name).assign(classifier=name))
        parts["areas"].append(areas(table, config["seed"], evaluate["bootstrap"], confidence, name).assign(classifier=name))
        parts["recall"].append(recall_by_type(table, at, confidence, name).assign(classifier=name))
    frames = {key: _first(pd.concat(tables, ignore_index=True), "classifier") for key, tables in parts.items()}
    for key, frame in frames.items():
        write_csv(files[key], frame)
    pairs = len(next(iter(scores.values())))
    negative = {name: int((table["label"] == 0).sum()) for name, table in scores.items()}
    about = _about(config, pairs)
    if any(negative.values()):
        about += f" {max(negative.values()):,} of the pairs are of other classes than the one to find."
    who = _classifiers(config, scores)
    write_text(files["thresholds_md"], _thresholds_page(config, frames, pairs, about, who))
    write_text(files["recall_md"], _recall_page(config, frames["recall"], pairs, about, who))


def _thresholds_page(config: Mapping, frames: Mapping[str, pd.DataFrame], pairs: int, about: str, who: str) -> str:
    evaluate = config["evaluate"]
    areas_table = frames["areas"].set_index(["classifier", "measure"])
    lines = []
    for name in dict.fromkeys(frames["areas"]["classifier"]):
        values = [areas_table.loc[(name, measure), ["value", "low", "high"]] for measure in (*VERSIONS, "AUC_diff")]
        lines.append([plain_text(name), *(span(*one, 4, 1) for one in values)])
    if published_pairs(config, pairs):
        lines += [[f"*{name}, published*", NONE, NONE, number(value, 4)] for name, value in PUBLISHED_AREA.items()]
    curve = frames["thresholds"].set_index(["classifier", "version", "threshold"])
    shown = [
        [plain_text(name), version, *(span(*curve.loc[(name, version, threshold), ["value", "low", "high"]]) for threshold in SHOWN)]
        for name in dict.fromkeys(frames["thresholds"]["classifier"])
        for version in VERSIONS
    ]
    return page(
        "Accuracy by threshold",
        f"{about} A text is called positive where its score is above the threshold.",
        "**Area under the curve of accuracy over thresholds from 0 to 1, and AUC_diff = clean − perturbed**",
        grid(["", "clean", "perturbed", "AUC_diff"], lines),
        "**Accuracy, %, at some thresholds** (thresholds.csv has a hundred)",
        grid(["", "texts", *(f"{threshold:g}" for threshold in SHOWN)], shown, 2),
        who,
        f"Square brackets: {100 * evaluate['confidence']:g} % intervals. Areas, which are exact: percentiles of {evaluate['bootstrap']:,} bootstrap resamples of clean words, seed {config['seed']}; both texts "
        "of a pair stay together, so AUC_diff is a paired difference. Accuracy: Wilson's, pairs taken as independent: it says how sure one point is, AUC_diff compares the curves.",
        "Published: NoisyHate, Figure 4; other classifiers than ours, without intervals." if published_pairs(config, pairs) else "",
    )


def _recall_page(config: Mapping, frame: pd.DataFrame, pairs: int, about: str, who: str) -> str:
    kinds = list(dict.fromkeys(frame["type"]))
    kinds = [*(kind for kind in kinds if kind != OVERALL), OVERALL]
    table = frame.set_index(["classifier", "version", "type"])
    names = list(dict.fromkeys(frame["classifier"]))
    first = frame[(frame["classifier"] == names[0]) & (frame["version"] == VERSIONS[0])].set_index("type")
    lines = [["n", "", *(f"{int(first.loc[kind, 'n']):,}" for kind in kinds)]]
    lines += [
        [plain_text(name), version, *(span(*table.loc[(name, version, kind), ["value", "low", "high"]]) for kind in kinds)]
        for name in names
        for version in VERSIONS
    ]
    beside = published_pairs(config, pairs)
    if beside:
        blank = [NONE] * (len(kinds) - 1)
        lines += [
            [f"*{name}, published*", version, *blank, per_cent(value)]
            for name, values in PUBLISHED_RECALL.items()
            for version, value in zip(VERSIONS, values, strict=True)
        ]
    return page(
        "Recall by type of perturbation",
        f"{about} Recall: the share of positive texts with a score above {config['noisyhate']['recall_at']:g}, %. The clean row of a type is of the clean texts of its pairs.",
        grid(["", "texts", *kinds], lines, 2),
        who,
        f"Square brackets: {100 * config['evaluate']['confidence']:g} % intervals (Wilson's, at the effective number of pairs). {CLUSTERS}",
        "Published: NoisyHate, Figure 4 at 0.5; other classifiers than ours, without intervals." if beside else "",
    )


def write_judging(
    config: Mapping, verdicts: pd.DataFrame, workers: pd.DataFrame, kept: pd.DataFrame, csv: str | os.PathLike, md: str | os.PathLike
) -> None:
    """Write judging.csv and judging.md: the share of pairs kept by type, and who judged.

    verdicts, workers: what `answers.judge` returns; kept: what `answers.retention` returns.
    """
    judging = config["noisyhate"]["judging"]
    lines = [[row.type, f"{row.n:,}", f"{row.kept:,}", span(row.value, row.low, row.high)] for row in kept.itertuples()]
    rule = "that more than half find likely" if judging["rule"] == "majority" else "with a mean above 3 from more than half of them"
    missed = (
        "only answers that miss the word are left out"
        if judging["misses"] is None
        else f"a worker with more than {judging['misses']} missed words is dropped with all answers"
    )
    people = [[plain_text(row.worker), f"{row.answers:,}", f"{row.missed:,}", "yes" if row.dropped else "no"] for row in workers.itertuples()]
    reasons = verdicts.loc[~verdicts["kept"].astype(bool), "reason"].value_counts().sort_index()
    text = page(
        "Judging",
        f"{len(verdicts):,} pairs, {judging['workers']} workers for each. Kept are pairs {rule}; {missed}.",
        grid(["type", "n", "kept", "%"], lines),
        f"Square brackets: {100 * config['evaluate']['confidence']:g} % intervals (Wilson's).",
        *(
            ["**Why pairs were not kept**", grid(["reason", "pairs"], [[reason, f"{count:,}"] for reason, count in reasons.items()])]
            if len(reasons)
            else []
        ),
        "**Workers**",
        grid(["worker", "answers", "words missed", "dropped"], people),
    )
    write_csv(csv, kept)
    write_text(md, text)


def published_pairs(config: Mapping, pairs: int) -> bool:
    """Return whether so many pairs are those that the published figures are of, as far as can be told."""
    return bool(config["noisyhate"]["pairs"]) and pairs == PUBLISHED_PAIRS


def _about(config: Mapping, pairs: int) -> str:
    """Say which pairs a table is of."""
    noisyhate = config["noisyhate"]
    where = (
        f"the file {plain_text(os.path.basename(noisyhate['pairs']))}"
        if noisyhate["pairs"]
        else f"the test texts of {plain_text(noisyhate['source'])}"
    )
    judged = ", those that people kept" if noisyhate["judging"]["answers"] else ""
    return f"n = {pairs:,} pairs of a clean and a perturbed text from {where}{judged}."


def _classifiers(config: Mapping, names: Iterable[str]) -> str:
    """Say what each classifier is."""
    lines, chose = [], config["noisyhate"]["proxy"] if config["noisyhate"]["source"] else None
    for name in names:
        entry = config["noisyhate"]["classifiers"][name]
        if "detector" in entry:
            what = f"the detector {entry['detector']}"
        elif "defence" in entry:
            what = f"the classifier {entry['defence']} of {entry['dataset']}"
        else:
            what = (
                f"the function {entry['function']}" if "function" in entry else f"the classifier {os.path.basename(os.path.normpath(entry['path']))}"
            )
        what += f", {entry['positive']} being the class to find" if "positive" in entry else ""
        what += f", behind the normaliser {entry['normaliser']}" if "normaliser" in entry else ""
        proxy = "It is also the proxy that chose the words: the perturbations are aimed at it." if name == chose else ""
        lines.append(f"- {plain_text(name)}: {plain_text(what)}. {proxy}".rstrip())
    return "\n".join(lines)


def _first(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame[[column, *(one for one in frame.columns if one != column)]]
