"""Features of a frozen encoder: each distinct text of a run is encoded once, and the vectors serve every detector."""

import os
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from muattack.detect.detector import distinct
from muattack.detect.encoder import LABELS, build_classifier, load_tokenizer, locate_encoder, tokenise
from muattack.device import device, device_name, enough_memory
from muattack.errors import InputError
from muattack.progress import progress
from muattack.records import read_meta, sha256
from muattack.train.batches import cut_by_budget, pad
from muattack.train.rr import draw_captions

# Tokens of a batch when encoding, padding counted.
TOKEN_BUDGET = 2048


def texts_to_train_on(
    captions: pd.DataFrame, base_captions: pd.DataFrame | None, wanted: Sequence[tuple[str, float]], draws: int | None, seed: int
) -> list[str]:
    """Return the distinct texts that the training of a run's detectors sees, by length and alphabet.

    The training and validation texts of human and machine, of the run and of the base domain, and for each (domain, m) in
    `wanted` (domain: captions or base) the `draws` RR-draws of its training texts (none when `draws` is null: they are encoded
    when they are drawn).
    """
    tables = {"captions": captions, "base": base_captions}
    used = {
        domain: table[table["source"].isin(LABELS) & table["split"].isin(["train", "val"])] for domain, table in tables.items() if table is not None
    }
    texts = [text for table in used.values() for text in table["text"]]
    for domain, m in sorted(map(tuple, wanted)) if draws else []:
        train = used[domain][used[domain]["split"] == "train"]
        for number in range(draws):
            texts += draw_captions(train["text"].tolist(), train["id"].tolist(), m, seed, number)
    return distinct(texts)[0]


def texts_to_score(captions: pd.DataFrame, mutants: Iterable[str | os.PathLike]) -> list[str]:
    """Return the distinct texts that the detectors of a run are tested on, by length and alphabet: the test split and all mutants."""
    texts = captions.loc[captions["split"] == "test", "text"].tolist()
    for path in mutants:
        texts += pq.read_table(path, columns=["mutated"])["mutated"].to_pylist()
    return distinct(texts)[0]


def frozen_model(encoder: dict, found: str | os.PathLike) -> torch.nn.Module:
    """Return the encoder behind a (fresh, unused) classifier, in evaluation mode: its `vectors` are the features."""
    return build_classifier(found, encoder).eval().to(device())


def vectors_of(
    model: torch.nn.Module, tokenizer, texts: Sequence[str], max_length: int, shard: int = 0, shards: int = 1
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Encode this shard's part of the texts; return their positions, vectors (n, width; float32) and which were cut (n, bool).

    The batches are those of all texts, sorted by number of tokens, and a shard takes every `shards`-th batch: so the
    vectors are the same to the bit however many shards there are.
    """
    tokens, truncated = tokenise(tokenizer, texts, max_length)
    lengths = [len(one) for one in tokens]
    batches = cut_by_budget(sorted(range(len(tokens)), key=lengths.__getitem__), lengths, TOKEN_BUDGET)[shard::shards]
    positions = [index for batch in batches for index in batch]
    if not positions:
        return [], np.zeros((0, model.config.hidden_size), dtype=np.float32), truncated[:0]
    with torch.inference_mode(), enough_memory("max_length of the encoder"):
        parts = [
            model.vectors(*pad([tokens[i] for i in batch], tokenizer.pad_token_id, device=device())).cpu().numpy()
            for batch in progress(batches, "batches encoded")
        ]
    return positions, np.concatenate(parts), truncated[positions]


def encode_texts(
    texts: Sequence[str], encoder: dict, encoder_folder: str | os.PathLike | None = None, shard: int = 0, shards: int = 1, threads: int = 1
) -> tuple[pa.Table, dict]:
    """Encode one shard of the distinct texts of a run; return a table (text, truncated, vector) and its meta.

    Raises InputError for a text that the tokenizer returns nothing for, and for vectors that are not finite.
    """
    torch.set_num_threads(threads)
    found = locate_encoder(encoder, encoder_folder)
    model, tokenizer = frozen_model(encoder, found), load_tokenizer(found)
    texts = distinct(texts)[0]
    positions, vectors, truncated = vectors_of(model, tokenizer, texts, encoder["max_length"], shard, shards)
    if not np.isfinite(vectors).all():
        first = positions[int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
        raise InputError(
            f"The encoder {found} gives a vector that is not finite for the text {texts[first][:200]!r}. Its weights are damaged: copy them again."
        )
    table = pa.table(
        {
            "text": pa.array([texts[index] for index in positions], type=pa.string()),
            "truncated": pa.array(truncated),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
        }
    )
    meta = {
        "encoder": {**encoder, "sha256": sha256(found / "model.safetensors")},
        "shard": shard,
        "shards": shards,
        "texts": len(texts),
        "rows": len(positions),
        "truncated": int(truncated.sum()),
        "device": device_name(),
        "dtype": "float32",
        "threads": threads,
    }
    return table, meta


class Features:
    """Vectors of texts, looked up by text."""

    def __init__(self, texts: Sequence[str], vectors: np.ndarray, truncated: np.ndarray, sha256: str = "") -> None:
        self.vectors, self.truncated, self.sha256 = vectors, truncated, sha256
        self.row = {text: row for row, text in enumerate(texts)}

    def rows(self, texts: Iterable[str]) -> np.ndarray:
        """Return the row of each text (n, int), -1 for a text that was not encoded."""
        return np.fromiter((self.row.get(text, -1) for text in texts), dtype=np.int64)


def load_features(paths: Sequence[str | os.PathLike] | str | os.PathLike) -> Features:
    """Read the shards that `encode_texts` made. Raises InputError when they come from different encoders."""
    paths = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    metas = [read_meta(path) for path in paths]
    makers = sorted({meta.get("encoder", {}).get("sha256", "") for meta in metas})
    if len(makers) != 1:
        raise InputError(
            f"The feature files {', '.join(map(str, paths))} come from {len(makers)} encoders. Delete them, and the workflow makes them anew."
        )
    texts: list[str] = []
    rows = [pq.read_metadata(path).num_rows for path in paths]
    width = pq.read_schema(paths[0]).field("vector").type.list_size
    # Shard by shard into one matrix: never two copies of all vectors.
    vectors, truncated = np.empty((sum(rows), width), dtype=np.float32), np.empty(sum(rows), dtype=bool)
    for path, count in zip(paths, rows, strict=True):
        table, part = pq.read_table(path), slice(len(texts), len(texts) + count)
        if count:
            vectors[part] = table["vector"].combine_chunks().flatten().to_numpy().reshape(count, width)
            truncated[part] = table["truncated"].to_numpy()
        texts += table["text"].to_pylist()
    return Features(texts, vectors, truncated, makers[0])
