"""A detector or classifier as a victim of TextAttack."""

import os
from collections.abc import Sequence

import numpy as np

from muattack.attack.deadline import Deadline
from muattack.attack.offline import load_textattack
from muattack.detect.detector import Detector, TransformersDetector, load_detector
from muattack.detect.encoder import tokenise
from muattack.errors import InputError

textattack = load_textattack()

# Texts scored between two looks at the clock.
CHUNK = 256
# A prefix of a text that is longer than this many characters a token is tried before the whole text is tokenised.
CHARACTERS = 12


class VictimError(InputError):
    """The victim itself is broken: going on would record nonsense for every text."""


class Victim(textattack.models.wrappers.ModelWrapper):
    """A detector behind the call that TextAttack makes.

    Scores are float64 probabilities: never softmaxed a second time, and not rounded to 1 where float32 would be. Batches are padded to
    their longest text (stock: to the model's longest), equal token sequences are scored once, and scores are kept until `forget`.
    None of that changes the number of queries, which the goal function counts before it asks.
    """

    def __init__(self, detector: Detector, who: str, deadline: Deadline | None = None) -> None:
        self.detector, self.who, self.deadline = detector, who, deadline or Deadline()
        self.model = getattr(detector, "model", detector)
        self.tokenizer = getattr(detector, "tokenizer", None)
        self.scores: dict[object, np.ndarray] = {}
        # Prefixes that are known to fill the model's length, and their tokens.
        self.prefixes: dict[str, tuple[int, ...]] = {}
        self._splits = None

    @property
    def unknown(self) -> str:
        """What stands for a word in ranking by unknown words: the victim's own token where its tokenizer has one."""
        for token in ("unk_token", "mask_token"):
            if getattr(self.tokenizer, token, None):
                return getattr(self.tokenizer, token)
        return "[UNK]"

    def forget(self) -> None:
        """Drop all scores, before the next text: a batch, and with it the last bit of a score, must not depend on what was attacked before."""
        self.scores.clear()
        self.prefixes.clear()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, classes), column i for label i. Raises VictimError for a score that is not finite."""
        keys = []
        for start in range(0, len(texts), CHUNK):
            self.deadline.check()
            part = list(texts[start : start + CHUNK])
            new = self._tokens(part) if isinstance(self.detector, TransformersDetector) else part
            keys += new
            self._score([key for key in dict.fromkeys(new) if key not in self.scores])
        return np.stack([self.scores[key] for key in keys]) if keys else np.zeros((0, 0))

    def _score(self, keys: list) -> None:
        if not keys:
            return
        if isinstance(self.detector, TransformersDetector):
            # The order decides the batches: by the tokens alone, so that it is the same whatever asked.
            keys = sorted(keys, key=lambda key: (len(key), key))
            scores = self.detector._predict_tokens([list(key) for key in keys])
        else:
            try:
                scores = self.detector.predict(keys)
            except InputError as error:
                raise VictimError(str(error)) from error
        bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if len(bad):
            raise VictimError(
                f"The victim {self.who} returned a score that is not finite (NaN), so it cannot be attacked. What was attacked before is kept, and a "
                "run with a sound model goes on from there. A NaN among the weights or a learning rate that is too high are the usual causes: train it anew."
            )
        self.scores.update(zip(keys, scores, strict=True))

    def _tokens(self, texts: list[str]) -> list[tuple[int, ...]]:
        seen = [self._seen(text) for text in texts]
        new = [text for text in dict.fromkeys(seen) if text not in self.prefixes]
        ids, _ = tokenise(self.tokenizer, new, self.detector.max_length)
        known = {text: tuple(one) for text, one in zip(new, ids, strict=True)}
        self.prefixes.update((part, known[part]) for text, part in zip(texts, seen, strict=True) if len(part) < len(text) and part in known)
        return [known[text] if text in known else self.prefixes[text] for text in seen]

    def _seen(self, text: str) -> str:
        """Return the part of a long text that the model can see: tokenising ten thousand words for fifty tokens would be most of the work.

        A tokenizer that first splits at white space gives the words before a blank the same tokens whatever follows, so a prefix
        that ends before a blank and fills the model's length stands for the text.
        """
        length = self.detector.max_length
        size = CHARACTERS * length
        if len(text) <= 2 * size or not self._splits_at_blanks():
            return text
        while size < len(text):
            cut = text.find(" ", size)
            if cut < 0:
                break
            prefix = text[:cut]
            if prefix in self.prefixes or len(self.tokenizer(prefix, add_special_tokens=False, verbose=False)["input_ids"]) > length:
                return prefix
            size = max(2 * size, cut)
        return text

    def _splits_at_blanks(self) -> bool:
        if self._splits is None:
            backend = getattr(self.tokenizer, "backend_tokenizer", None)
            self._splits = backend is not None and backend.pre_tokenizer is not None
            if self._splits:
                pieces = [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str("one two three")]
                self._splits = len(pieces) == 3
        return self._splits


def open_victim(folder: str | os.PathLike, name: str, labels: Sequence[str], deadline: Deadline | None = None) -> Victim:
    """Open a victim; raise InputError where its classes are not those of the data set, in their order."""
    detector = load_detector(folder, mode="none")
    names = getattr(detector, "labels", None)
    if names is not None:
        columns = [names[index] for index in getattr(detector, "columns", range(len(names)))]
        if columns != list(labels):
            raise InputError(
                f"The victim {name} in {folder} tells {', '.join(columns)} apart, but the texts to attack have the labels {', '.join(labels)}. "
                "Attack a model that was trained on this data set, or name its labels in the order of the data set's."
            )
    return Victim(detector, f"{name} in {folder}", deadline)
