"""A few sets, listed one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.names import codes_of
from matroid_bandits._util.text import counted, shown
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.exceptions import InvalidConstraintError, ItemError


class ExplicitSets(ExactConstraint):
    """Constraint given as an explicit list of allowed sets, for up to a few thousand sets of any kind.

    Rules whose best set is NP-hard to find in general, such as budgets, routes past many places or three matroids at
    once, are exact this way.

    Parameters
    ----------
    sets : iterable of iterables
        The sets, by labels or numbers; each with an item or more.
    labels : iterable of hashable, optional
        Labels of the items. By default the sets name their items, in order of appearance; integers are numbers, from
        0 on without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> menus = mb.ExplicitSets([("soup", "bread"), ("pasta",), ("salad", "bread", "cheese")])
    >>> menus.labels
    ('soup', 'bread', 'pasta', 'salad', 'cheese')
    >>> menus.best_sets(np.array([[0.5, 0.5, 0.75, 0.25, 0.5]]))
    (array([[1, 3, 4]]), array([3]))
    """

    kind = "explicit-sets"
    is_hereditary = fills_up = False

    def __init__(self, sets: Iterable[Iterable[Label] | IntArray], *, labels: Iterable[Label] | None = None) -> None:
        listed = _listed(sets)
        names: list[Any] = [name for members in listed for name in members]
        if labels is None and all(isinstance(name, (int, np.integer)) for name in names):
            n_items = len(set(names))
            missing = set(range(n_items)) - set(names)
            if missing:
                raise InvalidConstraintError(
                    f"expected items with numbers from 0 on, each in a set, or labels; got no set with {min(missing)}"
                )
        elif labels is None:
            labels = codes_of(names, "item", InvalidConstraintError)[1]
            n_items = len(labels)
        else:
            labels = list(labels)
            n_items = len(labels)
        super().__init__(n_items, labels)
        rows = np.zeros((len(listed), n_items), bool)
        for row, members in zip(rows, listed, strict=True):
            try:
                row[self.as_items(members)] = True
            except ItemError as error:
                raise InvalidConstraintError(f"expected sets of items, got {shown(members)}: {error}") from None
        # of equally good sets the first wins: the one with the smallest item in which two differ
        self._sets = frozen(np.unique(~rows, axis=0) ^ True)

    @property
    def sets(self) -> list[tuple[Label, ...]]:
        """The allowed sets, by labels."""
        return [tuple(self.labels[e] for e in np.flatnonzero(row).tolist()) for row in self._sets]

    def in_words(self) -> str:
        return f"one of {counted(self._sets.shape[0], 'set')}"

    def allows(self, items: IntArray) -> bool:
        row = np.zeros(self._n_items, bool)
        row[items] = True
        return bool((self._sets == row).all(axis=1).any())

    @property
    def _most(self) -> int:
        return int(self._sets.sum(axis=1).max())

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        may = is_open
        if pinned is not None:
            may[:, pinned] = True
        members = self._sets.T.astype(np.int64)
        is_left = np.equal((~may).astype(np.int64) @ members, 0)
        if pinned is not None:
            is_left &= self._sets[:, pinned].all(axis=1)
        best = np.where(is_left, gains @ members, np.iinfo(np.int64).min).argmax(axis=1)
        chosen: BoolArray = self._sets[best] & is_left.any(axis=1)[:, None]
        return chosen

    def content(self) -> tuple[Any, ...]:
        return (self._sets,)

    def fields(self) -> dict[str, Any]:
        return {"n_items": self._n_items, "sets": [np.flatnonzero(row).tolist() for row in self._sets]}

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> ExplicitSets:
        n_items, sets = fields.pop("n_items"), [np.array(items, np.int64) for items in fields.pop("sets")]
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        made = cls(sets, labels=labels)
        if made.n_items != n_items:
            raise ValueError(f"expected sets of {n_items} items")
        return made

    def __repr__(self) -> str:
        return f"ExplicitSets(n_items={self._n_items}, n_sets={self._sets.shape[0]})"


def _listed(sets: Any) -> list[Any]:
    """Lists of items, none of them empty."""
    if isinstance(sets, (str, bytes)) or not isinstance(sets, Iterable):
        raise InvalidConstraintError(f"expected a list of sets, got {shown(sets)}")
    listed: list[Any] = []
    for members in sets:
        if isinstance(members, (str, bytes)) or not isinstance(members, Iterable):
            raise InvalidConstraintError(f"expected sets of items, got {shown(members)}")
        listed.append(members if isinstance(members, np.ndarray) else list(members))
        if not len(listed[-1]):
            raise InvalidConstraintError("expected sets of an item or more, got an empty one")
    if not listed:
        raise InvalidConstraintError("expected a set or more, got none")
    return listed
