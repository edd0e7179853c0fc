"""A matroid with some items more and some fewer, where the rules stay what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from matroid_bandits._typing import Label
from matroid_bandits._util.text import counted, shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import InvalidMatroidError, ItemError
from matroid_bandits.matroids._base import Matroid
from matroid_bandits.matroids._graphic import GraphicMatroid
from matroid_bandits.matroids._operations import DirectSum, Truncation, direct_sum
from matroid_bandits.matroids._partition import PartitionMatroid
from matroid_bandits.matroids._transversal import TransversalMatroid
from matroid_bandits.matroids._uniform import UniformMatroid

_WHOLE = "; give the whole constraint instead"


def edited(
    constraint: Constraint,
    add: Mapping[Label, Any] | None = None,
    remove: Iterable[Label] = (),
    capacities: Mapping[Any, int] | None = None,
) -> Matroid:
    """Return a matroid without some items and with others added at the end.

    Parameters
    ----------
    constraint : Constraint
        A uniform, partition, transversal or graphic matroid with labels, or the truncation of one; items can be
        removed from a direct sum of these too.
    add : mapping of label to what is said of the item, optional
        Nothing (None) in a uniform matroid, its block in a partition matroid, the right vertices that it may be
        matched to in a transversal one, and its two ends in a graphic one.
    remove : iterable of labels
        Items that go.
    capacities : mapping of block to int, optional
        How many items of a block may be chosen, for blocks of a partition matroid that are new or change.

    Raises
    ------
    ItemError
        An item to be removed is not there, or one to be added is.
    InvalidMatroidError
        The matroid is of another kind, or too few items would be left for its rules.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> page = mb.PartitionMatroid({"cup": "sport", "goal": "sport", "vote": "politics"}).truncate(2)
    >>> edited(page, {"law": "politics"}, ["goal"]).labels
    ('cup', 'vote', 'law')
    """
    if not constraint.has_labels:
        raise InvalidMatroidError(f"expected a constraint with labels, got one without{_WHOLE}")
    new, gone = dict(add or {}), dict.fromkeys(remove)
    there = dict.fromkeys(constraint.labels)
    for label in gone:
        if label not in there:
            raise ItemError(f"expected an item to remove, got {shown(label)}, which is not there")
    for label in new:
        if label in there and label not in gone:
            raise ItemError(f"expected a new item, got {shown(label)}, which is there already")
    return _edited(constraint, new, gone, dict(capacities or {}))


def _edited(
    constraint: Constraint, add: dict[Label, Any], gone: dict[Label, None], capacities: dict[Any, int]
) -> Matroid:
    if isinstance(constraint, Truncation):
        base = _edited(constraint.base, add, gone, capacities)
        _check_size(constraint.rank, base.rank, "rank")
        return base.truncate(constraint.rank)
    if capacities and not isinstance(constraint, PartitionMatroid):
        raise InvalidMatroidError(f"expected capacities of a partition matroid, got some for {constraint!r}")
    if isinstance(constraint, DirectSum) and not add:
        parts = [(part, [label for label in gone if label in set(part.labels)]) for part in constraint.parts]
        return direct_sum(*(_edited(part, {}, dict.fromkeys(own), {}) for part, own in parts))
    for kind, edit in _KINDS.items():
        if type(constraint) is kind:
            return edit(constraint, add, gone, capacities)
    raise InvalidMatroidError(f"expected a matroid whose items can be added and removed, got {constraint!r}{_WHOLE}")


def _uniform(matroid: UniformMatroid, add: dict[Label, Any], gone: dict[Label, None], _: Any) -> Matroid:
    if any(said not in (None, {}, "") for said in add.values()):
        raise InvalidMatroidError("expected nothing to be said of an item of a uniform matroid, got something")
    labels = [*(label for label in matroid.labels if label not in gone), *add]
    _check_size(matroid.rank, len(labels), "rank")
    return UniformMatroid(len(labels), matroid.rank, labels=labels)


def _partition(
    matroid: PartitionMatroid, add: dict[Label, Any], gone: dict[Label, None], capacities: dict[Any, int]
) -> Matroid:
    rooms = matroid.capacities | capacities
    for label, block in add.items():
        if not isinstance(block, (str, int, float, tuple)) or block not in rooms:
            raise InvalidMatroidError(
                f"expected the block of {shown(label)} to be one that is there, or one with a capacity; "
                f"got {shown(block)}"
            )
    blocks = dict(zip(matroid.labels, matroid.blocks, strict=True))
    blocks = {label: block for label, block in blocks.items() if label not in gone} | add
    used = set(blocks.values())
    return PartitionMatroid(blocks, {block: room for block, room in rooms.items() if block in used})


def _transversal(matroid: TransversalMatroid, add: dict[Label, Any], gone: dict[Label, None], _: Any) -> Matroid:
    neighbors: dict[Label, Any] = dict(zip(matroid.labels, matroid.neighbors, strict=True))
    known = {right for rights in neighbors.values() for right in rights}
    for label, rights in add.items():
        if not isinstance(rights, (list, tuple)) or not known.issuperset(map(_plain, rights)):
            raise InvalidMatroidError(
                f"expected right vertices of the matroid for {shown(label)}, a list of them; got {shown(rights)}"
            )
    kept = {label: rights for label, rights in neighbors.items() if label not in gone}
    return TransversalMatroid(kept | {label: [_plain(right) for right in rights] for label, rights in add.items()})


def _graphic(matroid: GraphicMatroid, add: dict[Label, Any], gone: dict[Label, None], _: Any) -> Matroid:
    edges: dict[Label, Any] = dict(zip(matroid.labels, matroid.edges, strict=True))
    for label, ends in add.items():
        if not isinstance(ends, (list, tuple)) or len(ends) != 2:
            raise InvalidMatroidError(f"expected the two ends of {shown(label)}, got {shown(ends)}")
    kept = {label: ends for label, ends in edges.items() if label not in gone}
    kept |= {label: (_plain(ends[0]), _plain(ends[1])) for label, ends in add.items()}
    return GraphicMatroid([*kept.values()], labels=[*kept])


def _plain(name: Any) -> Any:
    """A vertex from its JSON form, where a list stands for a tuple."""
    return tuple(map(_plain, name)) if isinstance(name, list) else name


def _check_size(expected: int, left: int, what: str) -> None:
    if left < expected:
        raise InvalidMatroidError(
            f"expected to keep the {what} {expected}, but what is left allows {counted(left, 'item')}{_WHOLE}"
        )


_KINDS: dict[type[Matroid], Callable[[Any, dict[Label, Any], dict[Label, None], dict[Any, int]], Matroid]] = {
    UniformMatroid: _uniform,
    PartitionMatroid: _partition,
    TransversalMatroid: _transversal,
    GraphicMatroid: _graphic,
}
