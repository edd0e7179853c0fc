"""The arguments of a request: which items may be chosen, which must be, and features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import check_features
from matroid_bandits._util.names import encode_all, pairs_of, plain, rows_of
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError, PolicyError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request
from matroid_bandits.stream import Stream

#: What is done about names of items that are not there.
RAISE: Final = "raise"
IGNORE: Final = "ignore"


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


def without_unknown(constraint: Constraint, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The arguments of `ask` without what ``available`` and ``exclude`` say of items that are not there; how many.

    Arrays and masks go by number, and stay as they are.
    """
    found, n_unknown = {key: value for key, value in wanted.items() if key != "unknown"}, 0
    for name in ("available", "exclude"):
        given = found.get(name)
        if given is None or isinstance(given, (np.ndarray, str)):
            continue
        named = pairs_of(given)
        try:
            keys = list(given) if named is None else named[0]
        except TypeError:
            continue  # told by the function that reads it next
        if keys and all(isinstance(key, (bool, np.bool_)) for key in keys):
            continue
        is_known = [_is_known(constraint, key) for key in keys]
        n_unknown += len(keys) - sum(is_known)
        if named is None:
            found[name] = [key for key, known in zip(keys, is_known, strict=True) if known]
        else:
            pairs = zip(keys, named[1], is_known, strict=True)
            found[name] = {key: value for key, value, known in pairs if known}
    return found, n_unknown


def _is_known(constraint: Constraint, key: Any) -> bool:
    key = plain(key)
    try:
        constraint.item(key)
    except ItemError:
        return type(key) is int and 0 <= key < constraint.n_items
    return True


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
    if available is None and not out.size and not fixed.size and described is None:
        return None
    both = np.intersect1d(out, fixed)
    if both.size:
        raise ItemError(f"expected items that are pinned or excluded, got both for {constraint.labels[both[0]]!r}")
    wanted = Wanted(_read_available(constraint, available), out, fixed, described)
    if fixed.size:
        _check_pins(constraint, wanted)
    return wanted


def _check_pins(constraint: Constraint, wanted: Wanted) -> None:
    """Raise when no set that may be chosen has all that is pinned."""
    pinned = wanted.pinned
    if constraint.can_pin(pinned, wanted.mask(constraint.n_items)):
        return
    left = " with what is available" if constraint.can_pin(pinned) else ""
    named = ", ".join(repr(constraint.labels[e]) for e in pinned[:8])
    how = "depend on" if isinstance(constraint, Matroid) else "exclude"
    why = constraint.conflict(pinned) or (f"which {how} each other" if not left else "which needs more")
    raise ItemError(f"expected pinned items that can be chosen together{left}, got {named}, {why}")


def read_features(constraint: Constraint, policy: Policy, features: Any) -> FloatArray | None:
    """Features of every item, (L, d), for a policy that takes them with the request."""
    n_features = policy.n_features
    if n_features is None:
        if features is not None:
            raise PolicyError(f"expected no features, since {policy!r} takes none with a request; got some")
        return None
    if features is None:
        raise PolicyError(f"expected features of {n_features} numbers per item, which {policy!r} needs; got none")
    return read_rows(constraint, features, n_features, range(constraint.n_items))


def read_rows(
    constraint: Constraint, features: Any, n_features: int | None, needed: Sequence[int], *, is_strict: bool = True
) -> FloatArray:
    """Features of items, (L, d): a row for each in their order, or rows by item or label, 0 where none is needed.

    Of a DataFrame the index names the items. Rows in logs of early versions were not checked, so they are taken as
    they were unless `is_strict`.
    """
    L, named = constraint.n_items, rows_of(features)
    if named is None:
        X = _as_floats(features)
        if X.size == L == 0:
            X = X.reshape(0, n_features or 0)  # a list of no rows does not say how long they are
        elif not is_strict:
            X = X.reshape(L, -1)
    else:
        items = [constraint.as_item(key) for key in named[0]]
        if len(set(items)) < len(items):
            raise PolicyError("expected features of each item once, got one twice, as by its label and by its number")
        missing = set(needed).difference(items) if is_strict else ()
        if missing:
            raise PolicyError(f"expected features of every item, got none for {constraint.labels[min(missing)]!r}")
        rows = [_as_floats(row) for row in named[1]]
        width = n_features if n_features is not None else rows[0].size if rows else 0
        X = np.zeros((L, width))
        for e, row in zip(items, rows, strict=True):
            if is_strict and row.shape != (width,):
                given = f"{row.size}" if row.ndim == 1 else f"an array of shape {row.shape}"
                raise PolicyError(f"expected {width} features of every item, got {given} of {constraint.labels[e]!r}")
            X[e] = row
    if X.ndim != 2 or X.shape[0] != L or n_features not in (None, X.shape[1]):
        width_ = "n_features" if n_features is None else n_features
        raise PolicyError(f"expected features of shape ({L}, {width_}), got shape {X.shape}")
    check_features(X, constraint.labels, error=PolicyError)
    return X


def _as_floats(values: Any) -> FloatArray:
    if np.ma.is_masked(values):
        raise PolicyError("expected features of every item, got some that are masked")
    try:
        return np.ascontiguousarray(np.asarray(values, np.float64))
    except (TypeError, ValueError, OverflowError):
        raise PolicyError("expected features as a row of numbers per item") from None


def names_of(constraint: Constraint, items: IntArray) -> list[Any]:
    """The labels of items in their JSON form."""
    labels = constraint.labels
    return encode_all([labels[e] for e in items.tolist()], "label")


def _read_available(constraint: Constraint, available: Any) -> IntArray | None:
    if available is None:
        return None
    named = pairs_of(available)
    if named is not None and all(isinstance(value, (bool, np.bool_)) for value in named[1]):
        items = [constraint.as_item(key) for key in named[0]]
        n_items = constraint.n_items
        if len(set(items)) != n_items or len(items) != n_items:
            raise ItemError(
                f"available: expected True or False for each of {n_items} items, once; got {len(items)} of them"
            )
        return np.sort(np.array(items, np.int64)[np.array(named[1], bool)])
    given = available if isinstance(available, np.ndarray) else None
    if given is None:
        try:
            listed = list(available)
        except TypeError:
            raise ItemError(f"expected available to be items, labels or a mask, got {available!r}") from None
        if isinstance(available, Mapping):
            raise ItemError(f"available: expected True or False by item, got {shown(available)}")
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
