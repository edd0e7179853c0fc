"""Greedy orders: larger weight first, equal weights by smaller item.

A float64 is compared through a uint64 key that sorts ascending exactly as the greedy order does, so ties,
infinities and signed zeros need no thought and the keys can be sorted by radix. NaN must not occur.
"""

import numpy as np

from matroid_bandits.kernels.compiling import called, fast, inlined, kernel

_SIGN = np.uint64(1) << np.uint64(63)
_ONE = np.uint64(1)
_STEP = np.uint32(1)
#: An even scale for weights: fine enough to tell most apart, coarse enough to leave a word room for the item.
_LEVELS = 2.0**40
#: Fewer weights than this are sorted by insertion.
_FEW = 32


@kernel
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


@inlined
def fill_keys(weights, n, scratch, bits, keys):
    """keys[i] (uint64) ascends along the greedy order of the first n `weights` (float64).

    `scratch` is float64 like it, and `bits` the same memory as uint64.
    """
    for i in range(n):
        scratch[i] = weights[i] + 0.0  # -0.0 becomes 0.0: the two are equal weights
    for i in range(n):
        b = bits[i]
        # a key that descends: the bits of negatives as they are, of the rest all but the sign flipped
        keys[i] = b if b & _SIGN else ~(b | _SIGN)


@fast  # there are no NaNs: the search uses SIMD
def _ends(weights, n):
    """The least and the largest of the first n weights."""
    lo, hi = weights[0], weights[0]
    for i in range(n):
        lo = weights[i] if weights[i] < lo else lo
        hi = weights[i] if weights[i] > hi else hi
    return lo, hi


@inlined
def _fill_levels(weights, n, levels):
    """levels[i] (uint64, 40 bits) never descend along the greedy order: weights on an even scale; False if no use.

    Weights of both signs spread thinly over the keys, which count exponents on both sides of zero. Subtraction,
    multiplication by a positive number and truncation are monotone, rounding included. Infinities take the ends.
    """
    lo, hi = _ends(weights, n)
    if not (-np.inf < lo and hi < np.inf):
        lo, hi = np.inf, -np.inf
        for i in range(n):
            x = weights[i]
            if -np.inf < x < np.inf:
                lo, hi = x if x < lo else lo, x if x > hi else hi
    is_of_use = lo < 0.0 < hi and 1e-290 < hi - lo < 1e290
    if is_of_use:
        scale = _LEVELS / (hi - lo)
        for i in range(n):
            x = weights[i]
            x = lo if x < lo else x
            x = hi if x > hi else x
            levels[i] = np.uint64((hi - x) * scale)
    return is_of_use


@inlined
def _sort_by_words(codes, keys, n, item_bits, digit_bits, n_digits, words, counts, order):
    """The items 0..n-1 by (key, item) into `order`; False, with `order` spoilt, when codes are too close together.

    `codes` never descend along the keys. A word holds the leading bits of a code above its item, so that sorting
    moves eight bytes and looks nothing up. Its top `n_digits` digits are sorted by radix, from one half of `words`
    (2n,) into the other; they tell most codes apart, and insertion settles the rest by key.
    """
    least, most = codes[0], codes[0]
    for i in range(n):
        least = codes[i] if codes[i] < least else least
        most = codes[i] if codes[i] > most else most
    span = most - least
    drop = np.uint64(0)  # bits of a code that find no room in a word
    while span >> drop >> (np.uint64(64) - item_bits) != 0:
        drop += _ONE
    shift = item_bits  # where the sorted digits start
    while span >> drop >> (shift - item_bits) >> (n_digits * digit_bits) != 0:
        shift += _ONE
    size, mask = _ONE << digit_bits, (_ONE << digit_bits) - _ONE
    for c in range(n_digits * size):
        counts[c] = 0
    for i in range(n):
        word = (((codes[i] - least) >> drop) << item_bits) | np.uint64(i)
        words[i] = word
        rest = word >> shift
        for d in range(n_digits):
            counts[d * size + (rest & mask)] += _STEP
            rest >>= digit_bits
    source, target = np.uint64(0), np.uint64(n)
    for d in range(n_digits):
        base = d * size
        if counts[base + ((words[source] >> shift) & mask)] != n:  # else all agree in this digit
            total = np.uint32(0)
            for c in range(base, base + size):
                count = counts[c]
                counts[c] = total
                total += count
            for i in range(np.uint64(n)):
                word = words[source + i]
                cell = base + ((word >> shift) & mask)
                words[target + np.uint64(counts[cell])] = word
                counts[cell] += _STEP
            source, target = target, source
        shift += digit_bits
    mask = (_ONE << item_bits) - _ONE
    budget = 4 * n
    highest = words[source] >> item_bits
    order[0] = np.int64(words[source] & mask)
    for i in range(1, n):
        word = words[source + np.uint64(i)]
        item, high = np.int64(word & mask), word >> item_bits
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
            break
    return budget >= 0


@called
def _sort_close(keys, n, order):
    """Sort the items 0..n-1 by (key, item) into `order`, whatever the keys, by Shell's method."""
    for i in range(n):
        order[i] = i
    gap = n
    while gap > 1:
        gap = 1 if gap < 9 or n < _FEW else gap * 4 // 9
        for i in range(gap, n):
            item, j = order[i], i
            key = keys[item]
            while j >= gap:
                other = order[j - gap]
                if keys[other] < key or (keys[other] == key and other < item):
                    break
                order[j] = other
                j -= gap
            order[j] = item


@called
def argsort_row(weights, n, order, scratch, bits, keys, levels, words, counts):
    """The greedy order of the first n `weights` (float64) into `order` (int64).

    Work space of at least n: `scratch` float64 and `bits`, the same memory as uint64; `keys` and `levels`, `words` of
    2n, uint64; `counts` (3 x 2048,) uint32. There are no slices of arrays, and none is put in the place of another,
    since references would be counted for that.
    """
    fill_keys(weights, n, scratch, bits, keys)
    is_sorted = False
    if n >= _FEW:
        item_bits = np.uint64(5)
        while _ONE << item_bits < n:
            item_bits += _ONE
        digit_bits = np.uint64(7 if n < 256 else 8 if n < 4096 else 11)
        n_digits = np.uint64(2 if n < 65536 else 3)
        if not _fill_levels(weights, n, levels):
            for i in range(n):
                levels[i] = keys[i]
        is_sorted = _sort_by_words(levels, keys, n, item_bits, digit_bits, n_digits, words, counts, order)
    if not is_sorted:
        _sort_close(keys, n, order)


def _argsort_plainly(weights, orders):
    orders[:] = np.argsort(-weights, axis=1, kind="stable")


@kernel(plain=_argsort_plainly)
def argsort_rows(weights, orders):
    """The greedy order of each row of `weights` (R, L) float64, into `orders` (R, L) int64."""
    n = weights.shape[1]
    scratch = np.empty(n, np.float64)
    bits = scratch.view(np.uint64)
    keys, levels, words = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(2 * n, np.uint64)
    counts = np.empty(3 * 2048, np.uint32)
    for run in range(weights.shape[0]):
        argsort_row(weights[run], n, orders[run], scratch, bits, keys, levels, words, counts)


@kernel
def argsort_open_rows(weights, is_open, orders, lengths):
    """The greedy order of each row's open items alone, into the first lengths[r] cells of each row of `orders`.

    `is_open` is (R, L) bool, or (1, L) for all rows alike; `lengths` (R,) int64 is filled.
    """
    n = weights.shape[1]
    members = np.empty(n, np.int64)
    places = np.empty(n, np.int64)
    gains = np.empty(n, np.float64)
    for run in range(weights.shape[0]):
        row, order = weights[run], orders[run]
        mask = is_open[run if is_open.shape[0] > 1 else 0]
        m = 0
        for e in range(n):
            members[m] = e  # overwritten unless e is open: no branch on it
            gains[m] = row[e]
            m += mask[e]
        argsort_rows(gains[:m].reshape(1, m), places[:m].reshape(1, m))
        for i in range(m):
            order[i] = members[places[i]]
        lengths[run] = m
