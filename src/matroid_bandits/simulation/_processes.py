"""Processes of our own on this machine, through joblib's loky."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future, wait
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from matroid_bandits._util.extras import missing
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.kernels.compiling import spent
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._worker import Answer, begin
from matroid_bandits.simulation._workers import Remote

#: Seconds that processes wait for the next simulation before they are ended.
_IDLE_S = 60.0

#: Seconds that they get to finish what they play after an error or an interruption.
_GRACE_S = 0.3


class Processes(Remote):
    """Processes of our own; those that die are replaced.

    A pool is kept for the next simulation, and ended when none comes. Its workers do not end by themselves: loky
    starts new ones then, but does not notice when those die, and the caller would wait for ever.
    """

    _kept: ClassVar[dict[tuple[int, int], tuple[Any, threading.Timer]]] = {}  # by process and size
    _keeping: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, n: int, jobs: Sequence[Job] = ()) -> None:
        try:
            import joblib  # noqa: F401 - the package that is installed; loky is inside it
            from joblib.externals import loky
        except ImportError:
            raise missing("executor=N, for processes, needs joblib", "parallel") from None
        self._loky, self._n = loky, n
        self._key = os.getpid(), n
        with self._keeping:
            pool, timer = self._kept.pop(self._key, (None, None))
        if timer is not None:
            timer.cancel()
        super().__init__(pool or self._start(), jobs, "the pool of processes")

    def _start(self) -> Any:
        one = {f"{name}_NUM_THREADS": "1" for name in ("NUMBA", "OMP", "OPENBLAS", "MKL")}
        caller = _lifeline()[0]
        _start_tracker()
        return self._loky.ProcessPoolExecutor(
            max_workers=self._n, timeout=None, env=one, initializer=begin, initargs=(caller, spent())
        )

    def revive(self, error: BaseException) -> bool:
        if not isinstance(error, BrokenExecutor):
            return False
        if self._executor._flags.broken is not None:
            self._executor.shutdown(wait=False, kill_workers=True)
            self._executor = self._start()
        return True

    def explain(self, error: BaseException) -> BaseException:
        return SimulationError(f"a worker process died again and again: {error}")

    def close(self, futures: list[Future[Answer]]) -> None:
        is_idle = False
        try:
            # those that the pool knows: Ctrl-C may come between a submission and its caller's note of it
            futures = [item.future for item in list(self._executor._pending_work_items.values())]
            super().close(futures)
            is_idle = not wait(futures, timeout=_GRACE_S).not_done and self._executor._flags.broken is None
        finally:  # also when Ctrl-C is pressed again
            if is_idle:
                self._keep()
            else:
                self._executor.shutdown(wait=False, kill_workers=True)  # interrupted: their results are not wanted

    def _keep(self) -> None:
        """Leave the pool to the next simulation, unless there is one of its size already."""
        timer = threading.Timer(_IDLE_S, lambda: self._end(kept))
        timer.daemon = True
        kept = self._executor, timer
        if self._kept.setdefault(self._key, kept) is kept:
            timer.start()
        else:
            self._executor.shutdown()

    def _end(self, kept: tuple[Any, threading.Timer]) -> None:
        """End the workers of a pool that no simulation has taken."""
        with self._keeping:
            is_kept = self._kept.get(self._key) is kept
            if is_kept:
                del self._kept[self._key]
        if is_kept:
            self._executor.shutdown(wait=False)


def _start_tracker() -> None:
    """Start loky's process that removes the semaphores of workers, where it does not run yet.

    A signal that ends this process leaves them to that process, which removes them; its warning about them would be
    the last words of a simulation that was ended on purpose.
    """
    from joblib.externals.loky.backend import resource_tracker

    quiet = "ignore:resource_tracker"
    sys.warnoptions.append(quiet)  # passed on to the process
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(quiet)


@cache
def _lifeline() -> tuple[Connection, Connection]:
    """A pipe from this process to its workers, in which nothing is ever sent: it closes when this process ends."""
    ends = Pipe(duplex=False)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_lifeline)
    return ends


def _forget_lifeline() -> None:
    """Close the pipe in a forked process, which would keep it open after the caller's end."""
    for end in _lifeline():
        end.close()
    _lifeline.cache_clear()
