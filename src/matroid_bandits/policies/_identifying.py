"""Policies that play to find the best basis soon, whatever is earned meanwhile."""

from __future__ import annotations

from typing import cast

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import MOST_WEIGHT, as_number
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import exchange
from matroid_bandits.matroids import Exchanges, Matroid
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class SoftMinimum(Policy):
    r"""Sampling rule for best-set identification: plays the items whose exchanges are least certain.

    With Z the log likelihood ratio of an exchange (e leaves the basis of best means, f enters), the index of an item
    is the slope of a soft minimum of all Z in its plays,
    :math:`\sum \exp(-(Z - Z_{\min})) \, d(\hat w, l)` over the exchanges of the item, where l is the mean of both
    items' plays and d the divergence of the law. Every item is played once first; ties go to fewer plays.

    Parameters
    ----------
    deviation : float, optional
        The standard deviation of a weight, for normal weights or others whose tails are no heavier. By default
        weights lie in [0, 1] and the law is the Bernoulli one.

    Notes
    -----
    For matroids alone: there a basis is best if no single exchange improves it. A play that waits for its answer
    counts as played, so that late answers do not make it repeat itself; what stopping rests on is answered plays.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 1), mb.GaussianEnvironment([1.0, 0.5, 0.0, -1.0]))
    >>> result = mb.simulate(problem, [mb.SoftMinimum(deviation=1.0)], n_episodes=1000, n_runs=10, seed=0)
    >>> plays = result.choices[0]
    >>> bool(plays[0] > plays[2] and plays[1] > plays[2] > plays[3])  # the first two are the closest call
    True
    """

    def __init__(self, deviation: float | None = None) -> None:
        self._deviation = _deviation_or_none(deviation)
        if self._deviation is None:
            self.support = (0.0, 1.0)

    def prepare(self, constraint: Constraint) -> Exchanges:
        return _exchanges(self, constraint)

    def indices(self, state: State, request: Request) -> FloatArray:
        U: FloatArray = np.zeros(state.counts.shape)
        rows = np.flatnonzero(~state.is_unseen.any(axis=1))
        if not rows.size:  # items never seen come first
            return U
        known = cast("Exchanges", state.prepared)
        means, plays = state.means[rows], state.plays[rows].astype(np.float64)
        law, deviation = exchange.GAUSSIAN, self._deviation
        if deviation is None:
            law, deviation = exchange.UNIT, 1.0
            means = np.clip(means + 1.0 if state.minimize else means, 0.0, 1.0)
        slopes = np.empty(means.shape)
        places = known.of(known.matroid.best_sets(means)[0])
        exchange.soft_minimum(plays, means, *places, law, deviation, slopes)
        U[rows] = slopes
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        return np.full(state.means.shape, np.nan)


class CLUCB(Policy):
    r"""Combinatorial lower-upper confidence bound sampling for best-set identification (Chen et al., NeurIPS 2014).

    Two bases are compared: that of best means, and the best one when its own items are taken at their lower and all
    others at their upper confidence bounds, with radius
    :math:`\sigma \sqrt{2 \log(4 L t^3 / \delta) / T_e}` after t plays. What differs is played, the widest radius
    first. The method stops when they are the same: ``StoppingRule(threshold="CLUCB")``.

    Parameters
    ----------
    delta : float, default 0.05
        The largest chance of an error, above 0 and below 1.
    deviation : float, default 0.5
        The standard deviation of a weight, or what bounds its tails as one: 0.5 for weights in [0, 1].

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_policy(mb.CLUCB(0.1))
    """

    def __init__(self, delta: float = 0.05, deviation: float = 0.5) -> None:
        self._delta = _as_chance("delta", delta)
        self._deviation = as_number("deviation", deviation, 0.0, MOST_WEIGHT, error=PolicyError)

    def prepare(self, constraint: Constraint) -> Exchanges:
        return _exchanges(self, constraint)

    def indices(self, state: State, request: Request) -> FloatArray:
        matroid, means = cast("Exchanges", state.prepared).matroid, state.means
        plays = np.where(state.is_unseen, 1.0, state.plays)  # items never seen come first whatever is here
        t = np.maximum(plays.sum(axis=1, keepdims=True), 1.0)
        radii = self._deviation * np.sqrt(2.0 * np.log(4.0 * max(state.n_items, 1) * t**3 / self._delta) / plays)
        is_best = _inside(matroid.best_sets(means)[0], means.shape)
        is_other = _inside(matroid.best_sets(np.where(is_best, means - radii, means + radii))[0], means.shape)
        U: FloatArray = np.where(is_best != is_other, radii, 0.0) + 1e-9 / plays
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        return np.full(state.means.shape, np.nan)


def _as_chance(what: str, value: float) -> float:
    """`value` as a chance of an error: above 0 and below 1."""
    number = as_number(what, value, 0.0, 1.0, error=PolicyError)
    if not 0.0 < number < 1.0:
        raise PolicyError(f"expected {what} to be above 0 and below 1, got {number:g}")
    return number


def _deviation_or_none(value: float | None) -> float | None:
    """`value` as the standard deviation of a weight, above 0; None stands for weights in [0, 1]."""
    if value is None:
        return None
    number = as_number("deviation", value, 0.0, MOST_WEIGHT, error=PolicyError)
    if number == 0.0:
        raise PolicyError("expected deviation to be above 0, got 0")
    return number


def _exchanges(policy: Policy, constraint: Constraint) -> Exchanges:
    if not isinstance(constraint, Matroid):
        raise PolicyError(
            f"{policy!r} needs a matroid, where the best set is one that no single exchange improves; got "
            f"{constraint!r}"
        )
    return Exchanges(constraint)


def _inside(bases: IntArray, shape: tuple[int, ...]) -> BoolArray:
    """Which items (R, L) the rows of bases (R, K) have."""
    is_in = np.zeros(shape, bool)
    np.put_along_axis(is_in, bases, True, axis=1)
    return is_in
