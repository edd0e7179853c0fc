"""Endpoints for operators: whether the server lives and is ready, its figures, and its API's document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from matroid_bandits.exceptions import AccessError, UnavailableError
from matroid_bandits.service._dispatch import HEADERS, Call, Endpoint
from matroid_bandits.service._metrics import CampaignFigures
from matroid_bandits.service._openapi import curl, openapi
from matroid_bandits.service._operation import Answer
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._schemas import StatusAnswer
from matroid_bandits.service._sizes import database_sizes
from matroid_bandits.service.dashboard import docs_page


async def _health(call: Call) -> Answer:
    return Answer(b'{"status":"alive"}')


async def _ready(call: Call) -> Answer:
    if not call.service.is_ready:
        usual = "the server drains or loads its campaigns, or the database does not answer in time"
        reading = "".join(f", {name} at event {n:,} of {last:,}" for name, (n, last) in call.service.reading.items())
        raise UnavailableError((call.service.progress or usual) + reading)
    await run_in_threadpool(call.service.database.probe)
    return Answer(b'{"status":"ready"}')


async def _metrics(call: Call) -> Response:
    if call.key.campaign is not None:
        raise AccessError(f"expected a key for all campaigns, got one for {call.key.campaign}")

    def read() -> bytes:
        with call.service.database.reading() as connection:
            rows = call.service.database.rows(connection)
            sizes = database_sizes(call.service.database, connection)
        texts = {"database_bytes": "Bytes of the database.", "database_free_bytes": "Bytes of it that are free."}
        states = {name: (text, float(sizes[name])) for name, text in texts.items()}
        return call.service.metrics.page(campaigns(rows), call.service.states() | states)

    def campaigns(rows: list[Any]) -> Iterator[CampaignFigures]:
        for row in rows:
            replica = call.service.writer.replica(row.id)
            totals: list[float] = []
            values: dict[str, float] = {
                "events": row.seq,
                "waiting_decisions": row.waiting,
                "kept_events": row.seq - row.first + 1,
                "archive_bytes": 0 if call.service.archive is None else call.service.archive.size_of(row.name)[1],
                "stopped": int(row.status == "stopped" or (replica is not None and bool(replica.mismatch))),
                "alarms": row.alarms,
            }
            is_home = call.service.router is None or call.service.router.is_home(row.id)
            values["home"] = int(is_home)
            if is_home:
                values["lag_events"] = max(row.seq - (0 if replica is None else replica.seq), 0)
            if replica is not None:
                values["alarms"] = len(replica.alarms)  # rows of earlier versions do not say it
                values["drift_alarms"] = replica.n_alarms_of("drift")
                values["scale_warnings"] = replica.n_alarms_of("scale")
                values["replay_alarms"] = replica.n_alarms_of("replay")
                values["unsaved_events"] = max(replica.seq - replica.saved, 0)
                totals = replica.history.totals()
                values |= replica.uplift.gauges()
            yield CampaignFigures(row.name, values, totals)

    return Response(await run_in_threadpool(read), headers=HEADERS, media_type="text/plain; version=0.0.4")


async def _openapi(call: Call) -> Answer:
    return Answer(to_json(_document(call)))


async def _docs(call: Call) -> Response:
    return docs_page(_document(call), curl, call.service.settings.root_path)


def _document(call: Call) -> dict[str, Any]:
    return api_document(call.service.settings.root_path)


def api_document(root: str = "") -> dict[str, Any]:
    """The OpenAPI document of all endpoints, which a proxy may have under a path.

    Examples
    --------
    >>> api_document()["openapi"]
    '3.1.0'
    """
    return openapi((*ENDPOINTS, *OPERATION), root)


#: Endpoints for operators of the server.
OPERATION = (
    Endpoint("GET", "/healthz", _health, None, "Whether the process lives.", None, StatusAnswer, is_local=True),
    Endpoint("GET", "/readyz", _ready, None, "Whether requests are served.", None, StatusAnswer, is_local=True),
    Endpoint("GET", "/metrics", _metrics, "read", "Figures for Prometheus.", media_type="text/plain", is_local=True),
    Endpoint("GET", "/openapi.json", _openapi, None, "This document.", media_type="application/json", is_local=True),
    Endpoint("GET", "/docs", _docs, None, "This document as a page.", media_type="text/html", is_local=True),
)
