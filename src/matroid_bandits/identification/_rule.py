"""When to stop: all exchanges that could improve the best basis are ruled out, at a chosen chance of error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import MOST_WEIGHT, as_flag, as_number
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import StoppingError
from matroid_bandits.kernels import exchange
from matroid_bandits.matroids import Exchanges, Matroid

Threshold = Literal["proven", "unproven", "CLUCB"]

#: What the normal mixture is worth in plays; 20 to 500 change the rounds by a few percent.
RHO = 10.0


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    r"""Stopping rule for best-basis identification, with probability of error at most `delta`.

    A basis B is best if no exchange (e leaves, f enters) improves it. Each exchange has the likelihood ratio Z of
    "f is better than e", and all must pass :math:`Z > \log(M / \delta)` plus what mixtures over the unknown means
    cost, for M pairs that can be exchanges at all. The error holds at any time and under any sampling: looks after
    every answer, masks, batches, late answers.

    Parameters
    ----------
    delta : float or None, default 0.05
        Bound on the probability of error, above 0 and below 1. None for a rule that never stops, for a fixed budget.
    weights : "unit", optional
        Assume weights in [0, 1] with any distribution; Bernoulli weights are the hardest of these.
    deviation : float, optional
        Assume weights around a constant mean, normal with this standard deviation, or with tails that are no heavier
        (sub-Gaussian). Give one of `weights` and `deviation`.
    tolerance : float, default 0.0
        Tolerated gap between an item outside the basis and one inside: the basis is then within K times this of the
        best one. Without a tolerance, a rule never stops on equal means.
    independent : bool, default True
        Whether the weights of different items in a play are independent. With False, separate intervals of the items
        are compared, which takes more plays.
    threshold : "proven", "unproven" or "CLUCB", default "proven"
        "unproven" stops at :math:`Z > \log((1 + \log t) / \delta)` after t rounds: some three times sooner, and no
        proof that errors stay below `delta`, though they did in all trials. "CLUCB" is the rule of that method,
        proven, and the slowest.

    Notes
    -----
    Proof of the default: for the true mean of an item, the mixture of likelihood ratios is a supermartingale of mean
    at most 1, and so is the product over two independent items. By Ville's inequality it ever exceeds
    :math:`M / \delta` with a chance of at most :math:`\delta / M`. If B is not the best basis, some e of B can be
    exchanged for a better f of the best basis, and what is tested is at most the product at the true means.

    There is no rule with :math:`\log(1/\delta)`: it is wrong in more than a share `delta` of the cases.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.GaussianEnvironment([1.0, 0.0, 0.0]))
    >>> rule = mb.StoppingRule(delta=0.1, deviation=1.0)
    >>> result = mb.simulate(problem, [mb.SoftMinimum(1.0)], n_episodes=10_000, n_runs=20, seed=0, until=rule)
    >>> int(result.endings.is_sure.sum()), int(result.endings.is_wrong.sum())
    (20, 0)
    """

    delta: float | None = 0.05
    weights: Literal["unit"] | None = None
    deviation: float | None = None
    tolerance: float = 0.0
    independent: bool = True
    threshold: Threshold = "proven"

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", as_delta(self.delta))
        if self.weights not in (None, "unit"):
            raise StoppingError(f'expected weights to be "unit", for weights in [0, 1]; got {shown(self.weights)}')
        if (self.weights is None) == (self.deviation is None):
            given = "neither" if self.weights is None else "both"
            raise StoppingError(f'expected the law of the weights, weights="unit" or deviation=...; got {given}')
        if self.deviation is not None:
            deviation = as_number("deviation", self.deviation, 0.0, MOST_WEIGHT, error=StoppingError)
            if deviation == 0.0:
                raise StoppingError("expected deviation to be above 0, got 0")
            object.__setattr__(self, "deviation", deviation)
        tolerance = as_number("tolerance", self.tolerance, 0.0, MOST_WEIGHT, error=StoppingError)
        if self.weights == "unit" and tolerance >= 1.0:
            raise StoppingError(f"expected tolerance to be below 1 for weights in [0, 1], got {tolerance:g}")
        object.__setattr__(self, "tolerance", tolerance)
        object.__setattr__(self, "independent", as_flag("independent", self.independent, error=StoppingError))
        if self.threshold not in ("proven", "unproven", "CLUCB"):
            raise StoppingError(
                f'expected threshold to be "proven", "unproven" or "CLUCB", got {shown(self.threshold)}'
            )
        if self.threshold == "unproven" and not self.independent:
            raise StoppingError("expected independent weights for the unproven threshold, got independent=False")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form: the arguments that are not None.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.StoppingRule(delta=0.1, weights="unit").to_dict()["weights"]
        'unit'
        """
        return {name: value for name, value in vars(self).items() if value is not None or name == "delta"}


def as_delta(value: Any) -> float:
    """Return `value` as a probability of error, checked to be above 0 and below 1.

    Examples
    --------
    >>> from matroid_bandits.identification import as_delta
    >>> as_delta(0.1)
    0.1
    """
    delta = as_number("delta", value, 0.0, 1.0, error=StoppingError)
    if not 0.0 < delta < 1.0:
        raise StoppingError(f"expected delta to be above 0 and below 1, got {delta:g}")
    return delta


class Watch:
    """Stopping rule bound to one matroid: tests counts and sums of gains, a row per run.

    Parameters
    ----------
    rule : StoppingRule
        When to stop.
    constraint : Constraint
        The constraint, usually a matroid.
    minimize : bool, default False
        Gains are negated weights.
    factor : float, default 1.0
        `delta` is divided by this, for a catalogue that spends a share of it alone.
    n_known : int, default 0
        How many items there have been in all, where some have come or gone: then every pair of them counts.

    Raises
    ------
    StoppingError
        The constraint is no matroid.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.identification import Watch
    >>> watch = Watch(mb.StoppingRule(deviation=1.0), mb.UniformMatroid(2, 1))
    >>> watch.look(np.array([[200, 200], [2, 2]]), np.array([[100.0, 0.0], [1.0, 0.0]]), t=400)[1]
    array([ True, False])
    """

    def __init__(
        self,
        rule: StoppingRule,
        constraint: Constraint,
        minimize: bool = False,
        *,
        factor: float = 1.0,
        n_known: int = 0,
    ) -> None:
        if not isinstance(constraint, Matroid):
            raise StoppingError(
                "expected a matroid, where a set is best if no single exchange improves it; how sure one can be of "
                f"the best set under {constraint!r} is not known"
            )
        self.rule, self.matroid, self.minimize, self.factor = rule, constraint, minimize, factor
        self.exchanges = Exchanges(constraint)
        n = constraint.n_items
        if rule.tolerance > 0.0 or n_known:
            n_known = max(n, n_known)
            self.n_pairs = n_known * (n_known - 1) // 2
        else:
            self.n_pairs = constraint.most_exchanges()
        self.n_known = max(n, n_known)
        is_ratio = rule.independent and rule.threshold != "CLUCB"
        self.law = exchange.UNIT if rule.weights == "unit" and is_ratio else exchange.GAUSSIAN
        self.deviation = 0.5 if rule.deviation is None else rule.deviation
        self.test = {"proven": exchange.MIXTURE, "unproven": exchange.RATIO, "CLUCB": exchange.CLUCB}[rule.threshold]
        if not rule.independent and rule.threshold == "proven":
            self.test = exchange.INTERVAL

    @property
    def is_level_log(self) -> bool:
        """Whether each test compares a statistic with a level, so that the least delta has a closed form."""
        return self.test in (exchange.MIXTURE, exchange.RATIO)

    def look(self, counts: IntArray, sums: FloatArray, t: int) -> tuple[IntArray, BoolArray]:
        """Return the basis (R, K) of largest means of each run, and whether the rule stops there, after t rounds.

        `counts` (R, L) are answered plays, `sums` (R, L) their gains.
        """
        n, means = self.evidence(counts, sums)
        bases = self.bases(n, means)
        is_sure: BoolArray = np.zeros(n.shape[0], bool)
        if self.rule.delta is None:
            return bases, is_sure
        levels = self.levels(self.rule.delta, n, t)
        places = self.exchanges.of(bases)
        exchange.all_pass(
            n, means, *places, self.law, self.test, self.deviation, RHO, self.rule.tolerance, levels, is_sure
        )
        return bases, is_sure

    def evidence(self, counts: IntArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the counts and mean gains as used in the tests: gains of the law "unit" are in [0, 1]."""
        n = counts.astype(np.float64)
        means = np.divide(sums, n, out=np.zeros(n.shape), where=n > 0.0)
        if self.rule.weights == "unit":
            means = np.clip(means + 1.0 if self.minimize else means, 0.0, 1.0)
        return n, means

    def bases(self, n: FloatArray, means: FloatArray) -> IntArray:
        """Return the bases of largest means; items without feedback come last."""
        return self.matroid.best_sets(np.where(n > 0.0, means, -np.inf))[0]

    def levels(self, delta: float, n: FloatArray, t: int) -> FloatArray:
        """Return the thresholds of the tests of each run at some delta, without the part that depends on the
        exchange."""
        delta = delta / self.factor
        if self.test == exchange.MIXTURE:
            return np.full(n.shape[0], math.log(max(self.n_pairs, 1) / delta))
        if self.test == exchange.RATIO:
            return np.full(n.shape[0], math.log((1.0 + math.log(max(t, 1))) / delta))
        if self.test == exchange.INTERVAL:
            return np.full(n.shape[0], math.log(self.n_known / delta))
        plays = np.maximum(n.sum(axis=1), 1.0)
        levels: FloatArray = np.log(4.0 * self.n_known / delta) + 3.0 * np.log(plays)
        return levels
