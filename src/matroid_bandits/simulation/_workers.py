"""Where slices are played: one face for all workers; threads of this process, and workers that are sent slices."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from matroid_bandits._util.pickling import pickler
from matroid_bandits._util.threads import n_threads
from matroid_bandits._version import __version__
from matroid_bandits.compiled import Slice
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._worker import Answer, Group, Report, answer, work


class Workers(ABC):
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
    def submit(self, job: Job, slice: Slice, seconds: float, is_unknown: bool) -> Future[Answer]:
        """Send a slice to a worker, and its problem too where the worker does not know it."""

    def played(self, job: Job, n_runs: int) -> None:  # noqa: B027 - threads have nothing to let go of
        """Take note that runs of a job were played."""

    def revive(self, error: BaseException) -> bool:
        """Whether a worker's death, if that is what the error tells of, was made good, so that slices can be sent."""
        return False

    @abstractmethod
    def explain(self, error: BaseException) -> BaseException:
        """What the caller is told where the executor itself failed."""

    @abstractmethod
    def close(self, futures: list[Future[Answer]]) -> None:
        """Release everything; the results of these slices are not wanted any more."""


class Threads(Workers):
    """Threads of this process, since kernels and NumPy release the GIL; nothing is sent.

    With a single worker slices are played in the caller's own thread. A pool that is given stays the caller's.
    """

    def __init__(self, n: int, report: Report = lambda n: None, pool: ThreadPoolExecutor | None = None) -> None:
        self._n, self._report, self._pool, self._is_own = n, report, pool, pool is None
        self._over = threading.Event()
        if self._is_own and n == 1:
            self.n_spare = 0

    def n_workers(self) -> int:
        return self._n

    def submit(self, job: Job, slice: Slice, seconds: float, is_unknown: bool) -> Future[Answer]:
        arguments = slice, job.settings, seconds, self._report, self._over.is_set
        if self._is_own and self._n == 1:
            future: Future[Answer] = Future()
            future.set_result(answer(*arguments))
            return future
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n, thread_name_prefix="matroid-bandits")
        return self._pool.submit(answer, *arguments)

    def explain(self, error: BaseException) -> BaseException:
        return error  # the policy's own

    def close(self, futures: list[Future[Answer]]) -> None:
        self._over.set()  # those under way stop at their next report, the others do not start
        for future in futures:
            future.cancel()
        if self._is_own and self._pool is not None:
            self._pool.shutdown()
        elif not self._is_own:
            for future in futures:
                if not future.cancelled():
                    future.exception()  # the pool is the caller's: leave it with nothing of ours


class Remote(Workers):
    """An executor whose workers need not be threads of this process, with the interface of `concurrent.futures`.

    A problem is written to a file, which each worker reads once; where it does not see the file, as on another
    machine, the problem comes along with a slice.
    """

    def __init__(self, executor: Any, jobs: Sequence[Job], name: str) -> None:
        self._executor, self._name = executor, name
        self._folder: Path | None = None
        self._sources: dict[int, tuple[str, str]] = {}  # the token and the file of each problem, by its settings
        self._groups: dict[int, list[tuple[str, Any]]] = {}
        self._places: dict[Job, int] = {}
        self._left: Counter[int] = Counter()
        for job in jobs:
            policies = self._groups.setdefault(id(job.settings), [])
            self._places[job] = len(policies)
            policies.append((job.name, job.policy))
            self._left[id(job.settings)] += job.n_runs

    def n_workers(self) -> int:
        for name in ("_max_workers", "num_workers"):  # of the standard library and loky; of mpi4py
            n = getattr(self._executor, name, None)
            if isinstance(n, int) and n > 0:
                return n
        return n_threads()

    def submit(self, job: Job, slice: Slice, seconds: float, is_unknown: bool) -> Future[Answer]:
        token, path = self._source(job)
        source = Path(path).read_bytes() if is_unknown else path
        return self._send(__version__, token, source, self._places[job], slice.first, slice.last, seconds)

    def _send(self, *arguments: Any) -> Future[Answer]:
        """Schedule a call of `work` on a worker."""
        try:
            future: Future[Answer] = self._executor.submit(work, *arguments)
        except BrokenExecutor:
            raise
        except RuntimeError as error:
            raise self.explain(error) from error
        return future

    def _source(self, job: Job) -> tuple[str, str]:
        """The name of a problem with its policies, and the file where workers find it."""
        known = id(job.settings)
        if known not in self._sources:
            raw = pickled(Group(job.settings, tuple(self._groups[known])))
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="matroid-bandits-"))
            handle, path = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
            self._sources[known] = hashlib.sha256(raw).hexdigest(), path
        return self._sources[known]

    def played(self, job: Job, n_runs: int) -> None:
        self._left[id(job.settings)] -= n_runs
        if not self._left[id(job.settings)]:
            Path(self._sources.pop(id(job.settings))[1]).unlink(missing_ok=True)

    def explain(self, error: BaseException) -> BaseException:
        if isinstance(error, BrokenExecutor):
            return SimulationError(f"{self._name} is broken, as a worker of it died; give a new one")
        return SimulationError(f"{self._name} failed: {type(error).__name__}: {error}")

    def close(self, futures: list[Future[Answer]]) -> None:
        for future in futures:
            future.cancel()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def pickled(group: Group) -> bytes:
    """A problem and its policies as they are sent."""
    try:
        return bytes(pickler().dumps(group))
    except Exception as error:
        raise SimulationError(
            f"expected a problem and policies that can be sent to a worker; got {type(error).__name__}: {error}"
        ) from error
