"""Requests that are passed on to the holder of a lease: their answers, streams, and holders out of reach."""

import contextlib
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from matroid_bandits.exceptions import UnavailableError
from matroid_bandits.service import Service, Settings, create_key, run_server
from matroid_bandits.service._passing import _MOST_KEPT
from matroid_bandits.service._remembered import MARK, read_mark
from service_kit import counted, create, fresh_id, received, serving, settings_for, until
from service_proxy import Proxy
from service_visitors import free_ports

HEADER = MARK.decode()


@pytest.fixture
def pair(url):
    """Two servers of one database: the first has the lease of the campaign."""
    with serving(url) as holder, serving(url) as other:
        create(holder)
        until(lambda: other.service.leases.url_of("ads"))
        yield holder, other


AT = "/v1/campaigns/ads"


def n_passed(client, result="answered"):
    return counted(client.service, "passed_on_requests", result=result)


def same(holder, other, method, path, **more):
    """The answers of both servers, which are the same but for the time."""
    one, two = holder.request(method, path, **more), other.request(method, path, **more)
    assert (one.status_code, one.content) == (two.status_code, two.content), path
    assert dict(one.headers) == dict(two.headers)
    return two


def test_any_server_takes_any_request_and_the_holder_alone_keeps_the_learner(pair):
    holder, other = pair
    asked = [client.post(f"{AT}/ask", json={}).json()["decision"] for client in (holder, other) * 3]
    assert asked == [1, 2, 3, 4, 5, 6]
    told = other.post(f"{AT}/tell", json={"decision": 1, "weights": [0.5, 0.5]})
    assert told.json() == {"decision": 1, "told": 2, "waiting": False}
    for path, body in (
        ("tell", {"decision": 1, "weights": [0.5, 0.5]}), ("tell", {}), ("close", {}), ("explain", {"item": "boots"}),
        ("ask/batch", {"requests": 7}),
    ):  # fmt: skip
        same(holder, other, "POST", f"{AT}/{path}", json=body)
    for path in ("", "/estimates", "/best", "/waiting", "/alarms", "/uplift", "/nothing", "/estimates?limit=0"):
        if path != "/uplift":  # which says the time
            same(holder, other, "GET", AT + path)
    id = fresh_id()
    first, second = (client.post(f"{AT}/ask", json={}, headers=id) for client in (other, holder))
    assert first.content == second.content
    assert second.headers["idempotency-replayed"] == "true"
    assert other.put(AT, json={"title": "of the front page"}).status_code == 200
    assert holder.get(AT).json()["title"] == "of the front page"
    assert not other.service.writer.replicas.by_id
    assert n_passed(other) > 10
    assert n_passed(holder) == n_passed(other, "late") == n_passed(other, "unreachable") == 0


def test_keys_are_checked_by_the_holder_and_limits_of_clients_are_not_those_of_servers(url):
    with serving(url, max_connections_per_address=3) as holder, serving(url) as other:
        create(holder)
        until(lambda: other.service.leases.url_of("ads"))
        key = create_key(holder.service.database, "decide", rate=1.0)
        until(lambda: holder.post(f"{AT}/ask").status_code == 401)
        bearer = {"Authorization": f"Bearer {key}"}
        statuses = [other.post(f"{AT}/ask", headers=bearer).status_code for _ in range(3)]
        assert statuses == [200, 429, 429]
        assert other.post(f"{AT}/ask").status_code == 401
        for _ in range(6):  # each keeps a connection of the other server
            stack = contextlib.ExitStack()
            with stack:
                streams = [stack.enter_context(other.stream("GET", f"{AT}/stream", headers=bearer)) for _ in range(6)]
                assert [each.status_code for each in streams].count(503) == 0
        assert holder.gate.n_connections <= 3


def test_an_answer_of_many_bytes_is_passed_back_as_fast_as_the_client_reads(pair):
    """It is never held whole: where the client does not read, the holder is not read either."""
    holder, other = pair
    n = 1000
    for _ in range(3):
        answer = other.post(f"{AT}/ask/batch", json={"requests": [{"tags": {"page": "x" * 900}}] * n})
        assert answer.status_code == 200
        assert len(answer.json()["decisions"]) == n
    with socket.create_connection((other.base_url.host, other.base_url.port)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 131_072)
        line = f"GET {AT}/waiting?limit=10000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        sock.sendall(line.encode())
        assert sock.recv(15) == b"HTTP/1.1 200 OK"
        for _ in range(3):  # others go on meanwhile
            assert other.post(f"{AT}/ask", json={}).status_code == 200
        size = 0
        sock.settimeout(240.0)
        expected = len(holder.get(f"{AT}/waiting?limit=10000").content)
        while size < expected - 1000:
            size += len(sock.recv(1 << 20))


def test_more_requests_than_connections_wait_for_one(pair):
    _, other = pair
    many = 3 * _MOST_KEPT
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection((other.base_url.host, other.base_url.port)))
            for _ in range(many)
        ]
        ask = f"POST {AT}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        for sock in sockets:
            sock.sendall(ask)
        answers = [*map(received, sockets)]
    decisions = [json.loads(answer.partition(b"\r\n\r\n")[2])["decision"] for answer in answers]
    assert sorted(decisions) == [*range(1, many + 1)]


def test_a_stream_is_passed_on_and_ends_with_its_client(pair):
    holder, other = pair
    with other.stream("GET", f"{AT}/stream?after=0") as stream:
        lines = stream.iter_lines()
        assert "event: created" in [next(lines) for _ in range(4)]
        assert holder.post(f"{AT}/ask").status_code == 200
        assert any(line == "event: asked" for line in lines)
        assert holder.service.n_watchers == 1
    until(lambda: holder.service.n_watchers == 0)
    assert other.service.n_watchers == 0


def test_a_marked_request_is_executed_where_it_arrives(pair):
    holder, other = pair
    mark = {HEADER: f"{holder.service.id} {holder.service.leases.clock.last:.3f} {'a' * 16}"}
    answers = [other.post(f"{AT}/ask", headers=mark) for _ in range(2)]
    assert answers[0].content == answers[1].content  # by the id that the first server made
    assert n_passed(other) == 0
    assert other.service.writer.replicas.by_id
    old = {HEADER: f"{holder.service.id} {holder.service.leases.clock.last - 700.0:.3f} {'b' * 16}"}
    with pytest.raises(httpx.RemoteProtocolError):  # passed on by a server that has been paused since
        other.post(f"{AT}/ask", headers=old)
    assert holder.get(AT).json()["decisions"] == 1
    assert read_mark(b"\xff") == ("", 0.0, "")


@contextlib.contextmanager
def apart(url, **more):
    """Two servers of which one reaches the other through a proxy."""
    with serving(url, **more) as holder:
        proxy = Proxy(holder.base_url.port)
        holder.service.leases.url = f"http://127.0.0.1:{proxy.port}"
        try:
            create(holder)
            with serving(url, **more) as other:
                until(lambda: other.service.leases.url_of("ads").endswith(str(proxy.port)))
                assert other.post(f"{AT}/ask").json()["decision"] == 1
                assert n_passed(other) == 1
                yield holder, other, proxy
        finally:
            proxy.close()


def test_servers_that_cannot_see_each_other_both_write(url):
    with apart(url) as (holder, other, proxy):
        other.passing._patience = 0.5  # after which a holder that was out of reach is tried again
        proxy.cut()
        asked = [client.post(f"{AT}/ask", json={}).json()["decision"] for client in (other, holder) * 5]
        assert asked == [*range(2, 12)]
        assert n_passed(other, "unreachable") >= 1
        assert [client.get(AT).json()["decisions"] for client in (holder, other)] == [11, 11]
        proxy.mend()
        until(lambda: other.post(f"{AT}/ask").status_code == 200 and n_passed(other) > 1)


def test_an_answer_that_gets_lost_is_not_decided_again(url):
    """The holder executes the request, and its answer never comes: this server finds it by the id that it made."""
    with apart(url) as (holder, other, proxy):
        proxy.is_mute, passing = True, other.passing
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(other.post, f"{AT}/ask")
            until(lambda: holder.get(AT).json()["decisions"] == 2)
            passing._sent.update(dict.fromkeys(passing._sent, 0.0))  # it was to be answered long ago
            passing._loop.call_soon_threadsafe(passing._look)
            answer = asked.result(240.0)
        assert (answer.status_code, answer.json()["decision"]) == (200, 2)
        assert holder.get(AT).json()["decisions"] == 2
        assert n_passed(other, "late") == 1


@pytest.mark.parametrize("wrong", ["http://127.0.0.1:9", "http://nowhere.invalid:80"])
def test_a_wrong_url_is_slower_and_as_safe(url, wrong):
    with serving(url) as holder:
        holder.service.leases.url = wrong
        create(holder)
        with serving(url) as other:
            until(lambda: other.service.leases.url_of("ads"))
            asked = [client.post(f"{AT}/ask").json()["decision"] for client in (other, holder) * 3]
            assert asked == [*range(1, 7)]


def test_bytes_that_are_no_request_end_their_connection_alone(pair):
    """What took a worker down when servers spoke a protocol of their own."""
    holder, other = pair
    for junk in (b"\x00\x00\x00\x04\x00\x00\x00\x04null", b"\xff" * 100, b"GET / HTTP/9.9\r\n\r\n", b"{}\r\n\r\n"):
        with socket.create_connection((holder.base_url.host, holder.base_url.port)) as sock:
            sock.sendall(junk)
            assert b" 400 " in sock.recv(1000).partition(b"\r\n")[0]
    with socket.create_server(("127.0.0.1", 0)) as liar:  # a "holder" that answers with anything
        holder.service.leases.url = f"http://127.0.0.1:{liar.getsockname()[1]}"
        until(lambda: other.service.leases.url_of("ads") == holder.service.leases.url)

        def lie():
            for junk in (b"\x00" * 64, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"):
                with contextlib.suppress(OSError):
                    accepted, _ = liar.accept()
                    with accepted:
                        accepted.recv(1000)
                        accepted.sendall(junk)

        threading.Thread(target=lie, daemon=True).start()
        assert other.post(f"{AT}/ask").json()["decision"] == 1
        assert other.get("/healthz").status_code == 200
        assert holder.post(f"{AT}/ask").json()["decision"] == 2


def test_a_server_waits_for_a_database_that_is_away(caplog):
    """One line, and another try; a wrong file is an error at once."""
    away = f"postgresql://nobody@127.0.0.1:{free_ports(1)[0]}/none"
    with serving(away) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        assert client.post(f"{AT}/ask").status_code == 503
        lines = [record for record in caplog.records if "waiting for it" in record.getMessage()]
        assert len(lines) == 1
        assert not any(record.exc_info for record in caplog.records)
    service = Service(settings_for(away))
    with pytest.raises(UnavailableError):
        service.start()
    with pytest.raises(UnavailableError):
        run_server(Settings(db="/nowhere/at/all.db", port=0))
