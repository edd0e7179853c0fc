"""Campaigns on constraints that are no matroids: decisions of the library, words of the page, changes, restarts."""

import matroid_bandits as mb
from service_kit import create, serving

PAIRS = {"kind": "assignment", "row": "courier", "column": "order", "rows": [
    {"courier": courier, "order": order} for courier in ("ann", "bob") for order in "xy"
]}  # fmt: skip
RING = {"kind": "path", "begin": "a", "end": "d", "rows": [
    {"source": u, "target": v} for u, v in ("ab", "bc", "cb", "bd", "cd")
]}  # fmt: skip
STORIES = [{"item": "p", "topic": "s", "seller": "x"}, {"item": "q", "topic": "s", "seller": "y"}]
QUOTAS = {"kind": "intersection", "parts": [
    {"kind": "partition", "category": column, "rows": STORIES} for column in ("topic", "seller")
]}  # fmt: skip


def test_campaigns_of_matchings_paths_and_two_quotas(tmp_path):
    url = str(tmp_path / "shapes.db")
    pairs = mb.AssignmentConstraint.between(["ann", "bob"], ["x", "y"], labels=["ann-x", "ann-y", "bob-x", "bob-y"])
    learner = mb.Learner(pairs, mb.OMM(), seed=1)
    with serving(url) as client:
        at = create(client, matroid=PAIRS)
        ring = create(client, name="ring", matroid=RING, direction="minimize")
        page = create(client, name="page", matroid=QUOTAS)
        for n in range(1, 12):
            wanted = [{}, {"exclude": ["ann-x"]}, {"pinned": ["bob-y"]}][n % 3]
            decision, ours = client.post(f"{at}/ask", json=wanted).json(), learner.ask(**wanted)
            assert (decision["items"], decision["full"]) == (list(ours.labels), ours.is_full)
            weights = {label: (n * len(label) + ord(label[-1])) % 7 / 7 for label in ours.labels}
            client.post(f"{at}/tell", json={"decision": n, "weights": weights})
            learner.tell(n, weights)
        explained = client.post(f"{at}/explain", json={"item": "ann-x"}).json()
        assert explained["text"] == str(learner.explain("ann-x"))
        assert "forced" in explained["text"]
        pinned = client.post(f"{ring}/ask", json={"pinned": ["b-c"]})
        assert pinned.status_code == 422
        assert "paths through given arcs are NP-hard" in pinned.text
        refused = client.post("/v1/campaigns", json={"name": "more", "constraint": RING, "policy": "OMM"})
        assert refused.status_code == 422
        assert "expected weights that are costs" in refused.text
        rules = [client.get(campaign).json().get("rule") for campaign in (at, ring, page)]
        assert rules == [
            "each courier one order, each order one courier (2 and 2)",
            "a path from a to d",
            "at most 1 of one category and at most 1 of each of 2 categories; 1 at most",
        ]
    with serving(url) as client:  # from the log, or a snapshot
        assert client.post(f"{at}/ask", json={}).json()["items"] == list(learner.ask().labels)
        assert client.post(f"{page}/change", json={"constraint": {**QUOTAS}}).status_code == 200
