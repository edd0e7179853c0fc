"""Client and AsyncClient against real servers: the same code as with a Learner, retries, errors."""

import asyncio
import contextlib
import json
import math
import socket
import subprocess
import sys
import threading
from email.utils import formatdate
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits import exceptions
from matroid_bandits.client import _client as client_module
from matroid_bandits.client import _deadline as deadline_module
from matroid_bandits.client import _exchange as exchange_module
from matroid_bandits.client._exchange import asked_pause, error_of
from matroid_bandits.service import create_key
from matroid_bandits.service._errors import STATUS, problem_of
from service_kit import serving

SHOES = mb.PartitionMatroid({"boots": "left", "heels": "left", "fedora": "right", "beret": "right"})
WINTER = mb.PartitionMatroid({"boots": "left", "mocs": "left", "fedora": "right", "beanie": "right"})
NETWORK = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
DECISION = mb.Learner(SHOES, mb.OMM(), id="x").ask().to_dict()


def address(http):
    return str(http.base_url)


def play(learner, matroid, winter, seen):
    """What a user writes, whatever the learner is; `seen` gets everything that can be compared."""
    labels = list(matroid.labels)
    learner.observe({labels[0]: 0.5, labels[1]: np.float64(0.25)})
    for n in range(12):
        wanted = [{}, {"exclude": [labels[0]]}, {"pinned": [labels[1]]}, {"available": np.arange(4) != n % 4}][n % 4]
        decision = learner.ask(**wanted)
        seen(decision.id, decision.labels, decision.items, decision.is_full, decision.pinned, decision.is_held_out)
        weights = {label: ((n + 3) * len(str(label))) % 7 / 7 for label in decision.labels}
        if n % 3 == 0:
            learner.tell(decision, np.array(list(weights.values())))
        elif n % 3 == 1:
            first, *rest = decision.labels
            learner.tell(decision.id, {first: True})
            learner.tell(decision, {label: weights[label] for label in rest})
        else:
            learner.close(decision, default=0.5)
    for label in labels:
        found = learner.explain(label, exclude=labels[2:3])
        seen(str(found), found.item, found.label, found.standing, found.mean, found.index, found.plays, found.rivals)
        seen(found.rival_labels, found.margins, found.minimize, found.is_chosen)
    late = learner.ask()
    seen(str(learner.explain(labels[-1], decision=late)))
    learner.change(winter, priors={winter.labels[1]: (0.5, 2)}, forget=labels[3:])
    learner.tell(late, {late.labels[0]: 0.75})
    learner.ask(pinned=np.array([1]))
    seen(tuple(decision.labels for decision in learner.outstanding), learner.n_outstanding, learner.n_decisions)
    seen(learner.close_before(learner.n_decisions + 1, default=0.0))
    learner.restart([winter.labels[0]])
    estimates, best = learner.estimates(), learner.best_basis()
    seen(list(estimates.labels), estimates.counts, estimates.waiting, estimates.means, estimates.indices)
    seen(best.labels, best.items, best.means, best.counts, best.value)
    seen(learner.best_basis(pessimism=0.1).labels)
    seen(learner.constraint == winter, learner.minimize, learner.seed, learner.holdout)
    for call in (
        lambda: learner.ask(exclude=["nobody"]),
        lambda: learner.ask(exclude=3.5),
        lambda: learner.ask(available=[True, False]),
        lambda: learner.ask(pinned=winter.labels[:2], exclude=winter.labels[:2]),
        lambda: learner.tell(1, [0.5, 0.5]),
        lambda: learner.tell(99, [0.5, 0.5]),
        lambda: learner.tell("x", [0.5, 0.5]),
        lambda: learner.tell(learner.ask(), [0.5, 0.5, 0.5, 0.5, 0.5]),
        lambda: learner.tell(learner.ask(), {winter.labels[0]: math.nan}),
        lambda: learner.tell(learner.ask(), {winter.labels[0]: "much"}),
        lambda: learner.tell(learner.ask(), ["much"]),
        lambda: learner.tell(learner.ask(), [math.inf] * winter.rank),
        lambda: learner.tell(learner.ask(), {winter.labels[0]: 10**400}),
        lambda: learner.tell(mb.Learner(matroid, mb.OMM()).ask(), [0.5, 0.5]),
        lambda: learner.close(1),
        lambda: learner.close(learner.ask(), default="x"),
        lambda: learner.observe([0.5] * 4),
        lambda: learner.ask(features=[[1.0]] * 4),
        lambda: learner.ask(features="x"),
        lambda: learner.change("x"),
        lambda: learner.change(winter, priors=7),
        lambda: learner.restart(["nobody"]),
        lambda: learner.explain("nobody"),
    ):
        with pytest.raises(mb.exceptions.MatroidBanditsError) as caught:
            call()
        seen(type(caught.value).__name__)


class Seen(list):
    def __call__(self, *values):
        self.extend(values)


@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
@pytest.mark.parametrize(
    ("matroid", "winter", "minimize", "holdout"),
    [
        (SHOES, WINTER, False, 0.0),
        (NETWORK, mb.GraphicMatroid([("a", "b"), ("b", "d"), ("c", "d"), ("c", "a")]), True, 0.3),
    ],
    ids=["ads", "network"],
)
def test_the_same_code_with_a_learner_and_with_a_client(url, matroid, winter, minimize, holdout):
    here, there = Seen(), Seen()
    play(mb.Learner(matroid, mb.OMM(), minimize=minimize, seed=5, holdout=holdout), matroid, winter, here)
    with serving(url) as http, mb.Client(address(http), "ads") as learner:
        learner.create(matroid, mb.OMM(), minimize=minimize, seed=5, holdout=holdout)
        play(learner, matroid, winter, there)
        events = [event for event in learner.events() if event["event"] != "alarm"]
        assert mb.Learner.replay(events).ask().labels == learner.preview()
    assert len(here) == len(there)
    for ours, served in zip(here, there, strict=True):
        np.testing.assert_equal(served, ours)


class Nearest(mb.Policy):
    """Takes the items whose features have the largest sum."""

    n_features = 2

    def indices(self, state, request):
        return np.broadcast_to(request.features.sum(axis=-1), state.means.shape).copy()

    def observe(self, state, feedback):
        pass


def test_policies_made_with_features_travel(url):
    X = np.arange(8.0).reshape(4, 2) / 8
    learner = mb.Learner(SHOES, mb.CombLinTS(X), seed=2)
    with serving(url) as http, mb.Client(address(http), "ads") as client:
        client.create(SHOES, mb.CombLinTS(X), seed=2)
        for each in (learner, client):
            each.tell(each.ask(), [0.5, 0.25])
            each.change(WINTER, features={"mocs": [1.0, 0.0], "beanie": [0.0, 1.0]})
            each.tell(each.ask(), [0.5, 0.25])
        assert client.ask().labels == learner.ask().labels
        np.testing.assert_equal(client.estimates().means, learner.estimates().means)


def test_features_travel(url):
    X = np.arange(8.0).reshape(4, 2) / 8
    policy = Nearest()
    learner = mb.Learner(SHOES, policy, seed=2, features=X)
    with serving(url) as http, mb.Client(address(http), "ads") as client:
        client.create(SHOES, policy, seed=2, features=X)
        for each in (None, X[::-1], {label: X[n] for n, label in enumerate(SHOES.labels)}):
            ours, served = learner.ask(features=each), client.ask(features=each)
            assert served.labels == ours.labels
            learner.tell(ours, [0.5, 0.25])
            client.tell(served, [0.5, 0.25])
            np.testing.assert_equal(client.estimates(features=each).indices, learner.estimates(features=each).indices)
            assert str(client.explain("boots", features=each)) == str(learner.explain("boots", features=each))


def test_batches_campaigns_and_states(url):
    with serving(url) as http, mb.Client(address(http), "ads") as client:
        with pytest.raises(exceptions.UnknownCampaignError):
            client.ask()
        made = client.create(SHOES.to_dict(), "OMM", seed=1, title="Ads", answer_window=60, default=0.0)
        assert (made["title"], made["answer_window"]) == ("Ads", 60.0)
        with pytest.raises(exceptions.CampaignStateError):
            client.create(SHOES, {"policy": "OMM", "scale": 2.0})
        decisions = client.ask_batch([{}, {"exclude": iter(["boots"])}, {"pinned": ["beret"]}])
        learner = mb.Learner(SHOES, mb.OMM(), seed=1)
        wanted = [{}, {"exclude": ["boots"]}, {"pinned": ["beret"]}]
        assert [each.labels for each in decisions] == [learner.ask(**each).labels for each in wanted]
        assert decisions[2].pinned.tolist() == [3]
        client.tell_batch([(decisions[0], [0.5, 0.5]), (2, {decisions[1].labels[0]: 1})])
        with pytest.raises(exceptions.DecisionClosedError):
            client.tell_batch([(decisions[2], [0.5, 0.5]), (1, [0.5, 0.5])])
        with pytest.raises(exceptions.MalformedRequestError):
            client.ask_batch([{"without": ["boots"]}])
        assert [each.id for each in client.outstanding] == [2, 3]
        assert [event["event"] for event in client.events(after=4)] == ["told", "told"]
        assert client.pause()["status"] == "paused"
        with pytest.raises(exceptions.CampaignStateError):
            client.ask()
        client.resume()
        assert [each["name"] for each in client.campaigns()] == ["ads"]
        assert client.history(resolution=1)["waiting"] == 2
        assert client.show()["waiting"] == 2
        with pytest.warns(exceptions.ScaleWarning):
            client.tell(decisions[2], [190.0, 0.5])
        assert [alarm["kind"] for alarm in client.alarms()] == ["scale"]
        assert client.acknowledge() == client.alarms() == []
        assert client.archive()["status"] == "archived"
        assert "ads" in repr(client)
        assert client.name == "ads"


def test_a_client_notices_what_others_change(url):
    with serving(url) as http, mb.Client(address(http), "ads") as one, mb.Client(address(http), "ads") as two:
        one.create(SHOES, mb.OMM(), seed=1)
        one.ask()
        two.ask()
        two.change(WINTER)
        decision = one.ask(available=["mocs", "beanie"])
        assert (decision.labels, decision.items.tolist()) == (("mocs", "beanie"), [1, 3])
        assert one.constraint == WINTER


def test_decisions_need_no_look_at_the_campaign_however_often_items_change(url):
    """Tasks that share a client go on through changes: nothing is lost, and nobody fetches the campaign again."""
    looks, made = [], []

    async def note(request):
        looks.extend([request.url.path] if request.method == "GET" else [])

    async def visit(client):
        for _ in range(6):
            decision = await client.ask()
            made.append(decision.id)
            (art, n), (cat, same) = (label.split("-") for label in decision.labels)
            assert (art, cat, n, decision.items.tolist()) == ("art", "cat", same, [0, 1])
            await client.tell(decision, dict.fromkeys(decision.labels, 0.5))

    async def change(client):
        for n in range(1, 6):
            await client.change(mb.PartitionMatroid({f"art-{n}": "page", f"cat-{n}": "page"}, {"page": 2}))

    async def main():
        hooks = {"request": [note]}
        async with httpx.AsyncClient(event_hooks=hooks) as sender, mb.AsyncClient(address(http), "ads") as editor:
            shared = mb.AsyncClient(address(http), "ads", http=sender)
            await editor.create(mb.PartitionMatroid({"art-0": "page", "cat-0": "page"}, {"page": 2}), mb.OMM())
            await asyncio.gather(*(visit(shared) for _ in range(8)), change(editor))

    with serving(url) as http:
        asyncio.run(main())
    assert looks == []
    assert sorted(made) == list(range(1, 49))


def test_numbers_are_those_of_the_items_after_a_change_was_noticed(url):
    with serving(url) as http, mb.Client(address(http), "ads") as one, mb.Client(address(http), "ads") as two:
        one.create(SHOES, mb.OMM(), seed=1)
        assert one.ask(available=np.array([1, 3])).labels == ("heels", "beret")
        two.change(mb.PartitionMatroid({"beanie": "right", "mocs": "left"}))
        assert one.ask().labels == ("beanie", "mocs")  # by which the client knows that its numbers are old
        assert one.ask(available=np.array([0])).labels == ("beanie",)


def test_decisions_carry_their_matching(url):
    shifts = mb.TransversalMatroid({"ann": ["day"], "bob": ["day"], "eve": ["day", "night"]})
    ours = mb.Learner(shifts, mb.OMM())
    with serving(url) as http, mb.Client(address(http), "shifts") as client:
        client.create(shifts, mb.OMM())
        assert client.ask().matching == ours.ask().matching == {"ann": "day", "eve": "night"}
        assert client.outstanding[0].matching == {"ann": "day", "eve": "night"}
        answer = http.post("/v1/campaigns/shifts/ask").json()
        assert (answer["items"], answer["matching"]) == (["bob", "eve"], ["day", "night"])
        client.change(mb.TransversalMatroid({"ann": ["day"], "bob": ["day"], "eve": ["day"]}))
        assert client.outstanding[0].matching is None  # what was chosen cannot be matched any more
        client.change(SHOES)
        assert "matching" not in http.post("/v1/campaigns/shifts/ask").json()


def test_the_async_client_does_the_same(url):
    async def visit(where):
        async with mb.AsyncClient(where, "ads") as learner:
            await learner.create(SHOES, mb.OMM(), seed=4)
            decisions = await asyncio.gather(*(learner.ask() for _ in range(10)))
            await asyncio.gather(*(learner.tell(each, [0.5, 0.5]) for each in decisions))
            assert sorted(each.id for each in decisions) == list(range(1, 11))
            assert await learner.n_decisions == 10
            assert await learner.constraint == SHOES
            with pytest.raises(exceptions.DecisionClosedError):
                await learner.tell(3, [0.5, 0.5])
            return (await learner.estimates()).counts.sum(), (await learner.best_basis()).value

    with serving(url) as http:
        assert asyncio.run(visit(address(http))) == (20, 1.0)


class Flaky(httpx.BaseTransport):
    """Lets requests through, and loses some on the way there or back."""

    def __init__(self, inner, faults):
        self.inner, self.faults, self.sent = inner, list(faults), []

    def handle_request(self, request):
        self.sent.append((request.method, request.headers.get("idempotency-key")))
        fault = self.faults.pop(0) if self.faults else None
        if fault == "there":
            raise httpx.ConnectError("no route")
        if isinstance(fault, int):
            return httpx.Response(fault, headers={"Retry-After": "0"}, json={"error": "UnavailableError"})
        answer = self.inner.handle_request(request)
        if fault == "back":
            answer.read()
            answer.close()
            raise httpx.ReadError("connection lost")
        return answer

    def close(self):
        if self.inner is not None:
            self.inner.close()


def test_what_is_lost_on_the_way_happens_once(url):
    with serving(url) as http:
        with mb.Client(address(http), "ads") as client:
            client.create(SHOES, mb.OMM(), seed=1)
        flaky = Flaky(httpx.HTTPTransport(), [None, "back", "there", 503, 429, 502, "back"])
        with httpx.Client(transport=flaky) as sender:
            client = mb.Client(address(http), "ads", http=sender)
            decision = client.ask()
            assert decision.id == 1
            client.tell(decision, [0.5, 0.5])
            client.disconnect()  # leaves the given one open
            assert client.n_decisions == 1
        ids = [id for method, id in flaky.sent if method == "POST"]
        assert len(ids) == 8
        assert len(set(ids)) == 2  # one for the ask, one for the tell


def test_a_deadline_ends_the_attempts(monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.insert(0, now[0] + seconds))
    for module in (client_module, deadline_module):
        monkeypatch.setattr(module, "time", clock)
    for fault, error in ((503, exceptions.UnavailableError), ("there", exceptions.UnavailableError)):
        flaky = Flaky(None, [fault] * 100)
        with httpx.Client(transport=flaky) as sender, pytest.raises(error):
            mb.Client("http://nowhere", "ads", timeout=3.0, http=sender).ask()
        assert 4 <= len(flaky.sent) < 20


def test_a_stopped_campaign_is_not_asked_again():
    def stopped(request):
        return httpx.Response(503, json={"error": "CampaignStoppedError", "detail": "its log does not replay"})

    with (
        httpx.Client(transport=httpx.MockTransport(stopped)) as sender,
        pytest.raises(exceptions.CampaignStoppedError, match="does not replay"),
    ):
        mb.Client("http://nowhere", "ads", http=sender).ask()


def test_every_error_of_the_server_comes_back_as_itself():
    for kind in STATUS:
        status, body = problem_of(kind("expected this, got that"))
        error = error_of(httpx.Response(status, content=body))
        assert str(error) == "expected this, got that"
        assert type(error) is kind or issubclass(kind, type(error))
        assert type(error) is not exceptions.MatroidBanditsError
    for status, kind in (
        (401, exceptions.AccessError),
        (404, exceptions.MalformedRequestError),
        (429, exceptions.RateLimitError),
        (500, exceptions.UnavailableError),
        (502, exceptions.UnavailableError),
    ):
        for content in (b"<html>", b"[]", json.dumps({"error": "print", "detail": ""}).encode()):
            assert type(error_of(httpx.Response(status, content=content))) is kind


def test_keys(url):
    with serving(url) as http:
        with mb.Client(address(http), "ads") as client:
            client.create(SHOES, mb.OMM())
        key = create_key(http.service.database, "read")
        http.service.keys.refresh()
        with mb.Client(address(http), "ads", key=key) as client:
            assert client.n_decisions == 0
            with pytest.raises(exceptions.AccessError):
                client.ask()
        with mb.Client(address(http), "ads") as client, pytest.raises(exceptions.AccessError):
            client.show()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ftp://x", "ads"),
        (8080, "ads"),
        ("http://", "ads"),
        ("http://[::1", "ads"),
        ("http://x", ""),
        ("http://x", None),
        ("http://x", ".."),
        ("http://x", "a\ud800"),
    ],
)
def test_bad_addresses_are_refused(arguments):
    with pytest.raises(exceptions.MalformedRequestError):
        mb.Client(*arguments)


@pytest.mark.parametrize("more", [{"timeout": -1}, {"timeout": "x"}, {"timeout": math.nan}, {"key": 3}, {"key": "ü"}])
def test_bad_settings_are_refused(more):
    with pytest.raises(exceptions.MalformedRequestError):
        mb.AsyncClient("http://x", "ads", **more)


def test_what_is_no_server_of_ours_is_said_to_be():
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, text="hello"))) as sender:
        client = mb.Client("http://nowhere", "ads", http=sender)
        with pytest.raises(exceptions.UnavailableError, match="one of ours"):
            client.show()
        with pytest.raises(exceptions.PolicyError):
            client.create(SHOES, 3)
        with pytest.raises(exceptions.PolicyError):
            client.create("x", mb.OMM())
        for given, error in (
            ({"features": [[10**400]]}, exceptions.PolicyError),
            ({"features": {"boots": [10**400]}}, exceptions.PolicyError),
            ({"priors": {"boots": (10**400, 1)}}, exceptions.FeedbackError),
        ):
            with pytest.raises(error, match="expected"):
                client.create(SHOES, mb.OMM(), **given)
        with pytest.raises(exceptions.MalformedRequestError, match="JSON"):
            client.create(SHOES, {"policy": "OMM", "scale": math.nan})


def test_threads_may_share_a_client(url):
    with serving(url) as http, mb.Client(address(http), "ads") as client:
        client.create(SHOES, mb.OMM())

        def visit():
            for _ in range(5):
                client.tell(client.ask(), [0.5, 0.5])

        threads = [threading.Thread(target=visit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (client.n_decisions, client.n_outstanding) == (20, 0)


@contextlib.contextmanager
def short_switches():
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_threads_may_share_a_client_that_changes_its_items():
    faults = []

    def answer(request):
        if request.method == "GET":
            return httpx.Response(200, json={"id": "x", "constraint": SHOES.to_dict(), "minimize": False})
        if request.url.path.endswith("/ask"):
            return httpx.Response(200, json=DECISION)
        return httpx.Response(200, json={})

    with httpx.Client(transport=httpx.MockTransport(answer)) as sender, short_switches():
        client = mb.Client("http://nowhere", "ads", http=sender)

        def visit(n):
            try:
                for _ in range(60):
                    if n % 2:
                        client.change(SHOES)
                        assert client.constraint == SHOES
                    client.tell(client.ask(), [0.5, 0.5])
            except Exception as error:
                faults.append(error)

        threads = [threading.Thread(target=visit, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not faults


def test_what_was_read_before_a_change_is_not_remembered_after_it():
    held, looked = threading.Event(), threading.Event()
    current = [SHOES]

    def answer(request):
        if request.method != "GET":
            current[0] = WINTER
            return httpx.Response(200, json={})
        form = {"id": "x", "constraint": current[0].to_dict(), "minimize": False}
        if current[0] is SHOES:  # an answer that is long on its way
            looked.set()
            held.wait()
        return httpx.Response(200, json=form)

    with httpx.Client(transport=httpx.MockTransport(answer)) as sender:
        client = mb.Client("http://nowhere", "ads", http=sender)
        thread = threading.Thread(target=lambda: client.minimize)
        thread.start()
        looked.wait()
        client.change(WINTER)
        held.set()
        thread.join()
        assert client._known is None
        assert client.constraint == WINTER


class Dripping:
    """A server that sends its answer in small pieces, for as long as it is read."""

    def __init__(self, head, piece, after=0):
        self.head, self.piece, self.after = head, piece, after
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.n_requests = 0
        self.is_over = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            while connection.recv(65536):
                self.n_requests += 1
                if self.n_requests <= self.after:
                    form = json.dumps({"id": "x", "constraint": SHOES.to_dict(), "minimize": False}).encode()
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(form) + form)
                    continue
                connection.sendall(self.head)
                while not self.is_over.wait(0.05):
                    connection.sendall(self.piece)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.parametrize("after", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize(("head", "piece"), [(HEAD, b" "), (b"HTTP/1.1 200 OK\r\n", b"X"), (b"H", b"T")])
def test_a_timeout_is_for_the_whole_call(head, piece, after):
    """Each read gets a byte in time, so that no timeout of a single read ever ends the call."""
    with Dripping(head, piece, after) as server, mb.Client(server.url, "ads", timeout=0.5) as client:
        with pytest.raises(exceptions.UnavailableError, match="does not answer"):
            client.ask(available=np.ones(4, bool))  # whose labels are looked up first
        assert server.n_requests <= after + 1  # and it was not tried again

    async def ask():
        async with mb.AsyncClient(server.url, "ads", timeout=0.5) as client:
            await client.ask(available=np.ones(4, bool))

    with Dripping(head, piece, after) as server:
        with pytest.raises(exceptions.UnavailableError, match="does not answer"):
            asyncio.run(ask())
        assert server.n_requests <= after + 1  # and it was not tried again


def test_requests_of_one_call_share_its_timeout(monkeypatch):
    now, left = [1000.0], []
    monkeypatch.setattr(deadline_module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def answer(request):
        left.append(request.extensions["timeout"]["read"])
        now[0] += 8.0
        if request.method == "GET":
            return httpx.Response(200, json={"id": "x", "constraint": SHOES.to_dict(), "minimize": False})
        return httpx.Response(200, json=DECISION)

    with httpx.Client(transport=httpx.MockTransport(answer)) as sender:
        mb.Client("http://nowhere", "ads", http=sender, timeout=50.0).ask(available=np.ones(4, bool))
    assert left == [50.0, 42.0]


def test_pauses_that_servers_ask_for(monkeypatch):
    def pause(**headers):
        return asked_pause(
            httpx.Response(503, headers={key.replace("_", "-"): text for key, text in headers.items()})
        )

    assert (
        pause() == pause(Retry_After="soon") == pause(Retry_After="-1") == pause(Retry_After="\u00b2".encode()) == 0.0
    )
    assert pause(Retry_After="3") == 3.0
    assert pause(Retry_After=" 1.5 ") == 1.5
    assert pause(Retry_After="nan") == pause(Retry_After="inf") == 0.0
    date = formatdate(2e9, usegmt=True)
    assert pause(Retry_After=formatdate(2e9 + 7, usegmt=True), Date=date) == 7.0
    assert pause(Retry_After=date, Date=formatdate(2e9 + 7, usegmt=True)) == 0.0
    monkeypatch.setattr(exchange_module, "time", SimpleNamespace(time=lambda: 2e9 - 3600.0))
    assert pause(Retry_After=date) == 3600.0


CALLS = [
    lambda client: client.ask(),
    lambda client: client.ask_batch([{}]),
    lambda client: client.tell(1, [0.5, 0.5]),
    lambda client: client.close_before(3),
    lambda client: client.estimates(),
    lambda client: client.best_basis(),
    lambda client: client.confidence(),
    lambda client: client.explain("boots"),
    lambda client: client.preview(),
    lambda client: client.outstanding,
    lambda client: client.n_decisions,
    lambda client: client.n_outstanding,
    lambda client: client.holdout,
    lambda client: client.seed,
    lambda client: client.constraint,
    lambda client: client.campaigns(),
    lambda client: client.events(),
]
ODD = [
    "[]", "3", "null", '"x"', "{}", '{"items": 3}', '{"items": [{}], "decision": 1}', '{"items": ["boots"]}',
    '{"items": [], "decision": "x"}',
    '{"decisions": 3, "waiting": null, "closed": [], "events": 3, "campaigns": null}',
    '{"decisions": [[]], "seed": "x", "holdout": [], "labels": 3}', '{"decisions": [], "id": 1, "constraint": []}',
    '{"constraint": {"kind": []}, "id": 1, "minimize": 0}', '{"labels": [1], "counts": ["x"], "waiting": 1e999}',
    '{"label": {}, "rivals": 3, "item": []}', "[" * 100_000, '{"items": ' + "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("odd", ODD)
def test_odd_answers_are_errors_of_the_client(odd, is_known):
    def answer(request):
        if is_known and request.method == "GET" and request.url.path.endswith("/ads") and not request.url.query:
            return httpx.Response(200, json={"id": "x", "constraint": SHOES.to_dict(), "minimize": False})
        return httpx.Response(200, text=odd)

    with httpx.Client(transport=httpx.MockTransport(answer)) as sender:
        client = mb.Client("http://nowhere", "ads", http=sender)
        refusals = []
        for call in CALLS:
            try:
                call(client)
            except exceptions.MatroidBanditsError as error:
                refusals.append(str(error))
        assert len(refusals) >= 5
        assert max(map(len, refusals)) < 300


@pytest.mark.parametrize("status", [400, 503, 500])
@pytest.mark.parametrize("detail", ["3", "[1]", '{"a": 1}', "null", '""'])
def test_odd_problems_are_errors_too(status, detail):
    text = '{"error": ["x"], "detail": ' + detail + "}"
    assert str(error_of(httpx.Response(status, text=text))).startswith(f"the server answered {status}")
    assert isinstance(error_of(httpx.Response(status, text="[" * 100_000)), exceptions.MatroidBanditsError)


def test_calls_after_closing(url):
    with serving(url) as http:
        with mb.Client(address(http), "ads") as client:
            client.create(SHOES, mb.OMM())
        for _ in range(2):
            with pytest.raises(exceptions.UnavailableError, match="was disconnected"):
                client.ask()
            client.disconnect()

        async def visit():
            async with mb.AsyncClient(address(http), "ads") as client:
                await client.ask()
            await client.disconnect()
            await client.ask()

        with pytest.raises(exceptions.UnavailableError, match="was disconnected"):
            asyncio.run(visit())


def test_a_second_event_loop(url):
    with serving(url) as http:
        with mb.Client(address(http), "ads") as client:
            client.create(SHOES, mb.OMM())
        visitor = mb.AsyncClient(address(http), "ads")

        async def ask():
            return (await visitor.ask()).id

        with contextlib.closing(asyncio.new_event_loop()) as loop:
            assert loop.run_until_complete(ask()) == 1
            for call in (ask, visitor.disconnect):
                with pytest.raises(exceptions.UnavailableError, match="one event loop"):
                    asyncio.run(call())
            assert loop.run_until_complete(ask()) == 2
            loop.run_until_complete(visitor.disconnect())


def test_importing_the_library_imports_no_httpx():
    code = "import sys, matroid_bandits as mb; assert 'httpx' not in sys.modules; mb.Client; sys.modules['httpx']"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        mb.Nobody  # noqa: B018
