"""Threads for what can wait while requests are served."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._store import reason_of

log = logging.getLogger("matroid_bandits.service")


class OverError(Exception):
    """The server ends, and so does the job at hand."""


class Background(threading.Thread):
    """Does one job after the other; what fails is told, and the next one may go well."""

    def __init__(self, name: str, figures: Figures | None = None) -> None:
        super().__init__(name=f"matroid-bandits-{name}", daemon=True)
        self._figures, self._queue = figures, queue.SimpleQueue[Callable[[], object] | None]()
        self._is_over, self._lock = threading.Event(), threading.Lock()

    def put(self, job: Callable[[], object]) -> None:
        """Do something after what was put before."""
        with self._lock:
            if not self._is_over.is_set():
                if not self.is_alive():
                    self.start()
                self._queue.put(job)

    def run(self) -> None:
        """Do one job after the other."""
        while (job := self._queue.get()) is not None and not self._is_over.is_set():
            try:
                job()
            except OverError:
                return
            except SQLAlchemyError as error:
                if self._figures is not None:
                    self._figures.count("database_errors", "background")
                log.warning("the database did not take what could wait: %s", reason_of(error))
            except (MatroidBanditsError, OSError) as error:
                log.error("what could wait failed: %s", error)
            except Exception as error:
                log.error("what could wait failed: %s", type(error).__name__)

    def rest(self, seconds: float = 0.005) -> None:
        """Wait between two pieces of a job; end it where the server ends."""
        if self._is_over.wait(seconds):
            raise OverError

    def stop(self, *, at_once: bool = False) -> None:
        """End when all is done, or in the middle of what is."""
        if at_once:
            self._is_over.set()
        self._queue.put(None)
        if self.is_alive():
            self.join(30.0)
