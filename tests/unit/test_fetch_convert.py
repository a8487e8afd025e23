"""Foreign checkpoints: a tiny RoBERTa under the names of the GPT-2 output detector, and weights that are a pickle."""

import argparse
import json
import os
import pickle
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AutoModelForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    RobertaConfig,
    RobertaForSequenceClassification,
    RobertaTokenizerFast,
)

from muattack.detect.detector import load_detector
from muattack.errors import InputError
from muattack.fetch.convert import convert_detector, convert_pickle

TEXTS = ["a dog waits on the street", "a cat standing on the table", "two birds"]


@pytest.fixture
def like(tmp_path):
    """A tiny stand-in of roberta-large: shape and tokenizer."""
    folder = tmp_path / "roberta"
    folder.mkdir()
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXTS, vocab_size=300, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.save_model(str(folder))
    RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=32).save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 36}
    RobertaConfig(vocab_size=tokenizer.get_vocab_size(), type_vocab_size=1, **shape).save_pretrained(folder)
    # vocab.json and merges.txt as well, whatever the version of transformers writes.
    tokenizer.save_model(str(folder))
    return folder


@pytest.fixture
def released(like, tmp_path):
    """What the detector's authors saved: weights of a classifier with a pooling layer, the optimiser, the arguments."""
    torch.manual_seed(0)
    model = RobertaForSequenceClassification(RobertaConfig.from_pretrained(like, num_labels=2)).eval()
    pooler = {"roberta.pooler.dense.weight": torch.randn(16, 16), "roberta.pooler.dense.bias": torch.randn(16)}
    state = {**model.state_dict(), **pooler}
    args = {"max_epochs": None, "device": None, "large": True, "learning_rate": 2e-5, "kwargs": {}}
    content = {"epoch": 3, "model_state_dict": state, "optimizer_state_dict": {"state": {}, "param_groups": []}, "args": args}
    return model, content, tmp_path / "detector-large.pt"


def test_the_checkpoint_becomes_a_model_with_the_same_outputs(like, released, tmp_path):
    model, content, path = released
    torch.save(content, path)
    facts = convert_detector(path, like, tmp_path / "out")
    assert facts["dropped"] == ["roberta.pooler.dense.bias", "roberta.pooler.dense.weight"]
    assert facts["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    assert again.config.id2label == {0: "fake", 1: "real"}
    assert again.config.architectures == ["RobertaForSequenceClassification"]
    ids = torch.tensor([[0, 70, 80, 90, 2]])
    with torch.no_grad():
        assert torch.equal(again(ids).logits, model(ids).logits)
    # Opened as a detector, output 0 is the machine's: P(machine) is the last column.
    detector = load_detector(tmp_path / "out")
    tokenizer = RobertaTokenizerFast.from_pretrained(like)
    with torch.no_grad():
        fake = [model(torch.tensor([tokenizer(text)["input_ids"]])).logits.softmax(-1)[0, 0].item() for text in TEXTS]
    assert np.allclose(detector.predict(TEXTS)[:, -1], fake, atol=1e-6)


def test_weights_alone_and_the_old_format_are_read_too(like, released, tmp_path):
    _, content, path = released
    torch.save(content["model_state_dict"], path, _use_new_zipfile_serialization=False)
    assert convert_detector(path, like, tmp_path / "out")["outputs"] == ["fake", "real"]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda state: state.pop("classifier.dense.bias"), ["it lacks classifier.dense.bias"]),
        (lambda state: state.update({"roberta.new": torch.zeros(1)}), ["it has roberta.new besides"]),
        (lambda state: state.update({"classifier.out_proj.weight": torch.zeros(3, 16)}), ["classifier.out_proj.weight of shape (3, 16) and not (2, 16)"]),
        (lambda state: state.update({"classifier.out_proj.bias": torch.tensor([float("nan"), 0])}), ["out_proj.bias with a value that is no finite number"]),
        (lambda state: [state.update({f"module.{key}": state.pop(key)}) for key in list(state)], ["it lacks ", "more; it has module.", "more besides"]),
    ],
    ids=["missing", "extra", "shape", "nan", "prefix"],
)  # fmt: skip
def test_other_keys_and_shapes_are_refused(like, released, tmp_path, change, parts):
    _, content, path = released
    change(content["model_state_dict"])
    torch.save(content, path)
    with pytest.raises(InputError) as error:
        convert_detector(path, like, tmp_path / "out")
    for part in (str(path), f"in the shape of {like}", *parts):
        assert part in str(error.value)
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_weights(like, released, tmp_path):
    _, content, path = released
    torch.save(content, path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"detector-large\.pt is no pickle of weights.*half a download"):
        convert_detector(path, like, tmp_path / "out")
    torch.save({**content, "args": argparse.Namespace(large=True)}, path)
    with pytest.raises(InputError, match="no pickle of weights that can be read safely"):
        convert_detector(path, like, tmp_path / "out")
    torch.save({"epoch": 1, "args": {}}, path)
    with pytest.raises(InputError, match=r"holds no weights.*it has epoch, args"):
        convert_detector(path, like, tmp_path / "out")
    torch.save([torch.zeros(1)], path)
    with pytest.raises(InputError, match=r"holds no weights.*it has list"):
        convert_detector(path, like, tmp_path / "out")
    with pytest.raises(InputError, match="does not exist"):
        convert_detector(tmp_path / "absent.pt", like, tmp_path / "out")


class Harm:
    """What a pickle of it does when it is read like any other."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_that_would_run_code_is_refused_and_not_run(like, tmp_path):
    harm = tmp_path / "harm"
    for name, save in (("a.pt", torch.save), ("b.pt", lambda value, path: torch.save(value, path, _use_new_zipfile_serialization=False))):
        save({"model_state_dict": {"weight": torch.zeros(1), "more": Harm(harm)}}, tmp_path / name)
        with pytest.raises(InputError, match="no pickle of weights that can be read safely"):
            convert_detector(tmp_path / name, like, tmp_path / "out")
        with pytest.raises(InputError, match="no pickle of weights that can be read safely"):
            convert_pickle(tmp_path / name, tmp_path / "out.safetensors")
    (tmp_path / "c.pt").write_bytes(pickle.dumps(Harm(harm)))
    with pytest.raises(InputError, match="no pickle of weights that can be read safely"):
        convert_pickle(tmp_path / "c.pt", tmp_path / "out.safetensors")
    assert not any((tmp_path / name).exists() for name in ("harm", "out", "out.safetensors"))
    # The trap is one: read without care, it springs.
    torch.load(tmp_path / "a.pt", weights_only=False)
    assert harm.is_dir()


def test_a_folder_whose_weights_are_a_pickle_is_no_detector(like, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(like, folder)
    for file in folder.glob("*.safetensors"):
        file.unlink()
    torch.save({"weight": Harm(tmp_path / "harm")}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="safetensors"):
        load_detector(folder, labels=("human", "machine"))
    assert not (tmp_path / "harm").exists()


def test_pickled_weights_become_safetensors(tmp_path):
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=8, n_layer=1, n_head=2)).eval()
    # Input and output embeddings are one tensor under two names.
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    assert convert_pickle(tmp_path / "pytorch_model.bin", tmp_path / "model.safetensors")["tensors"] == len(model.state_dict())
    assert load_file(tmp_path / "model.safetensors").keys() == model.state_dict().keys()
    model.config.save_pretrained(tmp_path)
    (tmp_path / "pytorch_model.bin").unlink()
    again, info = GPT2LMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    ids = torch.arange(9)[None]
    with torch.no_grad():
        assert torch.equal(again.eval()(ids).logits, model(ids).logits)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    assert json.loads((tmp_path / "config.json").read_text())["vocab_size"] == 50
