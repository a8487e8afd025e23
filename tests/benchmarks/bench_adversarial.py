"""Cost of adversarial training against plain training, on one thread, CPU seconds.

    python tests/benchmarks/bench_adversarial.py [rounds [precisions]]

The model has the demo's shape (RoBERTa, 4 layers of 128 units, first token's short cut) and random weights, batches fill the
demo's token budget at a mixture of lengths. All ways train on the same batch in turn, in an order that rotates, so that whatever
else the machine does hits all alike; the plain way takes K + 1 steps, about as long as the others take for one. Printed are ratios
to a plain step of the same batch: least, median, most; and, where other jobs disturb, the ratio of the least times of each length.
Targets: a FreeLB step at K ascents (K + 1 passes) at most 1.05 x (K + 1), an ascent of PGD-K at most 0.75.
"""

import statistics
import sys
import time

import numpy as np
import torch
from transformers import RobertaConfig
from transformers.models.roberta.modeling_roberta import RobertaForSequenceClassification

from muattack.config import read_config
from muattack.detect.encoder import OwnHeadClassifier
from muattack.train.adversarial import make_step
from muattack.train.batches import pad
from muattack.train.loop import TokenFeed, plain_step
from muattack.train.optimise import State, make_optimiser, make_schedule

K = 5
PRECISIONS = ("float32", "bfloat16")
# Tokens of a text: short captions, long captions, and topic texts.
LENGTHS = (14, 26, 50)


def fresh_state(config: dict, precision: str) -> State:
    """Return the demo's encoder with a head on it, ready to train."""
    shape = config["encoders"]["tiny"]["pretrain"]
    torch.manual_seed(0)
    model = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=shape["vocabulary"],
            hidden_size=shape["width"],
            num_hidden_layers=shape["layers"],
            num_attention_heads=shape["heads"],
            intermediate_size=4 * shape["width"],
            max_position_embeddings=64,
            hidden_dropout_prob=shape["dropout"],
            attention_probs_dropout_prob=shape["dropout"],
        )
    )
    optimiser = make_optimiser(model, config["training"]["learning_rate"], config["training"]["weight_decay"])
    return State(OwnHeadClassifier(model).train(), optimiser, make_schedule(optimiser, 10**6, 0.1), precision=precision)


def batch_of(length: int, config: dict, random: np.random.Generator) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return inputs and labels of one batch whose longest text has `length` tokens, the shortest a fifth less."""
    count = config["training"]["token_budget"] // length
    lengths = [length, *random.integers(int(0.8 * length), length + 1, count - 1).tolist()]
    inputs = pad([random.integers(5, config["encoders"]["tiny"]["pretrain"]["vocabulary"], size).tolist() for size in lengths], 1)
    return inputs, torch.from_numpy(random.integers(0, 2, count))


def bench(rounds: int, precision: str) -> None:
    """Print the ratios of one precision."""
    config = read_config()
    settings = config["training"]["adversarial"]
    steps = {
        "plain": plain_step,
        "freelb": make_step({**settings, "method": "freelb_pp", "steps": K + 1}),
        "freelb bounded": make_step({**settings, "method": "freelb", "steps": K + 1}),
        "pgd": make_step({**settings, "method": "pgd_kpp", "steps": K}),
        "pgd bounded": make_step({**settings, "method": "pgd_k", "steps": K}),
    }
    feed, states = TokenFeed(None, 50, config["training"]["token_budget"]), {name: fresh_state(config, precision) for name in steps}
    random = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for number in range(-1, rounds):
        inputs, labels = batch_of(LENGTHS[number % len(LENGTHS)], config, random)
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            started = time.process_time()
            for _ in range(K + 1 if name == "plain" else 1):
                steps[name](feed, states[name], inputs, labels)
            # The first round warms up.
            if number >= 0:
                seconds[name].append(time.process_time() - started)
    plain = [own / (K + 1) for own in seconds["plain"]]
    print(f"\n{precision}: plain step {1000 * statistics.median(plain):.0f} ms (median over batches of {config['training']['token_budget']} tokens)")
    for name in names[1:]:
        # PGD's own step on the weights is a plain one: what is over it are K ascents.
        own_step = 0 if name.startswith("freelb") else 1
        what = f"an ascent of {name}, over a plain step" if own_step else f"a {name} step at K = {K} ascents, over K + 1 plain steps"
        target = 0.75 if own_step else 1.05

        def ratio(own: float, base: float, own_step: int = own_step) -> float:
            return (own - own_step * base) / ((K + 1 - own_step) * base)

        ratios = [ratio(own, base) for own, base in zip(seconds[name], plain, strict=True)]
        # Rounds of one length: every third.
        least = statistics.mean(ratio(min(seconds[name][part :: len(LENGTHS)]), min(plain[part :: len(LENGTHS)])) for part in range(len(LENGTHS)))
        print(f"{what}: {min(ratios):.3f} - {statistics.median(ratios):.3f} - {max(ratios):.3f}; of the least times {least:.3f} (target {target})")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for precision in sys.argv[2:] or PRECISIONS:
        bench(int(sys.argv[1]) if len(sys.argv) > 1 else 15, precision)
