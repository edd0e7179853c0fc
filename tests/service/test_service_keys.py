"""Who may do what: keys, roles, campaigns, rates, and what a server without keys refuses."""

import asyncio
import collections
import contextlib
import json
import logging
import re
import sqlite3

import httpx
import pytest
import sqlalchemy as sa

from matroid_bandits.exceptions import AccessError, DataError, RateLimitError, UnavailableError, UnknownCampaignError
from matroid_bandits.service import Database, create_key, list_keys, revoke_key
from matroid_bandits.service import _keys as keys_module
from matroid_bandits.service._keys import SESSION, Key, Keys, close_session, open_session
from matroid_bandits.service._logs import log_unexpected, set_up_logs
from matroid_bandits.service._tables import keys
from service_kit import create, serving, started, until


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def database(url):
    database = Database(url)
    database.open()
    yield database
    database.close()


def test_roles(database, url):
    made = {role: create_key(database, role) for role in ("read", "decide", "admin")}
    with serving(url, made["admin"]) as client:
        at = create(client)
        create(client, "other")
        ours = create_key(database, "decide", campaign="ads")
        client.service.keys.refresh()
        may = {
            "read": [200, 403, 403], "decide": [200, 200, 403], "admin": [200, 200, 200],
        }  # fmt: skip
        for role, key in made.items():
            found = [
                client.get(f"{at}/best", headers=bearer(key)),
                client.post(f"{at}/ask", headers=bearer(key)),
                client.post(f"{at}/pause", headers=bearer(key)),
            ]
            assert [answer.status_code for answer in found] == may[role]
        client.post(f"{at}/resume")
        assert client.post(f"{at}/ask", headers=bearer(ours)).status_code == 200
        assert client.post("/v1/campaigns/other/ask", headers=bearer(ours)).status_code == 403
        listed = client.get("/v1/campaigns", headers=bearer(ours))
        assert listed.status_code == 200
        assert [each["name"] for each in listed.json()["campaigns"]] == ["ads"]
        assert client.get("/metrics", headers=bearer(ours)).status_code == 403
        limited = create_key(database, "admin", campaign="ads")
        client.service.keys.refresh()
        assert client.post("/v1/campaigns", json={}, headers=bearer(limited)).status_code == 403
        for wrong in ("mb_", "mb_x_y", ours[:-1], ours + "x", ours.upper()):
            answer = client.get(at, headers={"Authorization": f"Bearer {wrong}"})
            assert (answer.status_code, answer.json()["error"]) == (401, "AccessError")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert ours.split("_", 2)[2] not in answer.text
        by_cookie = {
            "Authorization": "",
            "Cookie": f"matroid_bandits_key={open_session(database, ours.split('_')[1])}",
        }
        assert client.get(at, headers=by_cookie).status_code == 200
        elsewhere = {**by_cookie, "Sec-Fetch-Site": "cross-site"}
        assert client.post(f"{at}/ask", headers=elsewhere).status_code == 403
        for path in ("/healthz", "/openapi.json", "/docs"):
            assert client.get(path, headers={"Authorization": ""}).status_code == 200
        assert client.get("/metrics", headers={"Authorization": ""}).status_code == 401


def test_a_key_is_stored_hashed_and_can_be_revoked(database, url):
    key, other = create_key(database, "read", about="of the page", rate=5.0), create_key(database, "admin")
    with database.reading() as connection:
        stored = json.dumps([list(map(str, row)) for row in connection.execute(sa.select(keys))])
    assert key.split("_", 2)[2] not in stored
    known = Keys(database)
    known.refresh()
    found = known.find(key)
    assert (found.role, found.rate, found.about) == ("read", 5.0, "of the page")
    revoke_key(database, found.id)
    known.refresh()
    with pytest.raises(AccessError):
        known.find(key)
    assert known.find(other).role == "admin"
    assert [each.revoked is None for each in list_keys(database)] in ([False, True], [True, False])
    with pytest.raises(DataError, match="not revoked"):
        revoke_key(database, found.id)


def test_keys_that_cannot_be(tmp_path):
    database = Database(str(tmp_path / "keys.db"))
    database.open()
    with pytest.raises(DataError, match="expected a role, one of read, decide, admin; got 'root'"):
        create_key(database, "root")
    with pytest.raises(DataError, match="rate"):
        create_key(database, "read", rate=0.0)
    with pytest.raises(UnknownCampaignError, match="expected the name of a campaign, got 'a b'"):
        create_key(database, "read", campaign="a b")
    assert list_keys(database) == []
    database.close()


def test_a_key_may_come_before_its_campaign(tmp_path):
    url = str(tmp_path / "campaigns.db")
    database = Database(url)
    database.open()
    ours, admin = create_key(database, "decide", campaign="ads"), create_key(database, "admin")
    database.close()
    with serving(url, admin) as client:
        early = client.post("/v1/campaigns/ads/ask", headers=bearer(ours))
        assert (early.status_code, early.json()["error"]) == (404, "UnknownCampaignError")
        at = create(client)
        assert client.post(f"{at}/ask", headers=bearer(ours)).json()["decision"] == 1


def test_a_second_is_worth_so_many_requests(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(keys_module.time, "monotonic", lambda: now[0])
    key = Key("a", "read", rate=2.0)
    key.spend(None)
    key.spend(None)
    with pytest.raises(RateLimitError, match="expected at most 2 requests a second, got more"):
        key.spend(None)
    now[0] += 0.5
    key.spend(None)
    with pytest.raises(RateLimitError):
        key.spend(1000.0)
    slow = Key("b", "read")
    slow.spend(None)
    slow.spend(0.5)
    with pytest.raises(RateLimitError):
        slow.spend(0.5)


def test_too_many_requests_are_told_to_wait(tmp_path):
    database = Database(str(tmp_path / "rate.db"))
    database.open()
    key = create_key(database, "admin", rate=3.0)
    database.close()
    with serving(str(tmp_path / "rate.db"), key) as client:
        answers = [client.get("/v1/campaigns") for _ in range(6)]
        assert answers[0].status_code == 200
        assert answers[-1].status_code == 429
        assert answers[-1].headers["retry-after"] == "1"
        assert answers[-1].json()["error"] == "RateLimitError"


def test_logs_are_lines_or_json_without_labels(capsys):
    set_up_logs("info", as_json=True)
    try:
        raise KeyError("-".join(["bo", "ots"]))
    except KeyError as error:
        log_unexpected(error)
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["logger"]) == ("error", "matroid_bandits.service")
    assert "KeyError" in line["message"]
    assert "bo-ots" not in line["message"]
    set_up_logs("debug", as_json=False)
    logging.getLogger("matroid_bandits.service").debug("a %s", "line")
    assert capsys.readouterr().err.endswith("DEBUG a line\n")


def test_a_database_that_had_a_key_stays_closed(url, database):
    assert Keys(database).is_open is False  # nothing was read yet
    with serving(url) as client:
        at = create(client)
        id = create_key(database, "admin").split("_")[1]
        client.service.keys.refresh()
        assert client.get(at).status_code == 401
        revoke_key(database, id)
        client.service.keys.refresh()
        assert not client.service.keys.is_open
        assert client.service.keys.are_all_revoked
        for path in (at, "/v1/campaigns", "/metrics"):
            assert client.get(path).status_code == 401
        assert client.post(f"{at}/ask").status_code == 401
        assert client.get("/login").status_code == 200  # and the page asks for a key
    with serving(url) as client:  # also after a restart
        assert client.get(at).status_code == 401
        key = create_key(database, "read")
        assert client.get(at, headers=bearer(key)).status_code == 200


class Counted(Keys):
    """Keys that count how often they are read."""

    n = 0

    def refresh(self):
        self.n += 1
        super().refresh()


def outcomes(keys, tokens):
    """What each of some tokens is, looked up at once: its role, or the class of the error."""

    async def look():
        found = await asyncio.gather(*map(keys.look_up, tokens), return_exceptions=True)
        return [each.role if isinstance(each, Key) else type(each).__name__ for each in found]

    return asyncio.run(look())


def test_a_burst_after_quiet_time_waits_for_one_read(database):
    keys = Counted(database)
    old, other = create_key(database, "decide"), create_key(database, "admin")
    assert outcomes(keys, [old] * 30) == ["decide"] * 30
    assert keys.n == 1
    revoke_key(database, old.split("_")[1])
    new = create_key(database, "read")
    keys._began, keys._read_at = keys._began - 8.0, keys._read_at - 8.0
    assert outcomes(keys, [old, new, other] * 10) == ["AccessError", "read", "admin"] * 10
    assert keys.n == 2


def test_a_key_that_is_not_known_is_looked_for_and_costs_one_read(database):
    keys = Counted(database)
    known = create_key(database, "admin")
    assert outcomes(keys, [known]) == ["admin"]
    new = create_key(database, "read")  # the keys were read a moment ago
    assert outcomes(keys, [new] * 10 + ["mb_unknown_key"] * 10) == ["read"] * 10 + ["AccessError"] * 10
    assert keys.n == 2
    revoke_key(database, new.split("_")[1])
    keys.refresh()
    wrong = [new, known + "x", "", "Basic", "mbs_x_y", f"mb_{known.split('_')[1]}_"]
    assert outcomes(keys, wrong) == ["AccessError"] * 6
    assert keys.n == 3  # a revoked key, a wrong secret and what is no key need no look


def test_keys_are_read_again_before_anybody_has_to_wait(database):
    keys = Counted(database)
    key = create_key(database, "read")
    assert outcomes(keys, [key]) == ["read"]
    keys._began, keys._read_at = keys._began - 1.5, keys._read_at - 1.5

    async def look():
        before = keys._known
        await keys.look_up(key)
        assert keys._known is before  # the read goes on in the background
        await keys._reading

    asyncio.run(look())
    assert keys.n == 2


def test_without_the_database_no_key_is_good_and_health_is(tmp_path):
    file = tmp_path / "campaigns.db"
    database = Database(str(file))
    database.open()
    key = create_key(database, "admin")
    database.close()
    with serving(str(file), key) as client:
        assert client.get("/v1/campaigns").status_code == 200
        with contextlib.closing(sqlite3.connect(file)) as other, other:
            other.execute("ALTER TABLE keys RENAME TO elsewhere")
        client.service.keys._read_at -= 10.0
        answers = [client.get("/v1/campaigns") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [503] * 3
        assert client.get("/healthz").status_code == 200
        with contextlib.closing(sqlite3.connect(file)) as other, other:
            other.execute("ALTER TABLE elsewhere RENAME TO keys")
        assert client.get("/v1/campaigns").status_code == 200


def test_a_stream_ends_with_its_key(database, url):
    key, admin = create_key(database, "read"), create_key(database, "admin")
    with serving(url, admin) as client:
        at = create(client)
        with client.stream("GET", f"{at}/stream", headers=bearer(key)) as live:
            lines = live.iter_lines()
            until(lambda: next(lines).startswith("event: summary"))
            revoke_key(database, key.split("_")[1])
            assert "event: end" in list(lines)
        until(lambda: client.service.n_watchers == 0)


def test_a_stream_of_an_open_server_ends_when_a_key_is_made(database, url):
    with serving(url) as client:
        at = create(client)
        with client.stream("GET", f"{at}/stream") as live:
            lines = live.iter_lines()
            until(lambda: next(lines).startswith("event: summary"))
            create_key(database, "read")
            assert "event: end" in list(lines)


def test_streams_are_counted_before_they_begin_and_for_each_key(tmp_path):
    file = str(tmp_path / "campaigns.db")
    database = Database(file)
    database.open()
    keys = [create_key(database, "read") for _ in range(3)]
    admin = create_key(database, "admin")
    database.close()
    with serving(file, admin, max_streams=10, max_streams_per_key=4) as client:
        at = create(client)

        async def statuses(n):
            """What n requests for streams at a time are answered with each of the keys; then all of them end."""
            async with (
                httpx.AsyncClient(base_url=client.base_url, limits=httpx.Limits(), timeout=240.0) as many,
                contextlib.AsyncExitStack() as stack,
            ):

                async def join(key):
                    opened = many.stream("GET", f"{at}/stream", headers=bearer(key))
                    answer = await stack.enter_async_context(opened)
                    if answer.status_code == 413:
                        await answer.aread()
                        assert "streams" in answer.json()["detail"]
                    return key, answer.status_code

                return await asyncio.gather(*[join(key) for key in keys for _ in range(n)])

        found = collections.Counter(asyncio.run(statuses(20)))
        assert sum(n for (_, status), n in found.items() if status == 200) == 10
        assert all(found[key, 200] <= 4 for key in keys)
        until(lambda: client.service.n_watchers == 0)
        assert client.get("/v1/campaigns/nobody/stream").status_code == 404  # and does not count
        assert client.get(f"{at}/stream?after=x").status_code == 400
        assert client.service.n_watchers == 0


def test_pages_of_other_sites_make_no_browser_act(tmp_path):
    """By what browsers send: Sec-Fetch-Site, and without TLS, or in old ones, Origin alone."""
    file = str(tmp_path / "campaigns.db")
    with serving(file) as client:
        at, host = create(client), client.base_url.netloc.decode()
        own = [
            {}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": f"http://{host}"},
            {"Origin": f"https://{host}"}, {"Origin": "http://LOCALHOST:1", "Host": "localhost:1"},
            {"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.example"},
        ]  # fmt: skip
        other = [
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": ""},
            {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": ""}, {"Origin": "http://127.0.0.1:1"},
            {"Origin": f"http://{host}.evil.example"}, {"Origin": f"http://evil.example/{host}"}, {"Origin": host},
            {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{host}"},
        ]  # fmt: skip
        for headers in own:
            assert client.post(f"{at}/ask", headers=headers).status_code == 200, headers
        for headers in other:
            assert client.post(f"{at}/ask", headers=headers).status_code == 403, headers
            assert client.post("/logout", headers=headers).status_code == 403, headers
            assert client.post("/login", headers=headers, data={"key": "x"}).status_code == 401, headers


def by_session(text):
    return {"Authorization": "", "Cookie": f"matroid_bandits_key={text}"}


def test_signing_out_ends_a_login_everywhere(database, url):
    key, admin = create_key(database, "read"), create_key(database, "admin")
    with serving(url, admin) as client, serving(url) as other:
        at = create(client)
        entered = client.post("/login", data={"key": key})
        session, kept = entered.cookies["matroid_bandits_key"], open_session(database, key.split("_")[1])
        assert key.split("_", 2)[2] not in session
        assert "Max-Age=43200" in entered.headers["set-cookie"]
        client.cookies.clear()
        for server in (client, other):
            assert server.get(at, headers=by_session(session)).status_code == 200
            page = server.get("/campaigns/ads", headers=by_session(session)).text
            assert re.search(r"Signed in with role read until \d{4}-\d\d-\d\d \d\d:\d\d UTC", page)
        left = client.post("/logout", headers=by_session(session))
        assert left.status_code == 303
        assert client.get(at, headers=by_session(session)).status_code == 401
        until(lambda: other.get(at, headers=by_session(session)).status_code == 401)
        for server in (client, other):  # another login of the key goes on
            assert server.get(at, headers=by_session(kept)).status_code == 200
        assert client.get(at, headers=bearer(key)).status_code == 200
        for wrong in ("", "mbs_", "mbs_x_y", session[:-1], kept[:-1] + "x"):  # ends nothing
            assert client.post("/logout", headers=by_session(wrong)).status_code == 303
        assert client.get(at, headers=by_session(kept)).status_code == 200
        revoke_key(database, key.split("_")[1])
        until(lambda: client.get(at, headers=by_session(kept)).status_code == 401)


def test_a_login_ends_by_itself_and_is_no_key(database, monkeypatch):
    key = create_key(database, "decide").split("_")[1]
    monkeypatch.setattr(keys_module, "SESSION_S", 3600.0)
    text = open_session(database, key)
    known = Keys(database)
    known.refresh()
    assert known.find(text, SESSION).role == "decide"
    assert 0.0 < known.seconds_left(text) <= 3600.0
    for other in (text.replace("mbs_", "mb_"), text + "x"):
        for kind in ("mb", "mbs"):
            with pytest.raises(AccessError):
                known.find(other, kind)
    with pytest.raises(AccessError):
        known.find(text)
    now = keys_module.time.monotonic()
    monkeypatch.setattr(keys_module.time, "monotonic", lambda: now + 3601.0)
    with pytest.raises(AccessError):  # though nothing was read since
        known.find(text, SESSION)
    close_session(database, text)
    known.refresh()
    assert known.seconds_left(text) == 0.0


def test_a_key_has_so_many_logins(database, monkeypatch):
    monkeypatch.setattr(keys_module, "_MOST_SESSIONS", 3)
    key, other = (create_key(database, "read").split("_")[1] for _ in range(2))
    monkeypatch.setattr(database, "clock", sa.literal(database.now()))  # all in one tick
    mine = open_session(database, other)
    made = [open_session(database, key) for _ in range(12)]
    known = Keys(database)
    known.refresh()
    assert [known.seconds_left(text) > 0.0 for text in [*made, mine]] == [False] * 9 + [True] * 4


def test_keys_are_not_read_once_the_database_is_closed(tmp_path):
    with started(str(tmp_path / "campaigns.db")) as service:
        service.keys.refresh()
    with pytest.raises(UnavailableError, match="shutting down"):
        service.keys.refresh()
