"""Clients that ask and tell whatever happens to servers, and the check that the log has what they were told, once."""

import http.client
import itertools
import json
import os
import random
import socket
import threading
import time
import uuid

import matroid_bandits as mb
from matroid_bandits.service import Database, export_campaign

AT = "/v1/campaigns/ads"


#: Below the ports that systems hand out; processes that test at the same time begin at different ones.
_ports = itertools.count(20_000 + 37 * os.getpid() % 12_000)


def free_ports(n):
    """Ports in a row that a server can listen on, again and again; nothing else takes them until this process ends.

    Each is bound here, by a socket that does not listen. That keeps others out, but for those who say SO_REUSEADDR.
    """
    held = []
    while len(held) < n:
        held.append(holder := socket.socket())
        try:
            holder.bind(("127.0.0.1", next(_ports)))
        except OSError:
            while held:
                held.pop().close()
    ports = [holder.getsockname()[1] for holder in held]
    for holder in held:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.detach()
    return ports


class Visitor(threading.Thread):
    """Asks and tells, each with an id, until told to stop; sends again whatever was not acknowledged, anywhere."""

    def __init__(self, ports, seed, is_over, timeout=60.0):
        super().__init__(daemon=True)
        self.ports, self.random, self.is_over, self.timeout = ports, random.Random(seed), is_over, timeout
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
                        "127.0.0.1", self.random.choice(self.ports), timeout=self.timeout
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
    return len(events) - 1
