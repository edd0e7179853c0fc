"""What a campaign is besides its log: terms, which are checked wherever they come in, snapshots, and the file."""

import hashlib
import json
import logging
import os
import sqlite3
import stat

import pytest

from matroid_bandits.exceptions import DataError, MatroidBanditsError, SerializationError, UnavailableError
from matroid_bandits.service import Database, export_campaign, restore
from matroid_bandits.service import _snapshots as snapshots
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


def test_a_window_that_is_none_stops_no_deadlines(tmp_path, caplog):
    """A row that an earlier version, or a hand, has left in the database."""
    file = tmp_path / "campaigns.db"
    with serving(str(file)) as client:
        for name in ("a", "b", "c", "d"):
            client.post(f"{create(client, name, answer_window=3600)}/ask")
    with sqlite3.connect(file) as connection:
        for name, text in (
            ("a", '{"answer_window": "x"}'),
            ("b", "[]"),
            ("c", '{"answer_window": 1, "default": "x"}'),
        ):
            connection.execute("UPDATE campaigns SET spec = ? WHERE name = ?", (text, name))
        connection.execute(
            "UPDATE campaigns SET spec = ? WHERE name = 'd'", ('{"answer_window": 0.1, "default": 0.0}',)
        )
    with caplog.at_level(logging.ERROR, "matroid_bandits"), serving(str(file)) as client:
        until(lambda: client.get("/v1/campaigns/d").json()["waiting"] == 0)
        until(lambda: client.get("/v1/campaigns/c").json()["waiting"] == 0)
        for name in ("a", "b"):
            assert client.get(f"/v1/campaigns/{name}").json()["answer_window"] is None
            assert client.get(f"/v1/campaigns/{name}/waiting").json()["waiting"] == 1
        assert client.get("/readyz").status_code == 200
        assert client.get("/v1/campaigns").status_code == 200
    assert "campaign a goes on without its answer_window, which is no number" in caplog.text


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
    with sqlite3.connect(file) as connection:  # as an earlier version could
        long = json.dumps({"title": "x" * 900_000, "about": "", "answer_window": None, "default": None})
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
