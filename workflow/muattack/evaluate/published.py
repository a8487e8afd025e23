"""The figures the paper prints, to be laid beside a run's own; facts, never targets.

Source: "Enhancing Neural Text Detector Robustness with μAttacking and RR-Training", Tables 1 and 2, Sections 4.3, 5.1, 5.2.
"""

from collections.abc import Mapping

# AUC and accuracy by detector and task: COCO 2017 captions, RoBERTa-large, n not stated for the mutated tasks.
PUBLISHED = {
    "base": {
        "auc": {"H_vs_M": 0.6381, "mwr": 0.2488, "mwj": 0.3695, "mwd": 0.2591, "mcr": 0.0676, "mcj": 0.0676, "mcd": 0.0714},
        "accuracy": {"H_vs_M": 0.5892, "mwr": 0.3504, "mwj": 0.4460, "mwd": 0.3892, "mcr": 0.3338, "mcj": 0.4213, "mcd": 0.3686},
    },
    "finetune": {
        "auc": {"H_vs_M": 0.7227, "mwr": 0.7855, "mwj": 0.8216, "mwd": 0.8140, "mcr": 0.6788, "mcj": 0.6788, "mcd": 0.6363},
        "accuracy": {"H_vs_M": 0.6794, "mwr": 0.7295, "mwj": 0.7436, "mwd": 0.7384, "mcr": 0.6283, "mcj": 0.6646, "mcd": 0.5818},
    },
    "rr": {
        "auc": {"H_vs_M": 0.7168, "mwr": 0.8124, "mwj": 0.8476, "mwd": 0.8395, "mcr": 0.7557, "mcj": 0.7557, "mcd": 0.6842},
        "accuracy": {"H_vs_M": 0.6625, "mwr": 0.7609, "mwj": 0.7714, "mwd": 0.7678, "mcr": 0.7046, "mcj": 0.6135, "mcd": 0.6465},
    },
}
# Share of texts without an article: "approximately 4 %" of the human texts, 0.04 % of the machine's (Section 5.1).
MISSING_ARTICLES = {"human": 0.04, "machine": 0.0004}
# "Up to 2355 operators" (Section 4.3): three sets of operators on each of 3 articles, 527 adjectives and 255 adverbs.
OPERATORS = 2355
# Range of m the paper suggests (Section 5.2.4).
SUGGESTED_M = (0.2, 0.4)
DOUBT = (
    "The paper prints the same AUC for mcj as for mcr in both of its tables, while its accuracies differ: take its mcj AUCs (marked ?) as doubtful."
)


# What the paper's tasks apply, as names of our sets: (kind, word list, letters).
TASKS = {
    "mwr": [("word", "articles", {})],
    "mwj": [("word", "adjectives", {})],
    "mwd": [("word", "adverbs", {})],
    "mcr": [("character", "articles", {"a": "α"}), ("character", "articles", {"e": "ϵ"})],
    "mcj": [("character", "adjectives", {"a": "α"}), ("character", "adjectives", {"e": "ϵ"})],
    "mcd": [("character", "adverbs", {"a": "α"}), ("character", "adverbs", {"e": "ϵ"})],
}


def comparable(mutate: Mapping, task: str) -> bool:
    """Tell whether a run's task does what the paper's of that name did; only then do its figures belong beside ours."""
    if task == "H_vs_M":
        return True
    if (mutate["apply"], mutate["keep"], list(mutate["classes"])) != ("jointly", "changed", ["machine"]) or task not in TASKS:
        return False
    sets = [mutate["sets"][name] for name in mutate["tasks"].get(task, [])]
    return [(one["kind"], one["words"], one.get("letters", {})) for one in sets if not one.get("replacement")] == TASKS[task]


def published(detector: str, metric: str, task: str) -> float | None:
    """Return the paper's figure; None where it prints none."""
    return PUBLISHED.get(detector, {}).get(metric, {}).get(task)


def is_doubtful(metric: str, task: str) -> bool:
    """Tell whether the paper's figure is likely a slip of the pen (see DOUBT)."""
    return metric == "auc" and task == "mcj"
