"""Records travel as Parquet, with what is known about their making inside the file.

A file appears under its name only when it is complete: it is written beside it and renamed.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from muattack.errors import InputError, cannot_write, no_room

META_KEY = b"muattack"


@contextmanager
def complete_or_absent(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it on success, remove it on any error. Raises InputError where there is no room, or no right to write.

    What a killed process left of the same file is removed.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        left = re.compile(rf"{re.escape(f'.{target.name}.')}[a-z0-9_]{{8}}{re.escape(target.suffix)}")
        for other in os.listdir(target.parent):
            if left.fullmatch(other):
                (target.parent / other).unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        if told := cannot_write(error, target):
            raise told from error
        raise
    os.close(handle)
    temporary = Path(name)
    try:
        try:
            yield temporary
        except Exception as error:
            # Not only OSError: writers in other languages have errors of their own.
            if told := no_room(error, target):
                raise told from error
            raise
        # mkstemp makes files that only the owner reads; results are as readable as the user's umask says.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        try:
            temporary.replace(target)
        except OSError as error:
            if told := cannot_write(error, target):
                raise told from error
            raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file (UTF-8, newlines as given) completely or not at all."""
    with complete_or_absent(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_json(path: str | os.PathLike, value: object) -> None:
    """Write indented JSON with sorted keys, non-ASCII characters as they are."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def write_records(path: str | os.PathLike, frame: pd.DataFrame | pa.Table, meta: dict) -> None:
    """Write a table as Parquet; `meta` (JSON-able: counts, seeds, settings) travels in the file's schema."""
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    encoded = json.dumps(meta, ensure_ascii=False, sort_keys=True).encode()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), META_KEY: encoded})
    with complete_or_absent(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_records(path: str | os.PathLike, columns: list[str] | None = None) -> pd.DataFrame:
    """Read a Parquet table that `write_records` wrote.

    Raises InputError when the file is missing or is no Parquet file.
    """
    try:
        return pq.read_table(path, columns=columns).to_pandas()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. The workflow makes it: run snakemake with this file as its target.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: str | os.PathLike, error: Exception) -> InputError:
    return InputError(f"{path} is not a Parquet file that can be read ({' '.join(str(error).split())}). Delete it, and the workflow makes it anew.")


def read_meta(path: str | os.PathLike) -> dict:
    """Return what `write_records` was told about the file's making; an empty dictionary where nothing was."""
    try:
        encoded = (pq.read_schema(path).metadata or {}).get(META_KEY)
        return json.loads(encoded) if encoded else {}
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def sha256(path: str | Path) -> str:
    """Return a file's SHA-256 as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
