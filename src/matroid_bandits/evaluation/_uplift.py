"""How much better than its control a learner is, with intervals that stay valid however often one looks."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits.exceptions import EvaluationError
from matroid_bandits.kernels import uplift as kernels

#: Intervals begin with this decision; before it, the variance is hardly known.
FIRST_LOOK = 100
_ZETA = 3.1055  # zeta(1.4), of the stitched boundary


@dataclass(frozen=True)
class Look:
    """What a log says about the uplift so far.

    Attributes
    ----------
    n_decisions, n_control : int
        Decisions so far, and those of the control among them.
    value : float
        The mean over decisions of (value of the learner's set - value of the control's); NaN without decisions.
    sequence : tuple of float
        A confidence sequence: with the chance `level` the truth is inside at every look at once (asymptotic;
        Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024).
    exact : tuple of float
        The same without asymptotics, and wider (empirical Bernstein; Howard, Ramdas, McAuliffe and Sekhon 2021).
    single : tuple of float
        The ordinary interval, right for one look that was planned in advance and misleading for more.
    p_better, p_worse : float
        Level at which a bet against "the learner is never better" (worse) would raise the alarm; valid at any time.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.evaluation.UpliftSequence(0, 1).look().n_decisions
    0
    """

    n_decisions: int
    n_control: int
    value: float
    sequence: tuple[float, float]
    exact: tuple[float, float]
    single: tuple[float, float]
    p_better: float
    p_worse: float


class UpliftSequence:
    """The difference between a learner and its control, decision by decision.

    The quantity is the mean over the decisions so far of what the learner's set is worth beyond the control's. It may
    move while the learner learns. Every decision needs a chance of being the control's, known when it was made.

    Parameters
    ----------
    low, high : float
        The range of a set's value: 0 and K where weights are in [0, 1] and sets have at most K items.
    alpha : float, default 0.05
        One minus the level of all intervals.
    planned : int, default 10_000
        The number of decisions at which the sequence is tightest.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> rng = np.random.default_rng(0)
    >>> is_control = rng.random(4000) < 0.1
    >>> values = rng.binomial(5, np.where(is_control, 0.3, 0.5))  # sets of five clicks
    >>> uplift = mb.evaluation.UpliftSequence(0, 5)
    >>> uplift.add(values, is_control, 0.1)
    >>> look = uplift.look()
    >>> round(look.value, 2), [round(end, 2) for end in look.sequence], look.p_better < 0.025
    (1.07, [0.9, 1.25], True)
    """

    def __init__(self, low: float, high: float, alpha: float = 0.05, planned: int = 10_000) -> None:
        self.low = as_number("low", low, error=EvaluationError)
        self.high = as_number("high", high, self.low, error=EvaluationError)
        self.alpha = as_number("alpha", alpha, 0.0, 1.0, error=EvaluationError)
        if not 0.0 < self.alpha < 1.0:
            raise EvaluationError(f"expected alpha to lie strictly between 0 and 1, got {alpha!r}")
        self.planned = as_integer("planned", planned, 1, error=EvaluationError)
        self._state = np.zeros(kernels.SIZE)

    def add(self, values: ArrayLike, is_control: ArrayLike, shares: ArrayLike) -> None:
        """Take decisions into account, in the order in which they were made.

        Parameters
        ----------
        values : float array (n,)
            What each decision's set was worth.
        is_control : bool array (n,)
            Whether the set was the control's.
        shares : float, or float array (n,)
            The chance, in force at that decision, of being the control's; strictly between 0 and 1.
        """
        self._advance(values, is_control, shares, np.empty((0, kernels.SIZE)))

    def trace(self, values: ArrayLike, is_control: ArrayLike, shares: ArrayLike) -> list[Look]:
        """`add`, and what would have been seen after each of the decisions."""
        trace = np.empty((np.size(values), kernels.SIZE))
        self._advance(values, is_control, shares, trace)
        return [self._look(state) for state in trace]

    def look(self) -> Look:
        """What is known now."""
        return self._look(self._state)

    def _advance(self, values: ArrayLike, is_control: ArrayLike, shares: ArrayLike, trace: FloatArray) -> None:
        y = np.array(values, np.float64, ndmin=1)
        arm = np.array(is_control, bool, ndmin=1)
        h = np.array(np.broadcast_to(np.asarray(shares, np.float64), y.shape))
        if y.ndim != 1 or arm.shape != y.shape:
            raise EvaluationError(
                f"expected one value and one arm per decision, got shapes {y.shape} and {arm.shape}"
            )
        if not ((y >= self.low) & (y <= self.high)).all():
            wrong = y[~((y >= self.low) & (y <= self.high))][0]
            raise EvaluationError(f"expected values from {self.low:g} to {self.high:g}, got {wrong}")
        if not ((h > 0.0) & (h < 1.0)).all():
            wrong = h[~((h > 0.0) & (h < 1.0))][0]
            raise EvaluationError(f"expected shares strictly between 0 and 1, got {wrong}")
        kernels.advance(self._state, y, arm, h, self.low, self.high - self.low, trace)

    def _look(self, state: FloatArray) -> Look:
        n = float(state[kernels.N])
        mean = float(state[kernels.SUM]) / n if n else float("nan")
        return Look(
            n_decisions=int(n),
            n_control=int(state[kernels.N_CONTROL]),
            value=mean,
            sequence=self._around(mean, self._asymptotic(state)),
            exact=self._around(mean, self._bernstein(state)),
            single=self._around(mean, self._wald(state)),
            p_better=min(1.0, float(np.exp(-state[kernels.MOST_BETTER]))),
            p_worse=min(1.0, float(np.exp(-state[kernels.MOST_WORSE]))),
        )

    @staticmethod
    def _around(mean: float, half: float) -> tuple[float, float]:
        return mean - half, mean + half

    def _variance(self, state: FloatArray) -> float:
        n = float(state[kernels.N])
        return max(float(state[kernels.SQUARES]) / n - (float(state[kernels.SUM]) / n) ** 2, 1e-9)

    def _wald(self, state: FloatArray) -> float:
        n = float(state[kernels.N])
        return NormalDist().inv_cdf(1.0 - self.alpha / 2.0) * sqrt(self._variance(state) / n) if n > 1 else np.inf

    def _asymptotic(self, state: FloatArray) -> float:
        n = float(state[kernels.N])
        if n < FIRST_LOOK:
            return np.inf
        rho = (-2.0 * log(self.alpha) + log(1.0 - 2.0 * log(self.alpha))) / self.planned
        return sqrt(
            self._variance(state) * 2.0 * (n * rho + 1.0) / (n * n * rho) * log(sqrt(n * rho + 1.0) / self.alpha)
        )

    def _bernstein(self, state: FloatArray) -> float:
        n = float(state[kernels.N])
        if n < 1:
            return np.inf
        scale = 2.0 * (self.high - self.low) / float(state[kernels.SHARE])
        return stitched(float(state[kernels.VARIATION]), self.alpha / 2.0, scale) / n


def stitched(variation: float, alpha: float, scale: float = 0.0) -> float:
    """The boundary that a sum of such variation crosses with a chance of at most `alpha`, at any time.

    Howard, Ramdas, McAuliffe and Sekhon 2021, polynomial stitching for increments that are sub-gamma of this scale.
    """
    v = max(variation, 1.0)
    k1, k2 = (2.0**0.25 + 2.0**-0.25) / sqrt(2.0), (sqrt(2.0) + 1.0) / 2.0
    level = 1.4 * log(log(v) / log(2.0) + 1.0) + log(_ZETA / alpha)
    return sqrt(k1**2 * v * level + (k2 * scale * level) ** 2) + k2 * scale * level
