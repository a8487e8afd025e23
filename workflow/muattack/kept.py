"""Results that a long job has so far, a line each, on disk: a job that was killed goes on after the last line that it wrote.

Each line carries its checksum; the first is a key of all that decides a result, settings and code: lines under another key, and damaged
ones, are told in the log and never used.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from muattack.records import write_text


class KeptLines:
    """Records in a file of their own, found by their `id` in `done`.

    `belongs_to` is all that decides a record (JSON-able); `fits` tells of a record that was kept whether it is still wanted.
    """

    def __init__(self, path: Path, belongs_to: object, fits: Callable[[dict], bool]) -> None:
        key = json.dumps(belongs_to, sort_keys=True, default=str)
        self.key = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.done = self._read(fits)
        write_text(self.path, "".join(map(_line, ({"key": self.key}, *self.done.values()))))
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 (open as long as the job runs)

    def _read(self, fits: Callable[[dict], bool]) -> dict[str, dict]:
        if not self.path.is_file():
            return {}
        done: dict[str, dict] = {}
        try:
            # The last line is whatever was being written when the run ended.
            lines = self.path.read_bytes().decode("utf-8").split("\n")[:-1]
            for number, line in enumerate(lines, start=1):
                checksum, _, body = line.partition(" ")
                if checksum != _checksum(body):
                    raise ValueError(f"line {number} does not have the checksum written beside it")
                record = json.loads(body)
                if number == 1 and record != {"key": self.key}:
                    print(f"{self.path} is the state of other settings or code: it is not used", flush=True)
                    return {}
                if number > 1 and fits(record):
                    done[record["id"]] = record
        except (UnicodeDecodeError, ValueError) as error:
            print(f"{self.path} is damaged ({error}): it is not used", flush=True)
            return {}
        return done

    def add(self, *records: dict) -> None:
        """Keep records: written at once."""
        self.done.update((record["id"], record) for record in records)
        self._file.write("".join(map(_line, records)))
        self._file.flush()

    def close(self) -> None:
        """Write no more."""
        self._file.close()


def _line(value: dict) -> str:
    body = json.dumps(value, allow_nan=False)
    return f"{_checksum(body)} {body}\n"


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8")).hexdigest()[:16]
