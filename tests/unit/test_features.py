"""Features of a frozen encoder: each text once, the same to the bit however the work is shared out."""

import micro
import numpy as np
import pandas as pd
import pytest
import torch

from muattack.detect.encoder import load_encoder, load_tokenizer
from muattack.detect.features import encode_texts, load_features, texts_to_score, texts_to_train_on
from muattack.errors import InputError
from muattack.records import write_records
from muattack.train.rr import draw_captions

TEXTS = micro.captions()["text"].tolist()


def encoded(folder, shards, texts=TEXTS):
    paths = []
    for shard in range(shards):
        paths.append(folder / f"{shards}-{shard}.parquet")
        write_records(paths[-1], *encode_texts(texts, micro.frozen_bert(), shard=shard, shards=shards))
    return load_features(paths)


def test_every_distinct_text_has_its_vector(tmp_path):
    features = encoded(tmp_path, 2)
    assert len(features.row) == len(set(TEXTS)) == len(features.vectors)
    rows = features.rows([*TEXTS, "never seen"])
    assert rows[-1] == -1
    assert (rows[:-1] >= 0).all()
    encoder, tokenizer = load_encoder(micro.bert()), load_tokenizer(micro.bert())
    for text in TEXTS[:5]:
        with torch.inference_mode():
            expected = encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
        assert np.allclose(features.vectors[features.row[text]], expected, atol=1e-5)


def test_the_number_of_shards_changes_no_bit(tmp_path, monkeypatch):
    monkeypatch.setattr("muattack.detect.features.TOKEN_BUDGET", 64)
    one, three = encoded(tmp_path, 1), encoded(tmp_path, 3, TEXTS[::-1])
    assert one.row.keys() == three.row.keys()
    for text in one.row:
        assert np.array_equal(one.vectors[one.row[text]], three.vectors[three.row[text]])


def test_more_shards_than_batches_leave_empty_ones(tmp_path):
    features = encoded(tmp_path, 4, ["a dog", "a cat"])
    assert len(features.row) == 2


def test_shards_of_different_encoders_do_not_mix(tmp_path):
    table, meta = encode_texts(TEXTS, micro.frozen_bert())
    write_records(tmp_path / "a.parquet", table, meta)
    write_records(tmp_path / "b.parquet", table, {**meta, "encoder": {"sha256": "other"}})
    with pytest.raises(InputError, match="2 encoders"):
        load_features([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_collected_texts_are_all_that_detectors_see(tmp_path):
    captions = micro.captions()
    base = captions[captions["source"] != "machine_ood"].assign(text=lambda table: "base " + table["text"], id=lambda table: "base-" + table["id"])
    mutants = pd.DataFrame({"id": ["machine-0-0"], "text": ["a dog"], "mutated": ["α dog"]})
    write_records(tmp_path / "mcr.parquet", mutants, {})
    wanted = [("base", 0.5), ("captions", 0.3), ("captions", 0.8)]
    tested = texts_to_score(captions, [tmp_path / "mcr.parquet"])
    assert set(tested) == {"α dog", *captions.text[captions.split == "test"]}
    texts = texts_to_train_on(captions, base, wanted, 2, 1)
    assert texts == sorted(set(texts), key=lambda text: (len(text), text))
    assert set(base.text[base.split != "test"]) <= set(texts)
    assert set(captions.text[(captions.source != "machine_ood") & (captions.split != "test")]) <= set(texts)
    train = captions.query("split == 'train' and source != 'machine_ood'")
    for m in (0.3, 0.8):
        for number in (0, 1):
            assert set(draw_captions(train["text"].tolist(), train["id"].tolist(), m, 1, number)) <= set(texts)
    assert texts_to_train_on(captions.sample(frac=1, random_state=0), base, wanted[::-1], 2, 1) == texts
    fewer = texts_to_train_on(captions, base, wanted, None, 1)
    assert set(fewer) < set(texts)


def test_ood_captions_outside_the_test_split_change_no_training_text():
    captions = micro.captions()
    other = captions.copy()
    other.loc[(other.source == "machine_ood") & (other.split != "test"), "text"] = "never to be seen"
    assert texts_to_train_on(captions, None, [("captions", 0.5)], 2, 1) == texts_to_train_on(other, None, [("captions", 0.5)], 2, 1)
