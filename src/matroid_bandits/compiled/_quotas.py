"""Whole episodes where a limited number of items of each cell is chosen: uniform and partition matroids.

Few items are scanned, from last episode's threshold on; many play the tournaments of `kernels.kinetic`, as in
`KineticEngine`, where the index is affine, or lie in the heaps of `kernels.classes`, as in `CountClassesEngine`.
"""

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
    number_of_run,
)
from matroid_bandits.compiled._late import begin_waiting, borrowed_late, learn_late
from matroid_bandits.kernels import classes, discount, kinetic, selection
from matroid_bandits.kernels.compiling import borrowed, hold
from matroid_bandits.stream import WEIGHTS

#: How much rounding certificates allow for, and when tournaments rest, as in `KineticEngine`.
MARGIN = 2.0**-49
ITEMS_PER_NODE, WATCHED, FIRST_REST, LONGEST_REST = 64, 16, 128, 2048

# Of a run's clock: the last c, the power of two of the lines, the work of the last episodes and how many they were,
# for how many more episodes the tournaments rest, and for how many they would rest next.
_C, _POWER, _WORK, _WATCHED, _RESTING, _REST = range(6)
_SHIFT = discount.SHIFT

choose_cells, clear_marks = selection.choose_cells, selection.clear_marks
sort_set = selection.sort_set
build, follow = kinetic.build, kinetic.advance
build_heaps, best_of_cell, move_some = classes.build, classes.best_of_cell, classes.move_some


@kernel
def choose_by_tournaments(family, c, means, radii, power, clock, is_out, nodes, reserves, values, items):
    """Bring the tournaments of one run up to c and list their reserves; all arrays have one row, for the run.

    Returns False while the tournaments rest, since scanning is cheaper.
    """
    starts, members, _, _, _, places, tree_starts, reserve_starts = family
    if clock[_RESTING] > 0.0:
        clock[_RESTING] -= 1.0
        clock[_C] = np.inf
        return False
    is_changed = np.empty(1, np.bool_)
    if not (c >= clock[_C] and power == clock[_POWER]):  # the first time, or where all lines were multiplied
        build(starts, members, places, tree_starts, reserve_starts, means, radii, c, MARGIN, is_out, nodes, reserves)
        n_changed = 1
    else:
        n_changed, work = follow(starts, members, places, tree_starts, reserve_starts, means, radii, c, MARGIN,
                                 is_out, nodes, reserves, values, is_changed)  # fmt: skip
        clock[_WORK] += work
        clock[_WATCHED] += 1.0
        if clock[_WORK] * ITEMS_PER_NODE > WATCHED * means.shape[1]:
            clock[_RESTING], clock[_REST] = clock[_REST], min(2.0 * clock[_REST], LONGEST_REST)
            clock[_WORK], clock[_WATCHED] = 0.0, 0.0
        elif clock[_WATCHED] == WATCHED:
            clock[_REST], clock[_WORK], clock[_WATCHED] = FIRST_REST, 0.0, 0.0
    clock[_C], clock[_POWER] = c, power
    if n_changed > 0 or items[0] < 0:
        for i in range(items.shape[0]):
            items[i] = reserves[0, i]
        items.sort()
    return True


@kernel
def choose_by_heaps(family, kind, number, x, per_look, clock, heaps, is_barred, room, whole_room, values, items):
    """The best of every cell of one run, from its heaps, into `items`; False while they rest."""
    starts, _, capacities, _, _, _, _, _ = family
    nodes, keys, slots, plays, links, heads, _ = heaps
    if clock[_RESTING] > 0.0:
        clock[_RESTING] -= 1.0
        return False
    k = 0
    for cell in range(starts.shape[0] - 1):
        if capacities[cell] > 0:
            n, work = best_of_cell(
                kind, number, x, np.int64(heads[cell]), capacities[cell], nodes, keys, slots, plays, links, is_barred,
                room[0], whole_room[0], room[1], whole_room[1], values[k:], items[k:], np.int64(2**62),
            )  # fmt: skip
            k += n
            clock[_WORK] += work
    items.sort()
    clock[_WATCHED] += 1.0
    if clock[_WORK] * per_look > WATCHED * keys.shape[0]:
        clock[_RESTING], clock[_REST] = clock[_REST], min(2.0 * clock[_REST], LONGEST_REST)
        clock[_WORK], clock[_WATCHED] = 0.0, 0.0
    elif clock[_WATCHED] == WATCHED:
        clock[_REST], clock[_WORK], clock[_WATCHED] = FIRST_REST, 0.0, 0.0
    return True


@kernel
def build_run(family, counts, means, heaps, whole_room):
    """Put every item of a run, which were all played equally often, into its heap."""
    starts, members = family[0], family[1]
    nodes, keys, slots, plays, links, heads, ends = heaps
    order = whole_room[0]
    for cell in range(starts.shape[0] - 1):
        for i in range(starts[cell], starts[cell + 1]):
            order[starts[cell] + starts[cell + 1] - 1 - i] = members[i]  # descending
    build_heaps(starts, order, counts, means, nodes, keys, slots, plays, links, heads, ends)


@kernel
def play_quotas(
    family, policy, schedule, world, start, score, when, points, late, all_state, kept_room, totals, curves
):
    """Play an episode per row of `schedule` in every run, run by run; `_play.py` says what the arguments are.

    Of this family: where the items of each cell start in `members`, how many of each cell are chosen, whether item i
    is members[i]; and of tournaments the place of each item in its cell, where each tree and each reserve starts.
    `kept_room` is what is kept between calls: the marks of cells (G, B, 3), a clock (G, 6), the tournaments and the
    heaps, each of which are empty where they are not used, and the items of a heap that are scanned in a look's time.
    """
    starts, members, capacities, is_sorted, rank, places_in, tree_starts, reserve_starts = family
    seed, first_run, first_t, first_point, is_first, is_seen, is_cost = when
    n_items, n = all_state[0].shape[1], schedule.shape[0]
    # room for indices, for choices, and for what is chosen
    every_item, room = np.arange(n_items), np.empty((2, n_items))
    float_room, more_floats = np.empty((3, n_items + 1)), np.empty(2 * n_items + 1026)
    whole_room, more_whole = np.empty((2, n_items + 1), np.int64), np.empty(n_items, np.int64)
    mark_room, item_room, weight_room = np.zeros(n_items, np.bool_), np.empty(rank, np.int64), np.empty((2, rank))
    due_items, due_gains = np.empty(rank, np.int64), np.empty(rank)
    # and all that is used in the loops, without counting references
    starts, members, capacities = borrowed(starts), borrowed(members), borrowed(capacities)
    family = (starts, members, capacities, is_sorted, rank, borrowed(places_in), borrowed(tree_starts),
              borrowed(reserve_starts))  # fmt: skip
    schedule, points, totals, curves = borrowed(schedule), borrowed(points), borrowed(totals), borrowed(curves)
    everything, space, floats, integers = (
        borrowed(every_item),
        borrowed(room),
        borrowed(more_floats),
        borrowed(more_whole),
    )
    indices, maxima, gains = borrowed(float_room)[0][:n_items], borrowed(float_room)[1], borrowed(float_room)[2]
    whole_space = borrowed(whole_room)
    places, picked, is_chosen = borrowed(whole_room)[0], borrowed(whole_room)[1], borrowed(mark_room)
    items, weights, worst = borrowed(item_room), borrowed(weight_room)[0], borrowed(weight_room)[1]
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
    marks, clocks, is_out, nodes = (
        borrowed(kept_room[0]),
        borrowed(kept_room[1]),
        borrowed(kept_room[2]),
        borrowed(kept_room[3]),
    )
    reserves = borrowed(kept_room[4])
    heap_nodes, heap_keys, heap_slots = borrowed(kept_room[5]), borrowed(kept_room[6]), borrowed(kept_room[7])
    heap_plays, heap_links = borrowed(kept_room[8]), borrowed(kept_room[9])
    heap_heads, heap_ends, per_look = borrowed(kept_room[10]), borrowed(kept_room[11]), kept_room[12]
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
    has_trees, has_heaps = nodes.shape[0] > 0 and is_line, heap_nodes.shape[1] > 0
    cell_room = np.empty(n_items if has_heaps else 0, np.int64)
    cell_of = borrowed(cell_room)
    if has_heaps:
        for cell in range(starts.shape[0] - 1):
            for i in range(starts[cell], starts[cell + 1]):
                cell_of[members[i]] = cell
    for r in range(sums.shape[0]):
        run, total = np.uint64(first_run + r), totals[r]
        s, m, a, b = sums[r], counts[r], means[r], radii[r]
        state = (s, m, a, b, extra[r], whole[r], cells[r], codes[r], kept[r], waiting[r])
        expected = (queues[0][r], queues[1][r], queues[2][r], queues[3][r], queues[4][r])
        if is_first:
            begin(policy, start, state, everything, space[0], is_seen, is_cost, seed, run)
            if is_late:
                begin_waiting(expected, space[0], is_seen, is_cost)
            for j in range(clocks.shape[1]):
                clocks[r, j] = 0.0
            clocks[r, _C], clocks[r, _REST] = np.inf, FIRST_REST
            clear_marks(marks[r : r + 1])
        heaps = (
            heap_nodes[r],
            heap_keys[r],
            heap_slots[r],
            heap_plays[r],
            heap_links[r],
            heap_heads[r],
            heap_ends[r],
        )
        if is_first and has_heaps:
            build_run(family, m, a, heaps, whole_space)
        rows = slice(r, r + 1)
        a_row, b_row, out_row, tree_row, reserve_row = (
            means[rows],
            radii[rows],
            is_out[rows],
            nodes[rows],
            reserves[rows],
        )
        mark, clock = marks[r], clocks[r]
        items[0] = -1
        point = first_point
        for i in range(n):
            t = first_t + i
            is_found = False
            if has_trees:
                is_found = choose_by_tournaments(
                    family, schedule[i, 0], a_row, b_row, cells[r, 0, _SHIFT], clock, out_row, tree_row, reserve_row,
                    worst, items,
                )  # fmt: skip
            elif has_heaps:
                x = number_of_run(policy[0], schedule[i, 0], seed, t, run)
                is_found = choose_by_heaps(
                    family, policy[0], policy[1], x, per_look, clock, heaps, is_chosen, space, whole_space, worst,
                    items,
                )  # fmt: skip
            if not is_found:
                if is_line:
                    fill_lines(a, b, members, is_sorted, schedule[i, 0], indices)
                else:
                    fill_indices(policy, schedule[i], state, members, seed, t, run, space, indices)
                choose_cells(indices, starts, members, capacities, mark, maxima, gains, places, picked, floats,
                             integers, items)  # fmt: skip
                if not is_sorted:
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
            if has_heaps:
                move_some(items, cell_of, m, a, heaps[0], heaps[1], heaps[2], heaps[3], heaps[4], heaps[5], heaps[6])
            add_up(items, weights, mean_weights, best[place], sign, total)
            if t == points[point]:
                curves[r, 0, point], curves[r, 1, point] = total[0], total[1]
                point += 1
    hold(every_item, room, float_room, more_floats, whole_room, more_whole, mark_room, item_room, weight_room)
    hold(due_items, due_gains, cell_room)
    return -1
