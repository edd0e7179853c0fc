"""The servers that are compared: an endpoint that does nothing, and one that commits every request by itself.

``python -m benchmarks._servers empty PORT`` and ``python -m benchmarks._servers naive PORT DATABASE`` run them, on
the stack and with the settings that the service has.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from pydantic_core import from_json, to_json
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import matroid_bandits as mb
from matroid_bandits.service import Database


def empty() -> Starlette:
    """Reads the body, and answers the same every time."""
    decision = to_json({"decision": 1, "items": [f"item {n}" for n in range(10)], "full": True, "held_out": False})

    async def answer(request: Request) -> Response:
        await request.body()
        return Response(decision, media_type="application/json")

    return _app({"ask": answer, "tell": answer})


def naive(url: str) -> Starlette:
    """What one would write first: a transaction for each request, on the tables of the service.

    It keeps the learner in memory too, and it checks no keys and counts nothing: only the transactions differ to its
    disadvantage.
    """
    database, lock = Database(url), threading.Lock()
    database.open()
    with database.reading() as connection:
        row = database.find(connection, "bench0")
        created = from_json(next(iter(database.log(connection, row.id))).payload)
    learner = mb.Learner.replay([created])
    emitted: list[dict[str, Any]] = []
    learner.record = emitted.append
    state = {"seq": row.seq}
    held: list[Any] = []

    def transact(request_id: str, digest: str, run: Callable[[], bytes]) -> bytes:
        with lock:
            if not held:
                held.append(database.engine.connect())
            with database.writing(held[0]) as connection:
                (now,) = database.lock(connection, [row.id])
                if known := database.known(connection, [request_id]):
                    return bytes(known[row.id, request_id].answer.encode())
                answer = run()
                events = [
                    (row.id, state["seq"] + n, now.now, to_json(event).decode()) for n, event in enumerate(emitted, 1)
                ]
                emitted.clear()
                database.append(connection, events)
                state["seq"] += len(events)
                counts = learner.n_decisions, learner.n_outstanding, 0
                database.advance(connection, [(state["seq"], "", *counts, "active", None, row.id)])
                database.remember(connection, [(request_id, row.id, digest, 200, answer.decode(), now.now)])
            return answer

    def ask(_: bytes) -> bytes:
        decision = learner.ask()
        items = list(decision.labels)
        return to_json({"decision": decision.id, "items": items, "full": decision.is_full, "held_out": False})

    def tell(body: bytes) -> bytes:
        form = from_json(body)
        learner.tell(form["decision"], form["weights"])
        return to_json({"decision": form["decision"], "told": len(form["weights"]), "waiting": False})

    def endpoint(act: Callable[[bytes], bytes]) -> Any:
        async def answer(request: Request) -> Response:
            body = await request.body()
            id = request.headers["idempotency-key"]
            digest = hashlib.blake2b(body, digest_size=16).hexdigest()
            content = await run_in_threadpool(transact, id, digest, lambda: act(body))
            return Response(content, media_type="application/json")

        return answer

    return _app({"ask": endpoint(ask), "tell": endpoint(tell)})


def _app(handlers: dict[str, Any]) -> Starlette:
    at = "/v1/campaigns/{name}"
    return Starlette(routes=[Route(f"{at}/{verb}", handler, methods=["POST"]) for verb, handler in handlers.items()])


def main() -> None:
    kind, port, *rest = sys.argv[1:]
    app = empty() if kind == "empty" else naive(*rest)
    os.environ.setdefault("UV_USE_IO_URING", "0")
    sys.setswitchinterval(0.001)
    gc.collect()
    gc.freeze()
    uvicorn.run(app, port=int(port), log_config=None, access_log=False, server_header=False, date_header=False)


if __name__ == "__main__":
    main()
