"""Which images are captioned, and what people say about them: from a list of images and COCO's annotations."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from muattack.data.captions import merge
from muattack.errors import InputError
from muattack.records import sha256, write_json, write_text

# What the captions of two jobs have in common, or they do not belong together.
DECISIVE = ("model_sha256", "captions_per_image", "beams", "max_tokens", "batch_size")
# Of all captions that a captioner gives, the largest share that may be empty: more is no accident.
EMPTY_SHARE = 0.1


def read_images(path: str | os.PathLike) -> list[dict]:
    """Read a list of images, one JSON object a line with image_id and path (sha256, where known), in the file's order.

    Image ids become text. Raises InputError with the line of whatever is wrong.
    """
    example = 'Write {"image_id": "391895", "path": "/photos/000000391895.jpg"}, one image a line.'
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The list of images {path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}. {example}") from None
    images: dict[str, dict] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("image_id"), str | int) or not isinstance(row.get("path"), str):
            raise InputError(f"The list of images {path}, line {number}, is {line[:80]!r}. {example}")
        row["image_id"] = str(row["image_id"])
        if row["image_id"] in images:
            raise InputError(f"The list of images {path}, line {number}, has the image {row['image_id']} a second time. Take one of the two out.")
        images[row["image_id"]] = row
    if not images:
        raise InputError(f"The list of images {path} is empty. {example}")
    return list(images.values())


def list_images(
    listed: str | os.PathLike, annotations: Sequence[str], count: int | None, captions: int, out: str | os.PathLike, human: str | os.PathLike
) -> dict:
    """Write the images that are captioned (JSON lines: image_id, path, sha256), and the first `captions` captions of people for each.

    The first `count` images of the list (null: all), in its order. Returns counts for the log. Raises InputError where images are missing, and
    where the annotations are of other images: of another year, or of the other part of a year.
    """
    images = read_images(listed)
    if count is not None and count > len(images):
        raise InputError(
            f"captions.images asks for {count} images, but {listed} lists {len(images)}. Write `images: {len(images)}` or `images: null`."
        )
    images = images[:count]
    said = merge(annotations)
    lacking = [image["image_id"] for image in images if image["image_id"] not in said]
    if lacking:
        raise InputError(
            f"The annotations {', '.join(map(str, annotations))} have captions for {len(images) - len(lacking)} of the {len(images)} images that {listed} lists; "
            f"{lacking[0]} is the first without. Both must be of one year and of one part of it, as captions_train2017.json is for the images of train2017."
        )
    absent = [image["path"] for image in images if not Path(image["path"]).is_file()]
    if absent:
        raise InputError(f"The list of images {listed} names {len(absent)} files that do not exist, {absent[0]} the first. Mend their paths.")
    rows = [{"image_id": image["image_id"], "path": image["path"], "sha256": image.get("sha256") or sha256(image["path"])} for image in images]
    write_text(out, "".join(f"{json.dumps(row)}\n" for row in rows))
    write_json(human, {image["image_id"]: said[image["image_id"]][:captions] for image in images})
    return {"images": len(images), "images with fewer captions": sum(len(said[image["image_id"]]) < captions for image in images)}


def gather_captions(listed: str | os.PathLike, shards: Sequence[str | os.PathLike], out: str | os.PathLike, meta: str | os.PathLike) -> str | None:
    """Join the shards of one captioner into {image_id: [captions]}; return what is worth telling, if anything.

    Empty captions are left out, and counted in `meta`. Raises InputError for shards that do not belong together, and for a captioner
    that says nothing for more than a tenth of what it was asked.
    """
    parts = [json.loads(Path(path).read_text(encoding="utf-8")) for path in shards]
    found: dict[str, list[str]] = {}
    for path, part in zip(shards, parts, strict=True):
        # Devices and versions may differ between jobs.
        if any(part["meta"][key] != parts[0]["meta"][key] for key in DECISIVE):
            raise InputError(f"The captions {shards[0]} and {path} were made in different ways. Delete both, and the workflow makes them anew.")
        found |= part["captions"]
    images = [image["image_id"] for image in read_images(listed)]
    if sorted(found) != sorted(images):
        raise InputError(f"The captions of {len(found)} images are there to make {out}, but {len(images)} are listed. Delete them and run again.")
    full = {image: [text for text in found[image] if text.strip()] for image in images}
    asked, left = sum(map(len, found.values())), sum(map(len, full.values()))
    silent = [image for image in images if not full[image]]
    model = parts[0]["meta"]["model"]
    if asked - left > EMPTY_SHARE * asked:
        raise InputError(
            f"The captioner {model} gave an empty caption {asked - left} of {asked} times. Its tokenizer may be another model's, or captions.coco.max_tokens too low."
        )
    write_json(out, {image: texts for image, texts in full.items() if texts})
    devices = sorted({part["meta"]["device"] for part in parts})
    write_json(
        meta,
        {
            **parts[0]["meta"],
            "device": ", ".join(devices),
            "images": len(images),
            "captions": left,
            "empty_captions": asked - left,
            "images_without_captions": silent,
        },
    )
    if left == asked:
        return None
    gone = f", which leaves {len(silent)} images without any (image {', '.join(silent[:3])}): they are left out of the run" if silent else ""
    return f"The captioner {model} gave an empty caption {asked - left} of {asked} times: these are left out{gone}."


def shard_captions(path: str | os.PathLike, meta: Mapping, captions: Mapping[str, list[str]]) -> None:
    """Write what one job captioned."""
    write_json(path, {"meta": dict(meta), "captions": dict(captions)})
