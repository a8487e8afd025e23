"""Which victims and attacks of a run differ in one setting only: pure functions of a checked configuration, nothing heavy imported.

A family is what an ablation compares. Everything else about its members is equal, so what differs between them comes from
that one setting (and from the draw of the training seed).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

CAPTIONS = "captions"
CAPTION_LABELS = ("human", "machine")
# The bounded form of each way of adversarial training; the ++ forms are the same without a bound (paper, Section 5.1).
BOUNDED = {"pgd_k": "pgd_k", "pgd_kpp": "pgd_k", "freelb": "freelb", "freelb_pp": "freelb"}
METHOD_LABELS = {"pgd_k": "PGD-K", "freelb": "FreeLB", "pgd_kpp": "PGD-K++", "freelb_pp": "FreeLB++"}
RECIPE_LABELS = {
    "textfooler": "TextFooler",
    "textbugger": "TextBugger",
    "textbugger_word": "TextBugger (words)",
    "bert_attack": "BERT-Attack",
    "pwws": "PWWS",
    "deepwordbug": "DeepWordBug",
}
CONSTRAINTS = ("epsilon_min", "k_max", "rho_max", "queries_per_word")
# The figure of each constraint that attacks of one recipe may differ in.
SELECTION_FIGURES = {"attack_k": "k_max", "attack_rho": "rho_max", "attack_queries": "queries_per_word"}


class Family(NamedTuple):
    """Victims or attacks of one data set that differ in one setting only.

    `kind` is a training method or a recipe, `label` its name for people (with whatever sets it apart from other families of
    that kind), `members` {name: value}, by rising value; the value None (no bound) comes last.
    """

    dataset: str
    kind: str
    label: str
    members: dict[str, float | None]


def victims_of(config: Mapping) -> dict[tuple[str, str], dict]:
    """Return the attacked victims, {(dataset, victim): how it is trained}: caption detectors first, then classifiers."""
    found = {}
    if config["captions"]["source"] != "none":
        detectors = config["detectors"]
        found |= {(CAPTIONS, name): dict(detectors[name] or {}) for name in config["attacks"]["victims"] if name in detectors}
    classification = config["classification"]
    for dataset in classification["datasets"]:
        for defence, settings in classification["defences"].items():
            settings = dict(settings or {})
            if settings.pop("attacked", True):
                found[dataset, f"{dataset}.{defence}"] = settings
    return found


def datasets_of(config: Mapping) -> list[str]:
    """Return the data sets that have victims, captions first."""
    return list(dict.fromkeys(dataset for dataset, _ in victims_of(config)))


def labels_of(config: Mapping, dataset: str) -> list[str]:
    """Return the class names of a data set, in the order of the label numbers."""
    if dataset == CAPTIONS:
        return list(CAPTION_LABELS)
    return list(dict.fromkeys(config["classification"]["datasets"][dataset]["labels"].values()))


def constraints_of(config: Mapping, dataset: str, attack: str) -> dict:
    """Return the constraints of an attack on a data set: the attack's own, then the data set's, then those of all attacks.

    `queries_per_word` is null where it follows k_max.
    """
    attacks = config["attacks"]
    own = {} if dataset == CAPTIONS else config["classification"]["datasets"][dataset].get("attacks") or {}
    entry = attacks["recipes"][attack]
    return {key: {**attacks["constraints"], **own, **entry}[key] for key in CONSTRAINTS}


def main_attacks(config: Mapping) -> list[str]:
    """Return the attacks to lay side by side: of each recipe the entries that change no constraint, or else all of its entries."""
    recipes = config["attacks"]["recipes"]
    plain = {entry["recipe"] for entry in recipes.values() if entry.keys() == {"recipe"}}
    return [name for name, entry in recipes.items() if entry["recipe"] not in plain or entry.keys() == {"recipe"}]


def adversarial_of(config: Mapping, settings: Mapping) -> dict | None:
    """Return the resolved adversarial training of a victim; max_norm is None for the ++ forms, and None stands for no such training."""
    if not settings.get("adversarial"):
        return None
    resolved = {**config["training"]["adversarial"], **settings["adversarial"]}
    return resolved | {"max_norm": resolved["max_norm"] if resolved["method"] == BOUNDED[resolved["method"]] else None}


def is_plain(settings: Mapping, others: Mapping[str, Mapping | None]) -> bool:
    """Tell whether a victim is trained on its own texts without any defence, whatever undefended weights it starts from."""
    while True:
        if settings.get("rr") or settings.get("dropout") or settings.get("adversarial"):
            return False
        if not settings.get("start"):
            return True
        settings = others[settings["start"]] or {}


def plain_victim(config: Mapping, dataset: str) -> str | None:
    """Return the victim of a data set that others are compared with: `finetune` or `plain`, or else its first plain one."""
    others = config["detectors"] if dataset == CAPTIONS else config["classification"]["defences"]
    victims = {victim: settings for (owner, victim), settings in victims_of(config).items() if owner == dataset}
    plain = [victim for victim, settings in victims.items() if settings.get("train_on", CAPTIONS) != "base" and is_plain(settings, others)]
    usual = "finetune" if dataset == CAPTIONS else f"{dataset}.plain"
    return usual if usual in plain else next(iter(plain), None)


def norm_families(config: Mapping) -> list[Family]:
    """Return the victims of one method that differ in max_norm only; the ++ form is the one without a bound (None)."""
    return _victim_families(config, "max_norm", lambda adversarial: BOUNDED[adversarial["method"]])


def step_families(config: Mapping) -> list[Family]:
    """Return the victims of one method that differ in the number of ascent steps only."""
    return _victim_families(config, "steps", lambda adversarial: adversarial["method"])


def selection_families(config: Mapping, key: str) -> list[Family]:
    """Return the attacks of one recipe that differ in one constraint only: k_max, rho_max or queries_per_word."""
    entries = []
    for dataset in datasets_of(config):
        for attack, entry in config["attacks"]["recipes"].items():
            resolved = constraints_of(config, dataset, attack)
            value = resolved.pop(key)
            if key == "queries_per_word" and value is None:
                value = resolved["k_max"]
            entries.append((dataset, entry["recipe"], resolved, attack, value))
    return _group(entries, RECIPE_LABELS)


def attack_tables(config: Mapping) -> list[str]:
    """Return the names of the attack tables that a run has."""
    if not victims_of(config) or not config["attacks"]["recipes"]:
        return []
    return ["attacks", "attack_examples", *(["attack_norm"] if norm_families(config) else [])]


def attack_figures(config: Mapping) -> list[str]:
    """Return the names of the attack figures that a run has."""
    if not attack_tables(config):
        return []
    selected = [name for name, key in SELECTION_FIGURES.items() if selection_families(config, key)]
    return ["attack_accuracy", *(["attack_steps"] if step_families(config) else []), *selected]


def _victim_families(config: Mapping, key: str, kind: Callable[[dict], str]) -> list[Family]:
    entries = []
    for (dataset, victim), settings in victims_of(config).items():
        adversarial = adversarial_of(config, settings)
        if adversarial is None:
            continue
        value = adversarial.pop(key)
        method = kind(adversarial)
        rest = {"train_on": settings.get("train_on", CAPTIONS), "start": settings.get("start")}
        rest |= {name: settings.get(name) or 0.0 for name in ("rr", "dropout")}
        rest |= adversarial | {"method": method}
        entries.append((dataset, method, rest, victim, value))
    return _group(entries, METHOD_LABELS)


def _group(entries: Sequence[tuple[str, str, dict, str, float | None]], labels: Mapping[str, str]) -> list[Family]:
    """Gather (dataset, kind, everything else, name, value) into families of at least two different values; of equal ones the first stays."""
    groups: list[tuple[str, str, dict, dict]] = []
    for dataset, kind, rest, name, value in entries:
        members = next((found for owner, of, same, found in groups if (owner, of, same) == (dataset, kind, rest)), None)
        if members is None:
            members = {}
            groups.append((dataset, kind, rest, members))
        if value not in members.values():
            members[name] = value
    groups = [group for group in groups if len(group[3]) > 1]
    families = []
    for dataset, kind, rest, members in groups:
        others = [same for owner, of, same, _ in groups if (owner, of) == (dataset, kind)]
        apart = [key for key in rest if any(other[key] != rest[key] for other in others)]
        label = labels[kind] + "".join(f", {key} {'none' if rest[key] is None else rest[key]}" for key in apart)
        ordered = sorted(members.items(), key=lambda item: (item[1] is None, item[1] or 0))
        families.append(Family(dataset, kind, label, dict(ordered)))
    return families
