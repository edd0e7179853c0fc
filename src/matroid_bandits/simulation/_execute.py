"""Play jobs on an executor: slices go out, parts come in, in whatever order they are done."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait

from matroid_bandits._util.threads import n_threads
from matroid_bandits.compiled import Part, choose
from matroid_bandits.exceptions import MissingDependencyError, SimulationError
from matroid_bandits.simulation._backend import Backend
from matroid_bandits.simulation._cutting import Job, PendingSlice, SliceQueue
from matroid_bandits.simulation._executors import ExecutorChoice, backend_of
from matroid_bandits.simulation._local import Processes, Threads
from matroid_bandits.simulation._progress import Reporter
from matroid_bandits.simulation._worker import Answer, Failed, Pace, Played, Unknown

#: State a slice may hold, in items times runs; larger problems are simulated a few runs at a time.
_MAX_SLICE_CELLS = 2**24

#: Seconds that a slice should take, where it is sent to a worker that may be lost.
SLICE_S = 3.0

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
    caller makes of the parts. Closing the iterator, or an error or Ctrl-C in it, ends what is under way.

    Parameters
    ----------
    jobs : sequence of Job
        What to play, of one problem or of many.
    executor : None, int, Executor, Dask Client or "ray"
        Where, as in `simulate`.
    report : Reporter, optional
        Who is told of the episodes played.
    seconds : float, optional
        About how long a slice should take. By default three; on threads, where nothing is lost and progress is
        seen all the time, as long as it takes.

    Yields
    ------
    (Job, Part)
    """
    count = (lambda n: None) if report is None else report.add
    by_episode = executor is None and seconds is None
    if executor is None:
        n = max(1, min(n_threads(), sum(job.last - job.first for job in jobs)))
        backend: Backend = Threads(n, report=count if by_episode else lambda n: None)
    else:
        backend = backend_of(executor)
    if seconds is None:
        seconds = math.inf if executor is None else SLICE_S
    running: dict[Future[Answer], PendingSlice] = {}
    try:
        n_workers, asked = backend.n_workers(), time.monotonic()
        queue = SliceQueue(
            jobs, n_workers, seconds, _MAX_SLICE_CELLS, _enters_python if by_episode else lambda job: False
        )
        again: list[PendingSlice] = []
        while True:
            if time.monotonic() - asked > 1.0:
                n_workers, asked = backend.n_workers(), time.monotonic()
            while len(running) < n_workers * (1 + backend.n_spare):
                pending = again.pop() if again else queue.pop()
                if pending is None:
                    break
                running[_submit(backend, pending)] = pending
            if not running:
                return
            # awake now and then: not every system lets Ctrl-C end a wait
            for future in wait(running, timeout=0.1, return_when=FIRST_COMPLETED).done:
                pending = running.pop(future)
                answer = _answer(backend, future, pending)
                if isinstance(answer, Played):
                    queue.played(pending, answer.seconds)
                    if not by_episode:
                        count(pending.n_runs * pending.state.job.settings.n_episodes)
                    yield pending.state.job, answer.part
                    _settle(backend, pending)
                elif isinstance(answer, Pace):
                    queue.paced(pending, answer)
                    if (
                        by_episode
                        and queue.is_for_processes(pending)
                        and (processes := _processes(pending, n_workers))
                    ):
                        # all begins anew: a job is measured before anything else is played
                        backend.close([])
                        backend, by_episode = processes, False
                        queue = SliceQueue(jobs, n_workers, SLICE_S, _MAX_SLICE_CELLS)
                else:
                    again.append(pending)
    finally:
        backend.close(list(running))


def _enters_python(job: Job) -> bool:
    """Whether a job's episodes are not played in compiled code."""
    return choose(job.settings, job.policy)[0] != "compiled"


def _processes(pending: PendingSlice, n: int) -> Backend | None:
    """Processes for a job whose threads would wait for each other too long; None where they cannot play it."""
    try:
        backend = Processes(n)
    except MissingDependencyError:
        return None
    try:
        backend.release(backend.share(pending.state.group.shared))
    except SimulationError:  # of a policy that cannot be sent
        backend.close([])
        return None
    return backend


def _submit(backend: Backend, pending: PendingSlice) -> Future[Answer]:
    """Send a slice, and its problem before it where this is the first of its slices."""
    group = pending.state.group
    if group.source is None:
        group.source = backend.share(group.shared)
    try:
        return backend.submit(pending, group.source)
    except BrokenExecutor as error:
        if not backend.revive(error):
            raise backend.explain(error) from error
        return backend.submit(pending, group.source)


def _answer(backend: Backend, future: Future[Answer], pending: PendingSlice) -> Played | Pace | None:
    """What a worker answered; None where the slice has to be sent again."""
    try:
        answer = future.result()
    except (Exception, CancelledError) as error:
        pending.n_deaths += 1
        if pending.n_deaths <= _MOST_DEATHS and backend.revive(error):
            return None
        told = backend.explain(error)
        if told is error:
            raise
        told.add_note(str(pending))
        raise told from error
    if isinstance(answer, Failed):
        raise pickle.loads(answer.error)
    if isinstance(answer, Unknown):
        pending.is_unknown = True
        return None
    return answer


def _settle(backend: Backend, pending: PendingSlice) -> None:
    """Let go of a problem whose last slice was played."""
    group = pending.state.group
    group.n_left -= pending.n_runs
    if not group.n_left:
        backend.release(group.source)
        group.source = None
