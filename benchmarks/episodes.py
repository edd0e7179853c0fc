"""Whole episodes of OMM (index, greedy, draw, update), many runs: `simulate` against loops written by hand.

Figures are per episode of one run. Ours plays all runs at once on all cores; a loop by hand plays run after run, so
one run of it tells its time. Everyone starts from episode 1, after one look at every item. Whoever is slow plays
fewer episodes: a loop that starts its greedy afresh costs the same in every episode.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from benchmarks.matroids import _connected_graph, _igraph_tree, _networkx_tree, _rustworkx_tree, _scipy_tree
from matroid_bandits.datasets import movielens

#: Costs of all edges -> the edges of the cheapest tree.
Chooser = Callable[[np.ndarray], "np.ndarray | list[int]"]


def episodes() -> Iterator[Case]:
    """The paper's three settings at their sizes, and a graph fifty times as large."""
    yield from graphic()
    yield from linear()
    yield transversal()


def graphic() -> Iterator[Case]:
    """Routing trees: random connected graphs, latencies of 1 to 64 ms, most of them small as in maps of providers."""
    rng = np.random.default_rng(10)
    for n_vertices, n_edges, n_runs, n_episodes, least in (
        (315, 972, 100, 1_000, 15.0),
        (108, 153, 100, 1_000, 15.0),
        (10_000, 50_000, 2, 50, 5.0),
    ):
        edges = _connected_graph(rng, n_vertices, n_edges)
        latency = np.clip(np.rint(rng.lognormal(1.0, 0.9, n_edges)), 1.0, 64.0)
        problem = mb.Problem(mb.GraphicMatroid(edges), mb.ExponentialEnvironment(latency), minimize=True)
        others = {}
        for name, choose in _tree_choosers(edges, n_vertices).items():
            for costs in latency - rng.random((2, n_edges)) * 3:  # of both signs
                basis = problem.constraint.max_weight_basis(costs, minimize=True)
                assert np.array_equal(np.sort(choose(costs)), basis), name
            n = max(3, n_episodes // 25) if name == "networkx" else n_episodes
            others[name] = Task(lambda choose=choose, n=n, m=latency: _learn_tree(choose, m, n), n)
        label = f"graphic {n_vertices:,}/{n_edges:,}, {n_runs} runs x {n_episodes:,}"
        yield Case(label, _simulate(problem, n_runs, n_episodes), others, least)


def linear() -> Iterator[Case]:
    """Movies by genre, where many are alike, as in the paper's experiment; and vectors of which few are."""
    movies = movielens(standin=True).problem
    rng = np.random.default_rng(11)
    vectors = (rng.random((100, 18)) < 1 / 18).astype(np.int64)
    vectors[np.arange(100), rng.integers(18, size=100)] = 1
    sparse = mb.Problem(mb.LinearMatroid(vectors), mb.BernoulliEnvironment(rng.beta(2.0, 6.0, 100)))
    n_runs, n_episodes = 100, 1_000
    for name, problem, least in (("movies", movies, 2.0), ("random", sparse, None)):
        yield Case(
            f"linear 100 x 18, {name}, {n_runs} runs x {n_episodes:,}",
            _simulate(problem, n_runs, n_episodes),
            {"plain engine": _simulate(problem, n_runs, n_episodes, engine="greedy")},
            least,
        )


def transversal() -> Case:
    """Lenders and partners: 232 items, 51 right vertices, about 5,000 edges."""
    rng = np.random.default_rng(12)
    neighbors = [np.flatnonzero(row).tolist() for row in rng.random((232, 51)) < 0.42]
    world = mb.BernoulliEnvironment(rng.beta(6.0, 2.0, 232))
    problem = mb.Problem(mb.TransversalMatroid(neighbors), world)
    former = mb.Problem(_ByAdjacency(neighbors), world)
    n_runs, n_episodes = 100, 1_000
    _assert_same(problem, former)
    return Case(
        f"transversal 232/51/{sum(map(len, neighbors)):,}, {n_runs} runs x {n_episodes:,}",
        _simulate(problem, n_runs, n_episodes),
        {
            "plain engine": _simulate(problem, n_runs, n_episodes, engine="greedy"),
            "plain engine, adjacency lists": _simulate(former, n_runs, n_episodes, engine="greedy"),
        },
        {"plain engine, adjacency lists": 2.0},
    )


class _ByAdjacency(mb.TransversalMatroid):
    """Matches along lists of neighbours, as before a set of right vertices was a word of bits."""

    def _accepted(self, orders, lengths, taken, limit):  # type: ignore[no-untyped-def]
        return self._match(orders, lengths, taken, limit)[:2]


def _simulate(problem: mb.Problem, n_runs: int, n_episodes: int, engine: str = "auto") -> Task:
    def call() -> None:
        mb.simulate(problem, [mb.OMM()], n_episodes=n_episodes, n_runs=n_runs, seed=0, engine=engine)

    return Task(call, n_runs * n_episodes)


def _assert_same(problem: mb.Problem, former: mb.Problem) -> None:
    """Both make the same choices."""
    ours, theirs = (
        mb.simulate(p, [mb.OMM()], n_episodes=50, n_runs=4, seed=1, engine=engine).choices
        for p, engine in ((problem, "auto"), (former, "greedy"))
    )
    assert np.array_equal(ours, theirs)


def _learn_tree(choose: Chooser, latency: np.ndarray, n_episodes: int) -> float:
    """One run as a user would write it; returns the total latency expected of the trees chosen."""
    rng = np.random.default_rng(0)
    counts = np.ones(latency.size)
    sums = latency - 1.0 + rng.exponential(size=latency.size)
    total = 0.0
    for t in range(1, n_episodes + 1):
        costs = sums / counts - np.sqrt(2.0 * math.log(max(t - 1, 1)) / counts)
        tree = choose(costs)
        sums[tree] += latency[tree] - 1.0 + rng.exponential(size=len(tree))
        counts[tree] += 1.0
        total += latency[tree].sum()
    return total


def _tree_choosers(edges: np.ndarray, n_vertices: int) -> dict[str, Chooser]:
    """The trees of each library as edge numbers, by the shortest way there is."""
    networkx_tree, _ = _networkx_tree(edges)
    scipy_tree, _ = _scipy_tree(edges, n_vertices)
    igraph_tree, _ = _igraph_tree(edges, n_vertices)
    rustworkx_tree, _ = _rustworkx_tree(edges, n_vertices)
    number = {ends: e for e, (u, v) in enumerate(edges.tolist()) for ends in ((u, v), (v, u))}
    keys = edges[:, 0] * n_vertices + edges[:, 1]
    by_key = np.argsort(keys)
    sorted_keys = keys[by_key]

    def by_networkx(costs: np.ndarray) -> list[int]:
        return [number[ends] for ends in networkx_tree(costs)]

    def by_scipy(costs: np.ndarray) -> np.ndarray:
        tree = scipy_tree(costs + (1.0 - costs.min())).tocoo()  # 0 would be a missing edge
        return by_key[np.searchsorted(sorted_keys, tree.row.astype(np.int64) * n_vertices + tree.col)]

    def by_rustworkx(costs: np.ndarray) -> list[int]:
        return [e for _, _, e in rustworkx_tree(costs)]

    return {"igraph": igraph_tree, "SciPy": by_scipy, "rustworkx": by_rustworkx, "networkx": by_networkx}
