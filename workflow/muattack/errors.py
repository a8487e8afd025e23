"""Errors that are meant for people."""

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


def _cut(text: str, longest: int) -> str:
    """Return the text without its middle where it is too long: what is wrong stands first, what to write last."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"
