"""The table of accuracy by severity for people: what was measured, what the texts were corrupted by, the published values beside ours."""

import os
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from muattack.evaluate.attack_families import labels_of
from muattack.evaluate.attack_pages import gap, marked, plain_text, span
from muattack.evaluate.labels import detector_label
from muattack.evaluate.severity import SOURCE, severity_table
from muattack.evaluate.tables import NONE, grid, page, per_cent, write_csv
from muattack.mutate.corrupt import CORRUPTIONS, WEIGHTS
from muattack.records import read_meta, read_records, write_text

# Fewest words of a text that is shown as an example.
SHOWN_WORDS = 12


def write_severity_tables(
    config: Mapping,
    texts: Mapping[str, str | os.PathLike],
    scores: Mapping[tuple[str, str], str | os.PathLike],
    csv: str | os.PathLike,
    md: str | os.PathLike,
) -> None:
    """Write severity.csv and severity.md.

    config: the whole configuration; texts: data set -> file of `severity_sweep`; scores: (data set, detector or defence) -> file of its predictions.
    """
    evaluate = config["evaluate"]
    frames, parts = [], []
    for dataset, path in texts.items():
        predictions = pd.concat([read_records(file) for (where, _), file in scores.items() if where == dataset], ignore_index=True)
        table = severity_table(predictions, dataset, evaluate["confidence"], evaluate["bootstrap"], config["seed"])
        meta = read_meta(path)
        if meta["weights"] != WEIGHTS:
            # The published values are of the default weights.
            table["published"] = float("nan")
        frames.append(table)
        parts += _dataset(config, dataset, table, predictions, meta, read_records(path, ["severity", "id", "label", "original", "edits", "words"]))
    frame = pd.concat(frames, ignore_index=True)
    write_csv(csv, frame)
    write_text(md, _page(config, frame, parts))


def judge_labels(config: Mapping) -> dict[str, str]:
    """Return what detectors and defences are called in the figure."""
    entries = {**config["classification"]["defences"], **config["detectors"]}
    return {name: detector_label(name, entries) for name in entries}


def _page(config: Mapping, frame: pd.DataFrame, parts: Sequence[str]) -> str:
    evaluate = config["evaluate"]
    return page(
        "Accuracy by severity of natural corruptions",
        "Words of the test texts are replaced as keyboards and dictionaries would: bad autocorrect (another common word, few letters away), bad autocompletion (another common word with the same "
        "first letters), bad synonym (context ignored), typo (one wrong letter). Severity is the share of a text's words that are tried, rounded to whole words; a higher severity corrupts the words "
        "of a lower one in the same way, and more. Severity 0 is the texts as they are. All severities and all lines of a data set are of the same texts; nothing was trained on corrupted ones.",
        f"Square brackets: {100 * evaluate['confidence']:g} % intervals. Accuracy: Wilson's, at the effective number of texts where several texts belong to one image. Change: in percentage points from "
        "severity 0, paired on the same texts (Newcombe's interval); ° marks one whose interval includes 0. "
        f"AUC, for two classes (the second above the first): percentiles of {evaluate['bootstrap']:,} bootstrap resamples of images (of texts, where a text has no image), seed {config['seed']}. "
        "Intervals cover other texts, not another training seed or another draw of corruptions.",
        *parts,
        SOURCE if frame["published"].notna().any() else "",
    )


def _dataset(config: Mapping, dataset: str, table: pd.DataFrame, predictions: pd.DataFrame, meta: Mapping, texts: pd.DataFrame) -> list[str]:
    """Return the parts of the page on one data set."""
    severities = [entry["severity"] for entry in meta["severities"]]
    clean = texts[texts["severity"] == severities[0]]
    labels = labels_of(config, dataset)
    counts = ", ".join(f"{plain_text(label)} {int((clean['label'] == number).sum()):,}" for number, label in enumerate(labels))
    header = ["", *(f"severity {severity:g}" for severity in severities)]
    parts = [f"## {plain_text(dataset)}", f"n = {len(clean):,} test texts at every severity ({counts})."]
    for metric, title in (("accuracy", "Accuracy, %"), ("accuracy_change", "Change of accuracy from severity 0, percentage points"), ("auc", "AUC")):
        rows = table[table["metric"] == metric]
        if rows.empty:
            continue
        lines = []
        for name in dict.fromkeys(rows["classifier"]):
            by_severity = rows[rows["classifier"] == name].set_index("severity")
            lines.append([judge_labels(config)[name], *(_cell(metric, by_severity, severity) for severity in severities)])
        if metric == "accuracy" and rows["published"].notna().any():
            known = rows.drop_duplicates("severity").set_index("severity")["published"]
            lines.append(["*published*", *(per_cent(known.get(severity, float("nan")), 0) for severity in severities)])
        notes = "; ".join(dict.fromkeys(note for note in rows["note"] if isinstance(note, str) and note))
        parts += [f"**{title}**", grid(header, lines), f"AUC: {notes}." if notes and metric == "auc" else ""]
    return [
        *parts,
        _leaning(config, predictions, labels),
        *_corruptions(meta),
        _base(config, dataset, meta),
        _cut(config, predictions),
        *_example(texts, severities),
    ]


def _cell(metric: str, rows: pd.DataFrame, severity: float) -> str:
    if severity not in rows.index:
        return NONE
    row = rows.loc[severity]
    if metric == "accuracy_change":
        return gap(row["value"], row["low"], row["high"])
    return span(row["value"], row["low"], row["high"]) if metric == "accuracy" else span(row["value"], row["low"], row["high"], 3, 1)


def _leaning(config: Mapping, predictions: pd.DataFrame, labels: Sequence[str]) -> str:
    """Say how often each judge says the second of two classes, as the texts are and at the highest severity: whether errors go one way."""
    if len(labels) != 2:
        return ""
    shares = predictions["predicted"].eq(1).groupby([predictions["classifier"], predictions["severity"]], sort=False).mean()
    most = predictions["severity"].max()
    told = [
        f"{judge_labels(config)[name]} {per_cent(shares[name, 0.0])} % at severity 0, {per_cent(shares[name, most])} % at {most:g}"
        for name in dict.fromkeys(predictions["classifier"])
    ]
    true = predictions.loc[predictions["severity"] == 0, "label"].eq(1).groupby(predictions["classifier"]).mean().iloc[0]
    return (
        f"Called {plain_text(labels[1])}: {'; '.join(told)} (true: {per_cent(true)} %). Where nearly all texts are called one thing, accuracy is little more than the share of that class; "
        "AUC tells how far the order of the scores is still right."
    )


def _corruptions(meta: Mapping) -> list[str]:
    """Return what was done to the texts, severity by severity, and what typos stand in for."""
    lines = []
    for entry in meta["severities"]:
        total = entry["words_corrupted"]
        made = (per_cent(entry["corruptions"][kind] / total if total else float("nan")) for kind in CORRUPTIONS)
        lines.append(
            [
                f"{entry['severity']:g}",
                f"{entry['changed']:,} of {entry['texts']:,}",
                f"{total:,} of {entry['words']:,}",
                per_cent(entry["share"]),
                *made,
            ]
        )
    header = ["severity", "texts changed", "words corrupted", "%", *(f"{kind}, %" for kind in CORRUPTIONS)]
    weights = {kind: weight / sum(meta["weights"].values()) for kind, weight in meta["weights"].items()}
    tried = ", ".join(f"{kind} {per_cent(weights[kind])}" for kind in CORRUPTIONS)
    made = meta["severities"][-1]
    # Words drawn for each kind but not made so: what an unmet synonym and an unmet autocompletion become.
    typos = made["corruptions"]["typo"] / made["words_corrupted"] if made["words_corrupted"] else 0.0
    text = f"Tried, %: {tried}; the last four columns are what came of it, in % of the words corrupted. "
    if weights["synonym"] and weights["typo"] and typos > weights["typo"]:
        text += f"A word without a synonym gets a typo instead, so that typos are {per_cent(typos)} % of the corruptions at severity {made['severity']:g}, not {per_cent(weights['typo'])} %. "
    if weights["autocompletion"] and weights["autocorrect"]:
        text += "A word that no common word begins like is autocorrected. "
    return ["**What was done to the texts**", grid(header, lines), text + "What cannot be done either leaves the word as it is."]


def _base(config: Mapping, dataset: str, meta: Mapping) -> str:
    """Say what the corruptions were made of."""
    facts = meta["base"]
    corpus, common, synonyms = facts["corpus"], facts["common_words"], facts["synonyms"]
    if config["corrupted"]["base"] == "run":
        where = (
            f"the training texts of {plain_text(dataset)} ({corpus['words']:,} words, {corpus['distinct_words']:,} distinct), not on the test texts"
        )
    elif corpus["source"] == "texts":
        where = f"{plain_text(os.path.basename(config['corrupted']['base']))} ({corpus['words']:,} words, {corpus['distinct_words']:,} distinct)"
    else:
        where = ""
    share = f", which make up {per_cent(common['share'])} % of its words" if "share" in common else ""
    fitted = f"Fitted on {where}: " if where else f"Not fitted on a corpus ({corpus['source']}): "
    of = {"own": "the list that comes with muattack", "wordnet": "WordNet, all senses of a word", "none": "none"}.get(
        synonyms["source"], plain_text(synonyms["source"])
    )
    running = f"; {per_cent(synonyms['share'])} % of the corpus's words have one" if "share" in synonyms else ""
    known = f" ({synonyms['words']:,} words{running})" if synonyms["words"] else ""
    return f"{fitted}{common['count']:,} common words of at least {common['min_length']} characters{share}. Synonyms: {of}{known}."


def _cut(config: Mapping, predictions: pd.DataFrame) -> str:
    """Say how many texts are longer than the models see, where any is."""
    if not predictions["truncated"].any():
        return ""
    shares = predictions.groupby(["classifier", "severity"])["truncated"].mean()
    low, high = shares.min(), shares.max()
    length = config["encoders"][config["encoder"]]["max_length"]
    return f"Of a text the models see {length:,} tokens; {per_cent(low)} to {per_cent(high)} % of the texts are longer, by severity. Corruptions behind that are not seen."


def _example(texts: pd.DataFrame, severities: Iterable[float]) -> list[str]:
    """Return the shortest text of some length at a middle and at the highest severity, with what was changed marked."""
    wanted = [severity for severity in severities if severity]
    middle = min(wanted, key=lambda severity: (abs(severity - 0.5), severity))
    clean = texts[texts["severity"] == 0]
    fit = clean[clean["words"] >= SHOWN_WORDS]
    fit = fit if len(fit) else clean
    name = fit.loc[fit["original"].str.len().sort_values(kind="stable").index[0], "id"]
    parts = [
        f"**An example** (the shortest text of at least {SHOWN_WORDS} words, {plain_text(name)}; <del>struck out</del> what was there, <ins>underlined</ins> what is now)"
    ]
    for severity in dict.fromkeys([middle, max(wanted)]):
        row = texts[(texts["severity"] == severity) & (texts["id"] == name)].iloc[0]
        parts += [f"Severity {severity:g}:", f"> {marked(row['original'], row['edits'])}"]
    return parts
