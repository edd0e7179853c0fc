"""Linear independence along given orders: exact over one or several prime fields, or by tolerance in floats.

Over a prime field the accepted vectors are kept in reduced echelon form, so a candidate's coefficients are
read off its pivot columns and its remainder is one sum of products, reduced modulo p now and then. The
residues come as uint64 and are read as int64: products of two stay below 2^62.
"""

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel


@kernel
def _inverse(a, p):
    """The inverse of a modulo the prime p (int64, 0 < a < p), by Euclid."""
    old_r, r, old_s, s = p, a, np.int64(0), np.int64(1)
    while r != 0:
        q = old_r // r
        old_r, r = r, old_r - q * r
        old_s, s = s, old_s - q * s
    return old_s % p


@inlined
def _reduce(y, p, reciprocal):
    """y modulo p for 0 <= y < 2^63, by a product that vectorises where a division would not.

    The rounded quotient is off by one at most: its relative error is below 3 * 2^-53 and it stays below 2^47,
    as y < 2^63 for p > 2^16 and y <= p + 2^30 p^2 for the other p.
    """
    r = y - np.int64(y * reciprocal) * p
    if r < 0:
        r += p
    if r >= p:
        r -= p
    return r


@inlined
def _remainder(vectors, q, e, echelons, pivots, k, p, width, ys):
    """ys[q] = vector e minus its projection on the first k rows of echelons[q]; returns where it is not 0, or -1.

    All modulo p, prime number q. Only the first `width` columns are searched, and one with 1 or -1 is preferred:
    such a pivot needs no inverse. Values are below p < 2^31, so `batch` products and a remainder fit in 63 bits.
    """
    n_columns = ys.shape[1]
    reciprocal = 1.0 / p
    batch = min(np.int64(1) << 30, np.int64(2**63 - 1) // (p * p) - 1)
    for c in range(n_columns):
        ys[q, c] = vectors[q, e, c]
    pending = 0
    for i in range(k):
        coefficient = vectors[q, e, pivots[q, i]]
        if coefficient != 0:
            factor = p - coefficient
            for c in range(n_columns):
                ys[q, c] += factor * echelons[q, i, c]
            pending += 1
            if pending == batch:
                for c in range(n_columns):
                    ys[q, c] = _reduce(ys[q, c], p, reciprocal)
                pending = 0
    if pending > 0:
        for c in range(n_columns):
            ys[q, c] = _reduce(ys[q, c], p, reciprocal)
    pivot = -1
    for c in range(width):
        if ys[q, c] != 0:
            pivot = c
            if ys[q, c] == 1 or ys[q, c] == p - 1:
                break
    return pivot


@inlined
def _absorb(ys, q, pivot, echelons, pivots, k, p):
    """Make ys[q] row k of the reduced echelon form, with a one at `pivot` and zeros above it."""
    n_columns = ys.shape[1]
    reciprocal = 1.0 / p
    if ys[q, pivot] == 1:
        for c in range(n_columns):
            echelons[q, k, c] = ys[q, c]
    else:
        scale = ys[q, pivot] if ys[q, pivot] == p - 1 else _inverse(ys[q, pivot], p)
        for c in range(n_columns):
            echelons[q, k, c] = _reduce(ys[q, c] * scale, p, reciprocal)
    pivots[q, k] = pivot
    for i in range(k):
        if echelons[q, i, pivot] != 0:
            factor = p - echelons[q, i, pivot]
            for c in range(n_columns):
                echelons[q, i, c] = _reduce(echelons[q, i, c] + factor * echelons[q, k, c], p, reciprocal)


@inlined
def greedy_residue(order, length, taken, vectors, primes, limit, echelons, pivots, ys, found, is_alive, chosen):
    """Accept vectors along the first `length` entries of `order` (M,), from the `taken` ones on; returns how many.

    A vector is accepted while it is independent modulo some prime that is still alive: one in which the accepted set
    is dependent is dead for the rest, since it can prove nothing any more. `vectors` (P, n_items, n_columns) int64
    are residues modulo each of `primes` (P,) uint64. `chosen` (limit,) gets the taken items and those accepted, at
    most `limit`. The rest is room: `echelons` (P, limit, n_columns), `pivots` (P, limit), `ys` (P, n_columns) and
    `found` (P,) int64, `is_alive` (P,) bool.
    """
    n_primes, n_taken, n_columns = primes.shape[0], taken.shape[0], ys.shape[1]
    for q in range(n_primes):
        is_alive[q] = True
    k = 0
    for i in range(-n_taken, length):
        if k == limit:
            break
        e = order[i] if i >= 0 else taken[n_taken + i]
        is_independent = False
        for q in range(n_primes):
            if is_alive[q]:
                p = np.int64(primes[q])
                found[q] = _remainder(vectors, q, e, echelons, pivots, k, p, n_columns, ys)
                is_independent |= found[q] >= 0
        if is_independent:
            for q in range(n_primes):
                if is_alive[q]:
                    if found[q] >= 0:
                        _absorb(ys, q, found[q], echelons, pivots, k, np.int64(primes[q]))
                    else:
                        is_alive[q] = False
            chosen[k] = e
            k += 1
    return k


def _work(orders, lengths, taken, vectors, modulus, limit, *others):
    return orders.size * limit * vectors.shape[-1]


@kernel(work=_work)
def greedy_residues(orders, lengths, taken, residues, primes, limit, chosen, sizes):
    """`greedy_residue` along the first lengths[r] entries of each row of `orders` (R, M), into `chosen`.

    No `lengths` (an empty array) means whole rows. `residues` (P, n_items, n_columns) uint64 holds the vectors.
    `sizes` (R,) gets how many items each row of `chosen` has.
    """
    n_primes, _, n_columns = residues.shape
    vectors = residues.view(np.int64)
    echelons = np.empty((n_primes, limit, n_columns), np.int64)
    pivots = np.empty((n_primes, limit), np.int64)
    ys = np.empty((n_primes, n_columns), np.int64)
    found = np.empty(n_primes, np.int64)
    is_alive = np.empty(n_primes, np.bool_)
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        order, row = orders[run], chosen[run]
        sizes[run] = greedy_residue(
            order, length, taken, vectors, primes, limit, echelons, pivots, ys, found, is_alive, row
        )


@kernel
def spanned_residues(basis, residues, primes, is_spanned):
    """is_spanned[e]: does vector e depend on the independent set `basis`, modulo every prime alive there?"""
    n_primes, n_items, n_columns = residues.shape
    vectors = residues.view(np.int64)
    size = basis.shape[0]
    echelons = np.empty((n_primes, size, n_columns), np.int64)
    pivots = np.empty((n_primes, size), np.int64)
    ys = np.empty((n_primes, n_columns), np.int64)
    is_spanned[:] = True
    for q in range(n_primes):
        p = np.int64(primes[q])
        k = 0
        for i in range(size):
            pivot = _remainder(vectors, q, basis[i], echelons, pivots, k, p, n_columns, ys)
            if pivot < 0:
                break
            _absorb(ys, q, pivot, echelons, pivots, k, p)
            k += 1
        if k == size:
            for e in range(n_items):
                if is_spanned[e] and _remainder(vectors, q, e, echelons, pivots, k, p, n_columns, ys) >= 0:
                    is_spanned[e] = False


@kernel
def monic_rows(items, residues, p, rows):
    """rows[i] = the vector of items[i] times what makes its first entry that is not 0 a one, modulo the prime p."""
    for i in range(items.shape[0]):
        scale = np.int64(0)
        for c in range(rows.shape[1]):
            entry = np.int64(residues[items[i], c])
            if scale == 0 and entry != 0:
                scale = _inverse(entry, p)
            rows[i, c] = entry * scale % p


@kernel
def circuits_residues(basis, items, residues, p, is_member):
    """Set is_member[j, i] where basis[i] has a non-zero coefficient in items[j], modulo one prime p.

    `residues` (n_items, n_columns) uint64 are the vectors modulo p. Returns False, with nothing set, where those of
    `basis` are dependent. They are eliminated once, with unit vectors appended, which collect the coefficients.
    """
    n_columns, size = residues.shape[1], basis.shape[0]
    extended = np.zeros((1, size + 1, n_columns + size), np.int64)
    echelons = np.empty((1, size, n_columns + size), np.int64)
    pivots = np.empty((1, size), np.int64)
    ys = np.empty((1, n_columns + size), np.int64)
    for i in range(size):
        for c in range(n_columns):
            extended[0, i, c] = np.int64(residues[basis[i], c])
        extended[0, i, n_columns + i] = 1
        pivot = _remainder(extended, 0, i, echelons, pivots, i, p, n_columns, ys)
        if pivot < 0:
            return False
        _absorb(ys, 0, pivot, echelons, pivots, i, p)
    for j in range(items.shape[0]):
        for c in range(n_columns):
            extended[0, size, c] = np.int64(residues[items[j], c])
        _remainder(extended, 0, size, echelons, pivots, size, p, n_columns, ys)
        for i in range(size):
            is_member[j, i] |= ys[0, n_columns + i] != 0
    return True


@inlined
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


@inlined
def _append(y, pivot, rows, pivots, k):
    """Make y, scaled to a one at `pivot`, row k."""
    for c in range(y.shape[0]):
        rows[k, c] = y[c] / y[pivot]
    pivots[k] = pivot


@inlined
def greedy_float(order, length, taken, is_taken, vectors, tolerance, limit, rows, pivots, y, chosen):
    """As `greedy_residue`: accept vectors while their remainder exceeds `tolerance` somewhere.

    `vectors` (n_items, n_columns) float64, each scaled to a largest entry near one. Elimination is by partial
    pivoting. Orders lead to different sizes only when the vectors are too close to dependent for the tolerance to
    mean one matroid. `is_taken` (n_items,) bool marks the taken ones, of which rounding may leave a remainder by
    themselves. Room: `rows` (limit, n_columns) and `y` (n_columns,) float64, `pivots` (limit,) int64.
    """
    n_taken, k = taken.shape[0], 0
    for i in range(-n_taken, length):
        if k == limit:
            break
        e = order[i] if i >= 0 else taken[n_taken + i]
        if i >= 0 and is_taken[e]:
            continue
        pivot = _eliminate(vectors[e], rows, pivots, k, y)
        if abs(y[pivot]) > (tolerance if i >= 0 else 0.0):
            _append(y, pivot, rows, pivots, k)
            chosen[k] = e
            k += 1
    return k


@kernel(work=_work)
def greedy_floats(orders, lengths, taken, vectors, tolerance, limit, chosen, sizes):
    """`greedy_float` along the first lengths[r] entries of each row of `orders` (R, M), into `chosen`.

    No `lengths` (an empty array) means whole rows. `sizes` (R,) gets how many items each row of `chosen` has.
    """
    n_items, n_columns = vectors.shape
    rows = np.empty((limit, n_columns), np.float64)
    pivots = np.empty(limit, np.int64)
    y = np.empty(n_columns, np.float64)
    is_taken = np.zeros(n_items, np.bool_)
    for i in range(taken.shape[0]):
        is_taken[taken[i]] = True
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        order, row = orders[run], chosen[run]
        sizes[run] = greedy_float(order, length, taken, is_taken, vectors, tolerance, limit, rows, pivots, y, row)


@kernel
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
