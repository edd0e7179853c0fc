"""How much better than its control a learner is, with intervals that are valid at every look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits.exceptions import EvaluationError
from matroid_bandits.kernels import uplift as kernels

#: Intervals that rest on a variance begin where either arm has this many decisions per unit of its kurtosis: with
#: clicks, about this many clicks. Before it, the variance is hardly known.
ENOUGH = 30.0
_ZETA = 3.1055  # zeta(1.4), of the stitched boundary

# Places of the sums of second and fourth powers of both arms
_SECOND = np.array([kernels.SECOND_LEARNER, kernels.SECOND_CONTROL])
_FOURTH = np.array([kernels.FOURTH_LEARNER, kernels.FOURTH_CONTROL])


@dataclass(frozen=True)
class Look:
    """Estimated uplift of a learner over its control at one time, with confidence sequences and p values.

    Attributes
    ----------
    n_decisions, n_control : int
        Decisions so far, and those of the control among them.
    value : float, or None
        The mean over decisions of (value of the learner's set - value of the control's); None before either arm has
        30 decisions per unit of the kurtosis of its values: with clicks, about 30 clicks.
    sequence : tuple of float
        A confidence sequence: with the chance `level` the truth is inside at every look at once (asymptotic;
        Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024). Infinite as long as there is no value.
    exact : tuple of float
        The same without asymptotics, and wider (empirical Bernstein; Howard, Ramdas, McAuliffe and Sekhon 2021).
    single : tuple of float
        The ordinary interval, right for one look that was planned in advance and misleading for more. Infinite as
        long as there is no value.
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
    value: float | None
    sequence: tuple[float, float]
    exact: tuple[float, float]
    single: tuple[float, float]
    p_better: float
    p_worse: float


class Trace(NamedTuple):
    """Estimated uplift after each of n decisions: the fields of a `Look` as arrays, intervals as (n, 2).

    Values are NaN where a look has none.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> trace = mb.evaluation.UpliftSequence(0, 1).trace([1.0, 0.0], [False, True], 0.5)
    >>> trace.value.tolist(), trace.single.shape
    ([nan, nan], (2, 2))
    """

    n_decisions: IntArray
    n_control: IntArray
    value: FloatArray
    sequence: FloatArray
    exact: FloatArray
    single: FloatArray
    p_better: FloatArray
    p_worse: FloatArray


class UpliftSequence:
    """Running estimate of the difference between a learner and its control, valid at every decision.

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
    (1.08, [0.9, 1.25], True)
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
        """Add decisions, in the order in which they were made.

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

    def trace(self, values: ArrayLike, is_control: ArrayLike, shares: ArrayLike) -> Trace:
        """Add decisions, and return the estimate after each of them."""
        states = np.empty((np.size(values), kernels.SIZE))
        self._advance(values, is_control, shares, states)
        return self._seen(states.T)

    def widen(self, low: float, high: float) -> None:
        """Widen the range of values from now on; earlier decisions stay counted.

        The exact interval and the bets stay what they say where the range does not depend on the values to come.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> uplift = mb.evaluation.UpliftSequence(0, 1)
        >>> uplift.widen(-1, 0.5)
        >>> uplift.low, uplift.high
        (-1.0, 1.0)
        """
        low = min(self.low, as_number("low", low, error=EvaluationError))
        high = max(self.high, as_number("high", high, error=EvaluationError))
        state = self._state  # sums are of what values are above `low`
        state[kernels.S_LEARNER] += state[kernels.N_LEARNER] * (self.low - low)
        state[kernels.S_CONTROL] += state[kernels.N_CONTROL] * (self.low - low)
        self.low, self.high = low, high

    def to_dict(self) -> dict[str, Any]:
        """Return the sequence as plain JSON, from which `from_dict` continues."""
        return {
            "low": self.low,
            "high": self.high,
            "alpha": self.alpha,
            "planned": self.planned,
            "state": self._state.tolist(),
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> UpliftSequence:
        """Make the sequence described by the output of `to_dict`.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> uplift = mb.evaluation.UpliftSequence(0, 1)
        >>> uplift.add([1.0, 0.0], [False, True], 0.5)
        >>> mb.evaluation.UpliftSequence.from_dict(uplift.to_dict()).look() == uplift.look()
        True
        """
        try:
            found = cls(form["low"], form["high"], form["alpha"], form["planned"])
            state = np.array(form["state"], np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise EvaluationError(f"expected the form of an uplift sequence, got another: {error!r}") from None
        if state.shape != found._state.shape or not np.isfinite(state).all():
            raise EvaluationError("expected the state of an uplift sequence, got another")
        found._state = state
        return found

    @property
    def n_decisions(self) -> int:
        """Number of decisions added."""
        return int(self._state[kernels.N])

    def look(self) -> Look:
        """Return the current estimate."""
        seen = self._seen(self._state[:, None])
        sequence, exact, single = (
            (float(ends[0, 0]), float(ends[0, 1])) for ends in (seen.sequence, seen.exact, seen.single)
        )
        return Look(
            n_decisions=int(seen.n_decisions[0]),
            n_control=int(seen.n_control[0]),
            value=None if np.isnan(seen.value[0]) else float(seen.value[0]),
            sequence=sequence,
            exact=exact,
            single=single,
            p_better=float(seen.p_better[0]),
            p_worse=float(seen.p_worse[0]),
        )

    def band(self) -> tuple[float, float]:
        """Return the ends of the confidence sequence, a part of `look`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            half = self._asymptotic(self._state)
        if np.isinf(half):
            return -np.inf, np.inf
        mean = self._state[kernels.SUM] / self._state[kernels.N]
        return float(mean - half), float(mean + half)

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

    def _seen(self, states: FloatArray) -> Trace:
        """What states (SIZE, n) say."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value, mean = self._value(states), states[kernels.SUM] / states[kernels.N]
            halves = self._asymptotic(states), self._bernstein(states), self._wald(states)
            ends = (np.stack([mean - half, mean + half], axis=-1) for half in halves)
            nothing = np.array([-np.inf, np.inf])
            sequence, exact, single = (np.where(np.isnan(each), nothing, each) for each in ends)
        return Trace(
            n_decisions=states[kernels.N].astype(np.int64),
            n_control=states[kernels.N_CONTROL].astype(np.int64),
            value=value,
            sequence=sequence,
            exact=exact,
            single=single,
            p_better=np.minimum(1.0, np.exp(-states[kernels.MOST_BETTER])),
            p_worse=np.minimum(1.0, np.exp(-states[kernels.MOST_WORSE])),
        )

    # Values and half the widths of intervals, of a state (SIZE,) or of several (SIZE, n)

    def _value(self, states: FloatArray) -> FloatArray:
        return np.where(self._is_known(states), states[kernels.SUM] / states[kernels.N], np.nan)

    def _is_known(self, states: FloatArray) -> BoolArray:
        """Whether either arm has decisions enough for a variance."""
        second, fourth = states[_SECOND], states[_FOURTH]  # n / kurtosis is second**2 / fourth
        found: BoolArray = ((second > 0.0) & (second * second >= ENOUGH * fourth)).all(axis=0)
        return found

    def _variance(self, states: FloatArray) -> FloatArray:
        n = states[kernels.N]
        found: FloatArray = np.maximum(states[kernels.SQUARES] / n - (states[kernels.SUM] / n) ** 2, 1e-9)
        return found

    def _wald(self, states: FloatArray) -> FloatArray:
        n, z = states[kernels.N], NormalDist().inv_cdf(1.0 - self.alpha / 2.0)
        return np.where(self._is_known(states), z * np.sqrt(self._variance(states) / n), np.inf)

    def _asymptotic(self, states: FloatArray) -> FloatArray:
        n = states[kernels.N]
        rho = (-2.0 * log(self.alpha) + log(1.0 - 2.0 * log(self.alpha))) / self.planned
        width = 2.0 * (n * rho + 1.0) / (n * n * rho) * np.log(np.sqrt(n * rho + 1.0) / self.alpha)
        return np.where(self._is_known(states), np.sqrt(self._variance(states) * width), np.inf)

    def _bernstein(self, states: FloatArray) -> FloatArray:
        n = states[kernels.N]
        scale = 2.0 * (self.high - self.low) / states[kernels.SHARE]
        return np.where(n < 1, np.inf, stitched(states[kernels.VARIATION], self.alpha / 2.0, scale) / n)


def stitched(variation: FloatArray | float, alpha: float, scale: FloatArray | float = 0.0) -> FloatArray:
    """The boundary that a sum of such variation crosses with a chance of at most `alpha`, at any time.

    Howard, Ramdas, McAuliffe and Sekhon 2021, polynomial stitching for increments that are sub-gamma of this scale.
    """
    v = np.maximum(variation, 1.0)
    k1, k2 = (2.0**0.25 + 2.0**-0.25) / sqrt(2.0), (sqrt(2.0) + 1.0) / 2.0
    level = 1.4 * np.log(np.log(v) / log(2.0) + 1.0) + log(_ZETA / alpha)
    found: FloatArray = np.sqrt(k1**2 * v * level + (k2 * scale * level) ** 2) + k2 * scale * level
    return found
