"""What a job asks for: memory and minutes, from measured peaks and the size of the run's data and models.

docs/cluster.md shows where the numbers come from and what they come to. All are estimates made before anything runs: a job that needs more is
tried again with more (`attempt`). Imports nothing heavy: Snakemake reads it.
"""

import importlib.util
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from muattack.results import OWN_PREFIX, detector_kind

# By kind of job that runs no encoder: MB of an empty one, and MB and CPU seconds a thousand texts. Measured peaks, rounded up
# (tests/benchmarks/bench_scale.py; metrics, tables and figures for a dozen detectors, of which it has two).
LIGHT = {
    "simulate": (130, 1.0, 0.2),
    "captioner": (500, 5.0, 5.0),
    "collect": (150, 2.5, 0.2),
    "mutate": (170, 0.5, 0.1),
    "operators": (150, 3.0, 0.2),
    "synonyms": (700, 0.5, 0.5),
    "metrics": (200, 12.0, 1.0),
    "tables": (200, 12.0, 1.0),
    "figures": (200, 6.0, 1.0),
    # Corrupting, perturbing, restoring: text work word by word. A guess on the safe side.
    "words": (300, 10.0, 60.0),
    "copy": (130, 0.0, 0.0),
}
# Of Snakemake, which is started twice for a job on a cluster, once to start the job and once to run it.
SNAKEMAKE_MB = 350
HEADROOM, PATIENCE, START_MINUTES = 1.3, 4, 5
# torch and transformers in memory; with TextAttack and a sentence encoder.
TORCH_MB, ATTACK_MB = 700, 1100
# MB a thousand texts that are tokenised, and bytes a parameter: weights, and with gradients and AdamW's two moments.
TEXTS_MB, SCORED, TRAINED = 8.0, 4, 16
# What a zero-shot detector holds of logits and things made of them.
LOGITS_MB = 1000
# Bytes a token, layer and unit of width that a step of training keeps for its way back; without one, a tenth of it.
KEPT, PASSED = 140, 14
# Floating-point operations a second of one thread, or of a GPU: a fifth of what was measured on a thread; the GPU's is a guess on the safe side.
RATE = {"cpu": 2e10, "cuda": 2e12}
# Small models are no quicker than this many parameters: what a layer costs beside its products.
LEAST_PARAMETERS = 1e6
# An attack on a text beside what the victim computes, most of it the sentence encoder, and how often it asks the victim.
SECONDS_A_TEXT, QUERIES = 10.0, 300
# Bytes of a caption in a file, of a data set's row, and of any text in a token.
CAPTION_BYTES, ROW_BYTES, TOKEN_BYTES, CAPTION_TOKENS = 60, 250, 4, 16
# Bytes of an image's line in a list; parameters of a captioner whose weights are not there yet; patches that it sees in an image (BLIP: 24 x 24).
IMAGE_BYTES, CAPTIONER_PARAMETERS, PATCHES = 150, 250e6, 576
# Layers, width and vocabulary of assets that may not be fetched yet, and the parameters of captioners.
SHAPES = {"bert-base-uncased": (12, 768, 30_522)} | dict.fromkeys(("roberta-large", "openai_detector", "openai_detector_hub"), (24, 1024, 50_265))
CAPTIONERS = {"vit-gpt2": 239e6, "blip-base": 247e6, "git-base-coco": 177e6}
# MB of an image in memory, at each layer's inputs and as pixels.
IMAGE_MB = 20.0


def encoder_shape(encoder: Mapping) -> tuple[int, int, int]:
    """Return layers, width and vocabulary of an encoder of the configuration; those of a base model where its files are not on this machine and it is no asset."""
    if encoder["source"] == "pretrain":
        own = encoder["pretrain"]
        return own["layers"], own["width"], own["vocabulary"]
    folders = [Path(str(encoder.get("path")))]
    if encoder["source"] == "package":
        found = importlib.util.find_spec(str(encoder["path"]).replace("-", "_"))
        folders = [file.parent for root in (found.submodule_search_locations or [] if found else []) for file in Path(root).rglob("config.json")]
    for folder in folders:
        try:
            read = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            # GPT-2 and its kin have names of their own.
            return read.get("num_hidden_layers") or read["n_layer"], read.get("hidden_size") or read["n_embd"], read["vocab_size"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return SHAPES.get(folders[0].name, (12, 768, 50_000))


def captioner_parameters(model: str) -> float:
    """Return the parameters of a captioner: by the bytes of its weights, or about what is known of an asset that is not fetched yet."""
    return size_of([f"{model}/model.safetensors"]) / 4 or CAPTIONERS.get(Path(model).name, CAPTIONER_PARAMETERS)


def size_of(paths: Iterable[str]) -> int:
    """Return the bytes of files, of folders all of theirs; what does not exist counts nothing."""
    total = 0
    for path in map(Path, paths):
        total += sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
    return total


def images_of(config: Mapping) -> int:
    """Return about how many photographs a run captions: the number that the configuration says, in the list's name too, or by the bytes of the list."""
    listed = str(config["captions"]["coco"]["images"])
    named = re.search(r"first-(\d+)\.jsonl$", listed)
    most = int(named[1]) if named else size_of([listed]) // IMAGE_BYTES
    return min(most or math.inf, config["captions"]["images"] or most)


def captions_of(config: Mapping, files: Iterable[str]) -> int:
    """Return about how many captions a run has, all sources together; `files` are the user's."""
    captions = config["captions"]
    if captions["source"] == "simulate":
        return 3 * captions["images"] * captions["simulate"]["captions_per_scene"]
    if captions["source"] == "coco":
        return (3 if captions["coco"]["machine_ood"] else 2) * images_of(config) * captions["coco"]["captions_per_image"]
    return size_of(files) // CAPTION_BYTES


def rows_of(entry: Mapping, sizes: Mapping[str, int]) -> tuple[int, float]:
    """Return about how many rows a data set has, and how many tokens each; `sizes` has the bytes of its files, by part."""
    rows = sum(min(entry.get(f"{part}_rows") or math.inf, max(1, size // ROW_BYTES)) for part, size in sizes.items())
    return rows, ROW_BYTES / TOKEN_BYTES


def passes_of(training: Mapping, detector: Mapping, frozen: bool) -> float:
    """Return the passes over its texts, forwards and backwards, that a detector's or a defence's training makes."""
    adversarial = detector.get("adversarial")
    if frozen and not adversarial:
        # Each drawn text is encoded once, forwards only.
        return (training["classifier"]["draws"] or training["classifier"]["epochs"]) / 3
    steps = {**training["adversarial"], **adversarial}["steps"] + 1 if adversarial else 1
    return steps * (training["classifier"] if frozen else training)["epochs"]


def captioned(config: Mapping, parameters: float) -> float:
    """Return the operations of captioning one photograph: all its patches once, and the tokens of every beam one by one."""
    coco = config["captions"]["coco"]
    return 2 * parameters * (PATCHES + coco["beams"] * coco["max_tokens"])


def cost(config: Mapping, kind: str, texts: float, tokens: float, trained: Mapping | None = None) -> tuple[float, float]:
    """Return the MB and the seconds of a job that one expects.

    kind: a key of LIGHT, or caption (of photographs), pretrain, train, encode, score, attack. texts: how many texts its table has, of `tokens` tokens each. trained: the
    entry of a detector or defence that is trained or opened.
    """
    if kind in LIGHT:
        base, megabytes, seconds = LIGHT[kind]
        return base + megabytes * texts / 1000, seconds * texts / 1000
    entry, rules = config["encoders"][config["encoder"]], config["training"]
    if kind == "caption":
        coco, rate = config["captions"]["coco"], RATE["cuda"] if config["device"] == "cuda" else RATE["cpu"] * rules["threads"]
        megabytes = TORCH_MB + SCORED * CAPTIONER_PARAMETERS / 1e6 + IMAGE_MB * coco["batch_size"] * coco["beams"]
        return megabytes, images_of(config) / coco["shards"] * captioned(config, CAPTIONER_PARAMETERS) / rate
    if trained and detector_kind(trained.get("use", OWN_PREFIX)) == "model":
        entry = {"source": "huggingface", "path": trained["use"], "max_length": trained.get("max_length", tokens), "trainable": "all"}
    if kind == "pretrain":
        # Its own, or one that serves an attack.
        entry = entry if entry["source"] == "pretrain" else next((one for one in config["encoders"].values() if one["source"] == "pretrain"), entry)
    layers, width, vocabulary = encoder_shape(entry)
    body, embeddings = 12.0 * layers * width**2, float(width * vocabulary)
    frozen = kind == "train" and entry["trainable"] == "classifier"
    tokens = min(tokens, entry["max_length"])
    forward = 2 * max(body, LEAST_PARAMETERS) * tokens
    threads = 1 if kind == "attack" else rules["threads"]
    rate = RATE["cuda"] if config["device"] == "cuda" else RATE["cpu"] * threads
    # An attack reads the table, and tokenises the few texts that it attacks.
    megabytes, kept = TORCH_MB + (1 if kind == "attack" else TEXTS_MB) * texts / 1000, layers * width / 1e6
    if kind in ("pretrain", "train"):
        passes = entry["pretrain"]["epochs"] if kind == "pretrain" else passes_of(rules, trained or {}, frozen)
        budget = entry["pretrain"]["token_budget"] if kind == "pretrain" else rules["token_budget"]
        megabytes += TRAINED * (body + embeddings) / 1e6 + KEPT * budget * kept
        return megabytes, 3 * forward * texts * passes / rate
    megabytes += SCORED * (body + embeddings) / 1e6 + PASSED * 2048 * kept
    if trained and "measure" in trained:
        # The second model, and what is made of the logits.
        megabytes += SCORED * (body + embeddings) / 1e6 * ("reference" in trained) + LOGITS_MB
    if kind == "attack":
        attacks = config["attacks"]
        asked = attacks["texts"] / attacks["shards"] * len(attacks["recipes"])
        return megabytes + ATTACK_MB - TORCH_MB, asked * (SECONDS_A_TEXT + QUERIES * forward / rate)
    # Of captions a split and its mutants, set by set, or the draws of training: about as many texts again for each set.
    times = len(config["mutate"]["sets"]) if kind == "score" else rules["classifier"]["draws"] or 1
    return megabytes, forward * texts * times / rate


def attempted(megabytes: float, attempt: int) -> int:
    """Return the `mem_mb` of a job: what it is expected to need with headroom, and Snakemake's own processes; more with each attempt."""
    return math.ceil((HEADROOM * megabytes + SNAKEMAKE_MB) * attempt / 50) * 50


def patience(seconds: float, attempt: int, factor: float = 1.0) -> int:
    """Return the `runtime` of a job in minutes: some to start, and what it is expected to need on a busy machine; more with each attempt."""
    return max(1, math.ceil((START_MINUTES + PATIENCE * seconds / 60) * attempt * factor))
