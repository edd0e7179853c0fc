"""How many rounds any method needs to find a best basis: the lower bound, by the Frank-Wolfe method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.environments import BernoulliEnvironment, Environment, GaussianEnvironment
from matroid_bandits.exceptions import StoppingError
from matroid_bandits.identification._rule import as_delta
from matroid_bandits.kernels import exchange
from matroid_bandits.matroids import Matroid
from matroid_bandits.problem import Problem


@dataclass(frozen=True, eq=False)
class RoundsBound:
    r"""Lower bound on the expected number of rounds of any method with probability of error at most delta.

    Attributes
    ----------
    rounds : float
        :math:`\mathrm{kl}(\delta, 1 - \delta) \, T^*`; infinite where another basis is as good.
    time : float
        :math:`T^*`: what is certain, within a percent of the largest value known.
    shares : float64 array (L,)
        In which share of the rounds a method that reaches it plays each item.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([1.0, 0.0]))
    >>> bound = mb.rounds_bound(problem, delta=0.1)
    >>> round(bound.time, 1), bound.shares.round(2)
    (8.0, array([0.5, 0.5]))
    """

    rounds: float
    time: float
    shares: FloatArray


def rounds_bound(problem: Problem, delta: float = 0.05, *, n_steps: int = 5_000) -> RoundsBound:
    r"""Compute the lower bound on the expected rounds to identify the best basis with probability of error at most
    delta.

    :math:`1 / T^*` is the largest value, over mixtures of bases to play, of the least likelihood ratio of an exchange
    per round (Garivier and Kaufmann 2016, for bases).

    Parameters
    ----------
    problem : Problem
        A matroid, and normal weights of one deviation or Bernoulli weights.
    delta : float, default 0.05
        The chance of an error.
    n_steps : int, default 5000
        Of the method; it ends sooner where its gap is below a percent.

    Raises
    ------
    StoppingError
        The constraint is no matroid, or the bound is not known for the weights.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.8, 0.5, 0.5]))
    >>> bool(10 < mb.rounds_bound(problem, delta=0.05).rounds < 100)
    True
    """
    delta = as_delta(delta)
    matroid = problem.constraint
    if not isinstance(matroid, Matroid):
        raise StoppingError(f"expected a matroid, got {matroid!r}")
    if not problem.environment.is_stationary:
        raise StoppingError(f"expected means that stay, got {problem.environment!r}")
    law = _law(problem.environment)
    if law is None:
        raise StoppingError(
            "expected Bernoulli weights, or normal ones that all have one deviation, for which the bound is known; "
            f"got {problem.environment!r}"
        )
    means = np.array(problem.gains)
    if law[0] == exchange.UNIT and problem.minimize:
        means += 1.0
    basis = problem.optimal_basis
    leaves, enters = matroid.exchanges(basis)
    n_items = problem.n_items
    if not leaves.size:
        return RoundsBound(0.0, 0.0, np.zeros(n_items))
    if (means[leaves] <= means[enters]).any():
        return RoundsBound(math.inf, math.inf, np.zeros(n_items))
    shares, most = _allocation(matroid, means, leaves, enters, law, n_steps)
    kl = delta * math.log(delta / (1.0 - delta)) + (1.0 - delta) * math.log((1.0 - delta) / delta)
    return RoundsBound(max(kl, 0.0) / most, 1.0 / most, shares)


def _allocation(
    matroid: Matroid, means: FloatArray, leaves: IntArray, enters: IntArray, law: tuple[int, float], n_steps: int
) -> tuple[FloatArray, float]:
    """Shares of the plays, and the least exchange that no shares exceed."""
    n_items = means.size
    # every item that can be chosen is played at first, as mixtures of greedy bases around it allow
    shares = np.zeros(n_items)
    open_items = np.flatnonzero(~matroid.span(np.empty(0, np.int64)))
    for e in open_items.tolist():
        U = np.zeros((1, n_items))
        U[0, e] = 1.0
        shares[matroid.best_sets(U - shares / (shares.max() + 1.0) / 2.0)[0][0]] += 1.0 / open_items.size
    best, least, most = shares.copy(), 0.0, math.inf
    gradient = np.empty(n_items)
    for t in range(n_steps):
        value = exchange.allocation_step(shares, means, leaves, enters, *law, 2.0 + 0.2 * math.sqrt(t), gradient)
        if value > least:
            least, best = value, shares.copy()
        chosen = matroid.best_sets(gradient[None])[0][0]
        most = min(most, float(gradient[chosen].sum()))
        if most <= 1.01 * least:
            break
        step = 1.0 / (t + 2.0) if t > 50 else 0.02
        shares *= 1.0 - step
        shares[chosen] += step
    return best, most


@singledispatch
def _law(environment: Environment) -> tuple[int, float] | None:
    """The law of an environment whose lower bound is known, and its deviation."""
    return None


@_law.register
def _(environment: BernoulliEnvironment) -> tuple[int, float] | None:
    return exchange.UNIT, 1.0


@_law.register
def _(environment: GaussianEnvironment) -> tuple[int, float] | None:
    noise = environment.parameters(environment.mean_weights)[1]
    is_one = noise.size and noise[0] > 0.0 and (noise == noise[0]).all()
    return (exchange.GAUSSIAN, float(noise[0])) if is_one else None
