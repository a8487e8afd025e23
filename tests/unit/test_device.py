"""Where models run, and that what they are fed lies where they do. (`meta` tensors stand in for a GPU's: they have a place but no values.)"""

import micro
import numpy as np
import pytest
import torch

import muattack.device
from muattack.detect import detector as detectors
from muattack.detect import features
from muattack.detect.detector import TransformersDetector
from muattack.detect.encoder import build_classifier, load_tokenizer, locate_encoder
from muattack.device import enough_memory
from muattack.errors import InputError
from muattack.train import loop
from muattack.train.optimise import State, make_optimiser, make_schedule

TEXTS = ["a dog on the beach", "a kite", "two men ride a red bus"]


class Seen(Exception):
    """Ends a pass as soon as the model is fed."""


@pytest.fixture
def pretend(monkeypatch):
    """Let every module that places tensors take `meta` for its device."""
    for module in (detectors, features, loop):
        monkeypatch.setattr(module, "device", lambda: torch.device("meta"))


def watched(encoder):
    model = build_classifier(locate_encoder(encoder), encoder).to("meta")

    def look(module, arguments, keywords):
        fed = [*arguments, *keywords.values()]
        assert fed
        assert {one.device.type for one in fed} == {"meta"}
        raise Seen

    model.register_forward_pre_hook(look, with_kwargs=True)
    return model


def test_unset_is_the_processor_and_what_is_not_there_is_refused(monkeypatch):
    monkeypatch.delenv("MUATTACK_DEVICE", raising=False)
    assert muattack.device.device() == torch.device("cpu")
    assert muattack.device.device_name() == "cpu"
    monkeypatch.setenv("MUATTACK_DEVICE", "gpu")
    with pytest.raises(InputError, match="must be cpu or cuda"):
        muattack.device.device()
    monkeypatch.setenv("MUATTACK_DEVICE", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"sees none.*device: cpu"):
        muattack.device.device()


def test_texts_to_score_and_to_encode_are_fed_where_the_model_lies(pretend):
    encoder = micro.frozen_bert()
    tokenizer = load_tokenizer(locate_encoder(encoder))
    with pytest.raises(Seen):
        TransformersDetector(watched(encoder), tokenizer, 20, ["human", "machine"]).predict(TEXTS)
    model = build_classifier(locate_encoder(encoder), encoder).to("meta")
    model.vectors = lambda *inputs: (_ for _ in ()).throw(Seen if {one.device.type for one in inputs} == {"meta"} else AssertionError)
    with pytest.raises(Seen):
        features.vectors_of(model, tokenizer, TEXTS, 20)


def test_batches_of_training_and_their_labels_lie_where_the_model_does(pretend):
    encoder = micro.frozen_bert()
    model, tokenizer = watched(encoder), load_tokenizer(locate_encoder(encoder))
    feed = loop.TokenFeed(tokenizer, 20, 64)
    optimiser = make_optimiser(model, 0.1, 0.0)
    state = State(model, optimiser, make_schedule(optimiser, 1, 0.0))
    items = feed.prepare(TEXTS)
    labels = np.array([0, 1, 1])

    def step(feed, state, inputs, targets):
        assert {one.device.type for one in (*inputs, targets)} == {"meta"}
        return feed.forward(state.model, inputs)

    with pytest.raises(Seen):
        loop.fit(state, feed, lambda epoch: items, labels, items[0], labels, 1, "val_loss", 1, step)
    vectors = loop.VectorFeed(model, tokenizer, 20, 2, None)
    assert [one.device.type for one in vectors.inputs(torch.zeros(3, 4), [0, 2])] == ["meta"]


def test_a_gpu_that_is_too_small_is_told_with_what_it_has(monkeypatch):
    for name, value in (("mem_get_info", (2**30, 8 * 2**30)), ("max_memory_allocated", 7 * 2**30), ("get_device_name", "Small")):
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    with pytest.raises(InputError) as told, enough_memory("training.token_budget"):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of ...")
    said = str(told.value)
    assert all(
        part in said for part in ("Small, 8.0 GiB", "held 7.0 GiB and needed 2.50 GiB more", "1.0 GiB were free", "Lower training.token_budget")
    )


@pytest.mark.gpu
def test_a_gpu_gives_the_processors_scores(monkeypatch):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU here")
    encoder = micro.frozen_bert()
    tokenizer = load_tokenizer(locate_encoder(encoder))
    scores = {}
    for where in ("cpu", "cuda"):
        monkeypatch.setenv("MUATTACK_DEVICE", where)
        torch.manual_seed(1)
        scores[where] = TransformersDetector(build_classifier(locate_encoder(encoder), encoder), tokenizer, 20, ["human", "machine"]).predict(TEXTS)
    assert np.allclose(scores["cpu"], scores["cuda"], atol=1e-4)
