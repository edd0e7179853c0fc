"""Load on a server that costs little itself: keep-alive sockets, requests written beforehand, answers barely read."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_WARM_S = 0.5
_DECISION = b'{"decision":'


@dataclass(frozen=True)
class Load:
    """What a server did under load: requests a second, and the median and the 99th percentile of their seconds."""

    rate: float
    p50: float
    p99: float


def put_load(ports: Sequence[int], campaign: str, key: str, rank: int, n_clients: int, seconds: float) -> Load:
    """Let clients ask and tell in turns, each request with an id of its own; what was answered in time."""
    return asyncio.run(_put_load(ports, campaign, key, rank, n_clients, seconds))


async def _put_load(ports: Sequence[int], campaign: str, key: str, rank: int, n_clients: int, seconds: float) -> Load:
    loop = asyncio.get_running_loop()
    run, latencies = f"{time.time_ns():x}", []
    begin = time.perf_counter() + _WARM_S
    clients = []
    for n in range(n_clients):
        asking, telling = _heads(campaign, key, f"{run}-{n}-")
        client = _Client(asking, telling, rank, latencies, begin, begin + seconds)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", ports[n % len(ports)])
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    found = np.array(latencies)
    return Load(found.size / seconds, *np.percentile(found, [50, 99]).tolist())


def _heads(campaign: str, key: str, run: str) -> list[bytes]:
    return [
        (
            f"POST /v1/campaigns/{campaign}/{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nIdempotency-Key: {run}{verb}"
        ).encode()
        for verb in ("ask", "tell")
    ]


class _Client(asyncio.Protocol):
    """One connection that asks, and tells what it was given."""

    def __init__(
        self, asking: bytes, telling: bytes, rank: int, latencies: list[float], begin: float, end: float
    ) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asking, self._telling = asking, telling
        self._weights = b',"weights":[' + b",".join(b"%.2f" % (k / rank) for k in range(rank)) + b"]}"
        self._latencies, self._begin, self._end = latencies, begin, end
        self._numbers = itertools.count()
        self._received, self._is_asking, self._sent = b"", True, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        data = self._received + data if self._received else data
        head = data.find(b"\r\n\r\n")
        if head < 0 or len(data) < head + 4 + _length(data, head):
            self._received = data
            return
        self._received = b""
        now = time.perf_counter()
        if not data.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(data[:2000].decode(errors="replace")))
            self._transport.close()
            return
        if now >= self._end:
            self.done.set_result(None)
            self._transport.close()
            return
        if self._sent >= self._begin:
            self._latencies.append(now - self._sent)
        if self._is_asking:
            at = data.index(_DECISION, head) + len(_DECISION)
            self._tell(data[at : data.index(b",", at)])
        else:
            self._ask()

    def _ask(self) -> None:
        self._is_asking = True
        self._send(self._asking, b"")

    def _tell(self, decision: bytes) -> None:
        self._is_asking = False
        self._send(self._telling, _DECISION + decision + self._weights)

    def _send(self, head: bytes, body: bytes) -> None:
        self._sent = time.perf_counter()
        self._transport.write(b"%b%d\r\nContent-Length: %d\r\n\r\n%b" % (head, next(self._numbers), len(body), body))


def _length(data: bytes, head: int) -> int:
    at = data.lower().find(b"content-length:", 0, head) + 15
    return int(data[at : data.index(b"\r\n", at)])
