"""Photographs become captions: kinds of images, images that are none, beam search in batches, a job that was killed, captioners that fail."""

import json

import numpy as np
import pytest
import torch
from made_images import draw, make_captioner
from PIL import Image

from muattack.config import check_config, read_config
from muattack.costs import captions_of, cost, images_of
from muattack.data import caption_images as module
from muattack.data.caption_images import BadImage, caption_images, open_image
from muattack.data.coco import DECISIVE, gather_captions, list_images, read_images
from muattack.errors import InputError

SETTINGS = {"captions_per_image": 3, "beams": 3, "max_tokens": 6, "batch_size": 2}


@pytest.fixture(scope="module")
def captioner(tmp_path_factory):
    """A vision-encoder-decoder of two layers with random weights, as transformers saves it."""
    return make_captioner(tmp_path_factory.mktemp("captioner"), [f"word{number}" for number in range(30)])


@pytest.fixture
def listed(tmp_path):
    """Five photographs, and the list of them."""
    rows = [{"image_id": str(number), "path": str(draw(tmp_path / f"{number}.png", number)), "sha256": f"sum{number}"} for number in range(1, 6)]
    (tmp_path / "images.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "images.jsonl"


def run(captioner, listed, name="all", shard=0, shards=1, settings=SETTINGS):
    out = listed.parent / f"{name}.json"
    caption_images(listed, {"model": str(captioner)}, settings, out, listed.parent / "state" / f"{name}.jsonl", shard, shards)
    return json.loads(out.read_text())


def test_every_kind_of_photograph_becomes_rgb(tmp_path):
    grey = np.linspace(0, 255, 64, dtype=np.uint8).reshape(8, 8)
    made = {
        "grey.png": Image.fromarray(grey),
        "deep.png": Image.fromarray(grey.astype(np.uint16) * 257),
        "cmyk.jpg": Image.new("CMYK", (8, 8), (0, 255, 255, 0)),
        "palette.gif": Image.new("P", (8, 8)),
        "clear.png": Image.new("RGBA", (8, 8), (0, 0, 0, 0)),
        "huge.jpg": Image.new("RGB", (9000, 3000), "red"),
    }
    opened = {}
    for name, image in made.items():
        image.save(tmp_path / name)
        opened[name] = open_image(tmp_path / name)
        assert opened[name].mode == "RGB"
    # 16 bits are scaled and not cut off at 255.
    assert np.array_equal(np.asarray(opened["deep.png"]), np.asarray(opened["grey.png"]))
    assert opened["cmyk.jpg"].getpixel((0, 0))[0] > 200 > 60 > opened["cmyk.jpg"].getpixel((0, 0))[1]
    assert opened["clear.png"].getpixel((0, 0)) == (255, 255, 255)
    # A large one is read smaller, in its proportions.
    assert opened["huge.jpg"].size == (4500, 1500)
    # As a camera was held.
    turned = Image.new("RGB", (20, 10))
    turned.getexif()[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=turned.getexif())
    assert open_image(tmp_path / "turned.jpg").size == (10, 20)


def test_what_is_no_photograph_says_why(tmp_path, monkeypatch):
    draw(tmp_path / "whole.png", 1)
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:-60])
    (tmp_path / "page.jpg").write_text("<html>")
    Image.fromarray(np.ones((4, 4), dtype=np.float32)).save(tmp_path / "float.tiff")
    for name, said in (
        ("cut.png", "does not open"),
        ("page.jpg", "UnidentifiedImageError"),
        ("none.jpg", "No such file"),
        ("float.tiff", "floating-point"),
    ):
        with pytest.raises(BadImage, match=said):
            open_image(tmp_path / name)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(BadImage, match="million pixels"):
        open_image(tmp_path / "whole.png")


def test_captions_do_not_depend_on_shards_or_on_a_kill(captioner, listed, monkeypatch):
    whole = run(captioner, listed)
    assert list(whole["captions"]) == ["1", "2", "3", "4", "5"]
    assert all(len(texts) == 3 and len(set(texts)) > 1 for texts in whole["captions"].values())
    # Photographs are looked at.
    assert len({texts[0] for texts in whole["captions"].values()}) > 1
    parts = [run(captioner, listed, f"part{shard}", shard, 2) for shard in (0, 1)]
    assert parts[0]["captions"] | parts[1]["captions"] == whole["captions"]
    assert list(parts[1]["captions"]) == ["3", "4"]

    asked = []
    caption = module.Captioner.caption

    def killed(self, images):
        if len(asked) == 1:
            raise KeyboardInterrupt
        asked.append(len(images))
        return caption(self, images)

    monkeypatch.setattr(module.Captioner, "caption", killed)
    with pytest.raises(KeyboardInterrupt):
        run(captioner, listed, "again")
    asked.clear()
    monkeypatch.setattr(module.Captioner, "caption", lambda self, images: (asked.append(len(images)), caption(self, images))[1])
    assert run(captioner, listed, "again") == whole
    assert asked == [2, 1]
    # What is done needs no model; with other settings it is not used.
    asked.clear()
    assert run(captioner, listed, "again") == whole
    assert asked == []
    assert run(captioner, listed, "again", settings={**SETTINGS, "captions_per_image": 1})["captions"]["1"] == whole["captions"]["1"][:1]
    assert asked == [2, 2, 1]


def test_images_that_do_not_open_are_told_together_after_the_others(captioner, listed):
    for name in ("2.png", "5.png"):
        (listed.parent / name).write_text("no image")
    with pytest.raises(InputError) as told:
        run(captioner, listed)
    assert all(part in str(told.value) for part in ("2 of 5 images", "2.png: it does not open", "5.png", "captions.coco.images"))
    # Mended, only these are captioned.
    lines = (listed.parent / "state" / "all.jsonl").read_text().splitlines()
    assert [json.loads(line.split(" ", 1)[1]).get("id") for line in lines] == [None, "1", "3", "4"]
    draw(listed.parent / "2.png", 2)
    draw(listed.parent / "5.png", 5)
    assert list(run(captioner, listed)["captions"]) == ["1", "2", "3", "4", "5"]


def test_weights_that_do_not_fit_are_refused(captioner, listed, tmp_path):
    from safetensors.torch import load_file, save_file

    other = tmp_path / "other"
    other.mkdir()
    for file in captioner.iterdir():
        if file.name != "model.safetensors":
            (other / file.name).write_bytes(file.read_bytes())
    weights = load_file(captioner / "model.safetensors")
    gone = next(name for name in weights if "crossattention.self.query.weight" in name)
    left = {name: value for name, value in weights.items() if name != gone} | {
        "decoder.stranger": torch.ones(1),
        "encoder.embeddings.position_ids": torch.ones(1),
    }
    save_file(left, other / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError) as told:
        run(other, listed)
    assert gone in str(told.value)
    assert "1 unknown, such as decoder.stranger" in str(told.value)


def test_empty_captions_are_left_out_and_counted(tmp_path, listed):
    texts = {str(number): ["a dog", "a cat", "a bus", "a kite"] for number in range(1, 6)}
    texts["4"][1] = " "
    meta = {"model": "mute", "device": "cpu", **dict.fromkeys(DECISIVE, 1)}
    shard = tmp_path / "0.json"

    def gather():
        shard.write_text(json.dumps({"meta": meta, "captions": texts}))
        return gather_captions(listed, [shard], tmp_path / "out.json", tmp_path / "out.meta.json")

    assert "an empty caption 1 of 20 times" in gather()
    assert json.loads((tmp_path / "out.json").read_text())["4"] == ["a dog", "a bus", "a kite"]
    assert json.loads((tmp_path / "out.meta.json").read_text())["empty_captions"] == 1
    texts["5"] = ["", "", "", ""]
    with pytest.raises(InputError, match="captioner mute gave an empty caption 5 of 20 times"):
        gather()
    del texts["5"]
    with pytest.raises(InputError, match="4 images are there"):
        gather()


def test_images_are_listed_with_what_people_say(tmp_path, listed):
    rows = [{"image_id": image, "caption": f"caption {number} of {image}"} for image in range(1, 7) for number in range(1 + image % 4)]
    (tmp_path / "notes.json").write_text(json.dumps({"images": [{"id": image} for image in range(1, 7)], "annotations": rows}))
    counts = list_images(listed, [str(tmp_path / "notes.json")], 4, 3, tmp_path / "some.jsonl", tmp_path / "human.json")
    assert counts == {"images": 4, "images with fewer captions": 2}
    assert [row["sha256"] for row in read_images(tmp_path / "some.jsonl")] == ["sum1", "sum2", "sum3", "sum4"]
    assert json.loads((tmp_path / "human.json").read_text())["3"] == [f"caption {number} of 3" for number in range(3)]
    (tmp_path / "notes.json").write_text(json.dumps({"images": [], "annotations": [row for row in rows if row["image_id"] != 3]}))
    with pytest.raises(InputError, match=r"captions for 4 of the 5 images .* 3 is the first without. Both must be of one year"):
        list_images(listed, [str(tmp_path / "notes.json")], None, 3, tmp_path / "some.jsonl", tmp_path / "human.json")
    with pytest.raises(InputError, match=r"captions\.images asks for 9 images, but .* lists 5"):
        list_images(listed, [str(tmp_path / "notes.json")], 9, 3, tmp_path / "some.jsonl", tmp_path / "human.json")
    listed.write_text('{"image_id": 1}\n')
    with pytest.raises(InputError, match="line 1, is"):
        read_images(listed)


def test_the_configuration_and_what_it_asks_for():
    config = read_config()
    config["captions"].update(source="coco", images=None)
    config["captions"]["coco"].update(images="asset:coco_images/first-10000.jsonl", human="human.json", machine={"model": "asset:vit-gpt2"}, beams=3)
    config["detectors"].pop("base")
    with pytest.raises(InputError, match=r"captions\.coco\.beams is 3, but 5 captions"):
        check_config(config)
    config["captions"]["coco"]["beams"] = 5
    assert check_config(config)["captions"]["coco"]["machine"] == {"model": "asset:vit-gpt2"}
    assert images_of(config) == 10_000
    assert captions_of(config, []) == 100_000
    one = cost(config, "caption", 0, 0)
    config["captions"]["coco"]["shards"] = 4
    assert cost(config, "caption", 0, 0)[1] == pytest.approx(one[1] / 4)
