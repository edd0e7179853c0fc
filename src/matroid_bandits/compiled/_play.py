"""Slices of runs in compiled episodes on the CPU: few runs at a time, and a call of a kernel about every 0.1 s."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray
from matroid_bandits.compiled import _ready
from matroid_bandits.compiled._families import Family, family_of
from matroid_bandits.compiled._forms import Misfit, World, optimum_of
from matroid_bandits.compiled._slices import Part, Settings, Slice, Stopped, check_totals
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms as codes

#: Seconds that a call of a kernel takes, about: what Ctrl-C and progress wait for.
_CALL_S = 0.1

#: The most items times runs whose state is kept at a time.
_MOST_CELLS = 2**22


def play(slice: Slice, settings: Settings, tick: Callable[[int], bool]) -> Part:
    """Play one policy in some runs, whole episodes in compiled code; what comes of it is what an `Agent` makes of it.

    `tick` is called with the episodes played since the last call, and says whether to stop.

    Raises
    ------
    Misfit
        Something has no compiled form.
    Stopped
        `tick` said so.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.compiled import Settings, Slice, play
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.2, 0.5, 0.8]))
    >>> settings = Settings(problem, 4, 2, seed=1, start="observe", checkpoints=np.array([4]))
    >>> part = play(Slice("OMM", mb.OMM(), 0, 2), settings, lambda n: False)  # doctest: +SKIP
    """
    forms, n_episodes, points = settings.forms, settings.n_episodes, settings.checkpoints
    forms.check(slice.policy, n_episodes)
    family, n_items = family_of(forms), settings.problem.n_items
    returns, regret = np.empty((2, slice.n_runs, points.size))
    choices = np.zeros((slice.n_runs, n_items) if settings.by_run else n_items, np.int64)
    n_before = 1 if settings.start == "observe" else 0
    pace = _Pace()
    first = slice.first
    while first < slice.last:
        size = min(slice.last - first, max(1, _MOST_CELLS // n_items), pace.n_runs(n_episodes))
        group = _Group(family, slice, settings, first, first + size)
        while group.t <= n_episodes:
            n_played = group.advance(pace)
            if tick(n_played):
                raise Stopped
        rows = np.s_[first - slice.first : first - slice.first + size]
        returns[rows], regret[rows] = group.curves[:, 0], group.curves[:, 1]
        counts = group.counts - n_before
        if settings.by_run:
            choices[rows] = counts
        else:
            choices += counts.sum(axis=0)
        first += size
    for point, t in enumerate(points.tolist()):
        try:
            check_totals(settings.problem.environment, returns[:, point], t)
        except InvalidEnvironmentError as error:
            error.add_note(f"{slice}, episode {t}")
            raise
    if settings.by_run:  # in as few bytes as hold one for each episode
        choices = choices.astype(np.min_scalar_type(n_episodes))
    optimum = optimum_of(forms, points)
    if optimum is not None:
        optimum = np.tile(optimum, (slice.n_runs, 1))
    surplus = np.zeros(slice.n_runs)
    return Part(slice.first, slice.last, returns, regret, choices, surplus, optimum, engine="compiled")


class _Pace:
    """How many episodes a call of a kernel should play, by the time that the last took."""

    def __init__(self) -> None:
        self._n, self._is_known = 16.0, False

    def n_runs(self, n_episodes: int) -> int:
        """How many runs to play at a time: one at first, then as many as a call plays to the end."""
        return max(1, int(self._n / n_episodes)) if self._is_known else 1

    def n_episodes(self, n_runs: int) -> int:
        """How many episodes of so many runs a call should play."""
        return max(1, int(self._n / n_runs))

    def learn(self, n: int, seconds: float) -> None:
        """Take note that a call played n episodes in all in so many seconds."""
        if self._is_known or n >= 16:  # the first call may have waited for the compiler
            self._n = min(max(1.0, n * _CALL_S / max(seconds, 1e-9)), 8.0 * max(n, 16))
        self._is_known = True


class _Group:
    """Some runs that are played together; `t` is their next episode."""

    def __init__(self, family: Family, slice: Slice, settings: Settings, first: int, last: int) -> None:
        self._kernel, self._settings, self._first = family.kernel, settings, first
        self._family = family.arguments
        self._schedule = settings.forms.schedule(slice.policy)
        n_runs, n_items = last - first, settings.problem.n_items
        self._n_runs, self.t = n_runs, 1
        form = self._schedule.form
        shape = (n_runs, n_items)
        self.counts: IntArray = np.empty(shape, np.int64)
        successes = np.empty(shape if form.kind == codes.BETA else (n_runs, 1))
        self._state = (np.empty(shape), self.counts, np.empty(shape), np.empty(shape), successes)
        self._room: tuple[AnyArray, ...] = ()
        if family.kernel == "play_orders":
            self._room = (np.empty((n_runs, family.n_classes), np.int64),)
        self._totals = np.zeros((n_runs, 2))
        self.curves = np.empty((n_runs, 2, settings.checkpoints.size))
        self._policy = (form.kind, form.number)

    def advance(self, pace: _Pace) -> int:
        """Play the next episodes, up to where the world changes at most; returns how many, over all runs."""
        settings, t = self._settings, self.t
        world, end = settings.forms.world_at(t)
        n = int(min(pace.n_episodes(self._n_runs), end - t, settings.n_episodes + 1 - t))
        try:
            schedule = self._schedule.rows(t, n)
        except Exception as error:  # an `Agent` meets it in its episode
            raise Misfit(str(error)) from error
        began = time.perf_counter()
        self._call(world, t, n, schedule)
        pace.learn(n * self._n_runs, time.perf_counter() - began)
        self.t += n
        return n * self._n_runs

    def _call(self, world: World, t: int, n: int, schedule: AnyArray) -> None:
        settings, rows = self._settings, world.rows(t, n)
        minimize = settings.problem.minimize
        _ready.call(
            self._kernel,
            self._family,
            self._policy,
            schedule,
            (world.kind, rows.values, rows.spread, world.n_rows, world.table, world.indptr, world.indices),
            (rows.means, rows.best, -1.0 if minimize else 1.0),
            (np.uint64(settings.seed), self._first, t, t == 1, settings.start == "observe", minimize),
            settings.checkpoints,
            self._state,
            *self._room,
            self._totals,
            self.curves,
        )
