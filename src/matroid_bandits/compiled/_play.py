"""Slices of runs in compiled episodes on the CPU: few runs at a time, and a call of a kernel about every 0.1 s."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray
from matroid_bandits._util.threads import n_threads
from matroid_bandits.compiled import _ready
from matroid_bandits.compiled._families import Family, check_cpu, kernel_of, room_of, uses_heaps, uses_trees
from matroid_bandits.compiled._forms import Misfit, Optimum, Rows, World, powers_of
from matroid_bandits.compiled._kernels import EVERY, QUOTAS, name_of
from matroid_bandits.compiled._slices import Part, Settings, Slice, Stopped, check_returns
from matroid_bandits.engines import CountClassesEngine
from matroid_bandits.kernels import discount, statistics
from matroid_bandits.kernels import forms as codes
from matroid_bandits.policies import Policy

#: Seconds that a call of a kernel takes, about: what Ctrl-C and progress wait for.
_CALL_S = 0.1

#: The most items times runs whose state is kept at a time, by all threads together.
_MOST_CELLS = 2**22

#: The most items times episodes whose means are kept at a time, where they change by episode.
_MOST_ROWS = 2**18


def play(slice: Slice, settings: Settings, tick: Callable[[int], bool]) -> Part:
    """Play one policy in some runs, whole episodes in compiled code, with the same results as an `Agent`."""
    forms, n_episodes, points = settings.forms, settings.n_episodes, settings.checkpoints
    family, n_items = check_cpu(forms, slice.policy, n_episodes), settings.problem.n_items
    form, moves = forms.schedule(slice.policy).form, any(world.moves for world in forms.worlds)
    n_ring = min(form.window, n_episodes) + (forms.longest_delay(n_episodes) if forms.is_late else 0)
    n_cells = n_items + n_ring * settings.problem.rank
    if uses_heaps(forms, slice.policy):
        n_cells *= 2
    returns, regret = np.empty((2, slice.n_runs, points.size))
    choices = np.zeros((slice.n_runs, n_items) if settings.by_run else n_items, np.int64)
    n_before = 1 if settings.start == "observe" else 0
    pace, optimum = _Pace(), np.empty(0)
    first = slice.first
    while first < slice.last:
        size = min(slice.last - first, max(1, _MOST_CELLS // n_threads() // n_cells))
        if not moves:  # else what changes by episode is made once for as many runs as possible
            size = min(size, pace.n_runs(n_episodes))
        group = _Group(family, slice, settings, first, first + size)
        while group.t <= n_episodes:
            n_played = group.advance(pace)
            if tick(n_played):
                raise Stopped
        rows = np.s_[first - slice.first : first - slice.first + size]
        returns[rows], regret[rows] = group.curves[:, 0], group.curves[:, 1]
        counts = group.asked - n_before
        if settings.by_run:
            choices[rows] = counts
        else:
            choices += counts.sum(axis=0)
        first += size
        optimum = group.optimum.values
    check_returns(slice, settings, returns)
    if settings.by_run:  # in as few bytes as hold one for each episode
        choices = choices.astype(np.min_scalar_type(n_episodes))
    best = None if settings.problem.environment.is_stationary else np.tile(optimum, (slice.n_runs, 1))
    surplus = np.zeros(slice.n_runs)
    return Part(slice.first, slice.last, returns, regret, choices, surplus, best, engine="compiled")


class _Pace:
    """How many episodes a call of a kernel should play, by the time that the last took."""

    def __init__(self) -> None:
        self._n, self._is_known = 16.0, False

    def n_runs(self, n_episodes: int) -> int:
        """How many runs to play at a time: one at first, then as many as a call plays to the end."""
        return max(1, int(self._n / n_episodes)) if self._is_known else 1

    def n_episodes(self, n_runs: int) -> int:
        """How many episodes of `n_runs` a call should play."""
        return max(1, int(self._n / n_runs))

    def learn(self, n: int, seconds: float) -> None:
        """Record that a call played n episodes in all in `seconds`."""
        if self._is_known or n >= 16:  # the first call may have waited for the compiler
            self._n = min(max(1.0, n * _CALL_S / max(seconds, 1e-9)), 8.0 * max(n, 16))
        self._is_known = True


class _Group:
    """Some runs that are played together; `t` is their next episode, `optimum` what best sets were worth by then."""

    def __init__(self, family: Family, slice: Slice, settings: Settings, first: int, last: int) -> None:
        self._kernel, self._settings, self._first = kernel_of(settings.forms, slice.policy), settings, first
        self._is_any = self._kernel == name_of(family.name, EVERY)
        self._family = family.arguments
        self._schedule = settings.forms.schedule(slice.policy)
        n_runs, n_items = last - first, settings.problem.n_items
        self._n_runs, self.t = n_runs, 1
        form, shape = self._schedule.form, (n_runs, n_items)
        n_extra = 2 if form.kind in (codes.BETA, codes.FADING, codes.WINDOW) else 0
        n_whole = 4 if form.kind in (codes.WINDOW, codes.FADING, codes.DISCOUNTED) else 0
        n_rows = min(form.window, settings.n_episodes + 1)
        ring = (n_runs, n_rows, settings.problem.rank) if form.kind == codes.WINDOW else (n_runs, 1, 1)
        self._state: tuple[AnyArray, ...] = (
            np.empty(shape),
            np.empty(shape, np.int64),
            np.empty(shape),
            np.empty(shape),
            np.empty((n_runs, n_extra, n_items)),
            np.empty(shape if settings.forms.is_late else (n_runs, 1), np.int64),
            np.empty((n_runs, n_whole, n_items), np.int64),
            np.empty((n_runs, n_items if form.kind == codes.DISCOUNTED else 1, discount.WIDTH)),
            np.empty(ring, np.int64),
            np.empty(ring),
        )
        self._queues = _queues(settings, n_runs)
        self._kept, self._room = self._kept_by(family, slice.policy), room_of(family)
        self._totals = np.zeros((n_runs, 2))
        self.curves = np.empty((n_runs, 2, settings.checkpoints.size))
        self.optimum = Optimum(settings.checkpoints)
        number = float(settings.problem.minimize) if form.kind in codes.UNIT else form.number  # of gains in [-1, 0]
        powers = powers_of(settings.forms, slice.policy, settings.n_episodes)
        self._policy: tuple[Any, ...] = (form.kind, number, form.window, powers)

    @property
    def asked(self) -> IntArray:
        """How often each item was asked for, answered or not, (n, L)."""
        counts, waiting = self._state[1], self._state[5]
        return counts + waiting if self._settings.forms.is_late else counts

    def advance(self, pace: _Pace) -> int:
        """Play the next episodes, up to where the world changes at most; returns how many, over all runs."""
        settings, t = self._settings, self.t
        world, end = settings.forms.world_at(t)
        n = int(min(pace.n_episodes(self._n_runs), end - t, settings.n_episodes + 1 - t))
        if world.moves:
            n = min(n, max(1, _MOST_ROWS // settings.problem.n_items))
        try:
            schedule = self._schedule.rows(t, n)
            is_faded = settings.forms.is_late and self._policy[0] == codes.DISCOUNTED
            past = self._schedule.rows(1, t + n - 1) if is_faded else schedule
        except Exception as error:  # an `Agent` meets it in its episode
            raise Misfit(str(error)) from error
        began = time.perf_counter()
        rows = world.rows(t, n)
        self._call(world, rows, t, schedule, past)
        pace.learn(n * self._n_runs, time.perf_counter() - began)
        self.optimum.add(rows.best, t, n)
        self.t += n
        return n * self._n_runs

    def _call(self, world: World, rows: Rows, t: int, schedule: AnyArray, past: AnyArray) -> None:
        settings = self._settings
        minimize = settings.problem.minimize
        point = int(np.searchsorted(settings.checkpoints, t))
        seen = world.rows(0, 1) if t == 1 and world.moves else rows  # what is seen before the first episode
        policy, state = self._policy, self._state
        rest: tuple[Any, ...] = ()
        more: tuple[Any, ...] | None = None
        if self._is_any:
            rest = (world.n_rows, world.table, world.indptr, world.indices)
            more = (settings.forms.is_late, settings.n_episodes, past, world.delays.arrays, *self._queues)
        else:
            policy, state = policy[:2], state[:6]
        failed = _ready.call(
            self._kernel,
            self._family,
            policy,
            schedule,
            (world.kind, rows.values, rows.spread, *rest),
            (world.kind, seen.values, seen.spread, *rest),
            (rows.means, rows.best, -1.0 if minimize else 1.0),
            (np.uint64(settings.seed), self._first, t, point, t == 1, settings.start == "observe", minimize),
            settings.checkpoints,
            state,
            self._kept,
            more,
            self._room,
            self._totals,
            self.curves,
        )
        if failed >= 0:
            raise Misfit(f"run {self._first + failed} found less than a basis")

    def _kept_by(self, family: Family, policy: Policy) -> Any:
        """What a kernel keeps from one call to the next, besides the state."""
        n_runs, n_items = self._n_runs, self._settings.problem.n_items
        if family.name != QUOTAS:
            return np.empty((n_runs, family.n_classes), np.int64)
        starts, *_, tree_starts, reserve_starts = family.arguments
        marks = np.empty((n_runs, starts.size - 1, 3))
        if not self._is_any:
            return (marks,)
        n_trees = n_runs if uses_trees(self._settings.forms, policy) else 0
        has_heaps = uses_heaps(self._settings.forms, policy)
        n, n_cells = (n_items, starts.size - 1) if has_heaps else (0, 0)
        return (
            marks,
            np.empty((n_runs, 6)),
            np.empty((n_trees, n_items), bool),
            np.empty((n_trees, int(tree_starts[-1]), 4)),
            np.empty((n_trees, int(reserve_starts[-1])), np.int64),
            CountClassesEngine.heaps(n_runs, n, n_cells),
            float(CountClassesEngine.items_per_look(policy)) if has_heaps else 0.0,
        )


def _queues(settings: Settings, n_runs: int) -> tuple[Any, ...]:
    """What `_late.py` calls the queues of runs, with places for as many answers as may wait at a time; and room."""
    rank = settings.problem.rank
    n_due = settings.forms.longest_delay(settings.n_episodes) + 1 if settings.forms.is_late else 1
    n_places = n_due * rank if settings.forms.is_late else 1
    queues = (
        np.empty((n_runs, statistics.N_PARTIALS + 2)),
        np.empty((n_runs, n_due, 2), np.int64),
        np.empty((n_runs, n_places, 3), np.int64),
        np.empty((n_runs, n_places)),
        np.empty((n_runs, 2), np.int64),
    )
    return queues, np.empty(rank, np.int64), np.empty(rank), np.array([0.0, 1.0, 0.0])
