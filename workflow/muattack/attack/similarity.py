"""How similar an adversarial text is to the original, by a sentence encoder."""

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from muattack.attack.deadline import Deadline
from muattack.attack.slots import SlotText
from muattack.detect.encoder import load_encoder, load_tokenizer, locate_encoder, pool, position_limit
from muattack.device import device
from muattack.errors import InputError
from muattack.train.batches import cut_by_budget, pad

# Tokens of a batch, padding counted: small enough for what a layer makes of it to stay in the processor's cache (a fifth quicker than 2048).
TOKEN_BUDGET = 512
# Most tokens of a piece that is encoded at once: what sentence encoders are trained on. Longer texts are cut into pieces.
PIECE = 256
# A cosine as near to the threshold as this is computed anew, text by text in float32. Measured, not proven: over 1,293 candidates of ten AG News
# texts with all-MiniLM-L6-v2 the largest difference from that value was 1.8e-3 in bfloat16 and 2.4e-7 in batches of float32
# (tests/benchmarks/bench_attack.py prints both).
MARGIN = {"bfloat16": 6e-3, "float32": 1e-5}


def as_cosine(similarity: float, measure: str) -> float:
    """Return the cosine at which a measure has this value: cosine itself, or angular = 1 - angle / pi."""
    return similarity if measure == "cosine" else math.cos(math.pi * (1 - similarity))


def from_cosine(cosine: float, measure: str) -> float:
    """Return the similarity, in [0, 1], that a cosine stands for."""
    return max(0.0, min(1.0, cosine)) if measure == "cosine" else 1 - math.acos(max(-1.0, min(1.0, cosine))) / math.pi


def quick_bfloat16() -> bool:
    """Tell whether the processor multiplies bfloat16 itself: where torch emulates it, MiniLM took three times as long as in float32."""
    known = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(ask is not None and ask() for ask in known)


class PooledEncoder:
    """A Hugging Face encoder: the mean over all tokens of a text, whatever its length, normalised to length 1."""

    def __init__(self, folder: str | os.PathLike, pooling: str, precision: str) -> None:
        self.encoder, self.tokenizer = load_encoder(folder).to(device()), load_tokenizer(folder)
        self.pooling, self.reduced = pooling, precision == "bfloat16" and device().type == "cpu" and quick_bfloat16()
        longest = min(position_limit(self.encoder.config.to_dict()), self.tokenizer.model_max_length)
        # A piece may grow by an edit before anything is cut off.
        self.longest, self.piece = longest, min(PIECE, max(1, longest // 2))

    def cut(self, text: str) -> list[int]:
        """Return where the pieces of a text begin: at blanks, so that no piece has more than `piece` tokens (words longer than that excepted)."""
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        starts = [0]
        if len(encoded) + self.tokenizer.num_special_tokens_to_add() <= self.piece:
            return starts
        counted, blank, since = 0, None, 0
        for start, end in encoded:
            counted, since = counted + 1, since + 1
            if (start > 0 and text[start - 1] == " ") or text[start:end].startswith(" "):
                blank, since = start, 1
            if counted > self.piece - 2 and blank is not None and blank > starts[-1]:
                starts.append(blank)
                counted, blank = since, None
        return starts

    def encode(self, texts: Sequence[str], exact: bool = False) -> np.ndarray:
        """Return summed states and token counts (n, width + 1) as float64; `exact`: in float32, one text a batch, which no other text can touch."""
        tokens = self.tokenizer(list(texts), truncation=True, max_length=self.longest, return_attention_mask=False, return_token_type_ids=False)
        tokens = [one or [self.tokenizer.pad_token_id] for one in tokens["input_ids"]]
        lengths = [len(one) for one in tokens]
        order = sorted(range(len(tokens)), key=lambda i: (lengths[i], tokens[i]))
        batches = [[i] for i in order] if exact else cut_by_budget(order, lengths, TOKEN_BUDGET)
        found = np.empty((len(tokens), self.encoder.config.hidden_size + 1))
        reduced = self.reduced and not exact
        for batch in batches:
            ids, mask = pad([tokens[i] for i in batch], self.tokenizer.pad_token_id, device=device())
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=reduced):
                states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
                found[batch, :-1] = pool(states, mask, self.pooling).double().cpu().numpy()
            found[batch, -1] = [lengths[i] for i in batch]
        found[:, :-1] *= found[:, -1:]
        return found


class SentenceFunction:
    """Universal Sentence Encoder, or anything else texts -> vectors: no pieces, no reduced precision."""

    def __init__(self, function: Callable[[list[str]], np.ndarray]) -> None:
        self.function = function

    def cut(self, text: str) -> list[int]:
        return [0]

    def encode(self, texts: Sequence[str], exact: bool = False) -> np.ndarray:
        vectors = np.asarray(self.function(list(texts)), dtype=np.float64)
        return np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)


def load_universal(path: str) -> SentenceFunction:
    """Open a Universal Sentence Encoder from a local folder; needs tensorflow_hub. Raises InputError naming what is missing."""
    try:
        import tensorflow_hub
    except ImportError:
        raise InputError(
            "The similarity encoder is the Universal Sentence Encoder, but tensorflow_hub is not installed. Install tensorflow and tensorflow-hub, or "
            "name a sentence encoder of Hugging Face format in attacks.similarity.encoder."
        ) from None
    if not Path(path, "saved_model.pb").is_file():
        raise InputError(
            f"The Universal Sentence Encoder is not at {path}: there is no saved_model.pb. Copy the unpacked model there and write `path: FOLDER`."
        )
    model = tensorflow_hub.load(path)
    return SentenceFunction(lambda texts: model(texts).numpy())


def load_similarity_encoder(spec: dict, precision: str):
    """Open the encoder of a configuration entry: any that `locate_encoder` finds, or `source: tensorflow_hub`."""
    if spec["source"] == "tensorflow_hub":
        return load_universal(spec["path"])
    # How long the texts of a detector may be says nothing about a sentence encoder.
    found = locate_encoder({key: value for key, value in spec.items() if key != "max_length"})
    return PooledEncoder(found, spec["pooling"], precision)


class Similarity:
    """Cosines to one original. Pieces of a text that an edit leaves alone are encoded once, and so is the original.

    Every decision is the one that float32 makes text by text: other values are used only where they are farther from the
    threshold than the margin.
    """

    def __init__(self, encoder, precision: str, measure: str, epsilon: float, deadline: Deadline | None = None) -> None:
        self.encoder, self.measure, self.epsilon, self.deadline = encoder, measure, epsilon, deadline or Deadline()
        self.threshold, self.margin = as_cosine(epsilon, measure), MARGIN[precision]
        self.encoded = self.rechecked = 0

    def begin(self, original: SlotText) -> None:
        """Take another original, and forget all else: what is kept must not depend on what was attacked before."""
        self.original, self.near, self.exact, self._reference, self._starts = original, {}, {}, None, None

    @property
    def starts(self) -> list[int]:
        """Where the pieces of the original begin."""
        if self._starts is None:
            self._starts = self.encoder.cut(self.original.original)
        return self._starts

    @property
    def reference(self) -> np.ndarray:
        """The original's vector (width): only when it is asked for, as many texts are misclassified already."""
        if self._reference is None:
            self._reference = self._unit([self.original], exact=True)[0]
        return self._reference

    def pieces(self, text: SlotText) -> list[str]:
        """Return the pieces of a candidate, cut where the original is cut."""
        if len(self.starts) == 1:
            return [text.text]
        edits, parts = text.edits(), []
        for start, end in zip(self.starts, [*self.starts[1:], len(text.original)], strict=True):
            piece, after = [], start
            for edit in edits:
                # An edit belongs to the piece in which it begins.
                if start <= edit["start"] < end:
                    piece += [text.original[after : edit["start"]], edit["replacement"]]
                    after = edit["end"]
            parts.append("".join([*piece, text.original[after:end]]))
        return parts

    def _unit(self, texts: Sequence[SlotText], exact: bool) -> np.ndarray:
        cache = self.exact if exact else self.near
        pieces = [self.pieces(text) for text in texts]
        new = [piece for piece in dict.fromkeys(piece for some in pieces for piece in some) if piece not in cache]
        for start in range(0, len(new), 128):
            self.deadline.check()
            part = new[start : start + 128]
            cache.update(zip(part, self.encoder.encode(part, exact), strict=True))
        self.encoded += len(new)
        sums = np.stack([np.sum([cache[piece] for piece in some], axis=0) for some in pieces])
        vectors = sums[:, :-1] / sums[:, -1:]
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def cosine(self, text: SlotText) -> float:
        """Return the exact cosine of one text: float32, encoded by itself."""
        return float(self._unit([text], exact=True)[0] @ self.reference)

    def similarity(self, text: SlotText) -> float:
        """Return the exact similarity of one text, in [0, 1]."""
        return from_cosine(self.cosine(text), self.measure)

    def allowed(self, texts: Sequence[SlotText]) -> list[bool]:
        """Return which texts are at least as similar to the original as the threshold asks."""
        if not texts:
            return []
        if self.epsilon <= 0:
            return [True] * len(texts)
        cosines = self._unit(texts, exact=False) @ self.reference
        close = np.flatnonzero(np.abs(cosines - self.threshold) < self.margin)
        self.rechecked += len(close)
        for i in close:
            cosines[i] = self.cosine(texts[i])
        return [from_cosine(cosine, self.measure) >= self.epsilon for cosine in cosines]

    def most_similar(self, texts: Sequence[SlotText]) -> SlotText:
        """Return the text that is most similar to the original; of equals the first."""
        if len(texts) == 1:
            return texts[0]
        cosines = self._unit(texts, exact=False) @ self.reference
        close = np.flatnonzero(cosines >= cosines.max() - 2 * self.margin)
        exact = [self.cosine(texts[i]) for i in close]
        return texts[close[int(np.argmax(exact))]]
