"""What a visit costs in bytes; `pytest -s` prints it."""

import json
import uuid

import pytest

from service_kit import serving

N_VISITS = 200

#: Bytes of a visit, an ask and a tell of ten of a hundred items, each with an id: 1,090 at 45f5556 on SQLite.
MOST = {"sqlite": 1080, "postgresql": 1500}

ROWS = [{"item": f"article-{k:04}", "topic": f"topic-{k % 10}"} for k in range(100)]


def test_what_a_visit_costs(url, tmp_path, capsys):
    name = "postgresql" if url.startswith("postgresql") else "sqlite"
    more = {"archive": str(tmp_path / "old"), "keep_events": 1, "snapshot_every": 10**6}
    with serving(url, **more) as client:
        body = {"name": "front", "matroid": {"kind": "partition", "category": "topic", "rows": ROWS}, "policy": "OMM"}
        assert client.post("/v1/campaigns", json={**body, "seed": 1}).status_code == 201
        visit(client, 50)
        before = size(client, name)
        visit(client, N_VISITS)
        fresh = (size(client, name) - before) / N_VISITS
        stored = client.get("/v1/campaigns/front/sizes").json()
        archive = client.service.archive
        with client.service.database.reading() as connection:
            found = [*client.service.database.log(connection, 1)]
        archive.write("front", "0" * 12, "", 1, len(found), [(e.seq, e.at, e.payload) for e in found])
        archived = archive.sizes()["front"][1] / (N_VISITS + 50)
    events = 2.0 * stored["event_bytes"] / stored["events"]
    with capsys.disabled():
        print(f"\na visit on {name}: {fresh:.0f} bytes, {events:.0f} of them in events; {archived:.0f} in an archive")
    assert fresh <= MOST[name]
    assert archived <= 0.25 * events


def visit(client, n):
    at = "/v1/campaigns/front"
    for _ in range(n):
        asked = client.post(f"{at}/ask", headers={"Idempotency-Key": str(uuid.uuid4())}).json()
        weights = {item: float((asked["decision"] * 7 + k) % 5 == 0) for k, item in enumerate(asked["items"])}
        body = json.dumps({"decision": asked["decision"], "weights": weights})
        headers = {"Idempotency-Key": str(uuid.uuid4()), "Content-Type": "application/json"}
        assert client.post(f"{at}/tell", content=body, headers=headers).status_code == 200


def size(client, name):
    if name == "sqlite":
        with client.service.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
    sizes = client.get("/v1/campaigns/front/sizes").json()
    return sizes["database_bytes"] - sizes["database_free_bytes"]


pytestmark = pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
