"""Features of a frozen encoder: each distinct text of a run is encoded once, and the vectors serve every detector."""

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from muattack.detect.detector import distinct
from muattack.detect.encoder import build_classifier, load_tokenizer, locate_encoder, tokenise
from muattack.errors import InputError
from muattack.progress import progress
from muattack.records import read_meta, sha256
from muattack.train.batches import cut_by_budget, pad
from muattack.train.rr import draw_captions

# Tokens of a batch when encoding, padding counted.
TOKEN_BUDGET = 2048


def collect_texts(
    captions: pd.DataFrame,
    base_captions: pd.DataFrame | None,
    mutants: Mapping[str, str | os.PathLike],
    detectors: Mapping[str, dict],
    draws: int | None,
    seed: int,
) -> list[str]:
    """Return the distinct texts that the detectors of a run see, by length and alphabet.

    All captions (the OOD domain's: the test split only), all mutants, and for each m of a detector the `draws` RR-draws of
    its training captions (none when `draws` is null: they are encoded when they are drawn).
    """
    needed = captions["split"].eq("test") | captions["source"].isin(["human", "machine"])
    texts = [*captions.loc[needed, "text"]]
    tables = {"captions": captions}
    if base_captions is not None:
        texts += [*base_captions["text"]]
        tables["base"] = base_captions
    for path in mutants.values():
        texts += pq.read_table(path, columns=["mutated"])["mutated"].to_pylist()
    wanted = sorted({(detector.get("train_on", "captions"), detector["rr"]) for detector in detectors.values() if detector.get("rr")})
    for domain, m in wanted if draws else []:
        train = tables[domain][tables[domain]["split"] == "train"]
        for number in range(draws):
            texts += draw_captions(train["text"].tolist(), train["id"].tolist(), m, seed, number)
    return distinct(texts)[0]


def frozen_model(encoder: dict, found: str | os.PathLike) -> torch.nn.Module:
    """Return the encoder behind a (fresh, unused) classifier, in evaluation mode: its `vectors` are the features."""
    return build_classifier(found, encoder).eval()


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
    with torch.inference_mode():
        parts = [model.vectors(*pad([tokens[i] for i in batch], tokenizer.pad_token_id)).numpy() for batch in progress(batches, "batches encoded")]
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
        "device": "cpu",
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
