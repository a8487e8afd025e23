"""The encoder pretrained in the run: tokenizer, masking, loss, files."""

import hashlib
import json
import subprocess
import sys

import micro
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from muattack.errors import InputError
from muattack.train.batches import pad
from muattack.train.pretrain import mask_tokens, pretrain_encoder
from muattack.train.tokenizer import train_tokenizer

SCRIPT = """
import hashlib, sys
from muattack.train.tokenizer import train_tokenizer
assert "torch" not in sys.modules
print(hashlib.sha256(train_tokenizer(sys.argv[1].splitlines(), 350).to_str().encode()).hexdigest())
"""


def test_tokenizer_is_the_same_in_every_process():
    texts = micro.captions()["text"].tolist()
    here = hashlib.sha256(train_tokenizer(texts, 350).to_str().encode()).hexdigest()
    for seed, parallel in (("1", "true"), ("2", "false")):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "TOKENIZERS_PARALLELISM": parallel}
        command = [sys.executable, "-c", SCRIPT, "\n".join(texts)]
        assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip() == here


def test_tokenizer_covers_everything_and_opens_by_itself():
    tokenizer = AutoTokenizer.from_pretrained(micro.tiny())
    for text in ("a dog waits", "α ϵ", "狗 🐶", "\u200b", "<b>"):
        ids = tokenizer(text)["input_ids"]
        assert ids[0] == tokenizer.bos_token_id
        assert ids[-1] == tokenizer.eos_token_id
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids, skip_special_tokens=True).strip() == text.strip()
    assert len(tokenizer) <= 320
    # The first word is without a blank, in every version of transformers.
    assert [tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])[1] for text in ("a dog", " a dog")] == ["a", "Ġa"]


def test_masking_follows_bert():
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 300, (400, 50))
    real = torch.ones_like(ids, dtype=torch.bool)
    real[:, 0] = False
    masked, positions = mask_tokens(ids, real, 0.15, 4, 300, 5, random)
    assert len(positions) / real.sum() == pytest.approx(0.15, abs=0.01)
    assert not (positions % 50 == 0).any()
    untouched = torch.ones(ids.numel(), dtype=torch.bool)
    untouched[positions] = False
    assert (masked.view(-1)[untouched] == ids.view(-1)[untouched]).all()
    chosen = masked.view(-1)[positions]
    assert (chosen == 4).float().mean() == pytest.approx(0.8, abs=0.03)
    assert (chosen == ids.view(-1)[positions]).float().mean() == pytest.approx(0.1, abs=0.03)
    assert chosen.min() >= 4
    # Even a batch too short for its share has something to learn.
    assert len(mask_tokens(ids[:1, :2], real[:1, :2], 1e-9, 4, 300, 5, random)[1]) == 1


def test_loss_over_gathered_positions_is_the_whole_models():
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(micro.tiny()).eval(), AutoTokenizer.from_pretrained(micro.tiny())
    ids, mask = pad(tokenizer(micro.captions()["text"].tolist()[:8])["input_ids"], tokenizer.pad_token_id)
    masked, positions = mask_tokens(ids, mask.bool() & (ids >= 5), 0.3, tokenizer.mask_token_id, len(tokenizer), 5, torch.Generator().manual_seed(3))
    labels = torch.full_like(ids, -100).view(-1)
    labels[positions] = ids.view(-1)[positions]
    whole = model(input_ids=masked, attention_mask=mask, labels=labels.view_as(ids)).loss
    states = model.roberta(input_ids=masked, attention_mask=mask).last_hidden_state.flatten(0, 1)[positions]
    assert torch.allclose(torch.nn.functional.cross_entropy(model.lm_head(states), ids.view(-1)[positions]), whole, atol=1e-6)


def test_two_runs_give_the_same_bytes_and_the_loss_falls(tmp_path):
    encoder = micro.settings()["encoders"]["tiny"]
    pretrain_encoder(micro.captions(), encoder, tmp_path / "again", seed=1)
    names = sorted(path.name for path in micro.tiny().iterdir())
    assert names == sorted(path.name for path in (tmp_path / "again").iterdir())
    for name in names:
        assert (micro.tiny() / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    pretrain_encoder(micro.captions(), encoder, tmp_path / "other", seed=2)
    assert (micro.tiny() / "model.safetensors").read_bytes() != (tmp_path / "other" / "model.safetensors").read_bytes()
    losses = [row["loss"] for row in json.loads((micro.tiny() / "history.json").read_text())]
    assert losses[-1] < losses[0]


def test_what_cannot_be_trained_is_told(tmp_path):
    encoder = micro.settings()["encoders"]["tiny"]
    with pytest.raises(InputError, match="no text in the split"):
        pretrain_encoder(micro.captions().query("split == 'test'"), encoder, tmp_path / "x", seed=1)
    encoder["pretrain"]["heads"] = 3
    with pytest.raises(InputError, match="multiple of its heads"):
        pretrain_encoder(micro.captions(), encoder, tmp_path / "x", seed=1)


def test_the_ood_captioners_texts_are_not_pretrained_on(tmp_path):
    captions = micro.captions()
    other = captions.copy()
    other.loc[other.source == "machine_ood", "text"] = "zebras zigzag"
    settings = micro.settings()["encoders"]["tiny"]
    settings["pretrain"]["epochs"] = 1
    for name, table in (("one", captions), ("other", other)):
        pretrain_encoder(table, settings, tmp_path / name, 1)
    assert (tmp_path / "one" / "model.safetensors").read_bytes() == (tmp_path / "other" / "model.safetensors").read_bytes()
    assert (tmp_path / "one" / "tokenizer.json").read_bytes() == (tmp_path / "other" / "tokenizer.json").read_bytes()


def test_a_data_set_is_pretrained_on_whole(tmp_path):
    settings = micro.settings()["encoders"]["tiny"]
    settings["pretrain"]["epochs"] = 1
    captions = micro.captions()
    pretrain_encoder(captions.assign(source="news"), settings, tmp_path / "e", 1, labels=["World", "Sports"])
    assert json.loads((tmp_path / "e" / "meta.json").read_text())["texts"] == (captions["split"] == "train").sum()
