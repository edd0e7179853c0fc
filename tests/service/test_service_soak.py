"""A campaign that grows old: visits, changes, settings, retention and restarts, by a clock that is moved day by day.

`make soak` plays a year (MATROID_BANDITS_DAYS=365, a few minutes); `make test` plays six quiet days.
"""

import os
import threading
import uuid

import pytest
import sqlalchemy as sa

from matroid_bandits._util.sums import added
from matroid_bandits.service import Archive, verify_campaign
from matroid_bandits.service import _store as store
from matroid_bandits.service._tables import events, requests, snapshots
from matroid_bandits.stream import Stream
from service_kit import serving, until

N_DAYS = int(os.environ.get("MATROID_BANDITS_DAYS", "6"))
IS_SHORT = N_DAYS <= 6
VISITS, DAY = 100 if IS_SHORT else 200, 86400.0
SETTINGS = {"keep_events": 250 if IS_SHORT else 1000, "snapshot_every": 80 if IS_SHORT else 250, "keep_ids": 2.0}
SETTINGS |= {"tick": 0.05, "lease": 1e12}
AT = "/v1/campaigns/front"
CATALOGUE = {f"art-{k:04}": f"topic-{k % 5}" for k in range(40)}


def set_clock(database, days):
    """Let a database's clock be ahead."""
    now = f"({store._SQLITE_NOW if database.is_sqlite else store._POSTGRES_NOW} + {days * DAY})"
    plain = store._SQLITE_NOW if database.is_sqlite else store._POSTGRES_NOW
    database.clock = sa.literal_column(now)
    database._statements()
    database._sql = {name: text.replace(plain, now) for name, text in database._sql.items()}


class Site:
    """A site and its server, which is started anew now and then."""

    def __init__(self, url, folder):
        self.url, self.folder, self.day = url, folder, 0
        self.labels, self.n_made = dict(CATALOGUE), len(CATALOGUE)
        self.n_visits = self.n_clicks = 0
        self.stream = Stream(7, range(1))

    def serve(self, days):
        """Some days of one server."""
        with serving(self.url, archive=str(self.folder), **SETTINGS) as client:
            set_clock(client.service.database, self.day)
            until(lambda: client.get("/readyz").status_code == 200)
            if self.day == 0:
                self.create(client)
            for _ in range(days):
                self.live(client)
                self.day += 1
                set_clock(client.service.database, self.day)
            client.service.writer._next_forgetting = client.service.writer._next_tick = 0.0
            self.settle(client)

    def create(self, client):
        rows = [{"item": item, "topic": topic} for item, topic in CATALOGUE.items()]
        body = {
            "name": "front",
            "matroid": {"kind": "partition", "category": "topic", "rows": rows},
            "policy": "OMM",
            "seed": 5,
            "answer_window": DAY / 2,
            "default": 0.0,
        }
        assert client.post("/v1/campaigns", json=body).status_code == 201

    def live(self, client):
        """A day: visits whose clicks are told, each request with an id and some sent twice; changes now and then."""
        for n in range(VISITS // 50):
            id = {"Idempotency-Key": str(uuid.uuid4())}
            asked = client.post(f"{AT}/ask/batch", json={"requests": [{}] * 50}, headers=id).json()["decisions"]
            if n == 0:
                again = client.post(f"{AT}/ask/batch", json={"requests": [{}] * 50}, headers=id)
                assert again.json()["decisions"] == asked
            answers = [answer for each in asked if (answer := self.clicks(each)) is not None]
            told = client.post(f"{AT}/tell/batch", json={"answers": answers})
            assert told.status_code == 200, told.text
            self.n_visits += 50
            self.n_clicks += len(answers)
        if self.day % 3 == 2:
            gone = min(self.labels)
            topic = self.labels.pop(gone)
            self.labels[f"art-{self.n_made:04}"] = topic
            body = {"add": {f"art-{self.n_made:04}": topic}, "remove": [gone]}
            assert client.put(AT, json=body).status_code == 200
            self.n_made += 1
        if self.day % 5 == 4:
            body = {"holdout": (self.day % 4) / 20, "title": f"Day {self.day}"}
            body |= {"policy": "KLOSM" if self.day % 2 else "OMM"}
            assert client.put(AT, json=body).status_code == 200

    def clicks(self, decision):
        chances = self.stream.uniform(decision["decision"], range(len(decision["items"])))[0]
        clicked = [item for item, u in zip(decision["items"], chances, strict=True) if u < int(item[4:]) % 7 / 20]
        return {"decision": decision["decision"], "weights": dict.fromkeys(clicked, 1.0)} if clicked else None

    @staticmethod
    def settle(client):
        """Wait for what is done in the background."""
        quiet = threading.Event()
        writer = client.service.writer
        writer.replicas._background.put(lambda: writer._checker.put(quiet.set))
        assert quiet.wait(240.0)

    def sizes(self, client):
        with client.service.database.reading() as connection:
            n = {
                table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                for table in (events, requests, snapshots)
            }
        return n | client.get(f"{AT}/sizes").json()


def test_a_campaign_grows_old(url, tmp_path, capsys):
    site = Site(url, tmp_path / "old")
    span, middle = max(N_DAYS // 12, 2), None
    while site.day < N_DAYS:
        site.serve(min(span, N_DAYS - site.day))
        if middle is None and site.day >= N_DAYS // 2:
            with serving(url, archive=str(site.folder), **SETTINGS) as client:
                middle = site.sizes(client)
    with serving(url, archive=str(site.folder), **SETTINGS) as client:
        set_clock(client.service.database, site.day + 2)
        until(lambda: client.get(AT).json()["waiting"] == 0)
        end = site.sizes(client)
        campaign, history = client.get(AT).json(), client.get(f"{AT}/history?resolution=86400").json()
        believed = client.get(f"{AT}/estimates").json()
        found = verify_campaign(client.service.database, "front", Archive(site.folder))
    assert campaign["status"] == "active"
    assert campaign["decisions"] == found.n_decisions == site.n_visits
    assert found.n_archived == end["first"] - 1 > 0
    # bounded: no more in the database at the end than half-way, but for history and the catalogue's departed items
    assert end["events"] <= 2 * SETTINGS["keep_events"] + 4 * SETTINGS["snapshot_every"]
    assert end["requests"] <= 4 * (SETTINGS["keep_ids"] + span + 1) * VISITS / 50
    used, before = (each["database_bytes"] - each["database_free_bytes"] for each in (end, middle))
    assert used <= 1.5 * before + 200_000
    sums = {name: added(bucket[name] for bucket in history["buckets"]) for name in ("asked", "weight", "learnt")}
    assert sums["asked"] == site.n_visits
    assert sums["learnt"] == pytest.approx(site.n_visits)
    assert history["complete"]
    with serving(url, archive=str(site.folder), **SETTINGS) as client:  # an equal replay
        again = client.get(f"{AT}/estimates").json()
        assert {key: again[key] for key in ("labels", "counts", "means")} == {
            key: believed[key] for key in ("labels", "counts", "means")
        }
    with capsys.disabled():
        if not IS_SHORT:
            print(
                f"\n{site.day} days, {site.n_visits} visits, {found.n_events} events; in the database "
                f"{end['events']} events, {used} bytes (half-way {before}); archived {end['archive_bytes']} bytes, "
                f"{end['archive_bytes'] / max(found.n_archived, 1):.1f} an event"
            )
