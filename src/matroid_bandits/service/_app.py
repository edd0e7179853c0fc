"""The application that an ASGI server runs."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from matroid_bandits.service._access import Watch
from matroid_bandits.service._dispatch import refuse, refuse_status, serve
from matroid_bandits.service._health import OPERATION
from matroid_bandits.service._protocol import Front
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service.dashboard import page_routes


def create_app(
    settings: Settings | None = None,
    service: Service | None = None,
    *,
    own_port: int = 0,
    listeners: Sequence[socket.socket] = (),
) -> Starlette:
    """Return the service as an ASGI application, whose lifespan starts and stops the writer.

    A worker of several has a loopback port of its own, at which the others reach it. What waits at `listeners` to be
    accepted is dropped after a pause.

    Examples
    --------
    >>> import tempfile
    >>> app = create_app(Settings(db=tempfile.mkdtemp() + "/campaigns.db"))
    >>> "/v1/campaigns" in [route.path for route in app.routes]
    True
    """
    service = Service(settings or Settings()) if service is None else service
    settings = service.settings

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        if not service.writer.is_alive():
            await run_in_threadpool(service.start, is_patient=True)
        front = Front(service, own_port, listeners)
        try:
            yield {"front": front}
        finally:
            front.passing.close()
            await run_in_threadpool(service.stop)

    by_path: dict[str, dict[str, Any]] = {}
    for each in (*ENDPOINTS, *OPERATION):
        by_path.setdefault(each.path, {})[each.method] = serve(each, service)
    routes = [Route(path, _by_method(those), methods=[*those]) for path, those in by_path.items()]
    middleware = [Middleware(_UnderRoot, settings.root_path)] if settings.root_path else []
    if settings.cors:
        middleware.append(Middleware(CORSMiddleware, settings.cors, **_CORS))
    app = Starlette(
        routes=[*routes, *page_routes(service)],
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers={HTTPException: _missing(service.watch_requests), Exception: _unexpected},
    )
    app.state.service = service
    return app


def _by_method(handlers: dict[str, Any]) -> Any:
    """One route for the methods of a path, so that refusals of others name all of them."""

    async def handle(request: Request) -> Response:
        response: Response = await handlers["GET" if request.method == "HEAD" else request.method](request)
        return response

    return handle


class _UnderRoot:
    """Serves behind a proxy's path, which the proxy may take away from the front of a request's path, or leave."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{self._root}/"):
            scope["path"] = scope["path"][len(self._root) :] or "/"
        await self._app(scope, receive, send)


#: What pages of other origins may do: call the API with keys and tokens; never with cookies.
_CORS: Final[dict[str, Any]] = {
    "allow_methods": ["GET", "POST", "PUT", "DELETE"],
    "allow_headers": ["Authorization", "Content-Type", "Idempotency-Key", "X-Request-Id"],
    "expose_headers": ["Idempotency-Replayed", "Retry-After", "X-Request-Id"],
}


def _missing(watch: Watch) -> Any:
    """What answers requests that no endpoint takes; they are counted together."""

    async def handle(request: Request, error: Exception) -> Response:
        response = _http_error(request, error)
        watch.done("other", request, response, time.perf_counter())
        return response

    return handle


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: ("NotFound", "expected a path of the API, got another; see /docs"), 405: ("MethodNotAllowed",
             f"expected another method for this path, got {request.method}")}  # fmt: skip
    response = refuse_status(status, *words.get(status, ("HTTPError", str(getattr(error, "detail", error)))))
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _unexpected(_: Request, error: Exception) -> Response:
    return refuse(error)
