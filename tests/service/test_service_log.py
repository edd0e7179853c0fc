"""The log is the truth: restarts, snapshots, failed commits, logs that do not replay, several servers."""

import base64
import json
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

import matroid_bandits as mb
from matroid_bandits.exceptions import (
    CampaignStateError,
    CampaignStoppedError,
    ReplayError,
    RequestIdError,
    SerializationError,
    UnavailableError,
    UnknownCampaignError,
)
from matroid_bandits.service import (
    Database,
    Service,
    _snapshots,
    backup,
    export_campaign,
    move_campaign,
    repair,
    restore,
)
from matroid_bandits.service import _actions as act
from matroid_bandits.service._history import History
from matroid_bandits.service._migrate import migrate
from matroid_bandits.service._operation import Operation
from matroid_bandits.service._reads import estimates_form, waiting_form
from matroid_bandits.service._schemas import ChangeBody, TellBody
from matroid_bandits.service._tables import campaigns, events, metadata, requests, snapshots
from matroid_bandits.specs import CampaignSpec, parse
from service_kit import ADS, settings_for, started, until

SPEC = {"name": "ads", "matroid": ADS, "policy": "OMM", "seed": 1}


def make(service, **more):
    service.create(parse(CampaignSpec, {**SPEC, **more}))


def ask(service, name="ads", **wanted):
    return json.loads(service.call(Operation(act.ask(wanted), name, "ask")).body)


def play(service, n, name="ads"):
    """Ask and tell, n times."""
    for _ in range(n):
        decision = ask(service, name)
        weights = dict.fromkeys(decision["items"], decision["decision"] % 7 / 7)
        body = TellBody(decision=decision["decision"], weights=weights)
        service.call(Operation(act.tell(body), name, "change"))


def estimates(service, name="ads"):
    return service.call(Operation(lambda replica, _: estimates_form(replica), name))


def history(service, name="ads"):
    return service.call(Operation(lambda replica, _: replica.history.to_dict(), name))


def execute(url, statement):
    database = Database(url)
    with database.writing() as connection:
        found = connection.execute(statement)
        rows = found.all() if found.returns_rows else None
    database.close()
    return rows


def without_floats(form):
    return {key: value for key, value in form.items() if key != "indices"}


def test_a_restart_is_a_snapshot_and_a_replay(url):
    with started(url, snapshot_every=10) as service:
        make(service)
        play(service, 20)
        before, past = estimates(service), history(service)
    assert execute(url, sa.select(sa.func.count()).select_from(snapshots)) == [(3,)]
    with started(url) as service:
        assert estimates(service) == before
        assert history(service) == past
        assert service.call(Operation(lambda replica, _: replica.saved, "ads")) > 30
    execute(url, sa.delete(snapshots))
    with started(url) as service:
        assert estimates(service) == before
        assert history(service) == past


def waiting(service):
    return service.call(Operation(lambda replica, _: waiting_form(replica, 1000, 10**6), "ads"))


@pytest.mark.parametrize("has_changed", [False, True])
def test_times_of_open_decisions_outlast_a_restart(url, has_changed):
    """Of a snapshot and a replay, of a replay alone, and of a snapshot that has them beside the learner."""
    with started(url, snapshot_every=6) as service:
        make(service, answer_window=1000.0, holdout=0.3)
        for n in range(15):
            decision = ask(service, **({"pinned": ["beret"]} if n % 3 == 0 else {}))
            if n % 4 == 0:
                body = TellBody(decision=decision["decision"], weights={decision["items"][0]: 0.5})
                service.call(Operation(act.tell(body), "ads", "change"))
        if has_changed:
            items = {"mocs": "left", "beret": "right", "heels": "left"}
            body = ChangeBody(matroid=mb.PartitionMatroid(items).to_dict(), forget=["boots"])
            change = act.change(mb.PartitionMatroid(items), body)
            service.call(Operation(change, "ads", "change"))
        ask(service)
        now, past = waiting(service), history(service)
        at = {event.seq: event.at for event in execute(url, sa.select(events.c.seq, events.c.at))}
        asked = [e.seq for e in execute(url, sa.select(events)) if json.loads(e.payload)["event"] == "asked"]
        assert [each["asked"] for each in now["decisions"]] == [
            at[asked[each["decision"] - 1]] for each in now["decisions"]
        ]
        assert all(each["deadline"] == each["asked"] + 1000.0 for each in now["decisions"])
    with started(url) as service:
        assert (waiting(service), history(service)) == (now, past)
        assert service.call(Operation(lambda replica, _: replica.saved, "ads")) > 0
    *_, row = (dict(row._mapping) for row in execute(url, sa.select(snapshots).order_by(snapshots.c.seq)))
    execute(url, sa.delete(snapshots))
    with started(url, snapshot_every=1000) as service:
        assert (waiting(service), history(service)) == (now, past)
    extra = json.loads(row["extra"])
    extra["waiting"] = [[each["decision"], each["asked"] - 1.0, 2, 2, None] for each in now["decisions"][:3]]
    row["extra"] = json.dumps(extra)
    execute(url, sa.delete(snapshots))
    execute(url, sa.insert(snapshots).values(row | {"checksum": _snapshots.checksum(row)}))
    with started(url, snapshot_every=1000) as service:
        early = [each["asked"] for each in waiting(service)["decisions"]]
    assert early[:3] == [each["asked"] - 1.0 for each in now["decisions"][:3]]
    assert early[3:] == [each["asked"] for each in now["decisions"][3:]]


@pytest.mark.parametrize("damage", ["data", "extra", "build", "foreign"])
def test_a_torn_or_foreign_snapshot_is_skipped(tmp_path, damage, caplog):
    url = str(tmp_path / "campaigns.db")
    with started(url, snapshot_every=10) as service:
        make(service)
        make(service, name="other", seed=2)
        play(service, 12)
        play(service, 7, "other")
        before = estimates(service)
    if damage == "foreign":
        other = execute(url, sa.select(snapshots).where(snapshots.c.campaign == 2))[0]
        values = {"data": other.data, "extra": other.extra}
    else:
        values = {"data": {"data": b"torn"}, "extra": {"extra": "{}"}, "build": {"build": "older"}}[damage]
    execute(url, sa.update(snapshots).where(snapshots.c.campaign == 1).values(values))
    with started(url) as service:
        assert estimates(service) == before
        assert service.call(Operation(lambda replica, _: replica.saved, "ads")) == 0


def test_a_snapshot_whose_checksum_fits_is_still_read_with_care(tmp_path):
    url = str(tmp_path / "campaigns.db")
    with started(url, snapshot_every=10) as service:
        make(service)
        play(service, 12)
        before = estimates(service)
    row = dict(execute(url, sa.select(snapshots))[0]._mapping)
    for change in (
        {"extra": "{"},
        {"extra": "{}"},
        {"data": b""},
        {"extra": row["extra"].replace('"id": "', '"id": "x')},
    ):
        wrong = row | change
        wrong["checksum"] = _snapshots.checksum(wrong)
        execute(url, sa.delete(snapshots))
        execute(url, sa.insert(snapshots).values(wrong))
        with started(url, snapshot_every=1000) as service:
            assert estimates(service) == before


def test_a_commit_that_fails_changes_nothing(url, monkeypatch):
    with started(url) as service:
        make(service)
        play(service, 5)
        before = estimates(service)
        append = Database.append

        def broken(self, connection, rows):
            append(self, connection, rows)
            raise OperationalError("INSERT", {}, Exception("disk full"))

        monkeypatch.setattr(Database, "append", broken)
        with pytest.raises(UnavailableError, match="did not take the request"):
            ask(service)
        monkeypatch.undo()
        assert estimates(service) == before
        assert ask(service)["decision"] == 6
        play(service, 2)
    with started(url) as service:
        assert ask(service)["decision"] == 9


def test_what_fails_in_an_unforeseen_way_fails_alone(url, caplog):
    def wrong(replica, turn):
        replica.learner.ask()
        raise ZeroDivisionError(replica.learner.constraint.labels[0])

    with started(url, tick=1000.0) as service:
        make(service)
        before = estimates(service)
        operations = [Operation(run, "ads", "ask") for run in (act.ask({}), wrong, act.ask({}))]
        import concurrent.futures

        for operation in operations:
            operation.future = concurrent.futures.Future()
        for operation in operations:
            service.writer.submit(operation)
        assert json.loads(operations[0].future.result().body)["decision"] == 1
        with pytest.raises(ZeroDivisionError):
            operations[1].future.result()
        assert json.loads(operations[2].future.result().body)["decision"] == 2
        assert sum(estimates(service)["waiting"]) == sum(before["waiting"]) + 4
    assert "ZeroDivisionError" in caplog.text
    assert "boots" not in caplog.text  # labels are not for the log


def test_a_log_that_does_not_replay_stops_the_campaign_until_it_is_trusted(url):
    with started(url) as service:
        make(service)
        make(service, name="fine", seed=2)
        play(service, 6)
    where = (events.c.campaign == 1) & (events.c.seq == 6)
    payload = json.loads(execute(url, sa.select(events.c.payload).where(where))[0].payload)
    assert payload["event"] == "asked"
    mine = payload["items"]
    payload["items"] = [label for label in ("boots", "heels", "fedora", "beret") if label not in mine]
    execute(url, sa.update(events).where(where).values(payload=json.dumps(payload)))
    told = (events.c.campaign == 1) & (events.c.seq == 7)
    answer = json.dumps({"event": "told", "decision": 3, "weights": [[label, 0.5] for label in payload["items"]]})
    execute(url, sa.update(events).where(told).values(payload=answer))
    with started(url) as service, started(url) as other:
        until(lambda: execute(url, sa.select(campaigns.c.status).where(campaigns.c.id == 1)) == [("stopped",)])
        for each in (service, other):
            with pytest.raises(CampaignStoppedError, match=r"decision 3: the log says .* resume ads --trust-log"):
                ask(each)
            assert sum(estimates(each)["counts"]) == 12
        assert ask(service, "fine")["decision"] == 1
        with pytest.raises(CampaignStateError, match="trust-log"):
            service.call(Operation(act.move("resume"), "ads", "change"))
        move_campaign(service.database, "ads", "trust")
        assert ask(service)["decision"] == 7
        assert ask(other)["decision"] == 8
        with pytest.raises(CampaignStateError, match="which is active"):
            move_campaign(service.database, "ads", "trust")
    with started(url) as service:
        assert ask(service)["decision"] == 9
        marks = [mark["kind"] for mark in history(service)["marks"]]
    assert marks == ["created", "stopped", "trusted"]


def test_a_log_that_cannot_be_read_is_said_so(tmp_path):
    url = str(tmp_path / "campaigns.db")
    with started(url) as service:
        make(service)
        make(service, name="fine", seed=2)
        play(service, 3)
    execute(
        url, sa.update(events).where(events.c.campaign == 1, events.c.seq == 3).values(payload='{"event": "told"}')
    )
    with started(url) as service:
        for _ in range(2):
            with pytest.raises(CampaignStoppedError, match="cannot be read"):
                ask(service)
        assert ask(service, "fine")["decision"] == 1


def test_a_log_that_cannot_be_read_is_cut(url):
    with started(url, tick=0.05) as service:
        make(service)
        play(service, 2)
        before = estimates(service)
        service.call(Operation(act.move("pause"), "ads", "change"))
        service.call(Operation(act.move("resume"), "ads", "change"))
        ask(service)
        lost = service.call(Operation(act.ask({}), "ads", "ask", "an id", "digest"))
        bad = (events.c.campaign == 1) & (events.c.seq == 8)
        execute(url, sa.update(events).where(bad).values(payload="nonsense"))
        with started(url) as other, pytest.raises(CampaignStoppedError, match="cannot be read"):
            ask(other)
        kept = []
        database = Database(url)
        for wrong in (0, 9, 100):
            with pytest.raises((CampaignStateError, ReplayError)):
                repair(database, "ads", kept.extend, after=wrong)
        assert not kept
        with pytest.raises(OSError, match="full"):
            repair(database, "ads", lambda lines: (_ for _ in ()).throw(OSError("full")) if list(lines) else None)
        assert repair(database, "ads", kept.extend) == 7
        assert [json.loads(line)["seq"] for line in kept] == [8, 9]
        assert json.loads(kept[0])["payload"] == "nonsense"
        with pytest.raises(CampaignStateError, match="all its events can be read"):
            repair(database, "ads", kept.extend)
        again = service.call(Operation(act.ask({}), "ads", "ask", "an id", "digest"))  # a server that had run ahead
        assert not again.is_replayed
        assert [json.loads(answer.body)["decision"] for answer in (lost, again)] == [4, 3]
        assert repair(database, "ads", kept.extend, after=5) == 5
        with started(url) as other:
            assert without_floats(estimates(other)) == without_floats(estimates(service))
            assert estimates(other)["counts"] == before["counts"]
        database.close()


def test_one_bad_campaign_does_not_stop_a_backup(tmp_path):
    url = str(tmp_path / "campaigns.db")
    names = ["ads", "bad", "cut", "fine"]
    with started(url) as service:
        for name in names:
            make(service, name=name)
            play(service, 2, name)
        lines = list(backup(service.database))
    at = {json.loads(line)["end"]: n for n, line in enumerate(lines) if "end" in json.loads(line)}
    lines[at["ads"] + 3] = lines[at["ads"] + 3].replace('"event"', '"evnt"')  # in the log of "bad"
    del lines[at["cut"] - 1 : at["cut"] + 1]  # its end is missing
    database = Database(str(tmp_path / "elsewhere.db"))
    database.open()
    with pytest.raises(ReplayError, match="bad"):
        restore(database, lines)
    left_out = {}
    assert restore(database, lines, on_broken=left_out.__setitem__) == ["ads", "fine"]
    assert [*left_out] == ["bad", "cut"]
    with database.reading() as connection:
        assert [row.name for row in database.rows(connection)] == ["ads", "fine"]
    left_out.clear()
    assert restore(database, ['{"format": "other"}', *lines[at["cut"] - 1 :]], on_broken=left_out.__setitem__) == []
    assert [*left_out] == ["a campaign", "fine"]  # the second one's name is taken
    database.close()


def test_deadlines_pass_once_by_the_databases_clock(url):
    with started(url) as service, started(url) as other:
        make(service, answer_window=0.2)
        for _ in range(5):
            ask(service)
        until(lambda: sum(estimates(other)["waiting"]) == 0)
        until(lambda: history(service)["expired"] == 5)
        log = [json.loads(row.payload) for row in execute(url, sa.select(events.c.payload).order_by(events.c.seq))]
    closed = [event for event in log if event["event"] == "closed"]
    assert all(event["expired"] and event["default"] is None for event in closed)
    assert sorted({event["before"] for event in closed}) == [event["before"] for event in closed]
    mb.Learner.replay(log)


def test_old_request_ids_are_forgotten(url):
    with started(url) as service:
        make(service)
        service.call(Operation(act.ask({}), "ads", "ask", "an id", "digest"))
        assert len(execute(url, sa.select(requests))) == 1
        service.writer._keep_ids = -1000.0
        service.writer._next_forgetting = 0.0
        until(lambda: not execute(url, sa.select(requests)))


def test_many_request_ids_are_forgotten(url):
    database = Database(url)
    database.open()
    row = {"campaign": 1, "digest": "d", "status": 200, "answer": "{}"}
    with database.writing() as connection:
        connection.execute(sa.insert(requests), [row | {"id": f"id {n}", "at": float(n)} for n in range(11_000)])
    database.forget_ids(10_500.0)
    left = execute(url, sa.select(requests.c.at).order_by(requests.c.at))
    assert [at for (at,) in left] == [float(n) for n in range(10_500, 11_000)]
    database.close()


def test_an_export_is_restored_elsewhere(url, tmp_path):
    with started(url) as service:
        make(service, title="Ads", answer_window=1000.0, default=0.0)
        make(service, name="paused", seed=2)
        play(service, 5)
        service.call(Operation(act.move("pause"), "paused", "change"))
        before, past = estimates(service), history(service)
        lines, everything = list(export_campaign(service.database, "ads")), list(backup(service.database))
        with pytest.raises(UnknownCampaignError):
            list(export_campaign(service.database, "nobody"))
    elsewhere = str(tmp_path / "elsewhere.db")
    database = Database(elsewhere)
    database.open()
    assert restore(database, everything) == ["ads", "paused"]
    assert restore(database, lines, name="again") == ["again"]
    for wrong, error in (
        (lines, CampaignStateError),
        (lines[:-1], SerializationError),
        ([*lines[:3], *lines[4:]], ReplayError),
        ([lines[0].replace("Ads", "Adz"), *lines[1:]], SerializationError),
        (["nonsense"], SerializationError),
        (['{"format": "other"}'], SerializationError),
        ([lines[0].replace('"version": 1', '"version": 2')], SerializationError),
        ([lines[0].replace('"active"', '"odd"')], SerializationError),
        ([lines[0], '{"event": "created"}'], SerializationError),
    ):
        with pytest.raises(error):
            restore(database, wrong, name=None if error is CampaignStateError else "wrong")
    with pytest.raises(SerializationError, match="several"):
        restore(database, [*lines, *lines], name="once")
    move_campaign(database, "paused", "resume")
    database.close()
    with started(elsewhere) as service:
        assert {name: estimates(service, name) for name in ("ads", "again")} == {"ads": before, "again": before}
        assert history(service) == past
        names = [(row.name, row.status) for row in execute(elsewhere, sa.select(campaigns).order_by(campaigns.c.id))]
        assert names == [("ads", "active"), ("paused", "active"), ("again", "active")]


def test_a_log_that_does_not_replay_is_restored_on_request_alone(tmp_path):
    url = str(tmp_path / "campaigns.db")
    with started(url) as service:
        make(service)
        ask(service)
    where = events.c.seq == 2
    execute(
        url, sa.update(events).where(where).values(payload='{"event":"asked","decision":1,"items":["heels","beret"]}')
    )
    database = Database(url)
    lines = list(export_campaign(database, "ads"))
    with pytest.raises(ReplayError, match="--trust-log"):
        restore(database, lines, name="again")
    assert restore(database, lines, name="again", trust=True) == ["again"]
    database.close()


def test_the_steps_of_the_tables_end_at_the_tables(url):
    """Every version's step, from the first on, on a database with rows; what comes out is what the code expects."""
    database = Database(url)
    with database.writing() as connection:
        migrate(connection, "0001")
    database.open()
    database.open()
    with database.reading() as connection:
        found = sa.inspect(connection)
        for table in metadata.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            assert found.get_pk_constraint(table.name)["constrained_columns"] == [c.name for c in table.primary_key]
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(UnavailableError, match="another version"):
        database.open()
    database.close()


def test_a_database_of_the_first_version_goes_on(url):
    """Tables as version 0001 wrote them: two campaigns, seven decisions, a snapshot, ids of requests."""
    tables = json.loads((Path(__file__).parent / "database_0001.json").read_text())
    database = Database(url)
    with database.writing() as connection:
        migrate(connection, "0001")
        first = sa.MetaData()
        first.reflect(connection)
        for row in tables["snapshots"]:
            row["data"] = base64.b64decode(row["data"])
            assert row["checksum"] == _snapshots.checksum(row | {"format": 1})
        for name, rows in tables.items():
            if rows:
                connection.execute(sa.insert(first.tables[name]), rows)
    with started(url) as service:
        saved = service.call(Operation(lambda replica, _: replica.saved, "ads"))
        assert saved == 8
        again = service.call(Operation(act.ask({}), "ads", "ask", "ask 7", f"d{7:031}"))
        assert again.is_replayed
        assert json.loads(again.body)["decision"] == 7
        assert [ask(service)["decision"], ask(service, "idle")["decision"]] == [8, 1]
        other = service.call(Operation(act.ask({}), "idle", "ask", "ask 7", "another"))  # an id of another campaign
        assert not other.is_replayed
        for row in execute(url, sa.select(campaigns)):
            assert row.digest == service.writer.replicas.by_id[row.id].digest
    with started(url) as service, service.database.reading() as connection:
        for row in service.database.rows(connection):
            assert row.digest == service.database.digest(connection, row.id, row.seq)
        assert ask(service)["decision"] == 9
    database.close()


def test_ids_of_requests_belong_to_campaigns(url):
    with started(url) as service:
        make(service)
        make(service, name="other")
        for n, name in enumerate(("ads", "other", "ads", "other")):
            answer = service.call(Operation(act.ask({}), name, "ask", "an id", name))
            assert answer.is_replayed == (n >= 2)
        with pytest.raises(RequestIdError):
            service.call(Operation(act.ask({}), "ads", "ask", "an id", "something else"))


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "://"])
def test_databases_that_are_not_served(url):
    with pytest.raises(UnavailableError, match="expected"):
        Database(url)


def test_a_database_that_is_not_there(tmp_path):
    for url in (str(tmp_path / "no" / "folder.db"), "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1"):
        with pytest.raises(UnavailableError, match="cannot open the database"):
            Service(settings_for(url)).start()


def test_history_keeps_the_latest_of_each_width():
    history = History()
    for second in range(4000):
        history.add(1000.0 + second, 0, 1)
    buckets = history.buckets(1)
    assert 900 <= len(buckets) <= 1800
    assert buckets[-1]["at"] == 4999
    assert sum(bucket["asked"] for bucket in history.buckets(86400)) == 4000
    again = History.from_dict(json.loads(json.dumps(history.to_dict())))
    assert again.buckets(60) == history.buckets(60)
    assert [bucket["at"] for bucket in again.buckets(60, after=4900.0)] == [4860, 4920, 4980]


def test_a_database_that_was_set_back_is_followed(tmp_path):
    url = str(tmp_path / "campaigns.db")
    with started(url) as service:
        make(service)
        play(service, 3)
        before = estimates(service)
        [(digest,)] = execute(url, sa.select(campaigns.c.digest))
        play(service, 2)
        execute(url, sa.delete(events).where(events.c.seq > 7))
        execute(url, sa.update(campaigns).values(seq=7, digest=digest, decisions=3, waiting=0))
        until(lambda: ask(service)["decision"] == 4)
        assert without_floats(estimates(service))["counts"] == before["counts"]


def test_what_comes_while_the_server_ends_is_answered_or_refused(tmp_path):
    service = Service(settings_for(str(tmp_path / "campaigns.db")))
    service.start()
    make(service)
    service.stop()
    with pytest.raises(UnavailableError, match="shutting down"):
        ask(service)


def test_whoever_watches_cannot_end_the_writer(tmp_path, monkeypatch):
    def broken(names, n):
        raise RuntimeError

    with started(str(tmp_path / "campaigns.db")) as service:
        make(service)
        monkeypatch.setattr(service.writer, "_on_commit", broken)
        assert [ask(service)["decision"] for _ in range(2)] == [1, 2]
