"""What an episode of one run is made of on the CPU, whatever the matroid: indices, weights, counts, totals.

A policy, a world and a run's state are tuples of numbers and arrays; `_plan.py` makes them. Loops are apart for every
kind, so that they are compiled to SIMD.
"""

import numpy as np

from matroid_bandits.kernels import episodes, kinetic, random, sparse
from matroid_bandits.kernels.compiling import njit
from matroid_bandits.kernels.forms import (
    AFFINE,
    BERNOULLI,
    BETA,
    CHANCE,
    DENSE,
    EPSILON,
    EXPONENTIAL,
    GAUSSIAN,
    NORMAL,
)
from matroid_bandits.stream import POLICY, ROUNDING, START, WEIGHTS

_WORD = np.uint64(0xFFFFFFFF)
_N_RADII = 2048
_RADII = 1.0 / np.sqrt(np.maximum(np.arange(_N_RADII), 1))

address, uniform_at = random.address, random.uniform_at
exponential_at, normal_at, betas = random.exponential_at, random.normal_at, random.betas
sampled_mean, coin, noisy, place_of = episodes.sampled_mean, episodes.coin, episodes.noisy, episodes.place_of
chance_of, radius_of, RUN_ITEM = episodes.chance_of, episodes.radius_of, episodes.RUN_ITEM
index, entry = kinetic.index, sparse.entry

kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def fill_indices(policy, row, state, items, is_all, seed, t, run, room, out):
    """The index of each of `items` (n,), ascending or not, in an episode; `is_all` where they are 0 to L - 1.

    `row` is the episode's row of the schedule, `room` (2, n) work space.
    """
    kind, number = policy
    _, counts, means, radii, successes = state
    n = items.shape[0]
    if kind == AFFINE:
        c = row[0]
        if is_all:
            for i in range(n):
                out[i] = index(means[i], radii[i], c)
        else:
            for i in range(n):
                e = np.uint64(items[i])
                out[i] = index(means[e], radii[e], c)
        return
    c1, c2, c3, k0 = address(seed, t, POLICY)
    if kind == BETA:
        for i in range(n):
            e = np.uint64(items[i])
            room[0, i], room[1, i] = 1.0 + successes[e], 1.0 + (counts[e] - successes[e])
        runs = np.empty(1, np.int64)
        runs[0] = np.int64(run)
        betas(seed, runs, t, items.reshape(1, n), POLICY, room[0:1, :n], room[1:2, :n], out.reshape(1, n))
        return
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
def draw(world, place, seed, t, purpose, items, run, out):
    """The weights of some items, as the environment's `draw` gives them; `place` is the row of values."""
    kind, all_values, all_spread, n_rows, table, indptr, indices = world
    values, spread = all_values[place], all_spread[place if place < all_spread.shape[0] else 0]
    c1, c2, c3, k0 = address(seed, t, purpose)
    n = items.shape[0]
    if kind == BERNOULLI:
        for k in range(n):
            out[k] = uniform_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            out[k] = coin(out[k], values[np.uint64(items[k])])
    elif kind == EXPONENTIAL:
        for k in range(n):
            out[k] = exponential_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            out[k] += values[np.uint64(items[k])]
    elif kind == GAUSSIAN:
        for k in range(n):
            out[k] = normal_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            e = np.uint64(items[k])
            out[k] = noisy(out[k], values[e], spread[e])
    else:
        row = place_of(uniform_at(RUN_ITEM, c1, c2, c3, k0, run), n_rows)
        if kind == DENSE:
            start = row * values.shape[0]
            for k in range(n):
                out[k] = table[np.uint64(start + items[k])]
        else:
            for k in range(n):
                out[k] = entry(indptr, indices, table, row, items[k])


@kernel
def learn(policy, state, items, weights, is_cost, seed, t, run):
    """Count the weights of some items, as `kernels.statistics.absorb` and the policy's `observe` do."""
    kind, _ = policy
    sums, counts, means, radii, successes = state
    for k in range(items.shape[0]):
        e = np.uint64(items[k])
        n = counts[e] + 1
        total = sums[e] + (-weights[k] if is_cost else weights[k])
        counts[e] = n
        sums[e] = total
        means[e] = total / n
        radii[e] = _RADII[n] if n < _N_RADII else radius_of(n)
    if kind == BETA:
        c1, c2, c3, k0 = address(seed, t, ROUNDING)
        for k in range(items.shape[0]):
            chance = chance_of(-weights[k] if is_cost else weights[k], is_cost)
            if uniform_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run) < chance:
                successes[items[k]] += 1.0


@kernel
def begin(policy, world, state, everything, weights, is_seen, is_cost, seed, run):
    """Bring a run's state to where episode 1 finds it; `weights` (L,) is work space."""
    sums, counts, means, radii, successes = state
    sums[:], counts[:], means[:], radii[:], successes[:] = 0.0, 0, 0.0, np.inf, 0.0
    if is_seen:
        # integers of one type, not literals: each is compiled once
        draw(world, np.int64(0), seed, np.int64(0), np.int64(START), everything, run, weights)
        learn(policy, state, everything, weights, is_cost, seed, np.int64(0), run)


@kernel
def play_set(policy, world, score, state, place, items, weights, is_cost, seed, t, run, total):
    """Draw the weights of the chosen items, count them, and add the episode to a run's totals.

    Totals are added up item by item, as `kernels.statistics.add_totals` does.
    """
    draw(world, place, seed, t, np.int64(WEIGHTS), items, run, weights)
    learn(policy, state, items, weights, is_cost, seed, t, run)
    all_means, best, sign = score
    mean_weights = all_means[place]
    worth, mean = 0.0, 0.0
    for k in range(items.shape[0]):
        worth += weights[k]
        mean += mean_weights[np.uint64(items[k])]
    total[0] += worth
    total[1] += sign * (best[place] - mean)
