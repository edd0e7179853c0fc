"""The top of a greedy order without the rest, of a row or of every block of it; and chosen rows sorted.

Where a choice is made episode after episode, the last one's threshold tells what to look at. A cell (the items of
one quota) keeps a mark (threshold, slack, rest): only the values that reach the threshold are ranked, and the least
value chosen minus the slack is the next threshold. Where fewer values reach it than are wanted, the cell is searched
without it, so that no mark changes what is chosen. The slack follows how many values reach the threshold; where too
many do, as among ties, the threshold rests for some choices.
"""

import numpy as np

from matroid_bandits.kernels.compiling import borrowed, called, fast, inlined, kernel
from matroid_bandits.kernels.kinetic import index

#: Up to this many items are best picked by keeping them sorted during one pass.
_FEW = 12

#: Values whose maximum is compared with a threshold before any of them is.
_GROUP = 8

#: Up to this many values are ranked one by one.
_MOST_RANKED = 64

#: Where more than one in this many values is wanted, a threshold saves nothing.
_SHARE = 8

#: For how many choices a cell is searched without the threshold that most of its values reached.
_LONG_REST = 16

#: A cell's mark.
_THRESHOLD, _SLACK, _REST = 0, 1, 2

#: The slack of a cell at first, and what is added to one that was too small, relative to the values.
_FIRST_SLACK, _MORE_SLACK = 0.01, 2.0**-30

#: A cell's mark before the first choice.
FIRST_MARK = (-np.inf, _FIRST_SLACK, 0.0)


@called
def _arrange(values):
    """Sort in place, by Shell's method: Numba's own sort takes seconds to compile, once for every caller's caller."""
    n = values.shape[0]
    gap = n
    while gap > 1:
        gap = 1 if gap < 9 else gap * 4 // 9
        for i in range(gap, n):
            x, j = values[i], i
            while j >= gap and values[j - gap] > x:
                values[j] = values[j - gap]
                j -= gap
            values[j] = x


@inlined
def sort_set(basis, is_chosen):
    """Sort a set of items in the way that suits its size; `is_chosen` is as for `_sweep`."""
    if basis.shape[0] * 32 < is_chosen.shape[0]:
        _arrange(basis)
    else:
        _sweep(basis, is_chosen)


@inlined
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


@called
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
    _arrange(rest)
    return rest[n - k]


@called
def _fill_sample(values, n, sample):
    """Some of values[:n], n >= 32, evenly spaced and sorted, into `sample`; returns how many."""
    s = 32
    while s * s < n and s < sample.shape[0]:
        s *= 2
    for i in range(s):
        sample[i] = values[i * (n // s)]
    _arrange(sample[:s])
    return s


@called
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


@called
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


@called
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


@kernel
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


@kernel
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
        sort_set(basis, is_chosen)


@kernel
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
        sort_set(chosen[:k], is_chosen)
        sizes[run] = k


# there are no NaNs: maxima use SIMD
@fast
def _fill_maxima(values, first, size, maxima):
    """The largest of every `_GROUP` of `size` values from `first` on into `maxima`; returns the largest of all."""
    most = -np.inf
    n_groups = size // _GROUP
    for j in range(n_groups):
        start = first + _GROUP * j
        top = values[start]
        for i in range(start, start + _GROUP):
            x = values[np.uint64(i)]
            top = x if x > top else top
        maxima[j] = top
        most = top if top > most else most
    if n_groups * _GROUP < size:
        top = values[first + size - 1]
        for i in range(first + n_groups * _GROUP, first + size):
            top = values[i] if values[i] > top else top
        maxima[n_groups] = top
        most = top if top > most else most
    return most


@inlined
def _pick_equal(values, first, size, most, maxima, k, picked):
    """Where the first k of equal largest values are, into `picked`; returns whether k are, in several groups."""
    n_groups, n_tied = (size + _GROUP - 1) // _GROUP, 0
    for j in range(n_groups):
        n_tied += maxima[j] == most
    if n_tied == 1 < k:  # nearly always
        return False
    m, end = 0, first + size
    for j in range(n_groups):
        if maxima[j] == most:
            start = first + _GROUP * j
            for i in range(start, min(start + _GROUP, end)):
                picked[m] = i  # overwritten unless it is one of them: no branch on it
                m += values[np.uint64(i)] == most
                if m == k:
                    break
        if m == k:
            break
    return m == k


@inlined
def _collect(values, first, size, least, maxima, gains, places):
    """The values of at least `least` and where they are, ascending, into `gains` and `places`; returns how many."""
    m, end = 0, first + size
    for j in range((size + _GROUP - 1) // _GROUP):
        if maxima[j] >= least:
            start = first + _GROUP * j
            for i in range(start, min(start + _GROUP, end)):
                x = values[np.uint64(i)]
                gains[m], places[m] = x, i  # overwritten unless it reaches `least`: no branch on it
                m += x >= least
    return m


@inlined
def _rank(gains, n, k, picked):
    """Places of the k largest of the first n `gains`, ties by smaller place, ascending into `picked` (n + 1,)."""
    j = 0
    for i in range(n):
        n_before = 0
        for x in range(n):
            n_before += gains[x] > gains[i]
        picked[j] = i
        j += n_before < k
    if j == k:
        return
    j = 0
    for i in range(n):  # some are tied with the last: the earlier one comes first
        n_before = 0
        for x in range(n):
            n_before += (gains[x] > gains[i]) | ((gains[x] == gains[i]) & (x < i))
        picked[j] = i
        j += n_before < k


@inlined
def _next_mark(marks, b, least, n_found, k, size):
    """Set the mark of cell b, whose least chosen value is `least`, and in which `n_found` reached the threshold."""
    if n_found < k:
        marks[b, _SLACK] = min(2.0 * marks[b, _SLACK] + abs(least) * _MORE_SLACK, 1e300)
    elif n_found < k + 4:
        marks[b, _SLACK] *= 1.3
    elif n_found > 2 * k + 8:
        marks[b, _SLACK] *= 0.7
        marks[b, _REST] = _LONG_REST if n_found * 2 > size else 0


@kernel
def cell_room(n_items):
    """How many floats `top_of_cells` and `top_of_lines` need as room."""
    return 8 * n_items + 1024 + 6


@inlined
def _split(cells):
    """The capacities of cells, where each starts in their members, these, and whether item i is member i."""
    n = cells[0]
    return cells[2 : n + 2], cells[n + 2 : 2 * n + 3], cells[2 * n + 3 :], cells[1] > 0


@inlined
def _cut(room, n):
    """The room of a choice among n items in pieces, those of integers last."""
    floats, integers = room[: 5 * n + 1028], room[5 * n + 1028 :].view(np.int64)
    maxima, gains, row, more = (
        floats[: n + 1],
        floats[n + 1 : 2 * n + 2],
        floats[2 * n + 2 : 3 * n + 2],
        floats[3 * n + 2 :],
    )
    return maxima, gains, row, more, integers[: n + 1], integers[n + 1 : 2 * n + 2], integers[2 * n + 2 :]


@kernel
def clear_marks(marks):
    """Set the marks (R, B, 3) of every cell of every run to those before the first choice."""
    for run in range(marks.shape[0]):
        for b in range(marks.shape[1]):
            marks[run, b, _THRESHOLD], marks[run, b, _SLACK], marks[run, b, _REST] = FIRST_MARK


@called
def _fill_soon(gains, k, sample, values, scratch, positions, out):
    """As `_fill_top`, for thousands of gains at most: two ways to search, which compile in a third of the time."""
    threshold = _separating(gains, k)
    if np.isnan(threshold):
        _fill_few(gains, k, values, out)
        return
    j = 0
    for i in range(gains.shape[0]):
        if j == k:
            break
        out[j] = i  # overwritten unless i is chosen: no branch on it
        j += gains[i] > threshold


def _chooser(fill_top):
    """The function that chooses in cells, where `fill_top` searches those that no threshold tells."""

    def choose(row, starts, members, capacities, marks, maxima, gains, places, picked, floats, integers, items):
        """The best `capacities[b]` items of every cell of one run, whose items have the values `row` (L,).

        Cell b has the items members[starts[b]:starts[b + 1]], ascending, and `row` has the values in the order of
        `members`. What is chosen goes into `items` (K,), ascending in each cell. `marks` (B, 3) are kept from one
        choice to the next (see above). Room: `maxima` and `gains` float64, `places` and `picked` int64, all
        (L + 1,); `floats` (2L + 1026,), `integers` (L,). As in `order.argsort_row` there are no slices where a
        threshold serves.
        """
        k = 0
        for b in range(capacities.shape[0]):
            first, m = starts[b], capacities[b]
            size = starts[b + 1] - first
            if m == size:
                for i in range(m):
                    items[k + i] = members[first + i]
            elif m == 1 and size < 8 * _GROUP:
                best, most = first, row[first]
                for i in range(first + 1, first + size):
                    best = i if row[i] > most else best
                    most = max(row[i], most)
                items[k] = members[best]
            elif m > 0:
                is_resting = m * _SHARE >= size or marks[b, _REST] > 0.0
                marks[b, _REST] -= 1.0
                is_done, n_found = False, 0
                if not is_resting:
                    most = _fill_maxima(row, first, size, maxima)
                    is_done = _pick_equal(row, first, size, most, maxima, m, picked)
                    if is_done:
                        for i in range(m):
                            items[k + i] = members[picked[i]]
                    else:
                        n_found = _collect(row, first, size, marks[b, _THRESHOLD], maxima, gains, places)
                if not is_done:
                    is_part = n_found >= m
                    if is_part and n_found <= _MOST_RANKED:
                        _rank(gains, n_found, m, picked)
                    elif n_found == m:
                        for i in range(m):
                            picked[i] = i
                    else:
                        values = gains[:n_found] if is_part else row[first : first + size]
                        rest, scratch, sample = (
                            floats[:size],
                            floats[size : 2 * size],
                            floats[2 * size : 2 * size + 1024],
                        )
                        fill_top(values, m, sample, rest, scratch, integers, picked)
                    least = np.inf
                    for i in range(m):
                        place = picked[i]
                        least = min(least, gains[place] if is_part else row[first + place])
                        items[k + i] = members[places[place] if is_part else first + place]
                    if not is_resting:
                        _next_mark(marks, b, least, n_found, m, size)
                    marks[b, _THRESHOLD] = least - marks[b, _SLACK] if abs(least) < np.inf else least
            k += m

    return choose


#: For many items, and for few.
choose_cells, choose_few = inlined(_chooser(_fill_top)), inlined(_chooser(_fill_soon))


@kernel
def top_of_cells(weights, cells, marks, room, items):
    """`choose_cells` for every row of `weights` (R, L), with the marks (R, B, 3) of each, into `items` (R, K).

    `cells` has how many there are, 1 if item i is member i, and else 0, and the capacities, starts and members. Where
    item i is another member, what is chosen is still to be sorted. Few arrays, since each takes 50 ns of a call.
    """
    cells, marks, room, items, weights = (
        borrowed(cells),
        borrowed(marks),
        borrowed(room),
        borrowed(items),
        borrowed(weights),
    )
    capacities, starts, members, is_sorted = _split(cells)
    n = members.shape[0]
    maxima, gains, gathered, more, places, picked, spots = _cut(room, n)
    for run in range(weights.shape[0]):
        if not is_sorted:
            for i in range(n):
                gathered[i] = weights[run, members[i]]
        row = weights[run] if is_sorted else gathered
        choose_cells(
            row, starts, members, capacities, marks[run], maxima, gains, places, picked, more, spots, items[run]
        )


@kernel
def top_of_lines(means, radii, c, cells, marks, room, items):
    """`top_of_cells` of the affine indices of `means` and `radii` (R, L) at `c`, which are not kept."""
    cells, marks, room, items = borrowed(cells), borrowed(marks), borrowed(room), borrowed(items)
    means, radii = borrowed(means), borrowed(radii)
    capacities, starts, members, is_sorted = _split(cells)
    n = members.shape[0]
    maxima, gains, row, more, places, picked, spots = _cut(room, n)
    for run in range(means.shape[0]):
        a, b = means[run], radii[run]
        if is_sorted:
            for i in range(n):
                row[i] = index(a[i], b[i], c)
        else:
            for i in range(n):
                e = np.uint64(members[i])
                row[i] = index(a[e], b[e], c)
        choose_cells(
            row, starts, members, capacities, marks[run], maxima, gains, places, picked, more, spots, items[run]
        )


@kernel
def sort_rows(bases, n_items):
    """Sort each row of `bases` (R, K) int64, a set of items below `n_items`, in place by a sweep over all items."""
    is_chosen = np.zeros(n_items, np.bool_)
    for run in range(bases.shape[0]):
        _sweep(bases[run], is_chosen)


@kernel
def sort_starts(items, sizes, n_items):
    """Sort the first sizes[r] entries of each row of `items` (R, W) int64, a set of items below `n_items`."""
    is_chosen = np.zeros(n_items, np.bool_)
    for run in range(items.shape[0]):
        sort_set(items[run, : sizes[run]], is_chosen)
