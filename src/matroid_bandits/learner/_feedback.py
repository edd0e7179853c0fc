"""Weights as a user gives them, checked and laid beside the items they belong to."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import MOST_WEIGHT
from matroid_bandits._util.names import pairs_of, plain
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, ItemError, ScaleWarning
from matroid_bandits.kernels import statistics
from matroid_bandits.learner._decision import Decision, Named
from matroid_bandits.policies import scale_problem

if TYPE_CHECKING:
    from matroid_bandits.learner._core import Core


_NONE: IntArray = np.empty(0, np.int64)

#: The type of numbers that are read as they are; NumPy has one object of it.
_FLOAT = np.dtype(np.float64)

#: Stands for a key that names no item of today; no item of a play has this number or code.
LOST = np.iinfo(np.int64).max


class Reader:
    """Reads weights of a learner's items, of those that have left too."""

    def __init__(self, core: Core) -> None:
        self._constraint, self._policy, self._departed = core.constraint, core.policy, core.departed
        self._find, self._find_departed = core.item, core.departed_item
        low, high = self._policy.support
        self._range = max(low, -MOST_WEIGHT), min(high, MOST_WEIGHT)
        self._seen = math.inf, -math.inf  # the least and the largest weight that this policy was found to take
        #: The least and the largest weight that was counted; infinite both ways where that is not known.
        self.extremes = math.inf, -math.inf
        self._has_warned = False

    def read(
        self,
        weights: Any,
        items: IntArray,
        episode: int,
        decision: Decision | None = None,
        by_label: bool = False,
        free: IntArray = _NONE,
    ) -> tuple[IntArray | None, FloatArray, list[Label] | None]:
        """The places among `items` that are told, None for all of them; a weight for each; and labels.

        The items are those of a decision, or all of them for episode 0. Where they have been renumbered since, keys
        go `by_label` alone, and those of a `Decision` by its own labels and numbers. Names of other items take the
        places that are `free`, whose items were forgotten, in their order: answers for them are taken and not
        counted. Labels are None unless there are such, as those of the places are what items are called then.

        Raises
        ------
        FeedbackError
            The weights do not fit the items, or the policy does not accept them.
        ItemError
            A key is neither an item nor a label.
        """
        named = None if isinstance(weights, np.ndarray) else pairs_of(weights)
        own = items if decision is None else decision._items
        places = None if decision is None else decision._places
        labels: list[Label] | None = None
        if named is None:
            values = _read_array(weights, own)
        else:
            find: Callable[[Any], int] = self._labelled if by_label else self._item
            name: Callable[[int], str] = self.name
            if decision is not None:
                find = partial(_own_item, decision._constraint)
                name = partial(_name, decision._constraint.labels)
            elif free.size:
                find = partial(_found_or_lost, find)
            codes = np.array([find(key) for key in named[0]], np.int64)
            told, values = _read_pairs(*named, codes, own, episode, name, free if decision is None else _NONE)
            places = told if places is None else places[told]
            if places.size < items.size and (decision is not None or free.size):
                labels = self._forgotten(decision, named[0], codes, places, items, free)
        if places is not None and places.size == items.size:
            values, places = values[np.argsort(places)], None
        self._check_values(items if places is None else items[places], values)
        return places, values, labels

    def _forgotten(
        self,
        decision: Decision | None,
        keys: list[Any],
        codes: IntArray,
        places: IntArray,
        items: IntArray,
        free: IntArray,
    ) -> list[Label] | None:
        """What items are called, some of which were forgotten: as they are named here, by which a log names them.

        Those get the first `places` that are `free`, here and in a replay.
        """
        is_lost = np.array([e < 0 and not self._departed.knows(e) for e in items[places].tolist()], bool)
        if not is_lost.any():
            return None
        labels = self.labels(items, places)
        for k in np.flatnonzero(is_lost).tolist():
            code = int(codes[k])
            if decision is not None:
                labels[k] = decision._constraint.labels[code]
            else:
                labels[k] = plain(keys[k]) if code == LOST else self._label(code)
        n = int(is_lost.sum())
        if n <= free.size:  # otherwise one was told before, which is noticed next
            places[is_lost] = free[:n]
        return labels

    def read_whole(self, weights: Any, items: IntArray) -> FloatArray:
        """A weight for each of `items`, in their order; as `read`."""
        values = _read_array(weights, items)
        self._check_values(items, values)
        return values

    def renewed(self, core: Core) -> Reader:
        """A reader for other items that has seen the same weights."""
        reader = Reader(core)
        reader._seen, reader._has_warned, reader.extremes = self._seen, self._has_warned, self.extremes
        return reader

    def count(self, values: FloatArray) -> None:
        """Take note of weights that are counted."""
        if statistics.first_outside(values, *self.extremes) >= 0:
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
        if statistics.first_outside(np.array([weight]), *self._range) >= 0:
            raise FeedbackError(f"expected a default that {self._policy!r} can take, got {weight}")
        return weight

    def labels(self, items: IntArray, places: IntArray | None) -> list[Label]:
        """What items, or those at some places, are called."""
        labels = self._constraint.labels
        named = (items if places is None else items[places]).tolist()
        return [labels[e] if e >= 0 else self._label(e) for e in named]

    def name(self, item: int) -> str:
        """An item's number, and its label where it has one."""
        item = int(item)  # labels may be tuples, which NumPy's integers compare element by element
        if item < 0:
            return f"{self._label(item)!r}, which has left,"
        return _name(self._constraint.labels, item)

    def _label(self, item: int) -> Label:
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
        if not self._has_warned and (problem := scale_problem(self._policy, *self._seen)):
            self._has_warned = True
            warnings.warn(problem, ScaleWarning, stacklevel=6)

    def _check_values(self, items: IntArray, values: FloatArray) -> None:
        """Check weights against the policy's range, unless they lie among those that were fine before."""
        if statistics.first_outside(values, *self._seen) < 0:
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


def _found_or_lost(find: Callable[[Any], int], key: Any) -> int:
    """An item, or `LOST` for a name that no item has today: it may be that of an item that was forgotten."""
    try:
        return find(key)
    except ItemError:
        if not isinstance(plain(key), (str, int, float, tuple)):
            raise
        return LOST


def _own_item(constraint: Constraint | Named, key: Any) -> int:
    """An item by its number or label; a number is a label only of its own type, as True and 1.0 are not 1."""
    e = constraint.as_item(key)
    label, given = constraint.labels[e], plain(key)
    if isinstance(label, (int, float)) and given == label and type(given) is not type(label):
        raise ItemError(f"expected an item or its label, got {shown(key)}")
    return e


def _name(labels: Sequence[Label] | Mapping[int, Label], item: int) -> str:
    return f"{item}" if labels[item] == item else f"{item} ({labels[item]!r})"


def _read_pairs(
    keys: list[Any],
    weights: list[Any],
    named: IntArray,
    items: IntArray,
    episode: int,
    name: Callable[[int], str],
    free: IntArray,
) -> tuple[IntArray, FloatArray]:
    """The places among `items` of those that are `named`, others at places that are `free`, and their weights."""
    order = np.argsort(items, kind="stable") if episode else items  # after a change they may stand in any order
    found = np.searchsorted(items[order], named)
    is_stray = found == items.size
    is_stray[~is_stray] = items[order[found[~is_stray]]] != named[~is_stray]
    if is_stray.sum() > free.size:
        where = f"decision {episode}" if episode else "this learner"
        k = int(is_stray.argmax())
        given = shown(keys[k]) if named[k] == LOST else name(int(named[k]))
        raise FeedbackError(f"expected items of {where}, got {given}")
    found[is_stray] = 0
    places = order[found]
    places[is_stray] = free[: is_stray.sum()]
    if np.unique(places).size < places.size:
        raise FeedbackError("expected each item once, got one twice, as by its label and by its number")
    return places, np.array([_as_weight(*pair) for pair in zip(keys, weights, strict=True)], np.float64)


def _read_array(weights: ArrayLike, items: IntArray) -> FloatArray:
    if type(weights) is np.ndarray and weights.dtype is _FLOAT and weights.shape == items.shape:
        return weights
    if np.ma.is_masked(weights):
        raise FeedbackError(
            "expected a weight for every item, got some that are masked: a mapping may name a few items"
        )
    try:
        values = np.asarray(weights)
        if values.dtype.kind not in "fiub":
            raise TypeError
        values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise FeedbackError(f"expected {items.size} numbers, got {shown(weights)}") from None
    if values.shape != items.shape:
        given = f"{values.size}" if values.ndim == 1 else f"shape {values.shape}"
        raise FeedbackError(f"expected {items.size} weights, one per item of the basis; got {given}")
    return values


def _as_weight(key: Any, value: Any) -> float:
    if isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
        with suppress(OverflowError):  # of an integer with hundreds of digits
            return float(value)
    raise FeedbackError(f"expected a number for {shown(key)}, got {shown(value)}")
