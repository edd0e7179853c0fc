"""The log as it grows, as server-sent events. A client that reads slowly is behind, and costs no memory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from matroid_bandits.exceptions import LimitError, MalformedRequestError, UnknownCampaignError
from matroid_bandits.service import _reads as reads
from matroid_bandits.service._dispatch import HEADERS, Call, read_integer

#: The largest number of an event that is asked for; every database holds it.
LAST_EVENT = 10**15

_CHUNK = 500
_SUMMARY_EVERY = 0.5
_COMMENT_EVERY = 15.0


async def stream(call: Call, event_text: Callable[[Any], str]) -> Response:
    """A response that goes on until the client leaves or the server drains."""
    service, name = call.service, call.name
    assert name is not None
    only = call.request.query_params.get("only", "")
    if only not in ("", "summary"):
        raise MalformedRequestError(f"expected only to be summary, got {only[:100]!r}")
    if service.n_watchers >= service.settings.max_streams:
        raise LimitError(f"expected at most {service.settings.max_streams} streams at a time, got one more")
    row = await run_in_threadpool(_row, call)
    begin = call.request.headers.get("last-event-id", "") or call.request.query_params.get("after", str(row.seq))
    parts = _parts(call, row.id, read_integer("after", begin, 0, LAST_EVENT), only == "summary", event_text)
    return StreamingResponse(parts, headers=HEADERS, media_type="text/event-stream")


async def _parts(
    call: Call, campaign: int, seq: int, is_summary: bool, event_text: Callable[[Any], str]
) -> AsyncIterator[str]:
    service, name = call.service, call.name
    assert name is not None
    changed = service.watch(name)
    spoken, summed, last = time.monotonic(), 0.0, -1
    changed.set()
    yield "retry: 1000\n\n"
    try:
        while not service.is_draining:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _COMMENT_EVERY)
            changed.clear()
            if not is_summary:
                while found := await run_in_threadpool(_after, call, campaign, seq):
                    seq = found[-1].seq
                    yield "".join(_part(event_text(row)) for row in found)
                    if len(found) < _CHUNK:
                        break
            now = time.monotonic()
            if now - summed < _SUMMARY_EVERY:  # say it a little later, with what has happened until then
                await asyncio.sleep(_SUMMARY_EVERY / 10)
                changed.set()
                continue
            summed = now
            summary = await service.read(name, reads.summary_form)
            if summary["seq"] != last:
                last, spoken = summary["seq"], now
                text = to_json(summary | {"now": time.time()}).decode()
                yield f"event: summary\nid: {last if is_summary else seq}\ndata: {text}\n\n"
            elif time.monotonic() - spoken >= _COMMENT_EVERY:
                spoken = time.monotonic()
                yield ": still here\n\n"
        yield "event: end\ndata: {}\n\n"
    finally:
        service.unwatch(name, changed)


def _part(text: str) -> str:
    seq, kind = text[7 : text.index(",")], text[text.index('"event":"') + 9 :]
    return f"event: {kind[: kind.index(chr(34))]}\nid: {seq}\ndata: {text}\n\n"


def _row(call: Call) -> Any:
    with call.service.database.reading() as connection:
        row = call.service.database.find(connection, str(call.name))
    if row is None:
        raise UnknownCampaignError(f"expected the name of a campaign, got {call.name!r}")
    return row


def _after(call: Call, campaign: int, seq: int) -> Any:
    with call.service.database.reading() as connection:
        return call.service.database.after(connection, campaign, seq, _CHUNK)
