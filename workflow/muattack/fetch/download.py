"""Download one file: go on where it broke off, check it, and give it its name only when it is right.

Written here, over requests: pooch and huggingface_hub fetch and check files too, but pooch does not resume, and huggingface_hub
checks no SHA-256, keeps its own cache and serves its own hosts only. One way for all sources is also one to test.
"""

import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

import requests
from filelock import FileLock, Timeout

from muattack.errors import InputError
from muattack.fetch.lock import expected, read_lock, record
from muattack.records import complete_or_absent, sha256

# Bytes written at a time, and lost at most where a connection breaks off.
CHUNK = 1 << 16
# Tries without a byte of progress between them, and the pause before the second; it doubles each time, up to LONGEST.
ATTEMPTS, PAUSE, LONGEST = 6, 2.0, 60.0
# Seconds to wait for a connection, and for the next bytes.
TIMEOUT = (20, 60)
# Seconds between two reports.
EVERY = 15.0
PASSING = {408, 425, 429, 500, 502, 503, 504}

Say = Callable[[str], None]


class Interrupted(Exception):
    """A try that failed for a reason that may pass. `wait` is what the server asks for, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0):
        super().__init__(reason)
        self.wait = wait


class Refused(Exception):
    """A try that would fail again."""


def fetch_file(
    source: Mapping,
    target: str | os.PathLike,
    downloads: str | os.PathLike,
    lock: str | os.PathLike,
    say: Say = print,
    attempts: int = ATTEMPTS,
    pause: float = PAUSE,
) -> None:
    """Put a file of an asset at `target`, downloaded to `downloads` unless it lies there already.

    `source` is what `Assets.source` returns. The file, and the archive that it is taken out of, are checked against the catalogue
    or the lock file, or recorded there where neither knows them. What was downloaded stays in `downloads`, half a download
    too, and target is a hard link to it where the file system has those. Processes that want the same file wait for each other.
    Raises InputError that names the asset, what is wrong and the key of the local override.
    """
    stored, target = Path(downloads, source["key"]), Path(target)
    with only_one(stored, say):
        entries = read_lock(lock)
        found = obtain(source, stored, entries, lock, say, attempts, pause, check=_no_zip if "member" in source else None)
        note(source, stored, found, entries, lock)
        target.parent.mkdir(parents=True, exist_ok=True)
        if "member" in source:
            _extract(source, stored, target, lock)
            return
        temporary = target.with_name(f".{target.name}.link")
        temporary.unlink(missing_ok=True)
        try:
            os.link(stored, temporary)
        except OSError:
            shutil.copy2(stored, temporary)
        temporary.replace(target)


@contextmanager
def only_one(path: Path, say: Say) -> Iterator[None]:
    """Let one process at a time into the block for this path; say so where another is in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    guard = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        guard.acquire(timeout=0)
    except Timeout:
        say(f"Another process is fetching {path.name}; waiting for it.")
        guard.acquire(poll_interval=0.5)
    try:
        yield
    finally:
        guard.release()


def obtain(
    source: Mapping,
    stored: Path,
    entries: Mapping[str, dict],
    lock: str | os.PathLike,
    say: Say,
    attempts: int = ATTEMPTS,
    pause: float = PAUSE,
    session: requests.Session | None = None,
    check: Callable[[Path], str | None] | None = None,
) -> str:
    """Make sure that `stored` is the source's file, downloading what is missing of it; return its SHA-256.

    entries: what the lock file says. check: looks at a file that came and returns what is wrong with it, or None.
    """
    wanted, by = expected(source, entries)
    if stored.is_file():
        found = sha256(stored)
        if wanted in (None, found):
            return found
        say(f"{stored} is not what {by} says; fetching it again.")
        stored.unlink()
    part = stored.with_name(f"{stored.name}.part")
    if part.exists() and wanted is None and not _validator(part):
        # Nothing could tell whether its other half belongs to it.
        part.unlink()
    while True:
        resumed = part.exists()
        try:
            receive(source["url"], part, source["size"], say, source["key"], attempts, pause, session)
        except (Interrupted, Refused) as error:
            raise InputError(_sorry(source, str(error), part)) from error
        found = sha256(part)
        fault = check(part) if check and wanted in (None, found) else None
        if wanted in (None, found) and not fault:
            break
        part.unlink()
        _validator_file(part).unlink(missing_ok=True)
        if fault:
            raise InputError(_sorry(source, f"{fault}; it was thrown away"))
        if not resumed:
            hint = "" if by == "the catalogue" else f" If its owner changed the file and you trust it, delete the line {source['key']!r} from {lock}."
            raise InputError(
                _sorry(source, f"what came has another checksum than {by} says: SHA-256 expected {wanted}, found {found}; it was thrown away.{hint}")
            )
        say(f"{source['key']}: the two halves do not belong together; fetching it from the beginning.")
    part.replace(stored)
    _validator_file(part).unlink(missing_ok=True)
    return found


def note(source: Mapping, path: Path, found: str, entries: Mapping, lock: str | os.PathLike) -> None:
    """Record a file in the lock, unless it says the same already."""
    entry = {"url": source["url"], "size": path.stat().st_size, "sha256": found}
    if entries.get(source["key"]) != entry:
        record(lock, {source["key"]: entry})


def _no_zip(path: Path) -> str | None:
    return None if zipfile.is_zipfile(path) else "what came is no zip archive"


def _sorry(source: Mapping, reason: str, part: Path | None = None) -> str:
    """Return the message for an asset that did not come."""
    kept = f" The {part.stat().st_size:,} bytes that came are kept, and the next try goes on from there." if part and part.is_file() else ""
    name = source["asset"]
    return (
        f"The asset {name} ({source['what']}) cannot be fetched from {source['url']}: {reason.rstrip('.')}.{kept} Run `make fetch` with this configuration on a "
        f"machine with network, or name a copy of yours: `fetch: {{local: {{{name}: FOLDER}}}}`, with {', '.join(source['needs']) or 'the images'} in FOLDER."
    )


# --- The network ------------------------------------------------------------------------------------------------------


def receive(
    url: str,
    part: Path,
    size: int | None,
    say: Say,
    what: str,
    attempts: int = ATTEMPTS,
    pause: float = PAUSE,
    session: requests.Session | None = None,
) -> None:
    """Download `url` to the end of `part`, trying again with growing pauses for as long as tries bring something.

    Raises Interrupted when `attempts` tries in a row brought nothing, Refused for what another try would not mend.
    """
    failures = 0
    with requests.Session() if session is None else nullcontext(session) as opened:
        while True:
            before = _length(part)
            try:
                _try(opened, url, part, size, say, what)
                return
            except Interrupted as error:
                # Not urllib3's Retry, which counts a file's tries whether or not they bring something, and gives up on a body cut off.
                failures = 0 if _length(part) > before else failures + 1
                if failures >= attempts:
                    raise Interrupted(f"{error}, {failures} times in a row") from error
                wait = min(max(error.wait, pause * 2 ** max(failures - 1, 0)), LONGEST)
                say(f"{what}: {error}. Trying again in {wait:.0f} s, from byte {_length(part):,} on.")
                time.sleep(wait)


def _try(session: requests.Session, url: str, part: Path, size: int | None, say: Say, what: str) -> None:
    have = _length(part)
    if size is not None and have >= size:
        if have == size:
            return
        part.unlink()
        have = 0
    # Compressed on the way, a file has another length than it says.
    headers = {"Accept-Encoding": "identity", **_hub_headers(url)}
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator := _validator(part):
            headers["If-Range"] = validator
    try:
        with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            have = _begin(response, part, have)
            length = response.headers.get("Content-Length", "")
            total = have + int(length) if length.isdecimal() else None
            if None not in (size, total) and size != total:
                raise Refused(f"the server's file has {total:,} bytes, but the catalogue says {size:,}")
            room = shutil.disk_usage(part.parent).free
            if total is not None and total - have > room:
                raise Refused(f"{total - have:,} bytes are to come, but the disk of {part.parent} has room for {room:,}")
            report = reporter(say, what, have, total)
            with open(part, "ab" if have else "wb") as file:
                for chunk in response.iter_content(CHUNK):
                    file.write(chunk)
                    report(file.tell())
    except requests.RequestException as error:
        raise Interrupted(_plain(error)) from error
    if total is not None and _length(part) != total:
        raise Interrupted(f"the connection ended after {_length(part):,} of {total:,} bytes")


def _begin(response: requests.Response, part: Path, have: int) -> int:
    """Return the byte at which the body of a response starts; raise for one that is not the file."""
    status = response.status_code
    span = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if status == 416 or (status == 206 and (not span or span[1] != str(have))):
        part.unlink(missing_ok=True)
        raise Interrupted("the server has another file than the one begun")
    if status in PASSING:
        asked = response.headers.get("Retry-After", "")
        raise Interrupted(f"the server answers {status} ({response.reason})", float(asked) if asked.isdecimal() else 0.0)
    if status not in (200, 206):
        raise Refused(f"the server answers {status} ({response.reason})")
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise Refused("the server sends a web page in the file's place; does this network want you to log in first?")
    tag = response.headers.get("ETag", "")
    # A weak tag does not promise equal bytes.
    validator = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")
    _validator_file(part).write_text(validator, encoding="utf-8")
    return have if status == 206 else 0


def _hub_headers(url: str) -> dict[str, str]:
    """Return the user's token for files on the hub, where there is one."""
    from huggingface_hub import constants, get_token

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    token = get_token() if url.startswith(f"{endpoint.rstrip('/')}/") else None
    return {"Authorization": f"Bearer {token}"} if token else {}


def _plain(error: requests.RequestException) -> str:
    """Return what went wrong on the network in few words."""
    if isinstance(error, requests.exceptions.SSLError):
        return "the server's certificate is not accepted"
    if isinstance(error, requests.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, requests.ReadTimeout):
        return "the server fell silent"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "no connection" if "Read timed out" not in str(error) else "the server fell silent"
    return f"{type(error).__name__}: {error}"


def _length(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _validator_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _validator(part: Path) -> str:
    """Return what tells the version of the file that a part belongs to: its ETag or date, empty where the server gave none."""
    file = _validator_file(part)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def reporter(say: Say, what: str, start: int, total: int | None) -> Callable[[int], None]:
    """Return a function that takes the bytes there are and says every EVERY seconds how far a download is."""
    began = said = time.monotonic()

    def report(done: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < EVERY:
            return
        said = now
        speed = (done - start) / (now - began)
        of = f" of {total / 1e6:,.0f}" if total else ""
        left = f", {(total - done) / speed:,.0f} s left" if total and speed else ""
        say(f"{what}: {done / 1e6:,.0f}{of} MB, {speed / 1e6:.1f} MB/s{left}")

    return report


# --- Archives ---------------------------------------------------------------------------------------------------------


def _extract(source: Mapping, archive: Path, target: Path, lock: str | os.PathLike) -> None:
    """Write the file that is wanted out of a zip archive, checked."""
    own = source["file"] | {"url": f"{source['url']}#{source['member']}"}
    try:
        with complete_or_absent(target) as temporary:
            with zipfile.ZipFile(archive) as opened, opened.open(source["member"]) as inside, open(temporary, "wb") as file:
                shutil.copyfileobj(inside, file, CHUNK)
            found, entries = sha256(temporary), read_lock(lock)
            wanted, by = expected(own, entries)
            if wanted not in (None, found):
                raise InputError(
                    _sorry(source, f"{source['member']} in it has another checksum than {by} says: SHA-256 expected {wanted}, found {found}")
                )
            note(own, temporary, found, entries, lock)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        reason = f"the archive {archive.name} cannot be read" if not isinstance(error, KeyError) else f"{archive.name} has no file {source['member']}"
        raise InputError(_sorry(source, f"{reason} ({error})")) from error
