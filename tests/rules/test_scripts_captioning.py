"""The scripts that let models caption photographs, on three photographs: what each writes, and what it says when the input is wrong."""

import hashlib
import json

import pytest
from PIL import Image

SETTINGS = {"captions_per_image": 2, "beams": 2, "max_tokens": 4, "batch_size": 2}
HUMAN = {"7": ["A dog waits.", "The dog.", "One more dog."], "3": ["A cat.", "Cats sleep."], "5": ["A bus stops.", "A red bus.", "Bus"]}


@pytest.fixture
def photographs(tmp_path):
    """Three photographs, the list of them (not by number), and annotations in the form of COCO's for each, beside one image more."""
    for number in (7, 3, 5, 9):
        Image.new("RGB", (8, 6), (20 * number, 90, 200)).save(tmp_path / f"{number:012}.png")
    rows = [{"image_id": image, "path": str(tmp_path / f"{image:012}.png")} for image in (7, 3, 5)]
    (tmp_path / "listed.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = [(int(image), text) for image, texts in {**HUMAN, "9": ["Nobody asks for it."]}.items() for text in texts]
    annotations = {
        "info": {"year": 2017},
        "images": [{"id": image, "file_name": f"{image:012}.png"} for image in (3, 5, 7, 9)],
        "annotations": [{"id": number, "image_id": image, "caption": text} for number, (image, text) in enumerate(said)],
    }
    (tmp_path / "captions_train2017.json").write_text(json.dumps(annotations))
    return tmp_path


def list_images(run, **params):
    return run(
        "list_images",
        input={"images": "listed.jsonl", "human": ["captions_train2017.json"]},
        output={"images": "images.jsonl", "human": "human.json"},
        params={"images": None, "captions": 2, **params},
    )


def refused(done, folder, rule, *said):
    """The script ended with one paragraph for people, its traceback in the log."""
    assert done.returncode == 1
    for part in said:
        assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in (folder / f"{rule}.log").read_text()


def test_list_images(run, photographs):
    done = list_images(run)
    assert done.returncode == 0, done.stderr
    listed = [json.loads(line) for line in (photographs / "images.jsonl").read_text().splitlines()]
    # In the order of the list, ids as text, with the checksum that it lacks.
    assert [row["image_id"] for row in listed] == ["7", "3", "5"]
    assert [row["sha256"] for row in listed] == [hashlib.sha256((photographs / f"{number:012}.png").read_bytes()).hexdigest() for number in (7, 3, 5)]
    # The first two captions of each, as they were written, and nothing of the image that is not listed.
    assert json.loads((photographs / "human.json").read_text()) == {image: texts[:2] for image, texts in HUMAN.items()}
    assert "images: 3, images with fewer captions: 0" in (photographs / "list_images.log").read_text()

    done = list_images(run, images=2, captions=3)
    assert done.returncode == 0, done.stderr
    assert json.loads((photographs / "human.json").read_text()) == {image: HUMAN[image] for image in ("7", "3")}
    assert "images: 2, images with fewer captions: 1" in (photographs / "list_images.log").read_text()


def test_list_images_refuses_annotations_of_another_year_and_photographs_that_are_not_there(run, photographs):
    file = photographs / "captions_train2017.json"
    whole = file.read_text()
    file.write_text(json.dumps({**json.loads(whole), "annotations": [{"id": 1, "image_id": 7, "caption": "A dog."}]}))
    refused(list_images(run), photographs, "list_images", "captions for 1 of the 3 images", "3 is the first without", "Both must be of one year")
    assert not (photographs / "images.jsonl").exists()
    file.write_text(whole)
    refused(list_images(run, images=4), photographs, "list_images", "captions.images asks for 4 images", "lists 3", "Write `images: 3`")
    (photographs / f"{3:012}.png").unlink()
    refused(list_images(run), photographs, "list_images", "1 files that do not exist", f"{3:012}.png")


@pytest.fixture
def captioner(tmp_path):
    """A vision-encoder-decoder of two layers with random weights."""
    # Not above: it imports two architectures of transformers, which the other tests of this file need not wait for.
    from made_images import make_captioner

    return make_captioner(tmp_path / "tiny", ["dog", "cat", "bus", "kite", "near", "red"])


@pytest.mark.slow
def test_caption_images(run, photographs, captioner):
    def caption(shard, shards):
        return run(
            "caption_images",
            input={"images": "listed.jsonl", "model": [str(captioner)]},
            output=[f"{'all' if shards == 1 else 'machine'}-{shard}.json"],
            params={"captioner": json.dumps({"model": str(captioner)}), "settings": json.dumps(SETTINGS), "shards": shards, "threads": 1},
            wildcards={"run": "r", "captioner": "machine", "shard": str(shard)},
        )

    for shard in (0, 1):
        done = caption(shard, 2)
        assert done.returncode == 0, done.stderr
    first, second = (json.loads((photographs / f"machine-{shard}.json").read_text()) for shard in (0, 1))
    # Two images a batch, whole batches dealt out, in the order of the list.
    assert (set(first["captions"]), set(second["captions"])) == ({"7", "3"}, {"5"})
    for text in [text for part in (first, second) for texts in part["captions"].values() for text in texts]:
        assert 1 <= len(text.split()) <= SETTINGS["max_tokens"]
    assert {len(texts) for part in (first, second) for texts in part["captions"].values()} == {2}
    assert first["meta"]["model"] == "tiny"
    assert first["meta"]["model_sha256"] == hashlib.sha256((captioner / "model.safetensors").read_bytes()).hexdigest()
    assert {key: first["meta"][key] for key in SETTINGS} == SETTINGS
    assert (photographs / "results/r/state/captions/machine-1of2.jsonl").exists()

    # One that does not open is told after the others, and they are not captioned again.
    (photographs / f"{3:012}.png").write_text("<html>")
    refused(
        caption(0, 1),
        photographs,
        "caption_images",
        "1 of 3 images cannot be captioned",
        f"{3:012}.png: it does not open (UnidentifiedImageError",
        "take their lines out",
    )
    assert not (photographs / "all-0.json").exists()
    Image.new("RGB", (8, 6), (60, 90, 200)).save(photographs / f"{3:012}.png")
    done = caption(0, 1)
    assert done.returncode == 0, done.stderr
    assert "2 of 3 images are captioned already" in (photographs / "caption_images.log").read_text()
    # Captions do not depend on how many shards there are: those of the batch that was not touched are the same.
    assert json.loads((photographs / "all-0.json").read_text())["captions"]["5"] == second["captions"]["5"]


def test_gather_captions(run, photographs):
    settings = {"model": "tiny", "model_sha256": "0" * 64, **SETTINGS, "device": "cpu"}

    def gather(*parts):
        names = []
        for number, (meta, captions) in enumerate(parts):
            names.append(f"machine-{number}.json")
            (photographs / names[-1]).write_text(json.dumps({"meta": {**settings, **meta}, "captions": captions}))
        return run(
            "gather_captions",
            input={"images": "listed.jsonl", "shards": names},
            output={"captions": "machine.json", "meta": "machine.meta.json"},
        )

    one, other = {"7": ["a dog", "dog"], "3": ["a cat", "cat"]}, {"5": ["a bus", "bus"]}
    done = gather(({}, one), ({"device": "cuda"}, other))
    assert done.returncode == 0, done.stderr
    assert json.loads((photographs / "machine.json").read_text()) == one | other
    meta = json.loads((photographs / "machine.meta.json").read_text())
    assert (meta["images"], meta["captions"], meta["empty_captions"], meta["device"]) == (3, 6, 0, "cpu, cuda")
    # Nothing to tell.
    assert done.stderr == ""

    # An empty caption is left out and told; at more than a tenth there is something wrong.
    many = {"7": ["a dog"] * 8, "3": ["a cat"] * 8, "5": ["a bus"] * 7 + [" "]}
    done = gather(({}, many))
    assert done.returncode == 0, done.stderr
    assert "The captioner tiny gave an empty caption 1 of 24 times: these are left out." in done.stderr
    assert json.loads((photographs / "machine.json").read_text())["5"] == ["a bus"] * 7
    refused(
        gather(({}, {**one, "5": ["", "bus"]})), photographs, "gather_captions", "an empty caption 1 of 6 times", "captions.coco.max_tokens too low"
    )
    refused(gather(({}, one)), photographs, "gather_captions", "captions of 2 images are there", "but 3 are listed")
    refused(gather(({}, one), ({"beams": 3}, other)), photographs, "gather_captions", "machine-0.json and machine-1.json were made in different ways")
