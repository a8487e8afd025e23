"""Sentences of human and machine passages: the domain of the `base` detector where there are no captions for it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import regex

from muattack.data.captions import normalise, read_json, split_images
from muattack.errors import InputError
from muattack.seeds import digest
from muattack.words import word_spans

CLASSES = {"original": "human", "sampled": "machine"}
# A sentence ends at a full stop, exclamation or question mark (closing quotes and brackets belong to it) before white space
# and anything but a lower-case letter; or at a line's end.
END = regex.compile(r"""(?<=[.!?…]["'”’)\]]*+)\s+(?!\p{Ll})|\s*\n\s*""")
COMPLETE = regex.compile(r"""[.!?…]["'”’)\]]*$""")


def sentences(passage: str) -> list[str]:
    """Return the complete sentences of a passage, in order; a piece without a final mark (a title, the cut-off end) is none."""
    pieces = (piece.strip() for piece in END.split(passage))
    return [piece for piece in pieces if piece and COMPLETE.search(piece)]


def read_passages(path: str | Path) -> list[tuple[str, str]]:
    """Read a file {"original": [human texts], "sampled": [machine texts]} as pairs of the same place.

    Raises InputError for another shape, lists of different lengths, and entries that are no text.
    """
    content = read_json(path)
    wanted = '{"original": ["a human passage", ...], "sampled": ["a machine passage", ...]}'
    if not isinstance(content, dict) or not all(isinstance(content.get(key), list) for key in CLASSES):
        raise InputError(f"The file {path} does not hold passages: it must be of the form {wanted}, but {_shape(content)}.")
    for key in CLASSES:
        for number, text in enumerate(content[key], 1):
            if not isinstance(text, str):
                raise InputError(f"The file {path}, {key}, passage {number}, is a {type(text).__name__} and no text. Write it in quotes.")
    lengths = [len(content[key]) for key in CLASSES]
    if lengths[0] != lengths[1] or not lengths[0]:
        raise InputError(
            f"The file {path} has {lengths[0]} original and {lengths[1]} sampled passages, but needs as many of both, at least one: a pair begins alike and stays in one split."
        )
    return list(zip(*(content[key] for key in CLASSES), strict=True))


def _shape(content: object) -> str:
    if not isinstance(content, dict):
        return f"it holds a {type(content).__name__}"
    faults = [
        f"{key} is {f'a {type(content[key]).__name__}' if key in content else 'missing'}" for key in CLASSES if not isinstance(content.get(key), list)
    ]
    return " and ".join(faults)


def own_sentences(passage: str, prompt: int, shortest: int, longest: int, mode: str) -> list[str]:
    """Return the normalised sentences of a passage that begin at or after character `prompt` and have shortest..longest words."""
    found, position = [], 0
    for sentence in sentences(passage):
        position = passage.index(sentence, position)
        if position >= prompt:
            text = normalise(sentence, mode)
            if shortest <= len(word_spans(text)) <= longest:
                found.append(text)
        position += len(sentence)
    return found


def collect_passages(paths: Sequence[str | Path], base: dict, mode: str, shares: dict[str, float], seed: int) -> tuple[pd.DataFrame, dict]:
    """Cut the passages of the files to sentences; return a table as of captions, split into train and val, and its meta.

    `base` has min_words and max_words. The machine's passage goes on from the first words of the human's: sentences that
    begin in what the two share are left out of both classes, being human in both. A sentence that occurs several times is
    kept once, one that both classes have is dropped. A pair of passages (`image_id`) lies in one split, and each split has
    as many sentences of each class: of the larger class those with the lowest digest stay. Raises InputError when a class or
    split is left empty.
    """
    shortest, longest = base["min_words"], base["max_words"]
    rows, order = [], {}
    for path in paths:
        for number, pair in enumerate(read_passages(path)):
            image = f"{Path(path).name.split('.')[0]}-{number}"
            if image in order:
                raise InputError(
                    f"base.passages names two files that begin with {Path(path).name.split('.')[0]!r}. Name every file once, or rename one."
                )
            order[image] = len(order)
            prompt = next((place for place, (one, other) in enumerate(zip(*pair, strict=False)) if one != other), min(map(len, pair)))
            for source, passage in zip(CLASSES.values(), pair, strict=True):
                rows += [(source, image, k, text) for k, text in enumerate(own_sentences(passage, prompt, shortest, longest, mode))]
    table = pd.DataFrame(rows, columns=["source", "image_id", "k", "text"])
    counts = {"sentences": Counter(table["source"])}
    ambiguous = table.groupby("text")["source"].nunique()
    table = table[~table["text"].isin(ambiguous.index[ambiguous > 1])].drop_duplicates("text")
    both = shares["train"] + shares["val"]
    split = split_images(list(order), {name: shares[name] / both for name in ("train", "val")}, seed)
    table["split"] = table["image_id"].map(split)
    table["id"] = [f"{source}-{image}-{k}" for source, image, k in zip(table["source"], table["image_id"], table["k"], strict=True)]
    counts["distinct"] = Counter(table["source"])

    kept = []
    for name in ("train", "val"):
        part = table[table["split"] == name]
        fewest = min((part["source"] == source).sum() for source in CLASSES.values())
        if not fewest:
            raise InputError(
                f"The passages {', '.join(map(str, paths))} leave no sentence of {shortest} to {longest} words for one class of the split {name}. "
                "Give more passages, or widen base.min_words and base.max_words."
            )
        rank = part["id"].map(lambda one: digest(seed, "balance", one))
        kept.append(part.assign(rank=rank).sort_values(["rank", "id"]).groupby("source").head(fewest))
    table = pd.concat(kept)
    table = table.assign(order=table["image_id"].map(order)).sort_values(["source", "order", "k"])
    table["label"] = (table["source"] == "machine").astype("int8")
    meta = {
        "files": [Path(path).name for path in paths],
        "passages": len(order),
        **{name: dict(sorted(count.items())) for name, count in counts.items()},
        "rows": {name: int(count) for name, count in table["split"].value_counts().sort_index().items()},
        "min_words": shortest,
        "max_words": longest,
        "normalise": mode,
        "seed": seed,
    }
    return table[["id", "image_id", "source", "text", "label", "split"]].reset_index(drop=True), meta
