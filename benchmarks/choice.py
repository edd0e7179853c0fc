"""What it takes before the first episode: to make a matroid, and to choose the engine of a learner.

The yardstick is a greedy basis of the same matroid. Choosing starts from a fresh matroid each time, of which no more
is known than its rank, which the first basis needs too.
"""

from collections.abc import Callable, Iterator

import numpy as np

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from matroid_bandits.engines import make_engine

#: Choosing may cost this many greedy bases.
_MOST_BASES = 10


def choice() -> Iterator[Case]:
    """Every family, a thousand items and a hundred thousand."""
    for n_items in (1_000, 100_000):
        for name, make in _families(n_items).items():
            matroid = make()
            weights = np.random.default_rng(40).random(matroid.n_items)
            yield Case(
                f"{name}, L = {n_items:,}",
                Task(_choose, 1, lambda make=make: _with_state(make())),
                {
                    "a greedy basis": Task(lambda M=matroid, w=weights: M.max_weight_basis(w)),
                    "construction": Task(make),
                },
                {"a greedy basis": 1 / _MOST_BASES},
                0.3,
            )


def _with_state(matroid: mb.Matroid) -> tuple[mb.Matroid, mb.State]:
    _ = matroid.rank
    return matroid, mb.State(matroid, n_runs=1)


def _choose(pair: tuple[mb.Matroid, mb.State]) -> None:
    make_engine("auto", pair[0], mb.OMM(), pair[1])


def _families(n: int) -> dict[str, Callable[[], mb.Matroid]]:
    """How to make a matroid of n items of every family, and of those made of others."""
    rng = np.random.default_rng(41)
    edges = rng.integers(0, n // 3, (n, 2))
    lists = rng.integers(0, n // 4, (n, 4)).tolist()
    rows = (rng.random((n, 20)) < 0.2).astype(np.int64)
    wide = rng.random((n, 200 if n <= 1_000 else 20))
    half = np.arange(0, n, 2)
    graph = mb.GraphicMatroid(edges)
    quotas = [(np.arange(i * 100, i * 100 + size), size // 10) for i in range(n // 100) for size in (100, 50)]
    return {
        "uniform": lambda: mb.UniformMatroid(n, 100),
        "partition": lambda: mb.PartitionMatroid(np.arange(n) // 10),
        "laminar": lambda: mb.LaminarMatroid(n, quotas),
        "graphic": lambda: mb.GraphicMatroid(edges),
        "transversal": lambda: mb.TransversalMatroid(lists),
        f"linear, {rows.shape[1]} columns of 0 and 1": lambda: mb.LinearMatroid(rows),
        f"linear, {wide.shape[1]} columns of floats": lambda: mb.LinearMatroid(wide),
        "oracle": lambda: mb.OracleMatroid(n, lambda X: len(X) <= 10),
        "dual of graphic": lambda: mb.GraphicMatroid(edges).dual(),
        "truncation of graphic": lambda: mb.GraphicMatroid(edges).truncate(100),
        "restriction of graphic": lambda: graph.restrict(half),
        "contraction of graphic": lambda: graph.contract(half[:100]),
        "graphic and uniform": lambda: mb.direct_sum(mb.GraphicMatroid(edges), mb.UniformMatroid(10, 3)),
    }
