"""Linear independence along given orders: exact over one or several prime fields, or by tolerance in floats.

Over a prime field the accepted vectors are kept in reduced echelon form, so a candidate's coefficients are
read off its pivot columns and its remainder is one sum of products, reduced modulo p now and then.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _inverse(a, p):
    """The inverse of a modulo the prime p (int64, 0 < a < p), by Euclid."""
    old_r, r, old_s, s = p, a, np.int64(0), np.int64(1)
    while r != 0:
        q = old_r // r
        old_r, r = r, old_r - q * r
        old_s, s = s, old_s - q * s
    return old_s % p


@njit(cache=True, nogil=True)
def _remainder(x, echelon, pivots, k, p, y):
    """y = x minus its projection on the first k echelon rows, modulo p; returns y's first non-zero column or -1.

    All values are uint64 below p < 2^31, so `batch` products and a remainder fit in 64 bits.
    """
    n_columns = y.shape[0]
    batch = min(np.uint64(1) << np.uint64(30), (~np.uint64(0)) // (p * p) - np.uint64(1))
    for c in range(n_columns):
        y[c] = x[c]
    pending = np.uint64(0)
    for i in range(k):
        coefficient = x[pivots[i]]
        if coefficient != 0:
            factor = p - coefficient
            row = echelon[i]
            for c in range(n_columns):
                y[c] += factor * row[c]
            pending += np.uint64(1)
            if pending == batch:
                for c in range(n_columns):
                    y[c] %= p
                pending = np.uint64(0)
    pivot = -1
    for c in range(n_columns - 1, -1, -1):
        if pending > 0:
            y[c] %= p
        if y[c] != 0:
            pivot = c
    return pivot


@njit(cache=True, nogil=True)
def _absorb(y, pivot, echelon, pivots, k, p):
    """Make y row k of the reduced echelon form, with a one at `pivot` and zeros above it."""
    n_columns = y.shape[0]
    scale = np.uint64(_inverse(np.int64(y[pivot]), np.int64(p)))
    new = echelon[k]
    for c in range(n_columns):
        new[c] = y[c] * scale % p
    pivots[k] = pivot
    for i in range(k):
        row = echelon[i]
        if row[pivot] != 0:
            factor = p - row[pivot]
            for c in range(n_columns):
                row[c] = (row[c] + factor * new[c]) % p


@njit(cache=True, nogil=True)
def greedy_residues(orders, residues, primes, limit, chosen):
    """Accept vectors along each row of `orders` (R, M) while independent modulo some prime that is still alive.

    `residues` (P, n_items, n_columns) uint64 holds the vectors modulo each of `primes` (P,) uint64. A prime in
    which the accepted set is dependent is dead for the rest of the row: it can prove nothing any more. Returns
    how many items the last row got; rows that permute one set of items all get as many.
    """
    n_primes, _, n_columns = residues.shape
    echelons = np.empty((n_primes, limit, n_columns), np.uint64)
    pivots = np.empty((n_primes, limit), np.int64)
    y = np.empty((n_primes, n_columns), np.uint64)
    found = np.empty(n_primes, np.int64)
    is_alive = np.empty(n_primes, np.bool_)
    k = 0
    for run in range(orders.shape[0]):
        is_alive[:] = True
        k = 0
        for i in range(orders.shape[1]):
            if k == limit:
                break
            e = orders[run, i]
            is_independent = False
            for q in range(n_primes):
                if is_alive[q]:
                    found[q] = _remainder(residues[q, e], echelons[q], pivots[q], k, primes[q], y[q])
                    is_independent |= found[q] >= 0
            if is_independent:
                for q in range(n_primes):
                    if is_alive[q]:
                        if found[q] >= 0:
                            _absorb(y[q], found[q], echelons[q], pivots[q], k, primes[q])
                        else:
                            is_alive[q] = False
                chosen[run, k] = e
                k += 1
    return k


@njit(cache=True, nogil=True)
def spanned_residues(basis, residues, primes, is_spanned):
    """is_spanned[e]: does vector e depend on the independent set `basis`, modulo every prime alive there?"""
    n_primes, n_items, n_columns = residues.shape
    size = basis.shape[0]
    echelon = np.empty((size, n_columns), np.uint64)
    pivots = np.empty(size, np.int64)
    y = np.empty(n_columns, np.uint64)
    is_spanned[:] = True
    for q in range(n_primes):
        k = 0
        for i in range(size):
            pivot = _remainder(residues[q, basis[i]], echelon, pivots, k, primes[q], y)
            if pivot < 0:
                break
            _absorb(y, pivot, echelon, pivots, k, primes[q])
            k += 1
        if k == size:
            for e in range(n_items):
                if is_spanned[e] and _remainder(residues[q, e], echelon, pivots, k, primes[q], y) >= 0:
                    is_spanned[e] = False


@njit(cache=True, nogil=True)
def circuit_residues(basis, item, residues, primes, is_member):
    """is_member[i]: has basis[i] a non-zero coefficient in `item`? Returns in how many primes `basis` is independent.

    Vectors are eliminated with a unit vector appended, which collects the coefficients.
    """
    n_primes, _, n_columns = residues.shape
    size = basis.shape[0]
    echelon = np.empty((size, n_columns + size), np.uint64)
    pivots = np.empty(size, np.int64)
    x = np.empty(n_columns + size, np.uint64)
    y = np.empty(n_columns + size, np.uint64)
    is_member[:] = False
    n_alive = 0
    for q in range(n_primes):
        k = 0
        for i in range(size):
            x[:n_columns] = residues[q, basis[i]]
            x[n_columns:] = 0
            x[n_columns + i] = 1
            pivot = _remainder(x, echelon, pivots, k, primes[q], y)
            if pivot >= n_columns:
                break
            _absorb(y, pivot, echelon, pivots, k, primes[q])
            k += 1
        if k == size:
            n_alive += 1
            x[:n_columns] = residues[q, item]
            x[n_columns:] = 0
            _remainder(x, echelon, pivots, k, primes[q], y)
            for i in range(size):
                is_member[i] |= y[n_columns + i] != 0
    return n_alive


@njit(cache=True, nogil=True)
def _eliminate(x, rows, pivots, k, y):
    """y = x after elimination by the first k rows, in order; returns the column of its largest entry."""
    n_columns = y.shape[0]
    for c in range(n_columns):
        y[c] = x[c]
    for i in range(k):
        factor = y[pivots[i]]
        if factor != 0.0:
            row = rows[i]
            for c in range(n_columns):
                y[c] -= factor * row[c]
            y[pivots[i]] = 0.0
    best = 0
    for c in range(1, n_columns):
        if abs(y[c]) > abs(y[best]):
            best = c
    return best


@njit(cache=True, nogil=True)
def _append(y, pivot, rows, pivots, k):
    """Make y, scaled to a one at `pivot`, row k."""
    for c in range(y.shape[0]):
        rows[k, c] = y[c] / y[pivot]
    pivots[k] = pivot


@njit(cache=True, nogil=True)
def greedy_floats(orders, vectors, tolerance, limit, chosen):
    """Accept vectors along each row of `orders` (R, M) while their remainder exceeds `tolerance` somewhere.

    `vectors` (n_items, n_columns) float64, each scaled to a largest entry near one. Elimination is by partial
    pivoting. Returns the least and the largest number of items a row got: they differ only when the vectors are
    too close to dependent for the tolerance to mean one matroid.
    """
    n_columns = vectors.shape[1]
    rows = np.empty((limit, n_columns), np.float64)
    pivots = np.empty(limit, np.int64)
    y = np.empty(n_columns, np.float64)
    fewest, most = limit, 0
    for run in range(orders.shape[0]):
        k = 0
        for i in range(orders.shape[1]):
            if k == limit:
                break
            e = orders[run, i]
            pivot = _eliminate(vectors[e], rows, pivots, k, y)
            if abs(y[pivot]) > tolerance:
                _append(y, pivot, rows, pivots, k)
                chosen[run, k] = e
                k += 1
        fewest, most = min(fewest, k), max(most, k)
    return fewest, most


@njit(cache=True, nogil=True)
def spanned_floats(basis, vectors, tolerance, is_spanned):
    """is_spanned[e]: is vector e within `tolerance` of the span of `basis`?"""
    n_items, n_columns = vectors.shape
    rows = np.empty((basis.shape[0], n_columns), np.float64)
    pivots = np.empty(basis.shape[0], np.int64)
    y = np.empty(n_columns, np.float64)
    for k in range(basis.shape[0]):
        pivot = _eliminate(vectors[basis[k]], rows, pivots, k, y)
        _append(y, pivot, rows, pivots, k)
    for e in range(n_items):
        pivot = _eliminate(vectors[e], rows, pivots, basis.shape[0], y)
        is_spanned[e] = not abs(y[pivot]) > tolerance
