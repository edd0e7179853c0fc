"""A set for every visitor: what a client gives when the server does not answer in time, and what it makes good."""

import asyncio
import contextlib
import socket
import threading

import httpx
import pytest

import matroid_bandits as mb
from matroid_bandits import exceptions
from service_kit import create, serving, until


class Proxy:
    """Passes requests on to a server, and its answers back while `is_open`; refuses connections where `is_away`."""

    def __init__(self, port):
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.is_open, self.is_away = threading.Event(), False
        self.is_open.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.is_away:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._pass, args=(near, far, None), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, self.is_open), daemon=True).start()

    @staticmethod
    def _pass(source, target, gate):
        with source, target, contextlib.suppress(OSError):
            while data := source.recv(65536):
                if gate is not None:
                    gate.wait()
                target.sendall(data)

    def close(self):
        self.is_open.set()
        self._listener.close()


@pytest.fixture
def site(tmp_path):
    """A server with a campaign, and a proxy before it."""
    with serving(str(tmp_path / "campaigns.db")) as http:
        create(http)
        proxy = Proxy(http.base_url.port)
        http.proxy = proxy
        yield http
        proxy.close()


def waiting(http):
    return http.get("/v1/campaigns/ads").json()["waiting"]


def seen(http):
    return http.get("/v1/campaigns/ads").json()["decisions"]


def learn(client):
    for _ in range(6):
        decision = client.ask()
        client.tell(decision, {label: float(label in ("heels", "beret")) for label in decision.labels})


@pytest.mark.parametrize("how", ["silent", "away"])
def test_the_best_set_comes_in_time_and_the_decision_is_closed(site, how):
    with mb.Client(site.proxy.url, "ads", timeout=240.0, fallback=240.0) as client:
        learn(client)
        until(lambda: not client._later._tasks)
        client._best_until = 0.0
        decision = client.ask()
        client.tell(decision, [0.0, 0.0])
        assert not decision.is_fallback
        until(lambda: not client._later._tasks)  # the best set is read again in the background
        n = seen(site)
        client._fallback = 0.3
        site.proxy.is_open.clear()
        site.proxy.is_away = how == "away"
        with contextlib.ExitStack() as stack:
            if how == "away":  # connections that are kept would not notice
                client._http.close()
                client._http = stack.enter_context(httpx.Client())
            found = client.ask(exclude=["beret"], tags={"visitor": "ann"})
            assert found.is_fallback
            assert (found.id, found.labels, found.tags) == (0, ("heels",), {"visitor": "ann"})
            assert "fallback" in repr(found)
            assert mb.Decision.from_dict(found.to_dict()).is_fallback
            client.tell(found, [1.0])  # nothing is learnt of it, and nothing fails
            client.close(found)
            first, second = client.ask_batch([{}, {"available": ["heels", "boots"]}])
            assert (first.labels, second.labels) == (("heels", "beret"), ("heels",))
            assert first.is_full
            assert not second.is_full
            with pytest.raises(exceptions.UnavailableError):
                client.ask(pinned=["boots"])  # which the best set has not
            client._fallback = 240.0
            site.proxy.is_away = False
            site.proxy.is_open.set()
            until(lambda: seen(site) >= n + 3 and not client._later._tasks)
            assert waiting(site) == (seen(site) - n - 3)  # the one with the pin was told to fail
            assert not client.ask().is_fallback


def test_without_a_best_set_the_error_comes(site):
    site.proxy.is_open.clear()
    with (
        mb.Client(site.proxy.url, "ads", timeout=0.5, fallback=0.1) as client,
        pytest.raises(exceptions.UnavailableError),
    ):
        client.ask()
    with mb.Client(site.proxy.url, "ads", timeout=0.3) as client, pytest.raises(exceptions.UnavailableError):
        client.ask()


def test_what_the_server_refuses_is_an_error(site):
    with mb.Client(site.proxy.url, "ads", fallback=240.0) as client:
        learn(client)
        with pytest.raises(exceptions.ItemError):
            client.ask(exclude=["sandals"])
        client.pause()
        with pytest.raises(exceptions.CampaignStateError):
            client.ask()


def test_the_async_client_does_the_same(site):
    async def visit():
        async with mb.AsyncClient(site.proxy.url, "ads", timeout=240.0, fallback=240.0) as client:
            for _ in range(6):
                decision = await client.ask()
                await client.tell(decision, {label: float(label in ("heels", "beret")) for label in decision.labels})
            client._best_until = 0.0
            await client.tell(await client.ask(), [0.0, 0.0])
            while client._later._tasks:
                await asyncio.sleep(0.01)
            n = seen(site)
            client._fallback = 0.3
            site.proxy.is_open.clear()
            found = await asyncio.gather(*(client.ask() for _ in range(3)))
            assert all(each.is_fallback and each.labels == ("heels", "beret") for each in found)
            await client.tell(found[0], [1.0, 1.0])
            await client.tell_batch([(each, [1.0, 1.0]) for each in found])
            client._fallback = 240.0
            site.proxy.is_open.set()
            while seen(site) < n + 3 or client._later._tasks:
                await asyncio.sleep(0.02)
            assert waiting(site) == 0
            assert not (await client.ask()).is_fallback

    asyncio.run(visit())


@pytest.mark.parametrize("fallback", [-1.0, float("nan"), "soon", True])
def test_bad_fallbacks_are_refused(fallback):
    with pytest.raises(exceptions.MalformedRequestError, match="fallback"):
        mb.Client("http://127.0.0.1:1", "ads", fallback=fallback)
