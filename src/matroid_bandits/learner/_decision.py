"""A set to act on, as a live learner hands it out."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits.constraint import Constraint


class Decision:
    """A basis to act on; immutable.

    Attributes
    ----------
    id : int
        Names the decision to `Learner.tell`.
    episode : int
        The episode it was made in, from 1.
    items : int64 array (K,)
        The chosen items, ascending.
    labels : tuple
        What they are called.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> decision = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM()).ask()
    >>> decision
    Decision(id=1, labels=('a', 'b'))
    >>> decision.items
    array([0, 1])
    """

    __slots__ = ("_constraint", "_id", "_items")

    def __init__(self, id: int, items: IntArray, constraint: Constraint) -> None:
        self._id, self._items, self._constraint = id, frozen(items), constraint

    @property
    def id(self) -> int:
        """Names the decision to `Learner.tell`."""
        return self._id

    @property
    def episode(self) -> int:
        """The episode the decision was made in, from 1."""
        return self._id

    @property
    def items(self) -> IntArray:
        """The chosen items, ascending, read-only."""
        return self._items

    @property
    def labels(self) -> tuple[Label, ...]:
        """What the items are called."""
        labels = self._constraint.labels
        return tuple(labels[e] for e in self._items.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return (
            self._id == other._id
            and np.array_equal(self._items, other._items)
            and self._constraint == other._constraint
        )

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.labels[:8])) + (", ..." if self._items.size > 8 else "")
        return f"Decision(id={self._id}, labels=({shown}))"
