"""What a request asks for besides a set: who may be chosen, who must be, what is known of the visitor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import MOST_FEATURE
from matroid_bandits._util.names import encode
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError, PolicyError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request
from matroid_bandits.stream import Stream


@dataclass(frozen=True)
class Wanted:
    """The arguments of one `ask`, checked; items are numbers.

    Attributes
    ----------
    available : int64 array, or None
        The items that may be chosen, ascending; None for all of them.
    exclude, pinned : int64 arrays
        The items that may not be chosen, and those that must be; ascending.
    features : float64 array (L, d), or None
        What is known of every item in this request.
    """

    available: IntArray | None
    exclude: IntArray
    pinned: IntArray
    features: FloatArray | None = None

    def mask(self, n_items: int) -> BoolArray:
        """Which items may be chosen, shape (L,); pinned ones may."""
        is_available = np.full(n_items, self.available is None)
        if self.available is not None:
            is_available[self.available] = True
        is_available[self.exclude] = False
        is_available[self.pinned] = True
        return is_available

    def request(self, episode: int, stream: Stream, n_items: int) -> Request:
        """The request that an agent is asked."""
        mask = None
        if self.available is not None:
            mask = np.zeros(n_items, bool)
            mask[self.available] = True
        return Request(
            episode,
            stream,
            mask,
            self.exclude if self.exclude.size else None,
            self.pinned if self.pinned.size else None,
            self.features,
        )

    def to_dict(self, constraint: Constraint) -> dict[str, Any]:
        """The same as plain JSON, items by label."""
        form: dict[str, Any] = {}
        for name, items in (("available", self.available), ("exclude", self.exclude), ("pinned", self.pinned)):
            if items is not None and (items.size or name == "available"):
                form[name] = names_of(constraint, items)
        if self.features is not None:
            form["features"] = self.features.tolist()
        return form


def read_wanted(
    constraint: Constraint,
    policy: Policy,
    available: Any,
    exclude: Iterable[Any],
    pinned: Iterable[Any],
    features: Any,
) -> Wanted | None:
    """The arguments of one `ask`; None where nothing is asked for besides a set.

    Raises
    ------
    ItemError
        An item is unknown or named twice, is both pinned and excluded, or the pinned items cannot be chosen together.
    PolicyError
        Features are given to a policy that takes none, or missing where it needs them.
    """
    described = read_features(constraint, policy, features)
    if available is None and not _is_given(exclude) and not _is_given(pinned) and described is None:
        return None
    out, fixed = _read("exclude", constraint, exclude), _read("pinned", constraint, pinned)
    both = np.intersect1d(out, fixed)
    if both.size:
        raise ItemError(f"expected items that are pinned or excluded, got both for {constraint.labels[both[0]]!r}")
    wanted = Wanted(_read_available(constraint, available), out, fixed, described)
    if fixed.size:
        _check_pins(constraint, wanted)
    return wanted


def _check_pins(constraint: Constraint, wanted: Wanted) -> None:
    """Raise when no set that may be chosen has all that is pinned."""
    pinned, left = wanted.pinned, ""
    if constraint.is_hereditary:
        if constraint.allows(pinned):
            return
    elif constraint.max_size(available=wanted.mask(constraint.n_items), pinned=pinned) >= 0:
        return
    elif constraint.max_size(pinned=pinned) >= 0:
        left = " with what is available"
    shown = ", ".join(repr(constraint.labels[e]) for e in pinned[:8])
    how = "depend on" if isinstance(constraint, Matroid) else "exclude"
    why = f"which {how} each other" if not left else "which needs more"
    raise ItemError(f"expected pinned items that can be chosen together{left}, got {shown}, {why}")


def read_features(constraint: Constraint, policy: Policy, features: Any) -> FloatArray | None:
    """Features of every item, (L, d), for a policy that takes them with the request."""
    n_features = policy.n_features
    if n_features is None:
        if features is not None:
            raise PolicyError(f"expected no features, since {policy!r} takes none with a request; got some")
        return None
    if features is None:
        raise PolicyError(f"expected features of {n_features} numbers per item, which {policy!r} needs; got none")
    if isinstance(features, Mapping):
        rows = {constraint.as_item(key): row for key, row in features.items()}
        if len(rows) < len(features):
            raise PolicyError("expected features of each item once, got one twice, as by its label and by its number")
        missing = next((e for e in range(constraint.n_items) if e not in rows), None)
        if missing is not None:
            raise PolicyError(f"expected features of every item, got none for {constraint.labels[missing]!r}")
        features = [rows[e] for e in range(constraint.n_items)]
    if np.ma.is_masked(features):
        raise PolicyError("expected features of every item, got some that are masked")
    try:
        X = np.ascontiguousarray(np.asarray(features, np.float64))
    except (TypeError, ValueError):
        raise PolicyError("expected features as a row of numbers per item") from None
    if X.size == constraint.n_items == 0:
        X = X.reshape(0, n_features)  # a list of no rows does not say how long they are
    if X.shape != (constraint.n_items, n_features) or not np.isfinite(X).all():
        raise PolicyError(
            f"expected finite features of shape ({constraint.n_items}, {n_features}), got shape {X.shape}"
        )
    largest = np.abs(X).max(initial=0.0)
    if largest > MOST_FEATURE:
        raise PolicyError(f"expected features of at most {MOST_FEATURE:g} in size, got one of {largest:g}")
    return X


def names_of(constraint: Constraint, items: IntArray) -> list[Any]:
    """The labels of items in their JSON form."""
    labels = constraint.labels
    return [encode(labels[e], "label") for e in items.tolist()]


def _read_available(constraint: Constraint, available: Any) -> IntArray | None:
    if available is None:
        return None
    given = available if isinstance(available, np.ndarray) else None
    if given is None:
        try:
            listed = list(available)
        except TypeError:
            raise ItemError(f"expected available to be items, labels or a mask, got {available!r}") from None
        if listed and all(isinstance(value, (bool, np.bool_)) for value in listed):
            given = np.array(listed, bool)
        else:
            available = listed
    if np.ma.is_masked(given):
        raise ItemError("expected available to say of every item whether it may be chosen, got some that are masked")
    if given is not None and given.dtype == np.bool_:
        if given.shape != (constraint.n_items,):
            raise ItemError(f"expected a mask of {constraint.n_items} values, one per item, got shape {given.shape}")
        return np.flatnonzero(given)
    return _read("available", constraint, available)


def _read(name: str, constraint: Constraint, items: Any) -> IntArray:
    try:
        return constraint.as_items(items)
    except ItemError as error:
        raise ItemError(f"{name}: {error}") from None


def _is_given(items: Any) -> bool:
    return not (isinstance(items, (tuple, list)) and not items)
