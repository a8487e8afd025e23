"""Neural captioners: from a scene's features to words, trained in the run on other scenes' human captions.

Two architectures behind one interface. `gru`: the features' embeddings are summed to one vector, which starts a
recurrent decoder and is added to every word it reads and to what it says (show-and-tell). `transformer`: every feature is a token of its
own that a causal decoder attends to. Texts are lower-cased words without punctuation, as captioners are trained.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

from muattack.errors import InputError
from muattack.progress import progress
from muattack.records import complete_or_absent, write_json
from muattack.seeds import digest
from muattack.train.optimise import run_facts
from muattack.train.resume import Checkpoint, digest_of, first_weights, pack, unpack
from muattack.words import word_spans

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")
# A word that fewer training captions use stays unknown and is never emitted.
RARE = 6
# Longest caption in words; longer ones are cut for training.
LONGEST = 20
# Share of a scene's features that are hidden in a training step: a captioner does not see everything.
HIDDEN = 0.1

State = dict[str, torch.Tensor]


def caption_words(text: str) -> list[str]:
    """Return a caption's words in lower case, without punctuation."""
    return [text[start:end].lower() for start, end in word_spans(text)]


def pad_rows(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """Return rows of numbers as one (rows, longest) tensor, filled up with PAD."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long).reshape(len(rows), longest)


class GRUCaptioner(nn.Module):
    """A recurrent decoder on the sum of a scene's features."""

    def __init__(self, features: int, words: int, width: int):
        super().__init__()
        self.features = nn.Embedding(features, width, padding_idx=PAD)
        self.scene = nn.Linear(width, width)
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.output = nn.Linear(width, words)
        self.dropout = nn.Dropout(0.1)

    def start(self, scenes: torch.Tensor) -> State:
        """Encode scenes (n, features) into the decoder's first state."""
        bag = self.features(scenes).sum(1) / (scenes != PAD).sum(1, keepdim=True).clamp(min=1).sqrt()
        context = torch.tanh(self.scene(bag))
        return {"context": context, "hidden": context}

    def forward(self, scenes: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return logits (n, length, words) of the word after each of `words` (n, length)."""
        state = self.start(scenes)
        read = self.dropout(self.words(words)) + state["context"][:, None]
        hidden, _ = self.decoder(read, state["hidden"][None])
        return self.output(self.dropout(hidden + state["context"][:, None]))

    def step(self, state: State, word: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return logits (n, words) after one more word (n,), and the next state."""
        read = self.words(word) + state["context"]
        hidden, last = self.decoder(read[:, None], state["hidden"][None].contiguous())
        return self.output(hidden[:, 0] + state["context"]), {"context": state["context"], "hidden": last[0]}


class Block(nn.Module):
    """A decoder block: attention to the words so far, attention to the scene, a feed-forward layer; norms first."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = nn.Linear(width, 3 * width)
        self.own_out = nn.Linear(width, width)
        self.ask = nn.Linear(width, width)
        self.answer = nn.Linear(width, 2 * width)
        self.scene_out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def split(self, values: torch.Tensor) -> torch.Tensor:
        """Reshape (n, length, width) to (n, heads, length, width / heads)."""
        return values.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def scene_keys(self, scene: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values of the scene's parts."""
        keys, values = self.answer(scene).chunk(2, -1)
        return self.split(keys), self.split(values)

    def forward(self, read, scene, mask, past=None):
        """Return the block's output and the keys and values of all words so far.

        read (n, length, width); scene: keys and values of the scene's parts; mask (n, 1, 1, parts), True where a part is;
        past: keys and values of the words before, None when `read` is the whole text.
        """
        query, key, value = (self.split(part) for part in self.own(self.norms[0](read)).chunk(3, -1))
        if past is not None:
            key, value = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=past is None)
        read = read + self.own_out(seen.transpose(1, 2).flatten(2))
        seen = functional.scaled_dot_product_attention(self.split(self.ask(self.norms[1](read))), *scene, attn_mask=mask)
        read = read + self.scene_out(seen.transpose(1, 2).flatten(2))
        return read + self.feed(self.norms[2](read)), (key, value)


class TransformerCaptioner(nn.Module):
    """A causal decoder that attends to a scene's features."""

    def __init__(self, features: int, words: int, width: int, layers: int = 2, heads: int = 4):
        super().__init__()
        self.features = nn.Embedding(features, width, padding_idx=PAD)
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.positions = nn.Embedding(LONGEST + 1, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, words)
        self.dropout = nn.Dropout(0.1)
        self.scale = math.sqrt(width)
        for table in (self.features, self.words, self.positions):
            nn.init.normal_(table.weight, std=1 / self.scale)

    def start(self, scenes: torch.Tensor) -> State:
        """Encode scenes (n, features): keys and values of their features for every block."""
        seen = self.features(scenes) * self.scale
        # A scene with no feature at all would leave nothing to attend to: its first padding stands in.
        mask = scenes != PAD
        mask[:, 0] |= ~mask.any(1)
        state = {"mask": mask[:, None, None]}
        for number, block in enumerate(self.blocks):
            state[f"scene_keys{number}"], state[f"scene_values{number}"] = block.scene_keys(seen)
        return state

    def run(self, state: State, words: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return logits (n, length, words) for more words (n, length), and the next state."""
        before = state["keys0"].shape[2] if "keys0" in state else 0
        read = self.words(words) * self.scale + self.positions.weight[before : before + words.shape[1]] * self.scale
        read, after = self.dropout(read), dict(state)
        for number, block in enumerate(self.blocks):
            past = (state[f"keys{number}"], state[f"values{number}"]) if before else None
            scene = (state[f"scene_keys{number}"], state[f"scene_values{number}"])
            read, (after[f"keys{number}"], after[f"values{number}"]) = block(read, scene, state["mask"], past)
        return self.output(self.dropout(self.norm(read))), after

    def forward(self, scenes: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return logits (n, length, words) of the word after each of `words` (n, length)."""
        return self.run(self.start(scenes), words)[0]

    def step(self, state: State, word: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return logits (n, words) after one more word (n,), and the next state."""
        logits, state = self.run(state, word[:, None])
        return logits[:, 0], state


ARCHITECTURES = {"gru": GRUCaptioner, "transformer": TransformerCaptioner}


def emittable(logits: torch.Tensor) -> torch.Tensor:
    """Return the logits with -inf for what is never emitted: all but words and the end."""
    logits = logits.clone()
    logits[..., [PAD, START, UNKNOWN]] = -math.inf
    return logits


def log_probabilities(logits: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities over what may be emitted."""
    return emittable(logits).log_softmax(-1)


def beam_search(model, scenes: torch.Tensor, size: int, length_penalty: float = 0.0, longest: int = LONGEST) -> tuple[torch.Tensor, torch.Tensor]:
    """Decode scenes (n, features) with a beam of `size`; return the whole beam, best first.

    Captions compete by log-probability / length ** length_penalty, the end counted in both. Returns words (n, size,
    length), END and PAD after a caption, and log-probabilities (n, size). A caption of `longest` words is closed there.
    Where fewer than `size` captions exist the rest have -inf.
    """
    count = len(scenes)
    state = {name: values.repeat_interleave(size, 0) for name, values in model.start(scenes).items()}
    scores = torch.full((count, size), -math.inf)
    # All beams start alike: only the first may grow at first.
    scores[:, 0] = 0.0
    words = torch.full((count * size, 1), START)
    lengths = torch.zeros(count * size)
    offset = torch.arange(count)[:, None] * size
    for length in range(longest + 1):
        logits, state = model.step(state, words[:, -1])
        step = log_probabilities(logits)
        vocabulary = step.shape[1]
        if length == longest:
            # The last step can only close the caption.
            closing = torch.full_like(step, -math.inf)
            closing[:, END] = step[:, END]
            step = closing
        # A finished caption stays as it is: padding costs nothing, anything else is impossible.
        done = (words[:, -1] == END) | (words[:, -1] == PAD)
        step[done] = -math.inf
        step[done, PAD] = 0.0
        lengths = lengths + ~done
        candidates = scores.reshape(-1, 1) + step
        ranks = (candidates / (lengths**length_penalty)[:, None]).reshape(count, size * vocabulary)
        chosen = ranks.topk(min(size, ranks.shape[1]), 1).indices
        scores = candidates.reshape(count, -1).gather(1, chosen)
        rows = (offset + chosen // vocabulary).reshape(-1)
        words = torch.cat((words[rows], (chosen % vocabulary).reshape(-1, 1)), 1)
        lengths = lengths[rows]
        state = {name: values[rows] for name, values in state.items()}
        if ((words[:, -1] == END) | (words[:, -1] == PAD) | (scores.reshape(-1) == -math.inf)).all():
            break
    return words[:, 1:].reshape(count, size, -1), scores


def nucleus(probabilities: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the most probable words that together reach `top_p`, most probable first, and their shares of 1.

    Both are (n, k), k at most the number of words; places past a row's nucleus have a share of 0.
    """
    # Sorting all words is slow and hardly ever needed: the most probable ones nearly always reach top_p.
    ordered, order = probabilities.topk(min(64, probabilities.shape[-1]), -1)
    if top_p >= 1 or (ordered.sum(-1) < top_p).any():
        ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    kept = ordered.masked_fill(before >= top_p, 0.0)
    return order, kept / kept.sum(-1, keepdim=True)


def sample(model, scenes: torch.Tensor, draws: np.ndarray, top_p: float, temperature: float) -> torch.Tensor:
    """Sample a caption for every row of scenes (n, features) by nucleus sampling.

    `draws` (n, longest) holds the numbers in [0, 1) that pick the words, so that a scene's caption does not depend on
    what else is in the batch. Returns words (n, longest), END and PAD after a caption.
    """
    state = model.start(scenes)
    picks = torch.from_numpy(draws)
    said = torch.full((len(scenes), draws.shape[1]), PAD)
    # The rows still decoded; finished ones leave once they are half of them.
    rows = torch.arange(len(scenes))
    word = torch.full((len(scenes),), START)
    for position in range(draws.shape[1]):
        logits, state = model.step(state, word)
        order, shares = nucleus((emittable(logits) / temperature).softmax(-1), top_p)
        # The pick is scaled to the last sum, so that rounding can never lead past the last word with a share.
        cumulative = shares.double().cumsum(-1)
        place = torch.searchsorted(cumulative, (picks[rows, position] * cumulative[:, -1])[:, None], right=True).clamp(max=shares.shape[1] - 1)
        closed = (word == END) | (word == PAD)
        word = torch.where(closed, PAD, order.gather(1, place)[:, 0])
        said[rows, position] = word
        going = (word != END) & (word != PAD)
        if not going.any():
            break
        if going.sum() * 2 <= len(rows):
            rows, word, state = rows[going], word[going], {name: values[going] for name, values in state.items()}
    return said


class Captioner:
    """A trained captioner: network, vocabularies and how it decodes."""

    def __init__(self, network: nn.Module, features: list[str], words: list[str], settings: dict):
        self.network = network
        self.features = {feature: number for number, feature in enumerate(features, 1)}
        self.words = words
        self.settings = settings

    def rows(self, scenes: Sequence[Sequence[str]]) -> torch.Tensor:
        """Return scenes' features as numbers (n, longest); a feature never seen in training is not seen now."""
        return pad_rows([[self.features[feature] for feature in scene if feature in self.features] or [PAD] for scene in scenes])

    def text(self, numbers: Sequence[int]) -> str:
        """Return the caption that numbers stand for, up to its end."""
        said = []
        for number in numbers:
            if number in (END, PAD):
                break
            said.append(self.words[number])
        return " ".join(said)

    @torch.inference_mode()
    def caption(self, ids: Sequence[str], scenes: Sequence[Sequence[str]], count: int, seed: int, batch: int = 128) -> list[list[str]]:
        """Caption scenes `count` times each, best or first drawn first; the captions of a scene differ.

        `ids` seed what is sampled for each scene. Raises InputError when a scene's captions run out.
        """
        self.network.eval()
        found: list[list[str]] = []
        starts = range(0, len(scenes), batch)
        for start in progress(starts, f"captions by {self.settings['architecture']}"):
            rows = self.rows(scenes[start : start + batch])
            if self.settings["decoding"] == "beam":
                words, scores = beam_search(self.network, rows, count, self.settings["length_penalty"])
                found += [
                    [self.text(row) for row, score in zip(beam, logs, strict=True) if score > -math.inf]
                    for beam, logs in zip(words.tolist(), scores.tolist(), strict=True)
                ]
            else:
                found += self._sampled(ids[start : start + batch], rows, count, seed)
        for name, captions in zip(ids, found, strict=True):
            if len(captions) < count or not all(captions):
                raise InputError(
                    f"The captioner finds only {len([text for text in captions if text])} different captions for scene {name}, but {count} are asked for. "
                    "It has learnt next to nothing: raise `epochs` or `captioner_scenes`, or for `decoding: sample` `top_p` or `temperature`."
                )
        return found

    def _sampled(self, ids: Sequence[str], rows: torch.Tensor, count: int, seed: int) -> list[list[str]]:
        """Sample until every scene has `count` different captions, more freely after each round that left one short."""
        found: list[list[str]] = [[] for _ in ids]
        top_p, temperature = self.settings["top_p"], self.settings["temperature"]
        for number in range(12):
            short = [place for place, captions in enumerate(found) if len(captions) < count]
            if not short:
                break
            draws = np.concatenate(
                [np.random.default_rng(digest(seed, "sample", ids[place], number)).random(((count + 2), LONGEST)) for place in short]
            )  # fmt: skip
            words = sample(self.network, rows[short].repeat_interleave((count + 2), 0), draws, top_p, temperature).tolist()
            for index, place in enumerate(short):
                for row in words[index * (count + 2) : (index + 1) * (count + 2)]:
                    text = self.text(row)
                    if text and text not in found[place] and len(found[place]) < count:
                        found[place].append(text)
            # The first rounds follow the settings; a scene whose captions run out is sampled more freely.
            if number >= 2:
                top_p = min(1.0, top_p + 0.1)
        return found


def train(
    features: list[list[str]],
    captions: list[list[str]],
    settings: dict,
    seed: int,
    state_folder: str | Path | None = None,
    every: float | None = None,
) -> tuple[Captioner, list[float]]:
    """Train a captioner on scenes' features and their captions (one list a scene each).

    Teacher forcing, cross-entropy per word, AdamW with a linear warm-up and decay. Returns the captioner and every
    epoch's mean loss (nats a word). The same seed and number of torch threads give the same weights, also where a training
    that was killed goes on from what it left in `state_folder`, at most one state in `every` seconds; who saves the captioner removes it.
    """
    texts = [[caption_words(text) for text in scene] for scene in captions]
    uses = Counter(word for scene in texts for text in scene for word in text)
    rare = RARE if sum(map(len, texts)) >= 1000 else 1
    words = [*SPECIAL, *sorted(word for word, count in uses.items() if count >= rare)]
    number_of = {word: number for number, word in enumerate(words)}
    seen = sorted({feature for scene in features for feature in scene})
    torch.manual_seed(digest(seed, "captioner", settings["architecture"]) % 2**63)
    network = ARCHITECTURES[settings["architecture"]](len(seen) + 1, len(words), settings["width"])
    captioner = Captioner(network, seen, words, settings)
    rows = captioner.rows(features)
    pairs = [(scene, [number_of.get(word, UNKNOWN) for word in text[:LONGEST]]) for scene, group in enumerate(texts) for text in group if text]
    # Neighbours in length share a batch: little padding.
    order = np.random.default_rng(digest(seed, "captioner order"))
    steps = settings["epochs"] * math.ceil(len(pairs) / settings["batch_size"])
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings["learning_rate"], weight_decay=0.01)
    warm = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / warm, max(0.05, (steps - step) / max(1, steps - warm))))
    losses = []
    checkpoint = Checkpoint(
        state_folder,
        __file__,
        lambda: {
            "settings": digest_of(settings, seed),
            "data": digest_of(features, captions),
            "first weights": first_weights(network),
            "versions or device": digest_of(run_facts(torch.get_num_threads())),
        },
        every,
    )
    if before := checkpoint.read():
        tensors, facts = before
        unpack(tensors, facts, network, optimizer, schedule)
        order.bit_generator.state = facts["order"]
        losses = facts["losses"]
    network.train()
    for _ in progress(range(len(losses), settings["epochs"]), f"epochs of the {settings['architecture']} captioner"):
        shuffled = sorted(order.permutation(len(pairs)).tolist(), key=lambda place: len(pairs[place][1]))
        batches = [shuffled[at : at + settings["batch_size"]] for at in range(0, len(shuffled), settings["batch_size"])]
        total = spoken = 0.0
        for at in progress(order.permutation(len(batches)).tolist(), f"batches of epoch {len(losses) + 1}", closing=False):
            batch = [pairs[place] for place in batches[at]]
            scenes = rows[[scene for scene, _ in batch]]
            scenes = scenes.masked_fill(torch.rand(scenes.shape) < HIDDEN, PAD)
            read = pad_rows([[START, *text] for _, text in batch])
            target = pad_rows([[*text, END] for _, text in batch])
            loss = functional.cross_entropy(network(scenes, read).flatten(0, 1), target.flatten(), ignore_index=PAD, reduction="sum")
            tokens = int((target != PAD).sum())
            optimizer.zero_grad()
            (loss / tokens).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total, spoken = total + loss.item(), spoken + tokens
        losses.append(total / spoken)
        if len(losses) < settings["epochs"] and checkpoint.due():
            tensors, facts = pack(network, optimizer, schedule)
            checkpoint.write(len(losses), tensors, facts | {"order": order.bit_generator.state, "losses": losses})
    network.eval()
    return captioner, losses


def save(captioner: Captioner, folder: str | Path, extra: dict) -> None:
    """Write a captioner's folder: model.safetensors, vocab.json and, last, config.json with `extra` beside its settings."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with complete_or_absent(folder / "model.safetensors") as temporary:
        save_file(captioner.network.state_dict(), temporary)
    write_json(folder / "vocab.json", {"features": list(captioner.features), "words": captioner.words})
    write_json(folder / "config.json", {"captioner": captioner.settings, **extra})


def load(folder: str | Path) -> tuple[Captioner, dict]:
    """Load a captioner's folder; returns it and the whole of its config.json.

    Raises InputError when the folder is not a captioner's.
    """
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        weights = load_file(folder / "model.safetensors")
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no captioner: {Path(error.filename or folder).name} is missing. Delete it, and the workflow trains it anew."
        ) from error
    settings = config["captioner"]
    network = ARCHITECTURES[settings["architecture"]](len(vocabulary["features"]) + 1, len(vocabulary["words"]), settings["width"])
    network.load_state_dict(weights)
    return Captioner(network, vocabulary["features"], vocabulary["words"], settings), config
