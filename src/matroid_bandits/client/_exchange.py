"""A request and its answer, however often it has to be sent: what both clients do, without doing any of it.

Everything here is a generator of steps: an `Attempt` is to be sent, a number is seconds to wait. Whoever drives it
sends and waits in its own way, blocking or not, and hands back what came of it.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import httpx

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

T = TypeVar("T")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
#: Answers that say: not now. The last two come from proxies.
_AGAIN = (429, 503, 502, 504)

_jitter = random.Random()


@dataclass(frozen=True)
class Attempt:
    """One HTTP request, and how many seconds its answer may take."""

    method: str
    path: str
    content: bytes | None
    headers: dict[str, str]
    timeout: float


#: What a driver gets: something to send, or seconds to wait. It gives back an answer, or why there is none.
Step: TypeAlias = Attempt | float
Steps: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True)
class Exchange:
    """Requests to one server, with its deadline.

    Attributes
    ----------
    timeout : float
        Seconds for one request, all attempts and the pauses between them included.
    """

    timeout: float

    def get(self, path: str) -> Steps[Any]:
        """Read something."""
        return self._send("GET", path, None, {})

    def post(self, path: str, body: Any = None, *, is_change: bool = True) -> Steps[Any]:
        """Send something; what changes the campaign gets an id, so that it happens once however often it is sent."""
        content = b"" if body is None else _dump(body)
        headers = {"Content-Type": "application/json"}
        if is_change:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        return self._send("POST", path, content, headers)

    def _send(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Steps[Any]:
        end, pause = time.monotonic() + self.timeout, _FIRST_PAUSE
        while True:
            left = max(end - time.monotonic(), 0.001)
            outcome = yield Attempt(method, path, content, headers, left)
            least = 0.0
            if isinstance(outcome, httpx.Response):
                if outcome.is_success:
                    return _load(outcome)
                error = error_of(outcome)
                if outcome.status_code not in _AGAIN or isinstance(error, CampaignStoppedError):
                    raise error
                least = _asked_pause(outcome)
            else:
                error = _unreachable(outcome)
                error.__cause__ = outcome
            wait = max(least, pause * _jitter.uniform(0.5, 1.0))
            if time.monotonic() + wait >= end:
                raise error
            yield wait
            pause = min(2.0 * pause, _LONGEST_PAUSE)


def error_of(answer: httpx.Response) -> MatroidBanditsError:
    """The error of the library that an answer tells of; the class is in its body, or follows from its status."""
    try:
        form = answer.json()
    except ValueError:
        form = None
    if not isinstance(form, dict):
        form = {}
    kind = getattr(known, str(form.get("error")), None)
    detail = form.get("detail") or f"the server answered {answer.status_code} {answer.reason_phrase}"
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


def _asked_pause(answer: httpx.Response) -> float:
    """Seconds that the server asks to wait; nothing but a number of them is understood."""
    given = answer.headers.get("Retry-After", "")
    return float(given) if given.isdigit() and len(given) < 6 else 0.0


def _dump(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise MalformedRequestError(f"expected what JSON can hold, got {shown(body)} ({error})") from None


def _load(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise UnavailableError("expected JSON from the server, got something else; is it one of ours?") from None
