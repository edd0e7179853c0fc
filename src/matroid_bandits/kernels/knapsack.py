"""The best sets within a budget of whole costs, by dynamic programming."""

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel


@kernel
def _settle(without, rest, gain, cost, best, takes):
    """The best totals by room with one more item, beside which others have `rest`; `takes` where it is taken."""
    width = without.shape[0]
    for room in range(min(cost, width)):
        best[room] = without[room]
    with_it, others = best[cost:], without[cost:]
    for left in range(width - cost):
        total, other = rest[left] + gain, others[left]
        with_it[left] = total if total > other else other
    n_whole = (width - cost) // 8
    for place in range(n_whole):
        byte = 0
        for bit in range(8):
            byte |= (with_it[8 * place + bit] == rest[8 * place + bit] + gain) << bit
        takes[place] = byte
    byte = 0
    for left in range(8 * n_whole, width - cost):
        byte |= (with_it[left] == rest[left] + gain) << (left & 7)
    takes[n_whole] = byte


@inlined
def _is_set(bits, place):
    return (bits[place >> 3] >> (place & 7)) & 1 == 1


@kernel
def _copy(source, target):
    for k in range(source.shape[0]):
        for room in range(source.shape[1]):
            target[k, room] = source[k, room]


def _work(gains, is_open, costs, ends, budget, most, chosen):
    return gains.size * (budget + 1) * (1 if most >= costs.size else most + 1)


@kernel(work=_work)
def best_sets(gains, is_open, costs, ends, budget, most, chosen):
    """Fill `chosen` (R, L) with the best set of each row of `gains` (R, L) within `budget`, of at most `most` items.

    Items of a group are neighbours: ``ends[i]`` is the item after the group of item i, i + 1 where it has none. At
    most one item of a group is chosen, and none whose gain is 0 or less, nor one that is not `is_open` (R, L) or
    (1, L). `most` is the number of items where there is no such limit. Of equally good sets the one is chosen that
    holds the first item in which they differ.

    Items are settled from the last to the first, in rows of totals by room: ``best`` of the items from i on, and
    ``past`` of those behind the group of i. A bit for each item, number of items and room behind the item says
    whether it is taken there.
    """
    n_items = costs.shape[0]
    n_counts = 1 if most >= n_items else most + 1
    width = budget + 1
    best, after = np.zeros((n_counts, width), np.int64), np.zeros((n_counts, width), np.int64)
    past = np.zeros((n_counts, width), np.int64)
    n_bytes = width // 8 + 1
    takes = np.zeros((n_items, n_counts, n_bytes), np.uint8)
    for run in range(gains.shape[0]):
        row = run if is_open.shape[0] > 1 else 0
        best[:] = 0
        for i in range(n_items - 1, -1, -1):
            chosen[run, i] = False
            is_alone = ends[i] == i + 1 and (i == 0 or ends[i - 1] != ends[i])
            if not is_alone and ends[i] == i + 1:  # the last of its group
                _copy(best, past)
            gain, cost = gains[run, i], costs[i]
            if gain <= 0 or cost > budget or most == 0 or not is_open[row, i]:
                continue
            for k in range(n_counts):
                fewer = k if n_counts == 1 else k - 1
                if fewer < 0:
                    for room in range(width):
                        after[k, room] = best[k, room]
                    continue
                rest = best[fewer] if is_alone else past[fewer]
                _settle(best[k], rest, gain, cost, after[k], takes[i, k])
            best, after = after, best
        i, k, room = 0, n_counts - 1, budget
        while i < n_items:
            cost = costs[i]
            is_candidate = gains[run, i] > 0 and cost <= room and most > 0 and is_open[row, i]
            if is_candidate and (n_counts == 1 or k > 0) and _is_set(takes[i, k], room - cost):
                chosen[run, i] = True
                room -= cost
                if n_counts > 1:
                    k -= 1
                i = ends[i]
            else:
                i += 1
