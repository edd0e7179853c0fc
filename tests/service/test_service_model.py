"""Random requests, retries, restarts, two servers and failed statements against the obvious model: one plain learner.

Most of the time a server is behind: it reads what the other one did when it must. Faults come from the driver, below
SQLAlchemy, at any statement or commit, before or after it took effect; a client sends again with the same id.
``MATROID_BANDITS_EXAMPLES`` says how many histories are tried; ``make torture`` tries many.
"""

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

import httpx
import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

import matroid_bandits as mb
from matroid_bandits.service import Database, Service, create_app, export_campaign
from matroid_bandits.service._tables import leases
from service_databases import fresh_postgres
from service_injection import Faults
from service_kit import settings_for
from service_nursery import nursery, wait_until_ready
from service_visitors import free_ports

N_EXAMPLES = int(os.environ.get("MATROID_BANDITS_EXAMPLES", "5"))

AT = "/v1/campaigns/ads"
LABELS = ("boots", "heels", "fedora", "beret", "beanie")
MATROIDS = (
    mb.PartitionMatroid({"boots": 0, "heels": 0, "fedora": 1, "beret": 1}),
    mb.PartitionMatroid({"boots": 0, "heels": 0, "beret": 1, "beanie": 1}),
    mb.UniformMatroid(3, 2, labels=["boots", "heels", "beanie"]),
)
items = st.lists(st.sampled_from(LABELS), unique=True, max_size=2)
requests = st.fixed_dictionaries({}, optional={"exclude": items, "pinned": items, "available": items})
weights = st.sampled_from([0.0, 0.25, 0.5, 1.0])


class Server:
    """A server without a socket: what comes in goes through the application, the writer and the database."""

    def __init__(self, url, runner):
        self.service, self.run = Service(settings_for(url, tick=1000.0, snapshot_every=7)), runner.run
        self.faults, self.n_again = Faults(self.service.database), 0
        self.service.start()
        transport = httpx.ASGITransport(app=create_app(service=self.service))
        self.client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def post(self, path, **more):
        return self.send("POST", path, **more)

    def get(self, path):
        return self.send("GET", path)

    def send(self, method, path, **more):
        """Send, and send again what was not served, as clients do."""
        for self.n_again in range(5):
            answer = self.run(self.client.request(method, path, **more))
            if answer.status_code != 503:
                return answer
        raise AssertionError(answer.text)

    def close(self):
        self.faults.count()
        self.run(self.client.aclose())
        self.service.stop()


class Machine(RuleBasedStateMachine):
    """Two servers on one database, and a learner that is told the same."""

    sent = Bundle("sent")
    urls = None  # gives a fresh database

    @initialize(seed=st.integers(0, 3), policy=st.sampled_from(["OMM", "ThompsonSampling", "EpsilonGreedy"]))
    def start(self, seed, policy):
        self.url, self.runner, self.servers, self.n_sent = self.urls(), asyncio.Runner(), [], 0
        self.status, self.answers = "active", {}
        self.open_server()
        self.open_server()
        body = {"name": "ads", "matroid": MATROIDS[0].to_dict(), "policy": policy, "seed": seed, "holdout": 0.1}
        created = self.servers[0].post("/v1/campaigns", json=body)
        assert created.status_code == 201
        id = created.json()["id"]
        self.learner = mb.Learner(MATROIDS[0], getattr(mb, policy)(), seed=seed, holdout=0.1, id=id)

    def open_server(self):
        self.servers.append(Server(self.url, self.runner))

    def close_server(self, n):
        self.servers.pop(n % len(self.servers)).close()

    def send(self, n, verb, body):
        """Send with a fresh id through one of the servers; what can be sent again, and its answer."""
        self.n_sent += 1
        request = f"{AT}/{verb}", json.dumps(body), f"{self.n_sent}"
        answer = self.resend(n, request)
        assert "idempotency-replayed" not in answer.headers or self.servers[n % len(self.servers)].n_again
        if answer.status_code == 200:
            self.answers[request] = answer.content
        return request, answer

    def resend(self, n, request):
        path, content, id = request
        headers = {"Content-Type": "application/json", "Idempotency-Key": id}
        return self.servers[n % len(self.servers)].post(path, content=content, headers=headers)

    def same(self, answer, call, form=None):
        """The learner does the same: an error of the same class, or what `form` makes of its result."""
        try:
            found, words = call(), None
        except mb.exceptions.MatroidBanditsError as error:
            found, words = None, (type(error).__name__, str(error))
        if words is not None:
            assert (answer.json()["error"], answer.json()["detail"]) == words
            return
        assert answer.status_code == 200, answer.text
        if form is not None:
            assert answer.json() == form(found)

    @rule(target=sent, n=st.integers(0, 1), wanted=requests)
    def ask(self, n, wanted):
        request, answer = self.send(n, "ask", wanted)
        if self.status == "paused":
            assert answer.json()["error"] == "CampaignStateError"
        else:
            self.same(answer, lambda: self.learner.ask(**wanted), mb.Decision.to_dict)
        return request

    @rule(target=sent, n=st.integers(0, 1), wanted=st.lists(requests, max_size=3))
    def ask_batch(self, n, wanted):
        def ask_all():
            for each in wanted:
                self.learner.check_ask(**each)
            return [self.learner.ask(**each) for each in wanted]

        request, answer = self.send(n, "ask/batch", {"requests": wanted})
        if self.status == "paused":
            assert answer.json()["error"] == "CampaignStateError"
        else:
            self.same(answer, ask_all, lambda found: {"decisions": [each.to_dict() for each in found]})
        return request

    @rule(target=sent, n=st.integers(0, 1), back=st.integers(0, 4), given=st.lists(weights, min_size=1, max_size=3))
    def tell_in_order(self, n, back, given):
        id = self.learner.n_decisions - back
        request, answer = self.send(n, "tell", {"decision": id, "weights": given})
        self.same(answer, lambda: self.learner.tell(id, given))
        return request

    @rule(
        target=sent,
        n=st.integers(0, 1),
        back=st.integers(0, 4),
        given=st.dictionaries(st.sampled_from(LABELS), weights, min_size=1, max_size=2),
    )
    def tell_by_label(self, n, back, given):
        id = self.learner.n_decisions - back
        request, answer = self.send(n, "tell", {"decision": id, "weights": given})
        self.same(answer, lambda: self.learner.tell(id, given))
        return request

    @precondition(lambda self: self.learner.n_outstanding)
    @rule(target=sent, n=st.integers(0, 1), part=st.booleans(), which=st.integers(0, 10), weight=weights)
    def tell_what_waits(self, n, part, which, weight):
        decision = self.learner.outstanding[which % self.learner.n_outstanding]
        labels = decision.labels[: 1 if part else None]
        given = dict.fromkeys(labels, weight)
        request, answer = self.send(n, "tell", {"decision": decision.id, "weights": given})
        self.same(answer, lambda: self.learner.tell(decision.id, given))
        return request

    @rule(target=sent, n=st.integers(0, 1), back=st.integers(-1, 4), default=st.none() | weights)
    def close(self, n, back, default):
        id = self.learner.n_decisions - back
        request, answer = self.send(n, "close", {"decision": id, "default": default})
        self.same(answer, lambda: self.learner.close(id, default), lambda _: {"closed": 1})
        return request

    @rule(target=sent, n=st.integers(0, 1), matroid=st.sampled_from(MATROIDS), forget=items)
    def change(self, n, matroid, forget):
        body = {"matroid": matroid.to_dict(), "priors": "typical", "forget": forget}
        request, answer = self.send(n, "change", body)
        self.same(answer, lambda: self.learner.change(matroid, priors="typical", forget=forget))
        return request

    @rule(target=sent, n=st.integers(0, 1), some=st.none() | items)
    def restart_items(self, n, some):
        request, answer = self.send(n, "restart", {"items": some})
        self.same(answer, lambda: self.learner.restart(some))
        return request

    @rule(target=sent, n=st.integers(0, 1), verb=st.sampled_from(["pause", "resume"]))
    def pause(self, n, verb):
        request, answer = self.send(n, verb, {})
        self.status = {"pause": "paused", "resume": "active"}[verb]
        assert answer.json()["status"] == self.status
        return request

    @rule(n=st.integers(0, 1), request=sent)
    def again(self, n, request):
        if request in self.answers:  # what failed is not remembered, and might succeed now
            answer = self.resend(n, request)
            assert answer.content == self.answers[request]
            assert answer.headers["idempotency-replayed"] == "true"
            other = f"{AT}/tell", json.dumps({"decision": 1, "weights": [0.125]}), request[2]
            assert self.resend(n, other).json()["error"] == "RequestIdError"

    @rule(n=st.integers(0, 1), at=st.integers(1, 12), after=st.booleans())
    def fail_a_statement(self, n, at, after):
        """The next requests to one server meet a fault, wherever it falls."""
        self.servers[n].faults.arm(at, after=after)

    @rule(n=st.integers(0, 1))
    def restart_server(self, n):
        self.close_server(n)
        self.open_server()

    @rule(n=st.integers(0, 1))
    def read(self, n):
        client = self.servers[n % len(self.servers)]
        found, estimates = client.get(f"{AT}/estimates").json(), self.learner.estimates()
        assert (found["labels"], found["counts"]) == (list(estimates.labels), estimates.counts.tolist())
        assert found["waiting"] == estimates.waiting.tolist()
        shown = client.get(AT).json()
        assert (shown["decisions"], shown["waiting"]) == (self.learner.n_decisions, self.learner.n_outstanding)
        assert shown["status"] == self.status

    def teardown(self):
        if not hasattr(self, "servers"):
            return
        for server in self.servers:
            server.faults.count()
        self.check_log(self.servers[0].service.database)
        while self.servers:
            self.close_server(0)
        self.runner.close()

    def check_log(self, database):
        lines = [json.loads(line) for line in export_campaign(database, "ads")][1:-1]
        own = ("paused", "resumed", "alarm")
        replica = mb.Learner.replay([event for event in lines if event["event"] not in own])
        ours, theirs = self.learner.estimates(), replica.estimates()
        assert [event["seq"] for event in lines] == list(range(1, len(lines) + 1))
        assert ours.means.tobytes() == theirs.means.tobytes()
        assert ours.indices.tobytes() == theirs.indices.tobytes()


class Process:
    """A server that is a process, of several with leases."""

    def __init__(self, url, nursery):
        (self.port,) = free_ports(1)
        self._nursery, self.n_again = nursery, 0
        self.pid = nursery.start(url, self.port, lease=0.5, snapshot_every=7)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=240.0)
        wait_until_ready(self.port)

    def post(self, path, **more):
        return self.send("POST", path, **more)

    def get(self, path):
        return self.send("GET", path)

    def send(self, method, path, **more):
        """Send, and send again what was not served, as clients do."""
        for self.n_again in range(4800):
            answer = self.client.request(method, path, **more)
            if answer.status_code != 503:
                return answer
            time.sleep(0.05)
        raise AssertionError(answer.text)

    def close(self):
        self.client.close()
        self._nursery.end(self.pid)


class Moves(Machine):
    """Three processes on one PostgreSQL, killed and replaced, and a lease that moves at any time."""

    nursery = None

    def open_server(self):
        if len(self.servers) < 2:  # the third is not asked
            self.servers.append(Process(self.url, self.nursery))
        if len(self.servers) == 2 and not hasattr(self, "third"):
            self.third, self.database = Process(self.url, self.nursery), Database(self.url)

    @rule(n=st.integers(0, 2))
    def fail_a_statement(self, n):
        """The lease is taken from its holder, whatever it does: another server finds its URL there, or it is free."""
        ports = [each.port for each in (*self.servers, self.third)]
        with self.database.writing() as connection:
            stolen = {"server": "f" * 16, "url": f"http://127.0.0.1:{ports[n % len(ports)]}"}
            connection.execute(sa.update(leases).values(**stolen, until=self.database.clock + 0.5 * (n % 2)))

    @rule()
    def restart_third(self):
        self.third.close()
        self.third = Process(self.url, self.nursery)

    def teardown(self):
        if not hasattr(self, "third"):
            return
        self.check_log(self.database)
        self.third.close()
        self.database.close()
        while self.servers:
            self.close_server(0)
        self.runner.close()


@pytest.mark.compiled
@pytest.mark.torture
@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
def test_servers_whose_leases_move_do_what_a_plain_learner_does(postgres):
    with nursery() as Moves.nursery:
        Moves.urls = staticmethod(lambda: fresh_postgres(postgres))
        run_state_machine_as_test(Moves, settings=the_settings(max(N_EXAMPLES // 10, 1)))


def the_settings(n_examples):
    return settings(
        max_examples=n_examples,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
@pytest.mark.parametrize("way", ["together", "apart"])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_servers_do_what_a_plain_learner_does(kind, way, request, monkeypatch):
    if way == "apart":  # as slow campaigns are served
        monkeypatch.setattr("matroid_bandits.service._writer._MOST_EXCESS_S", -1.0)
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            names = iter(range(10**9))
            Machine.urls = staticmethod(lambda: str(Path(folder) / f"{next(names)}.db"))
        else:
            uri = request.getfixturevalue("postgres")
            Machine.urls = staticmethod(lambda: fresh_postgres(uri))
        run_state_machine_as_test(Machine, settings=the_settings(N_EXAMPLES))
