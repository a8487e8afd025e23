"""Zero-shot detectors: how a causal language model takes a text, as P(machine) by a curve through the validation texts.

For a text of tokens x_1 … x_n, q(v | x_<j) is what the scoring model says of token v at place j, and p what the reference model says (the scoring
model itself where there is no other). Only places that have tokens before them count, j = 2 … n; a tokenizer that begins every text with a token of
its own makes all of the text count. Sources: log-likelihood and entropy Solaiman et al. 2019 and Gehrmann et al. 2019, log-rank Mitchell et al. 2023
(DetectGPT, which sets all three side by side), the curvature Bao et al. 2024 (Fast-DetectGPT, in its closed form), Binoculars Hans et al. 2024.
"""

import math
import os
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from scipy.special import expit
from transformers import AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from muattack.detect.detector import check_scores, distinct
from muattack.detect.encoder import check_weights, load_tokenizer, local_model, readable, tokenise
from muattack.device import device, device_name
from muattack.errors import InputError
from muattack.progress import progress
from muattack.train.batches import cut_by_budget, pad

# Logits computed at a time, (texts x longest text x vocabulary): 128 MB of them, and as much again for each of the half dozen things made of them.
LOGITS = 1 << 25
# Longest text in tokens unless the configuration says otherwise; Binoculars looks at as many.
LONGEST = 512


class ZeroShotDetector:
    """A measure of a causal language model, with the curve that makes P(machine) of it once it was calibrated."""

    def __init__(
        self, measure: str, use: str, reference: str | None = None, max_length: int | None = None, calibration: Mapping | None = None
    ) -> None:
        self.name, self.who, self.calibration = measure, f"{measure} of {use}", calibration
        self.tokenizer, self.scoring = _open(use)
        self.reference = None
        if reference and reference != use:
            tokenizer, self.reference = _open(reference)
            if tokenizer.get_vocab() != self.tokenizer.get_vocab():
                raise InputError(
                    f"The models {use} and {reference} have different tokenizers, so {measure} cannot compare what they expect. Take two of a kind."
                )
        # Models without a table of positions have no limit of their own.
        positions = min(getattr(model.config, "max_position_embeddings", None) or math.inf for model in (self.scoring, self.reference) if model)
        if max_length and max_length > positions:
            raise InputError(
                f"The model {use} has positions for {positions} tokens, but max_length is {max_length}. Write `max_length: {positions}` or less."
            )
        self.max_length = max_length or min(LONGEST, positions)

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, 2), P(machine) last; a text too short to be measured gets the average text's."""
        if self.calibration is None:
            raise InputError(f"The detector {self.who} is not calibrated. Open the folder of a run that has it, results/RUN/detectors/NAME.")
        unique, inverse = distinct(texts)
        one = self.calibration
        deviation = (np.nan_to_num(self.measure(unique), nan=one["mean"]) - one["mean"]) / one["deviation"]
        machine = expit(one["intercept"] + one["slope"] * deviation)
        return check_scores(np.stack([1 - machine, machine], axis=1), unique, self.who)[inverse]

    def truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return which texts are longer than the model sees (n, bool)."""
        unique, inverse = distinct(texts)
        return tokenise(self.tokenizer, unique, self.max_length)[1][inverse]

    def measure(self, texts: Sequence[str]) -> np.ndarray:
        """Return the measure of each text (n, float64), by its paper higher for machine; NaN for a text without a token that has another before it."""
        unique, inverse = distinct(texts)
        tokens, _ = tokenise(self.tokenizer, unique, self.max_length)
        values = np.full(len(unique), np.nan)
        lengths = [len(one) for one in tokens]
        long = [index for index in sorted(range(len(tokens)), key=lengths.__getitem__) if lengths[index] > 1]
        with torch.inference_mode():
            for batch in progress(cut_by_budget(long, lengths, LOGITS // len(self.tokenizer)), "batches measured", closing=False):
                # Padded on the right: causal attention never looks there, and positions count from the text's first token.
                ids, mask = pad([tokens[index] for index in batch], self.tokenizer.pad_token_id, device=device())
                q = self._logits(self.scoring, ids, mask)
                p = q if self.reference is None else self._logits(self.reference, ids, mask)
                # The embeddings of one of two related models may be padded to a rounder number.
                size = min(q.shape[-1], p.shape[-1])
                found = MEASURES[self.name](q[..., :size], p[..., :size], ids[:, 1:], mask[:, 1:].bool())
                if not found.isfinite().all() and not (q.isfinite().all() and p.isfinite().all()):
                    raise InputError(
                        f"The detector {self.who} failed: a model's logits are not finite. A NaN among its weights or a number format that is too narrow for "
                        "it (float16) are the usual causes; save it in bfloat16 or float32."
                    )
                values[batch] = found.cpu().numpy()
        return values[inverse]

    def calibrate(self, texts: Sequence[str], labels: Sequence[int]) -> dict:
        """Fit a logistic curve through the measures of texts with labels (1 machine), use it from now on, and return it.

        The measure is brought to mean 0 and deviation 1 first, and the curve's slope is held back by a penalty of half its square, as scikit-learn's
        does by itself, so that it is finite where the classes part cleanly. Its sign comes from the texts: below 0 says that here the measure points the
        other way than in its paper. Raises InputError where a class is missing or all texts measure the same.
        """
        from sklearn.linear_model import LogisticRegression

        values, labels = self.measure(texts), np.asarray(labels)
        known = ~np.isnan(values)
        values, labels = values[known], labels[known]
        mean, deviation = (float(values.mean()), float(values.std())) if len(values) else (0.0, 0.0)
        counts = [int((labels == kind).sum()) for kind in (0, 1)]
        if not min(counts) or deviation < 1e-12:
            raise InputError(
                f"The detector {self.who} cannot be calibrated: of the validation texts it measures {counts[0]} of people and {counts[1]} of the machine"
                f"{', all alike' if min(counts) else ''}. Give more texts, longer ones, or a larger share `captions.split.val`."
            )
        fit = LogisticRegression().fit(((values - mean) / deviation)[:, None], labels)
        self.calibration = {
            "mean": mean, "deviation": deviation, "slope": float(fit.coef_[0, 0]), "intercept": float(fit.intercept_[0]),
            "n_human": counts[0], "n_machine": counts[1], "device": device_name(), "dtype": str(self.scoring.dtype).removeprefix("torch."),
        }  # fmt: skip
        return self.calibration

    @staticmethod
    def _logits(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits (texts, longest text - 1, vocabulary) for the token after each place but the last."""
        return model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1].float()


def _open(path: str) -> tuple:
    """Return tokenizer and causal language model of a local folder or of a hub id in the local cache. Raises InputError."""
    folder = local_model({"path": path})
    with readable(folder):
        tokenizer = load_tokenizer(folder)
        # On a GPU as the weights are stored: a large model fits twice in half precision only.
        model, told = AutoModelForCausalLM.from_pretrained(
            os.fspath(folder),
            local_files_only=True,
            use_safetensors=True,
            dtype="auto" if device().type == "cuda" else torch.float32,
            output_loading_info=True,
        )
    if model.config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not model.config.is_decoder:
        raise InputError(
            f"The model {path} ({model.config.model_type}) is no causal language model. Name one that writes texts from left to right, such as a GPT."
        )
    check_weights(folder, model, told, any_head=False)
    return tokenizer, model.eval().to(device())


# --- Measures ---------------------------------------------------------------------------------------------------------
# Each takes logits of the scoring model and of the reference (texts, places, vocabulary), the tokens that came (texts, places) and which of the
# places are a text's (texts, places, bool), and returns a number a text in float64.


def log_likelihood(q: torch.Tensor, p: torch.Tensor, tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Mean of log q(x_j | x_<j)."""
    return _mean(_of_tokens(q.log_softmax(-1), tokens), real)


def log_rank(q: torch.Tensor, p: torch.Tensor, tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Minus the mean of log r(x_j | x_<j), the rank r counted from 1 for the likeliest token; of equals all have the best rank."""
    better = (q > q.gather(-1, tokens[..., None])).sum(-1)
    return -_mean(torch.log1p(better.double()), real)


def entropy(q: torch.Tensor, p: torch.Tensor, tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Mean of H(q(· | x_<j)) in nats, whatever token came; DetectGPT found it higher for machines more often than not."""
    return _mean(_cross_entropy(q, q), real)


def fast_detectgpt(q: torch.Tensor, p: torch.Tensor, tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """(log q(x) − μ) / σ: how many deviations the text is likelier than texts whose every token is drawn anew from p(· | x_<j).

    μ is the sum over places of the mean of log q(v | x_<j) for v from p, σ² that of its variance: tokens drawn apart from each other. NaN where nothing
    could have come but what came (σ = 0).
    """
    log_q, weights = q.log_softmax(-1), p.softmax(-1)
    mean = (weights * log_q).sum(-1)
    # Around the mean, and not as a difference of squares: that of a sure model would drown in rounding.
    variance = (weights * (log_q - mean[..., None]).square()).sum(-1)
    gain, spread = _sum(_of_tokens(log_q, tokens) - mean, real), _sum(variance, real).sqrt()
    return torch.where(spread > 0, gain / spread, math.nan)


def binoculars(q: torch.Tensor, p: torch.Tensor, tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Minus the ratio of log-perplexity and cross-perplexity: how surprising the text is to q, by how surprising q finds what p expects.

    q is the performer and p the observer, as in the authors' program. NaN where the cross-perplexity is 0.
    """
    surprise, expected = -_mean(_of_tokens(q.log_softmax(-1), tokens), real), _mean(_cross_entropy(p, q), real)
    return torch.where(expected > 0, -surprise / expected, math.nan)


def _cross_entropy(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return -(p.softmax(-1) * q.log_softmax(-1)).sum(-1)


def _of_tokens(values: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return values.gather(-1, tokens[..., None])[..., 0]


def _sum(values: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    return values.double().masked_fill(~real, 0.0).sum(-1)


def _mean(values: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    return _sum(values, real) / real.sum(-1)


MEASURES = {
    "log-likelihood": log_likelihood,
    "log-rank": log_rank,
    "entropy": entropy,
    "fast-detectgpt": fast_detectgpt,
    "binoculars": binoculars,
}
