"""A set to act on, as a live learner hands it out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.names import decode, encode_all
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError
from matroid_bandits.matroids import TransversalMatroid


class Decision:
    """A set of items chosen by a learner for one request; immutable.

    Attributes
    ----------
    id : int
        The episode it was made in, from 1, which identifies the decision within its learner; 0 for a preview.
    learner : str
        The id of that learner. Other learners refuse the decision.
    items : int64 array (K,)
        The chosen items, ascending, by the numbers they had when they were chosen.
    labels : tuple
        Their labels.
    pinned : int64 array
        Those of the items that the request had pinned.
    is_full : bool
        Whether the set has the largest allowed size; False if the request left too few items, or, for a constraint
        with sets of any size, none at all.
    is_held_out : bool
        Whether the set was drawn at random, for later evaluation (see `Learner`'s ``holdout``).
    matching : dict, or None
        The partner of each item, by label, for a `TransversalMatroid`; None for others.
    tags : dict
        The tags of the request.
    is_fallback : bool
        Whether a client chose it because its server did not respond in time (see `Client`'s ``fallback``).
    order : tuple, or None
        The labels in the order in which they are to be shown, from the top; None where the set is no list.

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

    __slots__ = (
        "_constraint", "_id", "_is_fallback", "_is_full", "_is_held_out", "_items", "_learner", "_partners",
        "_pinned", "_places", "_tags",
    )  # fmt: skip

    def __init__(
        self,
        id: int,
        items: IntArray,
        constraint: Constraint | Named,
        learner: str,
        pinned: IntArray | None = None,
        is_held_out: bool = False,
        tags: dict[str, Any] | None = None,
        places: IntArray | None = None,
    ) -> None:
        self._id, self._items, self._constraint, self._learner = id, items, constraint, learner
        self._pinned, self._is_held_out, self._tags, self._places = pinned, is_held_out, tags, places
        # as they were said of a decision that was read; None to look at the constraint
        self._is_full: bool | None = None
        self._partners: list[Label] | None = None
        self._is_fallback = False

    @property
    def id(self) -> int:
        """Identifier of the decision within its learner: the episode it was made in."""
        return self._id

    @property
    def episode(self) -> int:
        """The episode that the decision was made in, from 1."""
        return self._id

    @property
    def learner(self) -> str:
        """Identifier of the learner that made the decision."""
        return self._learner

    @property
    def items(self) -> IntArray:
        """The chosen items, ascending, read-only."""
        return frozen(self._items)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Labels of the chosen items."""
        labels = self._constraint.labels
        return tuple(labels[e] for e in self._items.tolist())

    @property
    def order(self) -> tuple[Label, ...] | None:
        """Labels of the chosen items from the top of the list to its end; None where the set is not shown as one.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM())
        >>> learner.observe({"a": 0.1, "b": 0.2, "c": 0.3})
        >>> learner.ask(order="best").order, learner.ask(order="explore").order, learner.ask().order
        (('c', 'b'), ('b', 'c'), None)
        """
        if self._places is None:
            return None
        labels = self.labels
        return tuple(labels[k] for k in np.argsort(self._places).tolist())

    @property
    def pinned(self) -> IntArray:
        """The chosen items that the request had pinned."""
        return frozen(np.empty(0, np.int64) if self._pinned is None else self._pinned)

    @property
    def is_full(self) -> bool:
        """Whether the set has the size of the largest allowed set; of paths and budgets any allowed set is full."""
        if isinstance(self._constraint, Named):
            return bool(self._is_full)
        if not self._constraint.fills_up:
            return self._constraint.allows(self._items)
        return self._items.size == self._constraint.largest_size

    @property
    def is_held_out(self) -> bool:
        """Whether the set was drawn at random for the hold-out."""
        return self._is_held_out

    @property
    def is_fallback(self) -> bool:
        """Whether a client chose the set without its server."""
        return self._is_fallback

    @property
    def tags(self) -> dict[str, Any]:
        """Copy of the request's tags; empty without any.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.Learner(mb.UniformMatroid(3, 1), mb.OMM()).ask(tags={"visitor": "ann"}).tags
        {'visitor': 'ann'}
        """
        return copy.deepcopy(self._tags) if self._tags else {}

    @property
    def matching(self) -> dict[Label, Any] | None:
        """Partner of each item, by label; None unless the constraint is a `TransversalMatroid`.

        Also None where the items have changed since, and those of the decision cannot be matched any more.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> shifts = mb.TransversalMatroid({"ann": ["day"], "bob": ["day"], "eve": ["day", "night"]})
        >>> mb.Learner(shifts, mb.OMM()).ask().matching
        {'ann': 'day', 'eve': 'night'}
        """
        if isinstance(self._constraint, TransversalMatroid):
            try:
                return dict(zip(self.labels, self._constraint.matching(self._items).values(), strict=True))
            except ItemError:
                return None
        return None if self._partners is None else dict(zip(self.labels, self._partners, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `from_dict` makes an equal decision; a preview's id is null."""
        labels = self._constraint.labels
        pinned = () if self._pinned is None else self._pinned.tolist()
        form = {
            "decision": self._id or None,
            "learner": self._learner,
            "items": encode_all([labels[e] for e in self._items.tolist()], "label"),
            "numbers": self._items.tolist(),
            "pinned": encode_all([labels[e] for e in pinned], "label"),
            "full": self.is_full,
            "held_out": self._is_held_out,
        }
        if (order := self.order) is not None:
            form["order"] = encode_all([*order], "label")
        if self._tags:
            form["tags"] = self._tags
        if self._is_fallback:
            form["fallback"] = True
        if (matching := self.matching) is not None:
            form["matching"] = encode_all([*matching.values()], "right vertex")
        return form

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Decision:
        """Make the decision described by the output of `to_dict`.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM())
        >>> form = learner.ask().to_dict()
        >>> learner.tell(mb.Decision.from_dict(form), {"a": 0.5, "b": 1.0})
        """
        id = 0 if form["decision"] is None else as_integer("decision", form["decision"], 1)
        items = [as_integer("an item's number", e) for e in form["numbers"]]
        named = Named(dict(zip(items, (decode(label) for label in form["items"]), strict=True)))
        pinned = np.array([named.as_item(decode(label)) for label in form["pinned"]], np.int64)
        fixed = pinned if pinned.size else None
        is_held_out, tags = bool(form["held_out"]), form.get("tags")
        places = None
        if form.get("order") is not None:
            shown_at = {named.as_item(decode(label)): place for place, label in enumerate(form["order"])}
            places = np.array([shown_at[e] for e in items], np.int64)
        given = np.array(items, np.int64)
        decision = cls(id, given, named, form["learner"], fixed, is_held_out, tags, places)
        decision._is_full, decision._is_fallback = bool(form["full"]), bool(form.get("fallback"))
        if form.get("matching") is not None:
            decision._partners = [decode(label) for label in form["matching"]]
        return decision

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        is_same = self._id == other._id and self._learner == other._learner
        return is_same and self.labels == other.labels and self.order == other.order

    def __hash__(self) -> int:
        return hash((self._id, self._learner))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.labels[:8])) + (", ..." if self._items.size > 8 else "")
        marks = (", held out" if self._is_held_out else "") + (", fallback" if self._is_fallback else "")
        return f"Decision(id={self._id}, labels=({shown}{',' if self._items.size == 1 else ''}){marks})"


class Named:
    """What a decision that was read knows of its items: their labels, by number."""

    def __init__(self, labels: dict[int, Label]) -> None:
        self.labels = labels

    def as_item(self, key: Any) -> int:
        """An item by its label, or by its number where that is no label."""
        for e, label in self.labels.items():
            if type(label) is type(key) and label == key:
                return e
        if type(key) is int and key in self.labels:
            return key
        raise ItemError(f"expected an item or its label, got {shown(key)}")
