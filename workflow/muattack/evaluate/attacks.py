"""What attacks did to victims: accuracy before and under attack, success, queries, each with n and an interval.

Definitions (the field's names). With n the texts attacked, all of them, skipped ones included:

    Clean = correct before the attack / n       Aua = correct after the attack / n
    Suc = succeeded / correct before the attack #Query = mean queries over the texts not skipped

A text on which the attack timed out or broke off in an error is counted against whoever would gain from it: it is not correct
after the attack (a defence gets no credit for an attack that did not end) and has not succeeded (nor does the attack). So
Aua = failed / n is a lower bound; `aua_most` is what it would be had all those texts withstood.
"""

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from muattack.attack.records import apply_edits, read_attack
from muattack.errors import InputError
from muattack.evaluate.attack_families import CAPTIONS, CONSTRAINTS, constraints_of, norm_families, plain_victim, victims_of
from muattack.evaluate.attack_pages import attacks_page, examples_page, norm_page
from muattack.evaluate.intervals import Resamples, clustered_shares, percentile_interval, resample_images, wilson
from muattack.evaluate.published_attacks import published
from muattack.evaluate.tables import write_csv
from muattack.records import read_records, write_text

EXAMPLES = 10
# Reasons told in the note of a row.
REASONS = 3
STATUSES = ("skipped", "succeeded", "failed", "timed_out", "error")
# What must be the same for all victims of an attack, or the comparison is not fair (constraints are compared with the configuration).
FAIR = ("measure", "similarity_encoder", "synonyms_sha256", "antonyms_sha256", "language_model_sha256")
COLUMNS = [
    "dataset", "victim", "attack", "recipe", *CONSTRAINTS,
    "clean_test", "clean_test_low", "clean_test_high", "n_test", "clean", "clean_low", "clean_high", "aua", "aua_low", "aua_high", "aua_most",
    "suc", "suc_low", "suc_high", "queries", "queries_low", "queries_high", "words_changed", "words_changed_low", "words_changed_high",
    "similarity", "similarity_low", "similarity_high", "n", "images", "correct_before", "skipped", "succeeded", "failed", "timed_out", "errors",
    "plain", "clean_test_difference", "clean_test_difference_low", "clean_test_difference_high", "aua_difference", "aua_difference_low",
    "aua_difference_high", "published_clean", "published_aua", "resamples", "seed", "note",
]  # fmt: skip
NORM_COLUMNS = [
    "dataset", "family", "norm", "max_norm", "victim", "attack", "clean_test", "clean_test_low", "clean_test_high", "n_test", "clean", "clean_low",
    "clean_high", "aua", "aua_low", "aua_high", "suc", "suc_low", "suc_high", "queries", "queries_low", "queries_high", "n", "skipped", "note",
]  # fmt: skip
EXAMPLE_COLUMNS = [
    "place", "dataset", "victim", "attack", "id", "label", "predicted_after", "score_before", "score_after", "similarity", "words", "words_changed",
    "queries", "edits", "original", "adversarial",
]  # fmt: skip


class Run(NamedTuple):
    """One attack on one victim: its file's header and its texts, one row each, in the order of the attack."""

    dataset: str
    victim: str
    attack: str
    header: dict
    texts: pd.DataFrame

    @property
    def correct_before(self) -> np.ndarray:
        """Tell for each text whether the victim was right before the attack; unknown counts as not."""
        known = self.texts.status.isin(["succeeded", "failed"]).to_numpy()
        right = _floats(self.texts.predicted_before) == _floats(self.texts.label)
        return known | (right & (self.texts.status != "skipped").to_numpy())

    @property
    def withstood(self) -> np.ndarray:
        """Tell for each text whether the victim was right after an attack that ended."""
        return (self.texts.status == "failed").to_numpy()


def write_attack_tables(
    config: Mapping,
    records: Mapping[tuple[str, str, str], str | os.PathLike],
    clean: Mapping[tuple[str, str], str | os.PathLike],
    captions: str | os.PathLike | None,
    tables: Iterable[str],
    out: Mapping[str, tuple[str | os.PathLike, str | os.PathLike]],
) -> None:
    """Write the named tables (attacks, attack_examples, attack_norm) as CSV and Markdown, `out` {table: (csv, md)}.

    `records` {(dataset, victim, attack): attack file}; `clean` {(dataset, victim): scores of the whole test split}, for captions the
    detector's scores with task "clean", read together with `captions`. Raises InputError where files do not fit together.
    """
    runs = read_runs(config, records)
    frame = attack_table(config, runs, clean, captions)
    for name in tables:
        csv_path, md_path = out[name]
        if name == "attacks":
            write_csv(csv_path, frame)
            write_text(md_path, attacks_page(config, frame, [(run.dataset, run.victim, run.attack, run.header) for run in runs]))
        elif name == "attack_norm":
            norm = norm_table(config, frame)
            write_csv(csv_path, norm)
            write_text(md_path, norm_page(config, norm))
        elif name == "attack_examples":
            examples = example_table(runs)
            # Texts hold line feeds, carriage returns and quotes: every cell of text is quoted, and half a surrogate pair is no UTF-8.
            cells = examples.assign(edits=[json.dumps(edits) for edits in examples.edits])
            cells = cells.map(lambda cell: cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell)
            write_text(csv_path, cells.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))
            write_text(md_path, examples_page(config, examples, sum(int((run.texts.status == "succeeded").sum()) for run in runs)))
        else:
            raise InputError(f"There is no attack table `{name}`. Known here: attacks, attack_examples, attack_norm.")


def read_runs(config: Mapping, records: Mapping[tuple[str, str, str], str | os.PathLike]) -> list[Run]:
    """Read attack files, in the order of the configuration (data set, victim, attack), and check that they can be compared.

    Raises InputError when a file is another's, lacks texts, or differs from those of the other victims of its data set in the texts
    or in the settings of the attack.
    """
    victims, attacks = list(victims_of(config)), list(config["attacks"]["recipes"])
    order = [(*victim, attack) for victim in victims for attack in attacks if (*victim, attack) in records]
    strange = [key for key in records if key not in order]
    if strange:
        raise InputError(
            f"The attack file {records[strange[0]]} is for {' / '.join(strange[0])}, which the configuration does not have. Leave it out."
        )
    runs = [_read_run(config, key, records[key]) for key in order]
    for number, run in enumerate(runs):
        first = next(other for other in runs if other.dataset == run.dataset)
        alike = next((other for other in runs[:number] if (other.dataset, other.attack) == (run.dataset, run.attack)), run)
        _check_texts(first, run, records)
        _check_settings(alike, run, records)
    return runs


def _read_run(config: Mapping, key: tuple[str, str, str], path: str | os.PathLike) -> Run:
    header, texts = read_attack(path)
    dataset, victim, attack = key
    if (header["dataset"], header["victim"]) != (dataset, victim):
        raise InputError(
            f"{path} holds the attack on {header['victim']} ({header['dataset']}), not on {victim} ({dataset}). Delete it and run again."
        )
    wanted = {"recipe": config["attacks"]["recipes"][attack]["recipe"], **constraints_of(config, dataset, attack)}
    for name, value in wanted.items():
        value = wanted["k_max"] if name == "queries_per_word" and value is None else value
        if _made_with(header, name) != value:
            raise InputError(
                f"{path} was made with {name} {_made_with(header, name)}, but the configuration gives {attack} on {dataset} {name} {value}. "
                "Delete the file, and the workflow makes it anew."
            )
    if header["texts"] != len(texts):
        raise InputError(
            f"{path} says that {header['texts']} texts were attacked, but holds {len(texts)}. Delete it, and the workflow gathers it anew."
        )
    if texts.id.duplicated().any():
        raise InputError(f"{path} holds the text {texts.id[texts.id.duplicated()].iloc[0]} twice. Delete it, and the workflow gathers it anew.")
    return Run(dataset, victim, attack, header, texts.reset_index(drop=True))


def _made_with(header: Mapping, name: str) -> object:
    """Return a parameter of an attack as its file's header has it; queries_per_word null stands for k_max."""
    attack = header["attack"]
    return attack.get("k_max") if name == "queries_per_word" and attack.get(name) is None else attack.get(name)


def _check_texts(first: Run, run: Run, records: Mapping) -> None:
    same = len(first.texts) == len(run.texts)
    for column in ("id", "label", "original"):
        if same and (first.texts[column].to_numpy() == run.texts[column].to_numpy()).all():
            continue
        pairs = zip(first.texts[column], run.texts[column], strict=False)
        row = next((number for number, (one, other) in enumerate(pairs) if one != other), min(len(first.texts), len(run.texts)))
        raise InputError(
            f"{records[run[:3]]} ({len(run.texts)} texts) and {records[first[:3]]} ({len(first.texts)} texts) do not hold the same texts of {run.dataset}: "
            f"text number {row + 1} differs in `{column}`. Victims are compared on the same texts only; delete the older file and run again."
        )


def _check_settings(other: Run, run: Run, records: Mapping) -> None:
    for key in FAIR:
        if run.header["attack"].get(key) != other.header["attack"].get(key):
            raise InputError(
                f"The attack {run.attack} ran on {run.victim} with {key} {run.header['attack'].get(key)}, on {other.victim} with "
                f"{other.header['attack'].get(key)} ({records[run[:3]]}, {records[other[:3]]}): such victims cannot be compared. Delete the older file and run again."
            )


def _floats(values: Sequence) -> np.ndarray:
    """Return numbers as float64, null as NaN, whatever type they were read as."""
    return pd.to_numeric(pd.Series(values).reset_index(drop=True)).to_numpy(dtype=float, na_value=np.nan)


def share_interval(hit: np.ndarray, image: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """Return (share, low, high) of the texts that hit: Wilson's interval, at the effective number of texts where images have several.

    NaN where there is no text.
    """
    if not len(hit):
        return np.nan, np.nan, np.nan
    share = float(np.mean(hit))
    images, number = np.unique(image, return_inverse=True)
    if len(images) == len(image):
        low, high = wilson(np.array(share), np.array(len(hit)), confidence)
        return share, float(low), float(high)
    found = clustered_shares(hit, np.zeros(len(hit)), 1, number, confidence)
    return share, float(found["low"][0]), float(found["high"][0])


def difference_interval(a: np.ndarray, b: np.ndarray, image: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """Return (difference, low, high) of two shares a − b observed on the same texts (bool, in the same order).

    Newcombe's interval for paired shares (1998, method 10: square-and-add of both shares' intervals, the correlation corrected for
    continuity). The correlation is that of the images' summed residuals, which is his phi where every text has its own image. Unlike
    percentiles of resamples it keeps a width where the two always agree.
    """
    if not len(a):
        return np.nan, np.nan, np.nan
    (p, p_low, p_high), (q, q_low, q_high) = share_interval(a, image, confidence), share_interval(b, image, confidence)
    group = np.unique(image, return_inverse=True)[1]
    x, y = np.bincount(group, weights=a - p), np.bincount(group, weights=b - q)
    spread, product = np.sqrt((x @ x) * (y @ y)), np.sqrt(p * (1 - p) * q * (1 - q))
    phi = float(np.clip(x @ y / spread, -1, 1)) if spread > 0 and product > 0 else 0.0
    if phi > 0:
        phi = max(phi - 1 / (2 * len(x) * product), 0.0)
    down = (p - p_low) ** 2 - 2 * phi * (p - p_low) * (q_high - q) + (q_high - q) ** 2
    up = (p_high - p) ** 2 - 2 * phi * (p_high - p) * (q - q_low) + (q - q_low) ** 2
    # Rounding must not make a root of a negative number.
    return p - q, max(p - q - float(np.sqrt(max(down, 0))), -1.0), min(p - q + float(np.sqrt(max(up, 0))), 1.0)


def mean_interval(values: np.ndarray, image: np.ndarray, resamples: Resamples, confidence: float) -> tuple[float, float, float]:
    """Return (mean, low, high) of the values that are known: percentiles over resamples of images; no interval for a single image."""
    known = ~np.isnan(values)
    if not known.any():
        return np.nan, np.nan, np.nan
    mean = float(values[known].mean())
    if len(np.unique(image[known])) < 2:
        return mean, np.nan, np.nan
    at = resamples.positions(image[known])
    counts = resamples.totals(at)
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean, *percentile_interval(resamples.totals(at, values[known]) / counts, mean, confidence)


def attack_table(
    config: Mapping,
    runs: Sequence[Run],
    clean: Mapping[tuple[str, str], str | os.PathLike],
    captions: str | os.PathLike | None,
) -> pd.DataFrame:
    """Return one row for each data set, victim and attack: COLUMNS, shares from 0 to 1, NaN for what is not defined."""
    evaluate, seed = config["evaluate"], config["seed"]
    confidence, settings = evaluate["confidence"], victims_of(config)
    table = read_records(captions, columns=["id", "image_id", "source", "label", "split"]) if captions else None
    images = {} if table is None else dict(zip(table.id, table.image_id, strict=True))
    rows = []
    for dataset in dict.fromkeys(run.dataset for run in runs):
        here = [run for run in runs if run.dataset == dataset]
        ids = here[0].texts.id.tolist()
        image = np.array([str(images.get(one, one)) if dataset == CAPTIONS else one for one in ids], dtype=object)
        resamples = resample_images(image, evaluate["bootstrap"], seed)
        tests = {
            victim: _read_clean(dataset, victim, clean[dataset, victim], table, ids)
            for victim in dict.fromkeys(run.victim for run in here)
            if (dataset, victim) in clean
        }
        plain = plain_victim(config, dataset)
        rival = {run.attack: run for run in here if run.victim == plain}
        for run in here:
            row = _row(run, image, resamples, confidence)
            row |= _clean_row(tests.get(run.victim), tests.get(plain) if run.victim != plain else None, confidence)
            row["plain"] = plain
            if run.attack in rival and run.victim != plain:
                found = difference_interval(run.withstood, rival[run.attack].withstood, image, confidence)
                row |= dict(zip(("aua_difference", "aua_difference_low", "aua_difference_high"), found, strict=True))
            row["published_clean"], row["published_aua"] = published(config, dataset, settings[dataset, run.victim], row)
            row["note"] = "; ".join(filter(None, [row["note"], _disagreement(run, tests.get(run.victim))]))
            rows.append(row | {"resamples": evaluate["bootstrap"], "seed": seed})
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype({"published_clean": float, "published_aua": float})


def _row(run: Run, image: np.ndarray, resamples: Resamples, confidence: float) -> dict:
    """Return what the texts of one attack on one victim say by themselves."""
    texts = run.texts
    status = texts.status.to_numpy()
    counts = {name: int((status == name).sum()) for name in STATUSES}
    before, succeeded = run.correct_before, status == "succeeded"
    words = _floats(texts.words)
    with np.errstate(divide="ignore", invalid="ignore"):
        changed = np.where(succeeded, _floats(texts.words_changed) / words, np.nan)
    # An error's queries stop anywhere.
    ended = np.isin(status, ["succeeded", "failed", "timed_out"])
    row = {"dataset": run.dataset, "victim": run.victim, "attack": run.attack, "recipe": _made_with(run.header, "recipe")}
    row |= {key: _made_with(run.header, key) for key in CONSTRAINTS}
    values = {
        "clean": share_interval(before, image, confidence),
        "aua": share_interval(run.withstood, image, confidence),
        "suc": share_interval(succeeded[before], image[before], confidence),
        "queries": mean_interval(np.where(ended, _floats(texts.queries), np.nan), image, resamples, confidence),
        "words_changed": mean_interval(changed, image, resamples, confidence),
        "similarity": mean_interval(np.where(succeeded, _floats(texts.similarity), np.nan), image, resamples, confidence),
    }
    for name, (value, low, high) in values.items():
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    row["aua_most"] = float(np.isin(status, ["failed", "timed_out", "error"]).mean()) if len(texts) else np.nan
    row |= {"n": len(texts), "images": len(np.unique(image)), "correct_before": int(before.sum())}
    row |= {name if name != "error" else "errors": count for name, count in counts.items()}
    note = "no text was attacked" if not len(texts) else "no text was right before the attack" if not before.any() else ""
    return row | {"note": "; ".join(filter(None, [note, *_reasons(texts)]))}


def _reasons(texts: pd.DataFrame) -> list[str]:
    """Say why texts could not be attacked to the end or at all, the commonest reasons first."""
    told = texts[texts.status.isin(["failed", "error"])]
    # Half a surrogate pair in an exception's text fits no file; the number of words differs from text to text.
    reasons = Counter(re.sub(r" of \d+ ", " ", one.encode("utf-8", "backslashreplace").decode()) for one in told.reason if one)
    common = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    more = sum(count for _, count in common[REASONS:])
    return [f"{reason} ({count:,})" for reason, count in common[:REASONS]] + ([f"other reasons ({more:,})"] if more else [])


def _read_clean(dataset: str, victim: str, path: str | os.PathLike, captions: pd.DataFrame | None, attacked: Sequence[str]) -> pd.DataFrame:
    """Return a victim's whole test split, indexed and sorted by id: label, predicted, image.

    Captions: those of people and of the captioner whose texts are attacked, in distribution.
    """
    if dataset != CAPTIONS:
        frame = read_records(path, columns=["id", "label", "predicted"]).set_index("id").sort_index()
        return frame.assign(image=frame.index)
    if captions is None:
        raise InputError(f"The accuracy of {victim} on the captions needs captions.parquet beside {path}. Give both.")
    sources = {"human", "machine", *captions.source[captions.id.isin(attacked)]}
    test = captions[(captions.split == "test") & captions.source.isin(sources)].set_index("id")
    scores = read_records(path, columns=["task", "id", "score"])
    scores = scores[scores.task == "clean"].set_index("id").score
    lacking = test.index.difference(scores.index)
    if len(lacking):
        raise InputError(f"{path} has no score for {len(lacking)} of {len(test)} test captions, {lacking[0]} among them. Delete it and run again.")
    # The class of the higher probability, as attacks see it: a tie goes to the first class, human.
    predicted = (scores[test.index] > 0.5).astype(int)
    return pd.DataFrame({"label": test.label, "predicted": predicted, "image": test.image_id.astype(str)}).sort_index()


def _clean_row(own: pd.DataFrame | None, plain: pd.DataFrame | None, confidence: float) -> dict:
    """Return accuracy on the whole test split, and the paired difference to the plain victim's."""
    if own is None or own.empty:
        return {"clean_test": np.nan, "n_test": 0}
    image = pd.factorize(own.image)[0]
    right = (own.predicted == own.label).to_numpy()
    row = dict(zip(("clean_test", "clean_test_low", "clean_test_high"), share_interval(right, image, confidence), strict=True)) | {"n_test": len(own)}
    if plain is None or not plain.index.equals(own.index):
        return row
    found = difference_interval(right, (plain.predicted == plain.label).to_numpy(), image, confidence)
    return row | dict(zip(("clean_test_difference", "clean_test_difference_low", "clean_test_difference_high"), found, strict=True))


def _disagreement(run: Run, test: pd.DataFrame | None) -> str:
    """Say how often the attack found another prediction than the scores did; raise InputError where labels differ."""
    if test is None:
        return ""
    rows = test.reindex(run.texts.id)
    labels, told = rows.label.to_numpy(dtype=float, na_value=np.nan), _floats(run.texts.label)
    if (labels != told).any():
        at = int(np.flatnonzero(labels != told)[0])
        scored = "is not among the scored texts" if np.isnan(labels[at]) else f"has label {labels[at]:g} in the scores"
        raise InputError(
            f"The attack {run.attack} on {run.victim} attacked text {run.texts.id[at]} of {run.dataset} with label {told[at]:g}, which {scored}: the two were made from "
            "different data. Delete the older file and run again."
        )
    before = _floats(run.texts.predicted_before)
    other = int((~np.isnan(before) & (before != rows.predicted.to_numpy(dtype=float))).sum())
    return f"{other} texts were classified otherwise when the whole test split was scored" if other else ""


def norm_table(config: Mapping, attacks: pd.DataFrame) -> pd.DataFrame:
    """Return the ablation of the norm bound: for each family its plain victim, the bounds by size, and w/o (no bound, the ++ form)."""
    parts = []
    for family in norm_families(config):
        members = {name: "w/o" if value is None else f"{value:g}" for name, value in family.members.items()}
        plain = plain_victim(config, family.dataset)
        for victim, norm in (({plain: "plain"} if plain and plain not in members else {}) | members).items():
            part = attacks[(attacks.dataset == family.dataset) & (attacks.victim == victim)]
            parts.append(part.assign(family=family.label, norm=norm, max_norm=family.members.get(victim)))
    return pd.concat(parts, ignore_index=True)[NORM_COLUMNS] if parts else pd.DataFrame(columns=NORM_COLUMNS)


def example_table(runs: Sequence[Run], count: int = EXAMPLES) -> pd.DataFrame:
    """Return the most instructive adversarial texts, at most one a text, best first: EXAMPLE_COLUMNS.

    The rule: at every step the next one comes from the victims and attacks that have been shown least so far; among those it is the one with the
    fewest words changed, then the highest similarity, then the first by place and id. Raises InputError where edits do not make the adversarial text.
    """
    candidates = []
    for place, run in enumerate(runs):
        found = run.texts[run.texts.status == "succeeded"]
        similarity = np.nan_to_num(_floats(found.similarity), nan=-1.0)
        changed = np.nan_to_num(_floats(found.words_changed), nan=np.inf)
        candidates += zip(changed, -similarity, [place] * len(found), found.id, found.index, strict=True)
    candidates.sort()
    shown: dict[tuple[str, ...], int] = {}
    taken: set[tuple[str, str]] = set()
    rows = []
    while len(rows) < count:
        best = None
        for candidate in candidates:
            run = runs[candidate[2]]
            if (run.dataset, candidate[3]) in taken:
                continue
            uses = shown.get((run.dataset, run.victim), 0) + shown.get((run.attack,), 0)
            if best is None or uses < best[0]:
                best = (uses, candidate)
        if best is None:
            break
        _, _, place, one, row = best[1]
        run = runs[place]
        taken.add((run.dataset, one))
        for key in ((run.dataset, run.victim), (run.attack,)):
            shown[key] = shown.get(key, 0) + 1
        text = run.texts.loc[row]
        _check_edits(run, text)
        rows.append({"place": len(rows) + 1, "dataset": run.dataset, "victim": run.victim, "attack": run.attack, **text.to_dict()})
    # As objects: a text with half a surrogate pair fits no other type.
    return pd.DataFrame(rows, columns=EXAMPLE_COLUMNS, dtype=object)


def _check_edits(run: Run, text: pd.Series) -> None:
    try:
        made = apply_edits(text.original, text.edits)
    except ValueError:
        made = None
    if made != text.adversarial:
        raise InputError(
            f"The attack {run.attack} on {run.victim}: the edits of text {text.id} do not turn its original into its adversarial text. "
            "Delete the attack's file and run again."
        )
