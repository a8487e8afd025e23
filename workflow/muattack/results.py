"""Which detectors, tables and figures a run has, from its configuration alone. Imports nothing heavy: Snakemake reads it.

Those of the attacks are in muattack.evaluate.attack_families.
"""

import json
import os
import re
from pathlib import Path

from muattack import __version__
from muattack.attack.names import WITH_SYNONYMS
from muattack.errors import InputError
from muattack.evaluate.attack_families import CAPTIONS, constraints_of, victims_of

# The detectors that a figure shows; it is drawn when the run has all of them (fig3b, fig7 and differences: at least one).
FIGURE_DETECTORS = {
    "fig3a": ("base",),
    "fig3b": ("base", "finetune", "rr"),
    "fig4": ("finetune", "rr"),
    "fig5": ("rr",),
    "fig6a": ("dropout",),
    "fig6b": ("rr",),
    "fig6c": ("rr_dropout",),
}
# A figure of ROC curves for each detector that is not trained here, roc_{name}.
ROC_PREFIX = "roc_"
# Begins the place of a detector that the run trains, where another one uses it.
OWN_PREFIX = "run:detectors/"
# Begins the name of an asset that is fetched (muattack.fetch.catalogue).
ASSET_PREFIX = "asset:"
# A Python function, module:function; packages and classes with dots.
FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def check_folder(run: str, above: str | os.PathLike = "results") -> None:
    """Raise InputError where the results of a run cannot be written, or are there from another version of muattack."""
    folder = Path(above, run)
    # The folder itself, or the first above it that is there.
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not there.is_dir():
        raise InputError(
            f"{there} is no folder, so the results cannot land in {folder}. Move it away, or start in another folder (snakemake --directory FOLDER)."
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(
            f"The folder {there} cannot be written to, so the results cannot land in {folder}. Give yourself the right to, or start in another folder "
            "(snakemake --directory FOLDER)."
        )
    about = folder / "meta.json"
    try:
        by = json.loads(about.read_text(encoding="utf-8"))["versions"]["muattack"]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{about} is damaged ({type(error).__name__}: {error}). Delete it, and the workflow makes it anew.") from None
    if by != __version__:
        raise InputError(
            f"{folder} was made by muattack {by}, and this is {__version__}: results of two versions do not go together. Give the run another name "
            f"(--config run=NAME), delete {folder}, or go on with the other version."
        )


def figures_of(detectors: dict[str, dict], ood: bool) -> list[str]:
    """Return the names of the figures that a run with these detectors has; `ood`: it has a second captioner."""
    figures = []
    for figure, shown in FIGURE_DETECTORS.items():
        have = [name in detectors for name in shown]
        if (any(have) if figure == "fig3b" else all(have)) and (ood or figure != "fig5"):
            figures.append(figure)
    if sweep_detectors(detectors):
        figures.append("fig7")
    if {"finetune", "rr"} <= detectors.keys():
        figures.append("differences")
    return figures + [f"{ROC_PREFIX}{name}" for name in opened_detectors(detectors)]


def figure_detectors(figure: str) -> tuple[str, ...]:
    """Return the detectors that a figure of ROC curves shows: those of the paper's, or the one of the user's that it is named after."""
    return FIGURE_DETECTORS.get(figure) or (figure.removeprefix(ROC_PREFIX),)


def opened_detectors(detectors: dict[str, dict]) -> dict[str, dict]:
    """Return the detectors that are opened as they are: those of the user's, and those of the run behind a defence."""
    return {name: entry for name, entry in detectors.items() if "use" in entry}


def trained_detectors(detectors: dict[str, dict]) -> dict[str, dict]:
    """Return the detectors that the run trains."""
    return {name: entry for name, entry in detectors.items() if "use" not in entry}


def zero_shot_detectors(detectors: dict[str, dict]) -> dict[str, dict]:
    """Return the detectors that are calibrated on the validation texts: measures of a language model."""
    return {name: entry for name, entry in detectors.items() if "measure" in entry}


def defended_pairs(detectors: dict[str, dict]) -> list[tuple[str, str]]:
    """Return the detectors behind a defence, each with the one that it is without: (on, off)."""
    return [(name, entry["use"].removeprefix(OWN_PREFIX)) for name, entry in detectors.items() if "defend" in entry]


def detector_kind(use: str) -> str:
    """Return what `use` of a detector names: "run" (another detector of the run), "endpoint", "function", or "model" (a folder or a hub id)."""
    if use.startswith(("http://", "https://")):
        return "endpoint"
    if use.startswith(OWN_PREFIX):
        return "run"
    return "function" if FUNCTION.fullmatch(use) and not use.startswith(ASSET_PREFIX) else "model"


def split_shares(config: dict) -> dict[str, float]:
    """Return the share of each split that has one: those of `captions.split`, or all texts to test where nothing in the run learns from them.

    A zero-shot detector learns from the validation texts alone: where nothing else learns, the share for training is tested too.
    """
    shares = config["captions"]["split"]
    learns = (
        trained_detectors(config["detectors"])
        or config["corrupted"]["detectors"]
        or (config["attacks"]["recipes"] and any(dataset == CAPTIONS for dataset, _ in victims_of(config)))
    )
    if learns or not shares["train"]:
        return {name: share for name, share in shares.items() if share}
    if zero_shot_detectors(config["detectors"]):
        return {"val": shares["val"], "test": 1 - shares["val"]}
    return {"test": 1.0}


def tables_of(detectors: dict[str, dict]) -> list[str]:
    """Return the names of the tables that a run with these detectors has."""
    tables = ["articles", "operators", "lengths", "tasks"]
    if defended_pairs(detectors):
        tables.append("defended")
    if "base" in detectors:
        tables.append("table1")
    if detectors.keys() & {"finetune", "rr"}:
        tables.append("table2")
    if {"finetune", "rr"} <= detectors.keys():
        tables.append("differences")
    if sweep_detectors(detectors):
        tables.append("sweep")
    return sorted(tables)


def families_of(config: dict) -> list[str]:
    """Return the files of rules beside the ones that every run reads: `fetch`, `coco`, and the families of perturbations that the configuration turns on."""
    on = {
        "coco": config["captions"]["source"] == "coco",
        "chinese": any(config["chinese"][key] for key in ("datasets", "simulate", "split")),
        "corrupted": bool(config["corrupted"]["severities"]),
        "noisyhate": bool(config["noisyhate"]["source"] or config["noisyhate"]["pairs"]),
    }
    return ["fetch", *(name for name, wanted in on.items() if wanted)]


def sweep_detectors(detectors: dict[str, dict]) -> dict[str, float]:
    """Return the detectors of the m sweep, {name: m} by rising m: those named rr_m{...} with an `rr` share."""
    found = {name: detector["rr"] for name, detector in detectors.items() if name.startswith("rr_m") and detector.get("rr") is not None}
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def training_settings(config: dict, entry: dict | None = None) -> dict:
    """Return the part of the block `training` that training on the run's encoder reads: other keys must not re-train anything.

    `entry` is the detector or defence that is trained. Where it asks for adversarial training, `adversarial` holds its settings
    laid over the general ones; the forms without a bound know no `max_norm`.
    """
    training = config["training"]
    used = {key: training[key] for key in ("weight_decay", "warmup_share", "clip_norm", "best", "precision", "threads")}
    # What a step of the encoder takes.
    steps = {key: training[key] for key in ("token_budget", "batch_size", "compile")}
    own = (entry or {}).get("adversarial")
    if own:
        settings = training["adversarial"] | own
        used["adversarial"] = {key: value for key, value in settings.items() if key != "max_norm" or not own["method"].endswith("pp")}
    if config["encoders"][config["encoder"]]["trainable"] == "classifier":
        # Adversarial training runs a frozen encoder in every step, on batches by token budget.
        return used | {"classifier": training["classifier"]} | (steps if own else {})
    return used | steps | {key: training[key] for key in ("learning_rate", "epochs", "rr")}


def cached_draws(config: dict) -> int | None:
    """Return how many RR-draws a text a frozen encoder encodes beforehand: no more than there are epochs; null for none."""
    classifier = config["training"]["classifier"]
    return classifier["draws"] and min(classifier["draws"], classifier["epochs"])


def rr_shares(config: dict) -> list[tuple[str, float]]:
    """Return the (domain, m) of all detectors trained with RR, sorted, each once."""
    detectors = trained_detectors(config["detectors"]).values()
    return sorted({(detector.get("train_on", "captions"), detector["rr"]) for detector in detectors if detector.get("rr")})


def training_facts(config: dict, name: str) -> dict:
    """Return everything that the training of a detector depends on: two detectors with equal facts have equal weights.

    The detector's name is not among them. A detector that starts from another holds that one's facts.
    """
    detector = config["detectors"][name]
    start = detector.get("start")
    on_base = detector.get("train_on", "captions") == "base"
    return {
        "seed": config["seed"],
        "encoder": config["encoders"][config["encoder"]],
        "training": training_settings(config, detector),
        "train_on": detector.get("train_on", "captions"),
        "base": config["base"] if on_base else None,
        "rr": detector.get("rr") or 0.0,
        "dropout": detector.get("dropout") or 0.0,
        "start": training_facts(config, start) if start else None,
    }


def trained_as(config: dict) -> dict[str, str]:
    """Return for each detector that is trained the first one with the same training facts: that one is trained, the others are copies of it."""
    first: dict[str, str] = {}
    return {name: first.setdefault(repr(training_facts(config, name)), name) for name in trained_detectors(config["detectors"])}


def attack_settings(config: dict, dataset: str, attack: str) -> dict:
    """Return the recipe and the constraints of an attack on a data set, all of them resolved."""
    constraints = constraints_of(config, dataset, attack)
    if constraints["queries_per_word"] is None:
        constraints["queries_per_word"] = constraints["k_max"]
    return {"recipe": config["attacks"]["recipes"][attack]["recipe"], **constraints}


def attacked_texts(config: dict, dataset: str) -> tuple[int, list[int] | None]:
    """Return how many test texts of a data set are attacked, and of which classes (their numbers; None for all)."""
    attacks = config["attacks"]
    if dataset == CAPTIONS:
        return attacks["texts"], sorted(("human", "machine").index(name) for name in attacks["classes"])
    return config["classification"]["datasets"][dataset].get("attacks", {}).get("texts", attacks["texts"]), None


def most_synonyms(config: dict, dataset: str) -> int | None:
    """Return how many synonyms a word the data set's table holds: the largest k_max of the attacks that read it; None where none does."""
    recipes = config["attacks"]["recipes"]
    return max((constraints_of(config, dataset, name)["k_max"] for name, entry in recipes.items() if entry["recipe"] in WITH_SYNONYMS), default=None)


def language_encoder(config: dict) -> str | None:
    """Return the encoder whose masked language model serves bert_attack: the run's own where it is pretrained, else the first that could be.

    None where no attack needs one (or attacks.language_model names one), and where there is none.
    """
    attacks = config["attacks"]
    masked = any(entry["recipe"] == "bert_attack" for entry in attacks["recipes"].values())
    if not masked or attacks["language_model"] is not None or not victims_of(config):
        return None
    order = [config["encoder"], *config["encoders"]]
    trained = [name for name, encoder in config["encoders"].items() if encoder["source"] == "pretrain" and encoder.get("pretrain", {}).get("epochs")]
    return next((name for name in order if name in trained), None)
