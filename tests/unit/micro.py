"""Micro models and captions that a test can train in a moment: one layer of 16 or 32 units."""

import atexit
import copy
import functools
import shutil
import tempfile
from pathlib import Path

import pandas as pd
import torch

from muattack.config import read_config
from muattack.train.pretrain import pretrain_encoder

THINGS = ("dog", "cat", "bus", "kite", "boy", "girl", "pizza", "train", "horse", "bench")
PLACES = ("street", "field", "beach", "table", "room")


def captions(images: int = 20, val: int = 5, test: int = 5) -> pd.DataFrame:
    """Captions in which the machine's say 'standing' where people's say 'waits': easy to tell apart."""
    rows = []
    for image in range(images):
        split = "train" if image < images - val - test else "val" if image < images - test else "test"
        for source, verb in (("human", "waits"), ("machine", "standing"), ("machine_ood", "sitting")):
            for k in range(2):
                words = ["a", THINGS[(image + k) % 10], verb, "on", "the", PLACES[(3 * image + k) % 5], *(["quietly"] * (image % 3))]
                rows.append((f"{source}-{image}-{k}", str(image), source, " ".join(words), int(source != "human"), split))
    table = pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"])
    return table.sort_values("source", kind="stable", ignore_index=True).astype({"label": "int8"})


def settings(**training) -> dict:
    """The default configuration, with an encoder of one layer of 32 units and small batches."""
    config = copy.deepcopy(read_config())
    config["encoders"]["tiny"]["pretrain"].update(
        layers=1, width=32, heads=2, vocabulary=320, epochs=30, learning_rate=0.005, token_budget=256, dropout=0.0
    )
    config["training"].update({"epochs": 6, "token_budget": 128, "learning_rate": 0.01, **training})
    config["training"]["classifier"].update(epochs=30, batch_size=16, learning_rate=0.01)
    return config


def folder() -> Path:
    """Return a new folder that is gone when the tests end."""
    made = tempfile.mkdtemp(prefix="muattack-micro-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@functools.cache
def tiny() -> Path:
    """Return the folder of a pretrained micro encoder of RoBERTa's shape."""
    encoder = folder() / "encoder"
    pretrain_encoder(captions(), settings()["encoders"]["tiny"], encoder, seed=1)
    return encoder


@functools.cache
def bert() -> Path:
    """Return the folder of a micro BERT with a vocabulary of the captions' words: random weights, WordPiece, like MiniLM."""
    made = folder() / "bert"
    made.mkdir()
    words = sorted({word for text in captions()["text"] for word in text.split()})
    (made / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]), encoding="utf-8")
    from transformers import BertConfig, BertModel, BertTokenizerFast

    BertTokenizerFast(str(made / "vocab.txt"), model_max_length=50).save_pretrained(made)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}
    BertModel(BertConfig(vocab_size=5 + len(words), **shape)).save_pretrained(made)
    return made


def frozen_bert() -> dict:
    """An encoder entry: the micro BERT, frozen, mean-pooled."""
    return {"source": "huggingface", "path": str(bert()), "pooling": "mean", "trainable": "classifier", "max_length": 50}
