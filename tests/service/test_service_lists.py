"""Campaigns whose sets are shown as lists: what a server takes, logs and averages, beside books of the test."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DecisionClosedError
from matroid_bandits.service._history import ASKED, EXPIRED, SHARE, TOLD, WEIGHT
from matroid_bandits.service._operation import Turn
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._writer import _expire
from service_databases import fresh_postgres
from service_kit import create, serving
from test_service_api import problem

ITEMS = {"kind": "uniform", "rank": 3, "rows": [{"item": item} for item in "abcde"]}
CHANCES = dict(zip("abcde", (0.1, 0.2, 0.3, 0.4, 0.5), strict=True))


@pytest.fixture(params=["sqlite", "postgresql"])
def both(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "campaigns.db")
    return fresh_postgres(request.getfixturevalue("postgres"))


def stop_of(rng, order, at):
    """The place of the first item with a weight of `at`; None where none has it."""
    return next((label for label in order if (rng.random() < CHANCES[label]) == bool(at)), None)


@pytest.mark.parametrize(
    ("answers", "word", "at"), [("first-click", "clicked", 1.0), ("first-failure", "failed", 0.0)]
)
def test_a_server_and_a_learner_agree_with_books(both, answers, word, at):
    """Over HTTP, beside a learner in this process that is told the same, and books of what lists were worth."""
    log, rng, values = [], np.random.default_rng(1), {}
    learner = mb.Learner(
        mb.UniformMatroid(5, 3, labels="abcde"), mb.KLOSM(), seed=7, holdout=0.3, answers=answers, record=log.append
    )
    with serving(both) as http, mb.Client(str(http.base_url), "list") as served:
        served.create(learner.constraint, learner.policy, seed=7, holdout=0.3, answers=answers)
        for visit in range(60):
            wanted = {"order": [None, "explore"][visit % 2], "pinned": ["c"] if visit % 7 == 3 else []}
            ours, theirs = learner.ask(**wanted), served.ask(**wanted)
            assert theirs.order == ours.order
            assert served.preview(order="best", pinned=["e"]) == learner.preview(order="best", pinned=["e"]).order
            dice = rng.random()
            if dice < 0.7:
                label = stop_of(rng, ours.order, at)
                said, values[ours.id] = {word: label}, at if label is not None else 1.0 - at
            elif dice < 0.85:
                said = {"examined": [*ours.order[:2]]}
                if answers == "first-click":
                    values[ours.id] = 0.0
            else:
                said = {"weights": {ours.order[1]: at}, "examined": [ours.order[0]]}
                values[ours.id] = at
            weights = said.pop("weights", None)
            learner.tell(ours, weights, **said)
            if visit % 3:
                served.tell(theirs, weights, **said)
            else:
                served.tell_batch([{"decision": theirs, "weights": weights, **said}])
            for again in (learner, served):
                with pytest.raises(DecisionClosedError):
                    again.tell(theirs.id if again is served else ours, **{word: None})
        assert served.estimates().counts.tolist() == learner.estimates().counts.tolist()
        assert served.estimates().means.tolist() == learner.estimates().means.tolist()
        events = [event for event in served.events(limit=1000) if event["event"] in ("asked", "told")]
        ours = [event for event in log if event["event"] in ("asked", "told")]
        assert [{key: event[key] for key in own} for event, own in zip(events, ours, strict=True)] == ours
        (day,) = served.history(86400)["buckets"]
        assert (day["learnt"], day["weight"]) == (len(values), pytest.approx(sum(values.values())))
        start = served.uplift()["windows"]["start"]
        held_out = {event["decision"] for event in log if event.get("held_out")}
        for arm, ids in (("control", values.keys() & held_out), ("learner", values.keys() - held_out)):
            assert start[f"n_{arm}"] == len(ids)
            assert start[arm] == pytest.approx(np.mean([values[id] for id in ids]))
        assert start["n_lost"] == 60 - len(values)
        offline = mb.evaluation.evaluate(served, {}).uplift.to_dict()["windows"]["start"]
        assert {name: offline[name] for name in ("learner", "control", "n_lost", "value")} == {
            name: start[name] for name in ("learner", "control", "n_lost", "value")
        }
    with serving(both) as http, mb.Client(str(http.base_url), "list") as again:  # it starts from what is stored
        assert again.ask().order == learner.ask().order
        assert again.history(86400)["buckets"][0]["weight"] == day["weight"]


def test_what_is_wrong_is_refused_with_what_to_send(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as http:
        path = create(http, matroid=ITEMS, answers="first-click")
        decision = http.post(f"{path}/ask").json()
        assert sorted(decision["order"]) == decision["items"]
        for said, words in (
            ({"weights": {"a": 1.0}}, "expected clicked= with the first item that was clicked"),
            ({"weights": {"a": 1.0}, "clicked": "a"}, "got clicked and weights"),
            ({"failed": None}, "got failed"),
            ({}, "got nothing"),
            ({"clicked": "zz"}, "zz"),
            ({"examined": ["a"], "weights": {"a": 0.5}}, "expected weights of 0 or 1"),
        ):
            for what, body in (
                ("tell", {"decision": 1, **said}),
                ("tell/batch", {"answers": [{"decision": 1, **said}]}),
            ):
                refused = http.post(f"{path}/{what}", json=body)
                assert refused.status_code in (404, 422)
                assert words in refused.json()["detail"]
        twice = {"answers": [{"decision": 1, "clicked": "a"}, {"decision": 1, "clicked": "a"}]}
        assert "expected one answer to decision 1" in http.post(f"{path}/tell/batch", json=twice).json()["detail"]
        problem(http.post(f"{path}/close", json={"decision": 1, "default": 0.0}), 422, "FeedbackError")
        assert "order" in http.post(f"{path}/ask", json={"order": "worst"}).json()["detail"]
        told = http.post(f"{path}/tell", json={"decision": 1, "clicked": decision["order"][1]}).json()
        assert told == {"decision": 1, "told": 2, "waiting": False}
        problem(http.post(f"{path}/tell", json={"decision": 1, "clicked": None}), 409, "DecisionClosedError")
        for settings, words in (
            ({"default": 0}, 'expected null with answers "first-click", got 0'),
            ({"policy": {"policy": "FPL", "horizon": 100}}, "takes no lists that are seen in part"),
            ({"answers": "clicks-by-place"}, "PositionBias(OMM(...)) does"),
        ):
            refused = http.put(path, json=settings)
            assert refused.status_code == 422
            assert words in refused.json()["detail"]


def test_a_repeated_request_gets_the_same_list(tmp_path):
    key = {"Idempotency-Key": "abc"}
    with serving(str(tmp_path / "campaigns.db")) as http:
        path = create(http, matroid=ITEMS, answers="first-click")
        asked = [http.post(f"{path}/ask", headers=key).json() for _ in range(2)]
        assert asked[0] == asked[1]
        assert asked[0]["order"]
        key = {"Idempotency-Key": "def"}
        told = [
            http.post(f"{path}/tell", json={"decision": 1, "clicked": None}, headers=key).json() for _ in range(2)
        ]
        assert told[0] == told[1] == {"decision": 1, "told": 3, "waiting": False}


def test_settings_and_campaign_files_have_the_kinds(tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as http, mb.Client(str(http.base_url), "ads") as client:
        path = create(http, matroid=ITEMS)
        assert client.ask().order is None
        assert client.preview(order="explore") == client.ask(order="explore").order
        (difference,) = client.update({"answers": "first-click", "answer_window": 60}, dry_run=True)[:1]
        client.update({"answers": "first-click", "answer_window": 60})
        assert difference["setting"] in ("answers", "answer_window")
        assert http.get(path).json()["answers"] == "first-click"
        assert client.ask().order is not None
        client.update({"policy": {"policy": "PositionBias", "base": {"policy": "OMM"}}, "answers": "clicks-by-place"})
        decision = client.ask()
        client.tell(decision, {decision.order[0]: 1.0})
        client.close(decision)
        attention = client.estimates().attention
        assert attention[0] == 1.0
        assert attention.size == 10
        assert http.get(path).json()["attention"] == attention.tolist()


class Site:
    """A replica at times that the test sets, and its log."""

    def __init__(self, answers, window=100.0, **learner):
        self.spec = {"answer_window": window, "default": None}
        self.replica, self.log, created = Replica(1, "site", self.spec), [], []
        items = mb.UniformMatroid(5, 3, labels="abcde")
        mb.Learner(items, mb.OMM(), seed=1, id="site", record=created.append, answers=answers, **learner)
        self.log.append((1, 1, 0.0, json.dumps(created[0])))
        self.replica.follow(*self.log[0][1:], 0)

    def ask(self, at):
        decision = self.replica.learner.ask()
        self.replica.take(at, self.log)
        return decision

    def tell(self, at, decision, *weights, **said):
        self.replica.learner.tell(decision, *weights, **said)
        self.replica.take(at, self.log)

    def tick(self, at):
        if self.replica.expired(at) is not None:
            _expire(self.replica, Turn(None, at, self.log))

    def again(self):
        other = Replica(1, "site", self.spec)
        for _, seq, at, payload in self.log:
            other.follow(seq, at, payload, 0)
        return other


@pytest.mark.parametrize("answers", ["first-click", "first-failure"])
def test_a_window_without_a_word_leaves_nothing_known(answers):
    site, rng = Site(answers, holdout=0.4), np.random.default_rng(3)
    word, at = ("clicked", 1.0) if answers == "first-click" else ("failed", 0.0)
    values, n_silent = {}, 0
    for second in range(1, 300):
        site.tick(float(second))
        decision = site.ask(float(second))
        if rng.random() < 0.3:
            n_silent += 1
            continue
        label = stop_of(rng, decision.order, at)
        site.tell(second + 0.5, decision, **{word: label})
        values[decision.id] = at if label is not None else 1.0 - at
    site.tick(1000.0)
    learner, totals = site.replica.learner, site.replica.history.totals()
    assert (totals[ASKED], totals[EXPIRED], totals[SHARE]) == (299, n_silent, len(values))
    assert totals[WEIGHT] == sum(values.values())
    assert learner.n_outstanding == 0
    assert totals[TOLD] == learner.estimates().counts.sum()
    start = site.replica.uplift.form(learner, 1000.0)["windows"]["start"]
    assert (start["n_learner"] + start["n_control"], start["n_lost"]) == (len(values), n_silent)
    again = site.again()
    assert again.history.to_dict() == site.replica.history.to_dict()
    assert again.uplift.to_dict() == site.replica.uplift.to_dict()
    assert again.learner.has_state_of(learner)
    found = mb.evaluation.evaluate([json.loads(text) | {"seq": seq, "at": at} for _, seq, at, text in site.log], {})
    windows = found.uplift.to_dict()["windows"]["start"]
    assert windows == start | {"sentence": windows["sentence"]}


def test_clicks_may_say_what_was_looked_at():
    """A decision counts when its window ends, with its clicks, also where some items were not looked at."""
    site = Site("clicks", holdout=0.3)
    for n in range(40):
        decision = site.ask(float(n))
        site.tell(n + 0.5, decision, {decision.labels[0]: 1.0} if n % 2 else None, examined=[decision.labels[1]])
    totals = site.replica.history.totals()
    assert (totals[SHARE], totals[WEIGHT], totals[TOLD]) == (0, 0, 60)
    site.tick(500.0)
    # the window ends by an event where a decision still waits; these are settled when the next one does
    last = site.ask(500.0)
    site.tick(700.0)
    totals = site.replica.history.totals()
    assert (totals[SHARE], totals[WEIGHT]) == (41, 20)
    assert site.replica.learner.n_outstanding == 0
    assert last.order is None
    found = mb.evaluation.evaluate([json.loads(text) | {"seq": seq, "at": at} for _, seq, at, text in site.log], {})
    start = site.replica.uplift.form(site.replica.learner, 700.0)["windows"]["start"]
    assert found.uplift.windows["start"].learner == pytest.approx(start["learner"])
    assert found.uplift.windows["start"].n_learner == start["n_learner"]


def test_a_fallback_is_a_list_too(tmp_path):
    server = serving(str(tmp_path / "campaigns.db"))
    with server as http, mb.Client(str(http.base_url), "ads", fallback=60.0) as client:
        path = create(http, matroid=ITEMS, answers="first-click")
        http.post(f"{path}/observe", json={"weights": [0.1, 0.3, 0.2, 0.5, 0.4]})
        assert client.ask().order is not None
        assert http.get(f"{path}/best").json()["order"] == ["d", "e", "b"]
        (best,) = client._fallbacks([{"pinned": ["b"]}])
        (worst,) = client._fallbacks([{"order": "explore", "exclude": ["e"]}])
        assert (best.order, worst.order) == (("b", "d", "e"), ("b", "d"))
        client.tell(best, clicked="b")  # nothing is learnt from it
        assert http.get(f"{path}/estimates").json()["counts"] == [1, 1, 1, 1, 1]
