"""How far a simulation has come, for people and programs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from matroid_bandits._util.progress import shown_on_stderr

#: Called with the number of episodes done so far, over all policies and runs, and the number in all.
Progress = Callable[[int, int], None]


class Reporter:
    """Counts episodes from all threads and passes them on, at most ten times a second."""

    def __init__(self, progress: bool | Progress, total: int) -> None:
        self._call: Progress | None = progress if callable(progress) else None
        self._at_end = ExitStack()
        if progress and self._call is None:
            self._call = shown = shown_on_stderr()
            self._at_end.callback(shown.close)
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
        self._at_end.close()
