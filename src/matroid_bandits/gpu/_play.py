"""Runs on the GPU: which of them at a time, how many episodes a launch, and what comes back."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray
from matroid_bandits.compiled import Misfit, Part, Schedule, Settings, Slice, optimum_of
from matroid_bandits.exceptions import DeviceError
from matroid_bandits.gpu import _codes
from matroid_bandits.gpu._cuda import PLAIN_BLOCK_BYTES, Device, find_device, is_simulated, load, widen
from matroid_bandits.gpu._fit import Family, check_fit
from matroid_bandits.kernels.forms import BETA

#: A launch takes about so long, in seconds: what a user waits for after Ctrl-C.
_LAUNCH_S = 0.15
#: The share of the free memory that may be used.
_MEMORY_SHARE = 0.8
#: Runs per multiprocessor from which on a GPU has enough to do.
_ENOUGH_RUNS = 64


#: Some runs of one policy, and the settings of their simulation.
Task: TypeAlias = tuple[Slice, Settings]


def play(tasks: Sequence[Task], tick: Callable[[int], object] = lambda n: None) -> Iterator[tuple[int, Part]]:
    """Play tasks on the GPU, several at once where one does not fill it.

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
    budget = int(_MEMORY_SHARE * device.free_bytes)
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
        try:
            family = check_fit(settings.forms, slice.policy, settings.n_episodes)
            schedule = settings.forms.schedule(slice.policy)
            n_threads = threads_of(family, settings.problem.n_items, device)
        except Misfit as misfit:
            raise DeviceError(f"this simulation does not fit on a GPU: {misfit}") from None
        most_at_once = _ENOUGH_RUNS * device.n_processors if settings.by_run else 2**31 - 1
        plan = cls(slice, settings, family, schedule, n_threads, most_at_once)
        budget = int(_MEMORY_SHARE * device.free_bytes)
        if plan.most_runs(budget) < 1:
            needed = (plan.fixed_bytes + plan.bytes_per_run) >> 20
            raise DeviceError(
                f"{device.name} has too little free memory: a run needs {needed:,} MiB, and {budget >> 20:,} MiB "
                "may be used"
            )
        return plan

    @property
    def bytes_per_run(self) -> int:
        """The memory that each run takes."""
        per_item = 32 if self.schedule.form.kind == BETA else 28
        return per_item * self.settings.problem.n_items + 16 * self.settings.checkpoints.size + 64

    @property
    def fixed_bytes(self) -> int:
        """The memory that all runs share."""
        sizes = [sum(each.nbytes for each in world.arrays) for world in self.settings.forms.worlds]
        return sum(sorted(sizes)[-2:]) + (1 << 20)  # of two worlds while one takes the other's place

    def most_runs(self, budget: int) -> int:
        """How many runs fit at once into so many bytes."""
        return max(0, min((budget - self.fixed_bytes) // self.bytes_per_run, self.most_at_once))

    @cached_property
    def optimum(self) -> FloatArray | None:
        """What the best sets were worth in all by each checkpoint; None where means stay the same."""
        return optimum_of(self.settings.forms, self.settings.checkpoints)


def threads_of(family: Family, n_items: int, device: Device) -> int:
    """Threads per run: from a warp for small problems to eight; `Misfit` where they lack the shared memory."""
    wanted = max(2 * family.least_threads, n_items // family.items_per_thread)
    n_threads = next((n for n in (32, 64, 128) if n >= wanted), 256)
    if device.is_simulated:
        n_threads = max(4, family.least_threads)
    needed = family.shared_bytes(n_threads)
    if needed > device.block_bytes:
        raise Misfit(
            f"a run needs {needed:,} bytes of fast memory, and {device.name} has {device.block_bytes:,} for a block "
            "of threads"
        )
    return n_threads


class _Wave:
    """Some runs of a plan, all of whose state lies in the GPU's memory until their last episode."""

    def __init__(self, plan: Plan, first: int, last: int) -> None:
        from matroid_bandits.gpu._kernels import KERNELS

        self._cuda: Any = load()
        settings = plan.settings
        self._plan, self._first, self.n_runs = plan, first, last - first
        self.n_bytes = plan.fixed_bytes + self.n_runs * plan.bytes_per_run
        self._stream = self._cuda.stream()
        shape = (self.n_runs, settings.problem.n_items)
        has_successes = plan.schedule.form.kind == BETA
        self._state = [
            self._empty(shape),
            self._empty(shape, np.int32),
            self._empty(shape),
            self._empty(shape),
            self._empty(shape if has_successes else (self.n_runs, 1), np.int32),
        ]
        self._totals = self._put(np.zeros((2, self.n_runs)))
        self._curves = self._empty((2, self.n_runs, settings.checkpoints.size))
        self._choices = self._put(np.zeros(settings.problem.n_items, np.uint64))
        self._points = self._put(settings.checkpoints.astype(np.int64))
        self._family = [self._put(each) if isinstance(each, np.ndarray) else each for each in plan.family.arguments]
        self._kernel = KERNELS[plan.family.kernel]
        self._grid = (self.n_runs, plan.n_threads, self._stream, plan.family.shared_bytes(plan.n_threads))
        self._t, self._n, self._chunk, self._began = 1, 0, 1, 0.0
        self._n_before = 1 if settings.start == "observe" else 0
        self._world: list[Any] = []
        self._ahead = self._coefficients()

    def _empty(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return self._cuda.device_array(shape, dtype, stream=self._stream)

    def _put(self, array: AnyArray) -> Any:
        return self._cuda.to_device(np.ascontiguousarray(array), stream=self._stream)

    @property
    def is_done(self) -> bool:
        """Whether the last episode has been played."""
        return self._t > self._plan.settings.n_episodes

    def _coefficients(self) -> FloatArray:
        """c_t of the next launch, which ends where the world changes."""
        plan, t = self._plan, self._t
        end = min(plan.settings.forms.world_at(t)[1], plan.settings.n_episodes + 1)
        try:
            return plan.schedule.rows(t, int(min(self._chunk, end - t)))[:, 0]
        except Misfit as misfit:
            raise DeviceError(f"this simulation does not fit on a GPU: {misfit}") from None

    def launch(self) -> None:
        """Begin the next episodes, without waiting for them."""
        plan, settings, t = self._plan, self._plan.settings, self._t
        world, rows = settings.forms.world_at(t)[0], settings.forms.world_at(t)[0].rows(t, 1)
        if t == 1 or t == world.first:
            arrays = (rows.values[0], world.table, world.indptr, world.indices, rows.means[0])
            values, table, indptr, indices, means = (self._put(array) for array in arrays)
            self._world = [world.kind, values, world.n_rows, table, indptr, indices, means]
        start = _codes.GO_ON
        if t == 1:
            start = _codes.OBSERVE if settings.start == "observe" else _codes.EXPLORE
        self._n = self._ahead.size
        self._began = time.perf_counter()
        arguments = (
            *self._family,
            np.uint64(settings.seed),
            self._first,
            t,
            start,
            self._n_before,
            t + self._n > settings.n_episodes,
            settings.problem.minimize,
            float(rows.best[0]),
            self._points,
            int(np.searchsorted(settings.checkpoints, t)),
            self._put(self._ahead),
            plan.schedule.form.kind,
            plan.schedule.form.number,
            *self._world,
            *self._state,
            self._totals,
            self._curves,
            self._choices,
        )
        if t == 1 and self._grid[3] > PLAIN_BLOCK_BYTES and not is_simulated():
            widen(self._kernel, arguments, self._grid[3])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Grid size")  # few runs are no mistake
            self._kernel[self._grid](*arguments)

    def wait(self) -> int:
        """Wait until what was launched is done, having prepared the next launch; returns the episodes played."""
        self._t += self._n
        was_first = self._t == 1 + self._n
        self._ahead = self._coefficients() if not self.is_done else np.empty(0)
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
        self._stream.synchronize()
        if settings.by_run:  # counted before the first episode too, where that looked at everything
            choices -= self._n_before
            choices = choices.astype(np.min_scalar_type(settings.n_episodes))
        else:
            choices = choices.astype(np.int64)
        optimum = self._plan.optimum
        if optimum is not None:
            optimum = np.tile(optimum, (n_runs, 1))
        surplus = np.zeros(n_runs)
        return Part(first, first + n_runs, curves[0], curves[1], choices, surplus, optimum, engine="compiled")
