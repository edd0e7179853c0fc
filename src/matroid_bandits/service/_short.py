"""The short way of asks and tells: from the parsed head to the writer, and from its answer to the socket.

Nearly all requests are for these two. A task, a scope and a response for each would be a third of what they cost, so
the protocol serves them by itself, where nothing is unusual about them: a key that was seen since keys were last
read, a small body, no proxy's path. All others take the long way, through ASGI, where every error is told as well.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.service import _actions as act
from matroid_bandits.service._dispatch import identified, names_this_machine, refuse, respond
from matroid_bandits.service._keys import OPEN_KEY, Key
from matroid_bandits.service._operation import Answer, Need, Operation
from matroid_bandits.service._remembered import MARK, read_mark
from matroid_bandits.service._routes import BUSIEST
from matroid_bandits.service._service import Service

if TYPE_CHECKING:
    from matroid_bandits.service._protocol import GuardedProtocol

_PATH = re.compile(rb"/v1/campaigns/([A-Za-z0-9._-]{1,64})/(ask|tell)")

#: Bytes of a body that the protocol collects by itself.
_MOST_BODY = 16_384

#: Bytes of an answer that is copied behind its head.
_MOST_JOINED = 65_536

#: Headers that say who calls by other means than a key, or how a body is sent.
_UNUSUAL = (b"transfer-encoding", b"cookie", b"origin", b"sec-fetch-site", b"expect", b"upgrade")

_USUAL_HEAD = b"".join(
    [
        STATUS_LINE[200],
        b"content-length: %d\r\ncontent-type: application/json\r\n",
        b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n\r\n",
    ]
)


class Cycle:
    """A request that the protocol serves by itself, in the place of uvicorn's cycle, and of its event."""

    __slots__ = (
        "body", "disconnected", "era", "keep_alive", "more_body", "protocol", "response_complete", "response_started",
        "scope",
    )  # fmt: skip

    def __init__(self, protocol: GuardedProtocol, keep_alive: bool) -> None:
        self.protocol, self.keep_alive, self.body = protocol, keep_alive, bytearray()
        self.scope, self.era, self.more_body = protocol.scope, protocol.era, True
        self.disconnected = self.response_started = self.response_complete = False

    @property
    def message_event(self) -> Cycle:
        """What uvicorn sets; no attribute, so that the cycle needs no garbage collection."""
        return self

    def set(self) -> None:
        """Called when more of the body has come, and when the client has gone."""


class ShortCycle(Cycle):
    """A request that takes the short way; the future of its operation, too."""

    __slots__ = ("began", "headers", "key", "name", "short", "verb")

    began: float  # when all of it had come
    headers: dict[bytes, bytes]
    key: str  # the id of the one that it came with
    name: str
    short: ShortWay
    verb: str

    # What the writer takes for a future

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the answer is given to."""
        return self.protocol.loop

    def done(self) -> bool:
        """Whether nothing waits any more."""
        return self.response_complete or self.disconnected

    def set_result(self, answer: Answer) -> None:
        """Send the answer."""
        if answer.status == 200 and not answer.is_replayed and self.keep_alive:
            self._send(_USUAL_HEAD % len(answer.body), answer.body)
            seconds = time.perf_counter() - self.began
            if self.short.is_worth_a_line(self.verb, 200, seconds):
                self.short.write_line(self, self.scope, respond(answer), seconds, self.key)
        else:
            self._respond(respond(answer))

    def set_exception(self, error: BaseException) -> None:
        """Send a refusal."""
        self._respond(refuse(error))

    def _respond(self, response: Response) -> None:
        head = [STATUS_LINE[response.status_code]]
        for name, value in response.raw_headers:
            head += [name, b": ", value, b"\r\n"]
        if not self.keep_alive:
            head.append(b"connection: close\r\n")
        self._send(b"".join([*head, b"\r\n"]), bytes(response.body))
        seconds = time.perf_counter() - self.began
        if self.short.is_worth_a_line(self.verb, response.status_code, seconds):
            self.short.write_line(self, self.scope, response, seconds, self.key)

    def _send(self, head: bytes, body: bytes) -> None:
        self.response_started = self.response_complete = True
        transport = self.protocol.transport
        if transport.is_closing():
            return
        if len(body) <= _MOST_JOINED:
            transport.write(head + body)
        else:
            transport.write(head)
            transport.write(body)
        if not self.keep_alive:
            transport.close()
        self.protocol.on_response_complete()


class ShortWay:
    """Serves asks and tells of a service for its protocol."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service, self._rate = service, settings.rate
        self._labels = {each.path.rpartition("/")[2]: each.name for each in BUSIEST}
        self._watch, self._lines = service.watch_requests, set[asyncio.Task[None]]()
        self._most = min(_MOST_BODY, settings.max_body)
        self._is_open = not (settings.is_fronted or settings.access_log)

    def enter(self, protocol: GuardedProtocol, given: dict[bytes, bytes]) -> ShortCycle | None:
        """The cycle of a request whose head has come, where it may take the short way so far."""
        found = _PATH.fullmatch(protocol.url) if self._is_open else None
        if found is None or protocol.parser.get_method() != b"POST":
            return None
        length = given.get(b"content-length", b"0")
        if len(given) != len(protocol.headers) or len(length) > 5 or not length.isdigit() or int(length) > self._most:
            return None
        if not given.keys().isdisjoint(_UNUSUAL) or protocol.parser.should_upgrade():
            return None
        keep_alive = protocol.parser.should_keep_alive() and protocol.parser.get_http_version() == "1.1"
        cycle = ShortCycle(protocol, keep_alive)
        cycle.short, cycle.headers, cycle.name, cycle.verb = self, given, found[1].decode(), found[2].decode()
        return cycle

    def serve(self, cycle: ShortCycle) -> bool:
        """Give a request that has come whole to the writer; whether it was one for the short way after all."""
        service, headers, name = self._service, cycle.headers, cycle.name
        key = self._key_of(headers)
        content = bytes(cycle.body)
        if key is None or service.is_waiting or (content and headers.get(b"content-type") != b"application/json"):
            return False
        try:
            key.check("decide", name)
            if cycle.verb == "ask":
                run, seconds = act.read_ask(content)
                if seconds is not None:
                    return False
            else:
                run, _ = act.read_tell(content)
            id, digest = identified(service, headers, "POST", f"/v1/campaigns/{name}/{cycle.verb}", content)
            key.spend(self._rate)
            cycle.began, cycle.key = time.perf_counter(), key.id
            need: Need = "ask" if cycle.verb == "ask" else "change"
            service.writer.submit(Operation(run, name, need, id, digest, cycle, by=key.id, era=cycle.era))
            service.leases.count(name, read_mark(headers[MARK])[0] if MARK in headers else "")
        except MatroidBanditsError:  # told on the long way
            return False
        return True

    def _key_of(self, headers: dict[bytes, bytes]) -> Key | None:
        service = self._service
        if not service.keys.is_open:
            return service.keys.recall(headers.get(b"authorization", b""))
        is_served = service.settings.insecure or names_this_machine(headers.get(b"host", b""), service)
        return OPEN_KEY if is_served and service.keys.is_fresh() else None

    def is_worth_a_line(self, verb: str, status: int, seconds: float) -> bool:
        """Count a request; whether it is to be logged."""
        return self._watch.counts(self._labels[verb], status, seconds)

    def write_line(self, cycle: ShortCycle, scope: Any, response: Response, seconds: float, key: str) -> None:
        """Log a request, with the address that proxies give."""
        path = f"/v1/campaigns/{cycle.name}/{cycle.verb}"
        scope |= {"method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}

        async def write(scope: Scope, receive: Receive, send: Send) -> None:
            self._watch.write(Request(scope), response, seconds, key)

        writing: Any = ProxyHeadersMiddleware(write, self._service.settings.proxies)  # type: ignore[arg-type]
        task = cycle.get_loop().create_task(writing(scope, None, None))
        self._lines.add(task)
        task.add_done_callback(self._lines.discard)
