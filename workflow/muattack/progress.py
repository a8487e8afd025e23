"""Progress of long work: a bar on a terminal, a line a minute in a log."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], what: str, total: int | None = None, every: float = 60.0, closing: bool = True) -> Iterator[Item]:
    """Yield the items while telling how far the work is.

    `total` is taken from the items' length where they have one. On a terminal tqdm draws a bar on standard error;
    elsewhere a line is printed every `every` seconds and, where `closing`, at the end.
    """
    if total is None and hasattr(items, "__len__"):
        total = len(items)
    if sys.stderr.isatty():
        from tqdm import tqdm

        yield from tqdm(items, desc=what, total=total, leave=False)
        return
    started = said = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        now = time.monotonic()
        if now - said >= every:
            said = now
            print(f"{what}: {done}{f' of {total}' if total is not None else ''} after {now - started:.0f} s", file=sys.stderr, flush=True)
    if closing:
        print(f"{what}: {done} in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
