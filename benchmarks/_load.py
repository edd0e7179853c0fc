"""Load on a server that costs little itself: keep-alive sockets, requests written beforehand, answers barely read.

``python -m benchmarks._load`` puts load as a process of its own: it reads its arguments as JSON from standard input,
and writes latencies to standard output.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_ROOT = Path(__file__).resolve().parent.parent
_WARM_S = 0.5
_DECISION = b'{"decision":'

#: Seconds after which a request that was refused with 503 is sent again.
_AGAIN_S = 0.02


@dataclass(frozen=True)
class Load:
    """What a server did under load: requests a second, the median and the 99th percentile of their seconds, and how
    many were refused with 503 and sent again."""

    rate: float
    p50: float
    p99: float
    n_refused: int = 0


def put_load(
    ports: Sequence[int],
    campaigns: Sequence[str],
    key: str,
    rank: int,
    n_clients: int,
    seconds: float,
    *,
    warm: float = _WARM_S,
    n_processes: int = 1,
) -> Load:
    """Let clients ask and tell in turns, each request with an id of its own; what was answered in time.

    Clients are spread over campaigns, and those of each campaign over all ports. With several processes the load does
    not end where one processor does.
    """
    given = {"ports": [*ports], "campaigns": [*campaigns], "key": key, "rank": rank, "seconds": seconds, "warm": warm}
    parts = [
        given | {"clients": [*range(first, n_clients, n_processes)], "run": f"{time.time_ns():x}-{first}"}
        for first in range(n_processes)
    ]
    if n_processes == 1:
        latencies, n_refused = asyncio.run(_put_load(**parts[0]))
    else:
        latencies, n_refused = _put_together(parts)
    found = np.array(latencies)
    return Load(found.size / seconds, *np.percentile(found, [50, 99]).tolist(), n_refused)


def _put_together(parts: list[dict[str, Any]]) -> tuple[list[float], int]:
    command = [sys.executable, "-m", "benchmarks._load"]
    processes = [
        subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in parts
    ]
    for process in processes:  # each has imported what it needs when it says so
        assert process.stdout is not None
        process.stdout.readline()
    for process, part in zip(processes, parts, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps(part))
        process.stdin.close()
    latencies: list[float] = []
    n_refused = 0
    for process in processes:
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        latencies += found["latencies"]
        n_refused += found["n_refused"]
        process.wait()
    return latencies, n_refused


async def _put_load(
    ports: list[int],
    campaigns: list[str],
    key: str,
    rank: int,
    seconds: float,
    warm: float,
    clients: list[int],
    run: str,
) -> tuple[list[float], int]:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    begin = time.perf_counter() + warm
    made = []
    for n in clients:
        campaign, port = campaigns[n % len(campaigns)], ports[n // len(campaigns) % len(ports)]
        asking, telling = _heads(campaign, key, f"{run}-{n}-")
        client = _Client(asking, telling, rank, latencies, begin, begin + seconds)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
        made.append(client)
    await asyncio.gather(*(client.done for client in made))
    return latencies, sum(client.n_refused for client in made)


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
        self.n_refused = 0
        self._asking, self._telling = asking, telling
        self._weights = b',"weights":[' + b",".join(b"%.2f" % (k / rank) for k in range(rank)) + b"]}"
        self._latencies, self._begin, self._end = latencies, begin, end
        self._numbers = itertools.count()
        self._received, self._is_asking, self._sent, self._last = b"", True, 0.0, b""

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
        if now >= self._end:
            self.done.set_result(None)
            self._transport.close()
            return
        if data.startswith(b"HTTP/1.1 503"):
            self.n_refused += 1
            asyncio.get_running_loop().call_later(_AGAIN_S, self._transport.write, self._last)
            return
        if not data.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(data[:2000].decode(errors="replace")))
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
        self._last = b"%b%d\r\nContent-Length: %d\r\n\r\n%b" % (head, next(self._numbers), len(body), body)
        self._transport.write(self._last)


def _length(data: bytes, head: int) -> int:
    at = data.lower().find(b"content-length:", 0, head) + 15
    return int(data[at : data.index(b"\r\n", at)])


def main() -> None:
    print("ready", flush=True)
    latencies, n_refused = asyncio.run(_put_load(**json.loads(sys.stdin.read())))
    print(json.dumps({"latencies": latencies, "n_refused": n_refused}))


if __name__ == "__main__":
    main()
