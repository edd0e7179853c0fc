"""How jobs are cut into slices of runs: by measured time, so that all workers are busy and a lost slice is cheap."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from matroid_bandits.compiled import Settings, described
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._worker import JobGroup, Pace

#: A slice is made longer, up to this many times what it should take, while the fixed time of playing it is more than
#: this share of the rest: an episode of one run costs nearly as much as one of ten runs at once.
_MOST_STRETCH, _MOST_FIXED = 10.0, 0.1

#: A slice that was told to take some seconds may take this many times as long before the job is cut anew.
_TOLERANCE = 2.0

#: A slice of fewer runs than this is not made shorter so that workers end together; and the smallest slices that are
#: made so are a slice divided by this number.
_LEAST_HALVED, SMALLEST = 16, 4


@dataclass(frozen=True, eq=False)
class Job:
    """One policy on the runs from `first` up to `last` of a problem; `run_jobs` cuts it as it sees fit.

    Attributes
    ----------
    key : hashable
        Whatever the caller knows the job by; jobs may share one.
    settings : Settings
        The problem and how it is played. Jobs of one problem share one object: it travels once.
    name : str
        What the policy is called in messages.
    policy : Policy
        Who plays.
    first, last : int
        Which runs.
    """

    key: Hashable
    settings: Settings
    name: str
    policy: Policy
    first: int
    last: int


class Cut(NamedTuple):
    """Into how many slices a job is cut.

    Attributes
    ----------
    n_slices : int
        How many, where they do not shrink.
    shrinks : bool
        Whether there are more: half of the runs in slices half as long, and the rest in slices of a quarter, so that
        in the end no worker waits long for others that are slower.
    is_shared : bool
        Whether the job finds out itself on how many threads it is played (see `Sharing`); it is then cut for the sake
        of memory alone.
    """

    n_slices: int
    shrinks: bool = False
    is_shared: bool = False


@dataclass(eq=False)
class PendingSlice:
    """A slice that is to be played: some runs of one job.

    Attributes
    ----------
    limit : float
        Seconds after which it should rather be cut.
    n_deaths : int
        How often a worker died while it was under way.
    is_unknown : bool
        Whether a worker did not find the problem, which has to come along.
    """

    state: JobState
    first: int
    last: int
    limit: float
    n_deaths: int = 0
    is_unknown: bool = False

    @property
    def n_runs(self) -> int:
        """How many runs it has."""
        return self.last - self.first

    def __str__(self) -> str:
        return described(self.state.job.name, self.first, self.last)


@dataclass(eq=False)
class JobGroupState:
    """The jobs of one problem: what they share, where workers find it, and how many runs are left."""

    shared: JobGroup
    n_left: int = 0
    source: object = None


@dataclass(eq=False)
class JobState:
    """A job and what is left of it: intervals of runs that no worker plays yet, in order."""

    job: Job
    group: JobGroupState
    policy: int
    most: int
    todo: list[tuple[int, int]] = field(default_factory=list)
    pace: Pace | None = None
    cut: Cut = field(default_factory=lambda: Cut(1))


class SliceQueue:
    """The slices that are still to be played, cut as the pace of their job becomes known.

    Parameters
    ----------
    jobs : sequence of Job
        What is to be played, first things first.
    n_workers : int
        How many slices can be played at once.
    seconds : float
        How long a slice should take; with infinity jobs are cut for all workers, once.
    most_cells : int
        The most runs times items of a slice, for the sake of memory.
    cut : callable, optional
        How a job is cut at first; None for as many slices as all workers need.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        n_workers: int,
        seconds: float,
        most_cells: int,
        cut: Callable[[Job], Cut | None] = lambda job: None,
    ) -> None:
        self._seconds, self._n_playing = seconds, 0
        # few jobs are cut for all workers; of many, whole ones keep them busy
        self._n_each = min(n_workers, -(-2 * n_workers // max(len(jobs), 1))) if seconds < math.inf else n_workers
        self._states = _grouped(jobs, most_cells)
        for one in self._states:
            one.cut = cut(one.job) or Cut(self._n_each)
            one.todo = self._cut(one, [(one.job.first, one.job.last)])
        self.groups = list({id(one.group): one.group.shared for one in self._states}.values())
        self.is_all_shared = all(one.cut.is_shared for one in self._states)
        # shared ones come first, as the others use the workers that they leave
        self._states.sort(key=lambda one: not one.cut.is_shared)
        self._states.reverse()

    def pop(self, n_at_once: int = 1, has_room: bool = True) -> PendingSlice | None:
        """The next slice to play, or None where nothing is left, or nothing that may be played beside the others.

        Of jobs that find out on how many threads they are played, at most `n_at_once` slices are under way; slices of
        other jobs are given where these leave room.
        """
        self._states = [one for one in self._states if one.todo]
        for one in reversed(self._states):
            if self._n_playing >= n_at_once if one.cut.is_shared else not has_room:
                continue
            first, last = one.todo.pop(0)
            self._n_playing += one.cut.is_shared
            return PendingSlice(one, first, last, _TOLERANCE * self._seconds if one.pace is None else math.inf)
        return None

    def paced(self, pending: PendingSlice, pace: Pace) -> None:
        """Cut the job of a slice that would take too long, now that its pace is known."""
        one = pending.state
        self._n_playing -= one.cut.is_shared
        one.pace = one.pace or pace
        one.todo = self._cut(one, [*one.todo, (pending.first, pending.last)])
        if one not in self._states:
            self._states.append(one)

    def played(self, pending: PendingSlice, seconds: float) -> None:
        """Learn from the time that a slice took."""
        one = pending.state
        self._n_playing -= one.cut.is_shared
        if one.pace is not None and seconds > 0.0:
            ratio = seconds / one.pace.of(pending.n_runs)
            if not 1.0 / _TOLERANCE <= ratio <= _TOLERANCE:
                one.pace = one.pace.scaled(ratio)
                one.todo = self._cut(one, one.todo)

    def _cut(self, one: JobState, intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Equal slices of what is left of a job, as long as they should be."""
        left = sum(last - first for first, last in intervals)
        if not left:
            return []
        n_slices = one.cut.n_slices
        if one.pace is not None:
            n_slices = -(-left // _n_runs(one.pace, self._seconds))
            if n_slices > self._n_each:  # rounded so that all slices have the same number of runs
                n_slices = -(-n_slices // self._n_each) * self._n_each
        size = min(-(-left // n_slices), one.most)
        if not one.cut.shrinks or size < _LEAST_HALVED:
            return [
                (lo, min(lo + size, last)) for first, last in _joined(intervals) for lo in range(first, last, size)
            ]
        long, short = -(-size // 2), -(-size // SMALLEST)
        slices = []
        for first, last in _joined(intervals):
            middle = first + (last - first) // 2 // long * long
            slices += [(lo, lo + long) for lo in range(first, middle, long)]
            slices += [(lo, min(lo + short, last)) for lo in range(middle, last, short)]
        return slices


def _n_runs(pace: Pace, seconds: float) -> int:
    """How many runs a slice should have."""
    right = (seconds - pace.fixed) / pace.per_run
    longest = (_MOST_STRETCH * seconds - pace.fixed) / pace.per_run
    efficient = pace.fixed / (_MOST_FIXED * pace.per_run)
    return max(1, int(min(max(right, efficient), max(right, longest), 2.0**62)))


def _joined(intervals: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The intervals, with those that touch made one."""
    ordered = sorted(intervals)
    first, last = ordered[0]
    for lo, hi in ordered[1:]:
        if lo != last:
            yield first, last
            first = lo
        last = hi
    yield first, last


def _grouped(jobs: Sequence[Job], most_cells: int) -> list[JobState]:
    """The jobs, those of one problem with one group."""
    policies: dict[int, list[tuple[str, Policy]]] = {}
    places = []
    for job in jobs:
        known = policies.setdefault(id(job.settings), [])
        places.append(len(known))
        known.append((job.name, job.policy))
    groups: dict[int, JobGroupState] = {}
    states = []
    for job, place in zip(jobs, places, strict=True):
        number = id(job.settings)
        if number not in groups:
            groups[number] = JobGroupState(JobGroup(job.settings, tuple(policies[number])))
        groups[number].n_left += job.last - job.first
        most = max(1, most_cells // max(job.settings.problem.n_items, 1))
        states.append(JobState(job, groups[number], place, most))
    return states
