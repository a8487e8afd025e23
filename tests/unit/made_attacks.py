"""A made-up run of attacks: records, scores and captions as files. Not a test."""

import copy
import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from muattack.attack.records import apply_edits, write_attack
from muattack.config import check_config, overlay, read_config
from muattack.evaluate.attack_families import CAPTIONS, constraints_of, victims_of
from muattack.records import write_records

WORDS = ["the", "dog", "runs", "over", "a", "red", "hill", "while", "two", "men", "in", "hats", "watch", "the", "old", "wall", "and", "child", "eats"]
EDITED = {"dog": "hound", "red": "crimson", "old": "aged", "child": "kid", "hill": "mound"}
# How likely a victim is to be right, and to withstand an attack once it is.
SKILL = {"base": (0.6, 0.15), "finetune": (0.85, 0.1), "plain": (0.9, 0.2), "freelb_pp": (0.92, 0.55), "pgd_kpp": (0.88, 0.4)}


def made_config(**above) -> dict:
    """Return a checked configuration: the defaults, few resamples, `above` laid over them."""
    return copy.deepcopy(_checked(json.dumps(above)))


@cache
def _checked(above: str) -> dict:
    return check_config(overlay(overlay(_defaults(), {"evaluate": {"bootstrap": 200}}), json.loads(above)))


@cache
def _defaults() -> dict:
    return read_config()


def record(one: str, label: int, status: str, original: str = "the dog runs over a red hill", **above) -> dict:
    """Return one record of an attack; succeeded ones change the word dog."""
    start = original.find("dog")
    edits = [{"start": start, "end": start + 3, "replacement": "hound"}] if status == "succeeded" else []
    before = label if status not in ("skipped", "error") else 1 - label if status == "skipped" else None
    made = {
        "id": one, "label": label, "original": original, "adversarial": apply_edits(original, edits) if edits else None, "edits": edits, "status": status,
        "reason": "" if status in ("succeeded", "failed") else "made up", "predicted_before": before,
        "predicted_after": {"succeeded": 1 - label, "failed": label}.get(status), "score_before": None if before is None else 0.9,
        "score_after": 0.3 if status == "succeeded" else None, "queries": 1 if status == "skipped" else 20,
        "similarity": 0.9 if status == "succeeded" else None, "words": len(original.split()), "words_changed": len(edits), "seconds": 0.5,
    }  # fmt: skip
    return made | above


def write_run(path: Path, config: dict, key: tuple[str, str, str], records: list[dict], **attack) -> Path:
    """Write one attack file with the header that a configuration asks for; `attack` overrides its parameters."""
    dataset, victim, name = key
    recipe = config["attacks"]["recipes"][name]["recipe"]
    settings = {
        "recipe": recipe,
        "measure": "cosine",
        "stock_changes": ["similarity for texts of every length"],
        **constraints_of(config, dataset, name),
    }
    header = {
        "attack": settings | attack, "dataset": dataset, "victim": victim, "victim_sha256": "0" * 64, "texts": len(records), "seed": config["seed"],
        "versions": {"textattack": "0.3.11"},
    }  # fmt: skip
    write_attack(path, header, records)
    return path


def make_attacks(folder: Path, config: dict, texts: int = 60, per_image: int = 3, seed: int = 3) -> dict:
    """Write records, scores and captions for every victim and attack of a configuration; return the paths as write_attack_tables takes them."""
    rng = np.random.default_rng(seed)
    records, clean, captions = {}, {}, None
    frames: dict[str, pd.DataFrame] = {}
    for dataset, victim in victims_of(config):
        if dataset not in frames:
            frames[dataset] = _texts(dataset, texts, per_image, rng)
        frame = frames[dataset]
        settings = victims_of(config)[dataset, victim]
        adversarial = settings.get("adversarial") or {}
        name = victim.split(".")[-1]
        right, stands = SKILL.get(name, (0.88, 0.25))
        if adversarial:
            stands += 0.012 * adversarial.get("steps", 5) + (0.1 if adversarial["method"].endswith("pp") else 2 * adversarial.get("max_norm", 0.01))
        correct = rng.random(len(frame)) < right
        table = frame[["id", "label"]].assign(predicted=np.where(correct, frame.label, 1 - frame.label).astype("int8"), score=0.8, truncated=False)
        if dataset == CAPTIONS:
            table = table.assign(task="clean", operator="", score=np.where(table.predicted == 1, 0.8, 0.2))
        clean[dataset, victim] = folder / "scores" / f"{victim}.parquet"
        write_records(clean[dataset, victim], table.sample(frac=1, random_state=seed), {})
        attacked = np.flatnonzero((frame.source == "machine") | (dataset != CAPTIONS))[:texts]
        for attack in config["attacks"]["recipes"]:
            limits = constraints_of(config, dataset, attack)
            power = 0.25 + 0.5 * min(limits["k_max"], limits["queries_per_word"] or 50) / (
                min(limits["k_max"], limits["queries_per_word"] or 50) + 10
            )
            power += 0.3 * limits["rho_max"]
            rows = []
            for at in attacked:
                row = frame.iloc[at]
                status = "skipped" if not correct[at] else "failed" if rng.random() < min(stands + (1 - power) * 0.6, 0.97) else "succeeded"
                status = "timed_out" if status == "failed" and rng.random() < 0.03 else status
                rows.append(_attacked(row, status, rng))
            path = folder / "attacks" / victim / f"{attack}.jsonl"
            records[dataset, victim, attack] = write_run(path, config, (dataset, victim, attack), rows)
    if CAPTIONS in frames:
        captions = folder / "captions.parquet"
        write_records(captions, frames[CAPTIONS], {})
    return {"records": records, "clean": clean, "captions": captions}


def _texts(dataset: str, texts: int, per_image: int, rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for number in range(texts):
        sources = [("human", 0), ("machine", 1)] if dataset == CAPTIONS else [(dataset, number % 2)]
        for source, label in sources:
            text = " ".join(rng.choice(WORDS, int(rng.integers(6, 18)))) + " dog"
            image = f"scene_{number // per_image}" if dataset == CAPTIONS else f"{dataset}-test-{number}"
            rows.append((f"{source}-{number}" if dataset == CAPTIONS else image, image, source, text, label, "test"))
    return pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"]).astype({"label": "int8"})


def _attacked(row: pd.Series, status: str, rng: np.random.Generator) -> dict:
    text, edits, at = row.text, [], 0
    for word in text.split(" ") if status == "succeeded" else []:
        if word in EDITED and (len(edits) < 1 or rng.random() < 0.4):
            edits.append({"start": at, "end": at + len(word), "replacement": EDITED[word]})
        at += len(word) + 1
    above = {"words": len(text.split()), "words_changed": len(edits), "queries": 1 if status == "skipped" else int(rng.integers(15, 200))}
    if status == "succeeded":
        above |= {"edits": edits, "adversarial": apply_edits(text, edits), "similarity": round(float(rng.uniform(0.84, 0.99)), 6)}
    return record(row.id, int(row.label), status, text, **above)
