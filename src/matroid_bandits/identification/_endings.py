"""When runs ended, and with which set: rounds as a distribution, errors with an exact interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.binomial import exact_interval


@dataclass(frozen=True, eq=False)
class Endings:
    """Stopping times and final sets of the runs of a simulation, for one policy or with a leading axis over policies.

    Attributes
    ----------
    rounds : int64 array (..., R)
        The episode after which each run ended; the last one for a run that was not sure by then.
    is_sure : bool array (..., R)
        Whether the stopping rule has ended it.
    is_wrong : bool array (..., R)
        Whether the set of best means at the end is worse than the best one, by more than the rule's tolerance allows.
    bases : int64 array (..., R, K)
        That set, ascending.
    counts : int64 array (..., R, L)
        Answered plays of each item at the end, the first look included.
    sums : float64 array (..., R, L)
        Their total gain.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> rule = mb.StoppingRule(delta=0.1, weights="unit")
    >>> result = mb.simulate(problem, [mb.SoftMinimum()], n_episodes=1000, n_runs=50, seed=1, until=rule)
    >>> endings = result["SoftMinimum"].endings
    >>> endings.n_errors, [round(end, 3) for end in endings.error_interval()]
    (0, [0.0, 0.071])
    >>> bool(endings.mean_rounds < 50)
    True
    """

    rounds: IntArray
    is_sure: BoolArray
    is_wrong: BoolArray
    bases: IntArray
    counts: IntArray
    sums: FloatArray

    def __getitem__(self, p: int) -> Endings:
        """Those of one policy."""
        return Endings(*(getattr(self, field.name)[p] for field in fields(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Endings):
            return NotImplemented
        return all(np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return int(self.rounds.shape[-1])

    @property
    def n_errors(self) -> int:
        """Number of runs of one policy in which the rule stopped at a wrong set."""
        return int((self.is_sure & self.is_wrong).sum())

    def error_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Exact (Clopper-Pearson) confidence interval of the probability of an error, for one policy."""
        return exact_interval(self.n_errors, self.n_runs, level)

    @property
    def mean_rounds(self) -> float:
        """Mean number of rounds of one policy."""
        return float(self.rounds.mean())

    @property
    def rounds_se(self) -> float:
        """Standard error of `mean_rounds`; NaN for a single run."""
        return float(self.rounds.std(ddof=1) / math.sqrt(self.n_runs)) if self.n_runs > 1 else math.nan

    def quantiles(self, levels: tuple[float, ...] = (0.05, 0.5, 0.95)) -> FloatArray:
        """Return quantiles of the number of rounds of one policy."""
        found: FloatArray = np.quantile(self.rounds, levels)
        return found
