"""The embedded default data: simulated scenes, human captions from a grammar, machine captions from trained captioners.

Files have the format of a user's own: `{image_id: [captions]}`. This module imports torch only to train and to caption.
"""

import json
import shutil
from collections import Counter
from pathlib import Path

from muattack.data.grammar import ARTICLES, write_captions
from muattack.data.scenes import PARTS, draw_scene, scene_features
from muattack.errors import InputError
from muattack.records import write_json, write_text
from muattack.words import word_spans

# Which file holds the human captions of a part.
HUMAN = {"test_bed": "human.json", "captioner": "captioner_human.json", "base": "base_human.json"}
_WHERE = "captions.simulate"


def _number(settings: dict, key: str, where: str, low: float, high: float, whole: bool = True) -> None:
    """Raise InputError unless settings[key] is a number within the bounds."""
    if key not in settings:
        raise InputError(f"{where}.{key} is missing. Give a number from {low:g} to {high:g}.")
    value = settings[key]
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise InputError(f"{where}.{key} is {value!r}. Write a{' whole' if whole else ''} number from {low:g} to {high:g}.")


def check_simulate(settings: dict) -> None:
    """Check the block `captions.simulate`.

    Raises InputError that names the key, the value and what can be written.
    """
    _number(settings, "captioner_scenes", _WHERE, 1, 1_000_000)
    _number(settings, "base_scenes", _WHERE, 1, 1_000_000)
    _number(settings, "captions_per_scene", _WHERE, 1, 20)
    for name in ("machine", "machine_ood"):
        check_captioner(name, settings)


def check_captioner(name: str, settings: dict) -> None:
    """Check one captioner's settings, `machine` or `machine_ood`, of the block `captions.simulate`."""
    if name not in ("machine", "machine_ood") or not isinstance(settings.get(name), dict):
        raise InputError(f"{_WHERE}.{name} is no captioner. Give a block of settings under {_WHERE}.machine and {_WHERE}.machine_ood.")
    own, where = settings[name], f"{_WHERE}.{name}"
    for key, known in (("architecture", ("gru", "transformer")), ("decoding", ("beam", "sample"))):
        if own.get(key) not in known:
            raise InputError(f"{where}.{key} is {own.get(key)!r}. Write one of: {', '.join(known)}.")
    _number(own, "width", where, 4, 4096)
    if own["architecture"] == "transformer" and own["width"] % 4:
        raise InputError(
            f"{where}.width is {own['width']}, but a transformer here has 4 heads. Write a multiple of 4, such as {own['width'] // 4 * 4}."
        )
    _number(own, "epochs", where, 1, 10_000)
    _number(own, "batch_size", where, 1, 100_000)
    _number(own, "learning_rate", where, 1e-7, 1, whole=False)
    if own["decoding"] == "beam":
        _number(own, "length_penalty", where, 0, 10, whole=False)
    else:
        _number(own, "top_p", where, 1e-6, 1, whole=False)
        _number(own, "temperature", where, 0.01, 100, whole=False)


def describe_captions(captions: dict[str, list[str]]) -> dict:
    """Count what is in captions: texts, words, articles, adjectives and adverbs of our lists.

    Shares are of captions; a word is what `muattack.words` calls one, in lower case.
    """
    folder = Path(__file__).parent.parent / "mutate" / "words"
    lists = {name: frozenset((folder / f"{name}.txt").read_text(encoding="utf-8").split()) for name in ("adjectives", "adverbs")}
    texts = [text for group in captions.values() for text in group]
    spoken = [[text[start:end].lower() for start, end in word_spans(text)] for text in texts]
    uses = Counter(word for words in spoken for word in words)
    found = {
        "images": len(captions),
        "captions": len(texts),
        "distinct_captions": len(set(texts)),
        "distinct_words": len(uses),
        "mean_words": sum(map(len, spoken)) / max(1, len(texts)),
        "mean_characters": sum(map(len, texts)) / max(1, len(texts)),
        "without_article": sum(not any(word in ARTICLES for word in words) for words in spoken) / max(1, len(texts)),
    }
    for name, known in lists.items():
        found[f"distinct_{name}"] = sum(word in known for word in uses)
        found[f"with_{name}"] = sum(any(word in known for word in words) for words in spoken) / max(1, len(texts))
    return found


def simulate_scenes(settings: dict, images: int, seed: int, folder: str | Path) -> None:
    """Draw the run's scenes and write their human captions.

    `settings` is the block `captions.simulate`; `images` scenes make the run's test bed. Writes into `folder`: scenes.jsonl
    (all parts, a scene a line), human.json, captioner_human.json, base_human.json and meta.json (what the captions
    hold). A scene and its captions depend on the seed, its part and its number, not on how many there are. Raises InputError.
    """
    check_simulate(settings)
    if isinstance(images, bool) or not isinstance(images, int) or not 1 <= images <= 1_000_000:
        raise InputError(f"captions.images is {images!r}. With `source: simulate` write how many scenes to draw, from 1 to 1000000.")
    folder = Path(folder)
    counts = dict(zip(PARTS, (images, settings["captioner_scenes"], settings["base_scenes"]), strict=True))
    lines, statistics = [], {}
    for part, count in counts.items():
        scenes = [draw_scene(seed, part, number) for number in range(count)]
        captions = {scene["id"]: write_captions(seed, scene, settings["captions_per_scene"]) for scene in scenes}
        lines += [json.dumps(scene, ensure_ascii=False) for scene in scenes]
        statistics[part] = describe_captions(captions)
        _write_captions(folder / HUMAN[part], captions)
    write_text(folder / "scenes.jsonl", "\n".join(lines) + "\n")
    write_json(folder / "meta.json", {"seed": seed, "settings": settings, "images": images, "human": statistics})


def _write_captions(path: Path, captions: dict[str, list[str]]) -> None:
    """Write `{image_id: [captions]}` in the images' order."""
    write_text(path, json.dumps(captions, ensure_ascii=False, indent=1) + "\n")


def read_scenes(path: str | Path, part: str) -> list[dict]:
    """Read the scenes of one part.

    Raises InputError when the file is missing or has no scene of that part.
    """
    if part not in PARTS:
        raise InputError(f"There is no part {part!r} of the scenes. Write one of: {', '.join(PARTS)}.")
    try:
        with open(path, encoding="utf-8") as file:
            scenes = [scene for scene in map(json.loads, file) if scene["part"] == part]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. The workflow makes it: run snakemake with this file as its target.") from None
    if not scenes:
        raise InputError(f"{path} holds no scene of the part {part!r}. Delete it, and the workflow makes it anew.")
    return scenes


def train_captioner(
    name: str,
    settings: dict,
    scenes_path,
    captions_path,
    out_folder,
    seed: int,
    threads: int = 1,
    state_folder: str | Path | None = None,
    every: float | None = None,
) -> None:
    """Train the captioner `name` (machine or machine_ood) on the scenes of the part captioner and their human captions.

    `settings` is the block `captions.simulate`. Writes config.json, model.safetensors, vocab.json into `out_folder`;
    config.json holds every epoch's training loss (nats a word). In `state_folder` the state is kept, at most one in `every` seconds
    (`muattack.train.resume`): a training that was killed goes on from there and removes it in the end. Raises InputError.
    """
    check_captioner(name, settings)
    _number(settings, "captions_per_scene", _WHERE, 1, 20)
    scenes = read_scenes(scenes_path, "captioner")
    captions = json.loads(Path(captions_path).read_text(encoding="utf-8"))
    missing = [scene["id"] for scene in scenes if not captions.get(scene["id"])]
    if missing:
        raise InputError(f"{captions_path} has no caption of scene {missing[0]} ({len(missing)} in all). Delete it, and the workflow makes it anew.")
    import torch

    from muattack.data.captioner import save, train

    torch.set_num_threads(threads)
    features = [scene_features(scene) for scene in scenes]
    captioner, losses = train(features, [captions[scene["id"]] for scene in scenes], settings[name], seed, state_folder, every)
    save(captioner, out_folder, {"name": name, "seed": seed, "captions_per_scene": settings["captions_per_scene"], "loss": losses})
    if state_folder is not None:
        shutil.rmtree(state_folder, ignore_errors=True)


def caption_scenes(captioner_folder, scenes_path, part: str, out_json, seed: int, threads: int = 1) -> None:
    """Caption the scenes of a part and write `{image_id: [captions]}`; a scene's captions differ, best first for a beam.

    What the captions hold is written beside the file, as {its stem}.meta.json. Raises InputError.
    """
    scenes = read_scenes(scenes_path, part)
    import torch

    from muattack.data.captioner import load

    torch.set_num_threads(threads)
    captioner, config = load(captioner_folder)
    ids = [scene["id"] for scene in scenes]
    texts = captioner.caption(ids, [scene_features(scene) for scene in scenes], config["captions_per_scene"], seed)
    captions = dict(zip(ids, texts, strict=True))
    out_json = Path(out_json)
    _write_captions(out_json, captions)
    write_json(
        out_json.with_name(f"{out_json.stem}.meta.json"), {"seed": seed, "captioner": config, "part": part, "machine": describe_captions(captions)}
    )
