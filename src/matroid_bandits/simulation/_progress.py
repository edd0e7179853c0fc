"""How far a simulation has come, for people and programs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

#: Called with the number of episodes done so far, over all policies and runs, and the number in all.
Progress = Callable[[int, int], None]


class Reporter:
    """Counts episodes from all threads and passes them on, at most ten times a second."""

    def __init__(self, progress: bool | Progress, total: int) -> None:
        self._call: Progress | None = progress if callable(progress) else _Bar() if progress else None
        self._lock = threading.Lock()
        self._done, self._total, self._next = 0, total, 0.0

    def add(self, n: int) -> None:
        if self._call is None or not n:
            return
        with self._lock:
            self._done += n
            now = time.monotonic()
            if now >= self._next or self._done == self._total:
                self._next = now + 0.1
                self._call(self._done, self._total)

    def close(self) -> None:
        if isinstance(self._call, _Bar):
            self._call.close()


class _Bar:
    """A line on stderr: bar, share done, time left."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        share = done / total
        left = (time.monotonic() - self._began) * (1.0 - share) / share
        bar = ("█" * int(30 * share)).ljust(30, "░")
        sys.stderr.write(f"\r{bar} {share:4.0%}  {_clock(left)} left ")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
