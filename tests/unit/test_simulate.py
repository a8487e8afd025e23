"""Simulated scenes and human captions: deterministic, rich, parts apart, articles as people use them."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from muattack.data import scenes as world_scenes
from muattack.data.grammar import indefinite, progressive, third_person, write_captions
from muattack.data.scenes import PARTS, actions, attributes, draw_scene, events, kinds, places, scene_features
from muattack.data.simulate import HUMAN, caption_scenes, check_simulate, describe_captions, simulate_scenes, train_captioner
from muattack.errors import InputError

CAPTIONER = {
    "architecture": "gru", "width": 16, "epochs": 1, "learning_rate": 0.01, "batch_size": 16, "decoding": "beam", "length_penalty": 1.0, "top_p": 1.0,
    "temperature": 1.0,
}  # fmt: skip
SETTINGS = {"captioner_scenes": 40, "base_scenes": 7, "captions_per_scene": 5, "machine": CAPTIONER, "machine_ood": CAPTIONER}


@pytest.fixture(scope="module")
def run() -> dict[str, list[str]]:
    """The human captions of a run at the default size."""
    drawn = [draw_scene(1, "test_bed", number) for number in range(600)]
    return {scene["id"]: write_captions(1, scene, 5) for scene in drawn}


def test_tables_name_only_what_exists():
    for name, happening in events().items():
        assert happening, name
        for event in happening:
            assert event.action in actions()
            assert set(event.kinds) | set(event.seconds) <= set(kinds())
            phrases = actions()[event.action].phrases
            # Without a second object something must be sayable.
            assert event.seconds or any("{o}" not in phrase for phrase in phrases)
    for place in places().values():
        assert set(place.things) <= set(kinds())
        assert all("~" in phrase or " " in phrase for phrase in place.at + place.along)
    assert set(attributes()) <= set(kinds()) | {kind.category for kind in kinds().values()}


def test_human_captions_are_as_rich_as_the_task_asks(run):
    found = describe_captions(run)
    assert found["captions"] == 3000
    assert found["distinct_words"] >= 900
    assert found["distinct_adjectives"] >= 120
    assert found["distinct_adverbs"] >= 40
    assert 10 <= found["mean_words"] <= 11
    assert 50 <= found["mean_characters"] <= 58
    assert found["distinct_captions"] > 2900


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_four_in_a_hundred_people_leave_the_article_out(seed):
    captions = {str(number): write_captions(seed, draw_scene(seed, "test_bed", number), 5) for number in range(600)}
    assert 0.03 <= describe_captions(captions)["without_article"] <= 0.05


def test_captions_are_clean_text(run):
    for texts in run.values():
        assert len(texts) == 5
        for text in texts:
            assert text.strip()
            assert not set(text) & set("{}~*|_\n")
            assert "  " not in text
            assert text == text.lstrip()


def test_a_scene_depends_on_seed_part_and_number_alone(run):
    late = draw_scene(1, "test_bed", 599)
    assert write_captions(1, late, 5) == run["test_bed_00599"]
    # More captions leave the first ones as they are.
    assert write_captions(1, late, 8)[:5] == run["test_bed_00599"]
    assert draw_scene(2, "test_bed", 599) != late
    assert draw_scene(1, "base", 599) != late


def test_people_differ_in_what_they_say(run):
    assert sum(len(set(texts)) == 5 for texts in run.values()) > 590
    openings = Counter(text.split()[0].lower() for texts in run.values() for text in texts)
    assert openings["a"] < 0.75 * 3000


def test_features_tell_scenes_apart_and_hold_no_text():
    drawn = [draw_scene(1, "captioner", number) for number in range(500)]
    features = [tuple(scene_features(scene)) for scene in drawn]
    assert len(set(features)) > 490
    assert all("=" in feature and " " not in feature for scene in features for feature in scene)


def test_common_draws_after_zipf():
    rng = world_scenes.generator("zipf")
    drawn = Counter(world_scenes.common(rng, ["one", "two", "three"]) for _ in range(11000))
    assert [drawn[word] / 11000 for word in ("one", "two", "three")] == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.02)


@pytest.mark.parametrize(
    ("verb", "ing", "finite"),
    [("ride", "riding", "rides"), ("sit", "sitting", "sits"), ("lie", "lying", "lies"), ("catch", "catching", "catches"),
     ("fly", "flying", "flies"), ("play", "playing", "plays"), ("have", "having", "has"), ("do", "doing", "does"), ("eat", "eating", "eats")],
)  # fmt: skip
def test_verbs_are_inflected(verb, ing, finite):
    assert (progressive(verb), third_person(verb)) == (ing, finite)


def test_indefinite_article_follows_the_sound():
    assert indefinite("a old man with an uniform and a umbrella, a hour") == "an old man with a uniform and an umbrella, an hour"


def test_files_are_complete_and_parts_disjoint(tmp_path):
    simulate_scenes(SETTINGS, 12, 3, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "scenes.jsonl").read_text(encoding="utf-8").splitlines()]
    captions = {part: json.loads((tmp_path / HUMAN[part]).read_text(encoding="utf-8")) for part in PARTS}
    assert [len(captions[part]) for part in PARTS] == [12, 40, 7]
    for part in PARTS:
        assert list(captions[part]) == [scene["id"] for scene in lines if scene["part"] == part]
        assert all(len(texts) == 5 and all(texts) for texts in captions[part].values())
    assert len({scene["id"] for scene in lines}) == 59
    pairs = [set(text for texts in captions[part].values() for text in texts) for part in PARTS]
    assert len(pairs[0] & pairs[1]) <= 1
    meta = json.loads((tmp_path / "meta.json").read_text(encoding="utf-8"))
    assert meta["human"]["test_bed"] == describe_captions(captions["test_bed"])
    simulate_scenes(SETTINGS, 5, 3, tmp_path / "fewer")
    fewer = json.loads((tmp_path / "fewer" / "human.json").read_text(encoding="utf-8"))
    assert fewer == {name: captions["test_bed"][name] for name in fewer}


@pytest.mark.slow
def test_same_bytes_in_every_process_and_hash_seed(tmp_path):
    program = (
        "import sys, json; from muattack.data.simulate import simulate_scenes; simulate_scenes(json.loads(sys.argv[2]), 12, 3, sys.argv[1]);"
        "assert 'torch' not in sys.modules"
    )
    digests = set()
    for hash_seed in ("0", "1"):
        folder = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-c", program, str(folder), json.dumps(SETTINGS)], check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}
        )
        digests.add(hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest())
    assert len(digests) == 1


def test_describe_counts_by_hand():
    found = describe_captions({"1": ["The big dog.", "dogs run quickly"], "2": ["dogs run quickly"]})
    assert found["images"] == 2
    assert found["captions"] == 3
    assert found["distinct_captions"] == 2
    # the, big, dog, dogs, run, quickly
    assert found["distinct_words"] == 6
    assert found["mean_words"] == 3
    assert found["without_article"] == pytest.approx(2 / 3)
    assert found["with_adjectives"] == pytest.approx(1 / 3)
    assert found["with_adverbs"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"captioner_scenes": 0}, "captioner_scenes"),
        ({"base_scenes": 2.5}, "base_scenes"),
        ({"captions_per_scene": True}, "captions_per_scene"),
        ({"machine": {**CAPTIONER, "architecture": "lstm"}}, "gru, transformer"),
        ({"machine": {**CAPTIONER, "decoding": "greedy"}}, "beam, sample"),
        ({"machine_ood": {**CAPTIONER, "architecture": "transformer", "width": 30}}, "machine_ood.width"),
        ({"machine": {**CAPTIONER, "epochs": 0}}, "machine.epochs"),
        ({"machine": {**CAPTIONER, "learning_rate": "fast"}}, "learning_rate"),
        ({"machine": {**CAPTIONER, "decoding": "sample", "top_p": 1.5}}, "top_p"),
        ({"machine": {**CAPTIONER, "decoding": "sample", "temperature": 0}}, "temperature"),
        ({"machine": {**CAPTIONER, "length_penalty": -1}}, "length_penalty"),
        ({"machine": None}, "captions.simulate.machine"),
    ],
)
def test_bad_settings_are_refused(change, named, tmp_path):
    with pytest.raises(InputError, match=named):
        check_simulate({**SETTINGS, **change})
    with pytest.raises(InputError, match=named):
        simulate_scenes({**SETTINGS, **change}, 12, 1, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("images", [0, None, True, 3.0])
def test_bad_number_of_images_is_refused(images, tmp_path):
    with pytest.raises(InputError, match=r"captions\.images"):
        simulate_scenes(SETTINGS, images, 1, tmp_path / "none")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"scenes\.jsonl"):
        train_captioner("machine", SETTINGS, tmp_path / "scenes.jsonl", tmp_path / "c.json", tmp_path / "out", 1)
    simulate_scenes(SETTINGS, 12, 1, tmp_path)
    with pytest.raises(InputError, match="holds no captioner"):
        caption_scenes(tmp_path / "nothing", tmp_path / "scenes.jsonl", "test_bed", tmp_path / "out.json", 1)
    with pytest.raises(InputError, match="no part 'train'"):
        caption_scenes(tmp_path / "nothing", tmp_path / "scenes.jsonl", "train", tmp_path / "out.json", 1)
    with pytest.raises(InputError, match="has no caption of scene captioner_00000"):
        train_captioner("machine", SETTINGS, tmp_path / "scenes.jsonl", tmp_path / "human.json", tmp_path / "out", 1)
