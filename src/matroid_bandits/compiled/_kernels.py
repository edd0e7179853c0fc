"""Kernels that play whole episodes: two for each family of matroids, all made of one text.

The group COMMON has the policies and worlds that most simulations have, without answers that come late, tournaments
and heaps; the group EVERY has all. Numba leaves out what a kernel does under another family or group before it
compiles it, so that a kernel of the group COMMON takes some seconds where one for everything took a minute. It is not
given what only the group EVERY needs.
"""

import numpy as np

from matroid_bandits.compiled._frame import (
    POLICY,
    ROUNDING,
    START,
    SUCCESSES,
    WEIGHTS,
    advance,
    clear_rest,
    draw,
    fill_rare,
    is_affine,
    is_forgetful,
    is_rare,
    learn,
    number_of_run,
)
from matroid_bandits.compiled._late import begin_waiting, learn_late
from matroid_bandits.compiled._quotas import begin_clock, build_run, choose_by_heaps, choose_by_tournaments
from matroid_bandits.kernels import (
    classes,
    contraction,
    discount,
    episodes,
    graphic,
    laminar,
    linear,
    order,
    selection,
    transversal,
    warm,
)
from matroid_bandits.kernels.compiling import borrowed, called, kernel, named
from matroid_bandits.kernels.forms import AFFINE, BERNOULLI, BETA, CHANCE, EPSILON, EXPONENTIAL, GAUSSIAN, KL, NORMAL

#: Families: quotas side by side, and along an order forests, nested quotas, matchings by bits and by lists, vectors
#: modulo primes and of floats.
QUOTAS, FOREST, NESTED, BITS, MATCHING, RESIDUES, FLOATS = (
    "quotas",
    "forest",
    "nested",
    "bits",
    "matching",
    "residues",
    "floats",
)

#: Groups, and which policies and worlds are played by kernels of the first.
COMMON, EVERY = "common", "every"
COMMON_POLICIES, COMMON_WORLDS = (AFFINE, EPSILON, CHANCE, BETA, NORMAL, KL), (BERNOULLI, EXPONENTIAL, GAUSSIAN)

#: Moves per class before the repair of an order is given up: about what sorting from scratch costs.
MOVES_PER_CLASS = 8

#: For how many episodes a tree is the reference of `kernels.contraction`: these, one more for every hundred episodes
#: before it, and that many at most; and for how many nothing is contracted where too much was left, at first.
LEAST_SPAN, EPISODES_PER_MORE, MOST_SPAN, FIRST_REST, LONGEST_REST = 8, 100, 256, 8, 1024

_SHIFT = discount.SHIFT

clear_plays, count_plays, add_up = episodes.clear_plays, episodes.count_plays, episodes.add_up
fill_lines, fill_simple = episodes.fill_lines, episodes.fill_simple
fill_beliefs, fill_bounds = episodes.fill_beliefs, episodes.fill_bounds
draw_simple, count_successes = episodes.draw_simple, episodes.count_successes
choose_cells, choose_few = selection.choose_cells, selection.choose_few
clear_marks, sort_set = selection.clear_marks, selection.sort_set
argsort_row, repair_row, move_some = order.argsort_row, warm.repair_row, classes.move_some
greedy_forest, greedy_nested = graphic.greedy_forest, laminar.greedy_nested
greedy_matching, greedy_mask_matching = transversal.greedy_matching, transversal.greedy_mask_matching
greedy_residue, greedy_float = linear.greedy_residue, linear.greedy_float
refer, contract_best, raise_bounds = contraction.refer, contraction.contract_best, contraction.raise_bounds


@called
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


def _made(name, FAMILY, GROUP):
    @kernel
    @named(name)
    def play(matroid, policy, schedule, world, start, score, when, points, state, kept, more, room, totals, curves):
        """Play an episode per row of `schedule` in every run, run by run; `_play.py` says what the arguments are.

        `kept` is what is kept between calls besides the state, `more` what the group EVERY needs besides. Returns -1,
        or the run in which an order led to less than a basis.
        """
        matroid, policy, schedule, world = borrowed(matroid), borrowed(policy), borrowed(schedule), borrowed(world)
        start, score, points, state = borrowed(start), borrowed(score), borrowed(points), borrowed(state)
        kept, room, totals, curves = borrowed(kept), borrowed(room), borrowed(totals), borrowed(curves)
        seed, first_run, first_t, first_point, is_first, is_seen, is_cost = when
        kind, number, world_kind, all_values, all_noises = policy[0], policy[1], world[0], world[1], world[2]
        sums, counts, means, radii, extra, waiting = state[0], state[1], state[2], state[3], state[4], state[5]
        all_means, best, sign = score
        everything, space, indices, is_chosen, items, weights, own = room
        values, noises, mean_weights, is_moving = all_values[0], all_noises[0], all_means[0], best.shape[0] > 1
        is_line, n, zero = kind == AFFINE, schedule.shape[0], np.int64(0)
        if GROUP == EVERY:
            more = borrowed(more)
            is_late, last, past, delays, queues, items_due, gains_due, no_row = more
            is_line, is_apart, is_odd = is_affine(kind), is_forgetful(kind), is_rare(kind)
        if FAMILY == QUOTAS:
            starts, pool, capacities, is_all, _, _, _, _ = matroid
            maxima, gains, floats, whole_space, integers, worst, cell_of = own
            places, picked, marks = whole_space[0], whole_space[1], kept[0]
            if GROUP == EVERY:
                _, clocks, is_out, nodes, reserves, all_heaps, per_look = kept
                has_trees, has_heaps = nodes.shape[0] > 0 and is_line, all_heaps[0].shape[1] > 0
        else:
            n_pool, ground, always, class_starts, class_members, class_of, is_repaired, rank, arrays = matroid
            (scratch, bits, keys, levels, words, digits, order, order_bits, is_met, chosen), greedy_room = own
            n_classes, n_always, keeps_orders = class_starts.shape[0] - 1, always.shape[0], is_repaired and is_line
            pool, class_order, is_all = ground[:n_pool], order[:n_classes], n_pool == sums.shape[1]
        if FAMILY == FOREST:
            us, vs, _ = arrays
            tree, tree_size, after, reference, left, left_us, left_vs = greedy_room
            contracts = kind == AFFINE and not keeps_orders
            if GROUP == EVERY:
                contracts = contracts and not is_late
        for r in range(sums.shape[0]):
            run, total = np.uint64(first_run + r), totals[r]
            s, m, a, b = sums[r], counts[r], means[r], radii[r]
            if GROUP == EVERY:
                whole, cells, codes, answers = state[6], state[7], state[8], state[9]
                all_state = (s, m, a, b, extra[r], waiting[r], whole[r], cells[r], codes[r], answers[r])
                queue = (queues[0][r], queues[1][r], queues[2][r], queues[3][r], queues[4][r])
            if is_first:
                seen = space[0]
                clear_plays(s, m, a, b, extra[r])
                if GROUP == EVERY:
                    clear_rest(all_state)
                if is_seen:
                    is_plain = True
                    if GROUP == EVERY:
                        draw(start, zero, seed, zero, START, everything, run, seen)
                        if is_apart:
                            is_plain = False
                            learn(policy, no_row, all_state, everything, everything, seen, space[1], is_cost, seed,
                                  zero, run)  # fmt: skip
                    else:
                        draw_simple(world_kind, start[1][0], start[2][0], seed, zero, START, everything, run, seen)
                    if is_plain:
                        count_plays(s, m, a, b, everything, seen, is_cost)
                        if kind == BETA:
                            count_successes(extra[r, SUCCESSES], everything, seen, is_cost, seed, zero, ROUNDING, run)
                if GROUP == EVERY and is_late:
                    begin_waiting(queue, seen, is_seen, is_cost)
            if FAMILY == QUOTAS:
                mark = marks[r]
                if is_first:
                    clear_marks(marks[r : r + 1])
                if GROUP == EVERY:
                    one, clock = slice(r, r + 1), clocks[r]
                    tournaments = (means[one], radii[one], is_out[one], nodes[one], reserves[one])
                    heaps = (all_heaps[0][r], all_heaps[1][r], all_heaps[2][r], all_heaps[3][r], all_heaps[4][r],
                             all_heaps[5][r], all_heaps[6][r])  # fmt: skip
                    items[0] = -1
                    if is_first:
                        begin_clock(clock)
                        if has_heaps:
                            build_run(matroid, m, a, heaps, whole_space)
            else:
                class_orders = kept[r]
                if is_first:
                    for c in range(class_orders.shape[0]):
                        class_orders[c] = c
            point = first_point
            # trees are contracted, or not, up to episode `until`; after the first there is one to refer to
            is_contracting, since, until, rest, n_left, largest = False, 0, 1, FIRST_REST, 0, 0.0
            for i in range(n):
                t, row = first_t + i, schedule[i]
                is_open = True  # whether the indices of all items are needed
                if FAMILY == QUOTAS and GROUP == EVERY:
                    if has_trees:
                        is_open = not choose_by_tournaments(matroid, row[0], cells[r, 0, _SHIFT], clock, tournaments,
                                                            worst, items)  # fmt: skip
                    elif has_heaps:
                        x = number_of_run(kind, row[0], seed, t, run)
                        is_open = not choose_by_heaps(matroid, kind, number, x, per_look, clock, heaps, is_chosen,
                                                      space, whole_space, worst, items)  # fmt: skip
                if FAMILY == FOREST:
                    if contracts and i == until:
                        if is_contracting and 2 * n_left > n_pool * (i - since):
                            is_contracting, until = False, i + rest
                            rest = 2 * rest if 2 * rest < LONGEST_REST else LONGEST_REST
                        else:
                            rest = FIRST_REST if is_contracting else rest
                            is_contracting, since, n_left, largest = True, i, 0, row[0]
                            span = LEAST_SPAN + t // EPISODES_PER_MORE
                            until = i + (span if span < MOST_SPAN else MOST_SPAN)
                            for j in range(i + 1, until if until < n else n):
                                largest = schedule[j, 0] if schedule[j, 0] > largest else largest
                            fill_lines(a, b, pool, is_all, largest, indices)
                            argsort_row(indices, n_pool, order, scratch, bits, keys, levels, words, digits)
                            refer(chosen, n_always, order, indices, us, vs, reference)
                    if is_contracting:
                        is_open = False
                        n_taken, length, n_parts = contract_best(
                            pool, a, b, row[0], us, vs, reference, chosen, n_always, left, left_us, left_vs, indices
                        )
                        n_left += length
                        if i == since and 2 * length > n_pool:  # at once: more are left with every play
                            until = i + 1
                if is_open:
                    if is_line:
                        fill_lines(a, b, pool, is_all, row[0], indices)
                    elif kind == BETA:
                        fill_beliefs(extra[r, SUCCESSES], m, seed, t, POLICY, pool, run, space[0], space[1], indices)
                    elif kind == KL:
                        fill_bounds(number, row[0], a, m, waiting[r], pool, indices)
                    elif GROUP == EVERY and is_odd:
                        fill_rare(policy, row, all_state, seed, t, pool, run, space, indices)
                    else:
                        fill_simple(kind, number, a, b, seed, t, POLICY, pool, run, indices)
                if FAMILY == QUOTAS:
                    if is_open:
                        if GROUP == EVERY:
                            choose_cells(indices, starts, pool, capacities, mark, maxima, gains, places, picked,
                                         floats, integers, items)  # fmt: skip
                        else:
                            choose_few(indices, starts, pool, capacities, mark, maxima, gains, places, picked, floats,
                                       integers, items)  # fmt: skip
                        if not is_all:
                            sort_set(items, is_chosen)
                else:
                    if is_open:
                        length = n_pool
                    if keeps_orders and repair_row(class_orders, class_starts, class_members, indices,
                                                   MOVES_PER_CLASS * n_classes, scratch, class_order):  # fmt: skip
                        length = n_classes
                    else:
                        argsort_row(indices, length, order, scratch, bits, keys, levels, words, digits)
                        if keeps_orders:
                            _first_of_classes(order, class_of, is_met, class_orders)
                    if FAMILY == FOREST:
                        if is_contracting:
                            k = greedy_forest(order_bits, length, left_us, left_vs, n_taken, rank, tree[:n_parts],
                                              tree_size[:n_parts], after[:n_parts], chosen)  # fmt: skip
                            for j in range(n_taken, k):
                                chosen[j] = left[np.uint64(chosen[j])]
                        else:
                            k = greedy_forest(order_bits, length, us, vs, n_always, rank, tree, tree_size, after,
                                              chosen)  # fmt: skip
                    elif FAMILY == NESTED:
                        k = greedy_nested(order, length, arrays[0], arrays[1], arrays[2], n_always, rank,
                                          greedy_room[0], chosen)  # fmt: skip
                    elif FAMILY == BITS:
                        masks, entries, size = arrays
                        mate, via = greedy_room
                        k = greedy_mask_matching(order, length, always, masks, entries, size, rank, mate, via, chosen)
                    elif FAMILY == MATCHING:
                        mate, stamp, via, line, slot = greedy_room
                        k = greedy_matching(order, length, always, arrays[0], arrays[1], rank, mate, stamp, via, line,
                                            slot, chosen)  # fmt: skip
                    elif FAMILY == RESIDUES:
                        residues, primes = arrays
                        echelons, pivots, reduced, found, is_alive = greedy_room
                        k = greedy_residue(order, length, always, residues, primes, rank, echelons, pivots, reduced,
                                           found, is_alive, chosen)  # fmt: skip
                    else:
                        vectors, tolerance = arrays
                        is_taken, rows, columns, y = greedy_room
                        k = greedy_float(order, length, always, is_taken, vectors, tolerance, rank, rows, columns, y,
                                         chosen)  # fmt: skip
                    if k != rank:  # of floats too close to dependent
                        return r
                    for j in range(rank):
                        items[j] = ground[np.uint64(chosen[j])]
                    sort_set(items, is_chosen)
                place = i if is_moving else zero
                if is_moving:
                    values, mean_weights = all_values[place], all_means[place]
                    noises = all_noises[place if place < all_noises.shape[0] else zero]
                is_plain = True
                if GROUP == EVERY:
                    if is_apart:
                        advance(policy, row, all_state, t, everything)
                    draw(world, place, seed, t, WEIGHTS, items, run, weights)
                    if is_late:
                        is_plain = False
                        learn_late(policy, row, past, all_state, queue, delays, everything, items, weights, items_due,
                                   gains_due, is_cost, seed, t, run, last, is_seen)  # fmt: skip
                    elif is_apart:
                        is_plain = False
                        learn(policy, row, all_state, everything, items, weights, space[1], is_cost, seed, t, run)
                else:
                    draw_simple(world_kind, values, noises, seed, t, WEIGHTS, items, run, weights)
                if is_plain:
                    count_plays(s, m, a, b, items, weights, is_cost)
                    if kind == BETA:
                        count_successes(extra[r, SUCCESSES], items, weights, is_cost, seed, t, ROUNDING, run)
                if FAMILY == FOREST and is_contracting:
                    raise_bounds(chosen, n_always, pool, a, b, largest, us, vs, reference)
                if FAMILY == QUOTAS and GROUP == EVERY and has_heaps:
                    move_some(
                        items, cell_of, m, a, heaps[0], heaps[1], heaps[2], heaps[3], heaps[4], heaps[5], heaps[6]
                    )
                add_up(items, weights, mean_weights, best[place], sign, total)
                if t == points[point]:
                    curves[r, 0, point], curves[r, 1, point] = total[0], total[1]
                    point += 1
        return -1

    return play


def name_of(family: str, group: str) -> str:
    """The name of the kernel of a family and a group."""
    return f"play_{family}" if group == COMMON else f"play_{family}_any"


#: Kernels by name.
KERNELS = {
    name_of(family, group): _made(name_of(family, group), family, group)
    for family in (QUOTAS, FOREST, NESTED, BITS, MATCHING, RESIDUES, FLOATS)
    for group in (COMMON, EVERY)
}
globals().update(KERNELS)  # a kernel is pickled by the name that its module has for it
