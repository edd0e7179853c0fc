"""Clients of several servers: one that is dead costs a moment, and what it had executed happens once."""

import asyncio
import contextlib
import socket
import threading

import httpx
import pytest

import matroid_bandits as mb
from matroid_bandits import exceptions
from matroid_bandits.client import _client, _deadline
from service_kit import create, serving
from service_visitors import free_ports


@contextlib.contextmanager
def silent():
    """A server that accepts connections and says nothing, as one that is stopped."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def refusing():
    """An address at which nothing listens."""
    return f"http://127.0.0.1:{free_ports(1)[0]}"


def waited(learner, alive=None):
    """The seconds of every attempt that the client allowed, by its deadline; a server that is alive has more."""
    seconds, send = [], learner._send

    def noted(url, step, deadline):
        seconds.append(deadline.left())
        return send(url, step, _deadline.Deadline(240.0) if url == alive else deadline)

    learner._send = noted
    return seconds


@pytest.mark.parametrize("dead", ["refuses", "is silent", "drains"])
def test_a_dead_server_costs_under_a_second(tmp_path, dead):
    with serving(str(tmp_path / "campaigns.db")) as http, contextlib.ExitStack() as stack:
        create(http)
        gone = refusing()
        if dead == "is silent":
            gone = stack.enter_context(silent())
        elif dead == "drains":
            gone = str(
                stack.enter_context(answering(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"))
            )
        with mb.Client([gone, str(http.base_url)], "ads", timeout=240.0) as learner:
            seconds = waited(learner, str(http.base_url))
            first, second = learner.ask(), learner.ask()
            assert (first.id, second.id) == (1, 2)
            assert len(seconds) == 3  # the dead one, and twice the other
            assert seconds[0] <= 0.7
            learner.tell(first, [1.0, 0.0])
            assert learner.n_decisions == 2

        async def visit():
            async with mb.AsyncClient((gone, str(http.base_url)), "ads", timeout=240.0) as learner:
                return await learner.ask()

        assert asyncio.run(visit()).id == 3


@contextlib.contextmanager
def answering(data):
    """A server that answers every request with the same bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    near, _ = listener.accept()
                    with near:
                        near.recv(65536)
                        near.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_what_the_first_server_executed_is_not_executed_again(tmp_path):
    """The answer of the first server is lost: the second one gets the same request, and gives the same decision."""
    url = str(tmp_path / "campaigns.db")
    with serving(url) as one, serving(url) as two:
        create(one)
        lost = iter([True, False, False, False, False])

        def handle(request):
            with httpx.Client() as plain:
                answer = plain.send(request)
            if request.url.port == one.base_url.port and next(lost):
                raise httpx.ReadError("lost")
            return httpx.Response(answer.status_code, content=answer.content)

        with (
            httpx.Client(transport=httpx.MockTransport(handle)) as http,
            mb.Client([str(one.base_url), str(two.base_url)], "ads", http=http) as learner,
        ):
            assert learner.ask().id == 1
            assert learner.ask().id == 2
            assert learner.n_decisions == 2


class Clock:
    """Stands still but for pauses."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_all_are_asked_again_until_the_timeout(monkeypatch):
    clock, urls = Clock(), [refusing(), refusing()]
    monkeypatch.setattr(_client, "time", clock)
    monkeypatch.setattr(_deadline, "time", clock)
    with mb.Client(urls, "ads", timeout=60.0) as learner:
        seconds = waited(learner)
        with pytest.raises(exceptions.UnavailableError, match="does not answer"):
            learner.ask()
        assert 0.0 < clock.now <= 60.0
        assert len(seconds) >= 4
        assert repr(learner) == f"Client({urls!r}, 'ads')"


@pytest.mark.parametrize("wrong", [[], ["http://x", "ftp://y"], ["http://x", 3], {"http://x"}])
def test_wrong_addresses_are_refused(wrong):
    with pytest.raises(exceptions.MalformedRequestError, match="expected the address of a server"):
        mb.Client(wrong, "ads")
