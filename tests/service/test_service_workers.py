"""One command with several processes: limits and figures of all of them, workers that die or stop, and its end."""

import collections
import contextlib
import os
import re
import signal
import time
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from matroid_bandits.service import Database, create_key, export_campaign
from matroid_bandits.service._tables import campaigns, snapshots
from service_databases import fresh_postgres
from service_kit import create, until
from service_nursery import children, nursery, wait_until_ready
from service_visitors import free_ports

pytestmark = pytest.mark.compiled  # servers are processes of their own

TAKEOVER = 3.0


class Command:
    """``serve --workers 2`` as a process, and clients of it."""

    def __init__(self, url, servers):
        self.database = Database(url)
        self.database.open()
        self.keys = {role: create_key(self.database, role) for role in ("admin", "read")}
        self.keys["slow"] = create_key(self.database, "read", rate=0.001)
        (self.port,) = free_ports(1)
        more = {"takeover": TAKEOVER, "max_streams_per_key": 2, "snapshot_every": 1000, "drain": 5.0}
        self.pid = servers.start(url, self.port, workers=2, **more)
        self._servers, self._clients = servers, []
        wait_until_ready(self.port, 120.0)

    def client(self, key="admin"):
        """A client with a connection of its own."""
        headers = {"Authorization": f"Bearer {self.keys[key]}"}
        self._clients.append(httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=60.0))
        return self._clients[-1]

    def ask(self, n):
        """The number of a new decision; its client sends the request again, with its id, until it is answered."""
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = self.client().post("/v1/campaigns/ads/ask", json={}, headers={"Idempotency-Key": f"ask {n}"})
                if answer.status_code == 200:
                    return answer.json()["decision"]
                assert answer.status_code == 503, answer.text
            time.sleep(0.05)

    def end(self):
        for client in self._clients:
            client.close()
        self._servers.end(self.pid, signal.SIGTERM)


@pytest.mark.compiled
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers in /proc")
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def test_workers_of_one_command(kind, tmp_path, request):
    url = str(tmp_path / "ads.db") if kind == "sqlite" else fresh_postgres(request.getfixturevalue("postgres"))
    with nursery() as servers:
        command = Command(url, servers)
        create(command.client())
        check_limits(command)
        n_asked = check_figures(command)
        n_asked = check_deaths(command, n_asked)
        many = command.client().post("/v1/campaigns/ads/ask/batch", json={"requests": [{}] * 100})
        assert len(many.json()["decisions"]) == 100
        command.end()
    check_log(command.database, n_asked + 100)


def check_limits(command):
    """Rates and streams are counted for all workers together."""
    statuses = collections.Counter(command.client("slow").get("/v1/campaigns").status_code for _ in range(8))
    assert statuses == {200: 1, 429: 7}
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(command.client("read").stream("GET", "/v1/campaigns/ads/stream"))
                  for _ in range(4)]  # fmt: skip
        assert sorted(answer.status_code for answer in opened) == [200, 200, 413, 413]
    until(lambda: figure(command.client(), "streams") == 0.0)
    with command.client("read").stream("GET", "/v1/campaigns/ads/stream") as again:
        assert again.status_code == 200


def check_figures(command):
    """Any worker answers for all of them; connections are shared evenly, and so are their requests."""
    clients = [command.client() for _ in range(8)]
    answers = [client.post("/v1/campaigns/ads/ask", json={}) for client in clients for _ in range(3)]
    assert [answer.json()["decision"] for answer in answers] == list(range(1, 25))
    name = r'requests_total{endpoint="POST /v1/campaigns/\{name\}/ask",status="200"}'
    assert {figure(client, name) for client in clients} == {24.0}
    assert {figure(client, 'home{campaign="ads"}') for client in clients} == {1.0}
    assert figure(clients[0], "ready") == 1.0
    assert figure(clients[0], "batch_size_sum") >= 24.0
    return 24


def check_deaths(command, n_asked):
    """Each worker is killed once, and one is stopped; asks go on, and a stream has every event once."""
    workers = children(command.pid)
    assert len(workers) == 2
    seen = {}
    for victim, sig in ((workers[0], signal.SIGKILL), (workers[1], signal.SIGSTOP)):
        os.kill(victim, sig)
        n_asked += 1
        assert command.ask(n_asked) == n_asked
        until(lambda victim=victim: victim not in children(command.pid) and len(children(command.pid)) == 2)
        wait_until_ready(command.port, 120.0)
        read_stream(command, seen, n_asked + 1)
    assert set(children(command.pid)).isdisjoint(workers)
    return n_asked


def read_stream(command, seen, last):
    """Read the log from where an earlier stream ended."""
    after = {"Last-Event-ID": str(max(seen, default=0))}
    with command.client().stream("GET", "/v1/campaigns/ads/stream", headers=after) as answer:
        for line in answer.iter_lines():
            if found := re.match(r'data: \{"seq":(\d+),"at":', line):
                assert int(found[1]) == max(seen, default=0) + 1
                seen[int(found[1])] = line
                if int(found[1]) == last:
                    return


def check_log(database, n_asked):
    """The log has every decision once, and a snapshot of its end."""
    lines = [*export_campaign(database, "ads")]
    decisions = [int(n) for line in lines for n in re.findall(r'"event":"asked","decision":(\d+)', line)]
    assert decisions == list(range(1, n_asked + 1))
    with database.reading() as connection:
        (row,) = connection.execute(sa.select(campaigns)).all()
        assert row.seq == n_asked + 1
        assert row.seq in connection.execute(sa.select(snapshots.c.seq)).scalars().all()
    database.close()


def figure(client, name):
    text = client.get("/metrics").text
    found = re.search(rf"^matroid_bandits_{name} (\S+)$", text, re.MULTILINE)
    return float(found[1])
