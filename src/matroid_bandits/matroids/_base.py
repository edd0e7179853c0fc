"""The interface of every matroid: what it answers, in terms of four questions a family must settle."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import Immutable
from matroid_bandits._util.threads import over_rows
from matroid_bandits.exceptions import InvalidMatroidError, ItemError, WeightsError
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.matroids import _json

if TYPE_CHECKING:
    from matroid_bandits.matroids._operations import Contraction, Restriction

#: Items are numbered in 32 bits where random numbers are addressed.
_MOST = 2**32 - 2

#: Below this many weights, handing rows to other threads costs more than it saves.
_MIN_WEIGHTS_PER_BATCH = 4096

#: Beyond this many items, looking for those that are always or never chosen costs more than it saves.
_MOST_CIRCUITS = 1000


class Matroid(Immutable, ABC):
    """A ground set of items ``0..n_items-1`` and its independent sets; the paper's :math:`M = (E, \\mathcal I)`.

    A family implements four hooks: `_greedy` (the paper's Algorithm 1 along given orders), `_span` (the closure
    of an independent set), `_content` (what makes two of them equal) and `_fields` (the same as plain JSON). It
    may improve on the defaults of `_rank`, `_circuit`, `_max_weight_bases` and the operations. Instances are
    immutable.
    """

    #: The family's name in `to_dict`.
    kind: ClassVar[str]

    def __init__(self, n_items: int, labels: Iterable[Label] | None = None) -> None:
        self._n_items = n_items
        self._labels = None if labels is None else _check_labels(labels, n_items)

    @classmethod
    def _from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> Matroid:
        """The inverse of `_fields`."""
        return cls(**fields, labels=labels)

    # What a family settles

    @abstractmethod
    def _greedy(self, orders: IntArray, limit: int) -> IntArray:
        """Items accepted along each row of `orders`, in that order, at most `limit` a row.

        The rows of `orders` (R >= 1) permute one set of items, so each accepts equally many.
        """

    @abstractmethod
    def _span(self, independent: IntArray) -> BoolArray:
        """Mask of the items, members included, that cannot be added to an independent set."""

    @abstractmethod
    def _content(self) -> tuple[Any, ...]:
        """Arrays and plain values that determine the matroid, besides its labels."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """The constructor's arguments as plain JSON values."""

    def _rank(self) -> int:
        return int(self._greedy(np.arange(self._n_items)[None], self._n_items).shape[1])

    def _circuit(self, basis: IntArray, item: int) -> IntArray:
        """The members of `basis` that `item` could replace."""
        trial = np.append(basis, item)
        keep = np.ones(trial.size, bool)
        members = []
        for i, member in enumerate(basis):
            keep[i] = False
            if self._is_independent(trial[keep]):
                members.append(member)
            keep[i] = True
        return np.array(members, np.int64)

    def _quotas(self) -> tuple[IntArray, IntArray, IntArray] | None:
        """The matroid as nested quotas, if it is made of them: each item's innermost group, parents, capacities.

        -1 stands for no group; a group's container comes before it.
        """
        return None

    #: Whether circuits are cheap enough to look for items that are always or never chosen.
    _has_quick_circuits: ClassVar[bool] = False

    def _coloops(self) -> IntArray:
        """The items in every basis: those in no circuit, so never replaced."""
        basis = self._select(np.arange(self._n_items))
        is_fixed = np.ones(self._n_items, bool)
        for e in np.setdiff1d(np.arange(self._n_items), basis):
            is_fixed[self._circuit(basis, int(e))] = False
        return basis[is_fixed[basis]]

    def _parallel_classes(self, items: IntArray) -> IntArray:
        """A number for each of some items that are no loops; equal numbers mean that two exclude each other."""
        return np.arange(items.size)

    @cached_property
    def _reduction(self) -> tuple[IntArray, IntArray]:
        """Items that are always chosen, as far as known, and the items that may be chosen or not; both ascending."""
        if not self._has_quick_circuits or self._n_items > _MOST_CIRCUITS:
            return np.empty(0, np.int64), np.arange(self._n_items)
        always = np.sort(self._coloops())
        is_open = ~self._span(np.empty(0, np.int64))
        is_open[always] = False
        return always, np.flatnonzero(is_open)

    def _max_weight_bases(self, weights: FloatArray, minimize: bool) -> IntArray:
        """Best bases of (R, L) weights, R >= 1, rows ascending; nothing is checked here."""
        orders = np.empty(weights.shape, np.int64)
        order_kernels.argsort_rows(weights, minimize, orders)
        bases = self._greedy_bases(orders, self.rank)
        if bases.shape[1] * 16 < self._n_items:
            bases.sort(axis=1)
        else:  # a sweep over the items beats sorting many of them
            order_kernels.sort_rows(bases, self._n_items)
        return bases

    def best_sets(self, weights, *, available=None, pinned=None):  # type: ignore[no-untyped-def]
        bases = self._max_weight_bases(weights, False)
        return bases, np.full(bases.shape[0], bases.shape[1])

    def _greedy_bases(self, orders: IntArray, size: int) -> IntArray:
        """`_greedy`, of which each row must accept `size` items."""
        bases = np.ascontiguousarray(self._greedy(orders, size))
        if bases.shape[1] != size:
            found = self.rank - size + bases.shape[1]
            raise InvalidMatroidError(
                f"expected all bases to have {self.rank} items, found one of {found}: this is no matroid, or not "
                "clearly one at the tolerance given; run check_matroid on it"
            )
        return bases

    # What everybody asks

    @property
    def n_items(self) -> int:
        """Number of items, the paper's L."""
        return self._n_items

    @property
    def rank(self) -> int:
        """Size of every basis, the paper's K."""
        return self._known_rank

    @cached_property
    def _known_rank(self) -> int:
        return self._rank()

    @property
    def labels(self) -> Sequence[Label]:
        """What each item is called; the items themselves unless labels were given."""
        return range(self._n_items) if self._labels is None else self._labels

    def item(self, label: Label) -> int:
        """The item that carries `label`.

        Raises
        ------
        ItemError
            No item is called so.
        """
        try:
            return self._positions[label] if self._positions is not None else range(self._n_items).index(label)  # type: ignore[arg-type]
        except (KeyError, ValueError, TypeError):
            raise ItemError(f"expected the label of one of {self._n_items} items, got {label!r}") from None

    def is_independent(self, items: Iterable[int]) -> bool:
        """Whether the set belongs to :math:`\\mathcal I`."""
        return self._is_independent(self._check_items(items))

    def is_basis(self, items: Iterable[int]) -> bool:
        """Whether the set is a maximal independent set."""
        X = self._check_items(items)
        return X.size == self.rank and self._is_independent(X)

    def extension(self, items: Iterable[int]) -> IntArray:
        """The paper's E(X): the items outside X that leave it independent when added, ascending.

        Empty when X is a basis, and when X is dependent already.
        """
        X = self._check_items(items)
        if not self._is_independent(X):
            return np.empty(0, np.int64)
        return np.flatnonzero(~self._span(X)).astype(np.int64, copy=False)

    def closure(self, items: Iterable[int]) -> IntArray:
        """All items that add nothing to the rank of the set, its own included, ascending."""
        X = self._check_items(items)
        return np.flatnonzero(self._span(self._select(X))).astype(np.int64, copy=False)

    def circuit(self, basis: Iterable[int], item: int) -> IntArray:
        """The fundamental circuit of `item` in `basis`: `item` and the members it could replace, ascending.

        This is why the item is out: it can only enter in place of one of the others. A loop's circuit is itself.

        Raises
        ------
        ItemError
            `basis` is not a basis, or `item` belongs to it.
        """
        B = self._check_items(basis)
        e = self._check_item(item)
        if B.size != self.rank or not self._is_independent(B):
            raise ItemError(f"expected a basis ({self.rank} independent items), got {_show(B)}")
        if e in B:
            raise ItemError(f"expected an item outside the basis, got member {e}")
        return np.sort(np.append(self._circuit(B, e), e))

    def max_weight_basis(self, weights: ArrayLike, minimize: bool = False) -> IntArray:
        """The basis of largest total weight, by the paper's Algorithm 1.

        Parameters
        ----------
        weights : array_like of shape (n_items,) or (n_runs, n_items)
            One weight per item, or one row per run; infinities are allowed, NaN is not.
        minimize : bool, default False
            Take the basis of least total weight.

        Returns
        -------
        int64 array of shape (rank,) or (n_runs, rank)
            Items in ascending order. Equal weights are taken by smaller item first, so the answer is unique.

        Raises
        ------
        WeightsError
            Wrong shape or type, or NaN; the message names the run and the item.
        """
        w = self._check_weights(weights)
        if w.ndim == 1:
            basis: IntArray = self._max_weight_bases(w[None], bool(minimize))[0]
            return basis
        if w.shape[0] == 0:
            return np.empty((0, self.rank), np.int64)
        if w.shape[0] == 1 or w.size < _MIN_WEIGHTS_PER_BATCH:
            return self._max_weight_bases(w, bool(minimize))
        bases = np.empty((w.shape[0], self.rank), np.int64)

        def fill(lo: int, hi: int) -> None:
            bases[lo:hi] = self._max_weight_bases(w[lo:hi], bool(minimize))

        over_rows(fill, w.shape[0])
        return bases

    # New matroids from old

    def dual(self) -> Matroid:
        """The matroid whose bases are the complements of this one's."""
        from matroid_bandits.matroids._operations import Dual

        return Dual(self)

    def truncate(self, rank: int) -> Matroid:
        """The independent sets of at most `rank` items."""
        from matroid_bandits.matroids._operations import Truncation

        return Truncation(self, rank)

    def restrict(self, items: Iterable[int]) -> Restriction:
        """The matroid on the given items alone, renumbered in ascending order; labels come along."""
        from matroid_bandits.matroids._operations import Restriction

        return Restriction(self, items)

    def contract(self, items: Iterable[int]) -> Contraction:
        """The matroid on the other items, renumbered, given that these are already taken.

        Of a dependent set as many as possible are taken; the rest become part of the closure.
        """
        from matroid_bandits.matroids._operations import Contraction

        return Contraction(self, items)

    # Data

    def to_dict(self) -> dict[str, Any]:
        """A plain JSON form; `matroid_from_dict` makes an equal matroid of it."""
        form = {"format": _json.FORMAT, "version": _json.VERSION, "kind": self.kind, **self._fields()}
        if self._labels is not None:
            form["labels"] = [_json.encode(label, "label") for label in self._labels]
        return form

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Matroid)
        if self._n_items != other._n_items or self._labels != other._labels:
            return False
        mine, theirs = self._content(), other._content()
        return len(mine) == len(theirs) and all(map(_is_same, mine, theirs))

    def __hash__(self) -> int:
        return hash((self.kind, self._n_items, self.rank))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_items={self._n_items}, rank={self.rank})"

    # Helpers

    @cached_property
    def _positions(self) -> dict[Label, int] | None:
        return None if self._labels is None else {label: e for e, label in enumerate(self._labels)}

    def _select(self, items: IntArray) -> IntArray:
        """A maximal independent subset, greedily in the order given."""
        accepted: IntArray = self._greedy(items[None], items.size)[0]
        return accepted

    def _is_independent(self, items: IntArray) -> bool:
        return self._select(items).size == items.size

    def _check_item(self, item: int) -> int:
        try:
            e = operator.index(item)
        except TypeError:
            raise ItemError(f"expected an item number, got {item!r}") from None
        if not 0 <= e < self._n_items:
            raise ItemError(f"expected an item in 0..{self._n_items - 1}, got {e}")
        return e

    def _check_items(self, items: Iterable[int]) -> IntArray:
        """A set of items as an ascending int64 array."""
        try:
            X = np.asarray(items if isinstance(items, np.ndarray) else list(items))
        except (TypeError, ValueError):
            raise ItemError(f"expected item numbers in one row, got {items!r}") from None
        if X.size == 0:
            return np.empty(0, np.int64)
        if X.ndim != 1 or X.dtype.kind not in "iu":
            raise ItemError(f"expected item numbers in one row, got {X.ndim}-d {X.dtype} values")
        out = X[(X < 0) | (self._n_items <= X)]
        if out.size:
            raise ItemError(f"expected items in 0..{self._n_items - 1}, got {out[0]}")
        X = np.sort(X.astype(np.int64))
        repeated = X[1:][X[1:] == X[:-1]]
        if repeated.size:
            raise ItemError(f"expected distinct items, got {repeated[0]} more than once")
        return X

    def _check_weights(self, weights: ArrayLike) -> FloatArray:
        try:
            w = np.asarray(weights)
        except ValueError:
            raise WeightsError("expected rows of equal length, got a ragged sequence") from None
        if w.dtype.kind not in "fiub" and w.size:
            raise WeightsError(f"expected real weights, got values of type {w.dtype}")
        exact, w = w, np.asarray(w, np.float64, order="C")
        if exact.dtype.kind in "iu" and exact.dtype.itemsize == 8 and (np.abs(w) >= 2.0**53).any():
            raise WeightsError("expected integers below 2**53 in size, which float64 holds exactly, got larger ones")
        if w.ndim not in (1, 2) or w.shape[-1] != self._n_items:
            raise WeightsError(
                f"expected weights of shape ({self._n_items},) or (n_runs, {self._n_items}), got {w.shape}"
            )
        bad = order_kernels.first_nan(w.reshape(-1))
        if bad >= 0:
            place = f"item {bad % self._n_items}" + (f" of run {bad // self._n_items}" if w.ndim == 2 else "")
            raise WeightsError(f"expected numbers, got NaN for {place}")
        return w


def as_count(value: Any, what: str, least: int = 0) -> int:
    """`value` as an int of at least `least`, or an error that says what it is for."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        n = operator.index(value)
    except TypeError:
        raise InvalidMatroidError(f"expected {what} to be an integer, got {value!r}") from None
    if n < least:
        raise InvalidMatroidError(f"expected {what} to be at least {least}, got {n}")
    if n > _MOST:
        raise InvalidMatroidError(f"expected {what} to be at most {_MOST}, got {n}")
    return n


def codes_of(values: Iterable[Hashable], what: str) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Number hashable values by first appearance; the numbers, then the names. Arrays need no Python loop."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        found, first, by_value = np.unique(values, return_index=True, return_inverse=True)
        by_appearance = np.argsort(first)
        number = np.empty(found.size, np.int64)
        number[by_appearance] = np.arange(found.size)
        return number[by_value.reshape(-1)], tuple(found[by_appearance].tolist())
    known: dict[Hashable, int] = {}
    try:
        codes = np.fromiter((known.setdefault(plain(v), len(known)) for v in values), np.int64)
    except TypeError as error:
        raise InvalidMatroidError(f"expected every {what} to be hashable: {error}") from None
    return codes, tuple(known)


def plain(value: Any) -> Any:
    """NumPy scalars as Python's own, so that labels print, compare and serialise as expected."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    return value


def _check_labels(labels: Iterable[Label], n_items: int) -> tuple[Label, ...]:
    try:
        names = tuple(plain(label) for label in labels)
    except TypeError:
        raise InvalidMatroidError(f"expected {n_items} labels, got {labels!r}") from None
    if len(names) != n_items:
        raise InvalidMatroidError(f"expected {n_items} labels, one per item, got {len(names)}")
    try:
        is_distinct = len(set(names)) == n_items
    except TypeError as error:
        raise InvalidMatroidError(f"expected every label to be hashable: {error}") from None
    if not is_distinct:
        seen: set[Label] = set()
        again = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidMatroidError(f"expected distinct labels, got {again!r} more than once")
    return names


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return bool(a == b)


def _show(items: IntArray) -> str:
    shown = ", ".join(map(str, items[:8]))
    return f"{{{shown}}}" if items.size <= 8 else f"{{{shown}, ...}} ({items.size} items)"
