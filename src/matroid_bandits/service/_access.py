"""Who may connect, and which requests are written to the log: all with --access-log, slow ones always."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from matroid_bandits.exceptions import AccessError
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._keys import Keys
from matroid_bandits.service._settings import Settings

log = logging.getLogger("matroid_bandits.access")

#: Characters of an id that are written, and of a path.
_MOST_ID, _MOST_PATH = 200, 300


def check_access(keys: Keys, settings: Settings) -> None:
    """Raise `AccessError` where other machines could reach a server without keys."""
    if keys.is_open and not settings.insecure and not is_loopback(settings.host):
        raise AccessError(
            "expected keys (matroid-bandits key create) before other machines may connect, or --insecure; "
            f"got host {settings.host} and no keys"
        )
    if keys.are_all_revoked:
        log.warning("every key is revoked: all requests are refused until matroid-bandits key create makes another")


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Watch:
    """Counts requests, and writes those to the log that are to be there."""

    def __init__(self, settings: Settings, figures: Figures) -> None:
        self._figures = figures
        self._least = 0.0 if settings.access_log else settings.slow
        self._is_logged, self._slow = settings.access_log, settings.slow

    def done(self, label: str, request: Request, response: Response, began: float, key: str = "") -> None:
        """Take note of a request that is about to be answered."""
        seconds = time.perf_counter() - began
        if self.counts(label, response.status_code, seconds):
            self.write(request, response, seconds, key)

    def counts(self, label: str, status: int, seconds: float) -> bool:
        """Count a request; whether it is to be written."""
        self._figures.served(label, status, seconds)
        return seconds >= self._least

    def write(self, request: Request, response: Response, seconds: float, key: str) -> None:
        """Write a line; paths are without queries, and nothing of a body is in it."""
        given = request.headers.get("x-request-id") or request.headers.get("idempotency-key") or ""
        id = given[:_MOST_ID] if given.isascii() and given.isprintable() else ""
        if self._is_logged:
            id = id or secrets.token_hex(8)
            response.headers["X-Request-Id"] = id
        is_slow = seconds >= self._slow
        if is_slow:
            self._figures.count("slow_requests")
        fields = {
            "request_id": id,
            "method": request.method,
            "path": request.url.path[:_MOST_PATH],
            "status": response.status_code,
            "ms": round(1000.0 * seconds, 1),
            "bytes": int(response.headers.get("content-length", 0)),
            "key": key,
            "address": request.client.host if request.client else "",
        }
        words = " ".join(f"{name}={value or '-'}" for name, value in fields.items())
        level = logging.WARNING if is_slow else logging.INFO
        log.log(level, "%s %s", "slow request" if is_slow else "request", words, extra={"fields": fields})


def counted(
    watch: Watch, label: str, handle: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """A handler of a page whose requests are counted, and logged where they are to be."""

    async def handled(request: Request) -> Response:
        began = time.perf_counter()
        response = await handle(request)
        watch.done(label, request, response, began)
        return response

    return handled
