"""What a process counts as it goes, in plain integers: read by `Metrics` when Prometheus asks."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

#: Upper ends of the buckets of operations in one transaction.
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

#: Upper ends of the buckets of seconds.
SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Timer:
    """How long requests of one endpoint took, or other numbers: a count per bucket, and the sum."""

    __slots__ = ("_ends", "counts", "total")

    def __init__(self, ends: Sequence[float] = SECONDS) -> None:
        self._ends, self.counts, self.total = ends, [0] * (len(ends) + 1), 0.0

    def add(self, seconds: float) -> None:
        """Count a request."""
        self.counts[bisect_left(self._ends, seconds)] += 1
        self.total += seconds


class Figures:
    """Counts of a process."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, int], int] = {}
        self.timers: dict[str, Timer] = {}
        self.batches = Timer(SIZES)
        self.counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def served(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = endpoint, status
        try:
            self.requests[key] += 1
            self.timers[endpoint].add(seconds)
        except KeyError:
            self.requests[key] = 1
            self.timers.setdefault(endpoint, Timer()).add(seconds)

    def count(self, name: str, kind: str = "", amount: float = 1) -> None:
        """Count something that is rare."""
        with self._lock:
            self.counts[name, kind] += amount  # type: ignore[assignment]
