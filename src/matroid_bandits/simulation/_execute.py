"""Play jobs on an executor: slices go out, parts come in, in whatever order they are done."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait

from matroid_bandits._util.threads import n_threads
from matroid_bandits.compiled import Part, choose
from matroid_bandits.exceptions import MissingDependencyError, SimulationError
from matroid_bandits.simulation._backend import Backend
from matroid_bandits.simulation._cutting import SMALLEST, Cut, Job, PendingSlice, SliceQueue
from matroid_bandits.simulation._executors import ExecutorChoice, backend_of
from matroid_bandits.simulation._local import Processes, Threads
from matroid_bandits.simulation._play import can_be_parted
from matroid_bandits.simulation._progress import Reporter
from matroid_bandits.simulation._sharing import WAIT_S, Sharing
from matroid_bandits.simulation._worker import Answer, Failed, Left, Pace, Played, Unknown

#: State a slice may hold, in items times runs; larger problems are simulated a few runs at a time.
_MAX_SLICE_CELLS = 2**24

#: Seconds that a slice should take, where it is sent to a worker that may be lost.
SLICE_S = 3.0

#: Seconds after which it is looked what else can be played.
_AWAKE_S = 0.02

#: Seconds of an episode, about, where it cannot be measured: of each run, and of each item in it.
_RUN_S, _ITEM_S = 2e-6, 1e-8

#: Seconds, about, that a slice of compiled episodes takes at least: to begin one takes the interpreter's time.
_LEAST_SLICE_S = 0.05

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
        About how long a slice should take. By default three; on threads, where nothing is lost, as long as it takes.

    Yields
    ------
    (Job, Part)
    """
    count = (lambda n: None) if report is None else report.add
    by_episode = executor is None  # whether episodes are counted while they are played
    cut: Callable[[Job], Cut | None] = lambda job: None  # noqa: E731 - as all workers need it
    sharing: Sharing | None = None
    processes: list[Processes] = []
    if executor is None:
        n = max(1, min(n_threads(), sum(job.last - job.first for job in jobs)))
        if n > 1:
            cuts = {id(job): _cut(job, n) for job in jobs}
            cut = lambda job: cuts[id(job)]  # noqa: E731
            n_shared = sum(cuts[id(job)].is_shared for job in jobs if job.first < job.last)
            sharing = Sharing(n, n_shared, lambda: _move(queue, n, processes))
        backend: Backend = Threads(n, report=count, sharing=sharing)
    else:
        backend = backend_of(executor)
    if seconds is None:
        seconds = math.inf if executor is None else SLICE_S
    running: dict[Future[Answer], PendingSlice] = {}
    try:
        n_workers, asked = backend.n_workers(), time.monotonic()
        queue = SliceQueue(jobs, n_workers, seconds, _MAX_SLICE_CELLS, cut)
        again: list[PendingSlice] = []
        while True:
            if time.monotonic() - asked > 1.0:
                n_workers, asked = backend.n_workers(), time.monotonic()
            while len(running) < n_workers * (1 + backend.n_spare):
                pending = again.pop() if again else _next(queue, sharing, running)
                if pending is None:
                    break
                running[_submit(backend, pending)] = pending
            if not running:
                return
            # awake now and then: not every system lets Ctrl-C end a wait, and more jobs may be played at once
            for future in wait(running, timeout=_AWAKE_S, return_when=FIRST_COMPLETED).done:
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
                elif isinstance(answer, Left):  # the first slice alone was begun
                    backend.close([])
                    backend, by_episode, sharing = processes[0], False, None
                    queue = SliceQueue(jobs, n_workers, SLICE_S, _MAX_SLICE_CELLS)
                else:
                    again.append(pending)
    finally:
        backend.close(list(running))
        for other in processes:
            if other is not backend:
                other.close([])


def _cut(job: Job, n_workers: int) -> Cut:
    """How a job is cut for threads."""
    episode_s = (job.last - job.first) * (_RUN_S + _ITEM_S * job.settings.problem.n_items)
    if choose(job.settings, job.policy)[0] == "compiled":
        n = episode_s * job.settings.n_episodes / _LEAST_SLICE_S
        return Cut(max(1, int(min(n, n_workers))), shrinks=n >= SMALLEST * n_workers)
    if can_be_parted(job.settings, job.policy):
        return Cut(1, is_shared=True)
    return Cut(min(n_workers, max(1, round(math.sqrt(episode_s / WAIT_S)))))


def _next(
    queue: SliceQueue, sharing: Sharing | None, running: Mapping[Future[Answer], PendingSlice]
) -> PendingSlice | None:
    """The next slice for a worker, if there is one for which there is room beside those that enter Python."""
    if sharing is None:
        return queue.pop()
    n_others = sum(not pending.state.cut.is_shared for pending in running.values())
    return queue.pop(sharing.n_at_once, has_room=n_others < sharing.n_free)


def _move(queue: SliceQueue, n: int, processes: list[Processes]) -> bool:
    """Whether all jobs can be played in processes, which are then in `processes`; only the first slice was begun."""
    if not queue.is_all_shared:
        return False
    try:
        backend = Processes(n)
    except MissingDependencyError:
        return False
    processes.append(backend)
    try:
        for group in queue.groups:
            backend.release(backend.share(group))
    except SimulationError:  # of a policy that cannot be sent
        return False
    return True


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


def _answer(backend: Backend, future: Future[Answer], pending: PendingSlice) -> Played | Pace | Left | None:
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
