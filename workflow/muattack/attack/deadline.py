"""A time limit for one text."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimedOut(BaseException):
    """The time for a text is over. Not an Exception: code that catches those on its way must not swallow it."""


class Deadline:
    """Raises TimedOut inside `limit`: by a timer in the main thread, and wherever `check` is called."""

    def __init__(self) -> None:
        self.end = float("inf")

    def check(self) -> None:
        """Raise TimedOut when the time is over."""
        if time.monotonic() > self.end:
            self.end = float("inf")
            raise TimedOut

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Give what runs in the block this many seconds.

        The timer ends even a victim that never returns (a callable that waits for a server); a process that attacks in
        another thread than its first has only the checks between model calls.
        """
        self.end = time.monotonic() + seconds
        timed = threading.current_thread() is threading.main_thread()
        if timed:

            def ring(number, frame) -> None:
                self.end = float("inf")
                raise TimedOut

            before = signal.signal(signal.SIGALRM, ring)
            # Where nothing hangs the checks come first: they are at places where nothing is half done.
            signal.setitimer(signal.ITIMER_REAL, 1.1 * seconds + 0.5)
        try:
            yield
        finally:
            self.end = float("inf")
            if timed:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
