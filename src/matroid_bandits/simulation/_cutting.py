"""How jobs are cut into slices of runs: by measured time, so that all workers are busy and a lost slice is cheap."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from matroid_bandits.compiled import Settings, described
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._worker import JobGroup, Pace

#: A slice is made longer, up to this many times what it should take, while the fixed time of playing it is more than
#: this share of the rest: an episode of one run costs nearly as much as one of ten runs at once.
_MOST_STRETCH, _MOST_FIXED = 10.0, 0.1

#: A slice that was told to take some seconds may take this many times as long before the job is cut anew.
_TOLERANCE = 2.0

#: Threads share an interpreter: for every other slice that is played at once, an episode of a slice waits for this
#: many times what its own part in Python takes alone. Fitted to eight jobs on 2 to 16 threads of a 16-core machine.
_QUEUE = 6.0

#: A job on threads that takes longer than this, in seconds, has its pace measured before it is cut; with all of its
#: runs where these are at most this many cells, and otherwise with those of one thread.
_LOOK_S, _MOST_LOOKED_AT = 0.1, 2**20

#: Threads that save less than this share of the time are not worth their noise.
_LEAST_GAIN = 0.05

#: Processes take the place of threads where they save that many seconds, and this share of the time.
_LEAST_SAVED_S, _LEAST_SAVED = 20.0, 0.4


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
    is_queued: bool = False
    n_each: int = 0


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
    is_queued : callable, optional
        Whether the slices of a job wait for each other, since the workers are threads and its episodes enter Python.
        Such jobs are cut so that they wait less than they gain (see `share`); the first of them is measured for that.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        n_workers: int,
        seconds: float,
        most_cells: int,
        is_queued: Callable[[Job], bool] = lambda job: False,
    ) -> None:
        self._seconds, self._n_workers = seconds, n_workers
        # few jobs are cut for all workers; of many, whole ones keep them busy
        self._n_each = min(n_workers, -(-2 * n_workers // max(len(jobs), 1))) if seconds < math.inf else n_workers
        states = _grouped(jobs, most_cells)
        queued = [one for one in states if n_workers > 1 and is_queued(one.job)]
        for one in queued:
            one.is_queued, one.n_each = True, 1
        # of queued jobs how many there are, how many slices are played, and may be played at once
        self._n_queued, self._n_playing, self._n_at_once = len(queued), 0, n_workers
        self._looks = 0 < len(queued) < n_workers and queued[0].job.last - queued[0].job.first > 1
        # they come first, as the others use the workers that they leave
        self._states = sorted(states, key=lambda one: not one.is_queued)[::-1]
        for one in self._states:
            one.todo = self._cut(one, [(one.job.first, one.job.last)])
        if self._looks:
            queued[0].todo = self._looked_at(queued[0])
            self._n_at_once = 1

    def pop(self) -> PendingSlice | None:
        """The next slice to play, or None where nothing is left, or nothing that may be played beside the others."""
        if self._looks and self._n_playing:
            return None  # nothing disturbs what is measured
        self._states = [one for one in self._states if one.todo]
        for one in reversed(self._states):
            if one.is_queued and self._n_playing >= self._n_at_once:
                continue
            first, last = one.todo.pop(0)
            self._n_playing += one.is_queued
            if self._looks:
                return PendingSlice(one, first, last, _LOOK_S * (last - first) / (one.job.last - one.job.first))
            return PendingSlice(one, first, last, _TOLERANCE * self._seconds if one.pace is None else math.inf)
        return None

    def paced(self, pending: PendingSlice, pace: Pace) -> None:
        """Cut the job of a slice that would take too long, now that its pace is known."""
        one = pending.state
        one.pace = one.pace or pace
        if one.is_queued:
            self._n_playing -= 1
            self._looks = False
            n_runs = one.job.last - one.job.first
            self._n_at_once, n_each = share(pace, n_runs, self._n_queued, self._n_workers)
            for other in (one, *self._states):
                if other.is_queued:
                    other.n_each = n_each
                    other.todo = self._cut(other, other.todo) if other is not one else other.todo
        one.todo = self._cut(one, [*one.todo, (pending.first, pending.last)])
        if one not in self._states:
            self._states.append(one)

    def played(self, pending: PendingSlice, seconds: float) -> None:
        """Learn from the time that a slice took."""
        one = pending.state
        if one.is_queued:
            self._n_playing -= 1
            if self._looks:  # too short to be measured
                self._looks, self._n_at_once = False, self._n_workers
            return
        if one.pace is not None and seconds > 0.0:
            ratio = seconds / one.pace.of(pending.n_runs)
            if not 1.0 / _TOLERANCE <= ratio <= _TOLERANCE:
                one.pace = one.pace.scaled(ratio)
                one.todo = self._cut(one, one.todo)

    def is_for_processes(self, pending: PendingSlice) -> bool:
        """Whether jobs that wait for each other, as that of a measured slice does, would be done in processes long
        before; all of them, since they are then sent there."""
        one = pending.state
        if one.pace is None or not all(other.is_queued for other in self._states):
            return False
        threads, processes = seconds_of(one.pace, one.job.last - one.job.first, self._n_queued, self._n_workers)
        return threads - processes > max(_LEAST_SAVED_S, _LEAST_SAVED * threads)

    def _cut(self, one: JobState, intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Equal slices of what is left of a job, as long as they should be."""
        left = sum(last - first for first, last in intervals)
        if not left:
            return []
        n_slices = one.n_each or self._n_each
        if one.pace is not None and not one.is_queued:
            n_slices = -(-left // _n_runs(one.pace, self._seconds))
            if n_slices > self._n_each:  # rounded so that all slices have the same number of runs
                n_slices = -(-n_slices // self._n_each) * self._n_each
        size = min(-(-left // n_slices), one.most)
        return [(lo, min(lo + size, last)) for first, last in _joined(intervals) for lo in range(first, last, size)]

    def _looked_at(self, one: JobState) -> list[tuple[int, int]]:
        """The runs of a job in two slices, the first of which is measured."""
        first, last = one.job.first, one.job.last
        n = last - first
        if n * one.job.settings.problem.n_items > _MOST_LOOKED_AT:
            n = max(2, -(-n // self._n_workers))
        n = min(n, one.most)
        return [(first, first + n), *([(first + n, last)] if first + n < last else [])]


def share(pace: Pace, n_runs: int, n_jobs: int, n_workers: int) -> tuple[int, int]:
    """How many slices to play at once on threads, and into how many to cut each of `n_jobs` jobs of this pace.

    With k slices at once, each of the s of a job takes what it takes alone, and waits for the interpreter as long as
    the k - 1 others are in it, or wake up for it. More slices are less work each and more waiting in all.
    """
    fewest, best = (1, 1), math.inf
    for k in range(1, n_workers + 1):
        s = min(-(-k // n_jobs), n_runs)
        if k > s * n_jobs:
            break
        took = -(-n_jobs * s // k) * (pace.fixed * (1.0 + _QUEUE * (k - 1)) + pace.per_run * -(-n_runs // s))
        if took < best * (1.0 - _LEAST_GAIN):
            fewest, best = (k, s), took
    return fewest


def seconds_of(pace: Pace, n_runs: int, n_jobs: int, n_workers: int) -> tuple[float, float]:
    """The seconds that jobs of this pace take on threads, as `share` cuts them, and on as many processes."""
    k, s = share(pace, n_runs, n_jobs, n_workers)
    threads = -(-n_jobs * s // k) * (pace.fixed * (1.0 + _QUEUE * (k - 1)) + pace.per_run * -(-n_runs // s))
    n_each = min(-(-n_workers // n_jobs), n_runs)
    return threads, -(-n_jobs * n_each // n_workers) * pace.of(-(-n_runs // n_each))


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
