"""Play jobs on an executor: slices go out, parts come in, in whatever order they are done."""

from __future__ import annotations

import math
import pickle
import time
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait

from matroid_bandits.compiled import Part, Slice
from matroid_bandits.simulation._executors import ExecutorChoice, workers_of
from matroid_bandits.simulation._jobs import Job, Queue
from matroid_bandits.simulation._progress import Reporter
from matroid_bandits.simulation._worker import Answer
from matroid_bandits.simulation._workers import Workers

#: Seconds that a slice should take, where it is sent to a worker that may be lost.
SLICE_S = 3.0

#: Seconds after which it is looked what else can be played.
_AWAKE_S = 0.05

#: How many deaths of workers a slice may witness before it is taken for their cause.
_MOST_DEATHS = 3


def run_jobs(
    jobs: Sequence[Job],
    executor: ExecutorChoice = None,
    *,
    report: Reporter | None = None,
    seconds: float | None = None,
) -> Generator[tuple[Job, Part], None, None]:
    """Play jobs on an executor, and yield each part of one as soon as it is known.

    The parts of a job are disjoint intervals of its runs that cover them all, in any order and of any size; what they
    hold does not depend on how they were cut. At most two slices per worker are under way, so that memory is what the
    caller makes of the parts. Closing the iterator, or an error or Ctrl-C in it, ends what is under way. A slice
    takes about `seconds`: by default three; on threads, where nothing is lost, as long as it takes.
    """
    count = (lambda n: None) if report is None else report.add
    workers = workers_of(executor, jobs, count)
    if seconds is None:
        seconds = math.inf if executor is None else SLICE_S
    running: dict[Future[Answer], tuple[Job, Slice]] = {}
    again: list[tuple[Job, Slice]] = []
    deaths: Counter[tuple[Job, int]] = Counter()
    unknown: set[tuple[Job, int]] = set()  # slices whose worker did not find the problem, which has to come along
    try:
        n_workers, asked = workers.n_workers(), time.monotonic()
        queue = Queue(jobs, n_workers, executor is None)
        while True:
            if time.monotonic() - asked > 1.0:
                n_workers, asked = workers.n_workers(), time.monotonic()
            while len(running) < n_workers * (1 + workers.n_spare):
                taken = again.pop() if again else queue.pop()
                if taken is None:
                    break
                job, slice = taken
                limit = math.inf if queue.is_sized(job) else seconds
                future = _submit(workers, job, slice, limit, (job, slice.first) in unknown)
                running[future] = taken
            if not running:
                return
            # awake now and then: not every system lets Ctrl-C end a wait, and more jobs may be played at once
            for future in wait(running, timeout=_AWAKE_S, return_when=FIRST_COMPLETED).done:
                job, slice = taken = running.pop(future)
                try:
                    answer = future.result()
                except (Exception, CancelledError) as error:
                    deaths[job, slice.first] += 1
                    _revive(workers, error, slice, deaths[job, slice.first])
                    again.append(taken)
                    continue
                if isinstance(answer, bytes):
                    raise pickle.loads(answer)
                if answer is None:
                    unknown.add((job, slice.first))
                    again.append(taken)
                elif isinstance(answer, int):
                    queue.put_back(job, slice, answer)
                else:
                    queue.ended(job, slice)
                    if queue.is_sized(job) and answer.seconds < seconds / 2:
                        queue.grow(job)
                    if executor is not None:  # else they are counted while they are played
                        count(slice.n_runs * job.settings.n_episodes)
                    yield job, answer
                    workers.played(job, slice.n_runs)
    finally:
        workers.close(list(running))


def _submit(workers: Workers, job: Job, slice: Slice, limit: float, is_unknown: bool) -> Future[Answer]:
    try:
        return workers.submit(job, slice, limit, is_unknown)
    except BrokenExecutor as error:
        if not workers.revive(error):
            raise workers.explain(error) from error
        return workers.submit(job, slice, limit, is_unknown)


def _revive(workers: Workers, error: BaseException, slice: Slice, n_deaths: int) -> None:
    """Make good the death of a worker, or raise what the caller is told."""
    if n_deaths <= _MOST_DEATHS and workers.revive(error):
        return
    told = workers.explain(error)
    if told is not error:
        told.add_note(str(slice))
        raise told from error
    raise error
