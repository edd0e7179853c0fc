"""Several servers on one database: 1, 2, 4, 8 of them, one campaign and eight, requests to any server.

Rates are shown against one server of another checkout, where one is named, else of this one, all in one run. Beside
them, what the writer of a server does that is handed batches of 32 operations on one campaign and nothing else: the
most that a campaign's home can do.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._load import Load, put_load
from benchmarks._machine import n_cores
from benchmarks._running import RANK, ROOT, create, environment, fresh, running

#: Servers, campaigns, operations of a batch that is handed to a writer, and seconds of each measurement.
SERVERS, CAMPAIGNS = (1, 2, 4, 8), (1, 8)
_BATCH = 32

#: Clients of each server: fewer would leave several servers to wait for them and for the disk.
_CLIENTS = 64
_SECONDS, _ROUNDS = 3.0, 2

#: Expected on 16 cores, of 8 workers against one server of the other checkout, by campaigns; of one campaign
#: against its home's own rate; and on any machine of two servers against one, by cores.
_LEAST_OF_EIGHT = {8: 5.0, 1: 2.0}
_LEAST_OF_HOME = 0.8
_LEAST_OF_TWO = 0.85
_MOST_TAIL = 5.0


@dataclass(frozen=True)
class Row:
    """What was measured of some servers: `kind` is "workers" of one command, "servers" apart, or "other"."""

    kind: str
    n_servers: int
    n_campaigns: int
    load: Load


def measure(
    url: str, tree: Path | None, seconds: float = _SECONDS, rounds: int = _ROUNDS, only: tuple[int, ...] = ()
) -> tuple[list[Row], dict[str, float]]:
    """The rows, of some numbers of workers alone where these are given; and what writers do that are handed batches,
    by tree."""
    n_processes, most = (4, n_cores() // 2) if n_cores() >= 8 else (1, 2)
    jobs = [("other", 1, tree or ROOT)]
    if only or "://" not in url:
        jobs += [("workers", n, ROOT) for n in only or (1, min(SERVERS[-1], most))]
    else:
        jobs += [("workers", n, ROOT) for n in SERVERS if n <= most]
        jobs += [("servers", n, ROOT) for n in (2, SERVERS[-1]) if n <= most]
    rows = []
    for n_campaigns in CAMPAIGNS:
        for kind, n_servers, checkout in jobs:
            with _fleet(url, kind, n_servers, n_campaigns, checkout) as (ports, names, key):
                n_clients = _CLIENTS * n_servers
                loads = [
                    put_load(ports, names, key, RANK, n_clients, seconds, warm=2.0, n_processes=n_processes)
                    for _ in range(rounds)
                ]
            rows.append(Row(kind, n_servers, n_campaigns, max(loads, key=lambda load: load.rate)))
    trees = {"this": ROOT} | ({} if tree is None else {"other": tree})
    return rows, {name: handed(fresh(url), seconds, checkout) for name, checkout in trees.items()}


@contextlib.contextmanager
def _fleet(
    url: str, kind: str, n_servers: int, n_campaigns: int, tree: Path
) -> Iterator[tuple[list[int], list[str], str]]:
    """Servers on an empty database: their ports, the names of campaigns, and a key."""
    url = fresh(url)
    names, key = create(url, n_campaigns, tree)
    with contextlib.ExitStack() as stack:
        if kind == "workers" and n_servers > 1:
            ports = [stack.enter_context(running("ours", url, "--workers", str(n_servers), tree=tree))]
        else:
            ports = [stack.enter_context(running("ours", url, tree=tree)) for _ in range(n_servers)]
        yield ports, names, key


def handed(url: str, seconds: float, tree: Path) -> float:
    """Operations a second of a writer in a process of its own, that is handed batches and serves nothing else."""
    create(url, tree=tree)
    command = [sys.executable, "-m", "benchmarks._fleet", url, str(seconds)]
    done = subprocess.run(command, cwd=ROOT, env=environment(tree), stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


class _Batch:
    """The future of all operations of a batch."""

    def __init__(self, n: int) -> None:
        self.answers: list[Any] = []
        self._n, self._is_done = n, threading.Event()

    def done(self) -> bool:
        return False

    def set_result(self, answer: Any) -> None:
        self.answers.append(answer)
        if len(self.answers) == self._n:
            self._is_done.set()

    def set_exception(self, error: BaseException) -> None:
        raise error

    def wait(self) -> list[Any]:
        if not self._is_done.wait(60.0):
            raise RuntimeError("a batch was not answered")
        return self.answers


def _hand(url: str, seconds: float) -> float:
    from pydantic_core import from_json

    from matroid_bandits.service import Service, Settings
    from matroid_bandits.service import _actions as act
    from matroid_bandits.service._operation import Operation
    from matroid_bandits.service._schemas import TellBody

    sys.setswitchinterval(0.0005)  # as servers have it
    service = Service(Settings(db=url))
    service.start()
    n, weights = 0, [k / RANK for k in range(RANK)]

    def serve(runs: list[Any], need: Any) -> list[Any]:
        nonlocal n
        batch = _Batch(len(runs))
        operations = []
        for run in runs:
            n += 1
            operations.append(Operation(run, "bench0", need, f"request {n}", f"{n:032x}", batch))
        for operation in operations:
            service.writer.submit(operation)
        return batch.wait()

    began, n_before = 0.0, 0
    end = time.perf_counter() + 1.0
    while True:
        if time.perf_counter() >= end:
            if began:
                break
            began, n_before, end = time.perf_counter(), n, time.perf_counter() + seconds
        made = [from_json(answer.body)["decision"] for answer in serve([act.ask({})] * _BATCH, "ask")]
        serve([act.tell(TellBody(decision=decision, weights=weights)) for decision in made], "change")
    rate = (n - n_before) / (time.perf_counter() - began)
    service.stop()
    return rate


def judge(rows: list[Row], own: float, expect: Any) -> None:
    """Tell `expect` what each figure is, and what is expected of it on this machine."""
    at = {(row.kind, row.n_servers, row.n_campaigns): row.load for row in rows}
    for n_campaigns in CAMPAIGNS:
        one = at["other", 1, n_campaigns].rate
        if ("workers", 8, n_campaigns) in at:
            eight = at["workers", 8, n_campaigns]
            what = f"8 workers, campaigns {n_campaigns} / one server"
            expect(what, eight.rate / one, _LEAST_OF_EIGHT[n_campaigns])
            least = min(row.load.rate for row in rows if row.n_campaigns == n_campaigns and row.kind != "other")
            expect(f"the least of all, campaigns {n_campaigns} / one server", least / one, 1.0)
            if n_campaigns == 1:
                expect("8 workers, one campaign / its home's own rate", eight.rate / own, _LEAST_OF_HOME)
        if ("servers", 2, n_campaigns) in at:
            ratio = at["servers", 2, n_campaigns].rate / at["workers", 1, n_campaigns].rate
            expect(f"two servers, campaigns {n_campaigns} / one", ratio, _LEAST_OF_TWO)
    worst = max(rows, key=lambda row: row.load.p99 / row.load.p50 if row.kind != "other" else 0.0)
    what = f"p99 / p50, at worst: {worst.n_servers} {worst.kind}, campaigns {worst.n_campaigns}"
    expect(what, worst.load.p99 / worst.load.p50, _MOST_TAIL, is_most=True)


if __name__ == "__main__":
    print(_hand(sys.argv[1], float(sys.argv[2])))
