"""Weights as a user gives them, checked and laid beside the items they belong to."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import MOST_WEIGHT
from matroid_bandits._util.names import pairs_of
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, ItemError, ScaleWarning
from matroid_bandits.kernels import statistics
from matroid_bandits.policies import OMM, Policy


class Reader:
    """Reads weights of items under one constraint, for one policy."""

    def __init__(self, constraint: Constraint, policy: Policy) -> None:
        self._constraint, self._policy = constraint, policy
        low, high = policy.support
        self._range = max(low, -MOST_WEIGHT), min(high, MOST_WEIGHT)
        self._width = policy.scale if isinstance(policy, OMM) and policy.scale > 0.0 else math.inf
        self._seen = math.inf, -math.inf  # the least and the largest weight so far

    def read(self, weights: Any, items: IntArray, episode: int) -> tuple[IntArray | None, FloatArray]:
        """The places among `items` that are told, None for all of them, and a weight for each.

        Raises
        ------
        FeedbackError
            The weights do not fit the items, which are those of a decision (or all of them, for episode 0), or are
            not numbers the policy can take.
        ItemError
            A key is neither an item nor a label.
        """
        named = pairs_of(weights)
        if named is not None:
            places, values = self._read_pairs(*named, items, episode)
            self._check_values(items[places], values)
        else:
            places, values = None, _read_array(weights, items)
            self._check_values(items, values)
        if self._width < math.inf and statistics.first_outside(values, *self._seen) >= 0:
            self._widen(values)
        return places, values

    @cached_property
    def all_items(self) -> IntArray:
        """All items of the constraint, made once however often items are observed."""
        return frozen(np.arange(self._constraint.n_items))

    def item(self, key: Any) -> int:
        """An item by its label or its number."""
        try:
            return self._constraint.as_item(key)
        except ItemError:
            if self._constraint.has_labels:
                raise
            raise ItemError(f"expected an item or its label, got {shown(key)}") from None

    def name(self, item: int) -> str:
        """An item's number, and its label where it has one."""
        item = int(item)  # labels may be tuples, which NumPy's integers compare element by element
        label = self._constraint.labels[item]
        return f"{item}" if label == item else f"{item} ({label!r})"

    def _read_pairs(
        self, keys: list[Any], weights: list[Any], items: IntArray, episode: int
    ) -> tuple[IntArray, FloatArray]:
        named = np.array([self.item(key) for key in keys], np.int64)
        places = np.searchsorted(items, named)
        is_stray = places == items.size
        is_stray[~is_stray] = items[places[~is_stray]] != named[~is_stray]
        if is_stray.any():
            where = f"decision {episode}" if episode else "this learner"
            raise FeedbackError(f"expected items of {where}, got {self.name(named[is_stray][0])}")
        if np.unique(places).size < places.size:
            raise FeedbackError("expected each item once, got one twice, as by its label and by its number")
        return places, np.array([_as_weight(*pair) for pair in zip(keys, weights, strict=True)], np.float64)

    def _check_values(self, items: IntArray, values: FloatArray) -> None:
        wrong = statistics.first_outside(values, *self._range)
        if wrong >= 0:
            low, high = self._policy.support
            given = f"got {values[wrong]} for item {self.name(items[wrong])}"
            if MOST_WEIGHT < abs(values[wrong]) < np.inf:
                raise FeedbackError(f"expected weights of at most {MOST_WEIGHT:g} in size, {given}")
            if np.isfinite(values[wrong]):
                raise FeedbackError(f"{self._policy!r} needs weights in [{low:g}, {high:g}], {given}")
            raise FeedbackError(f"expected finite weights, {given}")

    def _widen(self, values: FloatArray) -> None:
        """Take note of weights beyond those seen so far, and warn once when all of them do not fit the policy."""
        low, high = min(self._seen[0], float(values.min())), max(self._seen[1], float(values.max()))
        self._seen = low, high
        if high - low <= self._width:
            return
        self._width = math.inf
        warnings.warn(
            f"{self._policy!r} expects weights in a range of width {self._policy.scale:g}, and was told some from "  # type: ignore[attr-defined]
            f"{low:g} to {high:g}: it explores too little unless its scale is at least {high - low:g}",
            ScaleWarning,
            stacklevel=4,
        )


def _read_array(weights: ArrayLike, items: IntArray) -> FloatArray:
    try:
        values = np.asarray(weights)
        if values.dtype.kind not in "fiub":
            raise TypeError
        values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise FeedbackError(f"expected {items.size} numbers, got {weights!r}") from None
    if values.shape != items.shape:
        given = f"{values.size}" if values.ndim == 1 else f"shape {values.shape}"
        raise FeedbackError(f"expected {items.size} weights, one per item of the basis; got {given}")
    return values


def _as_weight(key: Any, value: Any) -> float:
    if isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
        with suppress(OverflowError):  # of an integer with hundreds of digits
            return float(value)
    raise FeedbackError(f"expected a number for {key!r}, got {value!r}")
