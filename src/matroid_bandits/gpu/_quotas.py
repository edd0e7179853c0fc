"""Whole episodes where at most so many items of each cell are chosen: uniform and partition matroids.

A block plays a run. The last of a cell to be chosen has some key, its threshold, which lies in an interval [low, high)
per cell: at least as many items as the cell may hold have a key of `low` or more, fewer have `high` or more. The set
chosen last bounds it from below, and often there is nothing more to find out. Otherwise the intervals are halved
until few items lie in them, which are ranked one by one; or until only equal keys do, of which the first are taken.
Shared memory is counted in `_fit.py`.
"""

import numpy as np

from matroid_bandits.gpu._codes import ZONE
from matroid_bandits.gpu._device import cuda, kernel, types
from matroid_bandits.gpu._episode import (
    UNSEEN,
    add_up,
    begin,
    explores,
    finish,
    index_at,
    key_of,
    learn,
    list_marked,
    mark,
    policy_words,
)

#: Halvings of an interval after which its best key is tried too, every other time: many are equal.
_PLAIN_STEPS = 6

_TOP = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


@cuda.jit(device=True)
def _count(keys, cells, bounds, counts, tid, n_threads):
    """Add to `counts` how many keys of each cell reach its bound; neighbours of one cell are added together."""
    cell, n = 0, 0
    for e in range(tid, keys.shape[0], n_threads):
        b = cells[e]
        if b != cell:
            if n > 0:
                cuda.atomic.add(counts, cell, n)
            cell, n = b, 0
        if keys[e] >= bounds[b]:
            n += 1
    if n > 0:
        cuda.atomic.add(counts, cell, n)


@kernel
def play_quotas(
    cells, starts, members, capacities, rank,
    seed, first_run, first_t, start, n_before, is_last, is_cost, best, points, first_point, coefficients, policy_kind, number,
    world_kind, values, n_rows, table, indptr, indices, mean_weights,
    all_sums, all_counts, all_means, all_radii, all_successes, totals, curves, choices,
):  # fmt: skip
    """Play an episode per coefficient in every run; `_play.py` says what the arguments are.

    Of this family: the cell of each item, the items of each cell, and how many of each cell are chosen.
    """
    tid, n_threads, place = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
    run = np.uint64(first_run + place)
    policy = (policy_kind, number)
    world = (world_kind, values, n_rows, table, indptr, indices)
    state = (all_sums[place], all_counts[place], all_means[place], all_radii[place], all_successes[place])
    n_items, n_cells, n_words = cells.shape[0], capacities.shape[0], (cells.shape[0] + 31) // 32

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
    numbers = reals[at : at + 2 * rank]
    at = 2 * (at + 2 * rank)
    n_low = shorts[at : at + n_cells]
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
    at += n_threads
    zone = marks[at : at + ZONE]
    at += ZONE
    flags = shorts[at : at + 5]

    begin(start, policy, world, state, is_cost, seed, run, tid, n_threads)
    total = totals[tid, place] if tid < 2 else 0.0
    point = first_point
    for i in range(coefficients.shape[0]):
        t = first_t + i
        words = policy_words(seed, t)
        is_random = explores(policy, words, run)
        for e in range(tid, n_items, n_threads):
            keys[e] = key_of(index_at(policy, coefficients[i], is_random, state, e, words, run))
        for b in range(tid, n_cells, n_threads):
            low[b] = _TOP if i > 0 or capacities[b] == 0 else np.uint64(0)
            high[b], middle[b] = _TOP, np.uint64(0)
            n_low[b], n_high[b] = 0, 0
        for w in range(tid, n_words, n_threads):
            bits[w] = 0
        for w in range(tid, 5, n_threads):
            flags[w] = 0
        cuda.syncthreads()

        if i > 0:  # the worst of last episode's set is a bound, whatever became of it
            for k in range(tid, rank, n_threads):
                cuda.atomic.min(low, cells[items[k]], keys[items[k]])
            cuda.syncthreads()
        _count(keys, cells, low, n_low, tid, n_threads)
        cuda.syncthreads()
        n_open, side, step = 0, 0, 0
        while True:
            for b in range(tid, n_cells, n_threads):
                if n_low[b] > capacities[b]:
                    cuda.atomic.add(flags, side, n_low[b] - n_high[b])
                    if high[b] - low[b] > _ONE:
                        flags[side + 1] = 1
            cuda.syncthreads()
            n_open = flags[side]
            if n_open <= ZONE or flags[side + 1] == 0:
                break
            is_top = step == 0 or (step > _PLAIN_STEPS and step % 2 == 1)
            if is_top:  # find the best key of each cell
                for e in range(tid, n_items, n_threads):
                    key, b = keys[e], cells[e]
                    if low[b] <= key < high[b] and key >= middle[b] and n_low[b] > capacities[b]:
                        cuda.atomic.max(middle, b, key + _ONE)
                cuda.syncthreads()
            for b in range(tid, n_cells, n_threads):
                if n_low[b] > capacities[b]:
                    if is_top:
                        high[b] = middle[b]
                    is_probed = is_top and (step > 0 or high[b] > UNSEEN)  # whether it is one of many equals
                    middle[b] = high[b] - _ONE if is_probed else low[b] + ((high[b] - low[b]) >> _ONE)
                else:
                    middle[b] = _TOP
                n_middle[b] = 0
            side = 2 - side
            if tid < 2:
                flags[side + tid] = 0
            step += 1
            cuda.syncthreads()
            _count(keys, cells, middle, n_middle, tid, n_threads)
            cuda.syncthreads()
            for b in range(tid, n_cells, n_threads):
                if n_low[b] > capacities[b]:
                    if n_middle[b] >= capacities[b]:
                        low[b], n_low[b] = middle[b], n_middle[b]
                    else:
                        high[b], n_high[b] = middle[b], n_middle[b]
                    middle[b] = 0

        for e in range(tid, n_items, n_threads):
            key, b = keys[e], cells[e]
            if key >= low[b]:
                if n_low[b] <= capacities[b] or key >= high[b]:
                    mark(bits, e)
                elif n_open <= ZONE:
                    zone[cuda.atomic.add(flags, 4, 1)] = e
        if n_open > ZONE:  # equal keys
            for b in range(tid, n_cells, n_threads):
                if n_low[b] > capacities[b]:
                    left, j = capacities[b] - n_high[b], starts[b]
                    while left > 0:
                        if keys[members[j]] == low[b]:
                            mark(bits, np.int64(members[j]))
                            left -= 1
                        j += 1
        elif n_open > 0:
            cuda.syncthreads()
            for j in range(tid, n_open, n_threads):
                e = zone[j]
                key, b, before = keys[e], cells[e], 0
                for l in range(n_open):
                    f = zone[l]
                    if cells[f] == b and (keys[f] > key or (keys[f] == key and f < e)):
                        before += 1
                if before < capacities[b] - n_high[b]:
                    mark(bits, np.int64(e))
        cuda.syncthreads()

        list_marked(bits, partial, items, tid, n_threads)
        learn(policy, world, mean_weights, state, items, numbers, is_cost, seed, t, run, tid, n_threads)
        if tid < 2:
            total = add_up(numbers, rank, total, best, is_cost, tid)
        if t == points[point]:
            if tid < 2:
                curves[tid, place, point] = total
            point += 1
    finish(is_last, n_before, state, total, totals, choices, place, tid, n_threads)
