"""Passing requests on: the bytes of a request go to the holder of the campaign's lease, and the answer's bytes back.

It is what a reverse proxy does: the request goes to the holder's ordinary URL, and keys and limits are checked there.
A request is marked and passed on once. It carries an idempotency key, so that this server can execute it where the
holder cannot be reached or does not answer in time: slower, and as safe.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from matroid_bandits.service._remembered import MARK, read_mark
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._service import Service
from matroid_bandits.service._short import Cycle

if TYPE_CHECKING:
    from matroid_bandits.service._protocol import GuardedProtocol

log = logging.getLogger("matroid_bandits.service")

#: Connections that are kept to one holder, with one request on each.
_MOST_KEPT: Final = 64

#: Seconds for a connection to a holder, and after which an idle one is not used again: the holder may close it.
_CONNECT_S, _IDLE_S = 1.0, 30.0

#: Bytes of an answer up to which it is passed back in one piece; a longer one leaves the pool with its connection.
_MOST_WHOLE: Final = 65_536

_HEAD_END = b"\r\n\r\n"

#: Headers that concern one connection and not the next one; the one of addresses is written anew.
_OF_A_HOP = (b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"te", b"x-forwarded-for")
_REWRITTEN = frozenset(_OF_A_HOP) - {b"connection", b"content-length"}
_UNUSUAL = (MARK, b"expect", b"upgrade")

_PREFIX = "/v1/campaigns/{name}"
_PATH = re.compile(rb"/v1/campaigns/([A-Za-z0-9._-]{1,64})((?:/[a-z]+)*)(?:\?[^#]*)?")
_PASSED = {
    (each.method.encode(), each.path.removeprefix(_PREFIX).encode()): each
    for each in ENDPOINTS
    if each.path.startswith(_PREFIX) and not each.is_local
}


class Passage(Cycle):
    """A request on its way to the holder."""

    __slots__ = (
        "head", "headers", "is_apart", "is_plain", "link", "mark", "method", "most", "n_tries", "target", "url"
    )  # fmt: skip

    def __init__(self, protocol: GuardedProtocol, url: str, method: bytes, most: int, is_apart: bool) -> None:
        super().__init__(protocol, protocol.parser.should_keep_alive() and not is_apart)
        self.url, self.method, self.most, self.target, self.headers = (
            url,
            method,
            most,
            protocol.url,
            protocol.headers,
        )
        self.is_apart = is_apart  # a stream, which has a connection of its own that ends with it
        self.is_plain, self.head, self.mark, self.n_tries = False, b"", b"", 0
        self.link: _Link | None = None

    def set(self) -> None:
        """End the connection to the holder when the client has gone."""
        if self.disconnected and self.link is not None:
            self.link.abort()

    def finish(self) -> None:
        """Take note that the answer was passed back whole."""
        self.response_complete, self.link = True, None
        if not self.keep_alive:
            self.protocol.transport.close()
        self.protocol.on_response_complete()


class _Link(asyncio.Protocol):
    """A connection to a holder, with one request on it at a time."""

    def __init__(self, pool: _Pool) -> None:
        self._pool, self._loop = pool, asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self.passage: Passage | None = None
        self.used, self.is_kept, self.is_fresh = self._loop.time(), True, True
        self._head, self._left, self._closes = b"", -1, False  # -1: no head has come

    def send(self, passage: Passage) -> None:
        """Send a request; the answer goes to its client."""
        assert self.transport is not None
        self.passage, passage.link = passage, self
        if passage.disconnected:
            self.abort()
        else:
            self.transport.write(passage.head + passage.body)

    def abort(self) -> None:
        """End the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass back what came of the answer."""
        passage = self.passage
        if passage is None:  # nothing was asked
            self.abort()
            return
        if self._left == -1:
            data = self._head + data
            if (end := data.find(_HEAD_END)) < 0:
                self._head = data
                return
            data = self._begin(passage, data, end + 2)
        elif not passage.is_apart:
            self._left -= len(data)
        if self._left < 0:  # more than one answer, or one that cannot be read
            self.abort()
            return
        passage.protocol.transport.write(data)
        if self._left == 0:
            self._finish(passage)
        elif passage.protocol.flow.write_paused:
            assert self.transport is not None
            self.transport.pause_reading()

    def _begin(self, passage: Passage, data: bytes, end: int) -> bytes:
        """Read the head of an answer, which ends before `end`; what is to be passed back of it and behind it."""
        head = data[:end]
        names = head if b"\r\ncontent-length: " in head else head.lower()  # as servers of this package write them
        _, found, rest = names.partition(b"\r\ncontent-length: ")
        length = rest.partition(b"\r")[0]
        if not passage.is_apart and found and length.isdigit():
            self._left = int(length) - (len(data) - end - 2)
        elif passage.is_apart or names.startswith((b"http/1.1 204", b"http/1.1 304")):
            self._left = 1 if passage.is_apart else 0
        if self._left < 0:
            return data
        passage.response_started = True
        self._pool.passing.answered(passage)
        self._closes = b"\r\nconnection: close" in names
        if self._left > _MOST_WHOLE:
            self._pool.let_go(self)
        if self._closes == (not passage.keep_alive):
            return data
        if self._closes:  # this connection, which is not the client's
            lines = head.split(b"\r\n")
            head = b"\r\n".join(line for line in lines if not line.lower().startswith(b"connection:"))
        else:
            head += b"connection: close\r\n"
        return head + data[end:]

    def _finish(self, passage: Passage) -> None:
        is_over = self._closes or not self.is_kept
        self.passage, self.used, self.is_fresh = None, self._loop.time(), False
        self._head, self._left, self._closes = b"", -1, False
        passage.finish()
        if is_over:
            self.abort()
        else:
            self._pool.free(self)

    def resume(self) -> None:
        """Read on: the client takes more."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Send the request elsewhere, where nothing was answered; end the client's connection in the middle."""
        passage, self.passage, self.transport = self.passage, None, None
        self._pool.lost(self)
        if passage is None or passage.disconnected:
            return
        passage.link = None
        if passage.response_started and passage.is_apart:
            passage.finish()  # a stream that was cut shows by its last chunk, which is missing
        elif passage.response_started:
            passage.protocol.transport.abort()
        elif not self.is_fresh and passage.n_tries == 1:
            self._pool.send(passage, is_fresh=True)  # the holder had closed it when it was not used
        else:
            self._pool.passing.give_back(passage, "unreachable")


class _Pool:
    """The connections to one holder."""

    def __init__(self, passing: Passing, url: str) -> None:
        self.passing, self._loop = passing, asyncio.get_running_loop()
        host, _, port = url.partition("://")[2].rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)
        self._idle: list[_Link] = []
        self._waiting: deque[Passage] = deque()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_kept = 0

    def send(self, passage: Passage, *, is_fresh: bool = False) -> None:
        """Send a request over a free connection, or a new one; or once a connection is free."""
        passage.n_tries += 1
        while self._idle and not passage.is_apart and not is_fresh:
            link = self._idle.pop()
            if link.used > self._loop.time() - _IDLE_S and link.transport is not None:
                link.send(passage)
                return
            link.abort()
        if passage.is_apart or is_fresh or self._n_kept < _MOST_KEPT:
            self._n_kept += not passage.is_apart
            task = self._loop.create_task(self._connect(passage))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._waiting.append(passage)

    async def _connect(self, passage: Passage) -> None:
        link = _Link(self)
        link.is_kept = not passage.is_apart
        try:
            connecting = self._loop.create_connection(lambda: link, self._host, self._port)
            await asyncio.wait_for(connecting, _CONNECT_S)
        except (OSError, TimeoutError, ValueError):
            self._n_kept -= link.is_kept
            self.passing.give_back(passage, "unreachable")
            while self._waiting and not self._n_kept:
                self.passing.give_back(self._waiting.popleft(), "unreachable")
            return
        self._links.add(link)
        if link.transport is None:  # lost again
            self.passing.give_back(passage, "unreachable")
        elif passage.response_complete or passage.disconnected:
            self.free(link)
        else:
            link.send(passage)

    def free(self, link: _Link) -> None:
        """Send the next request over a connection, or keep it."""
        while self._waiting and link.is_kept:
            passage = self._waiting.popleft()
            if not passage.response_complete and not passage.disconnected:
                link.send(passage)
                return
        if link.is_kept:
            self._idle.append(link)
        else:
            link.abort()

    def let_go(self, link: _Link) -> None:
        """Keep a connection apart from now on: its answer is long."""
        if link.is_kept:
            link.is_kept = False
            self._made_room()

    def lost(self, link: _Link) -> None:
        """Forget a connection."""
        self._links.discard(link)
        if link in self._idle:
            self._idle.remove(link)
        if link.is_kept:
            self._made_room()

    def _made_room(self) -> None:
        self._n_kept -= 1
        while self._waiting:
            passage = self._waiting.popleft()
            if not passage.response_complete and not passage.disconnected:
                passage.n_tries -= 1
                self.send(passage)
                return

    def close(self) -> None:
        """End every connection."""
        for link in [*self._links]:
            link.abort()


class Passing:
    """Passes requests on for a server's protocol."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service, self._leases, self._figures = service, service.leases, service.figures
        self._root, self._patience = settings.root_path.encode(), settings.lease
        self._sizes = settings.max_body, settings.max_spec
        self._proxies: Any = ProxyHeadersMiddleware(None, settings.proxies).trusted_hosts  # type: ignore[arg-type]
        self._pools: dict[str, _Pool] = {}
        self._avoided: dict[str, float] = {}
        self._sent: dict[Passage, float] = {}  # those that wait for the beginning of an answer, the oldest first
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, protocol: GuardedProtocol, headers: dict[bytes, bytes]) -> Passage | None:
        """The passage of a request whose head has come; None where it is to be executed here."""
        if not self._leases.has_others or self._service.is_draining:
            return None
        target = protocol.url.removeprefix(self._root) if self._root else protocol.url
        found = _PATH.fullmatch(target)
        if found is None or not (url := self._leases.url_of(found[1].decode())):
            return None
        method = protocol.parser.get_method()
        endpoint = _PASSED.get((method, found[2]))
        if endpoint is None or (url in self._avoided and not self._is_over(url, self._loop.time())):
            return None
        most = self._sizes[endpoint.lists_items]
        is_unusual = not headers.keys().isdisjoint(_UNUSUAL) or protocol.parser.get_http_version() != "1.1"
        if is_unusual or int(headers.get(b"content-length", b"0")) > most:
            return None
        passage = Passage(protocol, url, method, most, endpoint.path.endswith("/stream"))
        passage.is_plain = passage.keep_alive and headers.keys().isdisjoint(_REWRITTEN)
        passage.is_plain &= headers.get(b"connection", b"keep-alive").lower() == b"keep-alive"
        return passage

    def _is_over(self, url: str, now: float) -> bool:
        """Whether a holder that did not answer is to be tried again."""
        if self._avoided[url] > now:
            return False
        del self._avoided[url]
        return True

    def send(self, passage: Passage, data: bytes) -> None:
        """Pass on a request of which all has come; `data` is what was read last."""
        made = f" {self._service.make_id()}" if passage.method != b"GET" else ""
        passage.mark = f"{self._service.id} {self._leases.clock.last:.3f}{made}".encode()
        address = passage.protocol.client[0].encode() if passage.protocol.client else b""
        end = data.find(_HEAD_END) + 2
        if passage.is_plain and end + 2 + len(passage.body) == len(data):
            parts = [data[:end]]  # the very bytes of the head
        else:
            parts = [passage.method, b" ", passage.target, b" HTTP/1.1\r\n"]
            for name, value in passage.headers:
                if name == b"x-forwarded-for":
                    address = value + (b", " + address if address else b"")
                elif name not in _OF_A_HOP:
                    parts += [name, b": ", value, b"\r\n"]
            if passage.body or passage.method != b"GET":
                parts.append(b"content-length: %d\r\n" % len(passage.body))
            if passage.is_apart:
                parts.append(b"connection: close\r\n")
        if address:
            parts += [b"x-forwarded-for: ", address, b"\r\n"]
        passage.head = b"".join([*parts, MARK, b": ", passage.mark, b"\r\n\r\n"])
        pool = self._pools.get(passage.url)
        if pool is None:
            pool = self._pools[passage.url] = _Pool(self, passage.url)
        self._sent[passage] = self._loop.time() + self._patience
        if self._timer is None:
            self._timer = self._loop.call_later(self._patience, self._look)
        pool.send(passage)

    def answered(self, passage: Passage) -> None:
        """Take note that an answer begins to come."""
        self._sent.pop(passage, None)
        self._figures.count("passed_on_requests", "answered")

    def _look(self) -> None:
        """Execute here what was not answered in time; look again when the oldest that is left should be."""
        now = self._loop.time()
        for passage in [each for each, until in self._sent.items() if until <= now]:
            link, passage.link = passage.link, None
            if link is not None:
                link.passage = None
                link.abort()
            self.give_back(passage, "late")
        until = next(iter(self._sent.values()), None)
        self._timer = None if until is None else self._loop.call_at(until, self._look)

    def give_back(self, passage: Passage, why: str) -> None:
        """Execute a request here, as the holder cannot be reached or does not answer; and others for a while."""
        self._sent.pop(passage, None)
        protocol = passage.protocol
        if passage.response_complete or passage.disconnected or protocol.transport.is_closing():
            return
        if passage.url not in self._avoided:
            log.warning("the server at %s is %s: its campaigns are written here", passage.url, why)
        self._avoided[passage.url] = self._loop.time() + self._patience
        self._figures.count("passed_on_requests", why)
        passage.headers.append((MARK, passage.mark))  # which are those of its scope
        passage.response_complete = True
        protocol.run_here(passage)

    # As a holder

    def is_stale(self, mark: bytes) -> bool:
        """Whether a request was passed on by a server that has been paused since it came."""
        server, last, _ = read_mark(mark)
        return bool(server) and 0.0 < last < self._leases.clock.last - self._service.settings.lease

    def is_believed(self, address: str) -> bool:
        """Whether an address may say for whom a request is passed on."""
        return address in self._proxies

    def close(self) -> None:
        """End every connection to other servers."""
        if self._timer is not None:
            self._timer.cancel()
        for pool in self._pools.values():
            pool.close()
