"""Campaigns on constraints that are no matroids: decisions of the library, words of the page, changes, restarts."""

import numpy as np

import matroid_bandits as mb
from budget_world import allowed_sets, best_of, random_basket, random_request
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


def test_campaigns_of_budgets_and_named_quotas_change_by_update(tmp_path):
    """Costs, budgets, items and categories of a campaign are changed; its decisions are those of the library."""
    notes = {"kind": "knapsack", "budget": 100, "unit": "tokens", "group": "source", "rows": [
        {"item": "a", "cost": 60, "source": "x"}, {"item": "b", "cost": 50}, {"item": "c", "cost": 40, "source": "x"},
    ]}  # fmt: skip
    rows = [{"item": "p", "section": "s", "brand": "x"}, {"item": "q", "section": "s", "brand": "y"}]
    page = {"kind": "quotas", "most": {"section": 2, "brand": 1}, "total": 6, "rows": rows}
    url = str(tmp_path / "budgets.db")
    learner = mb.Learner(
        mb.KnapsackConstraint({"a": 60, "b": 50, "c": 40}, 100, {"a": "x", "c": "x"}, unit="tokens"), mb.OMM(), seed=1
    )
    with serving(url) as client:
        at, shop = create(client, matroid=notes), create(client, name="shop", matroid=page)
        assert client.get(at).json()["rule"] == "items that cost at most 100 tokens, at most one of a group"
        assert client.get(shop).json()["rule"] == "at most 2 of each section, at most 1 of each brand, 6 in all"
        assert client.get(shop).json()["categories"] == [{"name": "s", "most": 2}]
        for n in range(20):
            if n == 10:
                body = {"add": {"d": {"cost": 20, "group": "y"}}, "change": {"a": 30}, "budget": 80}
                assert client.put(at, json=body).json()["differences"][0]["came"] == ["d"]
                costs = {"a": 30, "b": 50, "c": 40, "d": 20}
                groups = {"a": "x", "c": "x", "d": "y"}
                learner.change(mb.KnapsackConstraint(costs, 80, groups, unit="tokens"))
            decision, ours = client.post(f"{at}/ask").json(), learner.ask()
            assert decision["items"] == list(ours.labels)
            weights = {label: (n + k) % 3 / 2 for k, label in enumerate(ours.labels)}
            client.post(f"{at}/tell", json={"decision": ours.id, "weights": weights})
            learner.tell(ours, weights)
        said = client.post(f"{at}/explain", json={"item": "b"})
        assert said.json()["text"] == str(learner.explain("b"))
        priors = client.put(at, json={"add": {"e": {"cost": 5, "group": "x"}}, "priors": ["typical", 3]})
        assert priors.status_code == 200
        ((_, mean, plays),) = client.get(f"{at}/events").json()["events"][-1]["priors"]
        learner.change(
            mb.constraints.edited(learner.constraint, {"e": {"cost": 5, "group": "x"}}), priors=("typical", 3)
        )
        assert (mean, plays) == (learner.explain("e").mean, 3.0)
        refused = client.post(f"{at}/ask", json={"pinned": ["a", "b", "d"]})
        assert (refused.status_code, "they cost 100 tokens, the budget is 80" in refused.json()["detail"]) == (
            422,
            True,
        )
        half = client.put(at, json={"change": {"a": 2.5}})
        assert (half.status_code, "2.5: scale costs and budget" in half.json()["detail"]) == (422, True)
        update = {"add": {"r": {"section": "t", "brand": "z"}}, "change": {"p": ["t", "x"]}, "remove": ["q"]}
        assert client.put(shop, json=update).json()["differences"][0]["went"] == ["q"]
        assert client.get(shop).json()["categories"] == [{"name": "t", "most": 2}]
        refused = client.put(shop, json={"add": {"u": {"section": "t"}}})
        assert "its section and its brand to be said of 'u'" in refused.json()["detail"]
        same = client.post(f"{shop}/ask", json={"pinned": ["p", "r"]}).json()["items"]
        client.put(shop, json={"change": {"r": {"section": "t", "brand": "x"}}})
        refused = client.post(f"{shop}/ask", json={"pinned": ["p", "r"]})
        assert same == ["p", "r"]
        assert "2 of them are of the brand 'x', of which a set has at most 1" in refused.json()["detail"]
    with serving(url) as client:  # from the log, or a snapshot
        assert client.post(f"{at}/ask").json()["items"] == list(learner.ask().labels)


def test_a_thousand_decisions_of_a_budget_that_changes_are_the_best_of_all_sets(tmp_path):
    rng = np.random.default_rng(2)
    basket = random_basket(rng)
    learner = mb.Learner(basket, mb.OMM(0.4), seed=1)
    with serving(str(tmp_path / "baskets.db")) as client:
        at = create(client, matroid=basket.to_dict(), policy={"policy": "OMM", "scale": 0.4})
        for t in range(1000):
            if t % 50 == 49:
                basket = random_basket(rng)
                assert client.post(
                    f"{at}/change", json={"constraint": basket.to_dict(), "priors": "typical"}
                ).is_success
                learner.change(basket, priors="typical")
            sets = allowed_sets(basket)
            out, pins = random_request(rng, sets)
            body = {"exclude": [basket.labels[e] for e in out], "pinned": [basket.labels[e] for e in pins]}
            best = best_of(sets, learner.estimates().indices, out, pins)
            items = client.post(f"{at}/ask", json=body).json()["items"]
            assert items == [basket.labels[e] for e in best]
            decision = learner.ask(**body)
            if items and t % 3:
                weights = rng.integers(0, 2, len(items)).astype(float).tolist()
                assert client.post(f"{at}/tell", json={"decision": t + 1, "weights": weights}).is_success
                learner.tell(decision, weights)
            if t % 100 == 0:
                label = basket.labels[int(rng.integers(basket.n_items))]
                said = client.post(f"{at}/explain", json={"item": label, **body}).json()["text"]
                assert said == str(learner.explain(label, **body))
