"""A request, its retries and its answer: what both clients do, without any input or output.

Everything here is a generator of steps: an `Attempt` is to be sent, a `Pause` to be waited for. The client that
drives it sends and waits in its own way, blocking or not, and sends back the answer or the error.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import time
import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from matroid_bandits import exceptions as known
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import (
    AccessError,
    CampaignStoppedError,
    MalformedRequestError,
    MatroidBanditsError,
    RateLimitError,
    UnavailableError,
)

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
#: Answers that say: not now. The last two come from proxies.
_AGAIN = (429, 503, 502, 504)

_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")

_jitter = random.Random()


@dataclass(frozen=True)
class Attempt:
    """One HTTP request, and how often it was sent before."""

    method: str
    path: str
    content: bytes | None
    headers: dict[str, str]
    number: int = 0


@dataclass(frozen=True)
class Pause:
    """Seconds to wait before the next attempt, and the error that the last one ended with."""

    seconds: float
    error: MatroidBanditsError


@dataclass(frozen=True)
class Limit:
    """Seconds that are left for the rest of the call, if it has not less."""

    seconds: float


#: What a driver gets. For an attempt it sends back an answer, or the exception that there was instead; where the time
#: of the call leaves none for a pause, it throws the pause's error.
Step: TypeAlias = Attempt | Pause | Limit
Steps: TypeAlias = Generator[Step, Any, T]


def get(path: str) -> Steps[Any]:
    """Read something."""
    return _send("GET", path, None, {})


def post(path: str, body: Any = None, *, is_change: bool = True, request_id: str | None = None) -> Steps[Any]:
    """Send something; what changes the campaign has an id, so that it happens once however often it is sent."""
    return _send_body("POST", path, body, is_change, request_id)


def put(path: str, body: Any, *, is_change: bool = True) -> Steps[Any]:
    """Send what something is to be; see `post`."""
    return _send_body("PUT", path, body, is_change, None)


def _send_body(method: str, path: str, body: Any, is_change: bool, request_id: str | None) -> Steps[Any]:
    content = b"" if body is None else _dump(body)
    headers = {"Content-Type": "application/json"}
    if is_change:
        headers["Idempotency-Key"] = request_id or fresh_id()
    return _send(method, path, content, headers)


def fresh_id() -> str:
    """An id for a request."""
    return str(uuid.uuid4())


def _send(method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Steps[Any]:
    pause = _FIRST_PAUSE
    for number in itertools.count():
        outcome = yield Attempt(method, path, content, headers, number)
        least = 0.0
        if isinstance(outcome, Exception):
            error = _unreachable(outcome)
            error.__cause__ = outcome
        else:
            if outcome.is_success:
                return _load(outcome)
            error = error_of(outcome)
            if outcome.status_code not in _AGAIN or isinstance(error, CampaignStoppedError):
                raise error
            least = asked_pause(outcome)
        yield Pause(max(least, pause * _jitter.uniform(0.5, 1.0)), error)
        pause = min(2.0 * pause, _LONGEST_PAUSE)
    raise AssertionError("counting ends never")


def error_of(answer: httpx.Response) -> MatroidBanditsError:
    """The error of the library that an answer tells of; the class is in its body, or follows from its status."""
    try:
        form = answer.json()
    except (ValueError, RecursionError):
        form = None
    if not isinstance(form, dict):
        form = {}
    kind = getattr(known, str(form.get("error")), None)
    detail = form.get("detail")
    if not isinstance(detail, str) or not detail:
        detail = f"the server answered {answer.status_code} {answer.reason_phrase}"
    if not (isinstance(kind, type) and issubclass(kind, MatroidBanditsError)):
        kind = _kind_of(answer.status_code)
    return kind(detail)


def _kind_of(status: int) -> type[MatroidBanditsError]:
    if status in (401, 403):
        return AccessError
    if status == 429:
        return RateLimitError
    return UnavailableError if status >= 500 else MalformedRequestError


def _unreachable(error: BaseException) -> MatroidBanditsError:
    return UnavailableError(f"the server does not answer ({type(error).__name__}: {error})")


def asked_pause(answer: httpx.Response) -> float:
    """Seconds that the server or a proxy asks to wait: a number of them, or a date.

    Examples
    --------
    >>> import httpx
    >>> asked_pause(httpx.Response(503, headers={"Retry-After": "1.5"}))
    1.5
    """
    given = answer.headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(given):
        return float(given)
    until = _date(given)
    if until is None:
        return 0.0
    now = _date(answer.headers.get("Date", ""))  # the server's own clock, where it tells it
    return max(until - (time.time() if now is None else now), 0.0)


def _date(text: str) -> float | None:
    """A date of HTTP in seconds since 1970; None where it is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _dump(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise MalformedRequestError(f"expected what JSON can hold, got {shown(body)} ({error})") from None


def _load(answer: httpx.Response) -> Any:
    try:
        form = answer.json()
    except (ValueError, RecursionError):
        form = None
    if not isinstance(form, dict):
        raise UnavailableError("expected a JSON object from the server, got something else; is it one of ours?")
    return form


def read(reader: Callable[[Any], T], form: Any) -> T:
    """What a reader makes of an answer; one that is not as a server of ours writes it is an error of the server.

    Examples
    --------
    >>> read(lambda form: form["closed"], {"closed": 3})
    3
    """
    try:
        return reader(form)
    except MatroidBanditsError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnavailableError(f"expected an answer of a matroid-bandits server, got {shown(form)}") from error
