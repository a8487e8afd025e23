"""Errors that are meant for people."""

import errno
import os
import re

# What a terminal would obey instead of showing, and halves of surrogate pairs, which no terminal can show; a line feed parts several faults.
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Most characters of a run without blanks, and of a paragraph: a message quotes what it found, and that can be of any size.
WORD, PARAGRAPH = 500, 3000


class InputError(ValueError):
    """Something the user gave is wrong.

    The message is one paragraph: what is wrong, where (file, row, key) and what to write instead. Rule scripts and the
    command line print it without a traceback; the traceback goes to the rule's log. What it quotes of a file is shown, never obeyed
    by the terminal, and cut where it is too long to read.
    """

    def __init__(self, message: str) -> None:
        shown = CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), message)
        super().__init__("\n".join(_cut(" ".join(_cut(word, WORD) for word in line.split(" ")), PARAGRAPH) for line in shown.split("\n")))


# No room: the disk, a quota, the largest file that the shell allows. Closed: read-only, not ours, a file where a folder should be.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)
# Libraries in other languages tell the same in words of their own.
NO_ROOM = re.compile(r"No space left on device|StorageFull|File too large|FileTooLarge|Disk quota exceeded|QuotaExceeded")


def no_room(error: BaseException, path: str | os.PathLike | None = None) -> InputError | None:
    """Return what to tell where an error means that there is no room for a file; None for any other error."""
    where = path or getattr(error, "filename", None) or "A file"
    if getattr(error, "errno", None) not in FULL and not NO_ROOM.search(str(error)):
        return None
    reason = os.strerror(error.errno) if getattr(error, "errno", None) in FULL else "no room is left"
    return InputError(
        f"{where} cannot be written: {reason}. Make room, or raise the limit, and start the same command again: what is finished is kept."
    )


def cannot_write(error: OSError, path: str | os.PathLike) -> InputError | None:
    """Return what to tell where an error means that a file cannot be written, for lack of room or of the right to; None for any other."""
    if error.errno not in CLOSED:
        return no_room(error, path)
    return InputError(
        f"{path} cannot be written: {error.strerror} ({error.filename or path}). Move away what stands there, give yourself the right to write, or let "
        "the results land in another folder (snakemake --directory FOLDER)."
    )


def _cut(text: str, longest: int) -> str:
    """Return the text without its middle where it is too long: what is wrong stands first, what to write last."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"
