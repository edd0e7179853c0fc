"""Whole episodes of matroids whose greedy algorithm runs along an order of the items."""

import numpy as np

from matroid_bandits.compiled._frame import (
    add_up,
    advance,
    begin,
    count_plays,
    draw,
    draw_simple,
    fill_indices,
    fill_lines,
    is_affine,
    is_counted,
    is_simple,
    kernel,
    learn,
)
from matroid_bandits.kernels import graphic, laminar, linear, order, selection, transversal, warm
from matroid_bandits.stream import WEIGHTS

#: Families by number: forests, nested quotas, matchings by bits and by lists, vectors modulo primes and of floats.
FOREST, NESTED, BITS, MATCHING, RESIDUES, FLOATS = range(6)

#: Moves per class before the repair of an order is given up: about what sorting from scratch costs.
MOVES_PER_CLASS = 8

argsort_row, repair, sort_set = order.argsort_row, warm.repair, selection.sort_set
greedy_forests, greedy_quotas = graphic.greedy_forests, laminar.greedy_quotas
greedy_matchings, greedy_mask_matchings = transversal.greedy_matchings, transversal.greedy_mask_matchings
greedy_residues, greedy_floats = linear.greedy_residues, linear.greedy_floats


@kernel
def _first_of_classes(order, class_of, is_met, classes):
    """The classes in the order in which `order` meets them."""
    for c in range(is_met.shape[0]):
        is_met[c] = False
    k = 0
    for i in range(order.shape[0]):
        c = class_of[order[i]]
        classes[k] = c
        k += not is_met[c]
        is_met[c] = True
        if k == classes.shape[0]:
            break


@kernel
def play_orders(family, policy, schedule, world, start, score, when, points, all_state, all_classes, totals, curves):
    """Play an episode per row of `schedule` in every run, run by run; `_play.py` says what the arguments are.

    Of this family: its number; the items that may be chosen or not, `pool`, and those in every basis; the classes of
    the pool, by places in it, of which at most one item can be chosen; and its arrays. `all_classes` (G, C) are the
    orders of classes that the last call left, where these are repaired rather than sorted. Returns -1, or the run in
    which an order led to less than a basis.
    """
    number, pool, always, class_starts, class_members, class_of, is_repaired, rank, arrays = family
    xs, ys, zs, size, masks, entries, residues, primes, vectors, tolerance = arrays
    seed, first_run, first_t, first_point, is_first, is_seen, is_cost = when
    sums, counts, means, radii, extra, whole, cells, codes, kept = all_state
    n_items, n_pool, n = sums.shape[1], pool.shape[0], schedule.shape[0]
    n_classes = class_starts.shape[0] - 1
    n_always = always.shape[0]
    everything, is_all = np.arange(n_items), n_pool == n_items
    indices, space = np.empty(n_pool), np.empty((2, n_items))
    scratch = np.empty(n_pool)
    keys, levels = np.empty(n_pool, np.uint64), np.empty(n_pool, np.uint64)
    words, spare, digits = np.empty(n_pool, np.uint64), np.empty(n_pool, np.uint64), np.empty(3 * 2048, np.uint32)
    places, ordered = np.empty((1, n_pool), np.int64), np.empty((1, n_pool), np.int64)
    lengths, sizes, is_spent = np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.bool_)
    is_met, is_chosen = np.empty(n_classes, np.bool_), np.zeros(n_items, np.bool_)
    slots = np.empty((1, n_items), np.int64)
    chosen, weights = np.empty((1, rank), np.int64), np.empty(rank)
    items = chosen[0]
    all_means, best, sign = score
    world_kind, all_values = world[0], world[1]
    values, mean_weights = all_values[0], all_means[0]
    is_moving, purpose = best.shape[0] > 1, np.int64(WEIGHTS)
    is_line, has_plain_counts, has_simple_weights = (
        is_affine(policy[0]),
        is_counted(policy[0]),
        is_simple(world_kind),
    )
    keeps_orders = is_repaired and is_line
    for r in range(sums.shape[0]):
        run, total = np.uint64(first_run + r), totals[r]
        s, m, a, b = sums[r], counts[r], means[r], radii[r]
        state = (s, m, a, b, extra[r], whole[r], cells[r], codes[r], kept[r])
        classes = all_classes[r : r + 1]
        if is_first:
            begin(policy, start, state, everything, space[0], is_seen, is_cost, seed, run)
            for c in range(all_classes.shape[1]):
                all_classes[r, c] = c
        point = first_point
        for i in range(n):
            t = first_t + i
            if is_line:
                fill_lines(a, b, pool, is_all, schedule[i, 0], indices)
            else:
                fill_indices(policy, schedule[i], state, pool, seed, t, run, space, indices)
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
            for j in range(n_always):
                items[j] = always[j]
            if number == FOREST:
                greedy_forests(ordered, lengths, xs, ys, size, n_always, rank, chosen, sizes)
            elif number == NESTED:
                greedy_quotas(ordered, lengths, xs, ys, zs, n_always, rank, chosen, sizes)
            elif number == BITS:
                greedy_mask_matchings(ordered, lengths, always, masks, entries, size, rank, chosen, sizes)
            elif number == MATCHING:
                greedy_matchings(ordered, lengths, always, xs, ys, size, rank, chosen, sizes, slots)
            elif number == RESIDUES:
                greedy_residues(ordered, lengths, always, residues, primes, rank, chosen, sizes)
            else:
                greedy_floats(ordered, lengths, always, vectors, tolerance, rank, chosen, sizes)
            if sizes[0] != rank:  # of floats too close to dependent
                return r
            sort_set(items, is_chosen)
            place = i if is_moving else 0
            if is_moving:
                values, mean_weights = all_values[place], all_means[place]
            if not has_plain_counts:
                advance(policy, schedule[i], state, t, everything)
            if has_simple_weights:
                draw_simple(world_kind, values, seed, t, purpose, items, run, weights)
            else:
                draw(world, place, seed, t, purpose, items, run, weights)
            if has_plain_counts:
                count_plays(s, m, a, b, items, weights, is_cost)
            else:
                learn(policy, schedule[i], state, everything, items, weights, is_cost, seed, t, run)
            add_up(items, weights, mean_weights, best[place], sign, total)
            if t == points[point]:
                curves[r, 0, point], curves[r, 1, point] = total[0], total[1]
                point += 1
    return -1
