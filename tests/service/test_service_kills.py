"""Kill -9 under load: nothing that was acknowledged is lost or doubled, and the log replays.

``make torture`` runs this alone with hundreds of kills; ``MATROID_BANDITS_KILLS`` says how many for each database.
"""

import contextlib
import http.client
import json
import os
import random
import socket
import threading
import time
import uuid

import pytest

import matroid_bandits as mb
from matroid_bandits.service import Database, export_campaign
from service_nursery import nursery, wait_until_ready

KILLS = int(os.environ.get("MATROID_BANDITS_KILLS", "2"))
N_CLIENTS = 6
AT = "/v1/campaigns/ads"


def free_ports(n):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Visitor(threading.Thread):
    """Asks and tells, each with an id, until told to stop; sends again whatever was not acknowledged, anywhere."""

    def __init__(self, ports, seed, is_over):
        super().__init__(daemon=True)
        self.ports, self.random, self.is_over = ports, random.Random(seed), is_over
        self.asked, self.told, self.sent, self.n_again, self.error = {}, {}, 0, 0, None
        self._connection = None

    def run(self):
        try:
            while not self.is_over.is_set():
                self.visit()
        except BaseException as error:
            self.error = error
        finally:
            if self._connection is not None:
                self._connection.close()

    def visit(self):
        id, body = str(uuid.UUID(int=self.random.getrandbits(128))), b"{}"
        decision = self.asked[id] = self.send(f"{AT}/ask", id, body)
        if self.random.random() < 0.2:  # a client that did not hear the answer, though it was given
            assert self.send(f"{AT}/ask", id, body) == decision
            self.n_again += 1
        weights = [[label, self.random.random()] for label in decision["items"]]
        body = json.dumps({"decision": decision["decision"], "weights": weights}).encode()
        id = str(uuid.UUID(int=self.random.getrandbits(128)))
        self.told[decision["decision"]] = weights
        answer = self.send(f"{AT}/tell", id, body)
        assert (answer["told"], answer["waiting"]) == (len(weights), False)

    def send(self, path, id, body):
        while True:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection(
                        "127.0.0.1", self.random.choice(self.ports), timeout=60
                    )
                headers = {"Content-Type": "application/json", "Idempotency-Key": id}
                self._connection.request("POST", path, body, headers)
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._connection = None
                time.sleep(0.005)
                continue
            if answer.status == 503:
                time.sleep(0.01)
                continue
            assert answer.status == 200, (answer.status, content)
            return json.loads(content)


@pytest.mark.compiled
def test_what_was_acknowledged_survives_kills(url):
    ports = free_ports(2)
    is_over = threading.Event()
    chance = random.Random(0)
    with nursery() as servers:
        pids = [servers.start(url, port, snapshot_every=200) for port in ports]
        for port in ports:
            wait_until_ready(port)
        with mb.Client(f"http://127.0.0.1:{ports[0]}", "ads") as client:
            matroid = mb.PartitionMatroid({f"ad {n}": n % 4 for n in range(20)})
            client.create(matroid, mb.OMM(), seed=1)
        visitors = [Visitor(ports, seed, is_over) for seed in range(N_CLIENTS)]
        for each in visitors:
            each.start()
        for kill in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.4))
            victim = kill % 2
            servers.end(pids[victim])
            pids[victim] = servers.start(url, ports[victim], snapshot_every=200)
            if kill % 3 == 2:  # now and then nobody is left
                servers.end(pids[1 - victim])
                pids[1 - victim] = servers.start(url, ports[1 - victim], snapshot_every=200)
            wait_until_ready(ports[victim])
        time.sleep(0.2)
        is_over.set()
        for each in visitors:
            each.join(60.0)
        assert [each.error for each in visitors] == [None] * N_CLIENTS
    check_log(url, visitors)


def check_log(url, visitors):
    """The log has what was acknowledged, once each, and nothing else; a learner that follows it decides the same."""
    database = Database(str(url))
    events = [json.loads(line) for line in export_campaign(database, "ads")][1:-1]
    database.close()
    asked = {event["decision"]: event["items"] for event in events if event["event"] == "asked"}
    told = [(event["decision"], event["weights"]) for event in events if event["event"] == "told"]
    acknowledged = [answer for each in visitors for answer in each.asked.values()]
    assert len(asked) == sum(event["event"] == "asked" for event in events) == len(acknowledged) > 0
    assert all(asked[answer["decision"]] == answer["items"] for answer in acknowledged)
    answers = {decision: weights for each in visitors for decision, weights in each.told.items()}
    assert len(told) == len(answers) == len(asked)
    assert all(sorted(weights) == sorted(answers[decision]) for decision, weights in told)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    learner = mb.Learner.replay(events)  # decides again, and raises where the log says otherwise
    assert (learner.n_decisions, learner.n_outstanding) == (len(asked), 0)
    assert sum(each.n_again for each in visitors) > 0
    print(f"{KILLS} kills, {len(events) - 1} acknowledged requests, none lost, none twice")
