"""Seeds as stable digests: the same parts give the same number in every process, order and hash seed."""

import hashlib
import random


def digest(*parts: object) -> int:
    """Return a 64-bit number that depends on the parts' text alone.

    Parts are joined by a unit separator, so ("a", "bc") and ("ab", "c") differ. Use strings and integers; a float's
    text is stable too, but a set's or a dictionary's order is not.
    """
    joined = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def generator(*parts: object) -> random.Random:
    """Return a Python generator seeded with the digest of the parts."""
    return random.Random(digest(*parts))
