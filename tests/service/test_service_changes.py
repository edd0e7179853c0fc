"""Who changed a campaign, and what came and went."""

from matroid_bandits.service import Database, create_key, move_campaign
from service_kit import create, serving


def test_every_change_says_by_whom_and_what_came_and_went(url):
    database = Database(url)
    database.open()
    key = create_key(database, "admin", about="editor")
    id = key.split("_")[1]
    ads = "/v1/campaigns/ads"
    with serving(url, key=key) as client:
        create(client, "ads")
        rows = [{"item": name, "slot": "left"} for name in ("boots", "mocs", "clogs")]
        matroid = {"kind": "partition", "category": "slot", "rows": rows}
        assert client.post(f"{ads}/change", json={"matroid": matroid}).is_success
        for verb, body in (("restart", {"items": ["boots"]}), ("pause", {}), ("resume", {}), ("pause", {})):
            assert client.post(f"{ads}/{verb}", json=body).is_success
        move_campaign(database, "ads", "resume")
        events = client.get(f"{ads}/events").json()["events"]
        kinds = ["created", "changed", "restarted", "paused", "resumed", "paused", "resumed"]
        assert [event["event"] for event in events] == kinds
        assert [event["by"] for event in events] == [id] * 6 + ["command line"]
        assert (events[1]["came"], events[1]["went"]) == (["mocs", "clogs"], ["heels", "fedora", "beret"])
        marks = client.get(f"{ads}/history").json()["marks"]
        assert [mark["by"] for mark in marks] == [id] * 6 + ["command line"]
        assert marks[1]["text"] == "the items were changed: mocs, clogs came, heels, fedora, beret went"
    with serving(url, key=key) as client:  # the same after a restart
        assert client.get(f"{ads}/history").json()["marks"] == marks
    database.close()


def test_where_there_are_no_keys_nothing_is_said_of_them(tmp_path):
    with serving(str(tmp_path / "c.db")) as client:
        create(client, "ads")
        assert client.post("/v1/campaigns/ads/pause").is_success
        assert all("by" not in event for event in client.get("/v1/campaigns/ads/events").json()["events"])
        rows = [f"item-{n}" for n in range(9)]
        client.post("/v1/campaigns/ads/change", json={"matroid": {"kind": "uniform", "rows": rows, "rank": 1}})
        (mark,) = (m for m in client.get("/v1/campaigns/ads/history").json()["marks"] if m["kind"] == "changed")
        assert mark["by"] is None
        assert "item-0, item-1, item-2, item-3, item-4 and 4 more came" in mark["text"]
