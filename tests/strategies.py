"""Random matroids for Hypothesis, each with an independence test written from first principles."""

import numpy as np
from hypothesis import strategies as st

import matroid_bandits as mb
import reference

MAX_ITEMS = 7


@st.composite
def uniform(draw):
    n = draw(st.integers(0, MAX_ITEMS))
    rank = draw(st.integers(0, n))
    return mb.UniformMatroid(n, rank), reference.uniform(rank)


@st.composite
def partition(draw):
    blocks = draw(st.lists(st.sampled_from(["a", "b", ("c", 1), 4]), max_size=MAX_ITEMS))
    capacities = {block: draw(st.integers(0, 3)) for block in set(blocks)}
    groups = [([e for e, b in enumerate(blocks) if b == block], capacity) for block, capacity in capacities.items()]
    return mb.PartitionMatroid(blocks, capacities), reference.quotas(groups)


@st.composite
def laminar(draw):
    """Intervals split at random are nested; a shuffle hides that they are intervals."""
    n = draw(st.integers(0, MAX_ITEMS))
    names = draw(st.permutations(range(n)))
    groups = []

    def split(lo, hi):
        if hi > lo and draw(st.booleans()):
            groups.append(([names[i] for i in range(lo, hi)], draw(st.integers(0, 4))))
        if hi - lo >= 2:
            middle = draw(st.integers(lo + 1, hi - 1))
            split(lo, middle)
            split(middle, hi)

    split(0, n)
    groups = draw(st.permutations(groups))
    return mb.LaminarMatroid(n, groups), reference.quotas(groups)


@st.composite
def graphic(draw):
    vertex = st.integers(0, 4)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=MAX_ITEMS))
    return mb.GraphicMatroid(edges), reference.forest(edges)


@st.composite
def transversal(draw):
    neighbors = draw(st.lists(st.sets(st.integers(0, 3)), max_size=6))
    return mb.TransversalMatroid(neighbors), reference.matchable(neighbors)


@st.composite
def linear(draw):
    n_columns = draw(st.integers(1, 4))
    # wide entries exceed what one prime can certify
    entry = draw(st.sampled_from([st.integers(0, 1), st.integers(-3, 3), st.integers(-(10**12), 10**12)]))
    vectors = draw(st.lists(st.lists(entry, min_size=n_columns, max_size=n_columns), min_size=1, max_size=6))
    p = draw(st.sampled_from([None, None, 2, 3, 2**31 - 1]))
    return mb.LinearMatroid(vectors, "auto" if p is None else p), reference.linear(vectors, p)


@st.composite
def linear_floats(draw):
    vectors = draw(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=6))
    scale = draw(st.sampled_from([1.0, 1e-200, 1e150]))
    return mb.LinearMatroid([[x * scale for x in row] for row in vectors]), reference.linear(vectors)


FAMILIES = {
    "uniform": uniform(),
    "partition": partition(),
    "laminar": laminar(),
    "graphic": graphic(),
    "transversal": transversal(),
    "linear": linear(),
    "linear_floats": linear_floats(),
}

families = st.one_of(*FAMILIES.values())


def _system(matroid, is_independent):
    return reference.SetSystem(matroid.n_items, is_independent)


@st.composite
def nested(draw, depth=2):
    """A family's matroid under up to `depth` operations, with its independence test."""
    matroid, is_independent = draw(families)
    for _ in range(draw(st.integers(0, depth))):
        system = _system(matroid, is_independent)
        operation = draw(st.sampled_from(["dual", "truncate", "restrict", "contract", "sum", "oracle"]))
        n, old = matroid.n_items, is_independent
        if operation == "dual":
            matroid = matroid.dual()

            def is_independent(X, system=system, n=n):
                return system.rank_of(frozenset(range(n)) - X) == system.rank

        elif operation == "truncate":
            k = draw(st.integers(0, 4))
            matroid = matroid.truncate(k)

            def is_independent(X, old=old, k=k):
                return len(X) <= k and old(X)

        elif operation in ("restrict", "contract"):
            items = sorted(draw(st.sets(st.integers(0, n - 1)))) if n else []
            if operation == "restrict":
                matroid = matroid.restrict(np.array(items, int))  # numbers, whatever the labels

                def is_independent(X, old=old, items=tuple(items)):
                    return old(frozenset(items[e] for e in X))

            else:
                matroid = matroid.contract(np.array(items, int))
                kept = [e for e in range(n) if e not in items]

                def is_independent(X, system=system, kept=tuple(kept), T=frozenset(items)):
                    return system.rank_of(T | {kept[e] for e in X}) == system.rank_of(T) + len(X)

        elif operation == "sum":
            other, also = draw(st.one_of(uniform(), partition()).filter(lambda pair: pair[0].n_items <= 3))
            matroid = mb.direct_sum(matroid, other)

            def is_independent(X, old=old, also=also, n=n):
                return old(frozenset(e for e in X if e < n)) and also(frozenset(e - n for e in X if e >= n))

        else:
            matroid = mb.OracleMatroid(n, old)
    return matroid, is_independent


@st.composite
def independent(draw, n_items, is_independent):
    """An independent set, in any order."""
    whole = reference.greedy_from((), draw(st.permutations(range(n_items))), is_independent)
    return whole[: draw(st.integers(0, len(whole)))]


@st.composite
def requests(draw, n_items, is_independent):
    """A mask per run, and an independent set of pins that it may leave out."""
    masks = draw(st.lists(st.lists(st.booleans(), min_size=n_items, max_size=n_items), min_size=1, max_size=3))
    return masks, draw(independent(n_items, is_independent))


def weights(n_items):
    """Weights with many ties, infinities and signed zeros."""
    value = st.sampled_from([0.0, -0.0, 0.5, 0.5, 1.0, -1.0, 3.25, float("inf"), float("-inf")])
    return st.lists(value, min_size=n_items, max_size=n_items)
