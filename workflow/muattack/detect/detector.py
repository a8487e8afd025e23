"""The detector protocol, and how detectors are saved and opened.

A detector has `predict(texts)` -> float64 array (n, classes), finite, P(machine) in the last column of a binary detector,
and `truncated(texts)` -> bool array (n). `load_detector` opens a folder of this run, any sequence classifier in Hugging Face
format, or a Python callable `module:function`.
"""

import importlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from muattack.data.captions import normalise
from muattack.detect.encoder import (
    LABELS,
    Head,
    OwnHeadClassifier,
    PooledClassifier,
    load_encoder,
    load_own_head,
    load_tokenizer,
    locate_encoder,
    open_to_readers,
    position_limit,
    quiet_transformers,
    readable,
    tokenise,
)
from muattack.device import device, enough_memory
from muattack.errors import InputError
from muattack.progress import progress
from muattack.records import sha256, write_json
from muattack.train.batches import cut_by_budget, pad

# Tokens of a batch when scoring, padding counted.
TOKEN_BUDGET = 2048
# Texts tokenised at a time: what bounds memory.
CHUNK = 50_000
DESCRIPTION = "muattack.json"


class Detector(Protocol):
    """What everything that scores texts relies on."""

    def predict(self, texts: Sequence[str]) -> np.ndarray: ...

    def truncated(self, texts: Sequence[str]) -> np.ndarray: ...


def distinct(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts by length and alphabet, and where each text stands among them (n, int).

    The order of the result does not depend on the order of the texts.
    """
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"Text {position} to be scored is a {type(text).__name__} ({text!r}), but must be a string. Remove it or write it as text."
            )
    unique = sorted(set(texts), key=lambda text: (len(text), text))
    position = {text: index for index, text in enumerate(unique)}
    return unique, np.fromiter((position[text] for text in texts), dtype=np.int64, count=len(texts))


def check_scores(scores: np.ndarray, texts: Sequence[str], who: str) -> np.ndarray:
    """Return the scores as float64; raise InputError where one is not finite or their number is wrong."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or len(scores) != len(texts):
        raise InputError(f"The detector {who} returned an array of shape {scores.shape} for {len(texts)} texts. It must return (texts, classes).")
    bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(bad):
        raise InputError(
            f"The detector {who} returned a score that is not finite for {len(bad)} of {len(texts)} texts, the first is {texts[bad[0]][:200]!r}. "
            "A NaN among weights or a learning rate that is too high are the usual causes; no score is made up in its place."
        )
    return scores


class TransformersDetector:
    """A transformers model with a classifier, scored in batches by token budget."""

    def __init__(
        self,
        model: torch.nn.Module,
        tokenizer,
        max_length: int,
        labels: Sequence[str],
        description: dict | None = None,
        who: str = "",
        mode: str = "none",
    ) -> None:
        self.model, self.tokenizer, self.max_length, self.who, self.mode = model.eval().to(device()), tokenizer, max_length, who, mode
        self.labels, self.description = tuple(labels), description or {}
        # P(machine) of a foreign detector goes last, whatever the order of its outputs; what was trained here has the order of its table's labels.
        machine = [index for index, label in enumerate(labels) if label == "machine"] if "settings" not in self.description else []
        self.columns = [index for index in range(len(labels)) if index not in machine] + machine

    @property
    def frozen(self) -> bool:
        """Whether the encoder was frozen in training, so that cached features of its texts may stand in for it."""
        return self.description.get("settings", {}).get("encoder", {}).get("trainable") == "classifier"

    @property
    def encoder_sha256(self) -> str:
        """SHA-256 of the frozen encoder's weights."""
        return self.description.get("encoder_sha256", "")

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, classes), P(machine) last; a text's score does not depend on the order of the texts."""
        return self.judge(texts)[0]

    def truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return which texts are longer than the model sees (n, bool)."""
        unique, inverse = distinct(texts)
        return self._tokenise(unique)[1][inverse]

    def judge(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return what `predict` and `truncated` do, tokenising once."""
        unique, inverse = distinct(texts)
        scores, truncated = np.empty((len(unique), len(self.labels))), np.zeros(len(unique), dtype=bool)
        for start in progress(range(0, len(unique), CHUNK), f"texts scored, in parts of {CHUNK}", closing=False):
            part = slice(start, start + CHUNK)
            tokens, truncated[part] = self._tokenise(unique[part])
            scores[part] = self._predict_tokens(tokens)
        return check_scores(scores, unique, self.who)[inverse], truncated[inverse]

    def predict_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Return probabilities (n, classes) of texts whose pooled vectors (n, width) are known."""
        with torch.inference_mode():
            logits = self.model.classify(torch.from_numpy(np.ascontiguousarray(vectors)).to(device()))
        return self._probabilities(logits)

    def _tokenise(self, texts: list[str]) -> tuple[list[list[int]], np.ndarray]:
        return tokenise(self.tokenizer, [normalise(text, self.mode) for text in texts], self.max_length)

    def _predict_tokens(self, tokens: list[list[int]]) -> np.ndarray:
        scores = np.empty((len(tokens), len(self.labels)))
        lengths = [len(one) for one in tokens]
        order = sorted(range(len(tokens)), key=lengths.__getitem__)
        with torch.inference_mode(), enough_memory("max_length of the encoder or detector"):
            for batch in progress(cut_by_budget(order, lengths, TOKEN_BUDGET), "batches scored", closing=False):
                scores[batch] = self._probabilities(self.model(*pad([tokens[i] for i in batch], self.tokenizer.pad_token_id, device=device())))
        return scores

    def _probabilities(self, logits: torch.Tensor) -> np.ndarray:
        return torch.softmax(logits.double(), dim=-1).cpu().numpy()[:, self.columns]


class CallableDetector:
    """A Python function texts -> P(machine) (n) or probabilities (n, classes) with P(machine) last."""

    def __init__(self, function: Callable, who: str) -> None:
        self.function, self.who = function, who

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, classes), P(machine) last."""
        unique, inverse = distinct(texts)
        try:
            scores = np.asarray(self.function(unique), dtype=np.float64) if unique else np.zeros((0, 2))
        except Exception as error:
            raise InputError(
                f"The detector {self.who} failed on a list of {len(unique)} texts: {type(error).__name__}: {error}. Mend the function."
            ) from error
        if scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 1):
            machine = scores.reshape(-1)
            scores = np.stack([1 - machine, machine], axis=1)
        return check_scores(scores, unique, self.who)[inverse]

    def truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return False for every text: what a function does not look at is not known."""
        return np.zeros(len(texts), dtype=bool)


def load_detector(spec: str | os.PathLike, labels: Sequence[str] | None = None, max_length: int | None = None, mode: str | None = None) -> Detector:
    """Open a detector: a folder that a run made, a sequence classifier in Hugging Face format, or `module:function`.

    The folder of a detector that the run did not train but opened (`use` in its configuration) opens as its entry says, whatever the other arguments.

    `labels` names the outputs of a foreign model in their order, for example ("machine", "human") for the released OpenAI
    detector, whose output 0 is fake; a file muattack.json with `labels` in its folder does the same. `mode` says how texts are
    normalised before they are scored (see `muattack.data.captions.normalise`), by default as the detector's training texts
    were: a capital and a full stop alone make a text foreign to a detector that never saw any. Raises InputError when
    the folder holds no model, when nothing says which output is the machine's, or when an encoder it refers to is not the one it
    was trained on.
    """
    folder = Path(spec)
    if not folder.is_dir():
        if ":" in str(spec):
            return _load_callable(str(spec))
        # A hub id that lies in the local cache; else an error that names what is missing.
        folder = locate_encoder({"source": "huggingface", "path": str(spec)})
    about = folder / DESCRIPTION
    if about.is_file() and not (folder / "config.json").is_file():
        with readable(folder):
            description = json.loads(about.read_text(encoding="utf-8"))
        if "opened" in description:
            # Imported here, as what opens needs this module, and by a name that `muattack.sources` does not see: of what opens a detector only
            # the rule that makes its folder depends, and whatever reads the folder follows. Else an edited normaliser would train everything anew.
            return importlib.import_module(f"{__package__}.opened").open_entry(description["opened"], folder)
    if not (folder / "config.json").is_file():
        raise InputError(
            f"The folder {folder} holds no config.json, so it is no detector. Name a folder results/RUN/detectors/NAME or a Hugging Face model."
        )
    with readable(folder):
        description = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
        tokenizer = load_tokenizer(folder)
        ours = description.get("head") == "muattack"
        model = load_pooled(folder, description) if ours else OwnHeadClassifier(load_own_head(folder))
    names = labels or description.get("labels") or [str(model.config.id2label[index]) for index in range(model.config.num_labels)]
    classes = model.head.out_proj.out_features if ours else model.config.num_labels
    if len(names) != classes:
        raise InputError(
            f"The detector {folder} has {classes} outputs, but its labels name {len(names)}: {list(names)}. Name each output once, in order."
        )
    if len(names) < 2 or (len(names) == 2 and "machine" not in names and "settings" not in description):
        raise InputError(
            f"Nothing says which output of the detector {folder} is the machine's: its labels are {list(names)}. Write a file {DESCRIPTION} into the "
            'folder, for example {"labels": ["machine", "human"]} when output 0 is the machine\'s.'
        )
    longest = max_length or description.get("max_length") or min(position_limit(model.config.to_dict()), tokenizer.model_max_length)
    return TransformersDetector(model, tokenizer, longest, names, description, str(folder), mode or description.get("normalise", "none"))


def _load_callable(spec: str) -> CallableDetector:
    module, _, name = spec.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"The detector {spec} is no folder, and no Python callable either: {error}. Write module:function, with the module on PYTHONPATH."
        ) from error
    if not callable(function):
        raise InputError(f"The detector {spec} names a {type(function).__name__}, which cannot be called. Name a function texts -> scores.")
    return CallableDetector(function, spec)


# --- Folders ----------------------------------------------------------------------------------------------------------


def load_pooled(folder: Path, description: dict) -> PooledClassifier:
    """Open a classifier with our head: its encoder lies in the folder or, when frozen, where the folder's reference says."""
    reference = description["encoder"]
    if reference is None:
        encoder = load_encoder(folder)
    else:
        path = str(folder / reference["path"]) if reference["source"] == "folder" else reference["path"]
        encoder = load_encoder(locate_encoder({**reference, "path": path}))
    weights = load_file(folder / "head.safetensors")
    classes, width = weights["out_proj.weight"].shape
    head = Head(width, classes, description["dropout"])
    head.load_state_dict(weights)
    return PooledClassifier(encoder, head, description["pooling"])


def encoder_reference(encoder: dict, found: Path, folder: Path) -> dict:
    """Return how a detector's folder refers to its frozen encoder: package or hub id, or the path from that folder; with SHA-256."""
    reference = {"sha256": sha256(found / "model.safetensors")}
    if encoder["source"] == "package" or (encoder["source"] == "huggingface" and not Path(encoder["path"]).is_dir()):
        return {"source": encoder["source"], "path": encoder["path"], "revision": encoder.get("revision"), **reference}
    return {"source": "folder", "path": os.path.relpath(found.resolve(), folder.resolve()), **reference}


def save_detector(
    folder: str | os.PathLike,
    model: torch.nn.Module,
    tokenizer,
    encoder: dict,
    found: Path,
    dropout: float,
    settings: dict,
    mode: str = "none",
    labels: Sequence[str] = LABELS,
) -> None:
    """Write a trained detector as a Hugging Face folder; muattack.json comes last and says that the folder is complete.

    With the architecture's own head: a whole model that AutoModelForSequenceClassification opens. With our head:
    head.safetensors, and the encoder's weights beside it when they were trained, or a reference when they were frozen.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    reference = None
    if isinstance(model, OwnHeadClassifier):
        with quiet_transformers():
            model.model.save_pretrained(folder)
    else:
        save_file({name: weight.contiguous() for name, weight in model.head.state_dict().items()}, folder / "head.safetensors")
        if encoder["trainable"] == "classifier":
            reference = encoder_reference(encoder, found, folder)
            model.encoder.config.save_pretrained(folder)
        else:
            with quiet_transformers():
                model.encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    open_to_readers(folder)
    description = {
        "head": "architecture" if isinstance(model, OwnHeadClassifier) else "muattack",
        "pooling": encoder["pooling"],
        "labels": list(labels),
        "max_length": encoder["max_length"],
        "normalise": mode,
        "dropout": dropout,
        "encoder": reference,
        "encoder_sha256": sha256(found / "model.safetensors"),
        "settings": settings,
    }
    write_json(folder / DESCRIPTION, description)
