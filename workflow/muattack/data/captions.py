"""Read caption files, normalise, split by image: the table that everything else starts from."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from muattack.errors import InputError
from muattack.records import sha256
from muattack.seeds import digest

SOURCES = ("human", "machine", "machine_ood")
SPLITS = ("train", "val", "test")
FEWEST_IMAGES = 10
_DROPPED = str.maketrans("", "", ",.'")


def normalise(text: str, mode: str) -> str:
    """Return the text as it is (`none`) or as the paper's data were (`paper`).

    `paper`: lower case, white space at both ends gone, the characters , . ' dropped; what stands between words stays.
    """
    return text.lower().translate(_DROPPED).strip() if mode == "paper" else text


def read_json(path: str | Path, pairs_hook=None) -> object:
    """Read a UTF-8 JSON file; raise InputError for whatever is wrong with it."""
    path = Path(path)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"The file {path} does not exist. Check the path; relative paths count from the folder that snakemake runs in.") from None
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror}.") from None
    if raw.startswith(b"\xef\xbb\xbf"):
        raise InputError(f"The file {path} begins with a byte order mark (BOM). Save it as plain UTF-8, without BOM.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        row = raw[: error.start].count(b"\n") + 1
        raise InputError(f"The file {path} is not UTF-8: line {row}, byte {error.start}. Save it as UTF-8.") from None
    try:
        return json.loads(text, object_pairs_hook=pairs_hook)
    except json.JSONDecodeError as error:
        raise InputError(f"The file {path} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}. Mend that place.") from None
    except ValueError as error:
        # A whole number of thousands of digits, say.
        raise InputError(f"The file {path} holds a value that cannot be read: {error}.") from None
    except RecursionError:
        raise InputError(f"The file {path} is nested too deeply to hold captions. Write {{image_id: [captions]}}.") from None


def read_captions(path: str | Path) -> dict[str, list[str]]:
    """Read captions as {image_id: [texts]}, images and texts in the order of the file.

    An image's captions that have numbers of their own (`id` of COCO annotations) stand in the order of these. Takes {image_id: [captions]}, COCO annotations ({"images": [...], "annotations": [{image_id, caption}]}) and COCO results
    ([{image_id, caption}]). Image ids become text. Raises InputError naming file, image and caption.
    """

    def once(pairs: list[tuple[str, object]]) -> dict:
        repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if repeated:
            raise InputError(f"The file {path} has the key {repeated[0]!r} twice in one place. Join the two entries into one.")
        return dict(pairs)

    content = read_json(path, once)
    if isinstance(content, dict) and isinstance(content.get("annotations"), list):
        images = content["images"] if isinstance(content.get("images"), list) else []
        order = [str(image["id"]) for image in images if isinstance(image, dict) and "id" in image]
        captions = _from_rows(path, content["annotations"], "annotations")
        captions = {image: captions[image] for image in dict.fromkeys([*order, *captions]) if image in captions}
    elif isinstance(content, dict):
        captions = content
    elif isinstance(content, list):
        captions = _from_rows(path, content, "")
    else:
        captions = None
    if not captions:
        raise InputError(
            f"The file {path} holds no captions in a form that is known ({type(content).__name__}). "
            'Write {"image_id": ["caption", ...], ...}, COCO annotations or COCO results [{"image_id": 1, "caption": "..."}, ...].'
        )
    for image, texts in captions.items():
        if not isinstance(texts, list):
            raise InputError(f'The file {path} gives image {image!r} a {type(texts).__name__}, but it must be a list of captions: ["...", ...].')
        if not texts:
            raise InputError(f"The file {path} gives image {image!r} no captions. Give it one at least, or leave the image out.")
        for number, text in enumerate(texts, 1):
            _check_text(path, image, number, text)
    return captions


def _from_rows(path: str | Path, rows: list, key: str) -> dict[str, list[str]]:
    found: dict[str, list[tuple]] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not {"image_id", "caption"} <= row.keys() or not _is_id(row["image_id"]):
            place = f"{key} entry {number}" if key else f"entry {number}"
            raise InputError(
                f'The file {path}, {place}, is not of the form {{"image_id": 1, "caption": "..."}}: {json.dumps(row, ensure_ascii=False)[:120]}.'
            )
        found.setdefault(str(row["image_id"]), []).append((row.get("id"), row["caption"]))
    # Captions that have numbers of their own stand in that order, however the file is shuffled.
    if all(_is_id(number) and isinstance(number, int) for captions in found.values() for number, _ in captions):
        found = {image: sorted(captions, key=lambda caption: caption[0]) for image, captions in found.items()}
    return {image: [text for _, text in captions] for image, captions in found.items()}


def _by_id(image: str) -> tuple:
    """The order of images: numbers first, by size (which for whole numbers is length, then digits)."""
    digits = image.lstrip("0")
    return (0, len(digits), digits, image) if image.isascii() and image.isdigit() else (1, 0, "", image)


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _check_text(path: str | Path, image: str, number: int, text: object) -> None:
    if text is None:
        raise InputError(f"The file {path}, image {image!r}, caption {number}, is null and no text. Give it a text or take it out.")
    if not isinstance(text, str):
        raise InputError(f"The file {path}, image {image!r}, caption {number}, is {json.dumps(text)[:60]} and no text. Write it in quotes.")
    if not text.strip():
        raise InputError(f"The file {path}, image {image!r}, caption {number}, is empty. Give it a text or take it out.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"The file {path}, image {image!r}, caption {number}, holds half of a surrogate pair, which is no character. Mend it."
        ) from None


def merge(paths: str | Path | Iterable[str | Path]) -> dict[str, list[str]]:
    """Read one or several caption files of the same source; an image's captions follow each other in the files' order."""
    if isinstance(paths, str | Path):
        paths = [paths]
    merged: dict[str, list[str]] = {}
    for path in paths:
        for image, texts in read_captions(path).items():
            merged.setdefault(image, []).extend(texts)
    return merged


def collect_captions(
    files: dict[str, str | list[str]], images: int | None, mode: str, shares: dict[str, float], seed: int
) -> tuple[pd.DataFrame, dict]:
    """Join the sources' files into one table, split by image.

    files: path(s) for `human`, `machine` and, where there is one, `machine_ood`. images: take the first so many by
    their id (numbers by size) that every source has; rows stand in that order, whatever the order in the files. shares: {train, val, test}. Returns the table (id, image_id, source, text, label, split; one row
    a caption) and what is known of its making: counts, images in some files only. Raises InputError.
    """
    paths = {source: [files[source]] if isinstance(files[source], str) else list(files[source]) for source in SOURCES if files.get(source)}
    sources = {source: merge(paths[source]) for source in paths}
    shown = {source: ", ".join(paths[source]) for source in sources}
    # Not in the order of the file: the same captions in another order give the same table.
    common = sorted((image for image in sources["human"] if all(image in captions for captions in sources.values())), key=_by_id)
    left_out = {source: len(captions.keys() - set(common)) for source, captions in sources.items()}
    if not common:
        examples = "; ".join(f"{source} ({shown[source]}): {', '.join(map(repr, list(captions)[:3]))}" for source, captions in sources.items())
        raise InputError(
            f"No image is in all caption files, so nothing can be compared. The files' first image ids are: {examples}. They must name the same images."
        )
    if images is not None and len(common) < images:
        raise InputError(
            f"captions.images asks for {images} images, but only {len(common)} are in all caption files ({'; '.join(shown.values())}). "
            f"Write `images: {len(common)}` or `images: null`."
        )
    chosen = common[:images]
    if len(chosen) < FEWEST_IMAGES:
        raise InputError(
            f"Only {len(chosen)} images are in all caption files ({'; '.join(shown.values())}); at least {FEWEST_IMAGES} are needed to split them."
        )
    split = split_images(chosen, shares, seed)

    rows = []
    for source, captions in sources.items():
        for image in chosen:
            for position, raw in enumerate(captions[image]):
                text = normalise(raw, mode)
                if not text.strip():
                    raise InputError(
                        f"The caption {position + 1} of image {image!r} in {shown[source]} ({raw!r}) is empty once normalised (captions.normalise: {mode}). "
                        "Take it out of the file or write `normalise: none`."
                    )
                rows.append((f"{source}-{image}-{position}", image, source, text, int(source != "human"), split[image]))
    table = pd.DataFrame(rows, columns=["id", "image_id", "source", "text", "label", "split"]).astype({"label": "int8"})
    texts = table.groupby("split").text.agg(set)
    seen_in_training = table.text[(table.split == "test")].isin(texts["train"])
    meta = {
        # Names and contents: where the files lie is no property of the data.
        "files": {source: [{"name": Path(path).name, "sha256": sha256(path)} for path in paths[source]] for source in paths},
        "images": len(chosen),
        "images_in_some_files_only": left_out,
        "normalise": mode,
        "rows": {source: int((table.source == source).sum()) for source in sources},
        "images_by_split": {name: sum(1 for image in chosen if split[image] == name) for name in SPLITS if name in shares},
        "test_texts_also_in_train": {source: int(seen_in_training[table.source[table.split == "test"] == source].sum()) for source in sources},
        "seed": seed,
        "shares": shares,
    }
    return table, meta


def split_images(images: list[str], shares: dict[str, float], seed: int) -> dict[str, str]:
    """Assign whole images to train, val and test, as far as `shares` names them.

    Images are ranked by a digest of seed and id, so that an image's rank depends on neither its place nor its neighbours; the
    ranks are cut at the rounded cumulated shares. Raises InputError where a split would be empty.
    """
    ranked = sorted(images, key=lambda image: (digest(seed, "split", image), image))
    ends, total = {}, 0.0
    for name in [name for name in SPLITS if name in shares]:
        total += shares[name]
        ends[name] = round(total * len(ranked))
    assigned, start = {}, 0
    for name in ends:
        if ends[name] <= start:
            raise InputError(
                f"The split `{name}` would be empty: {shares[name]:g} of {len(ranked)} images. Use more images (captions.images) or a larger captions.split.{name}."
            )
        assigned.update(dict.fromkeys(ranked[start : ends[name]], name))
        start = ends[name]
    return assigned


def collect_base_captions(files: dict[str, str], mode: str, shares: dict[str, float], seed: int) -> tuple[pd.DataFrame, dict]:
    """Join human and machine captions of another domain into a table of the same columns, split into train and val only.

    The shares of train and val are scaled to 1: nothing of this domain is tested.
    """
    both = shares["train"] + shares["val"]
    return collect_captions(files, None, mode, {name: shares[name] / both for name in ("train", "val")}, seed)
