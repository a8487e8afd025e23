"""muattack beside what else there is for the same work, in one run, taking turns: how many times as fast, min – median – max of the rounds.

    make bench                                          # writes the table into docs/benchmarks.md
    python tests/benchmarks/bench_peers.py [--rounds 5] [--only mutation training attack corruption] [--write FILE]

- mutation: nlpaug and TextAttack's augmenters, captions a second of processor time. nlpaug applies the same two operators, articles removed and
  their a replaced; how many of its texts are ours to the byte is told. TextAttack's own nearest ones, WordDeletion and WordSwapHomoglyphSwap, change a tenth of the words.
- training: the Trainer of transformers, texts a second, on the same model, texts and number of epochs: batches of as many texts as ours have on average, padded to
  the longest of a batch, and padded to 50, as is usual.
- attack: stock TextAttack, seconds a text with identical outcomes (bench_attack.py). Needs the real data.
- corruption: the package corrupted-text (bench_corrupt.py). Needs the real data.

nlpaug and corrupted-text are installed by pip into environments of their own, which are thrown away. One core, one thread.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from bench_mutate import captions
from bench_train import training_texts

from muattack.attack.offline import load_textattack
from muattack.config import DEFAULTS, read_config, read_yaml
from muattack.detect.encoder import build_classifier, load_tokenizer, tokenise
from muattack.mutate.apply import mutate_texts
from muattack.mutate.registry import resolve
from muattack.train.batches import pad, shuffled_batches
from muattack.train.loop import State, TokenFeed, plain_step
from muattack.train.optimise import make_optimiser, make_schedule
from muattack.train.pretrain import pretrain_encoder

HERE = Path(__file__).parent
NLPAUG, CORRUPTED = ["nlpaug==1.1.11"], ["corrupted-text==0.2.0", "polyleven==0.12.0"]
MARKS = ("<!-- make bench: from here -->", "<!-- make bench: to here -->")
SETS = ("word_articles", "char_a_articles")
# Their speeds differ by orders of magnitude: each side has as many texts as it does in a second or so.
TEXTS = {"muattack": 100_000, "nlpaug": 5_000, "textattack": 300}


class Rows:
    """The table: what was measured, ours and theirs in each round."""

    def __init__(self):
        self.lines = ["| work | peer | times as fast (min – median – max) | muattack | the peer | aim |", "|---|---|---:|---:|---:|---:|"]
        self.short = []

    def add(self, work: str, peer: str, ours: list[float], theirs: list[float], unit: str, aim: float | None, smaller: bool = False) -> None:
        """Add a row; `ours` and `theirs` are rates, or costs where the `smaller` is the better, round by round."""
        ratios = sorted(their / our if smaller else our / their for our, their in zip(ours, theirs, strict=True))
        middle = statistics.median(ratios)
        spread = " – ".join(f"{one:.3g}" for one in (ratios[0], middle, ratios[-1])) if len(ratios) > 1 else f"{middle:.3g} (one round)"
        sides = [f"{statistics.median(side):,.3g}" if smaller else f"{statistics.median(side):,.0f}" for side in (ours, theirs)]
        self.lines.append(f"| {work} | {peer} | {spread} | {sides[0]} {unit} | {sides[1]} {unit} | {'' if aim is None else f'{aim:g} ×'} |")
        print(self.lines[-1], flush=True)
        if aim is not None and middle < aim:
            self.short.append(f"{work} beside {peer}: {middle:.3g}, aim {aim:g}")


def environment(folder: Path, packages: list[str]) -> Path:
    """Make an environment with these packages; return its Python."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    return python


def mutation(rows: Rows, rounds: int, folder: Path) -> None:
    """Measure nlpaug's and TextAttack's mutations beside ours."""
    some, origin = captions()
    texts = [some[number % len(some)] for number in range(max(TEXTS.values()))]
    column, settings = pa.array(texts[: TEXTS["muattack"]]), read_yaml(DEFAULTS)["mutate"]
    load_textattack()
    from textattack.augmentation import Augmenter
    from textattack.transformations import WordDeletion, WordSwapHomoglyphSwap

    others = {"word_articles": WordDeletion, "char_a_articles": WordSwapHomoglyphSwap}
    (folder / "texts.json").write_text(json.dumps(texts[: TEXTS["nlpaug"]]), encoding="utf-8")
    python = environment(folder / "nlpaug", NLPAUG)
    peer = subprocess.Popen(
        [python, HERE / "peer_nlpaug.py", folder / "texts.json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    with peer:
        for name in SETS:
            sets, rates = resolve(settings, name), {side: [] for side in TEXTS}
            augmenter = Augmenter(others[name](), pct_words_to_swap=0.1)
            for _ in range(rounds):
                started = time.process_time()
                ours = mutate_texts(column, sets)["mutated"].to_pylist()
                rates["muattack"].append(TEXTS["muattack"] / (time.process_time() - started))
                print(name, file=peer.stdin, flush=True)
                seconds, theirs = json.loads(peer.stdout.readline())
                rates["nlpaug"].append(TEXTS["nlpaug"] / seconds)
                started = time.process_time()
                for text in texts[: TEXTS["textattack"]]:
                    augmenter.augment(text)
                rates["textattack"].append(TEXTS["textattack"] / (time.process_time() - started))
            equal = sum(our == their for our, their in zip(ours, theirs, strict=False)) / len(theirs)
            told = f"mutation, `{name}`, {origin}"
            rows.add(
                told, f"nlpaug {NLPAUG[0][8:]}, the same operator ({equal:.0%} of its texts are ours)", rates["muattack"], rates["nlpaug"], "/s", 5
            )
            rows.add(told, f"TextAttack {version('textattack')}, {others[name].__name__}", rates["muattack"], rates["textattack"], "/s", 150)
        peer.stdin.close()


def trainer_seconds(model, rows: list[dict], size: int, padding_id: int, length: int | None, settings: dict, folder: Path) -> float:
    """Return the seconds of processor time that the Trainer takes for one epoch."""
    from transformers import Trainer, TrainingArguments

    def collate(batch: list[dict]) -> dict:
        ids, mask = pad([row["input_ids"] for row in batch], padding_id, length)
        return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([row["labels"] for row in batch])}

    arguments = TrainingArguments(
        str(folder), num_train_epochs=1, per_device_train_batch_size=size, use_cpu=True, learning_rate=settings["learning_rate"],
        weight_decay=settings["weight_decay"], logging_strategy="no", save_strategy="no", report_to=[], disable_tqdm=True,
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collate)
    started = time.process_time()
    trainer.train()
    return time.process_time() - started


def training(rows: Rows, rounds: int, folder: Path, count: int = 2000) -> None:
    """Measure the Trainer of transformers beside our loop, each round an epoch from the same weights."""
    texts, labels = training_texts(count)
    config = read_config()
    encoder, settings = config["encoders"]["tiny"], config["training"]
    encoder["pretrain"]["epochs"] = 1
    pretrain_encoder(pd.DataFrame({"text": texts, "split": "train", "source": "human"}), encoder, folder / "encoder", 1)
    tokenizer = load_tokenizer(folder / "encoder")
    tokens, _ = tokenise(tokenizer, texts, encoder["max_length"])
    batches = shuffled_batches([len(one) for one in tokens], settings["token_budget"], np.random.default_rng(0))
    size = round(len(texts) / len(batches))
    feed, targets = TokenFeed(tokenizer, encoder["max_length"], settings["token_budget"]), torch.from_numpy(labels)
    data = [{"input_ids": one, "labels": int(label)} for one, label in zip(tokens, labels, strict=True)]

    def fresh():
        torch.manual_seed(0)
        return build_classifier(folder / "encoder", encoder).train()

    rates = {side: [] for side in ("muattack", "longest", "50")}
    for _ in range(rounds):
        model = fresh()
        optimiser = make_optimiser(model, settings["learning_rate"], settings["weight_decay"])
        state = State(model, optimiser, make_schedule(optimiser, len(batches), settings["warmup_share"]))
        started = time.process_time()
        for batch in batches:
            plain_step(feed, state, pad([tokens[i] for i in batch], tokenizer.pad_token_id), targets[batch])
        rates["muattack"].append(len(texts) / (time.process_time() - started))
        for side, length in (("longest", None), ("50", encoder["max_length"])):
            seconds = trainer_seconds(fresh().model, data, size, tokenizer.pad_token_id, length, settings, folder / "trainer")
            rates[side].append(len(texts) / seconds)
    for side, told, aim in (("longest", "padded to the longest text of a batch", None), ("50", "padded to 50", 2.5)):
        rows.add(
            f"training `tiny`, {len(texts):,} captions an epoch", f"Trainer of transformers {version('transformers')}, batches of {size}, {told}",
            rates["muattack"], rates[side], "texts/s", aim,
        )  # fmt: skip


def run(script: str, *arguments: str) -> str:
    """Run another benchmark of this folder and return what it prints; status 1 says that it missed its aim, which its figures show."""
    done = subprocess.run([sys.executable, HERE / script, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise SystemExit(f"{script} did not run:\n{done.stderr[-2000:]}")
    return done.stdout


def attack(rows: Rows, rounds: int, folder: Path) -> None:
    """Measure stock TextAttack beside our attack."""
    costs = {"stock": [], "ours": []}
    for _ in range(min(rounds, 3)):
        said = run("bench_attack.py", "10")
        for side in costs:
            costs[side].append(float(re.search(rf"^ *{side}: +([\d.]+) CPU seconds a text", said, re.MULTILINE)[1]))
    identical = "identical statuses, texts and queries" if "all identical" in said else "NOT identical"
    rows.add(
        f"TextFooler, 10 AG News texts, MiniLM, {identical}",
        f"TextAttack {version('textattack')}, stock",
        costs["ours"],
        costs["stock"],
        "s a text",
        5,
        smaller=True,
    )


def corruption(rows: Rows, rounds: int, folder: Path) -> None:
    """Measure the package corrupted-text beside our corruptions."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", folder / "corrupted", *CORRUPTED],
        check=True,
    )
    costs = {"fitting": ([], []), "corrupting": ([], [])}
    for _ in range(min(rounds, 3)):
        said = run("bench_corrupt.py", "--library", str(folder / "corrupted"), "--texts", "500", "--repeats", "1")
        for what, (ours, theirs) in costs.items():
            slow, quick = re.search(rf"^{what} +([\d.]+) +([\d.]+)", said, re.MULTILINE).groups()
            ours.append(float(quick))
            theirs.append(float(slow))
    for what, (ours, theirs) in costs.items():
        rows.add(f"corruptions, {what}, 500 IMDB reviews", "corrupted-text 0.2.0", ours, theirs, "s", 10, smaller=True)


WORK = {"mutation": mutation, "training": training, "attack": attack, "corruption": corruption}


def machine() -> str:
    """Return the facts of the machine, in a sentence."""
    model, memory = "", 0.0
    with contextlib.suppress(OSError):
        model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1]
        memory = int(re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())[1]) / 2**20
    return (
        f"{model or platform.machine()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, Python {platform.python_version()}, "
        f"torch {torch.__version__}, one core and one thread for each side, load {os.getloadavg()[0]:.1f} when it began."
    )


def write(path: Path, text: str) -> None:
    """Put `text` between the marks of a page."""
    page = path.read_text(encoding="utf-8")
    if not all(page.count(mark) == 1 for mark in MARKS):
        raise SystemExit(f"{path} must hold each of the two lines once: {MARKS[0]} and {MARKS[1]}")
    before, rest = page.split(MARKS[0])
    path.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")


def main() -> int:
    """Run what the command line asks for; status 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--write", type=Path, help="the page to put the table into, between its marks")
    options = parser.parse_args()
    rows, facts = Rows(), machine()
    os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")
    torch.set_num_threads(1)
    pa.set_cpu_count(1)
    print("\n".join(rows.lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            WORK[name](rows, options.rounds, Path(folder))
    short = f"Short of its aim: {'; '.join(rows.short)}." if rows.short else "Every aim is met."
    text = "\n".join([*rows.lines, "", f"{facts} {short}"])
    print(f"\n{facts}\n{short}")
    if options.write:
        write(options.write, text)
    return 1 if rows.short else 0


if __name__ == "__main__":
    sys.exit(main())
