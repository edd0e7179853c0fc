"""What a learner keeps of a decision while it is open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np

from matroid_bandits._typing import IntArray, Label
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError
from matroid_bandits.learner._wanted import Wanted

#: Stands in for labels of items that were forgotten; no item is called so.
_FORGOTTEN = object()

#: Stands for the label of a forgotten item in a file of version 0.2.0 or earlier, which did not keep it.
UNNAMED: Final = object()


class Asked:
    """What was asked for and what was chosen, by the numbers that items had then; the note of an open play.

    Attributes
    ----------
    labels : sequence
        What those numbers stand for.
    items : int64 array (K,)
        The chosen items; without those that were forgotten before a file was written that has been read since.
    wanted : Wanted, or None
        What was asked for besides a set.
    is_held_out : bool
        Whether the set was drawn at random.
    time : float, or None
        When it was asked for, as `Book.date` has set it; learners have no clock.
    tags : dict, or None
        The tags of the request.
    control : int
        The control's number of the decision, where it is the control's; 0 otherwise.
    names : sequence
        Labels of the play's items, in its order, whatever has become of the items since; `UNNAMED` where a file did
        not keep one.
    """

    __slots__ = ("_names", "control", "is_held_out", "items", "labels", "tags", "time", "wanted")

    def __init__(
        self,
        labels: Sequence[Label],
        items: IntArray,
        wanted: Wanted | None,
        is_held_out: bool = False,
        time: float | None = None,
        tags: dict[str, Any] | None = None,
        control: int = 0,
        names: Sequence[Any] | None = None,
    ) -> None:
        self.labels, self.items, self.wanted, self.is_held_out = labels, items, wanted, is_held_out
        self.time, self.tags, self.control = time, tags, control
        self._names = names  # None where `labels` and `items` give them

    @property
    def names(self) -> Sequence[Any]:
        return [self.labels[e] for e in self.items.tolist()] if self._names is None else self._names

    def now(self, items: IntArray, constraint: Constraint) -> IntArray:
        """The numbers of today of those among some items that are still there, ascending."""
        if not constraint.has_labels or self.labels is constraint.labels:
            return items
        found = []
        for e in items.tolist():
            with suppress(ItemError):
                found.append(constraint.item(self.labels[e]))
        return np.sort(np.array(found, np.int64))

    def without(self, lost: set[Label], known: dict[int, Sequence[Label]]) -> Asked:
        """The same, some items forgotten: an item that comes with such a label later is another.

        Decisions between two changes share their labels; `known` has those that were gone through.
        """
        labels = known.get(id(self.labels))
        if labels is None:
            labels = self.labels
            if not lost.isdisjoint(labels):
                labels = tuple(_FORGOTTEN if label in lost else label for label in labels)
            known[id(self.labels)] = labels
        names = self._names if labels is self.labels else self.names
        return Asked(labels, self.items, self.wanted, self.is_held_out, self.time, self.tags, self.control, names)

    def without_features(self) -> Asked:
        """The same without the features of the request, which another policy has no use for."""
        wanted = self.wanted
        if wanted is None or wanted.features is None:
            return self
        wanted = replace(wanted, features=None)
        return Asked(
            self.labels, self.items, wanted, self.is_held_out, self.time, self.tags, self.control, self._names
        )
