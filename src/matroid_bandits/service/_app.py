"""The application that an ASGI server runs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from matroid_bandits.service._dispatch import refuse, refuse_status, serve
from matroid_bandits.service._health import OPERATION
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service.dashboard import page_routes


def create_app(settings: Settings | None = None, service: Service | None = None) -> Starlette:
    """The service as an ASGI application; its lifespan starts and stops the writer.

    Examples
    --------
    >>> import tempfile
    >>> app = create_app(Settings(db=tempfile.mkdtemp() + "/campaigns.db"))
    >>> "/v1/campaigns" in [route.path for route in app.routes]
    True
    """
    service = Service(settings or Settings()) if service is None else service

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if not service.writer.is_alive():
            await run_in_threadpool(service.start)
        try:
            yield
        finally:
            await run_in_threadpool(service.stop)

    routes: list[BaseRoute] = [
        Route(each.path, serve(each, service), methods=[each.method]) for each in (*ENDPOINTS, *OPERATION)
    ]
    app = Starlette(
        routes=routes + page_routes(service),
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _unexpected},
    )
    app.state.service = service
    return app


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: ("NotFound", "expected a path of the API, got another; see /docs"), 405: ("MethodNotAllowed",
             f"expected another method for this path, got {request.method}")}  # fmt: skip
    response = refuse_status(status, *words.get(status, ("HTTPError", str(getattr(error, "detail", error)))))
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _unexpected(_: Request, error: Exception) -> Response:
    return refuse(error)
