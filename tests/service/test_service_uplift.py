"""The learner against its control, kept up as the log is followed: the same by snapshots, replays and off line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import matroid_bandits as mb
from matroid_bandits.cli import app
from matroid_bandits.client import Client
from matroid_bandits.evaluation import UpliftSequence, evaluate, read_log
from matroid_bandits.service import Database, _uplift, campaign_uplift, export_campaign
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._uplift import Uplift
from service_kit import create, serving

WORTH = {"boots": 0.8, "heels": 0.2, "fedora": 0.3, "beret": 0.7}


def visits(client, at, n, rng, tags=None, answer=True):
    """Decisions in batches, answered by chance, or left open."""
    found = []
    for first in range(0, n, 100):
        count = min(100, n - first)
        asks = [{"tags": tags(first + k)} if tags else {} for k in range(count)]
        decisions = client.post(f"{at}/ask/batch", json={"requests": asks}).json()["decisions"]
        answers = [
            {
                "decision": each["decision"],
                "weights": {label: float(rng.random() < WORTH[label]) for label in each["items"]},
            }
            for each in decisions
        ]
        if answer:
            assert client.post(f"{at}/tell/batch", json={"answers": answers}).status_code == 200
        found += decisions
    return found


def by_hand(log):
    """The sequence of a log by its definition: settled decisions, in order of settlement."""
    sequence, n_told = UpliftSequence(0.0, 2.0), {}
    for _, decision, places in log.steps:
        if places is not None:
            n_told[decision.id] = n_told.get(decision.id, 0) + places.size
            if n_told[decision.id] == decision.items.size:
                sequence.add([decision.weights.sum()], [decision.is_held_out], decision.share)
    return sequence.look()


def test_kept_up_saved_read_and_told(tmp_path):
    url, rng = str(tmp_path / "c.db"), np.random.default_rng(1)
    with serving(url, snapshot_every=300) as client:
        at = create(client, holdout=0.2, answer_window=3600.0, default=0.0)
        empty = client.get(f"{at}/uplift").json()
        assert (empty["decisions"], empty["value"], empty["sequence"]) == (0, None, None)
        visits(client, at, 700, rng)
        for each in visits(client, at, 40, rng, answer=False)[:30]:  # parts, closed with and without a default
            first = each["items"][0]
            client.post(f"{at}/tell", json={"decision": each["decision"], "weights": {first: 1.0}})
            if each["decision"] % 3:
                default = 0.5 if each["decision"] % 3 == 1 else None
                client.post(f"{at}/close", json={"decision": each["decision"], "default": default})
        found = client.get(f"{at}/uplift").json()
        metrics = client.get("/metrics").text
        assert f'matroid_bandits_uplift{{campaign="ads"}} {found["value"]}' in metrics
        assert 'matroid_bandits_uplift_low{campaign="ads"}' in metrics
        with Client(str(client.base_url), "ads") as remote:
            assert remote.uplift() == found
            assert read_log(remote).frame().equals(read_log(export_campaign(client.service.database, "ads")).frame())
    database = Database(url)
    log = read_log(export_campaign(database, "ads"))
    look = by_hand(log)
    assert found["decisions"] == look.n_decisions == 700 + 10
    assert found["value"] == pytest.approx(look.value, rel=1e-12)
    assert found["sequence"] == pytest.approx(look.sequence)
    assert found["exact"] == pytest.approx(look.exact)
    assert evaluate(log, [mb.UniformRandom()]).uplift == look
    assert found["p_better"] == look.p_better < 0.05
    assert found["sequence"][0] > 0.0
    assert found["excludes_zero_since"] >= found["since"]
    assert found["points"][-1]["decisions"] == look.n_decisions
    assert campaign_uplift(database, "ads") == found  # from a snapshot and what follows it
    replica = Replica(1, "ads", {})
    for line in [*export_campaign(database, "ads")][1:-1]:
        event = json.loads(line)
        seq, when = event.pop("seq"), event.pop("at")
        replica.follow(seq, when, json.dumps(event), seq)
    assert {"seq": replica.seq} | replica.uplift.form(replica.learner) == found  # from the first event
    database.close()

    def call(*arguments):
        return CliRunner().invoke(app, ["campaign", "uplift", "ads", "--db", url, *arguments]).output

    said = call()
    assert f"over {look.n_decisions:,} settled decisions" in said
    assert "The interval has excluded zero since 20" in said
    assert json.loads(call("--json")) == found


def test_the_first_decision_of_each_value_counts_and_memory_is_bounded(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    with serving(str(tmp_path / "c.db")) as client:
        at = create(client, holdout={"share": 0.3, "by": "visitor"})
        visits(client, at, 400, rng, tags=lambda n: {"visitor": n // 4})
        found = client.get(f"{at}/uplift").json()
        log = read_log(export_campaign(client.service.database, "ads"))
    assert (found["decisions"], found["unit"], found["counted"]) == (100, "visitor", 1.0)
    assert found["value"] == pytest.approx(evaluate(log, [mb.UniformRandom()]).uplift.value)
    monkeypatch.setattr(_uplift, "MOST_UNITS", 32)
    replica = Replica(1, "ads", {})
    for event in log.events:
        form = {key: value for key, value in event.form.items() if key not in ("seq", "at")}
        replica.follow(event.number, event.at, json.dumps(form), event.number)
    thinned = replica.uplift
    assert len(thinned._units) <= 32
    assert thinned.counted <= 0.25
    assert 32 < thinned.sequence.n_decisions < 100
    again = Uplift.from_dict(json.loads(json.dumps(thinned.to_dict())))
    assert again.form(replica.learner) == thinned.form(replica.learner)
    assert again._units == thinned._units


def test_points_are_bounded_and_a_new_control_begins_anew(monkeypatch):
    monkeypatch.setattr(_uplift, "MOST_POINTS", 8)
    uplift, rng = Uplift(), np.random.default_rng(3)
    learner = mb.Learner(mb.UniformMatroid(2, 1), mb.OMM(), seed=0, minimize=True, holdout=0.5)
    for n in range(300):
        is_held_out = bool(rng.random() < 0.5)
        uplift.ask({"decision": n, "items": [0]} | ({"held_out": True} if is_held_out else {}), learner)
        uplift.tell(n, [float(rng.random() < (0.9 if is_held_out else 0.1))], 61.0 * n, learner)
    assert 4 <= len(uplift.points) <= 8
    assert uplift.points[-1][0] == 61.0 * 299
    assert uplift.sequence.look().value > 0.5  # a gain, although weights are costs
    assert uplift.excludes_zero_since is not None
    uplift.ask({"decision": 300, "items": [0]}, learner)
    uplift.tell(300, [7.0], 61.0 * 300, learner)  # beyond the scale
    assert (uplift.sequence.low, uplift.sequence.high) == (-7.0, 0.0)
    learner.configure(holdout=mb.Holdout(0.5, control=mb.FixedSet([0])))
    uplift.configure(learner)
    assert uplift.sequence is None
    assert uplift.points == []


def test_a_snapshot_of_an_earlier_version_is_made_good(tmp_path):
    assert not Uplift.from_dict(None).is_complete
    with pytest.raises(ValueError, match="uplift sequence"):
        Uplift.from_dict(Uplift().to_dict() | {"sequence": {}})
