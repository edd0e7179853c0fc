"""What has been seen so far, for a batch of runs."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.kernels import statistics


class State:
    """Counts and means of every item in every run, shape (R, L); what a policy turns into indices.

    A policy always maximises: sums and means are of *gains*, the weights, or minus the weights when `minimize`.

    Attributes
    ----------
    counts : int64 array (R, L)
        The paper's T_e, how often each item was seen.
    sums, means : float64 arrays (R, L)
        Total and mean gain; the mean of an item never seen is 0.
    radii : float64 array (R, L)
        ``1 / sqrt(counts)``, infinite for an item never seen.
    extra : dict of arrays
        What the policy keeps besides, by name, a row per run; filled by `Policy.prepare`.
    minimize : bool
        Whether gains are negated costs.
    """

    def __init__(self, n_runs: int, n_items: int, minimize: bool = False) -> None:
        self.minimize = minimize
        self.counts: IntArray = np.zeros((n_runs, n_items), np.int64)
        self.sums: FloatArray = np.zeros((n_runs, n_items))
        self.means: FloatArray = np.zeros((n_runs, n_items))
        self.radii: FloatArray = np.full((n_runs, n_items), np.inf)
        self.extra: dict[str, AnyArray] = {}

    @property
    def n_runs(self) -> int:
        """The number of runs R."""
        return int(self.counts.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items L."""
        return int(self.counts.shape[1])

    def absorb(self, items: IntArray, weights: FloatArray) -> None:
        """Count the weights (R, K) seen of `items` (R, K), each at most once a row."""
        sign = -1.0 if self.minimize else 1.0
        statistics.absorb(items, weights, sign, self.counts, self.sums, self.means, self.radii)
