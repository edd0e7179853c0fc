"""The API over real HTTP and real databases: every endpoint, every error, ids of requests."""

import json
import math
import threading

import pytest

import matroid_bandits as mb
from matroid_bandits.service._errors import STATUS, problem_of
from service_kit import ADS, create, fresh_id, serving, until


def problem(answer, status, error):
    """The problem that an answer tells of."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    form = answer.json()
    assert (form["status"], form["error"], form["type"]) == (status, error, "about:blank")
    return form


def test_asking_and_telling_is_what_the_library_does(url):
    learner = mb.Learner(
        mb.PartitionMatroid({"boots": "left", "heels": "left", "fedora": "right", "beret": "right"}), mb.OMM(), seed=1
    )
    with serving(url) as client:
        at = create(client)
        id = client.get(at).json()["id"]
        for n in range(1, 30):
            wanted = [{}, {"exclude": ["boots"]}, {"pinned": ["beret"]}, {"available": ["heels", "beret"]}][n % 4]
            decision, ours = client.post(f"{at}/ask", json=wanted).json(), learner.ask(**wanted)
            assert decision == {
                "decision": n, "learner": id, "items": list(ours.labels), "numbers": ours.items.tolist(),
                "pinned": wanted.get("pinned", []), "full": ours.is_full, "held_out": False,
            }  # fmt: skip
            weights = {label: (n * len(label)) % 7 / 7 for label in ours.labels}
            forms = [weights, list(map(list, weights.items())), list(weights.values())]
            told = client.post(f"{at}/tell", json={"decision": n, "weights": forms[n % 3]})
            learner.tell(n, weights)
            assert told.json() == {"decision": n, "told": len(ours.labels), "waiting": False}
        found, estimates = client.get(f"{at}/estimates").json(), learner.estimates()
        assert found["labels"] == list(estimates.labels)
        assert found["means"] == estimates.means.tolist()
        assert found["indices"] == estimates.indices.tolist()
        assert found["counts"] == estimates.counts.tolist()
        best = client.get(f"{at}/best").json()
        assert (best["items"], best["value"]) == (list(learner.best_basis().labels), learner.best_basis().value)
        explained = client.post(f"{at}/explain", json={"item": "boots", "exclude": ["heels"]}).json()
        assert explained["text"] == str(learner.explain("boots", exclude=["heels"]))
        preview = client.post(f"{at}/preview", json={"exclude": ["heels"]}).json()
        assert preview["decision"] is None
        assert preview["items"] == list(learner.ask(exclude=["heels"]).labels)
        assert client.get(at).json()["decisions"] == 29


def test_campaigns_without_labels_can_be_read(url):
    learner = mb.Learner(mb.UniformMatroid(5, 2), mb.OMM(), seed=1)
    with serving(url) as client:
        at = create(client, matroid=mb.UniformMatroid(5, 2).to_dict())
        assert client.post(f"{at}/ask").json()["items"] == list(learner.ask().labels)
        client.post(f"{at}/tell", json={"decision": 1, "weights": [[0, 1.0], [1, 0.5]]})
        learner.tell(1, {0: 1.0, 1: 0.5})
        for found in (client.get(f"{at}/estimates"), client.post(f"{at}/estimates", json={})):
            assert found.json()["labels"] == [0, 1, 2, 3, 4]
            assert found.json()["counts"] == learner.estimates().counts.tolist()
        assert client.get(f"{at}/best").json()["items"] == [0, 1]
        assert client.post(f"{at}/explain", json={"item": 3}).json()["text"] == str(learner.explain(3))
        assert client.post(f"{at}/preview").json()["items"] == [2, 3]
        assert client.get(f"{at}/waiting").json()["decisions"] == []
        assert client.get("/campaigns/ads").status_code == 200


def test_answers_in_parts_batches_and_closing(url):
    with serving(url) as client:
        at = create(client)
        decisions = client.post(f"{at}/ask/batch", json={"requests": [{}, {"exclude": ["boots"]}, {}]}).json()
        assert [each["decision"] for each in decisions["decisions"]] == [1, 2, 3]
        first, second, third = (each["items"] for each in decisions["decisions"])
        part = client.post(f"{at}/tell", json={"decision": 1, "weights": {first[0]: 0.5}}).json()
        assert part == {"decision": 1, "told": 1, "waiting": True}
        wrong = {"answers": [{"decision": 1, "weights": {first[1]: 1.0}}, {"decision": 9, "weights": {}}]}
        before = client.get(at).json()["seq"]
        problem(client.post(f"{at}/tell/batch", json=wrong), 404, "UnknownDecisionError")
        problem(client.post(f"{at}/ask/batch", json={"requests": [{}, {"exclude": ["nobody"]}]}), 422, "ItemError")
        assert client.get(at).json()["seq"] == before  # a batch happens whole or not at all
        right = {"answers": [
            {"decision": 1, "weights": {first[1]: 1.0}},
            {"decision": 2, "weights": {second[0]: 1.0}},
            {"decision": 2, "weights": [[second[1], 0.25]]},
        ]}  # fmt: skip
        told = client.post(f"{at}/tell/batch", json=right).json()["answers"]
        assert [each["told"] for each in told] == [1, 2]
        assert client.get(f"{at}/waiting").json()["decisions"][0]["items"] == third
        assert client.post(f"{at}/close", json={"decision": 3, "default": 0.5}).json() == {"closed": 1}
        problem(client.post(f"{at}/close", json={"decision": 3}), 409, "DecisionClosedError")
        client.post(f"{at}/ask/batch", json={"requests": [{}, {}]})
        assert client.post(f"{at}/close", json={"before": 6}).json() == {"closed": 2}
        assert client.get(f"{at}/waiting").json() == {"waiting": 0, "decisions": []}


def test_edges_are_arrays(url):
    network = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")])
    with serving(url) as client:
        at = create(client, matroid=network.to_dict(), policy={"policy": "OMM", "scale": 3}, direction="minimize")
        decision = client.post(f"{at}/ask", json={"exclude": [["a", "b"]]}).json()
        assert decision["items"] == [["b", "c"], ["c", "a"]]
        weights = [[["b", "c"], 2.5], [["c", "a"], 1.0]]
        assert client.post(f"{at}/tell", json={"decision": 1, "weights": weights}).json()["told"] == 2
        assert client.get(f"{at}/best").json()["items"] == [["b", "c"], ["c", "a"]]
        assert client.get(at).json()["constraint"] == network.to_dict()
        explained = client.post(f"{at}/explain", json={"item": ["a", "b"]}).json()
        assert explained["label"] == ["a", "b"]
        assert explained["mean"] is None


def test_a_request_id_is_answered_once(url):
    with serving(url) as client, serving(url) as other:
        at = create(client)
        asking, telling = fresh_id(), fresh_id()
        first = client.post(f"{at}/ask", headers=asking)
        assert "idempotency-replayed" not in first.headers
        for each in (client, other):
            again = each.post(f"{at}/ask", headers=asking)
            assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
            problem(each.post(f"{at}/ask", json={"exclude": ["boots"]}, headers=asking), 409, "RequestIdError")
        body = {"decision": 1, "weights": [0.5, 0.5]}
        assert (
            client.post(f"{at}/tell", json=body, headers=telling).json()
            == other.post(f"{at}/tell", json=body, headers=telling).json()
        )
        wrong = fresh_id()
        problem(
            client.post(f"{at}/tell", json={"decision": 7, "weights": []}, headers=wrong), 404, "UnknownDecisionError"
        )
        assert client.post(f"{at}/ask", headers=wrong).status_code == 200  # what failed is not remembered
        assert client.get(at).json()["decisions"] == 2
    with serving(url) as client:  # after a restart too
        assert client.post(f"{at}/ask", headers=asking).content == first.content
        problem(client.post(f"{at}/ask", headers={"Idempotency-Key": "ü".encode()}), 400, "MalformedRequestError")
        problem(client.post(f"{at}/ask", headers={"Idempotency-Key": "x" * 201}), 400, "MalformedRequestError")


def test_one_request_id_on_two_servers_at_once(url):
    def ask(client, at, headers, answers):
        answers.append((at, client.post(f"{at}/ask", headers=headers)))

    with serving(url) as client, serving(url) as other:
        ats = [create(client, name) for name in ("one", "two")]
        for at in (ats[0], ats[1]):
            for turn in range(8):
                headers, answers = fresh_id(), []
                threads = [
                    threading.Thread(target=ask, args=(c, p, headers, answers))
                    for c, p in ((client, at), (other, at), (other, ats[turn % 2]))
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert all(answer.status_code == 200 for _, answer in answers)
                served = {(path, answer.content) for path, answer in answers}
                assert len(served) == (1 if at == ats[turn % 2] else 2)  # an id belongs to its campaign
        assert [client.get(at).json()["decisions"] for at in ats] == [12, 12]


def test_two_servers_make_one_log(url):
    with serving(url) as client, serving(url) as other:
        at = create(client)

        def visit(who):
            for _ in range(20):
                decision = who.post(f"{at}/ask", headers=fresh_id()).json()
                body = {"decision": decision["decision"], "weights": [0.5] * len(decision["items"])}
                assert who.post(f"{at}/tell", json=body, headers=fresh_id()).status_code == 200

        threads = [threading.Thread(target=visit, args=(who,)) for who in (client, other, client, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.get(f"{at}/estimates").json() == other.get(f"{at}/estimates").json()
        events = client.get(f"{at}/events?limit=10000").json()["events"]
        assert [event["seq"] for event in events] == list(range(1, 162))
        mb.Learner.replay(events)  # decides again, and checks


def test_items_come_and_go(url):
    winter = {**ADS, "rows": [*ADS["rows"][1:], {"item": "beanie", "slot": "right"}]}
    with serving(url) as client:
        at = create(client, priors={"boots": [0.5, 2]})
        client.post(f"{at}/ask", json={"pinned": ["boots"]})
        changed = client.post(f"{at}/change", json={"matroid": winter, "priors": {"beanie": [0.2, 5]}})
        assert changed.json()["n_items"] == 4
        assert client.get(f"{at}/waiting").json()["decisions"][0]["items"] == ["fedora"]  # boots have left
        labels = client.get(f"{at}/estimates").json()["labels"]
        assert labels == ["heels", "fedora", "beret", "beanie"]
        told = client.post(f"{at}/tell", json={"decision": 1, "weights": {"boots": 0.5}})  # which has left
        assert told.json() == {"decision": 1, "told": 1, "waiting": True}
        assert client.post(f"{at}/restart", json={"items": ["beret"]}).status_code == 200
        problem(client.post(f"{at}/restart", json={"items": ["nobody"]}), 422, "ItemError")
        kinds = [mark["kind"] for mark in client.get(f"{at}/history").json()["marks"]]
        assert kinds == ["created", "changed", "restarted"]


@pytest.mark.parametrize(
    "policy",
    [
        {"policy": "CombLinUCB", "features": [[1.0, 0.0]] * 4},
        {"policy": "CombLinTS", "n_features": 2},
        {"policy": "Restarting", "base": {"policy": "CombLinUCB", "features": [[1.0, 0.0]] * 4}},
        "OMM",
    ],
    ids=["features", "n_features", "restarting", "none"],
)
def test_wrong_features_are_told_and_change_nothing(tmp_path, policy):
    rows = [{"item": item, "slot": slot} for item, slot in (("boots", "l"), ("mocs", "l"), ("hat", "r"))]
    matroid = {"kind": "partition", "category": "slot", "rows": rows}
    wrong = [
        3, "x", [[None, 1.0]] * 3, [[1.0]], [[1.0]] * 3, [[1.0, 2.0, 3.0]] * 3, [[1.0, 2.0], [1.0], [1.0, 2.0]],
        [1.0, 2.0], [[1e60, 1.0]] * 3, {"mocs": [1.0]}, {"mocs": []}, {"mocs": None}, {"mocs": [1e60, 1.0]},
        {"mocs": [[1.0, 2.0]]}, {"nobody": [1.0, 2.0]}, [["mocs", [1.0, 2.0]], ["mocs", [1.0, 2.0]]],
    ]  # fmt: skip
    with serving(str(tmp_path / "campaigns.db")) as client:
        at = create(client, policy=policy)
        for features in wrong:
            bodies = {"change": {"matroid": matroid}, "explain": {"item": "boots"}, "ask": {}, "estimates": {}}
            for path, body in bodies.items():
                answer = client.post(f"{at}/{path}", json={**body, "features": features})
                assert answer.status_code == 422, (path, features, answer.text)
            answer = client.post(
                "/v1/campaigns", json={"name": "other", "matroid": ADS, "policy": policy, "features": features}
            )
            assert answer.status_code == 422, (features, answer.text)
        assert client.get(at).json()["seq"] == 1


def test_observing_comes_before_asking(url):
    with serving(url) as client:
        at = create(client)
        assert client.post(f"{at}/observe", json={"weights": {"boots": 0.5, "beret": 0.25}}).json() == {"observed": 2}
        client.post(f"{at}/ask")
        problem(client.post(f"{at}/observe", json={"weights": {"boots": 0.5}}), 409, "DecisionClosedError")


def test_a_paused_campaign_takes_answers_and_an_archived_one_nothing(url):
    with serving(url) as client:
        at = create(client)
        client.post(f"{at}/ask")
        assert client.post(f"{at}/pause").json()["status"] == "paused"
        problem(client.post(f"{at}/ask"), 409, "CampaignStateError")
        assert client.post(f"{at}/tell", json={"decision": 1, "weights": [0.5, 0.5]}).status_code == 200
        assert client.post(f"{at}/resume").json()["status"] == "active"
        problem(client.post(f"{at}/resume", json={"now": True}), 422, "DataError")
        assert client.post(f"{at}/archive").json()["status"] == "archived"
        for verb in ("ask", "pause", "resume"):
            problem(client.post(f"{at}/{verb}"), 409, "CampaignStateError")
        assert client.get(f"{at}/best").status_code == 200
        problem(
            client.post("/v1/campaigns", json={"name": "ads", "matroid": ADS, "policy": "OMM"}),
            409,
            "CampaignStateError",
        )


def test_history_and_deadlines(url):
    with serving(url) as client:
        at = create(client, answers="all", answer_window=3600.0, default=0.0)
        client.post(f"{at}/ask/batch", json={"requests": [{}] * 3})
        client.post(f"{at}/tell", json={"decision": 2, "weights": [0.5, 1.0]})
        client.put(at, json={"answer_window": 0.1})
        found = until(lambda: (h := client.get(f"{at}/history?resolution=86400").json())["expired"] and h)
        assert (found["expired"], found["waiting"]) == (2, 0)
        keys = "asked", "told", "weight", "learnt", "mean", "expired"
        assert [found["buckets"][-1][key] for key in keys] == [3, 2, 1.5, 3.0, 0.5, 2]
        assert found["complete"]
        closed = [event for event in client.get(f"{at}/events").json()["events"] if event["event"] == "closed"]
        assert all(event["expired"] and event["default"] == 0.0 for event in closed)
        problem(client.post(f"{at}/tell", json={"decision": 1, "weights": [1, 1]}), 409, "DecisionClosedError")
        assert sum(client.get(f"{at}/estimates").json()["counts"]) == 6
        problem(client.get(f"{at}/history?resolution=7"), 400, "MalformedRequestError")


@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
def test_weights_beyond_the_scale_raise_an_alarm_once(url):
    with serving(url) as client:
        at = create(client)
        for decision, weight in enumerate((0.0, 150.0, 190.0), 1):
            client.post(f"{at}/ask")
            client.post(f"{at}/tell", json={"decision": decision, "weights": [weight, 0.0]})
        marks = client.get(f"{at}/history").json()["marks"]
        assert [mark["kind"] for mark in marks] == ["created", "alarm"]
        assert "may explore too little for weights from 0 to 150" in marks[1]["text"]
        gauges = {"alarms": 1, "scale_warnings": 1, "drift_alarms": 0, "replay_alarms": 0, "stopped": 0}
        assert gauges_of(client, *gauges) == gauges
        (alarm,) = client.get(f"{at}/alarms").json()["alarms"]
        assert (alarm["kind"], alarm["text"]) == ("scale", marks[1]["text"])
        assert client.get("/v1/campaigns").json()["campaigns"][0]["alarms"] == 1
        assert client.post(f"{at}/acknowledge", json={"until": alarm["seq"] - 1}).json()["alarms"] == [alarm]
        problem(client.post(f"{at}/acknowledge", json={"until": 0}), 422, "DataError")
        assert client.post(f"{at}/acknowledge").json()["alarms"] == []
        assert client.post(f"{at}/acknowledge").json() == client.get(f"{at}/alarms").json()  # and no event more
        client.post(f"{at}/ask")
        client.post(f"{at}/tell", json={"decision": 4, "weights": [12.0, 0.0]})
        assert gauges_of(client, *gauges) == dict.fromkeys(gauges, 0)
        assert client.get("/v1/campaigns").json()["campaigns"][0]["alarms"] == 0
        kinds = [mark["kind"] for mark in client.get(f"{at}/history").json()["marks"]]
        assert kinds == ["created", "alarm", "acknowledged"]
    with serving(url) as client:  # after a replay
        assert gauges_of(client, *gauges) == dict.fromkeys(gauges, 0)


def gauges_of(client, *names):
    """Gauges of campaign ads, once the server has loaded it."""
    until(lambda: client.get("/readyz").status_code == 200)
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[0] != "#")
    return {name: float(lines[f'matroid_bandits_{name}{{campaign="ads"}}']) for name in names}


@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
def test_observed_weights_count_to_the_scale_as_for_a_learner(url):
    with serving(url) as client:
        at = create(client)
        answer = client.post(f"{at}/observe", json={"weights": [["boots", 0.0], ["heels", 150.0]]})
        assert answer.status_code == 200, answer.text
        assert [mark["kind"] for mark in client.get(f"{at}/history").json()["marks"]] == ["created", "alarm"]


@pytest.mark.parametrize(
    "policy", [{"policy": "DiscountedOMM", "gamma": 0.99}, {"policy": "SlidingWindowOMM", "window": 9}]
)
def test_policies_whose_scale_is_about_noise_raise_no_alarm(url, policy):
    with serving(url) as client:
        at = create(client, policy=policy)
        client.post(f"{at}/ask")
        client.post(f"{at}/tell", json={"decision": 1, "weights": [0.0, 2.0]})
        assert [mark["kind"] for mark in client.get(f"{at}/history").json()["marks"]] == ["created"]


def test_an_item_whose_weights_changed_raises_an_alarm(url):
    detector = {"kind": "CUSUM", "n_first": 5, "tolerance": 0.1, "threshold": 1.0}
    policy = {"policy": "Restarting", "base": {"policy": "OMM"}, "detector": detector}
    with serving(url) as client:
        at = create(client, policy=policy)
        for decision in range(1, 13):
            items = client.post(f"{at}/ask", json={"pinned": ["boots"]}).json()["items"]
            weights = {item: float(item == "boots" and decision > 8) for item in items}
            client.post(f"{at}/tell", json={"decision": decision, "weights": weights})
        marks = [mark for mark in client.get(f"{at}/history").json()["marks"] if mark["kind"] == "alarm"]
        assert [mark["text"] for mark in marks] == ["weights have changed, and items start anew: boots"]
        assert gauges_of(client, "drift_alarms", "scale_warnings") == {"drift_alarms": 1, "scale_warnings": 0}
        assert [alarm["kind"] for alarm in client.get(f"{at}/alarms").json()["alarms"]] == ["drift"]
        estimates = client.get(f"{at}/estimates").json()
        alarms = dict(zip(estimates["labels"], estimates["alarms"], strict=True))
        assert alarms == {label: int(label == "boots") for label in estimates["labels"]}
        assert max(estimates["last_alarms"]) == 10


def test_events_and_the_stream(url):
    with serving(url) as client:
        at = create(client)
        with client.stream("GET", f"{at}/stream?after=0") as stream:
            lines = stream.iter_lines()
            client.post(f"{at}/ask")
            names = (line for line in lines if line.startswith("event: ") and line != "event: summary")
            assert [next(names), next(names)] == ["event: created", "event: asked"]
            client.service.drain()
            assert "event: end" in list(lines)
        first = client.get(f"{at}/events?limit=1").json()
        assert (first["events"][0]["event"], first["next"]) == ("created", 1)
        problem(client.get(f"{at}/stream?only=everything"), 400, "MalformedRequestError")
        problem(client.get(f"{at}/stream?after=x"), 400, "MalformedRequestError")
        problem(client.get("/v1/campaigns/nobody/stream"), 404, "UnknownCampaignError")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("POST", "ask", b"{", 400, "MalformedRequestError"),
        ("POST", "ask", b"[]", 422, "DataError"),
        ("POST", "ask", b'{"exlude": []}', 422, "DataError"),
        ("POST", "ask", b'{"exclude": [true]}', 422, "DataError"),
        ("POST", "ask", b'{"exclude": "boots"}', 422, "DataError"),
        ("POST", "ask", b'{"exclude": ["nobody"]}', 422, "ItemError"),
        ("POST", "ask", b'{"pinned": ["boots", "heels"]}', 422, "ItemError"),
        ("POST", "ask", b'{"features": [[1.0]]}', 422, "PolicyError"),
        ("POST", "tell", b"{}", 422, "DataError"),
        ("POST", "tell", b'{"decision": 1.5, "weights": []}', 422, "DataError"),
        ("POST", "tell", b'{"decision": 0, "weights": []}', 404, "UnknownDecisionError"),
        ("POST", "tell", b'{"decision": 1, "weights": {"boots": "much"}}', 422, "FeedbackError"),
        ("POST", "tell", b'{"decision": 1, "weights": [["boots", 1], ["boots", 1]]}', 422, "DataError"),
        ("POST", "tell", b'{"decision": 1, "weights": [1e999, 0]}', 422, "FeedbackError"),
        ("POST", "tell", b'{"decision": 1, "weights": [1]}', 422, "FeedbackError"),
        ("POST", "close", b"{}", 422, "DataError"),
        ("POST", "close", b'{"decision": 1, "before": 2}', 422, "DataError"),
        ("POST", "close", b'{"before": -1}', 404, "UnknownDecisionError"),
        ("POST", "change", b'{"matroid": {"kind": "uniform", "file": "/etc/passwd", "rank": 1}}', 422, "DataError"),
        ("POST", "explain", b'{"item": "nobody"}', 422, "ItemError"),
        ("GET", "waiting?limit=many", b"", 400, "MalformedRequestError"),
        ("GET", "waiting?limit=1.5", b"", 400, "MalformedRequestError"),
        ("GET", "waiting?limit=%C2%B2", b"", 400, "MalformedRequestError"),
        ("GET", "events?after=%C2%B2", b"", 400, "MalformedRequestError"),
        ("GET", "events?after=%D9%A3", b"", 400, "MalformedRequestError"),
        ("GET", "events?after=-1", b"", 400, "MalformedRequestError"),
        ("GET", "events?after=9999999999999999999", b"", 400, "MalformedRequestError"),
        ("GET", "history?resolution=1.5", b"", 400, "MalformedRequestError"),
        ("GET", "history?resolution=2", b"", 400, "MalformedRequestError"),
        ("GET", "history?after=%C2%B2", b"", 400, "MalformedRequestError"),
        ("GET", "stream?after=%C2%B2", b"", 400, "MalformedRequestError"),
        ("GET", "stream?after=9999999999999999999", b"", 400, "MalformedRequestError"),
        ("GET", "nowhere", b"", 404, "NotFound"),
        ("DELETE", "ask", b"", 405, "MethodNotAllowed"),
    ],
)  # fmt: skip
def test_mistakes_are_told_and_change_nothing(shared, method, path, body, status, error):
    client, at = shared
    before = client.get(at).json()["seq"]
    headers = {"Content-Type": "application/json"} if body else {}
    form = problem(client.request(method, f"{at}/{path}", content=body, headers=headers), status, error)
    assert form["detail"]
    assert client.get(at).json()["seq"] == before


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server on SQLite that mistakes are tried on, with a decision that waits."""
    path = str(tmp_path_factory.mktemp("shared") / "campaigns.db")
    with serving(path, max_body=4096, max_spec=4096, max_items=50) as client:
        at = create(client)
        client.post(f"{at}/ask")
        yield client, at


@pytest.mark.parametrize(
    ("change", "status", "error", "words"),
    [
        ({"name": "../etc"}, 422, "DataError", "name: expected letters"),
        ({"name": "x", "policy": "os:system"}, 422, "DataError", "no code is imported here"),
        ({"name": "x", "matroid": {"kind": "uniform", "file": "a.csv", "rank": 1}}, 422, "DataError",
         "expected no file"),
        ({"name": "x", "seed": -1}, 422, "DataError", "seed"),
        ({"name": "x", "answer_window": 0}, 422, "DataError", "answer_window"),
        ({"name": "x", "default": math.inf}, 422, "DataError", "default"),
        ({"name": "x", "priors": {"nobody": [0.5, 1]}}, 422, "DataError", "nobody"),
        ({"name": "x", "matroid": {"format": "matroid-bandits/matroid", "version": 1, "kind": "uniform",
                                   "n_items": 10**12, "rank": 1}}, 413, "LimitError", "n_items"),
        ({"name": "x", "matroid": {"kind": "uniform", "rows": [str(n) for n in range(51)], "rank": 1}}, 413,
         "LimitError", "at most 50 items"),
        ({"name": "x", "matroid": {"kind": "uniform", "rows": ["y" * 257], "rank": 1}}, 413, "LimitError", "257"),
        ({"name": "x", "about": "z" * 5000}, 413, "LimitError", "4,096 bytes"),
    ],
)  # fmt: skip
def test_campaigns_that_cannot_be(shared, change, status, error, words):
    client, _ = shared
    body = json.dumps({"matroid": ADS, "policy": "OMM", **change}).encode()
    answer = client.post("/v1/campaigns", content=body, headers={"Content-Type": "application/json"})
    assert words in problem(answer, status, error)["detail"]
    assert [each["name"] for each in client.get("/v1/campaigns").json()["campaigns"]] == ["ads"]


def test_limits_of_batches_campaigns_and_types(tmp_path):
    with serving(str(tmp_path / "small.db"), max_batch=2, max_campaigns=1) as client:
        at = create(client)
        problem(client.post(f"{at}/ask/batch", json={"requests": [{}] * 3}), 413, "LimitError")
        problem(client.post("/v1/campaigns", json={"name": "b", "matroid": ADS, "policy": "OMM"}), 413, "LimitError")
        problem(
            client.post(f"{at}/ask", content=b"{}", headers={"Content-Type": "text/plain"}), 415, "MediaTypeError"
        )
        problem(client.get(at, headers={"Host": "evil.example"}), 403, "AccessError")


def test_every_error_of_the_package_has_a_status():
    from matroid_bandits import exceptions

    for kind, status in STATUS.items():
        assert problem_of(kind("expected this, got that"))[0] == status
    _, body = problem_of(exceptions.ItemError("expected an item, got 'x'"))
    assert json.loads(body)["expected"] == "an item"
    assert json.loads(body)["given"] == "'x'"
    for text, fields in (
        ("expected a rate, got 'a; b'; did you mean 'a'?", ("a rate", "'a; b'")),
        (
            'x[0]: expected one of a, b; got "it\'s; c", or nothing; see /docs',
            ("one of a, b", '"it\'s; c", or nothing'),
        ),
        (
            "expected a key, as Authorization: Bearer mb_..., got none",
            ("a key, as Authorization: Bearer mb_...", "none"),
        ),
        ("expected a path of the API, got another; see /docs", None),
        ("expected at most 5 requests a second, got more", None),
        ("the database does not answer", None),
    ):
        found = json.loads(problem_of(exceptions.ItemError(text))[1])
        assert found["detail"] == text
        assert (found.get("expected"), found.get("given")) == (fields or (None, None))
    status, body = problem_of(RuntimeError("secret"))
    assert status == 500
    assert b"secret" not in body


def test_the_document_lists_what_is_served(shared):
    client, _ = shared
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]["/v1/campaigns/{name}/estimates"]) == {"get", "post"}
    page = client.get("/docs")
    assert "://" not in page.text.replace("URL=http://127.0.0.1:8080", "")  # nothing from elsewhere
    assert "/v1/campaigns/{name}/ask" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def references(form):
    """Every reference in a JSON document, with its keyword."""
    if isinstance(form, dict):
        for key, value in form.items():
            if key in ("$ref", "$dynamicRef", "$recursiveRef"):
                yield key, value
            yield from references(value)
    elif isinstance(form, list):
        for value in form:
            yield from references(value)


def resolved(document, pointer):
    """What a JSON pointer of a document leads to."""
    for key in pointer.removeprefix("#/").split("/"):
        document = document[key.replace("~1", "/").replace("~0", "~")]
    return document


def test_every_reference_of_the_document_leads_somewhere(shared):
    client, _ = shared
    document = client.get("/openapi.json").json()
    found = list(references(document))
    assert len(found) > 100
    for keyword, target in found:
        assert (keyword, target[:2]) == ("$ref", "#/"), target
        assert resolved(document, target)
    ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(ids) == len(set(ids))


def test_the_schemas_of_the_document_are_schemas(shared):
    jsonschema = pytest.importorskip("jsonschema")
    client, _ = shared
    document = client.get("/openapi.json").json()
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator({**document, "$ref": "#/components/schemas/CampaignSpec"})
    for policy, is_valid in (
        ("OMM", True),
        ({"policy": "Restarting", "base": {"policy": "OMM", "scale": 0.5}}, True),
        ({"policy": "Restarting", "base": {"policy": "OMM", "scal": 0.5}}, False),
        ({"policy": "Restarting", "base": {"policy": "DiscountedOMM"}}, False),
        ({"policy": "Restarting", "base": {}}, False),
        ({"policy": "Restarting"}, False),
    ):
        assert validator.is_valid({"name": "x", "matroid": ADS, "policy": policy}) == is_valid, policy


def test_whoever_runs_it_can_ask_how_it_is(shared):
    client, _ = shared
    assert client.get("/healthz").json() == {"status": "alive"}
    until(lambda: client.get("/readyz").status_code == 200)
    figures = client.get("/metrics").text
    for name in ("requests_total", "request_seconds", "batch_size", "lag_events", "waiting_decisions", "alarms"):
        assert f"matroid_bandits_{name}" in figures
