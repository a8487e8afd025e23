"""Training a detector: reproducible bytes, frozen encoders, RR-draws, what cannot be trained on."""

import copy
import json

import micro
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from muattack.detect.detector import load_detector
from muattack.detect.encoder import build_classifier, load_tokenizer, tokenise
from muattack.detect.features import encode_texts, texts_to_train_on
from muattack.errors import InputError
from muattack.records import write_records
from muattack.train.adversarial import make_step
from muattack.train.batches import pad, shuffled_batches
from muattack.train.loop import State, TokenFeed, fit, plain_step, train_detector
from muattack.train.optimise import make_optimiser, make_schedule

CONFIG = micro.settings()
TINY = CONFIG["encoders"]["tiny"]


def train(folder, detector=None, encoder=TINY, captions=None, training=None, **options):
    train_detector(
        micro.captions() if captions is None else captions,
        encoder,
        micro.tiny() if encoder["source"] == "pretrain" else None,
        training or CONFIG["training"],
        detector or {},
        folder,
        options.pop("seed", 1),
        **options,
    )
    return folder


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def auc(folder, captions):
    test = captions.query("split == 'test' and source != 'machine_ood'")
    return roc_auc_score(test["label"], load_detector(folder).predict(test["text"].tolist())[:, -1])


def test_equal_settings_give_equal_bytes_and_the_classes_are_learnt(tmp_path):
    captions = micro.captions(40)
    first, second = (content(train(tmp_path / name, {"rr": 0.3}, captions=captions)) for name in ("rr", "rr_m0.3"))
    assert first == second
    assert auc(tmp_path / "rr", captions) > 0.9
    assert content(train(tmp_path / "seed", {"rr": 0.3}, captions=captions, seed=2))["model.safetensors"] != first["model.safetensors"]
    assert not [name for name in first if name.endswith((".bin", ".pt", ".pkl"))]
    assert not any(str(tmp_path).encode() in data or str(micro.tiny()).encode() in data for data in first.values())


def test_each_setting_makes_another_detector(tmp_path):
    weights = {}
    for name, detector in {"finetune": {}, "rr": {"rr": 0.5}, "dropout": {"dropout": 0.5}, "both": {"rr": 0.5, "dropout": 0.5}}.items():
        weights[name] = content(train(tmp_path / name, detector))["model.safetensors"]
    assert len(set(weights.values())) == 4
    config = json.loads((tmp_path / "dropout" / "config.json").read_text())
    assert config["classifier_dropout"] == 0.5
    assert json.loads((tmp_path / "finetune" / "config.json").read_text())["classifier_dropout"] == 0.0


def test_transformers_opens_the_folder_and_gives_the_same_scores(tmp_path):
    folder = train(tmp_path / "d")
    texts = micro.captions()["text"].tolist()[:40]
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    assert model.config.id2label == {0: "human", 1: "machine"}
    with torch.inference_mode():
        logits = model(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")).logits
    assert np.allclose(torch.softmax(logits.double(), -1).numpy(), load_detector(folder).predict(texts), atol=1e-6)


def test_history_and_meta_say_which_epoch_was_best(tmp_path):
    folder = train(tmp_path / "d")
    history, meta = (json.loads((folder / name).read_text()) for name in ("history.json", "meta.json"))
    aucs = [row["val_auc"] for row in history]
    assert [row["epoch"] for row in history] == list(range(1, CONFIG["training"]["epochs"] + 1))
    assert meta["best_epoch"] == 1 + aucs.index(max(aucs))
    assert meta["texts_train"] == 40
    assert meta["texts_val"] == 20
    assert meta["share_truncated_train"] == 0
    # The weights on disk are those of that epoch.
    val = micro.captions().query("split == 'val' and source != 'machine_ood'")
    assert roc_auc_score(val["label"], load_detector(folder).predict(val["text"].tolist())[:, -1]) == pytest.approx(max(aucs))


def test_padding_to_50_changes_nothing_but_time():
    tokenizer = load_tokenizer(micro.tiny())
    table = micro.captions().query("split == 'train' and source != 'machine_ood'")
    tokens, _ = tokenise(tokenizer, table["text"].tolist(), 50)
    labels = torch.from_numpy(table["label"].to_numpy(dtype=np.int64))
    batches = shuffled_batches([len(one) for one in tokens], 128, np.random.default_rng(0))
    losses = {}
    for length in (None, 50):
        torch.manual_seed(0)
        model = build_classifier(micro.tiny(), TINY).train()
        optimiser = make_optimiser(model, 0.01, 0.01)
        state = State(model, optimiser, make_schedule(optimiser, len(batches), 0.1))
        feed = TokenFeed(tokenizer, 50, 128)
        losses[length] = [plain_step(feed, state, pad([tokens[i] for i in batch], 1, length), labels[batch]) for batch in batches]
    assert losses[None] == pytest.approx(losses[50], abs=1e-4)


def test_a_frozen_encoder_stays_as_it_is_and_is_not_copied(tmp_path):
    encoder = micro.frozen_bert()
    folder = train(tmp_path / "d", encoder=encoder)
    assert not (folder / "model.safetensors").exists()
    assert json.loads((folder / "meta.json").read_text())["parameters_trained"] == 16 * 16 + 16 + 2 * 16 + 2
    fresh, opened = build_classifier(micro.bert(), encoder), load_detector(folder).model
    for name, weight in fresh.body.state_dict().items():
        assert torch.equal(weight, opened.body.state_dict()[name])
    assert not torch.equal(fresh.head.dense.weight, opened.head.dense.weight)


def test_features_give_the_same_detector_as_encoding_on_the_fly(tmp_path):
    encoder, captions = micro.frozen_bert(), micro.captions()
    detector = {"rr": 0.5}
    texts = texts_to_train_on(captions, None, [("captions", 0.5)], CONFIG["training"]["classifier"]["draws"], 1)
    shards = []
    for shard in range(2):
        shards.append(tmp_path / f"{shard}.parquet")
        write_records(shards[-1], *encode_texts(texts, encoder, shard=shard, shards=2))
    train(tmp_path / "cached", detector, encoder, features=shards)
    train(tmp_path / "direct", detector, encoder)
    test = captions["text"].tolist()
    cached, direct = (load_detector(tmp_path / name).predict(test) for name in ("cached", "direct"))
    assert np.allclose(cached, direct, atol=1e-4)
    assert not np.allclose(cached[:, 1], cached[0, 1])


def test_a_frozen_encoder_with_its_own_head_opens_in_transformers(tmp_path):
    encoder = {**TINY, "trainable": "classifier"}
    folder = train(tmp_path / "d", encoder=encoder)
    model, fresh = AutoModelForSequenceClassification.from_pretrained(folder), build_classifier(micro.tiny(), encoder).model
    for name, weight in fresh.roberta.state_dict().items():
        assert torch.equal(weight, model.roberta.state_dict()[name]), name
    assert not torch.equal(model.classifier.dense.weight, fresh.classifier.dense.weight)
    texts = micro.captions()["text"].tolist()[:10]
    with torch.inference_mode():
        logits = model.eval()(**AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")).logits
    assert np.allclose(torch.softmax(logits.double(), -1).numpy(), load_detector(folder).predict(texts), atol=1e-6)


def test_a_mean_pooled_encoder_trained_through_is_saved_beside_its_head(tmp_path):
    encoder = {**micro.frozen_bert(), "trainable": "all"}
    folder = train(tmp_path / "d", encoder=encoder)
    opened = load_detector(folder).model.body.state_dict()
    fresh = build_classifier(micro.bert(), encoder).body.state_dict()
    assert (folder / "model.safetensors").exists()
    assert any(not torch.equal(fresh[name], opened[name]) for name in fresh)
    assert auc(folder, micro.captions()) > 0.9


@pytest.mark.parametrize("draws", [1, 2, None])
def test_draws_may_remove_everything_and_cached_draws_are_cycled(tmp_path, draws, monkeypatch):
    training = copy.deepcopy(CONFIG["training"])
    training["rr"]["draws"] = draws
    training["epochs"] = 3
    seen = []
    monkeypatch.setattr("muattack.train.loop.draw_captions", lambda texts, ids, m, seed, number: seen.append(number) or [""] * len(texts))
    folder = train(tmp_path / "d", {"rr": 1.0}, training=training)
    assert seen == {1: [0], 2: [0, 1], None: [0, 1, 2]}[draws]
    assert np.isfinite(load_detector(folder).predict(["", "a dog"])).all()


def test_training_starts_from_another_detector(tmp_path):
    base = train(tmp_path / "base")
    training = copy.deepcopy(CONFIG["training"])
    training.update(epochs=1, learning_rate=1e-9)
    on = train(tmp_path / "on", {"start": "base", "dropout": 0.3}, training=training, start=base)
    texts = micro.captions()["text"].tolist()
    assert np.allclose(load_detector(on).predict(texts), load_detector(base).predict(texts), atol=1e-5)
    assert json.loads((on / "config.json").read_text())["classifier_dropout"] == 0.3
    frozen = train(tmp_path / "frozen", encoder=micro.frozen_bert())
    training["classifier"].update(epochs=1, learning_rate=1e-9)
    again = train(tmp_path / "again", encoder=micro.frozen_bert(), training=training, start=frozen)
    assert np.allclose(load_detector(again).predict(texts), load_detector(frozen).predict(texts), atol=1e-5)
    with pytest.raises(InputError, match="pooling"):
        train(tmp_path / "wrong", encoder=micro.frozen_bert(), start=base)


def test_splits_that_cannot_be_trained_on(tmp_path):
    captions = micro.captions()
    with pytest.raises(InputError, match=r"both classes.*20 of label 1"):
        train(tmp_path / "one", captions=captions.query("source != 'human'"))
    with pytest.raises(InputError, match="validation split is empty"):
        train(tmp_path / "none", captions=captions.query("split != 'val'"))
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        train(tmp_path / "m", {"rr": 1.5})
    assert not list(tmp_path.iterdir())


def test_one_class_in_validation_means_no_auc_and_the_loss_decides(tmp_path):
    folder = train(tmp_path / "d", captions=micro.captions().query("split != 'val' or source == 'human'"))
    assert [row["val_auc"] for row in json.loads((folder / "history.json").read_text())] == [None] * CONFIG["training"]["epochs"]
    assert "undefined" in json.loads((folder / "meta.json").read_text())["best_by"]


def test_a_loss_that_is_not_finite_stops_training(tmp_path):
    training = {**CONFIG["training"], "learning_rate": 1e30}
    with pytest.raises(InputError, match=r"not finite.*learning_rate"):
        train(tmp_path / "d", training=training)
    assert not (tmp_path / "d").exists()


def test_a_detector_normalises_texts_as_its_training_texts_were(tmp_path):
    folder = train(tmp_path / "d", mode="paper")
    detector = load_detector(folder)
    assert np.array_equal(detector.predict(["A dog waits on the sofa."]), detector.predict(["a dog waits on the sofa"]))
    as_it_is = load_detector(folder, mode="none")
    assert not np.array_equal(as_it_is.predict(["A dog waits on the sofa."]), as_it_is.predict(["a dog waits on the sofa"]))


# Words that the micro encoder knows.
TOPICS = {"World": "dog", "Sports": "kite", "Business": "bus", "Science": "pizza"}


def topics(names=tuple(TOPICS), rows=30, source="news"):
    """Texts of as many classes, told apart by one word; every third row for validation."""
    table = [
        (
            f"{source}-train-{len(names) * row + label}",
            source,
            f"a {TOPICS[name]} on the {micro.PLACES[row % 5]}",
            label,
            "val" if row % 3 == 2 else "train",
        )
        for row in range(rows)
        for label, name in enumerate(names)
    ]
    return pd.DataFrame(table, columns=["id", "source", "text", "label", "split"]).astype({"label": "int8"})


def classify(folder, table, labels, kind="own head"):
    """Train a classifier of topics: the architecture's own head, or ours on a frozen encoder's mean."""
    training = copy.deepcopy(CONFIG["training"])
    training.update(learning_rate=0.003, epochs=15)
    training["classifier"].update(learning_rate=0.05, epochs=40)
    return train(folder, captions=table, labels=labels, encoder=TINY if kind == "own head" else micro.frozen_bert(), training=training)


@pytest.mark.parametrize("kind", ["own head", "frozen"])
def test_a_classifier_of_four_topics_keeps_the_order_of_its_labels(tmp_path, kind):
    table = topics()
    folder = classify(tmp_path / "d", table, list(TOPICS), kind)
    opened = load_detector(folder)
    assert opened.labels == tuple(TOPICS)
    scores = opened.predict(table["text"].tolist())
    assert scores.shape == (120, 4)
    # Chance is 1/4, and labels in another order would be below it. (First weights differ between versions of transformers; with some of
    # them so small a model takes two topics for one.)
    assert (scores.argmax(1) == table["label"]).mean() >= (0.5 if kind == "own head" else 1)
    history, meta = (json.loads((folder / name).read_text()) for name in ("history.json", "meta.json"))
    assert meta["best_by"].startswith("accuracy")
    assert meta["texts_by_class_train"] == dict.fromkeys(TOPICS, 20)
    assert meta["labels"] == list(TOPICS)
    accuracies = [row["val_accuracy"] for row in history]
    assert meta["best_epoch"] == 1 + accuracies.index(max(accuracies))
    val = table.query("split == 'val'")
    assert max(accuracies) == (opened.predict(val["text"].tolist()).argmax(1) == val["label"]).mean()
    assert {row["val_auc"] for row in history} == {None}
    if kind == "own head":
        assert json.loads((folder / "config.json").read_text())["id2label"] == {str(index): name for index, name in enumerate(TOPICS)}


def test_two_classes_of_other_names_have_an_auc_and_no_machine(tmp_path):
    names = ["Sports", "World"]
    folder = classify(tmp_path / "d", topics(names), names)
    assert json.loads((folder / "meta.json").read_text())["best_by"] == "auc"
    scores = load_detector(folder).predict(["a kite kite on the beach", "a dog dog on the beach"])
    assert (scores[0] > scores[1]).tolist() == [True, False]
    # A class that happens to be called machine does not move: column i belongs to label i.
    same = classify(tmp_path / "m", topics(names), ["machine", "human"])
    assert np.array_equal(load_detector(same).predict(["a kite kite on the beach", "a dog dog on the beach"]), scores)
    with pytest.raises(InputError, match=r"Sports, World apart, this one human, machine"):
        train(tmp_path / "on", start=folder)


def test_every_row_of_a_data_set_is_trained_on_whatever_its_source(tmp_path):
    for source in ("news", "machine_ood"):
        train(tmp_path / source, captions=topics(source=source), labels=list(TOPICS))
    assert content(tmp_path / "news") == content(tmp_path / "machine_ood")


def test_classes_that_are_missing_or_too_many(tmp_path):
    table = topics()
    with pytest.raises(InputError, match=r"all classes.*20 of label 0 World, 0 of label 1 Sports"):
        train(tmp_path / "d", captions=table[(table["label"] != 1) | (table["split"] == "val")], labels=list(TOPICS))
    with pytest.raises(InputError, match=r"news-train-3 has the label 3, but there are 3 classes"):
        train(tmp_path / "d", captions=table, labels=list(TOPICS)[:3])
    assert not list(tmp_path.iterdir())


class OneByOne(TokenFeed):
    """Batches of two texts, in order; or all in one."""

    def __init__(self, tokenizer, size: int) -> None:
        super().__init__(tokenizer, 50, 10_000)
        self.size = size

    def batches(self, items, random):
        return [list(range(start, min(start + self.size, len(items)))) for start in range(0, len(items), self.size)]


@pytest.mark.parametrize("method", [None, "freelb", "pgd_k"])
def test_batches_that_are_added_up_move_the_weights_as_one(method):
    captions = micro.captions().query("source != 'machine_ood'").iloc[:10]
    labels = captions["label"].to_numpy(dtype=np.int64)
    # Without an initial perturbation, whose draws belong to batches, the ways differ in rounding only.
    settings = {"method": method, "steps": 2, "step_size": 0.5, "initial_magnitude": 0.0, "max_norm": 1.0}
    found = {}
    for size, batch_size in ((2, 10), (2, 4), (10, None), (2, None)):
        tokenizer = load_tokenizer(micro.tiny())
        torch.manual_seed(0)
        model = build_classifier(micro.tiny(), TINY)
        optimiser = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], lr=0.5)
        state = State(model, optimiser, make_schedule(optimiser, 10, 0.0))
        feed = OneByOne(tokenizer, size)
        items = feed.prepare(captions["text"].tolist())
        step = make_step(settings) if method else plain_step
        fit(state, feed, lambda epoch, items=items: items, labels, items[0], labels, 1, "val_loss", 1, step, batch_size=batch_size)
        found[size, batch_size] = torch.cat([weight.detach().flatten() for weight in model.parameters()])
        assert state.schedule.last_epoch == {(2, 10): 1, (2, 4): 3, (10, None): 1, (2, None): 5}[size, batch_size]
    one = found[10, None]
    assert torch.allclose(found[2, 10], one, atol=1e-5)
    assert not torch.allclose(found[2, 4], one, atol=1e-4)
    assert not torch.allclose(found[2, None], one, atol=1e-4)


def test_steps_are_counted_and_layers_compiled_where_the_configuration_says_so(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **options: compiled.append((type(self).__name__, options)))
    train(tmp_path / "d", training={**CONFIG["training"], "epochs": 2, "batch_size": 20, "compile": True})
    # 40 texts of people and of the captioner, batches of some nine texts.
    assert json.loads((tmp_path / "d" / "meta.json").read_text())["updates"] == 4
    assert compiled == [("RobertaLayer", {"dynamic": True})]


@pytest.mark.slow
def test_compiled_layers_give_the_same_losses(tmp_path):
    plain = {**CONFIG["training"], "epochs": 2}
    histories = [json.loads((train(tmp_path / str(on), training={**plain, "compile": on}) / "history.json").read_text()) for on in (False, True)]
    for one, other in zip(*histories, strict=True):
        assert other["train_loss"] == pytest.approx(one["train_loss"], rel=1e-4)


def test_attention_is_the_kernel_of_torch():
    for encoder in (TINY, {**TINY, "pooling": "mean"}):
        assert build_classifier(micro.tiny(), encoder).config._attn_implementation == "sdpa"
