"""The log as it grows, as server-sent events. A client that reads slowly is behind, and costs no memory."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic_core import to_json
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from matroid_bandits.exceptions import MatroidBanditsError, UnknownCampaignError
from matroid_bandits.service import _reads as reads
from matroid_bandits.service._dispatch import HEADERS, Call, identify
from matroid_bandits.service._keys import STALE_S
from matroid_bandits.service._replica import stored_terms
from matroid_bandits.service._schemas import StreamQuery

log = logging.getLogger("matroid_bandits.service")

#: What is read from the log at a time, while the client takes it.
_MOST_EVENTS, _MOST_BYTES = 500, 1 << 20

_SUMMARY_EVERY = 0.5
_COMMENT_EVERY = 15.0


async def stream(call: Call, event_text: Callable[[Any], str]) -> Response:
    """A response that goes on until the client leaves or the server drains."""
    service, name = call.service, call.name
    last = call.request.headers.get("last-event-id")  # of a client that comes again
    query = call.query(StreamQuery, {"after": last} if last else {})
    changed = service.watch(name, call.key.id)  # counted before anything is waited for
    try:
        row = await run_in_threadpool(_row, call)
        after = row.seq if query.after is None else query.after
        reads.check_kept(row, after)
    except BaseException:
        service.unwatch(name, changed)
        raise
    parts = _parts(call, changed, row.id, after, query.only == "summary", event_text)
    return _Stream(parts, lambda: service.unwatch(name, changed))


class _Stream(StreamingResponse):
    """A stream of events; calls `on_end` however it ends."""

    def __init__(self, parts: AsyncIterator[str], on_end: Callable[[], None]) -> None:
        super().__init__(parts, headers=HEADERS, media_type="text/event-stream")
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there is nothing more to send, or the client has left."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


async def _parts(
    call: Call,
    changed: asyncio.Event,
    campaign: int,
    seq: int,
    is_summary: bool,
    event_text: Callable[[Any], str],
) -> AsyncIterator[str]:
    service = call.service
    spoken, summed, last = time.monotonic(), 0.0, -1
    changed.set()
    yield "retry: 1000\n\n"
    try:
        while not service.is_draining:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), STALE_S)
            changed.clear()
            await identify(call.request, service)  # a stream ends with its key
            if not is_summary:
                while found := await run_in_threadpool(_after, call, campaign, seq):
                    seq, text = found[-1].seq, "".join(_part(event_text(row)) for row in found)
                    yield text
                    if len(found) < _MOST_EVENTS and len(text) < _MOST_BYTES:
                        break
            now = time.monotonic()
            if now - summed < _SUMMARY_EVERY:  # say it a little later, with what has happened until then
                await asyncio.sleep(_SUMMARY_EVERY / 10)
                changed.set()
                continue
            summed = now
            summary = await run_in_threadpool(_summary, call, campaign)
            if summary["seq"] != last:
                last, spoken = summary["seq"], now
                text = to_json(summary | {"now": time.time()}).decode()
                yield f"event: summary\nid: {last if is_summary else seq}\ndata: {text}\n\n"
            elif time.monotonic() - spoken >= _COMMENT_EVERY:
                spoken = time.monotonic()
                yield ": still here\n\n"
    except (MatroidBanditsError, SQLAlchemyError) as error:  # a client that comes again is told which
        log.info("a stream ended: %s", type(error).__name__)
    yield "event: end\ndata: {}\n\n"


def _part(text: str) -> str:
    seq, kind = text[7 : text.index(",")], text[text.index('"event":"') + 9 :]
    return f"event: {kind[: kind.index(chr(34))]}\nid: {seq}\ndata: {text}\n\n"


def _row(call: Call) -> Any:
    with call.service.database.reading() as connection:
        return call.service.database.get(connection, call.name)


def _summary(call: Call, campaign: int) -> dict[str, Any]:
    """A campaign at a glance; from its row, so that any server can tell it."""
    with call.service.database.reading() as connection:
        rows = call.service.database.rows(connection, [campaign])
    if not rows:
        raise UnknownCampaignError(f"expected the name of a campaign, got {call.name!r}")
    return reads.row_form(rows[0], stored_terms(rows[0]))


def _after(call: Call, campaign: int, seq: int) -> Any:
    with call.service.database.reading() as connection:
        found = call.service.database.page(connection, campaign, seq, _MOST_EVENTS, _MOST_BYTES)
        if found and found[0].seq != seq + 1:
            reads.check_kept(call.service.database.rows(connection, [campaign])[0], seq)
        return found
