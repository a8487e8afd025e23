"""The photographs that annotations list: the first so many, each downloaded, checked and looked at."""

import json
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

from muattack.data.captions import read_json
from muattack.errors import InputError
from muattack.fetch.download import ATTEMPTS, EVERY, PAUSE, Say, obtain, only_one
from muattack.fetch.lock import read_lock, record
from muattack.records import sha256, write_text

# Downloads at a time: images are small, and most of the time of one goes into asking for it.
AT_ONCE = 8
# Images whose checksums are written to the lock file together.
TOGETHER = 500
NAME = re.compile(r"\d{12}\.jpg")


def first_images(annotations: str | os.PathLike, count: int) -> list[dict]:
    """Return id and file name of the first `count` images of COCO 2017 annotations, [{image_id, file}], in the file's order.

    Raises InputError for a file that is none, one of another year, and one with fewer images.
    """
    content = read_json(annotations)
    images = content.get("images") if isinstance(content, dict) else None
    if not isinstance(images, list) or not all(isinstance(image, dict) and {"id", "file_name"} <= image.keys() for image in images):
        raise InputError(
            f'The file {annotations} holds no annotations of COCO: it lacks {{"images": [{{"id": ..., "file_name": ...}}]}}. Name captions_train2017.json.'
        )
    year = (content.get("info") or {}).get("year")
    wrong = next((image["file_name"] for image in images[:count] if not NAME.fullmatch(str(image["file_name"]))), None)
    if year not in (2017, None) or wrong is not None:
        what = (
            f"are of the year {year}"
            if year not in (2017, None)
            else f"name the image {wrong!r}, which is not named as those of 2017 are (000000391895.jpg)"
        )
        raise InputError(f"The annotations {annotations} {what}, but the images are those of COCO 2017. Name captions_train2017.json.")
    if len(images) < count:
        raise InputError(
            f"The annotations {annotations} list {len(images)} images, but {count} are asked for. Write first-{len(images)}.jsonl or less."
        )
    return [{"image_id": str(image["id"]), "file": image["file_name"]} for image in images[:count]]


def fetch_images(
    annotations: str | os.PathLike,
    count: int,
    source: Mapping,
    folder: str | os.PathLike,
    lock: str | os.PathLike,
    out: str | os.PathLike,
    local: str | None = None,
    say: Say = print,
    attempts: int = ATTEMPTS,
    pause: float = PAUSE,
) -> None:
    """Write the list of the first `count` images, one JSON object a line (image_id, path, bytes, sha256), with every image in its place.

    source: {asset, what, url}, url being the web folder of the images. They lie in `folder`, or in `local`, a folder of the user's that
    is read only. Images that are there already are checked, not fetched. Raises InputError that names asset and image.
    """
    images = first_images(annotations, count)
    place = Path(local or folder)
    if local:
        lacking = [image["file"] for image in images if not (place / image["file"]).is_file()]
        if lacking:
            raise InputError(
                f"fetch.local.{source['asset']} is {local}, which lacks {len(lacking)} of the first {count} images of {annotations}, {lacking[0]} the first of them. "
                "Name the folder with all of them."
            )
        sums = {image["file"]: sha256(place / image["file"]) for image in images}
    else:
        place.mkdir(parents=True, exist_ok=True)
        with only_one(place / "images", say):
            sums = _fetch([image["file"] for image in images], source, place, lock, say, attempts, pause)
    rows = [
        {
            "image_id": image["image_id"],
            "path": str(place / image["file"]),
            "bytes": (place / image["file"]).stat().st_size,
            "sha256": sums[image["file"]],
        }
        for image in images
    ]
    write_text(out, "".join(f"{json.dumps(row)}\n" for row in rows))


def _fetch(files: list[str], source: Mapping, folder: Path, lock: str | os.PathLike, say: Say, attempts: int, pause: float) -> dict[str, str]:
    """Return {file: SHA-256} with every file in the folder."""
    entries, new, sums = read_lock(lock), {}, {}
    began = said = time.monotonic()

    def one(file: str) -> tuple[str, dict]:
        about = dict(source) | {
            "key": f"{source['asset']}/{file}",
            "url": f"{source['url'].rstrip('/')}/{file}",
            "size": None,
            "sha256": None,
            "needs": [],
        }
        found = obtain(about, folder / file, entries, lock, say, attempts, pause, session, check=_no_jpeg)
        return file, {"url": about["url"], "size": (folder / file).stat().st_size, "sha256": found}

    with requests.Session() as session, ThreadPoolExecutor(AT_ONCE) as pool:
        for scheme in ("http://", "https://"):
            session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=AT_ONCE))
        try:
            for file, entry in pool.map(one, files):
                sums[file], new[f"{source['asset']}/{file}"] = entry["sha256"], entry
                if len(new) % TOGETHER == 0:
                    record(lock, new)
                if time.monotonic() - said >= EVERY:
                    said = time.monotonic()
                    say(f"{source['asset']}: {len(sums):,} of {len(files):,} images after {said - began:.0f} s")
        finally:
            pool.shutdown(cancel_futures=True)
            record(lock, new)
    return sums


def _no_jpeg(path: Path) -> str | None:
    with open(path, "rb") as file:
        return None if file.read(2) == b"\xff\xd8" else "what came is no JPEG image"
