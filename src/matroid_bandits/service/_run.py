"""Run a server: campaigns from files, a demo, signals, and the address it is found at."""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import os
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE

from matroid_bandits.exceptions import DataError, ScaleWarning, UnavailableError
from matroid_bandits.service._access import check_access
from matroid_bandits.service._app import create_app
from matroid_bandits.service._demo import Demo
from matroid_bandits.service._logs import set_up_logs
from matroid_bandits.service._protocol import GuardedProtocol, raise_file_limit
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._store import Database
from matroid_bandits.service._workers import OwnPort, Task, count_workers, free_ports, supervise
from matroid_bandits.specs import CampaignSpec, Place, read_campaign

log = logging.getLogger("matroid_bandits.service")

#: Python's threads take turns so often, in seconds: a thread that comes back from the database waits no longer than
#: this for the one that reads requests.
_SWITCH_S = 0.0005

#: Connections that may wait to be accepted.
_BACKLOG = 2048

#: Seconds for which a worker may say nothing to its parent, at least: it imports, or commits.
_PATIENCE_S = 60

#: Addresses that stand for all of a machine.
_ANY = ("0.0.0.0", "::")


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
    specs, n_workers = _read(files), count_workers(settings)
    set_up_logs(settings.log_level, settings.json_logs)
    where = _check(settings)
    listener = _listen(settings)
    port = listener.getsockname()[1]
    words = f"http://{_bracketed(settings.host)}:{port}{settings.root_path}"
    tell = log.info if settings.json_logs else say
    try:
        if n_workers == 1:
            service = Service(settings)
            service.leases.url = _url_of(settings, port)
            ready = partial(tell, f"Serving {words} from {where}; Ctrl-C ends it.")
            _serve(service, listener, ready, specs, is_applied, demo)
            return
        listener.listen(_BACKLOG)
        own = OwnPort(_own_host(settings), free_ports(_own_host(settings), settings.worker_port, n_workers))
        task = Task(settings.model_dump(), (*files,), is_applied, demo, n_workers)
        at = ", ".join(f"{own.host}:{each}" for each in own.ports)
        ready = partial(tell, f"Serving {words} by {n_workers} workers ({at}) from {where}; Ctrl-C ends it.")
        supervise(server_config(task, settings, n_workers), listener, own, ready)
        log.info("all workers have ended")
    finally:
        listener.close()


def _check(settings: Settings) -> Database:
    """Bring the tables up to date, and see that no stranger may connect; a PostgreSQL that is away is waited for."""
    service = Service(settings)
    database = service.database
    try:
        database.open()
        service.keys.refresh()
        check_access(service.keys, settings)
    except (UnavailableError, SQLAlchemyError) as error:
        if not database.is_away(error):
            raise
        log.warning("%s: the server begins without it", error)
    finally:
        database.close()
    return database


def _read(files: Sequence[Path]) -> list[tuple[CampaignSpec, Place]]:
    """Campaigns from files; what they are made of is imported, before stored ones are loaded that need it too."""
    specs = [read_campaign(file) for file in files]
    for spec, place in specs:
        spec.make(place)
    return specs


def make_worker(settings: Settings, task: Task, worker: int, port: int) -> Starlette:
    """The application of one of several workers, which is reached by itself at a port."""
    set_up_logs(settings.log_level, settings.json_logs)
    service = Service(settings, share=(worker, task.n_workers))
    is_local = settings.advertise is None
    host = "127.0.0.1" if settings.advertise is None else settings.advertise.rpartition(":")[0]
    service.leases.url = f"http://{host}:{port}"

    def end(error: BaseException) -> None:
        log.error("%s", error)
        os._exit(STARTUP_FAILURE)  # by which the parent ends the others, too

    service.on_failure = end
    is_first = worker == 0
    _prepare(service, _read(task.files) if is_first else [], task.is_applied, task.demo and is_first)
    log.info("worker %d is reached at %s", worker, service.leases.url)
    return create_app(service=service, own_port=port if is_local else 0)


def _serve(service: Service, listener: socket.socket, ready: Callable[[], None], *given: Any) -> None:
    """Serve in this process until told to stop, after what `_prepare` does with what else is given."""
    failures = list[BaseException]()
    app = create_app(service=service, listeners=[listener])
    server = _Server(server_config(app, service.settings), ready)

    def end(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    service.on_failure = end
    _prepare(service, *given)
    with contextlib.suppress(KeyboardInterrupt):  # a person who ends the server sees no traceback
        server.run(sockets=[listener])
    if failures:
        raise failures[0]


def _prepare(service: Service, specs: Sequence[tuple[CampaignSpec, Place]], is_applied: bool, demo: bool) -> None:
    """Set up the process, and create campaigns in the background."""
    warnings.simplefilter("ignore", ScaleWarning)  # told as an alarm instead
    os.environ.setdefault("UV_USE_IO_URING", "0")  # a thread that polls costs a core of a small machine
    sys.setswitchinterval(_SWITCH_S)
    raise_file_limit()
    create = service.prepare(specs, is_applied=is_applied)

    def prepare() -> None:
        try:
            create()
        except BaseException as error:  # told by the thread that runs the server, unless it ends already
            if not service.is_draining:
                service.on_failure(error)
            return
        if demo:
            Demo(service).start()
        _freeze(service)

    threading.Thread(target=prepare, daemon=True).start()


def server_config(app: Any, settings: Settings, n_workers: int = 1) -> uvicorn.Config:
    """How uvicorn serves an application, or those that a task makes for some workers."""
    longest = 2.0 * (settings.lock_timeout + settings.statement_timeout)  # that a commit may take
    return uvicorn.Config(
        app,
        factory=n_workers > 1,
        workers=n_workers,
        http=GuardedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        forwarded_allow_ips=settings.proxies,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=int(settings.drain) or None,
        timeout_keep_alive=65,
        timeout_worker_healthcheck=max(_PATIENCE_S, math.ceil(longest)),
        backlog=_BACKLOG,
    )


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()


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


def _url_of(settings: Settings, port: int) -> str:
    """Where other servers reach this one; a wrong one makes them write its campaigns by themselves."""
    if settings.advertise is not None:
        return f"http://{settings.advertise}"
    return f"http://{socket.gethostname() if settings.host in _ANY else _bracketed(settings.host)}:{port}"


def _own_host(settings: Settings) -> str:
    """The address of the workers' own ports: this machine alone, unless other machines pass requests on to them."""
    return "127.0.0.1" if settings.advertise is None else settings.host


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
