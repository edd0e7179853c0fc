"""Old events move to an archive, behind a snapshot that stays; what was acknowledged is still all there."""

import gzip
import json
import threading

import fsspec
import pytest
import sqlalchemy as sa

import matroid_bandits as mb
from matroid_bandits.exceptions import (
    ArchivedEventsError,
    CampaignStateError,
    DataError,
    ReplayError,
    SerializationError,
)
from matroid_bandits.service import (
    Archive,
    Database,
    Service,
    backup,
    export_campaign,
    move_campaign,
    repair,
    restore,
    verify_campaign,
)
from matroid_bandits.service._remembered import MADE
from matroid_bandits.service._store import chained
from matroid_bandits.service._tables import campaigns, events, requests, snapshots
from service_kit import create, serving, settings_for, until


def kept(folder):
    """Settings under which a log of a few dozen events is cut."""
    return {"archive": str(folder), "keep_events": 12, "snapshot_every": 8}


def visit(client, at, n, answers=1.0, headers=None):
    """Decisions, of which some are answered; the ids of requests are their numbers."""
    for _ in range(n):
        decision = client.post(f"{at}/ask").json()
        if decision["decision"] % 10 < 10 * answers:
            weights = dict.fromkeys(decision["items"], decision["decision"] % 7 / 7)
            answer = client.post(f"{at}/tell", json={"decision": decision["decision"], "weights": weights})
            assert answer.status_code == 200
    return decision


def estimates(client, at):
    """What is believed; how often items were chosen lately is known from the events that are kept."""
    found = client.get(f"{at}/estimates").json()
    return {key: value for key, value in found.items() if key not in ("chosen", "recent")}


def rows_of(url, table):
    database = Database(url)
    with database.reading() as connection:
        found = [dict(row._mapping) for row in connection.execute(sa.select(table).order_by(table.c.seq))]
    database.close()
    return found


def first_kept(url):
    return rows_of(url, campaigns)[0]["first"]


def grow(client, url, at, n=60, answers=1.0):
    """Visits until a log has been cut twice or more, and nothing more is to be done; the first event kept."""
    cuts = {1}
    for _ in range(n // 10):
        visit(client, at, 10, answers)
        quiet = threading.Event()
        client.service.writer.replicas._background.put(
            lambda done=quiet: client.service.writer._checker.put(done.set)
        )
        assert quiet.wait(60.0)  # after everything that was to be done
        cuts.add(first_kept(url))
    assert settled(url)
    assert len(cuts) > 2
    return first_kept(url)


def settled(url):
    """Whether all is removed that is to be."""
    (row,) = rows_of(url, campaigns)
    numbers = [event["seq"] for event in rows_of(url, events)]
    return numbers == [*range(row["first"], row["seq"] + 1)]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "old"


@pytest.fixture(params=["file", "memory"])
def object_store(request, tmp_path):
    """The address of an object store, as fsspec knows it."""
    yield f"file://{tmp_path}/store" if request.param == "file" else "memory://old-events/store"
    if request.param == "memory":
        fsspec.filesystem("memory").store.clear()


def test_logs_are_bounded_and_replay_from_the_first_event(url, folder):
    with serving(url, **kept(folder)) as client:
        at = create(client)
        ours = mb.Learner.replay([json.loads(rows_of(url, events)[0]["payload"])])
        first = grow(client, url, at)
        n = client.get(at).json()["decisions"]
        before = estimates(client, at)
    for _ in range(n):
        decision = ours.ask()
        ours.tell(decision, dict.fromkeys(decision.labels, decision.id % 7 / 7))
    assert before["means"] == ours.estimates().means.tolist()
    (path, *more) = sorted(folder.glob("ads-*/*.jsonl.gz"))
    assert more
    assert path.name.startswith("000000000001-")
    with gzip.open(path, "rt") as file:
        lines = [json.loads(line) for line in file]
    assert [line["event"] for line in lines[1:4]] == ["created", "asked", "told"]
    assert lines[0]["format"] == "matroid-bandits/archive"
    assert set(lines[-1]) == {"end", "digest", "checksum"}
    assert len(rows_of(url, events)) <= 80
    saved = rows_of(url, snapshots)
    assert saved[0]["seq"] == first - 1  # where the log begins, and never removed
    assert saved[0]["kept"] == 1
    assert len(saved) <= 5
    with serving(url, **kept(folder)) as client:
        assert estimates(client, at) == before
        database = client.service.database
        found = verify_campaign(database, "ads", Archive(folder))
        assert (found.n_events, found.n_archived, found.n_decisions) == (1 + 2 * n, first - 1, n)
        with pytest.raises(ReplayError, match="no archive is given"):
            verify_campaign(database, "ads")
        sizes = client.get(f"{at}/sizes").json()
        assert (sizes["first"], sizes["events"]) == (first, 2 * n + 2 - first)
        assert sizes["archive_bytes"] == sum(path.stat().st_size for path in folder.glob("*/*.gz"))
        assert 40 * sizes["events"] < sizes["event_bytes"] < sizes["database_bytes"]
        assert sizes["archives"] == len(more) + 1
        assert sizes["snapshot_bytes"] > 0
        text = client.get("/metrics").text
        assert f'matroid_bandits_kept_events{{campaign="ads"}} {float(sizes["events"])}' in text
        assert f'matroid_bandits_archive_bytes{{campaign="ads"}} {float(sizes["archive_bytes"])}' in text
        assert "matroid_bandits_database_bytes" in text
        with mb.Client(str(client.base_url), "ads") as library:
            assert library.sizes() == client.get(f"{at}/sizes").json()
    with serving(url) as client:  # a server without an archive goes on too
        visit(client, at, 2)


def test_reading_before_the_cut_is_gone(url, folder):
    with serving(url, **kept(folder)) as client:
        at = create(client)
        first = grow(client, url, at)
        for path in (f"{at}/events", f"{at}/events?after={first - 2}", f"{at}/stream?after=3"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["error"]) == (410, "ArchivedEventsError")
            assert answer.json()["first"] == first
        found = client.get(f"{at}/events?after={first - 1}").json()["events"]
        assert found[0]["seq"] == first
        again = client.get(f"{at}/stream", headers={"Last-Event-ID": "1"})
        assert again.status_code == 410
        with mb.Client(str(client.base_url), "ads") as library, pytest.raises(ArchivedEventsError, match="or later"):
            library.events()


def test_open_decisions_and_request_ids_do_not_hold_pruning_up(url, folder):
    with serving(url, **kept(folder)) as client:
        at = create(client, answer_window=1e6, default=0.0)
        id = {"Idempotency-Key": "the first"}
        asked = client.post(f"{at}/ask", headers=id).json()
        first = grow(client, url, at, answers=0.5)
        assert first > 8
        again = client.post(f"{at}/ask", headers=id)
        assert again.json() == asked
        assert again.headers["Idempotency-Replayed"] == "true"
    with serving(url, **kept(folder)) as client:
        assert client.post(f"{at}/ask", headers=id).json() == asked
        oldest = client.get(f"{at}/waiting").json()["decisions"][0]
        assert (oldest["decision"], oldest["items"]) == (1, asked["items"])
        told = client.post(f"{at}/tell", json={"decision": 1, "weights": [0.5] * len(asked["items"])})
        assert told.json() == {"decision": 1, "told": 2, "waiting": False}
        database = client.service.database  # which goes on being pruned
        until(lambda: verify_campaign(database, "ads", Archive(folder)).n_archived == first_kept(url) - 1)
    assert rows_of_ids(url) == 1


def rows_of_ids(url):
    database = Database(url)
    with database.reading() as connection:
        given = sa.select(sa.func.count()).where(~requests.c.id.startswith(MADE))
        found = connection.execute(given).scalar_one()
    database.close()
    return found


@pytest.mark.parametrize("how", ["export", "backup"])
def test_what_is_exported_begins_with_the_snapshot(url, folder, tmp_path, how):
    with serving(url, **kept(folder)) as client:
        at = create(client)
        first = grow(client, url, at, answers=0.8)
        database = client.service.database
        lines = [*(export_campaign(database, "ads") if how == "export" else backup(database))]
        before = estimates(client, at), client.get(f"{at}/waiting").json()
        history = client.get(f"{at}/history?resolution=60").json()["buckets"]
    assert json.loads(lines[0])["version"] == 2
    elsewhere = str(tmp_path / "elsewhere.db")
    other = Database(elsewhere)
    other.open()
    damaged = json.loads(lines[1])
    damaged["snapshot"]["extra"] += " "
    for wrong in ([lines[0], *lines[2:]], [lines[0], json.dumps(damaged), *lines[2:]], lines[:-1]):
        with pytest.raises((SerializationError, ReplayError)):
            restore(other, wrong)
    assert restore(other, lines) == ["ads"]
    other.close()
    with serving(elsewhere, **kept(folder)) as client:
        assert (estimates(client, at), client.get(f"{at}/waiting").json()) == before
        assert client.get(f"{at}/history?resolution=60").json()["buckets"] == history
        assert client.get(f"{at}/events?after=0").json()["first"] == first
        verify_campaign(client.service.database, "ads", Archive(folder))  # its first events are in the same archive
        visit(client, at, 20)
        until(lambda: first_kept(elsewhere) > first)
        verify_campaign(client.service.database, "ads", Archive(folder))


def test_archives_that_are_damaged_are_said_to_be(url, folder):
    with serving(url, **kept(folder)) as client:
        grow(client, url, create(client))
        database = client.service.database
        path = sorted(folder.glob("*/*.gz"))[0]
        whole = path.read_bytes()
        with gzip.open(path, "rt") as file:
            text = file.read()
        for wrong in (whole[:-20], b"", gzip.compress(text.replace("0.0", "0.5", 1).encode()), b"torn"):
            path.write_bytes(wrong)
            with pytest.raises(SerializationError):
                verify_campaign(database, "ads", Archive(folder))
        path.unlink()
        with pytest.raises(SerializationError, match="expected event 1 of ads in the archive"):
            verify_campaign(database, "ads", Archive(folder))
        path.write_bytes(whole)
        verify_campaign(database, "ads", Archive(folder))


def test_stretches_that_a_server_left_are_passed_by(tmp_path):
    """Files of cuts that were never made, shorter or longer than those that were, and a copy's."""
    archive, log, digests = Archive(tmp_path), [], [""]
    for seq in range(1, 31):
        log.append((seq, seq / 7, f'{{"event":"told","decision":{seq}}}'))
        digests.append(chained(digests[-1], *log[-1]))
    for first, last in ((1, 10), (1, 8), (1, 12), (11, 15), (11, 20), (21, 30), (16, 19)):
        archive.write("ads", "a" * 32, digests[first - 1], first, last, log[first - 1 : last])
    other = [(seq, at, payload + " ") for seq, at, payload in log[20:]]
    archive.write("copy", "a" * 32, digests[20], 21, 30, other)
    assert [*archive.events("ads", "a" * 32, 0, "", 30)] == log
    assert [*archive.events("ads", "a" * 32, 0, "", 20)] == log[:20]
    assert [*archive.events("copy", "a" * 32, 0, "", 20)] == log[:20]
    with pytest.raises(SerializationError, match="expected event 1 of ads"):
        [*archive.events("ads", "a" * 32, 0, "", 17)]


def test_nothing_is_removed_before_the_archive_is_read_back(tmp_path, folder):
    """The archive's folder of the campaign is a file: nothing can be written, and everything stays."""
    url = str(tmp_path / "campaigns.db")
    with serving(url, **kept(folder)) as client:
        at = create(client)
        id = client.get(at).json()["id"]
        (folder / f"ads-{id[:12]}").write_text("in the way")
        visit(client, at, 30)
    assert first_kept(url) == 1
    assert len(rows_of(url, events)) == 61
    (folder / f"ads-{id[:12]}").unlink()
    with serving(url, **kept(folder)):
        until(lambda: first_kept(url) > 1 and settled(url))


def test_what_a_server_left_in_the_middle_is_finished(url, folder):
    with serving(url, **kept(folder)) as client:
        first = grow(client, url, create(client))
    database = Database(url)
    with database.writing() as connection:  # as if it had ended before all was removed
        database.append(connection, [(1, n, 0.0, "{}") for n in (first - 2, first - 1)])
    with serving(url, **kept(folder)) as client:
        assert client.get(f"/v1/campaigns/ads/events?after={first - 3}").status_code == 410
        until(lambda: settled(url))
    database.close()


def test_a_log_that_was_cut_is_repaired_and_trusted(url, folder):
    with serving(url, **kept(folder)) as client:
        at = create(client)
        first = grow(client, url, at)
        last = client.get(at).json()["seq"]
    database, saved = Database(url), []
    with pytest.raises(CampaignStateError):
        repair(database, "ads", saved.extend, after=first - 5)
    assert repair(database, "ads", saved.extend, after=last - 4) == last - 4
    assert len(saved) == 4
    with database.writing() as connection:
        connection.execute(sa.update(campaigns).values(status="stopped", digest="0" * 32))
    move_campaign(database, "ads", "trust")
    database.close()
    with serving(url, **kept(folder)) as client:
        assert client.get(at).json()["seq"] == last - 3
        visit(client, at, 1)
        verify_campaign(client.service.database, "ads", Archive(folder))


def test_an_archive_that_is_switched_on_later_acts_at_once(url, folder):
    with serving(url, snapshot_every=8) as client:
        at = create(client)
        visit(client, at, 60)
        before = estimates(client, at)
    assert first_kept(url) == 1
    with serving(url, **kept(folder)) as client:
        until(lambda: first_kept(url) > 1 and settled(url))  # in this order: it cuts meanwhile
        assert first_kept(url) == 121 - 12 + 1
        assert len(rows_of(url, events)) == 12
        assert estimates(client, at) == before
        found = verify_campaign(client.service.database, "ads", Archive(folder))
        assert (found.n_events, found.n_archived) == (121, 109)
        grow(client, url, at)
        verify_campaign(client.service.database, "ads", Archive(folder))


def test_events_go_to_object_stores(tmp_path, object_store):
    url = str(tmp_path / "campaigns.db")
    with serving(url, **kept(object_store)) as client:
        at = create(client)
        first = grow(client, url, at)
        found = verify_campaign(client.service.database, "ads", Archive(object_store))
        assert found.n_archived == first - 1
        sizes = client.get(f"{at}/sizes").json()
        assert (sizes["archives"] > 1, sizes["archive_bytes"] > 100) == (True, True)
        lines = [json.loads(line) for line in export_campaign(client.service.database, "ads", Archive(object_store))]
        assert [line["seq"] for line in lines[1:-1]] == [*range(1, found.n_events + 1)]
    files = fsspec.open_files(f"{object_store}/*/*.jsonl.gz")
    assert len(files) == sizes["archives"]
    with fsspec.open(files[0].full_name, "wb") as file:
        file.write(b"torn")
    database = Database(url)
    with pytest.raises(SerializationError, match="damaged"):
        verify_campaign(database, "ads", Archive(object_store))
    database.close()


def test_a_file_of_an_object_store_appears_whole_or_not_at_all(object_store):
    archive = Archive(object_store)
    archive.open()
    with pytest.raises(SerializationError, match="expected event 2"):
        archive.write("ads", "a" * 32, "", 1, 2, [(1, 0.5, "{}"), (3, 0.5, "{}")])
    assert archive.sizes() == {}
    archive.write("ads", "a" * 32, "", 1, 1, [(1, 0.5, "{}")])
    assert archive.sizes()["ads"][0] == 1


def test_an_address_that_no_package_knows():
    with pytest.raises(DataError, match="expected the address of an object store"):
        Archive("nowhere://bucket/old")


def test_two_servers_share_an_archive(url, folder):
    with serving(url, **kept(folder)) as one, serving(url, **kept(folder)) as two:
        at = create(one)
        until(lambda: two.get("/readyz").status_code == 200)
        for _ in range(4):
            visit(one, at, 10)
            visit(two, at, 10)
        until(lambda: first_kept(url) > 1 and settled(url))
        verify_campaign(one.service.database, "ads", Archive(folder))


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "no" / "folder"):
        with pytest.raises(DataError, match="expected a folder for archives"):
            Service(settings_for(str(tmp_path / "c.db"), archive=str(folder))).start()


def test_decisions_are_explained_from_the_snapshots_that_are_left(tmp_path):
    with serving(str(tmp_path / "campaigns.db"), **kept(tmp_path / "archive")) as client:
        at = create(client, name="ads")
        visit(client, at, 60)
        assert until(lambda: client.get(f"{at}/sizes").json()["first"] > 1)
        believed = client.post(f"{at}/explain", json={"item": "boots"}).json()
        decision = client.post(f"{at}/ask").json()["decision"]
        body = {"item": "boots", "decision": decision, "as_decided": True}
        assert client.post(f"{at}/explain", json=body).json() == believed
        gone = client.post(f"{at}/explain", json=body | {"decision": 1})
        assert (gone.status_code, gone.json()["error"]) == (410, "ArchivedEventsError")
