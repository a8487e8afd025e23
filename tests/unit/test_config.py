"""The configuration: each fault named where it stands; defaults, schema and code agree."""

import copy
import re
from pathlib import Path

import pytest
import yaml

from muattack.config import DEFAULTS, SCHEMA, check_config, overlay, read_config, read_yaml
from muattack.errors import InputError
from muattack.results import figures_of, tables_of, trained_as, training_facts


@pytest.fixture
def config():
    return read_config()


def paths(tree, trail=()):
    """Every key of a configuration with the path to the mapping it stands in."""
    for key, value in tree.items():
        yield (*trail, key)
        if isinstance(value, dict):
            yield from paths(value, (*trail, key))


def test_every_shipped_configuration_passes(root):
    for file in sorted((root / "config").glob("*.yaml")):
        assert read_config(file)["run"]


# Entries that users name themselves: a changed name is another entry, no fault. `letters` maps any letters.
FREE = {("detectors",), ("encoders",), ("mutate", "sets"), ("mutate", "tasks")}


def test_a_misspelt_key_at_every_level_is_refused_by_name(config):
    tried = 0
    for path in paths(read_yaml(DEFAULTS)):
        if path[:-1] in FREE or "letters" in path[:-1]:
            continue
        broken = copy.deepcopy(config)
        block = broken
        for key in path[:-1]:
            block = block[key]
        block[f"{path[-1]}x"] = block.pop(path[-1])
        with pytest.raises(InputError) as error:
            check_config(broken)
        assert f"`{path[-1]}x`" in str(error.value)
        tried += 1
    assert tried > 80


def test_every_schema_key_is_described_and_has_a_default():
    schema = read_yaml(SCHEMA)

    def walk(node):
        if isinstance(node, dict):
            if node.get("type") == "object" and "properties" in node:
                assert node["additionalProperties"] is False
                for key, value in node["properties"].items():
                    yield key, value
            for value in node.values():
                yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)

    undescribed = [key for key, value in walk(schema) if "description" not in value]
    assert undescribed == []
    assert "default:" not in SCHEMA.read_text(encoding="utf-8")
    # Optional keys of entries that users name; each stands in config.yaml's comments or in the README.
    optional = {"replacement", "case", "case_sensitive", "occurrences", "revision", "start", "labels"}
    have = {path[-1] for path in paths(read_yaml(DEFAULTS))}
    assert {key for key, _ in walk(schema)} - have == optional
    text = DEFAULTS.read_text(encoding="utf-8")
    assert [key for key in sorted(optional) if not re.search(rf"\b{key}\b", text)] == []


def test_no_key_stands_twice_in_a_file_of_ours(root):
    """YAML takes the last of two equal keys without a word."""

    class Strict(yaml.SafeLoader):
        pass

    def once(loader, node):
        keys = [loader.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"{node.start_mark}: {keys}"
        return dict(zip(keys, (loader.construct_object(value, deep=True) for _, value in node.value), strict=True))

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, once)
    for file in [SCHEMA, *(root / "config").glob("*.yaml"), *(root / "envs").glob("*.yaml")]:
        assert yaml.load(file.read_text(encoding="utf-8"), Strict)


@pytest.mark.parametrize(
    ("path", "value", "parts"),
    [
        (("seed",), -1, ["seed is -1", "at least 0"]),
        (("run",), "a/b", ["`a/b`", "letters, digits"]),
        (("encoder",), "tinny", ["`tinny`", "Did you mean `tiny`?"]),
        (("captions", "images"), 9, ["captions.images is 9", "at least 10"]),
        (("captions", "images"), None, ["images: 600"]),
        (("captions", "source"), "file", ["one of simulate, files, coco"]),
        (("captions", "source"), "files", ["captions.files.human"]),
        (("captions", "source"), "coco", ["not built yet"]),
        (("captions", "split", "train"), 0.8, ["adds up to 1.1"]),
        (("captions", "split", "train"), 0, ["more than 0"]),
        (("detectors", "rr", "rr"), 1.01, ["detectors.rr.rr is 1.01", "at most 1"]),
        (("detectors", "rr", "rr"), -0.1, ["at least 0"]),
        (("detectors", "rr", "start"), "bas", ["`bas`", "Did you mean `base`?"]),
        (("detectors", "rr", "start"), "rr", ["circle: rr -> rr"]),
        (("mutate", "tasks", "mwr"), ["word_article"], ["`word_article`", "Did you mean `word_articles`?"]),
        (("mutate", "tasks", "clean"), ["word_articles"], ["`clean` is taken"]),
        (("mutate", "sets", "new"), {"kind": "sentence", "words": "x"}, ["one of word, character"]),
        (("mutate", "classes"), [], ["a list of at least 1"]),
        (("captions",), None, ["captions is null", "a mapping"]),
        (("base", "source"), "passages", ["base.passages"]),
        (("base", "min_words"), 50, ["larger than base.max_words"]),
        (("run",), "demo\n", ["cannot be used in a file name"]),
        (("run",), 2024, ["run is 2024", "Put it in quotes"]),
        (("encoders", "minilm", "sha256"), "abc", ["must be a SHA-256", "64 digits"]),
        (("training", "learning_rate"), "1e-4", ["is '1e-4'", "write 0.0001"]),
        (("detectors", 1), {}, ["The name 1 at detectors is no text", "quotes"]),
        (("detectors", "rr", "rr"), float("nan"), ["detectors.rr.rr is nan", "finite"]),
        (("mutate", "sets", "mine"), {"kind": "word", "words": [True, "x"]}, ["mutate.sets.mine.words.0 is true", "put the word in quotes"]),
        (("captions", "files", "machine"), [], ["captions.files.machine is []", "a list of at least 1"]),
        (("encoders", "mine"), {"source": "pretrain"}, ["encoders.mine lacks the keys `pooling`, `trainable`, `max_length`"]),
        (("evaluate", "lengths"), [13, 9], ["evaluate.lengths is [13, 9]", "Write [9, 13]"]),
        (("evaluate", "lengths"), [], ["a list of at least 1"]),
        (("encoders", "tiny", "source"), "huggingface", ["encoders.tiny.path must name a local folder or a hub id"]),
        (("encoders", "tiny", "pretrain", "heads"), 3, ["width 128 is no multiple of heads 3"]),
    ],
)
def test_a_fault_is_explained(config, path, value, parts):
    block = config
    for key in path[:-1]:
        block = block[key]
    block[path[-1]] = value
    with pytest.raises(InputError) as error:
        check_config(config)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_several_faults_are_told_at_once(config):
    config["seed"], config["mutate"]["keep"] = "one", "some"
    with pytest.raises(InputError, match="2 faults"):
        check_config(config)


def test_null_drops_an_entry(config):
    config["detectors"]["rr_m0.8"] = None
    assert "rr_m0.8" not in check_config(config)["detectors"]


def test_overlay_merges_mappings_and_replaces_the_rest():
    assert overlay({"a": {"b": 1, "c": [1, 2]}, "d": 2}, {"a": {"c": [3]}, "e": None}) == {"a": {"b": 1, "c": [3]}, "d": 2, "e": None}


def test_yaml_faults(tmp_path):
    path = tmp_path / "c.yaml"
    for content, part in [("a: [", "not valid YAML"), ("- 1", "must be a mapping")]:
        path.write_text(content)
        with pytest.raises(InputError, match=part):
            read_yaml(path)
    with pytest.raises(InputError, match="does not exist"):
        read_yaml(tmp_path / "none.yaml")
    path.write_bytes(b"a: \xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_yaml(path)


def test_equal_settings_are_trained_once(config):
    same = trained_as(config)
    assert same["rr_m0.3"] == "rr"
    assert len(set(same.values())) == 14
    assert training_facts(config, "rr") != training_facts(config, "rr_dropout")


def test_a_run_has_the_figures_its_detectors_allow(config):
    assert figures_of(config["detectors"], True) == ["fig3a", "fig3b", "fig4", "fig5", "fig6a", "fig6b", "fig6c", "fig7", "differences"]
    assert figures_of({"finetune": {}}, True) == ["fig3b"]
    assert "fig5" not in figures_of(config["detectors"], False)
    assert tables_of({"mine": {}}) == ["articles", "lengths", "operators", "tasks"]


def test_environments_agree_with_the_lock(root):
    lock = {line.strip() for line in (root / "requirements.lock").read_text().splitlines()}
    for file in sorted((root / "envs").glob("*.yaml")):
        for package in yaml.safe_load(Path(file).read_text())["dependencies"][-1]["pip"]:
            assert package in lock, f"{file.name}: {package}"


def test_mutants_of_single_operators_cannot_keep_unchanged_texts(config):
    config["mutate"].update(apply="individually", keep="all")
    with pytest.raises(InputError, match="keep cannot be all"):
        check_config(config)


def test_what_a_user_adds_comes_after_what_everybody_knows(config):
    config["mutate"]["tasks"] = {"mine": ["word_articles"], **config["mutate"]["tasks"]}
    assert list(check_config(config)["mutate"]["tasks"]) == ["mwr", "mwj", "mwd", "mcr", "mcj", "mcd", "mine"]
