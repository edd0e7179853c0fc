"""Count classes: the best items by an index that never falls with the mean among items of equal plays.

Such an index is a function of an item's mean and its number of plays; the first part of this file has the formulas.
The items of a quota that were played equally often are a class. A class is a heap by mean, so its best item is at the
root and only the classes' roots have to be compared; from a root on, the next best are among the children of what was
taken. Nothing is written when a set is chosen, so a mask or a pin is a matter of passing items over.

Exactness. At equal plays rounding is monotone for means plus a width that depends on the plays alone: a larger mean
never has a smaller index, but different means may have equal ones. Bounds that are found by iteration (KL, quantiles)
are monotone up to `SLACK`. So what lies below a node of the heap has no larger index than it, but for that much, and
the search goes on while the best that is left is not certainly behind the last of those found. All comparisons are of
computed indices, ties by item.

Items of one class with the same mean, of which there are many where weights are 0 or 1, are one node of the heap: the
smallest item, below which the others are a heap by item. So no node has the mean of its parent, and ties are read in
the greedy order without looking at all of them.

Per run: `nodes` (L, 4) int32 are left, right, up, tied. The two children and the parent are of the heap by mean or,
for an item that is tied to a smaller one, of the heap by item; `tied` is the root of the items tied to a node,
`_MEMBER` for one of those, and -1 stands for none. Both are skew heaps (Sleator and Tarjan, 1986). `keys` (L,)
float64 are the means by which items are ordered and `slots` (L,) int32 their classes. A class is a slot: `plays` (S,)
float64 and `links` (S, 3) int32, its root and the classes of its cell with the next more and the next fewer plays.
`heads` (C,) int32 have each cell's class of fewest plays, `ends` (2,) int32 the first of the free slots and how many
were used.
"""

import math

import numpy as np

from matroid_bandits.kernels import kinetic, random, statistics
from matroid_bandits.kernels.compiling import inlined, kernel, times
from matroid_bandits.kernels.forms import AFFINE, KL_SHARE, ONE_NORMAL, SHARE

is_better, push, pop, sift_down = kinetic._is_better, kinetic._push, kinetic._pop, kinetic._sift_down
kl_bound, log_gamma = statistics.kl_bound, statistics.log_gamma
log = random._log  # it has the same bits everywhere

#: How far a bound that is found by iteration may fall where the mean grows; they err by less than a hundredth of it.
SLACK = 1e-9

_LEFT, _RIGHT, _UP, _TIED = 0, 1, 2, 3
_ROOT, _MORE, _FEWER = 0, 1, 2
_MEMBER = -2


@inlined
def index(kind, number, x, mean, n):
    """The index of an item of n plays, a float, with this mean gain; x is what the episode and the run are about.

    x is c_t for lines, a budget for KL, K t / L for shares, a number drawn for all items otherwise. An item without a
    play has index +inf where the formula has none for it.
    """
    if kind == ONE_NORMAL:
        return (mean if n > 0.0 else 1.0 - number) + times(x, 1.0 / math.sqrt(n + 1.0))
    if kind > ONE_NORMAL:
        p = min(max(mean + number, 0.0), 1.0)
        return beta_quantile(1.0 + p * n, 1.0 + (1.0 - p) * n, x) - number
    if n == 0.0:
        return np.inf
    if kind == AFFINE:
        return mean + times(x, 1.0 / math.sqrt(n))
    if kind == SHARE:
        return mean + (math.sqrt(times(number, log(x / n)) / n) if x > n else 0.0)
    budget = x
    if kind == KL_SHARE:
        share = max(log(x / n), 0.0) if x > 0.0 else 0.0
        y = x / n * (times(share, share) + 1.0)
        budget = log(y) if y > 1.0 else 0.0
    return kl_bound(min(max(mean + number, 0.0), 1.0), budget / n) - number


@kernel
def _value(kind, number, x, mean, n):
    """The `index`, as a function of its own: it is long, and used in several places."""
    return index(kind, number, x, mean, n)


@kernel
def indices(kind, number, xs, means, plays, out):
    """The index of every item, (R, L), of its mean and its plays, float64 or int64; xs (R,) float64."""
    for run in range(means.shape[0]):
        for e in range(means.shape[1]):
            out[run, e] = index(kind, number, xs[run], means[run, e], np.float64(plays[run, e]))


@kernel
def beta_quantile(a, b, u):
    """The u-quantile of Beta(a, b), for a and b of at least 1, to 1e-12.

    Halley's method between bounds that close in; the first guess is that of Abramowitz and Stegun, 26.5.22.
    """
    if u <= 0.0:
        return 0.0
    if a == 1.0:
        return -math.expm1(math.log1p(-u) / b)
    if b == 1.0:
        return math.exp(math.log(u) / a)
    tail = math.sqrt(-2.0 * math.log(min(u, 1.0 - u)))
    z = (2.30753 + 0.27061 * tail) / (1.0 + tail * (0.99229 + 0.04481 * tail)) - tail
    z = z if u < 0.5 else -z
    ra, rb = 1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0)
    h, skew = 2.0 / (ra + rb), (z * z - 3.0) / 6.0
    w = -z * math.sqrt(max(h + skew, 0.0)) / h - (rb - ra) * (skew + 5.0 / 6.0 - 2.0 / (3.0 * h))
    x = a / (a + b * math.exp(2.0 * min(max(w, -300.0), 300.0)))
    log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    low, high = 0.0, 1.0
    for _ in range(200):
        if not low < x < high:
            x = 0.5 * (low + high)
        excess, density = _beta_cdf(a, b, log_beta, x, u)
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess / density if density > 0.0 else np.inf
        if abs(step) < 1e300:  # Halley's correction, from the slope of the density
            curve = step * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))
            step /= 1.0 - 0.5 * min(max(curve, -1.0), 1.0)
        x -= step
        if abs(step) <= 1e-9 * min(x, 1.0 - x) or high - low <= 1e-15:
            break
    return min(max(x, 0.0), 1.0)


@kernel
def _beta_cdf(a, b, log_beta, x, u):
    """The probability of less than x under Beta(a, b), less u, and the density at x."""
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta)
    if x < (a + 1.0) / (a + b + 2.0):
        below = front * _beta_fraction(a, b, x) / a - u
    else:
        below = (1.0 - u) - front * _beta_fraction(b, a, 1.0 - x) / b
    return below, front / (x * (1.0 - x))


@kernel
def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's algorithm, two terms a round."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        fraction *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return fraction


@inlined
def slack_of(kind):
    """How far an index of this kind may fall where the mean grows."""
    return 0.0 if kind in (AFFINE, SHARE, ONE_NORMAL) else SLACK


# Heaps


@kernel
def _meld_tied(nodes, a, b):
    """One heap of two of tied items, each given by its root or -1; the caller sets what is above the root."""
    if a < 0 or b < 0:
        return max(a, b)
    if b < a:
        a, b = b, a
    root = a
    while True:
        right = np.int64(nodes[a, _RIGHT])
        nodes[a, _RIGHT] = nodes[a, _LEFT]
        if right < 0:
            nodes[a, _LEFT], nodes[b, _UP] = b, a
            return root
        if b < right:
            right, b = b, right
        nodes[a, _LEFT], nodes[right, _UP] = right, a
        a = right


@kernel
def _meld(nodes, keys, root, rest):
    """One heap by mean of two, each given by its root, above which is nothing, or -1."""
    while rest >= 0:  # a list of heaps, linked through what is above their roots
        b, rest = rest, np.int64(nodes[rest, _UP])
        nodes[b, _UP] = -1
        if root < 0:
            root = b
            continue
        a, above = root, np.int64(-1)
        while True:
            is_tie = keys[a] == keys[b]
            if keys[b] > keys[a] or (is_tie and b < a):
                a, b = b, a
            nodes[a, _UP] = above
            if above < 0:
                root = a
            else:
                nodes[above, _LEFT] = a
            if is_tie:  # b and what is tied to it are now tied to a, and the rest of its heap has to wait
                for side in (_LEFT, _RIGHT):
                    child = np.int64(nodes[b, side])
                    if child >= 0:
                        nodes[child, _UP] = rest
                        rest = child
                    nodes[b, side] = -1
                tied = np.int64(nodes[b, _TIED])
                nodes[b, _TIED] = _MEMBER
                tied = _meld_tied(nodes, np.int64(nodes[a, _TIED]), _meld_tied(nodes, b, tied))
                nodes[a, _TIED], nodes[tied, _UP] = tied, a
                break
            right = np.int64(nodes[a, _RIGHT])
            nodes[a, _RIGHT] = nodes[a, _LEFT]
            if right < 0:
                nodes[a, _LEFT], nodes[b, _UP] = b, a
                break
            a, above = right, a
    return root


@kernel
def _take_out(nodes, keys, links, slot, e):
    """Take an item out of the heap of its class."""
    up, left, right = np.int64(nodes[e, _UP]), np.int64(nodes[e, _LEFT]), np.int64(nodes[e, _RIGHT])
    tied = np.int64(nodes[e, _TIED])
    if tied == _MEMBER:
        new = _meld_tied(nodes, left, right)
    elif tied >= 0:  # the smallest of those takes its place
        new = tied
        others = _meld_tied(nodes, np.int64(nodes[new, _LEFT]), np.int64(nodes[new, _RIGHT]))
        nodes[new, _LEFT], nodes[new, _RIGHT], nodes[new, _TIED] = left, right, others
        for child in (left, right, others):
            if child >= 0:
                nodes[child, _UP] = new
    else:
        for child in (left, right):
            if child >= 0:
                nodes[child, _UP] = -1
        new = _meld(nodes, keys, left, right)
    if new >= 0:
        nodes[new, _UP] = up
    if up < 0:
        links[slot, _ROOT] = new
    elif nodes[up, _TIED] == e:
        nodes[up, _TIED] = new
    elif nodes[up, _LEFT] == e:
        nodes[up, _LEFT] = new
    else:
        nodes[up, _RIGHT] = new


# Classes


@kernel
def _slot_of(plays, links, heads, ends, cell, n, near):
    """The class of n plays of a cell, made where there is none; `near` is a class of the cell to look from, or -1."""
    at = near if near >= 0 and plays[near] <= n else np.int64(heads[cell])
    before = np.int64(links[at, _FEWER] if at >= 0 else -1)
    while at >= 0 and plays[at] < n:
        before, at = at, np.int64(links[at, _MORE])
    if at >= 0 and plays[at] == n:
        return at
    slot = np.int64(ends[0])
    if slot >= 0:
        ends[0] = links[slot, _MORE]
    else:
        slot = np.int64(ends[1])
        ends[1] += 1
    plays[slot] = n
    links[slot, _ROOT], links[slot, _MORE], links[slot, _FEWER] = -1, at, before
    if at >= 0:
        links[at, _FEWER] = slot
    if before >= 0:
        links[before, _MORE] = slot
    else:
        heads[cell] = slot
    return slot


@kernel
def _enter(e, n, mean, cell, near, nodes, keys, slots, plays, links, heads, ends):
    """Put an item that is in no class into that of n plays; returns the class."""
    slot = _slot_of(plays, links, heads, ends, cell, n, near)
    nodes[e, _LEFT], nodes[e, _RIGHT], nodes[e, _UP], nodes[e, _TIED] = -1, -1, -1, -1
    keys[e], slots[e] = mean, slot
    links[slot, _ROOT] = _meld(nodes, keys, e, np.int64(links[slot, _ROOT]))
    return slot


@kernel
def move(e, n, mean, cell, nodes, keys, slots, plays, links, heads, ends):
    """Take note of an item's number of plays, a float, and its mean, in one run."""
    slot = np.int64(slots[e])
    if plays[slot] == n and keys[e] == mean:
        return
    _take_out(nodes, keys, links, slot, e)
    near = slot
    if links[slot, _ROOT] < 0:  # nothing is left in the class
        near, more = np.int64(links[slot, _FEWER]), np.int64(links[slot, _MORE])
        if near >= 0:
            links[near, _MORE] = more
        else:
            heads[cell] = more
        if more >= 0:
            links[more, _FEWER] = near
        links[slot, _MORE], ends[0] = ends[0], slot
    _enter(e, n, mean, cell, near, nodes, keys, slots, plays, links, heads, ends)


@kernel
def build(starts, order, counts, means, nodes, keys, slots, plays, links, heads, ends):
    """Put every item of one run into its class.

    The items of a cell are ``order[starts[cell]:starts[cell + 1]]``, by number of plays, and descending where that is
    equal: so each enters at the root of a heap or near it. `counts` (L,) are the plays, of any type.
    """
    ends[0], ends[1] = -1, 0
    for cell in range(starts.shape[0] - 1):
        heads[cell] = -1
        near = -1
        for i in range(starts[cell], starts[cell + 1]):
            e = order[i]
            n = np.float64(counts[e])
            near = _enter(e, n, means[e], cell, near, nodes, keys, slots, plays, links, heads, ends)


@inlined
def plays_of(counts, waiting, lost):
    """How many plays are behind a mean, as `State.plays` has it where there are no priors."""
    return counts + waiting if counts > 0 else waiting + lost


@kernel
def move_all(runs, items, cells, counts, waiting, lost, prior_counts, means, nodes, keys, slots, plays, links, heads,
             ends):  # fmt: skip
    """Take note that the plays and the means of `items` (n,), each in its run (n,), have changed."""
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        n = np.float64(plays_of(counts[run, e], waiting[run, e], lost[run, e]))
        if prior_counts.shape[0] > 0 and prior_counts[run, e] > 0.0:
            n = counts[run, e] + waiting[run, e] + prior_counts[run, e]
        move(e, n, means[run, e], cells[e], nodes[run], keys[run], slots[run], plays[run], links[run], heads[run],
             ends[run])  # fmt: skip


@kernel
def move_some(items, cells, counts, means, nodes, keys, slots, plays, links, heads, ends):
    """Take note of the plays and the means of some items of one run in which no play waits."""
    for i in range(items.shape[0]):
        e = items[i]
        move(e, np.float64(counts[e]), means[e], cells[e], nodes, keys, slots, plays, links, heads, ends)


# Choices


@kernel
def best_of_cell(kind, number, x, head, wanted, nodes, keys, slots, plays, links, is_barred, front_values,
                  front_items, tied_values, tied_items, values, items, budget):  # fmt: skip
    """The best of one cell that are not barred, at most `wanted`, as a heap whose root is the worst of them.

    Fills the first entries of `values` and `items`; `front` and `tied` are work space. Returns how many there are and
    how many items were looked at; more than `budget` where the search was given up.
    """
    slack = slack_of(kind)
    m, n, work = 0, 0, 0
    slot = head
    while slot >= 0:
        e = np.int64(links[slot, _ROOT])
        push(front_values, front_items, m, -_value(kind, number, x, keys[e], plays[slot]), -e)
        m += 1
        slot = np.int64(links[slot, _MORE])
    work += m
    while m > 0 and work <= budget:
        value, e = -front_values[0], -front_items[0]
        if n == wanted and value < values[0] - slack:
            break
        pop(front_values, front_items, m)
        m -= 1
        slot = slots[e]
        for side in (_LEFT, _RIGHT):
            child = np.int64(nodes[e, side])
            if child >= 0:
                push(front_values, front_items, m, -_value(kind, number, x, keys[child], plays[slot]), -child)
                m += 1
                work += 1
        k, item = 0, e  # the items tied to it, in their order
        while n < wanted or is_better(value, item, values[0], items[0]):
            work += 1
            if not is_barred[item]:
                if n < wanted:
                    push(values, items, n, value, item)
                    n += 1
                else:
                    values[0], items[0] = value, item
                    sift_down(values, items, 0, n)
            if item == e:
                first, second = np.int64(nodes[e, _TIED]), np.int64(-1)
            else:
                first, second = np.int64(nodes[item, _LEFT]), np.int64(nodes[item, _RIGHT])
            if first >= 0:
                push(tied_values, tied_items, k, 0.0, -first)
                k += 1
            if second >= 0:
                push(tied_values, tied_items, k, 0.0, -second)
                k += 1
            if k == 0 or work > budget:
                break
            item = -tied_items[0]
            pop(tied_values, tied_items, k)
            k -= 1
    return n, work


@kernel
def choose(kind, number, xs, innermost, parent, room, depths, nodes, keys, slots, plays, links, heads, barred,
           is_barred, room_values, room_items, budget, values, best, sizes):  # fmt: skip
    """The best of every cell that are not barred, as many as the `room` (G,) of the groups around it leaves.

    `innermost` (C,) is each cell's group or -1, `depths` (C,) the most that can be chosen of it. What `is_barred`
    (L,) marks does not take part, nor do the items `barred` (n,), which are marked meanwhile. Fills the first
    sizes[run] entries of each row of `best` and, with their indices, of `values`. Returns how many items were looked
    at, in all; where those of a run are more than `budget`, -1, and what was filled means nothing.
    """
    for i in range(barred.shape[0]):
        is_barred[barred[i]] = True
    total = 0
    for run in range(xs.shape[0]):
        k, looked = 0, 0
        for cell in range(innermost.shape[0]):
            wanted, g = depths[cell], innermost[cell]
            while g >= 0:
                wanted, g = min(wanted, max(room[g], 0)), parent[g]
            if wanted > 0:
                n, work = best_of_cell(
                    kind, number, xs[run], np.int64(heads[run, cell]), wanted, nodes[run], keys[run], slots[run],
                    plays[run], links[run], is_barred, room_values[0], room_items[0], room_values[1], room_items[1],
                    values[run, k:], best[run, k:], budget - looked,
                )  # fmt: skip
                looked += work
                k += n
            if looked > budget:
                break
        sizes[run] = k
        total += looked
        if looked > budget:
            total = -1
            break
    for i in range(barred.shape[0]):
        is_barred[barred[i]] = False
    return total
