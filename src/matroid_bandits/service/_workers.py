"""Several processes that serve on one socket: a parent that starts, watches and ends them, and what each does.

Parent and workers talk by pipes. A worker says again and again that it is alive; one that says nothing for the
takeover time is killed and another started in its place. The parent says which workers there are. At the end it asks
all to drain, and ends them when all have: until then homes serve what the others have let in.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing as mp
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.service._homes import BEAT, SILENT, Registry, Server
from matroid_bandits.service._router import Router
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._shared import Shared, make_shared

log = logging.getLogger("matroid_bandits.service")

#: Seconds that a worker may take until it is first heard of: it imports, and opens the database.
_MOST_START_S: Final = 120.0

#: Seconds from the start of a worker to that of the one that takes its place, at least.
_APART_S: Final = 1.0

#: Seconds that a worker gets to save snapshots and end, beyond those of --drain.
_MOST_END_S: Final = 30.0


@dataclass(frozen=True)
class Task:
    """What a worker is started with.

    Attributes
    ----------
    settings : dict
        The settings of the command.
    files : tuple of paths
        Campaign files; the first worker creates what they say.
    is_applied, demo : bool
        As for `run_server`.
    listener : socket
        Where all workers accept connections.
    shared : str
        The file of what they count together.
    worker, n_workers : int
        Which one it is, and of how many.
    """

    settings: dict[str, Any]
    files: tuple[Path, ...]
    is_applied: bool
    demo: bool
    listener: socket.socket
    shared: str
    worker: int
    n_workers: int


@dataclass(eq=False)
class _Child:
    """A worker as its parent knows it."""

    process: SpawnProcess
    pipe: Connection
    started: float
    heard: float
    server: Server | None = None
    is_drained: bool = False


class Parent:
    """Starts workers, and sees to it that they go on.

    Parameters
    ----------
    task : Task
        What each worker is started with, but for its number.
    work : callable
        What a worker does, with a task and its end of the pipe.
    registry : Registry, optional
        Where PostgreSQL is told that workers are alive.
    """

    def __init__(
        self, task: Task, work: Callable[[Task, Connection], None], registry: Registry | None = None
    ) -> None:
        self._task, self._work, self._registry = task, work, registry
        self._settings = Settings(**task.settings)
        self._silent = SILENT * self._settings.takeover
        self._children: dict[int, _Child] = {}
        self._next_start: dict[int, float] = dict.fromkeys(range(task.n_workers), 0.0)
        self._shared = Shared(task.shared, task.n_workers, 0)
        self._error: BaseException | None = None
        self._is_ending = self._is_ready = False
        self._next_beat = 0.0

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until told to stop; call `ready` when all workers listen for the first time."""
        before = {each: signal.signal(each, self._end) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not self._is_ending:
                self._step()
                listening = [child for child in self._children.values() if child.server is not None]
                if not self._is_ready and len(listening) == self._task.n_workers:
                    self._is_ready = True
                    ready()
            self._drain()
        finally:
            for child in self._children.values():
                child.process.kill()
            for each, handler in before.items():
                signal.signal(each, handler)
            self._shared.close()
        if self._error is not None:
            raise self._error

    def _end(self, *_: Any) -> None:
        self._is_ending = True

    def _step(self) -> None:
        """Start workers that are missing, hear those that are there, and say to PostgreSQL which are."""
        now = time.monotonic()
        for worker, at in self._next_start.items():
            if worker not in self._children and now >= at:
                self._start(worker)
        self._hear(BEAT * self._settings.takeover)
        now = time.monotonic()
        for worker, child in [*self._children.items()]:
            most = self._settings.takeover if child.server is not None else _MOST_START_S
            if now - child.heard > most:
                log.error("worker %d says nothing for %.1f seconds, and is ended", worker, now - child.heard)
                child.process.kill()
                child.process.join()
                self._bury(worker)
        if now >= self._next_beat:
            self._next_beat = now + BEAT * self._settings.takeover
            self._beat(now)

    def _start(self, worker: int) -> None:
        context = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        task = replace(self._task, worker=worker)
        process = context.Process(target=self._work, args=(task, theirs), name=f"matroid-bandits-{worker}")
        process.start()
        theirs.close()
        now = time.monotonic()
        self._children[worker] = _Child(process, ours, now, now)
        self._next_start[worker] = now + _APART_S

    def _hear(self, seconds: float) -> None:
        """Take what workers say, and notice those that have ended."""
        by_source: dict[Any, int] = {}
        for worker, child in self._children.items():
            by_source[child.pipe] = by_source[child.process.sentinel] = worker
        for source in wait([*by_source], seconds):
            worker = by_source[source]
            if worker not in self._children:
                continue
            child = self._children[worker]
            try:
                while child.pipe.poll():
                    self._take(child, child.pipe.recv())
            except (EOFError, OSError):
                child.process.join(1.0)
            if source is child.process.sentinel or child.process.exitcode is not None:
                child.process.join(1.0)  # for its exit code
                if not (self._is_ending and child.is_drained):
                    log.error("worker %d ended with code %s", worker, child.process.exitcode)
                self._bury(worker)

    def _take(self, child: _Child, message: tuple[Any, ...]) -> None:
        child.heard = time.monotonic()
        match message:
            case "listening", id, address:
                child.server = Server(id, address)
                self._beat(child.heard)
                self._tell_all()
            case "failed", error:
                self._error, self._is_ending = error, True
            case ("drained",):
                child.is_drained = True

    def _bury(self, worker: int) -> None:
        """Forget a worker that has ended; another takes its place in `_step`."""
        child = self._children.pop(worker)
        child.pipe.close()
        self._shared.clear(worker)
        if child.server is not None:
            self._tell_database(lambda registry, server=child.server: registry.leave([server.id]))  # type: ignore[misc]
        self._tell_all()

    def _tell_all(self) -> None:
        """Let every worker know which others there are; the first is home of all campaigns of a SQLite file."""
        servers = {worker: child.server for worker, child in self._children.items() if child.server is not None}
        for child in self._children.values():
            self._send(child, ("workers", servers))

    def _send(self, child: _Child, message: tuple[Any, ...]) -> None:
        try:
            child.pipe.send(message)
        except OSError:
            log.debug("a worker has ended before it was told something")

    def _beat(self, now: float) -> None:
        alive = [
            replace(child.server, is_draining=self._is_ending)
            for child in self._children.values()
            if child.server is not None and now - child.heard < self._silent
        ]
        self._tell_database(lambda registry: registry.beat(alive))

    def _tell_database(self, work: Callable[[Registry], None]) -> None:
        if self._registry is not None:
            try:
                work(self._registry)
            except (SQLAlchemyError, OSError) as error:
                log.warning("the database was not told which workers there are: %s", type(error).__name__)

    def _drain(self) -> None:
        """Let workers finish what they have begun, all of them before any ends."""
        for child in self._children.values():
            self._send(child, ("drain",))
        end = time.monotonic() + self._settings.drain + 5.0
        while time.monotonic() < end and not all(child.is_drained for child in self._children.values()):
            self._hear(0.1)
            self._beat(time.monotonic())
        for child in self._children.values():
            self._send(child, ("stop",))
        end = time.monotonic() + _MOST_END_S
        for child in self._children.values():
            child.process.join(max(end - time.monotonic(), 0.1))


@dataclass(eq=False)
class Worker:
    """A worker's end of the pipe, on its event loop.

    Attributes
    ----------
    task : Task
        What it was started with.
    pipe : Connection
        Its parent is at the other end.
    on_drain : callable
        Called when requests are to be finished.
    """

    task: Task
    pipe: Connection
    on_drain: Callable[[], None] = lambda: None
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _router: Router | None = None

    async def start(self, router: Router) -> None:
        """Say where this worker is found, and from now on that it is alive."""
        self._router, loop = router, asyncio.get_running_loop()
        loop.add_reader(self.pipe.fileno(), self._hear)
        self._say("listening", router.me.id, router.me.address)
        every = BEAT * Settings(**self.task.settings).takeover

        def beat() -> None:
            self._say("beat")
            loop.call_later(every, beat)

        beat()

    async def drained(self) -> None:
        """Say that no request is left, and wait until the others have none either."""
        self._say("drained")
        await self._stopped.wait()

    def failed(self, error: BaseException) -> None:
        """Say that there is no use in going on."""
        try:
            self._say("failed", error)
        except Exception:  # one that cannot be sent as it is
            self._say("failed", MatroidBanditsError(str(error)))

    def _say(self, *message: Any) -> None:
        try:
            self.pipe.send(message)
        except OSError:
            self._orphaned()

    def _hear(self) -> None:
        try:
            while self.pipe.poll():
                message = self.pipe.recv()
                if message[0] == "workers" and self._router is not None:
                    self._router.meet(message[1])
                elif message[0] == "drain":
                    self.on_drain()
                elif message[0] == "stop":
                    self._stopped.set()
        except (EOFError, OSError):
            self._orphaned()

    def _orphaned(self) -> None:
        """The parent has gone: end too."""
        if not self._stopped.is_set():
            asyncio.get_running_loop().remove_reader(self.pipe.fileno())
            self._stopped.set()
            self.on_drain()


def count_workers(settings: Settings) -> int:
    """How many workers a command has.

    Examples
    --------
    >>> count_workers(Settings(workers=3)), count_workers(Settings(workers="auto")) >= 1
    (3, True)
    """
    if settings.workers != "auto":
        return settings.workers
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores is not None else os.cpu_count() or 1


def supervise(
    task: Task, work: Callable[[Task, Connection], None], registry: Registry | None, ready: Callable[[], None]
) -> None:
    """Run workers until told to stop."""
    name = make_shared(task.n_workers)
    try:
        Parent(replace(task, shared=name), work, registry).run(ready)
    finally:
        os.remove(name)


class Acceptor:
    """Accepts connections of the socket that workers share, one at a time, so that all get as many.

    Parameters
    ----------
    listener : socket
        Where connections come in.
    make : callable
        Makes the protocol of a connection.
    count : callable
        How many connections are open here.
    shared : Shared
        Where workers see how many the others have.
    """

    #: Connections that a worker may have beyond those of the others, and seconds after which it looks again.
    _MOST_MORE, _PAUSE_S = 1, 0.002

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[], asyncio.Protocol],
        count: Callable[[], int],
        shared: Shared,
    ) -> None:
        self._listener, self._make, self._count, self._shared = listener, make, count, shared
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = self._has_waited = False
        listener.setblocking(False)
        self._listen()

    def stop(self) -> None:
        """Accept no more."""
        self._is_over = True
        self._loop.remove_reader(self._listener.fileno())

    def _listen(self) -> None:
        if not self._is_over:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        self._shared.connections = n = self._count() + len(self._tasks)
        if n > self._shared.fewest_connections + self._MOST_MORE and not self._has_waited:
            self._has_waited = True
            self._pause(self._PAUSE_S)  # another worker takes it, unless it has stopped
            return
        self._has_waited = False
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # too many files are open
            log.warning("a connection was not accepted: %s", error.strerror or error)
            self._pause(0.1)
            return
        accepted.setblocking(False)
        task = self._loop.create_task(self._take(accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take(self, accepted: socket.socket) -> None:
        await self._loop.connect_accepted_socket(self._make, accepted)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(seconds, self._listen)
