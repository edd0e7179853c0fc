"""What each family promises as a constraint, what it refuses, its stored form, and its place in learners."""

import pickle

import networkx as nx
import numpy as np
import pytest

import families
import matroid_bandits as mb
from matroid_bandits.exceptions import (
    InvalidConstraintError,
    ItemError,
    PolicyError,
    ProblemError,
    SerializationError,
)

COURIERS = mb.AssignmentConstraint([("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "z"), ("eve", "x")])
ROADS = mb.PathConstraint([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("b", "c"), ("a", "d")], "a", "d")
RING = mb.PathConstraint([("a", "b"), ("b", "c"), ("c", "b"), ("b", "d"), ("c", "d"), ("d", "a")], "a", "d")
NEWS = mb.PartitionMatroid({"p": "sport", "q": "sport", "r": "news", "s": "news", "t": "art"}, 1)
PAGE = mb.QuotaIntersection(NEWS.truncate(2), mb.LaminarMatroid(5, [([0, 2, 4], 1), ([1, 3], 1)]))

SHOP = mb.QuotaIntersection.from_rows(
    {f"{section}{k}": {"section": section, "brand": "xyz"[k % 3]} for section in "abc" for k in range(3)},
    {"section": {"a": 2, "b": 1, "c": 3}, "brand": 2},
    total=4,
)
BASKET = mb.KnapsackConstraint(
    {"soup": 4, "bread": 2, "pasta": 6, "salad": 4, "water": 0, "wine": 20},
    10,
    {"soup": "starter", "salad": "starter", "water": "drink", "wine": "drink"},
    at_most=3,
    unit="coins",
)
MENUS = mb.ExplicitSets([("soup", "bread"), ("pasta",), ("salad", "bread", "cheese"), ("soup", "pasta")])
LINKS = mb.ArborescenceConstraint([("a", "b"), ("a", "c"), ("b", "c"), ("c", "b"), ("c", "d"), ("b", "d")], "a")
GRAPH = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("b", "d"), ("d", "a")])
COLOURS = mb.PartitionMatroid(["red", "red", "blue", "blue", "red", "green"], {"red": 2, "blue": 1, "green": 1})

SAMPLES = {
    "couriers": COURIERS,
    "square": mb.AssignmentConstraint.between("abc", "xyz"),
    "tall": mb.AssignmentConstraint.between("abcd", "xy"),
    "roads": ROADS,
    "two roads": mb.PathConstraint(ROADS.arcs, "a", "d", 2),
    "page": PAGE,
    "shop": SHOP,
    "menus": MENUS,
    "basket": BASKET,
    "links": LINKS,
    "forests": mb.MatroidIntersection(GRAPH, COLOURS),
    "vectors": mb.MatroidIntersection(
        mb.LinearMatroid([[1, 0], [0, 1], [1, 1], [2, 2]]), mb.UniformMatroid(4, 2).dual()
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_promises(name):
    # within a budget, items of weight 0 stay out
    mb.testing.ConstraintSuite.check(constraint=SAMPLES[name], n_trials=20, is_canonical=name != "basket")


class TestPathsWithCycles(mb.testing.ConstraintSuite):
    constraint = RING
    n_trials = 20
    weights = (-3, -1)
    is_canonical = True

    def test_largest_sizes(self):
        """A bound: the longest path is NP-hard to find."""
        assert RING.largest_size == 3
        assert RING.max_size(available=np.zeros(6, bool)) == -1

    def test_best_sets_around_what_is_pinned(self):
        with pytest.raises(ItemError, match="expected no pinned items on paths of a graph with cycles, since paths"):
            RING.best_sets(np.full((1, 6), -1.0), pinned=np.array([1]))

    def test_a_row_does_not_depend_on_the_others(self):
        weights = self._weights(np.random.default_rng(0), 8)
        items, sizes = RING.best_sets(weights)
        for run in range(8):
            alone = RING.best_sets(weights[run : run + 1])[0][0]
            assert alone.tolist() == items[run, : sizes[run]].tolist()

    def test_arguments_are_left_alone(self):
        weights = np.full((1, 6), -1.0)
        RING.best_sets(weights)
        assert (weights == -1.0).all()


def test_large_weights_and_small_ones():
    """Indices that gain, and costs of nothing, count as costs of almost nothing: no cycle is added to a path."""
    items, sizes = RING.best_sets(np.array([[5.0, 5.0, 5.0, 5.0, 5.0, 5.0], [0.0] * 6, [-1e-30, 0, 0, -1, 0, 0]]))
    assert [row[:n].tolist() for row, n in zip(items, sizes, strict=True)] == [[0, 3], [0, 3], [0, 1, 4]]
    unseen = np.array([[np.inf, -1.0, np.inf, -1.0, -1.0, np.inf]])
    assert RING.solve(unseen)[0].tolist() == [[0, 3]]


@pytest.mark.parametrize("name", [*SAMPLES, "ring"])
def test_stored_and_pickled(name):
    constraint = SAMPLES.get(name, RING)
    again = mb.constraint_from_dict(constraint.to_dict())
    assert again == constraint
    assert again.labels == constraint.labels
    assert again.to_dict() == constraint.to_dict()
    weights = -np.random.default_rng(1).random((4, constraint.n_items))
    for other in (again, pickle.loads(pickle.dumps(constraint))):
        for one, two in zip(constraint.best_sets(weights), other.best_sets(weights), strict=True):
            assert np.array_equal(one, two)
    form = constraint.to_dict()
    form.pop("format")
    with pytest.raises(SerializationError):
        mb.constraint_from_dict({**form, "format": "matroid-bandits/constraint", "more": 1})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.AssignmentConstraint([]), "expected a pair or more, got none"),
        (lambda: mb.AssignmentConstraint([("a", 1), ("a", 1)]), r"distinct pairs, got \('a', 1\) as items 0 and 1"),
        (lambda: mb.AssignmentConstraint([(1, 2)], sides="ab"), "expected sides to be two words, got 'ab'"),
        (lambda: mb.AssignmentConstraint(["ab"]), "expected pair 0 to be a row and a column, got 'ab'"),
        (lambda: mb.AssignmentConstraint(5), "expected a sequence of pairs, got int"),
        (lambda: mb.AssignmentConstraint(np.zeros((2, 3), int)), r"of shape \(n_items, 2\), got \(2, 3\)"),
        (lambda: mb.AssignmentConstraint.between("aa", "x"), "expected distinct rows, got "),
        (
            lambda: mb.AssignmentConstraint.between("a", "x", forbidden=[("a", "y")]),
            "expected forbidden pairs of a r",
        ),
        (lambda: mb.PathConstraint([], "a", "b"), "expected an arc or more, got none"),
        (lambda: mb.PathConstraint([("a", "b")], "a", "z"), "expected the target to be the end of an arc, got 'z'"),
        (lambda: mb.PathConstraint([("a", "b")], "a", "a"), "expected a source and a target that differ, got 'a'"),
        (lambda: mb.PathConstraint([("a", "b")], "b", "a"), "expected a path from 'b' to 'a', found none"),
        (
            lambda: mb.PathConstraint([("a", "b"), ("b", "c")], "a", "b", 2),
            "2 paths that share no arc from 'a' to 'b', found 1 a",
        ),
        (
            lambda: mb.PathConstraint([("a", "b")], "a", "b", 0),
            "expected n_paths to be an integer from 1 to 1, got 0",
        ),
        (
            lambda: mb.PathConstraint.from_networkx(nx.Graph([(0, 1)]), 0, 1),
            "expected a directed graph, got an undir",
        ),
        (lambda: mb.ArborescenceConstraint([("a", "b"), ("c", "b")], "a"), "reached from 'a', got 'c', which is not"),
        (lambda: mb.ArborescenceConstraint([("a", "b")], "z"), "expected the root to be the end of an arc, got 'z'"),
        (lambda: mb.ExplicitSets([]), "expected a set or more, got none"),
        (lambda: mb.ExplicitSets([("a",), ()]), "expected sets of an item or more, got an empty one"),
        (lambda: mb.ExplicitSets([("a", "a")]), "expected sets of items, got .*: expected distinct items"),
        (lambda: mb.ExplicitSets(["ab"]), "expected sets of items, got 'ab'"),
        (lambda: mb.ExplicitSets([5]), "expected sets of items, got 5"),
        (lambda: mb.ExplicitSets(5), "expected a list of sets, got 5"),
        (lambda: mb.ExplicitSets([("z",)], labels="abc"), "expected sets of items, got .*'z'"),
        (lambda: mb.ExplicitSets([(-1,)]), "got no set with 0"),
        (lambda: mb.ExplicitSets([(10**12,)]), "numbers from 0 on, each in a set, or labels; got no set with 0"),
        (lambda: mb.PathConstraint([("a", "b")], "a", "b", 10**30), "expected n_paths to be an integer from 1 to 1"),
        (
            lambda: mb.MatroidIntersection(GRAPH, RING),
            "expected two matroids, got PathConstraint: what three matroids",
        ),
        (lambda: mb.MatroidIntersection(GRAPH, NEWS), "expected two matroids on the same items, got 6 items and 5"),
        (lambda: mb.QuotaIntersection(NEWS, mb.UniformMatroid(4, 1)), "on the same items, got 5 items and 4"),
        (lambda: mb.QuotaIntersection(NEWS, 5), "expected two matroids, got int: what three matroids, or a matroid"),
        (lambda: mb.QuotaIntersection(NEWS, NEWS, names=("x",)), "expected two different names, one for each quota"),
        (lambda: mb.QuotaIntersection(NEWS, NEWS, names="xy"), "expected two different names, one for each quota"),
        (lambda: mb.QuotaIntersection(NEWS, NEWS, total=-1), "expected total to be an integer of at least 0, got -1"),
        (
            lambda: mb.QuotaIntersection.from_rows({"a": {"x": 1, "y": 2, "z": 3}}, {"x": 1, "y": 1, "z": 1}),
            "got .*: three kinds of quotas at once are NP-hard",
        ),
        (lambda: mb.QuotaIntersection.from_rows({"a": {"x": 1}}, {"x": 1, "y": 1}), "expected the y of 'a', got "),
        (lambda: mb.QuotaIntersection.from_rows(["a"], {"x": 1, "y": 1}), "rows and most to be mappings"),
        (
            lambda: mb.QuotaIntersection(NEWS, mb.GraphicMatroid(np.array([(0, 1)] * 5))),
            "made of nested quotas, got .*: MatroidIntersection takes any two",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidConstraintError, match=message):
        make()


def test_costs_only_where_there_are_cycles():
    assert not RING.is_acyclic
    assert ROADS.is_acyclic
    why = "in a graph with cycles the path of largest total weight is NP-hard to find"
    with pytest.raises(PolicyError, match=why):
        mb.Learner(RING, mb.OMM())
    with pytest.raises(ProblemError, match=why):
        mb.Problem(RING, mb.BernoulliEnvironment([0.5] * 6))
    with pytest.raises(
        ProblemError, match=r"expected costs of at least 0, since .*; got a mean of -1 for \('a', 'b'\)"
    ):
        mb.Problem(RING, mb.GaussianEnvironment([-1.0] * 6, 1.0), minimize=True)
    learner = mb.Learner(RING, mb.OMM(), seed=0, minimize=True, holdout=1.0)
    seen = {learner.ask().labels for _ in range(40)}
    assert len(seen) > 1  # the hold-out draws among paths
    with pytest.raises(ItemError, match="expected no pinned items on paths of a graph with cycles"):
        learner.ask(pinned=[("b", "c")])
    with pytest.raises(PolicyError, match=why):
        mb.Learner(ROADS, mb.OMM()).change(RING)
    with pytest.raises(ProblemError, match="costs"):
        mb.simulate(mb.Problem(RING, mb.BernoulliEnvironment([0.5] * 6)), [mb.OMM()], n_episodes=1)


@pytest.mark.parametrize("policy", [mb.UniformRandom(), mb.EpsilonGreedy(1.0)], ids=repr)
def test_chance_draws_among_paths_where_there_are_cycles(policy):
    problem = mb.Problem(RING, mb.BernoulliEnvironment([0.5] * 6), minimize=True)
    result = mb.simulate(problem, [policy], n_episodes=50, n_runs=4, seed=1)
    assert 0.0 < result.regret[0, -1] < 25.0  # the longer path now and then


def test_explanations():
    learner = mb.Learner(COURIERS, mb.OMM(scale=0.0), seed=0)
    learner.observe([0.5, 0.25, 0.5, 0.125, 0.75])
    assert learner.preview().labels == (("ann", "y"), ("bob", "z"), ("eve", "x"))
    why = learner.explain(("bob", "x"))
    assert why.forced.cost == np.inf  # there would be two pairs
    assert "the set would be smaller" in str(why)
    square = mb.Learner(SAMPLES["square"], mb.OMM(scale=0.0), seed=0)
    square.observe([0.5, 0.25, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.25])
    assert str(square.explain(("a", "y"))).endswith("forced in, it would cost 0.25: a-y, b-x for a-x, b-y")
    ring = mb.Learner(RING, mb.OMM(scale=0.0), seed=0, minimize=True)
    ring.observe([0.5] * 6)
    assert "it would cost 0.5: b-c, c-d for b-d" in str(ring.explain(("b", "c")))
    assert "a best set is NP-hard to find, so what it would cost cannot be said" in str(ring.explain(("c", "b")))
    assert "cannot be chosen" in str(ring.explain(("d", "a")))


@pytest.mark.parametrize("name", ["couriers", "roads", "page", "shop", "menus", "basket", "links", "forests"])
def test_learners_are_saved_changed_and_simulated(name, tmp_path):
    constraint = SAMPLES[name]
    learner = mb.Learner(constraint, mb.OMM(), seed=3, holdout=0.2)
    for _ in range(30):
        decision = learner.ask()
        learner.tell(decision, np.full(len(decision.items), 0.5))
    learner.save(tmp_path / "learner.npz")
    again = mb.Learner.load(tmp_path / "learner.npz")
    assert [again.ask().labels for _ in range(20)] == [learner.ask().labels for _ in range(20)]
    learner.change(constraint)
    problem = mb.Problem(constraint, mb.BernoulliEnvironment(np.linspace(0.9, 0.2, constraint.n_items)))
    result = mb.simulate(problem, [mb.OMM(), mb.ThompsonSampling()], n_episodes=50, n_runs=3, seed=0)
    assert (result.regret >= -1e-9).all()
    items, sizes, values = problem.optimum(1, mb.Stream(seed=0, runs=[0]))
    assert np.array_equal(items[0, : sizes[0]], problem.optimal_basis)
    assert values[0] == pytest.approx(problem.optimal_value)


def test_matroids_given_as_networks_choose_as_the_greedy_does():
    """A partition matroid is a matching to columns of any use, and a pair of quotas beside no quota at all."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        n = int(rng.integers(2, 9))
        matroid = families.nested(rng, n)
        both = mb.QuotaIntersection(matroid, mb.UniformMatroid(n, n))
        weights = np.round(rng.random((10, n)), 1)
        assert np.array_equal(both.best_sets(weights)[0], matroid.best_sets(weights)[0])
    problem = mb.Problem(NEWS, mb.BernoulliEnvironment([0.5, 0.4, 0.3, 0.5, 0.1]))
    network = mb.Problem(mb.QuotaIntersection(NEWS, mb.UniformMatroid(5, 5)), problem.environment)
    one, two = (mb.simulate(p, [mb.OMM()], n_episodes=200, n_runs=4, seed=1) for p in (problem, network))
    assert np.array_equal(one.choices, two.choices)
    assert np.array_equal(one.regret, two.regret)


def test_quotas_that_are_larger_than_their_groups_take_no_room():
    wide = mb.PartitionMatroid([0, 0, 1, 1], 10**9)
    both = mb.QuotaIntersection(wide.truncate(3), mb.PartitionMatroid([0, 1, 0, 1], {0: 10**9, 1: 0}))
    assert both._network.tails.size < 20
    assert both.best_sets(np.ones((1, 4)), pinned=np.array([2]))[0].tolist() == [[0, 2]]
    assert both.largest_size == 2


def test_two_matroids_of_many_items_are_warned_of():
    quotas = mb.PartitionMatroid(np.arange(501) % 5)
    with pytest.warns(
        UserWarning, match="expected at most 500 items for two matroids at once, got 501: use QuotaInt"
    ):
        mb.MatroidIntersection(quotas, quotas)
    edges = np.stack([np.arange(501), np.arange(1, 502)], axis=1)
    with pytest.warns(UserWarning, match="got 501: a decision may take a tenth of a second"):
        mb.MatroidIntersection(quotas, mb.GraphicMatroid(edges))


def test_from_networkx():
    tree = mb.ArborescenceConstraint.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), "a")
    assert tree.best_sets(np.array([[1.0, 2.0, 3.0]]))[0].tolist() == [[0, 2]]
    assert tree.in_words() == "a directed tree from a to 2 other vertices"
    made = mb.PathConstraint.from_networkx(nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c")]), "a", "c")
    assert made.labels == (("a", "b", 0), ("a", "b", 1), ("b", "c", 0))
    assert made.best_sets(np.array([[0.5, 0.75, 0.0]]))[0].tolist() == [[1, 2]]
    assert made.in_words() == "a path from a to c"


def test_pins_that_two_quotas_forbid_are_refused_in_words():
    learner = mb.Learner(SHOP, mb.OMM(), seed=0)
    for pins, why in [
        (["b0", "b1"], "2 of them are of the section 'b', of which a set has at most 1"),
        (["a0", "b0", "c0"], "3 of them are of the brand 'x', of which a set has at most 2"),
        (["a0", "a1", "b2", "c0", "c1"], "they are 5, and a set has at most 4"),
    ]:
        with pytest.raises(ItemError, match=why):
            learner.ask(pinned=pins)
    nested = mb.QuotaIntersection(mb.UniformMatroid(3, 1), mb.UniformMatroid(3, 2))
    assert nested.conflict(np.array([0, 1])) == "they are 2, of which at most 1 item can be chosen"
    assert nested.conflict(np.array([0])) == ""
    assert (SHOP.total, nested.total, nested.names) == (4, None, None)
