"""How often an item is in a set that is drawn by random keys: the law of a learner's hold-out.

The best set for independent uniform weights contains item e with probability q_e. On a matroid, q_e is the chance
that the items with larger keys do not span e: the Shapley value of e in the rank function.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError
from matroid_bandits.matroids import Matroid
from matroid_bandits.stream import INCLUSION, Stream

#: Components of a matroid with at most this number of items are enumerated: all 2**20 subsets, about a second.
_MOST_ENUMERATED = 20
#: The same for matroids whose `greedy` is Python.
_MOST_INTERPRETED = 12
_ROWS = 1 << 13  # sets that are solved together


@dataclass(frozen=True)
class Inclusion:
    """Inclusion probabilities of random sets: the probability of each item to be in the set.

    Attributes
    ----------
    probabilities : float64 array (L,)
        The chance that a set contains each item.
    errors : float64 array (L,)
        Their standard errors: 0 where the probability is exact, otherwise those of `n_draws` draws.
    n_draws : int
        The number of sets drawn; 0 where a formula gave everything.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> found = mb.evaluation.inclusion_probabilities(mb.UniformMatroid(4, 1))
    >>> found.probabilities, found.is_exact
    (array([0.25, 0.25, 0.25, 0.25]), True)
    """

    probabilities: FloatArray
    errors: FloatArray
    n_draws: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether the probabilities are exact, without sampling."""
        return self.n_draws == 0


def inclusion_probabilities(
    constraint: Constraint,
    *,
    available: ArrayLike | None = None,
    pinned: IntArray | None = None,
    n_draws: int = 100_000,
    seed: int = 0,
) -> Inclusion:
    """Return each item's probability to be in a hold-out's random set: the best set for uniform weights.

    Quotas have closed forms; nested quotas an integral that Gauss-Legendre quadrature finds to the last digits. Other
    matroids are split into connected components: components of up to 20 items are enumerated. What is left is
    estimated from draws, and so is every constraint that is no matroid.

    Parameters
    ----------
    constraint : Constraint
        Which sets are allowed.
    available : bool array (L,), optional
        The items that may be chosen; by default all.
    pinned : int array, optional
        Items that are in every set.
    n_draws : int, default 100_000
        How many sets are drawn where there is no exact way; the standard error of a probability is at most
        ``0.5 / sqrt(n_draws)``.
    seed : int, default 0
        Where the draws come from.

    Returns
    -------
    Inclusion

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> topics = mb.PartitionMatroid([0, 0, 0, 1, 1, 1, 1], {0: 1, 1: 3})
    >>> mb.evaluation.inclusion_probabilities(topics).probabilities.round(4)
    array([0.3333, 0.3333, 0.3333, 0.75  , 0.75  , 0.75  , 0.75  ])
    >>> square = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")])
    >>> mb.evaluation.inclusion_probabilities(square).probabilities * 60
    array([37., 37., 37., 37., 32.])
    """
    n_items = constraint.n_items
    is_open, pins = _open(constraint, available, pinned)
    n_draws = as_integer("n_draws", n_draws, 1)
    if not isinstance(constraint, Matroid):
        return _drawn(constraint, is_open, pins, np.ones(n_items, bool), np.zeros(n_items), n_draws, seed)
    q, is_left = np.zeros(n_items), is_open.copy()
    q[pins] = 1.0
    quotas = constraint.quotas()
    if quotas is not None:
        q[is_open] = _of_quotas(*quotas, is_open, pins)[is_open]
        return Inclusion(frozen(q), frozen(np.zeros(n_items)))
    free = np.flatnonzero(is_open)
    for component in _components(constraint, free, pins):
        most = _MOST_INTERPRETED if constraint.compiled() is None else _MOST_ENUMERATED
        if component.size <= most:
            q[component] = _enumerated(constraint, component, pins)
            is_left[component] = False
    if not is_left.any():
        return Inclusion(frozen(q), frozen(np.zeros(n_items)))
    return _drawn(constraint, is_open, pins, is_left, q, n_draws, seed)


def _open(constraint: Constraint, available: ArrayLike | None, pinned: IntArray | None) -> tuple[BoolArray, IntArray]:
    """The items that may be chosen besides the pinned ones, as a mask; and the pinned ones."""
    is_open = np.ones(constraint.n_items, bool)
    if available is not None:
        given = np.asarray(available)
        if given.shape != is_open.shape or given.dtype != bool:
            raise ItemError(
                f"expected available as {constraint.n_items} booleans, got {given.dtype} of shape {given.shape}"
            )
        is_open = given.copy()
    pins = constraint.as_items([] if pinned is None else np.asarray(pinned))
    is_open[pins] = False
    if pins.size and not constraint.can_pin(pins, is_open):
        raise ItemError(f"expected pinned items that can be chosen together, got {pins.tolist()}")
    return is_open, pins


# Quotas


def _of_quotas(
    group: IntArray, parent: IntArray, capacities: IntArray, is_open: BoolArray, pins: IntArray
) -> FloatArray:
    """Probabilities under nested quotas: items of one innermost group have the same."""
    n_groups = parent.size
    room = capacities.astype(np.int64, copy=True)
    for e in pins:
        g = int(group[e])
        while g >= 0:
            room[g] -= 1
            g = int(parent[g])
    own = np.bincount(group[is_open & (group >= 0)], minlength=n_groups)  # items in no smaller group
    inside = own.copy()  # parents have smaller numbers, so one pass from the last sums up
    for g in range(n_groups - 1, -1, -1):
        if parent[g] >= 0:
            inside[parent[g]] += inside[g]
    by_group = np.ones(n_groups + 1)  # the last stands for items in no group
    children: list[list[int]] = [[] for _ in range(n_groups)]
    for g in range(n_groups):
        if parent[g] >= 0:
            children[parent[g]].append(g)
    nested: dict[int, list[int]] = {}
    for g in np.flatnonzero(own).tolist():
        chain = [g]
        while parent[chain[-1]] >= 0:
            chain.append(int(parent[chain[-1]]))
        if any(children[outer] for outer in chain):
            nested.setdefault(chain[-1], []).append(g)
        else:
            by_group[g] = min(1.0, room[g] / own[g])
    for top, groups in nested.items():
        tree = _Tree(parent, room, own, inside, children, int(inside[top]))
        for g in groups:
            by_group[g] = tree.chance(g)
    found: FloatArray = by_group[group]
    return found


class _Tree:
    """Nested quotas whose items come in random order.

    An item of key u meets the items with larger keys, each of which came before it with chance u. The number that a
    group has taken by then is the smaller of its capacity and of what its subgroups and its own items bring: a
    convolution of distributions whose entries are polynomials in u. They are kept by value at the nodes of a
    Gauss-Legendre rule, which integrates polynomials up to twice its number of nodes exactly.
    """

    def __init__(
        self,
        parent: IntArray,
        room: IntArray,
        own: IntArray,
        inside: IntArray,
        children: list[list[int]],
        n_items: int,
    ) -> None:
        self.parent, self.room, self.own, self.inside, self.children = parent, room, own, inside, children
        # From about 4,000 items on the integrand is a step of width 1 / sqrt(n): fewer nodes are as good.
        nodes, weights = np.polynomial.legendre.leggauss(min(n_items // 2 + 2, 64 + int(16 * n_items**0.5)))
        self.u, self.weights = (nodes + 1.0) / 2.0, weights / 2.0
        self.known: dict[int, FloatArray] = {}

    def chance(self, g: int) -> float:
        """The probability of an item whose innermost group is `g`."""
        alive = self._convolved(self._arrived(self.own[g] - 1, self.room[g]), self.children[g], self.room[g])
        alive = alive[: max(self.room[g], 0)]  # those that leave room for the item
        while self.parent[g] >= 0:
            outer = int(self.parent[g])
            start = self._product(alive, self._arrived(self.own[outer], self.room[outer]), self.room[outer])
            others = [child for child in self.children[outer] if child != g]
            alive = self._convolved(start, others, self.room[outer])[: max(self.room[outer], 0)]
            g = outer
        return float(alive.sum(axis=0) @ self.weights)

    def _taken(self, g: int) -> FloatArray:
        """The distribution of what a whole group has taken, a row per number."""
        if g not in self.known:
            limit = int(min(self.room[g], self.inside[g]))
            self.known[g] = self._convolved(self._arrived(self.own[g], limit), self.children[g], limit)
        return self.known[g]

    def _convolved(self, start: FloatArray, groups: list[int], limit: int) -> FloatArray:
        for g in groups:
            start = self._product(start, self._taken(g), limit)
        return start

    def _product(self, a: FloatArray, b: FloatArray, limit: int) -> FloatArray:
        """The distribution of a sum, in which `limit` stands for itself and everything above."""
        size = min(a.shape[0] + b.shape[0] - 1, max(int(limit), 0) + 1) if a.size and b.size else 0
        total = np.zeros((size, self.u.size))
        for j in range(b.shape[0] if size else 0):
            k = max(min(a.shape[0], size - j), 0)
            if k:
                total[j : j + k] += a[:k] * b[j]
            total[size - 1] += (a[k:] * b[j]).sum(axis=0)
        return total

    def _arrived(self, n: int, limit: int) -> FloatArray:
        """The binomial distribution of how many of `n` items came before u, in which `limit` stands for more too."""
        k = np.arange(min(int(n), max(int(limit), 0)) + 1)
        choose = np.array([lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) for j in k])
        terms: FloatArray = np.exp(
            choose[:, None] + k[:, None] * np.log(self.u) + (n - k)[:, None] * np.log1p(-self.u)
        )
        if k[-1] < n:
            terms[-1] = np.maximum(1.0 - terms[:-1].sum(axis=0), 0.0)
        return terms


# Other matroids


def _components(matroid: Matroid, free: IntArray, pins: IntArray) -> list[IntArray]:
    """The connected components of what is open around the pins: items that share a circuit are together."""
    basis, sizes = matroid.greedy(free[None], None, pins if pins.size else None)
    members = basis[0, : sizes[0]]
    root = np.arange(matroid.n_items)

    def find(e: int) -> int:
        while root[e] != e:
            root[e] = root[root[e]]
            e = int(root[e])
        return e

    is_fixed = np.zeros(matroid.n_items, bool)
    is_fixed[pins] = True
    for e in np.setdiff1d(free, members):
        for other in matroid.replaceable(members, int(e)):
            if not is_fixed[other]:
                root[find(int(other))] = find(int(e))
    roots = np.array([find(int(e)) for e in free], np.int64)
    return [free[roots == r] for r in np.unique(roots)]


def _enumerated(matroid: Matroid, items: IntArray, pins: IntArray) -> FloatArray:
    """Shapley values of the rank of the given items around the pins, over all of their subsets."""
    n = items.size
    n_sets = 1 << n
    ranks, sizes = np.empty(n_sets, np.int8), np.empty(n_sets, np.int8)
    taken = pins if pins.size else None
    for low in range(0, n_sets, _ROWS):
        sets = np.arange(low, min(low + _ROWS, n_sets))
        is_in = (sets[:, None] >> np.arange(n)) & 1 == 1
        lengths = is_in.sum(axis=1)
        # Members first, in ascending order; what follows is beyond the row's length.
        orders = items[np.argsort(~is_in, axis=1, kind="stable")]
        ranks[sets] = matroid.greedy(np.ascontiguousarray(orders), lengths, taken)[1] - pins.size
        sizes[sets] = lengths
    weights = np.exp([lgamma(k + 1) + lgamma(n - k) - lgamma(n + 1) for k in range(n)])
    q = np.empty(n)
    for i in range(n):
        without = np.flatnonzero((np.arange(n_sets) >> i) & 1 == 0)
        grows = ranks[without | 1 << i] > ranks[without]
        q[i] = np.bincount(sizes[without[grows]], minlength=n) @ weights
    return q


# Draws


def _drawn(
    constraint: Constraint,
    is_open: BoolArray,
    pins: IntArray,
    is_left: BoolArray,
    known: FloatArray,
    n_draws: int,
    seed: int,
) -> Inclusion:
    """Estimates for what is left from sets drawn at addressed keys: the number of the draw is the run."""
    hits = np.zeros(constraint.n_items, np.int64)
    items = np.arange(constraint.n_items)
    mask = None if is_open.all() else is_open[None]
    for low in range(0, n_draws, _ROWS):
        runs = np.arange(low, min(low + _ROWS, n_draws))
        keys = Stream(seed, runs, INCLUSION).uniform(0, items)
        sets, sizes = constraint.solve(keys, available=mask, pinned=pins if pins.size else None)
        hits += np.bincount(sets[np.arange(sets.shape[1]) < sizes[:, None]], minlength=constraint.n_items)
    q = np.where(is_left, hits / n_draws, known)
    errors = np.where(is_left, np.sqrt(q * (1.0 - q) / n_draws), 0.0)
    return Inclusion(frozen(q), frozen(errors), n_draws)
