"""Choices that start from last episode's threshold, for quotas side by side."""

from __future__ import annotations

import math

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.arrays import frozen, offsets
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._base import Engine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import selection
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request, State, coefficient, evaluate

_INTEGER = np.dtype(np.int64)


class ThresholdEngine(Engine):
    """Engine for flat quotas: selects the best items among those above the last episode's threshold.

    For matroids whose quotas do not lie in each other, and for every policy. Only the threshold is kept from one
    episode to the next, and where it misleads all items are searched.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), engine="threshold").ask().items
    array([0, 1])
    """

    def __init__(self, constraint: Constraint, policy: Policy, state: State) -> None:
        super().__init__(constraint, policy, state)
        quotas = constraint.quotas() if self.fits(constraint) and isinstance(constraint, Matroid) else None
        if quotas is None:
            raise PolicyError(f"expected quotas side by side for the threshold engine, got {constraint!r}")
        group, _, capacities = quotas
        # a cell for each group, and one for the items in no group, which are all chosen
        sizes: IntArray = np.bincount(group + 1, minlength=capacities.size + 1)
        used = np.flatnonzero(sizes)
        room = np.minimum(np.concatenate([sizes[:1], capacities]), sizes)[used]
        self._is_sorted = bool((group[1:] >= group[:-1]).all())
        members = np.arange(group.size) if self._is_sorted else np.argsort(group, kind="stable")
        self._cells = frozen(np.concatenate([[room.size, self._is_sorted], room, offsets(sizes[used]), members]))
        self._marks = np.empty((state.n_runs, used.size, len(selection.FIRST_MARK)))
        self._marks[:] = selection.FIRST_MARK
        self._room_of_cells = np.empty(selection.cell_room(members.size))
        self._shape = state.n_runs, int(room.sum())
        self._full = np.full(*self._shape)
        self._lines = None if self._affine is None else self._affine.lines(state)

    @staticmethod
    def fits(constraint: Constraint) -> bool:
        """Return whether the constraint is a matroid made of quotas that are not nested."""
        quotas = constraint.quotas() if isinstance(constraint, Matroid) else None
        return quotas is not None and not (quotas[1] >= 0).any()

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode; requests with masks or pins are scanned."""
        return self.decide_open(request) if request.is_open else self.scan(request)

    def decide_open(self, request: Request) -> tuple[IntArray, IntArray]:
        items = np.empty(self._shape, _INTEGER)
        if self._affine is None or self._lines is None:
            U = evaluate(self.policy, self.state, request)
            selection.top_of_cells.call(U, self._cells, self._marks, self._room_of_cells, items)
        else:
            c = self._affine.coefficient(self.state, request)
            if not (type(c) is float and 0.0 <= c < math.inf):
                c = coefficient(self._affine, self.state, request)
            means, radii = self._lines
            selection.top_of_lines.call(means, radii, c, self._cells, self._marks, self._room_of_cells, items)
        if not self._is_sorted:
            items.sort(axis=1)  # chosen cell by cell
        return items, self._full
