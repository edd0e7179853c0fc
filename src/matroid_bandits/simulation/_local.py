"""Where slices are played on this machine: threads, processes of ours, and an executor of the caller's own."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

from matroid_bandits._util.extras import missing
from matroid_bandits._util.threads import n_threads
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._backend import Backend, Sending
from matroid_bandits.simulation._cutting import PendingSlice
from matroid_bandits.simulation._sharing import Sharing
from matroid_bandits.simulation._worker import Answer, JobGroup, Report, answer, end_with, work

#: Seconds that processes of ours wait for the next simulation before they are ended.
_IDLE_S = 60.0

#: Seconds that they get to finish what they play after an error or an interruption.
_GRACE_S = 0.3


class Threads(Backend):
    """Threads of this process, since kernels and NumPy release the GIL; nothing is sent.

    With a single worker slices are played in the caller's own thread. `sharing` plays the slices of jobs that find
    out themselves on how many threads they are played.
    """

    def __init__(
        self,
        n: int,
        pool: ThreadPoolExecutor | None = None,
        report: Report = lambda n: None,
        sharing: Sharing | None = None,
    ) -> None:
        self._n, self._pool, self._report, self._is_own, self._sharing = n, pool, report, pool is None, sharing
        self._over = threading.Event()
        if self._is_own and n == 1:
            self.n_spare = 0

    def n_workers(self) -> int:
        return self._n

    def share(self, group: JobGroup) -> JobGroup:
        return group

    def submit(self, pending: PendingSlice, source: JobGroup) -> Future[Answer]:
        arguments = (source, pending.state.policy, pending.first, pending.last, pending.limit)
        call: Callable[[], Answer] = lambda: answer(*arguments, self._report, self._over.is_set)  # noqa: E731
        if self._sharing is not None and pending.state.cut.is_shared:
            slice = source.slice(pending.state.policy, pending.first, pending.last)
            call = self._sharing.reserve(slice, source.settings, pending.limit, self._report, self._over.is_set)
        if self._is_own and self._n == 1:
            future: Future[Answer] = Future()
            future.set_result(call())
            return future
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n, thread_name_prefix="matroid-bandits")
        return self._pool.submit(call)

    def explain(self, error: BaseException) -> BaseException:
        return error  # the policy's own

    def close(self, futures: list[Future[Answer]]) -> None:
        self._over.set()  # those under way stop at their next report, the others do not start
        super().close(futures)
        if self._is_own and self._pool is not None:
            self._pool.shutdown()
            if self._sharing is not None:
                self._sharing.close()
        elif not self._is_own:
            for future in futures:
                if not future.cancelled():
                    future.exception()  # the pool is the caller's: leave it with nothing of ours


class _Pool(Sending):
    """Executors of processes on this machine, as a rule: a problem is written to a file, and each reads it once."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def _place(self, raw: bytes) -> str:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="matroid-bandits-"))
        handle, path = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        return path

    def submit(self, pending: PendingSlice, source: tuple[str, Any]) -> Future[Answer]:
        if pending.is_unknown:  # a worker on another machine
            source = source[0], Path(source[1]).read_bytes()
        return super().submit(pending, source)

    def _remove(self, place: str) -> None:
        Path(place).unlink(missing_ok=True)

    def close(self, futures: list[Future[Answer]]) -> None:
        super().close(futures)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class Processes(_Pool):
    """Processes of our own, through joblib's loky; those that die are replaced.

    A pool is kept for the next simulation, and ended when none comes. Its workers do not end by themselves: loky
    starts new ones then, but does not notice when those die, and the caller would wait for ever.
    """

    _kept: ClassVar[dict[tuple[int, int], tuple[Any, threading.Timer]]] = {}  # by process and size
    _keeping: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, n: int) -> None:
        super().__init__()
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
        self._pool = pool or self._start()

    def _start(self) -> Any:
        one = {f"{name}_NUM_THREADS": "1" for name in ("NUMBA", "OMP", "OPENBLAS", "MKL")}
        caller = _lifeline()[0]
        return self._loky.ProcessPoolExecutor(
            max_workers=self._n, timeout=None, env=one, initializer=end_with, initargs=(caller,)
        )

    def n_workers(self) -> int:
        return self._n

    def _send(self, *arguments: Any) -> Future[Answer]:
        future: Future[Answer] = self._pool.submit(work, *arguments)
        return future

    def revive(self, error: BaseException) -> bool:
        if not isinstance(error, BrokenExecutor):
            return False
        if self._pool._flags.broken is not None:
            self._pool.shutdown(wait=False, kill_workers=True)
            self._pool = self._start()
        return True

    def explain(self, error: BaseException) -> BaseException:
        return SimulationError(f"a worker process died again and again: {error}")

    def close(self, futures: list[Future[Answer]]) -> None:
        super().close(futures)
        if wait(futures, timeout=_GRACE_S).not_done or self._pool._flags.broken is not None:
            self._pool.shutdown(wait=False, kill_workers=True)  # interrupted: their results are not wanted
        else:
            self._keep()

    def _keep(self) -> None:
        """Leave the pool to the next simulation, unless there is one of its size already."""
        timer = threading.Timer(_IDLE_S, lambda: self._end(kept))
        timer.daemon = True
        kept = self._pool, timer
        if self._kept.setdefault(self._key, kept) is kept:
            timer.start()
        else:
            self._pool.shutdown()

    def _end(self, kept: tuple[Any, threading.Timer]) -> None:
        """End the workers of a pool that no simulation has taken."""
        with self._keeping:
            is_kept = self._kept.get(self._key) is kept
            if is_kept:
                del self._kept[self._key]
        if is_kept:
            self._pool.shutdown(wait=False)


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


class Given(_Pool):
    """An executor that the caller made, keeps, and ends."""

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        self._executor = executor

    def n_workers(self) -> int:
        for name in ("_max_workers", "num_workers"):  # of the standard library and loky; of mpi4py
            n = getattr(self._executor, name, None)
            if isinstance(n, int) and n > 0:
                return n
        return n_threads()

    def _send(self, *arguments: Any) -> Future[Answer]:
        try:
            return self._executor.submit(work, *arguments)
        except RuntimeError as error:
            raise self.explain(error) from error

    def explain(self, error: BaseException) -> BaseException:
        name = type(self._executor).__name__
        if isinstance(error, BrokenExecutor):
            return SimulationError(f"the executor given, a {name}, is broken, as a worker of it died; give a new one")
        return SimulationError(f"the executor given, a {name}, failed: {type(error).__name__}: {error}")
