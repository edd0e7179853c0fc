"""Returns and regret of a batch of runs, against the best set of each episode."""

from __future__ import annotations

import copy
from functools import cached_property
from itertools import pairwise

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.agent import Play
from matroid_bandits.environments import means_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import statistics
from matroid_bandits.problem import Problem
from matroid_bandits.stream import FEATURES, Stream

#: Episodes, and items times episodes, whose best sets are found together where all runs have the same means.
_MOST_AHEAD, _MOST_AHEAD_CELLS = 64, 2**17


def make_score(problem: Problem, stream: Stream, n_episodes: int) -> Score:
    """The score of a batch of runs that are about to begin."""
    if problem.no_regret:
        return _UnknownScore(problem, stream.n_runs)
    if problem.environment.is_stationary:
        return Score(problem, stream.n_runs)
    context = stream.with_purpose(FEATURES)
    if means_of(problem.environment, 1, context) is None:
        return _UnknownScore(problem, stream.n_runs)
    return _MovingScore(problem, context, n_episodes)


class Score:
    """Returns and regret so far, where means stay: what is best is known before the first episode.

    What best sets are expected to be worth is added up as sets played are, so playing them has regret 0.

    Attributes
    ----------
    returns, regret : float64 arrays (R,)
        The total weight of each run, and what its sets were expected to lose to the best ones.
    surplus : float64 array (R,)
        How much more the best available sets were worth than the best set of all items.
    optimum : float64 array (R,), or None
        What the best sets were worth in all, where they change from episode to episode because means do.
    """

    optimum: FloatArray | None = None

    def __init__(self, problem: Problem, n_runs: int) -> None:
        self._problem, self._sign = problem, -1.0 if problem.minimize else 1.0
        self.returns, self.regret, self.surplus = np.zeros(n_runs), np.zeros(n_runs), np.zeros(n_runs)
        self._prepare(n_runs)

    def _prepare(self, n_runs: int) -> None:
        self._means = self._problem.environment.mean_weights
        best = np.array([self._problem.optimal_value])
        if self._problem.adds_up:  # in the order in which sets played are
            basis = self._problem.optimal_basis[None]
            statistics.total_means(basis, np.array([basis.size]), self._means, best)
        self._best = np.repeat(best, n_runs)

    def rows(self, rows: IntArray) -> Score:
        """A copy of the score of some runs, where means stay."""
        part = copy.copy(self)
        part.returns, part.regret = self.returns[rows], self.regret[rows]
        part.surplus = self.surplus[rows]
        part._best = self._best[rows]
        for name in ("_rows", "_offsets"):
            vars(part).pop(name, None)
        return part

    def add(self, play: Play, weights: FloatArray, available: BoolArray | None) -> None:
        """Count one episode: the sets played, the weight observed of each of their items, and what was available."""
        self._count(play, weights, self._means, self._best if available is None else self._best_of(available))

    def _count(self, play: Play, weights: FloatArray, means: FloatArray, best: FloatArray) -> None:
        """Count one episode for means (L,) or (R, L), where the best sets are worth `best` (R,)."""
        offsets = None if means.ndim == 1 else self._offsets
        if self._problem.adds_up:
            items = play.items if offsets is None else play.items + offsets
            statistics.add_totals(
                items, play.sizes, weights, means.reshape(-1), best, self._sign, self.returns, self.regret
            )
            return
        assert play.places is not None
        places = play.in_rows(play.places, -1)
        items = np.where(places >= 0, play.items, 0)
        of_items = means.reshape(-1)[items if offsets is None else items + offsets]
        expected = self._problem.worths(play.items, play.sizes, places, of_items)
        lists, observed = self._problem.environment.lists, play.in_rows(weights, 0.0)
        self.returns += (
            self._problem.worths(play.items, play.sizes, places, observed)
            if lists is None
            else lists.earned(observed, places)
        )
        self.regret += self._sign * (best - expected)

    @cached_property
    def _offsets(self) -> IntArray:
        """Where each run's row begins in means (R, L)."""
        return np.arange(self.returns.size)[:, None] * self._problem.n_items

    def _best_of(self, available: BoolArray) -> FloatArray:
        """The worth (R,) of each run's best set of what is available in one episode."""
        best = self._problem.best_sets(self._rows, available)[2]
        self.surplus += best - self._best
        return best

    @cached_property
    def _rows(self) -> FloatArray:
        """The means, a row for each run."""
        return np.tile(self._means, (self._best.size, 1))


class _UnknownScore(Score):
    """Returns where means are not known, so that regret is NaN."""

    def _prepare(self, n_runs: int) -> None:
        self._means, self._best = np.zeros(self._problem.n_items), np.full(n_runs, np.nan)

    def _best_of(self, available: BoolArray) -> FloatArray:
        return self._best


class _MovingScore(Score):
    """Returns and dynamic regret, where means change: the best sets are found for each episode."""

    optimum: FloatArray

    def __init__(self, problem: Problem, context: Stream, n_episodes: int) -> None:
        self._context, self._n_episodes = context, n_episodes
        super().__init__(problem, context.n_runs)

    def _prepare(self, n_runs: int) -> None:
        n_items = self._problem.n_items
        self.optimum = np.zeros(n_runs)
        self._n_ahead = min(_MOST_AHEAD, max(1, _MOST_AHEAD_CELLS // max(1, n_items)))
        self._ahead: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._last = (np.empty(0), np.empty(0))  # the means solved last, and what their best sets are worth
        self._best = np.empty(n_runs)

    def add(self, play: Play, weights: FloatArray, available: BoolArray | None) -> None:
        t = play.request.episode
        if available is None:
            if t not in self._ahead:
                self._look_ahead(t)
            means, best = self._ahead[t]
        else:
            means = self._ahead[t][0] if t in self._ahead else self._ask(t)
            rows = np.ascontiguousarray(np.broadcast_to(means, available.shape))
            best = self._problem.best_sets(rows, available)[2]
        self._count(play, weights, means, best)
        self.optimum += best

    def _ask(self, t: int) -> FloatArray:
        """The means of an episode, (L,) or (R, L)."""
        means = means_of(self._problem.environment, t, self._context)
        if means is None:
            raise InvalidEnvironmentError(
                f"{self._problem.environment!r}: expected means in every episode or in none; got none in episode {t}"
            )
        if means.flags.writeable:
            return means.copy()  # the environment may write to it later
        return np.ascontiguousarray(means)

    def _look_ahead(self, t: int) -> None:
        """Find the best sets of episode t, and of those after it, as long as all runs have the same means.

        Means that are handed out again, read-only, as a piecewise environment does, are not solved again.
        """
        asked = {t: self._ask(t)}
        for s in range(t + 1, min(t + self._n_ahead, self._n_episodes + 1)):
            if asked[s - 1].ndim == 2:
                break
            asked[s] = self._ask(s)
        if len(asked) > 1 and asked[max(asked)].ndim == 2:
            asked.popitem()  # a row per run is solved when its episode comes
        row = [self._last[0], *asked.values()]
        solved = iter(self._solve([means for before, means in pairwise(row) if means is not before]))
        self._ahead.clear()
        for s, means in asked.items():
            if means is not self._last[0]:
                self._last = next(solved)
            self._ahead[s] = self._last

    def _solve(self, fresh: list[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """Some means, each with the worth (R,) of the best sets for them."""
        if not fresh:
            return []
        if fresh[0].ndim == 2:
            return [(fresh[0], self._problem.best_sets(fresh[0])[2])]
        worth = self._problem.best_sets(np.stack(fresh))[2]
        return [(means, np.full(self.returns.size, best)) for means, best in zip(fresh, worth, strict=True)]
