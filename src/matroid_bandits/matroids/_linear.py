"""Nothing redundant: sets of linearly independent vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import AnyArray, ArrayLike, BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.sums import added
from matroid_bandits.exceptions import InvalidMatroidError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import linear as linear_kernels
from matroid_bandits.matroids._base import Matroid, rows_for

_LARGEST_PRIME = 2**31 - 1

#: Shares of a basis are looked for in this many vectors at a time.
_ITEMS_PER_PIECE = 4096


class LinearMatroid(Matroid):
    r"""Linear matroid: items are vectors, independent sets are linearly independent, e.g. genres of movies.

    Parameters
    ----------
    vectors : array_like of shape (n_items, n_features)
        Rows are items. Integers of any size are treated exactly, floats within `tolerance`.
    field : "auto" or prime below 2**31, default "auto"
        "auto" means the rationals for integers and the reals for floats; a prime p means GF(p), integers only.
    tolerance : float, default 1e-9
        For floats: each row is scaled to a largest entry near one, and is dependent on others when elimination
        with partial pivoting leaves no entry above this.
    labels : iterable of hashable, optional
        Labels of the items.

    Notes
    -----
    Over the rationals no fraction is ever formed. Every minor is an integer below Hadamard's bound H, so a set
    that is independent stays so modulo at least one of any primes whose product exceeds H; one that is dependent
    stays dependent modulo all of them. One prime above H is used when that is below :math:`2^{31}`, and as many
    as it takes otherwise.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> genres = mb.LinearMatroid([[1, 0], [1, 0], [1, 1]])
    >>> genres.max_weight_basis([0.9, 0.8, 0.1])
    array([0, 2])
    >>> mb.LinearMatroid([[1, 1, 0], [0, 1, 1], [1, 0, 1]], field=2).rank  # their sum is zero modulo 2
    2
    """

    kind = "linear"
    per_item = "vectors"

    def __init__(
        self,
        vectors: ArrayLike,
        field: int | Literal["auto"] = "auto",
        *,
        tolerance: float = 1e-9,
        labels: Iterable[Label] | None = None,
    ) -> None:
        array = _read_vectors(vectors)
        super().__init__(array.shape[0], labels)
        self._vectors = frozen(array)
        self._field = _check_field(field)
        self._tolerance = as_number("tolerance", tolerance, 0.0, 1.0, error=InvalidMatroidError)
        if array.dtype.kind == "f":
            if self._field != "auto":
                raise InvalidMatroidError(f"expected integer vectors over GF({self._field}), got {array.dtype}")
            # Rounding depends on the order of elimination: engines must take what `greedy` takes, in its order.
            self._scaled: AnyArray | None = frozen(_scaled(array))
        else:
            self._scaled, self.has_quick_coloops = None, True
            self._bits = _minor_bits(array) if self._field == "auto" else 0.0
            primes = list(_certifying_primes(self._bits)) if self._field == "auto" else [self._field]
            self._primes = frozen(np.array(primes, np.uint64))
            self._residues = frozen(np.stack([_residues(array, int(p)) for p in primes]))

    @property
    def vectors(self) -> AnyArray:
        """The vectors as rows of a read-only array."""
        return self._vectors

    @property
    def is_exact(self) -> bool:
        """Whether independence is decided in exact arithmetic."""
        return self._scaled is None

    def parallel_classes(self, items: IntArray) -> IntArray:
        """Return classes of parallel vectors (multiples of each other), if independence is tested modulo one
        prime."""
        if self._scaled is not None or self._primes.size != 1:
            return super().parallel_classes(items)
        rows = np.empty((items.size, self._residues.shape[2]), np.int64)
        linear_kernels.monic_rows(items, self._residues[0], int(self._primes[0]), rows)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)

    def find_rank(self) -> int:
        limit = min(self._vectors.shape)
        return int(self._accepted(np.arange(self._n_items)[None], None, None, limit)[1][0])

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return self._accepted(orders, lengths, taken, self.rank)

    def _accepted(
        self, orders: IntArray, lengths: IntArray | None, taken: IntArray | None, limit: int
    ) -> tuple[IntArray, IntArray]:
        lengths, taken, items, sizes = rows_for(orders, lengths, taken, limit)
        if self._scaled is None:
            linear_kernels.greedy_residues(orders, lengths, taken, self._residues, self._primes, limit, items, sizes)
        else:
            linear_kernels.greedy_floats(orders, lengths, taken, self._scaled, self._tolerance, limit, items, sizes)
        return items, sizes

    def compiled(self) -> forms.ResidueForm | forms.FloatForm:
        if self._scaled is None:
            return forms.ResidueForm(self._residues, self._primes)
        return forms.FloatForm(self._scaled, self._tolerance)

    def _doubt(self) -> str:
        if self.is_exact:
            return super()._doubt()
        return (
            f"independence of the vectors is not clear at tolerance {self._tolerance:g}; choose another tolerance, "
            "or integers"
        )

    def span(self, independent: IntArray) -> BoolArray:
        mask = np.empty(self._n_items, bool)
        if self._scaled is None:
            linear_kernels.spanned_residues(independent, self._residues, self._primes, mask)
        else:
            linear_kernels.spanned_floats(independent, self._scaled, self._tolerance, mask)
        mask[independent] = True
        return mask

    def spanned_after(self, order: IntArray) -> IntArray:
        after = np.where(self.span(order), 0, order.size + 1)
        for items in _pieces(np.setdiff1d(np.flatnonzero(after == 0), order)):
            is_member = self._circuits(order, items)
            last = order.size - is_member[:, ::-1].argmax(axis=1) if order.size else 0
            after[items] = np.where(is_member.any(axis=1), last, 0)
        after[order] = np.arange(1, order.size + 1)
        return after

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        members: IntArray = basis[self._circuits(basis, np.array([item]))[0]]
        return members

    def exchanges(self, basis: IntArray) -> tuple[IntArray, IntArray]:
        members = np.sort(basis)
        outside = np.setdiff1d(np.arange(self._n_items), members)
        found = [np.empty((0, members.size), bool), *(self._circuits(members, piece) for piece in _pieces(outside))]
        rows, columns = np.nonzero(np.concatenate(found))
        return members[columns], outside[rows]

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the vectors of a basis that no other vector depends on, found in one elimination."""
        X = np.arange(self._n_items) if items is None else items
        basis = self._select(X)
        is_needed = np.ones(basis.size, bool)
        for others in _pieces(np.setdiff1d(X, basis)):
            is_needed &= ~self._circuits(basis, others, is_union=True).any(axis=0)
            if not is_needed.any():
                break
        return np.sort(basis[is_needed])

    def _circuits(self, independent: IntArray, items: IntArray, is_union: bool = False) -> BoolArray:
        """Which members of an independent set have a share in each of the items that it spans, (n, K).

        With `is_union` a share in one item or another is enough, so that the search may end sooner.
        """
        if self._scaled is not None:
            # Column i of the inverse is 1 on member i and 0 on the others; scaled, the distance from their span.
            measures = np.linalg.pinv(self._scaled[independent])
            measures /= np.maximum(np.linalg.norm(measures, axis=0), np.finfo(np.float64).tiny)
            is_member: BoolArray = np.abs(self._scaled[items] @ measures) > self._tolerance
            return is_member
        is_member = np.zeros((items.size, independent.size), bool)
        bits = self._bits
        for p, residues in self._moduli():
            if linear_kernels.circuits_residues(independent, items, residues, p, is_member):
                bits -= math.log2(p)
                if bits <= 0 or (is_union and is_member.any(axis=0).all()):
                    break
        return is_member

    def _moduli(self) -> Iterator[tuple[int, AnyArray]]:
        """Primes and the vectors modulo each: those that decide independence, and more of them over the rationals.

        A set that is independent may be dependent modulo some primes, which then say nothing about shares in it.
        """
        yield from zip(self._primes.tolist(), self._residues, strict=True)
        for p in islice(_large_primes(), self._primes.size, None):
            yield p, frozen(_residues(self._vectors, p))

    def content(self) -> tuple[Any, ...]:
        return (self._vectors, self._vectors.dtype.kind == "f", self._field, self._tolerance)

    def fields(self) -> dict[str, Any]:
        shape = list(self._vectors.shape)
        return {
            "vectors": self._vectors.tolist(),
            "shape": shape,  # a list cannot tell (0, 5) from (0, 3)
            "is_exact": self.is_exact,
            "field": self._field,
            "tolerance": self._tolerance,
        }

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> LinearMatroid:
        vectors, shape, is_exact = fields.pop("vectors"), fields.pop("shape"), fields.pop("is_exact")
        array = np.array(vectors, object if is_exact else np.float64)
        array = np.zeros(shape, np.int64 if is_exact else np.float64) if array.size == 0 else array
        if list(array.shape) != shape:
            raise ValueError(f"expected vectors of shape {shape}, got {list(array.shape)}")
        return cls(array, labels=labels, **fields)


def _read_vectors(vectors: ArrayLike) -> AnyArray:
    """A 2-d array of int64, Python integers (object) or finite float64, with at least one column."""
    try:
        array = np.array(vectors)
        if array.dtype.kind in "fuO" and not isinstance(vectors, np.ndarray):
            whole = np.array(vectors, object)  # large integers of both signs would have become floats
            if all(isinstance(x, (int, np.integer, np.bool_)) for x in whole.flat) and whole.size:
                array = whole
    except (ValueError, OverflowError):
        raise InvalidMatroidError("expected vectors of equal length, got rows of different lengths") from None
    if array.ndim != 2:
        raise InvalidMatroidError(f"expected a 2-d array of vectors, one row per item, got {array.ndim}-d")
    if array.dtype.kind == "b" or (array.dtype.kind == "u" and array.dtype.itemsize < 8) or array.size == 0:
        array = array.astype(np.int64 if array.dtype.kind != "f" or array.size else np.float64)
    if array.dtype.kind == "u":
        array = array.astype(object)
    if array.dtype.kind == "O":
        odd = next((x for x in array.flat if not isinstance(x, (int, np.integer))), None)
        if odd is not None or any(x is None for x in array.flat):
            raise InvalidMatroidError(f"expected vectors of integers, or of floats, got objects such as {odd!r}")
        whole = np.array([int(x) for x in array.flat], object).reshape(array.shape)
        is_small = all(-(2**63) <= x < 2**63 for x in whole.flat)
        return whole.astype(np.int64) if is_small else whole
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise InvalidMatroidError(f"expected vectors of integers or floats, got {array.dtype}")
    if not np.isfinite(array).all():
        e, c = np.argwhere(~np.isfinite(array))[0]
        raise InvalidMatroidError(f"expected finite vectors, got {array[e, c]} in column {c} of item {e}")
    return array.astype(np.float64)


def _scaled(array: AnyArray) -> AnyArray:
    """Rows times powers of two (exactly), so that largest entries lie in [0.5, 1); at least one column."""
    if array.shape[1] == 0:
        return np.zeros((array.shape[0], 1))
    _, exponents = np.frexp(np.abs(array).max(axis=1, initial=0.0))
    scaled: AnyArray = np.ldexp(array, -exponents[:, None])
    return scaled


def _residues(array: AnyArray, prime: int) -> AnyArray:
    if array.shape[1] == 0:
        return np.zeros((array.shape[0], 1), np.uint64)
    return np.mod(array, prime).astype(np.uint64)


def _check_field(field: Any) -> int | Literal["auto"]:
    if isinstance(field, str) and field == "auto":
        return "auto"
    if isinstance(field, (bool, np.bool_)) or not isinstance(field, (int, np.integer)):
        raise InvalidMatroidError(f'expected field to be "auto" or a prime, got {field!r}')
    p = int(field)
    if not (2 <= p <= _LARGEST_PRIME and _is_prime(p)):
        raise InvalidMatroidError(f"expected field to be a prime below 2^31, got {p}")
    return p


def _is_prime(n: int) -> bool:
    """Miller and Rabin's test; these bases leave no error below 3,215,031,751."""
    if n < 2 or any(n % p == 0 for p in (2, 3, 5, 7)):
        return n in (2, 3, 5, 7)
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in (2, 3, 5, 7):
        x = pow(base, d, n)
        if x not in (1, n - 1) and not any((x := x * x % n) == n - 1 for _ in range(s - 1)):
            return False
    return True


def _pieces(items: IntArray) -> Iterator[IntArray]:
    return (items[lo : lo + _ITEMS_PER_PIECE] for lo in range(0, items.size, _ITEMS_PER_PIECE))


def _certifying_primes(bits: float) -> Iterator[int]:
    """Primes whose product exceeds every integer of `bits` bits: one where that is enough."""
    if bits < 30.9:
        # small primes leave room to add many products before reducing them
        p = max(2**16, math.ceil(2**bits)) + 1
        while not _is_prime(p):
            p += 1
        yield p
        return
    for p in _large_primes():
        if bits <= 0:
            return
        bits -= math.log2(p)
        yield p


def _large_primes() -> Iterator[int]:
    return (p for p in range(_LARGEST_PRIME, 2, -2) if _is_prime(p))


def _minor_bits(array: AnyArray) -> float:
    """An upper bound on log2 of any minor of the integer matrix, by Hadamard's bound on rows and columns."""
    size = min(array.shape)
    return min(_hadamard_bits(array, size), _hadamard_bits(array.T, size))


def _hadamard_bits(array: AnyArray, size: int) -> float:
    """An upper bound on log2 of any minor: the product of the longest rows, with a little to spare for rounding."""
    if array.dtype.kind == "O":
        squares = [sum(x * x for x in row) for row in array]
        logs = [float(n.bit_length()) for n in squares if n > 0]
    else:
        lengths = np.square(array.astype(np.float64)).sum(axis=1)
        logs = np.log2(lengths[lengths > 0]).tolist()
    return added(sorted(logs)[-size:]) / 2 * (1 + 1e-9) + 0.01 if size else 0.0
