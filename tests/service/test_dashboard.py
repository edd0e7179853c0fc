"""The pages without a browser: who sees which, what the login gives, and what travels with them."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import httpx
import pytest

from matroid_bandits.service import Database, Service, Settings, create_app, create_key, revoke_key

CAMPAIGN = {"name": "ads", "matroid": {"kind": "uniform", "rows": ["a", "b"], "rank": 1}, "policy": "OMM"}
PAGES = ("/", "/campaigns/ads", "/campaigns/nobody", "/login")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Keys of every role, and one for a single campaign."""
    database = Database(str(tmp_path / "campaigns.db"))
    database.open()
    found = {role: create_key(database, role) for role in ("read", "decide", "admin")}
    database.close()
    return found


class Client:
    """A client inside this process; like a browser it keeps cookies, unlike one it follows no redirects."""

    def __init__(self, service: Service, runner: asyncio.Runner) -> None:
        self.service, self._runner, self.cookies = service, runner, httpx.Cookies()
        self._app = create_app(service=service)

    def request(self, method: str, path: str, **options: object) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8080", cookies=self.cookies
            ) as client:
                response = await client.request(method, path, **options)  # type: ignore[arg-type]
                self.cookies = client.cookies
                return response

        return self._runner.run(send())

    def get(self, path: str, **options: object) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: object) -> httpx.Response:
        return self.request("POST", path, **options)


@contextlib.contextmanager
def client_of(folder: Path) -> Iterator[Client]:
    service = Service(Settings(db=str(folder / "campaigns.db")))
    service.start()
    with asyncio.Runner() as runner:
        yield Client(service, runner)
    service.stop()


@pytest.fixture
def client(tmp_path, keys):
    with client_of(tmp_path) as made:
        answer = made.post("/v1/campaigns", json=CAMPAIGN, headers={"Authorization": f"Bearer {keys['admin']}"})
        assert answer.status_code == 201, answer.text
        yield made


def sign_in(client, key, **more):
    return client.post("/login", data={"key": key, **more}, headers={"sec-fetch-site": "same-origin"})


def test_without_keys_everybody_may_look_and_nobody_signs_in(tmp_path):
    with client_of(tmp_path) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert 'data-role="admin"' in page.text
        assert "Sign out" not in page.text
        assert client.get("/login").headers["location"] == "/"
        assert "set-cookie" not in client.post("/login", data={"key": "anything"}).headers


def test_pages_lead_to_the_login_and_the_login_back(client, keys):
    for path in ("/", "/campaigns/ads"):
        answer = client.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=")
    assert 'value="/campaigns/ads"' in client.get("/login?next=%2Fcampaigns%2Fads").text
    answer = sign_in(client, keys["read"], next="/campaigns/ads")
    assert (answer.status_code, answer.headers["location"]) == (303, "/campaigns/ads")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie  # on plain HTTP a browser would drop it
    assert client.get("/campaigns/ads").status_code == 200


@pytest.mark.parametrize("key", ["", "nonsense", "mb_", "mb_0123_wrong", "mb__", "é", "mb_0123_" + "x" * 3000])
def test_a_wrong_key_is_refused_in_words(client, key):
    answer = sign_in(client, key)
    assert answer.status_code == 401
    assert ("No key was given." if not key else "This key is not known here.") in answer.text
    assert "set-cookie" not in answer.headers


def test_the_login_works_for_the_api_and_shows_no_key(client, keys):
    sign_in(client, keys["decide"])
    (session,) = client.cookies.values()
    assert keys["decide"].split("_", 2)[2] not in session
    assert client.get("/v1/campaigns").status_code == 200
    assert client.post("/v1/campaigns/ads/ask").status_code == 200
    assert client.post("/v1/campaigns/ads/pause").status_code == 403  # the role stays that of the key
    # What a browser keeps cannot be made into a login or a key.
    assert sign_in(client, session).status_code == 401
    stolen = session.replace("mbs_", "mb_", 1)
    client.cookies.clear()
    assert client.get("/v1/campaigns", headers={"Authorization": f"Bearer {stolen}"}).status_code == 401


def test_other_sites_can_do_nothing_with_a_login(client, keys):
    sign_in(client, keys["admin"])
    for site in ("cross-site", "same-site"):
        headers = {"sec-fetch-site": site}
        assert client.post("/v1/campaigns/ads/archive", headers=headers).status_code == 403
        assert client.post("/logout", headers=headers).status_code == 403
        assert client.post("/login", data={"key": keys["read"]}, headers=headers).status_code == 401
    assert client.get("/v1/campaigns/ads").json()["status"] == "active"


def test_a_link_from_elsewhere_is_followed_with_the_login(client, keys):
    # A browser sends the cookie only when asked from a page of the same site.
    answer = client.get("/campaigns/ads", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0; url=/campaigns/ads"' in answer.text


def test_other_sites_can_do_nothing_without_keys_either(tmp_path):
    with client_of(tmp_path) as client:
        assert client.post("/v1/campaigns", json=CAMPAIGN).status_code == 201
        answer = client.post("/v1/campaigns/ads/archive", headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 403
        assert answer.json()["error"] == "AccessError"


def test_signing_out_and_revoking_end_a_login(client, keys, tmp_path):
    sign_in(client, keys["read"])
    answer = client.post("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert client.get("/").status_code == 303
    sign_in(client, keys["read"])
    assert client.get("/").status_code == 200
    database = Database(str(tmp_path / "campaigns.db"))
    database.open()
    revoke_key(database, keys["read"].split("_")[1])
    database.close()
    client.service.keys.refresh()  # which happens every two seconds
    assert client.get("/").status_code == 303
    assert client.get("/v1/campaigns").status_code == 401


def test_a_key_for_one_campaign_sees_that_one(client, tmp_path):
    database = Database(str(tmp_path / "campaigns.db"))
    database.open()
    key = create_key(database, "admin", campaign="ads")
    database.close()
    client.service.keys.refresh()
    sign_in(client, key)
    assert client.get("/").headers["location"] == "/campaigns/ads"
    assert client.get("/campaigns/ads").status_code == 200
    answer = client.get("/campaigns/others")
    assert answer.status_code == 403
    assert "Your key is for the campaign ads alone." in answer.text


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example", "/\\evil", "/campaigns//x", "/logout", "x\ny"]
)
def test_the_login_leads_to_no_other_site(client, keys, path):
    assert sign_in(client, keys["read"], next=path).headers["location"] == "/"
    assert 'name="next" value="/"' in client.get("/login", params={"next": path}).text


def test_a_form_that_is_too_large_or_none_is_refused(client):
    assert sign_in(client, "x" * 100_000).status_code == 401
    assert client.post("/login", json={"key": "x"}).status_code == 401


def test_names_are_escaped(client, keys):
    sign_in(client, keys["read"])
    answer = client.get("/campaigns/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text
    assert "There is no campaign called &lt;script&gt;alert(1)" in client.get("/campaigns/%3Cscript%3Ealert(1)").text


def test_every_page_is_strict_and_loads_only_what_is_here(client, keys):
    sign_in(client, keys["admin"])
    files = set()
    for path in PAGES:
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script>|javascript:", answer.text)
        files |= set(re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text))
        assert not re.search(r'(?:src|href)="(?:https?:)?//', answer.text)
    assert len(files) > 4
    static = resources.files("matroid_bandits.service.dashboard") / "static"
    for file in files | {f"/static/{entry.name}" for entry in static.iterdir()}:
        answer = client.get(file)
        assert answer.status_code == 200
        kind = {"js": "javascript", "css": "css", "svg": "svg"}[file.rpartition(".")[2]]
        assert kind in answer.headers["content-type"]
        assert answer.headers["cache-control"] == "no-cache"
        assert not re.search(r"https?://(?!www\.w3\.org/)", answer.text)  # names of formats alone
        assert client.get(file, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert client.get("/static/../_pages.py").status_code == 404
    assert client.get("/static/none.js").status_code == 404


def test_modules_import_what_is_there():
    static = resources.files("matroid_bandits.service.dashboard") / "static"
    texts = {entry.name: entry.read_text() for entry in static.iterdir()}
    for name, text in texts.items():
        for names, file in re.findall(r'import \{([^}]+)\} from "\./([\w.]+)"', text):
            for imported in names.split(","):
                pattern = rf"export (?:async )?(?:const|function|class) {imported.strip()}\b"
                assert re.search(pattern, texts[file]), f"{name} imports {imported} from {file}"
        assert "innerHTML" not in text, name
        assert "insertAdjacentHTML" not in text, name
