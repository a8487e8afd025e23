"""The configuration: each fault named where it stands; defaults, schema and code agree."""

import re

import pytest
import yaml

from muattack.config import DEFAULTS, SCHEMA, check_config, corrupted_classifiers, data_file, overlay, read_config, read_yaml
from muattack.errors import InputError
from muattack.evaluate.attack_families import victims_of
from muattack.results import (
    attack_settings,
    attacked_texts,
    figures_of,
    language_encoder,
    most_synonyms,
    tables_of,
    trained_as,
    training_facts,
)


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
        # Some are made to be laid over another one.
        below = {"ablations": "defenders", "defenders_minilm": "defenders", "chinese_real": "chinese"}.get(file.stem)
        assert read_config(*([root / "config" / f"{below}.yaml"] if below else []), file)["run"]


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
    # Optional keys of entries that users name; each is explained in a comment of config.yaml.
    optional = {"replacement", "case", "case_sensitive", "occurrences", "revision", "start", "labels", "attacked"}
    of_data_sets = {"format", "header", "quoted", "text", "label", "validation", "train_rows", "test_rows", "lower_case"}
    optional |= {"share", "variant", "style", "characters", "defence", "least", "function", "file", "severity"}
    optional |= {
        "table",
        "corpus",
        "level",
        "distance",
        "strict",
        "minimum",
        "detector",
        "dataset",
        "normaliser",
        "name",
        "ask",
        "key",
        "use",
        "group",
        "reference",
        "endpoint",
        "defend",
        "per_minute",
        "model",
    }
    have = {path[-1] for path in paths(read_yaml(DEFAULTS))}
    assert {key for key, _ in walk(schema)} - have == optional | of_data_sets
    comments = "\n".join(line for line in DEFAULTS.read_text(encoding="utf-8").splitlines() if line.lstrip().startswith("#"))
    assert [key for key in sorted(optional | of_data_sets) if not re.search(rf"\b{key}\b", comments)] == []


def test_no_key_stands_twice_in_a_file_of_ours(root):
    """YAML takes the last of two equal keys without a word."""

    class Strict(yaml.SafeLoader):
        pass

    def once(loader, node):
        keys = [loader.construct_object(key) for key, _ in node.value if not key.tag.endswith(":merge")]
        assert len(keys) == len(set(keys)), f"{node.start_mark}: {keys}"
        loader.flatten_mapping(node)
        keys = [loader.construct_object(key) for key, _ in node.value]
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
        (("captions", "source"), "file", ["one of simulate, files, texts, none, coco"]),
        (("captions", "source"), "files", ["captions.files.human"]),
        (("captions", "source"), "coco", ["captions.coco.images must be given", "captions.coco.human", "{model: asset:vit-gpt2}"]),
        (("captions", "split", "train"), 0.8, ["adds up to 1.1"]),
        (("captions", "split", "train"), 0, ["captions.split.train is 0", "nothing is left to train"]),
        (("captions", "split", "test"), 0, ["more than 0"]),
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
        (("encoders", "tiny", "source"), "tensorflow_hub", ["encoder names `tiny`, whose source tensorflow_hub is for attacks.similarity only"]),
        (
            ("encoders", "minilm"),
            {"source": "tensorflow_hub", "pooling": "mean", "trainable": "all", "max_length": 9},
            ["folder with saved_model.pb"],
        ),
        (("captions", "source"), "none", ["nothing to do", "config/defenders.yaml"]),
        (("detectors", "rr", "adversarial"), {"method": "pgd_kpp", "max_norm": 1.0}, ["bounds nothing", "`method: pgd_k`"]),
        (("detectors", "rr", "adversarial"), {"method": "pgdk"}, ["one of pgd_k, freelb, pgd_kpp, freelb_pp"]),
        (("detectors", "rr", "adversarial"), {"steps": 3}, ["lacks the key `method`"]),
        (("classification", "defences", "encoder"), {}, ["`encoder` is taken"]),
        (("classification", "defences", "more"), {"start": "plane"}, ["unknown defence `plane`", "Did you mean `plain`?"]),
        (("classification", "defences", "plain"), {"start": "plain"}, ["circle: plain -> plain"]),
        (("classification", "defences", "plain"), {"train_on": "base"}, ["Unknown key `train_on`"]),
        (("attacks", "victims"), ["finetun"], ["unknown detector `finetun`", "Did you mean `finetune`?"]),
        (("attacks", "constraints", "epsilon_min"), 1.1, ["epsilon_min is 1.1", "at most 1"]),
        (("attacks", "constraints", "k_max"), 0, ["k_max is 0", "at least 1"]),
        (("attacks", "constraints", "rho_max"), 0, ["rho_max is 0", "more than 0"]),
        (("attacks", "recipes", "mine"), {"recipe": "textfool"}, ["one of textfooler, textbugger"]),
        (("attacks", "recipes", "mine"), {"recipe": "pwws", "kmax": 3}, ["Unknown key `kmax`", "Did you mean `k_max`?"]),
        (("attacks", "synonyms", "source"), "neighbours", ["attacks.synonyms.path must name a file"]),
        (("attacks", "synonyms", "path"), "a.json", ["the source is corpus"]),
        (("attacks", "similarity", "encoder"), "minilmm", ["Did you mean `minilm`?"]),
        (("attacks", "similarity", "encoder"), "tiny", ["guess masked words", "minilm"]),
        (("encoders", "minilm", "path"), None, ["encoders.minilm.path must name the name of an installed package"]),
        (("encoders", "tiny", "pretrain", "epochs"), 0, ["bert_attack needs an encoder that the run pretrains", "language_model: FOLDER"]),
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


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"severities": [0]}, ["severities.0 is 0", "more than 0"]),
        ({"severities": [1.1]}, ["severities.0 is 1.1", "at most 1"]),
        ({"severities": [0.5, 0.5]}, ["a list without repetitions"]),
        ({"weights": {"typo": -1}}, ["weights.typo is -1", "at least 0"]),
        ({"weights": dict.fromkeys(("autocorrect", "autocompletion", "synonym", "typo"), 0)}, ["weights are all 0"]),
        ({"base": "words.csv"}, ["corrupted.base is `words.csv`", "run, own, or the path"]),
        ({"base": "mine.json", "synonyms": "none"}, ["corrupted.synonyms is 'none'", "brings its own"]),
        ({"detectors": ["finetun"]}, ["unknown detector `finetun`", "Did you mean `finetune`?"]),
        ({"detectors": []}, ["nobody to judge the texts"]),
        ({"texts": 0}, ["corrupted.texts is 0", "at least 1"]),
    ],
)
def test_a_fault_of_corruptions_is_explained(config, changes, parts):
    config["corrupted"] = overlay(config["corrupted"] | {"severities": [0.5], "detectors": ["rr"]}, changes)
    with pytest.raises(InputError) as error:
        check_config(config)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_who_judges_corrupted_texts(config):
    assert corrupted_classifiers(config) == []
    config["classification"]["datasets"]["toy"] = {"train": ROWS, "test": ROWS, "labels": LABELS}
    config["classification"]["defences"]["warm"] = {"attacked": False}
    config["corrupted"].update(severities=[1], detectors=["rr", "finetune"])
    defences = ["plain", "pgd_kpp", "freelb_pp"]
    assert corrupted_classifiers(check_config(config)) == [("captions", "rr"), ("captions", "finetune"), *(("toy", name) for name in defences)]
    config["captions"].update(source="none", images=None)
    with pytest.raises(InputError, match=r"corrupted\.detectors names rr, but captions\.source is none"):
        check_config(config)


ROWS = {"files": ["a.csv"], "format": "csv", "text": ["text"], "label": "label"}
LABELS = {0: "negative", 1: "positive"}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"labels": {0: "a"}}, ["labels", "at least 2"]),
        ({"labels": {0: "a", 1: "a"}}, ["names one class only, a"]),
        ({"labels": {0: "a", "0": "b"}}, ["has a label twice, as number and as text"]),
        ({"labels": {0: "no", 1: True}}, ["labels.1 is true", "put the word in quotes"]),
        ({"labels": {1.5: "a", 2: "b"}}, ["The name 1.5", "quotes"]),
        ({"train": {"files": None}}, ["toy.train.files is null", "files: [topic/toy_train.csv]"]),
        ({"train": {"files": []}}, ["train.files is []", "a list of at least 1"]),
        ({"train": {"format": "xml"}}, ["one of csv, tsv, jsonl, parquet, huggingface"]),
        ({"train": {"format": "jsonl", "header": False}}, ["train.header is for csv and tsv; the format is jsonl"]),
        ({"train": {"header": False}}, ["train.header is false", "'text', 'label' is named"]),
        ({"train": {"label": 1}}, ["train names the column 1 by number", "`header: false`"]),
        ({"train": {"label": "text"}}, ["'text' is label and text at once"]),
        ({"test": {"labels": {1: "positve"}}}, ["test.labels names the unknown class `positve`", "Did you mean `positive`?"]),
        ({"validation": 1}, ["validation is 1", "less than 1"]),
        ({"train_rows": 1}, ["train_rows is 1", "at least 2"]),
        ({"test_rows": 10, "attacks": {"texts": 11}}, ["attacks.texts is 11, but test_rows only 10"]),
        ({"attacks": {"rho_max": 2}}, ["attacks.rho_max is 2", "at most 1"]),
        ({"attack": {}}, ["Unknown key `attack`", "Did you mean `attacks`?"]),
    ],
)
def test_a_fault_of_a_data_set_is_explained(config, changes, parts):
    dataset = {"train": dict(ROWS), "test": dict(ROWS), "labels": LABELS}
    config["classification"]["datasets"]["toy"] = overlay(dataset, changes) if "labels" not in changes else dataset | changes
    with pytest.raises(InputError) as error:
        check_config(config)
    assert all(part in str(error.value) for part in parts), str(error.value)


@pytest.fixture
def chinese(root):
    return read_config(root / "config" / "chinese.yaml")


SPLIT = {"file": "a.csv", "format": "csv", "text": ["review"], "label": "label"}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"chinese": {"datasets": ["review"]}}, ["chinese.datasets names the unknown data set `review`", "Did you mean `reviews`?"]),
        ({"chinese": {"source": "plane"}}, ["chinese.source names the unknown defence `plane`", "Did you mean `plain`?"]),
        ({"chinese": {"targets": {"dropout": {"defence": "dropuot"}}}}, ["targets.dropout.defence", "Did you mean `dropout`?"]),
        ({"chinese": {"targets": {"mine": {}}}}, ["chinese.targets.mine must have either a defence or a function"]),
        ({"chinese": {"targets": {"dropout": {"function": "a:b"}}}}, ["chinese.targets.dropout must have either"]),
        ({"chinese": {"targets": {"mine": {"function": "chat"}}}}, ["'chat', but must be written module:function"]),
        (
            {"chinese": {"targets": {"mine": {"function": "a:b", "labels": {"好": "positve"}}}}},
            ["unknown class `positve`", "Did you mean `positive`?"],
        ),
        ({"chinese": {"targets": {"mine": {"function": "a:b", "datasets": ["news"]}}}}, ["chinese.targets.mine.datasets names `news`"]),
        ({"chinese": {"targets": {"mine": {"function": "a:b", "least": 0.9}}}}, ["chinese.targets.mine.least is for classifiers"]),
        ({"chinese": {"targets": {"dropout": {"labels": {"好": "positive"}}}}}, ["chinese.targets.dropout.labels is for functions"]),
        ({"chinese": {"split": {"reviews": SPLIT}}}, ["chinese.simulate.reviews and chinese.split.reviews would make the same files"]),
        ({"chinese": {"split": {"mine": SPLIT | {"label": 0}}}}, ["chinese.split.mine names the column 0 by number"]),
        ({"chinese": {"split": {"mine": SPLIT | {"header": False}}}}, ["names the column 'review' by name"]),
        ({"chinese": {"split": {"mine": SPLIT | {"label": "review"}}}}, ["'review' is label and text at once"]),
        ({"chinese": {"simulate": {"reviews": {"train": 19}}}}, ["chinese.simulate.reviews.train is 19", "at least 20"]),
        ({"chinese": {"simulate": {"reviews": None}}}, ["run:chinese/data/reviews_train.jsonl, which the run does not make"]),
        ({"mutate": {"sets": {"tradition": None, "rewrite": None, "splitting": None}}}, ["no set of kind chinese"]),
        ({"mutate": {"sets": {"rewrite": {"styl": "tone"}}}}, ["Unknown key `styl`", "Did you mean `style`?"]),
        ({"mutate": {"sets": {"rewrite": {"share": 0}}}}, ["mutate.sets.rewrite.share is 0", "more than 0"]),
        ({"mutate": {"sets": {"mine": {"kind": "chinese"}}}}, ["mutate.sets.mine lacks the key `method`"]),
        ({"mutate": {"sets": {"mine": {"kind": "word"}}}}, ["mutate.sets.mine lacks the key `words`"]),
    ],
)
def test_a_fault_of_the_chinese_family_is_explained(chinese, changes, parts):
    with pytest.raises(InputError) as error:
        check_config(overlay(chinese, changes))
    assert all(part in str(error.value) for part in parts), str(error.value)


NOISYHATE = {"source": "captions", "classifiers": {"finetune": {"detector": "finetune"}}}
MODEL = {"path": "folder", "labels": ["fair", "unfair"], "positive": "unfair"}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"source": "caption"}, ["noisyhate.source names `caption`", "Did you mean `captions`?"]),
        ({"pairs": "a.csv"}, ["noisyhate.source is captions and noisyhate.pairs a.csv", "Set the other to null"]),
        ({"positive": "machin"}, ["noisyhate.positive names the unknown class `machin`", "Did you mean `machine`?"]),
        ({"perturbations": "dem"}, ["noisyhate.perturbations is `dem`", "{table: forms.json}"]),
        ({"perturbations": {"corpus": ["a.txt"], "levl": 1}}, ["Unknown key `levl` at noisyhate.perturbations", "Did you mean `level`?"]),
        ({"perturbations": {"corpus": ["a.txt"], "table": "a.json"}}, ["must have either a table or a corpus"]),
        ({"perturbations": {"table": "a.json", "level": 1}}, ["level goes with a corpus, not with a table"]),
        ({"proxy": "finetun"}, ["noisyhate.proxy names `finetun`", "Did you mean `finetune`?"]),
        ({"threshold": 1}, ["noisyhate.threshold is 1", "less than 1"]),
        ({"types": []}, ["noisyhate.types is []"]),
        ({"types": ["Abr"]}, ["noisyhate.types.0 is 'Abr'", "Abbr"]),
        ({"classifiers": {"mine": {}}}, ["noisyhate.classifiers.mine must have one of detector"]),
        ({"classifiers": {"mine": {"detector": "r"}}}, ["names the unknown detector `r`"]),
        ({"classifiers": {"mine": {"defence": "plain"}}}, ["dataset and defence go together"]),
        ({"classifiers": {"mine": {"defence": "plain", "dataset": "imdb"}}}, ["names the unknown data set `imdb`"]),
        ({"classifiers": {"mine": {"path": "folder"}}}, ["must name the classes of folder in `labels`"]),
        ({"classifiers": {"mine": MODEL | {"positive": "unfar"}}}, ["unknown class `unfar`", "Did you mean `unfair`?"]),
        ({"classifiers": {"mine": {"function": "a:b", "labels": ["x", "y"]}}}, ["labels is for classifiers of yours given by `path`"]),
        ({"classifiers": {"mine": {"function": "a:b", "positive": "x"}}}, ["a function says itself what it finds"]),
        ({"classifiers": {"mine": {"detector": "rr", "normaliser": "look-alike"}}}, ["normaliser names the unknown normaliser `look-alike`"]),
        ({"normalisers": ["confusables", "look-alikes+pyspelchecker"]}, ["noisyhate.normalisers.1", "Did you mean `pyspellchecker`?"]),
        ({"normalisers": ["look-alikes+serpapi"]}, ["unknown normaliser `serpapi`"]),
        ({"normalisers": [{"name": "mine", "ask": "a:b"}]}, ["noisyhate.normalisers.0 lacks the key `key`"]),
        ({"normalisers": ["symspellpy", {"name": "symspellpy", "ask": "a:b", "key": "C"}]}, ["names symspellpy twice"]),
        ({"judging": {"rule": "most"}}, ["noisyhate.judging.rule is 'most'", "majority, mean"]),
    ],
)
def test_a_fault_of_noisyhate_is_explained(config, changes, parts):
    with pytest.raises(InputError) as error:
        check_config(overlay(overlay(config, {"noisyhate": NOISYHATE}), {"noisyhate": changes}))
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_run_with_pairs_alone_needs_no_texts_of_its_own(config):
    config["captions"].update(source="none")
    with pytest.raises(InputError, match="there is nothing to do"):
        check_config(config)
    config["noisyhate"].update(pairs="pairs.csv", classifiers={"mine": MODEL, "other": {"function": "a:b"}})
    assert check_config(config)["noisyhate"]["source"] is None


def test_the_names_of_normalisers_are_those_that_can_be_made():
    from muattack.mutate import normalise_text, normaliser_names

    assert (tuple(normalise_text.OFFLINE), tuple(normalise_text.WEB)) == (normaliser_names.OFFLINE, normaliser_names.WEB)


def test_files_that_a_run_makes_lie_among_its_results(chinese, monkeypatch):
    monkeypatch.setenv("MUATTACK_DATA", "/elsewhere")
    assert data_file(chinese, "run:chinese/data/reviews_test.jsonl") == "results/chinese/chinese/data/reviews_test.jsonl"
    assert data_file(chinese, "a.csv") == "/elsewhere/a.csv"


def test_a_run_without_captions_needs_none_of_what_they_need(config):
    config["captions"].update(source="none", images=None)
    config["classification"]["datasets"]["toy"] = {"train": ROWS, "test": ROWS, "labels": LABELS}
    config = check_config(config)
    assert [victim for _, victim in victims_of(config)] == ["toy.plain", "toy.pgd_kpp", "toy.freelb_pp"]


def test_names_of_victims_do_not_meet(config):
    dataset = {"train": ROWS, "test": ROWS, "labels": LABELS}
    config["classification"]["datasets"]["captions"] = dataset
    with pytest.raises(InputError, match="`captions` is taken by the captions"):
        check_config(config)
    config["classification"]["datasets"] = {"toy": dataset}
    config["detectors"]["toy.plain"] = {}
    assert check_config(config)
    config["attacks"]["victims"] = ["toy.plain"]
    with pytest.raises(InputError, match=r"Two victims have the name `toy\.plain`"):
        check_config(config)
    config["detectors"]["synonyms"], config["attacks"]["victims"] = {}, ["synonyms"]
    with pytest.raises(InputError, match="`synonyms` has a name that is taken"):
        check_config(config)


def test_victims_that_a_run_lacks_are_left_out_and_nothing_of_theirs_is_asked_for(config):
    config["detectors"] = {"mine": {}}
    config["attacks"]["similarity"]["encoder"] = "none"
    config["attacks"]["victims"] = ["finetune", "somebody"]
    assert victims_of(check_config(config)) == {}
    config["attacks"]["victims"] = ["mine"]
    with pytest.raises(InputError, match="names `none`, which is not among the encoders"):
        check_config(config)


def test_what_an_attack_is_told(config):
    config["classification"]["datasets"]["toy"] = {
        "train": ROWS,
        "test": ROWS,
        "labels": LABELS,
        "attacks": {"rho_max": 0.1, "k_max": 20, "texts": 7},
    }
    config["attacks"]["recipes"] |= {"rho": {"recipe": "pwws", "rho_max": 0.2}, "masked_k90": {"recipe": "bert_attack", "k_max": 90}}
    config = check_config(config)
    plain = {"recipe": "textfooler", "epsilon_min": 0.84, "k_max": 50, "rho_max": 0.3, "queries_per_word": 50}
    assert attack_settings(config, "captions", "textfooler") == plain
    # A data set's own constraints stand above the general ones, an attack's own above both.
    assert attack_settings(config, "toy", "textfooler") == plain | {"rho_max": 0.1, "k_max": 20, "queries_per_word": 20}
    assert attack_settings(config, "toy", "rho") == plain | {"recipe": "pwws", "rho_max": 0.2, "k_max": 20, "queries_per_word": 20}
    assert attacked_texts(config, "captions") == (30, [1])
    assert attacked_texts(config, "toy") == (7, None)
    # A table holds what its readers ask for: bert_attack reads none.
    assert (most_synonyms(config, "captions"), most_synonyms(config, "toy")) == (50, 20)


def test_which_masked_language_model_serves_bert_attack(config):
    assert language_encoder(config) == "tiny"
    assert language_encoder(config | {"encoder": "minilm"}) == "tiny"
    assert language_encoder(config | {"attacks": config["attacks"] | {"language_model": "folder"}}) is None
    assert language_encoder(config | {"attacks": config["attacks"] | {"victims": []}}) is None


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


def test_mutants_of_single_operators_cannot_keep_unchanged_texts(config):
    config["mutate"].update(apply="individually", keep="all")
    with pytest.raises(InputError, match="keep cannot be all"):
        check_config(config)


def test_what_a_user_adds_comes_after_what_everybody_knows(config):
    config["mutate"]["tasks"] = {"mine": ["word_articles"], **config["mutate"]["tasks"]}
    assert list(check_config(config)["mutate"]["tasks"]) == ["mwr", "mwj", "mwd", "mcr", "mcj", "mcd", "mine"]
