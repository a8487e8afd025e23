"""RR-training: remove words of a training text at random (Algorithm 1 of the RR-training paper)."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from muattack.errors import InputError
from muattack.mutate.operator import remove_words
from muattack.seeds import generator
from muattack.words import word_spans


@lru_cache(maxsize=256)
def exact_share(m: float) -> Fraction:
    """Return the number as it is written (0.3 is 3/10, not the nearest binary fraction).

    Raises InputError outside [0, 1] and where m is no number.
    """
    try:
        share = Fraction(str(m))
    except ValueError:
        raise InputError(
            f"rr is {m!r}, but must be a number from 0 to 1: the largest share of words removed (m). Write for example rr: 0.3."
        ) from None
    if not 0 <= share <= 1:
        raise InputError(f"rr is {m}, but m, the largest share of words removed, must lie in [0, 1]. Write for example rr: 0.3.")
    return share


def removable(words: int, m: float) -> int:
    """Return floor(words * m) in exact arithmetic: the most words that may go."""
    share = exact_share(m)
    return words * share.numerator // share.denominator


def draw(text: str, m: float, *seed_parts: object) -> str:
    """Return the text with k words removed, k uniform on 0..floor(n * m), the k words uniform among the n.

    The space handling is that of the word operator. The seed is the digest of the parts, without m: one uniform number
    u gives k = floor(u * (floor(n * m) + 1)) and one random order of the words says which k go, so that for the same
    parts a larger m removes the same words and perhaps some more. May remove everything at m = 1.
    Raises InputError when m lies outside [0, 1]. Source: the RR-training paper, Section 3.2 and Algorithm 1.
    """
    share = exact_share(m)
    spans = word_spans(text) if share else []
    words = len(spans)
    most = words * share.numerator // share.denominator
    if not most:
        return text
    random = generator(*seed_parts).random
    k = int(random() * (most + 1))
    if not k:
        return text
    keys = [random() for _ in range(words)]
    return remove_words(text, sorted(range(words), key=keys.__getitem__)[:k], spans)


def draw_captions(texts: Sequence[str], ids: Sequence[str], m: float, seed: int, number: int) -> list[str]:
    """Return draw `number` of every caption: the epoch, or epoch modulo the number of cached draws.

    A caption's draw depends on the run's seed, its id and the number, not on its place among the others, nor on m.
    """
    return [draw(text, m, "rr", seed, caption, number) for text, caption in zip(texts, ids, strict=True)]
