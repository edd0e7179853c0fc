"""Where the slices of a simulation are played: on threads of this process, or in processes of their own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import pairwise

from matroid_bandits._util.threads import n_threads
from matroid_bandits.exceptions import MissingDependencyError
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._play import Part, Settings, Slice, Stopped, play
from matroid_bandits.simulation._progress import Reporter

#: State a batch may hold, in items times runs; larger problems are simulated a few runs at a time.
_MAX_BATCH_CELLS = 2**24


def split(named: Mapping[str, Policy], settings: Settings, n_jobs: int | None) -> list[Slice]:
    """Slices of runs: as many as there are workers, more where memory asks for it."""
    n_workers = n_threads() if n_jobs is None or n_jobs < 0 else max(n_jobs, n_threads() if n_jobs == 1 else 1)
    n_runs, n_items = settings.n_runs, settings.problem.n_items
    largest = max(1, min(-(-n_runs // n_workers), _MAX_BATCH_CELLS // max(n_items, 1)))
    edges = [*range(0, n_runs, largest), n_runs]
    return [Slice(name, policy, first, last) for name, policy in named.items() for first, last in pairwise(edges)]


def run_threads(slices: list[Slice], settings: Settings, report: Reporter) -> list[Part]:
    """Play the slices on threads, since kernels and NumPy release the GIL."""
    stop = threading.Event()

    def tick(n: int) -> bool:
        report.add(n)
        return stop.is_set()

    if len(slices) == 1 or n_threads() == 1:
        return [play(slice, settings, tick) for slice in slices]
    futures: list[Future[Part]] = []
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="matroid-bandits") as pool:
        try:
            futures.extend(pool.submit(play, slice, settings, tick) for slice in slices)
            pending = set(futures)
            while pending:  # awake now and then: not every system lets Ctrl-C end a wait
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                if any(future.exception() is not None for future in done):
                    break
        finally:  # also when the user interrupts: those under way stop at their next tick, the others do not start
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    errors = [future.exception() for future in futures if not future.cancelled()]
    for error in errors:
        if error is not None and not isinstance(error, Stopped):
            raise error
    return [future.result() for future in futures]


def run_processes(slices: list[Slice], settings: Settings, report: Reporter, n_jobs: int) -> list[Part]:
    """Play the slices in processes of their own, through joblib."""
    try:
        import joblib
    except ImportError:
        raise MissingDependencyError("n_jobs needs joblib: pip install 'matroid-bandits[parallel]'") from None
    parts = []
    jobs = (joblib.delayed(_play_alone)(slice, settings) for slice in slices)
    for part in joblib.Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        parts.append(part)
        report.add(part.slice.n_runs * settings.n_episodes)
    return parts


def _play_alone(slice: Slice, settings: Settings) -> Part:
    """Play a slice in a worker process, which cannot report."""
    return play(slice, settings, lambda n: False)
