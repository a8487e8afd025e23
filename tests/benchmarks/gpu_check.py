"""What one NVIDIA GPU makes of training and scoring: agreement with the processor, texts a second, share of peak, memory.

    make gpu-check                               # at most 8 minutes; needs torch >= 2.11, transformers 5 or 4.57, a GPU, no network
    make gpu-check ARGS="--cpu --small"          # the same script on a processor
    make gpu-check ARGS="--cpu --only falls"     # the shape of RoBERTa-large on a processor: memory, and a loss that falls

Weights are random and texts made up of token numbers of COCO's lengths, so that nothing is fetched. Each measurement stands for itself: one that fails
is told and the others go on. What would not fit into the time is left out, and told. Results: a table, and gpu-check.json, written after every
measurement.
"""

import argparse
import gc
import json
import math
import os
import resource
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import RobertaConfig, RobertaForSequenceClassification

from muattack.detect.detector import TransformersDetector
from muattack.detect.encoder import OwnHeadClassifier, compile_layers
from muattack.train.adversarial import make_step
from muattack.train.batches import cut_by_budget, pad, shuffled_batches
from muattack.train.loop import TokenFeed, VectorFeed, plain_step
from muattack.train.optimise import State, make_optimiser, make_schedule

SHAPES = {
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 50265},
    "small": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 500},
}
# Peaks without sparsity as the maker states them, 10^12 FLOP/s: float32 (no TF32) and bfloat16.
PEAKS = {"H200": (67, 989), "H100": (67, 989), "A100": (19.5, 312), "L40S": (91.6, 362), "L4": (30.3, 121), "V100": (15.7, 125), "T4": (8.1, 65)}
PADDED, ASCENTS = 50, 5


class Tokenizer:
    """What feeds and detectors ask of a tokenizer, for texts that are token numbers already."""

    pad_token_id = 1

    def __call__(self, texts, **options) -> dict:
        return {"input_ids": [[int(token) for token in text.split()] for text in texts]}

    def num_special_tokens_to_add(self) -> int:
        return 2


def make_texts(count: int, vocabulary: int, seed: int = 0) -> list[list[int]]:
    """Return token numbers of texts as long as COCO's captions are: 8 to 50 tokens, 14 on the average, special ones included."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.gamma(8, 0.75, count).astype(int) + 8, 8, PADDED)
    return [[0, *random.integers(5, vocabulary, length - 2).tolist(), 2] for length in lengths]


def make_model(shape: str, device: torch.device, frozen: bool = False, seed: int = 0, drawn_on: str | None = None) -> OwnHeadClassifier:
    """Return a RoBERTa classifier of random weights."""
    torch.manual_seed(seed)
    config = RobertaConfig(max_position_embeddings=514, type_vocab_size=1, num_labels=2, **SHAPES[shape])
    # Drawn where it will lie: a processor takes seconds for 355 million numbers.
    with torch.device(drawn_on or device):
        model = OwnHeadClassifier(RobertaForSequenceClassification(config))
    model.to(device)
    model.body.requires_grad_(not frozen)
    return model


def make_state(model: OwnHeadClassifier, precision: str, rate: float = 1e-5) -> State:
    """Return where training starts."""
    optimiser = make_optimiser(model, rate, 0.01)
    return State(model, optimiser, make_schedule(optimiser, 10_000, 0.0), precision=precision)


def parameters(model: OwnHeadClassifier) -> int:
    """Return the parameters of the layers, which products of a token count."""
    return sum(weight.numel() for name, weight in model.body.named_parameters() if "embeddings" not in name)


class Check:
    """The measurements on one device."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.started = options, time.monotonic()
        self.device = torch.device("cpu" if options.cpu else "cuda")
        self.shape = "small" if options.small else "large"
        self.budget = 256 if options.small else options.token_budget
        name = "cpu" if options.cpu else torch.cuda.get_device_name()
        peak = next((peak for key, peak in PEAKS.items() if key in name), (None, None))
        self.peak = dict(zip(("float32", "bfloat16"), (options.float32 or peak[0], options.bfloat16 or peak[1]), strict=True))
        self.facts = {
            "device": name,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "shape": self.shape,
            "peak_tflops": self.peak,
        }
        self.rows: list[dict] = []
        self.texts = make_texts(100 if options.small else 20_000, SHAPES[self.shape]["vocab_size"])
        self.labels = torch.from_numpy(np.random.default_rng(1).integers(0, 2, len(self.texts)))

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.options.seconds - (time.monotonic() - self.started)

    def sync(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def free(self) -> None:
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def memory(self) -> float:
        """Return the peak of the GPU's memory since `free`, or of the whole process since it started, GB."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated() / 1e9
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9

    def inputs(self, batch: list[int], length: int | None = None) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
        return pad([self.texts[index] for index in batch], 1, length, self.device), self.labels[batch].to(self.device)

    def measure(self, name: str, work: Callable[[list[int]], object], batches: list[list[int]], passes: float, precision: str, body: int) -> dict:
        """Time `work` on batch after batch, three before the clock starts, for a share of what time is left; one row of the table.

        passes: forward passes that a batch's work is worth (3 for a step of training); padding is no work.
        """
        for batch in batches[:3]:
            work(batch)
        self.sync()
        began, done, tokens = time.monotonic(), 0, 0
        limit = min(self.options.each, max(1.0, self.left() / 3))
        used = 0
        while time.monotonic() - began < limit:
            batch = batches[(3 + used) % len(batches)]
            work(batch)
            used += 1
            done += len(batch)
            tokens += sum(len(self.texts[index]) for index in batch)
            if self.device.type == "cuda" and used % 10 == 0:
                self.sync()
        self.sync()
        seconds = time.monotonic() - began
        flops = 2 * body * tokens * passes / seconds
        peak = self.peak[precision]
        row = {
            "measurement": name, "precision": precision, "batches": used, "texts_per_second": done / seconds, "tflops": flops / 1e12,
            "share_of_peak": flops / 1e12 / peak if peak else None, "peak_memory_gb": self.memory(),
        }  # fmt: skip
        self.rows.append(row)
        print(json.dumps(row), flush=True)
        return row

    def agreement(self) -> None:
        """Compare scores and one step of training with the processor's, float32; on a processor with itself in other batches."""
        few = self.texts[: 8 if self.shape == "large" else 64]
        texts = [" ".join(map(str, text)) for text in few]
        scores = {}
        losses = []
        for number, device in enumerate((torch.device("cpu"), self.device)):
            os.environ["MUATTACK_DEVICE"] = device.type
            model = make_model(self.shape, device, drawn_on="cpu").eval()
            # Fresh weights say about the same of every text.
            model.model.classifier.out_proj.weight.data *= 20
            detector = TransformersDetector(model, Tokenizer(), PADDED, ("human", "machine"))
            # On a processor alone: the same texts in another company.
            asked = texts if number == 0 or self.device.type == "cuda" else texts + [" ".join(map(str, text)) for text in self.texts[-20:]]
            scores[number] = detector.predict(asked)[: len(texts), -1]
            state = make_state(model, "float32")
            inputs = pad(few, 1, device=device)
            losses.append([plain_step(TokenFeed(None, PADDED, 0), state, inputs, self.labels[: len(few)].to(device)) for _ in range(2)])
        one, other = scores.values()
        worst, apart = float(np.abs(one - other).max()), max(abs(a - b) for a, b in zip(*losses, strict=True))
        self.facts["agreement"] = {
            "scores": worst,
            "losses": apart,
            "tolerance": self.options.tolerance,
            "passed": max(worst, apart) <= self.options.tolerance,
        }
        print(json.dumps(self.facts["agreement"]), flush=True)
        if not self.facts["agreement"]["passed"]:
            raise AssertionError(f"processor and GPU differ by {max(worst, apart):.2g}, more than {self.options.tolerance:g}")

    def scoring(self) -> None:
        """Score in batches by token budget, in float32 as muattack does, and padded to 50 tokens."""
        self.free()
        model = make_model(self.shape, self.device).eval()
        body, lengths = parameters(model), [len(text) for text in self.texts]
        by_budget = cut_by_budget(sorted(range(len(lengths)), key=lengths.__getitem__), lengths, self.budget)
        padded = [
            list(range(start, start + self.budget // PADDED)) for start in range(0, len(lengths) - self.budget // PADDED, self.budget // PADDED)
        ]
        by_budget = [by_budget[index] for index in np.random.default_rng(0).permutation(len(by_budget))]

        def work(length: int | None) -> Callable:
            def run(batch: list[int]) -> None:
                with torch.inference_mode():
                    model(*self.inputs(batch, length)[0])

            return run

        quick = self.measure("scoring, token budget", work(None), by_budget, 1, "float32", body)
        slow = self.measure("scoring, padded to 50", work(PADDED), padded, 1, "float32", body)
        self.facts["token budget against padding, scoring"] = quick["texts_per_second"] / slow["texts_per_second"]

    def training(
        self, name: str, passes: float, frozen: bool = False, step: Callable = plain_step, compiled: bool = False, precision: str = "bfloat16"
    ) -> None:
        """Train on batches by token budget; the loss must be finite."""
        self.free()
        model = make_model(self.shape, self.device, frozen)
        if compiled:
            compile_layers(model)
        state, feed = make_state(model, precision), TokenFeed(None, PADDED, self.budget)
        model.train()
        batches, losses = shuffled_batches([len(text) for text in self.texts], self.budget, np.random.default_rng(0)), []
        self.measure(name, lambda batch: losses.append(step(feed, state, *self.inputs(batch))), batches, passes, precision, parameters(model))
        if not all(map(math.isfinite, losses)):
            raise AssertionError(f"{name}: a loss is not finite")

    def padded_training(self) -> None:
        """Train in the same way on batches padded to 50 tokens."""
        self.free()
        model, count = make_model(self.shape, self.device), self.budget // PADDED
        state, feed = make_state(model, "bfloat16"), TokenFeed(None, PADDED, self.budget)
        model.train()
        batches = [list(range(start, start + count)) for start in range(0, len(self.texts) - count, count)]
        self.measure(
            "training, padded to 50", lambda batch: plain_step(feed, state, *self.inputs(batch, PADDED)), batches, 3, "bfloat16", parameters(model)
        )

    def falling(self) -> None:
        """Learn eight texts by heart, the encoder trained too or frozen: the loss of the full shape must fall."""
        found = self.facts["loss by heart"] = {}
        small, labels = self.shape == "small", (torch.arange(8) % 2).to(self.device)
        os.environ["MUATTACK_DEVICE"] = self.device.type
        for name, frozen in (("frozen encoder", True), ("full", False)):
            self.free()
            model = make_model(self.shape, self.device, frozen).eval()
            rate = 1e-3 if small or frozen else 1e-5
            state = make_state(model, "bfloat16" if self.device.type == "cuda" and not frozen else "float32", rate)
            self.sync()
            began = time.monotonic()
            if frozen:
                # As in a run: each text is encoded once, and every step works on its vector.
                feed = VectorFeed(model, Tokenizer(), PADDED, len(labels), None)
                inputs = feed.inputs(feed.prepare([" ".join(map(str, text)) for text in self.texts[:8]])[0], list(range(8)))
            else:
                feed, inputs = TokenFeed(None, PADDED, 0), pad(self.texts[:8], 1, device=self.device)
            losses = [plain_step(feed, state, inputs, labels) for _ in range(20)]
            self.sync()
            found[name] = {
                "first": losses[0], "last three": statistics.mean(losses[-3:]), "steps": len(losses), "texts": len(labels), "tokens": sum(map(len, self.texts[:8])),
                "seconds": time.monotonic() - began, "peak_memory_gb": self.memory(),
            }  # fmt: skip
            print(json.dumps({f"loss by heart, {name}": found[name]}), flush=True)
            if not losses[-1] < losses[0]:
                raise AssertionError(f"the loss does not fall ({name}): {losses[0]:.3f} to {losses[-1]:.3f}")

    def trainer(self) -> None:
        """Train the same model on the same texts with the Trainer of transformers: fixed batches, padded to the longest text of each."""
        from transformers import Trainer, TrainingArguments

        self.free()
        model = make_model(self.shape, self.device).model
        count = max(1, self.budget // statistics.mean(map(len, self.texts)).__trunc__())
        steps = 4 if self.shape == "small" else 60
        warm = max(1, steps // 4)
        rows = [{"input_ids": text, "labels": int(label)} for text, label in zip(self.texts, self.labels, strict=True)]

        def collate(batch: list[dict]) -> dict:
            ids, mask = pad([row["input_ids"] for row in batch], 1)
            return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([row["labels"] for row in batch])}

        clock: list[float] = []

        class Clock(transformers.TrainerCallback):
            def on_step_end(this, args, state, control, **more) -> None:
                self.sync()
                clock.append(time.monotonic())

        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder, max_steps=steps, per_device_train_batch_size=count, bf16=self.device.type == "cuda", use_cpu=self.device.type == "cpu",
                learning_rate=1e-5, logging_strategy="no", save_strategy="no", report_to=[], disable_tqdm=True, optim="adamw_torch_fused",
            )  # fmt: skip
            Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collate, callbacks=[Clock()]).train()
        rate = count * (len(clock) - warm) / (clock[-1] - clock[warm - 1])
        row = {
            "measurement": "Trainer of transformers",
            "precision": "bfloat16",
            "batches": steps - warm,
            "texts_per_second": rate,
            "peak_memory_gb": self.memory(),
        }
        self.rows.append(row)
        print(json.dumps(row), flush=True)

    def run(self) -> bool:
        """Measure everything that fits into the time; return whether all went well."""
        bodies: list[tuple[str, Callable]] = [
            ("agreement of GPU and processor", self.agreement),
            ("a loss that falls", self.falling),
            ("scoring", self.scoring),
            ("training, full", lambda: self.training("training, full", 3)),
            ("training, frozen encoder", lambda: self.training("training, frozen encoder", 1, frozen=True)),
            ("training, padded to 50", self.padded_training),
            ("Trainer of transformers", self.trainer),
            (
                "training, FreeLB++",
                # Every ascent is a pass forwards and backwards.
                lambda: self.training(
                    "training, FreeLB++ K = 5",
                    3 * ASCENTS,
                    step=make_step({"method": "freelb_pp", "steps": ASCENTS, "step_size": 0.03, "initial_magnitude": 0.05}),
                ),
            ),
        ]
        if self.device.type == "cuda":
            bodies.append(("training, full, compiled", lambda: self.training("training, full, compiled", 3, compiled=True)))
        failed, skipped = {}, []
        for name, body in bodies:
            if self.options.only not in name:
                continue
            # Compiling takes a minute or so beside.
            if self.left() < self.options.reserve * (3 if "compiled" in name else 1):
                skipped.append(name)
                print(f"{name}: left out, {self.left():.0f} s are left", flush=True)
                continue
            began = time.monotonic()
            try:
                body()
            except ImportError as error:
                # The Trainer needs accelerate, which muattack does not.
                skipped.append(f"{name} ({error})")
            except Exception as error:
                traceback.print_exc()
                failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
            self.save()
        full, padded = (next((row for row in self.rows if row["measurement"] == name), None) for name in ("training, full", "training, padded to 50"))
        if full and padded:
            self.facts["token budget against padding, training"] = full["texts_per_second"] / padded["texts_per_second"]
        self.facts |= {"failed": failed, "left_out": skipped, "seconds": time.monotonic() - self.started}
        self.save()
        return not failed

    def save(self) -> None:
        """Write what is known so far."""
        Path(self.options.out).write_text(json.dumps({**self.facts, "rows": self.rows}, indent=1) + "\n")

    def report(self) -> str:
        """Return the table."""
        lines = ["| measurement | precision | texts/s | 10¹² FLOP/s | share of peak | peak memory, GB |", "|---|---|---:|---:|---:|---:|"]
        for row in self.rows:
            cells = [row.get(key) for key in ("tflops", "share_of_peak", "peak_memory_gb")]
            shown = ["—" if value is None else f"{value:.1%}" if key else f"{value:.2f}" for key, value in zip((0, 1, 0), cells, strict=True)]
            lines.append(f"| {row['measurement']} | {row['precision']} | {row['texts_per_second']:,.0f} | {' | '.join(shown)} |")
        return "\n".join([*lines, "", *(f"- {name}: {value}" for name, value in self.facts.items())])


def main(arguments: list[str] | None = None) -> int:
    """Run the check; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", action="store_true", help="run on the processor")
    parser.add_argument("--small", action="store_true", help="a small shape in place of RoBERTa-large's")
    parser.add_argument("--only", default="", help="measure only what has this in its name, such as: falls")
    parser.add_argument("--seconds", type=float, default=450, help="for everything (default: 450)")
    parser.add_argument("--each", type=float, default=20, help="most seconds of one measurement (default: 20)")
    parser.add_argument("--reserve", type=float, default=45, help="seconds below which nothing new begins (default: 45)")
    parser.add_argument("--token-budget", type=int, default=16384, help="tokens of a batch (default: 16384)")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="largest difference of scores and losses between devices (default: 1e-3)")
    parser.add_argument("--float32", type=float, help="the GPU's peak in float32, 10^12 FLOP/s, where it is not known here")
    parser.add_argument("--bfloat16", type=float, help="the same in bfloat16")
    parser.add_argument("--out", default="gpu-check.json", help="file for the results (default: gpu-check.json)")
    options = parser.parse_args(arguments)
    if options.small:
        # Several threads would wait for each other.
        torch.set_num_threads(1)
    if not options.cpu:
        os.environ["MUATTACK_DEVICE"] = "cuda"
        if not torch.cuda.is_available():
            print("No NVIDIA GPU is to be seen by torch. `--cpu --small` runs the same script on a processor.", file=sys.stderr)
            return 2
    check = Check(options)
    passed = check.run()
    print(f"\n{check.report()}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
