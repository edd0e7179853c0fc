"""What a campaign is besides its log: terms, which are checked wherever they come in, snapshots, and the file."""

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import stat
import struct

import pytest
import sqlalchemy as sa

from matroid_bandits.exceptions import DataError, MatroidBanditsError, SerializationError, UnavailableError
from matroid_bandits.service import Database, export_campaign, repair, restore, verify_campaign
from matroid_bandits.service import _snapshots as snapshots
from matroid_bandits.service._replicas import Replicas
from matroid_bandits.service._store import chained
from matroid_bandits.service._tables import campaigns
from service_kit import create, serving, started, until


@pytest.fixture
def database(url):
    database = Database(url)
    database.open()
    yield database
    database.close()


def exported(folder):
    """The lines of a campaign that has asked twice and told once."""
    with serving(str(folder / "source.db")) as client:
        at = create(client, title="Ads", answer_window=3600, default=0.5)
        client.post(f"{at}/ask")
        client.post(f"{at}/tell", json={"decision": 1, "weights": [1.0, 0.0]})
        client.post(f"{at}/ask")
        return list(export_campaign(client.service.database, "ads"))


def resealed(lines, change):
    """The same export after a change to its header, with the checksum that it should then have."""
    header, end = json.loads(lines[0]), json.loads(lines[-1])
    change(header)
    lines = [json.dumps(header), *lines[1:-1]]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return [*lines, json.dumps(end | {"checksum": digest})]


def test_restore_takes_what_create_takes(tmp_path, database):
    lines = exported(tmp_path)
    wrong = [
        ("name", "a/b"), ("name", ""), ("name", "x" * 65), ("name", "a b"), ("name", "a\0b"), ("reason", 3),
        ("trusted", -1), ("trusted", 2**63), ("trusted", 1.5), ("status", "gone"), ("spec", []),
        ("spec.answer_window", "x"), ("spec.answer_window", 0), ("spec.answer_window", -1.0),
        ("spec.answer_window", 1e10), ("spec.answer_window", True), ("spec.answer_window", [1]),
        ("spec.default", "x"), ("spec.default", {}), ("spec.default", 1e400), ("spec.title", 3), ("spec.about", []),
        ("spec.unknown", 1),
    ]  # fmt: skip
    for key, value in wrong:

        def change(header, key=key, value=value):
            (header["spec"] if "." in key else header)[key.rpartition(".")[2]] = value

        with pytest.raises((DataError, SerializationError)) as raised:
            restore(database, resealed(lines, change))
        assert isinstance(raised.value, MatroidBanditsError), key
    with pytest.raises(DataError, match="expected letters, digits"):
        restore(database, lines, name="no/name")
    with database.reading() as connection:
        assert database.rows(connection) == []
    assert restore(database, lines) == ["ads"]
    assert list(export_campaign(database, "ads"))[1:-1] == lines[1:-1]


def test_restore_checks_the_default_against_the_policy(tmp_path, database):
    with serving(str(tmp_path / "source.db")) as client:
        create(client, policy="KLOSM")
        lines = list(export_campaign(client.service.database, "ads"))
    with pytest.raises(DataError, match="default: expected a weight that"):
        restore(database, resealed(lines, lambda header: header["spec"].update(default=2.0)))
    assert restore(database, resealed(lines, lambda header: header["spec"].update(default=1.0))) == ["ads"]


def forget_terms(connection):
    """Let logs of one event be as versions up to 0.2 wrote them, which kept the terms in the row alone."""
    found = connection.execute("SELECT campaign, at, payload FROM events WHERE seq = 1").fetchall()
    for campaign, at, payload in found:
        form = json.loads(payload)
        del form["terms"]
        text = json.dumps(form)
        connection.execute("UPDATE events SET payload = ? WHERE campaign = ?", (text, campaign))
        connection.execute("UPDATE campaigns SET digest = ? WHERE id = ?", (chained("", 1, at, text), campaign))


@pytest.mark.parametrize("is_early", [False, True])
def test_terms_that_cannot_be_read_stop_the_campaign(tmp_path, is_early):
    file, broken = tmp_path / "campaigns.db", ('{"answer_window": "x"}', "[]", '{"title": "Ad', '{"default": "x"}')
    with serving(str(file)) as client:
        for number in range(len(broken)):
            create(client, f"ads-{number}", answer_window=3600)
        create(client, "sound", answer_window=3600)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        if is_early:
            forget_terms(connection)
            connection.execute("DELETE FROM snapshots")
        for number, text in enumerate(broken):
            connection.execute("UPDATE campaigns SET spec = ? WHERE name = ?", (text, f"ads-{number}"))
    with serving(str(file)) as client:
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/v1/campaigns/sound").json()["answer_window"] == 3600
        for number in range(len(broken)):
            for answer in (client.get(f"/v1/campaigns/ads-{number}"), client.post(f"/v1/campaigns/ads-{number}/ask")):
                assert (answer.status_code, answer.json()["error"]) == (503, "CampaignStoppedError")
                assert f"ads-{number} in its row" in answer.text or f"in the row of ads-{number}" in answer.text
        assert len(client.get("/v1/campaigns").json()["campaigns"]) == 5


def test_the_log_of_an_early_version_leaves_the_terms_to_the_row(tmp_path):
    file = tmp_path / "campaigns.db"
    with serving(str(file)) as client:
        create(client, title="Ads")
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        forget_terms(connection)
        connection.execute("DELETE FROM snapshots")
        connection.execute("UPDATE campaigns SET spec = ?", ('{"title": "Shoes", "answer_window": 60}',))
    with serving(str(file)) as client:
        found = client.get("/v1/campaigns/ads").json()
        assert (found["title"], found["answer_window"]) == ("Shoes", 60)
        assert verify_campaign(client.service.database, "ads").n_events == 1
        put = client.put("/v1/campaigns/ads", json={"title": "Boots"})
        assert put.json()["title"] == "Boots"
    with serving(str(file)) as client:
        assert client.get("/v1/campaigns/ads").json()["title"] == "Boots"


def flips(value):
    """Values that differ from one in a bit."""
    if isinstance(value, str):
        data = value.encode()
        for place in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[place // 8] ^= 1 << place % 8
            if b"\0" not in flipped:
                with contextlib.suppress(UnicodeDecodeError):
                    yield flipped.decode()
    elif isinstance(value, float):
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        yield from (struct.unpack("<d", struct.pack("<q", bits ^ 1 << place))[0] for place in range(0, 62, 7))
    else:
        yield from (value ^ 1 << place for place in range(0, 40, 3))


def test_every_flipped_bit_of_a_row_is_found(tmp_path):
    """In the terms, the status, the counts and all else: by `campaign verify`; in what is served, by servers too."""
    file = str(tmp_path / "campaigns.db")
    with serving(file, snapshot_every=8) as client:
        at = create(client, title="Ads", about="Shoes", answer_window=3600, default=0.5)
        for number in (1, 2, 3):
            client.post(f"{at}/ask")
            client.post(f"{at}/tell", json={"decision": number, "weights": [1.0, 0.0]})
        client.post(f"{at}/ask")
        client.put(at, json={"title": "Hats"})
        client.post(f"{at}/pause")
        with client.service.database.reading() as connection:
            row = client.service.database.get(connection, "ads")._asdict()
    database = Database(file)
    n_flips = 0
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")  # which refuses statements of old servers
        for field in (column.name for column in campaigns.c):
            for value in flips(row[field] if row[field] is not None else "stopped?"):
                n_flips += 1
                connection.execute(f"UPDATE campaigns SET {field} = ?", [value])
                with pytest.raises(MatroidBanditsError):
                    verify_campaign(database, "ads")
                if field in ("spec", "status", "reason", "trusted"):
                    with pytest.raises(MatroidBanditsError):
                        Replicas(database, snapshot_every=100).find("ads")
            connection.execute(f"UPDATE campaigns SET {field} = ?", [row[field]])
    assert n_flips > 900
    assert verify_campaign(database, "ads").n_events == 10
    database.close()


def test_a_row_that_is_damaged_under_a_running_server_stops_the_campaign(url):
    with serving(url) as client:
        at, other = create(client, title="Ads"), create(client, "other")
        client.post(f"{at}/ask")
        with client.service.database.writing() as connection:
            of_it = sa.update(campaigns).where(campaigns.c.name == "ads")
            spec = connection.execute(sa.select(campaigns.c.spec).where(campaigns.c.name == "ads")).scalar_one()
            connection.execute(of_it.values(spec=spec.replace("Ads", "Adz")))
        refused = client.post(f"{at}/ask")
        assert (refused.status_code, refused.json()["error"]) == (503, "CampaignStoppedError")
        assert "the row of ads has another spec than its log leads to" in refused.json()["detail"]
        assert client.post(f"{other}/ask").status_code == 200
        saved = []
        assert repair(client.service.database, "ads", saved.extend) == 2
        assert saved == []
        until(lambda: client.get("/readyz").status_code == 200 and client.get(at).status_code == 200)
        assert client.get(at).json()["title"] == "Ads"
        assert client.post(f"{at}/ask").json()["decision"] == 2
        assert verify_campaign(client.service.database, "ads").n_events == 3


@pytest.mark.parametrize("place", ["full", "nowhere"])
def test_a_snapshot_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch, caplog, place):
    """Every batch makes a snapshot; neither memory nor disk has room, or memory alone has none."""
    monkeypatch.setattr(snapshots, "_IN_MEMORY", str(tmp_path / "full"))
    monkeypatch.setattr(os, "access", lambda *_: True)
    if place == "nowhere":
        monkeypatch.setattr(snapshots.tempfile, "tempdir", str(tmp_path / "nowhere"))
    file = str(tmp_path / "campaigns.db")
    with caplog.at_level(logging.WARNING, "matroid_bandits"), serving(file, snapshot_every=1) as client:
        at = create(client)
        assert [client.post(f"{at}/ask").status_code for _ in range(5)] == [200] * 5
    assert ("could not be made" in caplog.text) is (place == "nowhere")
    monkeypatch.undo()
    with started(file, snapshot_every=1) as service:  # now it can be written
        until(lambda: service.writer.is_ready)
    with started(file) as service:
        until(lambda: service.writer.is_ready)
    monkeypatch.setattr(snapshots, "_IN_MEMORY", str(tmp_path / "full"))
    monkeypatch.setattr(os, "access", lambda *_: True)
    monkeypatch.setattr(snapshots.tempfile, "tempdir", str(tmp_path / "nowhere"))
    with serving(file) as client:  # and cannot be read, so the log is
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.post(f"{at}/ask").json()["decision"] == 6


def test_titles_have_a_length_and_lists_are_short(tmp_path):
    file = tmp_path / "campaigns.db"
    with serving(str(file)) as client:
        body = {"name": "ads", "matroid": {"kind": "uniform", "rows": ["a"], "rank": 1}, "policy": "OMM"}
        for key, most in (("title", 200), ("about", 2000)):
            answer = client.post("/v1/campaigns", json=body | {key: "x" * (most + 1)})
            assert answer.status_code == 422
            assert f"{key}: expected at most {most:,} characters, got {most + 1:,}" in answer.json()["detail"]
        assert client.post("/v1/campaigns", json=body | {"title": "x" * 200, "about": "x" * 2000}).status_code == 201
        lines = list(export_campaign(client.service.database, "ads"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:  # as an earlier version could
        long = json.dumps({"title": "x" * 900_000, "about": "", "answer_window": None, "default": None})
        forget_terms(connection)
        connection.execute("DELETE FROM snapshots")
        connection.execute("UPDATE campaigns SET spec = ?", (long,))
    with serving(str(file)) as client:
        listed = client.get("/v1/campaigns")
        assert len(listed.content) < 1000
        assert listed.json()["campaigns"][0]["title"] == client.get("/v1/campaigns/ads").json()["title"] == "x" * 200
        lines = list(export_campaign(client.service.database, "ads"))
        assert restore(client.service.database, lines, name="again") == ["again"]


def test_the_file_of_a_database_is_its_owners_alone(tmp_path):
    file = tmp_path / "campaigns.db"
    before = os.umask(0o022)
    try:
        with serving(str(file)) as client:
            create(client)
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("campaigns.db*")}
        assert modes["campaigns.db"] == modes["campaigns.db-wal"] == 0o600
        file.chmod(0o640)
        with started(str(file)):
            assert stat.S_IMODE(file.stat().st_mode) == 0o640  # as the owner wants it
    finally:
        os.umask(before)


def test_tables_may_have_a_schema_of_their_own_in_postgresql(postgres):
    import psycopg

    from matroid_bandits.service import Database, create_key, list_keys

    own = f"{postgres}&schema=bandits_own"
    empty = Database(own)
    assert not empty.exists()
    empty.close()
    with serving(own) as client:
        at = create(client)
        assert client.post(f"{at}/ask").json()["decision"] == 1
    with serving(own) as client:
        assert client.get(at).json()["decisions"] == 1
    database = Database(own)
    assert database.exists()
    create_key(database, "read")
    assert len(list_keys(database)) == 1
    database.close()
    with psycopg.connect(postgres) as connection:
        found = connection.execute(
            "SELECT table_schema FROM information_schema.tables WHERE table_name = 'campaigns'"
        )
        assert ("bandits_own",) in found.fetchall()
    for wrong in ("Bandits", "a b", "x;drop", "1st"):
        with pytest.raises(UnavailableError, match="expected a schema of small letters"):
            Database(f"{postgres}&schema={wrong}")
