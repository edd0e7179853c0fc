"""New matroids from old: dual, truncation, restriction, contraction, direct sum. Each uses the old one's greedy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits.constraint import FormSize, constraint_from_dict
from matroid_bandits.exceptions import InvalidMatroidError, SerializationError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import rows as row_kernels
from matroid_bandits.matroids._base import Matroid, rows_for
from matroid_bandits.matroids._quotas import Quotas, greedy_within


class _Derived(Matroid):
    """A matroid made from another, `base`; its labels are the base's, so they are stored once."""

    def __init__(self, base: Matroid, items: IntArray | None = None) -> None:
        labels = base._labels
        if labels is not None and items is not None:
            labels = tuple(labels[e] for e in items)
        super().__init__(base.n_items if items is None else items.size, labels)
        self._base = base
        self.has_quick_coloops = base.has_quick_coloops

    @property
    def base(self) -> Matroid:
        """The original matroid."""
        return self._base

    def _find(self, label: Any) -> int | None:
        return self._base._find(label)

    def to_dict(self) -> dict[str, Any]:
        form = super().to_dict()
        form.pop("labels", None)
        return form

    @classmethod
    def _size_of(cls, form: Mapping[str, Any]) -> FormSize:
        base = cls.form_size(form.get("base", {}))
        n = cls._n_left(base.n_items, form)
        return FormSize(n, n + base.n_items_in_all, base.n_parts)

    @classmethod
    def _n_left(cls, n_items: int, form: Mapping[str, Any]) -> int:
        """How many items of the original matroid there are."""
        return n_items

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> Matroid:
        base = _matroid_of(fields.pop("base"))
        return cls(base, **fields)

    def content(self) -> tuple[Any, ...]:
        return (self._base,)

    def fields(self) -> dict[str, Any]:
        return {"base": self._base.to_dict()}

    def __repr__(self) -> str:
        of = self._base if not isinstance(self._base, _Derived) else f"{type(self._base).__name__}(...)"
        return f"{type(self).__name__}(of={of}, n_items={self.n_items}, rank={self.rank})"


class Dual(_Derived):
    """Dual of a matroid: its bases are the complements of the original bases; made by `Matroid.dual`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> square = mb.GraphicMatroid([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> square.dual().max_weight_basis([4.0, 3.0, 2.0, 1.0])  # the heaviest edge one can do without
    array([0])
    """

    kind = "dual"

    def dual(self) -> Matroid:
        """Return the original matroid, of which this one is the dual."""
        return self._base

    def find_rank(self) -> int:
        return self._n_items - self._base.rank

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        # The first dual basis along an order is the complement of the base's first basis along its reverse. Items
        # that the order leaves out come last in it, so they do not disturb those it names.
        lengths, taken, items, sizes = rows_for(orders, lengths, taken, self.rank)
        full = np.empty((orders.shape[0], self._n_items), np.int64)
        row_kernels.complete_backwards(orders, lengths, taken, full)
        is_free = np.ones(full.shape, bool)
        np.put_along_axis(is_free, self._base.bases_along(full), False, axis=1)
        is_free[:, taken] = False
        row_kernels.keep_marked(orders, lengths, taken, is_free, self.rank, items, sizes)
        return items, sizes

    def span(self, independent: IntArray) -> BoolArray:
        # e joins A unless the base needs it: unless e is in every basis of what A leaves.
        mask = np.zeros(self._n_items, bool)
        mask[independent] = True
        left = np.flatnonzero(~mask)
        mask[self._base.coloops(left)] = True
        return mask

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        # A member leaves for `item` where it can take its place in the base's basis: where the rest does not span it.
        is_rest = np.ones(self._n_items, bool)
        is_rest[basis] = is_rest[item] = False
        members: IntArray = basis[~self._base.span(np.flatnonzero(is_rest))[basis]]
        return members

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the coloops of a set in the dual: the items that the set's complement spans in the original
        matroid."""
        is_in = np.full(self._n_items, items is None)
        if items is not None:
            is_in[items] = True
        outside = self._base._select(np.flatnonzero(~is_in))
        return np.flatnonzero(is_in & self._base.span(outside))


class Truncation(_Derived):
    """Truncation of a matroid: its independent sets of at most `rank` items; made by `Matroid.truncate`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> square = mb.GraphicMatroid([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> square.truncate(2).max_weight_basis([4.0, 3.0, 2.0, 1.0])
    array([0, 1])
    """

    kind = "truncation"

    def __init__(self, base: Matroid, rank: int) -> None:
        super().__init__(base)
        self._size = min(as_integer("rank", rank, error=InvalidMatroidError), base.rank)

    def find_rank(self) -> int:
        return self._size

    def categories(self) -> list[Sequence[Hashable]]:
        return self._base.categories()

    def quotas(self) -> Quotas | None:
        return self._groups

    def compiled(self) -> forms.QuotaForm | None:
        return None if self._groups is None else forms.QuotaForm(*self._groups)

    @cached_property
    def _groups(self) -> Quotas | None:
        quotas = self._base.quotas()
        if quotas is None:
            return None
        group, parent, capacities = quotas  # one more group around all
        return frozen(group + 1), frozen(np.append(-1, parent + 1)), frozen(np.append(self._size, capacities))

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        quotas = self._base.quotas()
        if quotas is not None:
            return greedy_within(quotas, orders, lengths, taken, self._size)
        items, sizes = self._base.greedy(orders, lengths, taken)
        return np.ascontiguousarray(items[:, : self._size]), np.minimum(sizes, self._size)

    def span(self, independent: IntArray) -> BoolArray:
        if independent.size < self._size:
            return self._base.span(independent)
        return np.ones(self._n_items, bool)

    def spanned_after(self, order: IntArray) -> IntArray:
        after = self._base.spanned_after(order)
        return np.minimum(after, self._size) if order.size == self._size else after

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        return _replaceable(self._base, basis, item) if self._base.span(basis)[item] else basis

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the original matroid's coloops; none where the truncation lowers the rank."""
        rank = self._base.rank if items is None else self._base._select(items).size
        return self._base.coloops(items) if rank <= self._size else np.empty(0, np.int64)

    def parallel_classes(self, items: IntArray) -> IntArray:
        return self._base.parallel_classes(items)

    def content(self) -> tuple[Any, ...]:
        return (self._base, self._size)

    def fields(self) -> dict[str, Any]:
        return {"base": self._base.to_dict(), "rank": self._size}


class _Minor(_Derived):
    """A matroid on some of the base's items, renumbered in ascending order."""

    def __init__(self, base: Matroid, kept: IntArray) -> None:
        super().__init__(base, kept)
        self._kept = frozen(kept)
        self._taken = np.empty(0, np.int64)  # an independent set of the base that is always there

    @property
    def items(self) -> IntArray:
        """The item numbers in the original matroid."""
        return self._kept

    def _find(self, label: Any) -> int | None:
        e = super()._find(label)
        if e is None:
            return None
        new = int(self._new_numbers(e))
        return new if new < self._n_items and self._kept[new] == e else None

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> Matroid:
        items = np.asarray(fields.pop("items"))  # stored items are numbers, whatever the labels
        return super().from_fields(labels=labels, items=items, **fields)

    def _new_numbers(self, items: IntArray | int) -> IntArray:
        """The numbers here of items of the base."""
        return np.searchsorted(self._kept, items)

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        n_taken = self._taken.size
        listed = np.take(self._kept, orders, mode="clip") if self._n_items else orders  # no matter what rows end in
        first = self._taken if taken is None else np.append(self._taken, self._kept[taken])
        items, sizes = self._base.greedy(listed, lengths, first if first.size else None)
        return self._new_numbers(items[:, n_taken:]), sizes - n_taken

    def span(self, independent: IntArray) -> BoolArray:
        both = np.append(self._taken, self._kept[independent])
        mask: BoolArray = self._base.span(both)[self._kept]
        return mask

    def spanned_after(self, order: IntArray) -> IntArray:
        after = self._base.spanned_after(np.append(self._taken, self._kept[order]))[self._kept]
        return np.maximum(after - self._taken.size, 0)

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        both = np.append(self._taken, self._kept[basis])
        is_member = np.isin(self._kept[basis], _replaceable(self._base, both, int(self._kept[item])))
        members: IntArray = basis[is_member]
        return members

    def coloops(self, items: IntArray | None = None) -> IntArray:
        both = np.append(self._taken, self._kept if items is None else self._kept[items])
        return self._new_numbers(np.setdiff1d(self._base.coloops(both), self._taken))

    def parallel_classes(self, items: IntArray) -> IntArray:
        return self._base.parallel_classes(self._kept[items])


class Restriction(_Minor):
    """Restriction of a matroid to some of its items; made by `Matroid.restrict`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.UniformMatroid(5, 3).restrict([1, 4]).rank
    2
    """

    kind = "restriction"

    def __init__(self, base: Matroid, items: Iterable[Label] | IntArray) -> None:
        super().__init__(base, base.as_items(items))

    def categories(self) -> list[Sequence[Hashable]]:
        return [[names[e] for e in self._kept.tolist()] for names in self._base.categories()]

    def content(self) -> tuple[Any, ...]:
        return (self._base, self._kept)

    def fields(self) -> dict[str, Any]:
        return {"base": self._base.to_dict(), "items": self._kept.tolist()}

    @classmethod
    def _n_left(cls, n_items: int, form: Mapping[str, Any]) -> int:
        return min(n_items, _n_listed(form))


class Contraction(_Minor):
    """Contraction of a matroid: its other items, given that some are taken; made by `Matroid.contract`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.UniformMatroid(5, 3).contract([1, 4]).rank
    1
    """

    kind = "contraction"

    def __init__(self, base: Matroid, items: Iterable[Label] | IntArray) -> None:
        self._contracted = frozen(base.as_items(items))
        super().__init__(base, np.setdiff1d(np.arange(base.n_items), self._contracted))
        self._taken = frozen(base._select(self._contracted))

    def content(self) -> tuple[Any, ...]:
        return (self._base, self._contracted)

    def fields(self) -> dict[str, Any]:
        return {"base": self._base.to_dict(), "items": self._contracted.tolist()}

    @classmethod
    def _n_left(cls, n_items: int, form: Mapping[str, Any]) -> int:
        return max(n_items - _n_listed(form), 0)


class DirectSum(Matroid):
    """Direct sum of several matroids on disjoint items; made by `direct_sum`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.direct_sum(mb.UniformMatroid(3, 1), mb.UniformMatroid(2, 1)).rank
    2
    """

    kind = "direct-sum"

    def __init__(self, *parts: Matroid) -> None:
        for part in parts:
            if not isinstance(part, Matroid):
                raise InvalidMatroidError(f"expected matroids, got {type(part).__name__}")
        starts = np.cumsum([0, *(part.n_items for part in parts)])
        labels: list[Label] | None = None
        if any(part._labels is not None for part in parts):
            own = [label for part in parts for label in part.labels]
            # where the parts' labels repeat, say which part is meant
            self._has_own_labels = len(set(own)) == len(own)
            labels = (
                own if self._has_own_labels else [(i, label) for i, part in enumerate(parts) for label in part.labels]
            )
        super().__init__(int(starts[-1]), labels)
        self.has_quick_coloops = all(part.has_quick_coloops for part in parts)
        self._parts = parts
        self._starts = frozen(starts)
        self._part_of = frozen(np.repeat(np.arange(len(parts)), np.diff(starts)))

    @property
    def parts(self) -> tuple[Matroid, ...]:
        """The matroids of the sum, in the order of their items."""
        return self._parts

    def _find(self, label: Any) -> int | None:
        e = super()._find(label)
        if e is not None or self._labels is None:
            return e
        for i, part in enumerate(self._parts):  # which may know an item by another name too
            is_pair = isinstance(label, tuple) and len(label) == 2 and label[0] == i
            if self._has_own_labels or is_pair:
                e = part._find(label if self._has_own_labels else label[1])
            if e is not None:
                return int(self._starts[i]) + e
        return None

    def dual(self) -> Matroid:
        """Return the direct sum of the duals."""
        return DirectSum(*(part.dual() for part in self._parts))

    def find_rank(self) -> int:
        return sum(part.rank for part in self._parts)

    def quotas(self) -> Quotas | None:
        return self._groups

    def compiled(self) -> forms.QuotaForm | None:
        return None if self._groups is None else forms.QuotaForm(*self._groups)

    @cached_property
    def _groups(self) -> Quotas | None:
        groups, parents, capacities, n_groups = [], [], [], 0
        for part in self._parts:
            quotas = part.quotas()
            if quotas is None:
                return None
            groups.append(np.where(quotas[0] < 0, -1, quotas[0] + n_groups))
            parents.append(np.where(quotas[1] < 0, -1, quotas[1] + n_groups))
            capacities.append(quotas[2])
            n_groups += quotas[1].size
        empty = np.empty(0, np.int64)
        return (
            frozen(np.concatenate([empty, *groups])),
            frozen(np.concatenate([empty, *parents])),
            frozen(np.concatenate([empty, *capacities])),
        )

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        if self._groups is not None:
            return greedy_within(self._groups, orders, lengths, taken, self.rank)
        lengths, taken, items, sizes = rows_for(orders, lengths, taken, self.rank)
        is_accepted = np.zeros((orders.shape[0], self._n_items), bool)
        inside = np.empty(is_accepted.shape, np.int64)
        inside_lengths = np.empty((len(self._parts), orders.shape[0]), np.int64)
        row_kernels.split_rows(orders, lengths, self._part_of, self._starts, inside, inside_lengths)
        for (part, lo, places), own_lengths in zip(self._split(taken), inside_lengths, strict=True):
            own_rows = np.ascontiguousarray(inside[:, lo : lo + part.n_items])
            own = taken[places] - lo
            row_kernels.mark(*part.greedy(own_rows, own_lengths, own), own.size, lo, is_accepted)
        row_kernels.keep_marked(orders, lengths, taken, is_accepted, self.rank, items, sizes)
        return items, sizes

    def span(self, independent: IntArray) -> BoolArray:
        masks = [part.span(independent[places] - lo) for part, lo, places in self._split(independent)]
        return np.concatenate([np.empty(0, bool), *masks])

    def spanned_after(self, order: IntArray) -> IntArray:
        after = np.empty(self._n_items, np.int64)
        for part, lo, places in self._split(order):
            # after none of the part's own items, after each of them, never
            steps = np.concatenate([[0], places + 1, [order.size + 1]])
            after[lo : lo + part.n_items] = steps[part.spanned_after(order[places] - lo)]
        return after

    def coloops(self, items: IntArray | None = None) -> IntArray:
        X = np.arange(self._n_items) if items is None else items
        found = [part.coloops(X[places] - lo) + lo for part, lo, places in self._split(X)]
        return np.concatenate([np.empty(0, np.int64), *found])

    def parallel_classes(self, items: IntArray) -> IntArray:
        classes, n_classes = np.empty(items.size, np.int64), 0
        for part, lo, places in self._split(items):
            classes[places] = part.parallel_classes(items[places] - lo) + n_classes
            n_classes += places.size
        return np.unique(classes, return_inverse=True)[1].reshape(-1)

    def _split(self, items: IntArray) -> Iterator[tuple[Matroid, int, IntArray]]:
        """Each part, where its items start, and the places of its own among some items, in order."""
        parts = self._part_of[items]
        by_part = np.argsort(parts, kind="stable")
        bounds = np.searchsorted(parts[by_part], np.arange(len(self._parts) + 1)).tolist()
        starts = self._starts.tolist()
        for i, part in enumerate(self._parts):
            yield part, starts[i], by_part[bounds[i] : bounds[i + 1]]

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        i = self._part_of[item]
        lo = self._starts[i]
        mine = basis[self._part_of[basis] == i] - lo
        members: IntArray = self._parts[i].replaceable(mine, int(item - lo)) + lo
        return members

    def exchanges(self, basis: IntArray) -> tuple[IntArray, IntArray]:
        found = []
        for i, (part, lo) in enumerate(zip(self._parts, self._starts.tolist(), strict=False)):
            leaves, enters = part.exchanges(np.sort(basis[self._part_of[basis] == i]) - lo)
            found.append((leaves + lo, enters + lo))
        leaves, enters = (np.concatenate([np.empty(0, np.int64), *arrays]) for arrays in zip(*found, strict=True))
        return leaves, enters

    def most_exchanges(self) -> int:
        return sum(part.most_exchanges() for part in self._parts)

    def to_dict(self) -> dict[str, Any]:
        form = super().to_dict()
        form.pop("labels", None)  # the parts carry them
        return form

    def content(self) -> tuple[Any, ...]:
        return self._parts

    def fields(self) -> dict[str, Any]:
        return {"parts": [part.to_dict() for part in self._parts]}

    @classmethod
    def _size_of(cls, form: Mapping[str, Any]) -> FormSize:
        parts = form.get("parts")
        sizes = [cls.form_size(part) for part in parts] if isinstance(parts, list) else []
        n = sum(size.n_items for size in sizes)
        return FormSize(n, n + sum(size.n_items_in_all for size in sizes), sum(size.n_parts for size in sizes))

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> DirectSum:
        parts = fields.pop("parts")
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        return cls(*(_matroid_of(part) for part in parts))

    def __repr__(self) -> str:
        names = [type(part).__name__ for part in self._parts[:3]] + ["..."] * (len(self._parts) > 3)
        return f"DirectSum({', '.join(names)}; n_items={self.n_items}, rank={self.rank})"


def _matroid_of(form: Mapping[str, Any]) -> Matroid:
    """The matroid of a stored form, which may be of no other constraint."""
    made = constraint_from_dict(form)
    if not isinstance(made, Matroid):
        raise SerializationError(f"expected the form of a matroid, got that of {made!r}")
    return made


def direct_sum(*matroids: Matroid) -> DirectSum:
    """Return the direct sum of several matroids: a set is independent when its part in each matroid is.

    Items are numbered through, in the order given. Labels are the parts' own where they stay distinct, otherwise
    pairs (part, label).

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> both = mb.direct_sum(mb.UniformMatroid(3, 1), mb.UniformMatroid(2, 1))
    >>> both.max_weight_basis([1.0, 5.0, 2.0, 7.0, 3.0])
    array([1, 3])
    """
    return DirectSum(*matroids)


def _replaceable(matroid: Matroid, independent: IntArray, item: int) -> IntArray:
    """The members of an independent set, basis or not, that `item` could replace, which it spans."""
    basis, sizes = matroid.greedy(np.arange(matroid.n_items)[None], None, independent)  # has the same circuit
    return matroid.replaceable(basis[0, : sizes[0]], item)


def _n_listed(form: Mapping[str, Any]) -> int:
    """How many items a form lists."""
    items = form.get("items")
    return len(items) if isinstance(items, list) else 0
