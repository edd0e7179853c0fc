"""The best basis for given weights: ours against what a user would write around NumPy or a graph library.

Every competitor is set up outside of the timing and returns the items (or edges) it chose; each one's answer is
checked before it is timed. Figures are per weight vector: "x 64" are batches, which ours takes in one call on
all cores, and which a competitor takes in one call or in a loop, whichever its interface offers. A loop over a
batch costs the same for every row, so slow competitors are timed on the first few rows only. Single vectors are
taken in turn from the batch: a processor learns the branches of one that is repeated.
"""

from collections.abc import Callable, Iterator
from itertools import cycle

import igraph
import networkx as nx
import numpy as np
import rustworkx as rx
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

import matroid_bandits as mb
from benchmarks._harness import Case, Task

_BATCH = 64


def graphic() -> Iterator[Case]:
    """Least spanning trees of random connected graphs."""
    rng = np.random.default_rng(0)
    for n_vertices, n_edges in ((108, 153), (315, 972), (10_000, 50_000)):
        edges = _connected_graph(rng, n_vertices, n_edges)
        weights = 1.0 - rng.random((_BATCH, n_edges))  # never 0, which SciPy would take for a missing edge
        matroid = mb.GraphicMatroid(edges)
        others = {
            "networkx": _networkx_tree(edges),
            "SciPy": _scipy_tree(edges, n_vertices),
            "igraph": _igraph_tree(edges, n_vertices),
            "rustworkx": _rustworkx_tree(edges, n_vertices),
        }
        for w, basis in zip(weights[:2], matroid.max_weight_basis(weights[:2], minimize=True), strict=True):
            for name, (choose, total) in others.items():
                assert np.isclose(total(choose(w), w), w[basis].sum(), rtol=1e-12), name

        def ours(w: np.ndarray, matroid: mb.GraphicMatroid = matroid) -> np.ndarray:
            return matroid.max_weight_basis(w, minimize=True)

        label = f"{n_vertices:,} vertices, {n_edges:,} edges"
        n_rows = dict.fromkeys(others, 8 if n_edges > 10_000 else _BATCH)
        n_rows["networkx"] = max(1, 10_000 // n_edges)
        loops = {name: _loop(choose, weights[: n_rows[name]]) for name, (choose, _) in others.items()}
        yield Case(f"{label} x {_BATCH}", _whole(ours, weights), loops, 5.0 if n_edges == 972 else 1.0)
        singles = {name: _single(choose, weights) for name, (choose, _) in others.items()}
        yield Case(label, _single(ours, weights), singles)


def linear() -> Iterator[Case]:
    """Vectors of zeros and ones, as of movies and their genres."""
    rng = np.random.default_rng(1)
    vectors = (rng.random((100, 18)) < 0.2).astype(np.int64)
    weights = rng.random((_BATCH, 100))
    matroid = mb.LinearMatroid(vectors)

    def rank_loop(w: np.ndarray) -> list[int]:
        chosen: list[int] = []
        for e in np.argsort(-w, kind="stable"):
            if np.linalg.matrix_rank(vectors[[*chosen, e]]) == len(chosen) + 1:
                chosen.append(e)
                if len(chosen) == matroid.rank:
                    break
        return chosen

    _check_items(matroid, rank_loop, weights[:4])
    ours = matroid.max_weight_basis
    yield Case(f"100 x 18 x {_BATCH}", _whole(ours, weights), {"NumPy rank loop": _loop(rank_loop, weights[:8])}, 200)
    yield Case("100 x 18", _single(ours, weights), {"NumPy rank loop": _single(rank_loop, weights)})


def transversal() -> Iterator[Case]:
    """Lenders and partners: 232 items, 51 right vertices, about 5,000 edges."""
    rng = np.random.default_rng(2)
    neighbors = [np.flatnonzero(row).tolist() for row in rng.random((232, 51)) < 0.42]
    weights = rng.random((_BATCH, 232))
    matroid = mb.TransversalMatroid(neighbors)

    def augmenting_paths(w: np.ndarray) -> list[int]:
        holder: dict[int, int] = {}

        def augment(item: int, seen: set[int]) -> bool:
            for right in neighbors[item]:
                if right not in seen:
                    seen.add(right)
                    if right not in holder or augment(holder[right], seen):
                        holder[right] = item
                        return True
            return False

        chosen = []
        for item in np.argsort(-w, kind="stable").tolist():
            if augment(item, set()):
                chosen.append(item)
                if len(chosen) == matroid.rank:
                    break
        return chosen

    _check_items(matroid, augmenting_paths, weights[:4])
    ours = matroid.max_weight_basis
    yield Case(
        f"232 x 51, {sum(map(len, neighbors)):,} edges x {_BATCH}",
        _whole(ours, weights),
        {"Python augmenting paths": _loop(augmenting_paths, weights)},
        30,
    )
    yield Case(
        "the same, one vector",
        _single(ours, weights),
        {"Python augmenting paths": _single(augmenting_paths, weights)},
    )


def uniform() -> Iterator[Case]:
    """The best K of L; NumPy does not even sort the items it returns."""
    rng = np.random.default_rng(3)
    for n_items in (1_000, 10_000, 100_000, 1_000_000):
        weights = rng.random((_rows_for(n_items), n_items))
        for rank in (10, n_items // 10):
            matroid = mb.UniformMatroid(n_items, rank)

            def by_argsort(w: np.ndarray, k: int = rank) -> np.ndarray:
                return np.argsort(-w, axis=-1)[..., :k]

            def by_argpartition(w: np.ndarray, k: int = rank) -> np.ndarray:
                return np.argpartition(w, -k, axis=-1)[..., -k:]

            yield from _against_numpy(
                f"L = {n_items:,}, K = {rank:,}",
                matroid,
                weights,
                {"argsort": by_argsort, "argpartition": by_argpartition},
            )
        yield _masked(f"L = {n_items:,}, K = {rank:,}, 2 of 3 available", matroid, weights, rank)


def partition() -> Iterator[Case]:
    """The best of every block, items in no particular order; blocks of equal size, the easiest case for NumPy."""
    rng = np.random.default_rng(4)
    for n_items in (1_000, 10_000, 100_000, 1_000_000):
        weights = rng.random((_rows_for(n_items), n_items))
        for size, capacity in ((10, 1), (100, 5)):
            n_blocks = n_items // size
            blocks = rng.permutation(n_items) % n_blocks
            matroid = mb.PartitionMatroid(blocks, capacity)
            grouped = np.argsort(blocks, kind="stable")
            members = grouped.reshape(n_blocks, size)

            def by_lexsort(w: np.ndarray, blocks=blocks, n_blocks=n_blocks, c=capacity) -> np.ndarray:
                order = np.lexsort((-w, np.broadcast_to(blocks, w.shape)), axis=-1)
                return order.reshape(*w.shape[:-1], n_blocks, -1)[..., :c]

            def by_argpartition(w: np.ndarray, members=members, c=capacity) -> np.ndarray:
                best = np.argpartition(w[..., members], -c, axis=-1)[..., -c:]
                return np.take_along_axis(np.broadcast_to(members, (*w.shape[:-1], *members.shape)), best, axis=-1)

            def by_argmax(w: np.ndarray, members=members) -> np.ndarray:
                return members[np.arange(len(members)), w[..., members].argmax(axis=-1)]

            others = {"lexsort": by_lexsort, "argpartition": by_argpartition}
            if capacity == 1:
                others["argmax"] = by_argmax
            yield from _against_numpy(f"L = {n_items:,}, {capacity} of every {size}", matroid, weights, others)


def _against_numpy(
    label: str, matroid: mb.Matroid, weights: np.ndarray, others: dict[str, Callable[[np.ndarray], np.ndarray]]
) -> Iterator[Case]:
    """The case on a batch and on one vector; NumPy takes a batch in one call, as ours does."""
    ours = matroid.max_weight_basis
    for choose in others.values():
        _check_items(matroid, choose, weights[:2])
    n_rows = len(weights)
    whole = {name: _whole(choose, weights) for name, choose in others.items()}
    yield Case(f"{label} x {n_rows}", _whole(ours, weights), whole, 1.0)
    single = {name: _single(choose, weights) for name, choose in others.items()}
    yield Case(label, _single(ours, weights), single, 1.0)


def _masked(label: str, matroid: mb.Matroid, weights: np.ndarray, rank: int) -> Case:
    """The best sets of requests that leave some items out, a mask of its own for each row."""
    available = np.random.default_rng(5).random(weights.shape) < 2 / 3

    def by_argpartition() -> np.ndarray:
        return np.argpartition(np.where(available, weights, -np.inf), -rank, axis=-1)[:, -rank:]

    def ours() -> np.ndarray:
        return matroid.best_sets(weights, available=available)[0]

    assert np.array_equal(np.sort(by_argpartition(), axis=1), ours())
    n_rows = len(weights)
    return Case(f"{label} x {n_rows}", Task(ours, n_rows), {"argpartition": Task(by_argpartition, n_rows)}, 1.0)


def _rows_for(n_items: int) -> int:
    """64 rows, fewer when they would be hundreds of megabytes and seconds for NumPy."""
    return min(_BATCH, max(4, 4_000_000 // n_items))


def _whole(choose: Callable, weights: np.ndarray) -> Task:
    return Task(lambda: choose(weights), len(weights))


def _loop(choose: Callable, weights: np.ndarray) -> Task:
    return Task(lambda: [choose(w) for w in weights], len(weights))


def _single(choose: Callable, weights: np.ndarray) -> Task:
    rows = cycle(weights)
    return Task(lambda: choose(next(rows)))


def _check_items(matroid: mb.Matroid, choose: Callable, weights: np.ndarray) -> None:
    for w, basis in zip(weights, matroid.max_weight_basis(weights), strict=True):
        assert np.array_equal(np.sort(np.ravel(choose(w))), basis)


def _connected_graph(rng: np.random.Generator, n_vertices: int, n_edges: int) -> np.ndarray:
    """A random tree and random other edges, no two alike."""
    names = rng.permutation(n_vertices)
    edges = {tuple(sorted((int(names[v]), int(names[rng.integers(v)])))) for v in range(1, n_vertices)}
    while len(edges) < n_edges:
        u, v = rng.integers(n_vertices, size=2).tolist()
        if u != v:
            edges.add((min(u, v), max(u, v)))
    return rng.permutation(np.array(sorted(edges), np.int64))


# Each of these returns how to choose a tree for weights w, and how to find its total weight.


def _networkx_tree(edges: np.ndarray) -> tuple[Callable, Callable]:
    graph = nx.Graph()
    graph.add_edges_from(edges.tolist())
    attributes = [graph.edges[u, v] for u, v in edges.tolist()]
    index = {(u, v): e for e, (u, v) in enumerate(edges.tolist())}

    def choose(w: np.ndarray) -> list:
        for attribute, weight in zip(attributes, w.tolist(), strict=True):
            attribute["weight"] = weight
        return list(nx.minimum_spanning_edges(graph, data=False))

    return choose, lambda tree, w: sum(w[index[min(u, v), max(u, v)]] for u, v in tree)


def _scipy_tree(edges: np.ndarray, n_vertices: int) -> tuple[Callable, Callable]:
    graph = csr_array((np.arange(len(edges)) + 1.0, edges.T), shape=(n_vertices, n_vertices))
    order = graph.data.astype(np.int64) - 1

    def choose(w: np.ndarray):
        graph.data = w[order]
        return minimum_spanning_tree(graph)

    return choose, lambda tree, w: tree.data.sum()


def _igraph_tree(edges: np.ndarray, n_vertices: int) -> tuple[Callable, Callable]:
    graph = igraph.Graph(n_vertices, edges.tolist())
    return lambda w: graph.spanning_tree(w.tolist(), return_tree=False), lambda tree, w: w[tree].sum()


def _rustworkx_tree(edges: np.ndarray, n_vertices: int) -> tuple[Callable, Callable]:
    graph = rx.PyGraph()
    graph.add_nodes_from(range(n_vertices))
    graph.add_edges_from([(u, v, e) for e, (u, v) in enumerate(edges.tolist())])

    def choose(w: np.ndarray):
        return rx.minimum_spanning_edges(graph, weight_fn=w.tolist().__getitem__)

    return choose, lambda tree, w: sum(w[e] for _, _, e in tree)
