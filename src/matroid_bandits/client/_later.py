"""What a client does besides answering its callers: it closes decisions whose answers came too late."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from matroid_bandits.client._exchange import Steps
from matroid_bandits.exceptions import MatroidBanditsError, RateLimitError, UnavailableError

#: Makes the steps of something that can wait, and whether it is tried again until the server answers.
Task: TypeAlias = tuple[Callable[[], Steps[None]], bool]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0

#: Where the server is away for long, the oldest tasks are forgotten: answer windows close decisions, too.
_MOST_TASKS = 10_000


class Later:
    """Tasks of a blocking client, done one after the other by a thread that lives as long as there are some.

    Parameters
    ----------
    drive : callable
        How the client drives steps.
    """

    def __init__(self, drive: Callable[[Steps[None]], Any]) -> None:
        self._drive = drive
        self._tasks: deque[Task] = deque(maxlen=_MOST_TASKS)
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._is_busy = False

    def put(self, task: Task) -> None:
        """Do something soon."""
        with self._lock:
            self._tasks.append(task)
            if not self._is_busy and not self._is_over.is_set():
                self._is_busy = True
                threading.Thread(target=self._run, name="matroid-bandits-client", daemon=True).start()

    def stop(self) -> None:
        """Do nothing more."""
        self._is_over.set()

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            with self._lock:
                if not self._tasks or self._is_over.is_set():
                    self._is_busy = False
                    return
                task = self._tasks[0]
            try:
                self._drive(task[0]())
            except (UnavailableError, RateLimitError):
                if task[1]:
                    self._is_over.wait(pause)
                    pause = min(2.0 * pause, _LONGEST_PAUSE)
                    continue
            except MatroidBanditsError:  # the server has answered: there is nothing to do
                pass
            pause = _FIRST_PAUSE
            with self._lock:
                if self._tasks and self._tasks[0] is task:  # unless newer ones have taken its place
                    self._tasks.popleft()


class AsyncLater:
    """The same for a client with an event loop: a task of the loop."""

    def __init__(self, drive: Callable[[Steps[None]], Awaitable[Any]]) -> None:
        self._drive = drive
        self._tasks: deque[Task] = deque(maxlen=_MOST_TASKS)
        self._worker: asyncio.Task[None] | None = None

    def put(self, task: Task) -> None:
        """Do something soon."""
        self._tasks.append(task)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Do nothing more."""
        self._tasks.clear()
        if self._worker is not None:
            self._worker.cancel()

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while self._tasks:
            task = self._tasks[0]
            try:
                await self._drive(task[0]())
            except (UnavailableError, RateLimitError):
                if task[1]:
                    await asyncio.sleep(pause)
                    pause = min(2.0 * pause, _LONGEST_PAUSE)
                    continue
            except MatroidBanditsError:  # the server has answered: there is nothing to do
                pass
            pause = _FIRST_PAUSE
            if self._tasks and self._tasks[0] is task:  # unless newer ones have taken its place
                self._tasks.popleft()
