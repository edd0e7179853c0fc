"""Whole episodes of matroids whose greedy algorithm runs along an order of the items."""

import numpy as np

from matroid_bandits.compiled._frame import begin, fill_indices, kernel, play_set
from matroid_bandits.kernels import graphic, order, selection, warm
from matroid_bandits.kernels.forms import AFFINE

#: Families by number: forests, nested quotas, matchings by bits and by lists, vectors modulo primes and of floats.
FOREST, NESTED, BITS, MATCHING, RESIDUES, FLOATS = range(6)

#: Moves per class before the repair of an order is given up: about what sorting from scratch costs.
MOVES_PER_CLASS = 8

argsort_row, repair, sort_set = order.argsort_row, warm.repair, selection._sort
greedy_forests = graphic.greedy_forests


@kernel
def _first_of_classes(order, class_of, is_met, classes):
    """The classes in the order in which `order` meets them."""
    is_met[:] = False
    k = 0
    for i in range(order.shape[0]):
        c = class_of[order[i]]
        classes[k] = c
        k += not is_met[c]
        is_met[c] = True
        if k == classes.shape[0]:
            break


@kernel
def play_orders(family, policy, schedule, world, score, when, points, all_state, all_classes, totals, curves):
    """Play an episode per row of `schedule` in every run, run by run; `_plan.py` says what the arguments are.

    Of this family: its number; the items that may be chosen or not, `pool`, and those in every basis; the classes of
    the pool, by places in it, of which at most one item can be chosen; and its arrays. `all_classes` (G, C) are the
    orders of classes that the last call left, where these are repaired rather than sorted.
    """
    number, pool, always, class_starts, class_members, class_of, is_repaired, xs, ys, _, size, rank = family
    seed, first_run, first_t, is_first, is_seen, is_cost = when
    sums, counts, means, radii, successes = all_state
    n_items, n_pool, n = sums.shape[1], pool.shape[0], schedule.shape[0]
    n_classes = class_starts.shape[0] - 1
    n_always = always.shape[0]
    everything = np.arange(n_items)
    is_all = n_pool == n_items
    indices, room = np.empty(n_pool), np.empty((2, n_items))
    scratch = np.empty(n_pool)
    keys, levels = np.empty(n_pool, np.uint64), np.empty(n_pool, np.uint64)
    words, spare, digits = np.empty(n_pool, np.uint64), np.empty(n_pool, np.uint64), np.empty(3 * 2048, np.uint32)
    places, ordered = np.empty((1, n_pool), np.int64), np.empty((1, n_pool), np.int64)
    lengths, sizes, is_spent = np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.bool_)
    is_met, is_chosen = np.empty(n_classes, np.bool_), np.zeros(n_items, np.bool_)
    chosen, weights = np.empty((1, rank), np.int64), np.empty(rank)
    items = chosen[0]
    is_moving = score[1].shape[0] > 1
    keeps_orders = is_repaired and policy[0] == AFFINE
    for r in range(sums.shape[0]):
        run, total = np.uint64(first_run + r), totals[r]
        state = (sums[r], counts[r], means[r], radii[r], successes[r])
        classes = all_classes[r : r + 1]
        if is_first:
            begin(policy, world, state, everything, room[0], is_seen, is_cost, seed, run)
            for c in range(all_classes.shape[1]):
                all_classes[r, c] = c
        point = np.searchsorted(points, first_t)
        for i in range(n):
            t = first_t + i
            fill_indices(policy, schedule[i], state, pool, is_all, seed, t, run, room, indices)
            lengths[0] = n_pool
            is_sorted = False
            if keeps_orders:
                repair(classes, class_starts, class_members, indices.reshape(1, n_pool), MOVES_PER_CLASS * n_classes,
                       places[:, :n_classes], is_spent)  # fmt: skip
                is_sorted = not is_spent[0]
                if is_sorted:
                    lengths[0] = n_classes
            if not is_sorted:
                argsort_row(indices, places[0], scratch, keys, levels, words, spare, digits)
                if keeps_orders:
                    _first_of_classes(places[0], class_of, is_met, classes[0])
            for j in range(lengths[0]):
                ordered[0, j] = pool[np.uint64(places[0, j])]
            items[:n_always] = always
            if number == FOREST:
                greedy_forests(ordered, lengths, xs, ys, size, n_always, rank, chosen, sizes)
            sort_set(items, is_chosen)
            play_set(policy, world, score, state, i if is_moving else 0, items, weights, is_cost, seed, t, run, total)
            if t == points[point]:
                curves[r, 0, point], curves[r, 1, point] = total[0], total[1]
                point += 1
