"""Runs on the GPU: which of them at a time, how many episodes a launch, and what comes back."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray
from matroid_bandits.compiled import Misfit, Optimum, Part, Schedule, Settings, Slice, World, check_returns, powers_of
from matroid_bandits.exceptions import DeviceError
from matroid_bandits.gpu import _codes
from matroid_bandits.gpu._cuda import PLAIN_BLOCK_BYTES, Device, find_device, is_simulated, load, widen
from matroid_bandits.gpu._fit import (
    Family,
    budget_of,
    bytes_per_run,
    cells_per_item,
    check_fit,
    check_room,
    is_general,
    rows_of,
)
from matroid_bandits.kernels.forms import BETA, DISCOUNTED, WINDOW

#: About the seconds that a launch takes: what a user waits for after Ctrl-C.
_LAUNCH_S = 0.15
#: Runs per multiprocessor from which on a GPU has enough to do.
_ENOUGH_RUNS = 64
#: The most items times episodes whose means are kept at a time, where they change by episode.
_MOST_ROWS = 2**18

#: Some runs of one policy, and the settings of their simulation.
Task: TypeAlias = tuple[Slice, Settings]


def play(tasks: Sequence[Task], tick: Callable[[int], object] = lambda n: None) -> Iterator[tuple[int, Part]]:
    """Play slices of simulations on the GPU, several at once if one does not fill it.

    Decisions and totals are those of the CPU, bit for bit.

    Parameters
    ----------
    tasks : sequence of (Slice, Settings)
        What to play, of one problem or of many; tasks of one problem share one `Settings`. With `by_run` fewer runs
        are played at a time, no more than fill the GPU, so that parts come soon.
    tick : callable, optional
        Called after every launch with the number of episodes that have been played since the last call.

    Yields
    ------
    (int, Part)
        The number of a task, and what was found on some of its runs, as soon as it is known. Most often these are all
        of its runs; where memory is short, or with `by_run`, there are several such intervals.

    Raises
    ------
    DeviceError
        There is no GPU that can be used, a task does not fit on it, or it lacks the memory: before anything is
        played.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> list(mb.gpu.play([]))  # on a machine without a GPU nothing but this
    []
    """
    if not tasks:
        return
    device = find_device()
    plans = [Plan.of(*task, device) for task in tasks]
    budget = budget_of(device)
    pending = [
        (number, first, min(first + plan.most_runs(budget), plan.slice.last))
        for number, plan in enumerate(plans)
        for first in range(plan.slice.first, plan.slice.last, plan.most_runs(budget))
    ][::-1]
    active: list[tuple[int, _Wave]] = []
    while pending or active:
        while pending and _has_room(active, plans[pending[-1][0]], pending[-1], budget, device):
            number, first, last = pending.pop()
            active.append((number, _Wave(plans[number], first, last)))
        _go_on([wave for _, wave in active], tick)
        done = [each for each in active if each[1].is_done]
        active = [each for each in active if not each[1].is_done]
        while done:  # nothing else refers to these: their memory is free when the next begin
            number, part = done[0][0], done.pop(0)[1].part()
            yield number, part


def _go_on(waves: list[_Wave], tick: Callable[[int], object]) -> None:
    """Play the next episodes of some runs."""
    for wave in waves:
        wave.launch()
    for wave in waves:
        tick(wave.wait())


def _has_room(
    active: list[tuple[int, _Wave]], plan: Plan, wanted: tuple[int, int, int], budget: int, device: Device
) -> bool:
    """Whether more runs may begin: always one batch, and others where they fit and there is too little to do."""
    if not active:
        return True
    n_runs, n_bytes = sum(wave.n_runs for _, wave in active), sum(wave.n_bytes for _, wave in active)
    return n_runs < _ENOUGH_RUNS * device.n_processors and (
        n_bytes + (wanted[2] - wanted[1]) * plan.bytes_per_run + plan.fixed_bytes <= budget
    )


@dataclass(frozen=True)
class Plan:
    """A task as numbers for a kernel, and how it is laid out on a device."""

    slice: Slice
    settings: Settings
    family: Family
    schedule: Schedule
    n_threads: int
    most_at_once: int

    @classmethod
    def of(cls, slice: Slice, settings: Settings, device: Device) -> Plan:
        """The plan of a task; `DeviceError` where it does not fit."""
        most_at_once = _ENOUGH_RUNS * device.n_processors if settings.by_run else 2**31 - 1
        try:
            family = check_fit(settings.forms, slice.policy, settings.n_episodes)
            plan = cls(slice, settings, family, settings.forms.schedule(slice.policy), 0, most_at_once)
            more = plan.fixed_bytes + 16 * settings.checkpoints.size
            form, n_episodes = plan.schedule.form, settings.n_episodes
            n_threads = check_room(family, settings.problem, form, n_episodes, device, more)
        except Misfit as misfit:
            raise DeviceError(f"this simulation does not fit on a GPU: {misfit}") from None
        return replace(plan, n_threads=n_threads)

    @cached_property
    def bytes_per_run(self) -> int:
        """The memory that each run takes."""
        settings = self.settings
        return bytes_per_run(settings.problem, self.schedule.form, settings.n_episodes, settings.checkpoints.size)

    @cached_property
    def fixed_bytes(self) -> int:
        """The memory that all runs share."""
        worlds = self.settings.forms.worlds
        sizes = [sum(each.nbytes for each in world.arrays) for world in worlds]
        if any(world.moves for world in worlds):
            sizes.append(3 * 8 * max(_MOST_ROWS, self.settings.problem.n_items))
        arrays = [self.powers, *(each for each in self.family.arguments if isinstance(each, np.ndarray))]
        # of two worlds while one takes the other's place
        return sum(sorted(sizes)[-2:]) + sum(each.nbytes for each in arrays) + (1 << 20)

    @cached_property
    def powers(self) -> FloatArray:
        """What is left of a play after each number of episodes, where plays fade."""
        return powers_of(self.settings.forms, self.slice.policy, self.settings.n_episodes)

    def most_runs(self, budget: int) -> int:
        """How many runs fit at once into a number of bytes."""
        return max(1, min((budget - self.fixed_bytes) // self.bytes_per_run, self.most_at_once))


class _Wave:
    """Some runs of a plan, all of whose state lies in the GPU's memory until their last episode."""

    def __init__(self, plan: Plan, first: int, last: int) -> None:
        from matroid_bandits.gpu._kernels import KERNELS

        self._cuda: Any = load()
        settings, form = plan.settings, plan.schedule.form
        n_runs, n_items, rank = last - first, settings.problem.n_items, settings.problem.rank
        self._plan, self._first, self.n_runs = plan, first, n_runs
        self.n_bytes = plan.fixed_bytes + self.n_runs * plan.bytes_per_run
        self._stream = self._cuda.stream()
        shape, none = (n_runs, n_items), (n_runs, 1)
        n_cells, n_rows = cells_per_item(form), rows_of(form, settings.n_episodes)
        ring = (n_runs, n_rows, rank) if n_rows else (*none, 1)
        self._state = (
            self._empty(shape),
            self._empty(shape, np.int32),
            self._empty(shape),
            self._empty(shape),
            self._empty(shape if form.kind in (BETA, WINDOW) else none, np.int32),
            self._empty((*shape, n_cells) if n_cells else (*none, 1)),
            self._empty(ring, np.uint32),
            self._empty(ring),
        )
        self._curves = self._empty((2, n_runs, settings.checkpoints.size))
        self._choices = self._put(np.zeros(n_items, np.uint64))
        self._failed = self._put(np.zeros(n_runs, np.int32))
        self._results = (self._put(np.zeros((2, n_runs))), self._curves, self._choices, self._failed)
        self._points = self._put(settings.checkpoints.astype(np.int64))
        self._family = tuple(
            self._put(each) if isinstance(each, np.ndarray) else each for each in plan.family.arguments
        )
        self._policy = (form.kind, float(form.number), form.window, self._put(plan.powers))
        self._kernel = KERNELS[plan.family.name, is_general(settings.forms, plan.slice.policy)]
        self._grid = (n_runs, plan.n_threads, self._stream, plan.family.shared_bytes(plan.n_threads))
        self._t, self._n, self._chunk, self._began = 1, 0, 1, 0.0
        self._n_before = 1 if settings.start == "observe" else 0
        self._shift = 0.0
        self._world: tuple[Any, ...] = ()
        self._score: tuple[Any, ...] = ()
        self._optimum = Optimum(settings.checkpoints)
        self._ahead = self._rows_ahead()

    def _empty(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return self._cuda.device_array(shape, dtype, stream=self._stream)

    def _put(self, array: AnyArray) -> Any:
        return self._cuda.to_device(np.ascontiguousarray(array), stream=self._stream)

    @property
    def is_done(self) -> bool:
        """Whether the last episode has been played."""
        return self._t > self._plan.settings.n_episodes

    def _rows_ahead(self) -> FloatArray:
        """What the index needs of the episodes of the next launch, which ends where the world changes."""
        plan, t, settings = self._plan, self._t, self._plan.settings
        world, end = settings.forms.world_at(t)
        n = int(min(self._chunk, end - t, settings.n_episodes + 1 - t))
        if world.moves:
            n = min(n, max(1, _MOST_ROWS // settings.problem.n_items))
        try:
            return plan.schedule.rows(t, n)
        except Misfit as misfit:
            raise DeviceError(f"this simulation does not fit on a GPU: {misfit}") from None

    def launch(self) -> None:
        """Begin the next episodes, without waiting for them."""
        settings, t = self._plan.settings, self._t
        self._n = self._ahead.shape[0]
        self._look_at(settings.forms.world_at(t)[0])
        start = _codes.GO_ON
        if t == 1:
            start = _codes.OBSERVE if settings.start == "observe" else _codes.EXPLORE
        self._began = time.perf_counter()
        when = (
            np.uint64(settings.seed),
            self._first,
            t,
            self._n,
            start,
            self._n_before,
            t + self._n > settings.n_episodes,
            settings.problem.minimize,
            self._points,
            int(np.searchsorted(settings.checkpoints, t)),
        )
        arguments = (
            self._family,
            when,
            self._policy,
            self._schedule(),
            self._world,
            self._score,
            self._state,
            self._results,
        )
        if t == 1 and self._grid[3] > PLAIN_BLOCK_BYTES and not is_simulated():
            widen(self._kernel, arguments, self._grid[3])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Grid size")  # few runs are no mistake
            self._kernel[self._grid](*arguments)

    def _look_at(self, world: World) -> None:
        """Bring the world of the next launch, what it is expected to give and what is seen before episode 1."""
        t, rows = self._t, world.rows(self._t, self._n)
        self._optimum.add(rows.best, t, self._n)
        if t == 1 or t == world.first or world.moves:
            values, spread = self._put(rows.values), self._put(rows.spread)
            tables = [self._put(each) for each in (world.table, world.indptr, world.indices)]
            seen = [values, spread]
            if t == 1 and world.moves:
                before = world.rows(0, 1)
                seen = [self._put(before.values), self._put(before.spread)]
            self._world = (world.kind, values, spread, world.n_rows, *tables, *seen)
            self._score = (self._put(rows.means), self._put(rows.best))

    def _schedule(self) -> tuple[Any, ...]:
        """The coefficients of the next launch; where plays fade also g, and its powers of two from before it on."""
        rows = self._ahead
        if self._plan.schedule.form.kind != DISCOUNTED:
            return self._put(rows[:, 0]), self._put(np.zeros(1)), self._put(np.zeros(1))
        shifts = np.append(self._shift, rows[:, 2])
        self._shift = float(shifts[-1])
        return self._put(rows[:, 0]), self._put(rows[:, 1]), self._put(shifts)

    def wait(self) -> int:
        """Wait until what was launched is done, having prepared the next launch; returns the episodes played."""
        self._t += self._n
        was_first = self._t == 1 + self._n
        self._ahead = self._rows_ahead() if not self.is_done else np.empty((0, 0))
        self._stream.synchronize()
        if was_first:  # it compiled, and tells nothing about time
            self._chunk = 16
        else:
            pace = (time.perf_counter() - self._began) / self._n
            self._chunk = int(min(max(1.0, _LAUNCH_S / pace), 8.0 * self._chunk))
        return self._n * self.n_runs

    def part(self) -> Part:
        """What the runs found, once all is played."""
        settings, first, n_runs = self._plan.settings, self._first, self.n_runs
        curves = self._curves.copy_to_host(stream=self._stream)
        choices = (self._state[1] if settings.by_run else self._choices).copy_to_host(stream=self._stream)
        failed = self._failed.copy_to_host(stream=self._stream)
        self._stream.synchronize()
        if failed.any():  # of floats too close to dependent
            raise DeviceError(
                f"this simulation does not fit on a GPU: run {first + int(failed.argmax())} found less than a basis"
            )
        check_returns(replace(self._plan.slice, first=first, last=first + n_runs), settings, curves[0])
        if settings.by_run:  # counted before the first episode too, where that looked at everything
            choices -= self._n_before
            choices = choices.astype(np.min_scalar_type(settings.n_episodes))
        else:
            choices = choices.astype(np.int64)
        is_steady = settings.problem.environment.is_stationary
        optimum = None if is_steady else np.tile(self._optimum.values, (n_runs, 1))
        surplus = np.zeros(n_runs)
        return Part(first, first + n_runs, curves[0], curves[1], choices, surplus, optimum, engine="compiled")
