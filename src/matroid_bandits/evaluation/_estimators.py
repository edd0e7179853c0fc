"""Estimates of what a target would have earned, from decisions whose items had known chances of being in the set.

Every estimator is a mean over decisions. Played item i of decision t counts with the weight e / p, where e is the
chance that the target's set contains it and p the chance that the played set did. Decisions are martingale
differences although the learner adapts, so a mean over them has the usual standard error; decisions that share a
unit, such as a visitor, are added up before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Literal

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.student import t_quantile
from matroid_bandits.exceptions import EvaluationError

Method = Literal["dr", "snips", "iips"]
METHODS: tuple[Method, ...] = ("dr", "snips", "iips")

#: The least effective size for an interval, per unit of the kurtosis of the weights. With fewer than about ten clicks
#: among the plays that count, a log says little about its own error.
_LEAST_SIZE = 10.0

#: Larger degrees of freedom are replaced by this number; the quantiles are the same to four digits.
_MOST_FREEDOM = 1e6


@dataclass(frozen=True)
class Decisions:
    """Table of the settled decisions of a log: n played items of T decisions.

    Attributes
    ----------
    decision : int64 array (n,)
        The place 0..T-1 of the decision that each played item belongs to.
    weights : float64 array (n,)
        What each played item was worth.
    propensities : float64 array (n,)
        The chance that the played set contained the item.
    predictions : float64 array (n,)
        What was expected of the item from answers before the decision.
    is_held_out : bool array (T,)
        Whether the set was drawn at random.
    units : int64 array (T,), or None
        The unit, such as a visitor, that each decision belongs to; None where each decision is a unit of its own.
    n_redraws : int
        The number of redraws that estimated the propensities of a policy that samples; 0 where they are known.

    Examples
    --------
    Two decisions of one item each, both items drawn with chance 1/2.

    >>> import numpy as np
    >>> from matroid_bandits.evaluation import Decisions
    >>> place, half = np.arange(2), np.full(2, 0.5)
    >>> log = Decisions(place, np.array([1.0, 0.0]), half, half, np.array([True, True]))
    >>> len(log), log.total(log.weights)
    (2, array([1., 0.]))
    """

    decision: IntArray
    weights: FloatArray
    propensities: FloatArray
    predictions: FloatArray
    is_held_out: BoolArray
    units: IntArray | None = None
    n_redraws: int = 0

    def __len__(self) -> int:
        return self.is_held_out.size

    def total(self, values: FloatArray) -> FloatArray:
        """Return the sum of each decision's values (T,)."""
        totals: FloatArray = np.bincount(self.decision, values, len(self)).astype(np.float64)
        return totals


@dataclass(frozen=True)
class Target:
    """A target policy's inclusion probabilities, set sizes and predictions at each logged decision.

    Attributes
    ----------
    inclusions : float64 array (n,)
        The chance that the target's set contains each played item.
    sizes : float64 array (T,)
        The expected size of the target's set.
    predicted : float64 array (T,)
        What was expected of the target's set from answers before the decision.

    Examples
    --------
    A target that always plays the item that was played in the first of two decisions.

    >>> import numpy as np
    >>> from matroid_bandits.evaluation import Target
    >>> Target(np.array([1.0, 0.0]), sizes=np.ones(2), predicted=np.full(2, 0.5)).inclusions
    array([1., 0.])
    """

    inclusions: FloatArray
    sizes: FloatArray
    predicted: FloatArray


@dataclass(frozen=True)
class Estimate:
    """Off-policy estimate of a target's value per decision, with its standard error and diagnostics.

    Attributes
    ----------
    value : float
        The mean value of the target's set.
    error : float
        Its standard error, from the units' spread.
    n_decisions, n_held_out, n_units : int
        What it rests on.
    effective_size : float
        (sum w)^2 / sum w^2 over the played items that the target may choose: how many unweighted plays carry the same
        information.
    largest_weight, least_propensity : float
        The extremes of e / p and of p among those plays.
    largest_share : float
        The share of the largest weight in sum w^2.
    balance : float
        How many standard errors the mean total weight is from the target's mean size; beyond 4 the propensities
        cannot be right.
    method : str
        "dr", "snips" or "iips".
    warnings : tuple of str
        Why the log may not be able to answer.
    freedom : float
        The effective degrees of freedom of the error: the number of units over the kurtosis of what they contribute.
        0 where the log is too short for an interval: where `effective_size` is less than ten times the kurtosis of
        the weights.

    Examples
    --------
    >>> from matroid_bandits.evaluation import Estimate
    >>> found = Estimate(2.0, 0.5, 100, 5, 100, 80.0, 9.0, 0.1, 0.02, 0.3, "dr", freedom=30.0)
    >>> round(found.low, 2), round(found.high, 2)
    (0.98, 3.02)
    """

    value: float
    error: float
    n_decisions: int
    n_held_out: int
    n_units: int
    effective_size: float
    largest_weight: float
    least_propensity: float
    largest_share: float
    balance: float
    method: str
    warnings: tuple[str, ...] = ()
    freedom: float = inf

    @property
    def low(self) -> float:
        """Lower end of the 95% confidence interval; -inf where the log is too short."""
        return self.interval()[0]

    @property
    def high(self) -> float:
        """Upper end of the 95% confidence interval; inf where the log is too short."""
        return self.interval()[1]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval for a single look, by Student's t distribution.

        It is infinite where the log is too short: where `freedom` is 0.

        Examples
        --------
        >>> from matroid_bandits.evaluation import Estimate
        >>> found = Estimate(2.0, 0.5, 100, 5, 100, 80.0, 9.0, 0.1, 0.02, 0.3, "dr")
        >>> [round(end, 2) for end in found.interval(0.9)]
        [1.18, 2.82]
        """
        level = as_number("level", level, 0.0, 1.0, error=EvaluationError)
        if self.freedom == 0.0 or level == 1.0:
            return -inf, inf
        freedom = min(max(self.freedom, 1.0), _MOST_FREEDOM)
        half = t_quantile(0.5 + level / 2.0, freedom) * self.error
        return self.value - half, self.value + half


def estimate(log: Decisions, target: Target, method: Method = "dr") -> Estimate:
    """Estimate a target policy's value from a log, with a chosen estimator.

    ``"dr"`` (doubly robust) adds to the predicted value of the target's set what the predictions missed; ``"iips"``
    weighs every played item by e / p; ``"snips"`` divides that by the mean weight. All are right where propensities
    are, if the weight of an item does not depend on the items chosen beside it.

    Raises
    ------
    EvaluationError
        There is no decision, or the target may choose an item whose propensity is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from matroid_bandits.evaluation import Decisions, Target, estimate
    >>> place, half = np.arange(2), np.full(2, 0.5)
    >>> log = Decisions(place, np.array([1.0, 0.0]), half, half, np.array([True, True]))
    >>> estimate(log, Target(np.array([1.0, 0.0]), np.ones(2), half), "iips").value
    1.0
    """
    if method not in METHODS:
        raise EvaluationError(f"expected method to be one of {', '.join(METHODS)}; got {method!r}")
    n = len(log)
    if n == 0:
        raise EvaluationError("expected at least one settled decision, got a log without any")
    is_wanted = target.inclusions > 0.0
    if (log.propensities[is_wanted] <= 0.0).any():
        raise EvaluationError("expected positive propensities where the target may choose, got 0")
    w = np.divide(target.inclusions, log.propensities, out=np.zeros_like(log.weights), where=is_wanted)
    totals = log.total(w)
    if method == "snips":
        ratio = _ratio(log.total(w * log.weights).sum(), totals.sum())
        value = ratio * target.sizes.mean()
        residuals = (log.total(w * log.weights) - ratio * totals) * _ratio(target.sizes.sum(), totals.sum())
    else:
        gains = log.weights - log.predictions if method == "dr" else log.weights
        z = log.total(w * gains) + (target.predicted if method == "dr" else 0.0)
        value = z.mean()
        residuals = z - value
    units = log.units
    found = Estimate(
        value=float(value),
        error=_error(residuals, units),
        n_decisions=n,
        n_held_out=int(log.is_held_out.sum()),
        n_units=n if units is None else np.unique(units).size,
        effective_size=_ratio(w.sum() ** 2, np.square(w).sum()),
        largest_weight=float(w.max(initial=0.0)),
        least_propensity=float(log.propensities[is_wanted].min(initial=1.0)),
        largest_share=_ratio(np.square(w).max(initial=0.0), np.square(w).sum()),
        balance=_balance(totals - target.sizes, units),
        method=method,
    )
    needed = _LEAST_SIZE * _kurtosis(log.weights)
    freedom = 0.0 if found.effective_size < needed else _freedom(residuals, units)
    return replace(found, freedom=freedom, warnings=_warnings(found, log, needed))


def _error(residuals: FloatArray, units: IntArray | None) -> float:
    """The standard error of the mean of decisions whose residuals add up by unit."""
    n = residuals.size
    residuals = _by_unit(residuals, units)
    m = residuals.size
    return float(np.sqrt(np.square(residuals).sum() * _ratio(m, m - 1)) / n) if m > 1 else np.inf


def _by_unit(residuals: FloatArray, units: IntArray | None) -> FloatArray:
    if units is None:
        return residuals
    place = np.unique(units, return_inverse=True)[1].ravel()
    totals: FloatArray = np.bincount(place, residuals).astype(np.float64)
    return totals


def _freedom(residuals: FloatArray, units: IntArray | None) -> float:
    """The effective degrees of freedom of a standard error: the number of units over their kurtosis."""
    squares = np.square(_by_unit(residuals, units))
    return _ratio(squares.sum() ** 2, np.square(squares).sum()) or inf


def _kurtosis(weights: FloatArray) -> float:
    """The kurtosis of weights, at least 1; where all are equal, their number, about that with one that differs."""
    squares = np.square(weights - weights.mean())
    spread = float(squares.sum()) ** 2
    return _ratio(squares.size * float(np.square(squares).sum()), spread) if spread else float(weights.size)


def _balance(differences: FloatArray, units: IntArray | None) -> float:
    error = _error(differences - differences.mean(), units)
    return _ratio(float(differences.mean()), error) if np.isfinite(error) else 0.0


def _ratio(a: float, b: float) -> float:
    return float(a / b) if b else 0.0


def _warnings(found: Estimate, log: Decisions, needed: float) -> tuple[str, ...]:
    """Why the log may not be able to answer, in words; `needed` is the least effective size for an interval."""
    said = []
    if found.effective_size < needed:
        said.append(
            f"the log holds {found.effective_size:.0f} plays' worth of information about this target; an interval "
            f"needs {ceil(needed)} of weights like these"
        )
    elif found.effective_size < 100.0:
        said.append(
            f"the log holds {found.effective_size:.0f} plays' worth of information about this target; from 100 on "
            "an interval can be relied on"
        )
    if found.largest_share > 0.1:
        said.append(
            f"one play carries {found.largest_share:.0%} of the squared weight; the standard error is not to be "
            "trusted"
        )
    if log.n_redraws and found.least_propensity < 10.0 / log.n_redraws:
        said.append(
            f"the least propensity, {found.least_propensity:.2g}, is too small to be estimated by {log.n_redraws} "
            "redraws"
        )
    if abs(found.balance) > 4.0:
        said.append(
            f"weights add up to {found.balance:+.1f} standard errors from the target's size: the propensities cannot "
            "be those of this log"
        )
    return tuple(said)
