"""Progress of long work: a bar on a terminal; of a rule's script a line a minute in its log, and on the terminal that the workflow runs on."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from muattack.job import on_terminal

Item = TypeVar("Item")


def progress(items: Iterable[Item], what: str, total: int | None = None, every: float = 60.0, closing: bool = True) -> Iterator[Item]:
    """Yield the items while telling how far the work is.

    `total` is taken from the items' length where they have one. On a terminal tqdm draws a bar on standard error;
    elsewhere a line with rate and time left is printed every `every` seconds and, where `closing`, one at the end.
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
            line = f"{what}: {done}{f' of {total}' if total is not None else ''} after {now - started:.0f} s{pace(done, total, now - started)}"
            print(line, file=sys.stderr, flush=True)
            on_terminal(line)
    if closing:
        print(f"{what}: {done} in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def pace(done: int, total: int | None, seconds: float) -> str:
    """Return the rate so far, and the time left at this rate where the end is known."""
    if not seconds:
        return ""
    rate = done / seconds
    said = f", {rate:.1f} a second" if rate >= 1 else f", {seconds / done:.1f} s each"
    if total is None:
        return said
    left = (total - done) / rate
    return f"{said}, {f'{left / 3600:.1f} h' if left >= 5400 else f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} left"
