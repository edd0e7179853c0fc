"""A set to act on, as a live learner hands it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.names import decode, encode_all
from matroid_bandits.constraint import Constraint


class Decision:
    """A set to act on; immutable.

    Attributes
    ----------
    id : int
        The episode it was made in, from 1; names the decision to the learner that made it. 0 for a preview.
    learner : str
        The id of that learner. Other learners refuse the decision.
    items : int64 array (K,)
        The chosen items, ascending, by the numbers they had when they were chosen.
    labels : tuple
        What they are called.
    pinned : int64 array
        Those of the items that the request had pinned.
    is_full : bool
        Whether the set is as large as any that may be chosen; False where the request left less, or, of a constraint
        whose sets have any size, none at all.
    is_held_out : bool
        Whether the set was drawn at random, for later evaluation (see `Learner`'s ``holdout``).

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> decision = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM()).ask()
    >>> decision
    Decision(id=1, labels=('a', 'b'))
    >>> decision.items
    array([0, 1])
    >>> decision.is_full
    True
    """

    __slots__ = ("_constraint", "_id", "_is_full", "_is_held_out", "_items", "_learner", "_pinned", "_places")

    def __init__(
        self,
        id: int,
        items: IntArray,
        constraint: Constraint,
        learner: str,
        pinned: IntArray | None = None,
        is_held_out: bool = False,
        places: IntArray | None = None,
        is_full: bool | None = None,
    ) -> None:
        self._id, self._items, self._constraint, self._learner = id, items, constraint, learner
        self._pinned, self._is_held_out = pinned, is_held_out
        self._places = places  # of the items in the learner's play, where some have left or the order is another
        self._is_full = is_full  # as it was said of a decision that was read; None to look at the constraint

    @property
    def id(self) -> int:
        """The episode the decision was made in, which names it to its learner."""
        return self._id

    @property
    def episode(self) -> int:
        """The episode the decision was made in, from 1."""
        return self._id

    @property
    def learner(self) -> str:
        """The id of the learner that made the decision."""
        return self._learner

    @property
    def items(self) -> IntArray:
        """The chosen items, ascending, read-only."""
        return frozen(self._items)

    @property
    def labels(self) -> tuple[Label, ...]:
        """What the items are called."""
        labels = self._constraint.labels
        return tuple(labels[e] for e in self._items.tolist())

    @property
    def pinned(self) -> IntArray:
        """Those of the items that the request had pinned."""
        return frozen(np.empty(0, np.int64) if self._pinned is None else self._pinned)

    @property
    def is_full(self) -> bool:
        """Whether the set is as large as any that may be chosen."""
        if self._is_full is not None:
            return self._is_full
        if not self._constraint.is_hereditary:
            return self._constraint.allows(self._items)
        return self._items.size == self._constraint.largest_size

    @property
    def is_held_out(self) -> bool:
        """Whether the set was drawn at random."""
        return self._is_held_out

    def to_dict(self) -> dict[str, Any]:
        """A plain JSON form, items by label, of which `from_dict` makes an equal decision; null numbers a preview."""
        labels = self._constraint.labels
        pinned = () if self._pinned is None else self._pinned.tolist()
        return {
            "decision": self._id or None,
            "learner": self._learner,
            "items": encode_all([labels[e] for e in self._items.tolist()], "label"),
            "pinned": encode_all([labels[e] for e in pinned], "label"),
            "full": self.is_full,
            "held_out": self._is_held_out,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], constraint: Constraint) -> Decision:
        """The decision that `to_dict` described, whose items are those of a constraint.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM())
        >>> form = learner.ask().to_dict()
        >>> learner.tell(mb.Decision.from_dict(form, learner.constraint), {"a": 0.5, "b": 1.0})
        """
        id = 0 if form["decision"] is None else as_integer("decision", form["decision"], 1)
        items, pinned = (
            np.array([constraint.item(decode(label)) for label in form[key]], np.int64) for key in ("items", "pinned")
        )
        fixed = pinned if pinned.size else None
        is_full, is_held_out = bool(form["full"]), bool(form["held_out"])
        return cls(id, items, constraint, form["learner"], fixed, is_held_out, is_full=is_full)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        is_same = self._id == other._id and self._learner == other._learner
        return is_same and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((self._id, self._learner))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.labels[:8])) + (", ..." if self._items.size > 8 else "")
        held_out = ", held out" if self._is_held_out else ""
        return f"Decision(id={self._id}, labels=({shown}{',' if self._items.size == 1 else ''}){held_out})"
