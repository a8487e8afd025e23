"""Describe a finished run: what each result folder was made from and with."""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

import pandas as pd

from muattack import __version__
from muattack.attack.records import STATUSES, read_lines
from muattack.records import read_meta, sha256, write_json

# The packages whose versions can change a result.
PACKAGES = (
    "confusable-homoglyphs",
    "datasets",
    "editdistance",
    "lemminflect",
    "matplotlib",
    "nltk",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspellchecker",
    "rapidfuzz",
    "regex",
    "safetensors",
    "scikit-learn",
    "snakemake",
    "symspellpy",
    "textattack",
    "tokenizers",
    "torch",
    "transformers",
)


def versions() -> dict[str, str]:
    """Return the versions of Python, muattack and the packages that can change a result."""
    found = {"python": platform.python_version(), "muattack": __version__}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def describe_files(folder: Path, files: Iterable[str | Path]) -> dict:
    """Return by file name its SHA-256 and, for tables that carry it, what is known of their making.

    Of attack records, whose seconds know the clock, the digest is that of everything else.
    """
    described = {}
    for path in map(Path, files):
        if path.suffix == ".jsonl":
            header, records = read_lines(path)
            kept = json.dumps([header, [{**record, "seconds": None} for record in records]], sort_keys=True)
            statuses = {status: sum(record["status"] == status for record in records) for status in STATUSES}
            described[path.relative_to(folder).as_posix()] = {
                **header,
                "sha256_without_seconds": hashlib.sha256(kept.encode()).hexdigest(),
                **statuses,
            }
            continue
        entry = {"sha256": sha256(path)}
        if path.suffix == ".parquet":
            entry |= read_meta(path)
        elif path.suffix == ".csv":
            entry["rows"] = len(pd.read_csv(path, keep_default_na=False, na_values=[""]))
        described[path.relative_to(folder).as_posix()] = entry
    return described


def describe_run(
    run: Path, config: Mapping, folders: Mapping[str, list[str]], captions: str | None, metrics: str | None, data_files: Iterable[str], data: str
) -> None:
    """Write meta.json of the run and of each of its result folders.

    folders: name -> files. The run's own meta.json holds the whole configuration, versions, hashes of the data read, and counts;
    a folder's holds its files. No time and no machine name is in them, so that equal runs have equal bytes. A run without captions
    has neither those nor metrics.
    """
    facts = {"run": config["run"], "seed": config["seed"], "versions": versions()}
    for name, files in folders.items():
        write_json(run / name / "meta.json", facts | {"files": describe_files(run / name, files)})
    write_json(
        run / "meta.json",
        facts
        | {
            "config": config,
            "machine": platform.machine(),
            "inputs": {os.path.relpath(path, data): sha256(path) for path in sorted(data_files)},
        }
        | ({"captions": read_meta(captions) | {"sha256": sha256(captions)}} if captions else {})
        | ({"metrics": describe_files(run, [metrics])} if metrics else {}),
    )
