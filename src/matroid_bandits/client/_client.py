"""The clients: how each sends and waits, which is all that they differ in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeVar

from matroid_bandits._util.checks import as_number
from matroid_bandits._util.extras import missing
from matroid_bandits._util.text import shown
from matroid_bandits._version import __version__
from matroid_bandits.client._deadline import Deadline, trace
from matroid_bandits.client._exchange import Attempt, Limit, Steps
from matroid_bandits.client._later import AsyncLater, Later
from matroid_bandits.client._methods import Methods
from matroid_bandits.exceptions import MalformedRequestError, UnavailableError

try:
    import httpx
except ImportError:  # an error where a client is made, so that the classes can be imported and read about
    httpx = None  # type: ignore[assignment]

T = TypeVar("T")

_LONGEST_TIMEOUT = 86400.0


class Client(Methods):
    """Blocking HTTP client for a campaign of the service, with the methods of `Learner`.

    Every request that changes something carries a unique id, and is retried when the connection breaks, the server is
    busy (429) or its database is unavailable (503); it is executed once. Errors are those of the library. A client
    may be shared between threads.

    Parameters
    ----------
    url : str or sequence of str
        URL of the server, such as ``http://127.0.0.1:8080``; or of several servers that share their campaigns. The
        one that answered last is asked first. One that cannot be reached, does not answer within 0.7 seconds or
        answers 502 to 504 is passed over: the same request is sent to the next.
    campaign : str
        The name of the campaign.
    key : str, optional
        API key, ``mb_...``, if the server requires keys.
    timeout : float, default 30.0
        Seconds for one call in all: connecting, every attempt, the pauses between them. Then the last error is
        raised.
    fallback : float, optional
        Seconds after which `ask` and `ask_batch` return the last known best set (without excluded items) instead of
        an error. The decision is marked (`Decision.is_fallback`), and telling or closing it does nothing. A decision
        that the server may have made is closed in the background, as soon as the server responds. There is no
        fallback before the best set was read once, by the first `ask`, nor if it lacks pinned items.
    http : httpx.Client, optional
        For proxies, certificates and the like. It stays open when the client is closed.

    Notes
    ----- Methods of a local learner that a client does not have: ``save``, ``load``, ``apply``, ``replay``,
    ``policy``, ``check_ask`` and ``check_tell``. Integer arrays and masks refer to the item numbers that the client
    last read; use labels if the items may change.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Client("http://127.0.0.1:1", "front-page", timeout=0.2)
    >>> learner.ask()
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnavailableError: the server does not answer (Connect...
    >>> learner.disconnect()
    """

    def __init__(
        self,
        url: str | Sequence[str],
        campaign: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        fallback: float | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(*_checked(url, campaign, timeout, fallback))
        self._later = Later(self._drive)
        self._is_own = http is None
        self._http = httpx.Client() if http is None else http
        self._headers = _headers(key)

    def _drive(self, steps: Steps[T]) -> T:
        deadline = Deadline(self._timeout)
        outcome: Any = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                while True:
                    if isinstance(step, Attempt):
                        outcome = self._attempt(step, deadline)
                    elif isinstance(step, Limit):
                        deadline = deadline.within(step.seconds)
                    elif deadline.allows(step.seconds):
                        time.sleep(step.seconds)
                    else:
                        step = steps.throw(step.error)
                        continue
                    break
        except StopIteration as end:
            value: T = end.value
            return value

    def _attempt(self, step: Attempt, deadline: Deadline) -> httpx.Response | httpx.RequestError:
        outcome: httpx.Response | httpx.RequestError
        for url, patience in self._addresses.round(step.number):
            outcome = self._send(url, step, deadline if patience is None else deadline.within(patience))
            if not self._addresses.is_elsewhere(outcome):
                self._addresses.answered(url)
                break
            if deadline.is_over():
                break
        return outcome

    def _send(self, url: str, step: Attempt, deadline: Deadline) -> httpx.Response | httpx.RequestError:
        request = _request(url, step, self._headers, deadline)
        try:
            with deadline:
                return self._http.request(**request, extensions={"trace": trace})
        except httpx.RequestError as error:
            return error
        except RuntimeError as error:
            raise _closed(self._http, error) from error

    def disconnect(self) -> None:
        """Close the HTTP connections (`close` closes decisions)."""
        self._later.stop()
        if self._is_own:
            self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()


class AsyncClient(Methods):
    """Async HTTP client for a campaign of the service: the methods and properties of `Client`, awaited.

    Parameters
    ----------
    url, campaign, key, timeout, fallback
        As for `Client`.
    http : httpx.AsyncClient, optional
        For proxies, certificates and the like. It stays open when the client is closed.

    Examples
    --------
    >>> import asyncio
    >>> import matroid_bandits as mb
    >>> async def visit():
    ...     async with mb.AsyncClient("http://127.0.0.1:1", "front-page", timeout=0.2) as learner:
    ...         decision = await learner.ask()
    ...         await learner.tell(decision, [1.0] * len(decision.items))
    >>> asyncio.run(visit())
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnavailableError: the server does not answer (Connect...
    """

    def __init__(
        self,
        url: str | Sequence[str],
        campaign: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        fallback: float | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(*_checked(url, campaign, timeout, fallback))
        self._later = AsyncLater(self._drive)
        self._is_own = http is None
        self._http = httpx.AsyncClient() if http is None else http
        self._loop: asyncio.AbstractEventLoop | None = None
        self._headers = _headers(key)

    async def _drive(self, steps: Steps[T]) -> T:
        self._check_loop()
        deadline = Deadline(self._timeout)
        outcome: Any = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                while True:
                    if isinstance(step, Attempt):
                        outcome = await self._attempt(step, deadline)
                    elif isinstance(step, Limit):
                        deadline = deadline.within(step.seconds)
                    elif deadline.allows(step.seconds):
                        await asyncio.sleep(step.seconds)
                    else:
                        step = steps.throw(step.error)
                        continue
                    break
        except StopIteration as end:
            value: T = end.value
            return value

    async def _attempt(self, step: Attempt, deadline: Deadline) -> httpx.Response | Exception:
        outcome: httpx.Response | Exception
        for url, patience in self._addresses.round(step.number):
            outcome = await self._send(url, step, deadline if patience is None else deadline.within(patience))
            if not self._addresses.is_elsewhere(outcome):
                self._addresses.answered(url)
                break
            if deadline.is_over():
                break
        return outcome

    async def _send(self, url: str, step: Attempt, deadline: Deadline) -> httpx.Response | Exception:
        request = _request(url, step, self._headers, deadline)
        try:
            async with asyncio.timeout(deadline.left()):
                return await self._http.request(**request)
        except (httpx.RequestError, TimeoutError) as error:
            return error
        except RuntimeError as error:
            raise _closed(self._http, error) from error

    async def disconnect(self) -> None:
        """Close the HTTP connections (`close` closes decisions)."""
        self._later.stop()
        if self._is_own:
            self._check_loop()
            await self._http.aclose()

    def _check_loop(self) -> None:
        """Raise in another event loop than the first one, whose connections do not work here."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise UnavailableError(
                "expected an AsyncClient to be used in one event loop, got a second; make one in each"
            )

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()


def _checked(
    url: str | Sequence[str], campaign: str, timeout: float, fallback: float | None
) -> tuple[list[str], str, float, float | None]:
    if httpx is None:
        raise missing("the client needs httpx", "client")
    urls: list[Any] = [*url] if isinstance(url, (list, tuple)) and url else [url]
    for each in urls:
        if not isinstance(each, str) or not each.startswith(("http://", "https://")) or not _is_url(each):
            raise MalformedRequestError(
                f"expected the address of a server, http://... or https://...; got {shown(each)}"
            )
    if not isinstance(campaign, str) or campaign in ("", ".", "..") or not campaign.isprintable():
        raise MalformedRequestError(f"expected the name of a campaign, got {shown(campaign)}")
    seconds = as_number("timeout", timeout, 0.0, _LONGEST_TIMEOUT, error=MalformedRequestError)
    if fallback is not None:
        fallback = as_number("fallback", fallback, 0.0, _LONGEST_TIMEOUT, error=MalformedRequestError)
    return [*dict.fromkeys(each.rstrip("/") for each in urls)], campaign, seconds, fallback


def _is_url(url: str) -> bool:
    try:
        return bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        return False


def _headers(key: str | None) -> dict[str, str]:
    headers = {"User-Agent": f"matroid-bandits/{__version__}"}
    if key is not None:
        if not isinstance(key, str) or not key.isascii() or not key.isprintable():
            raise MalformedRequestError("expected a key, a string such as mb_..., got something else")
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _closed(http: httpx.Client | httpx.AsyncClient, error: RuntimeError) -> Exception:
    """The error to raise for httpx's own: that the client has been closed."""
    if http.is_closed:
        return UnavailableError("expected a client that is connected, got one that was disconnected")
    return error


def _request(url: str, step: Attempt, headers: dict[str, str], deadline: Deadline) -> dict[str, Any]:
    return {
        "method": step.method,
        "url": url + step.path,
        "content": step.content,
        "headers": headers | step.headers,
        "timeout": deadline.left(),
    }
