"""Who gets in and how: the log of requests, keys that end, wrong logins, tokens, other origins, a path of a proxy."""

from __future__ import annotations

import json
import logging

import httpx
import pytest
import sqlalchemy as sa
from pydantic import ValidationError

from matroid_bandits.exceptions import AccessError, DataError
from matroid_bandits.service import Database, Settings, create_key, delete_campaign, list_keys, revoke_key
from matroid_bandits.service import _keys as keys_module
from matroid_bandits.service._attempts import Attempts
from matroid_bandits.service._logs import _JsonFormatter
from matroid_bandits.service._tables import keys
from matroid_bandits.service._tokens import Tokens
from service_kit import create, serving, until

pytestmark = pytest.mark.compiled


@pytest.fixture
def database(url):
    database = Database(url)
    database.open()
    yield database
    database.close()


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def lines(caplog):
    """Fields of the requests that were logged."""
    caplog.set_level(logging.INFO, logger="matroid_bandits.access")
    return lambda: [record.fields for record in caplog.records if record.name == "matroid_bandits.access"]


def test_every_request_has_a_line_with_its_id(tmp_path, lines, caplog):
    with serving(str(tmp_path / "campaigns.db"), access_log=True) as client:
        at = create(client)
        asked = client.post(f"{at}/ask?secret=1", headers={"X-Request-Id": "trace-1"})
        told = {"decision": 1, "weights": [0.123456, 0.0]}
        client.post(f"{at}/tell", json=told, headers={"Idempotency-Key": "once-1"})
        missing = client.get("/nothing")
        client.get("/login")
    assert asked.headers["x-request-id"] == "trace-1"
    found = lines()
    assert [(each["method"], each["path"], each["status"]) for each in found[:5]] == [
        ("POST", "/v1/campaigns", 201),
        ("POST", f"{at}/ask", 200),
        ("POST", f"{at}/tell", 200),
        ("GET", "/nothing", 404),
        ("GET", "/login", 303),
    ]
    assert [each["request_id"] for each in found[1:3]] == ["trace-1", "once-1"]
    assert found[3]["request_id"] == missing.headers["x-request-id"]
    assert len(found[3]["request_id"]) == 16
    assert found[1]["bytes"] == len(asked.content)
    assert found[1]["ms"] > 0.0
    assert found[1]["address"] == "127.0.0.1"
    assert "0.123456" not in caplog.text  # no weight, no label, no query
    assert "boots" not in caplog.text
    assert "secret" not in caplog.text
    written = json.loads(_JsonFormatter().format(caplog.records[-1]))
    assert written["message"] == "request"
    assert written["path"] == "/login"


def test_without_it_only_slow_requests_are_logged(tmp_path, lines, caplog):
    with serving(str(tmp_path / "campaigns.db"), slow=1000.0) as client:
        at = create(client)
        assert "x-request-id" not in client.post(f"{at}/ask").headers
        assert lines() == []
    with serving(str(tmp_path / "campaigns.db"), slow=1e-9) as client:
        client.post(f"{at}/ask", headers={"X-Request-Id": "slow one"})
        assert "matroid_bandits_slow_requests_total 1.0" in client.get("/metrics").text
    assert lines()[0]["request_id"] == "slow one"
    assert "slow request request_id=slow one method=POST" in caplog.text
    assert caplog.records[-1].levelname == "WARNING"


def test_keys_end(database, url):
    key = create_key(database, "admin", days=30)
    create_key(database, "read")
    limited, free = sorted(list_keys(database), key=lambda each: each.expires is None)
    assert limited.expires == pytest.approx(limited.created + 30 * 86400, abs=1)
    assert free.expires is None
    with serving(url, key) as client:
        assert client.get("/v1/campaigns").status_code == 200
        with database.writing() as connection:
            ended = sa.update(keys).where(keys.c.id == limited.id).values(expires=database.clock - 1.0)
            connection.execute(ended)
        client.service.keys.refresh()
        refused = client.get("/v1/campaigns")
        assert refused.status_code == 401
        assert refused.json()["detail"] == "expected a key that is still good, got one that has expired"
        login = client.post("/login", data={"key": key}, headers={"sec-fetch-site": "same-origin"})
        assert "This key has expired." in login.text
    for days in (0, -1, float("nan")):
        with pytest.raises(DataError, match="expected more than 0 days"):
            create_key(database, "read", days=days)


def test_keys_say_when_they_were_used_last(database, url, monkeypatch):
    used, unused = create_key(database, "admin"), create_key(database, "read")
    monkeypatch.setattr(keys_module, "_NOTED_S", 0.1)
    began = database.now()
    with serving(url, used) as client:

        def last():
            client.get("/v1/campaigns")
            return {key.id: key.used for key in list_keys(database)}[used.split("_")[1]]

        first = until(last)
        assert began - 1.0 <= first <= database.now() + 1.0
        assert until(lambda: last() > first)
    found = {key.id: key.used for key in list_keys(database)}
    assert found[unused.split("_")[1]] is None


def test_wrong_logins_are_slowed_down():
    now = [0.0]
    attempts = Attempts(clock=lambda: now[0])
    waits = []
    for _ in range(12):
        waits.append(attempts.wait("a"))
        attempts.wrong("a")
    assert waits == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60]
    assert attempts.wait("b") == 0.0
    now[0] = 61.0
    assert attempts.wait("a") == 0.0
    now[0] = 700.0
    attempts.wrong("a")  # the earlier ones are forgotten
    assert attempts.wait("a") == 0.0
    for _ in range(9):
        attempts.wrong("a")
    attempts.right("a")
    assert attempts.wait("a") == 0.0
    for n in range(20_000):
        attempts.wrong(str(n))
    assert len(attempts._wrong) == 10_000


def test_the_login_page_slows_wrong_logins_down(tmp_path):
    url = str(tmp_path / "campaigns.db")
    database = Database(url)
    database.open()
    key = create_key(database, "admin")
    database.close()

    def login(client, key):
        return client.post("/login", data={"key": key}, headers={"sec-fetch-site": "same-origin"})

    with serving(url, key) as client:
        assert [login(client, f"mb_{n}_wrong").status_code for n in range(6)] == [401] * 5 + [429]
        refused = login(client, key)  # the right one is not looked at either
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 2
        assert "Too many wrong keys came from your address. Try again in" in refused.text
        assert client.get("/v1/campaigns").status_code == 200  # a key that is right works as before
        assert 'wrong_keys_total{kind="login"} 5.0' in client.get("/metrics").text


def test_a_token_tells_one_decision(database, url):
    key = create_key(database, "decide")
    admin = create_key(database, "admin")
    with serving(url, key) as client:
        at = create_with(client, admin)
        asked = client.post(f"{at}/ask", json={"token": 60}, headers={"Idempotency-Key": "one"})
        again = client.post(f"{at}/ask", json={"token": 60}, headers={"Idempotency-Key": "one"})
        assert (again.json()["decision"], again.headers["idempotency-replayed"]) == (1, "true")
        client.post(f"{at}/ask")
        token = asked.json()["token"]
        told = {"decision": 1, "weights": [0.5, 0.5]}
        with httpx.Client(base_url=client.base_url, headers=bearer(token)) as browser:
            other = browser.post(f"{at}/tell", json=told | {"decision": 2})
            assert (other.status_code, other.json()["error"]) == (403, "AccessError")
            for request in (f"GET {at}", f"POST {at}/ask", f"POST {at}/tell/batch", "GET /metrics"):
                assert browser.request(*request.split()).status_code == 403, request
            assert browser.post(f"{at}/tell", json=told).status_code == 200
            assert browser.post(f"{at}/tell", json=told).status_code == 409  # it is answered
        batch = client.post(f"{at}/ask/batch", json={"requests": [{"token": 9}, {}]}).json()["decisions"]
        assert ["token" in decision for decision in batch] == [True, False]
        other = create_with(client, admin, "other")
        client.post(f"{other}/ask")
        refused = client.post(f"{other}/tell", json=told, headers=bearer(again.json()["token"]))
        assert refused.status_code == 403  # the decision of that number of another campaign
        assert client.post(f"{at}/ask", json={"token": 0}).status_code == 422
        revoke_key(database, key.split("_")[1])
        client.service.keys.refresh()
        fresh = {"decision": batch[0]["decision"], "weights": [0.5, 0.5]}
        assert client.post(f"{at}/tell", json=fresh, headers=bearer(batch[0]["token"])).status_code == 401


def create_with(client, key, name="ads"):
    own = client.headers["Authorization"]
    client.headers["Authorization"] = f"Bearer {key}"
    at = create(client, name)
    client.headers["Authorization"] = own
    return at


def test_a_token_is_not_good_for_the_next_campaign_of_its_name(database, url):
    with serving(url, create_key(database, "admin")) as client:
        at = create(client)
        token = client.post(f"{at}/ask", json={"token": 60}).json()["token"]
        delete_campaign(database, "ads")
        until(lambda: client.get(at).status_code == 404)
        create(client)
        assert client.post(f"{at}/ask").json()["decision"] == 1
        told = {"decision": 1, "weights": [1.0, 1.0]}
        refused = client.post(f"{at}/tell", json=told, headers=bearer(token))
        assert (refused.status_code, refused.json()["error"]) == (403, "AccessError")
        assert "got one of an earlier campaign ads" in refused.json()["detail"]
        assert client.get(at).json()["waiting"] == 1


def test_tokens_of_others_and_old_ones_are_refused(database, tmp_path):
    tokens, elsewhere = Tokens(database), Database(str(tmp_path / "other.db"))
    elsewhere.open()
    good = tokens.sign("ads", "c0ffee", 3, "id", 60)
    assert Tokens(database).read(good).decision == 3  # another server of the same database
    for bad in (Tokens(elsewhere).sign("ads", "c0ffee", 3, "id", 60), good[:-1] + "?", "mbt_", "mbt_x.y", good + "é"):
        with pytest.raises(AccessError, match="expected a token that was made here"):
            tokens.read(bad)
    with pytest.raises(AccessError, match="has ended"):
        tokens.read(tokens.sign("ads", "c0ffee", 3, "id", -1))
    elsewhere.close()


def test_pages_of_other_origins_may_call_where_they_are_named(tmp_path):
    shop, other = "https://shop.example", "https://other.example"
    with serving(str(tmp_path / "campaigns.db"), cors=[shop]) as client:
        at = create(client)
        asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        allowed = client.options(f"{at}/tell", headers={"Origin": shop, **asking})
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == shop
        assert "access-control-allow-credentials" not in allowed.headers
        assert client.options(f"{at}/tell", headers={"Origin": other, **asking}).status_code == 400
        client.post(f"{at}/ask", headers={"Origin": shop})
        for origin, expected in ((shop, shop), (other, None)):
            answer = client.post(f"{at}/ask", headers={"Origin": origin})
            assert answer.headers.get("access-control-allow-origin") == expected
    with serving(str(tmp_path / "campaigns.db")) as client:
        answer = client.post(f"{at}/ask", headers={"Origin": shop})
        assert "access-control-allow-origin" not in answer.headers


def test_a_proxy_may_have_it_under_a_path(tmp_path):
    url = str(tmp_path / "campaigns.db")
    database = Database(url)
    database.open()
    key = create_key(database, "admin")
    database.close()
    with serving(url, key, root_path="/bandits") as client:
        at = create(client)
        for prefix in ("", "/bandits"):  # a proxy takes it away, or leaves it
            assert client.post(f"{prefix}{at}/ask").status_code == 200
            assert client.get(f"{prefix}/healthz").status_code == 200
        same = [client.post(f"{p}{at}/ask", headers={"Idempotency-Key": "x"}).json() for p in ("", "/bandits")]
        assert same[0] == same[1]  # one request, whichever way it came
        assert client.get("/banditsv1/campaigns").status_code == 404
        page = client.get("/bandits/login").text
        assert 'href="/bandits/static/page.css"' in page
        assert 'action="/bandits/login"' in page
        assert client.get("/bandits/static/page.css").status_code == 200
        login = client.post("/bandits/login", data={"key": key}, headers={"sec-fetch-site": "same-origin"})
        assert login.headers["location"] == "/bandits/"
        assert "Path=/bandits;" in login.headers["set-cookie"]
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/bandits"}]
        assert 'href="/bandits/openapi.json"' in client.get("/docs").text
    for wrong in ("bandits", "/bandits/", "/a b", "/<"):
        with pytest.raises(ValidationError):
            Settings(root_path=wrong)
