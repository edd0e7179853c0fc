"""The order in which a set is shown as a list."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from matroid_bandits._typing import IntArray, Label
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError, ReplayError
from matroid_bandits.policies import Request
from matroid_bandits.stream import HOLDOUT, Stream

#: The orders of a list: the best item first, or the worst.
Order: TypeAlias = Literal["best", "explore"]

_ORDERS: Final[tuple[Order | None, ...]] = (None, "best", "explore")


class Logged(NamedTuple):
    """What a log says of a decision: its items, whether it was held out, and the order, by labels.

    Where the set was drawn at random, the learner would have chosen others `instead`.
    """

    items: list[Label]
    is_held_out: bool
    order: list[Label] | None
    instead: list[Label] | None

    def places(self, constraint: Constraint, items: IntArray) -> IntArray | None:
        """The place at which each of some items was shown; None without an order."""
        if self.order is None:
            return None
        listed = np.array([constraint.item(label) for label in self.order], np.int64)
        ranks = np.argsort(listed, kind="stable")
        if not np.array_equal(listed[ranks], items):
            raise ReplayError(f"expected an order of the items {self.items}, got {self.order}")
        return ranks


def as_order(value: Any) -> Order | None:
    """Return an order, or None for none.

    Raises
    ------
    PolicyError
        It is another.
    """
    for order in _ORDERS:
        if type(value) is type(order) and value == order:
            return order
    raise PolicyError(f'expected order to be "best" or "explore", got {shown(value)}')


def listed(items: IntArray, places: IntArray | None) -> IntArray | None:
    """Some items in the order of their places; None without places."""
    return None if places is None else items[np.argsort(places)]


def random_places(stream: Stream, request: Request, items: IntArray, n_items: int) -> IntArray:
    """The place of each of some items in a list in random order, the pinned ones first.

    The numbers follow those that draw the set, so that an item and its place have nothing to do with each other.
    """
    u = stream.with_purpose(HOLDOUT).uniform(request.episode, n_items + items)[0]
    if request.pinned is not None:
        u = u - np.isin(items, request.pinned)
    return np.argsort(np.argsort(u, kind="stable"), kind="stable")
