# What all rules share: the checked configuration, the names of a run's parts, helpers for inputs and params.
import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Scripts run in processes of their own and import the library from here, installed or not.
LIBRARY = str(Path(workflow.basedir) / "workflow")
sys.path.insert(0, LIBRARY)
os.environ.update(PYTHONPATH=os.pathsep.join(dict.fromkeys([LIBRARY, *filter(None, os.getenv("PYTHONPATH", "").split(os.pathsep))])))

from muattack.config import check_config, data_file
from muattack.errors import InputError
from muattack.mutate.registry import WORD_LISTS, check_tasks, load_sets
from muattack.results import FIGURE_DETECTORS, cached_draws, figures_of, rr_shares, tables_of, trained_as, training_settings
from muattack.sources import library_sources

try:
    checked = check_config(config)
    check_tasks(checked["mutate"], load_sets(checked["mutate"], data_file(checked, ".")))
except InputError as error:
    raise WorkflowError(str(error)) from None
config.clear()
config.update(checked)

DETECTORS = list(config["detectors"])
MUTANTS = [*config["mutate"]["sets"], *config["mutate"]["tasks"]]
SOURCES = ["human", "machine"]
if config["captions"]["source"] == "simulate" or config["captions"]["files"]["machine_ood"]:
    SOURCES.append("machine_ood")
FIGURES = figures_of(config["detectors"], "machine_ood" in SOURCES)
TABLES = tables_of(config["detectors"])
ENCODER = config["encoders"][config["encoder"]]
TRAINED_AS = trained_as(config)
FROZEN = ENCODER["trainable"] == "classifier"
# Jobs that share out the encoding of texts by a frozen encoder.
FEATURE_SHARDS = config["training"]["feature_shards"]
PRETRAINED_HERE = ENCODER["source"] == "pretrain"


def names(options):
    """A wildcard constraint that allows these names and no others."""
    return "|".join(map(re.escape, options)) or "(?!)"


def block(*path):
    """A part of the configuration as JSON in the file's order: text is what Snakemake compares reliably to know what changed."""
    part = config
    for key in path:
        part = part[key]
    return json.dumps(part, ensure_ascii=False)


def library(script):
    """The library files that a script uses, as inputs: an edited module re-runs exactly the rules that use it."""
    return [os.path.relpath(path) for path in library_sources(f"{LIBRARY}/scripts/{script}.py")]


def memory(megabytes):
    """Memory that grows with each attempt, for executors that enforce it."""

    def grown(wildcards, attempt):
        return megabytes * attempt

    return grown


wildcard_constraints:
    run=names([config["run"]]),
    set=names(MUTANTS),
    detector=names(DETECTORS),
    captioner="machine|machine_ood",
    part="test_bed|base",
    shard=r"\d+",
    figure=names(FIGURES),


def data_files(paths):
    """The places of data files named in the configuration, one or several."""
    return [data_file(config, path) for path in ([paths] if isinstance(paths, str) else paths)]


def user_files():
    """All data files of the user that the run reads, by the key that names them."""
    files = {f"mutate.sets.{name}.words": word_lists([name]) for name in config["mutate"]["sets"]}
    if config["captions"]["source"] == "files":
        files |= {f"captions.files.{source}": data_files(config["captions"]["files"][source]) for source in SOURCES}
    if config["base"]["source"] == "passages" and any(training_table(name) == "base_captions.parquet" for name in DETECTORS):
        files["base.passages"] = data_files(config["base"]["passages"])
    return files


def members(name):
    """The operator sets of a set (itself) or of a task."""
    return config["mutate"]["tasks"].get(name, [name])


def mutate_block(name):
    """What a set's or task's mutants depend on, as JSON."""
    mutate = config["mutate"]
    tasks = {name: mutate["tasks"][name]} if name in mutate["tasks"] else {}
    sets = {member: mutate["sets"][member] for member in members(name)}
    return json.dumps({"sets": sets, "tasks": tasks, "apply": mutate["apply"], "classes": mutate["classes"]}, ensure_ascii=False)


def word_lists(sets):
    """The user's word-list files among these sets."""
    named = [config["mutate"]["sets"][name]["words"] for name in sets]
    return sorted({data_file(config, words) for words in named if isinstance(words, str) and words not in WORD_LISTS})


def base_captions(wildcards):
    """The base domain's texts, where the run has a detector trained on them."""
    on_base = any(training_table(name) == "base_captions.parquet" for name in DETECTORS)
    return f"results/{wildcards.run}/base_captions.parquet" if on_base else []


def training_table(detector):
    """The table that a detector is trained on."""
    return "base_captions.parquet" if config["detectors"][detector].get("train_on") == "base" else "captions.parquet"


def encoder_folder(wildcards):
    """The encoder's folder, where the run makes it; the files of a local one, so that new weights are noticed."""
    if PRETRAINED_HERE:
        return f"results/{wildcards.run}/encoder"
    path = ENCODER.get("path") or ""
    return [f"{path}/{name}" for name in ("config.json", "model.safetensors") if Path(path, name).is_file()]


def features(texts):
    """The features of the texts for training ("train") or testing ("test"), where the encoder is frozen."""
    return expand("results/{{run}}/features/{texts}-{shard}.parquet", texts=texts, shard=range(FEATURE_SHARDS)) if FROZEN else []


def caption_files(wildcards):
    """The caption files of the run by source: simulated, or the user's."""
    if config["captions"]["source"] == "simulate":
        simulated = f"results/{wildcards.run}/simulated"
        return {"human": f"{simulated}/human.json"} | {name: f"{simulated}/test_bed/{name}.json" for name in SOURCES[1:]}
    return {source: data_files(config["captions"]["files"][source]) for source in SOURCES}


def base_files(wildcards):
    """What the `base` detector's texts are made from."""
    if config["base"]["source"] == "passages":
        return {"passages": data_files(config["base"]["passages"])}
    simulated = f"results/{wildcards.run}/simulated"
    return {"human": f"{simulated}/base_human.json", "machine": f"{simulated}/base/machine_ood.json"}


def start_folder(wildcards):
    """The detector that another one starts from, as an input."""
    start = config["detectors"][wildcards.detector].get("start")
    return f"results/{wildcards.run}/detectors/{start}" if start else []


# Snakemake's own message for a missing file names neither the key nor the remedy.
for key, paths in user_files().items():
    for path in paths:
        if not Path(path).is_file():
            what = "is no file" if Path(path).exists() else "does not exist"
            raise WorkflowError(
                f"The file {path} ({key}) {what}. Check its path in your configuration, and `data` (or the environment variable "
                "MUATTACK_DATA), the folder that paths of data files count from."
            )
