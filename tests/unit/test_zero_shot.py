"""Zero-shot detectors: every measure against values worked out token by token, and the curve that calibrates it."""

import functools
import json
import math

import micro
import numpy as np
import pandas as pd
import pytest
import torch

from muattack.detect.detector import load_detector
from muattack.detect.opened import write_opened
from muattack.detect.zero_shot import MEASURES, ZeroShotDetector
from muattack.errors import InputError

TEXTS = ["a dog waits", "a dog waits on the street quietly quietly", "the cat", "dog", ""]


def gpt2(seed, spread=0.6):
    """A random GPT-2 of one layer, saved with a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = micro.folder() / f"gpt2-{seed}"
    words = ["<unk>", "<end>", "a", "the", "dog", "cat", "waits", "on", "street", "quietly"]
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="<end>")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    # Wide weights: with the usual ones all tokens would be about as likely.
    GPT2LMHeadModel(GPT2Config(vocab_size=10, n_positions=12, n_embd=8, n_layer=1, n_head=2, initializer_range=spread)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def models():
    return gpt2(1), gpt2(2)


@functools.cache
def opened(folder):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()


@functools.cache
def distributions(folder, text):
    """The probabilities (places, vocabulary) for the tokens after the first, and those tokens: one text alone, in float64."""
    tokenizer, model = opened(folder)
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = model(ids).logits[0, :-1].double()
    return torch.softmax(logits, -1).tolist(), ids[0, 1:].tolist()


def by_hand(measure, scoring, reference, text):
    """The measure as its definition says, sum by sum."""
    q, tokens = distributions(scoring, text)
    p, _ = distributions(reference, text)
    n = len(tokens)
    if measure == "log-likelihood":
        return sum(math.log(q[j][x]) for j, x in enumerate(tokens)) / n
    if measure == "log-rank":
        return -sum(math.log(sorted(q[j], reverse=True).index(q[j][x]) + 1) for j, x in enumerate(tokens)) / n
    if measure == "entropy":
        return -sum(one * math.log(one) for row in q for one in row) / n
    likelihood = sum(math.log(q[j][x]) for j, x in enumerate(tokens))
    expected = sum(one * math.log(two) for a, b in zip(p, q, strict=True) for one, two in zip(a, b, strict=True))
    if measure == "binoculars":
        return -likelihood / expected
    squares = sum(one * math.log(two) ** 2 for a, b in zip(p, q, strict=True) for one, two in zip(a, b, strict=True))
    means = sum(sum(one * math.log(two) for one, two in zip(a, b, strict=True)) ** 2 for a, b in zip(p, q, strict=True))
    return (likelihood - expected) / math.sqrt(squares - means)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_is_what_its_definition_says_whatever_it_is_padded_with(models, measure):
    reference = models[1] if measure in ("fast-detectgpt", "binoculars") else None
    detector = ZeroShotDetector(measure, str(models[0]), reference and str(reference))
    values = detector.measure(TEXTS)
    for text, value in zip(TEXTS[:3], values, strict=False):
        assert value == pytest.approx(by_hand(measure, models[0], reference or models[0], text), rel=1e-5)
    # Without a token that has another before it there is nothing to measure.
    assert np.isnan(values[3:]).all()
    np.testing.assert_allclose(detector.measure([TEXTS[1]]), values[1:2], rtol=1e-5)


def test_fast_detectgpt_samples_from_the_scoring_model_itself_unless_said(models):
    value = ZeroShotDetector("fast-detectgpt", str(models[0])).measure(TEXTS[:1])
    assert value == pytest.approx([by_hand("fast-detectgpt", models[0], models[0], TEXTS[0])], rel=1e-5)


def test_what_is_certain_has_no_curvature_and_equal_ranks_are_the_best():
    sure = torch.full((1, 2, 3), -1e4)
    sure[..., 0] = 0.0
    tokens, real = torch.zeros((1, 2), dtype=torch.long), torch.ones((1, 2), dtype=torch.bool)
    assert MEASURES["fast-detectgpt"](sure, sure, tokens, real).isnan().all()
    assert MEASURES["binoculars"](sure, sure, tokens, real).isnan().all()
    assert MEASURES["log-rank"](torch.zeros((1, 2, 3)), sure, tokens, real).tolist() == [0.0]
    # A third place is padding: nothing there counts.
    q, one = torch.randn((1, 3, 5), dtype=torch.float64), torch.tensor([[1, 2, 4]])
    for measure in MEASURES.values():
        whole = measure(q[:, :2], q[:, :2], one[:, :2], real)
        torch.testing.assert_close(measure(q, q, one, torch.tensor([[True, True, False]])), whole)


def validation(texts, labels, split="val"):
    sources = ["machine" if label else "human" for label in labels]
    return pd.DataFrame({"source": sources, "text": texts, "label": labels, "split": split})


HUMAN = ["quietly the the dog", "on a on cat", "street a street the", "cat quietly waits a"]
MACHINE = ["a dog waits", "the cat waits on", "a cat waits on the street", "the dog waits quietly"]


def test_calibration_is_on_validation_texts_and_its_folder_opens_as_a_detector(models, tmp_path):
    table = validation([*HUMAN, *MACHINE], [0] * 4 + [1] * 4)
    # Test texts and the second captioner's are not looked at.
    rest = validation(["dog dog", "cat cat"], [0, 1], "test")
    other = validation(["a a a a a"], [1]).assign(source="machine_ood")
    entry = {"use": str(models[0]), "measure": "log-likelihood"}
    folders = [tmp_path / "one", tmp_path / "two"]
    write_opened(folders[0], entry, [models[0] / "config.json", models[1] / "config.json"], pd.concat([table, rest, other]))
    write_opened(folders[1], entry, [], table)
    about, alone = (json.loads((folder / "muattack.json").read_text(encoding="utf-8")) for folder in folders)
    assert about["opened"] == alone["opened"]
    assert set(about["sha256"]) == {"gpt2-1/config.json", "gpt2-2/config.json"}
    curve = about["opened"]["calibration"]
    assert (curve["n_human"], curve["n_machine"], curve["device"], curve["dtype"]) == (4, 4, "cpu", "float32")

    detector = load_detector(folders[0], mode="none")
    machine = detector.predict([*HUMAN, *MACHINE, "", "dog"])[:, 1]
    raw = detector.measure([*HUMAN, *MACHINE])
    z = (raw - raw.mean()) / raw.std()
    np.testing.assert_allclose(machine[:8], 1 / (1 + np.exp(-curve["intercept"] - curve["slope"] * z)), rtol=1e-9)
    # The curve is where the penalised likelihood is greatest: its slope there is nothing.
    labels = np.array([0] * 4 + [1] * 4)
    assert np.sum((machine[:8] - labels) * z) + curve["slope"] == pytest.approx(0, abs=1e-3)
    # What cannot be measured gets the average text's.
    assert machine[8] == machine[9] == pytest.approx(1 / (1 + math.exp(-curve["intercept"])))
    assert detector.truncated(["a " * 12, "a " * 13]).tolist() == [False, True]


def test_what_cannot_be_calibrated_or_opened_is_told(models, tmp_path):
    entry = {"use": str(models[0]), "measure": "entropy"}
    for texts, labels, part in (
        (MACHINE, [1] * 4, "0 of people and 4"),
        (["dog", "cat"], [0, 1], "0 of people and 0"),
        (["a dog"] * 4, [0, 1] * 2, "all alike"),
    ):
        with pytest.raises(InputError, match=part):
            write_opened(tmp_path / "d", entry, [], validation(texts, labels))
    assert not (tmp_path / "d").exists()
    detector = ZeroShotDetector("entropy", str(models[0]))
    with pytest.raises(InputError, match="is not calibrated"):
        detector.predict(["a dog"])
    with pytest.raises(InputError, match=r"positions for 12 tokens.*`max_length: 12`"):
        ZeroShotDetector("entropy", str(models[0]), max_length=20)
    with pytest.raises(InputError, match="is no causal language model"):
        ZeroShotDetector("entropy", str(micro.bert()))
    with torch.no_grad():
        detector.scoring.transformer.wte.weight[2] = math.nan
    with pytest.raises(InputError, match="logits are not finite"):
        detector.measure(["a dog"])


def test_a_model_whose_weights_are_not_all_there_is_refused(models, tmp_path):
    from safetensors.torch import load_file, save_file

    for file in models[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(models[0] / "model.safetensors")
    # Masks, as the released GPT-2 holds them beside its weights.
    save_file({**weights, "transformer.h.0.attn.bias": torch.ones(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    ZeroShotDetector("entropy", str(tmp_path))
    del weights["transformer.h.0.mlp.c_fc.bias"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 missing, such as transformer\.h\.0\.mlp\.c_fc\.bias"):
        ZeroShotDetector("entropy", str(tmp_path))
