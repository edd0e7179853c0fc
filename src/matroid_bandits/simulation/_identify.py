"""Find the best basis of a problem, with a stopping rule or with a fixed budget of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from matroid_bandits._typing import Label
from matroid_bandits._util.binomial import exact_interval
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import counted
from matroid_bandits.environments import GaussianEnvironment
from matroid_bandits.exceptions import StoppingError
from matroid_bandits.identification import (
    Confidence,
    Endings,
    RoundsBound,
    StoppingRule,
    Threshold,
    Watch,
    confidence,
    rounds_bound,
)
from matroid_bandits.policies import Policy, SoftMinimum
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._executors import ExecutorChoice
from matroid_bandits.simulation._progress import Progress
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.simulation._simulate import simulate


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Result of `identify`: the rounds and the final set of every run, and the errors.

    Attributes
    ----------
    problem : Problem
        The problem.
    policy : Policy
        The sampling policy.
    rule : StoppingRule
        The stopping rule; one that never stops for a fixed budget.
    result : SimulationResult
        All runs.
    bound : RoundsBound, or None
        The lower bound on the rounds of any method; None for a fixed budget, and where it is not known.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1, labels="abc"), mb.BernoulliEnvironment([0.9, 0.4, 0.1]))
    >>> found = mb.identify(problem, delta=0.1, seed=0)
    >>> found.basis(), found.confidence().closest.outside
    (('a',), 'b')
    """

    problem: Problem
    policy: Policy
    rule: StoppingRule
    result: SimulationResult
    bound: RoundsBound | None

    @property
    def endings(self) -> Endings:
        """The stopping time and the final set of each run."""
        assert self.result.endings is not None
        return self.result.endings[0]

    def basis(self, run: int = 0) -> tuple[Label, ...]:
        """Return the final set of a run, by label."""
        return tuple(self.problem.constraint.labels[e] for e in self.endings.bases[run].tolist())

    @property
    def n_errors(self) -> int:
        """Number of runs whose final set was wrong."""
        ended = self.endings
        return int((ended.is_wrong if self.rule.delta is None else ended.is_wrong & ended.is_sure).sum())

    def error_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Exact (Clopper-Pearson) confidence interval of the probability of an error."""
        return exact_interval(self.n_errors, self.endings.n_runs, level)

    def confidence(self, run: int = 0, *, delta: float | None = None, n_margins: int | None = 20) -> Confidence:
        """Return how certain the rule was of a run's final set, with the margins of its exchanges."""
        ended = self.endings
        watch = Watch(self.rule, self.problem.constraint, self.problem.minimize)
        at = delta if delta is not None else 0.05 if self.rule.delta is None else self.rule.delta
        return confidence(
            watch, ended.counts[run], ended.sums[run], int(ended.rounds[run]), delta=at, n_margins=n_margins
        )

    def summary(self) -> str:
        """Return the result as a few lines of text."""
        ended = self.endings
        low, high = self.error_interval()
        what = "a fixed budget" if self.rule.delta is None else f"delta {self.rule.delta:g}"
        lines = [f"{self.policy!r}, {what}, {counted(ended.n_runs, 'run')}"]
        if ended.n_runs > 1 and self.rule.delta is not None:
            quantiles = ", ".join(f"{q:.0f}" for q in ended.quantiles())
            lines.append(
                f"rounds {ended.mean_rounds:.1f} ± {ended.rounds_se:.1f} (5%, 50% and 95% quantiles {quantiles})"
            )
        else:
            lines.append(f"rounds {ended.mean_rounds:.0f}")
        if self.bound is not None:
            lines.append(f"no method needs fewer than {self.bound.rounds:.0f} on average")
        lines.append(f"errors {self.n_errors} of {ended.n_runs}: a chance of {low:.2%} to {high:.2%}")
        if self.rule.delta is not None and (n_unsure := ended.n_runs - int(ended.is_sure.sum())):
            lines.append(f"{counted(n_unsure, 'run')} not sure by the last round")
        basis = ", ".join(map(str, self.basis()))
        lines.append(f"first run: {basis}; {self.confidence()}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        ended = self.endings
        what = "budget" if self.rule.delta is None else f"delta {self.rule.delta:g}"
        return f"Identification({what}, {counted(ended.n_runs, 'run')}, {ended.mean_rounds:.1f} rounds)"


def identify(
    problem: Problem,
    delta: float | None = 0.05,
    *,
    policy: Policy | None = None,
    budget: int | None = None,
    weights: Literal["unit"] | None = None,
    deviation: float | None = None,
    tolerance: float = 0.0,
    independent: bool = True,
    threshold: Threshold = "proven",
    n_runs: int = 1,
    max_rounds: int = 1_000_000,
    seed: int | None = None,
    executor: ExecutorChoice = None,
    progress: bool | Progress = False,
) -> Identification:
    """Play until the best basis is known with probability of error at most delta, or for a fixed budget of rounds.

    Parameters
    ----------
    problem : Problem
        A problem with a matroid and stationary weights.
    delta : float, default 0.05
        Bound on the probability of error.
    policy : Policy, optional
        The sampling policy, which must not discount observations; by default `SoftMinimum`.
    budget : int, optional
        Play this fixed number of rounds, and return the basis of largest means; `delta` is ignored.
    weights, deviation : optional
        The assumption on the weights, see `StoppingRule`. By default that of the problem: "unit" if all weights are
        in [0, 1], or the deviation of normal weights.
    tolerance, independent, threshold
        As in `StoppingRule`.
    n_runs : int, default 1
        Number of independent runs.
    max_rounds : int, default 1000000
        Maximum number of rounds of a run.
    seed, executor, progress
        As in `simulate`. Every item is played before any is played twice.

    Raises
    ------
    StoppingError
        The constraint is not a matroid, means change, the policy discounts observations, or the assumption on the
        weights is neither given nor known.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), mb.GaussianEnvironment([2.0, 1.0, 0.0, 0.0]))
    >>> found = mb.identify(problem, delta=0.1, n_runs=50, seed=1)
    >>> found.n_errors, bool(found.endings.mean_rounds > found.bound.rounds)
    (0, True)
    >>> mb.identify(problem, budget=40, n_runs=50, seed=1).n_errors < 5
    True
    """
    if not isinstance(problem, Problem):
        raise StoppingError(f"expected a Problem, got {type(problem).__name__}")
    if weights is None and deviation is None:
        weights, deviation = _law_of(problem)
    rule = StoppingRule(
        delta=delta if budget is None else None,
        weights=weights,
        deviation=deviation,
        tolerance=tolerance,
        independent=independent,
        threshold=threshold,
    )
    last = as_integer("max_rounds" if budget is None else "budget", max_rounds if budget is None else budget, 1)
    player = SoftMinimum(deviation) if policy is None else policy
    result = simulate(
        problem,
        [player],
        n_episodes=last,
        n_runs=n_runs,
        seed=seed,
        start="explore",
        checkpoints=[last],
        executor=executor,
        progress=progress,
        until=rule,
    )
    return Identification(problem, player, rule, result, _bound(problem, rule))


def _law_of(problem: Problem) -> tuple[Literal["unit"] | None, float | None]:
    """The law of a problem's weights."""
    environment = problem.environment
    low, high = environment.support
    if low >= 0.0 and high <= 1.0:
        return "unit", None
    if isinstance(environment, GaussianEnvironment):
        noise = environment.parameters(environment.mean_weights)[1]
        if noise.size and float(np.max(noise)) > 0.0:
            return None, float(np.max(noise))
    raise StoppingError(
        f'expected the law of the weights, weights="unit" or deviation=..., which is not known of {environment!r}'
    )


def _bound(problem: Problem, rule: StoppingRule) -> RoundsBound | None:
    if rule.delta is None or rule.tolerance > 0.0:
        return None
    try:
        return rounds_bound(problem, rule.delta)
    except StoppingError:
        return None
