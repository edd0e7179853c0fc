"""HTTP/1.1 before any key is read: limits on heads, pipelines and connections, and timeouts of what never comes."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections import Counter
from http import HTTPStatus
from itertools import chain
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from matroid_bandits.service._errors import problem
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._short import Exchange, ShortWay

try:
    import resource
except ImportError:  # pragma: no cover - Windows has no limits of this kind
    resource = None  # type: ignore[assignment]

#: Headers of one request, and requests of one connection that wait for the answer to an earlier one.
_MOST_HEADERS, _MOST_WAITING = 100, 8

#: Files that are kept for the database, snapshots and pages, and connections that are served where files allow more.
_KEPT_FILES, _MOST_CONNECTIONS = 128, 10_000


class Gate:
    """Counts connections, in all and of each address.

    Parameters
    ----------
    settings : Settings
        How many there may be.
    figures : Figures, optional
        Where refusals are counted.
    """

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


def protocol_for(gate: Gate, short: ShortWay) -> type[HttpToolsProtocol]:
    """The protocol of a server: what uvicorn makes for every connection."""
    return type("GuardedProtocol", (_Guarded,), {"gate": gate, "short": short})


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


class _Guarded(HttpToolsProtocol):
    """uvicorn's protocol, which limits none of this by itself."""

    gate: ClassVar[Gate]
    short: ClassVar[ShortWay]

    _address: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _problem: tuple[int, str] | None = None
    _quiet = 0  # bytes since the parser last said anything
    _n_parts = _n_headers = 0  # bytes of the URL and headers after the last read; headers without trailers
    _is_whole = True  # no part of a request is still to come

    # A connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = network(self.client[0] if self.client else "")
        refusal = self.gate.enter(address)
        if refusal:
            self._refuse(503, refusal)
        else:
            self._address = address
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._request_came()
        self.resume_writing()
        if self._address is not None:
            self.gate.leave(self._address)
            self._address = None

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._quiet += len(data)
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
        exchange = None
        if not self._is_busy and not self.flow.write_paused:
            exchange = self.short.enter(self, self.url, self.headers)
        if exchange is None:
            super().on_headers_complete()
        else:
            self.cycle = exchange  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        if self.pipeline and len(self.cycle.body) + len(body) > self.gate.settings.max_body:  # nothing reads it yet
            self._fail(413, f"expected a body of at most {self.gate.settings.max_body:,} bytes, got more")
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
        exchange: object = self.cycle
        if isinstance(exchange, Exchange):
            if self.short.serve(exchange):
                return
            self._take_the_long_way(exchange)
        super().on_message_complete()

    def _take_the_long_way(self, exchange: Exchange) -> None:
        """Let ASGI serve a request of which all has come."""
        self.cycle = None  # type: ignore[assignment]
        super().on_headers_complete()
        super().on_body(bytes(exchange.body))

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
