"""Captioners: beams against exhaustive enumeration, sampling, training, the same bytes from the same seed."""

import itertools
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from muattack.data.captioner import (
    ARCHITECTURES,
    END,
    PAD,
    SPECIAL,
    START,
    UNKNOWN,
    beam_search,
    caption_words,
    load,
    log_probabilities,
    nucleus,
    pad_rows,
    sample,
    save,
    train,
)  # fmt: skip
from muattack.data.simulate import caption_scenes, simulate_scenes, train_captioner
from muattack.errors import InputError

torch.set_num_threads(1)
SETTINGS = {
    "architecture": "gru", "width": 32, "epochs": 8, "learning_rate": 0.02, "batch_size": 16, "decoding": "beam", "length_penalty": 1.0, "top_p": 0.7,
    "temperature": 0.9,
}  # fmt: skip


def network(architecture: str, words: int = 7, seed: int = 0):
    torch.manual_seed(seed)
    made = ARCHITECTURES[architecture](6, words, 8).eval()
    # Untrained networks are nearly flat: make what they say matter.
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(2.0)
    return made


def enumerate_captions(made, scene: torch.Tensor, words: int, longest: int) -> dict[tuple[int, ...], float]:
    """Return the log-probability, end included, of every caption of at most `longest` words, by teacher forcing."""
    found = {}
    for length in range(longest + 1):
        for text in itertools.product(range(len(SPECIAL), words), repeat=length):
            step = log_probabilities(made(scene, torch.tensor([[START, *text]])))[0]
            found[text] = sum(step[place, word].item() for place, word in enumerate([*text, END]))
    return found


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
@torch.inference_mode()
def test_wide_beam_equals_exhaustive_search(architecture, penalty):
    made = network(architecture)
    scenes = torch.tensor([[1, 3, PAD], [2, 4, 5]])
    # Three words, at most three of them: 1 + 3 + 9 + 27 captions; a beam of 40 holds every beginning.
    words, scores = beam_search(made, scenes, 40, penalty, longest=3)
    for number in range(2):
        every = enumerate_captions(made, scenes[number : number + 1], 7, 3)
        best = sorted(every, key=lambda text: -every[text] / (len(text) + 1) ** penalty)
        got = [tuple(word for word in row if word not in (END, PAD)) for row in words[number].tolist()]
        assert got == best
        assert scores[number].tolist() == pytest.approx([every[text] for text in best], abs=1e-4)


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
@torch.inference_mode()
def test_narrow_beam_is_best_first_with_true_probabilities(architecture):
    made = network(architecture, words=12, seed=3)
    scenes = torch.tensor([[1, 3, PAD], [2, 4, 5], [5, PAD, PAD]])
    words, scores = beam_search(made, scenes, 4, 0.0, longest=6)
    for number, beam in enumerate(words.tolist()):
        assert scores[number].tolist() == sorted(scores[number].tolist(), reverse=True)
        texts = [tuple(word for word in row if word not in (END, PAD)) for row in beam]
        assert len(set(texts)) == 4
        for text, score in zip(texts, scores[number].tolist(), strict=True):
            step = log_probabilities(made(scenes[number : number + 1], torch.tensor([[START, *text]])))[0]
            assert score == pytest.approx(sum(step[place, word].item() for place, word in enumerate([*text, END])), abs=1e-4)


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
@torch.inference_mode()
def test_steps_equal_the_whole_text(architecture):
    made = network(architecture)
    scenes, words = torch.tensor([[1, 3, PAD], [PAD, PAD, PAD]]), torch.tensor([[START, 4, 5, 6], [START, 6, 6, 4]])
    whole = made(scenes, words)
    assert torch.isfinite(whole).all()
    state = made.start(scenes)
    for place in range(4):
        logits, state = made.step(state, words[:, place])
        torch.testing.assert_close(logits, whole[:, place])


def test_never_emitted_words_have_no_probability():
    step = log_probabilities(torch.zeros(2, 9))
    assert (step[:, [PAD, START, UNKNOWN]] == -math.inf).all()
    assert step.exp().sum(1).tolist() == pytest.approx([1, 1])


def test_nucleus_by_hand():
    shares = torch.tensor([[0.1, 0.5, 0.15, 0.25], [0.97, 0.01, 0.01, 0.01]])
    order, kept = nucleus(shares, 0.6)
    assert order[0, :2].tolist() == [1, 3]
    assert kept[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert kept[1].tolist() == pytest.approx([1, 0, 0, 0])
    order, kept = nucleus(shares, 1.0)
    assert sorted(kept[0].tolist()) == pytest.approx([0.1, 0.15, 0.25, 0.5])
    # A flat distribution over many words needs more than the shortcut's 64.
    order, kept = nucleus(torch.full((1, 200), 0.005), 0.5)
    assert int((kept > 0).sum()) in (100, 101)


@torch.inference_mode()
def test_samples_follow_the_network():
    made = network("gru")
    scene = torch.tensor([[1, 3]])
    count = 20000
    draws = np.random.default_rng(5).random((count, 3))
    words = sample(made, scene.expand(count, 2), draws, 1.0, 1.0).tolist()
    every = enumerate_captions(made, scene, 7, 1)
    for text in [(), (4,), (5,), (6,)]:
        share = sum(row[: len(text) + 1] == [*text, END] for row in words) / count
        assert share == pytest.approx(math.exp(every[text]), abs=0.012)
    # A row's caption does not hang on the rest of the batch.
    alone = sample(made, scene, draws[7:8], 1.0, 1.0).tolist()[0]
    assert alone == words[7]


def tiny_world(count: int = 96) -> tuple[list[list[str]], list[list[str]]]:
    things, doings = ["dog", "cat", "horse", "bus"], ["sleeping", "waiting", "moving"]
    pairs = [(things[number % 4], doings[number % 3]) for number in range(count)]
    features = [[f"thing={thing}", f"doing={doing}"] for thing, doing in pairs]
    return features, [[f"A {thing} is {doing}.", f"one {thing} {doing} in the street"] for thing, doing in pairs]


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_training_learns_to_name_the_object(architecture):
    features, captions = tiny_world()
    captioner, losses = train(features, captions, {**SETTINGS, "architecture": architecture}, 1)
    assert losses[-1] < 0.4 * losses[0]
    texts = captioner.caption(["x", "y"], [["thing=horse", "doing=waiting"], ["thing=bus", "doing=sleeping"]], 2, 1)
    assert set(texts[0]) == {"a horse is waiting", "one horse waiting in the street"}
    assert set(texts[1]) == {"a bus is sleeping", "one bus sleeping in the street"}
    captioner.settings = {**captioner.settings, "decoding": "sample"}
    texts = captioner.caption(["x", "y"], [["thing=horse", "doing=waiting"], ["thing=bus", "doing=sleeping"]], 2, 1)
    assert all("horse" in text for text in texts[0])
    assert len(set(texts[0])) == 2
    assert texts[1] == captioner.caption(["y"], [["thing=bus", "doing=sleeping"]], 2, 1)[0]


def test_rare_words_are_never_said():
    features, captions = tiny_world(600)
    captions[0] = ["A dog is sleeping ostentatiously."] * 2
    captioner, _ = train(features, captions, {**SETTINGS, "epochs": 1, "width": 8, "batch_size": 256}, 1)
    assert "ostentatiously" not in captioner.words
    assert "sleeping" in captioner.words


def test_a_captioner_without_enough_to_say_is_told():
    captioner, _ = train([["thing=dog"]] * 40, [["Dog."]] * 40, {**SETTINGS, "epochs": 2, "width": 8}, 1)
    captioner.network.output.weight.data.zero_()
    # Nothing but the end: one caption at most, and that one empty.
    captioner.network.output.bias.data.fill_(-1e9)
    captioner.network.output.bias.data[END] = 0.0
    captioner.settings = {**captioner.settings, "decoding": "sample", "top_p": 0.5}
    with pytest.raises(InputError, match="different captions for scene one"):
        captioner.caption(["one"], [["thing=dog"]], 3, 1)


def test_words_are_lower_case_without_punctuation():
    assert caption_words("A man's T-shirt, 2 dogs.") == ["a", "man's", "t", "shirt", "2", "dogs"]


def test_rows_are_padded():
    assert pad_rows([[4], [5, 6]]).tolist() == [[4, PAD], [5, 6]]


def test_saved_and_loaded_says_the_same(tmp_path):
    features, captions = tiny_world(24)
    captioner, _ = train(features, captions, {**SETTINGS, "epochs": 2}, 1)
    save(captioner, tmp_path / "c", {"captions_per_scene": 3})
    again, config = load(tmp_path / "c")
    assert config["captions_per_scene"] == 3
    scenes = [["thing=dog", "doing=moving", "never=seen"]]
    assert again.caption(["s"], scenes, 3, 1) == captioner.caption(["s"], scenes, 3, 1)
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["config.json", "model.safetensors", "vocab.json"]


@pytest.mark.slow
def test_same_seed_same_bytes_whatever_the_hash_seed(tmp_path):
    own = {**SETTINGS, "epochs": 1, "width": 8}
    other = {**own, "architecture": "transformer", "decoding": "sample"}
    settings = {"captioner_scenes": 30, "base_scenes": 5, "captions_per_scene": 3, "machine": own, "machine_ood": other}
    simulate_scenes(settings, 10, 1, tmp_path)
    program = (
        "import sys, json; from muattack.data.simulate import train_captioner\n"
        "for name in ('machine', 'machine_ood'): train_captioner(name, json.loads(sys.argv[2]), sys.argv[1] + '/scenes.jsonl', "
        "sys.argv[1] + '/captioner_human.json', sys.argv[1] + '/two/' + name, 1)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path), json.dumps(settings)], check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    for name in ("machine", "machine_ood"):
        train_captioner(name, settings, tmp_path / "scenes.jsonl", tmp_path / "captioner_human.json", tmp_path / "one" / name, 1)
        for file in ("config.json", "vocab.json", "model.safetensors"):
            assert (tmp_path / "one" / name / file).read_bytes() == (tmp_path / "two" / name / file).read_bytes()
        for folder in ("one", "two"):
            caption_scenes(tmp_path / folder / name, tmp_path / "scenes.jsonl", "base", tmp_path / folder / f"{name}.json", 1)
        written = (tmp_path / "one" / f"{name}.json").read_bytes()
        assert written == (tmp_path / "two" / f"{name}.json").read_bytes()
        captions = json.loads(written)
        assert list(captions) == [f"base_{number:05d}" for number in range(5)]
        assert all(len(set(texts)) == 3 for texts in captions.values())
        assert json.loads((tmp_path / "one" / f"{name}.meta.json").read_text(encoding="utf-8"))["machine"]["captions"] == 15
