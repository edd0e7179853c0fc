"""Leases: taken by one compare-and-set, renewed, given up and given away; and what a paused server does not do."""

import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from concurrent.futures import Future
from pathlib import Path

import httpx
import psycopg
import pytest
import sqlalchemy as sa

import matroid_bandits as mb
from matroid_bandits.exceptions import UnavailableError
from matroid_bandits.service import Database, export_campaign
from matroid_bandits.service import _actions as act
from matroid_bandits.service._leases import Clock, Leases
from matroid_bandits.service._operation import Operation
from matroid_bandits.service._remembered import MADE
from matroid_bandits.service._tables import leases, requests, snapshots
from matroid_bandits.specs import CampaignSpec, parse
from service_databases import fresh_postgres
from service_kit import ADS, create, received, serving, started, until
from service_nursery import nursery, wait_until_ready
from service_visitors import free_ports

#: Seconds, of which no test takes so many.
LEASE = 1000.0
SPEC = parse(CampaignSpec, {"name": "ads", "matroid": ADS, "policy": "OMM", "seed": 1})


@pytest.fixture(params=["sqlite", "postgresql"])
def both(request, tmp_path):
    """A database of each kind, with three campaigns."""
    is_sqlite = request.param == "sqlite"
    url = str(tmp_path / "c.db") if is_sqlite else fresh_postgres(request.getfixturevalue("postgres"))
    database = Database(url)
    database.open()
    with database.writing() as connection:
        for name in "abc":
            database.create(connection, name, "{}", 0.0)
    yield database
    database.close()


def server(database, id, share=(0, 1)):
    found = Leases(database, id, LEASE, 1.0, share)
    found.url = f"http://{id}:1"
    return found


def run_out(database, *ids):
    """Let leases have run out."""
    with database.writing() as connection:
        connection.execute(sa.update(leases).where(leases.c.campaign.in_(ids)).values(until=1.0))


def test_a_lease_has_one_holder_until_it_has_run_out(both):
    one, two = server(both, "one"), server(both, "two")
    one.look()
    two.look()
    assert (one.held, two.held) == ({1, 2, 3}, frozenset())
    assert [two.url_of(name) for name in "abc"] == ["http://one:1"] * 3
    assert [one.url_of(name) for name in ("a", "nothing")] == ["", ""]
    run_out(both, 1, 2)
    two.look()
    assert two.held == {1, 2}
    one.look()
    assert one.held == {3}
    assert [one.url_of(name) for name in "abc"] == ["http://two:1", "http://two:1", ""]
    run_out(both, 3)
    one.look()  # not taken meanwhile: renewed
    two.look()
    assert (one.held, two.url_of("c")) == ({3}, "http://one:1")


def test_leases_that_are_given_up_or_away_are_had_at_once(both):
    one, two = server(both, "one"), server(both, "two")
    one.look()
    saved = []
    one.save = saved.append
    two.look()
    one.give(2, "b", "two")
    assert (saved, one.held) == (["b"], {1, 3})
    two.look()
    assert two.held == {2}
    one.look()
    assert one.url_of("b") == "http://two:1"
    one.drain()
    one.release()
    two.look()
    one.look()
    assert (one.held, two.held) == (frozenset(), {1, 2, 3})


def test_a_server_at_the_same_url_takes_the_leases_of_its_predecessor(both):
    before, after = server(both, "before"), server(both, "after")
    after.url = before.url
    before.look()
    after.look()
    assert after.held == {1, 2, 3}


def test_workers_take_their_share_and_others_once_they_stay_free(both):
    one, two = server(both, "one", share=(1, 2)), server(both, "two", share=(0, 2))
    one.look()
    two.look()
    assert (one.held, two.held) == ({1, 3}, {2})
    run_out(both, 2)
    one.look()
    assert one.held == {1, 3}
    one._free_since[2] -= LEASE + 1.0  # of another share, and free for longer than a lease
    one.look()
    assert one.held == {1, 2, 3}


def test_leases_follow_requests(both):
    one, two = server(both, "one"), server(both, "two")
    one.look()
    two.look()

    def served(counts):
        for (name, by), n in counts.items():
            for _ in range(n):
                one.count(name, by)
        one._next_weighing = 0.0
        one.look()
        return one.held

    assert served({("a", ""): 30, ("b", ""): 30}) == {1, 2, 3}
    assert served({("a", ""): 5, ("a", "two"): 10}) == {1, 2, 3}  # too few to tell
    assert served({("a", ""): 30, ("b", "two"): 30}) == {1, 3}  # most of its requests come there
    two.look()
    assert two.held == {2}
    assert served({("a", ""): 20, ("a", "two"): 20, ("c", ""): 30}) == {1, 3}  # two campaigns and one: even enough
    one.look()
    with both.writing() as connection:
        both.create(connection, "d", "{}", 0.0)
    one.look()
    one.look()
    assert one.held == {1, 3, 4}
    assert served({("a", ""): 20, ("a", "two"): 20, ("c", ""): 30}) == {3, 4}  # to the one with fewer


def test_a_pause_is_what_the_database_says_and_is_told_once():
    clock, told = Clock(most=5.0), []
    clock.on_pause = lambda: told.append(clock.era)
    assert [clock.read(now) for now in (1000.0, 1004.0, 1009.0, 1700.0, 1701.0)] == [False, False, False, True, False]
    assert [clock.read(now) for now in (900.0, 901.0)] == [False, False]  # set back by hand
    assert told == [1]


def test_what_came_before_a_pause_is_not_executed(url):
    """A holder that was stopped for long has requests in its queue, in its sockets, and in its backlog."""
    with serving(url) as client:
        at, service = create(client), client.service
        clock = service.leases.clock
        old = Operation(act.ask({}), "ads", "ask", future=Future(), era=clock.era)
        head = f"POST {at}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n".encode()
        address = client.base_url.host, client.base_url.port
        with socket.create_connection(address) as half, socket.create_connection(address) as late:
            half.sendall(head + b"Content-Type: application/json\r\n\r\n{")
            until(lambda: client.gate.n_connections >= 3)
            clock.read(clock.last + 1e6)
            with contextlib.suppress(ConnectionError):
                half.sendall(b"}")
            assert received(half) == received(late) == b""
        service.writer.submit(old)
        with pytest.raises(UnavailableError, match="paused"):
            old.future.result(240.0)
        assert client.get(at).json()["decisions"] == 0
        assert client.post(f"{at}/ask").json()["decision"] == 1


def test_a_pause_shows_in_the_transaction_itself(url):
    with started(url, tick=1000.0) as service:
        service.create(SPEC)
        clock = service.leases.clock
        clock.last -= 1e7  # as if nothing had been read for months
        operation = Operation(act.ask({}), "ads", "ask", future=Future(), era=clock.era)
        service.writer.submit(operation)
        with pytest.raises(UnavailableError, match="paused"):
            operation.future.result(240.0)
        fresh = Operation(act.ask({}), "ads", "ask", future=Future(), era=clock.era)
        service.writer.submit(fresh)
        assert json.loads(fresh.future.result(240.0).body)["decision"] == 1


def test_ids_that_servers_made_outlive_every_pause(url):
    with started(url, tick=1000.0) as service:
        database = service.database
        now = database.now()
        with database.writing() as connection:
            for id, age in ((f"{MADE}old", 7 * 3600.0), (f"{MADE}new", 690.0), ("a client's", 7 * 3600.0)):
                row = {"id": id, "campaign": 1, "digest": "", "status": 200, "answer": "{}", "at": now - age}
                connection.execute(sa.insert(requests).values(row))
        database.forget_ids(now - 6 * 3600.0, of_servers=True)
        with database.reading() as connection:
            assert sorted(connection.execute(sa.select(requests.c.id)).scalars()) == [f"{MADE}new", "a client's"]


def test_writes_of_a_server_of_the_first_version_are_refused(url):
    """The statements with which 45f5556 appends to a log: it does not know hashes, or whose an id is."""
    first = "UPDATE campaigns SET seq = 2, decisions = 1, waiting = 1, status = 'active', reason = NULL WHERE id = 1"
    second = "INSERT INTO requests (id, digest, status, answer, at) VALUES ('an id', '', 200, '{}', 0)"
    with started(url) as service:
        service.create(SPEC)
        for statement in (first, second):
            with pytest.raises(sa.exc.DBAPIError), service.database.writing() as connection:
                connection.exec_driver_sql(statement)
        with service.database.reading() as connection:
            assert service.database.get(connection, "ads").seq == 1


def test_a_server_that_ends_leaves_a_snapshot_and_no_lease(url):
    with started(url) as service:
        service.create(SPEC)
        for _ in range(120):
            service.call(Operation(act.ask({}), "ads", "ask"))
    database = Database(url)
    with database.reading() as connection:
        assert connection.execute(sa.select(leases.c.until)).scalars().all() == [0.0]
        assert connection.execute(sa.select(snapshots.c.seq)).scalars().all() == [121]
    database.close()


def test_figures_of_a_campaign_come_from_the_holder_alone(url):
    with serving(url) as one, serving(url) as two:
        create(one)
        pages = [httpx.get(f"{client.base_url}/metrics").text for client in (one, two)]
    assert ['leased{campaign="ads"} 1.0' in page for page in pages] == [True, False]
    assert ['events{campaign="ads"}' in page for page in pages] == [True, False]


def test_servers_behind_pgbouncer_in_transaction_mode(postgres, tmp_path):
    """Each transaction may have another connection, so that nothing of a session counts."""
    pgbouncer = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if pgbouncer is None:
        pytest.skip("left out: needs pgbouncer (apt-get install pgbouncer)")
    (port,) = free_ports(1)
    known = psycopg.conninfo.conninfo_to_dict(postgres)
    (tmp_path / "users").write_text(f'"{known["user"]}" ""\n')
    (tmp_path / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={known['host']} port={known.get('port', 5432)} user={known['user']}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\nauth_file = {tmp_path}/users\n"
        f"pool_mode = transaction\ndefault_pool_size = 3\nunix_socket_dir =\nlogfile = {tmp_path}/log\n"
    )
    as_user = {"user": Path(known["host"]).owner()} if os.getuid() == 0 else {}  # it does not run as root
    if as_user:
        shutil.chown(tmp_path, as_user["user"])
    command = [pgbouncer, str(tmp_path / "pgbouncer.ini")]
    for folder in [*tmp_path.parents][:-2]:  # those of this run below the folder for temporary files
        folder.chmod(0o755)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **as_user) as running:
        try:
            until(lambda: running.poll() is not None or _listens(port))
            assert running.poll() is None, (tmp_path / "log").read_text()
            url = f"postgresql://{known['user']}@127.0.0.1:{port}/{known['dbname']}?schema=pooled"
            with serving(url) as one, serving(url) as two:
                at = create(one)
                until(lambda: two.service.leases.url_of("ads"))
                asked = [client.post(f"{at}/ask").json()["decision"] for client in (one, two) * 20]
                assert asked == [*range(1, 41)]
                one.service.leases.url = "http://127.0.0.1:9"  # out of reach: both write
                until(lambda: two.service.leases.url_of("ads").endswith(":9"))
                asked = [client.post(f"{at}/ask").json()["decision"] for client in (one, two) * 10]
                assert asked == [*range(41, 61)]
                with one.service.database.reading() as connection:
                    assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "4min"
                    assert connection.exec_driver_sql("SHOW search_path").scalar() == "pooled"
            with psycopg.connect(postgres) as plain:
                assert plain.execute("SHOW enable_seqscan").fetchone() == ("on",)
        finally:
            running.terminate()


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@pytest.mark.long
@pytest.mark.parametrize(("commit", "is_refused"), [("45f5556", True), ("5146976", False), ("a06f3b9", False)])
def test_a_server_of_an_earlier_version_beside_a_new_one(postgres, tmp_path, commit, is_refused):
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
    with nursery() as processes, contextlib.ExitStack() as stack:
        earlier = subprocess.Popen([*command, *arguments], env=environment, stdout=nowhere, stderr=nowhere)
        stack.callback(earlier.wait, 240.0)
        stack.callback(earlier.terminate)
        wait_until_ready(old, 600.0)
        at_old, at_new = (
            stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600.0))
            for port in (old, new)
        )
        create(at_old)
        asked = [ask_at(at_old) for _ in range(3)]
        stack.callback(processes.end, processes.start(url, new, lease=1.0))
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
