"""Two servers on one database, and commits that fail: what each server knows is what the log says."""

import concurrent.futures
import json
import threading

import pytest
import sqlalchemy as sa

import matroid_bandits as mb
from matroid_bandits.exceptions import (
    CampaignStoppedError,
    DecisionClosedError,
    MatroidBanditsError,
    UnavailableError,
    UnknownCampaignError,
)
from matroid_bandits.service import Service, export_campaign, move_campaign
from matroid_bandits.service import _actions as act
from matroid_bandits.service._operation import Operation
from matroid_bandits.service._reads import estimates_form
from matroid_bandits.service._schemas import ChangeBody, TellBody
from matroid_bandits.service._tables import campaigns
from matroid_bandits.specs import CampaignSpec, parse
from service_injection import Faults
from service_kit import ADS, settings_for, started

SPEC = {"name": "ads", "matroid": ADS, "policy": "OMM", "seed": 1}


def ask(service, name="ads", **wanted):
    return json.loads(service.call(Operation(act.ask(wanted), name, "ask")).body)


def tell(service, decision, weights, name="ads"):
    body = TellBody(decision=decision, weights=weights)
    return json.loads(service.call(Operation(act.tell(body), name, "change")).body)


def estimates(service, name="ads"):
    return json.dumps(service.call(Operation(lambda replica, _: estimates_form(replica), name)))


def kinds(service, name="ads"):
    lines = [json.loads(line) for line in export_campaign(service.database, name)][1:-1]
    return [(line["event"], line.get("decision")) for line in lines]


@pytest.fixture(params=["together", "apart"])
def two(url, request, monkeypatch):
    """Two services on one database, each with faults; they look at each other's events when they must alone.

    "apart" is the way of slow campaigns: each moves to a lane after its first operation.
    """
    if request.param == "apart":
        monkeypatch.setattr("matroid_bandits.service._writer._MOST_EXCESS_S", -1.0)
    services = []
    for _ in range(2):
        service = Service(settings_for(url, tick=1000.0))
        service.faults = Faults(service.database)
        service.start()
        services.append(service)
    services[0].create(parse(CampaignSpec, SPEC))
    yield services
    for service in services:
        service.stop()


def test_a_server_that_was_behind_and_whose_commit_fails_forgets_what_it_did(two):
    first, second = two
    estimates(second)  # its replica is at event 1
    ask(first)
    second.faults.arm(1, only="INSERT INTO events")
    with pytest.raises(UnavailableError):
        ask(second)
    tell(first, 1, [0.5, 0.5])
    with pytest.raises(DecisionClosedError):  # it was told, by the other server
        tell(second, 1, [0.5, 0.5])
    assert [ask(each)["decision"] for each in (first, second, first)] == [2, 3, 4]
    assert kinds(first) == [("created", None), ("asked", 1), ("told", 1), *(("asked", n) for n in (2, 3, 4))]
    assert estimates(first) == estimates(second)


def test_a_replica_of_as_many_but_other_events_is_dropped(two):
    first, second = two
    ask(first)
    ask(second)
    tell(first, 1, [0.25, 0.75])
    estimates(second)
    replica = replica_of(second)
    replica.digest = "of another log"
    assert estimates(second) == estimates(first)
    assert replica_of(second) is not replica
    with first.database.reading() as connection:
        row = first.database.find(connection, "ads")
    assert (row.seq, row.digest) == (4, replica_of(second).digest)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_fault_at_every_statement_of_a_commit(two, after):
    """Each statement and commit of each server once; acknowledged means once in the log, and retries find it."""
    first, second = two
    n_requests, n_faults = 0, 0
    for server, other in ((first, second), (second, first)):
        at = 1
        while True:
            ask(other)  # so that the server is behind
            n_requests += 1
            operation = Operation(act.ask({}), "ads", "ask", f"request {n_requests}", "digest")
            server.faults.arm(at, after=after)
            for _ in range(3):
                try:
                    answer = server.call(operation)
                    break
                except UnavailableError:
                    ask(other)  # as many events as the failed commit had
                    operation = Operation(act.ask({}), "ads", "ask", f"request {n_requests}", "digest")
            assert json.loads(answer.body)["decision"] > 0
            is_past, n_seen = server.faults.is_armed, server.faults.n_seen
            server.faults.count()
            if is_past:  # it took fewer statements
                assert n_seen < at
                break
            n_faults, at = n_faults + 1, at + 1
    assert n_faults >= 10
    assert estimates(first) == estimates(second)
    decisions = [decision for kind, decision in kinds(first) if kind == "asked"]
    assert decisions == list(range(1, len(decisions) + 1))
    with first.database.reading() as connection:
        answers = connection.execute(sa.text("SELECT answer FROM requests")).scalars().all()
    assert len({json.loads(answer)[0] for answer in answers}) == len(answers) == n_requests


def test_the_digest_is_of_the_whole_log(two):
    first, second = two
    for _ in range(3):
        ask(second)
    with first.database.writing() as connection:
        connection.execute(sa.update(campaigns).values(digest="another"))
    # A log that is not what was written stops the campaign, and is taken at its word on request.
    for each in two:
        with pytest.raises(CampaignStoppedError, match=r"not those that were written.*resume ads --trust-log"):
            ask(each)
        tell(each, 1 if each is first else 2, [0.5, 0.5])  # answers are still taken
    move_campaign(first.database, "ads", "trust")
    assert [ask(each)["decision"] for each in two] == [4, 5]
    assert estimates(first) == estimates(second)


def replica_of(service, name="ads"):
    with service.database.reading() as connection:
        return service.writer.replica(service.database.find(connection, name).id)


def submit(service, operations):
    """Put operations into the queue at once, while the writer waits, so that they are one batch."""
    begun, go = threading.Event(), threading.Event()

    def wait(replica, turn):
        begun.set()
        go.wait()

    for operation in (*operations, first := Operation(wait, "ads")):
        operation.future = concurrent.futures.Future()
    service.writer.submit(first)
    begun.wait()
    for operation in operations:
        service.writer.submit(operation)
    go.set()
    for operation in operations:
        operation.future.exception()
    return [operation.future for operation in operations]


def test_an_unforeseen_error_costs_its_own_request(two, caplog):
    """Nothing is loaded anew where nothing had happened; else the one campaign is, and the others' batch goes on."""
    service = two[0]
    service.create(parse(CampaignSpec, SPEC | {"name": "other"}))
    ask(service)
    ours, others = replica_of(service), replica_of(service, "other")

    def fails_at_once(replica, turn):
        raise ZeroDivisionError

    def fails_late(replica, turn):
        replica.learner.ask()
        raise ZeroDivisionError

    def fails_after_an_event(replica, turn):
        act.ask({})(replica, turn)
        raise DecisionClosedError("one of several")

    for run, is_kept in ((fails_at_once, True), (fails_late, False), (fails_after_an_event, False)):
        ours = replica_of(service)
        batch = [
            Operation(each, name, "ask", f"{run.__name__} {n}", "digest")
            for n, (each, name) in enumerate(
                [(act.ask({}), "ads"), (act.ask({}), "other"), *[(run, "ads")] * 6, (act.ask({}), "ads")]
            )
        ]
        futures = submit(service, batch)
        errors = [future.exception() for future in futures]
        assert [type(error) for error in errors[2:-1]] == [type(errors[2])] * 6 != [type(None)] * 6
        decisions = [json.loads(futures[n].result().body)["decision"] for n in (0, 1, -1)]
        assert decisions[2] == decisions[0] + 1
        assert (replica_of(service) is ours) == is_kept
        assert replica_of(service, "other") is others
    assert [kind for kind, _ in kinds(service)] == ["created", *["asked"] * 7]
    assert [kind for kind, _ in kinds(service, "other")] == ["created", *["asked"] * 3]
    assert estimates(two[1]) == estimates(service)


def test_a_request_that_the_database_cannot_take_fails_alone(two):
    service = two[0]

    def bad(replica, turn):
        turn.connection.execute(sa.text("SELECT * FROM no_such_table"))

    def worse(replica, turn):
        raise sa.exc.DataError("INSERT", {}, Exception("NUL"))

    good = [Operation(act.ask({}), "ads", "ask") for _ in range(4)]
    kind = sa.exc.DataError if not service.database.is_sqlite else UnavailableError
    batch = [good[0], Operation(worse, "ads", "ask"), good[1], good[2], good[3]]
    futures = submit(service, batch)
    assert isinstance(futures[1].exception(), (kind, UnavailableError))
    decisions = [json.loads(futures[n].result().body)["decision"] for n in (0, 2, 3, 4)]
    assert decisions == [1, 2, 3, 4]
    if not service.database.is_sqlite:
        futures = submit(service, [Operation(bad, "ads", "ask"), Operation(act.ask({}), "ads", "ask")])
        assert isinstance(futures[0].exception(), UnavailableError)
        assert json.loads(futures[1].result().body)["decision"] == 5


def test_names_that_no_campaign_can_have_do_not_reach_the_writer(two):
    service = two[0]
    for name in ("\0", "a\0b", "", "x" * 65, "a b", "\u00e9"):
        with pytest.raises(UnknownCampaignError):
            ask(service, name)
        with pytest.raises(UnknownCampaignError):
            list(export_campaign(service.database, name))
    assert ask(service)["decision"] == 1


def test_one_request_that_creates_is_served_once_by_two_servers(two):
    """Both servers have read the ids before either commits; the later one finds the name taken, and the answer."""
    first, second = two
    about = parse(CampaignSpec, SPEC | {"name": "new"})
    answers = {}

    def create(service):
        answers[service] = service.call(Operation(service.creating(about), None, "change", "an id", "digest"))

    creating = second.creating(about)

    def create_late(_, turn):
        if first not in answers:
            create(first)
        return creating(None, turn)

    if second.database.is_sqlite:  # a transaction of one server keeps all others out, and the ids are read in it
        create(first)
    answer = second.call(Operation(create_late, None, "change", "an id", "digest"))
    assert answer.body == answers[first].body
    assert (answer.status, answer.is_replayed) == (201, True)


LINEAR = {
    "name": "linear",
    "matroid": {"kind": "uniform", "rows": ["a", "b", "c"], "rank": 2},
    "policy": {"policy": "CombLinUCB", "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]},
    "seed": 0,
}


@pytest.mark.parametrize("n_items", [0, 1, 3])
@pytest.mark.parametrize("features", [None, {}, [], {"a": [1.0, 0.5]}, {"d": [0.5, 0.5]}, [[0.5, 0.5]] * 3, [[1.0]]])
def test_what_was_acknowledged_can_be_read(tmp_path, n_items, features):
    """Changes of items with odd features: each is refused, or is in a log that replays to the same beliefs."""
    url = str(tmp_path / "campaigns.db")
    with started(url) as service:
        service.create(parse(CampaignSpec, LINEAR))
        decision = ask(service, "linear")
        tell(service, decision["decision"], [0.5] * len(decision["items"]), "linear")
        matroid = mb.UniformMatroid(n_items, min(n_items, 1), labels=[*"abd"[:n_items]])
        for change, rows in ((matroid, features), (mb.UniformMatroid(2, 1, labels=["a", "b"]), None)):
            body = ChangeBody(matroid=change.to_dict(), features=rows)
            try:
                service.call(Operation(act.change(change, body), "linear", "change"))
            except MatroidBanditsError:
                continue
        asked = ask(service, "linear")["items"]
        before = estimates(service, "linear")
    with started(url) as service:
        assert estimates(service, "linear") == before
        assert len(asked) <= 2


def test_campaigns_do_not_wait_for_a_slow_one(two):
    """While an operation of one campaign goes on, others are served; on SQLite too, since it holds no lock."""
    service = two[0]
    service.create(parse(CampaignSpec, SPEC | {"name": "slow"}))
    slow = replica_of(service, "slow")
    slow.excess = 1e9  # its operations took long
    begun, go = threading.Event(), threading.Event()

    def think(replica, turn):
        begun.set()
        go.wait()
        return act.ask({})(replica, turn)

    assert ask(service, "slow")["decision"] == 1
    waiting = Operation(think, "slow", "ask", future=concurrent.futures.Future())
    service.writer.submit(waiting)
    late = Operation(act.ask({}), "slow", "ask", future=concurrent.futures.Future())
    service.writer.submit(late)
    begun.wait()
    assert [ask(service)["decision"] for _ in range(3)] == [1, 2, 3]
    assert [ask(two[1])["decision"] for _ in range(3)] == [4, 5, 6]
    assert not late.future.done()
    go.set()
    assert [json.loads(each.future.result().body)["decision"] for each in (waiting, late)] == [2, 3]
    assert replica_of(service, "slow") is slow
    assert estimates(two[1], "slow") == estimates(service, "slow")
    tell(two[1], 1, [0.5, 0.5], "slow")  # this server looks under the lock from now on
    with pytest.raises(DecisionClosedError):
        tell(service, 1, [0.5, 0.5], "slow")
    assert ask(service, "slow")["decision"] == 4


def test_a_long_batch_is_committed_in_parts(two, monkeypatch):
    monkeypatch.setattr("matroid_bandits.service._writer._MOST_TURN_S", -1.0)
    service, sizes = two[0], []
    append = service.database.append
    monkeypatch.setattr(service.database, "append", lambda c, rows: (sizes.append(len(rows)), append(c, rows)))
    futures = submit(service, [Operation(act.ask({}), "ads", "ask", f"{n}", "digest") for n in range(5)])
    assert [json.loads(future.result().body)["decision"] for future in futures] == [1, 2, 3, 4, 5]
    assert sizes == [1] * 5


def test_what_failed_in_a_transaction_that_was_taken_back_is_tried_again(two):
    """An answer that comes twice in a batch is refused once; with the first one's commit both are 503."""
    service = two[0]
    ask(service)
    body = TellBody(decision=1, weights=[0.5, 0.5])
    service.faults.arm(1, only="INSERT INTO events")
    futures = submit(service, [Operation(act.tell(body), "ads", "change") for _ in range(2)])
    assert [type(future.exception()) for future in futures] == [UnavailableError] * 2
    assert tell(service, 1, [0.5, 0.5])["told"] == 2


def test_long_answers_of_a_key_keep_no_other_waiting(two, monkeypatch):
    """Of each key a transaction takes so many bytes of answers; what is left comes after what others have sent."""
    monkeypatch.setattr("matroid_bandits.service._writer._MOST_ANSWERED", 1)
    service, finished = two[0], []
    batch = [Operation(act.ask({}), "ads", "ask", by="greedy") for _ in range(4)]
    batch.append(Operation(act.ask({}), "ads", "ask", by="another"))
    for operation in batch:
        operation.future = concurrent.futures.Future()
        operation.future.add_done_callback(lambda _, operation=operation: finished.append(operation))
    service.writer.submit(
        Operation(lambda replica, turn: [service.writer.submit(each) for each in batch], "ads", "read")
    )
    decisions = [json.loads(each.future.result(20.0).body)["decision"] for each in batch]
    assert decisions == [1, 3, 4, 5, 2]
    assert finished == [batch[0], batch[4], *batch[1:4]]
