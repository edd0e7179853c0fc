"""What an episode of one run is made of on the CPU, whatever the matroid: indices, weights, counts.

A policy, a world and a run's state are tuples of numbers and arrays; `_play.py` makes them. Of a state: sums, counts,
means and radii (L,); `extra` (X, L) float64, which the policy keeps besides; how many plays of each item wait for an
answer (L,), or (1,) where no answer is late; and what else policies keep: `whole` (Y, L) int64, the cells of
`kernels.discount` (L, 7), the ring of `kernels.window` (C, K) in two arrays.

What most simulations need is in `kernels.episodes`; what is here is played by kernels of the group EVERY alone.

A function that is called counts a reference to every array that it is handed, also in a tuple, at some nanoseconds
each. So kernels borrow their arrays.
"""

import numpy as np

from matroid_bandits import stream
from matroid_bandits.kernels import classes, discount, episodes, random, sparse, statistics, window
from matroid_bandits.kernels.compiling import called, inlined, times
from matroid_bandits.kernels.forms import (
    AFFINE,
    BERNOULLI,
    BETA,
    BETA_WEIGHTS,
    DENSE,
    DISCOUNTED,
    EXPONENTIAL,
    FADING,
    GAUSSIAN,
    KL_SHARE,
    ONE_NORMAL,
    ONE_QUANTILE,
    RECORDS,
    SHARE,
    WINDOW,
)

# integers of one type, not literals: what takes them is compiled once
POLICY, ROUNDING, START, WEIGHTS = map(np.int64, (stream.POLICY, stream.ROUNDING, stream.START, stream.WEIGHTS))

_WORD = np.uint64(0xFFFFFFFF)
_SHIFT = discount.SHIFT
_ANSWERED = np.int64(window.ANSWERED)

# Rows of what policies keep: of beta beliefs, and of a window.
SUCCESSES, FAILURES, KNOWN_AT = 0, 1, 0
SUMS, FIRST_SUMS = 0, 1
COUNTS, WAITING, LOST, FIRST_COUNTS = 0, 1, 2, 3

address, uniform_at, normal_at, fill_betas = random.address, random.uniform_at, random.normal_at, random.fill_betas
place_of, chance_of, RUN_ITEM = episodes.place_of, episodes.chance_of, episodes.RUN_ITEM
count_plays, n_plays = episodes.count_plays, episodes.n_plays
draw_simple, entry, update_lines = episodes.draw_simple, sparse.entry, statistics.update_lines
discounted_answer, discounted_update = discount.answer, discount.update
enter, leave, recount = window.enter, window.leave, window.recount
index_at_plays = classes.index


@inlined
def is_forgetful(kind):
    """Whether a policy of this kind keeps something that `advance` and `learn` know."""
    return kind in (DISCOUNTED, WINDOW, FADING)


@inlined
def is_rare(kind):
    """Whether `fill_rare` knows the index of a policy of this kind."""
    return kind in (FADING, SHARE, KL_SHARE, ONE_NORMAL, ONE_QUANTILE)


@inlined
def is_affine(kind):
    """Whether the index of a policy of this kind is a line for each item."""
    return kind in (AFFINE, DISCOUNTED, WINDOW)


@inlined
def number_of_run(kind, x, seed, t, run):
    """What the index needs of an episode and a run: the number x of the episode, or one drawn for all items."""
    c1, c2, c3, k0 = address(seed, t, POLICY)
    if kind == ONE_NORMAL:
        return normal_at(RUN_ITEM, c1, c2, c3, k0, run) * x
    return uniform_at(RUN_ITEM, c1, c2, c3, k0, run) if kind == ONE_QUANTILE else x


@called
def fill_rare(policy, row, state, seed, t, items, run, room, out):
    """The index of each of `items` (n,) in an episode, of policies that are neither affine nor common.

    `row` is the episode's row of the schedule, `room` (2, at least n) work space.
    """
    kind, number, n = policy[0], policy[1], items.shape[0]
    _, counts, means, _, extra, waiting, whole, _, _, _ = state
    if kind == FADING:
        powers, alpha, beta = policy[3], room[0], room[1]
        for i in range(n):
            e = np.uint64(items[i])
            left = powers[t - 1 - whole[KNOWN_AT, e]]
            alpha[i] = 1.0 + times(extra[SUCCESSES, e], left)
            beta[i] = 1.0 + times(extra[FAILURES, e], left)
        c1, c2, c3, k0 = address(seed, t, POLICY)
        fill_betas(alpha, beta, items, c1, c2, c3, k0, run, out)
    elif kind in (SHARE, KL_SHARE, ONE_NORMAL, ONE_QUANTILE):  # of which the loop is compiled once for each
        x = number_of_run(kind, row[0], seed, t, run)
        for i in range(n):
            e = np.uint64(items[i])
            out[i] = index_at_plays(kind, number, x, means[e], np.float64(n_plays(counts, waiting, e)))


@called
def advance(policy, row, state, t, everything):
    """Let an episode pass after its set was chosen, as the policy's `advance` does."""
    kind, length = policy[0], policy[2]
    _, _, means, radii, extra, _, whole, cells, codes, values = state
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


@called
def draw(world, place, seed, t, purpose, items, run, out):
    """The weights of some items, as the environment's `draw` gives them; `place` is the row of values."""
    kind, values = world[0], world[1][place]
    c1, c2, c3, k0 = address(seed, t, purpose)
    n = items.shape[0]
    spread = world[2][place if place < world[2].shape[0] else 0]
    if kind in (BERNOULLI, EXPONENTIAL, GAUSSIAN):
        draw_simple(kind, values, spread, seed, t, purpose, items, run, out)
    elif kind == RECORDS:
        sizes, table, starts = world[2][0], world[4], world[5]
        for k in range(n):
            out[k] = uniform_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            e = np.uint64(items[k])
            out[k] = table[np.uint64(starts[e] + place_of(out[k], sizes[e]))]
    elif kind == BETA_WEIGHTS:
        room = np.empty((2, n))
        for k in range(n):
            e = np.uint64(items[k])
            room[0, k], room[1, k] = values[e], spread[e]
        fill_betas(room[0], room[1], items, c1, c2, c3, k0, run, out)
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


@called
def learn(policy, row, state, everything, items, weights, gains, is_cost, seed, t, run):
    """Count the weights of some items, as the `observe` of a policy that forgets does; `gains` (n,) is room."""
    kind, n = policy[0], items.shape[0]
    sums, counts, means, radii, extra, _, whole, cells, _, _ = state
    for k in range(n):
        gains[k] = -weights[k] if is_cost else weights[k]
    if kind == FADING:
        count_plays(sums, counts, means, radii, items, weights, is_cost)
        believe(policy, state, items, gains, is_cost, seed, t, t, run)
        return
    n_items = means.shape[0]
    runs, none = np.zeros(n, np.int64), np.empty((0, 0))
    for k in range(n):
        counts[items[k]] += 1
    a, b = means.reshape(1, n_items), radii.reshape(1, n_items)
    if kind == DISCOUNTED:
        cell = cells.reshape(1, n_items, cells.shape[1])
        discounted_answer(runs, items, gains, row[1], row[2], whole[WAITING : WAITING + 1], cell, none, a, b)
    elif t == 0:
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
        enter_plays(state, everything, items, gains, _ANSWERED, t)


@called
def enter_plays(state, everything, items, gains, kind_of_play, t):
    """Write plays of episode t into the ring of a window, as `SlidingWindowOMM` does."""
    _, _, means, radii, extra, _, whole, _, codes, values = state
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


@called
def believe(policy, state, items, gains, is_cost, seed, then, t, run):
    """Count the gains of plays of episode `then` as successes and failures, as beliefs do in episode t."""
    kind, powers, extra, whole = policy[0], policy[3], state[4], state[6]
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


@called
def clear_rest(state):
    """Bring what the group EVERY keeps of a run to where nothing was played."""
    _, _, _, _, _, waiting, whole, cells, codes, values = state
    for flat in (cells.reshape(-1), values.reshape(-1)):
        for i in range(flat.shape[0]):
            flat[i] = 0.0
    for flat in (whole.reshape(-1), codes.reshape(-1), waiting):
        for i in range(flat.shape[0]):
            flat[i] = 0
