"""A detector behind an HTTP address: texts go out, P(machine) comes back, and no text is ever asked about twice.

The one place of the library beside the fetch stage and the web normalisers that opens a network, and only to the address that the user's configuration
names: redirects are not followed. docs/detectors.md has the shape of question and answer.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import requests
from filelock import FileLock

from muattack.detect.detector import check_scores, distinct
from muattack.errors import InputError
from muattack.progress import progress

# Texts of a request, requests a minute, seconds to wait for an answer.
TEXTS, PER_MINUTE, SECONDS = 32, 60, 60
# Tries of a request, and the pause before the second; it doubles each time, up to LONGEST, or is what the server asks for.
ATTEMPTS, PAUSE, LONGEST = 7, 1.0, 60.0
# Most seconds that a server may ask to wait for.
WAIT = 3600.0
# Answers that may be others in a moment.
PASSING = {408, 425, 429, 500, 502, 503, 504}
LOCAL = ("localhost", "127.0.0.1", "::1")


class EndpointDetector:
    """An address that scores texts, with a memory on disk that jobs share.

    `folder` is where the memory lies, a file an address; without one nothing is kept beyond the process. Each job asks for texts that nobody asked for,
    one request at a time over all jobs of a machine that share the folder, so that `per_minute` bounds them together.
    """

    def __init__(
        self,
        url: str,
        folder: str | os.PathLike | None = None,
        key: str | None = None,
        texts: int = TEXTS,
        per_minute: float = PER_MINUTE,
        seconds: float = SECONDS,
        pause: float = PAUSE,
    ) -> None:
        """`key` is the environment variable that holds the key. Raises InputError where it is not set, or would travel unencrypted."""
        self.who, self.texts, self.every, self.seconds, self.pause = url, texts, 60 / per_minute, seconds, pause
        self.secret = os.environ.get(key, "").strip() if key else ""
        if key and not self.secret:
            raise InputError(
                f"The detector {url} needs your key in the environment variable {key}, which is not set. Set it, as in `export {key}=...`, and start again."
            )
        at = urlsplit(url)
        if key and at.scheme != "https" and at.hostname not in LOCAL:
            raise InputError(f"The detector {url} would get your key unencrypted. Write https://, or take `key` out.")
        self.memory = Memory(Path(folder, f"{at.hostname}-{_digest(url)[:12]}.jsonl") if folder else None)
        self._asked = -math.inf
        self.session = requests.Session()
        # With a way of its own of signing in, requests takes no name and password from the user's files.
        self.session.auth = self._sign

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities (n, 2), P(machine) last. Raises InputError where the address does not answer, or wrongly."""
        unique, inverse = distinct(texts)
        self.memory.read()
        missing = [text for text in unique if text not in self.memory]
        for start in progress(range(0, len(missing), self.texts), "requests", closing=False):
            with self.memory.alone():
                # Another job may have asked in between.
                batch = [text for text in missing[start : start + self.texts] if text not in self.memory]
                if batch:
                    self.memory.add(batch, self._ask(batch))
        machine = np.array([self.memory[text] for text in unique])
        return check_scores(np.stack([1 - machine, machine], axis=1), unique, self.who)[inverse]

    def truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return False for every text: what an address does not look at is not known."""
        return np.zeros(len(texts), dtype=bool)

    def _ask(self, texts: list[str]) -> list[float]:
        """Return P(machine) of each text from one request, tried again where it may help."""
        pause = self.pause
        for attempt in range(1, ATTEMPTS + 1):
            time.sleep(max(0.0, max(self._asked, self.memory.written()) + self.every - time.time()))
            self._asked, wait = time.time(), 0.0
            try:
                reply = self.session.post(self.who, json={"texts": texts}, timeout=self.seconds, allow_redirects=False)
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                said = f"{type(error).__name__}: {error}"
            except requests.RequestException as error:
                raise self._failed(f"{type(error).__name__}: {error}", "Mend the address.") from None
            else:
                if reply.status_code == 200:
                    return self._read(reply, len(texts))
                said = f"it answered {reply.status_code} ({reply.reason}): {reply.text[:200]}"
                if reply.status_code not in PASSING:
                    raise self._failed(said, "Check the address, and the key where it wants one; redirects are not followed.")
                asked = reply.headers.get("Retry-After", "")
                wait = min(float(asked), WAIT) if asked.isdecimal() else 0.0
            if attempt < ATTEMPTS:
                print(self._hidden(f"{self.who}: try {attempt} of {ATTEMPTS} failed, {said}"), flush=True)
                time.sleep(max(wait, pause))
                pause = min(2 * pause, LONGEST)
        raise self._failed(f"{ATTEMPTS} tries, the last: {said}", "What was answered is kept: start again to go on.")

    def _read(self, reply: requests.Response, n: int) -> list[float]:
        """Return the scores of an answer; raise InputError where it has another shape."""
        wanted = f'It must answer {{"scores": [...]}} with {n} number{"s" * (n > 1)} from 0 to 1, P(machine) of each text in order.'
        try:
            scores = reply.json()["scores"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._failed(f"it answered {reply.text[:200]!r}", wanted) from None
        if not isinstance(scores, list) or len(scores) != n:
            raise self._failed(f"it answered {f'{len(scores)} scores' if isinstance(scores, list) else repr(scores)[:200]} for {n} texts", wanted)
        for score in scores:
            if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
                raise self._failed(f"one of its scores is {score!r}", wanted)
        return [float(score) for score in scores]

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.secret:
            request.headers["Authorization"] = f"Bearer {self.secret}"
        return request

    def _failed(self, what: str, remedy: str) -> InputError:
        return InputError(self._hidden(f"The detector {self.who} failed: {' '.join(what.split())}. {remedy}"))

    def _hidden(self, text: str) -> str:
        """Return a text without the key: a server may quote what it was sent."""
        return text.replace(self.secret, "…") if self.secret else text


class Memory:
    """What an address said, P(machine) by the SHA-256 of the text: JSON lines that only grow, so that a killed job loses nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._known, self._read = path, {}, 0

    def __contains__(self, text: str) -> bool:
        return _digest(text) in self._known

    def __getitem__(self, text: str) -> float:
        return self._known[_digest(text)]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other jobs out, and know what they have added."""
        if self.path is None:
            yield
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self.path}.lock"):
            self.read()
            yield

    def read(self) -> None:
        """Take in the lines that were added since the last time; half a line of a job that was killed is none."""
        if self.path is None or not self.path.is_file():
            return
        with open(self.path, "rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                try:
                    said = json.loads(line)
                    sha, score = said["sha256"], said["score"]
                    if not isinstance(sha, str) or type(score) not in (int, float) or not 0 <= score <= 1:
                        raise ValueError(f"{score!r} is no score")
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    print(
                        f"{self.path}: a line is damaged ({type(error).__name__}: {error}): it is not used, its text is asked about again", flush=True
                    )
                    continue
                self._known[sha] = float(score)

    def add(self, texts: Sequence[str], scores: Sequence[float]) -> None:
        """Add answers; only inside `alone`."""
        said = {_digest(text): score for text, score in zip(texts, scores, strict=True)}
        self._known.update(said)
        if self.path is None:
            return
        with open(self.path, "ab") as file:
            file.truncate(self._read)
            self._read += file.write("".join(f"{json.dumps({'sha256': key, 'score': score})}\n" for key, score in said.items()).encode())

    def written(self) -> float:
        """Return when an answer was last kept, in seconds since 1970, whoever had asked."""
        return self.path.stat().st_mtime if self.path is not None and self.path.is_file() else -math.inf


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
