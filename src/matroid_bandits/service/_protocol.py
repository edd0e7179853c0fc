"""HTTP/1.1 before any key is read: limits on heads, pipelines and connections, and timeouts of what never comes."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from itertools import chain
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from matroid_bandits.service._dispatch import ERA
from matroid_bandits.service._errors import problem
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._passing import Passage, Passing
from matroid_bandits.service._remembered import MARK
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._short import ShortCycle, ShortWay

try:
    import resource
except ImportError:  # pragma: no cover - Windows has no limits of this kind
    resource = None  # type: ignore[assignment]

#: Headers of one request, and requests of one connection that wait for the answer to an earlier one.
_MOST_HEADERS, _MOST_WAITING = 100, 8

#: Files that are kept for the database, snapshots and pages, and connections that are served where files allow more.
_KEPT_FILES, _MOST_CONNECTIONS = 128, 10_000


class Gate:
    """Counts connections, in all and of each address."""

    def __init__(self, settings: Settings, figures: Figures | None = None) -> None:
        self.settings, self.figures = settings, figures or Figures()
        self.most = settings.max_connections or _connections_for_files()
        self._n = 0
        self._of_address: Counter[str] = Counter()

    def enter(self, address: str) -> str:
        """Count a connection; why it is refused, and not counted, where there are too many."""
        most = self.settings.max_connections_per_address
        if self._n >= self.most:
            return f"expected at most {self.most} connections at a time, got one more"
        if self._of_address[address] >= most:
            return f"expected at most {most} connections of one address at a time, got one more"
        self._n += 1
        self._of_address[address] += 1
        return ""

    @property
    def n_connections(self) -> int:
        """How many connections are open."""
        return self._n

    def leave(self, address: str) -> None:
        """Count a connection no more."""
        self._n -= 1
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]


class Front:
    """What the connections of a server share; the application's lifespan makes it, and gives it to the protocol."""

    def __init__(self, service: Service, own_port: int = 0, listeners: Sequence[socket.socket] = ()) -> None:
        self.service, self.own_port, self._listeners = service, own_port, listeners
        self.gate = Gate(service.settings, service.figures)
        self.short, self.passing, self.clock = ShortWay(service), Passing(service), service.leases.clock
        self.connections: set[GuardedProtocol] = set()
        self._loop = asyncio.get_running_loop()
        self.clock.on_pause = self._paused
        service.count_connections = lambda: self.gate.n_connections

    def _paused(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._drop_connections)

    def _drop_connections(self) -> None:
        """After a pause: close what came before it, also connections that were not accepted yet."""
        for connection in [*self.connections]:
            if connection.era != self.clock.era:
                connection.transport.abort()
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()


def raise_file_limit() -> None:
    """Let this process open as many files as it may, within reason."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * _MOST_CONNECTIONS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Refused(Exception):
    """Raised inside the parser's callbacks; it ends the connection."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits, the short way, and passing on."""

    _address: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _problem: tuple[int, str] | None = None
    _quiet = 0  # bytes since the parser last said anything
    _n_parts = _n_headers = 0  # bytes of the URL and headers after the last read; headers without trailers
    _data = b""  # what was read last
    _is_whole = True  # no part of a request is still to come

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], **more: Any) -> None:
        super().__init__(config, server_state, app_state, **more)
        front: Front = app_state["front"]
        self.front, self.gate, self.short, self._clock = front, front.gate, front.short, front.clock
        self.era = front.clock.era

    # A connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.front.connections.add(self)
        if self.server is not None and self.server[1] == self.front.own_port != 0:
            self._expect_request()
            return
        address = network(self.client[0] if self.client else "")
        refusal = self.gate.enter(address)
        if refusal:
            self._refuse(503, refusal)
        else:
            self._address = address
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.front.connections.discard(self)
        self._request_came()
        self.resume_writing()
        if self._address is not None:
            self.gate.leave(self._address)
            self._address = None

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.era != self._clock.era:  # it came before a pause
            self.transport.abort()
            return
        self._quiet += len(data)
        self._data = data if self._is_whole else b""  # that one request may be all of
        super().data_received(data)
        if not self._is_whole:
            self._check_part()
        if self._quiet > self.gate.settings.max_head:  # part of a header or a trailer, which the parser keeps
            self._refuse(431, self._too_long())
        elif self._timer is None and not (self._is_whole and self._is_busy):
            self._expect_request()

    @property
    def _is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    # What the parser says

    def on_message_begin(self) -> None:
        self._quiet = self._n_parts = 0
        self._is_whole = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._quiet, self._n_headers = 0, len(self.headers)
        if problem := self._problem_of_head():
            self._fail(*problem)
        if len(self.pipeline) >= _MOST_WAITING:
            self._fail(429, f"expected at most {_MOST_WAITING} requests behind one that is not answered, got more")
        cycle: Passage | ShortCycle | None = None
        given = dict(self.headers)
        if not self._is_busy and not self.flow.write_paused:
            cycle = self.front.passing.enter(self, given) or self.short.enter(self, given)
        self.scope[ERA] = self.era  # type: ignore[literal-required]
        if MARK in given:
            self._take_mark(given[MARK])
        if cycle is None:
            super().on_headers_complete()
        else:
            self.cycle = cycle  # type: ignore[assignment]

    def _take_mark(self, value: bytes) -> None:
        """Refuse a request that another server passes on after a pause; its connection is no client's."""
        if self.front.passing.is_stale(value):
            self.transport.abort()
            raise _Refused
        if self._address is not None and self.front.passing.is_believed(self.client[0] if self.client else ""):
            self.gate.leave(self._address)
            self._address = None

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        if self.pipeline and len(self.cycle.body) + len(body) > self.gate.settings.max_body:  # nothing reads it yet
            self._fail(413, f"expected a body of at most {self.gate.settings.max_body:,} bytes, got more")
        if isinstance(self.cycle, Passage):
            if len(self.cycle.body) + len(body) > self.cycle.most:
                self._fail(413, f"expected a body of at most {self.cycle.most:,} bytes, got more")
            self.cycle.body += body
            return
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """Another chunk of the body begins."""
        self._quiet = 0

    def on_message_complete(self) -> None:
        if len(self.headers) > self._n_headers and (problem := self._problem_of_head()):  # by its trailers
            self._fail(*problem)
        self._quiet, self._is_whole = 0, True
        if self._timer is not None:
            self._request_came()
        cycle: object = self.cycle
        if isinstance(cycle, Passage):
            cycle.more_body = False
            self.front.passing.send(cycle, self._data)
            return
        if isinstance(cycle, ShortCycle):
            if self.short.serve(cycle):
                return
            self._take_the_long_way(cycle)
        super().on_message_complete()

    def _take_the_long_way(self, cycle: ShortCycle) -> None:
        """Let ASGI serve a request of which all has come."""
        self.cycle = None  # type: ignore[assignment]
        super().on_headers_complete()
        super().on_body(bytes(cycle.body))

    def run_here(self, passage: Passage) -> None:
        """Let ASGI serve a request that could not be passed on; others may wait behind it."""
        path, _, query = passage.target.partition(b"?")
        scope = passage.scope
        scope["method"], scope["path"], scope["raw_path"] = passage.method.decode(), path.decode(), path
        scope["query_string"] = query
        cycle = RequestResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=passage.keep_alive,
            on_response=self.on_response_complete,
        )
        cycle.body, cycle.more_body = passage.body, False
        cycle.message_event.set()
        if self.cycle is passage:  # type: ignore[comparison-overlap]
            self.cycle = cycle
        self._start_asgi_task(cycle, self.app)

    def shutdown(self) -> None:
        """End with the server: what was begun is finished, but for streams."""
        if not self.front.service.is_draining:
            self.front.service.drain()
        super().shutdown()
        cycle: object = self.cycle
        if isinstance(cycle, Passage) and cycle.is_apart:
            self.transport.close()

    # Heads are looked at when they are whole and after each read, and not at every header: what one read brings is
    # bounded, and calls per header would be a tenth of what a small request costs.

    def _check_part(self) -> None:
        """Look at what has come of a request that is not whole."""
        n_parts = len(self.url) + len(self.headers)
        if n_parts != self._n_parts:
            self._quiet, self._n_parts = 0, n_parts
        if problem := self._problem_of_head():
            self._refuse(*problem)

    def _problem_of_head(self) -> tuple[int, str] | None:
        """What is too long, if anything."""
        settings, headers = self.gate.settings, self.headers
        if len(self.url) > settings.max_url:
            return 414, f"expected a URL of at most {settings.max_url:,} bytes, got more"
        if len(headers) > _MOST_HEADERS:
            return 431, f"expected at most {_MOST_HEADERS} headers, got more"
        if sum(map(len, chain.from_iterable(headers))) + 4 * len(headers) > settings.max_head:
            return 431, self._too_long()
        return None

    # Timeouts

    def _expect_request(self) -> None:
        self._timer = self.loop.call_later(self.gate.settings.request_timeout, self._too_late)

    def _request_came(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        seconds = self.gate.settings.request_timeout
        self._refuse(408, f"expected a whole request within {seconds:g} seconds, got a part of one")

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.gate.settings.answer_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        cycle: object = self.cycle
        if isinstance(cycle, Passage) and cycle.link is not None:
            cycle.link.resume()

    # Refusals

    def _too_long(self) -> str:
        return f"expected headers of at most {self.gate.settings.max_head:,} bytes, got more"

    def _fail(self, status: int, detail: str) -> None:
        """Refuse from inside the parser, which calls `send_400_response`."""
        self._problem = status, detail
        raise _Refused

    def send_400_response(self, msg: str) -> None:
        self._refuse(*(self._problem or (400, "expected a request of HTTP/1.1, got another")))

    def _refuse(self, status: int, detail: str) -> None:
        """Say why, unless an earlier request is still being answered, and close the connection."""
        self._request_came()
        if self.transport.is_closing():
            return
        self.gate.figures.count("refused_connections", str(status))
        is_clear = not self._is_busy or (not self._is_whole and not self.pipeline and not self.cycle.response_started)
        if is_clear:
            phrase = HTTPStatus(status).phrase
            body = problem(status, phrase.title().replace(" ", "").replace("-", ""), detail)
            lines = [
                f"HTTP/1.1 {status} {phrase}",
                "content-type: application/problem+json",
                f"content-length: {len(body)}",
                *(["retry-after: 1"] if status in (429, 503) else []),
                "connection: close",
            ]
            self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()


def network(host: str) -> str:
    """What counts as one address: all of IPv4, and the half of IPv6 that a site is given."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address) or address.ipv4_mapped is not None:
        return host
    return str(ipaddress.ip_network((int(address), 64), strict=False))


def _connections_for_files() -> int:
    if resource is None:
        return _MOST_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return min(max(soft - _KEPT_FILES, soft // 2), _MOST_CONNECTIONS)
