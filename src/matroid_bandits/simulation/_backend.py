"""What every place where slices are played can do; one face for all."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Any

from matroid_bandits._version import __version__
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._cutting import PendingSlice
from matroid_bandits.simulation._worker import Answer, JobGroup, pickler


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
    def share(self, group: JobGroup) -> Any:
        """Put a problem where workers find it, and return what tells them where."""

    def release(self, source: Any) -> None:  # noqa: B027 - most have nothing to do
        """Let go of a problem that is done."""

    @abstractmethod
    def submit(self, pending: PendingSlice, source: Any) -> Future[Answer]:
        """Send a slice to a worker."""

    def revive(self, error: BaseException) -> bool:
        """Whether a worker's death, if that is what the error tells of, was made good, so that slices can be sent."""
        return False

    def explain(self, error: BaseException) -> BaseException:
        """What the caller is told where the executor itself failed."""
        return SimulationError(f"the executor failed: {type(error).__name__}: {error}")

    def close(self, futures: list[Future[Answer]]) -> None:
        """Release everything; the results of these slices are not wanted any more."""
        for future in futures:
            future.cancel()


class Sending(Backend):
    """Workers in other processes, which get the problem by its token."""

    def share(self, group: JobGroup) -> tuple[str, Any]:
        raw = _pickled(group)
        return hashlib.sha256(raw).hexdigest(), self._place(raw)

    def release(self, source: tuple[str, Any]) -> None:
        self._remove(source[1])

    def submit(self, pending: PendingSlice, source: tuple[str, Any]) -> Future[Answer]:
        token, place = source
        return self._send(__version__, token, place, pending.state.policy, pending.first, pending.last, pending.limit)

    @abstractmethod
    def _place(self, raw: bytes) -> Any:
        """Put a pickled problem where workers find it."""

    def _remove(self, place: Any) -> None:
        """Remove what `_place` has put somewhere."""

    @abstractmethod
    def _send(self, *arguments: Any) -> Future[Answer]:
        """Schedule a call of `work` on a worker."""


def _pickled(group: JobGroup) -> bytes:
    try:
        return bytes(pickler().dumps(group))
    except Exception as error:
        raise SimulationError(
            f"expected a problem and policies that can be sent to a worker; got {type(error).__name__}: {error}"
        ) from error
