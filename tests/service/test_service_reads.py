"""What the page reads: pages of estimates, shares of recent decisions, rules in words, why a decision was made."""

from __future__ import annotations

import pytest

import matroid_bandits as mb
from matroid_bandits.service import _past
from matroid_bandits.service._words import rule_of
from service_kit import ADS, create, serving

pytestmark = pytest.mark.compiled

TOPICS = [f"topic {k % 12}" for k in range(36)]


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (mb.UniformMatroid(5, 1), "at most 1 item"),
        (mb.PartitionMatroid(TOPICS, 2).truncate(10), "at most 2 of each of 12 categories, 10 in all"),
        (mb.PartitionMatroid(["a", "a", "b"], {"a": 2, "b": 1}), "at most 2 of a, 1 of b"),
        (
            mb.PartitionMatroid(TOPICS, {f"topic {k}": 1 + (k == 3) for k in range(12)}),
            "at most 1 to 2 of each of 12 categories, mostly 1",
        ),
        (mb.PartitionMatroid(["a", "a"], 1), "at most 1 of one category"),
        (mb.LaminarMatroid(3, [([0, 1, 2], 2)]), "at most 2 items"),
        (
            mb.LaminarMatroid(4, [([0, 1, 2, 3], 3), ([0, 1], 1), ([2, 3], 1)]),
            "at most 1 of each of 2 groups, 3 in all",
        ),
        (mb.GraphicMatroid([(1, 2), (2, 3), (1, 3)]), "edges without a cycle, at most 2"),
        (mb.TransversalMatroid([[0, 1], [1]]), "items that can take 2 places, one each"),
    ],
)
def test_rules_are_told_in_words(constraint, words):
    assert rule_of(constraint).words == words


def test_items_have_categories_shares_of_recent_decisions_and_pages(url):
    with serving(url) as client:
        at = create(client)
        shown = client.get(at).json()
        assert shown["rule"] == "at most 1 of each of 2 categories"
        assert shown["categories"] == [{"name": "left", "most": 1}, {"name": "right", "most": 1}]
        for k in range(1, 5):
            client.post(f"{at}/ask", json={"exclude": ["boots"] if k > 1 else []})
            client.post(f"{at}/tell", json={"decision": k, "weights": [0.5, 0.5]})
        found = client.get(f"{at}/estimates").json()
        assert (found["items"], found["n_items"], found["categories"]) == ([0, 1, 2, 3], 4, [0, 0, 1, 1])
        assert (found["recent"], sum(found["chosen"])) == (4, 8)
        assert found["chosen"][:2] == [1, 3]
        part = client.get(f"{at}/estimates?offset=1&limit=2").json()
        assert (part["items"], part["labels"], part["n_items"]) == ([1, 2], found["labels"][1:3], 4)
        for key in ("means", "counts", "radii", "indices", "chosen", "categories"):
            assert part[key] == found[key][1:3]
        some = client.post(f"{at}/estimates", json={"items": ["beret", "boots"]}).json()
        assert (some["items"], some["labels"]) == ([3, 0], ["beret", "boots"])
        assert client.post(f"{at}/estimates", json={"items": ["nothing"]}).status_code == 422
        assert client.get(f"{at}/estimates?offset=9").json()["labels"] == []
    with serving(url, snapshot_every=1) as client:  # after a restart the log says what was chosen
        assert client.get(f"{at}/estimates").json()["chosen"] == found["chosen"]


def test_long_answers_are_compressed_for_those_who_take_it(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client, matroid={"kind": "uniform", "rows": [f"item {k}" for k in range(2000)], "rank": 2})
        plain = client.get(f"{at}/estimates", headers={"Accept-Encoding": "identity"})
        short = client.get(f"{at}/estimates", headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert short.headers["content-encoding"] == "gzip"
        assert short.headers["vary"] == "Accept-Encoding"
        assert short.json() == plain.json()
        assert int(short.headers["content-length"]) < int(plain.headers["content-length"]) / 5
        asked = client.post(f"{at}/ask/batch", json={"requests": [{}] * 100}, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in asked.headers  # what is asked for waits for nothing more


@pytest.mark.parametrize("policy", ["OMM", "ThompsonSampling"])
def test_a_decision_is_explained_by_what_was_believed_then(url, policy):
    """Before and after it is answered, and after others have changed what is believed."""
    with serving(url, snapshot_every=7) as client:
        at = create(client, policy=policy)
        explanations, decisions = {}, {}
        for k in range(1, 13):
            request = {"exclude": ["beret"]} if k % 3 == 0 else {}
            believed = client.post(f"{at}/explain", json={"item": "boots", **request}).json()
            decision = client.post(f"{at}/ask", json=request).json()
            decisions[k], explanations[k] = decision["items"], believed
            weights = {label: float(label == "boots") for label in decision["items"]}
            client.post(f"{at}/tell", json={"decision": k, "weights": weights})
        client.post(f"{at}/change", json={"matroid": {"kind": "uniform", "rows": ["boots", "new"], "rank": 1}})
        for k in (1, 6, 9, 12):
            then = client.post(f"{at}/explain", json={"item": "boots", "decision": k, "as_decided": True})
            assert then.json() == explanations[k]
            assert (then.json()["standing"] == "chosen") == ("boots" in decisions[k])
        missing = client.post(f"{at}/explain", json={"item": "boots", "decision": 99, "as_decided": True})
        assert (missing.status_code, missing.json()["error"]) == (404, "UnknownDecisionError")
        assert client.post(f"{at}/explain", json={"item": "boots", "as_decided": True}).status_code == 422


def test_decisions_drawn_at_random_say_so_and_far_ones_are_refused(tmp_path, monkeypatch):
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client, matroid=ADS, holdout=1.0)
        items = client.post(f"{at}/ask").json()["items"]
        body = {"item": items[0], "decision": 1, "as_decided": True}
        found = client.post(f"{at}/explain", json=body).json()
        assert (found["held_out"], found["standing"]) == (True, "chosen")
        monkeypatch.setattr(_past, "_MOST_REPLAYED", 2)
        client.post(f"{at}/ask")
        client.post(f"{at}/ask")
        refused = client.post(f"{at}/explain", json=body | {"decision": 3})
        assert (refused.status_code, refused.json()["error"]) == (413, "LimitError")


@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
def test_how_sure_the_best_set_is(url):
    """The rule of a learner of the same log; and why it cannot be said."""
    with serving(url) as client:
        at = create(client)
        learner = mb.Learner(mb.constraint_from_dict(client.get(at).json()["constraint"]), mb.OMM(), seed=1)
        for k in range(1, 31):
            items = client.post(f"{at}/ask").json()["items"]
            weights = dict.fromkeys(items, 0.25 * (k % 3))
            client.post(f"{at}/tell", json={"decision": k, "weights": weights})
            learner.tell(learner.ask(available=items, pinned=items), weights)
        answer = client.get(f"{at}/confidence?delta=0.1").json()
        assert answer["reason"] is None
        assert mb.Confidence.from_dict(answer["confidence"]) == learner.confidence(weights="unit", delta=0.1)
        answer = client.get(f"{at}/confidence?deviation=2").json()
        assert mb.Confidence.from_dict(answer["confidence"]) == learner.confidence(deviation=2.0)
        items = client.post(f"{at}/ask").json()["items"]
        client.post(f"{at}/tell", json={"decision": 31, "weights": dict.fromkeys(items, 1.5)})
        answer = client.get(f"{at}/confidence").json()
        assert answer["confidence"] is None
        assert "weights from 0 to 1.5 were told" in answer["reason"]
        assert client.get(f"{at}/confidence?delta=2").status_code == 400
