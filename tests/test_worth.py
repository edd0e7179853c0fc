"""What sets are worth: the greedy order is best on matroids, and products are maximised on other constraints."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.constraints import ProductConstraint, list_constraint
from matroid_bandits.exceptions import InvalidConstraintError, ItemError, ProblemError

N_CURVES = 10


def random_matroid(rng, kind):
    """A small matroid of a kind."""
    n = int(rng.integers(4, 8))
    if kind == "partition":
        blocks = rng.integers(0, 3, n)
        return mb.PartitionMatroid(blocks, {g: int(rng.integers(1, 3)) for g in np.unique(blocks).tolist()})
    if kind == "graphic":
        return mb.GraphicMatroid([tuple(rng.choice(4, 2, replace=False).tolist()) for _ in range(n)])
    return mb.LinearMatroid(rng.integers(-2, 3, (n, 3)))


def test_the_greedy_order_is_best_of_all_lists_of_all_bases():
    """Gale: at every place the sorted greedy basis has no smaller weight than any other list."""
    rng, n_compared = np.random.default_rng(0), 0
    for case in range(240):
        matroid = random_matroid(rng, ("partition", "graphic", "linear")[case % 3])
        w, K = rng.random(matroid.n_items), matroid.rank
        if case % 2:
            w = np.round(w, 1)  # ties
        if not K:
            continue
        curves = np.sort(rng.random((N_CURVES, K)), axis=1)[:, ::-1]
        curves /= curves[:, :1]
        coins = mb.BernoulliEnvironment(w)
        worlds = [mb.CascadeEnvironment(coins), mb.CascadeEnvironment(coins, until="failure")]
        worlds += [mb.PositionEnvironment(coins, curve) for curve in curves]
        mine = np.array([mb.Problem(matroid, world).optimal_value for world in worlds])
        orders = np.array(list(itertools.permutations(range(K))))
        for basis in itertools.combinations(range(matroid.n_items), K):
            if not matroid.is_independent(basis):
                continue
            lists = w[np.array(basis)[orders]]
            others = np.column_stack([1 - np.prod(1 - lists, axis=1), np.prod(lists, axis=1), lists @ curves.T])
            assert (others <= mine + 1e-12).all()
            n_compared += others.size
    assert n_compared >= 200_000


def sets_of(constraint):
    """All sets that are complete: of the largest size, or all allowed ones where a best set may have any."""
    every = [
        np.array(items, np.int64)
        for k in range(constraint.largest_size + 1)
        for items in itertools.combinations(range(constraint.n_items), k)
    ]
    allowed = [items for items in every if constraint.allows(items)]
    return [items for items in allowed if not constraint.fills_up or items.size == constraint.largest_size]


def cyclic(rng):
    """Paths in a small graph with cycles."""
    arcs = [(0, 1), (1, 2), (2, 1), (0, 2), (2, 3), (1, 3), (3, 4), (2, 4), (4, 2)]
    return mb.PathConstraint(arcs, 0, 4)


CONSTRAINTS = {
    "acyclic paths": lambda rng: mb.PathConstraint(
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (1, 4)], 0, 4
    ),
    "paths with cycles": cyclic,
    "assignment": lambda rng: mb.AssignmentConstraint.between("abc", "xyz"),
    "sets": lambda rng: mb.ExplicitSets([(0, 1), (2, 3, 4), (1, 4), (0, 2, 3), (5,)]),
    "two quotas": lambda rng: mb.QuotaIntersection(
        mb.PartitionMatroid("aabbcc", 1), mb.PartitionMatroid("xyxyxy", 1)
    ),
}


@pytest.mark.parametrize("until", ["click", "failure"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_the_best_set_has_the_largest_product(name, until):
    rng = np.random.default_rng(3)
    base = CONSTRAINTS[name](rng)
    if until == "click" and base.cost_reason:
        with pytest.raises(InvalidConstraintError, match="until a click"):
            ProductConstraint(base, until)
        return
    constraint = ProductConstraint(base, until)
    sets = sets_of(base)
    for case in range(60):
        U = rng.random(base.n_items)
        if case % 3 == 1:
            U[rng.integers(base.n_items)] = 0.0 if until == "failure" else -0.5
        elif case % 3 == 2:
            U[rng.integers(base.n_items)] = 1.0 if until == "failure" else 0.999
        if until == "click":
            worth = {items.tobytes(): sum(-math.log1p(-U[e]) for e in items.tolist()) for items in sets}
        else:
            worth = {items.tobytes(): math.prod(max(U[e], 0.0) for e in items.tolist()) for items in sets}
        items, sizes = constraint.solve(U[None])
        found = items[0, : sizes[0]]
        assert worth[found.tobytes()] == pytest.approx(max(worth.values()), abs=1e-9)


def test_indices_at_the_ends_of_the_range():
    pairs = mb.ExplicitSets([(0, 1), (2, 3), (0, 3)])
    click, failure = ProductConstraint(pairs, "click"), ProductConstraint(pairs, "failure")
    # 1 or more counts as unseen, which comes first
    assert click.solve(np.array([[0.9, 0.9, 1.5, 0.0]]))[0].tolist() == [[2, 3]]
    assert click.solve(np.array([[0.9, 0.9, np.inf, 0.0]]))[0].tolist() == [[2, 3]]
    # above 1 is 1; 0 or less is impossible, and worse than anything possible
    assert failure.solve(np.array([[3.0, 0.5, 0.9, 0.4]]))[0].tolist() == [[0, 1]]
    assert failure.solve(np.array([[1.0, 0.0, 1e-300, 1e-300]]))[0].tolist() == [[0, 3]]
    assert failure.solve(np.array([[0.0, 0.9, 0.0, 0.9]]))[1].tolist() == [
        2
    ]  # no set is possible: still one is chosen
    assert failure.solve(np.array([[0.9, np.inf, 0.9, 0.9]]))[0].tolist() == [[0, 1]]


def test_matroids_stay_what_they_are():
    matroid = mb.UniformMatroid(5, 2)
    assert list_constraint(matroid, "click") is matroid
    assert list_constraint(matroid, None) is matroid
    world = mb.CascadeEnvironment(mb.BernoulliEnvironment([0.5] * 5))
    assert mb.Problem(matroid, world).solver is matroid


def test_pins_and_masks_of_products_are_those_of_the_constraint():
    base = mb.AssignmentConstraint.between("abc", "xyz")
    constraint = ProductConstraint(base, "failure")
    assert constraint.labels == base.labels
    assert constraint.largest_size == 3
    U, available = np.full((1, 9), 0.5), np.ones(9, bool)
    available[0] = False
    items, sizes = constraint.solve(U, available=available, pinned=np.array([5]))
    found = items[0, : sizes[0]]
    assert 5 in found
    assert 0 not in found
    assert constraint.can_pin(np.array([5]))
    assert not constraint.can_pin(np.array([0, 1]))
    assert constraint.in_words() == base.in_words()


def test_reliable_routes_in_a_graph_with_cycles_are_learnt():
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 1), (0, 2), (2, 3), (1, 3)])
    paths = mb.PathConstraint.from_networkx(graph, 0, 3)
    chances = {(0, 1): 0.95, (1, 3): 0.5, (1, 2): 0.9, (2, 3): 0.9, (0, 2): 0.6, (2, 1): 0.9}
    world = mb.CascadeEnvironment(mb.BernoulliEnvironment(chances), until="failure")
    problem = mb.Problem(paths, world)
    assert sorted(paths.labels[e] for e in problem.optimal_basis) == [(0, 1), (1, 2), (2, 3)]
    assert problem.optimal_value == pytest.approx(0.95 * 0.9 * 0.9)
    policies = [mb.OMM(0.3), mb.KLOSM(), mb.ThompsonSampling(), mb.UniformRandom()]
    for start in ("observe", "explore"):
        result = mb.simulate(problem, policies, n_episodes=600, n_runs=5, seed=0, start=start)
        assert (result.final_regret[:3].mean(axis=1) < 0.5 * result.final_regret[3].mean()).all()
    assert not problem.adds_up
    assert problem.no_regret == ""


def test_the_worth_of_a_constraint_is_the_total_unless_it_says_otherwise():
    problem = mb.Problem(mb.UniformMatroid(3, 2, labels="abc"), mb.BernoulliEnvironment([0.5, 0.9, 0.2]))
    assert problem.adds_up
    assert problem.worth(["b", "a"], {"a": 1.0, "b": 2.0, "c": 0.0}) == 3.0
    with pytest.raises(ItemError):
        problem.worth(["b", "d"], [1.0, 2.0, 0.0])
    with pytest.raises(ProblemError, match="at most 2 items"):
        problem.worth([0, 1, 2], [1.0, 2.0, 0.0])

    class HalfBelow(mb.UniformMatroid):
        """The first item of a list counts in full, all others half."""

        def worth(self, order, weights):
            return float(weights[order[0]] + 0.5 * weights[order[1:]].sum())

    halves = mb.Problem(HalfBelow(3, 2), mb.BernoulliEnvironment([0.5, 0.9, 0.2]))
    assert not halves.adds_up
    assert halves.optimal_value == pytest.approx(0.9 + 0.25)
    known = mb.simulate(halves, mb.FixedSet([0, 1]), n_episodes=20, n_runs=2, seed=0)
    # indices of a fixed set are equal, so item 0 comes first
    assert known.final_regret[0] == pytest.approx([20 * (1.15 - (0.5 + 0.45))] * 2)
    ((engine, why),) = mb.compiled.explain(halves, mb.OMM(), n_episodes=10**6, n_runs=100).values()
    assert engine == "agent"
    assert "interpreted" in why or "worth" in why or "HalfBelow" in why


def test_places_of_a_list_that_was_pinned_reach_the_policy():
    agent = Agent(mb.UniformMatroid(4, 3), mb.PositionBias(mb.OMM(), n_places=3))
    request = mb.Request(1, mb.Stream(0, [0]), pinned=np.array([2]))
    items, sizes = agent.choose(request)
    play = agent.play(request, items, sizes, places=agent.order(request, items, sizes))
    agent.learn(play, np.array([[0.0, 1.0, 1.0]]))
    shown = agent.state.extra["shown_at"][0]
    assert shown.argmax(axis=1)[[2, 0, 1]].tolist() == [0, 1, 2]
    assert agent.state.extra["clicks_at"][0].sum(axis=0).tolist() == [1.0, 0.0, 1.0]
