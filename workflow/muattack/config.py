"""Read and check configurations: every unknown key, wrong type and impossible value named before anything runs."""

import copy
import difflib
import json
import math
import os
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import jsonschema
import yaml

from muattack.errors import InputError
from muattack.evaluate.attack_families import BOUNDED, CAPTIONS, labels_of, victims_of
from muattack.fetch.catalogue import Assets
from muattack.mutate.normaliser_names import OFFLINE, WEB
from muattack.results import OWN_PREFIX, detector_kind, language_encoder, opened_detectors, trained_detectors, zero_shot_detectors

SCHEMA = Path(__file__).parents[1] / "schemas" / "config.schema.yaml"
DEFAULTS = Path(__file__).parents[2] / "config" / "config.yaml"

HEXADECIMAL = "^[0-9a-f]{64}$"

# Blocks of named entries that a configuration laid over another can empty by `name: null`.
REMOVABLE = (
    ("detectors",),
    ("mutate", "sets"),
    ("mutate", "tasks"),
    ("encoders",),
    ("classification", "datasets"),
    ("classification", "defences"),
    ("attacks", "recipes"),
    ("chinese", "targets"),
    ("chinese", "simulate"),
    ("chinese", "split"),
    ("noisyhate", "classifiers"),
    ("fetch", "local"),
)
# More parts and levels than any configuration has: YAML's anchors can hold themselves, or multiply.
LARGEST, DEEPEST = 100_000, 50
ENDLESS = f"has more than {DEEPEST} levels or {LARGEST:,} parts, as when an anchor (&) holds its own alias (*). Write what differs from config/config.yaml only."
# Begins the path of a file that the run makes itself, counted from its results.
MADE = "run:"


def read_yaml(path: str | Path) -> dict:
    """Read one YAML mapping; raise InputError for a missing or malformed file."""
    path = Path(path)
    try:
        # The parser in C reads a configuration in a tenth of the time; every run begins with several.
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        raise InputError(f"The configuration {path} does not exist. Give the path of a YAML file such as config/config.yaml.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"The configuration {path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"The configuration {path} cannot be read: {error.strerror}. Give the path of a YAML file.") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        # A date that no calendar has is a ValueError, `!!bool x` a KeyError, `!!timestamp x` an AttributeError.
        raise InputError(f"The configuration {path} is not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise InputError(f"The configuration {path} {ENDLESS}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"The configuration {path} holds a {type(value).__name__}, but must be a mapping of keys such as `run: demo`.")
    _check_size(path, value)
    return value


def _check_size(path: str | Path, value: object) -> None:
    """Raise InputError for a value that anchors make endless or enormous."""
    parts, count, level = [value], 0, 0
    while parts:
        count, level = count + len(parts), level + 1
        if count > LARGEST or level > DEEPEST:
            raise InputError(f"The configuration {path} {ENDLESS}")
        inside = (one for part in parts for one in (part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()))
        parts = list(islice(inside, LARGEST + 1))


def overlay(below: dict, above: dict) -> dict:
    """Return `below` with `above` laid over it: mappings merge key by key, everything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        merged[key] = overlay(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
    return merged


def read_config(*paths: str | Path) -> dict:
    """Return the defaults (config/config.yaml) with the given files laid over them, checked.

    This is what Snakemake does with `--configfile`, for use outside of it; but where an earlier file drops an entry by null and a
    later one gives it back, Snakemake keeps it dropped.
    """
    config = read_yaml(DEFAULTS)
    for path in paths:
        config = overlay(config, read_yaml(path))
    return check_config(config)


def check_config(config: dict) -> dict:
    """Check a whole configuration; return a copy in which entries set to null are gone.

    Raises InputError with one line for each fault: where the key stands, what is wrong, what to write.
    """
    config = copy.deepcopy(config)
    defaults = read_yaml(DEFAULTS) if DEFAULTS.is_file() else {}
    for path in REMOVABLE:
        block, usual = config, defaults
        for key in path:
            block = block.get(key) if isinstance(block, dict) else None
            usual = usual.get(key, {})
        if isinstance(block, dict):
            # Snakemake puts what a user adds first; tables and figures begin with what everybody knows.
            entries = {name: block[name] for name in [*(name for name in usual if name in block), *(name for name in block if name not in usual)]}
            block.clear()
            # `--config` of Snakemake gives null as text.
            block.update((name, entry) for name, entry in entries.items() if entry not in (None, "null"))
    # A key of a detector that is set to null is as if it were not there: one of ours can so become another that is opened.
    for entry in filter(lambda one: isinstance(one, dict), dict(config.get("detectors") or {}).values()):
        for key in [key for key, value in entry.items() if value is None]:
            del entry[key]
    faults = _schema_faults(config) or _meaning_faults(config, defaults)
    if faults:
        raise InputError(_paragraph(faults))
    return config


def data_file(config: dict, path: str) -> str:
    """Return where a data file named in the configuration lies: relative paths count from `data` or MUATTACK_DATA.

    What begins with "run:" is a file that the run makes itself, and counts from its results.
    """
    if path.startswith(MADE):
        return f"results/{config['run']}/{path.removeprefix(MADE)}"
    return os.path.normpath(os.path.join(os.environ.get("MUATTACK_DATA") or config["data"], path))


def files_inside(paths: Iterable[str | Path]) -> list[str]:
    """Return the files themselves, and of a folder (a saved data set) every file in it, sorted."""
    found = []
    for path in map(Path, paths):
        found += sorted(str(file) for file in path.rglob("*") if file.is_file()) if path.is_dir() else [str(path)]
    return found


def _paragraph(faults: list[str]) -> str:
    if len(faults) == 1:
        return f"The configuration has a fault. {faults[0]}"
    return "\n".join([f"The configuration has {len(faults)} faults.", *(f"  {number}. {fault}" for number, fault in enumerate(faults, 1))])


def _where(path) -> str:
    return ".".join(str(part) for part in path) or "(top level)"


def _nearest(word: str, known) -> str:
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return (f"Did you mean `{near[0]}`? " if near else "") + f"Known here: {', '.join(known) or 'nothing'}."


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(read_yaml(SCHEMA))


def _schema_faults(config: dict) -> list[str]:
    errors = _validator().iter_errors(config)
    told = [_explain(error) for error in sorted(errors, key=lambda error: (_where(error.absolute_path), error.message))]
    return list(dict.fromkeys([*told, *_not_finite(config)]))


def _not_finite(part: object, path: tuple = ()) -> list[str]:
    """Name numbers that are none: comparisons let NaN pass."""
    if isinstance(part, float) and not math.isfinite(part):
        return [f"{_where(path)} is {part}, but must be a finite number."]
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [fault for key, value in items for fault in _not_finite(value, (*path, key))]


def _explain(error: jsonschema.ValidationError) -> str:
    """Turn one schema error into what is wrong, where, and what to write."""
    where = _where(error.absolute_path)
    if error.validator == "anyOf":
        # Of the alternatives, the one of the right type whose inside is wrong says most.
        inner = [inside for inside in error.context if inside.validator != "type" or inside.relative_path]
        if inner:
            return _explain(inner[0])
    if "propertyNames" in error.absolute_schema_path and not isinstance(error.instance, str):
        return f"The name {error.instance!r} at {where} is no text. Put it in quotes."
    if error.validator == "additionalProperties":
        known = set(error.schema.get("properties", {}))
        unknown = sorted(str(key) for key in error.instance if key not in known)
        return " ".join(f"Unknown key `{key}` at {where}. {_nearest(key, known)}" for key in unknown)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{where} lacks the key{'s' * (len(missing) > 1)} {', '.join(f'`{key}`' for key in missing)}."
    if error.validator == "pattern" and error.validator_value == HEXADECIMAL:
        return f"{where} is {error.instance!r}, but must be a SHA-256: 64 digits and letters a to f, lower case."
    if error.validator in ("propertyNames", "pattern") and isinstance(error.instance, str):
        rule = "letters, digits and . _ - only, starting with a letter or digit"
        return f"The name `{error.instance}` at {where} cannot be used in a file name. Write {rule}."
    wanted = {
        "type": lambda: _types(error.validator_value),
        "enum": lambda: "one of " + ", ".join(str(value) for value in error.validator_value),
        "minimum": lambda: f"at least {error.validator_value}",
        "maximum": lambda: f"at most {error.validator_value}",
        "exclusiveMinimum": lambda: f"more than {error.validator_value}",
        "exclusiveMaximum": lambda: f"less than {error.validator_value}",
        "minItems": lambda: f"a list of at least {error.validator_value}",
        "minLength": lambda: "some text",
        "minProperties": lambda: f"at least {error.validator_value} entry",
        "uniqueItems": lambda: "a list without repetitions",
        "anyOf": lambda: " or ".join(dict.fromkeys(_alternative(option) for option in error.validator_value)),
    }.get(error.validator, lambda: error.message)()
    text = error.schema.get("description")
    found = {None: "null", True: "true", False: "false"}.get(error.instance) if isinstance(error.instance, bool | None) else repr(error.instance)
    return f"{where} is {found}, but must be {wanted}.{_hint(error)}{f' It means: {text}' if text else ''}"


def _hint(error: jsonschema.ValidationError) -> str:
    """Return what is behind the usual slips of YAML."""
    if error.validator != "type":
        return ""
    types = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
    if "string" in types and isinstance(error.instance, bool):
        return " YAML takes yes, no, on, off for true and false: put the word in quotes."
    if "string" in types and isinstance(error.instance, int | float):
        return f" Put it in quotes: '{error.instance}'."
    if {"number", "integer"} & set(types) and isinstance(error.instance, str):
        try:
            return (
                f" YAML reads it as text: write {float(error.instance):g}."
                if "e" not in f"{float(error.instance):g}"
                else (f" YAML reads it as text: write {float(error.instance):.10f}".rstrip("0") + ".")
            )
        except ValueError:
            return ""
    return ""


def _types(types) -> str:
    names = {
        "string": "a text",
        "integer": "a whole number",
        "number": "a number",
        "object": "a mapping",
        "array": "a list",
        "null": "null",
        "boolean": "true or false",
    }
    return " or ".join(names[name] for name in ([types] if isinstance(types, str) else types))


def _alternative(option: dict) -> str:
    if "enum" in option:
        return "one of " + ", ".join(str(value) for value in option["enum"])
    return _types(option["type"]) if "type" in option else "a mapping"


def _encoder_faults(name: str, encoder: dict) -> list[str]:
    """Return what the encoder of the run lacks."""
    where = f"encoders.{name}"
    if encoder["source"] != "pretrain":
        if encoder.get("path"):
            return []
        what = {
            "huggingface": "a local folder or a hub id",
            "package": "the name of an installed package",
            "tensorflow_hub": "a local folder with saved_model.pb",
        }[encoder["source"]]
        return [f"{where}.source is {encoder['source']}, so {where}.path must name {what}."]
    shape = encoder.get("pretrain")
    if not shape:
        return [f"{where}.source is pretrain, so {where}.pretrain must hold its shape and training. Copy the block from encoders.tiny."]
    if shape["width"] % shape["heads"]:
        return [f"{where}.pretrain.width {shape['width']} is no multiple of heads {shape['heads']}. Write, say, width: 128, heads: 4."]
    if encoder["trainable"] == "classifier" and shape["epochs"] == 0:
        return [f"{where} is frozen (trainable: classifier) but never trained (pretrain.epochs: 0). Set one of the two otherwise."]
    return []


def _training_faults(block: str, entries: dict) -> list[str]:
    """Return what is wrong with how detectors or defences refer to each other, and with their adversarial training."""
    faults, kind = [], "detector" if block == "detectors" else "defence"
    for name, entry in entries.items():
        start, seen = entry.get("start"), [name]
        while start:
            if start in seen:
                faults.append(
                    f"{block}.{name}.start goes round in a circle: {' -> '.join([*seen, start])}. Let one of them start from the encoder (`start: null`)."
                )
                break
            if start not in entries:
                faults.append(f"{block}.{seen[-1]}.start names the unknown {kind} `{start}`. {_nearest(start, entries)}")
                break
            seen.append(start)
            start = entries[start].get("start")
        adversarial = entry.get("adversarial") or {}
        if "max_norm" in adversarial and adversarial["method"] != BOUNDED[adversarial["method"]]:
            faults.append(
                f"{block}.{name}.adversarial.max_norm bounds nothing: {adversarial['method']} is the form without a bound. "
                f"Write `method: {BOUNDED[adversarial['method']]}`, or take max_norm out."
            )
    return list(dict.fromkeys(faults))


# What a detector can have that is trained here, and what one can have that is opened.
TRAINING_KEYS = ("train_on", "rr", "dropout", "start", "adversarial")
OPENING_KEYS = ("labels", "max_length", "normalise", "measure", "reference", "endpoint", "defend")
# Zero-shot measures that take a second model; the first cannot do without.
WITH_REFERENCE = ("binoculars", "fast-detectgpt")


def _opened_faults(detectors: dict) -> list[str]:
    """Return what is wrong with detectors that are opened by `use`, and with keys that need it."""
    faults, opened = [], opened_detectors(detectors)
    for name, entry in detectors.items():
        where = f"detectors.{name}"
        if name not in opened:
            faults += [
                f"{where}.{key} is for a detector given by `use`. Add `use`, or take {key} out."
                for key in OPENING_KEYS
                if key in entry and key != "defend"
            ]
            if "defend" in entry:
                faults.append(
                    f"{where}.defend is for an entry of its own, so that the detector is measured without its defence too. Take it out, and write "
                    f"`{name}_defended: {{use: {OWN_PREFIX}{name}, defend: {json.dumps(entry['defend'])}}}` beside it."
                )
            if entry.get("start") in opened:
                faults.append(
                    f"{where}.start names `{entry['start']}`, which is not trained here but opened by `use`. Start from a trained detector."
                )
            continue
        faults += [
            f"{where}.{key} is about training, but the detector is opened by `use` and not trained. Take one of the two out."
            for key in TRAINING_KEYS
            if key in entry
        ]
        kind = detector_kind(entry["use"])
        own = entry["use"].removeprefix(OWN_PREFIX)
        # Of those that stand before another one themselves none: no circle, and always a detector to compare with.
        others = [other for other, one in detectors.items() if detector_kind(one.get("use", "")) != "run"]
        if kind == "run" and own not in others:
            faults.append(f"{where}.use names {entry['use']}, but the run has no such detector `{own}`. {_nearest(own, others)}")
        if "defend" in entry and kind != "run":
            faults.append(
                f"{where}.defend stands beside `use: {OWN_PREFIX}NAME`, so that the detector is measured without its defence too. Name the detector in an entry of "
                f"its own, say `{name}`, and write `{name}_defended: {{use: {OWN_PREFIX}{name}, defend: {json.dumps(entry['defend'])}}}`."
            )
        faults += [
            f"{where}.defend names the unknown normaliser `{one}`. {_nearest(one, OFFLINE)}" for one in entry.get("defend", ()) if one not in OFFLINE
        ]
        what = {"function": "a function", "endpoint": "an address", "run": "another detector of the run"}.get(kind)
        faults += [
            f"{where}.{key} is for models, but {entry['use']} is {what}. Take it out."
            for key in ("labels", "max_length", "measure", "reference")
            if key in entry and kind != "model"
        ]
        if "endpoint" in entry and kind != "endpoint":
            faults.append(
                f"{where}.endpoint is for detectors behind an address, and {entry['use']} is none. Take it out, or write `use: https://...`."
            )
        if kind == "endpoint" and (not (at := urlsplit(entry["use"])).hostname or at.username or at.password or at.fragment):
            faults.append(
                f"{where}.use must be an address such as https://host/path, without name, password or #, which would stand in results. "
                "A key comes from the environment: `endpoint: {key: MY_KEY}` names the variable."
            )
        measure = entry.get("measure")
        if measure and "labels" in entry:
            faults.append(
                f"{where}.labels names the outputs of a classifier, but {measure} measures a language model, which has none. Take one of the two out."
            )
        if "reference" in entry and measure not in WITH_REFERENCE:
            faults.append(f"{where}.reference is for the measures {' and '.join(WITH_REFERENCE)}. Take it out, or write one of them under `measure`.")
        if measure == WITH_REFERENCE[0] and "reference" not in entry:
            faults.append(
                f"{where}.measure is {measure}, which compares two models. Name the second, the observer, as in `reference: models/observer`."
            )
    return faults


def texts_of(config: dict) -> dict[str, dict]:
    """Return the entries of captions.texts that the run has, {source: mapping with `files` and `text` as lists}, wherever the files lie."""
    found = {}
    for source, entry in config["captions"]["texts"].items():
        if entry is None:
            continue
        entry = dict(entry) if isinstance(entry, dict) else {"files": entry}
        files = entry["files"]
        found[source] = {"text": ["text"], **entry, "files": [files] if isinstance(files, str) else list(files or [])}
    return found


def _captions_faults(config: dict) -> list[str]:
    """Return what is wrong with the block `captions`."""
    captions, faults = config["captions"], []
    total = sum(captions["split"].values())
    if abs(total - 1) > 1e-9:
        faults.append(f"captions.split adds up to {total:g}, but the three shares must add up to 1, as in train: 0.70, val: 0.15, test: 0.15.")
    trained = list(trained_detectors(config["detectors"]))
    if captions["source"] != "none" and trained:
        faults += [
            f"captions.split.{part} is 0, but {what} the detector{'s' * (len(trained) > 1)} {', '.join(trained)}. Give it a share, or drop them with null."
            for part, what in (("train", "nothing is left to train"), ("val", "nothing is left to pick the best epoch of"))
            if not captions["split"][part]
        ]
    measured = list(zero_shot_detectors(config["detectors"]))
    if captions["source"] != "none" and measured and not captions["split"]["val"]:
        faults.append(
            f"captions.split.val is 0, but the zero-shot detector{'s' * (len(measured) > 1)} {', '.join(measured)} must be calibrated on validation texts. "
            "Give it a share, as in val: 0.2."
        )
    if captions["source"] in ("files", "texts"):
        block = captions[captions["source"]]
        for key in ("human", "machine"):
            if not block[key] or (isinstance(block[key], dict) and not block[key]["files"]):
                example = f"data/{key}.{'json' if captions['source'] == 'files' else 'txt'}"
                faults.append(
                    f"captions.source is {captions['source']}, so captions.{captions['source']}.{key} must name a file. Write, for instance, `{key}: {example}`."
                )
    if captions["source"] == "simulate" and captions["images"] is None:
        faults.append(
            "captions.images is null, but captions.source simulate needs to know how many scenes to make. Write, for instance, `images: 600`."
        )
    if captions["source"] == "coco":
        examples = {
            "images": "asset:coco_images/first-10000.jsonl",
            "human": "asset:coco_annotations/captions_train2017.json",
            "machine": "{model: asset:vit-gpt2}",
        }
        faults += [
            f"captions.source is coco, so captions.coco.{key} must be given. Write, for instance, `{key}: {example}`."
            for key, example in examples.items()
            if not captions["coco"][key]
        ]
        beams, wanted = captions["coco"]["beams"], captions["coco"]["captions_per_image"]
        if beams < wanted:
            faults.append(f"captions.coco.beams is {beams}, but {wanted} captions an image cannot come out of fewer beams. Write `beams: {wanted}`.")
    return faults


def _dataset_faults(name: str, dataset: dict) -> list[str]:
    """Return what is wrong with a data set of `classification`."""
    where = f"classification.datasets.{name}"
    faults = []
    if name == CAPTIONS:
        faults.append(f"{where}: the name `{CAPTIONS}` is taken by the captions. Choose another.")
    classes = list(dict.fromkeys(dataset["labels"].values()))
    if len(classes) < 2:
        faults.append(f"{where}.labels names one class only, {classes[0]}. Two are needed at least, as in labels: {{0: negative, 1: positive}}.")
    for part in ("train", "test"):
        rows, at = dataset[part], f"{where}.{part}"
        if not rows["files"]:
            faults.append(f"{at}.files is null, but must name the file or files. Write, for instance, `files: [topic/{name}_{part}.csv]`.")
        delimited, header = rows["format"] in ("csv", "tsv"), rows.get("header", True)
        faults += [
            f"{at}.{key} is for csv and tsv; the format is {rows['format']}. Take it out."
            for key in ("header", "quoted")
            if key in rows and not delimited
        ]
        columns = [*rows["text"], rows["label"]]
        wrong = [column for column in columns if isinstance(column, int) == (header or not delimited)]
        if wrong and delimited and not header:
            faults.append(
                f"{at}.header is false, so columns have numbers from 0 and no names, but {', '.join(map(repr, wrong))} is named. Write a number."
            )
        elif wrong:
            hint = ", or `header: false` where the first row is data" if delimited else ""
            faults.append(f"{at} names the column {wrong[0]} by number, but columns of these files have names. Write the name in quotes{hint}.")
        if rows["label"] in rows["text"]:
            faults.append(f"{at}: the column {rows['label']!r} is label and text at once, which gives every class away. Take it out of `text`.")
        for key, labels in ((f"{where}.labels", dataset["labels"]), (f"{at}.labels", rows.get("labels") or {})):
            # JSON, in which labels travel to the jobs, has one key for 1 and "1".
            if len(json.loads(json.dumps(labels))) < len(labels):
                faults.append(f"{key} has a label twice, as number and as text: {', '.join(map(repr, labels))}. Keep one.")
        for label in dict.fromkeys((rows.get("labels") or {}).values()):
            if label not in classes:
                faults.append(f"{at}.labels names the unknown class `{label}`. {_nearest(label, classes)}")
    return list(dict.fromkeys(faults))


def _attack_faults(config: dict, known: set[str]) -> list[str]:
    """Return what is wrong with the block `attacks`; what no attack of the run needs is not asked for.

    `known` are the names of detectors that are no misspelling: those of the run, and those of config.yaml.
    """
    attacks, encoders = config["attacks"], config["encoders"]
    faults = []
    for victim in attacks["victims"]:
        # A name that nobody knows is left out, but not one that is a known one misspelt.
        if victim not in known and difflib.get_close_matches(victim, known, n=1, cutoff=0.75):
            faults.append(f"attacks.victims names the unknown detector `{victim}`. {_nearest(victim, config['detectors'])}")
    synonyms = attacks["synonyms"]
    if synonyms["source"] == "corpus" and synonyms["path"]:
        faults.append(
            "attacks.synonyms.path is read by the sources vectors and neighbours only, and the source is corpus. Write `source: neighbours`, say."
        )
    if synonyms["source"] != "corpus" and not synonyms["path"]:
        faults.append(f"attacks.synonyms.source is {synonyms['source']}, so attacks.synonyms.path must name a file.")
    for name, dataset in config["classification"]["datasets"].items():
        if dataset.get("attacks", {}).get("texts") and dataset.get("test_rows") and dataset["attacks"]["texts"] > dataset["test_rows"]:
            faults.append(
                f"classification.datasets.{name}.attacks.texts is {dataset['attacks']['texts']}, but test_rows only {dataset['test_rows']}. Raise test_rows."
            )
    victims = victims_of(config)
    for dataset, victim in victims:
        if [name for _, name in victims].count(victim) > 1:
            faults.append(f"Two victims have the name `{victim}`, of the data set {dataset} too. Rename a data set, a defence or a detector.")
        if victim in ("synonyms", "meta.json"):
            faults.append(f"The victim `{victim}` has a name that is taken by the results. Rename it.")
    if not victims or not attacks["recipes"]:
        return list(dict.fromkeys(faults))
    similarity = attacks["similarity"]["encoder"]
    if similarity not in encoders:
        faults.append(f"attacks.similarity.encoder names `{similarity}`, which is not among the encoders. {_nearest(similarity, encoders)}")
    elif encoders[similarity]["source"] == "pretrain":
        others = [name for name, encoder in encoders.items() if encoder["source"] != "pretrain"]
        faults.append(
            f"attacks.similarity.encoder is `{similarity}`, which the run trains to guess masked words: its vectors do not tell how alike two texts are. "
            f"Name an encoder of sentences: {', '.join(others) or 'add one to encoders, such as minilm'}."
        )
    else:
        faults += _encoder_faults(similarity, encoders[similarity])
    masked = [name for name, entry in attacks["recipes"].items() if entry["recipe"] == "bert_attack"]
    if masked and attacks["language_model"] is None:
        own = language_encoder(config)
        if own is None:
            faults.append(
                f"attacks.language_model is null, so {', '.join(masked)} needs an encoder that the run pretrains, but no encoder has `source: pretrain` and epochs. "
                "Name a masked language model, as in `language_model: FOLDER`, or drop the attack with null."
            )
        elif own != config["encoder"]:
            faults += _encoder_faults(own, encoders[own])
    return list(dict.fromkeys(faults))


def made_files(config: dict) -> dict[str, str]:
    """Return the files that the run makes for its data sets, as a configuration names them, {path: the entry that makes it}."""
    chinese = config["chinese"]
    names = [(name, f"chinese.{key}.{name}") for key in ("simulate", "split") for name in chinese[key]]
    return {f"{MADE}chinese/data/{name}_{part}.jsonl": entry for name, entry in names for part in ("train", "test")}


def _chinese_faults(config: dict) -> list[str]:
    """Return what is wrong with the block `chinese`, and with files that it is to make."""
    chinese, datasets, defences = config["chinese"], config["classification"]["datasets"], config["classification"]["defences"]
    faults, made = [], made_files(config)
    for name, dataset in datasets.items():
        for part in ("train", "test"):
            files = dataset[part]["files"] or []
            for path in [files] if isinstance(files, str) else files:
                if path.startswith(MADE) and path not in made:
                    faults.append(
                        f"classification.datasets.{name}.{part}.files names {path}, which the run does not make. {_nearest(path, made)} "
                        "Files are made by entries of chinese.simulate and chinese.split."
                    )
    faults += [
        f"chinese.simulate.{name} and chinese.split.{name} would make the same files. Rename one."
        for name in chinese["simulate"]
        if name in chinese["split"]
    ]
    for name, rows in chinese["split"].items():
        columns, header = [*rows["text"], rows["label"]], rows.get("header", rows["format"] in ("csv", "tsv"))
        if rows["label"] in rows["text"]:
            faults.append(f"chinese.split.{name}: the column {rows['label']!r} is label and text at once. Take it out of `text`.")
        numbered = rows["format"] in ("csv", "tsv") and not header
        wrong = [column for column in columns if isinstance(column, int) != numbered]
        if wrong:
            what = "by name, but `header: false` numbers columns from 0" if numbered else "by number, but columns of this file have names"
            faults.append(f"chinese.split.{name} names the column {wrong[0]!r} {what}.")
    if not chinese["datasets"]:
        return faults
    for name in chinese["datasets"]:
        if name not in datasets:
            faults.append(f"chinese.datasets names the unknown data set `{name}`. {_nearest(name, datasets)}")
    if chinese["source"] not in defences:
        faults.append(f"chinese.source names the unknown defence `{chinese['source']}`. {_nearest(chinese['source'], defences)}")
    if not any(entry["kind"] == "chinese" for entry in config["mutate"]["sets"].values()):
        faults.append(
            "chinese.datasets is not empty, but mutate.sets has no set of kind chinese to attack them with. Add one, for example tradition: {kind: chinese, method: tradition}."
        )
    for name, target in chinese["targets"].items():
        faults += _target_faults(f"chinese.targets.{name}", target, config)
    return faults


def _target_faults(where: str, target: dict, config: dict) -> list[str]:
    """Return what is wrong with one target of `chinese`."""
    chinese, defences = config["chinese"], config["classification"]["defences"]
    if ("defence" in target) == ("function" in target):
        return [f"{where} must have either a defence or a function, as in {{defence: dropout}} or {{function: my_chat:answer}}."]
    faults = [
        f"{where}.datasets names `{name}`. {_nearest(name, chinese['datasets'])}"
        for name in target.get("datasets", ())
        if name not in chinese["datasets"]
    ]
    if "defence" in target:
        if target["defence"] not in defences:
            faults.append(f"{where}.defence names the unknown defence `{target['defence']}`. {_nearest(target['defence'], defences)}")
        if "labels" in target:
            faults.append(f"{where}.labels is for functions: a classifier of the run answers with its classes. Take it out.")
        return faults
    if not all(part and part.strip() == part for part in target["function"].split(":")) or target["function"].count(":") != 1:
        faults.append(f"{where}.function is {target['function']!r}, but must be written module:function, as in my_chat:answer.")
    if "least" in target:
        faults.append(f"{where}.least is for classifiers of the run: a function that is not sure answers None. Take it out.")
    known = {label for name in chinese["datasets"] for label in config["classification"]["datasets"].get(name, {}).get("labels", {}).values()}
    for label in dict.fromkeys(target.get("labels", {}).values()):
        if label not in known:
            faults.append(f"{where}.labels names the unknown class `{label}`. {_nearest(label, known)}")
    return faults


def _corrupted_faults(config: dict, defaults: dict) -> list[str]:
    """Return what is wrong with the block `corrupted`, where it is on."""
    corrupted, detectors = config["corrupted"], config["detectors"]
    if not corrupted["severities"]:
        return []
    faults = []
    if not any(corrupted["weights"].values()):
        faults.append("corrupted.weights are all 0, so there is nothing to corrupt with. Give at least one above 0, as in typo: 0.05.")
    base, usual = corrupted["base"], defaults.get("corrupted", {})
    kinds = (".json", ".txt", ".jsonl", ".parquet")
    if base not in ("run", "own") and not base.endswith(kinds):
        faults.append(f"corrupted.base is `{base}`, but must be run, own, or the path of a file that ends in {', '.join(kinds)}.")
    if base.endswith(".json"):
        faults += [
            f"corrupted.{key} is {corrupted[key]!r}, but the base {base} is fitted already and brings its own. Leave {key} out, or give a corpus."
            for key in ("synonyms", "common_words", "min_length")
            if corrupted[key] != usual.get(key, corrupted[key])
        ]
    for name in corrupted["detectors"]:
        if config["captions"]["source"] == "none":
            faults.append(f"corrupted.detectors names {name}, but captions.source is none, so the run has no detectors. Write `detectors: []`.")
        elif name not in detectors:
            faults.append(f"corrupted.detectors names the unknown detector `{name}`. {_nearest(name, detectors)}")
    if not corrupted_classifiers(config):
        faults.append(
            "corrupted.severities is not empty, but there is nobody to judge the texts. Name detectors, as in corrupted: {detectors: [finetune]}, or a data set under "
            "classification.datasets."
        )
    return faults


def corrupted_classifiers(config: dict) -> list[tuple[str, str]]:
    """Return who judges corrupted texts, (data set, detector or defence), captions first; nobody where the block `corrupted` is off."""
    if not config["corrupted"]["severities"]:
        return []
    classification = config["classification"]
    defences = [name for name, entry in classification["defences"].items() if (entry or {}).get("attacked", True)]
    found = [] if config["captions"]["source"] == "none" else [(CAPTIONS, name) for name in config["corrupted"]["detectors"]]
    return found + [(dataset, defence) for dataset in classification["datasets"] for defence in defences]


def _noisyhate_faults(config: dict) -> list[str]:
    """Return what is wrong with the block `noisyhate`, where it is on."""
    noisyhate, datasets = config["noisyhate"], config["classification"]["datasets"]
    source, classifiers, forms = noisyhate["source"], noisyhate["classifiers"], noisyhate["perturbations"]
    if not source and not noisyhate["pairs"]:
        return []
    faults = []
    if source and noisyhate["pairs"]:
        faults.append(
            f"noisyhate.source is {source} and noisyhate.pairs {noisyhate['pairs']}, but pairs come from one of them. Set the other to null."
        )
    known = [*([CAPTIONS] if config["captions"]["source"] != "none" else []), *datasets]
    if source and source not in known:
        faults.append(f"noisyhate.source names `{source}`, which the run has not. {_nearest(source, known)}")
    classes = labels_of(config, source) if source in known else []
    if classes and noisyhate["positive"] not in (None, *classes):
        faults.append(f"noisyhate.positive names the unknown class `{noisyhate['positive']}`. {_nearest(noisyhate['positive'], classes)}")
    if isinstance(forms, str) and forms != "demo":
        faults.append(f"noisyhate.perturbations is `{forms}`, but must be demo, {{table: forms.json}} or {{corpus: [texts.txt]}}.")
    elif isinstance(forms, dict) and ("table" in forms) == ("corpus" in forms):
        faults.append("noisyhate.perturbations must have either a table or a corpus, as in {table: forms.json} or {corpus: [texts.txt]}.")
    elif isinstance(forms, dict) and "table" in forms and len(forms) > 1:
        faults.append(
            f"noisyhate.perturbations: {', '.join(key for key in forms if key != 'table')} goes with a corpus, not with a table. Take it out."
        )
    if source and noisyhate["proxy"] not in (None, *classifiers):
        faults.append(
            f"noisyhate.proxy names `{noisyhate['proxy']}`, which is none of noisyhate.classifiers. {_nearest(noisyhate['proxy'], classifiers)}"
        )
    for name, entry in classifiers.items():
        faults += _scorer_faults(f"noisyhate.classifiers.{name}", entry, config)
    for number, entry in enumerate(noisyhate["normalisers"]):
        if isinstance(entry, str):
            faults += _normaliser_faults(f"noisyhate.normalisers.{number}", entry)
    names = [entry if isinstance(entry, str) else entry["name"] for entry in noisyhate["normalisers"]]
    faults += [f"noisyhate.normalisers names {name} twice. Keep one." for name in dict.fromkeys(names) if names.count(name) > 1]
    return faults


def _scorer_faults(where: str, entry: dict, config: dict) -> list[str]:
    """Return what is wrong with one of the classifiers of `noisyhate`."""
    datasets, defences = config["classification"]["datasets"], config["classification"]["defences"]
    kinds = [key for key in ("detector", "defence", "path", "function") if key in entry]
    if len(kinds) != 1:
        return [f"{where} must have one of detector, dataset with defence, path or function, as in {{detector: finetune}}."]
    (kind,) = kinds
    faults = []
    if "labels" in entry and kind != "path":
        faults.append(f"{where}.labels is for classifiers of yours given by `path`. Take it out.")
    if ("dataset" in entry) != (kind == "defence"):
        faults.append(f"{where}: dataset and defence go together, as in {{dataset: imdb, defence: plain}}.")
    if kind == "detector":
        if config["captions"]["source"] == "none":
            faults.append(f"{where}.detector is {entry['detector']}, but captions.source is none, so the run has no detectors.")
        elif entry["detector"] not in config["detectors"]:
            faults.append(f"{where}.detector names the unknown detector `{entry['detector']}`. {_nearest(entry['detector'], config['detectors'])}")
    if kind == "defence":
        for key, there in (("dataset", datasets), ("defence", defences)):
            if key in entry and entry[key] not in there:
                faults.append(
                    f"{where}.{key} names the unknown {'data set' if key == 'dataset' else key} `{entry[key]}`. {_nearest(entry[key], there)}"
                )
    if faults:
        return faults
    own = {
        "detector": lambda: labels_of(config, CAPTIONS),
        "defence": lambda: labels_of(config, entry["dataset"]),
        "path": lambda: entry.get("labels"),
    }
    classes = own[kind]() if kind in own else None
    if kind == "path" and not (classes and "positive" in entry):
        faults.append(f"{where} must name the classes of {entry['path']} in `labels`, in order, and the one to find in `positive`.")
    elif classes and entry.get("positive", classes[-1]) not in classes:
        faults.append(f"{where}.positive names the unknown class `{entry['positive']}`. {_nearest(entry['positive'], classes)}")
    elif kind == "function" and "positive" in entry:
        faults.append(f"{where}.positive: a function says itself what it finds, in its last column. Take it out.")
    return faults + (_normaliser_faults(f"{where}.normaliser", entry["normaliser"]) if "normaliser" in entry else [])


def _normaliser_faults(where: str, entry: str) -> list[str]:
    """Return what is wrong with the name of a normaliser, or of several joined by +."""
    parts = entry.split("+")
    known = [*OFFLINE, *(WEB if len(parts) == 1 else ())]
    return [f"{where} names the unknown normaliser `{part}`. {_nearest(part, known)}" for part in parts if part not in known]


def _asset_faults(config: dict) -> list[str]:
    """Return what is wrong with the assets that the configuration names."""
    try:
        return Assets(config).missing()
    except InputError as error:
        return [str(error)]


def _meaning_faults(config: dict, defaults: dict) -> list[str]:
    """Return what a schema cannot say: references between keys, sums, conditions."""
    faults = []
    captions, mutate, detectors = config["captions"], config["mutate"], config["detectors"]

    if config["encoder"] not in config["encoders"]:
        faults.append(f"encoder names `{config['encoder']}`, which is not among the encoders. {_nearest(config['encoder'], config['encoders'])}")
    elif config["encoders"][config["encoder"]]["source"] == "tensorflow_hub":
        faults.append(
            f"encoder names `{config['encoder']}`, whose source tensorflow_hub is for attacks.similarity only: nothing is trained on it. Name another."
        )
    else:
        faults += _encoder_faults(config["encoder"], config["encoders"][config["encoder"]])
    lengths = config["evaluate"]["lengths"]
    if lengths != sorted(lengths):
        faults.append(f"evaluate.lengths is {lengths}, but must rise. Write {sorted(lengths)}.")
    faults += _captions_faults(config) + (_opened_faults(detectors) if captions["source"] != "none" else [])

    if mutate["apply"] == "individually" and mutate["keep"] == "all":
        faults.append(
            "mutate.apply individually makes mutants of texts that an operator changes only, so mutate.keep cannot be all. Write `keep: changed`."
        )
    for name, names in mutate["tasks"].items():
        if name in mutate["sets"]:
            faults.append(f"mutate.tasks.{name} has the name of an operator set. Give the task a name of its own.")
        for wanted in names:
            if wanted not in mutate["sets"]:
                faults.append(f"mutate.tasks.{name} names the unknown set `{wanted}`. {_nearest(wanted, mutate['sets'])}")
    for reserved in ("clean", "operators", "H_vs_M", "meta"):
        for block in ("sets", "tasks"):
            if reserved in mutate[block]:
                faults.append(f"mutate.{block}.{reserved}: the name `{reserved}` is taken by the results. Choose another.")

    faults += _training_faults("detectors", detectors) + _training_faults("classification.defences", config["classification"]["defences"])
    for name, dataset in config["classification"]["datasets"].items():
        faults += _dataset_faults(name, dataset)
    if "encoder" in config["classification"]["defences"]:
        faults.append("classification.defences.encoder: the name `encoder` is taken by the encoder of a data set. Choose another.")
    if captions["source"] == "none" and not config["classification"]["datasets"] and not config["noisyhate"]["pairs"]:
        faults.append(
            "captions.source is none and classification.datasets is empty, so there is nothing to do. Name a data set, as config/defenders.yaml does, "
            "or write `source: simulate`."
        )
    faults += _attack_faults(config, set(detectors) | set(defaults.get("detectors", ())))
    faults += _chinese_faults(config) + _corrupted_faults(config, defaults) + _noisyhate_faults(config) + _asset_faults(config)
    if config["base"]["min_words"] > config["base"]["max_words"]:
        faults.append("base.min_words is larger than base.max_words, so no sentence could be taken. Swap them.")
    on_base = [name for name, detector in detectors.items() if detector.get("train_on") == "base" and captions["source"] != "none"]
    if on_base and config["base"]["source"] == "passages" and not config["base"]["passages"]:
        faults.append(f"base.source is passages, so base.passages must list files for the detector{'s' * (len(on_base) > 1)} {', '.join(on_base)}.")
    if on_base and config["base"]["source"] == "simulate" and captions["source"] != "simulate":
        faults.append(
            f"base.source is simulate, but captions.source is {captions['source']}, and only simulated runs have the OOD captioner that makes the base domain. "
            "Write `base: {source: passages, passages: [file, ...]}`, or drop the detector with `detectors: {base: null}`."
        )
    return faults
