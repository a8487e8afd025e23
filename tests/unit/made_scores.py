"""A made-up run: captions, mutants and scores of several detectors, as files. Not a test."""

from pathlib import Path

import numpy as np
import pandas as pd

from muattack.config import read_config
from muattack.records import write_records

WORDS = {"r": "articles", "j": "adjectives", "d": "adverbs"}
SETS = [f"{kind}_{words}" for words in WORDS.values() for kind in ("word", "char_a", "char_e")]
MUTATE = {
    "sets": {name: dict(read_config()["mutate"]["sets"][name]) for name in sorted(SETS)},
    "tasks": {
        **{f"mw{letter}": [f"word_{words}"] for letter, words in WORDS.items()},
        **{f"mc{letter}": [f"char_a_{words}", f"char_e_{words}"] for letter, words in WORDS.items()},
    },
    "keep": "changed",
    "classes": ["machine"],
    "apply": "jointly",
}
SETTINGS = {"bootstrap": 60, "confidence": 0.95, "fpr": 0.05, "threshold": 0.5, "lengths": [9, 11, 13], "min_mutants": 3}
# Share of texts a task changes, and how far it pulls the machine's scores towards the human side.
SHARE = {"r": 0.97, "j": 0.12, "d": 0.03}
PULL = {"w": 1.0, "c": 1.8}


def make_run(folder: Path, images: int = 40, detectors=("base", "finetune", "rr"), ood: bool = True, seed: int = 7, share=SHARE) -> dict:
    """Write a run's files; return captions (frame), scores and mutants (paths by name)."""
    rng = np.random.default_rng(seed)
    rows = []
    for source in ("human", "machine", "machine_ood") if ood else ("human", "machine"):
        for image in range(images):
            for k in range(5):
                words = ["the" if rng.random() < 0.9 else "dog", *(["red", "quickly", "dog"] * 5)[: int(rng.integers(5, 15))]]
                split = "train" if image < images // 4 else "test"
                rows.append((f"{source}-{image}-{k}", str(image), source, " ".join(words), int(source != "human"), split))
    captions = pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"])
    test = captions[captions.split == "test"]
    machines = test[test.label == 1]
    mutants, changed = {}, {}
    for task in [*MUTATE["tasks"], *MUTATE["sets"]]:
        kind = task[2] if len(task) == 3 else {"articles": "r", "adjectives": "j", "adverbs": "d"}[task.split("_")[-1]]
        frame = machines[["id", "text"]].assign(changed=rng.random(len(machines)) < share[kind])
        frame["mutated"] = np.where(frame.changed, frame.text + " x", frame.text)
        mutants[task] = folder / "mutants" / f"{task}.parquet"
        write_records(mutants[task], frame, {})
        changed[task] = frame
    own = machines[machines.source == "machine"][["id", "text"]]
    applied = (("word_articles", "the", 25), ("char_e_articles", "the", 25), ("word_adjectives", "red", 6), ("char_a_adverbs", "slowly", 2))
    operators = pd.concat([own.assign(operator=f"{name}:{word}", set=name, word=word).sample(n, random_state=1) for name, word, n in applied])
    operators = operators.assign(mutated=operators.text + " x", changed=True)
    write_records(folder / "mutants" / "operators.parquet", operators, {})
    scores = {}
    image_effect = dict(zip(sorted(set(captions.image_id)), rng.normal(0, 0.4, images), strict=True))
    for number, detector in enumerate(detectors):
        skill, weakness = (0.4, 1.4) if detector == "base" else (1.8, 0.5 if detector.startswith("rr") else 1.0)
        logit = rng.normal(0, 1, len(test)) + test.image_id.map(image_effect).to_numpy()
        logit += test.source.map({"human": -skill / 2, "machine": skill / 2, "machine_ood": skill / 4}).to_numpy()
        clean = pd.Series(logit, index=test.id)
        parts = [pd.DataFrame({"task": "clean", "id": test.id, "operator": "", "logit": logit})]
        for task, frame in changed.items():
            pull = PULL["c" if task.startswith(("mc", "char")) else "w"] * weakness
            parts.append(
                pd.DataFrame({"task": task, "id": frame.id, "operator": "", "logit": clean[frame.id].to_numpy() - pull * frame.changed.to_numpy()})
            )
        parts.append(
            pd.DataFrame(
                {"task": "operators", "id": operators.id, "operator": operators.operator, "logit": clean[operators.id].to_numpy() - weakness}
            )
        )
        table = pd.concat(parts, ignore_index=True)
        # Rounding makes ties.
        table["score"] = (1 / (1 + np.exp(-table.pop("logit")))).round(3)
        table["truncated"] = False
        scores[detector] = folder / "scores" / f"{detector}.parquet"
        write_records(scores[detector], table.sample(frac=1, random_state=number), {})
    return {"captions": captions, "scores": scores, "mutants": mutants, "operators": folder / "mutants" / "operators.parquet"}
