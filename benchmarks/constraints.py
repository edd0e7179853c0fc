"""Best sets of constraints that are no matroids: ours, which are canonical under ties, against SciPy and networkx.

Rows "weights in 0..2" and "never seen" have ties everywhere, the latter as in a learner's first episodes; others
would answer with any of the best sets there.
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import cycle

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment

import matroid_bandits as mb
from benchmarks._harness import Case, Task

_ROWS = 8


def constraints() -> Iterator[Case]:
    yield from _assignments()
    yield from _paths()
    yield from _quotas()
    yield from _intersections()
    yield from _arborescences()
    yield from _budgets()


def _assignments() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for n in (20, 100, 300):
        constraint = mb.AssignmentConstraint(np.indices((n, n)).reshape(2, -1).T)
        weights = rng.random((_ROWS, n * n))

        def scipy(w: np.ndarray, n: int = n) -> np.ndarray:
            rows, columns = linear_sum_assignment(w.reshape(n, n), maximize=True)
            return rows * n + columns

        assert np.array_equal(constraint.best_sets(weights[:1])[0][0], scipy(weights[0]))
        others = {"SciPy": _each(scipy, weights)}
        yield Case(f"assignment {n} x {n}", _ours(constraint, weights), others, 0.25 if n == 20 else 0.83)
        yield from _tied(f"assignment {n} x {n}", constraint, rng)


def _paths() -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for n in (200, 2000):
        pairs = {(u, min(n - 1, u + 1 + int(step))) for u in range(n - 1) for step in rng.integers(0, 30, 5)}
        arcs = sorted(pairs | {(u, u + 1) for u in range(n - 1)})
        constraint = mb.PathConstraint(np.array(arcs), 0, n - 1)
        weights = -rng.random((_ROWS, len(arcs)))
        graph = nx.DiGraph(arcs)

        def networkx(w: np.ndarray, arcs: list[tuple[int, int]] = arcs, graph: nx.DiGraph = graph) -> list[int]:
            nx.set_edge_attributes(graph, dict(zip(arcs, (-w).tolist(), strict=True)), "cost")
            path: list[int] = nx.dijkstra_path(graph, 0, len(graph) - 1, weight="cost")
            return path

        best, _ = constraint.best_sets(weights[:1])
        assert [0, *(arcs[e][1] for e in best[0].tolist())] == networkx(weights[0])
        label = f"path, acyclic, {n:,} vertices, {len(arcs):,} arcs"
        yield Case(label, _ours(constraint, weights), {"networkx": _each(networkx, weights[:2])})
        yield from _tied(label, constraint, rng)


def _quotas() -> Iterator[Case]:
    rng = np.random.default_rng(2)
    for n_items in (100, 1000):
        one, two = (mb.PartitionMatroid(rng.integers(0, n_items // 10, n_items), 2) for _ in range(2))
        constraint = mb.QuotaIntersection(one.truncate(n_items // 10), two)
        label = f"two quotas, {n_items:,} items, {constraint.largest_size} in a set"
        yield Case(label, _ours(constraint, rng.random((_ROWS, n_items))), {})
        yield from _tied(label, constraint, rng)


def _intersections() -> Iterator[Case]:
    rng = np.random.default_rng(3)
    for n_items, n_vertices, n_colours in ((100, 30, 15), (300, 60, 30), (1000, 200, 100)):
        graph = mb.GraphicMatroid(rng.integers(0, n_vertices, (n_items, 2)))
        colours = mb.PartitionMatroid(rng.integers(0, n_colours, n_items), 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of many items
            constraint = mb.MatroidIntersection(graph, colours)
        label = f"forest of colours, {n_items:,} items"
        yield Case(label, _ours(constraint, rng.random((2, n_items))), {})
        yield Case(f"{label}, never seen", _ours(constraint, np.full((1, n_items), np.inf)), {})


def _arborescences() -> Iterator[Case]:
    rng = np.random.default_rng(4)
    for n, m in ((50, 300), (200, 1200)):
        ends = rng.integers(0, n, (m, 2))
        ends = np.concatenate([ends[ends[:, 0] != ends[:, 1]], np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)])
        ends = np.unique(ends[ends[:, 1] != 0], axis=0)
        constraint = mb.ArborescenceConstraint(ends, 0)
        weights = rng.random((_ROWS, len(ends)))
        arcs = [tuple(arc) for arc in ends.tolist()]
        graph = nx.DiGraph(arcs)

        def networkx(w: np.ndarray, arcs: list = arcs, graph: nx.DiGraph = graph) -> nx.DiGraph:
            nx.set_edge_attributes(graph, dict(zip(arcs, w.tolist(), strict=True)), "weight")
            return nx.maximum_spanning_arborescence(graph)

        best, _ = constraint.best_sets(weights[:1])
        assert {arcs[e] for e in best[0].tolist()} == set(networkx(weights[0]).edges)
        label = f"arborescence, {n} vertices, {len(arcs):,} arcs"
        yield Case(label, _ours(constraint, weights), {"networkx": _each(networkx, weights[:1])}, 100)
        yield from _tied(label, constraint, rng)


def _budgets() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    for n_items, budget in ((50, 500), (200, 2000), (1000, 8000)):
        costs = rng.integers(budget // 100 + 1, budget // 5, n_items)
        constraint = mb.KnapsackConstraint(costs, budget)
        weights = rng.integers(0, 2**40, (_ROWS, n_items)).astype(float)  # whole, so that both add the same numbers

        def numpy(w: np.ndarray, costs: np.ndarray = costs, budget: int = budget) -> list[int]:
            """A table of totals, a row per item, read backwards."""
            best = np.zeros((costs.size + 1, budget + 1))
            for i in range(costs.size - 1, -1, -1):
                best[i] = best[i + 1]
                np.maximum(best[i, costs[i] :], best[i + 1, : -costs[i]] + w[i], out=best[i, costs[i] :])
            chosen, room = [], budget
            for i, cost in enumerate(costs.tolist()):
                if cost <= room and best[i + 1, room - cost] + w[i] == best[i, room]:
                    chosen.append(i)
                    room -= cost
            return chosen

        best, _ = constraint.best_sets(weights[:1])
        assert best[0].tolist() == numpy(weights[0])
        label = f"budget of {budget:,}, {n_items:,} items"
        yield Case(label, _ours(constraint, weights), {"NumPy": _each(numpy, weights)}, 2)
        groups = mb.KnapsackConstraint(costs, budget, (np.arange(n_items) // 5).tolist())
        yield Case(f"{label}, one of each group of 5", _ours(groups, weights), {})
        if n_items < 1000:
            few = mb.KnapsackConstraint(costs, budget, at_most=10)
            yield Case(f"{label}, at most 10", _ours(few, weights), {})


def _tied(label: str, constraint: mb.Constraint, rng: np.random.Generator) -> Iterator[Case]:
    few = rng.integers(0, 3, (1, constraint.n_items)).astype(float)
    yield Case(f"{label}, weights in 0..2", _ours(constraint, few), {})
    yield Case(f"{label}, never seen", _ours(constraint, np.full((1, constraint.n_items), np.inf)), {})


def _ours(constraint: mb.Constraint, weights: np.ndarray) -> Task:
    """One row after the other, as a learner asks."""
    rows = cycle(weights[run : run + 1] for run in range(len(weights)))
    return Task(lambda: constraint.solve(next(rows)))


def _each(choose: Callable[[np.ndarray], object], weights: np.ndarray) -> Task:
    rows = cycle(weights)
    return Task(lambda: choose(next(rows)))
