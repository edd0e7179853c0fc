"""One command with several processes: each is a server of its own; workers and parents that die or stop."""

import collections
import contextlib
import multiprocessing
import os
import re
import signal
import socket
import tempfile
import threading
import time
import types
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
import uvicorn
from uvicorn.config import STARTUP_FAILURE

from matroid_bandits.service import Database, Settings, _workers, create_key, export_campaign
from matroid_bandits.service._tables import campaigns, snapshots
from service_databases import fresh_postgres
from service_kit import create, until
from service_nursery import children, nursery, wait_until_ready
from service_visitors import free_ports

pytestmark = pytest.mark.compiled  # servers are processes of their own

LEASE = 1.0


class Command:
    """``serve --workers 2`` as a process, and clients of it."""

    def __init__(self, url, servers):
        self.database = Database(url)
        self.database.open()
        self.keys = {role: create_key(self.database, role) for role in ("admin", "read")}
        self.keys["slow"] = create_key(self.database, "read", rate=0.001)
        self.port, self.first = free_ports(1)[0], two_in_a_row()
        more = {"lease": LEASE, "max_streams_per_key": 2, "snapshot_every": 1000, "drain": 5.0}
        more["worker_port"] = self.first
        self.pid = servers.start(url, self.port, workers=2, **more)
        self._servers, self._clients = servers, []
        for port in (self.first, self.first + 1):
            wait_until_ready(port, 120.0)

    def client(self, key="admin", worker=None):
        """A client with a connection of its own, to any worker or to one of them."""
        headers = {"Authorization": f"Bearer {self.keys[key]}"}
        port = self.port if worker is None else self.first + worker
        self._clients.append(httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60.0))
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
        check_memory(command)
        n_asked = check_a_stopped_parent(command, n_asked)
        many = command.client().post("/v1/campaigns/ads/ask/batch", json={"requests": [{}] * 100})
        assert len(many.json()["decisions"]) == 100
        command.end()
    check_log(command.database, n_asked + 100)


class Worker:
    """A worker of a supervisor, as far as it shows: one that answers nothing until it is told to."""

    def __init__(self, config, sockets):
        self.parent_conn, self.child_conn = multiprocessing.Pipe()
        self.process, self.pid, self.exitcode = self, 4_000_000 + len(self.started), None
        self.started.append(self)

    def start(self):
        pass

    def join(self):
        pass

    def is_alive(self, timeout=0.0):
        assert not timeout, "the supervisor waits for a worker"
        return self.exitcode is None

    def kill(self):
        self.exitcode = self.exitcode or -signal.SIGKILL
        self.parent_conn.close()
        self.child_conn.close()

    terminate = kill


@pytest.fixture
def supervisor(monkeypatch):
    """A supervisor of two workers that answer nothing, with clock and signals of its own."""
    monkeypatch.setattr(Worker, "started", [], raising=False)
    monkeypatch.setattr("uvicorn.supervisors.multiprocess.Process", Worker)
    monkeypatch.setattr(_workers, "Process", Worker)
    monkeypatch.setattr("uvicorn.supervisors.multiprocess.signal.signal", lambda *_: None)
    made = _workers._Supervisor(uvicorn.Config("none", workers=2, timeout_worker_healthcheck=60), sockets=[])
    made.now = 0.0
    monkeypatch.setattr(_workers, "time", types.SimpleNamespace(monotonic=lambda: made.now))
    made.init_processes()
    return made


def test_a_supervisor_replaces_workers_that_die_and_waits_for_none(supervisor):
    one, two = supervisor.processes
    supervisor.keep_subprocess_alive()  # both are asked, and import
    assert one.child_conn.recv() == two.child_conn.recv() == b"ping"
    one.exitcode = -signal.SIGKILL  # while its answer is awaited
    supervisor.keep_subprocess_alive()
    assert supervisor.processes == [Worker.started[2], two]
    two.child_conn.send(True)
    supervisor.keep_subprocess_alive()  # the second and the third are asked
    supervisor.now = 59.0
    two.child_conn.send(True)
    supervisor.keep_subprocess_alive()
    supervisor.now = 118.0  # the third has said nothing for more than 60 seconds, the second for 59
    supervisor.keep_subprocess_alive()
    assert supervisor.processes == [Worker.started[3], two]
    Worker.started[3].exitcode = STARTUP_FAILURE
    supervisor.keep_subprocess_alive()
    assert supervisor.should_exit.is_set()
    assert len(Worker.started) == 4


def test_a_supervisor_ends_while_a_worker_begins(supervisor, monkeypatch):
    supervisor.processes.clear()
    rounds = []

    def wait(timeout):
        rounds.append(timeout)
        if len(rounds) == 2:  # both were asked, and import
            supervisor.signal_queue.append(signal.SIGTERM)
        return len(rounds) > 3 or threading.Event.is_set(supervisor.should_exit)

    monkeypatch.setattr(supervisor.should_exit, "wait", wait)
    supervisor.run()
    assert len(rounds) == 3
    assert {each.exitcode for each in Worker.started[2:]} == {-signal.SIGKILL}


def test_workers_are_as_many_as_told_or_one_for_each_core():
    assert _workers.count_workers(Settings(workers=3)) == 3
    assert _workers.count_workers(Settings(workers="auto")) >= 1


def check_limits(command):
    """Rates and streams are counted where requests are executed."""
    client = command.client("slow", worker=0)
    statuses = collections.Counter(client.get("/v1/campaigns").status_code for _ in range(8))
    assert statuses == {200: 1, 429: 7}
    until(lambda: is_passed_on(command))
    with contextlib.ExitStack() as stack:  # all of them at the holder of the lease
        opened = [
            stack.enter_context(command.client("read", worker=n % 2).stream("GET", "/v1/campaigns/ads/stream"))
            for n in range(4)
        ]
        assert sorted(answer.status_code for answer in opened) == [200, 200, 413, 413]
    until(lambda: all(figure(command.client(worker=n), "streams") == 0.0 for n in range(2)))


def is_passed_on(command):
    """Whether one of the workers knows that the other has the lease."""
    for n in range(2):
        client = command.client(worker=n)
        assert client.get("/v1/campaigns/ads").status_code == 200
        if 'passed_on_requests_total{result="answered"}' in client.get("/metrics").text:
            return True
    return False


def check_figures(command):
    """Each worker tells its own figures; those of a campaign come from the holder of its lease."""
    clients = [command.client(worker=n % 2) for n in range(8)]
    answers = [client.post("/v1/campaigns/ads/ask", json={}) for client in clients for _ in range(3)]
    assert [answer.json()["decision"] for answer in answers] == list(range(1, 25))
    pages = [command.client(worker=n).get("/metrics").text for n in range(2)]
    name = r'matroid_bandits_requests_total{endpoint="POST /v1/campaigns/{name}/ask",status="200"} 24.0'
    assert [name in page for page in pages] == ['leased{campaign="ads"} 1.0' in page for page in pages]
    assert sorted('events{campaign="ads"} 25.0' in page for page in pages) == [False, True]
    assert sorted('passed_on_requests_total{result="answered"}' in page for page in pages) == [False, True]
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
        until(lambda victim=victim: victim not in children(command.pid) and len(children(command.pid)) == 2, 240.0)
        for n in range(2):
            wait_until_ready(command.first + n, 120.0)
        read_stream(command, seen, n_asked + 1)
    assert set(children(command.pid)).isdisjoint(workers)
    return n_asked


def check_memory(command):
    """Workers share no memory by files, which a full folder could not back."""
    for pid in children(command.pid):
        mapped = Path(f"/proc/{pid}/maps").read_text()
        assert tempfile.gettempdir() + "/matroid" not in mapped
        assert "/dev/shm/" not in mapped


def check_a_stopped_parent(command, n_asked):
    """Workers go on while their parent is stopped."""
    workers = children(command.pid)
    os.kill(command.pid, signal.SIGSTOP)
    for _ in range(20):
        n_asked += 1
        assert command.ask(n_asked) == n_asked
    assert children(command.pid) == workers
    os.kill(command.pid, signal.SIGCONT)
    return n_asked


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers in /proc")
def test_workers_of_a_killed_parent_end_and_free_the_port(tmp_path):
    with nursery() as servers:
        command = Command(str(tmp_path / "ads.db"), servers)
        create(command.client())
        assert command.ask(1) == 1
        workers = children(command.pid)
        servers.end(command.pid)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 60.0)
        with socket.create_server(("127.0.0.1", command.port)):
            pass
        for client in command._clients:
            client.close()
    check_log(command.database, 1, has_snapshot=False)


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


def check_log(database, n_asked, *, has_snapshot=True):
    """The log has every decision once, and there is a snapshot of its end."""
    lines = [*export_campaign(database, "ads")]
    decisions = [int(n) for line in lines for n in re.findall(r'"event":"asked","decision":(\d+)', line)]
    assert decisions == list(range(1, n_asked + 1))
    with database.reading() as connection:
        (row,) = connection.execute(sa.select(campaigns)).all()
        assert row.seq == n_asked + 1
        assert not has_snapshot or row.seq in connection.execute(sa.select(snapshots.c.seq)).scalars().all()
    database.close()


def figure(client, name):
    text = client.get("/metrics").text
    found = re.search(rf"^matroid_bandits_{name} (\S+)$", text, re.MULTILINE)
    return float(found[1])


def two_in_a_row():
    """The first of two free ports, one behind the other."""
    while True:
        (port,) = free_ports(1)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port + 1)):
            return port
