"""How the best of many items are found where a limited number of each cell is chosen: tournaments and heaps.

Few items are scanned; many play the tournaments of `kernels.kinetic`, as in `KineticEngine`, where the index is
affine, or lie in the heaps of `kernels.classes`, as in `CountClassesEngine`.
"""

import numpy as np

from matroid_bandits.kernels import classes, kinetic
from matroid_bandits.kernels.compiling import called

#: How much rounding certificates allow for, and when tournaments rest, as in `KineticEngine`.
MARGIN = 2.0**-49
ITEMS_PER_NODE, WATCHED, FIRST_REST, LONGEST_REST = 64, 16, 128, 2048

# Of a run's clock: the last c, the power of two of the lines, the work of the last episodes and how many they were,
# for how many more episodes the tournaments rest, and for how many they would rest next.
_C, _POWER, _WORK, _WATCHED, _RESTING, _REST = range(6)

build, follow = kinetic.build, kinetic.advance
build_heaps, best_of_cell = classes.build, classes.best_of_cell


@called
def begin_clock(clock):
    """Set a run's clock before the first choice."""
    for j in range(clock.shape[0]):
        clock[j] = 0.0
    clock[_C], clock[_REST] = np.inf, FIRST_REST


@called
def choose_by_tournaments(matroid, c, power, clock, tournaments, values, items):
    """Bring the tournaments of one run up to c and list their reserves; all their arrays have one row, for the run.

    Returns False while the tournaments rest, since scanning is cheaper.
    """
    starts, members, _, _, _, places, tree_starts, reserve_starts = matroid
    means, radii, is_out, nodes, reserves = tournaments
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


@called
def choose_by_heaps(matroid, kind, number, x, per_look, clock, heaps, is_barred, room, whole_room, values, items):
    """The best of every cell of one run, from its heaps, into `items`; False while they rest."""
    starts, _, capacities, _, _, _, _, _ = matroid
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


@called
def build_run(matroid, counts, means, heaps, whole_room):
    """Put every item of a run, which were all played equally often, into its heap."""
    starts, members = matroid[0], matroid[1]
    nodes, keys, slots, plays, links, heads, ends = heaps
    order = whole_room[0]
    for cell in range(starts.shape[0] - 1):
        for i in range(starts[cell], starts[cell + 1]):
            order[starts[cell] + starts[cell + 1] - 1 - i] = members[i]  # descending
    build_heaps(starts, order, counts, means, nodes, keys, slots, plays, links, heads, ends)
