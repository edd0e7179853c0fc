"""Priors that the policy cannot take are refused at the edge; those of newcomers come from their category."""

import json
import math
import statistics

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError

POLICIES = [
    mb.ThompsonSampling(),
    mb.KLOSM(),
    mb.CLSG(),
    mb.SingleSeedThompson(),
    mb.DiscountedThompson(0.9),
    mb.Restarting(mb.KLOSM()),
]


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("mean", [5.0, -0.1])
def test_a_prior_outside_the_range_is_refused_and_changes_nothing(policy, mean, minimize):
    two, three = (mb.UniformMatroid(n, 1, labels="abc"[:n]) for n in (2, 3))
    with pytest.raises(FeedbackError, match=rf"needs weights in \[0, 1\], got a prior mean of {mean:g} for 'b'"):
        mb.Learner(two, policy, minimize=minimize, priors={"b": (mean, 1.0)})
    log = []
    learner = mb.Learner(two, policy, minimize=minimize, seed=0, record=log.append)
    with pytest.raises(FeedbackError, match="got a prior mean"):
        learner.change(three, priors={"c": (mean, 1.0)})
    assert learner.constraint == two
    assert [event["event"] for event in log] == ["created"]
    learner.tell(learner.ask(), [0.5])
    learner.change(three, priors={"c": (1.0, 1.0)})
    learner.change(two)
    learner.change(three, priors="typical")
    learner.tell(learner.ask(), [0.5])


SHOP = {f"{kind}{n}": (kind, "xy"[n % 2]) for kind in ("shoes", "hats") for n in range(6)}


def shop(rows):
    named = {label: {"section": section, "brand": brand} for label, (section, brand) in rows.items()}
    return mb.QuotaIntersection.from_rows(named, {"section": 3, "brand": 4})


def told_shop(minimize=False, record=None):
    """A learner that has told every item of the shop five to nine times, and the books of it."""
    learner = mb.Learner(shop(SHOP), mb.OMM(0.3), minimize=minimize, seed=0, record=record)
    rng, books = np.random.default_rng(3), {}
    for label, (section, _) in SHOP.items():
        centre = rng.normal(0.7 if section == "shoes" else 0.2, 0.1)
        books[label] = np.clip(rng.normal(centre, 0.05, rng.integers(5, 10)), 0.0, 1.0).tolist()
        for weight in books[label]:
            learner.observe({label: weight})
    return learner, books


def worth(books, labels):
    """Mean of the items' means, and the plays at which the spread of these is that of a mean's error."""
    means, plays = [statistics.fmean(books[x]) for x in labels], [len(books[x]) for x in labels]
    low, high = min(map(min, books.values())), max(map(max, books.values()))
    mean = statistics.fmean(means)
    variance = (mean - low) * (high - mean)
    spread = statistics.variance(means) - variance * statistics.fmean(1.0 / n for n in plays)
    most = statistics.median(plays)
    return mean, (min(max(variance / spread, 1.0), most) if spread > 0.0 else most)


@pytest.mark.parametrize("minimize", [False, True])
def test_typical_priors_are_those_of_the_category(minimize):
    """Against own books: of items alike in both categories, in one of them, and of all; events have the numbers."""
    log = []
    learner, books = told_shop(minimize, log.append)
    new = {"a": ("shoes", "x"), "b": ("hats", "y"), "c": ("shoes", "z"), "d": ("bags", "x"), "e": ("bags", "z")}
    stay = {label: kinds for label, kinds in SHOP.items() if label != "shoes0"}
    learner.change(shop(stay | new), priors="typical", forget=["hats1"])
    known = {label: kinds for label, kinds in SHOP.items() if label != "hats1"}
    alike = {
        "a": [x for x, kinds in known.items() if kinds == ("shoes", "x")],  # with shoes0, which leaves now
        "b": [x for x, kinds in known.items() if kinds == ("hats", "y")],
        "c": [x for x, kinds in known.items() if kinds[0] == "shoes"],
        "d": [x for x, kinds in known.items() if kinds[1] == "x"],
        "e": list(known),
        "hats1": [x for x, kinds in known.items() if kinds == ("hats", "y")],
    }
    event = json.loads(json.dumps(log[-1]))
    assert {label for label, *_ in event["priors"]} == {*alike}
    for label, mean, plays in event["priors"]:
        assert (mean, plays) == pytest.approx(worth(books, alike[label])), label
        explained = learner.explain(label)
        assert (explained.mean, explained.plays) == pytest.approx((mean, plays))
    n = {label: plays for label, _, plays in event["priors"]}
    assert n["e"] < n["a"]  # items of all categories differ more than those of one
    again = mb.Learner.replay(json.loads(json.dumps(log)))
    assert again.has_state_of(learner)
    assert [again.ask().labels for _ in range(20)] == [learner.ask().labels for _ in range(20)]


def test_the_plays_of_typical_priors_may_be_given():
    learner, books = told_shop()
    form = learner.change_form(shop(SHOP | {"a": ("hats", "x")}), priors=["typical", 2.5], features=None, forget=())
    ((label, mean, plays),) = form["priors"]
    alike = [x for x, kinds in SHOP.items() if kinds == ("hats", "x")]
    assert (label, mean, plays) == ("a", pytest.approx(worth(books, alike)[0]), 2.5)
    learner.change(shop(SHOP | {"a": ("hats", "x")}), priors=("typical", 0.0))
    assert learner.explain("a").plays == 0.0  # worth nothing: it is tried first
    for wrong in (("typical", -1), ("typical", "x"), ("usual", 3), "usual"):
        with pytest.raises(FeedbackError, match=r"expected (priors by item|the plays of typical priors)"):
            learner.change(shop(SHOP), priors=wrong)


def test_items_that_are_alike_make_a_newcomer_as_sure_as_they_are():
    learner = mb.Learner(mb.PartitionMatroid(dict.fromkeys("abc", "x")), mb.OMM(), seed=0)
    learner.change(mb.PartitionMatroid(dict.fromkeys("abcd", "x")), priors="typical")
    assert math.isinf(learner.estimates().indices[3])  # nothing is known yet
    for weight in (0.0, 1.0, 0.0, 1.0):
        learner.observe({"a": weight, "b": 1.0 - weight})
    learner.change(mb.PartitionMatroid(dict.fromkeys("abcde", "x")), priors="typical")
    assert (learner.explain("e").mean, learner.explain("e").plays) == (0.5, 4.0)


def test_the_word_in_a_log_of_an_early_version_keeps_its_meaning():
    """There it is the median of the means and plays of all items, whatever their categories; it is written again."""
    log = []
    learner, books = told_shop(record=log.append)
    learner.change(shop(SHOP | {"a": ("hats", "x")}), priors="typical")
    old = json.loads(json.dumps(log))
    old[-1]["priors"] = "typical"
    written = []
    again = mb.Learner.replay(old, record=written.append)
    means, plays = zip(*((statistics.fmean(each), len(each)) for each in books.values()), strict=True)
    explained = again.explain("a")
    assert (explained.mean, explained.plays) == pytest.approx((statistics.median(means), statistics.median(plays)))
    assert explained.mean != pytest.approx(learner.explain("a").mean, abs=0.05)
    assert json.loads(json.dumps(written)) == old


def test_labels_that_are_numbers_are_no_numbers_of_items():
    before = mb.UniformMatroid(3, 1, labels=[2, 0, 1])
    learner = mb.Learner(before, mb.OMM(), seed=0)
    learner.observe(np.array([0.25, 0.5, 0.75]))
    log = []
    learner.record = log.append
    learner.change(mb.UniformMatroid(5, 1, labels=[4, 2, 0, 1, 3]), priors="typical")
    assert [label for label, *_ in log[0]["priors"]] == [4, 3]
    assert learner.estimates().means[[0, 4]].tolist() == [0.5, 0.5]
