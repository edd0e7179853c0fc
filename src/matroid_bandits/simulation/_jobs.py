"""What is to be played, and how it is cut: jobs into slices of runs, each of which gives a part of the result."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from matroid_bandits.compiled import Settings, Slice, agent_seconds, choose, compiled_seconds
from matroid_bandits.policies import Policy

#: State a slice may hold, in items times runs; larger problems are simulated a few runs at a time.
_MAX_SLICE_CELLS = 2**24

#: Compiled slices for each thread, so that threads end together, and seconds that each of them takes at least: to
#: begin one takes about a millisecond, most of it under the interpreter's lock.
_SLICES_EACH, _LEAST_SLICE_S = 8, 0.03

#: Seconds by which every further thread that plays interpreted episodes makes an episode of the others longer.
_WAIT_S = 1.5e-4


@dataclass(frozen=True, eq=False)
class Job:
    """One policy on the runs from `first` up to `last` of a problem."""

    key: Hashable
    settings: Settings
    name: str
    policy: Policy
    first: int
    last: int

    @property
    def n_runs(self) -> int:
        """How many runs it has."""
        return self.last - self.first


class Queue:
    """The runs that are still to be played, cut into slices as these are taken.

    On workers that are sent slices, a job is cut for all workers; a worker that finds its slice too long says how
    many runs the next ones should have. On threads of this process the rule is:

    - Compiled episodes use all threads: a job is cut into eight slices for each, of at least 0.03 s.
    - An `Agent`'s episodes enter Python, and threads wait for each other's turns, 0.15 ms an episode for each thread
      more. At most s / 0.15 ms slices whose episodes take s seconds are played at once, and a job is cut into as many
      slices as that allows; compiled slices use the other threads.
    """

    def __init__(self, jobs: Sequence[Job], n_workers: int, are_threads: bool) -> None:
        self._left = {job: [(job.first, job.last)] for job in jobs if job.n_runs}
        self._n_workers, self._sizes = n_workers, dict.fromkeys(self._left, 0)
        # few jobs are cut for all workers; of many, whole ones keep them busy
        self._n_each = min(n_workers, -(-2 * n_workers // max(len(self._left), 1)))
        self._are_threads = are_threads and n_workers > 1
        self._by_agent = {job for job in self._left if self._are_threads and not _is_compiled(job)}
        self._playing: set[tuple[Job, int]] = set()

    def pop(self) -> tuple[Job, Slice] | None:
        """The next slice of a job, or None where nothing is left that may be played beside what is under way."""
        job = self._next()
        if job is None:
            return None
        first, last = self._left[job].pop()
        middle = min(last, first + self._size(job))
        if middle < last:
            self._left[job].append((middle, last))
        elif not self._left[job]:
            del self._left[job]
        if job in self._by_agent:
            self._playing.add((job, first))
        return job, Slice(job.name, job.policy, first, middle)

    def ended(self, job: Job, slice: Slice) -> None:
        """Take note that a slice is no longer under way."""
        self._playing.discard((job, slice.first))

    def put_back(self, job: Job, slice: Slice, n_runs: int) -> None:
        """Take back a slice that is too long: those of its job are to have about `n_runs` runs."""
        self.ended(job, slice)
        self._sizes[job] = self._sizes[job] or n_runs
        self._left.setdefault(job, []).append((slice.first, slice.last))

    def is_sized(self, job: Job) -> bool:
        """Whether it is known how many runs a slice should have."""
        return self._sizes[job] > 0

    def grow(self, job: Job) -> None:
        """Double the slices of a job, which have turned out short."""
        self._sizes[job] *= 2

    def _next(self) -> Job | None:
        for job in self._left:
            if job not in self._by_agent:
                continue
            if _is_compiled(job):  # its kernel was loaded, or came from a child process
                self._by_agent.discard(job)
            elif len(self._playing) < self._at_once(job):
                return job
            else:
                break
        return next((job for job in self._left if job not in self._by_agent), None)

    def _size(self, job: Job) -> int:
        """How many runs the next slice has."""
        n = self._n_each
        if self._are_threads:
            n = self._n_slices(job)
        size = self._sizes[job] or -(-job.n_runs // n)
        return max(1, min(size, _MAX_SLICE_CELLS // max(job.settings.problem.n_items, 1)))

    def _n_slices(self, job: Job) -> int:
        """Into how many slices a job is cut on threads."""
        problem, n_episodes = job.settings.problem, job.settings.n_episodes
        if job in self._by_agent:
            return min(self._n_workers, max(1, round(math.sqrt(agent_seconds(problem, job.n_runs) / _WAIT_S))))
        seconds = n_episodes * compiled_seconds(problem, job.n_runs)
        return max(1, int(min(_SLICES_EACH * self._n_workers, seconds / _LEAST_SLICE_S)))

    def _at_once(self, job: Job) -> int:
        """How many interpreted slices may be under way where one of them is of this job."""
        s = agent_seconds(job.settings.problem, self._size(job))
        return max(self._n_slices(job), int(s / _WAIT_S))


def _is_compiled(job: Job) -> bool:
    return choose(job.settings, job.policy)[0] == "compiled"
