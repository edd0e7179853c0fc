"""The log of a server that is killed and changed on the way has the learner's own sums."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.evaluation import evaluate, read_log
from matroid_bandits.service import Database, export_campaign
from service_nursery import nursery, wait_until_ready
from service_visitors import free_ports

BEFORE = {"a": "left", "b": "left", "c": "left", "d": "right", "e": "right"}
AFTER = {"b": "left", "new": "left", "c": "left", "e": "right", "d": "right"}


@pytest.mark.long
def test_kills_changes_late_answers_defaults_and_settings(tmp_path):
    (port,) = free_ports(1)
    url, rng = tmp_path / "campaigns.db", np.random.default_rng(0)
    with nursery() as servers, mb.Client(f"http://127.0.0.1:{port}", "ads", timeout=240.0) as client:

        def start():
            pid = servers.start(url, port, snapshot_every=40)
            wait_until_ready(port)
            return pid

        def visits(n, default=0.25):
            """Decisions of which most are answered, some in part; some are closed, and a few wait."""
            waiting = []
            for k, decision in enumerate(client.ask_batch([{}] * n)):
                told = {label: float(rng.random()) for label in decision.labels}
                if k % 5 == 0:
                    told.popitem()
                if k % 7 == 3:
                    waiting.append(decision)
                    continue
                client.tell(decision, told)
                if k % 5 == 0 and k % 2:
                    client.close(decision, default=default if k % 3 else None)
            return waiting

        pid = start()
        client.create(mb.PartitionMatroid(BEFORE), mb.OMM(), seed=1, holdout=0.3)
        late = visits(40)
        servers.end(pid)
        pid = start()
        late += visits(30)
        client.change(mb.PartitionMatroid(AFTER))
        for decision in late[:6]:  # of items of which some have left
            client.tell(decision, {label: float(rng.random()) for label in decision.labels})
        client.configure(policy=mb.KLOSM(), holdout=0.6)
        late = visits(40)
        servers.end(pid)
        pid = start()
        client.close_before(late[2].id, default=0.5)
        visits(20, default=1.0)
        estimates = client.estimates()
        remote = read_log(client)
    database = Database(str(url))
    log = read_log(export_campaign(database, "ads"))
    database.close()
    frame = log.frame()
    assert remote.frame().equals(frame)
    assert {*frame["source"]} == {"told", "default", "waiting", "lost"}
    known = frame[frame["weight"].notna()].groupby("item")["weight"]
    counts, sums = known.count(), known.sum()
    assert {*estimates.labels} == {*AFTER}
    for label, count, mean in zip(estimates.labels, estimates.counts, estimates.means, strict=True):
        assert counts[label] == count > 0
        assert sums[label] == pytest.approx(count * mean)
    replayed = log.learner().estimates()
    assert replayed.counts.tolist() == estimates.counts.tolist()
    assert [each.share for each in log.decisions] == [0.3] * 70 + [0.6] * 60
    found = evaluate(log, {"random": mb.UniformRandom()})
    assert found.played.n_decisions + found.n_open + found.n_lost == 130
    assert abs(found.estimates["random"].balance) < 4
