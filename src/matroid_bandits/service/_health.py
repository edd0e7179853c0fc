"""Endpoints for operators: whether the server lives and is ready, its figures, and its API's document."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from matroid_bandits.exceptions import AccessError, UnavailableError
from matroid_bandits.service._dispatch import HEADERS, Call, Endpoint
from matroid_bandits.service._metrics import page
from matroid_bandits.service._openapi import curl, openapi
from matroid_bandits.service._operation import Answer
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._schemas import StatusAnswer
from matroid_bandits.service.dashboard import docs_page


async def _health(call: Call) -> Answer:
    return Answer(b'{"status":"alive"}')


async def _ready(call: Call) -> Answer:
    call.service.database.check_file()
    if not call.service.is_ready:
        usual = "the server drains or loads its campaigns, or the database does not answer in time"
        reading = "".join(f", {name} at event {n:,} of {last:,}" for name, (n, last) in call.service.reading.items())
        raise UnavailableError((call.service.progress or usual) + reading)
    await run_in_threadpool(call.service.database.probe)
    return Answer(b'{"status":"ready"}')


async def _metrics(call: Call) -> Response:
    if call.key.campaign is not None:
        raise AccessError(f"expected a key for all campaigns, got one for {call.key.campaign}")

    told = await run_in_threadpool(lambda: page(*call.service.told(), call.service.figures))
    return Response(told, headers=HEADERS, media_type="text/plain; version=0.0.4")


async def _openapi(call: Call) -> Answer:
    return Answer(to_json(_document(call)))


async def _docs(call: Call) -> Response:
    return docs_page(_document(call), curl, call.service.settings.root_path)


def _document(call: Call) -> dict[str, Any]:
    return api_document(call.service.settings.root_path, not call.service.keys.is_open)


def api_document(root: str = "", needs_key: bool = True) -> dict[str, Any]:
    """Return the OpenAPI document of all endpoints, optionally under a path prefix of a proxy.

    Parameters
    ----------
    root : str, optional
        The path prefix.
    needs_key : bool, default True
        Whether requests need a key; a server whose database never had one needs none.

    Examples
    --------
    >>> api_document()["openapi"]
    '3.1.0'
    """
    return openapi((*ENDPOINTS, *OPERATION), root, needs_key)


#: Endpoints for operators of the server.
OPERATION = (
    Endpoint("GET", "/healthz", _health, None, "Return 200 while the process runs.", None, StatusAnswer,
             is_local=True),
    Endpoint("GET", "/readyz", _ready, None, "Return 200 when the server is ready for requests.", None, StatusAnswer,
             is_local=True),
    Endpoint("GET", "/metrics", _metrics, "read", "Return metrics for Prometheus.", media_type="text/plain",
             is_local=True),
    Endpoint("GET", "/openapi.json", _openapi, None, "This document.", media_type="application/json", is_local=True),
    Endpoint("GET", "/docs", _docs, None, "This document as a page.", media_type="text/html", is_local=True),
)  # fmt: skip
