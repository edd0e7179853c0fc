"""Quotas: a largest number of items for each block of a partition."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.names import codes_of, decode, encode, pairs_of
from matroid_bandits._util.text import did_you_mean
from matroid_bandits.exceptions import InvalidMatroidError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import selection as selection_kernels
from matroid_bandits.matroids._base import MOST_ITEMS
from matroid_bandits.matroids._quotas import QuotaMatroid, Quotas, greedy_within, room_beside


class PartitionMatroid(QuotaMatroid):
    """Partition matroid: at most `capacities` items of each block, e.g. "one per slot", "two per category".

    Parameters
    ----------
    blocks : sequence or mapping of hashable
        The block of each item; a mapping gives the items their labels. An integer array needs no Python loop.
    capacities : int or mapping of block to int, default 1
        How many items of a block may be chosen; 0 is allowed, and so is more than the block has. A mapping must
        name every block.
    labels : iterable of hashable, optional
        Labels of the items.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> ads = mb.PartitionMatroid({"boots": "shoes", "heels": "shoes", "fedora": "hats"}, {"shoes": 1, "hats": 1})
    >>> [ads.labels[item] for item in ads.max_weight_basis([0.2, 0.7, 0.1])]
    ['heels', 'fedora']
    """

    kind = "partition"
    per_item = "blocks"

    def __init__(
        self,
        blocks: Iterable[Hashable] | Mapping[Label, Hashable],
        capacities: int | Mapping[Any, int] = 1,
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        keys, blocks = pairs_of(blocks) or (None, blocks)
        labels = keys if labels is None else labels
        if isinstance(blocks, np.ndarray) and blocks.ndim != 1:
            raise InvalidMatroidError(f"expected a block per item in one row, got an array of shape {blocks.shape}")
        codes, self._names = codes_of(blocks, "block")
        super().__init__(codes.size, labels)
        self._blocks = frozen(codes)
        self._capacities = frozen(self._check_capacities(capacities))

    @property
    def capacities(self) -> dict[Hashable, int]:
        """Capacity of each block, in the order of the blocks' first items."""
        return dict(zip(self._names, self._capacities.tolist(), strict=True))

    @property
    def blocks(self) -> list[Hashable]:
        """The block of each item."""
        return self._named_blocks()

    def categories(self) -> list[Sequence[Hashable]]:
        return [self._named_blocks()]

    def dual(self) -> PartitionMatroid:
        """Return the dual, also a partition matroid: a block of m items has capacity m minus its own."""
        left = np.bincount(self._blocks, minlength=len(self._names)) - self._effective
        return PartitionMatroid(self._named_blocks(), dict(zip(self._names, left, strict=True)), labels=self._labels)

    def _check_capacities(self, capacities: int | Mapping[Any, int]) -> IntArray:
        named = pairs_of(capacities)
        if named is None:
            capacity = as_integer("capacities", capacities, 0, MOST_ITEMS, error=InvalidMatroidError)
            return np.full(len(self._names), capacity, np.int64)
        by_block = dict(zip(*named, strict=True))
        values = np.empty(len(self._names), np.int64)
        for i, name in enumerate(self._names):
            if name not in by_block:
                raise InvalidMatroidError(f"expected a capacity for every block, got none for {name!r}")
            what = f"the capacity of block {name!r}"
            values[i] = as_integer(what, by_block[name], 0, MOST_ITEMS, error=InvalidMatroidError)
        if len(by_block) > len(self._names):
            known = set(self._names)
            stray = next(name for name in by_block if name not in known)
            hint = did_you_mean(stray, self._names)
            raise InvalidMatroidError(f"expected capacities of blocks that have items, got one for {stray!r}{hint}")
        return values

    def _named_blocks(self) -> list[Hashable]:
        return [self._names[code] for code in self._blocks]

    @cached_property
    def _effective(self) -> IntArray:
        """Capacities no larger than the blocks."""
        return frozen(np.minimum(self._capacities, np.bincount(self._blocks, minlength=len(self._names))))

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray]:
        """Items by block: where each block starts, and its items in ascending order."""
        starts = np.zeros(len(self._names) + 1, np.int64)
        np.cumsum(np.bincount(self._blocks, minlength=len(self._names)), out=starts[1:])
        return frozen(starts), frozen(np.argsort(self._blocks, kind="stable"))

    def find_rank(self) -> int:
        return int(self._effective.sum())

    def quotas(self) -> Quotas:
        return self._groups

    def compiled(self) -> forms.QuotaForm:
        return forms.QuotaForm(*self._groups)

    @cached_property
    def _groups(self) -> Quotas:
        return self._blocks, frozen(np.full(len(self._names), -1, np.int64)), self._capacities

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return greedy_within(self._groups, orders, lengths, taken, self.rank)

    def best_sets(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        items = np.empty((weights.shape[0], self.rank), np.int64)
        sizes = np.empty(weights.shape[0], np.int64)
        starts, members = self._members
        if available is None and pinned is None:
            selection_kernels.top_of_blocks(weights, starts, members, self._effective, items)
            sizes.fill(self.rank)
            return items, sizes
        taken = np.empty(0, np.int64) if pinned is None else np.array(pinned, np.int64)
        room = room_beside(self._groups, taken)
        is_open = self._open_items(available, pinned)
        selection_kernels.top_open_of_blocks(weights, is_open, starts, members, room, taken, items, sizes)
        return items, sizes

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        members: IntArray = basis[self._blocks[basis] == self._blocks[item]]
        return members

    def content(self) -> tuple[Any, ...]:
        return (self._blocks, self._names, self._capacities)

    def fields(self) -> dict[str, Any]:
        return {
            "blocks": self._blocks.tolist(),
            "names": [encode(name, "block") for name in self._names],
            "capacities": self._capacities.tolist(),
        }

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> PartitionMatroid:
        blocks, names, capacities = fields.pop("blocks"), decode(fields.pop("names")), fields.pop("capacities")
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        if any(code < 0 for code in blocks):
            raise ValueError("a block has a negative number")
        return cls([names[code] for code in blocks], dict(zip(names, capacities, strict=True)), labels=labels)
