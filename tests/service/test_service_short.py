"""The short way of asks and tells: what it serves is answered as on the long way, and the rest takes that."""

import json
import math
import socket
import time

import httpx
import pytest

from matroid_bandits.service import create_key, revoke_key
from matroid_bandits.service._short import ShortWay
from service_kit import create, fresh_id, serving, until

#: A cookie alone makes a request take the long way.
LONG = {"Cookie": "a=b"}


@pytest.fixture
def ways(monkeypatch):
    """What `ShortWay.serve` returned: whether each ask and tell that it saw took the short way."""
    found, serve = [], ShortWay.serve
    monkeypatch.setattr(ShortWay, "serve", lambda self, exchange: found.append(serve(self, exchange)) or found[-1])
    return found


def read_keys(client):
    """Read the keys, and let them count as just read, however slow the machine is; until they are read again."""
    client.service.keys.refresh()
    client.service.keys._read_at = math.inf


def both(client, path, ways, **more):
    """The answers of a request on the short way and on the long one."""
    more.setdefault("headers", {})
    read_keys(client)
    ways.clear()
    short = client.post(path, **more)
    n_seen = len(ways)
    long = client.post(path, **more | {"headers": more["headers"] | LONG})
    assert len(ways) == n_seen == 1
    return short, long


def same(short, long):
    assert short.status_code == long.status_code
    assert short.headers == long.headers
    assert short.content == long.content


def test_both_ways_answer_the_same(url, ways):
    with serving(url) as client:
        at = create(client)
        id = fresh_id()
        first, again = both(client, f"{at}/ask", ways, headers=id)
        assert ways == [True]
        assert (first.content, again.headers.pop("idempotency-replayed")) == (again.content, "true")
        assert first.headers == again.headers
        same(*both(client, f"{at}/ask", ways, headers=id))  # replayed
        assert ways == [True]
        told = json.dumps({"decision": 1, "weights": [0.5, 0.5]})
        kind = {"Content-Type": "application/json"}
        assert client.post(f"{at}/tell", content=told, headers=kind).json()["told"] == 2
        for path, content, is_short in (
            ("tell", told, True),  # told already
            ("tell", '{"decision": 1, "weights": [0.5]}', True),
            ("tell", '{"decision": 7, "weights": [0.5]}', True),
            ("tell", "{", False),
            ("tell", "", False),
            ("tell", '{"decision": "1"}', False),
            ("ask", '{"exclude": ["nothing"]}', True),
            ("ask", '{"pinned": ["boots", "heels"]}', True),
        ):
            same(*both(client, f"{at}/{path}", ways, content=content, headers=kind))
            assert ways == [is_short], (path, content)
        same(*both(client, f"{at}/ask", ways, content="{}", headers={"Content-Type": "text/plain"}))
        same(*both(client, f"{at}/ask", ways, headers={"Idempotency-Key": ""}))
        same(*both(client, f"{at}/ask", ways, headers={"Host": "elsewhere"}))
        assert ways == [False]
        same(*both(client, "/v1/campaigns/none/ask", ways))
        asked = client.post(f"{at}/ask", json={"exclude": ["boots"], "tags": {"page": 1}})
        assert ("boots" in asked.json()["items"], asked.json()["tags"]) == (False, {"page": 1})
        assert "token" in client.post(f"{at}/ask", json={"token": 60}).json()
        (family,) = client.service.figures._requests.collect()
        ours = (each for each in family.samples if each.labels["endpoint"].endswith(("/ask", "/tell")))
        n = sum(each.value for each in ours if each.name.endswith("_total"))
        assert n >= 25


def test_keys_count_on_the_short_way(url, ways):
    with serving(url) as client:
        at = create(client)
        database = client.service.database
        keys = {role: create_key(database, role) for role in ("read", "decide")}
        keys["slow"] = create_key(database, "decide", rate=0.001)
        keys["other"] = create_key(database, "decide", campaign="ads")
        until(lambda: client.post(f"{at}/ask").status_code == 401)
        bearer = {name: {"Authorization": f"Bearer {key}"} for name, key in keys.items()}
        read_keys(client)
        ways.clear()
        assert [client.post(f"{at}/ask", headers=bearer["decide"]).status_code for _ in range(3)] == [200] * 3
        assert ways == [True] * 3
        same(*both(client, f"{at}/ask", ways, headers=bearer["read"]))
        assert client.post("/v1/campaigns/another/ask", headers=bearer["other"]).status_code == 403
        wrong = {"Authorization": f"Bearer {keys['decide']}x"}
        same(*both(client, f"{at}/ask", ways, headers=wrong))
        statuses = [client.post(f"{at}/ask", headers=bearer["slow"]).status_code for _ in range(3)]
        assert statuses == [200, 429, 429]
        client.service.keys.refresh()
        revoke_key(database, keys["decide"].split("_")[1])
        until(lambda: client.post(f"{at}/ask", headers=bearer["decide"]).status_code == 401)


def test_an_expired_key_is_refused_between_two_reads(url, ways):
    with serving(url) as client:
        at = create(client)
        key = {"Authorization": f"Bearer {create_key(client.service.database, 'decide', days=1.0)}"}
        until(lambda: client.post(f"{at}/ask").status_code == 401)
        assert client.post(f"{at}/ask", headers=key).status_code == 200
        read_keys(client)
        for each in client.service.keys._known.values():
            each.until = time.monotonic() - 1.0
        ways.clear()
        assert client.post(f"{at}/ask", headers=key).status_code == 401
        assert ways == [False]


def test_pipelines_and_clients_that_go_away(url):
    with serving(url) as client:
        at = create(client)
        head = f"POST {at}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
        with socket.create_connection((client.base_url.host, client.base_url.port)) as sock:
            sock.sendall(f"{head}\r\n{head}\r\n{head}Connection: close\r\n\r\n".encode())
            found = b""
            while part := sock.recv(65536):
                found += part
        assert [int(each[:3]) for each in found.split(b"HTTP/1.1 ")[1:]] == [200] * 3
        bodies = [json.loads(each.partition(b"\r\n\r\n")[2]) for each in found.split(b"HTTP/1.1 ")[1:]]
        assert [each["decision"] for each in bodies] == [1, 2, 3]
        assert found.count(b"connection: close") == 1
        for _ in range(3):  # gone before the answer
            with socket.create_connection((client.base_url.host, client.base_url.port)) as sock:
                sock.sendall(f"{head}\r\n".encode())
        until(lambda: client.get(at).json()["decisions"] == 6)
        until(lambda: client.gate.n_connections <= 1)
        with httpx.Client(base_url=client.base_url) as last:
            assert last.post(f"{at}/ask", headers={"Connection": "close"}).headers["connection"] == "close"


def test_a_slow_request_is_logged_with_the_address_that_a_proxy_gives(tmp_path, caplog):
    with serving(str(tmp_path / "campaigns.db"), slow=1e-9) as client:
        at = create(client)
        assert client.post(f"{at}/ask", headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 200
        line = until(
            lambda: next((each.getMessage() for each in caplog.records if "/ask" in each.getMessage()), None)
        )
        assert line.startswith("slow request")
        assert "address=192.0.2.7" in line
        assert "status=200" in line
