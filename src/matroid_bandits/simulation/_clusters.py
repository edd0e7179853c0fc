"""Where slices are played on a cluster: Dask and Ray. Both start a slice again themselves when its worker dies."""

from __future__ import annotations

import logging
import uuid
import warnings
from concurrent.futures import Future
from typing import Any

from matroid_bandits._util.extras import missing
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._backend import Sending
from matroid_bandits.simulation._cutting import PendingSlice
from matroid_bandits.simulation._worker import Answer, work

#: How often Ray starts a slice again whose worker died.
_RETRIES = 3


class Dask(Sending):
    """A Dask cluster, through its client."""

    def __init__(self, client: Any) -> None:
        if getattr(client, "asynchronous", False):
            raise SimulationError("expected a Dask Client that is not asynchronous; got one with asynchronous=True")
        self._client, self._name, self._n_sent = client, uuid.uuid4().hex, 0
        self._sent: dict[Future[Answer], Any] = {}

    def n_workers(self) -> int:
        n: int = sum(self._client.nthreads().values())
        return max(1, n)

    def _place(self, raw: bytes) -> Any:
        # a task, not scattered data: where the workers that hold its result die, the scheduler makes it again
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(_same, raw, pure=False)

    def submit(self, pending: PendingSlice, source: tuple[str, Any]) -> Future[Answer]:
        # Dask expects tasks whose keys begin alike to take alike long, and leaves short ones where they are
        self._key = f"slice_{self._name}_{id(pending.state):x}-{self._n_sent}"
        self._n_sent += 1
        return super().submit(pending, source)

    def _send(self, *arguments: Any) -> Future[Answer]:
        task, future = self._client.submit(work, *arguments, key=self._key, pure=False), Future[Answer]()
        self._sent[future] = task
        task.add_done_callback(lambda task: self._take(future, task))
        return future

    def _take(self, future: Future[Answer], task: Any) -> None:
        """Pass on what became of a task.

        The futures of the client's `get_executor` would print a traceback for each that is cancelled.
        """
        if self._sent.pop(future, None) is None:
            return
        try:
            future.set_result(task.result())
        except BaseException as error:
            future.set_exception(error)

    def close(self, futures: list[Future[Answer]]) -> None:
        tasks = [task for future in futures if (task := self._sent.pop(future, None)) is not None]
        if tasks and self._client.status == "running":
            self._client.cancel(tasks)

    def explain(self, error: BaseException) -> BaseException:
        return SimulationError(f"the Dask cluster failed: {type(error).__name__}: {error}")


class Ray(Sending):
    """The Ray cluster that this process is connected to; where it is not, Ray is started and ended."""

    def __init__(self) -> None:
        try:
            import ray
        except ImportError:
            raise missing('executor="ray" needs ray', "ray") from None
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
