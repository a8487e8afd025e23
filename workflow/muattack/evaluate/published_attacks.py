"""What the benchmark of textual defenders prints, to be laid beside a run's own figures; facts, never targets.

Source: "Searching for an Effective Defender: Benchmarking Defense against Adversarial Word Substitution": its tables for AG News
and IMDB (accuracies to the whole per cent), Sections 3, 4.2 and 5.1. BERT-base, fine-tuned, 1,000 test texts attacked.
"""

from collections.abc import Mapping

from muattack.evaluate.attack_families import adversarial_of, labels_of

# Accuracy on the whole test split (clean) and under attack, by data set, defence and recipe. The paper's code ran TextBugger with word
# substitutes only, so its figures belong to our textbugger_word; the recipe with character bugs is another attack.
PUBLISHED = {
    "agnews": {
        "freelb_pp": {"clean": 0.95, "textfooler": 0.52, "textbugger_word": 0.56, "bert_attack": 0.42},
        "ranmask": {"clean": 0.92, "textfooler": 0.38, "textbugger_word": 0.45, "bert_attack": 0.49},
    },
    "imdb": {
        "freelb_pp": {"clean": 0.93, "textfooler": 0.45, "textbugger_word": 0.43, "bert_attack": 0.40},
        "ranmask": {"clean": 0.92, "textfooler": 0.22, "textbugger_word": 0.18, "bert_attack": 0.36},
    },
}
CLASSES = {"agnews": 4, "imdb": 2}
# Section 3.2: the constraints on every attack; the paper's Q_max is K_max times the words of the text.
CONSTRAINTS = {
    "agnews": {"epsilon_min": 0.84, "k_max": 50, "rho_max": 0.3, "queries_per_word": 50},
    "imdb": {"epsilon_min": 0.84, "k_max": 50, "rho_max": 0.1, "queries_per_word": 50},
}
# Ascent steps t of FreeLB++ (Section 4.2).
STEPS = {"agnews": 30, "imdb": 10}
SOURCE = (
    "Paper: *Searching for an Effective Defender*, to the whole per cent; BERT-base fine-tuned, FreeLB++ with t = 30 ascent steps on AG News and 10 on IMDB, 1,000 texts "
    "attacked, similarity by the Universal Sentence Encoder, substitutes from counter-fitted vectors. Its values stand only beside the same data set, way of training, recipe and "
    "constraints. Encoder, t, training rows, preparation of the texts, sentence encoder and substitutes may differ from ours: they show the order to expect, and nothing is tuned to them."
)


def key_of(config: Mapping, dataset: str) -> str | None:
    """Return the paper's data set that a run's data set is, by its name (agnews, AG_News; imdb-50k is none) and number of classes."""
    key = "".join(letter for letter in dataset.lower() if letter.isalnum())
    return key if key in PUBLISHED and len(labels_of(config, dataset)) == CLASSES[key] else None


def defence_of(config: Mapping, settings: Mapping) -> str | None:
    """Return the paper's defence that a victim's settings are: adversarial training alone, nothing combined with it."""
    adversarial = adversarial_of(config, settings)
    return adversarial["method"] if adversarial and not settings.get("rr") and not settings.get("dropout") else None


def published(config: Mapping, dataset: str, settings: Mapping, attack: Mapping) -> tuple[float | None, float | None]:
    """Return the paper's accuracy (clean, under attack) for a victim and an attack as it was run; None where the paper's was another.

    `attack` has recipe, epsilon_min, k_max, rho_max and queries_per_word.
    """
    key = key_of(config, dataset)
    known = PUBLISHED.get(key, {}).get(defence_of(config, settings), {})
    # The paper says 0.84, its code 0.8408.
    same = key is not None and all(abs(attack[name] - value) < 0.001 for name, value in CONSTRAINTS[key].items())
    return known.get("clean"), known.get(attack["recipe"]) if same else None
