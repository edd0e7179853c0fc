"""Where slices are played: threads, processes, the caller's own executor, Dask, Ray; one face for all."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from matroid_bandits._util.checks import as_index
from matroid_bandits._util.text import shown
from matroid_bandits._util.threads import n_threads
from matroid_bandits._version import __version__
from matroid_bandits.exceptions import MissingDependencyError, SimulationError
from matroid_bandits.simulation._cutting import Piece
from matroid_bandits.simulation._worker import Answer, Group, Report, answer, pickler, work

#: Seconds that processes of ours wait for the next simulation before they end.
_IDLE_S = 60.0

#: How often Ray starts a slice again whose worker died.
_RETRIES = 3


class Backend(ABC):
    """Where slices are played.

    Attributes
    ----------
    n_spare : int
        How many slices wait for each worker, so that it need not wait for the caller.
    """

    n_spare = 1

    @abstractmethod
    def n_workers(self) -> int:
        """How many slices are played at once; asked again now and then."""

    @abstractmethod
    def share(self, group: Group) -> Any:
        """Put a problem where workers find it, and return what tells them where."""

    def release(self, source: Any) -> None:  # noqa: B027 - most have nothing to do
        """Let go of a problem that is done."""

    @abstractmethod
    def submit(self, piece: Piece, source: Any) -> Future[Answer]:
        """Have a slice played."""

    def revive(self, error: BaseException) -> bool:
        """Whether a worker's death, if that is what the error tells of, was made good, so that slices can be sent."""
        return False

    def explain(self, error: BaseException) -> BaseException:
        """What the caller is told where the executor itself failed."""
        return SimulationError(f"the executor failed: {type(error).__name__}: {error}")

    def close(self, futures: list[Future[Answer]]) -> None:
        """Let go of everything; of these slices nobody wants to know any more."""
        for future in futures:
            future.cancel()


def backend_of(executor: Any) -> Backend:
    """The backend of what a user gave as `executor`; None, for threads of ours, is not among it."""
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor._max_workers, executor)
    if executor == "ray" and isinstance(executor, str):
        return Ray()
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        return Dask(executor)
    if isinstance(executor, Executor):
        return Given(executor)
    try:
        n = as_index(executor)
    except TypeError:
        n = 0
    if n < 1:
        raise SimulationError(
            "expected executor to be None (threads), a number of processes of at least 1, a "
            f'concurrent.futures.Executor, a Dask Client or "ray"; got {shown(executor)}'
        )
    return Processes(n)


class Threads(Backend):
    """Threads of this process, since kernels and NumPy release the GIL; nothing is sent.

    With a single worker slices are played in the caller's own thread.
    """

    def __init__(self, n: int, pool: ThreadPoolExecutor | None = None, report: Report = lambda n: None) -> None:
        self._n, self._pool, self._report, self._is_own = n, pool, report, pool is None
        self._over = threading.Event()
        if self._is_own and n == 1:
            self.n_spare = 0

    def n_workers(self) -> int:
        return self._n

    def share(self, group: Group) -> Group:
        return group

    def submit(self, piece: Piece, source: Group) -> Future[Answer]:
        arguments = (source, piece.work.policy, piece.first, piece.last, piece.limit)
        call: Callable[[], Answer] = lambda: answer(*arguments, self._report, self._over.is_set)  # noqa: E731
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
        elif not self._is_own:
            for future in futures:
                if not future.cancelled():
                    future.exception()  # the pool is the caller's: leave it with nothing of ours


class _Sending(Backend):
    """Workers in other processes, which get the problem by its token."""

    def share(self, group: Group) -> tuple[str, Any]:
        raw = _pickled(group)
        return hashlib.sha256(raw).hexdigest(), self._place(raw)

    def release(self, source: tuple[str, Any]) -> None:
        self._remove(source[1])

    def submit(self, piece: Piece, source: tuple[str, Any]) -> Future[Answer]:
        token, place = source
        return self._send(__version__, token, place, piece.work.policy, piece.first, piece.last, piece.limit)

    @abstractmethod
    def _place(self, raw: bytes) -> Any:
        """Put a pickled problem where workers find it."""

    def _remove(self, place: Any) -> None:
        """Remove what `_place` has put somewhere."""

    @abstractmethod
    def _send(self, *arguments: Any) -> Future[Answer]:
        """Have `work` called."""


class _Pool(_Sending):
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

    def submit(self, piece: Piece, source: tuple[str, Any]) -> Future[Answer]:
        if piece.is_unknown:  # a worker on another machine
            source = source[0], Path(source[1]).read_bytes()
        return super().submit(piece, source)

    def _remove(self, place: str) -> None:
        Path(place).unlink(missing_ok=True)

    def close(self, futures: list[Future[Answer]]) -> None:
        super().close(futures)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class Processes(_Pool):
    """So many processes of our own, through joblib's loky; those that die are replaced."""

    _pools: dict[int, Any] = {}  # noqa: RUF012 - kept for the next simulation, which finds them warm

    def __init__(self, n: int) -> None:
        super().__init__()
        try:
            import joblib  # noqa: F401 - the package that is installed; loky is inside it
            from joblib.externals import loky
        except ImportError:
            raise MissingDependencyError(
                "executor=N, for processes, needs joblib: pip install 'matroid-bandits[parallel]'"
            ) from None
        self._loky, self._n = loky, n
        self._pool = self._pools.pop(n, None) or self._start()

    def _start(self) -> Any:
        one = {f"{name}_NUM_THREADS": "1" for name in ("NUMBA", "OMP", "OPENBLAS", "MKL")}
        return self._loky.ProcessPoolExecutor(max_workers=self._n, timeout=_IDLE_S, env=one)

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
        if any(not future.done() for future in futures) or self._pool._flags.broken is not None:
            self._pool.shutdown(wait=False, kill_workers=True)  # interrupted: nobody waits for what they play
        else:
            former = self._pools.setdefault(self._n, self._pool)
            if former is not self._pool:
                self._pool.shutdown()


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


class Dask(_Sending):
    """A Dask cluster, through its client."""

    def __init__(self, client: Any) -> None:
        if getattr(client, "asynchronous", False):
            raise SimulationError("expected a Dask Client that is not asynchronous; got one with asynchronous=True")
        self._client = client
        self._executor = client.get_executor(pure=False)

    def n_workers(self) -> int:
        n: int = sum(self._client.nthreads().values())
        return max(1, n)

    def _place(self, raw: bytes) -> Any:
        # a task, not scattered data: where the workers that hold its result die, the scheduler makes it again
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(_same, raw, pure=False)

    def _send(self, *arguments: Any) -> Future[Answer]:
        future: Future[Answer] = self._executor.submit(work, *arguments)
        return future

    def explain(self, error: BaseException) -> BaseException:
        return SimulationError(f"the Dask cluster failed: {type(error).__name__}: {error}")


class Ray(_Sending):
    """The Ray cluster that this process is connected to; where it is not, Ray is started and ended."""

    def __init__(self) -> None:
        try:
            import ray
        except ImportError:
            raise MissingDependencyError("executor=\"ray\" needs ray: pip install 'matroid-bandits[ray]'") from None
        self._ray, self._is_own = ray, not ray.is_initialized()
        if self._is_own:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        self._remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(work)
        self._references: dict[Future[Answer], Any] = {}

    def n_workers(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _place(self, raw: bytes) -> Any:
        return self._ray.put(raw)

    def _send(self, *arguments: Any) -> Future[Answer]:
        reference = self._remote.remote(*arguments)
        future: Future[Answer] = reference.future()
        self._references[future] = reference
        future.add_done_callback(lambda future: self._references.pop(future, None))
        return future

    def explain(self, error: BaseException) -> BaseException:
        return SimulationError(f"Ray failed: {type(error).__name__}: {error}")

    def close(self, futures: list[Future[Answer]]) -> None:
        for reference in list(self._references.values()):
            self._ray.cancel(reference)
        if self._is_own:
            self._ray.shutdown()


def _same(raw: bytes) -> bytes:
    return raw


def _pickled(group: Group) -> bytes:
    try:
        return bytes(pickler().dumps(group))
    except Exception as error:
        raise SimulationError(
            f"expected a problem and policies that can be sent to a worker; got {type(error).__name__}: {error}"
        ) from error
