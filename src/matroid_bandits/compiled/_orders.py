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
from matroid_bandits.compiled._late import begin_waiting, borrowed_late, learn_late
from matroid_bandits.kernels import contraction, graphic, laminar, linear, order, selection, transversal, warm
from matroid_bandits.kernels.compiling import borrowed, hold
from matroid_bandits.kernels.forms import AFFINE
from matroid_bandits.stream import WEIGHTS

#: Families by number: forests, nested quotas, matchings by bits and by lists, vectors modulo primes and of floats.
FOREST, NESTED, BITS, MATCHING, RESIDUES, FLOATS = range(6)

#: Moves per class before the repair of an order is given up: about what sorting from scratch costs.
MOVES_PER_CLASS = 8

argsort_row, repair_row, sort_set = order.argsort_row, warm.repair_row, selection.sort_set
greedy_forest, greedy_nested = graphic.greedy_forest, laminar.greedy_nested
greedy_matching, greedy_mask_matching = transversal.greedy_matching, transversal.greedy_mask_matching
refer, contract_best, raise_bounds = contraction.refer, contraction.contract_best, contraction.raise_bounds
greedy_residue, greedy_float = linear.greedy_residue, linear.greedy_float


#: For how many episodes a tree is the reference of `kernels.contraction`: these, one more for every hundred episodes
#: before it, and that many at most; and for how many nothing is contracted where too much was left, at first.
LEAST_SPAN, EPISODES_PER_MORE, MOST_SPAN, FIRST_REST, LONGEST_REST = 8, 100, 256, 8, 1024


@kernel
def sort_places(indices, order, scratch, bits, keys, levels, words, digits):
    """`argsort_row`, compiled once for all that sort."""
    argsort_row(indices, order, scratch, bits, keys, levels, words, digits)


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
def play_orders(
    family, policy, schedule, world, start, score, when, points, late, all_state, all_classes, totals, curves
):
    """Play an episode per row of `schedule` in every run, run by run; `_play.py` says what the arguments are.

    Of this family: its number; how many items may be chosen or not; these items, `pool`, and after them those in
    every basis, all of which are known by their place there; the classes of the pool of which at most one item can be
    chosen; and its arrays, by place. `all_classes` (G, C) are the orders of classes that the last call left, where
    these are repaired rather than sorted. Returns -1, or the run in which an order led to less than a basis.
    """
    number, n_pool, ground, class_starts, class_members, class_of, is_repaired, rank, arrays = family
    xs, ys, zs, size, masks, entries, residues, primes, vectors, tolerance = arrays
    seed, first_run, first_t, first_point, is_first, is_seen, is_cost = when
    n_items, n = all_state[0].shape[1], schedule.shape[0]
    n_classes, n_always = class_starts.shape[0] - 1, ground.shape[0] - n_pool
    # room: for indices and orders, for what is chosen, and for vertices, groups, right vertices and vectors
    every_item, all_always, room = np.arange(n_items), np.arange(n_pool, ground.shape[0]), np.empty((2, n_items))
    index_room, sort_room, key_room = np.empty(n_pool), np.empty(n_pool), np.empty((2, n_pool), np.uint64)
    word_room, digit_room, order_room = (
        np.empty(2 * n_pool, np.uint64),
        np.empty(3 * 2048, np.uint32),
        np.empty(n_pool, np.int64),
    )
    met_room, mark_room = np.empty(n_classes, np.bool_), np.zeros(n_items, np.bool_)
    chosen_room, weight_room = np.empty((2, rank), np.int64), np.empty(rank)
    due_items, due_gains = np.empty(rank, np.int64), np.empty(rank)
    vertex_room, group_room = (
        np.empty((3, size if number == FOREST else 1), np.uint32),
        np.empty(zs.shape[0], np.int64),
    )
    right_room = np.empty((4, size + 1 if number == MATCHING else 64), np.int64)
    slot_room, taken_room = np.empty(ground.shape[0], np.int64), np.zeros(ground.shape[0], np.bool_)
    n_primes, n_columns = primes.shape[0], residues.shape[2]
    echelon_room, pivot_room = np.empty((n_primes, rank, n_columns), np.int64), np.empty((n_primes, rank), np.int64)
    remainder_room, found_room = np.empty((n_primes, n_columns), np.int64), np.empty(n_primes, np.int64)
    alive_room, row_room = np.empty(n_primes, np.bool_), np.empty((rank, vectors.shape[1]))
    column_room, rest_room = np.empty(rank, np.int64), np.empty(vectors.shape[1])
    # and all that is used in the loops, without counting references
    ground, everything, always, space = borrowed(ground), borrowed(every_item), borrowed(all_always), borrowed(room)
    class_starts, class_members, class_of = borrowed(class_starts), borrowed(class_members), borrowed(class_of)
    xs, ys, zs, masks, entries = borrowed(xs), borrowed(ys), borrowed(zs), borrowed(masks), borrowed(entries)
    residues, primes, vectors = borrowed(residues), borrowed(primes), borrowed(vectors)
    schedule, points, totals, curves = borrowed(schedule), borrowed(points), borrowed(totals), borrowed(curves)
    all_classes = borrowed(all_classes)
    indices, scratch, digits = borrowed(index_room), borrowed(sort_room), borrowed(digit_room)
    bits, keys, levels = scratch.view(np.uint64), borrowed(key_room)[0], borrowed(key_room)[1]
    words, order, is_met = borrowed(word_room), borrowed(order_room), borrowed(met_room)
    is_chosen, chosen, items = borrowed(mark_room), borrowed(chosen_room)[0], borrowed(chosen_room)[1]
    weights, left, slot = borrowed(weight_room), borrowed(group_room), borrowed(slot_room)
    tree, tree_size, after = borrowed(vertex_room)[0], borrowed(vertex_room)[1], borrowed(vertex_room)[2]
    rights = borrowed(right_room)
    mate, via, stamp, queue = rights[0], rights[1], rights[2], rights[3]
    echelons, pivots, reduced = borrowed(echelon_room), borrowed(pivot_room), borrowed(remainder_room)
    found, is_alive, is_taken = borrowed(found_room), borrowed(alive_room), borrowed(taken_room)
    rows, columns, y = borrowed(row_room), borrowed(column_room), borrowed(rest_room)
    sums, counts, means, radii = (
        borrowed(all_state[0]),
        borrowed(all_state[1]),
        borrowed(all_state[2]),
        borrowed(all_state[3]),
    )
    extra, whole, cells = borrowed(all_state[4]), borrowed(all_state[5]), borrowed(all_state[6])
    codes, kept, waiting = borrowed(all_state[7]), borrowed(all_state[8]), borrowed(all_state[9])
    is_late, last, past, delays, queues = borrowed_late(late)
    items_due, gains_due = borrowed(due_items), borrowed(due_gains)
    pool, class_order, is_all = ground[:n_pool], order[:n_classes], n_pool == n_items
    order_bits, us, vs, residuals = (
        order.view(np.uint64),
        xs.view(np.uint64),
        ys.view(np.uint64),
        residues.view(np.int64),
    )
    for j in range(n_always):
        chosen[j] = always[j]  # where the greedy algorithm goes on from there
        is_taken[always[j]] = True
    all_means, best, sign = borrowed(score[0]), borrowed(score[1]), score[2]
    world_kind, all_values = world[0], borrowed(world[1])
    world = (world_kind, all_values, borrowed(world[2]), world[3], borrowed(world[4]), borrowed(world[5]),
             borrowed(world[6]))  # fmt: skip
    policy = (policy[0], policy[1], policy[2], borrowed(policy[3]))
    values, mean_weights = all_values[0], all_means[0]
    is_moving, purpose = best.shape[0] > 1, np.int64(WEIGHTS)
    is_line, has_plain_counts, has_simple_weights = (
        is_affine(policy[0]),
        is_counted(policy[0]),
        is_simple(world_kind),
    )
    keeps_orders = is_repaired and is_line
    contracts = number == FOREST and policy[0] == AFFINE and not is_late and not keeps_orders
    n_vertices, n_edges = (size, n_pool) if contracts else (0, 0)
    whole_vertices, bound_room, part_room = (
        np.empty((4, n_vertices), np.int64),
        np.empty(n_vertices),
        np.empty(n_vertices, np.uint32),
    )
    old_room, counting_room, incident_room = (
        np.empty(n_edges, np.bool_),
        np.empty((3, n_vertices + 1), np.int64),
        np.empty(2 * n_vertices, np.int64),
    )
    left_room, joined_room = np.empty(n_edges, np.int64), np.empty((2, n_edges), np.uint64)
    of_vertices = borrowed(whole_vertices)
    reference = (of_vertices[0], of_vertices[1], of_vertices[2], borrowed(bound_room), borrowed(part_room),
                 of_vertices[3], borrowed(old_room), borrowed(counting_room), borrowed(incident_room))  # fmt: skip
    left_edges, left_us, left_vs = borrowed(left_room), borrowed(joined_room)[0], borrowed(joined_room)[1]
    for r in range(sums.shape[0]):
        run, total = np.uint64(first_run + r), totals[r]
        s, m, a, b = sums[r], counts[r], means[r], radii[r]
        state = (s, m, a, b, extra[r], whole[r], cells[r], codes[r], kept[r], waiting[r])
        expected = (queues[0][r], queues[1][r], queues[2][r], queues[3][r], queues[4][r])
        classes = all_classes[r]
        if is_first:
            begin(policy, start, state, everything, space[0], is_seen, is_cost, seed, run)
            if is_late:
                begin_waiting(expected, space[0], is_seen, is_cost)
            for c in range(classes.shape[0]):
                classes[c] = c
        point = first_point
        # trees are contracted, or not, up to episode `until`; after the first there is one to refer to
        is_contracting, since, until, rest, n_left, largest = False, 0, 1, FIRST_REST, 0, 0.0
        for i in range(n):
            t = first_t + i
            if contracts and i == until:
                if is_contracting and 2 * n_left > n_pool * (i - since):
                    is_contracting, until, rest = False, i + rest, min(2 * rest, LONGEST_REST)
                else:
                    rest = FIRST_REST if is_contracting else rest
                    is_contracting, since, n_left = True, i, 0
                    until = i + min(LEAST_SPAN + t // EPISODES_PER_MORE, MOST_SPAN)
                    largest = schedule[i, 0]
                    for j in range(i + 1, min(until, n)):
                        largest = max(largest, schedule[j, 0])
                    fill_lines(a, b, pool, is_all, largest, indices)
                    sort_places(indices, order, scratch, bits, keys, levels, words, digits)
                    refer(chosen, n_always, order, indices, us, vs, reference)
            if is_contracting:
                k, length, n_parts = contract_best(pool, a, b, schedule[i, 0], us, vs, reference, chosen, n_always,
                                                   left_edges, left_us, left_vs, indices)  # fmt: skip
                n_left += length
            elif is_line:
                fill_lines(a, b, pool, is_all, schedule[i, 0], indices)
            else:
                fill_indices(policy, schedule[i], state, pool, seed, t, run, space, indices)
            if is_contracting:
                sort_places(indices[:length], order[:length], scratch[:length], bits[:length], keys[:length],
                            levels[:length], words, digits)  # fmt: skip
            else:
                length = n_classes
                if not keeps_orders or not repair_row(
                    classes, class_starts, class_members, indices, MOVES_PER_CLASS * n_classes, scratch, class_order
                ):
                    length = n_pool
                    sort_places(indices, order, scratch, bits, keys, levels, words, digits)
                    if keeps_orders:
                        _first_of_classes(order, class_of, is_met, classes)
            if is_contracting:
                n_taken = k
                k = greedy_forest(order_bits, length, left_us, left_vs, n_taken, rank, tree[:n_parts],
                                  tree_size[:n_parts], after[:n_parts], chosen)  # fmt: skip
                for j in range(n_taken, k):
                    chosen[j] = left_edges[np.uint64(chosen[j])]
            elif number == FOREST:
                k = greedy_forest(order_bits, length, us, vs, n_always, rank, tree, tree_size, after, chosen)
            elif number == NESTED:
                k = greedy_nested(order, length, xs, ys, zs, n_always, rank, left, chosen)
            elif number == BITS:
                k = greedy_mask_matching(order, length, always, masks, entries, size, rank, mate, via, chosen)
            elif number == MATCHING:
                k = greedy_matching(order, length, always, xs, ys, rank, mate, stamp, via, queue, slot, chosen)
            elif number == RESIDUES:
                k = greedy_residue(order, length, always, residuals, primes, rank, echelons, pivots, reduced, found,
                                   is_alive, chosen)  # fmt: skip
            else:
                k = greedy_float(order, length, always, is_taken, vectors, tolerance, rank, rows, columns, y, chosen)
            if k != rank:  # of floats too close to dependent
                return r
            for j in range(rank):
                items[j] = ground[np.uint64(chosen[j])]
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
            if is_late:
                learn_late(policy, schedule[i], past, state, expected, delays, everything, items, weights,
                           items_due, gains_due, is_cost, seed, t, run, last, is_seen)  # fmt: skip
            elif has_plain_counts:
                count_plays(s, m, a, b, items, weights, is_cost)
            else:
                learn(policy, schedule[i], state, everything, items, weights, is_cost, seed, t, run)
            if is_contracting:
                raise_bounds(chosen, n_always, pool, a, b, largest, us, vs, reference)
            add_up(items, weights, mean_weights, best[place], sign, total)
            if t == points[point]:
                curves[r, 0, point], curves[r, 1, point] = total[0], total[1]
                point += 1
    hold(every_item, all_always, room, index_room, sort_room, key_room, word_room, digit_room, order_room, met_room)
    hold(mark_room, chosen_room, weight_room, vertex_room, group_room, right_room, slot_room, taken_room)
    hold(due_items, due_gains, whole_vertices, bound_room, part_room, old_room, counting_room, incident_room)
    hold(left_room, joined_room)
    hold(echelon_room, pivot_room, remainder_room, found_room, alive_room, row_room, column_room, rest_room)
    return -1
