"""Slices on a cluster: Dask and Ray. Both start a slice again themselves when its worker dies."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from matroid_bandits._util.extras import missing
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._worker import Answer, work
from matroid_bandits.simulation._workers import Remote

#: How often Ray starts a slice again whose worker died.
_RETRIES = 3


class Dask(Remote):
    """A Dask cluster, through its client, whose own `get_executor` prints a traceback for each cancelled slice."""

    def __init__(self, client: Any, jobs: Sequence[Job]) -> None:
        if getattr(client, "asynchronous", False):
            raise SimulationError("expected a Dask Client that is not asynchronous; got one with asynchronous=True")
        super().__init__(client, jobs, "the Dask cluster")
        self._sent: dict[Future[Answer], Any] = {}

    def n_workers(self) -> int:
        n: int = sum(self._executor.nthreads().values())
        return max(1, n)

    def _send(self, *arguments: Any) -> Future[Answer]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            task, future = self._executor.submit(work, *arguments, pure=False), Future[Answer]()
        self._sent[future] = task
        task.add_done_callback(lambda task: self._take(future, task))
        return future

    def _take(self, future: Future[Answer], task: Any) -> None:
        """Pass on what became of a task."""
        if self._sent.pop(future, None) is None:
            return
        try:
            future.set_result(task.result())
        except BaseException as error:
            future.set_exception(error)

    def close(self, futures: list[Future[Answer]]) -> None:
        tasks = [task for future in futures if (task := self._sent.pop(future, None)) is not None]
        if tasks and self._executor.status == "running":
            self._executor.cancel(tasks)
        super().close([])


class Ray(Remote):
    """The Ray cluster that this process is connected to; where it is not, Ray is started and ended."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        try:
            import ray
        except ImportError:
            raise missing('executor="ray" needs ray', "ray") from None
        self._is_own = not ray.is_initialized()
        if self._is_own:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        super().__init__(ray, jobs, "Ray")
        self._remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(work)
        self._references: dict[Future[Answer], Any] = {}

    def n_workers(self) -> int:
        return max(1, int(self._executor.cluster_resources().get("CPU", 1)))

    def _send(self, *arguments: Any) -> Future[Answer]:
        reference = self._remote.remote(*arguments)
        future: Future[Answer] = reference.future()
        self._references[future] = reference
        future.add_done_callback(lambda future: self._references.pop(future, None))
        return future

    def close(self, futures: list[Future[Answer]]) -> None:
        for reference in list(self._references.values()):
            self._executor.cancel(reference)
        if self._is_own:
            self._executor.shutdown()
        super().close([])
