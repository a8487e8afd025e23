"""Opening a classifier to score the probability of one class."""

import micro
import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from muattack.detect.positive import open_positive
from muattack.errors import InputError


@pytest.fixture
def foreign(tmp_path):
    """A classifier in Hugging Face format that says nothing of a machine: three random outputs."""
    folder = tmp_path / "foreign"
    AutoTokenizer.from_pretrained(micro.bert()).save_pretrained(folder)
    torch.manual_seed(1)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}
    vocabulary = len((micro.bert() / "vocab.txt").read_text().split("\n"))
    BertForSequenceClassification(BertConfig(vocab_size=vocabulary, num_labels=3, **shape)).save_pretrained(folder)
    return folder


def test_the_column_is_that_of_the_class(foreign):
    texts = ["a dog on the street", "two boys", "a kite"]
    names = ["fair", "unfair", "unclear"]
    columns = [open_positive(foreign, names, name)[0](texts) for name in names]
    assert np.allclose(np.sum(columns, axis=0), 1)
    tokenizer, model = AutoTokenizer.from_pretrained(foreign), BertForSequenceClassification.from_pretrained(foreign).eval()
    with torch.inference_mode():
        wanted = torch.softmax(model(**tokenizer(texts, return_tensors="pt", padding=True)).logits, -1).numpy()
    assert np.allclose(np.stack(columns, axis=1), wanted, atol=1e-6)
    assert open_positive(foreign, names, "fair")[1](["dog " * 100, "dog"]).tolist() == [True, False]


def test_an_unknown_class_is_named(foreign):
    with pytest.raises(InputError, match="has no class `good`; it knows fair, unfair, unclear"):
        open_positive(foreign, ["fair", "unfair", "unclear"], "good")


def test_a_function_says_itself_what_it_finds(tmp_path, monkeypatch):
    (tmp_path / "my_scores.py").write_text("def score(texts):\n    return [[1 - len(text) / 10, len(text) / 10] for text in texts]\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert open_positive("my_scores:score")[0](["ab", "abc"]).tolist() == [0.2, 0.3]
