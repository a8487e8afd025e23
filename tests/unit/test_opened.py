"""Detectors that are opened and not trained: by folder, by function, by what a run trained."""

import json
import sys

import micro
import numpy as np
import pytest

from muattack.attack.identity import victim_sha256
from muattack.config import check_config, overlay, read_config, read_yaml, texts_of
from muattack.detect.detector import load_detector
from muattack.detect.opened import write_opened
from muattack.detect.positive import open_positive
from muattack.errors import InputError
from muattack.results import detector_kind, figure_detectors, figures_of, split_shares, trained_as


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mine_opened.py").write_text("def score(texts):\n    return ['A' in text for text in texts]\n\nNOTHING = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "mine_opened.py"
    sys.modules.pop("mine_opened", None)


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("my_detector:score", "function"),
        ("package.module:Class.method", "function"),
        ("run:detectors/finetune", "run"),
        ("models/mine", "model"),
        ("owner/name", "model"),
        ("run:score", "function"),
        ("https://host.example:8000/score", "endpoint"),
    ],
)
def test_what_use_names(use, kind):
    assert detector_kind(use) == kind


def test_a_function_opens_from_its_folder_and_a_changed_module_changes_the_folder(module, tmp_path):
    write_opened(tmp_path / "d", {"use": "mine_opened:score"}, [module])
    assert load_detector(tmp_path / "d", mode="none").predict(["A b", "a b"]).tolist() == [[0, 1], [1, 0]]
    predict, truncated = open_positive(tmp_path / "d")
    assert predict(["a", "A"]).tolist() == [0, 1]
    assert not truncated(["a"]).any()
    before = victim_sha256(tmp_path / "d"), (tmp_path / "d" / "muattack.json").read_bytes()
    module.write_text("def score(texts):\n    return [0.5] * len(texts)\n", encoding="utf-8")
    write_opened(tmp_path / "d", {"use": "mine_opened:score"}, [module])
    assert victim_sha256(tmp_path / "d") != before[0]
    assert (tmp_path / "d" / "muattack.json").read_bytes() != before[1]


def test_an_entry_can_normalise_before_a_function(module, tmp_path):
    write_opened(tmp_path / "d", {"use": "mine_opened:score", "normalise": "paper"}, [module])
    assert load_detector(tmp_path / "d").predict(["A b"])[:, 1].tolist() == [0]


def test_a_defence_stands_before_a_detector_of_the_run(module, tmp_path):
    write_opened(tmp_path / "d", {"use": "mine_opened:score"}, [module])
    write_opened(tmp_path / "on", {"use": str(tmp_path / "d"), "normalise": "none", "defend": ["zero-width", "confusables"]}, [])
    texts = ["Α b", "\u200bА", "жА", "α"]
    assert load_detector(tmp_path / "d").predict(texts)[:, 1].tolist() == [0, 0, 0, 0]
    # Greek and Cyrillic capitals become A; a word with a letter that looks like none of ASCII's stays as it is.
    assert load_detector(tmp_path / "on").predict(texts)[:, 1].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(("use", "part"), [("mine_opened:misspelt", "misspelt"), ("mine_opened:NOTHING", "cannot be called")])
def test_a_function_that_is_none_is_told_when_opened(module, tmp_path, use, part):
    with pytest.raises(InputError, match=part):
        write_opened(tmp_path / "d", {"use": use}, [])
    assert not (tmp_path / "d").exists()


def test_a_model_opens_with_labels_in_its_order(tmp_path):
    from transformers import BertConfig, BertForSequenceClassification

    folder = tmp_path / "foreign"
    BertForSequenceClassification(BertConfig.from_pretrained(micro.bert(), num_labels=2)).save_pretrained(folder)
    for file in micro.bert().glob("*token*"):
        (folder / file.name).write_bytes(file.read_bytes())
    plain = load_detector(folder, ["human", "machine"]).predict(["a dog"])
    write_opened(tmp_path / "d", {"use": str(folder), "labels": ["machine", "human"], "max_length": 8}, [folder / "config.json"])
    detector = load_detector(tmp_path / "d", mode="none")
    assert detector.max_length == 8
    np.testing.assert_array_equal(detector.predict(["a dog"]), plain[:, ::-1])


# --- The configuration ------------------------------------------------------------------------------------------------


def texts_config(**detectors):
    config = read_config()
    config["captions"].update(source="texts", texts={"human": "h.txt", "machine": ["a.csv", "b.csv"], "machine_ood": None})
    config["attacks"]["victims"] = []
    config["detectors"] = detectors
    return config


def test_nothing_is_trained_and_all_texts_are_tested():
    config = check_config(texts_config(mine={"use": "m:f"}))
    assert trained_as(config) == {}
    assert split_shares(config) == {"test": 1.0}
    assert figures_of(config["detectors"], False) == ["roc_mine"]
    assert figure_detectors("roc_mine") == ("mine",)
    assert texts_of(config)["machine"] == {"files": ["a.csv", "b.csv"], "text": ["text"]}
    # What learns from texts needs its share of them.
    for learns in (
        texts_config(mine={"use": "m:f"}, finetune={}),
        overlay(texts_config(mine={"use": "m:f"}), {"attacks": {"victims": ["mine"]}}),
    ):
        assert split_shares(check_config(learns)) == {"train": 0.70, "val": 0.15, "test": 0.15}
    # A curve is fitted on the validation texts, and the others are tested.
    measured = check_config(texts_config(mine={"use": "models/gpt2", "measure": "fast-detectgpt"}))
    assert split_shares(measured) == {"val": 0.15, "test": 0.85}
    some = overlay(texts_config(mine={"use": "m:f"}), {"captions": {"split": {"train": 0, "val": 0.2, "test": 0.8}}})
    assert split_shares(check_config(some)) == {"val": 0.2, "test": 0.8}


@pytest.mark.parametrize(
    ("detectors", "captions", "parts"),
    [
        ({"mine": {"use": "m:f", "rr": 0.3}}, {}, ["detectors.mine.rr is about training"]),
        ({"mine": {"labels": ["machine", "human"]}}, {}, ["detectors.mine.labels is for a detector given by `use`"]),
        ({"mine": {"use": "m:f", "max_length": 9}}, {}, ["detectors.mine.max_length is for models, but m:f is a function"]),
        ({"mine": {"use": "m:f", "endpoint": {"texts": 3}}}, {}, ["detectors.mine.endpoint is for detectors behind an address"]),
        ({"mine": {"use": "https://me:secret@host/score"}}, {}, ["detectors.mine.use must be an address", "`endpoint: {key: MY_KEY}`"]),
        ({"mine": {"use": "https://host/score", "max_length": 9, "endpoint": {"keys": "A"}}}, {}, ["Unknown key `keys` at detectors.mine.endpoint"]),
        ({"mine": {"use": "m:f", "measure": "entropy"}}, {}, ["detectors.mine.measure is for models"]),
        ({"mine": {"use": "m", "measure": "entropie"}}, {}, ["detectors.mine.measure is 'entropie'", "log-rank"]),
        ({"mine": {"use": "m", "measure": "binoculars"}}, {}, ["compares two models", "`reference: models/observer`"]),
        (
            {"mine": {"use": "m", "reference": "n", "labels": ["human", "machine"], "measure": "entropy"}},
            {},
            ["mine.reference is for", "mine.labels names"],
        ),
        ({"mine": {"use": "m", "measure": "entropy"}}, {"split": {"train": 0.5, "val": 0.0, "test": 0.5}}, ["captions.split.val is 0", "calibrated"]),
        ({"mine": {"use": "run:detectors/finetun"}, "finetune": {}}, {}, ["has no such detector `finetun`", "Did you mean `finetune`?"]),
        ({"mine": {"use": "m:f", "defend": ["confusables"]}}, {}, ['`mine_defended: {use: run:detectors/mine, defend: ["confusables"]}`']),
        ({"rr": {"rr": 0.3, "defend": ["confusables"]}}, {}, ['`rr_defended: {use: run:detectors/rr, defend: ["confusables"]}`']),
        ({"mine": {"use": "m:f"}, "b": {"use": "run:detectors/mine", "defend": ["confusable"]}}, {}, ["`confusable`", "Did you mean `confusables`?"]),
        ({"a": {"use": "run:detectors/b"}, "b": {"use": "run:detectors/a"}}, {}, ["has no such detector `b`", "has no such detector `a`"]),
        ({"mine": {"use": "m:f"}, "finetune": {"start": "mine"}}, {}, ["detectors.finetune.start names `mine`", "opened by `use`"]),
        ({"finetune": {}}, {"split": {"train": 0.0, "val": 0.5, "test": 0.5}}, ["captions.split.train is 0", "detector finetune"]),
        ({"mine": {"use": "m:f"}}, {"texts": {"human": None, "machine": "m.txt", "machine_ood": None}}, ["captions.texts.human", "human.txt"]),
        ({"mine": {"use": "m:f"}}, {"texts": {"human": {"file": "h.txt"}, "machine": "m.txt", "machine_ood": None}}, ["`file`", "files"]),
    ],
)
def test_faults_of_entries_are_named(detectors, captions, parts):
    config = texts_config(**detectors)
    config["captions"].update(captions)
    with pytest.raises(InputError) as error:
        check_config(config)
    assert all(part in str(error.value) for part in parts), error.value


def test_the_command_writes_a_configuration_that_passes_and_names_what_is_wrong(module, tmp_path, monkeypatch):
    from muattack.cli import main, parser
    from muattack.evaluate.command import reason, thirds, write_config

    monkeypatch.chdir(tmp_path)
    for name in ("human", "machine"):
        (tmp_path / f"{name}.txt").write_text("\n".join(f"{name} text {'and more ' * k}" for k in range(12)), encoding="utf-8")
    (tmp_path / "more.yaml").write_text("detectors: {second: {use: 'mine_opened:score', normalise: paper}, finetune: {rr: 0.2}}\n", encoding="utf-8")

    def options(*more):
        return parser().parse_args(["evaluate", "--detector", "mine_opened:score", "--human", "human.txt", "--machine", "machine.txt", *more])

    config = write_config(options())
    assert config["detectors"].pop("mine_opened") == {"use": "mine_opened:score"}
    assert set(config["detectors"].values()) == {None}
    assert config["captions"]["texts"]["human"] == {"files": [str(tmp_path / "human.txt")]}
    assert config["evaluate"]["lengths"] == thirds([2 + 2 * k for k in range(12)] * 2)
    above = write_config(options("--config", "more.yaml", "--name", "first"))["detectors"]
    assert {name for name, entry in above.items() if entry} == {"first", "second", "finetune"}

    behind = write_config(options("--defend", "zero-width", "confusables"))["detectors"]
    assert behind["mine_opened-defended"] == {"use": "run:detectors/mine_opened", "defend": ["zero-width", "confusables"]}
    measured = write_config(options("--detector", str(micro.bert()), "--measure", "binoculars", "--reference", "other"))
    assert measured["detectors"]["bert-binoculars"] == {
        "use": str(micro.bert()),
        "measure": "binoculars",
        "reference": "other",
    }
    assert measured["captions"]["split"] == {"train": 0.0, "val": 0.3, "test": 0.7}
    for arguments, part in (
        (["--detector", "nowhere_at_all:f", "--human", "human.txt", "--machine", "machine.txt"], "no module nowhere_at_all"),
        (["--detector", "./none", "--human", "human.txt", "--machine", "machine.txt"], "no such folder"),
        (["--detector", str(tmp_path), "--human", "human.txt", "--machine", "machine.txt"], "holds no config.json"),
        (["--detector", "mine_opened:score", "--human", "human.txt", "--machine", "none.txt"], "none.txt does not exist"),
        (["--detector", "mine_opened:score", "--human", "human.txt", "--machine", "machine.txt", "--out", "a/b"], "The name `a/b` at run"),
    ):
        with pytest.raises(InputError, match=part):
            write_config(parser().parse_args(["evaluate", *arguments]))
    assert main(["evaluate", "--detector", "./none", "--human", "human.txt", "--machine", "machine.txt"]) == 1
    assert not (tmp_path / "results").exists()
    said = ["Building DAG", "", "score_texts: The detector mine failed.", "Mend it.", "", "Error in rule score_texts:", "    jobid: 1"]
    assert reason(said) == "score_texts: The detector mine failed. Mend it."
    assert reason(["one", "two"]) == "one\ntwo"


def test_the_defaults_that_evaluate_drops_are_all_there_are(tmp_path, module, monkeypatch):
    from muattack.config import DEFAULTS

    assert not any("use" in (entry or {}) for entry in read_yaml(DEFAULTS)["detectors"].values())
    assert json.dumps(split_shares(read_config())) == '{"train": 0.7, "val": 0.15, "test": 0.15}'
