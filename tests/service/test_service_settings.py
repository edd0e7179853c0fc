"""A campaign gets other settings while it runs: over HTTP, by a command, by the file of a server."""

import json
import logging

import pytest
import sqlalchemy as sa

import matroid_bandits as mb
from matroid_bandits import service
from matroid_bandits.exceptions import CampaignStateError, DataError, PolicyError, UnknownCampaignError
from matroid_bandits.service import Database, create_key, in_words
from matroid_bandits.service._tables import events, keys, requests, snapshots
from matroid_bandits.specs import read_campaign
from service_kit import ADS, create, serving, started, until

FILE = """
name = "ads"
title = "Shoes"
policy = "OMM"
holdout = 0.0
seed = 1
answer_window = 3600
[matroid]
kind = "partition"
category = "slot"
rows = [
  {item = "boots", slot = "left"}, {item = "heels", slot = "left"},
  {item = "fedora", slot = "right"}, {item = "beret", slot = "right"},
]
"""
EDITED = (
    FILE.replace('"Shoes"', '"Boots"').replace('"OMM"', '"KLOSM"').replace("0.0", '{share = 0.25, by = "visitor"}')
)
EDITED = EDITED.replace("3600", "60\ndefault = 0.0").replace('"heels"', '"mocs"')

WORDS = [
    "items: mocs came; heels went",
    'policy: {"policy":"OMM","scale":1.0} -> {"policy":"KLOSM","c":0.0}',
    'holdout: 0.0 -> {"share":0.25,"by":"visitor"}',
    'answers: "all" -> "clicks"',
    'title: "Shoes" -> "Boots"',
    "answer_window: 3600.0 -> 60.0",
    "default: null -> 0.0",
]


@pytest.fixture
def database(url):
    database = Database(url)
    database.open()
    yield database
    database.close()


def written(tmp_path, text):
    (tmp_path / "ads.toml").write_text(text)
    return read_campaign(tmp_path / "ads.toml")


def kinds(client, at):
    return [event["event"] for event in client.get(f"{at}/events?limit=10000").json()["events"]]


def test_other_settings_over_http(url):
    with serving(url) as client:
        at = create(client, title="Shoes", answer_window=3600)
        for n in range(1, 6):
            client.post(f"{at}/ask")
            client.post(f"{at}/tell", json={"decision": n, "weights": [0.5, 1.0]})
        waits = client.post(f"{at}/ask").json()
        body = {"title": "Boots", "policy": {"policy": "ThompsonSampling", "prior": "normal"}, "default": 0.0,
                "holdout": {"share": 0.25, "by": "visitor"}, "answer_window": None}  # fmt: skip
        dry = client.put(f"{at}?dry_run=true", json=body).json()
        assert (dry["applied"], dry["title"], dry["policy"]["policy"]) == (False, "Shoes", "OMM")
        n_events = len(kinds(client, at))
        done = client.put(at, json=body).json()
        assert done["differences"] == dry["differences"]
        assert [each["setting"] for each in done["differences"]] == [
            "policy", "holdout", "title", "answer_window", "default"
        ]  # fmt: skip
        assert done["differences"][2] == {"setting": "title", "before": "Shoes", "after": "Boots"}
        assert (done["applied"], done["title"], done["holdout"], done["holdout_by"]) == (
            True,
            "Boots",
            0.25,
            "visitor",
        )
        assert (done["answer_window"], done["default"], done["policy"]["prior"]) == (None, 0.0, "normal")
        assert kinds(client, at)[n_events:] == ["configured", "adjusted"]
        assert sum(client.get(f"{at}/estimates").json()["counts"]) == 10  # what was learnt is there
        assert client.put(at, json=body).json()["differences"] == []
        assert client.put(at, json={}).json()["differences"] == []
        assert len(kinds(client, at)) == n_events + 2
        assert client.post(f"{at}/tell", json={"decision": waits["decision"], "weights": [1, 1]}).is_success
        asked = client.post(f"{at}/ask", json={"tags": {"visitor": "ann"}}).json()
        assert asked["tags"] == {"visitor": "ann"}
        assert client.get(f"{at}/events?limit=10000").json()["events"][-1]["tags"] == {"visitor": "ann"}
        assert client.get("/v1/campaigns").json()["campaigns"][0]["title"] == "Boots"
        shown = client.get(at).json()
    with serving(url) as client:  # and after a restart, from the log
        again = client.get(at).json()
        assert again == shown
        marks = [mark["text"] for mark in client.get(f"{at}/history").json()["marks"]]
        assert marks[-2:] == [
            "the settings are ThompsonSampling, 0.25 held out by visitor",
            "changed: title, answer window, default",
        ]


def test_a_second_server_takes_other_settings_over(url):
    with serving(url) as one, serving(url) as two:
        at = create(one)
        until(lambda: two.get(at).is_success)
        two.post(f"{at}/ask")
        one.put(at, json={"policy": "KLOSM", "title": "Boots"})
        assert two.post(f"{at}/ask").is_success
        shown = two.get(at).json()
        assert (shown["policy"]["policy"], shown["title"]) == ("KLOSM", "Boots")
        assert (one.get(at).json()["status"], shown["status"]) == ("active", "active")


def test_items_come_and_go_where_the_rules_stay(url):
    with serving(url) as client:
        at = create(client)
        done = client.put(at, json={"add": {"mocs": "left"}, "remove": ["heels"]}).json()
        assert done["differences"] == [{"setting": "items", "came": ["mocs"], "went": ["heels"]}]
        assert done["n_items"] == 4
        event = client.get(f"{at}/events").json()["events"][-1]
        assert (event["event"], event["came"], event["went"]) == ("changed", ["mocs"], ["heels"])
        body = {"add": [["scarf", "neck"]], "capacities": {"neck": 1}, "priors": {"scarf": [0.5, 2]}}
        assert client.put(at, json=body).json()["rank"] == 3
        for wrong, words in (
            ({"add": {"tie": "neck ties"}}, "expected the block of 'tie' to be one that is there"),
            ({"add": {"boots": "left"}}, "which is there already"),
            ({"remove": ["heels"]}, "which is not there"),
            ({"add": {"tie": "neck"}, "matroid": ADS}, "the whole catalogue, or what comes and goes"),
        ):
            refused = client.put(at, json=wrong)
            assert refused.status_code == 422
            assert words in refused.json()["detail"]
        whole = client.put(at, json={"matroid": ADS}).json()
        assert whole["differences"][0]["came"] == ["heels"]


def test_what_cannot_be_is_refused_and_nothing_is_half_changed(url):
    with serving(url) as client:
        at = create(client)
        client.post(f"{at}/ask")
        client.post(f"{at}/tell", json={"decision": 1, "weights": [5.0, 5.0]})
        before, n_events = client.get(at).json(), len(kinds(client, at))
        for body, words in (
            ({"title": "x", "policy": "KLOSM"}, "restart=True starts anew"),
            ({"add": {"mocs": "left"}, "policy": {"policy": "SlidingWindowOMM", "window": 5}}, "restart=True"),
            ({"policy": "OM"}, "did you mean 'OMM'"),
            ({"seed": 2}, "seed: expected 1, which cannot change; got 2"),
            ({"direction": "minimize"}, "direction: expected maximize, which cannot change"),
            ({"holdout": 2}, "expected holdout to be a number in [0, 1], got 2"),
            ({"answer_window": -1}, "expected seconds"),
            ({"polcy": "OMM"}, "did you mean 'policy'"),
            ({"policy": {"policy": "KLOSM"}, "restart": True, "default": 3.0}, "default: expected a weight that"),
        ):
            for path in (at, f"{at}?dry_run=true"):
                refused = client.put(path, json=body)
                assert refused.status_code == 422, body
                assert words in refused.json()["detail"], refused.json()
        assert client.get(at).json() == before
        assert len(kinds(client, at)) == n_events
        late = client.post(f"{at}/ask").json()
        done = client.put(at, json={"policy": "KLOSM", "restart": True}).json()
        assert [each["setting"] for each in done["differences"]] == ["policy", "restart"]
        for label in late["items"]:  # taken, and not counted
            body = {"decision": late["decision"], "weights": {label: 1.0}}
            assert client.post(f"{at}/tell", json=body).json()["waiting"] == (label == late["items"][0])
        assert sum(client.get(f"{at}/estimates").json()["counts"]) == 0
        assert client.post(f"{at}/archive").is_success
        assert client.put(at, json={"title": "x"}).status_code == 409
        read = create_key(client.service.database, "read")
        client.service.keys.refresh()
        assert client.put(at, json={"title": "x"}, headers={"Authorization": f"Bearer {read}"}).status_code == 403


def test_a_put_with_an_id_happens_once(url):
    with serving(url) as client:
        at = create(client)
        headers = {"Idempotency-Key": "once"}
        first = client.put(at, json={"title": "Boots"}, headers=headers)
        again = client.put(at, json={"title": "Boots"}, headers=headers)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.json() == first.json()
        assert client.put(at, json={"title": "Hats"}, headers=headers).status_code == 409


def test_a_client_configures(url):
    ours = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM(), seed=1)
    with serving(url) as http, mb.Client(str(http.base_url), "ads") as client:
        client.create(ours.constraint, mb.OMM(), seed=1)
        for n in range(8):
            for learner in (client, ours):
                if n == 3:
                    learner.configure(policy=mb.ThompsonSampling(), holdout=mb.Holdout(0.5, by="visitor"))
                if n == 6:
                    learner.configure(policy=mb.SlidingWindowOMM(5), restart=True)
            wanted = {"tags": {"visitor": n % 3}}
            one, two = client.ask(**wanted), ours.ask(**wanted)
            assert (one.labels, one.is_held_out, one.tags) == (two.labels, two.is_held_out, two.tags)
            for learner, decision in ((client, one), (ours, two)):
                learner.tell(decision, [0.25, 0.75])
        assert client.holdout == ours.holdout == mb.Holdout(0.5, by="visitor")
        with pytest.raises(PolicyError, match="restart=True starts anew"):
            client.configure(policy=mb.SlidingWindowOMM(6))
        (found,) = client.update({"title": "Boots"}, dry_run=True)
        assert found == {"setting": "title", "before": "", "after": "Boots"}
        assert client.show()["title"] == ""
        client.update({"add": {"d": None}})
        assert client.constraint.labels == ("a", "b", "c", "d")


def test_a_command_applies_a_file(url, database, tmp_path):
    spec, place = written(tmp_path, FILE)
    service.create_campaign(database, spec, place)
    with pytest.raises(CampaignStateError, match="a name that is free"):
        service.create_campaign(database, spec, place)
    assert service.apply_campaign(database, spec, place) == []
    spec, place = written(tmp_path, EDITED)
    with serving(url) as client:
        at = "/v1/campaigns/ads"
        client.post(f"{at}/ask")
        dry = service.apply_campaign(database, spec, place, is_dry=True)
        assert in_words(dry) == WORDS
        assert len(kinds(client, at)) == 2
        assert service.apply_campaign(database, spec, place) == dry
        assert service.apply_campaign(database, spec, place) == []
        shown = client.get(at).json()  # a server that runs
        assert (shown["title"], shown["policy"]["policy"], shown["answer_window"]) == ("Boots", "KLOSM", 60)
        assert kinds(client, at) == ["created", "asked", "changed", "configured", "adjusted"]
        changed = client.get(f"{at}/events").json()["events"][2:]
        assert {event["by"] for event in changed} == {"command line"}
        assert client.post(f"{at}/ask").is_success
    with pytest.raises(UnknownCampaignError):
        service.apply_campaign(database, spec.model_copy(update={"name": "other"}), place)
    with pytest.raises(DataError, match="seed: expected 1, which cannot change"):
        service.apply_campaign(database, spec.model_copy(update={"seed": 9}), place)


def test_a_backup_and_a_repair_have_the_terms_of_their_moment(url, database, tmp_path):
    spec, place = written(tmp_path, FILE)
    service.create_campaign(database, spec, place)
    service.apply_campaign(database, *written(tmp_path, EDITED))
    lines = list(service.export_campaign(database, "ads"))
    assert json.loads(lines[0])["spec"]["title"] == "Boots"
    service.restore(database, lines, name="again")
    with database.reading() as connection:
        assert json.loads(database.find(connection, "again").spec)["title"] == "Boots"
    service.repair(database, "again", lambda lines: list(lines), after=2)
    with database.reading() as connection:
        row = database.find(connection, "again")
        assert (json.loads(row.spec)["title"], json.loads(row.spec)["answer_window"]) == ("Shoes", 3600)


def test_pause_resume_archive_and_delete(url, database, tmp_path):
    spec, place = written(tmp_path, FILE)
    service.create_campaign(database, spec, place)
    key = create_key(database, "decide", campaign="ads")
    admin = create_key(database, "admin")
    with serving(url, key=admin) as client:
        at = "/v1/campaigns/ads"
        assert client.post(f"{at}/ask", headers={"Idempotency-Key": "x"}).is_success
        service.move_campaign(database, "ads", "pause")
        service.move_campaign(database, "ads", "pause")
        assert client.post(f"{at}/ask").status_code == 409
        service.move_campaign(database, "ads", "resume")
        assert client.post(f"{at}/ask").is_success
        service.move_campaign(database, "ads", "archive")
        with pytest.raises(CampaignStateError, match="expected a campaign that is paused, got"):
            service.move_campaign(database, "ads", "resume")
        assert client.post(f"{at}/ask").status_code == 409
        assert kinds(client, at) == ["created", "asked", "paused", "resumed", "asked", "archived"]
        service.delete_campaign(database, "ads")
        assert client.get(at).status_code == 404  # at once, on a server that has it in memory
        assert client.post(f"{at}/ask").status_code == 404
        with database.reading() as connection:
            for table in (events, snapshots, requests):
                assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0
            (revoked,) = connection.execute(sa.select(keys.c.revoked).where(keys.c.id == key.split("_")[1])).one()
        assert revoked is not None
        at = create(client)  # the name is free
        assert client.post(f"{at}/ask").json()["decision"] == 1
    with pytest.raises(UnknownCampaignError):
        service.delete_campaign(database, "other")


def test_a_deleted_campaign_is_gone_for_requests_that_write_first(url, database, tmp_path):
    spec, place = written(tmp_path, FILE)
    service.create_campaign(database, spec, place)
    with serving(url, tick=60.0) as client:
        assert client.post("/v1/campaigns/ads/ask").is_success
        service.delete_campaign(database, "ads")
        assert client.post("/v1/campaigns/ads/ask").status_code == 404
        service.create_campaign(database, spec, place)
        assert client.post("/v1/campaigns/ads/ask").json()["decision"] == 1


def test_a_server_says_loudly_that_a_file_differs_and_applies_it_when_told(url, tmp_path, caplog):
    with started(url) as running:
        running.prepare([written(tmp_path, FILE)])()
        with caplog.at_level(logging.INFO, "matroid_bandits.service"):
            running.prepare([written(tmp_path, FILE)])()
        assert "campaign ads is there already, as its file says" in caplog.text
        caplog.clear()
        running.prepare([written(tmp_path, EDITED)])()
        said = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert [record.getMessage() for record in said[:-1]] == [
            f"campaign ads differs from its file: {line}" for line in WORDS
        ]
        assert "serve --apply, or campaign apply" in said[-1].getMessage()
        caplog.clear()
        running.prepare([written(tmp_path, EDITED)], is_applied=True)()
        assert "campaign ads now is as its file: " + WORDS[1] in caplog.text
        caplog.clear()
        running.prepare([written(tmp_path, EDITED)])()
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
        running.prepare([written(tmp_path, EDITED.replace("seed = 1", "seed = 2"))], is_applied=True)()
        assert "campaign ads stays as it is: its file cannot be applied" in caplog.text
