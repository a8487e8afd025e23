"""The attack tables for people: Markdown with the formulas, the counts, and what each attack was run with."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from muattack.evaluate.attack_families import (
    CAPTIONS,
    METHOD_LABELS,
    RECIPE_LABELS,
    adversarial_of,
    labels_of,
    main_attacks,
    victims_of,
)
from muattack.evaluate.labels import detector_label
from muattack.evaluate.published_attacks import SOURCE, STEPS, key_of
from muattack.evaluate.tables import NONE, grid, number, page, per_cent

FORMULAS = """With n the attacked texts, all of them, skipped ones included:

- Clean (whole test) = correct / texts of the test split. Clean (attacked) = correct before the attack / n.
- Aua, accuracy under attack = correct after the attack / n = failed / n.
- Suc, success rate of the attack = succeeded / correct before the attack; without a text that was correct it is not defined.
- #Query = mean number of texts that the victim was asked about, over the texts not skipped (errors left out). Every text asked about counts, repeated ones too.
- Words changed = mean share of a text's words that changed, similarity = mean similarity to the original, both over the succeeded.
- n = skipped + succeeded + failed + timed out + errors. Skipped: wrong before the attack. Failed: the attack ended and the victim was still right. Timed out
  and errors count against whoever would gain from them: not as correct after the attack, and not as succeeded. So Aua and Suc are lower bounds where there are any, and Aua
  could be higher by (timed out + errors) / n at most."""
# Unchanged text kept on each side of a change where a text is long, in characters.
CONTEXT = 160
# What Markdown or HTML would take for more than text: anywhere, before something (addresses, emoji by name), or first on a line (lists, headings).
MARKUP = re.compile(
    r"[&<>|*`~\[\]\\$@]|_(?![^\W_])|(?<![^\W_])_|:(?=\S)|(?<=www)\.|^[-+#=](?=[\s#=-]|$)|"
    + "|".join(rf"(?<=^\d{{{n}}})[.)](?=\s|$)" for n in range(1, 10)),
    re.IGNORECASE,
)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
SHORT = 600


def victim_label(config: Mapping, dataset: str, victim: str) -> str:
    """Return a victim's name for people: a caption detector's as in the other tables, a classifier's defence."""
    if dataset == CAPTIONS:
        return detector_label(victim, config["detectors"])
    return victim.removeprefix(f"{dataset}.")


def attack_label(config: Mapping, attack: str) -> str:
    """Return an attack's name for people: its recipe's, and its own where that is another."""
    recipe = config["attacks"]["recipes"][attack]["recipe"]
    return RECIPE_LABELS[recipe] + ("" if attack == recipe else f" ({attack})")


def training_label(config: Mapping, settings: Mapping) -> str:
    """Say in a few words how a victim was trained."""
    adversarial = adversarial_of(config, settings)
    parts = [f"m = {settings['rr']:g}"] if settings.get("rr") else []
    parts += [f"dropout {settings['dropout']:g}"] if settings.get("dropout") else []
    if adversarial:
        norm = "" if adversarial["max_norm"] is None else f", ε = {adversarial['max_norm']:g}"
        unit = " × mean embedding norm" if adversarial["unit"] == "embedding_norm" else ""
        parts.append(f"{METHOD_LABELS[adversarial['method']]}, t = {adversarial['steps']}, α = {adversarial['step_size']:g}{norm}{unit}")
    parts += ["on another domain"] if settings.get("train_on") == "base" else []
    parts += [f"from {settings['start']}"] if settings.get("start") else []
    return ", ".join(parts) or "plain"


def span(value: float, low: float, high: float, digits: int = 1, scale: float = 100, sign: bool = False) -> str:
    """Return a value with its interval for people, in per cent unless `scale` says otherwise; a dash for what is undefined."""
    if pd.isna(value):
        return NONE
    shown = number(scale * value, digits, sign)
    return shown if pd.isna(low) else f"{shown} [{number(scale * low, digits, sign)}, {number(scale * high, digits, sign)}]"


def gap(value: float, low: float, high: float) -> str:
    """Return a difference in points with its interval, marked where the interval includes 0."""
    if pd.isna(value):
        return NONE
    return span(value, low, high, sign=True) + ("" if low > 0 or high < 0 else " °")


def about_attack_intervals(config: Mapping) -> str:
    """Say what the intervals of the attack tables are."""
    evaluate = config["evaluate"]
    return (
        f"Square brackets: {100 * evaluate['confidence']:g} % intervals. Shares: Wilson's, at the effective number of texts where several texts belong to one image. "
        f"Means: percentiles of {evaluate['bootstrap']:,} bootstrap resamples of images (of texts, where a text has no image), seed {config['seed']}. Differences are paired, on the same "
        "texts (Newcombe's interval); ° marks one whose interval includes 0: which of the two is better is then not settled. Intervals cover other texts, not another training seed, and each "
        "stands for itself: of many comparisons some exclude 0 by chance."
    )


def attacks_page(config: Mapping, frame: pd.DataFrame, headers: Sequence[tuple[str, str, str, Mapping]]) -> str:
    """Return tables/attacks.md: an overview of each data set, each attack in full, the settings of the attacks, the formulas."""
    parts = []
    for dataset in dict.fromkeys(frame.dataset):
        part = frame[frame.dataset == dataset]
        parts += _overview(config, dataset, part)
        for attack in dict.fromkeys(part.attack):
            parts += _detail(config, dataset, part[part.attack == attack])
        parts += _settings(config, dataset, [one for one in headers if one[0] == dataset])
    bold = "Bold: the best of its column, for a defender; ties share it."
    if frame.empty:
        parts.append("Nothing was attacked.")
    return page(
        "Attacks",
        "How often victims are right before and under attack. All victims of a data set meet the same texts and the same constraints. Clean: accuracy "
        "before. Aua: accuracy under attack, of all texts attacked. Suc: share of the texts right before that the attack turned. #Query: how often the victim was asked. "
        "For a defence more is better, but less Suc. Formulas are at the end.",
        f"{about_attack_intervals(config)} {bold}",
        *parts,
        "## Formulas",
        FORMULAS,
        SOURCE if frame.published_clean.notna().any() else "",
    )


def _shown(row: pd.Series, name: str, among: pd.Series, digits: int = 1, scale: float = 100, least: bool = False) -> str:
    """Return a value of a row with its interval, in bold where it is the best of several that differ."""
    text = span(row[name], row[f"{name}_low"], row[f"{name}_high"], digits, scale)
    best = among.min() if least else among.max()
    return f"**{text}**" if among.nunique() > 1 and row[name] == best else text


def _counts(values: Iterable[int]) -> str:
    return " / ".join(f"{value:,}" for value in dict.fromkeys(values))


def _overview(config: Mapping, dataset: str, part: pd.DataFrame) -> list[str]:
    settings = victims_of(config)
    victims = list(dict.fromkeys(part.victim))
    shown = [attack for attack in main_attacks(config) if (part.attack == attack).any()] or list(dict.fromkeys(part.attack))
    rows_of = part.set_index(["victim", "attack"])
    first = part.drop_duplicates("victim").set_index("victim")
    paper = part.published_clean.notna().any()
    plain = part.plain.iloc[0]
    compare = first.clean_test_difference.notna().any()
    rows = []
    for victim in victims:
        one = first.loc[victim]
        cells = [_shown(one, "clean_test", first.clean_test)]
        told = [per_cent(one.published_clean, 0)]
        if compare:
            cells.append(gap(one.clean_test_difference, one.clean_test_difference_low, one.clean_test_difference_high))
            told.append(NONE)
        for attack in shown:
            if (victim, attack) not in rows_of.index:
                cells.append(NONE)
                told.append(NONE)
                continue
            row = rows_of.loc[(victim, attack)]
            cells.append(_shown(row, "aua", part[part.attack == attack].aua))
            told.append(per_cent(row.published_aua, 0))
        rows.append([victim_label(config, dataset, victim), training_label(config, settings[dataset, victim]), *cells])
        if paper and pd.notna(one.published_clean):
            rows.append(["", f"paper, t = {STEPS[key_of(config, dataset)]}", *told])
    header = ["Victim", "training", f"Clean %, whole test (n = {_counts(first.n_test)})"]
    header += [f"Clean − {victim_label(config, dataset, plain)}, points"] if compare else []
    header += [f"Aua %, {attack_label(config, attack)} (n = {_counts(part[part.attack == attack].n)})" for attack in shown]
    labels = labels_of(config, dataset)
    attacked = (
        f" Attacked are texts of the class{'es' * (len(config['attacks']['classes']) > 1)} {' and '.join(config['attacks']['classes'])}."
        if dataset == CAPTIONS
        else ""
    )
    return [f"## {dataset}", f"Classes: {', '.join(map(plain_text, labels))}.{attacked}", grid(header, rows, 2)]


def _detail(config: Mapping, dataset: str, part: pd.DataFrame) -> list[str]:
    attack = part.attack.iloc[0]
    plain = part.plain.iloc[0]
    compare = part.aua_difference.notna().any()
    paper = part.published_aua.notna().any()
    clustered = (part.images < part.n).any()
    unsettled = (part.timed_out + part.errors).any()
    rows, counts = [], []
    for _, row in part.iterrows():
        name = victim_label(config, dataset, row.victim)
        values = {key: _shown(row, key, part[key], least=key == "suc") for key in ("clean", "aua", "suc")}
        values["queries"] = _shown(row, "queries", part.queries, 1, 1)
        values["words_changed"] = span(row.words_changed, row.words_changed_low, row.words_changed_high)
        difference = [gap(row.aua_difference, row.aua_difference_low, row.aua_difference_high)] if compare else []
        cells = [name, values["clean"], values["aua"], *difference, values["suc"], values["queries"], values["words_changed"]]
        cells += [span(row.similarity, row.similarity_low, row.similarity_high, 3, 1), *([per_cent(row.published_aua, 0)] if paper else [])]
        rows.append(cells)
        counted = [row.n, *([row.images] if clustered else []), row.skipped, row.correct_before, row.succeeded, row.failed, row.timed_out, row.errors]
        counts.append([name, *(f"{value:,}" for value in counted), *([per_cent(row.aua_most)] if unsettled else [])])
    against = f"− {victim_label(config, dataset, plain)}" if compare else ""
    header = [
        "Victim",
        "Clean %, attacked",
        "Aua %",
        *([f"Aua {against}, points"] if compare else []),
        "Suc %",
        "#Query",
        "words changed %",
        "similarity",
    ]
    header += ["paper, Aua %"] if paper else []
    tally = ["Victim", "n", *(["images"] if clustered else []), "skipped", "correct before", "succeeded", "failed", "timed out", "errors"]
    tally += ["Aua % at most"] if unsettled else []
    notes = [f"{victim_label(config, dataset, row.victim)}: {plain_text(row.note)}." for row in part.itertuples() if row.note]
    return [f"### {dataset}: {attack_label(config, attack)}", grid(header, rows), grid(tally, counts), " ".join(notes)]


def _settings(config: Mapping, dataset: str, headers: Sequence[tuple[str, str, str, Mapping]]) -> list[str]:
    """Return every parameter of the attacks, as their files' headers hold them."""
    attacks = list(dict.fromkeys(attack for _, _, attack, _ in headers))
    values: dict[str, dict[str, dict[str, list[str]]]] = {}
    for _, victim, attack, header in headers:
        for key, value in header["attack"].items():
            told = _told(value)
            values.setdefault(key, {}).setdefault(attack, {}).setdefault(told, []).append(victim)
    rows = []
    first = ["recipe", "epsilon_min", "measure", "k_max", "rho_max", "queries_per_word"]
    for key in [*(key for key in first if key in values), *sorted(values.keys() - set(first))]:
        cells = []
        for attack in attacks:
            told = values[key].get(attack, {})
            each = [plain_text(value) if len(told) == 1 else f"{', '.join(victims)}: {plain_text(value)}" for value, victims in told.items()]
            cells.append("; ".join(each) or NONE)
        rows.append([plain_text(key), *cells])
    versions = sorted({f"{name} {version}" for _, _, _, header in headers for name, version in (header.get("versions") or {}).items()})
    made = f"Made with {plain_text(', '.join(versions))}." if versions else ""
    return [
        f"### {dataset}: what the attacks were run with",
        grid(["parameter", *(attack_label(config, attack) for attack in attacks)], rows, len(attacks) + 1),
        f"queries_per_word: the victim is asked about this many texts, times the words of the text, at most; null stands for k_max. {made}",
    ]


def _told(value: object) -> str:
    """Return a parameter for people: lists and mappings in words, checksums by their first digits (the records hold them whole)."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_told(one)}" for key, one in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    if isinstance(value, str):
        return f"{value[:12]}…" if re.fullmatch(r"[0-9a-f]{64}", value) else value
    return json.dumps(value, ensure_ascii=False)


def norm_page(config: Mapping, frame: pd.DataFrame) -> str:
    """Return tables/attack_norm.md: Clean and Aua by the norm bound of adversarial training."""
    parts, units = [], {}
    for (dataset, family), part in frame.groupby(["dataset", "family"], sort=False):
        attacks = [attack for attack in main_attacks(config) if (part.attack == attack).any()] or list(dict.fromkeys(part.attack))
        table = part.set_index(["norm", "attack"])
        bounds = part[part.norm != "plain"]
        rows = []
        for norm in dict.fromkeys(part.norm):
            here = part[part.norm == norm].iloc[0]
            among = bounds if norm != "plain" else bounds.iloc[:0]
            cells = [_shown(here, "clean_test", among.drop_duplicates("victim").clean_test)]
            for attack in attacks:
                row = table.loc[(norm, attack)] if (norm, attack) in table.index else None
                cells.append(NONE if row is None else _shown(row, "aua", among[among.attack == attack].aua))
            name = {"plain": "no adversarial training", "w/o": "w/o"}.get(norm, norm)
            rows.append([name, victim_label(config, dataset, here.victim), *cells])
        header = ["ε", "victim", f"Clean %, whole test (n = {_counts(part.n_test)})"]
        header += [f"Aua %, {attack_label(config, attack)} (n = {_counts(part[part.attack == attack].n)})" for attack in attacks]
        parts += [f"## {dataset}: {family}", grid(header, rows, 2)]
        units |= {adversarial_of(config, victims_of(config)[dataset, victim])["unit"]: None for victim in bounds.victim}
    unit = " and ".join({"absolute": "as it is", "embedding_norm": "in mean norms of the encoder's word embeddings"}[one] for one in units)
    return page(
        "The norm bound of adversarial training",
        f"Victims that differ in nothing but ε, the largest Frobenius norm of a text's perturbation ({unit}). w/o: no bound, the ++ form. The paper finds that both "
        "Clean and Aua rise with ε, and that a large ε is the same as none, since t steps of length α reach no further than t × α.",
        f"{about_attack_intervals(config)} Bold: the best bound of a column; ties share it.",
        *parts,
        FORMULAS,
    )


def examples_page(config: Mapping, examples: pd.DataFrame, succeeded: int) -> str:
    """Return tables/attack_examples.md: adversarial texts, what was deleted and what was put in marked."""
    parts = []
    for row in examples.itertuples():
        labels = labels_of(config, row.dataset)
        after = "unknown" if pd.isna(row.predicted_after) else labels[int(row.predicted_after)]
        scores = " → ".join(number(score, 3) for score in (row.score_before, row.score_after))
        facts = (
            f"{plain_text(labels[int(row.label)])} → {plain_text(after)}; P({plain_text(labels[int(row.label)])}) {scores}; {int(row.words_changed):,} of {int(row.words):,} words changed; similarity "
            f"{number(row.similarity, 3)}; {int(row.queries):,} queries; text {plain_text(row.id)}."
        )
        who = f"{row.dataset}, {victim_label(config, row.dataset, row.victim)}, {attack_label(config, row.attack)}"
        parts += [f"## {row.place}. {who}", facts, f"> {marked(row.original, row.edits)}"]
    if examples.empty:
        return page("Adversarial texts", "No attack succeeded.", FORMULAS)
    return page(
        "Adversarial texts",
        f"{len(examples)} of the {succeeded:,} adversarial texts, at most one for each text attacked. At every step the next one comes from the victims and attacks "
        "shown least so far; of theirs it is the one with the fewest words changed, then the highest similarity, then the first in the order of the configuration. They show what "
        "attacks do at their best, not what they do on average: for that see attacks.md.",
        "<del>Struck out</del>: deleted from the original. <ins>Underlined</ins>: put in its place. […]: unchanged text left out. [U+…]: a character that cannot be seen. "
        "The whole texts are in attack_examples.csv.",
        *parts,
        FORMULAS,
    )


def plain_text(text: str) -> str:
    """Return a text such that Markdown and HTML show it as it is, on one line, invisible characters by their number.

    Entities, since a backslash is no escape inside HTML tags and between the pipes of a table.
    """
    shown = MARKUP.sub(lambda found: f"&#{ord(found.group())};", str(text))
    shown = "".join("<br>" if one == "\n" else f"[U+{ord(one):04X}]" if unicodedata.category(one) in UNSEEN else one for one in shown)
    # Markdown joins blanks, and four of them begin a block of code.
    return shown.replace("  ", " &nbsp;")


def marked(text: str, edits: Iterable[Mapping]) -> str:
    """Return a text with its edits marked, long unchanged stretches shortened."""
    edits = list(edits)
    parts, at = [], 0
    for place, edit in enumerate([*edits, None]):
        end = len(text) if edit is None else edit["start"]
        parts.append(_shorten(text[at:end], len(text) > SHORT, place > 0, edit is not None))
        if edit is None:
            break
        gone, new = text[edit["start"] : edit["end"]], edit["replacement"]
        parts.append((f"<del>{plain_text(gone)}</del>" if gone else "") + (f"<ins>{plain_text(new)}</ins>" if new else ""))
        at = edit["end"]
    return "".join(parts) or "(empty)"


def _shorten(text: str, long: bool, left: bool, right: bool) -> str:
    keep_left, keep_right = CONTEXT if left else 0, CONTEXT if right else 0
    if not long or len(text) <= keep_left + keep_right + CONTEXT:
        return plain_text(text)
    return plain_text(text[:keep_left]) + " […] " + plain_text(text[len(text) - keep_right :])
