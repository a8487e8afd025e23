"""Train a detector or a classifier: AdamW, cross-entropy, batches by token budget, the best epoch by validation."""

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from muattack.detect.detector import DESCRIPTION, distinct, load_detector, save_detector
from muattack.detect.encoder import LABELS, OwnHeadClassifier, build_classifier, compile_layers, load_tokenizer, locate_encoder, of_the_run, tokenise
from muattack.detect.features import Features, load_features, vectors_of
from muattack.device import device, enough_memory
from muattack.errors import InputError
from muattack.evaluate.auc import auc_value
from muattack.progress import progress
from muattack.records import sha256, write_json
from muattack.seeds import digest
from muattack.train.adversarial import adversarial_facts, embedding_norm, make_step
from muattack.train.batches import cut_by_budget, in_steps, pad, shuffled_batches, to_device
from muattack.train.optimise import State, backward, batch_loss, make_optimiser, make_schedule, run_facts, take_step
from muattack.train.resume import Checkpoint, digest_of, first_weights, pack, unpack
from muattack.train.rr import draw_captions, exact_share

# --- What a model is fed with -----------------------------------------------------------------------------------------


class TokenFeed:
    """Texts as tokens, for a model whose encoder runs in every step."""

    def __init__(self, tokenizer, max_length: int, token_budget: int) -> None:
        self.tokenizer, self.max_length, self.token_budget = tokenizer, max_length, token_budget

    def prepare(self, texts: Sequence[str]) -> tuple[list[list[int]], np.ndarray]:
        """Return one item a text, and which texts were cut."""
        return tokenise(self.tokenizer, texts, self.max_length)

    def batches(self, items: list[list[int]], random: np.random.Generator | None) -> list[list[int]]:
        """Return random batches of positions; by rising length when there is no generator."""
        lengths = [len(item) for item in items]
        if random is None:
            return cut_by_budget(sorted(range(len(items)), key=lengths.__getitem__), lengths, self.token_budget)
        return shuffled_batches(lengths, self.token_budget, random)

    def inputs(self, items: list[list[int]], batch: list[int]) -> tuple[torch.Tensor, ...]:
        """Return token ids and attention mask of a batch."""
        return pad([items[i] for i in batch], self.tokenizer.pad_token_id, device=device())

    def forward(self, model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return logits (n, classes)."""
        return model(*inputs)


class VectorFeed:
    """Texts as the vectors of a frozen encoder: from the cache, and encoded here where it lacks a text."""

    def __init__(self, model: torch.nn.Module, tokenizer, max_length: int, batch_size: int, cache: Features | None) -> None:
        self.model, self.tokenizer, self.max_length, self.batch_size, self.cache = model, tokenizer, max_length, batch_size, cache
        self.encoded = 0

    def prepare(self, texts: Sequence[str]) -> tuple[torch.Tensor, np.ndarray]:
        """Return vectors (n, width), and which texts were cut."""
        rows = self.cache.rows(texts) if self.cache else np.full(len(texts), -1)
        vectors = np.empty((len(texts), self.model.config.hidden_size), dtype=np.float32)
        truncated = np.zeros(len(texts), dtype=bool)
        known = rows >= 0
        if known.any():
            vectors[known], truncated[known] = self.cache.vectors[rows[known]], self.cache.truncated[rows[known]]
        missing = np.flatnonzero(~known)
        if len(missing):
            unique, inverse = distinct([texts[i] for i in missing])
            training = self.model.training
            positions, encoded, cut = vectors_of(self.model.eval(), self.tokenizer, unique, self.max_length)
            self.model.train(training)
            self.encoded += len(unique)
            place = np.argsort(positions)
            vectors[missing], truncated[missing] = encoded[place][inverse], cut[place][inverse]
        return torch.from_numpy(vectors), truncated

    def batches(self, items: torch.Tensor, random: np.random.Generator | None) -> list[list[int]]:
        """Return random batches of positions; in order when there is no generator."""
        order = np.arange(len(items)) if random is None else random.permutation(len(items))
        return [order[start : start + self.batch_size].tolist() for start in range(0, len(order), self.batch_size)]

    def inputs(self, items: torch.Tensor, batch: list[int]) -> tuple[torch.Tensor, ...]:
        """Return the vectors of a batch."""
        return (to_device(items[batch], device()),)

    def forward(self, model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return logits (n, classes)."""
        return model.classify(*inputs)


# --- The loop ---------------------------------------------------------------------------------------------------------

# What of a State is neither tensor nor learning rate.
KEPT = ("epoch", "history", "cut", "best_epoch")


def plain_step(feed, state: State, inputs: tuple[torch.Tensor, ...], labels: torch.Tensor) -> float:
    """Take one step of AdamW on the cross-entropy of a batch; return the mean loss. Other trainers replace this function."""
    loss = batch_loss(feed, state, inputs, labels)
    backward(state, loss)
    take_step(state)
    return loss.item()


def validate(feed, model: torch.nn.Module, items, labels: np.ndarray) -> dict:
    """Return the mean cross-entropy, the accuracy and, of two classes, the AUC of the last (float32 throughout).

    No AUC where only one class is there, more than two are, or the loss is not finite.
    """
    model.eval()
    with torch.inference_mode():
        batches = feed.batches(items, None)
        found = torch.cat([feed.forward(model, feed.inputs(items, batch)).double().cpu() for batch in batches])
    logits = torch.empty_like(found)
    logits[[position for batch in batches for position in batch]] = found
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels)).item()
    auc = None
    if logits.shape[1] == 2 and 0 < labels.sum() < len(labels) and np.isfinite(loss):
        scores = (logits[:, 1] - logits[:, 0]).numpy()
        # Ours equals scikit-learn's (tested), whose import would cost every training job a second or two.
        auc = auc_value(scores[labels == 0], scores[labels == 1])
    return {"val_loss": loss, "val_auc": auc, "val_accuracy": float((logits.argmax(1).numpy() == labels).mean())}


def fit(
    state: State,
    feed,
    epoch_items: Callable[[int], tuple[object, np.ndarray]],
    labels: np.ndarray,
    val_items,
    val_labels: np.ndarray,
    epochs: int,
    best: str,
    seed: int,
    step: Callable = plain_step,
    lower: str = "training.learning_rate",
    checkpoint: Checkpoint | None = None,
    batch_size: int | None = None,
) -> np.ndarray:
    """Train until `epochs`, keep the weights of the best epoch in `state`; return which training texts were cut, per epoch (share).

    A step adds up the gradients of batches until it has `batch_size` texts (null: of one batch), to that of their mean loss.
    `epoch_items(epoch)` gives what the feed prepared for that epoch. Everything random in an epoch comes from the seed and the
    epoch's number, so that a run can go on from any `state`, that of `checkpoint` where it has one. Raises InputError for a loss that is not finite; it says to lower `lower`.
    """
    targets = torch.from_numpy(labels).to(device())
    if checkpoint and (before := checkpoint.read()):
        go_on(state, *before)
    for epoch in progress(range(state.epoch, epochs), "training epochs"):
        items, truncated = epoch_items(epoch)
        state.cut.append(float(truncated.mean()))
        random = np.random.default_rng(digest(seed, "order", epoch))
        torch.manual_seed(digest(seed, "dropout", epoch))
        state.model.train()
        total = 0.0
        planned = in_steps(feed.batches(items, random), batch_size)
        for batch, state.part, state.before, state.more in progress(planned, f"batches of epoch {epoch + 1}", closing=False):
            loss = step(feed, state, feed.inputs(items, batch), targets[batch])
            if not math.isfinite(loss):
                break
            total += loss * len(batch)
        else:
            loss = total / len(labels)
        row = {"epoch": epoch + 1, "train_loss": loss, **validate(feed, state.model, val_items, val_labels)}
        if not np.isfinite([row["train_loss"], row["val_loss"]]).all():
            raise InputError(f"Training went astray: in epoch {epoch + 1} the loss is not finite. Lower {lower}.")
        quality = "accuracy {val_accuracy:.4f}" if row["val_auc"] is None else "accuracy {val_accuracy:.4f}, AUC {val_auc:.4f}"
        print(f"epoch {epoch + 1}: train loss {loss:.4f}, validation loss {row['val_loss']:.4f}, {quality.format(**row)}", flush=True)
        state.history.append(row)
        state.epoch = epoch + 1
        if state.best_epoch < 0 or _goodness(row, best) > _goodness(state.history[state.best_epoch], best):
            state.best_epoch = epoch
            state.best_weights = {name: value.detach().clone() for name, value in state.model.named_parameters() if value.requires_grad}
        if checkpoint and state.epoch < epochs and checkpoint.due():
            checkpoint.write(state.epoch, *kept(state))
    return np.asarray(state.cut)


def kept(state: State) -> tuple[dict[str, torch.Tensor], dict]:
    """Return the tensors and facts of a state folder: all that `go_on` needs."""
    tensors, facts = pack(state.model, state.optimiser, state.schedule)
    # Where the last epoch is the best one, its weights are there already.
    best = {f"best/{name}": value for name, value in state.best_weights.items()} if state.best_epoch + 1 < state.epoch else {}
    return tensors | best, facts | {key: getattr(state, key) for key in KEPT}


def go_on(state: State, tensors: dict[str, torch.Tensor], facts: dict) -> None:
    """Put what `kept` returned into a state that was made as at the beginning."""
    unpack(tensors, facts, state.model, state.optimiser, state.schedule)
    for key in KEPT:
        setattr(state, key, facts[key])
    for name, value in state.model.named_parameters():
        if value.requires_grad:
            state.best_weights[name] = tensors.get(f"best/{name}", value.detach()).to(value.device, copy=True)


def _goodness(row: dict, best: str) -> float:
    return -row["val_loss"] if best == "val_loss" else row[best]


# --- One detector of a run --------------------------------------------------------------------------------------------


def training_splits(table: pd.DataFrame, labels: Sequence[str] = LABELS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to train and to validate on; raise InputError where they cannot be trained on.

    Of captions those of human and machine: the OOD captioner's texts are for testing only. Of any other table all of a split.
    """
    used = of_the_run(table, labels)
    wrong = used[~used["label"].between(0, len(labels) - 1)]
    if len(wrong):
        row = wrong.iloc[0]
        raise InputError(
            f"The text {row['id']} has the label {row['label']}, but there are {len(labels)} classes ({', '.join(labels)}), numbered from 0. "
            "Give every class a name, or leave out the rows of this one."
        )
    train, val = (used[used["split"] == split] for split in ("train", "val"))
    counts = train["label"].value_counts()
    if len(counts) < len(labels):
        have = ", ".join(f"{counts.get(index, 0)} of label {index} {name}" for index, name in enumerate(labels))
        everything = "both" if len(labels) == 2 else "all"
        raise InputError(f"The training split needs texts of {everything} classes, but has {have}. Give the files of every class, or more texts.")
    if val.empty:
        raise InputError(
            "The validation split is empty, so no best epoch can be chosen. Raise captions.split.val or captions.images; of a data set to classify, its `validation`."
        )
    return train, val


def load_start(
    encoder: dict, found: Path, start: str | os.PathLike | None, dropout: float, seed: int, labels: Sequence[str] = LABELS
) -> torch.nn.Module:
    """Return the model that training starts from: a fresh classifier on the encoder, or another detector's weights."""
    torch.manual_seed(digest(seed, "weights"))
    if start is None:
        return build_classifier(found, encoder, dropout, labels)
    before = load_detector(start)
    if list(before.labels) != list(labels):
        raise InputError(
            f"The detector {start} to start from tells {', '.join(before.labels)} apart, this one {', '.join(labels)}. Start from one of the same classes."
        )
    for key in ("pooling", "max_length"):
        if before.description.get(key) != encoder[key]:
            raise InputError(
                f"The detector {start} to start from has {key} {before.description.get(key)!r}, this one {encoder[key]!r}. Train both on one encoder."
            )
    model = before.model
    if isinstance(model, OwnHeadClassifier):
        model = build_classifier(start, {**encoder, "labels": list(before.labels)}, dropout, labels)
    else:
        model.head.dropout.p = dropout
        model.requires_grad_(True)
        if encoder["trainable"] == "classifier":
            model.body.requires_grad_(False)
    return model


def train_detector(
    captions: pd.DataFrame,
    encoder: dict,
    encoder_folder: str | os.PathLike | None,
    training: dict,
    detector: dict,
    out_folder: str | os.PathLike,
    seed: int,
    features: Sequence[str | os.PathLike] | None = None,
    start: str | os.PathLike | None = None,
    step: Callable | None = None,
    mode: str = "none",
    labels: Sequence[str] = LABELS,
    state_folder: str | os.PathLike | None = None,
    every: float | None = None,
) -> None:
    """Train one detector or classifier on the splits train and val of a table and write its folder.

    `captions` has the columns id, source, text, label, split; `labels` names the classes by their number. `encoder`,
    `training`, `detector` are the entries of the configuration; `features` are the shards of a frozen encoder,
    `start` the folder of the detector to start from, `step` a way of training in place of the one that `detector` asks for, `mode`
    how the texts were normalised. In `state_folder` the state is kept, at most one in `every` seconds (`muattack.train.resume`): a training that was killed
    goes on from there, to the same bytes, and removes it in the end. Writes the model in Hugging Face format, muattack.json, history.json
    (loss, AUC, accuracy by epoch) and meta.json. The seed of everything random is the run's: detectors that differ in m or dropout
    alone start from the same weights and see the same draws, and equal settings give equal bytes.
    Adversarial training runs a frozen encoder in every step, forwards and backwards: no features are used, and an epoch costs
    about as much as one of training the encoder.
    Raises InputError for a split that cannot be trained on and a loss that is not finite.
    """
    threads = training["threads"]
    torch.set_num_threads(threads)
    frozen = encoder["trainable"] == "classifier"
    m, dropout = detector.get("rr") or 0, detector.get("dropout") or 0.0
    exact_share(m)
    train, val = training_splits(captions, labels)
    part = digest(seed, "train", detector.get("train_on", "captions"))

    found = locate_encoder(encoder, encoder_folder)
    model, tokenizer = load_start(encoder, found, start, dropout, part, labels).to(device()), load_tokenizer(found)
    settings = training["classifier"] if frozen else training
    draws = settings["draws"] if frozen else training["rr"]["draws"]
    precision = training.get("precision", "float32")
    lower = "training.classifier.learning_rate" if frozen else "training.learning_rate"
    adversarial = None
    if detector.get("adversarial"):
        wanted, norm = {**training.get("adversarial", {}), **detector["adversarial"]}, embedding_norm(model, tokenizer)
        adversarial = adversarial_facts(wanted, norm)
        step = step or make_step(wanted, norm)
        lower += " or the adversarial step_size"
    if frozen and not adversarial:
        feed = VectorFeed(model, tokenizer, encoder["max_length"], settings["batch_size"], load_features(features) if features else None)
    else:
        feed = TokenFeed(tokenizer, encoder["max_length"], training["token_budget"])

    ids, texts = train["id"].tolist(), train["text"].tolist()
    prepared: dict[int, tuple] = {}

    def epoch_items(epoch: int) -> tuple[object, np.ndarray]:
        number = 0 if not m else epoch % draws if draws else epoch
        if number not in prepared:
            if m and not draws:
                # Draws that are made anew are not kept.
                prepared.clear()
            prepared[number] = feed.prepare(draw_captions(texts, ids, m, seed, number) if m else texts)
        return prepared[number]

    val_items, val_cut = feed.prepare(val["text"].tolist())
    targets, val_targets = (np.array(rows["label"], dtype=np.int64) for rows in (train, val))
    epochs = settings["epochs"]
    first_items = epoch_items(0)[0]
    batch_size = training.get("batch_size") if isinstance(feed, TokenFeed) else None
    first_batches = in_steps(feed.batches(first_items, np.random.default_rng(digest(part, "order", 0))), batch_size)
    steps = epochs * sum(not more for *_, more in first_batches)
    if training.get("compile") and isinstance(feed, TokenFeed):
        compile_layers(model)
    optimiser = make_optimiser(model, settings["learning_rate"], training["weight_decay"])
    state = State(model, optimiser, make_schedule(optimiser, steps, training["warmup_share"]), training["clip_norm"], part, precision)
    best, best_by = _best_column(training["best"], labels, val_targets)
    known = {"encoder": encoder, "training": training, "detector": {key: value for key, value in detector.items() if key != "start"}}
    checkpoint = Checkpoint(
        state_folder,
        __file__,
        lambda: {
            "settings": digest_of(known, list(labels), seed, adversarial, getattr(step, "__qualname__", "")),
            # What the encoder made of the texts, so its tokenizer and the features are among the data.
            "data": digest_of(ids, texts, targets, val_targets, first_items, val_items),
            "first weights": first_weights(model),
            "versions or device": digest_of(run_facts(threads, precision)),
        },
        every,
    )
    with enough_memory("training.token_budget" if isinstance(feed, TokenFeed) else "training.classifier.batch_size"):
        cut = fit(state, feed, epoch_items, targets, val_items, val_targets, epochs, best, part, step or plain_step, lower, checkpoint, batch_size)

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in state.best_weights:
                parameter.copy_(state.best_weights[name])
    folder = Path(out_folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "history.json", state.history)
    write_json(
        folder / "meta.json",
        {
            **known,
            "seed": seed,
            "start": sha256(Path(start) / DESCRIPTION) if start else None,
            "labels": list(labels),
            "texts_train": len(train),
            "texts_val": len(val),
            "texts_by_class_train": {name: int((targets == index).sum()) for index, name in enumerate(labels)},
            "texts_by_class_val": {name: int((val_targets == index).sum()) for index, name in enumerate(labels)},
            "share_truncated_train": float(cut.mean()),
            "share_truncated_val": float(val_cut.mean()),
            "adversarial": adversarial,
            "updates": state.schedule.last_epoch,
            "best_epoch": state.best_epoch + 1,
            "best_by": best_by,
            "parameters_trained": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            **run_facts(threads, precision),
        },
    )
    # A tokenizer fresh from its files: one that has cut a text would write that down.
    save_detector(folder, model, load_tokenizer(found), encoder, found, dropout, known, mode, labels)
    checkpoint.remove()


def _best_column(wanted: str, labels: Sequence[str], val_labels: np.ndarray) -> tuple[str, str]:
    """Return which column of the history picks the best epoch, and what meta.json says of it."""
    if wanted == "loss":
        return "val_loss", "loss"
    if len(labels) > 2:
        return "val_accuracy", f"accuracy (in place of AUC, which {len(labels)} classes have none of)"
    if len(set(val_labels.tolist())) < 2:
        return "val_loss", "loss (AUC undefined: the validation split has one class)"
    return "val_auc", "auc"
