"""One best set for each rule that people state, at the sizes of a page, a prompt or a depot."""

from collections.abc import Iterator
from itertools import cycle

import networkx as nx
import numpy as np

import matroid_bandits as mb
from benchmarks._harness import Case, Task

_ROWS = 8


def rules() -> Iterator[Case]:
    """A case for each constraint; the weights are new in every call, as in a learner that samples."""
    rng = np.random.default_rng(0)
    n = 200
    sections, brands = rng.integers(0, 20, n), rng.integers(0, 40, n)
    costs = rng.integers(20, 400, n)
    partners = [rng.permutation(12)[:3].tolist() for _ in range(n)]
    grid = np.array(nx.grid_2d_graph(10, 10).edges).reshape(-1, 4) @ [[10, 0], [1, 0], [0, 10], [0, 1]]
    arcs = np.concatenate([grid, grid[:, ::-1]])
    pages = mb.PartitionMatroid(sections, 2)
    starts = [np.arange(k, k + 5) for k in range(0, 40, 5)]  # so that every item is in a set
    listed = mb.ExplicitSets([*starts, *(rng.permutation(40)[:5] for _ in range(992))])
    for name, constraint in {
        "any 10 of 200": mb.UniformMatroid(n, 10),
        "200 items, 2 of each of 20 sections": pages,
        "200 items, 2 of each of 20 sections, 10 in all": pages.truncate(10),
        "200 items, 2 of each of 20 sections, 1 of each of 40 brands, 10 in all": mb.QuotaIntersection(
            pages, mb.PartitionMatroid(brands, 1), names=("section", "brand"), total=10
        ),
        "200 items, budget of 2,000": mb.KnapsackConstraint(costs, 2000),
        "200 items, budget of 2,000, 1 of each of 40 brands": mb.KnapsackConstraint(costs, 2000, brands.tolist()),
        "1,000 items, budget of 8,000": mb.KnapsackConstraint(rng.integers(80, 1600, 1000), 8000),
        "200 items, 12 slots that accept some": mb.TransversalMatroid(partners),
        "20 couriers, 20 orders": mb.AssignmentConstraint(np.indices((20, 20)).reshape(2, -1).T),
        "180 links without a cycle": mb.GraphicMatroid(grid),
        "360 arcs, a route": mb.PathConstraint(arcs, 0, 99),
        "360 arcs, a tree from a root": mb.ArborescenceConstraint(arcs[arcs[:, 1] != 0], 0),
        "180 links without a cycle, 1 of each of 40 owners": mb.MatroidIntersection(
            mb.GraphicMatroid(grid), mb.PartitionMatroid(rng.integers(0, 40, len(grid)), 1)
        ),
        "200 vectors of 10 numbers, independent": mb.LinearMatroid(rng.normal(size=(n, 10))),
        "1,000 listed sets of 40 items": listed,
    }.items():
        weights = rng.random((_ROWS, constraint.n_items))
        if constraint.cost_reason:
            weights = -weights
        rows = cycle(weights[run : run + 1] for run in range(_ROWS))
        yield Case(name, Task(lambda c=constraint, rows=rows: c.solve(next(rows))), {}, budget_s=0.3)
