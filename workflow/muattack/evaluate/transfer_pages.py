"""The table of transfer for people: method by data set by model, the formulas, and what the source leaves open."""

import os
from collections.abc import Mapping, Sequence

import pandas as pd

from muattack.attack.records import read_lines
from muattack.errors import InputError
from muattack.evaluate.attack_families import labels_of
from muattack.evaluate.attack_pages import plain_text, span
from muattack.evaluate.attacks import share_interval
from muattack.evaluate.tables import NONE, grid, page, write_csv
from muattack.evaluate.transfer import Transfer, method_of, transfer_table
from muattack.records import read_records, write_text

FORMULAS = """Importance of a word w of a text x whose true label is y = f(x), with f_y(x) the probability of y and x\\w the text without w (Eq. 7 of the source):

- I(w) = f_y(x) − f_y(x\\w) where f(x\\w) = y
- I(w) = f_y(x) − f_y(x\\w) + f_y'(x\\w) − f_y'(x) where f(x\\w) = y' ≠ y

Words with I(w) > 0 are perturbed in descending order of it, each on top of the ones before, until the label changes or the words end.

Of the source, the classifier that was attacked:

- Accuracy before = right before the attack / texts; after = right after it / texts. Attacks that timed out or broke off count as not right.
- Success = attacks that succeeded / texts right before.

Of a target, on the texts whose attack ended (all but those that the source judged wrong before it, and those that timed out or broke off):

- Accuracy before = right on the original / texts; after = right on the perturbed text / texts. A text whose attack failed goes to the target as the attack left it.
- Success = another label on the perturbed text / texts right on the original. "I cannot say" is no label, so no success.
- Success, adversarial = the same among the texts that fooled the source: what transfers.
- Lost = not right on the perturbed text, "cannot classify" counted too / texts right on the original.
- Cannot classify = no label given / texts, before and after: what the target answered is none of the classes."""
SILENT = """The source names nine methods of perturbation and its printed page describes three (Tradition, Rewrite, Splitting-character). It scores robustness by ORS and fluency by OFS and prints no formula for
either, so there is no ORS and no OFS here: the plain shares are what such scores could be made of. Nor does it say on which texts the target's rates stand, so both choices are in the table."""


def write_transfer_table(
    config: Mapping,
    attacks: Sequence[str | os.PathLike],
    answers: Mapping[tuple[str, str, str], str | os.PathLike],
    clean: Mapping[tuple[str, str], str | os.PathLike],
    csv: str | os.PathLike,
    md: str | os.PathLike,
) -> None:
    """Write the table of transfer as CSV (the columns of `transfer_table`) and as Markdown.

    attacks: files of `muattack.attack.importance`, in the order of the table. answers: {(data set, set, target): file of `ask_target`'s rows}.
    clean: {(data set, defence): judgements of the whole test split}. Raises InputError where files do not belong together.
    """
    transfers = []
    for path in attacks:
        header, records = read_lines(path)
        if header["texts"] != len(records):
            raise InputError(f"{path} says that {header['texts']} texts were attacked, but holds {len(records)}. Delete it, and run again.")
        about = (header["dataset"], method_of(header))
        asked = {target: read_records(file) for (*which, target), file in answers.items() if tuple(which) == about}
        transfers.append(Transfer(header, records, asked))
    frame = transfer_table(transfers, config["evaluate"]["confidence"])
    write_csv(csv, frame)
    write_text(md, transfer_page(config, frame, [transfer.header for transfer in transfers], clean_table(config, clean), _statuses(transfers)))


def clean_table(config: Mapping, clean: Mapping[tuple[str, str], str | os.PathLike]) -> pd.DataFrame:
    """Return accuracy on the whole test split by data set and defence: n, value, low, high, and how many texts were cut off."""
    rows = []
    for (dataset, defence), path in clean.items():
        scores = read_records(path)
        value, low, high = share_interval(
            (scores["predicted"] == scores["label"]).to_numpy(), scores["id"].to_numpy(dtype=object), config["evaluate"]["confidence"]
        )
        rows.append((dataset, defence, len(scores), value, low, high, int(scores["truncated"].sum())))
    return pd.DataFrame(rows, columns=["dataset", "defence", "n", "value", "low", "high", "truncated"])


def transfer_page(
    config: Mapping, frame: pd.DataFrame, headers: Sequence[Mapping], clean: pd.DataFrame, statuses: Mapping[tuple[str, str], dict]
) -> str:
    """Return tables/transfer.md."""
    chinese, parts = config["chinese"], []
    for dataset in dict.fromkeys(header["dataset"] for header in headers):
        here = [header for header in headers if header["dataset"] == dataset]
        parts += [
            f"## {dataset}",
            f"Classes: {', '.join(map(plain_text, labels_of(config, dataset)))}. Attacked: {here[0]['texts']:,} texts of the test split, the same for every method.",
            _grid(frame[frame["dataset"] == dataset], chinese["source"]),
            _counts([(method_of(header), header, statuses[dataset, method_of(header)]) for header in here]),
        ]
    judged = [
        [row.dataset, row.defence, _role(config, row.defence), span(row.value, row.low, row.high), f"{row.n:,}", f"{row.truncated:,}"]
        for row in clean.itertuples()
    ]
    return page(
        "Transfer of attacks on Chinese words",
        f"The classifier {chinese['source']} is attacked word by word, with its probabilities; the texts that come out are put to the targets, which need only give a label. "
        "A higher success is better for the attack.",
        f"Square brackets: {100 * config['evaluate']['confidence']:g} % intervals (Wilson's), with n the texts that a share is of. They cover other texts, not another training seed.",
        *parts,
        "## The classifiers of the run",
        grid(["data set", "classifier", "role", "accuracy %, whole test split", "n", "texts cut off"], judged, 3),
        _careful(config),
        "Texts cut off are longer than the classifier sees: what is perturbed behind that point changes nothing.",
        "## Formulas",
        FORMULAS,
        "## What the source does not say",
        SILENT,
    )


def _role(config: Mapping, defence: str) -> str:
    chinese = config["chinese"]
    named = ["source"] if defence == chinese["source"] else []
    return ", ".join([*named, *(f"target {name}" for name, entry in chinese["targets"].items() if entry.get("defence") == defence)])


def _careful(config: Mapping) -> str:
    """Say which targets give no label where they are not sure."""
    least = {name: entry["least"] for name, entry in config["chinese"]["targets"].items() if "least" in entry}
    told = "; ".join(f"{name} where its likeliest class has a probability below {value:g}" for name, value in least.items())
    return f"No label is given by {told}. Accuracy here is that of the classifier had it always given one." if told else ""


def _grid(part: pd.DataFrame, source: str) -> str:
    """Return one data set's table: for each method the source and every target."""
    at = part.set_index(["method", "role", "model", "texts", "measure"])

    def cell(*key: str) -> str:
        if key not in at.index:
            return NONE
        row = at.loc[key]
        return f"{span(row.value, row.low, row.high)} (n {row.n:,})"

    rows = []
    for method in dict.fromkeys(part["method"]):
        models = part[part["method"] == method].drop_duplicates(["role", "model"])
        for role, model in zip(models["role"], models["model"], strict=True):
            first, texts = (method, role), "all" if role == "source" else "attacked"
            name = f"{source} (source)" if role == "source" else model
            cells = [cell(*first, model, texts, measure) for measure in ("accuracy", "accuracy_after")]
            cells += [cell(*first, model, "attacked", "success"), cell(*first, model, "adversarial", "success")]
            cells += [cell(*first, model, "attacked", measure) for measure in ("lost", "cannot_classify_before", "cannot_classify")]
            rows.append([method, name, *cells])
    header = ["Method", "model", "accuracy before %", "after %", "success %", "success, adversarial %", "lost %"]
    return grid([*header, "cannot classify, before %", "cannot classify, after %"], rows, 2)


def _statuses(transfers: Sequence[Transfer]) -> dict[tuple[str, str], dict]:
    """Return for each data set and set how the attacks on its texts ended, and the means of what they cost."""
    found = {}
    for header, records, _ in transfers:
        frame = pd.DataFrame(records, columns=["status", "queries", "words", "words_changed", "predicted_after"])
        tried, won = frame[frame["status"].isin(["succeeded", "failed"])], frame[frame["status"] == "succeeded"]
        found[header["dataset"], method_of(header)] = {
            **frame["status"].value_counts().to_dict(),
            "mean_queries": tried["queries"].mean(),
            "mean_words": tried["words"].mean(),
            "mean_changed": won["words_changed"].mean(),
            "ends": won["predicted_after"].astype(int).value_counts().to_dict(),
        }
    return found


def _counts(attacks: Sequence[tuple[str, Mapping, Mapping]]) -> str:
    """Return what became of the texts of each method, and what it cost."""
    rows = []
    for method, header, found in attacks:
        means = [NONE if pd.isna(found[key]) else f"{found[key]:.1f}" for key in ("mean_queries", "mean_words", "mean_changed")]
        counts = [f"{found.get(status, 0):,}" for status in ("skipped", "succeeded", "failed", "timed_out", "error")]
        own = ", ".join(f"{key} {value}" for key, value in header["attack"].items() if key in ("variant", "style", "characters"))
        rows.append(
            [
                method,
                plain_text(f"{header['attack']['method']}, {own}" if own else header["attack"]["method"]),
                plain_text(header["attack"]["words"]),
                *counts,
                *means,
                _end(header["labels"], found["ends"]),
            ]
        )
    header = [
        "Method",
        "operator",
        "words by",
        "skipped",
        "succeeded",
        "failed",
        "timed out",
        "errors",
        "queries, mean",
        "words, mean",
        "words changed, mean",
        "commonest new label",
    ]
    return (
        grid(header, rows, 3)
        + "\nSkipped: wrong before the attack. Means of queries and words: over succeeded and failed; of words changed: over succeeded. "
        "Commonest new label: where most successes end. Nearly all in one class says that the classifier takes anything unknown for that class."
    )


def _end(labels: Sequence[str], ends: Mapping[int, int]) -> str:
    """Return the label that most attacks end in, with how many of how many; of equally many the first."""
    if not ends:
        return NONE
    label = min(ends, key=lambda one: (-ends[one], one))
    return f"{plain_text(labels[label])} ({ends[label]:,} of {sum(ends.values()):,})"
