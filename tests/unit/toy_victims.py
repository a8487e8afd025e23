"""Victims that a test understands: callables texts -> P(class 1)."""

import re

import numpy as np

CALLS = []


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def keyword(texts):
    """Class 1 as long as three of these five words are there."""
    CALLS.append(len(texts))
    marks = ("dog", "standing", "street", "girl", "bench")
    found = np.array([sum(mark in _words(text) for mark in marks) for text in texts])
    return 0.18 * found


def constant(texts):
    """Class 1, whatever is asked."""
    return np.full(len(texts), 0.9)


def lengthy(texts):
    """Class 1, a little less with every character less: every change can matter, none does."""
    return np.array([0.6 + 0.3 * len(text) / (1 + len(text)) for text in texts])


def broken(texts):
    """Not a number, but for texts that begin with 'a dog'."""
    return np.array([0.9 if text.startswith("a dog") else np.nan for text in texts])


def slow(texts):
    """Hang on anything but a single text."""
    import time

    if len(texts) > 1:
        time.sleep(30)
    return np.full(len(texts), 0.9)
