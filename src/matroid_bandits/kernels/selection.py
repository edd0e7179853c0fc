"""The top of a greedy order without the rest, of a row or of every block of it; and chosen rows sorted."""

import numpy as np

from matroid_bandits.kernels.compiling import njit

#: Up to so many items are best picked by keeping them sorted during one pass.
_FEW = 12


@njit(cache=True, nogil=True)
def _sort(basis, is_chosen):
    """Sort a set of items in the way that suits its size; `is_chosen` is as for `_sweep`."""
    if basis.shape[0] * 32 < is_chosen.shape[0]:
        basis.sort()
    else:
        _sweep(basis, is_chosen)


@njit(cache=True, nogil=True)
def _sweep(basis, is_chosen):
    """Sort a set of items by going through all items; `is_chosen` has a False per item on entry and on return."""
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
            if m == n:  # the brackets exclude nothing: perhaps most are equal to the lower one
                n_more = 0
                for i in range(n):
                    n_more += values[i] > lo
                if n_more < k:
                    return lo
                if n_more == n:
                    break
                for i in range(n):
                    x = values[i]
                    values[j] = x
                    j += x > lo
            else:
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
        if lo == sample[s - 1]:  # the best of the sample are equal: perhaps the answer, and nothing need be collected
            n_above, n_equal = 0, 0
            for i in range(n):
                n_above += gains[i] > lo
                n_equal += gains[i] == lo
            if n_above < k <= n_above + n_equal:
                ties, j = k - n_above, 0
                for i in range(n):
                    if j == k:
                        break
                    is_tied = (gains[i] == lo) & (ties > 0)
                    ties -= is_tied
                    out[j] = i
                    j += is_tied | (gains[i] > lo)
                return
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
def top_rows(weights, k, bases):
    """The first k items of each row's greedy order, ascending, into `bases` (R, k); 0 < k < L."""
    n = weights.shape[1]
    room = k if k <= _FEW else n
    sample = np.empty(1024, np.float64)
    values = np.empty(room, np.float64)
    scratch = np.empty(room, np.float64)
    positions = np.empty(room, np.int64)
    for run in range(weights.shape[0]):
        _fill_top(weights[run], k, sample, values, scratch, positions, bases[run])


@njit(cache=True, nogil=True)
def top_of_blocks(weights, starts, members, capacities, bases):
    """The best `capacities[b]` items of every block of every row, ascending into `bases` (R, K).

    Block b has the items members[starts[b]:starts[b + 1]], ascending; capacities are at most the block's size.
    """
    widest = 0
    for b in range(capacities.shape[0]):
        widest = max(widest, starts[b + 1] - starts[b])
    gains = np.empty(widest, np.float64)
    sample = np.empty(1024, np.float64)
    values = np.empty(widest, np.float64)
    scratch = np.empty(widest, np.float64)
    positions = np.empty(widest, np.int64)
    top = np.empty(widest, np.int64)
    is_chosen = np.zeros(weights.shape[1], np.bool_)
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
                best, highest = block[0], row[block[0]]
                for i in range(1, size):
                    x = row[block[i]]
                    best = block[i] if x > highest else best
                    highest = max(x, highest)
                basis[k] = best
            elif capacity > 1:
                for i in range(size):
                    gains[i] = row[block[i]]
                _fill_top(gains[:size], capacity, sample, values, scratch, positions, top)
                for i in range(capacity):
                    basis[k + i] = block[top[i]]
            k += capacity
        _sort(basis, is_chosen)


@njit(cache=True, nogil=True)
def top_open_of_blocks(weights, is_open, starts, members, room, taken, items, sizes):
    """As `top_of_blocks`, of the open items alone and beside taken ones, all of them ascending.

    `is_open` (R, L) bool, or (1, L) for all rows alike, is False for the `taken` items (P,) too; `room` (B,) is what
    they leave of each block's capacity. Fills `items` (R, K) and `sizes` (R,).
    """
    widest = 0
    for b in range(room.shape[0]):
        widest = max(widest, starts[b + 1] - starts[b])
    gains = np.empty(widest, np.float64)
    open_ = np.empty(widest, np.int64)
    sample = np.empty(1024, np.float64)
    values = np.empty(widest, np.float64)
    scratch = np.empty(widest, np.float64)
    positions = np.empty(widest, np.int64)
    top = np.empty(widest, np.int64)
    n_taken = taken.shape[0]
    is_chosen = np.zeros(weights.shape[1], np.bool_)
    for run in range(weights.shape[0]):
        row, chosen = weights[run], items[run]
        mask = is_open[run if is_open.shape[0] > 1 else 0]
        for i in range(n_taken):
            chosen[i] = taken[i]
        k = n_taken
        for b in range(room.shape[0]):
            if room[b] <= 0:
                continue
            size = 0
            for i in range(starts[b], starts[b + 1]):
                open_[size] = members[i]
                gains[size] = row[members[i]]
                size += mask[members[i]]  # overwritten unless it is open: no branch on it
            if size <= room[b]:
                for i in range(size):
                    chosen[k + i] = open_[i]
                k += size
            else:
                _fill_top(gains[:size], room[b], sample, values, scratch, positions, top)
                for i in range(room[b]):
                    chosen[k + i] = open_[top[i]]
                k += room[b]
        _sort(chosen[:k], is_chosen)
        sizes[run] = k


@njit(cache=True, nogil=True)
def sort_rows(bases, n_items):
    """Sort each row of `bases` (R, K) int64, a set of items below `n_items`, in place by a sweep over all items."""
    is_chosen = np.zeros(n_items, np.bool_)
    for run in range(bases.shape[0]):
        _sweep(bases[run], is_chosen)


@njit(cache=True, nogil=True)
def sort_starts(items, sizes, n_items):
    """Sort the first sizes[r] entries of each row of `items` (R, W) int64, a set of items below `n_items`."""
    is_chosen = np.zeros(n_items, np.bool_)
    for run in range(items.shape[0]):
        _sort(items[run, : sizes[run]], is_chosen)
