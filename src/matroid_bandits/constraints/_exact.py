"""The answer that every constraint of this folder gives, also where several sets are equally good."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import WeightsError
from matroid_bandits.kernels import exact

#: Weights are rounded to this many bits of the largest one.
_BITS = 40


class ExactConstraint(Constraint):
    """Base class of constraints solved in exact integer arithmetic, with the same result on every machine, ties
    included.

    Notes
    -----
    The best set of a row of weights has the largest total of *snapped* weights, of a hereditary constraint among the
    sets of most items. Of equal ones it is the set that holds the smallest item in which two differ, which is what
    the greedy algorithm finds on a matroid.

    Snapping rounds the weights of a row to multiples of a power of two, 40 bits below the largest (fewer where a set
    can have more than 511 items), so that totals are exact integers. Integers that are not larger than that are taken
    as they are. An item never seen counts more than all that other items can make up for, so the number of unseen
    items decides first.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> issubclass(mb.AssignmentConstraint, ExactConstraint)
    True
    """

    @property
    @abstractmethod
    def _most(self) -> int:
        """A bound on the items of a set, which settles how many bits a weight may have."""

    @abstractmethod
    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        """The canonical best set for each row of `gains` (R, L), as a mask, empty where there is none.

        `is_open` (R, L) or (1, L) are the items that may be chosen besides those that are pinned.
        """

    def best_sets(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the canonical best set of each row, also for weights that are +inf; see `Constraint.best_sets`."""
        chosen = self._choose(self._snap(weights), self._opened(available), pinned)
        if pinned is not None and not self.is_hereditary:
            chosen[~chosen[:, pinned].all(axis=1)] = False  # no set has all that is pinned
        if chosen.shape[0] == 1:
            found = np.flatnonzero(chosen)
            return found[None], np.array([found.size])
        sizes = chosen.sum(axis=1)
        items = np.zeros((sizes.size, int(sizes.max(initial=0))), np.int64)
        items[np.arange(items.shape[1]) < sizes[:, None]] = np.nonzero(chosen)[1]
        return items, sizes

    def solve(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the sets of `best_sets`, which takes unseen items itself; see `Constraint.solve`."""
        return self.best_sets(weights, available=available, pinned=pinned)

    def with_unseen(self, weights: FloatArray, unseen: BoolArray) -> FloatArray:
        """Return rounded weights in which unseen items outweigh every set of other items.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> one = mb.AssignmentConstraint([("ann", "day"), ("bob", "day"), ("eve", "day")])
        >>> one.with_unseen(np.array([[0.5, 0.0, 0.25]]), np.array([[False, True, False]])) / 2**40
        array([[0.5 , 4.  , 0.25]])
        """
        bits = self._bits
        snapped = np.rint(np.ldexp(weights, bits - self._exponents(weights)))
        return np.where(unseen, np.ldexp(2.0 * (self._most + 1), bits), snapped)

    @property
    def _bits(self) -> int:
        # sums and differences of the totals of two sets, of unseen items too, stay below 2**62
        return min(_BITS, 58 - 2 * int(self._most).bit_length())

    def _snap(self, weights: FloatArray) -> IntArray:
        """The snapped weights, those of unseen items (+inf) as `with_unseen` has them."""
        gains = np.empty(weights.shape, np.int64)
        _raise_if_wrong(weights, exact.snap(np.ascontiguousarray(weights), self._bits, self._most, gains))
        return gains

    def _exponents(self, weights: FloatArray) -> IntArray:
        """The power of two above the largest weight of each row, as a column."""
        exponents: IntArray = np.frexp(np.abs(weights).max(axis=1, keepdims=True, initial=0.0))[1]
        return exponents

    def _opened(self, available: BoolArray | None) -> BoolArray:
        """The items that may be chosen, as a mask of its own of shape (R, L) or (1, L)."""
        if available is None:
            return np.ones((1, self._n_items), bool)
        return np.array(available, bool, ndmin=2)


def _raise_if_wrong(weights: FloatArray, place: int) -> None:
    """Raise `WeightsError` for the weight at this place of the flattened array, if it is not -1."""
    if place >= 0:
        run, e = divmod(place, weights.shape[1])
        raise WeightsError(
            f"expected finite weights, or +inf for items never seen; got {weights[run, e]} for item {e} of run {run}"
        )
