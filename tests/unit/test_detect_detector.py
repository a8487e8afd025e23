"""The detector protocol: order of texts, direction of scores, foreign models, callables."""

import json
import sys

import micro
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from muattack.detect.detector import load_detector
from muattack.detect.encoder import load_tokenizer
from muattack.errors import InputError
from muattack.train.loop import train_detector

TEXTS = micro.captions()["text"].tolist()


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A detector of other people's making, shaped as the released OpenAI one: output 0 is fake, output 1 is real."""
    folder = tmp_path_factory.mktemp("foreign")
    torch.manual_seed(1)
    AutoModelForSequenceClassification.from_pretrained(micro.tiny(), id2label={0: "Fake", 1: "Real"}).save_pretrained(folder)
    load_tokenizer(micro.tiny()).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "detectors" / "frozen"
    config = micro.settings()
    train_detector(micro.captions(), micro.frozen_bert(), None, config["training"], {}, folder, 1)
    return folder


def softmax_of(folder, texts):
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder).eval(), load_tokenizer(folder)
    with torch.inference_mode():
        return torch.softmax(model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.double(), -1).numpy()


def test_scores_do_not_depend_on_order_or_repetition(foreign):
    detector = load_detector(foreign, labels=["machine", "human"])
    order = np.random.default_rng(0).permutation(len(TEXTS))
    straight, shuffled = detector.predict(TEXTS), detector.predict([TEXTS[i] for i in order])
    assert np.array_equal(straight[order], shuffled)
    assert np.array_equal(detector.predict(TEXTS + TEXTS), np.concatenate([straight, straight]))
    assert straight.dtype == np.float64
    assert straight.shape == (len(TEXTS), 2)
    assert np.allclose(straight.sum(1), 1)
    assert detector.predict([]).shape == (0, 2)


def test_output_0_is_fake_must_be_said_and_is_mapped(foreign, tmp_path):
    with pytest.raises(InputError, match=r"'Fake', 'Real'.*muattack\.json"):
        load_detector(foreign)
    expected = softmax_of(foreign, TEXTS[:10])
    assert np.allclose(load_detector(foreign, labels=["machine", "human"]).predict(TEXTS[:10])[:, -1], expected[:, 0], atol=1e-6)
    assert np.allclose(load_detector(foreign, labels=["human", "machine"]).predict(TEXTS[:10])[:, -1], expected[:, 1], atol=1e-6)
    for path in foreign.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "muattack.json").write_text(json.dumps({"labels": ["machine", "human"]}))
    assert np.allclose(load_detector(tmp_path).predict(TEXTS[:10])[:, -1], expected[:, 0], atol=1e-6)
    with pytest.raises(InputError, match="2 outputs, but its labels name 3"):
        load_detector(foreign, labels=["machine", "human", "other"])
    for names in (["fake", "real"], ["human", "Machine"]):
        with pytest.raises(InputError, match="Nothing says which output"):
            load_detector(foreign, labels=names)


def test_positions_of_a_foreign_roberta_bound_the_length(foreign):
    detector = load_detector(foreign, labels=["machine", "human"])
    assert detector.max_length == 50
    assert detector.truncated(["dog " * 100, "a dog"]).tolist() == [True, False]
    assert np.isfinite(detector.predict(["dog " * 20_000])).all()


def test_a_text_longer_than_the_model_sees_is_scored_as_its_beginning(foreign):
    detector = load_detector(foreign, labels=["machine", "human"], max_length=8)
    long, longer = "a dog waits on the street", "a dog waits on the street and then goes home quietly"
    assert detector.truncated([long, longer]).all()
    assert np.allclose(*detector.predict([long, longer]), atol=1e-7)
    assert not np.allclose(*load_detector(foreign, labels=["machine", "human"]).predict([long, longer]), atol=1e-7)


def test_nan_scores_are_an_error(foreign):
    detector = load_detector(foreign, labels=["machine", "human"])
    with torch.no_grad():
        detector.model.model.classifier.out_proj.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="not finite for 3 of 3 texts"):
        detector.predict(["a", "b", "c"])


def test_several_classes_keep_their_order(tmp_path):
    torch.manual_seed(0)
    names = dict(enumerate(["world", "sports", "business", "science"]))
    AutoModelForSequenceClassification.from_pretrained(micro.tiny(), num_labels=4, id2label=names).save_pretrained(tmp_path)
    load_tokenizer(micro.tiny()).save_pretrained(tmp_path)
    assert np.allclose(load_detector(tmp_path).predict(TEXTS[:5]), softmax_of(tmp_path, TEXTS[:5]), atol=1e-6)


def test_a_frozen_detector_refers_to_its_encoder_and_notices_another(frozen):
    about = json.loads((frozen / "muattack.json").read_text())
    assert about["encoder"]["source"] == "folder"
    assert not about["encoder"]["path"].startswith("/")
    assert np.isfinite(load_detector(frozen).predict(TEXTS)).all()
    weights = micro.bert() / "model.safetensors"
    original = weights.read_bytes()
    try:
        tensors = load_file(weights)
        tensors["embeddings.word_embeddings.weight"] = tensors["embeddings.word_embeddings.weight"] + 1
        save_file(tensors, weights, metadata={"format": "pt"})
        with pytest.raises(InputError, match="wrong checksum"):
            load_detector(frozen)
    finally:
        weights.write_bytes(original)


def test_python_callables_are_detectors(tmp_path, monkeypatch):
    (tmp_path / "made_detector.py").write_text(
        "import numpy as np\n"
        "def lengths(texts): return np.array([len(text) / 1000 for text in texts])\n"
        "def both(texts): return [[0.25, 0.75]] * len(texts)\n"
        "def broken(texts): return [float('nan')] * len(texts)\n"
        "def short(texts): return [[0.5, 0.5]]\n"
        "number = 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    detector = load_detector("made_detector:lengths")
    assert detector.predict(["aa", "a", "aa"])[:, -1].tolist() == [0.002, 0.001, 0.002]
    assert detector.predict(["aa"]).sum() == 1
    assert not detector.truncated(["aa"]).any()
    assert load_detector("made_detector:both").predict(["a", "b"])[:, -1].tolist() == [0.75, 0.75]
    with pytest.raises(InputError, match="not finite"):
        load_detector("made_detector:broken").predict(["a"])
    with pytest.raises(InputError, match=r"shape \(1, 2\) for 2 texts"):
        load_detector("made_detector:short").predict(["a", "b"])
    for spec, says in (
        ("made_detector:none", "no Python callable"),
        ("no_such_module:f", "no Python callable"),
        ("made_detector:number", "cannot be called"),
    ):
        with pytest.raises(InputError, match=says):
            load_detector(spec)
    sys.modules.pop("made_detector")


def test_what_is_no_detector_and_no_text_is_told(foreign, tmp_path):
    with pytest.raises(InputError, match="missing is neither a local folder nor in the local Hugging Face cache"):
        load_detector(tmp_path / "missing")
    with pytest.raises(InputError, match=r"no config\.json"):
        load_detector(tmp_path)
    with pytest.raises(InputError, match="Text 1 to be scored is a float"):
        load_detector(foreign, labels=["machine", "human"]).predict(["a", float("nan")])


@pytest.mark.parametrize(
    ("name", "content"), [("model.safetensors", b"short"), ("tokenizer.json", None), ("config.json", b"{"), ("model.safetensors", None)]
)
def test_a_damaged_folder_is_named(tmp_path, name, content):
    AutoModelForSequenceClassification.from_pretrained(micro.tiny(), num_labels=2, id2label={0: "human", 1: "machine"}).save_pretrained(tmp_path)
    for file in micro.tiny().glob("*token*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert load_detector(tmp_path).labels == ("human", "machine")
    if content is None:
        for file in [tmp_path / name, *(tmp_path.glob("*token*") if "token" in name else [])]:
            file.unlink(missing_ok=True)
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be opened"):
        load_detector(tmp_path)


def broken_detector(texts):
    return 1 / 0


def test_a_function_that_fails_is_named():
    detector = load_detector(f"{__name__}:broken_detector")
    with pytest.raises(InputError, match="broken_detector failed on a list of 1 texts: ZeroDivisionError"):
        detector.predict(["a"])
