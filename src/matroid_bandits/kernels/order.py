"""Greedy orders: larger weight first, equal weights by smaller item; and the top of an order without the rest.

A float64 is compared through a uint64 key that sorts ascending exactly as the greedy order does, so ties,
infinities and signed zeros need no thought and the keys can be sorted by radix. NaN must not occur.
"""

import numpy as np
from numba import njit

_SIGN = np.uint64(1) << np.uint64(63)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def fill_keys(weights, minimize, scratch, keys):
    """keys[i] (uint64) ascends along the greedy order of `weights` (float64); `scratch` is float64 like it."""
    n = weights.shape[0]
    for i in range(n):
        scratch[i] = weights[i] + 0.0  # -0.0 becomes 0.0: the two are equal weights
    bits = scratch.view(np.uint64)
    for i in range(n):
        b = bits[i]
        # ascending key: flip all bits of negatives, the sign bit of the rest; then invert it to descend
        key = ~b if b & _SIGN else b | _SIGN
        keys[i] = key if minimize else ~key


@njit(cache=True, nogil=True)
def insertion_sort(keys, order, lo, hi, budget):
    """Sort order[lo:hi] by (key, item) in place, at most `budget` moves; False when the budget ran out.

    On False the slice is still a permutation of what it was.
    """
    for i in range(lo + 1, hi):
        item = order[i]
        key = keys[item]
        j = i - 1
        while j >= lo:
            other = order[j]
            if keys[other] < key or (keys[other] == key and other < item):
                break
            order[j + 1] = other
            j -= 1
        order[j + 1] = item
        budget -= i - 1 - j
        if budget < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def radix_sort(keys, order, scratch_order, counts):
    """Sort `order` (int64 items, ascending on entry) stably by keys[item]; least significant digit first.

    `counts` is an int64 work array of at least 8 x 256 cells (6 x 2048 from 8192 items on). Digits in which
    all keys agree cost nothing, so equal weights and small integers are cheaper than the worst case.
    """
    n = order.shape[0]
    bits = np.uint64(8) if n < 8192 else np.uint64(11)
    n_digits = 8 if n < 8192 else 6
    size = np.int64(_ONE << bits)
    mask = (_ONE << bits) - _ONE
    counts[: n_digits * size] = 0
    for i in range(n):
        key = keys[order[i]]
        for d in range(n_digits):
            counts[d * size + np.int64((key >> (np.uint64(d) * bits)) & mask)] += 1
    source, target = order, scratch_order
    first = keys[order[0]] if n > 0 else np.uint64(0)
    for d in range(n_digits):
        shift = np.uint64(d) * bits
        base = d * size
        if counts[base + np.int64((first >> shift) & mask)] == n:
            continue
        total = 0
        for c in range(base, base + size):
            total, counts[c] = total + counts[c], total
        for i in range(n):
            item = source[i]
            cell = base + np.int64((keys[item] >> shift) & mask)
            target[counts[cell]] = item
            counts[cell] += 1
        source, target = target, source
    if source is not order:
        order[:] = source


@njit(cache=True, nogil=True)
def argsort_rows(weights, minimize, orders):
    """The greedy order of each row of `weights` (R, L) float64, into `orders` (R, L) int64."""
    n = weights.shape[1]
    scratch = np.empty(n, np.float64)
    keys = np.empty(n, np.uint64)
    scratch_order = np.empty(n, np.int64)
    counts = np.empty(8 * 256 if n < 8192 else 6 * 2048, np.int64)
    for run in range(weights.shape[0]):
        fill_keys(weights[run], minimize, scratch, keys)
        order = orders[run]
        for i in range(n):
            order[i] = i
        if n < 64:
            insertion_sort(keys, order, 0, n, n * n)
        else:
            radix_sort(keys, order, scratch_order, counts)


@njit(cache=True, nogil=True)
def _kth_largest(values, n, k, sample):
    """The k-th largest (k >= 1) of values[:n]; overwrites `values`.

    A small sorted sample brackets the answer; only what falls between the brackets is kept, and so on until
    little is left. Compaction is branch-free, so random data costs about one pass.
    """
    while n > 48:
        s = 32
        while s * s < n and s < sample.shape[0]:
            s *= 2
        for i in range(s):
            sample[i] = values[i * (n // s)]
        head = sample[:s]
        head.sort()
        # expected position of the answer from the top, three standard deviations to both sides
        centre = k / n * s
        spread = 1.5 * np.sqrt(s * 1.0) + 1.0
        above, below = int(centre - spread), int(centre + spread) + 1
        hi = np.inf if above < 0 else head[s - 1 - above]
        lo = -np.inf if below >= s else head[s - 1 - below]
        n_above = 0
        m = 0
        for i in range(n):
            n_above += values[i] > hi
            m += (values[i] >= lo) & (values[i] <= hi)
        if n_above < k <= n_above + m:
            if lo == hi:
                return lo
            if m == n:  # the brackets exclude nothing: few distinct values
                break
            j = 0
            for i in range(n):
                x = values[i]
                values[j] = x
                j += (x >= lo) & (x <= hi)
            k -= n_above
            n = m
        elif k <= n_above:
            j = 0
            for i in range(n):
                x = values[i]
                values[j] = x
                j += x > hi
            n = n_above
        else:
            j = 0
            for i in range(n):
                x = values[i]
                values[j] = x
                j += x < lo
            k -= n_above + m
            n = n - n_above - m
    rest = values[:n]
    rest.sort()
    return rest[n - k]


@njit(cache=True, nogil=True)
def _fill_top(gains, k, scratch, sample, out):
    """Positions of the k largest of `gains`, ties by smaller position, ascending into out[:k]; 0 < k < n."""
    n = gains.shape[0]
    for i in range(n):
        scratch[i] = gains[i]
    threshold = _kth_largest(scratch, n, k, sample)
    n_above = 0
    for i in range(n):
        n_above += gains[i] > threshold
    ties = k - n_above
    j = 0
    last = out.shape[0] - 1
    for i in range(n):
        tied = (gains[i] == threshold) & (ties > 0)
        ties -= tied
        out[min(j, last)] = i
        j += tied | (gains[i] > threshold)
        if j == k:
            break


@njit(cache=True, nogil=True)
def top_rows(weights, minimize, k, bases):
    """The first k items of each row's greedy order, ascending, into `bases` (R, k); 0 < k < L."""
    n = weights.shape[1]
    gains = np.empty(n, np.float64)
    scratch = np.empty(n, np.float64)
    sample = np.empty(1024, np.float64)
    for run in range(weights.shape[0]):
        row = weights[run]
        for i in range(n):
            gains[i] = -row[i] if minimize else row[i]
        _fill_top(gains, k, scratch, sample, bases[run])


@njit(cache=True, nogil=True)
def top_of_blocks(weights, minimize, starts, members, capacities, bases):
    """The best `capacities[b]` items of every block of every row, ascending into `bases` (R, K).

    Block b has the items members[starts[b]:starts[b + 1]], ascending; capacities are at most the block's size.
    """
    n = weights.shape[1]
    widest = 0
    for b in range(capacities.shape[0]):
        widest = max(widest, starts[b + 1] - starts[b])
    gains = np.empty(widest, np.float64)
    scratch = np.empty(widest, np.float64)
    sample = np.empty(1024, np.float64)
    top = np.empty(widest, np.int64)
    is_chosen = np.empty(n, np.bool_)
    n_chosen = bases.shape[1]
    for run in range(weights.shape[0]):
        row = weights[run]
        basis = bases[run]
        k = 0
        for b in range(capacities.shape[0]):
            lo, size, capacity = starts[b], starts[b + 1] - starts[b], capacities[b]
            if capacity == 0:
                continue
            if capacity == size:
                for i in range(size):
                    basis[k + i] = members[lo + i]
            else:
                for i in range(size):
                    x = row[members[lo + i]]
                    gains[i] = -x if minimize else x
                if capacity == 1:
                    best = 0
                    for i in range(1, size):
                        if gains[i] > gains[best]:
                            best = i
                    basis[k] = members[lo + best]
                else:
                    _fill_top(gains[:size], capacity, scratch, sample, top)
                    for i in range(capacity):
                        basis[k + i] = members[lo + top[i]]
            k += capacity
        if n_chosen * 16 < n:
            basis.sort()
        else:  # a sweep over the items beats sorting most of them
            is_chosen[:] = False
            for i in range(n_chosen):
                is_chosen[basis[i]] = True
            k = 0
            for e in range(n):
                if is_chosen[e]:
                    basis[k] = e
                    k += 1
