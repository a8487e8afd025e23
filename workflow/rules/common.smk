# What all rules share: the checked configuration, the names of a run's parts, helpers for inputs and params.
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Scripts run in processes of their own and import the library from here, installed or not.
LIBRARY = str(Path(str(workflow.current_basedir)).parent)
sys.path.insert(0, LIBRARY)
os.environ.update(PYTHONPATH=os.pathsep.join(dict.fromkeys([LIBRARY, *filter(None, os.getenv("PYTHONPATH", "").split(os.pathsep))])))

from muattack.alive import PARENT, clear_leftover_locks
from muattack.attack.names import WITH_SYNONYMS
from muattack.config import DEFAULTS, check_config, data_file, files_inside, overlay, read_yaml, texts_of
from muattack.costs import CAPTION_TOKENS, attempted, captions_of, cost, patience, rows_of, size_of
from muattack.errors import InputError
from muattack.evaluate.attack_families import CAPTIONS, attack_figures, attack_tables, labels_of, victims_of
from muattack.failures import how_to_go_on
from muattack.fetch.catalogue import DETECTOR, TOKENIZER, WEIGHTS, Assets
from muattack.mutate.registry import check_tasks, files_of, load_sets
from muattack.results import (
    OWN_PREFIX,
    ROC_PREFIX,
    attack_settings,
    attacked_texts,
    cached_draws,
    check_folder,
    defended_pairs,
    detector_kind,
    families_of,
    figure_detectors,
    figures_of,
    language_encoder,
    most_synonyms,
    opened_detectors,
    rr_shares,
    split_shares,
    tables_of,
    trained_as,
    training_settings,
)
from muattack.sources import library_sources

try:
    # As a module of another workflow, there are no defaults yet.
    as_written = check_config(overlay(read_yaml(DEFAULTS), config))
    check_folder(as_written["run"])
    ASSETS = Assets(as_written)
    checked = ASSETS.resolve(as_written)
    check_tasks(checked["mutate"], load_sets(checked["mutate"], data_file(checked, ".")))
except InputError as error:
    raise WorkflowError(str(error)) from None
config.clear()
config.update(checked)

# Jobs end with the process that started them, and the next one frees what a killed one left locked.
os.environ[PARENT] = str(os.getpid())
if workflow.is_main_process:
    ALIVE, told = clear_leftover_locks(config["run"])
    if told:
        print(told, file=sys.stderr)

# A run without captions has no detectors, and none of their tables and figures.
CAPTIONED = config["captions"]["source"] != "none"
DETECTORS = list(config["detectors"])
# Those that are opened as they are, and not trained.
OPENED = opened_detectors(config["detectors"])
MUTANTS = [*config["mutate"]["sets"], *config["mutate"]["tasks"]]
SOURCES = ["human", "machine"]
if config["captions"]["source"] == "simulate" or (config["captions"].get(config["captions"]["source"]) or {}).get("machine_ood"):
    SOURCES.append("machine_ood")
FIGURES = figures_of(config["detectors"], "machine_ood" in SOURCES)
TABLES = tables_of(config["detectors"])
ENCODER = config["encoders"][config["encoder"]]
TRAINED_AS = trained_as(config)
FROZEN = ENCODER["trainable"] == "classifier"
# Jobs that share out the encoding of texts by a frozen encoder.
FEATURE_SHARDS = config["training"]["feature_shards"]
PRETRAINED_HERE = ENCODER["source"] == "pretrain"
# The encoder that the run pretrains: its own, or one whose masked language model serves an attack.
PRETRAINED = config["encoder"] if PRETRAINED_HERE else language_encoder(config) or config["encoder"]
DATASETS = list(config["classification"]["datasets"])
DEFENCES = list(config["classification"]["defences"])
RECIPES = config["attacks"]["recipes"]
ASKS_LANGUAGE_MODEL = any(attack["recipe"] == "bert_attack" for attack in RECIPES.values())
# Who is attacked, by name, and on which data set.
VICTIMS = {victim: dataset for dataset, victim in victims_of(config)} if RECIPES else {}
ATTACKS = expand("results/{{run}}/attacks/{victim}/{attack}.jsonl", victim=VICTIMS, attack=RECIPES)
ATTACK_TABLES = attack_tables(config)
ATTACK_FIGURES = attack_figures(config)


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


# What differs from site to site comes from the environment; docs/cluster.md explains it. Snakemake's profile puts unset ones into jobs as they are.
SITE = {name: os.environ.setdefault(f"MUATTACK_{name}", "") for name in ("PARTITION", "GPU_PARTITION", "ACCOUNT", "GPU_FLAG", "TIME")}
try:
    TIME = float(SITE["TIME"] or 1)
    if not 0 < TIME < 1000:
        raise ValueError
except ValueError:
    raise WorkflowError(
        f"The environment variable MUATTACK_TIME is {SITE['TIME']!r}, but must be a factor for the longest times of jobs, such as 2."
    ) from None
# One GPU for each job that runs a model: `gpu=1`, or the site's own flag, such as gpu:1, in its place.
GPU = {}
if config["device"] == "cuda":
    GPU = {"gres": SITE["GPU_FLAG"]} if SITE["GPU_FLAG"] else {"gpu": 1}
    if SITE["GPU_PARTITION"]:
        GPU["slurm_partition"] = SITE["GPU_PARTITION"]
# Of light jobs that a cluster gets as one, so many run side by side as the profile has lanes.
LANE = {"lanes": 1}


# A copy is not worth a cluster's job.
localrules:
    all,
    copy_detector,


wildcard_constraints:
    run=names([config["run"]]),
    set=names(MUTANTS),
    detector=names(DETECTORS),
    captioner="machine|machine_ood",
    part="test_bed|base",
    shard=r"\d+",
    figure=names(FIGURES),
    dataset=names([CAPTIONS, *DATASETS]),
    defence=names(DEFENCES),
    victim=names(VICTIMS),


def data_files(paths):
    """The places of data files named in the configuration: one, several or none."""
    return [data_file(config, path) for path in ([paths] if isinstance(paths, str) else paths or [])]


def not_made(paths):
    """Those of these files that the run does not make itself."""
    return [path for path in paths if not path.startswith(f"results/{config['run']}/")]


def inside(paths):
    """The files themselves, and of a folder every file in it, of an asset's also those that are still to be fetched."""
    return [file for path in paths for file in ASSETS.files_in(path) or files_inside([path])]


def user_files():
    """The data files and folders of the user that every kind of run may read, by the key that names them."""
    files = {
        f"mutate.sets.{name}.{key}": inside(data_files(path))
        for name, entry in config["mutate"]["sets"].items()
        for key, path in files_of(entry).items()
    }
    if config["captions"]["source"] == "files":
        files |= {f"captions.files.{source}": data_files(config["captions"]["files"][source]) for source in SOURCES}
    if config["captions"]["source"] == "texts":
        files |= {f"captions.texts.{source}": paths for source, paths in texts_files().items()}
    if config["captions"]["source"] == "coco":
        files |= {f"captions.coco.{key}": data_files(config["captions"]["coco"][key]) for key in ("images", "human")}
        files |= {
            f"captions.coco.{source}": local_model({"path": captioner_model(source)}) if captioner_model(source) else coco_results(source)
            for source in SOURCES[1:]
        }
    if CAPTIONED:
        files |= {f"detectors.{name}.use": opened_files(name) for name in OPENED if detector_kind(OPENED[name]["use"]) != "run"}
    if config["base"]["source"] == "passages" and CAPTIONED and any(training_table(name) == "base_captions.parquet" for name in DETECTORS):
        files["base.passages"] = data_files(config["base"]["passages"])
    for name in DATASETS:
        files |= {f"classification.datasets.{name}.{part}.files": not_made(dataset_files(name, part)) for part in ("train", "test")}
    if VICTIMS:
        files |= {f"attacks.synonyms.{key}": data_files(config["attacks"]["synonyms"][key]) for key in ("path", "antonyms")}
        files["attacks.language_model"] = local_model({"path": config["attacks"]["language_model"]})
    return files


def folders_of_results():
    """The folders of results that are described, by name, each with its files: those that the run has."""
    tables, figures = [*(TABLES if CAPTIONED else []), *ATTACK_TABLES], [*(FIGURES if CAPTIONED else []), *ATTACK_FIGURES]
    folders = {
        "mutants": expand("results/{{run}}/mutants/{set}.parquet", set=[*MUTANTS, "operators"] if CAPTIONED else []),
        "scores": expand("results/{{run}}/scores/{detector}.parquet", detector=DETECTORS if CAPTIONED else []),
        "datasets": expand("results/{{run}}/datasets/{dataset}.parquet", dataset=DATASETS),
        "classifiers": expand("results/{{run}}/classifiers/{dataset}/{defence}.scores.parquet", dataset=DATASETS, defence=DEFENCES),
        "attacks": ATTACKS,
        "tables": expand("results/{{run}}/tables/{table}.{ext}", table=tables, ext=["csv", "md"]),
        "figures": expand("results/{{run}}/figures/{figure}.{ext}", figure=figures, ext=["png", "svg"]),
    }
    return {name: files for name, files in folders.items() if files}


FOLDERS = folders_of_results()
# Keys that name folders: data sets that save_to_disk wrote.
SAVED_SETS = [
    f"classification.datasets.{name}.{part}.files"
    for name in DATASETS
    for part in ("train", "test")
    if config["classification"]["datasets"][name][part]["format"] == "huggingface"
] + [
    f"captions.texts.{source}"
    for source, entry in texts_of(config).items()
    if entry.get("format", "huggingface") == "huggingface" and all(map(os.path.isdir, data_files(entry["files"])))
]


def dataset_files(name, part):
    """The files, or the folders of saved data sets, of the training or test rows of a data set."""
    return data_files(config["classification"]["datasets"][name][part]["files"])


def dataset_block(name):
    """What the table of a data set depends on, as JSON, without where its files lie."""
    entry = {key: value for key, value in config["classification"]["datasets"][name].items() if key != "attacks"}
    entry |= {part: {key: value for key, value in entry[part].items() if key != "files"} for part in ("train", "test")}
    return json.dumps(entry, ensure_ascii=False)


def members(name):
    """The operator sets of a set (itself) or of a task."""
    return config["mutate"]["tasks"].get(name, [name])


def mutate_block(name):
    """What a set's or task's mutants depend on, as JSON."""
    mutate = config["mutate"]
    tasks = {name: mutate["tasks"][name]} if name in mutate["tasks"] else {}
    sets = {member: mutate["sets"][member] for member in members(name)}
    return json.dumps({"sets": sets, "tasks": tasks, "apply": mutate["apply"], "classes": mutate["classes"]}, ensure_ascii=False)


def set_files(sets):
    """The user's files that these sets read: word lists, bases, synonyms."""
    paths = [path for name in sets for path in files_of(config["mutate"]["sets"][name]).values()]
    return sorted(set(inside(data_files(paths))))


def base_captions(wildcards):
    """The base domain's texts, where the run has a detector trained on them."""
    on_base = any(training_table(name) == "base_captions.parquet" for name in DETECTORS)
    return f"results/{wildcards.run}/base_captions.parquet" if on_base else []


def training_table(detector):
    """The table that a detector is trained on."""
    return "base_captions.parquet" if config["detectors"][detector].get("train_on") == "base" else "captions.parquet"


def local_model(encoder):
    """The files of a model in a local folder, so that new weights are noticed."""
    path = encoder.get("path") or ""
    known = ("config.json", "muattack.json", "saved_model.pb", "tokenizer.json")
    own = sorted(str(file) for file in Path(path).glob("*") if file.name in known or file.suffix == ".safetensors") if path else []
    return ASSETS.files_in(path) or own


def asset_path(name, *files):
    """Where files of an asset lie or will lie."""
    return [ASSETS.path(name, file) for file in files]


def conversion(asset, key):
    """What the catalogue says of how an asset is converted."""
    return ASSETS.catalogue[asset]["convert"][key]


def module_file(spec, key):
    """The file of the module in the user's "module:function", so that an edit of it is noticed."""
    name = spec.partition(":")[0]
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise WorkflowError(
            f"The module {name} ({key}) cannot be found. Put the folder it lies in on PYTHONPATH, as in `PYTHONPATH=. snakemake ...`, or mend its name."
        )
    return [found.origin] if found.origin and Path(found.origin).is_file() else []


def opened_files(name):
    """What a detector that is opened depends on: the files of a model, a module's file, the folder of a detector of the run."""
    spec = OPENED[name]["use"]
    kind = detector_kind(spec)
    if kind == "function":
        return module_file(spec, f"detectors.{name}.use")
    if kind == "endpoint":
        return []
    return [data_file(config, spec)] if kind == "run" else local_model({"path": spec}) + local_model({"path": OPENED[name].get("reference")})


def opened_block(name):
    """How a detector is opened, as JSON."""
    entry = OPENED[name]
    # The run's texts are normalised already where the run trained the detector.
    own = {"use": data_file(config, entry["use"]), "normalise": entry.get("normalise", "none")} if entry["use"].startswith(OWN_PREFIX) else {}
    return json.dumps({**entry, **own}, ensure_ascii=False)


def texts_files():
    """Where the user's own texts lie, by source: files, or folders of saved data sets."""
    return {source: data_files(entry["files"]) for source, entry in texts_of(config).items()}


def texts_block():
    """What the table of the user's own texts depends on beside the files, as JSON."""
    return json.dumps({source: {key: value for key, value in entry.items() if key != "files"} for source, entry in texts_of(config).items()})


def detector_encoder(wildcards):
    """The encoder of a detector that the run trains."""
    return [] if wildcards.detector in OPENED else encoder_folder(wildcards)


def detector_features(wildcards):
    """The features that a detector on the run's frozen encoder is tested on."""
    return [] if wildcards.detector in OPENED else expand(features("test"), run=wildcards.run)


def encoder_files(folder):
    """The folder that the run pretrains its encoder into; the files of an encoder that lies in a local folder."""
    return folder if PRETRAINED_HERE else local_model(ENCODER)


def encoder_folder(wildcards):
    """The encoder of the detectors."""
    return encoder_files(f"results/{wildcards.run}/encoder")


def features(texts):
    """The features of the texts for training ("train") or testing ("test"), where the encoder is frozen."""
    return expand("results/{{run}}/features/{texts}-{shard}.parquet", texts=texts, shard=range(FEATURE_SHARDS)) if FROZEN else []


def captioner_model(source):
    """The model that captions the images; none where results that exist stand in."""
    entry = config["captions"]["coco"][source]
    return entry["model"] if isinstance(entry, dict) else None


def coco_results(source):
    """The result files that stand in for a captioner."""
    return data_files(config["captions"]["coco"][source])


def caption_files(wildcards):
    """The caption files of the run by source: simulated, of photographs, or the user's."""
    if config["captions"]["source"] == "simulate":
        simulated = f"results/{wildcards.run}/simulated"
        return {"human": f"{simulated}/human.json"} | {name: f"{simulated}/test_bed/{name}.json" for name in SOURCES[1:]}
    if config["captions"]["source"] == "coco":
        made = f"results/{wildcards.run}/coco"
        return {"human": f"{made}/human.json"} | {
            name: f"{made}/{name}.json" if captioner_model(name) else coco_results(name) for name in SOURCES[1:]
        }
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


def start_classifier(wildcards):
    """The classifier that another one starts from, as an input."""
    start = config["classification"]["defences"][wildcards.defence].get("start")
    return f"results/{wildcards.run}/classifiers/{wildcards.dataset}/{start}" if start else []


def texts_table(dataset):
    """The table of the captions or of a data set."""
    return "captions.parquet" if dataset == CAPTIONS else f"datasets/{dataset}.parquet"


def victim_folder(run, victim):
    """The folder of a detector or classifier that is attacked."""
    dataset = VICTIMS[victim]
    return f"results/{run}/detectors/{victim}" if dataset == CAPTIONS else f"results/{run}/classifiers/{dataset}/{victim.removeprefix(f'{dataset}.')}"


def clean_scores(run, victim):
    """What a victim says of all test texts as they are."""
    return f"results/{run}/scores/{victim}.parquet" if VICTIMS[victim] == CAPTIONS else f"{victim_folder(run, victim)}.scores.parquet"


def pretrained_folder(run, dataset):
    """The folder of the encoder that the run pretrains on the captions or on a data set."""
    return f"results/{run}/encoder" if dataset == CAPTIONS else f"results/{run}/classifiers/{dataset}/encoder"


def victim_encoder(wildcards):
    """The frozen encoder that a victim's folder refers to."""
    trained_here = VICTIMS[wildcards.victim] != CAPTIONS or wildcards.victim not in OPENED
    return encoder_files(pretrained_folder(wildcards.run, VICTIMS[wildcards.victim])) if FROZEN and trained_here else []


def synonyms_table(wildcards):
    """The table of synonyms, where an attack reads it."""
    reads = any(attack["recipe"] in WITH_SYNONYMS for attack in RECIPES.values())
    return f"results/{wildcards.run}/attacks/synonyms/{VICTIMS[wildcards.victim]}.json" if reads else []


def language_model(wildcards):
    """What the attacks' masked language model is made of, where one asks it: the user's files, or the folder that the run pretrains into."""
    if not ASKS_LANGUAGE_MODEL:
        return []
    own = pretrained_folder(wildcards.run, VICTIMS[wildcards.victim])
    return own if config["attacks"]["language_model"] is None else local_model({"path": config["attacks"]["language_model"]})


# Every file and folder of the user that the run reads, by the key that names them. Families add theirs; meta.json of the run has their digests.
USER_FILES = {}


def note_files(files):
    """Remember these files of the user's; refuse the first that is not there: Snakemake's own message names neither the key nor the remedy."""
    USER_FILES.update(files)
    for key, paths in files.items():
        for path in paths:
            found = Path(path).is_dir() if key in SAVED_SETS else Path(path).is_file()
            if not found and not ASSETS.files_in(path):
                what, kind = ("is no folder", "folder") if key in SAVED_SETS else ("is no file", "file")
                raise WorkflowError(
                    f"The {kind} {path} ({key}) {what if Path(path).exists() else 'does not exist'}. Check its path in your configuration, and `data` "
                    "(or the environment variable MUATTACK_DATA), the folder that paths of data files count from."
                )


note_files(user_files())


# How many texts each table has, about, and of how many tokens: what resources are reckoned from, before anything is read.
SIZES = {
    CAPTIONS: (captions_of(config, [path for key, paths in user_files().items() if key.startswith("captions.") for path in paths]), CAPTION_TOKENS)
}
for name in DATASETS:
    SIZES[name] = rows_of(config["classification"]["datasets"][name], {part: size_of(dataset_files(name, part)) for part in ("train", "test")})
LARGEST = max(SIZES.values(), key=lambda size: size[0] * size[1])


def job_cost(kind, wildcards):
    """MB and seconds that a job is expected to need."""
    named = wildcards.get("dataset") or VICTIMS.get(wildcards.get("victim"))
    # A detector's or a defence's own settings; who judges corrupted texts trains nothing.
    trained = config["detectors"].get(wildcards.get("detector")) or config["classification"]["defences"].get(wildcards.get("defence"))
    return cost(config, kind, *SIZES.get(named or (CAPTIONS if wildcards.get("detector") else None), LARGEST), trained)


def memory(kind):
    """Memory of a job of this kind, for executors that enforce it."""
    return lambda wildcards, attempt: attempted(job_cost(kind, wildcards)[0], attempt)


def minutes(kind):
    """Longest time of a job of this kind, for executors that enforce it. A site that is slower than a laptop sets MUATTACK_TIME to 2."""
    return lambda wildcards, attempt: patience(job_cost(kind, wildcards)[1], attempt, TIME)
