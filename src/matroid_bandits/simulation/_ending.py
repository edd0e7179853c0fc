"""Runs that end when a stopping rule is sure, each in an episode of its own."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.compiled import Settings
from matroid_bandits.exceptions import StoppingError
from matroid_bandits.identification import Endings, StoppingRule, Watch
from matroid_bandits.policies import Policy, State
from matroid_bandits.problem import Problem


def check_until(until: StoppingRule | None, problem: Problem, policy: Policy) -> None:
    """Raise `StoppingError` unless a policy's runs can end by a rule on a problem."""
    if until is None:
        return
    if not isinstance(until, StoppingRule):
        raise StoppingError(f"expected until to be a StoppingRule, got {until!r}")
    Watch(until, problem.constraint, problem.minimize)
    environment = problem.environment
    if not environment.is_stationary:
        raise StoppingError(f"expected means that stay, so that a set is the best one for good; got {environment!r}")
    if environment.lists is not None:
        raise StoppingError(
            f"expected every chosen weight to be seen, which the rule goes by; got the lists of {environment!r}"
        )
    low, high = environment.support
    if until.weights == "unit" and not (low >= 0.0 and high <= 1.0):
        raise StoppingError(
            f"expected weights in [0, 1], as the rule says; this environment's lie in [{low:g}, {high:g}]"
        )
    check_forgets(policy)


def check_forgets(policy: Policy) -> None:
    """Raise `StoppingError` for a policy that forgets."""
    if policy.forgets:
        raise StoppingError(
            f"expected a policy that counts all it has seen, since a best set is one for good; {policy!r} forgets"
        )


class Ending:
    """Looks at the runs of a game after every episode, and keeps what those have found that end."""

    def __init__(self, settings: Settings, n_runs: int) -> None:
        problem = settings.problem
        assert settings.until is not None
        self._watch = Watch(settings.until, problem.constraint, problem.minimize)
        self._problem, self._n_episodes = problem, settings.n_episodes
        self.rows, self.goes_on = np.arange(n_runs), np.ones(n_runs, bool)
        shape = n_runs, problem.n_items
        self.asked, self.surplus = np.zeros(shape, np.int64), np.zeros(n_runs)
        self.endings = Endings(
            np.full(n_runs, settings.n_episodes),
            np.zeros(n_runs, bool),
            np.zeros(n_runs, bool),
            np.zeros((n_runs, problem.rank), np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape),
        )

    def look(self, state: State, surplus: FloatArray, t: int) -> IntArray:
        """The places, among the runs that are played, of those that end in this episode."""
        bases, is_sure = self._watch.look(state.counts, state.sums, t)
        is_over = self.goes_on if t == self._n_episodes else is_sure & self.goes_on
        ended = np.flatnonzero(is_over)
        if not ended.size:
            return ended
        at, found = self.rows[ended], self.endings
        found.rounds[at], found.is_sure[at], found.bases[at] = t, is_sure[ended], bases[ended]
        found.counts[at], found.sums[at] = state.counts[ended], state.sums[ended]
        found.is_wrong[at] = self._wrong(bases[ended])
        self.asked[at], self.surplus[at] = state.asked[ended], surplus[ended]
        self.goes_on = self.goes_on & ~is_over
        return ended

    def _wrong(self, bases: IntArray) -> IntArray:
        """Whether sets are worse than the best one; equal means may be exchanged."""
        gains, best = self._problem.gains, self._problem.optimal_basis
        allowed = self._watch.rule.tolerance * best.size + 1e-12 * np.abs(gains[best]).sum()
        wrong: IntArray = gains[bases].sum(axis=1) < gains[best].sum() - allowed
        return wrong

    @property
    def is_thin(self) -> bool:
        """Whether half of the runs that are played have ended, so that the others are better played alone."""
        return 2 * int(self.goes_on.sum()) <= self.rows.size

    def thin(self) -> IntArray:
        """Go on with the runs that have not ended; their places among those that were played."""
        kept = np.flatnonzero(self.goes_on)
        self.rows, self.goes_on = self.rows[kept], np.ones(kept.size, bool)
        return kept
