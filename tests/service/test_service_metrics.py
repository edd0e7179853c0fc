"""What Prometheus is told, sentence by sentence."""

from __future__ import annotations

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.exc import OperationalError

import matroid_bandits as mb
from matroid_bandits.service._history import History
from service_kit import create, serving, until

pytestmark = pytest.mark.compiled


def figures_of(client):
    """Every sample of the page, by its name and labels."""
    page = client.get("/metrics").text
    return {
        (sample.name.removeprefix("matroid_bandits_"), *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def of(name, campaign="ads", **labels):
    return (name, *sorted((labels | {"campaign": campaign}).items()))


def test_what_happened_to_a_campaign_is_told(url):
    with serving(url) as client:
        at = create(client, holdout=0.5)
        n_held_out, weights = 0, {False: 0.0, True: 0.0}
        for k in range(1, 9):
            is_held_out = client.post(f"{at}/ask").json()["held_out"]
            n_held_out += is_held_out
            if k <= 6:
                client.post(f"{at}/tell", json={"decision": k, "weights": [0.25, 0.5]})
                weights[is_held_out] += 0.75
        client.post(f"{at}/close", json={"decision": 7})
        found = figures_of(client)
        assert 0 < n_held_out < 8
        assert found[of("decisions_total", held_out="true")] == n_held_out
        assert found[of("decisions_total", held_out="false")] == 8 - n_held_out
        answered = [found[of("answered_decisions_total", held_out=each)] for each in ("true", "false")]
        assert sum(answered) == 6
        for is_held_out, text in ((False, "false"), (True, "true")):
            assert found[of("weight_sum", held_out=text)] == pytest.approx(weights[is_held_out])
        assert found[of("items_told_total")] == 12
        assert found[of("closed_decisions_total")] == 1
        assert found[of("expired_decisions_total")] == 0
        assert found[of("waiting_decisions")] == 1
        assert found[of("events")] == client.get(at).json()["seq"]
        assert found[of("lag_events")] == 0
        assert found[of("alarms")] == 0
    with serving(url) as client:  # sums are the log's, and outlive the process
        until(lambda: client.get("/readyz").status_code == 200)
        assert figures_of(client)[of("decisions_total", held_out="true")] == n_held_out


def test_what_expired_is_told(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client, answers="all", answer_window=0.05, default=0.0)
        client.post(f"{at}/ask")
        until(lambda: figures_of(client)[of("expired_decisions_total")] == 1)
        assert figures_of(client)[of("waiting_decisions")] == 0


def test_requests_are_told_by_route_and_status_and_the_process_by_its_build(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client)
        client.post(f"{at}/ask")
        client.post(f"{at}/tell", json={"decision": 99, "weights": [0.0, 0.0]})
        client.get("/nothing/there")
        client.get("/login")
        found = figures_of(client)

        def requests(endpoint, status):
            return found["requests_total", ("endpoint", endpoint), ("status", status)]

        ask = "POST /v1/campaigns/{name}/ask"
        assert requests(ask, "200") == 1
        assert requests("POST /v1/campaigns/{name}/tell", "404") == 1
        assert requests("other", "404") == 1
        assert requests("GET /login", "303") == 1
        assert found["request_seconds_count", ("endpoint", ask)] == 1
        assert found["request_seconds_bucket", ("endpoint", ask), ("le", "+Inf")] == 1
        assert found["ready",] == 1
        assert found["connections",] >= 1
        assert found["process_resident_memory_bytes",] > 0
        assert any(name == "build_info" and dict(labels)["numpy"] == np.__version__ for name, *labels in found)


def test_snapshots_replays_and_errors_of_the_database_are_told(tmp_path, monkeypatch):
    url = str(tmp_path / "campaigns.db")
    with serving(url, snapshot_every=5) as client:
        at = create(client)
        for _ in range(6):
            client.post(f"{at}/ask")
        until(lambda: figures_of(client).get(("snapshots_total", ("result", "written"))))
        assert figures_of(client)[of("unsaved_events")] < 5
        n_events = client.get(at).json()["seq"]
        refused = OperationalError("INSERT", {}, Exception("disk I/O error"))
        with monkeypatch.context() as patch:
            patch.setattr(client.service.database, "append", lambda *_: (_ for _ in ()).throw(refused))
            assert client.post(f"{at}/ask").status_code == 503
        assert figures_of(client)["database_errors_total", ("kind", "commit")] == 1
        assert client.post(f"{at}/ask").status_code == 200
    with serving(url, snapshot_every=5) as client:
        until(lambda: client.get("/readyz").status_code == 200)
        found = figures_of(client)
        assert found["loaded_campaigns_total",] == 1
        assert 0 <= found["replayed_events_total",] <= n_events
        assert found["replay_seconds_total",] > 0


def test_what_is_refused_before_a_key_is_read_is_told(tmp_path):
    with serving(str(tmp_path / "campaigns.db"), max_url=100) as client:
        assert client.get("/" + "x" * 200).status_code == 414
        assert figures_of(client)["refused_connections_total", ("status", "414")] == 1


def test_a_history_of_an_earlier_version_has_no_decisions_drawn_at_random():
    history = History()
    form = history.to_dict() | {"sums": [1.0, 2.0, 0.5, 1.0, 0.0, 0.0]}
    form["levels"] |= {"86400": [[0, [3.0, 4.0, 1.5, 2.0, 0.0, 1.0, 5.0]]]}
    again = History.from_dict(form)
    assert again.totals() == [4.0, 6.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert again.buckets(86400)[0]["waiting"] in (0, 5)


def test_names_of_items_that_are_gone_are_counted(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client)
        body = {"exclude": ["boots", "gone"], "available": ["heels", "past", "beret"], "unknown": "ignore"}
        assert client.post(f"{at}/ask", json=body).json()["items"] == ["heels", "beret"]
        assert client.post(f"{at}/ask/batch", json={"requests": [body, {}]}).is_success
        assert client.post(f"{at}/preview", json=body).is_success
        assert figures_of(client)[of("unknown_items_total")] == 4
        assert client.post(f"{at}/ask", json=body | {"unknown": "raise"}).status_code == 422
        assert client.post(f"{at}/ask", json={"pinned": ["gone"], "unknown": "ignore"}).status_code == 422
        with mb.Client(str(client.base_url), "ads") as remote:
            assert "boots" not in remote.ask(exclude=["boots", "gone"], unknown="ignore").labels
