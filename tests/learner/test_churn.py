"""Items that come and go while answers are late, learners start anew, and detectors raise alarms."""

import copy
import json
import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, ItemError, PolicyError
from steps import steps


def U(labels, k=1):
    return mb.UniformMatroid(len(labels), k, labels=list(labels))


def start(labels, policy, k=1, **settings):
    return mb.Learner(U(labels, k), policy, seed=0, id="x", **settings)


class Nervous(mb.Detector):
    """Raises an alarm at every gain of 1 or more."""

    def prepare(self, shape):
        return {"n": np.zeros(shape, np.int64)}

    def observe(self, kept, gains):
        kept["n"] += 1
        return gains >= 1.0


# Windows


def test_a_window_forgets_who_has_left_when_all_starts_anew(tmp_path):
    learner = start("ab", mb.SlidingWindowOMM(100))
    for _ in range(3):
        learner.tell(learner.ask(pinned=["b"]), [1.0])
    learner.change(U("a"))
    learner.restart()
    learner.change(U("ab"))
    learner.tell(learner.ask(pinned=["b"]), [0.0])
    np.testing.assert_array_equal(learner.estimates().means, [math.nan, 0.0])
    learner.save(tmp_path / "learner")
    assert mb.Learner.load(tmp_path / "learner").estimates().means[1] == 0.0


# Linear beliefs while plays wait


@pytest.mark.parametrize("by_request", [False, True])
def test_late_answers_of_a_departed_item_narrow_the_belief_beside_plays_that_wait(by_request):
    rows = {"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 1.0]}
    settings = {"prior_scale": 10.0, "noise": 1.0}
    policy = mb.CombLinUCB(n_features=2, **settings) if by_request else mb.CombLinUCB(list(rows.values()), **settings)
    given = {"features": rows} if by_request else {}
    learner = start("abc", policy, **given)
    late = [learner.ask(pinned=["b"]) for _ in range(100)]
    learner.ask(pinned=["c"])
    learner.change(U("ac"), **({"features": {x: rows[x] for x in "ac"}} if by_request else {}))
    for decision in late:
        learner.tell(decision, [5.0])
    precision = 1 / 100 + 100
    mean, width = 500 / precision, 1 / math.sqrt(precision)
    assert learner.estimates().indices[0] == pytest.approx(mean + width)
    assert learner.estimates().indices[1] == pytest.approx(1 / math.sqrt(1 / 100 + 1))  # one play of c waits


def test_an_alarm_leaves_the_plays_that_wait_in_a_shared_belief():
    policy = mb.CombLinUCB([[1.0], [1.0]], prior_scale=10.0, noise=1.0)
    learner = start("ab", mb.Restarting(policy, Nervous()))
    late = [learner.ask() for _ in range(101)]
    learner.tell(late[0], [1.0])
    assert learner.alarms[0].sum() == 1
    assert learner.estimates().indices[0] == pytest.approx(1 / math.sqrt(0.01 + 100))
    for decision in late[1:100]:
        learner.tell(decision, [0.0])
    assert learner.estimates().indices[0] == pytest.approx(1 / math.sqrt(0.01 + 100), rel=1e-9)
    learner.tell(late[100], [0.0])
    assert learner.estimates().indices[0] == pytest.approx(1 / math.sqrt(0.01 + 100), rel=1e-9)


def test_closing_one_of_many_decisions_looks_at_no_other():
    """What a close and an ask take, in lines of the package, does not depend on how many decisions wait."""
    taken = []
    for n in (1_100, 2_200):
        learner = start("abc", mb.CombLinUCB(np.eye(3)))
        decisions = [learner.ask() for _ in range(n)]
        taken.append(steps(lambda: (learner.close(decisions[n // 2]), learner.ask())))  # noqa: B023
        learner.close(n + 1)
        alone = start("abc", mb.CombLinUCB(np.eye(3)))
        for decision in decisions:
            again = alone.ask(pinned=decision.labels)
            if decision is decisions[n // 2]:
                alone.close(again)
        assert learner.estimates().indices == pytest.approx(alone.estimates().indices, rel=1e-12)
    assert taken[1] == taken[0]


def test_reading_a_linear_learner_changes_nothing(tmp_path):
    learners = [start("abc", mb.CombLinUCB(np.eye(3))) for _ in range(2)]
    for learner in learners:
        decisions = [learner.ask() for _ in range(6)]
        learner.close(decisions[1])
        if learner is learners[0]:
            learner.estimates()
            learner.explain("a")
            learner.save(tmp_path / "between")
        learner.tell(decisions[2], [0.25])
        learner.ask()
        learner.tell(decisions[3], [0.5])
        learner.save(tmp_path / str(learners.index(learner)))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


# Starting anew


def test_starting_anew_forgets_who_has_left_and_takes_their_answers_without_counting_them(tmp_path):
    log = []
    learner = start("abc", mb.OMM(), 2, record=log.append)
    late = [learner.ask(pinned=["b"]) for _ in range(3)]
    learner.tell(late[0], {"b": 1.0})
    learner.change(U("ac"))
    learner.restart()
    learner.save(tmp_path / "learner")
    for each in (learner, mb.Learner.load(tmp_path / "learner", record=None)):
        each.tell(late[1], {"b": 1.0})  # of an item that has left
        each.change(U("abc", 2))
        each.tell(late[2], {"b": 1.0})  # of an item that has started anew
        with pytest.raises(FeedbackError, match=r"expected items of decision 3, got 2 \('c'\)"):
            each.tell(late[2].id, {"a": 1.0, "c": 1.0})  # one was of the decision
        each.tell(late[2], {"a": 1.0})
        assert each.estimates().counts.tolist() == [0, 0, 0]
        assert np.isposinf(each.estimates().indices).all()
    assert mb.Learner.replay(json.loads(json.dumps(log))).estimates().counts.tolist() == [0, 0, 0]


def test_an_item_that_returns_after_all_started_anew_keeps_its_features():
    learner = start("abc", mb.CombLinUCB(np.eye(3)))
    learner.change(U("ab"))
    learner.restart()
    learner.change(U("abc"))
    assert learner.policy == mb.CombLinUCB(np.eye(3))


@pytest.mark.parametrize("policy", [mb.OMM(), mb.DiscountedOMM(0.9), mb.SlidingWindowOMM(50)], ids=repr)
def test_an_alarm_of_a_departed_item_clears_its_prior(policy):
    learner = start("ab", mb.Restarting(policy, Nervous()), priors={"b": (5.0, 100.0)})
    late = learner.ask(pinned=["b"])
    learner.change(U("a"))
    learner.tell(late, [1.0])
    learner.change(U("ab"))
    assert np.isnan(learner.estimates().means[1])
    assert np.isposinf(learner.estimates().indices[1])


# No items at all


def test_a_prior_outlives_a_time_without_items():
    learner = start("ab", mb.OMM(), priors={"b": (0.5, 100.0)})
    learner.change(U("", 0))
    learner.change(U("ab"))
    assert learner.estimates().means[1] == 0.5


def test_starting_anew_with_no_items_leaves_those_that_have_left():
    learner = start("ab", mb.OMM())
    decision = learner.ask(pinned=["b"])
    learner.change(U("", 0))
    learner.restart([])
    learner.tell(decision, [0.25])
    learner.change(U("ab"))
    assert learner.estimates().means[1] == 0.25


@pytest.mark.parametrize("by_request", [False, True])
def test_all_items_may_leave_and_others_come(by_request, tmp_path):
    policy = mb.CombLinUCB(n_features=1) if by_request else mb.CombLinUCB([[1.0], [2.0]])
    log = []
    learner = start("ab", policy, record=log.append, **({"features": [[1.0], [2.0]]} if by_request else {}))
    learner.tell(learner.ask(), [1.0])
    learner.change(U("", 0), features={})
    assert learner.ask().labels == ()
    learner.save(tmp_path / "learner")
    learner.change(U("ac"), features={"a": [1.0], "c": [3.0]} if by_request else {"c": [3.0]})
    learner.ask()
    log = json.loads(json.dumps(log))
    again = mb.Learner.replay(log)
    assert again.estimates().indices.tolist() == learner.estimates().indices.tolist()
    loaded = mb.Learner.load(tmp_path / "learner")
    for event in log[-2:]:
        loaded.apply(event)
    assert loaded.estimates().indices.tolist() == learner.estimates().indices.tolist()


# What a change costs


def test_a_change_looks_at_no_item_that_left_before():
    def turnover(n_departed):
        learner = start("ab", mb.OMM())
        learner.change(mb.UniformMatroid(2 + n_departed, 1, labels=["a", "b", *range(n_departed)]))
        learner.change(U("ab"))
        learner.change(U("ac"))
        return steps(lambda: learner.change(U("ad")))

    assert turnover(1_000) == turnover(10)


def test_rows_of_departed_items_are_used_again(tmp_path):
    learner = start(["a", "b"], mb.SlidingWindowOMM(1000), max_departed=3)
    model = {}
    rng = np.random.default_rng(0)
    for t in range(300):
        label = f"item {rng.integers(8)}"
        learner.change(U(["a", label]))
        if label not in model:  # newcomers are not known, whatever rows they are given
            assert np.isnan(learner.estimates().means[1]), t
        decision = learner.ask(pinned=[label])
        learner.tell(decision, [1.0])
        model.pop(label, None)
        model[label] = True
        while len(model) > 4:  # the last three that left, and the one that is there
            del model[next(iter(model))]
        learner.save(tmp_path / "learner")
    assert learner._departed.labels == list(model)[:-1]
    assert len(learner._departed._names) <= 6


# Sets, random numbers and names


def test_a_fixed_set_keeps_an_item_that_returns(tmp_path):
    learner = start("abc", mb.FixedSet(["c", "b"]), 2)
    learner.change(U("ab", 2))
    assert learner.ask().labels == ("a", "b")
    learner.save(tmp_path / "learner")
    for each in (learner, mb.Learner.load(tmp_path / "learner")):
        each.change(U("ax", 2))
        each.change(U("xcab", 2))
        assert each.ask().labels == ("c", "b")
        each.change(U("cxb", 2))
        assert each.policy.items.tolist() == [0, 2]
        assert each.policy.away == ()


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.DiscountedThompson(1.0)], ids=repr)
def test_departed_items_have_random_numbers_of_their_own(policy):
    n = 200
    learner = mb.Learner(mb.UniformMatroid(n, n, labels=[f"{i}" for i in range(n)]), policy, seed=3)
    decision = learner.ask()
    learner.change(U("x"))
    learner.tell(decision, np.full(n, 0.5))
    learner.change(mb.UniformMatroid(n, n, labels=[f"{i}" for i in range(n)]))
    successes = learner._agent.state.extra["successes"].sum()
    assert abs(successes - n / 2) < 5 * math.sqrt(n / 4)  # five standard deviations of fair coins


@pytest.mark.parametrize("departed", [1, True, 1.0])
def test_numbers_name_departed_items_of_their_own_type_alone(departed):
    learner = mb.Learner(mb.UniformMatroid(2, 2, labels=[departed, "b"]), mb.OMM(), seed=0)
    decision = learner.ask()
    learner.change(U("bcd"))
    for other in {int, bool, float} - {type(departed)}:
        with pytest.raises((ItemError, FeedbackError)):
            learner.tell(decision, {other(1): 1.0})
    if type(departed) is int:
        with pytest.raises(ItemError, match="got 1, which is the label of item 0 and the number of item 1"):
            learner.tell(decision, {1: 1.0})
        with pytest.raises(ItemError, match="the label of an item that has left"):
            learner.change(U("bcd"), forget=[1])
        learner.change(U("b"))
    learner.tell(decision.id, {departed: 1.0})
    assert learner.n_outstanding == 1
    learner.change(U("b"), forget=[departed])
    assert learner._departed.labels == ["c", "d"]


def test_a_number_that_returns_as_another_type_is_another_item():
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels=[1, "b"]), mb.OMM(), seed=0)
    learner.tell(learner.ask(), [0.5])
    learner.change(U("b"))
    learner.change(mb.UniformMatroid(2, 1, labels=[True, "b"]))
    assert learner.estimates().counts.tolist() == [0, 0]
    learner.change(U("b"))
    assert learner._departed.labels == [True]


def test_masked_arrays_are_refused():
    learner = start("ab", mb.CombLinUCB(n_features=1), 2, features=[[1.0], [2.0]])
    masked = np.ma.array([0.5, 0.5], mask=[True, False])
    with pytest.raises(FeedbackError, match="expected a weight for every item, got some that are masked"):
        learner.tell(learner.ask(), masked)
    with pytest.raises(FeedbackError, match="masked"):
        start("ab", mb.OMM()).observe(masked)
    with pytest.raises(PolicyError, match="masked"):
        learner.ask(features=masked[:, None])
    with pytest.raises(ItemError, match="masked"):
        learner.ask(available=np.ma.array([True, True], mask=[True, False]))
    assert learner.n_outstanding == 1
    learner.tell(1, np.ma.array([0.5, 0.5]))  # nothing is masked


def test_an_item_is_named_once_in_a_mapping():
    with pytest.raises(FeedbackError, match="expected a prior of each item once"):
        start("ab", mb.OMM(), priors={"a": (0.5, 1.0), 0: (0.25, 1.0)})
    with pytest.raises(FeedbackError, match="expected each item once"):
        start("ab", mb.OMM()).observe({"a": 0.5, 0: 0.25})
    with pytest.raises(PolicyError, match="expected features of each item once"):
        start("ab", mb.CombLinUCB(n_features=1), features={"a": [0.5], 0: [0.25], "b": [1.0]})


def test_a_copy_is_a_learner_of_its_own():
    learner = start("ab", mb.OMM())
    other = copy.copy(learner)
    other.tell(other.ask(), [1.0])
    assert (learner.n_decisions, learner.estimates().counts.tolist()) == (0, [0, 0])


# Equal bytes


def test_learners_that_were_given_the_same_events_save_equal_bytes(tmp_path, monkeypatch):
    for policy in (mb.OMM(), mb.SlidingWindowOMM(5), mb.CombLinUCB(np.eye(4)), mb.Restarting(mb.DiscountedOMM(0.9))):
        log = []
        learner = start("abcd", policy, 2, holdout=0.3, record=log.append)
        decisions = [learner.ask(exclude=["a"]) for _ in range(4)]
        learner.change(U("bcd", 2))
        learner.tell(decisions[0], [0.5, 0.25])
        learner.change(U("cd", 2))
        learner.change(U("abd", 2))
        learner.ask()
        paths = [tmp_path / name for name in ("one", "other", "third")]
        learner.save(paths[0])
        monkeypatch.setattr("time.localtime", lambda *_: (2001, 2, 3, 4, 5, 6, 0, 0, 0))
        mb.Learner.replay(json.loads(json.dumps(log))).save(paths[1])
        mb.Learner.load(paths[0]).save(paths[2])
        monkeypatch.undo()
        assert paths[0].read_bytes() == paths[1].read_bytes() == paths[2].read_bytes()


@pytest.mark.parametrize("how", ["forget", "most"])
def test_requests_forget_items_with_the_learner(how, tmp_path):
    """Who comes by a forgotten label is another, in a learner that was saved meanwhile and in one that was not."""
    settings = {"max_departed": 0} if how == "most" else {}
    learner = start("abc", mb.OMM(), **settings)
    learner.ask(available=["a", "b"], exclude=["c"], pinned=["b"])
    learner.change(U("a"), forget=["b", "c"] if how == "forget" else ())
    learner.save(tmp_path / "early")
    loaded = mb.Learner.load(tmp_path / "early")
    for each, name in ((learner, "one"), (loaded, "other")):
        each.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == (tmp_path / "early").read_bytes()
    for each, name in ((learner, "one"), (loaded, "other")):
        each.change(U("abc"))
        assert each.outstanding[0].pinned.size == 0
        each.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
