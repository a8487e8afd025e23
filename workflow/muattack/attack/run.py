"""Attack the texts of one shard, one record a text and attack; a run that is killed goes on where it was."""

import math
import os
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from muattack.attack.names import WITH_SYNONYMS
from muattack.attack.records import apply_edits, gather, write_attack
from muattack.errors import InputError
from muattack.kept import KeptLines
from muattack.progress import progress
from muattack.records import sha256
from muattack.sources import code_sha256

__all__ = ["attack_texts", "gather"]


def attack_texts(
    texts: pd.DataFrame,
    victim_folder: str | os.PathLike,
    victim: str,
    dataset: str,
    labels: Sequence[str],
    attacks: Mapping[str, dict],
    synonyms: str | os.PathLike | None,
    similarity: dict,
    encoder: dict,
    language_model: str | os.PathLike | None,
    out: Mapping[str, str | os.PathLike],
    state: str | os.PathLike,
    seed: int,
    shard: int = 0,
    shards: int = 1,
    seconds: float = 600.0,
    antonyms: str | os.PathLike | None = None,
) -> None:
    """Attack every `shards`-th text from number `shard` on with each of `attacks` and write the records (`muattack.attack.records`).

    `texts` has id, text, label (`choose_texts`); `labels` names the classes; an attack, by its name, has recipe, epsilon_min, k_max,
    rho_max and queries_per_word, and `out` the file for its records; `similarity` has measure and precision; `encoder` is the entry of
    the sentence encoder; `state` is the folder of what is done already, `seconds` the limit for one text. A text whose attack fails with
    an exception has the status error and its reason, and the others go on. Sets torch to one thread.
    Raises InputError for settings no attack can keep to, a resource that is missing, a victim of other classes (all before the
    first text), and scores that are not finite; what was attacked before is kept.
    """
    from muattack.attack.recipes import Resources, build, resolve

    # Before anything heavy: a misspelt recipe is told at once.
    resolved = {name: resolve(attack, similarity["measure"]) for name, attack in attacks.items()}
    if not 0 <= shard < shards:
        raise InputError(f"Shard {shard} of {shards} does not exist; shards are numbered from 0.")
    if not seconds > 0:
        raise InputError(f"attacks.seconds is {seconds!r}, but must be above 0: the limit for one text.")
    wrong = texts[~texts["label"].between(0, len(labels) - 1)]
    if len(wrong):
        row = wrong.iloc[0]
        raise InputError(
            f"The text {row['id']} of {dataset} has the label {row['label']}, but the classes are {len(labels)} ({', '.join(labels)}), numbered from 0."
        )

    import torch

    from muattack.attack.deadline import Deadline
    from muattack.attack.identity import victim_sha256
    from muattack.attack.similarity import Similarity, load_similarity_encoder
    from muattack.attack.synonyms import read_antonyms
    from muattack.attack.tables import read_neighbours
    from muattack.attack.victim import open_victim
    from muattack.detect.encoder import locate_encoder
    from muattack.device import device

    torch.set_num_threads(1)
    deadline = Deadline()
    target = open_victim(victim_folder, victim, labels, deadline)
    sentences = load_similarity_encoder(encoder, similarity["precision"])
    reads = [name for name, one in resolved.items() if one["recipe"] in WITH_SYNONYMS]
    table = read_neighbours(synonyms) if synonyms is not None and reads else None
    opposite = read_antonyms(antonyms) if antonyms else {}
    masks = any(one["recipe"] == "bert_attack" for one in resolved.values())
    if masks and language_model is not None:
        # A hub id stands for its folder in the local cache.
        language_model = locate_encoder({"source": "huggingface", "path": str(language_model)})
    common = {
        "victim": victim,
        "dataset": dataset,
        "labels": list(labels),
        "victim_sha256": victim_sha256(victim_folder),
        "texts": len(texts),
        "seed": seed,
        "versions": versions(),
        "device": device().type,
    }
    checksums = {"antonyms_sha256": sha256(antonyms)} if antonyms else {}
    encoder_used = encoder_facts(encoder)
    # All are built before the first begins: what one of them lacks is not told hours later.
    ready = {}
    for name, one in resolved.items():
        measured = Similarity(sentences, similarity["precision"], similarity["measure"], one["epsilon_min"], deadline)
        attack, adds = build(one, Resources(target, measured, table if name in reads else None, opposite, language_model, deadline, seed))
        if name in reads and table is not None:
            adds["synonyms_sha256"] = sha256(synonyms)
        adds |= checksums
        if one["recipe"] == "bert_attack":
            adds["language_model_sha256"] = sha256(Path(language_model) / "model.safetensors")
        adds["similarity_encoder"] = encoder_used
        header = {"attack": {**one, "precision": similarity["precision"], "seconds": seconds, **adds}, **common}
        ready[name] = (attack, measured, header)

    mine = texts.iloc[shard::shards].reset_index(drop=True)
    rows = list(zip(mine["id"].astype(str), mine["text"], mine["label"].astype(int), strict=True))
    for name, (attack, measured, header) in ready.items():
        log = State(Path(state), f"{name}-{shard}of{shards}", header, mine)
        for text_id, text, label in progress(rows, f"{victim} under {name}"):
            if text_id not in log.done:
                log.add(attack_one(attack, target, measured, deadline, text_id, text, label, seconds, header["attack"]["rho_max"]))
        write_attack(out[name], {**header, "shard": shard, "shards": shards}, [log.done[text_id] for text_id, _, _ in rows])
        log.close()


def attack_one(ready, victim, similarity, deadline, name: str, text: str, label: int, seconds: float, rho_max: float) -> dict:
    """Attack one text and return its record; an exception becomes the status error. VictimError alone goes through."""
    from muattack.attack.deadline import TimedOut
    from muattack.attack.slots import SlotText
    from muattack.attack.victim import VictimError

    started = time.monotonic()
    goal = ready.goal_function
    record = dict.fromkeys(("adversarial", "predicted_before", "predicted_after", "score_before", "score_after", "similarity"))
    record |= {"edits": [], "status": "error", "reason": "", "queries": 0, "words": 0, "words_changed": 0}
    goal.num_queries = 0
    try:
        with deadline.limit(seconds):
            victim.forget()
            ready.clear_cache()
            original = SlotText(text)
            record["words"] = original.num_words
            similarity.begin(original)
            ready.transformation.begin(original, name)
            scores = victim([text])[0]
            record |= {"predicted_before": int(scores.argmax()), "score_before": float(scores[label])}
            result = ready.attack(original, label)
            record |= outcome(result, original, similarity, label, rho_max, goal)
    except TimedOut:
        record |= {"status": "timed_out", "reason": f"the limit of {seconds:g} s for one text"}
    except VictimError:
        raise
    except Exception as error:
        traceback.print_exc()
        record["reason"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    finally:
        victim.forget()
        ready.clear_cache()
    record["queries"] = goal.num_queries
    head = {"id": name, "label": label, "original": text}
    order = (
        "adversarial",
        "edits",
        "status",
        "reason",
        "predicted_before",
        "predicted_after",
        "score_before",
        "score_after",
        "queries",
        "similarity",
        "words",
    )
    return {**head, **{key: record[key] for key in order}, "words_changed": record["words_changed"], "seconds": round(time.monotonic() - started, 3)}


def outcome(result, original, similarity, label: int, rho_max: float, goal) -> dict:
    """Return what the record takes from TextAttack's result."""
    from muattack.attack.offline import load_textattack

    results = load_textattack().attack_results
    after = result.perturbed_result
    found = {"predicted_after": int(after.output), "score_after": float(after.raw_output[label])}
    if isinstance(result, results.SkippedAttackResult):
        return {**found, "status": "skipped", "reason": "misclassified before the attack"}
    if not isinstance(result, results.SuccessfulAttackResult):
        return {**found, "status": "failed", "reason": why_failed(original, rho_max, goal)}
    text = after.attacked_text
    edits, adversarial = text.edits(), text.text
    if apply_edits(original.original, edits) != adversarial:
        raise AssertionError("the edits do not give the adversarial text")
    return {
        **found,
        "status": "succeeded",
        "adversarial": adversarial,
        "edits": edits,
        "similarity": similarity.similarity(text),
        "words_changed": text.words_changed,
    }


def why_failed(original, rho_max: float, goal) -> str:
    """Return why a text could not be attacked at all, or that the budget ended it; nothing where the attack just did not succeed."""
    from muattack.attack.constraints import most_changed

    if not original.num_words:
        return "the text has no words"
    if not most_changed(original.num_words, rho_max):
        return f"rho_max {rho_max:g} lets no word of {original.num_words} change"
    return "the queries are used up" if goal.num_queries >= goal.query_budget else ""


def encoder_facts(encoder: dict) -> dict:
    """Return what identifies a sentence encoder: package or hub id and checksum of the weights; of a local folder the checksum alone."""
    from muattack.detect.encoder import locate_encoder

    named = {
        key: encoder[key]
        for key in ("source", "path", "revision", "pooling")
        if encoder.get(key) and not (key == "path" and Path(encoder[key]).is_dir())
    }
    if encoder["source"] == "tensorflow_hub":
        return {**named, "sha256": sha256(Path(encoder["path"], "saved_model.pb"))}
    found = locate_encoder({key: value for key, value in encoder.items() if key not in ("sha256", "max_length")})
    return {**named, "sha256": encoder.get("sha256") or sha256(found / "model.safetensors")}


def versions() -> dict[str, str]:
    """Return the versions that decide a result."""
    from importlib.metadata import version

    import muattack

    return {"muattack": muattack.__version__, **{name: version(name) for name in ("textattack", "transformers", "torch", "nltk", "lemminflect")}}


class State(KeptLines):
    """Records of texts that are done, under a key of all that decides a record.

    It outlives the attack: with another recipe added or more texts asked for, what is done already is not done again.
    """

    def __init__(self, folder: Path, name: str, header: dict, texts: pd.DataFrame) -> None:
        # Of other texts, where fewer or others are attacked now.
        wanted = {str(row.id): (row.text, row.label) for row in texts.itertuples()}
        # Which texts there are decides no record: a record is found by its text.
        super().__init__(
            folder / f"{name}.jsonl",
            [{**header, "texts": None}, code_sha256(__file__)],
            lambda record: wanted.get(record["id"]) == (record["original"], record["label"]),
        )
        if self.done:
            print(f"{self.path}: {len(self.done)} of {len(texts)} texts are done already", flush=True)

    def add(self, record: dict) -> None:
        """Keep a record."""
        if any(isinstance(value, float) and not math.isfinite(value) for value in record.values()):
            record |= {"status": "error", "reason": "a value of the record is not finite", "score_after": None, "similarity": None}
        super().add(record)
