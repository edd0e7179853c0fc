"""The exact interval of a chance of which some trials are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def exact_interval(n_hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a chance that came true in `n_hits` of n trials."""
    tail = (1.0 - level) / 2.0
    low = 0.0 if n_hits == 0 else _root(lambda p: _at_least(n_hits, n, p) - tail)
    high = 1.0 if n_hits == n else _root(lambda p: tail - (1.0 - _at_least(n_hits + 1, n, p)))
    return low, high


def _root(function: Callable[[float], float]) -> float:
    """Where a rising function on [0, 1] is 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


def _at_least(k: int, n: int, p: float) -> float:
    """The chance of k hits or more; the smaller side is added up."""
    if k <= 0 or p >= 1.0:
        return 1.0
    if p <= 0.0:
        return 0.0
    if k > n * p:
        return float(np.exp(_log_chances(np.arange(k, n + 1), n, p)).sum())
    return 1.0 - float(np.exp(_log_chances(np.arange(k), n, p)).sum())


def _log_chances(hits: np.ndarray, n: int, p: float) -> np.ndarray:
    """The log of the chance of each number of hits."""
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1.0)))])
    ways = log_factorials[n] - log_factorials[hits] - log_factorials[n - hits]
    return np.asarray(ways + hits * math.log(p) + (n - hits) * math.log1p(-p))
