"""What a run computes, moves, holds and takes, from its configuration alone: the arithmetic of docs/paper-scale.md. Imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass

from muattack.config import data_file
from muattack.costs import (
    CAPTION_TOKENS,
    KEPT,
    LEAST_PARAMETERS,
    PASSED,
    QUERIES,
    SCORED,
    TRAINED,
    captioned,
    captioner_parameters,
    captions_of,
    encoder_shape,
    images_of,
    passes_of,
    rows_of,
    size_of,
)
from muattack.evaluate.attack_families import CAPTIONS, victims_of
from muattack.fetch.catalogue import Assets
from muattack.results import cached_draws, detector_kind, opened_detectors, rr_shares, split_shares, trained_as, trained_detectors

# Tokens of a batch that scores or encodes, padding counted (muattack.detect), and bytes of a number in float32.
BATCH_TOKENS, NUMBER = 2048, 4
# Mutants a text in the table of single operators, about: words of a caption that some operator matches.
OPERATORS = 3
# Bytes of a photograph of COCO.
PHOTOGRAPH = 160_000


@dataclass
class Stage:
    """One row of the plan. flop: floating-point operations; moved: bytes of weights read from a GPU's memory and written to it."""

    name: str
    jobs: int
    texts: float
    flop: float
    moved: float
    precision: str = "float32"

    def hours(self, machine: Mapping) -> float:
        """Return the GPU hours at a share of the peak: by operations or by bytes, whichever take longer."""
        return max(self.flop / (machine[self.precision] * machine["share"]), self.moved / (machine["bandwidth"] * machine["share"])) / 3600


def encoder_size(entry: Mapping) -> tuple[float, float, int, int]:
    """Return the parameters of an encoder's layers and of its embeddings, its layers and its width."""
    layers, width, vocabulary = encoder_shape(entry)
    return 12.0 * layers * width**2, float(vocabulary * width), layers, width


def forward(entry: Mapping, texts: float, tokens: float) -> tuple[float, float]:
    """Return operations and bytes of running texts through an encoder once: two operations a parameter and token, the layers read once a batch."""
    body = max(encoder_size(entry)[0], LEAST_PARAMETERS)
    tokens = min(tokens, entry["max_length"])
    return 2 * body * texts * tokens, NUMBER * body * texts * tokens / BATCH_TOKENS


def training(config: Mapping, entry: Mapping, settings: Mapping, texts: float, tokens: float) -> tuple[float, float, str]:
    """Return operations, bytes and precision of training one detector or defence on so many texts.

    A frozen encoder runs forwards alone, and only for what is drawn anew; else a pass forwards and backwards is three forwards, and each step also
    reads and writes weights, gradients and AdamW's moments.
    """
    rules, body = config["training"], encoder_size(entry)[0]
    width, head = encoder_size(entry)[3], rules["classifier"]
    frozen = entry["trainable"] == "classifier"
    if frozen and not settings.get("adversarial"):
        flop, moved = forward(entry, texts * head["epochs"], tokens) if settings.get("rr") and not head["draws"] else (0.0, 0.0)
        return flop + 6 * width**2 * texts * head["epochs"], moved, "float32"
    passes = passes_of(rules, settings, frozen)
    flop, moved = forward(entry, 3 * texts * passes, tokens)
    updates = texts * passes / (rules["batch_size"] or rules["token_budget"] / tokens)
    return flop, moved * BATCH_TOKENS / rules["token_budget"] + 2 * TRAINED * body * updates * (not frozen), rules["precision"]


def stages(config: Mapping) -> list[Stage]:
    """Return the stages of a run that run models; `config` is checked, with the paths of assets in their places."""
    found: list[Stage] = []
    captions, mutate, encoder = config["captions"], config["mutate"], config["encoders"][config["encoder"]]
    detectors, shards = config["detectors"], config["training"]["feature_shards"]
    frozen = encoder["trainable"] == "classifier"
    if captions["source"] == "coco":
        coco, images = captions["coco"], images_of(config)
        for source in ("machine", "machine_ood"):
            if isinstance(coco[source], dict):
                parameters = captioner_parameters(coco[source]["model"])
                # Every token of a batch reads the weights once more.
                moved = NUMBER * parameters * images / coco["batch_size"] * (1 + coco["max_tokens"])
                found.append(Stage(f"captions of {source}", coco["shards"], images, images * captioned(config, parameters), moved))
    if captions["source"] != "none":
        files = [path for part in ("files", "texts") for path in _paths(captions[part])] if captions["source"] in ("files", "texts") else []
        block = captions.get(captions["source"]) or {}
        sources = 3 if captions["source"] == "simulate" or block.get("machine_ood") else 2
        each = captions_of(config, [data_file(config, path) for path in files]) / sources
        shares = {"train": 0.0, "val": 0.0, **split_shares(config)}
        train, tested = 2 * each * shares["train"], sources * each * shares["test"]
        mutants = each * shares["test"] * ((sources - 1) * ("machine" in mutate["classes"]) + ("human" in mutate["classes"]))
        tested += mutants * (len(mutate["sets"]) + len(mutate["tasks"]) + OPERATORS)
        if encoder["source"] == "pretrain":
            passes = 3 * encoder["pretrain"]["epochs"]
            found.append(Stage("pretraining", 1, train, *forward(encoder, train * passes, CAPTION_TOKENS)))
        if frozen and trained_detectors(detectors):
            drawn = train * len(rr_shares(config)) * (cached_draws(config) or 0)
            texts = train + 2 * each * shares["val"] + drawn
            found.append(Stage("encoding of training texts", shards, texts, *forward(encoder, texts, CAPTION_TOKENS)))
            found.append(Stage("encoding of test texts", shards, tested, *forward(encoder, tested, CAPTION_TOKENS)))
        for name in dict.fromkeys(trained_as(config).values()):
            found.append(Stage(f"training of {name}", 1, train, *training(config, encoder, detectors[name], train, CAPTION_TOKENS)))
        for name, entry in opened_detectors(detectors).items():
            if detector_kind(entry["use"]) == "model":
                opened = {"source": "huggingface", "path": entry["use"], "max_length": entry.get("max_length", CAPTION_TOKENS)}
                found.append(Stage(f"scores of {name}", 1, tested, *forward(opened, tested, CAPTION_TOKENS)))
        own = trained_detectors(detectors)
        if own and not frozen:
            flop, moved = forward(encoder, tested * len(own), CAPTION_TOKENS)
            found.append(Stage("scores of the detectors", len(own), tested * len(own), flop, moved))
    for name, entry in config["classification"]["datasets"].items():
        sizes = {part: size_of(data_file(config, path) for path in _paths(entry[part])) for part in ("train", "test")}
        rows, tokens = rows_of(entry, sizes)
        for defence, settings in config["classification"]["defences"].items():
            found.append(Stage(f"training of {name}.{defence}", 1, rows, *training(config, encoder, settings, rows, tokens)))
    attacks = config["attacks"]
    victims = victims_of(config) if attacks["recipes"] else []
    if victims:
        texts = sum(config["classification"]["datasets"].get(dataset, {}).get("attacks", {}).get("texts", attacks["texts"]) for dataset, _ in victims)
        asked = texts * len(attacks["recipes"]) * QUERIES
        longest = encoder["max_length"] if any(dataset != CAPTIONS for dataset, _ in victims) else CAPTION_TOKENS
        found.append(Stage("queries of attacks", len(victims) * attacks["shards"], asked, *forward(encoder, asked, longest)))
    return found


def holdings(config: Mapping) -> dict[str, float]:
    """Return bytes by what they are for: a GPU's memory in the largest kind of job, and files on disk."""
    encoder, rules = config["encoders"][config["encoder"]], config["training"]
    body, embeddings, layers, width = encoder_size(encoder)
    frozen = encoder["trainable"] == "classifier" and not any(entry.get("adversarial") for entry in config["detectors"].values())
    kept = PASSED * BATCH_TOKENS if frozen else KEPT * rules["token_budget"]
    # Of frozen weights gradients and moments are not held.
    held = (SCORED if encoder["trainable"] == "classifier" else TRAINED) * (body + embeddings)
    found = {"GPU memory, encoder": held + kept * layers * width}
    coco = config["captions"]["coco"]
    if config["captions"]["source"] == "coco":
        models = [coco[source]["model"] for source in ("machine", "machine_ood") if isinstance(coco[source], dict)]
        if models:
            found["disk, captioners"] = NUMBER * sum(map(captioner_parameters, models))
        found["disk, photographs"] = PHOTOGRAPH * images_of(config)
    if encoder["source"] != "pretrain":
        found["disk, encoder"] = NUMBER * (body + embeddings)
    if frozen:
        texts = sum(stage.texts for stage in stages(config) if stage.name.startswith("encoding"))
        found["disk, features"] = NUMBER * width * texts
    else:
        found["disk, detectors"] = NUMBER * (body + embeddings) * len(set(trained_as(config).values()))
    return found


def _paths(part: object) -> list[str]:
    """Return the files that a part of the configuration names, whatever its form."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, Mapping):
        return _paths(part["files"]) if "files" in part else [path for value in part.values() for path in _paths(value)]
    return [path for value in part for path in _paths(value)] if isinstance(part, list) else []


def show(config: Mapping, machine: Mapping) -> str:
    """Return the plan as a Markdown table with its total, and what is held. `config` is checked, `asset:` paths as written.

    machine: operations a second in `float32` and `bfloat16`, `bandwidth` in bytes a second, and the `share` of each that is reached.
    """
    resolved = Assets(config).resolve(config)
    rows = stages(resolved)
    lines = ["| stage | jobs | texts or images | 10¹² FLOP | GB moved | precision | GPU hours |", "|---|---:|---:|---:|---:|---|---:|"]
    for row in rows:
        lines.append(
            f"| {row.name} | {row.jobs} | {row.texts:,.0f} | {row.flop / 1e12:,.1f} | {row.moved / 1e9:,.1f} | {row.precision} | {row.hours(machine):.4f} |"
        )
    flop, moved, hours = sum(row.flop for row in rows), sum(row.moved for row in rows), sum(row.hours(machine) for row in rows)
    lines.append(f"| **all** | {sum(row.jobs for row in rows)} | | {flop / 1e12:,.1f} | {moved / 1e9:,.1f} | | **{hours:.2f}** |")
    told = "\n".join(f"- {name}: {size / 1e9:,.2f} GB" for name, size in holdings(resolved).items())
    assumed = (
        f"GPU hours: {100 * machine['share']:g} % of {machine['float32'] / 1e12:g} (float32) or {machine['bfloat16'] / 1e12:g} (bfloat16) 10¹² FLOP/s, or of "
        f"{machine['bandwidth'] / 1e12:g} TB/s where moving the weights takes longer. Starting a job, reading files, tables and figures come on top."
    )
    return "\n".join([*lines, "", told, "", assumed])
