"""Training speed on one thread: batches padded to their longest text against the same batches padded to 50, side by side.

    python tests/benchmarks/bench_train.py [texts]

Texts are the real captions (MUATTACK_DATA or ../shared/data), or made ones of the same lengths where there are none. Both
ways take turns, batch by batch in the same order from the same weights, so that what else the machine does hits both. The
target is a ratio of 2.5 with the same loss. Then the texts a second that the packaged MiniLM encodes.
"""

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from muattack.config import read_config
from muattack.data.captions import normalise
from muattack.detect.detector import distinct
from muattack.detect.encoder import build_classifier, load_tokenizer, locate_encoder, tokenise
from muattack.detect.features import frozen_model, vectors_of
from muattack.errors import InputError
from muattack.train.batches import pad, shuffled_batches
from muattack.train.loop import State, TokenFeed, plain_step
from muattack.train.optimise import make_optimiser, make_schedule
from muattack.train.pretrain import pretrain_encoder

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("MUATTACK_DATA", ROOT.parent / "shared" / "data")) / "captions" / "same_images"
ROUNDS = 3


def training_texts(count: int) -> tuple[list[str], np.ndarray]:
    """Return texts and labels, human and machine in turn."""
    if DATA.is_dir():
        sides = [json.loads((DATA / name).read_text(encoding="utf-8")) for name in ("human.json", "captioner1.json")]
        pairs = [(normalise(text, "paper"), label) for image in sides[0] for label, side in enumerate(sides) for text in side[image]][:count]
    else:
        print("no real captions here: made texts of 8 to 15 words stand in")
        draw = random.Random(0)
        words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(1, 8))) for _ in range(900)]
        pairs = [(" ".join(draw.choices(words, k=draw.randint(8, 15))), number % 2) for number in range(count)]
    texts, labels = zip(*pairs, strict=True)
    return list(texts), np.array(labels, dtype=np.int64)


def bench_padding(texts: list[str], labels: np.ndarray, folder: Path) -> None:
    """Print texts a second of both ways of padding, and their losses."""
    config = read_config()
    encoder, training = config["encoders"]["tiny"], config["training"]
    encoder["pretrain"]["epochs"] = 4
    started = time.process_time()
    pretrain_encoder(pd.DataFrame({"text": texts, "split": "train", "source": "human"}), encoder, folder, 1)
    print(f"masked language modelling: {4 * len(texts) / (time.process_time() - started):.0f} texts/s with start-up")
    tokenizer = load_tokenizer(folder)
    tokens, _ = tokenise(tokenizer, texts, encoder["max_length"])
    batches = shuffled_batches([len(one) for one in tokens], training["token_budget"], np.random.default_rng(0))
    feed = TokenFeed(tokenizer, encoder["max_length"], training["token_budget"])
    targets = torch.from_numpy(labels)
    states, seconds, losses = {}, {"longest": 0.0, "50": 0.0}, {"longest": [], "50": []}
    for way in seconds:
        torch.manual_seed(0)
        model = build_classifier(folder, encoder).train()
        optimiser = make_optimiser(model, training["learning_rate"], training["weight_decay"])
        states[way] = State(model, optimiser, make_schedule(optimiser, ROUNDS * len(batches), training["warmup_share"]))
    for _ in range(ROUNDS):
        for batch in batches:
            for way, length in (("longest", None), ("50", encoder["max_length"])):
                started = time.process_time()
                inputs = pad([tokens[i] for i in batch], tokenizer.pad_token_id, length)
                losses[way].append(plain_step(feed, states[way], inputs, targets[batch]))
                seconds[way] += time.process_time() - started
    speed = {way: ROUNDS * len(texts) / seconds[way] for way in seconds}
    for way in seconds:
        print(f"padded to {way:>7}: {speed[way]:6.0f} texts/s, mean loss of the last round {np.mean(losses[way][-len(batches) :]):.4f}")
    print(
        f"ratio {speed['longest'] / speed['50']:.2f} (target 2.5); largest difference of a batch's loss {np.abs(np.subtract(*losses.values())).max():.1e}"
    )


def bench_encoding(texts: list[str]) -> None:
    """Print the texts a second that MiniLM encodes, sorted by length, in batches by token budget."""
    encoder = read_config()["encoders"]["minilm"]
    try:
        found = locate_encoder(encoder)
    except InputError as error:
        print(f"MiniLM not measured: {error}")
        return
    model, tokenizer, texts = frozen_model(encoder, found), load_tokenizer(found), distinct(texts)[0]
    started = time.process_time()
    vectors_of(model, tokenizer, texts, encoder["max_length"])
    print(f"MiniLM encodes {len(texts) / (time.process_time() - started):.0f} distinct texts/s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    texts, labels = training_texts(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    print(f"{len(texts)} texts, one thread, CPU seconds")
    with tempfile.TemporaryDirectory() as folder:
        bench_padding(texts, labels, Path(folder))
    bench_encoding(texts[:1000])
