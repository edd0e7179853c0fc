"""Homes of campaigns: servers announce themselves, hand operations over, and take over from each other."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

import matroid_bandits as mb
from matroid_bandits.service import Database, export_campaign
from matroid_bandits.service._homes import Registry, Server, View, least_busy
from matroid_bandits.service._remembered import FRONT_MARK
from matroid_bandits.service._tables import homes, requests, servers, snapshots
from matroid_bandits.specs import CampaignSpec, parse
from service_databases import fresh_postgres
from service_kit import ADS, create, started, until
from service_nursery import nursery, wait_until_ready
from service_visitors import free_ports

pytestmark = pytest.mark.compiled  # servers are processes of their own


@pytest.fixture
def registry(postgres):
    """Servers and homes of a PostgreSQL with three campaigns."""
    database = Database(fresh_postgres(postgres))
    database.open()
    with database.writing() as connection:
        for name in "abc":
            database.create(connection, name, "{}", 0.0)
    yield Registry(database, takeover=5.0)
    database.close()


def silence(registry, id, seconds=100.0):
    """Let a server have said nothing for a while."""
    with registry.database.writing() as connection:
        before = registry.database.clock - seconds
        connection.execute(sa.update(servers).where(servers.c.id == id).values(seen=before))


def settle(registry, seconds=100.0):
    """Let the last moves have been a while ago."""
    with registry.database.writing() as connection:
        connection.execute(sa.update(homes).values(since=registry.database.clock - seconds))


def test_a_home_is_claimed_once_and_moves_when_it_may(registry):
    registry.beat([Server("one", "127.0.0.1:1"), Server("two", "127.0.0.1:2")])
    first = registry.view()
    assert {*first.servers} == {"one", "two"}
    assert [first.homes[name].server for name in "abc"] == ["", "", ""]
    assert registry.place(first.homes["a"], "one")
    assert not registry.place(first.homes["a"], "two")  # what it goes by is not so any more
    home = registry.view().homes["a"]
    assert (home.server, home.epoch) == ("one", 1)
    assert not registry.place(home, "two")  # it has just moved
    settle(registry)
    assert registry.place(home, "two")
    assert not registry.place(home, "one")
    moved = registry.view().homes["a"]
    assert (moved.server, moved.epoch) == ("two", 2)
    registry.beat([Server("two", "127.0.0.1:2", is_draining=True)])
    assert registry.place(moved, "one")  # at once, from one that drains
    silence(registry, "one")
    assert registry.place(registry.view().homes["a"], "two")  # and from one that is dead
    registry.leave(["two"])
    assert registry.place(registry.view().homes["a"], "one")
    assert {*registry.view().servers} == {"one"}


def test_campaigns_go_to_the_least_busy_server_that_can_take_them(registry):
    able = [Server("one", ""), Server("two", "")]
    registry.beat([*able, Server("drains", "", is_draining=True), Server("old", "", protocol=0), Server("dead", "")])
    silence(registry, "dead")
    for _ in range(4):
        view = registry.view()
        free = [home for home in view.homes.values() if not home.server]
        if free:
            assert registry.place(free[0], least_busy(view, registry.silent))
    placed = sorted(home.server for home in registry.view().homes.values())
    assert placed in (["one", "one", "two"], ["one", "two", "two"])
    assert least_busy(View(), registry.silent) is None


def test_ids_that_servers_made_are_forgotten_after_minutes(url):
    with started(url, tick=1000.0) as service:
        database = service.database
        now = database.now()
        with database.writing() as connection:
            for id, age in ((f"{FRONT_MARK}old", 601.0), (f"{FRONT_MARK}new", 5.0), ("a client's", 601.0)):
                row = {"id": id, "campaign": 1, "digest": "", "status": 200, "answer": "{}", "at": now - age}
                connection.execute(sa.insert(requests).values(row))
        database.forget_ids(now - 600.0, of_fronts=True)
        with database.reading() as connection:
            assert sorted(connection.execute(sa.select(requests.c.id)).scalars()) == [
                f"{FRONT_MARK}new",
                "a client's",
            ]


def test_writes_of_a_server_of_the_first_version_are_refused(url):
    """The statements with which 45f5556 appends to a log: it does not know hashes, or whose an id is."""
    first = "UPDATE campaigns SET seq = 2, decisions = 1, waiting = 1, status = 'active', reason = NULL WHERE id = 1"
    second = "INSERT INTO requests (id, digest, status, answer, at) VALUES ('an id', '', 200, '{}', 0)"
    with started(url) as service:
        service.create(parse(CampaignSpec, {"name": "ads", "matroid": ADS, "policy": "OMM"}))
        for statement in (first, second):
            with pytest.raises(sa.exc.DBAPIError), service.database.writing() as connection:
                connection.exec_driver_sql(statement)
        with service.database.reading() as connection:
            assert service.database.get(connection, "ads").seq == 1


class Servers:
    """Three servers of one PostgreSQL, each a process."""

    def __init__(self, url, servers, n=3, **more):
        self.url, self.servers, self.more = url, servers, {"takeover": 1.0, **more}
        self.ports, self.pids, self.clients = free_ports(n), {}, {}
        self.database = Database(url)
        for port in self.ports:
            self.add(port)
        for port in self.ports:
            wait_until_ready(port)

    def add(self, port):
        self.pids[port] = self.servers.start(self.url, port, **self.more)
        self.clients[port] = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0)

    def home_of(self, name):
        """The port of the server that a campaign is at home at; by its figures, as an operator sees it."""
        for port, client in self.clients.items():
            with contextlib.suppress(httpx.HTTPError):
                if f'matroid_bandits_home{{campaign="{name}"}} 1.0' in client.get("/metrics").text:
                    return port
        return None

    def ask(self, port, name="ads", **headers):
        answer = self.clients[port].post(f"/v1/campaigns/{name}/ask", json={}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def end(self, port, sig=signal.SIGKILL):
        self.clients.pop(port).close()
        self.servers.end(self.pids.pop(port), sig)

    def close(self):
        for client in self.clients.values():
            client.close()
        for pid in self.pids.values():
            self.servers.end(pid)
        self.database.close()


@pytest.fixture(scope="module")
def processes():
    with nursery() as found:
        yield found


@pytest.fixture
def three(postgres, processes):
    found = Servers(fresh_postgres(postgres), processes)
    yield found
    found.close()


@pytest.mark.compiled
def test_any_server_takes_any_request_and_the_home_alone_keeps_the_learner(three):
    one, two, _ = (three.clients[port] for port in three.ports)
    for name in ("ads", "b", "c"):
        create(one, name)
    homes = {name: until(lambda name=name: three.home_of(name)) for name in ("ads", "b", "c")}
    assert len({*homes.values()}) == 3  # each server has one
    decisions = [three.ask(port)["decision"] for port in three.ports for _ in range(5)]
    assert decisions == list(range(1, 16))
    told = two.post("/v1/campaigns/ads/tell", json={"decision": 1, "weights": [0.5, 0.5]})
    assert told.json() == {"decision": 1, "told": 2, "waiting": False}
    assert len({client.get("/v1/campaigns/ads/estimates").text for client in three.clients.values()}) == 1
    # Errors are those of the home, word for word; an id finds its answer at any server.
    again = [client.post("/v1/campaigns/ads/tell", json={"decision": 1, "weights": [0.5, 0.5]})
             for client in three.clients.values()]  # fmt: skip
    assert {answer.status_code for answer in again} == {409}
    assert len({answer.text for answer in again}) == 1
    for path in ("ads/tell", "ads/close", "nothing/ask", "nothing/best", "a b/ask"):
        answers = [client.post(f"/v1/campaigns/{path}", json={}) for client in three.clients.values()]
        assert len({(answer.status_code, answer.text) for answer in answers}) == 1, [a.text for a in answers]
    first = [three.ask(port, **{"Idempotency-Key": "an id"}) for port in three.ports]
    assert first[0] == first[1] == first[2]
    closed = [client.post("/v1/campaigns/ads/close", json={"decision": 2}, headers={"Idempotency-Key": "close"})
              for client in three.clients.values()]  # fmt: skip
    assert {answer.text for answer in closed} == {'{"closed":1}'}
    loaded = [figure(client, "loaded_campaigns_total") for client in three.clients.values()]
    assert max(loaded) <= 1
    # Campaigns of a server that ends go to the others, and one comes to a server that is new, once it may move.
    three.end(homes["b"], signal.SIGTERM)
    assert three.ask(homes["ads"], "b")["decision"] == 1
    (port,) = free_ports(1)
    three.add(port)
    wait_until_ready(port)
    settle(three)
    assert until(lambda: any(three.home_of(name) == port for name in homes))
    assert [three.ask(port, name)["decision"] for name in ("b", "c")] == [2, 1]


@pytest.mark.compiled
def test_homes_that_drain_and_die_are_replaced_and_streams_go_on(three):
    create(three.clients[three.ports[0]])
    home = until(lambda: three.home_of("ads"))
    first, second = (port for port in three.ports if port != home)
    stream = Stream(first)
    assert [three.ask(first)["decision"] for _ in range(5)] == [1, 2, 3, 4, 5]
    # Others than the home read no event, however many there are.
    assert [figure(three.clients[port], "replayed_events_total") for port in (first, second)] == [0.0, 0.0]
    stream.wait_for(6)
    three.end(home, signal.SIGTERM)
    assert [three.ask(port)["decision"] for port in (first, second)] == [6, 7]
    with three.database.reading() as connection:
        assert 6 in connection.execute(sa.select(snapshots.c.seq)).scalars().all()  # with which it was handed over
    home = until(lambda: three.home_of("ads"))
    (other,) = {first, second} - {home}
    three.end(home)
    if home == first:
        stream = Stream(other, after=stream.seqs[-1])
    assert [three.ask(other)["decision"] for _ in range(3)] == [8, 9, 10]
    assert until(lambda: three.home_of("ads")) == other
    stream.wait_for(11)
    assert stream.seqs == list(range(stream.seqs[0], 12))


class Stream(threading.Thread):
    """Reads the events of a campaign from one server for as long as it tells them."""

    def __init__(self, port, after=0):
        super().__init__(daemon=True)
        self.seqs, self._url = [], f"http://127.0.0.1:{port}/v1/campaigns/ads/stream?after={after}"
        self.start()

    def run(self):
        with contextlib.suppress(httpx.HTTPError), httpx.stream("GET", self._url, timeout=60.0) as answer:
            for line in answer.iter_lines():
                if found := re.match(r'data: \{"seq":(\d+),"at":', line):
                    self.seqs.append(int(found[1]))

    def wait_for(self, seq):
        until(lambda: self.seqs and self.seqs[-1] >= seq)


def figure(client, name):
    found = re.search(rf"^matroid_bandits_{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found[1])


@pytest.mark.long
@pytest.mark.parametrize(("commit", "is_refused"), [("45f5556", True), ("5146976", False)])
def test_a_server_of_an_earlier_version_beside_a_new_one(postgres, processes, tmp_path, commit, is_refused):
    """Started before the tables are brought up to date: it writes as it did, or is refused; the log stays whole."""
    root = Path(__file__).parents[2]
    packed = subprocess.run(["git", "archive", commit, "src"], capture_output=True, cwd=root)
    if packed.returncode:
        pytest.skip(f"commit {commit} is not in this clone")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(tmp_path, filter="data")
    url, (old, new) = fresh_postgres(postgres), free_ports(2)
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", "serve"]
    arguments = ["--db", url, "--port", str(old), "--tick", "0.2"]
    environment, nowhere = os.environ | {"PYTHONPATH": str(tmp_path / "src")}, subprocess.DEVNULL
    with contextlib.ExitStack() as stack:
        earlier = subprocess.Popen([*command, *arguments], env=environment, stdout=nowhere, stderr=nowhere)
        stack.callback(earlier.wait, 60.0)
        stack.callback(earlier.terminate)
        wait_until_ready(old, 300.0)
        at_old, at_new = (
            stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120.0))
            for port in (old, new)
        )
        create(at_old)
        asked = [ask_at(at_old) for _ in range(3)]
        stack.callback(processes.end, processes.start(url, new, takeover=1.0))
        wait_until_ready(new)
        for _ in range(5):
            asked += [ask_at(at_new), ask_at(at_old)]
        asked.append(ask_at(at_new))
        assert (None in asked) == is_refused, asked
        assert at_old.get("/v1/campaigns").status_code == 200
    answered = [decision for decision in asked if decision is not None]
    assert answered == list(range(1, len(answered) + 1))
    database = Database(url)
    events = [json.loads(line) for line in export_campaign(database, "ads")][1:-1]
    assert mb.Learner.replay(events).n_decisions == len(answered)
    database.close()


def ask_at(client):
    """The number of a decision; None where it is refused."""
    answer = client.post("/v1/campaigns/ads/ask", json={})
    return answer.json()["decision"] if answer.status_code == 200 else None
