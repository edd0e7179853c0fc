"""Greedy orders: larger weight first, equal weights by smaller item; and the top of an order without the rest.

A float64 is compared through a uint64 key that sorts ascending exactly as the greedy order does, so ties,
infinities and signed zeros need no thought and the keys can be sorted by radix. NaN must not occur.
"""

import numpy as np
from numba import njit

_SIGN = np.uint64(1) << np.uint64(63)
_ONE = np.uint64(1)
_STEP = np.uint32(1)
#: Up to so many items are best picked by keeping them sorted during one pass.
_FEW = 12
#: An even scale for weights: fine enough to tell most apart, coarse enough to leave a word room for the item.
_LEVELS = 2.0**40


@njit(cache=True, nogil=True)
def first_nan(weights):
    """Where the first NaN of flat `weights` is, or -1."""
    n_bad = 0
    for i in range(weights.shape[0]):
        n_bad += weights[i] != weights[i]  # no early end, so that it vectorises
    if n_bad > 0:
        for i in range(weights.shape[0]):
            if weights[i] != weights[i]:
                return i
    return -1


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
def _fill_levels(weights, minimize, levels):
    """levels[i] (uint64, 40 bits) never descend along the greedy order: weights on an even scale; False if no use.

    Weights of both signs spread thinly over the keys, which count exponents on both sides of zero. Subtraction,
    multiplication by a positive number and truncation are monotone, rounding included. Infinities take the ends.
    """
    lo, hi = np.inf, -np.inf
    for i in range(weights.shape[0]):
        if abs(weights[i]) < np.inf:
            lo, hi = min(lo, weights[i]), max(hi, weights[i])
    if not (lo < 0.0 < hi and 1e-290 < hi - lo < 1e290):
        return False
    scale = _LEVELS / (hi - lo)
    for i in range(weights.shape[0]):
        x = min(max(weights[i], lo), hi)
        levels[i] = np.uint64((x - lo if minimize else hi - x) * scale)
    return True


@njit(cache=True, nogil=True)
def _sort_by_words(codes, keys, item_bits, digit_bits, n_digits, words, spare, counts, order):
    """The items 0..n-1 by (key, item) into `order`; False, with `order` spoilt, when codes are too close together.

    `codes` never descend along the keys. A word holds the leading bits of a code above its item, so that sorting
    moves eight bytes and looks nothing up. Its top `n_digits` digits are sorted by radix; they tell most codes
    apart, and insertion settles the rest by key.
    """
    n = keys.shape[0]
    least, most = codes[0], codes[0]
    for i in range(n):
        least, most = min(least, codes[i]), max(most, codes[i])
    span = most - least
    drop = np.uint64(0)  # bits of a code that find no room in a word
    while span >> drop >> (np.uint64(64) - item_bits) != 0:
        drop += _ONE
    shift = item_bits  # where the sorted digits start
    while span >> drop >> (shift - item_bits) >> (n_digits * digit_bits) != 0:
        shift += _ONE
    size, mask = np.int64(_ONE << digit_bits), (_ONE << digit_bits) - _ONE
    counts[: np.int64(n_digits) * size] = 0
    for i in range(n):
        word = (((codes[i] - least) >> drop) << item_bits) | np.uint64(i)
        words[i] = word
        rest = word >> shift
        for d in range(np.int64(n_digits)):
            counts[np.uint64(d * size) + (rest & mask)] += _STEP
            rest >>= digit_bits
    source, target = words, spare
    for d in range(np.int64(n_digits)):
        cells = counts[d * size : (d + 1) * size]
        if cells[(source[0] >> shift) & mask] != n:  # else all agree in this digit
            total = np.uint32(0)
            for c in range(size):
                count = cells[c]
                cells[c] = total
                total += count
            for i in range(n):
                word = source[i]
                cell = (word >> shift) & mask
                target[cells[cell]] = word
                cells[cell] += _STEP
            source, target = target, source
        shift += digit_bits
    mask = (_ONE << item_bits) - _ONE
    budget = 4 * n
    highest = source[0] >> item_bits
    order[0] = np.int64(source[0] & mask)
    for i in range(1, n):
        item, high = np.int64(source[i] & mask), source[i] >> item_bits
        if high > highest:
            highest = high
            order[i] = item
            continue
        key = keys[item]
        j = i
        while j > 0:
            other = order[j - 1]
            if keys[other] < key or (keys[other] == key and other < item):
                break
            order[j] = other
            j -= 1
        order[j] = item
        budget -= i - j
        if budget < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def argsort_rows(weights, minimize, orders):
    """The greedy order of each row of `weights` (R, L) float64, into `orders` (R, L) int64."""
    n = weights.shape[1]
    scratch = np.empty(n, np.float64)
    keys = np.empty(n, np.uint64)
    if n < 32:
        for run in range(weights.shape[0]):
            fill_keys(weights[run], minimize, scratch, keys)
            order = orders[run]
            for i in range(n):
                order[i] = i
            insertion_sort(keys, order, 0, n, n * n)
        return
    item_bits = np.uint64(5)
    while _ONE << item_bits < n:
        item_bits += _ONE
    digit_bits = np.uint64(7 if n < 256 else 8 if n < 4096 else 11)
    n_digits = np.uint64(2 if n < 65536 else 3)
    levels = np.empty(n, np.uint64)
    words = np.empty(n, np.uint64)
    spare = np.empty(n, np.uint64)
    counts = np.empty(3 * 2048, np.uint32)
    for run in range(weights.shape[0]):
        fill_keys(weights[run], minimize, scratch, keys)
        order = orders[run]
        if not (
            _fill_levels(weights[run], minimize, levels)
            and _sort_by_words(levels, keys, item_bits, digit_bits, n_digits, words, spare, counts, order)
        ) and not _sort_by_words(keys, keys, item_bits, digit_bits, n_digits, words, spare, counts, order):
            for i in range(n):
                order[i] = i
            radix_sort(keys, order, np.empty(n, np.int64), np.empty(6 * 2048, np.int64))


@njit(cache=True, nogil=True)
def sort_rows(bases, n_items):
    """Sort each row of `bases` (R, K) int64, a set of items below `n_items`, in place by a sweep over all items."""
    is_chosen = np.zeros(n_items, np.bool_)
    for run in range(bases.shape[0]):
        _sweep(bases[run], is_chosen)


@njit(cache=True, nogil=True)
def _sweep(basis, is_chosen):
    """Sort a set of items; `is_chosen` has a False per item on entry and on return."""
    size = basis.shape[0]
    for i in range(size):
        is_chosen[basis[i]] = True
    k = 0
    for e in range(is_chosen.shape[0]):
        if k == size:
            break
        basis[k] = e  # overwritten unless e is chosen: no branch on it
        k += is_chosen[e]
        is_chosen[e] = False


@njit(cache=True, nogil=True)
def _kth_largest(values, n, k, sample):
    """The k-th largest (k >= 1) of values[:n]; overwrites `values`.

    A small sorted sample brackets the answer; only what falls between the brackets is kept, and so on until
    little is left. Compaction is branch-free, so random data costs about one pass.
    """
    for _ in range(16):  # values arranged against the sample are sorted in the end
        if n <= 48:
            break
        s = _fill_sample(values, n, sample)
        # position of the answer in the sample, from the top: expected, and a deviation and a half to both sides
        centre = k / n * s
        spread = 1.5 * np.sqrt(centre * (1.0 - k / n)) + 1.0
        above, below = int(centre - spread), int(centre + spread) + 1
        hi = np.inf if above < 0 else sample[s - 1 - above]
        lo = -np.inf if below >= s else sample[s - 1 - below]
        n_above, m = 0, 0
        for i in range(n):
            n_above += values[i] > hi
            m += (values[i] >= lo) & (values[i] <= hi)
        j = 0
        if n_above < k <= n_above + m:
            if lo == hi:
                return lo
            if m == n:  # the brackets exclude nothing: few distinct values
                break
            for i in range(n):
                x = values[i]
                values[j] = x
                j += (x >= lo) & (x <= hi)
            k -= n_above
        elif k <= n_above:
            for i in range(n):
                x = values[i]
                values[j] = x
                j += x > hi
        else:
            for i in range(n):
                x = values[i]
                values[j] = x
                j += x < lo
            k -= n_above + m
        n = j
    rest = values[:n]
    rest.sort()
    return rest[n - k]


@njit(cache=True, nogil=True)
def _fill_sample(values, n, sample):
    """Some of values[:n], n >= 32, evenly spaced and sorted, into `sample`; returns how many."""
    s = 32
    while s * s < n and s < sample.shape[0]:
        s *= 2
    for i in range(s):
        sample[i] = values[i * (n // s)]
    sample[:s].sort()
    return s


@njit(cache=True, nogil=True)
def _separating(gains, k):
    """A number that exactly k of the gains exceed, or NaN when it is not found soon: ties, infinities, heavy tails.

    Nothing is moved and counting is vectorised, so that ten counts of a hundred gains cost less than one sort.
    """
    n = gains.shape[0]
    lo, hi = gains[0], gains[0]
    for i in range(n):
        lo, hi = min(lo, gains[i]), max(hi, gains[i])
    if lo < -1e300 or hi > 1e300:
        return np.nan
    n_lo, n_hi = n, 0  # how many exceed lo and hi, or a little more
    for i in range(15):
        share = 0.5 if i % 3 == 2 else (n_lo - k) / (n_lo - n_hi)  # bisection now and then, against skew
        t = lo + share * (hi - lo)
        if not (lo < t < hi):
            break
        n_above = 0
        for j in range(n):
            n_above += gains[j] > t
        if n_above == k:
            return t
        if n_above > k:
            lo, n_lo = t, n_above
        else:
            hi, n_hi = t, n_above
    return np.nan


@njit(cache=True, nogil=True)
def _fill_few(gains, k, best, out):
    """What `_fill_top` does, for small k: one pass that keeps the best so far, `best` (k,), sorted."""
    k_filled = 0
    for i in range(gains.shape[0]):
        x = gains[i]
        if k_filled == k and x <= best[k - 1]:
            continue
        j = min(k_filled, k - 1)
        while j > 0 and best[j - 1] < x:
            best[j] = best[j - 1]
            out[j] = out[j - 1]
            j -= 1
        best[j] = x
        out[j] = i
        k_filled = min(k_filled + 1, k)
    for i in range(1, k):
        position = out[i]
        j = i
        while j > 0 and out[j - 1] > position:
            out[j] = out[j - 1]
            j -= 1
        out[j] = position


@njit(cache=True, nogil=True)
def _fill_top(gains, k, sample, values, scratch, positions, out):
    """Positions of the k largest of `gains`, ties by smaller position, ascending into out[:k]; 0 < k < n.

    One pass collects what a sample says may be among them, and a little more; the exact answer is found there.
    """
    n = gains.shape[0]
    if n <= 2048:
        threshold = _separating(gains, k)
        if not np.isnan(threshold):
            j = 0
            for i in range(n):
                if j == k:
                    break
                out[j] = i  # overwritten unless i is chosen: no branch on it
                j += gains[i] > threshold
            return
    if k <= _FEW:
        _fill_few(gains, k, values, out)
        return
    lo = -np.inf
    if n > 64:
        s = _fill_sample(gains, n, sample)
        centre = k / n * s
        below = int(centre + 3.0 * np.sqrt(centre * (1.0 - k / n))) + 2
        if below < s:
            lo = sample[s - 1 - below]
    m = 0
    for i in range(n):
        values[m] = gains[i]
        positions[m] = i
        m += gains[i] >= lo
    if m < k:  # the sample misled
        m = n
        for i in range(n):
            values[i] = gains[i]
            positions[i] = i
    for i in range(m):
        scratch[i] = values[i]
    threshold = _kth_largest(scratch, m, k, sample)
    n_above = 0
    for i in range(m):
        n_above += values[i] > threshold
    ties = k - n_above
    j = 0
    for i in range(m):
        if j == k:
            break
        is_tied = (values[i] == threshold) & (ties > 0)
        ties -= is_tied
        out[j] = positions[i]
        j += is_tied | (values[i] > threshold)


@njit(cache=True, nogil=True)
def top_rows(weights, minimize, k, bases):
    """The first k items of each row's greedy order, ascending, into `bases` (R, k); 0 < k < L."""
    n = weights.shape[1]
    negated = np.empty(n if minimize else 0, np.float64)
    room = k if k <= _FEW else n
    sample = np.empty(1024, np.float64)
    values = np.empty(room, np.float64)
    scratch = np.empty(room, np.float64)
    positions = np.empty(room, np.int64)
    for run in range(weights.shape[0]):
        for i in range(negated.shape[0]):
            negated[i] = -weights[run, i]
        gains = negated if minimize else weights[run]
        _fill_top(gains, k, sample, values, scratch, positions, bases[run])


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
    sample = np.empty(1024, np.float64)
    values = np.empty(widest, np.float64)
    scratch = np.empty(widest, np.float64)
    positions = np.empty(widest, np.int64)
    top = np.empty(widest, np.int64)
    is_chosen = np.zeros(n, np.bool_)
    sign = -1.0 if minimize else 1.0
    for run in range(weights.shape[0]):
        row = weights[run]
        basis = bases[run]
        k = 0
        for b in range(capacities.shape[0]):
            block, capacity = members[starts[b] : starts[b + 1]], capacities[b]
            size = block.shape[0]
            if capacity == size:
                for i in range(size):
                    basis[k + i] = block[i]
            elif capacity == 1:
                best, highest = block[0], sign * row[block[0]]
                for i in range(1, size):
                    x = sign * row[block[i]]
                    best = block[i] if x > highest else best
                    highest = max(x, highest)
                basis[k] = best
            elif capacity > 1:
                for i in range(size):
                    gains[i] = sign * row[block[i]]
                _fill_top(gains[:size], capacity, sample, values, scratch, positions, top)
                for i in range(capacity):
                    basis[k + i] = block[top[i]]
            k += capacity
        if basis.shape[0] * 16 < n:
            basis.sort()
        else:  # a sweep over the items beats sorting most of them
            _sweep(basis, is_chosen)
