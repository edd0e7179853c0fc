"""A constraint with some items more, some fewer and some changed, where the rules stay what they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from matroid_bandits._typing import Label
from matroid_bandits._util.text import counted, did_you_mean, shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.constraints._knapsack import KnapsackConstraint
from matroid_bandits.constraints._quotas import QuotaIntersection
from matroid_bandits.exceptions import InvalidConstraintError, InvalidMatroidError, ItemError
from matroid_bandits.matroids import (
    DirectSum,
    GraphicMatroid,
    Matroid,
    PartitionMatroid,
    TransversalMatroid,
    Truncation,
    UniformMatroid,
    direct_sum,
)

_WHOLE = "; give the whole constraint instead"


class Edit(NamedTuple):
    """What comes, what goes, what is said anew of items that stay, and the limits that differ."""

    add: dict[Label, Any]
    gone: dict[Label, None]
    change: dict[Label, Any]
    capacities: dict[Any, Any]
    budget: int | None

    def of(self, labels: Iterable[Label], said: Iterable[Any]) -> dict[Label, Any]:
        """What is said of each item after the edit, where `said` is what was said before."""
        kept = {label: each for label, each in zip(labels, said, strict=True) if label not in self.gone}
        return kept | self.change | self.add


def edited(
    constraint: Constraint,
    add: Mapping[Label, Any] | None = None,
    remove: Iterable[Label] = (),
    capacities: Mapping[Any, Any] | None = None,
    *,
    change: Mapping[Label, Any] | None = None,
    budget: int | None = None,
) -> Constraint:
    """Return a constraint without some items and with others added at the end.

    Parameters
    ----------
    constraint : Constraint
        A uniform, partition, transversal or graphic matroid with labels, the truncation of one, two quotas
        (`QuotaIntersection`) of these, or a budget (`KnapsackConstraint`); items can be removed from a direct sum of
        such matroids too.
    add : mapping of label to what is said of the item, optional
        Nothing (None) in a uniform matroid; its block in a partition matroid; the right vertices that it may be
        matched to in a transversal one; its two ends in a graphic one. In two quotas what is said for each, a mapping
        by their names or a pair. Within a budget its cost, or a mapping with its ``cost`` and ``group``.
    remove : iterable of labels
        Items that go.
    capacities : mapping of block to int, optional
        How many items of a block may be chosen, for blocks of a partition matroid that are new or change; for two
        quotas a mapping of these by name. A new category of two quotas needs none where all have the same capacity.
    change : mapping of label to what is said of the item, optional
        The same as in `add` for items that stay: another category, or another cost.
    budget : int, optional
        Another budget of a `KnapsackConstraint`.

    Raises
    ------
    ItemError
        An item to be removed or changed is not there, or one to be added is.
    InvalidConstraintError
        The constraint is of another kind, or too few items would be left for its rules.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> page = mb.PartitionMatroid({"cup": "sport", "goal": "sport", "vote": "politics"}).truncate(2)
    >>> edited(page, {"law": "politics"}, ["goal"]).labels
    ('cup', 'vote', 'law')
    >>> prompt = mb.KnapsackConstraint({"intro": 30, "faq": 50}, 100)
    >>> edited(prompt, {"quote": 20}, change={"faq": 40}, budget=80).costs
    {'intro': 30, 'faq': 40, 'quote': 20}
    """
    if not constraint.has_labels:
        raise InvalidMatroidError(f"expected a constraint with labels, got one without{_WHOLE}")
    edit = Edit(dict(add or {}), dict.fromkeys(remove), dict(change or {}), dict(capacities or {}), budget)
    there = dict.fromkeys(constraint.labels)
    for verb, labels in (("remove", edit.gone), ("change", edit.change)):
        for label in labels:
            if label not in there:
                hint = did_you_mean(label, there)
                raise ItemError(f"expected an item to {verb}, got {shown(label)}, which is not there{hint}")
    for label in edit.change:
        if label in edit.gone:
            raise ItemError(f"expected an item to change or to remove, got {shown(label)} for both")
    for label in edit.add:
        if label in there and label not in edit.gone:
            raise ItemError(f"expected a new item, got {shown(label)}, which is there already")
    if budget is not None and not isinstance(constraint, KnapsackConstraint):
        raise InvalidConstraintError(f"expected a budget of a KnapsackConstraint, got one for {constraint!r}")
    if isinstance(constraint, QuotaIntersection):
        return _two_quotas(constraint, edit)
    if isinstance(constraint, KnapsackConstraint):
        return _knapsack(constraint, edit)
    return _matroid(constraint, edit)


def _matroid(constraint: Constraint, edit: Edit) -> Matroid:
    if isinstance(constraint, Truncation):
        base = _matroid(constraint.base, edit)
        _check_size(constraint.rank, base.rank, "rank")
        return base.truncate(constraint.rank)
    if edit.capacities and not isinstance(constraint, PartitionMatroid):
        raise InvalidMatroidError(f"expected capacities of a partition matroid, got some for {constraint!r}")
    if isinstance(constraint, DirectSum) and not edit.add and not edit.change:
        parts = [(part, [label for label in edit.gone if label in set(part.labels)]) for part in constraint.parts]
        return direct_sum(*(_matroid(part, edit._replace(gone=dict.fromkeys(own))) for part, own in parts))
    for kind, make in _KINDS.items():
        if type(constraint) is kind:
            return make(constraint, edit)
    raise InvalidMatroidError(f"expected a matroid whose items can be added and removed, got {constraint!r}{_WHOLE}")


def _uniform(matroid: UniformMatroid, edit: Edit) -> Matroid:
    if any(said not in (None, {}, "") for said in [*edit.add.values(), *edit.change.values()]):
        raise InvalidMatroidError("expected nothing to be said of an item of a uniform matroid, got something")
    labels = list(edit.of(matroid.labels, matroid.labels))
    _check_size(matroid.rank, len(labels), "rank")
    return UniformMatroid(len(labels), matroid.rank, labels=labels)


def _partition(matroid: PartitionMatroid, edit: Edit) -> Matroid:
    rooms = matroid.capacities | edit.capacities
    for label, block in [*edit.add.items(), *edit.change.items()]:
        if not isinstance(block, (str, int, float, tuple)) or block not in rooms:
            raise InvalidMatroidError(
                f"expected the block of {shown(label)} to be one that is there, or one with a capacity; "
                f"got {shown(block)}"
            )
    blocks = edit.of(matroid.labels, matroid.blocks)
    used = set(blocks.values())
    return PartitionMatroid(blocks, {block: room for block, room in rooms.items() if block in used})


def _transversal(matroid: TransversalMatroid, edit: Edit) -> Matroid:
    known = {right for rights in matroid.neighbors for right in rights}
    said = {label: [_plain(right) for right in _list(rights)] for label, rights in _said(edit)}
    for label, rights in said.items():
        if not rights or not known.issuperset(rights):
            raise InvalidMatroidError(
                f"expected right vertices of the matroid for {shown(label)}, a list of them; got {shown(rights)}"
            )
    return TransversalMatroid(edit.of(matroid.labels, matroid.neighbors) | said)


def _graphic(matroid: GraphicMatroid, edit: Edit) -> Matroid:
    said = {}
    for label, ends in _said(edit):
        if len(_list(ends)) != 2:
            raise InvalidMatroidError(f"expected the two ends of {shown(label)}, got {shown(ends)}")
        said[label] = _plain(ends[0]), _plain(ends[1])
    edges = edit.of(matroid.labels, matroid.edges) | said
    return GraphicMatroid([*edges.values()], labels=[*edges])


def _two_quotas(constraint: QuotaIntersection, edit: Edit) -> QuotaIntersection:
    names = constraint.names
    for label, said in _said(edit):
        is_named = names is not None and isinstance(said, Mapping)
        if set(said) != set(names or ()) if is_named else len(_list(said)) != 2:
            expected = "a pair" if names is None else f"its {names[0]} and its {names[1]}"
            raise InvalidConstraintError(f"expected {expected} to be said of {shown(label)}, got {shown(said)}")
    given = edit.capacities
    if not set(given) <= set(names or ()):
        by = "two quotas without names" if names is None else f"{names[0]} and {names[1]}, by these names"
        raise InvalidConstraintError(f"expected capacities of {by}; got {shown(given)}")
    parts = []
    for place, matroid in enumerate(constraint.matroids):
        name = None if names is None else names[place]
        add, change = (
            {label: _said_for(said, name, place) for label, said in each.items()} for each in (edit.add, edit.change)
        )
        capacities = dict(given.get(name, {}))
        if isinstance(matroid, PartitionMatroid) and len(usual := {*matroid.capacities.values()}) == 1:
            new = {block for block in [*add.values(), *change.values()] if isinstance(block, Hashable)}
            capacities = dict.fromkeys(new - {*matroid.capacities}, *usual) | capacities
        own = edit._replace(add=add, change=change, capacities=capacities)
        parts.append(_matroid(matroid, own))
    return QuotaIntersection(parts[0], parts[1], names=names, total=constraint.total)


def _said_for(said: Any, name: str | None, place: int) -> Any:
    """What is said of an item for one of two quotas, as JSON or as a mapping by name."""
    return _plain(said[name] if name is not None and isinstance(said, Mapping) else said[place])


def _knapsack(constraint: KnapsackConstraint, edit: Edit) -> KnapsackConstraint:
    if edit.capacities:
        raise InvalidConstraintError(f"expected no capacities, since {constraint!r} has a budget; got some")
    costs = edit.of(constraint.labels, constraint.costs.values())
    groups = edit.of(constraint.labels, (constraint.groups or dict.fromkeys(constraint.labels)).values())
    for label, said in _said(edit):
        before = (constraint.groups or {}).get(label) if label in edit.change else None
        both = said if isinstance(said, Mapping) else {"cost": said}
        wrong = [key for key in both if key not in ("cost", "group")]
        if wrong or (label in edit.add and "cost" not in both):
            raise InvalidConstraintError(
                f"expected the cost of {shown(label)}, or its cost and group; got {shown(said)}"
            )
        costs[label] = both.get("cost", constraint.costs.get(label))
        groups[label] = _plain(both.get("group", before))
    return KnapsackConstraint(
        costs,
        constraint.budget if edit.budget is None else edit.budget,
        groups,
        constraint.at_most,
        unit=constraint.unit,
    )


def _said(edit: Edit) -> list[tuple[Label, Any]]:
    return [*edit.change.items(), *edit.add.items()]


def _list(said: Any) -> list[Any]:
    """What is said of an item where it must be a list; empty where it is none."""
    return list(said) if isinstance(said, (list, tuple)) else []


def _plain(name: Any) -> Any:
    """A name from its JSON form, where a list stands for a tuple."""
    return tuple(map(_plain, name)) if isinstance(name, list) else name


def _check_size(expected: int, left: int, what: str) -> None:
    if left < expected:
        raise InvalidMatroidError(
            f"expected to keep the {what} {expected}, but what is left allows {counted(left, 'item')}{_WHOLE}"
        )


_KINDS: dict[type[Matroid], Callable[[Any, Edit], Matroid]] = {
    UniformMatroid: _uniform,
    PartitionMatroid: _partition,
    TransversalMatroid: _transversal,
    GraphicMatroid: _graphic,
}
