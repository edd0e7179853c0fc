"""Whole episodes where at most so many items of each cell are chosen: uniform and partition matroids."""

import numpy as np

from matroid_bandits.compiled._frame import begin, fill_indices, kernel, play_set
from matroid_bandits.kernels import selection

top_of_blocks = selection.top_of_blocks


@kernel
def play_quotas(family, policy, schedule, world, score, when, points, all_state, totals, curves):
    """Play an episode per row of `schedule` in every run, run by run; `_plan.py` says what the arguments are.

    Of this family: where the items of each cell start in `members`, and how many of each cell are chosen.
    """
    starts, members, capacities, rank = family
    seed, first_run, first_t, is_first, is_seen, is_cost = when
    sums, counts, means, radii, successes = all_state
    n_items, n = sums.shape[1], schedule.shape[0]
    everything, is_all = np.arange(n_items), members.shape[0] == n_items
    indices, room = np.empty(n_items), np.empty((2, n_items))
    chosen, weights = np.empty((1, rank), np.int64), np.empty(rank)
    items = chosen[0]
    is_moving = score[1].shape[0] > 1
    for r in range(sums.shape[0]):
        run, total = np.uint64(first_run + r), totals[r]
        state = (sums[r], counts[r], means[r], radii[r], successes[r])
        if is_first:
            begin(policy, world, state, everything, room[0], is_seen, is_cost, seed, run)
        point = np.searchsorted(points, first_t)
        for i in range(n):
            t = first_t + i
            fill_indices(policy, schedule[i], state, everything, is_all, seed, t, run, room, indices)
            top_of_blocks(indices.reshape(1, n_items), starts, members, capacities, chosen)
            play_set(policy, world, score, state, i if is_moving else 0, items, weights, is_cost, seed, t, run, total)
            if t == points[point]:
                curves[r, 0, point], curves[r, 1, point] = total[0], total[1]
                point += 1
