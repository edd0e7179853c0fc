"""Explanations where items do not replace each other one by one: the best set with an item forced in or out."""

import itertools

import numpy as np
import pytest

import matroid_bandits as mb
from samples_constraints import Matching, Routes

PAIRS = [f"{row}{column}" for row in "ab" for column in "xyz"]


def sets_of(constraint):
    n = constraint.n_items
    sets = [set(s) for k in range(n + 1) for s in itertools.combinations(range(n), k) if constraint.is_allowed(s)]
    largest = max(map(len, sets))
    return [s for s in sets if len(s) == largest] if constraint.fills_up else sets


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("constraint", [Matching(2, 3, labels=PAIRS), Routes(labels="abcde")], ids=repr)
def test_forcing_costs_what_solving_again_says(constraint, minimize):
    rng = np.random.default_rng(5)
    sign = -1.0 if minimize else 1.0
    for _ in range(20):
        learner = mb.Learner(constraint, mb.OMM(scale=0.0), seed=0, minimize=minimize)
        weights = rng.integers(0, 8, constraint.n_items) / 8
        learner.observe(weights)
        totals = {tuple(sorted(s)): sign * weights[sorted(s)].sum() for s in sets_of(constraint)}
        chosen = set(learner.preview().items.tolist())
        for e in range(constraint.n_items):
            why = learner.explain(constraint.labels[e])
            fitting = [total for s, total in totals.items() if (e in s) != (e in chosen)]
            if not fitting:
                assert e in chosen  # in every set
                assert why.forced == mb.Forced(np.inf)
                assert str(why).endswith("without it there is no allowed set")
                continue
            assert why.forced.cost == pytest.approx(max(totals.values()) - max(fitting))
            other = {learner.constraint.labels[f] for f in chosen} - set(why.forced.leaves) | set(why.forced.enters)
            assert constraint.allows(constraint.as_items(other))
            assert (constraint.labels[e] in other) == (e not in chosen)


def test_sentences():
    learner = mb.Learner(Matching(2, 3, labels=PAIRS), mb.OMM(scale=0.0), seed=0)
    assert "items to be tried first would be left out" not in str(learner.explain("az"))
    learner.observe(dict(zip(PAIRS, [0.5, 0.25, 0.0, 0.25, 0.5, 0.0], strict=True)))
    out, chosen = learner.explain("ay"), learner.explain("ax")
    assert (
        str(out) == "ay is out (mean 0.25 over 1 plays, index 0.25): forced in, it would cost 0.5: ay, bx for ax, by"
    )
    assert str(chosen).endswith("forced out, it would cost 0.5: ay, bx for ax, by")
    assert out.forced == mb.Forced(0.5, ("ay", "bx"), ("ax", "by"))
    assert (out.standing, out.rivals.size, learner.explain("by", pinned=["by"]).forced) == ("out", 0, None)
    assert learner.explain("bx", pinned=["ax"]).standing == "loop"
    assert str(learner.explain("bx", pinned=["ax"])) == "bx cannot be chosen with what is pinned, or by itself"
    assert learner.explain("bx", exclude=["bx"]).standing == "unavailable"
    tie = mb.Learner(Matching(2, 2, labels=["ax", "ay", "bx", "by"]), mb.OMM(scale=0.0), seed=0)
    tie.observe([0.5] * 4)
    assert "it would cost nothing, since the other set is as good: ay, bx for ax, by" in str(tie.explain("ay"))


def test_a_set_that_would_be_smaller():
    learner = mb.Learner(Matching(2, 2, labels=["ax", "ay", "bx", "by"]), mb.OMM(scale=0.0), seed=0, minimize=True)
    learner.observe([0.5, 0.1, 0.5, 0.5])
    why = learner.explain("ay", exclude=["bx"])  # with ay there is no partner for b
    assert why.forced.cost == np.inf
    assert str(why).endswith("forced in, the set would be smaller: ay for ax, by")


def test_items_to_be_tried_first():
    learner = mb.Learner(Matching(2, 2, labels=["ax", "ay", "bx", "by"]), mb.OMM(), seed=0)
    learner.observe({"ax": 1.0, "by": 1.0})
    why = learner.explain("ax")
    assert why.forced.cost == np.inf
    assert "items to be tried first would be left out: ax, by for ay, bx" in str(why)


def test_of_a_decision_with_what_is_believed_today():
    learner = mb.Learner(Matching(2, 2, labels=["ax", "ay", "bx", "by"]), mb.OMM(scale=0.0), seed=0)
    learner.observe([0.75, 0.5, 0.5, 0.75])
    first, second = learner.ask(), learner.ask()
    learner.tell(first, [0.0, 0.0])  # 0.375 each by now
    why = learner.explain("ay", decision=second)
    assert why.forced == mb.Forced(-0.25, ("ay", "bx"), ("ax", "by"))
    assert "forced in, it would gain 0.25: ay, bx for ax, by" in str(why)


TRIANGLE = mb.PathConstraint([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")


def test_beside_pins_that_leave_no_other_set():
    learner = mb.Learner(TRIANGLE, mb.OMM(scale=0.0), seed=0)
    learner.observe([0.25, 0.5, 0.5])
    why = learner.explain(("a", "t"), pinned=[("s", "a")])
    assert (why.standing, why.forced) == ("chosen", mb.Forced(np.inf))
    assert str(why) == "a-t is chosen (mean 0.5 over 1 plays, index 0.5): without it there is no allowed set"
    assert str(mb.Explanation.from_dict(why.to_dict())) == str(why)
    assert learner.explain(("s", "t"), pinned=[("s", "a")]).standing == "loop"


def test_a_request_that_leaves_nothing_beside_pins():
    mask = np.array([True, False, True])
    items, sizes = TRIANGLE.solve(np.ones((2, 3)), available=mask, pinned=np.array([0]))
    assert (sizes.tolist(), items.shape[0]) == ([0, 0], 2)
    assert TRIANGLE.max_size(available=mask, pinned=np.array([0])) == -1
    without = TRIANGLE.force(np.ones(3), 1, False, pinned=np.array([0]))
    assert without.tolist() == []
    listed = mb.ExplicitSets([[0, 1], [2]])
    assert listed.force(np.ones(3), 1, False, pinned=np.array([0])).tolist() == []
