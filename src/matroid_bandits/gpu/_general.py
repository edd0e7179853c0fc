"""What an item goes through where policies forget or worlds are not the simple ones, for copies of the frame.

Beside what every run has, `states` are cells (R, L, W), the sets of a window (R, C, K) and their gains. The cells are
those of `kernels.discount`, or successes, failures and when they were last counted. A window has its counts where
beta beliefs have successes.
"""

import numpy as np

from matroid_bandits.gpu._device import (
    beta_at,
    by_block,
    catch_up,
    chance_of,
    coin,
    cuda,
    entry,
    exponential_at,
    faded_line,
    noisy,
    normal_at,
    on_device,
    place_of,
    radius_of,
    times,
    uniform_at,
)
from matroid_bandits.gpu._episode import absorb, begin, clear, index_at, learn
from matroid_bandits.kernels.discount import PLAYS, SUMS
from matroid_bandits.kernels.forms import (
    AFFINE,
    BERNOULLI,
    BETA_WEIGHTS,
    DENSE,
    DISCOUNTED,
    EXPONENTIAL,
    FADING,
    GAUSSIAN,
    RECORDS,
    WINDOW,
)

_SUCCESSES, _FAILURES, _KNOWN_AT = range(3)


@on_device
def is_any_line(kind):
    """Whether the index of a policy of this kind is the line of means and radii."""
    return kind in (AFFINE, DISCOUNTED, WINDOW)


@on_device
def any_index_at(policy, is_random, state, e, words, run, t):
    """The index of item e in episode t, as the `indices` of a policy that is not affine gives it."""
    if policy[0] == FADING:
        c1, c2, c3, k0 = words
        cell = state[5][e]
        left = policy[3][np.int64(t - 1 - cell[_KNOWN_AT])]
        a, b = 1.0 + times(cell[_SUCCESSES], left), 1.0 + times(cell[_FAILURES], left)
        return beta_at(a, b, np.uint64(e), c1, c2, c3, k0, run)
    return index_at(policy, is_random, state, e, words, run, t)


@on_device
def any_world_at(worlds, i):
    """The world of the i-th episode of a launch; -1 for what is seen before the first."""
    kind, values, spread, n_rows, table, indptr, indices, seen_values, seen_spread = worlds
    if i < 0:
        return kind, seen_values[0], seen_spread[0], n_rows, table, indptr, indices
    at, spread_at = min(i, values.shape[0] - 1), min(i, spread.shape[0] - 1)
    return kind, values[at], spread[spread_at], n_rows, table, indptr, indices


@on_device
def any_score_at(score, i):
    """The expected weights in the i-th episode of a launch, and what the best set is worth."""
    at = min(i, score[1].shape[0] - 1)
    return score[0][at], score[1][at]


@on_device
def any_state_of(states, place):
    """The rows of a run, and where those of the first few are."""
    sums, counts, means, radii, successes, cells, sets, gains = states
    return (
        sums[place], counts[place], means[place], radii[place], successes[place], cells[place], sets[place],
        gains[place], means, radii, place,
    )  # fmt: skip


@on_device
def weigh_any(world, row, e, words, run):
    """The weight of item e, as the environment's `draw` gives it; `row` is that of a table."""
    kind, values, spread, _, table, indptr, indices = world
    c1, c2, c3, k0 = words
    item = np.uint64(e)
    if kind == BERNOULLI:
        return coin(uniform_at(item, c1, c2, c3, k0, run), values[e])
    if kind == EXPONENTIAL:
        return exponential_at(item, c1, c2, c3, k0, run) + values[e]
    if kind == GAUSSIAN:
        return noisy(normal_at(item, c1, c2, c3, k0, run), values[e], spread[e])
    if kind == BETA_WEIGHTS:
        return beta_at(values[e], spread[e], item, c1, c2, c3, k0, run)
    if kind == RECORDS:
        return table[indptr[e] + place_of(uniform_at(item, c1, c2, c3, k0, run), spread[e])]
    if kind == DENSE:
        return table[row * values.shape[0] + e]
    return entry(indptr, indices, table, row, e)


@on_device
def clear_any(policy, state, e):
    """Let item e be one never seen."""
    clear(policy, state, e)
    kind, cells = policy[0], state[5]
    if kind == WINDOW:
        state[4][e] = 0
    if kind in (DISCOUNTED, FADING):
        for j in range(cells.shape[1]):
            cells[e, j] = 0.0


@on_device
def absorb_any(policy, schedule, state, e, weight, is_cost, words, run, i, t, k):
    """Count the weight of item e, as the policy's `observe` does; see `absorb`."""
    kind = policy[0]
    gain = -weight if is_cost else weight
    if kind == DISCOUNTED:
        state[1][e] += 1
        g, shift = (schedule[1][i], schedule[2][i + 1]) if i >= 0 else (1.0, 0.0)
        cell = state[5][e]
        catch_up(cell, shift)
        cell[PLAYS] += 1.0 / g
        cell[SUMS] += gain / g
        faded_line(state[10], e, cell, state[8], state[8], state[9])
    elif kind == WINDOW:
        state[1][e] += 1
        if i >= 0:
            row = t % state[6].shape[0]
            state[6][row, k], state[7][row, k] = e, gain
        n = state[4][e] + 1
        total = state[0][e] + gain
        state[4][e], state[0][e] = n, total
        state[2][e], state[3][e] = total / np.float64(n), radius_of(n)
    else:
        absorb(policy, schedule, state, e, weight, is_cost, words, run, i, t, k)
        if kind == FADING:
            c1, c2, c3, k0 = words
            cell = state[5][e]
            is_success = uniform_at(np.uint64(e), c1, c2, c3, k0, run) < chance_of(gain, is_cost)
            left = policy[3][np.int64(t - cell[_KNOWN_AT])]
            cell[_SUCCESSES] = times(cell[_SUCCESSES], left) + (1.0 if is_success else 0.0)
            cell[_FAILURES] = times(cell[_FAILURES], left) + (0.0 if is_success else 1.0)
            cell[_KNOWN_AT] = np.float64(t)


@on_device
def _window_line(state, e):
    """The line of item e by its plays in the window."""
    n = state[4][e]
    if n > 0:
        state[2][e], state[3][e] = state[0][e] / np.float64(n), radius_of(n)
    else:
        state[0][e], state[2][e], state[3][e] = 0.0, 0.0, np.inf


@by_block
def advance_any(policy, schedule, state, i, t, tid, n_threads):
    """Let an episode pass after its set was chosen, as the policy's `advance` does."""
    kind, length = policy[0], policy[2]
    n_items, rank = np.uint32(state[0].shape[0]), np.uint32(state[6].shape[1])
    if kind == DISCOUNTED and schedule[2][i] != schedule[2][i + 1]:
        e = tid
        while e < n_items:
            cell = state[5][e]
            catch_up(cell, schedule[2][i + 1])
            faded_line(state[10], e, cell, state[8], state[8], state[9])
            e = np.uint32(e + n_threads)
        cuda.syncthreads()
    if kind == WINDOW and t >= length:
        sums, counts, sets, gains = state[0], state[4], state[6], state[7]
        n_rows = sets.shape[0]
        if t % length == 0:  # added up anew, so that rounding errors do not
            e = tid
            while e < n_items:
                sums[e], counts[e] = 0.0, 0
                e = np.uint32(e + n_threads)
            for j in range(1, n_rows):
                cuda.syncthreads()
                row = (t + j) % n_rows
                k = tid
                while k < rank:
                    counts[sets[row, k]] += 1
                    sums[sets[row, k]] += gains[row, k]
                    k = np.uint32(k + n_threads)
            cuda.syncthreads()
            e = tid
            while e < n_items:
                _window_line(state, e)
                e = np.uint32(e + n_threads)
        else:
            row, k = t % n_rows, tid
            while k < rank:
                e = sets[row, k]
                counts[e] -= 1
                sums[e] -= gains[row, k]
                _window_line(state, e)
                k = np.uint32(k + n_threads)
        cuda.syncthreads()


_SCALARS = {"weigh": weigh_any, "absorb": absorb_any, "clear": clear_any}

#: What a copy of the frame has in the place of the simple functions, and what a copy of a family's choice has.
GENERAL_FRAME = {
    "state_of": any_state_of,
    "world_at": any_world_at,
    "score_at": any_score_at,
    "advance": advance_any,
    "begin": by_block(begin, **_SCALARS),
    "learn": by_block(learn, **_SCALARS),
}
GENERAL_CHOICE = {"is_line": is_any_line, "index_at": any_index_at}
