"""From an HTTP request to a call and back: keys, limits, bodies, errors and figures, the same for every endpoint."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from matroid_bandits.exceptions import AccessError, DataError, LimitError, MalformedRequestError
from matroid_bandits.service._errors import MediaTypeError, problem, problem_of
from matroid_bandits.service._keys import KEY, SESSION, STALE_S, Key, Role
from matroid_bandits.service._limits import check_request_id
from matroid_bandits.service._logs import log_unexpected
from matroid_bandits.service._operation import Answer
from matroid_bandits.service._remembered import MADE, MARK, read_mark
from matroid_bandits.service._service import Service
from matroid_bandits.service._tokens import TOKEN
from matroid_bandits.specs import parse, parse_json

M = TypeVar("M", bound=BaseModel)

#: The cookie that the login page sets.
COOKIE = "matroid_bandits_key"

#: Sent with pages and problems: nothing from elsewhere, no frames, no guessing of types.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_TOKEN = f"{TOKEN}_"

#: Numbers and booleans as JSON writes them, and the characters that a number in a query may have.
_PLAIN = re.compile(r"true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MOST_DIGITS = 100
#: In the scope of a request: the era of the database's clock in which it came, see `Clock`.
ERA = "matroid_bandits.era"

#: Bytes that are sent at once.
_PIECE = 1 << 18

#: The size in bytes from which answers to reads are compressed, where the client takes that, and the level.
_LEAST_GZIP, _GZIP_LEVEL = 1400, 4

_JSON_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


@dataclass(slots=True)
class Call:
    """One request to one endpoint."""

    service: Service
    request: Request
    key: Key
    name: str  # of the campaign in the path; empty without one
    headers: dict[bytes, bytes]
    endpoint: Endpoint
    content: bytes = b""

    def body(self, model: type[M]) -> M:
        """The body, checked; nothing is as good as an empty object."""
        return parse_json(model, self.content or b"{}")

    def query(self, model: type[M], instead: Mapping[str, str] | None = None) -> M:
        """The query, checked, with some values from elsewhere; numbers and booleans are written as in JSON."""
        given = {**self.request.query_params, **(instead or {})}
        try:
            found: M = parse(model, {name: _plain(given[name]) for name in model.model_fields if name in given})
        except DataError as error:
            raise MalformedRequestError(str(error)) from None
        return found

    async def write(self, run: Callable[[Any, Any], Answer], need: Any = "change") -> Answer:
        """Execute something in the log, with the request's id."""
        scope = self.request.scope
        request_id, digest = identified(self.service, self.headers, scope["method"], scope["path"], self.content)
        return await self.service.write(self.name or None, run, need, request_id, digest, self.key.id, scope.get(ERA))


def identified(
    service: Service, headers: dict[bytes, bytes], method: str, path: str, content: bytes
) -> tuple[str, str]:
    """The id that a client gave its request, or else the server that it came to, and the hash of what it asks for."""
    given = headers.get(b"idempotency-key")
    if given is not None:
        id = check_request_id(given.decode("latin-1"))
    elif not (MARK in headers and (id := read_mark(headers[MARK])[2])):
        id = MADE + service.make_id()
    what = f"{method} {path}\n".encode() + content
    return id, hashlib.blake2b(what, digest_size=16).hexdigest()


def _plain(text: str) -> Any:
    """The number or the boolean that a text writes; any other text as it is."""
    return from_json(text) if _PLAIN.fullmatch(text) and len(text) <= _MOST_DIGITS else text


#: An endpoint's own part: from a call to an answer.
Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """One method of one path."""

    method: str
    path: str
    handler: Handler  # gives an `Answer`, or a Response of its own
    role: Role | None  # what a key must allow; None where no key is needed
    summary: str
    body: Any = None
    answer: Any = None
    status: int = 200
    query: Any = None
    media_type: str = "text/event-stream"  # of an answer without a model
    takes_tokens: bool = False  # in place of a key; the handler checks for which decision one is
    lists_items: bool = False  # so that the body may be long
    is_local: bool = False  # any server answers it by itself; else it is passed on to the holder of the lease

    @property
    def name(self) -> str:
        """A name for figures: the last words of the path."""
        return f"{self.method} {self.path}"


def serve(endpoint: Endpoint, service: Service) -> Callable[[Request], Awaitable[Response]]:
    """What Starlette calls for an endpoint."""
    label, has_body, done = endpoint.name, endpoint.method in ("POST", "PUT"), service.watch_requests.done
    most = service.settings.max_spec if endpoint.lists_items else service.settings.max_body
    is_read = endpoint.role in ("read", None)  # asks and answers are small, and wait for nothing more

    async def handle(request: Request) -> Response:
        began, who = time.perf_counter(), ""
        try:
            name = request.path_params.get("name")
            headers = dict(request.scope["headers"])
            key = await authorize(request, service, endpoint.role, name, endpoint.takes_tokens)
            who = key.id
            content = await read_body(request, headers, most) if has_body else b""
            call = Call(service, request, key, name or "", headers, endpoint, content)
            if name is not None and not endpoint.is_local:
                service.leases.count(name, read_mark(headers[MARK])[0] if MARK in headers else "")
            answer = await endpoint.handler(call)
            response = answer if isinstance(answer, Response) else respond(answer)
            if is_read and _is_worth_gzip(response, headers):
                response = await run_in_threadpool(_compressed, response)
        except ClientDisconnect:
            response = Response(status_code=400)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if getattr(error, "is_unknown", False):
                service.figures.count("wrong_keys", "request")
            response = refuse(error)
        done(label, request, response, began, who)
        return response

    return handle


def respond(answer: Answer) -> Response:
    """An answer as JSON."""
    kind = Response if len(answer.body) <= _PIECE else _Pieces
    response = kind(answer.body, answer.status, media_type="application/json")
    response.raw_headers += _JSON_HEADERS
    if answer.is_replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response


def _is_worth_gzip(response: Response, headers: dict[bytes, bytes]) -> bool:
    """Whether an answer is long enough to be compressed, whole, and the client takes it so."""
    return len(getattr(response, "body", b"")) >= _LEAST_GZIP and b"gzip" in headers.get(b"accept-encoding", b"")


def _compressed(response: Response) -> Response:
    """The same answer with its body compressed."""
    if not isinstance(response.body, bytes) or "content-encoding" in response.headers:
        return response
    response.body = gzip.compress(response.body, _GZIP_LEVEL, mtime=0)
    response.headers["Content-Length"] = str(len(response.body))
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    return response


class _Pieces(Response):
    """A long answer, sent piece by piece: while the client takes one, the others are held once and copied nowhere."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for start in range(0, len(self.body), _PIECE):
            piece = self.body[start : start + _PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": start + _PIECE < len(self.body)})


def refuse(error: BaseException) -> Response:
    """An error as problem+json."""
    status, body = problem_of(error)
    if status == 500:
        log_unexpected(error)
    headers = dict(HEADERS)
    if status in (429, 503):
        headers["Retry-After"] = "1"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body, status, headers, media_type="application/problem+json")


def refuse_status(status: int, error: str, detail: str) -> Response:
    """A refusal that no class of error stands for, such as a path that is not there."""
    return Response(problem(status, error, detail), status, HEADERS, media_type="application/problem+json")


async def authorize(
    request: Request, service: Service, role: Role | None, campaign: str | None, takes_tokens: bool = False
) -> Key:
    """Who calls, where the key allows it."""
    if role is None:
        return Key("", "read")
    key = await identify(request, service)
    if key.decision is not None and not takes_tokens:
        raise AccessError("expected a key, got a token, which may tell one decision and nothing else")
    key.check(role, campaign)
    key.spend(service.settings.rate)
    return key


async def identify(request: Request, service: Service) -> Key:
    """Whose request this is, by its key or by the browser's login; the same errors as `authorize` raises."""
    given = next((value for name, value in request.scope["headers"] if name == b"authorization"), b"")
    scheme, _, token = given.decode("latin-1").partition(" ")
    kind = KEY if scheme.lower() == "bearer" else SESSION
    if token.startswith(_TOKEN) and kind == KEY:
        return await _token_bearer(token.strip(), service)
    if kind == SESSION:
        token = request.cookies.get(COOKIE, "")
        if request.method != "GET":
            check_own_site(request)
    key = await service.keys.look_up(token.strip(), kind)
    if (
        service.keys.is_open
        and not service.settings.insecure
        and not names_this_machine(dict(request.scope["headers"]).get(b"host", b""), service)
    ):
        raise AccessError("expected a request to this machine's own name, since there are no keys; got another host")
    return key


async def _token_bearer(token: str, service: Service) -> Key:
    """What a token allows, as long as the key that it was made with is good."""
    await service.keys.read_since(time.monotonic() - STALE_S)
    read = service.tokens.read
    found = read(token) if service.tokens.is_warm else await run_in_threadpool(read, token)
    maker = service.keys.by_id(found.key)
    maker.check("decide", found.campaign)
    maker.spend(service.settings.rate)
    return Key(maker.id, "decide", found.campaign, decision=found.decision, learner=found.learner)


def check_own_site(request: Request) -> None:
    """Raise where a page of another site made the browser send this request."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_own = site in ("same-origin", "none")
    else:  # browsers leave it out where there is no TLS, and old ones everywhere
        host = request.headers.get("host", "").lower()
        is_own = origin is None or (bool(host) and origin.lower().partition("://")[2] == host)
    if not is_own:
        raise AccessError("expected a request of this site's own pages, got one from elsewhere")


def names_this_machine(given: bytes, service: Service) -> bool:
    """Whether a Host header names this machine: a page from elsewhere whose name was bent to point here does not."""
    host = given.decode("latin-1").lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name in ("127.0.0.1", "localhost", "[::1]", service.settings.host.lower())


async def read_body(request: Request, headers: dict[bytes, bytes], most: int) -> bytes:
    """The body of a request, as long as it is JSON and not too large."""
    length = headers.get(b"content-length")
    if length == b"0":
        return b""
    if length is not None and length.isdigit() and int(length) > most:
        raise LimitError(f"expected a body of at most {most:,} bytes, got {int(length):,}")
    content, is_more = b"", True
    while is_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        content += message.get("body", b"")
        is_more = message.get("more_body", False)
        if len(content) > most:
            raise LimitError(f"expected a body of at most {most:,} bytes, got more")
    if content:
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise MediaTypeError(f"expected Content-Type: application/json, got {kind[:100] or 'none'}")
    return content
