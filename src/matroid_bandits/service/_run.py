"""Run a server: campaigns from files, a demo, signals, and the address it is found at."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

import uvicorn

from matroid_bandits.exceptions import AccessError, DataError, ScaleWarning
from matroid_bandits.service._app import create_app
from matroid_bandits.service._demo import Demo
from matroid_bandits.service._homes import Registry, Server
from matroid_bandits.service._keys import Key
from matroid_bandits.service._logs import set_up_logs
from matroid_bandits.service._protocol import Gate, protocol_for, raise_file_limit
from matroid_bandits.service._router import Router
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._shared import Shared
from matroid_bandits.service._short import ShortWay
from matroid_bandits.service._workers import Acceptor, Task, Worker, count_workers, supervise
from matroid_bandits.specs import CampaignSpec, Place, read_campaign

log = logging.getLogger("matroid_bandits.service")

#: Python's threads take turns so often, in seconds: a thread that comes back from the database waits no longer than
#: this for the one that reads requests.
_SWITCH_S = 0.0005

#: Connections that may wait to be accepted.
_BACKLOG = 2048


def run_server(
    settings: Settings,
    files: Sequence[Path] = (),
    *,
    is_applied: bool = False,
    demo: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Run a server until it is told to stop.

    Parameters
    ----------
    settings : Settings
        The database, the address, the limits.
    files : sequence of paths
        Campaign files. Where the name is taken, differences from the campaign are logged as a warning.
    is_applied : bool, default False
        Give campaigns that differ from their files the settings of these.
    demo : bool, default False
        Play a demo campaign with simulated visitors.
    say : callable
        Called with a sentence when the server is ready.

    Raises
    ------
    AccessError
        Other machines could reach the server, and there are no keys.
    UnavailableError
        The database cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> run_server(Settings(db=tempfile.mkdtemp() + "/campaigns.db", host="0.0.0.0"))
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.AccessError: expected keys (matroid-bandits key create) before other machines...
    """
    specs = _read(files)
    service, n_workers = Service(settings), count_workers(settings)
    place = _place_of(service)
    service.database.open()
    service.keys.refresh()
    if service.keys.is_open and not settings.insecure and not _is_loopback(settings.host):
        service.database.close()
        raise AccessError(
            "expected keys (matroid-bandits key create) before other machines may connect, or --insecure; "
            f"got host {settings.host} and no keys"
        )
    listener = _listen(settings)
    set_up_logs(settings.log_level, settings.json_logs)
    if service.keys.are_all_revoked:
        log.warning("every key is revoked: all requests are refused until matroid-bandits key create makes another")
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{listener.getsockname()[1]}{settings.root_path}"
    registry = None if service.database.is_sqlite else Registry(service.database, settings.takeover)

    def ready() -> None:
        say(f"Serving {address} from {service.database}; Ctrl-C ends it.")

    try:
        if n_workers == 1:
            if registry is not None:
                service.router = Router(service, *place, registry)
            _serve(service, listener, specs, is_applied, demo, ready)
        else:
            listener.listen(_BACKLOG)
            task = Task(settings.model_dump(), (*files,), is_applied, demo, listener, "", 0, n_workers)
            supervise(task, _work, registry, ready)
            service.database.close()
    finally:
        listener.close()


def _read(files: Sequence[Path]) -> list[tuple[CampaignSpec, Place]]:
    """Campaigns from files; what they are made of is imported, before stored ones are loaded that need it too."""
    specs = [read_campaign(file) for file in files]
    for spec, place in specs:
        spec.make(place)
    return specs


def _work(task: Task, pipe: Connection) -> None:
    """Serve as one of several workers; their parent alone heeds signals."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    settings = Settings(**task.settings)
    set_up_logs(settings.log_level, settings.json_logs)
    specs, service = _read(task.files), Service(settings)
    service.database.open()
    registry = None if service.database.is_sqlite else Registry(service.database, settings.takeover)
    service.router = Router(service, *_place_of(service, task.worker), registry, beats=False)
    service.shared = Key.shared = Shared(task.shared, task.n_workers, task.worker)
    service.worker = Worker(task, pipe)
    is_first = task.worker == 0
    _serve(service, task.listener, specs if is_first else [], task.is_applied, task.demo and is_first)


def _serve(
    service: Service,
    listener: socket.socket,
    specs: Sequence[tuple[CampaignSpec, Place]],
    is_applied: bool,
    demo: bool,
    say_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve in this process until told to stop."""
    warnings.simplefilter("ignore", ScaleWarning)  # told as an alarm instead
    os.environ.setdefault("UV_USE_IO_URING", "0")  # a thread that polls costs a core of a small machine
    sys.setswitchinterval(_SWITCH_S)
    raise_file_limit()
    service.start()
    visitors = Demo(service) if demo else None
    create, failures = service.prepare(specs, is_applied=is_applied), list[BaseException]()

    def prepare() -> None:
        try:
            create()
        except BaseException as error:  # told by the thread that runs the server, unless it ends already
            if not service.is_draining:
                failures.append(error)
                server.should_exit = True
        else:
            if visitors is not None:
                visitors.start()
            _freeze(service)

    def ready() -> None:
        threading.Thread(target=prepare, daemon=True).start()
        say_ready()

    server = _Server(server_config(service), service, ready, listener)
    try:
        server.run(sockets=[listener] if service.worker is None else [])
    finally:
        if visitors is not None:
            visitors.stop()
    if failures and service.worker is not None:
        service.worker.failed(failures[0])
    elif failures:
        raise failures[0]


def server_config(service: Service) -> uvicorn.Config:
    """How uvicorn serves a service."""
    gate = Gate(service.settings, service.metrics.figures)
    service.count_connections = lambda: gate.n_connections
    return uvicorn.Config(
        create_app(service=service),
        http=protocol_for(gate, ShortWay(service)),
        ws="none",
        log_config=None,
        access_log=False,
        forwarded_allow_ips=service.settings.proxies,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=int(service.settings.drain) or None,
        timeout_keep_alive=65,
        backlog=_BACKLOG,
    )


class _Server(uvicorn.Server):
    """Tells the service about signals, so that streams end and what was begun is finished.

    A worker accepts connections by itself, from the socket that all workers share, and is told by its parent to end.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, ready: Callable[[], None], listener: socket.socket
    ) -> None:
        super().__init__(config)
        self._service, self._ready, self._listener = service, ready, listener
        self._acceptor: Acceptor | None = None
        if service.worker is not None:
            service.worker.on_drain = self._end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if not self.started:
            return
        if (shared := self._service.shared) is not None:
            self._acceptor = Acceptor(self._listener, self._protocol, self._service.count_connections, shared)
        self._ready()

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and finish what was begun."""
        if self._acceptor is not None:
            self._acceptor.stop()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain on SIGTERM and Ctrl-C."""
        if self._service.worker is not None:
            return
        self._end()
        super().handle_exit(sig, frame)
        if sig == signal.SIGINT:
            self._captured_signals.clear()  # a person who ends the server sees no traceback

    def _end(self) -> None:
        threading.Thread(target=self._service.drain, daemon=True).start()
        self.should_exit = True


def _freeze(service: Service) -> None:
    """Once campaigns are loaded: what lives as long as the server need not be looked at by every collection."""
    while not service.is_ready and not service.is_draining:
        time.sleep(0.05)
    log.info("ready: %d campaigns are loaded", len(service.writer.replicas.by_id))
    gc.collect()
    gc.freeze()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise DataError(
            f"expected a free address to listen on, got {settings.host}:{settings.port} ({error.strerror or error})"
        ) from error
    listener.set_inheritable(True)
    return listener


def _place_of(service: Service, worker: int = 0) -> tuple[Server, tuple[str, int]]:
    """This server as others know it, and where it listens to them; worker k has the k-th port from the first.

    Raises
    ------
    DataError
        Servers on other machines may share the campaigns, and could not reach this one.
    """
    settings = service.settings
    if service.database.is_sqlite:
        return Server(service.id, "127.0.0.1:0"), ("127.0.0.1", 0)
    host = settings.host if settings.advertise or not _is_loopback(settings.host) else "127.0.0.1"
    if settings.advertise is None and not _is_loopback(settings.host):
        raise DataError(
            "expected --advertise HOST:PORT, at which other servers of this PostgreSQL reach this one; "
            f"got host {settings.host} without it"
        )
    name, _, port = (settings.advertise or f"{host}:{settings.peer_port or 0}").rpartition(":")
    first = int(port) if settings.peer_port is None else settings.peer_port
    told = int(port) + worker if int(port) else 0
    return Server(service.id, f"{name}:{told}"), (host, first + worker if first else 0)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
