"""What two matroids have in common."""

from __future__ import annotations

import warnings

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray
from matroid_bandits.constraints._two import TwoMatroids
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.kernels import intersection as kernels
from matroid_bandits.kernels.forms import GraphForm
from matroid_bandits.matroids import Matroid

#: Above this many items a decision takes a tenth of a second and more.
MANY_ITEMS = 500


class MatroidIntersection(TwoMatroids):
    """Intersection of two matroids: sets independent in both, e.g. "a forest with one edge of each colour".

    A best set has the largest possible number of items.

    Parameters
    ----------
    one, two : Matroid
        Any two on the same items. Labels are those of the first, or of the second where the first has none.

    Warns
    -----
    UserWarning
        There are more than 500 items, where a decision takes a tenth of a second and more.

    Notes
    -----
    Shortest augmenting paths (Edmonds; Frank) through the exchanges that `Matroid.replaceable` tells, which are
    compiled for graphs and quotas. Where both are made of quotas, `QuotaIntersection` is faster. Three matroids are
    NP-hard.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> roads = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    >>> owners = mb.PartitionMatroid(["x", "x", "y", "z"])
    >>> mb.MatroidIntersection(roads, owners).best_sets(np.array([[3.0, 2.0, 1.0, 1.0]]))
    (array([[0, 2, 3]]), array([3]))
    """

    kind = "matroid-intersection"

    def __init__(self, one: Matroid, two: Matroid) -> None:
        super().__init__(one, two)
        if self._n_items == 0:
            raise InvalidConstraintError("expected an item or more, got none")
        if self._n_items > MANY_ITEMS:
            is_quotas = one.quotas() is not None and two.quotas() is not None
            what = (
                "use QuotaIntersection, which is faster" if is_quotas else "a decision may take a tenth of a second"
            )
            warnings.warn(
                f"expected at most {MANY_ITEMS} items for two matroids at once, got {self._n_items}: {what}",
                stacklevel=2,
            )

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        L = self._n_items
        chosen = np.zeros(gains.shape, bool)
        is_fixed = np.zeros(L, bool)
        if pinned is not None:
            is_fixed[pinned] = True
        room = np.empty((L, 1 + -(-L // kernels.BITS)), np.int64), np.empty(L, np.int64)
        for run, in_set in enumerate(chosen):
            in_set |= is_fixed
            open_here = is_open[run if is_open.shape[0] > 1 else 0]
            while True:
                exchanges = [self._exchanges(m, in_set, is_fixed, open_here) for m in self._matroids]
                if not kernels.augment(gains[run], in_set, *exchanges[0], *exchanges[1], *room):
                    break
        return chosen

    def _exchanges(
        self, matroid: Matroid, in_set: BoolArray, is_fixed: BoolArray, is_open: BoolArray
    ) -> tuple[BoolArray, IntArray, IntArray]:
        """The items that a matroid could add to a set; and for the others the members that they could replace."""
        L = self._n_items
        is_free, n_members = np.empty(L, bool), np.empty(L, np.int64)
        circuits = np.empty((L, max(int(in_set.sum()), 1)), np.int64)
        out = in_set, is_fixed, is_open, is_free, circuits, n_members
        form, quotas = matroid.compiled(), matroid.quotas()
        if isinstance(form, GraphForm):
            kernels.forest_exchanges(*form, *out)
        elif quotas is not None:
            kernels.quota_exchanges(*quotas, *out)
        else:
            members = np.flatnonzero(in_set)
            is_spanned = matroid.span(members)
            is_free[:] = is_open & ~is_spanned
            n_members[:] = 0
            # an item that the set spans meets the same members in every basis around it
            basis, sizes = matroid.greedy(np.arange(L)[None], None, members if members.size else None)
            basis = basis[0, : sizes[0]]
            for y in np.flatnonzero(is_open & is_spanned & ~in_set).tolist():
                others = matroid.replaceable(basis, y)
                others = others[~is_fixed[others]]
                n_members[y] = others.size
                circuits[y, : others.size] = others
        return is_free, circuits, n_members
