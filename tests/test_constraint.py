"""What a constraint promises, where it is no matroid, and who notices when it does not."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits import constraint as constraint_module
from matroid_bandits.exceptions import (
    ContractError,
    InvalidConstraintError,
    InvalidMatroidError,
    ItemError,
    SerializationError,
    WeightsError,
)
from samples_constraints import CONSTRAINTS, Matching, Routes

STORED = Path(__file__).parent / "stored"
PAIRS = [f"{row}{column}" for row in "ab" for column in "xyz"]


def test_pins_that_exclude_each_other_are_refused():
    learner = mb.Learner(Matching(2, 3, labels=PAIRS), mb.OMM(), seed=0)
    assert "ay" in learner.ask(pinned=["ay"]).labels
    with pytest.raises(ItemError, match="expected pinned items that can be chosen together, got 'ax', 'bx', whi"):
        learner.ask(pinned=["ax", "bx"])
    routes = mb.Learner(Routes(labels="abcde"), mb.OMM(), seed=0)
    assert routes.ask(pinned=["c"]).labels == ("b", "c")
    with pytest.raises(ItemError, match="chosen together, got 'a', 'b', which exclude each other"):
        routes.ask(pinned=["a", "b"])
    with pytest.raises(ItemError, match="chosen together with what is available, got 'c', which needs more"):
        routes.ask(pinned=["c"], exclude=["b"])
    assert routes.n_decisions == 1


def test_whether_a_decision_is_full():
    learner = mb.Learner(Matching(2, 3, labels=PAIRS), mb.OMM(), seed=0)
    assert learner.ask().is_full
    assert not learner.ask(available=["ax", "bx"]).is_full  # 1 item where 2 are possible
    routes = mb.Learner(Routes(labels="abcde"), mb.OMM(), seed=0)
    assert routes.ask().is_full
    assert routes.ask(available=["a"]).is_full
    nothing = routes.ask(available=["b", "e"])
    assert nothing.labels == ()
    assert not nothing.is_full


def test_largest_sets():
    matching, routes = Matching(2, 3), Routes()
    one = np.isin(np.arange(6), [0, 3])
    assert matching.largest_size == 2
    assert matching.max_size(available=one) == 1
    assert matching.max_size(pinned=np.array([0, 3])) == -1
    assert routes.largest_size == 3
    assert routes.max_size(pinned=np.array([2])) == 2
    assert routes.max_size(pinned=np.array([0, 1])) == -1
    graph = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)])
    assert (graph.largest_size, graph.max_size(pinned=np.array([0, 1, 2]))) == (3, -1)
    assert graph.max_size(available=np.array([True, True, True, False]), pinned=np.array([3])) == 3


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
@pytest.mark.parametrize("minimize", [False, True])
def test_oracles_see_finite_weights_and_unseen_items_come_first(constraint, minimize):
    class Watched(type(constraint)):
        def best_sets(self, weights, **wanted):
            assert np.isfinite(weights).all()
            return super().best_sets(weights, **wanted)

    watched = Watched(**constraint.fields())
    learner = mb.Learner(watched, mb.OMM(), seed=0, minimize=minimize)
    assert watched.allows(learner.best_basis().items)  # of no item that was seen
    for _ in range(4):
        decision = learner.ask()
        unseen = learner.estimates().counts == 0
        sets = [s for s in every_set(constraint) if len(s) == decision.items.size or not constraint.fills_up]
        assert unseen[decision.items].sum() == max(unseen[list(s)].sum() for s in sets)
        learner.tell(decision, np.full(decision.items.size, 1e9))
    problem = mb.Problem(watched, mb.BernoulliEnvironment(np.full(watched.n_items, 0.5)), minimize)
    assert mb.simulate(problem, [mb.OMM()], n_episodes=20, n_runs=3, seed=0, start="explore").n_runs == 3


def every_set(constraint):
    n = constraint.n_items
    masks = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return [tuple(np.flatnonzero(m).tolist()) for m in masks if constraint.allows(np.flatnonzero(m))]


def test_what_stands_for_unseen_items_beats_every_difference_of_the_others():
    weights = np.array([[1.0, 1.0, 0.0, -1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    unseen = np.isin(np.arange(6), 2)[None] & np.ones((2, 1), bool)
    items, sizes = Matching(2, 3).solve(np.where(unseen, np.inf, weights))
    assert sizes.tolist() == [2, 2]
    assert (items == 2).any(axis=1).all()
    with pytest.raises(WeightsError, match=r"\+inf for items never seen; got -inf for item 4 of run 1"):
        Matching(2, 3).solve(np.where(np.arange(12).reshape(2, 6) == 10, -np.inf, 0.0))


def wrong(change):
    """A matching whose answers are changed."""

    class Wrong(Matching):
        def best_sets(self, weights, *, available=None, pinned=None):
            return change(*super().best_sets(weights, available=available, pinned=pinned))

    return Wrong(2, 3, labels=PAIRS)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda items, sizes: (items * 0 + 1, sizes), r"distinct items, ascending; got \[1, 1\]"),
        (lambda items, sizes: (items[:, ::-1], sizes), r"distinct items, ascending; got \[4, 0\]"),
        (lambda items, sizes: (items * 0 + [0, 1], sizes), r"a set that is allowed, got \[0, 1\]"),
        (lambda items, sizes: (items * 0 + [0, 6], sizes), r"items in 0\.\.5, got \[\[0, 6\]\]"),
        (lambda items, sizes: (items, sizes + 1), r"sizes in 0\.\.2, got \[3\]"),
        (lambda items, sizes: (items[0], sizes), r"items, 2-d int64, a row per run; got shape \(2,\) of int64"),
        (lambda items, sizes: (items.tolist(), sizes), "items, 2-d int64, a row per run; got list"),
        (lambda items, sizes: (items, sizes.astype(float)), r"sizes, 1-d int64.*got shape \(1,\) of float64"),
    ],
)
def test_an_oracle_that_is_wrong_is_not_believed(change, match):
    learner = mb.Learner(wrong(change), mb.OMM(), seed=0)
    with pytest.raises(ContractError, match=rf"expected Wrong\.best_sets to \w+ {match}"):
        learner.ask()
    assert learner.n_decisions == 0


def test_an_oracle_that_ignores_the_request_is_not_believed():
    class Deaf(Matching):
        def best_sets(self, weights, *, available=None, pinned=None):
            return super().best_sets(np.zeros_like(weights))  # "ax" and "by"

    for holdout in (0.0, 1.0):
        learner = mb.Learner(Deaf(2, 3, labels=PAIRS), mb.OMM(), seed=0, holdout=holdout)
        with pytest.raises(ContractError, match="choose of what is available, got a set with 'ax'"):
            learner.ask(exclude=["ax"])
        with pytest.raises(ContractError, match="choose what is pinned, got a set without 'az'"):
            learner.ask(pinned=["az"])
    worlds = mb.AvailabilityEnvironment(mb.BernoulliEnvironment(np.full(6, 0.5)), 0.5)
    with pytest.raises(ContractError, match="choose of what is available"):
        mb.simulate(mb.Problem(Deaf(2, 3), worlds), [mb.OMM()], n_episodes=20, n_runs=5, seed=0)


@pytest.mark.parametrize("constraint", [Matching(2, 3, labels=PAIRS), Routes(labels="abcde")], ids=CONSTRAINTS)
def test_a_learner_is_saved_and_loaded(constraint, tmp_path):
    log = []
    learner = mb.Learner(constraint, mb.OMM(), seed=0, record=log.append, holdout=0.25)
    for t in range(10):
        decision = learner.ask(exclude=constraint.labels[:1] if t % 3 == 2 else ())
        if t % 2:
            learner.tell(decision, np.full(decision.items.size, t / 10))
    learner.save(tmp_path / "learner.npz")
    loaded = [
        mb.Learner.load(tmp_path / "learner.npz"),
        mb.Learner.load(tmp_path / "learner.npz", constraint=constraint),
        mb.Learner.replay(json.loads(json.dumps(log))),
    ]
    with pytest.raises(SerializationError, match="expected the constraint that the learner was saved with"):
        mb.Learner.load(tmp_path / "learner.npz", constraint=mb.UniformMatroid(constraint.n_items, 1))
    for _ in range(5):
        decision = learner.ask()
        assert [other.ask().labels for other in loaded] == [decision.labels] * 3


def test_stored_forms_say_constraint_and_older_ones_are_read():
    form = Matching(2, 2).to_dict()
    assert form["format"] == "matroid-bandits/constraint"
    assert mb.constraint_from_dict(form) == Matching(2, 2)
    older = mb.UniformMatroid(3, 1).to_dict() | {"format": "matroid-bandits/matroid"}
    assert mb.constraint_from_dict(older) == mb.UniformMatroid(3, 1)
    with pytest.raises(SerializationError, match="malformed sample-matching constraint"):
        mb.constraint_from_dict({**form, "n_rows": None})
    with pytest.raises(SerializationError, match="expected the form of a matroid, got that of Matching"):
        mb.constraint_from_dict({**mb.UniformMatroid(3, 1).truncate(1).to_dict(), "base": form})


def test_files_and_logs_of_the_first_version_are_read():
    """Written before stored forms said constraint: a learner's file after 12 decisions, and its log with 3 more."""
    log = json.loads((STORED / "log-1.json").read_text())
    learner = mb.Learner.load(STORED / "learner-1.npz")
    again = mb.Learner.replay(log)
    assert (learner.n_decisions, again.n_decisions) == (12, 15)
    for event in log[-3:]:
        assert list(learner.ask().labels) == event["items"]
    assert learner.ask().labels == again.ask().labels


def test_errors_of_descriptions():
    with pytest.raises(InvalidConstraintError, match="expected 6 labels, one per item, got 1") as caught:
        Matching(2, 3, labels="a")
    assert not isinstance(caught.value, InvalidMatroidError)
    with pytest.raises(InvalidMatroidError, match="expected 3 labels"):
        mb.UniformMatroid(3, 1, labels="a")


ARCS = [("u", "v"), ("v", "w"), ("u", "w"), ("w", "x")]
SIZED = {
    "uniform": (mb.UniformMatroid(5, 2, labels="abcde"), (5, 5, 1)),
    "partition": (mb.PartitionMatroid(list("aabbbc")), (6, 6, 1)),
    "laminar": (mb.LaminarMatroid(6, [([0, 1, 2], 1), ([0, 1], 1)]), (6, 6, 1)),
    "graphic": (mb.GraphicMatroid(ARCS), (4, 4, 1)),
    "transversal": (mb.TransversalMatroid({"a": list("xyz"), "b": list("xyzw")}), (2, 2, 1)),
    "linear": (mb.LinearMatroid(np.ones((3, 7))), (3, 3, 1)),
    "dual": (mb.GraphicMatroid(ARCS).dual(), (4, 8, 1)),
    "truncation": (mb.GraphicMatroid(ARCS).truncate(1), (4, 8, 1)),
    "restriction": (mb.UniformMatroid(6, 3).restrict([1, 4]), (2, 8, 1)),
    "contraction": (mb.GraphicMatroid(ARCS).contract([0]), (3, 7, 1)),
    "direct-sum": (mb.direct_sum(mb.UniformMatroid(3, 1), mb.PartitionMatroid([0, 0])), (5, 10, 2)),
    "arborescence": (mb.ArborescenceConstraint(ARCS, "u"), (4, 4, 1)),
    "assignment": (mb.AssignmentConstraint([(row, column) for row in "ab" for column in "xyz"]), (6, 6, 1)),
    "explicit-sets": (mb.ExplicitSets([(0, 1), (1, 2), (0, 2), (0,), (1,)]), (3, 3, 1)),
    "intersection": (mb.MatroidIntersection(mb.GraphicMatroid(ARCS), mb.UniformMatroid(4, 2)), (4, 12, 2)),
    "knapsack": (mb.KnapsackConstraint([3, 5, 2], 8), (3, 3, 1)),
    "path": (mb.PathConstraint(ARCS, "u", "x"), (4, 4, 1)),
    "quota-intersection": (mb.QuotaIntersection(mb.PartitionMatroid([0, 0, 1]), mb.UniformMatroid(3, 2)), (3, 9, 2)),
}


def test_every_kind_of_the_package_has_a_size():
    ours = {
        kind
        for kind, cls in constraint_module._KINDS.items()
        if cls.__module__.startswith("matroid_bandits.")
        and vars(sys.modules[cls.__module__]).get(cls.__name__) is cls
    }  # without classes of examples
    assert {made.to_dict()["kind"] for made, _ in SIZED.values()} == ours


@pytest.mark.parametrize("name", SIZED)
def test_the_size_of_a_form_is_that_of_the_constraint(name):
    made, expected = SIZED[name]
    assert mb.Constraint.form_size(made.to_dict()) == expected
    assert expected[0] == made.n_items


@pytest.mark.parametrize(
    "form", [None, 3, {}, {"kind": []}, {"kind": "nothing"}, {"kind": "uniform", "n_items": True}]
)
def test_a_malformed_form_has_no_items(form):
    assert mb.Constraint.form_size(form) == (0, 0, 1)
    assert mb.Constraint.form_size({"kind": "direct-sum", "parts": [form]}) == (0, 0, 1)


def test_an_own_class_says_which_field_is_per_item():
    class Rows(mb.UniformMatroid):
        kind = "test-form-size-rows"
        per_item = "rows"

    assert mb.Constraint.form_size({"kind": "test-form-size-rows", "rows": [[1, 2], [3]]}).n_items == 2
    assert mb.Constraint.form_size({"kind": "test-form-size-rows", "labels": ["a", "b", "c"]}).n_items == 3
