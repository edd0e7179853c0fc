"""What a request costs by process: two workers of a command, requests to the holder of a lease, to the other, to any.

Processor time is read from /proc before and after a load, for each process of a server, of the database and of nginx;
the load generator is a process of its own, and is not counted. Where a checkout has ports of each worker, requests go
to the worker that keeps the campaign ("direct"), or two of three to the other ("passed on"); "any" is the shared
address, where about half are passed on, as in every version; nginx hashes the campaign's name.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks._load import put_load
from benchmarks._running import RANK, ROOT, create, fresh, running

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_CLIENTS, _WARM_S = 64, 2.0
_PASSED = 'matroid_bandits_passed_on_requests_total{result="answered"}'

_NGINX = """
daemon off; pid nginx.pid; worker_processes 1; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .;
  map $uri $campaign {{ ~^/v1/campaigns/(?<name>[^/]+) $name; default ""; }}
  upstream workers {{ hash $campaign; {servers} keepalive 64; }}
  server {{ listen 127.0.0.1:{port}; location / {{
    proxy_pass http://workers; proxy_http_version 1.1; proxy_set_header Connection ""; }} }}
}}
"""


@dataclass(frozen=True)
class Cost:
    """Microseconds of processor time a request, by process, and requests a second."""

    tree: str
    way: str
    n_campaigns: int
    rate: float
    micros: dict[str, float]
    passed: float = float("nan")  # the share of requests that were passed on, where that is told

    @property
    def total(self) -> float:
        """All processes together."""
        return sum(self.micros.values())


def measure(
    url: str, tree: Path | None, seconds: float, rounds: int, tell: Callable[[Cost], None] = lambda cost: None
) -> list[Cost]:
    """The best of some rounds, of this checkout and another, by campaigns and ways; `tell` is given each."""
    found: dict[tuple[str, str, int], Cost] = {}
    for _ in range(rounds):
        for name, checkout in (("this", ROOT), *([("other", tree)] if tree is not None else [])):
            for n_campaigns in (2, 1):
                for cost in _of_tree(url, name, checkout, n_campaigns, seconds):
                    tell(cost)
                    key = cost.tree, cost.way, n_campaigns
                    if key not in found or cost.total < found[key].total:
                        found[key] = cost
    return [*found.values()]


def _of_tree(url: str, name: str, tree: Path, n_campaigns: int, seconds: float) -> Iterator[Cost]:
    ways = ("direct", "passed on", "any", "nginx") if name == "this" else ("one worker", "any")
    for way in ways:
        base = fresh(url)
        names, key = create(base, n_campaigns, tree)
        first = 20_000 + os.getpid() % 5_000
        more = ["--workers", "1" if way == "one worker" else "2"]
        more += ["--worker-port", str(first)] if name == "this" else []
        with running("ours", base, *more, tree=tree) as port, contextlib.ExitStack() as stack:
            ports = {campaign: [port] for campaign in names}
            if name == "this":
                at = {campaign: _holder(first, campaign, key) for campaign in names}
                if way in ("direct", "passed on"):  # a lease would follow more than three quarters of the requests
                    others = 0 if way == "direct" else 2
                    ports = {each: [first + worker] + others * [first + 1 - worker] for each, worker in at.items()}
                elif way == "nginx":
                    in_front = stack.enter_context(_nginx((first, first + 1)))
                    ports = {campaign: [in_front] for campaign in names}
            told = (first, key) if name == "this" else None
            yield _put(name, way, ports, key, seconds, told)


def _put(
    tree: str, way: str, ports: dict[str, list[int]], key: str, seconds: float, told: tuple[int, str] | None
) -> Cost:
    """Load on each campaign at its port, and what that cost."""
    watched = _processes()
    names = [*ports]
    # Clients are spread over ports within a campaign; where campaigns have their own, each gets a load of its own.
    is_apart = len(names) > 1 and ports[names[0]] != ports[names[1]]
    loads = [(ports[name], [name]) for name in names] if is_apart else [(ports[names[0]], names)]

    def put(lasting: float) -> float:
        """Requests that were answered."""
        with ThreadPoolExecutor(len(loads)) as pool:
            jobs = [
                pool.submit(put_load, *load, key, RANK, _CLIENTS // len(loads), lasting, warm=0.0, n_processes=2)
                for load in loads
            ]
            return sum(job.result().rate for job in jobs) * lasting

    with contextlib.suppress(IndexError):  # nothing was answered by a server that still compiles
        put(_WARM_S)
    began, n_before = {pid: _spent(pid) for pid in watched}, 0.0 if told is None else _passed(*told)
    n = put(seconds)
    micros: dict[str, float] = {}
    for pid, kind in watched.items():
        micros[kind] = micros.get(kind, 0.0) + 1e6 * (_spent(pid) - began[pid]) / n
    passed = float("nan") if told is None else (_passed(*told) - n_before) / n
    return Cost(tree, way, len(names), n / seconds, micros, passed)


def _holder(first: int, campaign: str, key: str) -> int:
    """The worker that keeps a campaign, once one says so."""
    while True:
        with contextlib.suppress(OSError):  # one of them is not there yet
            pages = [_page(first + worker, key) for worker in range(2)]
            for worker, page in enumerate(pages):
                if f'leased{{campaign="{campaign}"}} 1.0' in page:
                    return worker
        time.sleep(0.1)


def _passed(first: int, key: str) -> float:
    """How many requests the workers have passed on so far."""
    lines = (line for worker in range(2) for line in _page(first + worker, key).splitlines())
    return sum(float(line.split()[-1]) for line in lines if line.startswith(_PASSED))


def _page(port: int, key: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as page:
        return str(page.read().decode())


@contextlib.contextmanager
def _nginx(ports: tuple[int, ...]) -> Iterator[int]:
    folder = Path(tempfile.mkdtemp(prefix="matroid-bandits-bench-nginx-"))
    port = min(ports) - 1
    servers = " ".join(f"server 127.0.0.1:{each};" for each in ports)
    (folder / "nginx.conf").write_text(_NGINX.format(servers=servers, port=port))
    process = subprocess.Popen(
        ["nginx", "-p", str(folder), "-e", "stderr", "-c", "nginx.conf"], stderr=subprocess.DEVNULL
    )
    try:
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz"):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _processes() -> dict[int, str]:
    """This process's servers, and what they are for."""
    found: dict[int, str] = {}
    parents: dict[int, int] = {}
    words: dict[int, str] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (path / "stat").read_text()
                parents[int(path.name)] = int(stat.rpartition(")")[2].split()[1])
                words[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    workers = 0
    for pid in sorted(parents):
        above = pid
        while above and above != os.getpid():
            above = parents.get(above, 0)
        if "postgres" in words[pid] and "serve" not in words[pid]:
            found[pid] = "PostgreSQL"
        elif above and pid != os.getpid():
            if "nginx" in words[pid]:
                found[pid] = "nginx"
            elif "spawn_main" in words[pid] or "serve" in words[pid]:
                found[pid] = f"server {workers}"
                workers += 1
    return found


def _spent(pid: int) -> float:
    """Seconds of processor time of a process."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK_S
    return 0.0
