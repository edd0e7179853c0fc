"""What an episode of one run is made of on the CPU, whatever the matroid: indices, weights, counts, totals.

A policy, a world and a run's state are tuples of numbers and arrays; `_play.py` makes them. Of a state: sums, counts,
means and radii (L,), and what the policy keeps besides: `extra` (X, L) float64, `whole` (Y, L) int64, the cells of
`kernels.discount` (L, 7), the ring of `kernels.window` (C, K) in two arrays; and how many plays of each item wait for
an answer (L,), or (1,) where no answer is late.

A function that is called counts a reference to every array that it is handed, also in a tuple, at some nanoseconds
each. So the common kinds have small functions of their own, which are inlined, and kernels borrow their arrays. Loops
are apart for every kind, so that they are compiled to SIMD, and there are no operations on whole arrays, which take
long to compile.
"""

import numpy as np

from matroid_bandits.kernels import classes, discount, episodes, kinetic, random, sparse, statistics, window
from matroid_bandits.kernels.compiling import njit, times
from matroid_bandits.kernels.forms import (
    AFFINE,
    BERNOULLI,
    BETA,
    BETA_WEIGHTS,
    CHANCE,
    DENSE,
    DISCOUNTED,
    EPSILON,
    EXPONENTIAL,
    FADING,
    GAUSSIAN,
    KL,
    KL_SHARE,
    NORMAL,
    ONE_NORMAL,
    ONE_QUANTILE,
    RECORDS,
    SHARE,
    WINDOW,
)
from matroid_bandits.stream import POLICY, ROUNDING, START

_WORD = np.uint64(0xFFFFFFFF)
_N_RADII = 2048
_RADII = 1.0 / np.sqrt(np.maximum(np.arange(_N_RADII), 1))
_SHIFT = discount.SHIFT
_ANSWERED = window.ANSWERED

# Rows of what policies keep: of beta beliefs, and of a window.
SUCCESSES, FAILURES, KNOWN_AT = 0, 1, 0
SUMS, FIRST_SUMS = 0, 1
COUNTS, WAITING, LOST, FIRST_COUNTS = 0, 1, 2, 3

address, uniform_at = random.address, random.uniform_at
exponential_at, normal_at, betas = random.exponential_at, random.normal_at, random.betas
sampled_mean, coin, noisy, place_of = episodes.sampled_mean, episodes.coin, episodes.noisy, episodes.place_of
chance_of, radius_of, RUN_ITEM = episodes.chance_of, episodes.radius_of, episodes.RUN_ITEM
index, entry, kl_indices, update_lines = kinetic.index, sparse.entry, statistics.kl_indices, statistics.update_lines
discounted_answer, discounted_update = discount.answer, discount.update
enter, leave, recount = window.enter, window.leave, window.recount
index_at_plays = classes.index

kernel = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)


@kernel
def is_counted(kind):
    """Whether a policy of this kind keeps nothing besides what `count_plays` counts."""
    return kind not in (BETA, FADING, DISCOUNTED, WINDOW)


@kernel
def is_simple(kind):
    """Whether `draw_simple` draws the weights of a world of this kind."""
    return kind in (BERNOULLI, EXPONENTIAL)


@kernel
def is_affine(kind):
    """Whether the index of a policy of this kind is a line for each item."""
    return kind in (AFFINE, DISCOUNTED, WINDOW)


@inlined
def fill_lines(means, radii, items, is_all, c, out):
    """The affine index of each of `items` (n,); `is_all` where they are 0 to L - 1."""
    if is_all:
        for i in range(out.shape[0]):
            out[i] = index(means[i], radii[i], c)
    else:
        for i in range(out.shape[0]):
            e = np.uint64(items[i])
            out[i] = index(means[e], radii[e], c)


@inlined
def draw_simple(kind, values, seed, t, purpose, items, run, out):
    """The weights of some items where they are 0 or 1 or exponential, as the environment's `draw` gives them."""
    c1, c2, c3, k0 = address(seed, t, purpose)
    if kind == BERNOULLI:
        for k in range(items.shape[0]):
            out[k] = uniform_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(items.shape[0]):
            out[k] = coin(out[k], values[np.uint64(items[k])])
    else:
        for k in range(items.shape[0]):
            out[k] = exponential_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(items.shape[0]):
            out[k] += values[np.uint64(items[k])]


@inlined
def radius(n):
    """1 / sqrt(n) for a whole number of plays."""
    return _RADII[n] if n < _N_RADII else radius_of(n)


@inlined
def count_plays(sums, counts, means, radii, items, weights, is_cost):
    """Count the weights of some items, as `kernels.statistics.absorb` does."""
    for k in range(items.shape[0]):
        e = np.uint64(items[k])
        n = counts[e] + 1
        total = sums[e] + (-weights[k] if is_cost else weights[k])
        counts[e] = n
        sums[e] = total
        means[e] = total / n
        radii[e] = radius(n)


@inlined
def add_up(items, weights, mean_weights, best, sign, total):
    """Add an episode to a run's return and regret, item by item as `kernels.statistics.add_totals` does."""
    worth, mean = 0.0, 0.0
    for k in range(items.shape[0]):
        worth += weights[k]
        mean += mean_weights[np.uint64(items[k])]
    total[0] += worth
    total[1] += sign * (best - mean)


@inlined
def n_plays(counts, waiting, e):
    """How many plays are behind the mean of an item, answered or not."""
    return counts[e] + (waiting[e] if waiting.shape[0] == counts.shape[0] else 0)


@inlined
def number_of_run(kind, x, seed, t, run):
    """What the index needs of an episode and a run: the number x of the episode, or one drawn for all items."""
    c1, c2, c3, k0 = address(seed, t, POLICY)
    if kind == ONE_NORMAL:
        return normal_at(RUN_ITEM, c1, c2, c3, k0, run) * x
    return uniform_at(RUN_ITEM, c1, c2, c3, k0, run) if kind == ONE_QUANTILE else x


@kernel
def fill_indices(policy, row, state, items, seed, t, run, room, out):
    """The index of each of `items` (n,) in an episode, of policies that are not affine.

    `row` is the episode's row of the schedule, `room` (2, n) work space.
    """
    kind, number, n = policy[0], policy[1], items.shape[0]
    counts, means, radii, waiting = state[1], state[2], state[3], state[9]
    if kind == KL:
        for i in range(n):
            e = np.uint64(items[i])
            room[0, i], room[1, i] = means[e], n_plays(counts, waiting, e)
        kl_indices(room[0:1, :n], room[1:2, :n], number, row[0], out.reshape(1, n))
        return
    if kind in (SHARE, KL_SHARE, ONE_NORMAL, ONE_QUANTILE):
        x = number_of_run(kind, row[0], seed, t, run)
        for i in range(n):
            e = np.uint64(items[i])
            out[i] = index_at_plays(kind, number, x, means[e], np.float64(n_plays(counts, waiting, e)))
        return
    if kind in (BETA, FADING):
        extra, whole, powers = state[4], state[5], policy[3]
        if kind == BETA:
            for i in range(n):
                e = np.uint64(items[i])
                successes = extra[SUCCESSES, e]
                room[0, i], room[1, i] = 1.0 + successes, 1.0 + (counts[e] - successes)
        else:
            for i in range(n):
                e = np.uint64(items[i])
                left = powers[t - 1 - whole[KNOWN_AT, e]]
                room[0, i] = 1.0 + times(extra[SUCCESSES, e], left)
                room[1, i] = 1.0 + times(extra[FAILURES, e], left)
        runs = np.empty(1, np.int64)
        runs[0] = np.int64(run)
        purpose = np.int64(POLICY)
        betas(seed, runs, t, items.reshape(1, n), purpose, room[0:1, :n], room[1:2, :n], out.reshape(1, n))
        return
    c1, c2, c3, k0 = address(seed, t, POLICY)
    if kind == CHANCE or (kind == EPSILON and uniform_at(RUN_ITEM, c1, c2, c3, k0, run) < number):
        for i in range(n):
            out[i] = uniform_at(np.uint64(items[i]) & _WORD, c1, c2, c3, k0, run)
    elif kind == NORMAL:
        for i in range(n):
            out[i] = normal_at(np.uint64(items[i]) & _WORD, c1, c2, c3, k0, run)
        for i in range(n):
            e = np.uint64(items[i])
            out[i] = sampled_mean(means[e], radii[e], number, out[i])
    else:
        for i in range(n):
            out[i] = means[np.uint64(items[i])]
    if kind != CHANCE:
        for i in range(n):  # an item never seen comes first
            out[i] = np.inf if radii[np.uint64(items[i])] == np.inf else out[i]


@kernel
def advance(policy, row, state, t, everything):
    """Let an episode pass after its set was chosen, as the policy's `advance` does."""
    kind, length = policy[0], policy[2]
    _, _, means, radii, extra, whole, cells, codes, values, _ = state
    n_items = means.shape[0]
    none = np.empty((0, 0))
    a, b = means.reshape(1, n_items), radii.reshape(1, n_items)
    if kind == DISCOUNTED and cells[0, _SHIFT] != row[2]:
        discounted_update(row[2], cells.reshape(1, n_items, cells.shape[1]), none, a, b)
    if kind == WINDOW and t >= length:
        n_rows, width = codes.shape
        ids, at = everything.reshape(1, n_items), t % n_rows
        ring, gains = codes.reshape(1, n_rows, width), values.reshape(1, n_rows, width)
        counts, waiting = whole[COUNTS : COUNTS + 1], whole[WAITING : WAITING + 1]
        lost, sums = whole[LOST : LOST + 1], extra[SUMS : SUMS + 1]
        runs, items = np.zeros(max(width, n_items), np.int64), np.empty(width, np.int64)
        if t % length == 0:  # added up anew, so that rounding errors do not
            for k in range(width):
                codes[at, k] = 0
            for e in range(n_items):
                whole[FIRST_COUNTS, e], extra[FIRST_SUMS, e] = 0, 0.0
            rows = np.empty(n_rows, np.int64)
            for k in range(n_rows):
                rows[k] = (at + 1 + k) % n_rows
            first_counts, first_sums = whole[FIRST_COUNTS : FIRST_COUNTS + 1], extra[FIRST_SUMS : FIRST_SUMS + 1]
            recount(rows, ids, ids, ring, gains, first_counts, first_sums, counts, waiting, lost, sums)
            update_lines(runs[:n_items], everything, counts, waiting, lost, sums, none, none, a, b)
        else:
            n = leave(at, ids, ids, ring, gains, counts, waiting, lost, sums, runs, items)
            update_lines(runs[:n], items[:n], counts, waiting, lost, sums, none, none, a, b)


@kernel
def draw(world, place, seed, t, purpose, items, run, out):
    """The weights of some items, as the environment's `draw` gives them; `place` is the row of values."""
    kind, values = world[0], world[1][place]
    c1, c2, c3, k0 = address(seed, t, purpose)
    n = items.shape[0]
    if kind in (BERNOULLI, EXPONENTIAL):
        draw_simple(kind, values, seed, t, purpose, items, run, out)
    elif kind == GAUSSIAN:
        for k in range(n):
            out[k] = normal_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        spread = world[2][place if place < world[2].shape[0] else 0]
        for k in range(n):
            e = np.uint64(items[k])
            out[k] = noisy(out[k], values[e], spread[e])
    elif kind == RECORDS:
        sizes, table, starts = world[2][0], world[4], world[5]
        for k in range(n):
            out[k] = uniform_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            e = np.uint64(items[k])
            out[k] = table[np.uint64(starts[e] + place_of(out[k], sizes[e]))]
    elif kind == BETA_WEIGHTS:
        spread = world[2][place if place < world[2].shape[0] else 0]
        room, runs = np.empty((2, n)), np.empty(1, np.int64)
        runs[0] = np.int64(run)
        for k in range(n):
            e = np.uint64(items[k])
            room[0, k], room[1, k] = values[e], spread[e]
        betas(seed, runs, t, items.reshape(1, n), purpose, room[0:1, :n], room[1:2, :n], out.reshape(1, n))
    else:
        _, _, _, n_rows, table, indptr, indices = world
        row = place_of(uniform_at(RUN_ITEM, c1, c2, c3, k0, run), n_rows)
        if kind == DENSE:
            start = row * values.shape[0]
            for k in range(n):
                out[k] = table[np.uint64(start + items[k])]
        else:
            for k in range(n):
                out[k] = entry(indptr, indices, table, row, items[k])


@kernel
def learn(policy, row, state, everything, items, weights, is_cost, seed, t, run):
    """Count the weights of some items, as `kernels.statistics.absorb` and the policy's `observe` do."""
    kind, n = policy[0], items.shape[0]
    counts, means, radii = state[1], state[2], state[3]
    if kind in (DISCOUNTED, WINDOW):
        n_items = means.shape[0]
        extra, whole, cells = state[4], state[5], state[6]
        runs, gains, none = np.zeros(n, np.int64), np.empty(n), np.empty((0, 0))
        for k in range(n):
            gains[k] = -weights[k] if is_cost else weights[k]
            counts[items[k]] += 1
        a, b = means.reshape(1, n_items), radii.reshape(1, n_items)
        if kind == DISCOUNTED:
            cell = cells.reshape(1, n_items, cells.shape[1])
            discounted_answer(runs, items, gains, row[1], row[2], whole[WAITING : WAITING + 1], cell, none, a, b)
            return
        if t == 0:
            for k in range(n):
                e = items[k]
                whole[COUNTS, e] += 1
                extra[SUMS, e] += gains[k]
                whole[FIRST_COUNTS, e] += 1
                extra[FIRST_SUMS, e] += gains[k]
            in_window, waiting = whole[COUNTS : COUNTS + 1], whole[WAITING : WAITING + 1]
            lost, totals = whole[LOST : LOST + 1], extra[SUMS : SUMS + 1]
            update_lines(runs, items, in_window, waiting, lost, totals, none, none, a, b)
        else:
            enter_plays(state, everything, items, gains, np.int64(_ANSWERED), t)
        return
    count_plays(state[0], counts, means, radii, items, weights, is_cost)
    if kind in (BETA, FADING):
        gains = np.empty(n)
        for k in range(n):
            gains[k] = -weights[k] if is_cost else weights[k]
        believe(policy, state, items, gains, is_cost, seed, t, t, run)


@kernel
def enter_plays(state, everything, items, gains, kind_of_play, t):
    """Write plays of episode t into the ring of a window, as `SlidingWindowOMM` does."""
    _, _, means, radii, extra, whole, _, codes, values, _ = state
    n_items, (n_rows, width) = means.shape[0], codes.shape
    runs, none, start = np.zeros(items.shape[0], np.int64), np.empty((0, 0)), np.int64(0)
    ids, ring, kept = (
        everything.reshape(1, n_items),
        codes.reshape(1, n_rows, width),
        values.reshape(1, n_rows, width),
    )
    counts, waiting = whole[COUNTS : COUNTS + 1], whole[WAITING : WAITING + 1]
    lost, sums = whole[LOST : LOST + 1], extra[SUMS : SUMS + 1]
    enter(runs, items, gains, kind_of_play, t % n_rows, ids, ring, kept, counts, waiting, lost, sums, start)
    a, b = means.reshape(1, n_items), radii.reshape(1, n_items)
    update_lines(runs, items, counts, waiting, lost, sums, none, none, a, b)


@kernel
def believe(policy, state, items, gains, is_cost, seed, then, t, run):
    """Count the gains of plays of episode `then` as successes and failures, as beliefs do in episode t."""
    kind, powers, extra, whole = policy[0], policy[3], state[4], state[5]
    c1, c2, c3, k0 = address(seed, then, ROUNDING)
    share = 1.0 if kind == BETA else powers[t - then]
    for k in range(items.shape[0]):
        e = items[k]
        is_success = uniform_at(np.uint64(e) & _WORD, c1, c2, c3, k0, run) < chance_of(gains[k], is_cost)
        left = 1.0 if kind == BETA else powers[t - whole[KNOWN_AT, e]]
        extra[SUCCESSES, e] = times(extra[SUCCESSES, e], left) + (share if is_success else 0.0)
        if kind == FADING:
            extra[FAILURES, e] = times(extra[FAILURES, e], left) + (0.0 if is_success else share)
            whole[KNOWN_AT, e] = t


@kernel
def begin(policy, world, state, everything, weights, is_seen, is_cost, seed, run):
    """Bring a run's state to where episode 1 finds it; `weights` (L,) is work space."""
    sums, counts, means, radii, extra, whole, cells, codes, values, waiting = state
    for e in range(sums.shape[0]):
        sums[e], counts[e], means[e], radii[e] = 0.0, 0, 0.0, np.inf
    for flat in (extra.reshape(-1), cells.reshape(-1), values.reshape(-1)):
        for i in range(flat.shape[0]):
            flat[i] = 0.0
    for flat in (whole.reshape(-1), codes.reshape(-1), waiting):
        for i in range(flat.shape[0]):
            flat[i] = 0
    if is_seen:
        row = np.empty(3)
        row[0], row[1], row[2] = 0.0, 1.0, 0.0
        # integers of one type, not literals: each is compiled once
        draw(world, np.int64(0), seed, np.int64(0), np.int64(START), everything, run, weights)
        learn(policy, row, state, everything, everything, weights, is_cost, seed, np.int64(0), run)
