"""Arguments as the server's JSON, and its answers as the objects that a `Learner` gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.names import encode, pairs_of, plain, rows_of
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.exceptions import FeedbackError, ItemError, MalformedRequestError, PolicyError
from matroid_bandits.learner import UNSAID, Decision, Holdout
from matroid_bandits.policies import Policy, policy_to_dict


@dataclass(frozen=True)
class Campaign:
    """What a client remembers of its campaign: its learner's id, its items, and whether weights are costs."""

    id: str
    constraint: Constraint
    minimize: bool

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> Campaign:
        """From the server's description."""
        return cls(form["id"], constraint_from_dict(form["constraint"]), form["minimize"])

    def agrees(self, decision: Decision) -> bool:
        """Whether the items of a decision have the numbers that they have here."""
        labels, n_items = self.constraint.labels, self.constraint.n_items
        numbers = decision.items.tolist()
        return all(e < n_items and labels[e] == label for e, label in zip(numbers, decision.labels, strict=True))

    def labels_of(self, name: str, items: AnyArray | dict[Any, Any]) -> list[Any]:
        """Labels of items that are given by their numbers, or by a mask in the order known here or by item."""
        if isinstance(items, dict):
            n_items, numbers = self.constraint.n_items, [self.constraint.as_item(key) for key in items]
            if len(numbers) != n_items or len(set(numbers)) != n_items:
                raise ItemError(
                    f"{name}: expected True or False for each of {n_items} items, once; got {len(items)} of them"
                )
            mask = np.zeros(n_items, bool)
            mask[numbers] = [bool(value) for value in items.values()]
            items = mask
        if items.dtype == np.bool_:
            if items.size != self.constraint.n_items:
                expected = f"expected a mask of {self.constraint.n_items} values, one per item"
                raise ItemError(f"{expected}, got shape ({items.size},)")
            items = np.flatnonzero(items)
        labels = self.constraint.labels
        return [labels[e] for e in self.constraint.as_items(items).tolist()]


@dataclass(frozen=True)
class Wanted:
    """The arguments of `ask`: items as lists of labels, or as arrays of numbers or masks that are to be looked up.

    Attributes
    ----------
    items : dict of str to list, array, or mapping of item to bool
        Those of ``available``, ``exclude`` and ``pinned`` that are given.
    form : dict
        The other arguments, as the server takes them.
    """

    items: dict[str, Any]
    form: dict[str, Any]

    @classmethod
    def of(
        cls,
        available: Any,
        exclude: Any,
        pinned: Any,
        features: Any,
        tags: Any = None,
        unknown: Any = "raise",
        order: Any = None,
    ) -> Wanted:
        """What is given; the rest is left out."""
        items: dict[str, Any] = {}
        if available is not None:
            items["available"] = _listed("available", available, may_be_mask=True)
        for name, given in (("exclude", exclude), ("pinned", pinned)):
            listed = _listed(name, given)
            if len(listed) or not isinstance(given, (tuple, list)):
                items[name] = listed
        form: dict[str, Any] = {} if features is None else {"features": features_form(features)}
        if tags is not None:
            form["tags"] = tags_form(tags)
        if unknown != "raise":
            form["unknown"] = unknown
        if order is not None:
            form["order"] = order
        return cls(items, form)

    @property
    def has_numbers(self) -> bool:
        """Whether some items are given by numbers or by a mask, so that all labels must be known."""
        return any(isinstance(given, (np.ndarray, dict)) for given in self.items.values())

    def to_dict(self, campaign: Campaign | None) -> dict[str, Any]:
        """The same as the server takes it."""
        form = dict(self.form)
        for name, given in self.items.items():
            if isinstance(given, (np.ndarray, dict)):
                assert campaign is not None
                given = campaign.labels_of(name, given)
            form[name] = [encode(plain(label), "label") for label in given]
        return form


def _listed(name: str, items: Any, may_be_mask: bool = False) -> Any:
    """Items as a list of labels, as an array of numbers or a mask, or as a mask by item."""
    named = None if isinstance(items, np.ndarray) else pairs_of(items)
    if named is not None and may_be_mask and all(isinstance(value, (bool, np.bool_)) for value in named[1]):
        return dict(zip(*named, strict=True))
    if isinstance(items, Mapping):
        expected = "True or False by item, got" if may_be_mask else "items or labels in one row, got the mapping"
        raise ItemError(f"{name}: expected {expected} {shown(items)}")
    try:
        given = items if isinstance(items, np.ndarray) else list(items)
    except TypeError:
        raise ItemError(f"expected {name} to be items or labels, got {shown(items)}") from None
    is_mask = len(given) > 0 and all(isinstance(value, (bool, np.bool_)) for value in given)
    return np.asarray(given, bool) if is_mask and may_be_mask else given


def weights_form(weights: Any, decision: Decision | int = 0) -> list[Any] | dict[str, Any]:
    """Weights as the server takes them: a list, or pairs of label and weight.

    A list is sent by the labels of a `Decision`, which may have fewer items, in another order, than when it was asked
    for.
    """
    named = None if isinstance(weights, np.ndarray) else pairs_of(weights)
    if named is None:
        try:
            values = np.asarray(weights)
            if values.dtype.kind not in "fiub" or values.ndim != 1:
                raise TypeError
        except (TypeError, ValueError):
            raise FeedbackError(f"expected a number per item, got {shown(weights)}") from None
        listed = [_weight("a weight", value) for value in values.tolist()]
        if not isinstance(decision, Decision):
            return listed
        labels = decision.labels
        if len(listed) != len(labels):
            raise FeedbackError(f"expected {len(labels)} weights, one per item of the basis; got {len(listed)}")
        return [[encode(label, "label"), weight] for label, weight in zip(labels, listed, strict=True)]
    pairs = [[encode(plain(key), "label"), _weight(shown(key), value)] for key, value in zip(*named, strict=True)]
    return pairs or {}  # of no items by label; [] has no weight for any item


def answer_form(decision: Decision | int, weights: Any, clicked: Any, failed: Any, examined: Any) -> dict[str, Any]:
    """The arguments of `tell` besides the decision, as the server takes them; items are named by their labels."""
    form: dict[str, Any] = {} if weights is None else {"weights": weights_form(weights, decision)}
    for name, label in (("clicked", clicked), ("failed", failed)):
        if label is not UNSAID:
            form[name] = encode(plain(label), "label")
    if examined is not None:
        if isinstance(examined, (str, Mapping)):
            raise FeedbackError(f"expected examined to be items or labels, got {shown(examined)}")
        form["examined"] = labels_form(_listed("examined", examined))
    is_empty = isinstance(decision, Decision) and not decision.items.size
    return {"weights": []} if is_empty and weights is None else form  # nothing is told of nothing


def default_form(default: Any) -> float | None:
    """The weight of what was not told; None for none."""
    return None if default is None else _weight("default", default)


def closing_form(default: Any) -> dict[str, Any]:
    """The weight of what was not told, for a request to close decisions; no key where answers decide it."""
    is_left = isinstance(default, str) and default == "answers"
    return {} if is_left else {"default": default_form(default)}


def features_form(features: Any) -> list[Any] | None:
    """Features as the server takes them: rows, or pairs of label and row."""
    if features is None:
        return None
    try:
        named = rows_of(features)
        if named is not None:
            return [
                [encode(plain(key), "label"), np.asarray(row, np.float64).tolist()]
                for key, row in zip(*named, strict=True)
            ]
        rows = np.asarray(features, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError("expected features as a row of numbers per item") from None
    if rows.ndim != 2:
        raise PolicyError(f"expected features in a 2-d array, a row per item; got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise PolicyError("expected finite features, got NaN or infinity")
    found: list[Any] = rows.tolist()
    return found


def priors_form(priors: Any) -> Any:
    """Priors as the server takes them: pairs of label and (mean, plays), or a word."""
    if priors is None or isinstance(priors, (str, tuple)):
        return priors
    try:
        return [[encode(plain(key), "label"), [float(mean), float(plays)]] for key, (mean, plays) in priors.items()]
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise FeedbackError(
            f"expected priors by item, each a mean and a number of plays; got {shown(priors)}"
        ) from None


def labels_form(labels: Iterable[Any]) -> list[Any]:
    """Labels as the server takes them."""
    return [encode(plain(label), "label") for label in labels]


def policy_form(policy: Policy | str | Mapping[str, Any]) -> Any:
    """A policy as the server takes it: its name and its arguments; a name or a form are left as they are."""
    if isinstance(policy, (str, Mapping)):
        return policy
    if not isinstance(policy, Policy):
        raise PolicyError(f"expected a policy, its name or its form; got {type(policy).__name__}")
    return policy_to_dict(policy)


def tags_form(tags: Any) -> dict[str, Any]:
    """What a request says of itself, as the server takes it."""
    if not isinstance(tags, Mapping):
        raise MalformedRequestError(f"expected tags as an object of names and values, got {shown(tags)}")
    return dict(tags)


def read_holdout(form: Mapping[str, Any]) -> Holdout:
    """The hold-out of a campaign's form; early servers know of random sets alone."""
    said = {"share": form["holdout"], "by": form["holdout_by"], "control": form.get("control")}
    return Holdout.of(said | {"learns": form.get("control_teaches", True)})


def holdout_form(holdout: Any) -> Any:
    """A hold-out as the server takes it."""
    return Holdout.of(holdout).to_dict()


def constraint_form(constraint: Constraint | Mapping[str, Any]) -> Any:
    """A matroid as the server takes it; a form is left as it is."""
    if isinstance(constraint, Mapping):
        return constraint
    if not isinstance(constraint, Constraint):
        raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
    return constraint.to_dict()


def _weight(key: str, value: Any) -> float:
    is_number = isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_))
    try:
        weight = float(value) if is_number else math.nan
    except OverflowError:
        weight = math.inf
    if not math.isfinite(weight):
        raise FeedbackError(f"expected a finite number for {key}, got {shown(value)}")
    return weight
