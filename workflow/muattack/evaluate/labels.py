"""How detectors, tasks and domains are called in tables and figures: as in the paper."""

from collections.abc import Mapping, Sequence

from muattack.results import opened_detectors

CLEAN = "H_vs_M"
DOMAINS = {"in": "In distribution", "ood": "Out of distribution"}
MEASURES = {"auc": "AUC", "accuracy": "Accuracy", "tpr": "TPR"}
# Where metrics.csv has the value and the interval of a measure.
MEASURE_COLUMNS = {
    "auc": ("auc", "auc_low", "auc_high"),
    "accuracy": ("accuracy", "accuracy_low", "accuracy_high"),
    "tpr": ("tpr_at_fpr5", "tpr_low", "tpr_high"),
}
MAIN_DETECTORS = ("base", "finetune", "rr", "dropout", "rr_dropout")
# Below this many machine texts a task is called small.
SMALL = 10


def reported_tasks(config: Mapping) -> list[str]:
    """Return H_vs_M and the configured tasks: what the paper's tables and figures show."""
    return [CLEAN, *config["mutate"]["tasks"]]


def task_label(task: str) -> str:
    """Return the paper's name of a task as plain text, such as H vs. M_mwr."""
    return "H vs. M" if task == CLEAN else f"H vs. M_{task}"


def task_mathtext(task: str) -> str:
    """Return the paper's name of a task for matplotlib, the mutation as a subscript."""
    return "H vs. M" if task == CLEAN else rf"H vs. M$_{{\mathrm{{{task.replace('_', chr(92) + '_')}}}}}$"


def detector_label(name: str, detectors: Mapping[str, Mapping]) -> str:
    """Return a detector's name for people, with the largest share of words removed where it is RR-trained."""
    settings = detectors.get(name) or {}
    share = f" (m = {settings['rr']:g})" if settings.get("rr") else ""
    plain = {
        "base": "Base",
        "finetune": "Finetune",
        "rr": "RR",
        "dropout": "Dropout",
        "rr_dropout": "RR + Dropout",
        "pgd_kpp": "PGD-K++",
        "freelb_pp": "FreeLB++",
    }
    if name.startswith("rr_m") and share:
        return f"RR{share}"
    return plain.get(name, name) + (share if name == "rr" else "")


def main_detectors(names: Sequence[str], detectors: Mapping[str, Mapping]) -> list[str]:
    """Return the paper's detectors that a run has, in the paper's order, and those of the user's; all of `names` where it has none of the paper's."""
    paper = [name for name in MAIN_DETECTORS if name in names]
    return [*paper, *(name for name in opened_detectors(detectors) if name in names and name not in paper)] if paper else list(names)


def unit(config: Mapping) -> str:
    """Return what a run's texts are about and resamples draw: images, or the texts themselves where each stands for itself."""
    return "texts" if config["captions"]["source"] == "texts" else "images"
