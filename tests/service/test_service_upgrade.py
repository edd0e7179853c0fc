"""Upgrades: snapshots outlive builds, what they skip is checked in the background, histories are made anew."""

import base64
import json
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from matroid_bandits._util.sums import added
from matroid_bandits.service import Database, Service, _snapshots, backup, restore, verify_campaign
from matroid_bandits.service import _actions as act
from matroid_bandits.service._migrate import migrate
from matroid_bandits.service._operation import Operation
from matroid_bandits.service._replicas import Replicas
from matroid_bandits.service._schemas import TellBody
from matroid_bandits.service._store import chained
from matroid_bandits.service._tables import campaigns, events, snapshots
from matroid_bandits.specs import CampaignSpec, parse
from service_kit import ADS, counted, create, serving, settings_for, started, until

LABELS = "boots", "heels", "fedora", "beret"


def make(service, **more):
    service.create(parse(CampaignSpec, {"name": "ads", "matroid": ADS, "policy": "OMM", "seed": 1, **more}))


def play(service, n):
    for _ in range(n):
        decision = json.loads(service.call(Operation(act.ask({}), "ads", "ask")).body)
        weights = dict.fromkeys(decision["items"], decision["decision"] % 7 / 7)
        service.call(Operation(act.tell(TellBody(decision=decision["decision"], weights=weights)), "ads", "change"))


def look(service, what):
    return service.call(Operation(lambda replica, _: what(replica), "ads"))


def beliefs(replica):
    return replica.learner.estimates().means.tolist(), replica.learner.n_decisions


class Stored:
    """The rows of a database with one campaign, to be written otherwise than a server would."""

    def __init__(self, url):
        self.database = Database(url)

    def rows(self, table):
        with self.database.reading() as connection:
            return [dict(row._mapping) for row in connection.execute(sa.select(table).order_by(table.c.seq))]

    def sign(self, history=None, **changes):
        """Change every snapshot, and give it the checksum that it has then."""
        with self.database.writing() as connection:
            for row in [dict(row._mapping) for row in connection.execute(sa.select(snapshots))]:
                row |= changes
                if history is not None:
                    row["extra"] = json.dumps(json.loads(row["extra"]) | {"history": history})
                row["checksum"] = _snapshots.checksum(row)
                connection.execute(sa.update(snapshots).where(snapshots.c.seq == row["seq"]).values(row))

    def decide_otherwise(self, seq):
        """Let a logged decision, and its answer, be another one; hashes are those of the log as it is then."""
        asked, told = (json.loads(row["payload"]) for row in self.rows(events)[seq - 1 : seq + 1])
        assert (asked["event"], told["event"]) == ("asked", "told")
        asked["items"] = [label for label in LABELS if label not in asked["items"]]
        told["weights"] = [[label, 0.5] for label in asked["items"]]
        digest = ""
        with self.database.writing() as connection:
            for number, event in ((seq, asked), (seq + 1, told)):
                values = {"payload": json.dumps(event, separators=(",", ":"))}
                connection.execute(sa.update(events).where(events.c.seq == number).values(values))
            for row in connection.execute(sa.select(events).order_by(events.c.seq)).all():
                digest = chained(digest, row.seq, row.at, row.payload)
                connection.execute(sa.update(snapshots).where(snapshots.c.seq == row.seq).values(digest=digest))
            connection.execute(sa.update(campaigns).values(digest=digest))
        self.sign()


@pytest.fixture
def stored(url):
    """A log of 41 events; snapshots after 10, 20 and 30 of them."""
    with started(url, snapshot_every=10) as service:
        make(service)
        play(service, 16)
        service.writer.replicas._snapshot_every = 10**6
        play(service, 4)
        look(service, lambda replica: setattr(replica, "saved", replica.seq))  # as after a crash: none at the end
    found = Stored(url)
    assert [row["seq"] for row in found.rows(snapshots)] == [10, 20, 30]
    yield found
    found.database.close()


def alarms_of(service):
    return look(service, lambda replica: [alarm["text"] for alarm in replica.alarms.values()])


def test_a_snapshot_of_another_build_is_used_and_checked_in_the_background(url, stored, caplog):
    caplog.set_level("INFO")
    stored.sign(build="Python 3.10.0, NumPy 1.22")
    with started(url) as service:
        assert look(service, lambda replica: replica.saved) == 30
        until(lambda: "events 21 to 30 lead to its snapshot" in caplog.text)
        assert alarms_of(service) == []
        assert counted(service, "replayed_events") == 11
        play(service, 1)
    assert stored.rows(snapshots)[-1]["build"] == _snapshots.BUILD  # the next start has one of its own
    assert "do not lead" not in caplog.text


@pytest.mark.parametrize("where", ["after the snapshot", "before it"])
@pytest.mark.parametrize("build", ["another", "the same"])
def test_a_difference_is_an_alarm_where_the_build_differs_and_else_a_stop(url, stored, where, build):
    stored.decide_otherwise(24 if where == "before it" else 34)
    if build == "another":
        stored.sign(build="older")
    with started(url) as service:
        if build == "the same":
            until(lambda: look(service, lambda replica: replica.status) == "stopped")
            return
        (text,) = until(lambda: alarms_of(service))
        assert "the log says" in text
        play(service, 2)
        assert look(service, lambda replica: replica.status) == "active"
        marks = look(service, lambda replica: [mark["kind"] for mark in replica.history.marks])
        assert marks == ["created", "alarm"]
        before = look(service, beliefs)
    with started(url) as service:
        assert look(service, beliefs) == before
        assert alarms_of(service) == [text]
    if where == "before it":  # what was saved is of another log than this one
        return
    with stored.database.writing() as connection:
        connection.execute(sa.delete(snapshots))
    with started(url) as service:  # the log itself says that the difference is known
        play(service, 1)
        assert look(service, lambda replica: (replica.status, len(replica.alarms))) == ("active", 1)


def test_the_newest_snapshot_that_can_be_read_is_used(url, stored):
    later = stored.rows(snapshots)[1] | {"format": 99}
    later["checksum"] = _snapshots.checksum(later)
    with stored.database.writing() as connection:
        connection.execute(sa.update(snapshots).where(snapshots.c.seq == 30).values(data=b"torn"))
        connection.execute(sa.update(snapshots).where(snapshots.c.seq == 20).values(later))
    with started(url) as service:
        assert look(service, lambda replica: replica.saved) == 10


def test_a_digest_that_was_changed_is_noticed(url, stored):
    with stored.database.writing() as connection:
        connection.execute(sa.update(snapshots).values(digest="0" * 32))
    with started(url) as service:
        assert look(service, lambda replica: replica.saved) == 0


def test_histories_of_earlier_versions_are_made_anew(url, stored):
    with started(url) as service:
        known = look(service, lambda replica: replica.history.buckets(86400))
    early = json.loads(stored.rows(snapshots)[-1]["extra"])["history"]
    del early["version"], early["complete"]
    for sums in (early["sums"], *(sums for level in early["levels"].values() for _, sums in level)):
        sums[2] = sums[3] = 77.0  # summed by another rule
    stored.sign(history=early)
    service = Service(settings_for(url, tick=1000.0))
    service.start()
    try:
        is_complete, buckets = look(service, lambda r: (r.history.is_complete, r.history.buckets(86400)))
        assert not is_complete
        assert [bucket["asked"] for bucket in buckets] == [bucket["asked"] for bucket in known]
        assert added(bucket["learnt"] for bucket in buckets) == 6.0  # what came after the snapshot
        until(lambda: service.writer._checker.histories)
        play(service, 3)
        service.writer._next_tick = 0.0
        until(lambda: look(service, lambda replica: replica.history.is_complete))
        made = look(service, lambda replica: json.dumps(replica.history.to_dict()))
        play(service, 1)
    finally:
        service.stop()
    assert json.loads(stored.rows(snapshots)[-1]["extra"])["history"]["complete"]
    with stored.database.writing() as connection:
        connection.execute(sa.delete(snapshots))
        connection.execute(sa.delete(events).where(events.c.seq > 47))
        digest = stored.database.digest(connection, 1, 47)
        connection.execute(sa.update(campaigns).values(seq=47, digest=digest))
    with started(url) as service:
        assert look(service, lambda replica: json.dumps(replica.history.to_dict())) == made


def test_a_long_replay_shows_how_far_it_is(tmp_path, caplog, monkeypatch):
    caplog.set_level("INFO")
    url = str(tmp_path / "campaigns.db")
    with serving(url, snapshot_every=10**6) as client:
        at = create(client)
        for _ in range(2):
            assert client.post(f"{at}/ask/batch", json={"requests": [{}] * 1000}).status_code == 200
    database = Database(url)
    with database.writing() as connection:
        connection.execute(sa.delete(snapshots))
    database.close()
    is_shown, go_on, show = threading.Event(), threading.Event(), Replicas._show_progress

    def show_and_wait(*arguments):
        show(*arguments)
        is_shown.set()
        go_on.wait()

    monkeypatch.setattr(Replicas, "_show_progress", show_and_wait)
    with serving(url) as client:
        is_shown.wait()
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "of 2,001" in answer.json()["detail"]
        assert client.get("/v1/campaigns").json()["campaigns"][0]["loading"] == pytest.approx(1024 / 2001)
        go_on.set()
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/v1/campaigns").json()["campaigns"][0]["loading"] is None
    assert "campaign ads: replaying its log, event 1024 of 2001" in caplog.text


YEARS = Path(__file__).parents[1] / "stored" / "0.1.0" / "years.json"


def write_first_tables(url, build=None):
    """A database as 45f5556 left it: the tables of its version, and its rows; its snapshots of another build."""
    form = json.loads(YEARS.read_text())
    database = Database(url)
    with database.writing() as connection:
        migrate(connection, "0001")
        first = sa.MetaData()
        first.reflect(connection)
        for row in form["tables"]["snapshots"]:
            row["data"] = base64.b64decode(row["data"]["base64"])
            assert row["checksum"] == _snapshots.checksum(row | {"format": 1})
            row["build"] = build or row["build"]
            row["checksum"] = _snapshots.checksum(row | {"format": 1})
        for name, rows in form["tables"].items():
            connection.execute(sa.insert(first.tables[name]), rows)
    database.close()
    return form


@pytest.mark.parametrize("build", [None, "matroid-bandits 0.1.0 python 3.10.1 numpy 1.26 numba 0.59 x86_64"])
def test_databases_of_the_first_version_are_upgraded(url, build, caplog, tmp_path):
    caplog.set_level("INFO")
    form = write_first_tables(url, build)
    with serving(url) as client:
        service = client.service
        until(lambda: client.get("/readyz").status_code == 200)
        assert counted(service, "replayed_events") < 30  # its snapshots are used
        clicks = "/v1/campaigns/clicks/history?resolution=86400"
        buckets = until(lambda: (found := client.get(clicks).json())["complete"] and found["buckets"])
        sums = {key: added(bucket[key] for bucket in buckets) for key in ("weight", "learnt", "settled")}
        assert sums == {"weight": 10.0, "learnt": pytest.approx(40.0), "settled": 40}
        for name, decisions in form["next"].items():
            at = f"/v1/campaigns/{name}"
            last = next(row for row in form["tables"]["campaigns"] if row["name"] == name)["decisions"]
            until(lambda at=at: client.get(f"{at}/history?resolution=86400").json()["complete"])
            again = service.call(Operation(act.ask({}), name, "ask", f"{name} ask {last}", f"{last:032}"))
            assert again.is_replayed
            asked = service.call(Operation(act.ask_all([{}] * 3, service.settings), name, "ask"))
            assert [each["items"] for each in json.loads(asked.body)["decisions"]] == decisions
            found = verify_campaign(service.database, name)
            assert found.n_decisions == last + 3
        alarms = client.get("/v1/campaigns/drift/alarms").json()["alarms"]
        assert [alarm["kind"] for alarm in alarms] == ["drift", "drift"]
        assert client.post("/v1/campaigns/drift/acknowledge").json()["alarms"] == []
        until(lambda: caplog.text.count("lead to its snapshot") == 2)
        assert "do not lead" not in caplog.text
    lines = Database(url)
    restored = Database(str(tmp_path / "restored.db"))
    restored.open()
    assert restore(restored, backup(lines)) == ["clicks", "drift"]
    lines.close()
    restored.close()
