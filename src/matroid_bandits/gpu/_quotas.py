"""Whole episodes where at most so many items of each cell are chosen: uniform and partition matroids."""

import numpy as np

from matroid_bandits.gpu._choose import choose_few, choose_many, choose_one_each
from matroid_bandits.gpu._codes import FEW, ONE_EACH, ZONE
from matroid_bandits.gpu._device import cuda, index, kernel, types
from matroid_bandits.gpu._episode import (
    begin,
    end_episode,
    explores,
    finish,
    index_at,
    key_of,
    policy_words,
)
from matroid_bandits.kernels.forms import AFFINE


@kernel
def play_quotas(
    method, cells, starts, members, capacities, rank,
    seed, first_run, first_t, start, n_before, is_last, is_cost, best, points, first_point, coefficients, policy_kind,
    number, world_kind, values, n_rows, table, indptr, indices, mean_weights,
    all_sums, all_counts, all_means, all_radii, all_successes, totals, curves, choices,
):  # fmt: skip
    """Play an episode per coefficient in every run, a block each; `_play.py` says what the arguments are.

    Of this family: how sets are chosen, the cell of each item, the items of each cell, and how many of each cell are
    chosen. `_fit.py` counts the shared memory.
    """
    tid, n_threads, place = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), cuda.blockIdx.x
    run = np.uint64(first_run + place)
    policy = (policy_kind, number)
    world = (world_kind, values, n_rows, table, indptr, indices)
    state = (all_sums[place], all_counts[place], all_means[place], all_radii[place], all_successes[place])
    n_items, n_cells = np.uint32(cells.shape[0]), np.uint32(capacities.shape[0])
    n_words = np.uint32((cells.shape[0] + 31) // 32)

    longs = cuda.shared.array(0, types.uint64)
    reals = cuda.shared.array(0, types.float64)
    shorts = cuda.shared.array(0, types.int32)
    marks = cuda.shared.array(0, types.uint32)
    keys = longs[:n_items]
    at = n_items
    low = longs[at : at + n_cells]
    at += n_cells
    high = longs[at : at + n_cells]
    at += n_cells
    middle = longs[at : at + n_cells]
    at += n_cells
    tops = longs[at : at + n_threads]
    at += n_threads
    numbers = reals[at : at + 2 * rank]
    at = 2 * (at + 2 * rank)
    n_low = shorts[at : at + n_cells]
    upper = marks[at : at + n_cells]  # of cells that have one item each; the counts are not needed then
    at += n_cells
    n_high = shorts[at : at + n_cells]
    at += n_cells
    n_middle = shorts[at : at + n_cells]
    at += n_cells
    items = marks[at : at + rank]
    at += rank
    bits = marks[at : at + n_words]
    at += n_words
    partial = shorts[at : at + n_threads]
    top_items = marks[at : at + n_threads]  # needed before, not with it
    at += n_threads
    zone = marks[at : at + ZONE]
    at += ZONE
    flags = shorts[at : at + 5]

    width = np.uint32((n_words + n_threads - 1) // n_threads)
    begin(start, policy, world, state, is_cost, seed, run, tid, n_threads)
    total = totals[tid, place] if tid < 2 else 0.0
    point = first_point
    for i in range(coefficients.shape[0]):
        t = first_t + i
        c, e, top, top_item = coefficients[i], tid, np.uint64(0), n_items
        if policy_kind == AFFINE:  # apart, since most of the time is spent here
            while e < n_items:
                key = key_of(index(state[2][e], state[3][e], c))
                keys[e] = key
                if key > top:
                    top, top_item = key, e
                e = np.uint32(e + n_threads)
        else:
            words = policy_words(seed, t)
            is_random = explores(policy, words, run)
            while e < n_items:
                key = key_of(index_at(policy, is_random, state, e, words, run))
                keys[e] = key
                if key > top:
                    top, top_item = key, e
                e = np.uint32(e + n_threads)
        w = tid
        while w < n_words:
            bits[w] = 0
            w = np.uint32(w + n_threads)
        if method == ONE_EACH:
            b = tid
            while b < n_cells:
                low[b], upper[b] = 0, 0
                b = np.uint32(b + n_threads)
        if tid == 0:
            flags[4] = 0
        cuda.syncthreads()

        is_chosen = False
        if method == FEW:
            is_chosen = choose_few(keys, rank, top, top_item, tops, top_items, zone, flags, bits, tid, n_threads)
        elif method == ONE_EACH:
            choose_one_each(keys, cells, capacities, items, i > 0, upper, low, bits, tid, n_threads)
            is_chosen = True
        if not is_chosen:
            choose_many(
                keys, cells, starts, members, capacities, items, i > 0, low, high, middle, n_low, n_high, n_middle,
                zone, flags, bits, tid, n_threads,
            )  # fmt: skip
        cuda.syncthreads()
        total, point = end_episode(
            policy, world, mean_weights, best, state, bits, width, partial, items, numbers, is_cost, seed, t, run,
            points, point, curves, place, total, tid, n_threads,
        )  # fmt: skip
    finish(is_last, n_before, state, total, totals, choices, place, tid, n_threads)
