"""Values of items that are given by label: a mapping, or a pandas Series or DataFrame with an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from matroid_bandits._typing import Label
from matroid_bandits._util.names import pairs_of, plain, rows_of
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import InvalidEnvironmentError

Labels = tuple[Label, ...]


def labelled(values: Any, split: Callable[[Any], Any] = pairs_of) -> tuple[Labels | None, Any]:
    """The labels of values and the values alone; no labels where they come in the order of items.

    Examples
    --------
    >>> labelled({"b": 0.5, "a": 0.1}), labelled([0.5, 0.1])
    ((('b', 'a'), [0.5, 0.1]), (None, [0.5, 0.1]))
    """
    named = split(values)
    if named is None:
        return None, values
    labels = tuple(plain(label) for label in named[0])
    if labels == tuple(range(len(labels))):  # numbers in their order, such as those of a table without an index
        return None, named[1]
    if len(set(labels)) < len(labels):
        again = next(label for label, n in Counter(labels).items() if n > 1)
        raise InvalidEnvironmentError(f"expected one value for each item; got several for {shown(again)}")
    return labels, named[1]


def labelled_rows(values: Any) -> tuple[Labels | None, Any]:
    """The labels of rows and the rows alone, as `labelled` has them of single values."""
    return labelled(values, rows_of)


def in_order(name: str, values: Any, labels: Labels | None) -> Any:
    """Values in the order of the environment's items; those that come without labels are taken as they are.

    Examples
    --------
    >>> in_order("noise", {"b": 2.0, "a": 1.0}, ("a", "b"))
    [1.0, 2.0]
    """
    own, entries = labelled(values)
    if own is None:
        return entries
    if labels is None:
        raise InvalidEnvironmentError(
            f"expected {name} in the order of items, since the means have no labels; got values by label, such as "
            f"{shown(own[0])}"
        )
    by_label = dict(zip(own, entries, strict=True))
    check_labels(name, own, labels, InvalidEnvironmentError)
    return [by_label[label] for label in labels]


def check_labels(name: str, given: Sequence[Label], items: Sequence[Label], error: type[Exception]) -> None:
    """Check that the labels given are those of all items, in any order.

    Examples
    --------
    >>> from matroid_bandits.environments import check_labels
    >>> check_labels("means", ["b", "a"], ["a", "b"], ValueError)
    >>> check_labels("means", ["a"], ["a", "b"], ValueError)
    Traceback (most recent call last):
    ...
    ValueError: expected means of every item, got none for 'b'
    """
    known, own = set(items), set(given)
    for label in given:
        if label not in known:
            raise error(f"expected {name} of items, got one for {shown(label)}{did_you_mean(label, items)}")
    lacking = [label for label in items if label not in own]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise error(f"expected {name} of every item, got none for {shown(lacking[0])}{more}")
