"""The lock file: what size and SHA-256 each fetched file had when it was fetched first."""

import json
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock

from muattack.errors import InputError
from muattack.records import write_text


def read_lock(path: str | Path) -> dict[str, dict]:
    """Return {key: {url, size, sha256}} of the lock file, empty where there is none. Raises InputError for a damaged one."""
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"))
        if not all({"url", "size", "sha256"} <= entry.keys() for entry in entries.values()):
            raise ValueError("an entry lacks url, size or sha256")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f"The lock file {path} cannot be read ({error}). Take it from your repository again, or delete it to record every file anew."
        ) from None
    return entries


def record(path: str | Path, entries: Mapping[str, dict]) -> None:
    """Add entries to the lock file, or replace them; other processes may do the same at the same time."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        merged = read_lock(path) | dict(entries)
        # One line an entry, sorted: what changed shows in a diff.
        lines = [f"{json.dumps(key)}: {json.dumps(merged[key], sort_keys=True)}" for key in sorted(merged)]
        write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def expected(source: Mapping, entries: Mapping[str, dict]) -> tuple[str | None, str]:
    """Return the SHA-256 that a file must have, None where nobody has said, and who says so.

    The catalogue's word counts before the lock's; the lock's counts for the URL that it was recorded for.
    """
    if source["sha256"]:
        return source["sha256"], "the catalogue"
    entry = entries.get(source["key"])
    return (entry["sha256"], "the lock file") if entry and entry["url"] == source["url"] else (None, "")
