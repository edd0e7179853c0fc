"""What has been seen so far, for a batch of runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.kernels import statistics
from matroid_bandits.policies._request import Feedback


class State:
    """Counts and means of every item in every run, shape (R, L); what a policy turns into indices.

    A policy always maximises: sums and means are of *gains*, the weights, or minus the weights when `minimize`. The
    arrays belong to the state, which keeps them consistent; a policy reads them and writes to `extra` alone.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen.
    n_runs : int
        The number of runs R.
    minimize : bool, default False
        Whether weights are costs.

    Attributes
    ----------
    counts : int64 array (R, L)
        The paper's T_e, how often each item's weight was answered.
    waiting : int64 array (R, L)
        How many plays of each item still wait for an answer.
    sums, means : float64 arrays (R, L)
        Total and mean gain; the mean of an item never seen is 0.
    radii : float64 array (R, L)
        ``1 / sqrt(counts)``, infinite for an item never seen.
    extra : dict of arrays
        What the policy keeps besides, by name, a row per run; filled by `Policy.prepare`.
    constraint : Constraint
        Which sets may be chosen, for policies that need to know.
    minimize : bool
        Whether gains are negated costs.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=2)
    >>> state.counts.shape, bool(state.is_seen)
    ((2, 3), False)
    """

    def __init__(self, constraint: Constraint, n_runs: int, minimize: bool = False) -> None:
        shape = (n_runs, constraint.n_items)
        self.constraint, self.minimize = constraint, minimize
        self.counts: IntArray = np.zeros(shape, np.int64)
        self.waiting: IntArray = np.zeros(shape, np.int64)
        self.sums: FloatArray = np.zeros(shape)
        self.means: FloatArray = np.zeros(shape)
        self.radii: FloatArray = np.full(shape, np.inf)
        self.extra: dict[str, AnyArray] = {}

    @property
    def n_runs(self) -> int:
        """The number of runs R."""
        return int(self.counts.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items L."""
        return int(self.counts.shape[1])

    @property
    def asked(self) -> IntArray:
        """How often each item was asked for, answered or not, shape (R, L)."""
        return self.counts + self.waiting

    @property
    def is_seen(self) -> bool:
        """Whether every item has been seen in every run."""
        return bool(self.counts.all())

    def absorb(self, feedback: Feedback) -> None:
        """Count what was answered; an item has at most one answer for each run."""
        statistics.absorb(
            feedback.runs, feedback.items, feedback.gains, self.counts, self.sums, self.means, self.radii
        )

    def restore(self, counts: AnyArray, sums: AnyArray) -> None:
        """Take over counts and sums, shape (R, L), that an equal state had; means and radii follow from them."""
        self.counts[:], self.sums[:] = counts, sums
        is_seen = self.counts > 0
        self.means[is_seen] = self.sums[is_seen] / self.counts[is_seen]
        self.radii[is_seen] = 1.0 / np.sqrt(self.counts[is_seen].astype(np.float64))

    def remember(self, feedback: Feedback) -> list[AnyArray]:
        """What `absorb` would change, for `revert`."""
        return [array[feedback.runs, feedback.items] for array in self._arrays]

    def revert(self, feedback: Feedback, remembered: Sequence[AnyArray]) -> None:
        """Undo `absorb`."""
        for array, values in zip(self._arrays, remembered, strict=True):
            array[feedback.runs, feedback.items] = values

    @property
    def _arrays(self) -> tuple[AnyArray, ...]:
        return self.counts, self.sums, self.means, self.radii
