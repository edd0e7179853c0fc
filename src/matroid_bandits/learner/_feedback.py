"""Weights as a user gives them, checked and laid beside the items they belong to."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import MOST_WEIGHT
from matroid_bandits._util.names import Foreign, pairs_of, plain
from matroid_bandits._util.text import shown
from matroid_bandits.agent import Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, ItemError, ScaleWarning
from matroid_bandits.kernels import statistics
from matroid_bandits.learner._asked import UNNAMED
from matroid_bandits.learner._decision import Decision, Named
from matroid_bandits.learner._items import NOWHERE
from matroid_bandits.policies import scale_problem

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


_TWICE = "expected each item once, got one twice, as by its label and by its number"

#: The type of numbers that are read as they are; NumPy has one object of it.
FLOAT = np.dtype(np.float64)


class Reader:
    """Reads weights of a learner's items, of those that have left too."""

    def __init__(self, learner: Learner) -> None:
        self._constraint, self._policy, self._departed = learner.constraint, learner.policy, learner._departed
        self._find, self._find_departed = learner._item, learner._departed_item
        low, high = self._policy.support
        self._range = max(low, -MOST_WEIGHT), min(high, MOST_WEIGHT)
        self._seen = math.inf, -math.inf  # the least and the largest weight that this policy was found to take
        self._extremes = math.inf, -math.inf
        #: Between these, weights are taken and nothing is to be noted of them.
        self.usual = math.inf, -math.inf
        self._has_warned = False

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest weight that was counted; infinite both ways where that is not known."""
        return self._extremes

    @extremes.setter
    def extremes(self, extremes: tuple[float, float]) -> None:
        self._extremes = extremes
        self._narrow()

    def _narrow(self) -> None:
        (low, high), (least, most) = self._seen, self._extremes
        self.usual = max(low, least), min(high, most)

    def read(
        self,
        weights: Any,
        play: Play,
        decision: Decision | None,
        by_label: bool,
        is_replaying: bool,
    ) -> tuple[IntArray | None, FloatArray, Sequence[Any] | None]:
        """The positions of an open play that are told, None for all of them; a weight for each; and their labels.

        Weights that are not named are in the order of the play, or of a `decision` where one is given. Keys are the
        labels and numbers of that decision, otherwise those of today; labels alone where items have been renumbered
        since. Labels are None for those of the play, in its order.

        Raises
        ------
        FeedbackError
            The weights do not fit the items, or the policy does not accept them.
        ItemError
            A key is neither an item nor a label.
        """
        items = play.items[0]
        named = None if isinstance(weights, (np.ndarray, list)) else pairs_of(weights)
        if named is None and decision is None:
            values = _read_array(weights, items.size)
            self._check_values(items, values)
            return None, values, None
        position_of = {name: position for position, name in enumerate(play.note.names)}
        if named is None:
            assert decision is not None
            keys = labels = list(decision.labels)
            values = _read_array(weights, len(keys))
        else:
            keys = named[0]
            by_label |= is_replaying
            is_lenient = is_replaying or UNNAMED in position_of
            labels = [self._called(key, position_of, decision, by_label, is_lenient) for key in keys]
        positions = np.array([_position(position_of, label) for label in labels], np.int64)
        is_stray = self._fit(positions, play, is_replaying)
        if is_stray.any():
            given = self._shown(keys[int(is_stray.argmax())], decision)
            raise FeedbackError(f"expected items of decision {play.request.episode}, got {given}")
        if np.unique(positions).size < positions.size:
            raise FeedbackError(_TWICE)
        if named is not None:
            values = _as_weights(*named)
        if positions.size < items.size:
            self._check_values(items[positions], values)
            return positions, values, labels
        order = np.argsort(positions)
        self._check_values(items, values[order])
        return None, values[order], [labels[k] for k in order]

    @staticmethod
    def _fit(positions: IntArray, play: Play, is_replaying: bool) -> BoolArray:
        """Which positions, -1 for labels of no item of a play, stay unknown.

        Version 0.2.0 did not know what forgotten items of a play are called. It took any label for one of them, any
        number of times, and its logs have such answers, which do not count; its files do not keep the labels. There
        the next forgotten item that waits is the one that is meant.
        """
        is_stray = positions < 0
        is_free = play.items[0] == NOWHERE
        if not is_replaying:
            is_free &= np.array([name is UNNAMED for name in play.note.names], bool)
        if not is_free.any():
            return is_stray
        if play.told is not None:
            is_stray |= is_free[positions] & play.told[positions]
            is_free &= ~play.told
        is_free[positions[~is_stray]] = False
        free = np.flatnonzero(is_free)
        strays = np.flatnonzero(is_stray)[: free.size]
        positions[strays] = free[: strays.size]
        return positions < 0

    def read_seen(self, weights: Any) -> tuple[IntArray, FloatArray]:
        """The items that were seen without a decision, and a weight for each; raises as `read` does."""
        items, named = self.all_items, None if isinstance(weights, np.ndarray) else pairs_of(weights)
        if named is None:
            values = _read_array(weights, items.size)
        else:
            items = np.array([self._item(key) for key in named[0]], np.int64)
            if (items < 0).any():
                raise FeedbackError(f"expected items of this learner, got {self.name(items[items < 0][0])}")
            if np.unique(items).size < items.size:
                raise FeedbackError(_TWICE)
            values = _as_weights(*named)
            if items.size == self.all_items.size:
                items, values = self.all_items, values[np.argsort(items)]
        self._check_values(items, values)
        return items, values

    def _called(
        self, key: Any, position_of: Mapping[Any, int], decision: Decision | None, by_label: bool, is_lenient: bool
    ) -> Any:
        """The label that a key stands for."""
        if decision is not None:
            return decision._constraint.labels[_own_item(decision._constraint, key)]
        name = plain(key)
        if by_label:  # the item may not be there any more
            with suppress(TypeError):
                if name in position_of:
                    return name
        try:
            return self._label(self._labelled(key) if by_label else self._item(key))
        except ItemError:
            if not is_lenient or not isinstance(name, (str, int, float, tuple)):
                raise
            return name

    def _shown(self, key: Any, decision: Decision | None) -> str:
        """What a key names that is no item of its decision."""
        if decision is not None:
            return _name(decision._constraint.labels, _own_item(decision._constraint, key))
        return self.name(self._item(key))

    def read_whole(self, weights: Any, items: IntArray) -> FloatArray:
        """A weight for each of `items`, in their order; as `read`."""
        values = _read_array(weights, items.size)
        self._check_values(items, values)
        return values

    def renewed(self, learner: Learner) -> Reader:
        """A reader for other items that has seen the same weights."""
        reader = Reader(learner)
        reader._seen, reader._has_warned = self._seen, self._has_warned
        reader.extremes = self.extremes
        return reader

    def count(self, values: FloatArray) -> None:
        """Take note of weights that are counted."""
        if statistics.first_outside.call(values, *self.extremes) >= 0:
            low, high = self.extremes
            self.extremes = min(low, float(values.min())), max(high, float(values.max()))

    def forget(self) -> None:
        """Take note that no weight counts any more."""
        self.extremes = math.inf, -math.inf

    @cached_property
    def all_items(self) -> IntArray:
        """All items of the constraint, made once however often items are observed."""
        return frozen(np.arange(self._constraint.n_items))

    def default(self, value: Any) -> float | None:
        """A weight that stands for those that were not told; None for none."""
        if value is None:
            return None
        weight = _as_weight("default", value)
        if statistics.first_outside.call(np.array([weight]), *self._range) >= 0:
            raise FeedbackError(f"expected a default that {self._policy!r} can take, got {weight}")
        return weight

    def name(self, item: int) -> str:
        """An item's number, and its label where it has one."""
        item = int(item)  # labels may be tuples, which NumPy's integers compare element by element
        if item < 0:
            return f"{self._label(item)!r}, which has left,"
        return _name(self._constraint.labels, item)

    def name_in(self, play: Play, position: int) -> str:
        """The same for the item at a position of a play."""
        item = play.items[0, position]
        return repr(play.note.names[position]) if item == NOWHERE else self.name(item)

    def _label(self, item: int) -> Any:
        return self._constraint.labels[item] if item >= 0 else self._departed.label(item)

    def _item(self, key: Any) -> int:
        """An item by its label or its number, or the code of one that has left by its label."""
        code = self._find_departed(key)
        return self._find(key) if code is None else code

    def _labelled(self, key: Any) -> int:
        """An item, or the code of one that has left, by its label."""
        code = self._departed.code(key)
        return self._constraint.item(key) if code is None else code

    def _widen(self, values: FloatArray) -> None:
        """Take note of weights beyond those seen so far, and warn once when all of them do not fit the policy."""
        self._seen = min(self._seen[0], float(values.min())), max(self._seen[1], float(values.max()))
        self._narrow()
        if not self._has_warned and (problem := scale_problem(self._policy, *self._seen)):
            self._has_warned = True
            warnings.warn(problem, ScaleWarning, stacklevel=6)

    def _check_values(self, items: IntArray, values: FloatArray) -> None:
        """Check weights against the policy's range, unless they lie among those that were fine before."""
        if statistics.first_outside.call(values, *self._seen) < 0:
            return
        wrong = statistics.first_outside(values, *self._range)
        if wrong >= 0:
            low, high = self._policy.support
            given = f"got {values[wrong]} for item {self.name(items[wrong])}"
            if MOST_WEIGHT < abs(values[wrong]) < np.inf:
                raise FeedbackError(f"expected weights of at most {MOST_WEIGHT:g} in size, {given}")
            if np.isfinite(values[wrong]):
                raise FeedbackError(
                    f"{self._policy!r} needs weights in [{low:g}, {high:g}], {given}; "
                    f"{self._policy.alternative} takes any"
                )
            raise FeedbackError(f"expected finite weights, {given}")
        self._widen(values)


def _position(position_of: Mapping[Any, int], label: Any) -> int:
    """The position of an item in a play, also where a file knows its label by what it prints; -1 of no item."""
    position = position_of.get(label, -1)
    return position_of.get(Foreign.of(label), -1) if position < 0 else position


def _own_item(constraint: Constraint | Named, key: Any) -> int:
    """An item by its number or label; a number is a label only of its own type, as True and 1.0 are not 1."""
    e = constraint.as_item(key)
    label, given = constraint.labels[e], plain(key)
    if isinstance(label, (int, float)) and given == label and type(given) is not type(label):
        raise ItemError(f"expected an item or its label, got {shown(key)}")
    return e


def _name(labels: Sequence[Label] | Mapping[int, Label], item: int) -> str:
    return f"{item}" if labels[item] == item else f"{item} ({labels[item]!r})"


def _read_array(weights: ArrayLike, n_items: int) -> FloatArray:
    if (
        type(weights) is np.ndarray
        and weights.dtype is FLOAT
        and weights.shape == (n_items,)
        and weights.flags.carray
    ):
        return weights
    if not isinstance(weights, list) and np.ma.is_masked(weights):
        raise FeedbackError(
            "expected a weight for every item, got some that are masked: a mapping may name a few items"
        )
    try:
        values = np.asarray(weights)
        if values.dtype.kind not in "fiub":
            raise TypeError
        values = values.astype(np.float64, copy=not values.flags.carray)  # of one kind for all kernels
    except (TypeError, ValueError):
        raise FeedbackError(f"expected {n_items} numbers, got {shown(weights)}") from None
    if values.shape != (n_items,):
        given = f"{values.size}" if values.ndim == 1 else f"shape {values.shape}"
        raise FeedbackError(f"expected {n_items} weights, one per item of the basis; got {given}")
    return values


def _as_weights(keys: list[Any], weights: list[Any]) -> FloatArray:
    return np.array([_as_weight(*pair) for pair in zip(keys, weights, strict=True)], np.float64)


def _as_weight(key: Any, value: Any) -> float:
    if isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
        with suppress(OverflowError):  # of an integer with hundreds of digits
            return float(value)
    raise FeedbackError(f"expected a number for {shown(key)}, got {shown(value)}")
