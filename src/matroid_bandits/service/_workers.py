"""Several processes that serve on one address, each an ordinary server, under uvicorn's supervisor.

A worker also listens on a loopback port of its own, at which the others pass requests on to it and Prometheus reads
its figures. Which one it is shows by the first port of the command's that is free.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing as mp
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from matroid_bandits.exceptions import UnavailableError
from matroid_bandits.service._settings import Settings

log = logging.getLogger("matroid_bandits.service")


@dataclass(frozen=True)
class OwnPort:
    """Becomes a listening socket where a worker unpickles it: the first port of these that is free."""

    host: str
    ports: tuple[int, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Listen, in the process that reads this."""
        return _listen, (self.host, self.ports)


#: The worker that this process is, and its own port; set when its sockets are unpickled.
_mine: list[tuple[int, int]] = []


def _listen(host: str, ports: Sequence[int]) -> socket.socket:
    for worker, port in [*enumerate(ports), (0, 0)]:
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError:
            listener.close()
        else:
            _mine.append((worker, listener.getsockname()[1]))
            return listener
    raise UnavailableError("expected a free port for a worker, got none")


@dataclass(frozen=True)
class Task:
    """Makes the application of a worker, in its process."""

    settings: dict[str, Any]
    files: tuple[Path, ...]
    is_applied: bool
    demo: bool
    n_workers: int

    def __call__(self) -> Any:
        """The application."""
        from matroid_bandits.service._run import make_worker  # which imports this file

        worker, port = _mine[-1]
        threading.Thread(target=_end_with_parent, daemon=True).start()
        return make_worker(Settings(**self.settings), self, worker, port)


def _end_with_parent() -> None:
    """Drain and end when the parent has gone, so that its port is free."""
    parent = mp.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def supervise(config: uvicorn.Config, listener: socket.socket, own: OwnPort, ready: Callable[[], None]) -> None:
    """Run workers until told to stop, and call `ready` before; one that dies is started again."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    supervisor = _Supervisor(config, sockets=[listener, own])
    try:
        ready()
        supervisor.run()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise UnavailableError("a worker could not begin; the log says why")


class _Supervisor(Multiprocess):
    """Asks workers for signs of life without waiting for them: signals and deaths are noticed while one imports."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._asked: dict[Process, float] = {}  # since when a sign is awaited

    def keep_subprocess_alive(self) -> None:
        """Start again what has died, or says nothing for too long."""
        for n, process in enumerate(self.processes):
            if process.process.is_alive() and self._is_patient(process):
                continue
            process.kill()
            process.join()
            self._asked.pop(process, None)
            if process.exitcode == STARTUP_FAILURE:
                self.should_exit.set()
                return
            log.warning("worker process %d has ended, and another is started", process.pid)
            self.processes[n] = fresh = Process(self.config, self.sockets)
            fresh.start()

    def _is_patient(self, process: Process) -> bool:
        """Whether a worker has answered, or may still do so; it is asked again once it has."""
        now = time.monotonic()
        try:
            if process.parent_conn.poll():
                process.parent_conn.recv()
                del self._asked[process]
            if process not in self._asked:
                self._asked[process] = now
                process.parent_conn.send(b"ping")
        except (OSError, EOFError, KeyError):  # it ends, which the next look finds
            return True
        return now - self._asked[process] < self.config.timeout_worker_healthcheck


def free_ports(host: str, first: int | None, n: int) -> tuple[int, ...]:
    """The ports of some workers: from a given one on, or any that are free."""
    if first is not None:
        return tuple(range(first, first + n))
    with contextlib.ExitStack() as stack:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = [stack.enter_context(socket.create_server((host, 0), family=family)) for _ in range(n)]
        return tuple(each.getsockname()[1] for each in found)


def count_workers(settings: Settings) -> int:
    """How many workers a command has."""
    if settings.workers != "auto":
        return settings.workers
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores is not None else os.cpu_count() or 1
