"""Campaigns that are told clicks alone: what is averaged, beside books of the test; and those of early versions."""

import heapq
import itertools
import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.service._history import ASKED, CLOSED, EXPIRED, SETTLED, SHARE, TOLD, WEIGHT, History
from matroid_bandits.service._operation import Turn
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._writer import _expire
from service_kit import ADS, create, serving, until
from test_service_api import problem

WINDOW = 100.0


class Site:
    """A replica at times that the test sets, its log, and books of its own: when each was asked, and its clicks."""

    def __init__(self, n_items, *, window=WINDOW, **learner):
        spec = {"answer_window": window, "default": None}
        self.spec, self.replica = spec, Replica(1, "site", spec)
        self.log, self.books = [], {}
        created = []
        of_six = mb.UniformMatroid(6, n_items, labels="abcdef")
        mb.Learner(of_six, mb.OMM(), seed=1, id="site", record=created.append, **learner)
        self.log.append((1, 1, 0.0, json.dumps(created[0])))
        self.replica.follow(*self.log[0][1:], 0)

    def ask(self, at):
        decision = self.replica.learner.ask()
        self.replica.take(at, self.log)
        self.books[decision.id] = [at, 0.0]
        return decision

    def tell(self, at, decision, label):
        if decision.id in self.replica.learner.book:
            self.replica.learner.tell(decision.id, {label: 1.0})
            self.replica.take(at, self.log)
            self.books[decision.id][1] += 1.0

    def tick(self, at):
        if self.replica.expired(at) is not None:
            _expire(self.replica, Turn(None, at, self.log))

    def totals(self):
        return self.replica.history.totals()

    def uplift(self, at):
        return self.replica.uplift.form(self.replica.learner, at)["windows"]["start"]

    def again(self):
        """The history of a server that reads the log anew."""
        other = Replica(1, "site", self.spec)
        for _, seq, at, payload in self.log:
            other.follow(seq, at, payload, 0)
        return other.history


@pytest.mark.parametrize("n_items", [1, 2])
@pytest.mark.parametrize("holdout", [0.0, 0.3])
def test_averages_are_of_the_decisions_whose_window_has_ended(n_items, holdout):
    """With one item a click is a whole answer, and the decisions without one wait: none counts before its window."""
    site, rng = Site(n_items, answers="clicks", holdout=holdout), np.random.default_rng(n_items)
    clicks, number = [], itertools.count()
    for second in range(1, 450):
        at = float(second)
        site.tick(at)
        while clicks and clicks[0][0] <= at:
            _, _, decision, label = heapq.heappop(clicks)
            site.tell(at, decision, label)
        if second < 330 and rng.random() < 0.6:
            decision = site.ask(at)
            for label in decision.labels:
                if rng.random() < 0.25:
                    heapq.heappush(clicks, (at + 1.0 + 40.0 * rng.random(), next(number), decision, label))
        ended = [clicked for asked, clicked in site.books.values() if asked + WINDOW <= at]
        totals = site.totals()
        assert (totals[SETTLED], totals[SHARE], totals[WEIGHT]) == (len(ended), len(ended), sum(ended))
        assert (totals[EXPIRED], totals[CLOSED]) == (0, 0)
        assert site.replica.history.settled == len(ended)
        if holdout:
            settled = site.uplift(at)
            arms = [(settled[f"n_{arm}"], settled[arm] or 0.0) for arm in ("learner", "control")]
            assert sum(n for n, _ in arms) == len(ended)
            assert sum(n * mean for n, mean in arms) == pytest.approx(sum(ended))
        if second <= WINDOW:
            assert all(bucket["mean"] is None for bucket in site.replica.history.buckets(86400))
        if second == 200:  # a snapshot, and another server that goes on from it
            form = json.loads(json.dumps(site.replica.history.to_dict()))
            site.replica.history = History.from_dict(form, "clicks")
    assert len(ended) == len(site.books) == totals[ASKED]
    assert totals[TOLD] == sum(ended) > 10
    (day,) = site.replica.history.buckets(86400)
    assert day["mean"] == pytest.approx(sum(ended) / len(ended), abs=1e-12)
    assert (day["settled"], day["expired"], day["waiting"]) == (len(ended), 0, 0)
    assert site.replica.learner.n_outstanding == 0
    assert site.replica.learner.estimates().counts.sum() == n_items * len(ended)
    assert site.again().to_dict() == site.replica.history.to_dict()
    for n_events in (len(site.log) // 2, len(site.log)) if holdout else ():
        replica, log = Replica(1, "site", site.spec), site.log[:n_events]
        for _, seq, at, payload in log:
            replica.follow(seq, at, payload, 0)
        found = mb.evaluation.evaluate([json.loads(text) | {"seq": seq, "at": at} for _, seq, at, text in log], {})
        assert (
            found.uplift.to_dict()["windows"]["start"] == replica.uplift.form(replica.learner, at)["windows"]["start"]
        )
        assert found.looks[-1].n_decisions == replica.history.settled > 0


def test_without_a_window_a_decision_is_settled_when_nothing_of_it_waits():
    site = Site(2, answers="clicks", window=None)
    first, second, third, fourth = (site.ask(float(at)) for at in range(4))
    for label in first.labels:
        assert site.totals()[SHARE] == 0.0
        site.tell(10.0, first, label)
    assert (site.totals()[SHARE], site.totals()[WEIGHT]) == (1.0, 2.0)
    site.tell(11.0, second, second.labels[0])
    assert site.totals()[SHARE] == 1.0
    site.replica.learner.close(second.id)
    site.replica.take(12.0, site.log)
    assert (site.totals()[SHARE], site.totals()[WEIGHT], site.totals()[CLOSED]) == (2.0, 3.0, 1.0)
    site.tell(13.0, third, third.labels[0])
    site.replica.learner.close(third.id, default=None)  # half of it is known, and the rest was never seen
    site.replica.take(14.0, site.log)
    assert (site.totals()[SHARE], site.totals()[WEIGHT], site.totals()[SETTLED]) == (2.5, 4.0, 2.0)
    site.replica.learner.close_before(5)
    site.replica.take(15.0, site.log)
    assert (site.totals()[SHARE], site.totals()[WEIGHT], site.totals()[SETTLED]) == (3.5, 4.0, 3.0)
    assert fourth.id not in site.replica.learner.book
    assert site.again().to_dict() == site.replica.history.to_dict()


def test_a_site_that_answers_whole_settles_too_and_a_default_counts():
    site = Site(1, answers="clicks")
    decisions = [site.ask(float(at)) for at in range(3)]
    site.replica.learner.tell(decisions[1].id, {decisions[1].labels[0]: 1.0})
    site.replica.take(5.0, site.log)
    site.replica.learner.close(decisions[0].id, default=0.5)
    site.replica.take(6.0, site.log)
    assert (site.totals()[SHARE], site.totals()[CLOSED]) == (0.0, 1.0)
    assert site.replica.expired(99.9) is None
    for at, settled, weight in ((100.0, 1, 0.5), (101.0, 2, 1.5), (102.0, 3, 1.5)):
        site.tick(at)  # the second was told whole: its window ends like any other
        assert (site.totals()[SETTLED], site.totals()[WEIGHT]) == (settled, weight)
    assert site.replica.expired(1e6) is None


def test_a_history_of_clicks_that_an_earlier_version_summed_is_made_again():
    history = History()
    history.add(5.0, ASKED, 2)
    history.learn(5.0, 1.0, 0.5)
    form = history.to_dict() | {"version": 2}
    del form["settled"], form["unsettled"]
    of_all, of_clicks = History.from_dict(form), History.from_dict(form, "clicks")
    assert (of_all.is_complete, of_all.totals()[SHARE]) == (True, 0.5)
    assert (of_clicks.is_complete, of_clicks.totals()[SHARE], of_clicks.totals()[ASKED]) == (False, 0.0, 2.0)


def test_a_campaign_of_clicks_through_http(url):
    with serving(url) as client:
        at = create(client, answers="clicks", answer_window=3600.0)
        assert {key: client.get(at).json()[key] for key in ("answers", "default")} == {
            "answers": "clicks",
            "default": None,
        }
        created = client.get(f"{at}/events?limit=1").json()["events"][0]
        assert created["answers"] == "clicks"
        asked = client.post(f"{at}/ask/batch", json={"requests": [{}] * 4}).json()["decisions"]
        client.post(f"{at}/tell", json={"decision": 2, "weights": {asked[1]["items"][0]: 1.0}})
        client.post(f"{at}/tell", json={"decision": 3, "weights": [1.0, 1.0]})
        client.put(at, json={"answer_window": 0.1})  # which ends all that is over by now
        day = f"{at}/history?resolution=86400"
        found = until(lambda: (form := client.get(day).json())["settled"] == 4 and form)
        (bucket,) = found["buckets"]
        keys = "asked", "told", "weight", "learnt", "mean", "expired", "settled", "waiting"
        assert [bucket[key] for key in keys] == [4, 3, 3.0, 4.0, 0.75, 0, 4, 0]
        assert found["expired"] == 0
        assert sum(client.get(f"{at}/estimates").json()["counts"]) == 8
        figures = client.get("/metrics").text
        assert 'matroid_bandits_settled_decisions_total{campaign="ads"} 4.0' in figures
        assert 'matroid_bandits_expired_decisions_total{campaign="ads"} 0.0' in figures
    with serving(url) as client:
        assert client.get(day).json()["buckets"] == found["buckets"]


def test_closing_by_request_gives_what_answers_say_unless_a_default_is_given(url):
    with serving(url) as client:
        at = create(client, answers="clicks")
        client.post(f"{at}/ask/batch", json={"requests": [{}] * 5})
        for body in (
            {"decision": 1},
            {"decision": 2, "default": None},
            {"decision": 3, "default": 0.5},
            {"before": 5},
        ):
            assert client.post(f"{at}/close", json=body).json() == {"closed": 1}
        events = client.get(f"{at}/events").json()["events"]
        assert [each["default"] for each in events if each["event"] == "closed"] == [0.0, None, 0.5, 0.0]
        assert sum(client.get(f"{at}/estimates").json()["counts"]) == 6
        with mb.Client(str(client.base_url), "ads") as shop:
            shop.close(shop.ask())
            shop.close(shop.ask(), default=None)
            assert shop.estimates().counts.sum() == 8
            assert shop.close_before(100) == 1
            assert shop.estimates().counts.sum() == 10


def test_no_clicks_are_told_by_label_as_in_a_learner(url):
    with serving(url) as client:
        create(client, answers="clicks")
        learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM(), answers="clicks")
        with mb.Client(str(client.base_url), "ads") as shop:
            for each in (learner, shop):
                decision = each.ask()
                each.tell(decision, {})
                assert [one.id for one in each.outstanding] == [decision.id]
                each.close(decision)
                assert each.estimates().counts.sum() == decision.items.size


def test_answers_change_by_settings_and_by_the_client(url):
    with serving(url) as client:
        at = create(client, answer_window=3600)
        assert client.get(at).json()["answers"] == "all"
        body = {"answers": "clicks"}
        dry = client.put(f"{at}?dry_run=true", json=body).json()
        assert dry["differences"] == [{"setting": "answers", "before": "all", "after": "clicks"}]
        assert dry["answers"] == "all"
        assert client.put(at, json=body).json()["differences"] == dry["differences"]
        assert client.put(at, json=body).json()["differences"] == []
        assert client.get(at).json()["answers"] == "clicks"
        problem(client.put(at, json={"default": 0.5}), 422, "DataError")
        refused = client.put(at, json={"answers": "cascade"})
        assert (
            "expected one of all, clicks, first-click, first-failure, clicks-by-place; got 'cascade'"
            in refused.json()["detail"]
        )
        assert client.get(at).json()["default"] is None
        with mb.Client(str(client.base_url), "ads") as shop:
            shop.configure(answers="all")
            assert shop.show()["answers"] == "all"
        with mb.Client(str(client.base_url), "other") as other:
            other.create(mb.UniformMatroid(2, 1, labels="ab"), "OMM", answers="clicks")
        assert client.get("/v1/campaigns/other").json()["answers"] == "clicks"
        wrong = client.post(
            "/v1/campaigns",
            json={"name": "wrong", "matroid": ADS, "policy": "OMM", "answers": "clicks", "default": 0.5},
        )
        assert wrong.json()["detail"] == 'default: expected 0 or null with answers "clicks", got 0.5'


@pytest.mark.parametrize(
    ("spec", "answers"),
    [
        ({}, "all"),
        ({"answer_window": 60}, "all"),
        ({"default": 0}, "all"),
        ({"answer_window": 60, "default": 0.5}, "all"),
        ({"answer_window": 60, "default": 0}, "clicks"),
        ({"answer_window": 60, "default": 0, "answers": "all"}, "all"),
    ],
)
def test_a_window_and_the_default_0_are_read_as_clicks(spec, answers, tmp_path):
    with serving(str(tmp_path / "campaigns.db")) as client:
        assert client.get(create(client, **spec)).json()["answers"] == answers


def test_a_campaign_of_an_early_version_is_read_as_its_terms_say():
    """Its log does not name its answers: a window with the default 0 means clicks, on every server."""
    event = json.loads(Site(2, answers="clicks").log[0][3])
    del event["answers"]
    for spec, answers in (
        ({"answer_window": 60.0, "default": 0}, "clicks"),
        ({"answer_window": 60.0, "default": None}, "all"),
    ):
        replica = Replica(1, "old", spec)
        replica.follow(1, 0.0, json.dumps(event), 0)
        assert replica.learner.answers is None
        assert (replica.answers, replica.rest(spec["default"])) == (answers, spec["default"])
