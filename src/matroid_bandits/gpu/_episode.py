"""Whole episodes of a run, played by a block of threads: the frame that all kernels share.

`play` is the frame. Kernels are copies of it in which `own_room` and `choose` are a family's: the shared memory that
the family needs besides, and how a block chooses a set. The rest of this file is what an item goes through: index,
draw, learn, add up. Copies in which `is_line`, `index_at`, `weigh`, `absorb`, `advance`, `state_of`, `world_at` and
`score_at` are those of `_general.py` know more policies and worlds, and need more registers.

A run's arrays are its rows of the state in the GPU's memory; the tuples `state`, `policy`, `world` and `words` keep
together what goes together. Functions that synchronise must be called by all threads of a block.
"""

import numpy as np

from matroid_bandits.gpu._codes import GO_ON, OBSERVE
from matroid_bandits.gpu._device import (
    address,
    beta_at,
    by_block,
    chance_of,
    coin,
    cuda,
    entry,
    exponential_at,
    normal_at,
    on_device,
    place_of,
    radius_of,
    sampled_mean,
    types,
    uniform_at,
)
from matroid_bandits.kernels.episodes import RUN_ITEM
from matroid_bandits.kernels.forms import AFFINE, BERNOULLI, BETA, CHANCE, DENSE, EPSILON, EXPONENTIAL, NORMAL
from matroid_bandits.stream import POLICY, ROUNDING, START, WEIGHTS

_SIGN = np.uint64(1 << 63)
#: The key of +inf: of an item never seen.
UNSEEN = np.uint64(0xFFF0000000000000)
_ONE, _FIVE, _31 = np.uint32(1), np.uint32(5), np.uint32(31)


@on_device
def key_of(x):
    """A float64 that is not NaN as a uint64 of the same order; the two zeros are equal."""
    bits = np.float64(x + 0.0).view(np.uint64)
    return ~bits if bits & _SIGN != np.uint64(0) else bits | _SIGN


@on_device
def is_line(kind):
    """Whether the index of a policy of this kind is the line of means and radii."""
    return kind == AFFINE


@on_device
def index_at(policy, is_random, state, e, words, run, t):
    """The index of item e in episode t, as the `indices` of a policy that is not affine gives it."""
    kind, number = policy[0], policy[1]
    counts, means, radii, successes = state[1], state[2], state[3], state[4]
    c1, c2, c3, k0 = words
    item = np.uint64(e)
    if kind == BETA:
        s = successes[e]
        return beta_at(1.0 + s, 1.0 + (counts[e] - s), item, c1, c2, c3, k0, run)
    if kind == CHANCE:
        return uniform_at(item, c1, c2, c3, k0, run)
    if radii[e] == np.inf:
        return np.inf
    if kind == NORMAL:
        return sampled_mean(means[e], radii[e], number, normal_at(item, c1, c2, c3, k0, run))
    return uniform_at(item, c1, c2, c3, k0, run) if is_random else means[e]


@on_device
def explores(policy, words, run):
    """Whether epsilon-greedy takes a random set in this episode."""
    c1, c2, c3, k0 = words
    return policy[0] == EPSILON and uniform_at(RUN_ITEM, c1, c2, c3, k0, run) < policy[1]


@on_device
def policy_words(seed, t):
    """The part of the address that a policy's own random numbers of an episode share."""
    return address(seed, t, POLICY)


@on_device
def world_at(worlds, i):
    """The world of the i-th episode of a launch, of which all are alike here; -1 for what is seen before."""
    return worlds[0], worlds[1][0], worlds[2][0], worlds[3], worlds[4], worlds[5], worlds[6]


@on_device
def score_at(score, i):
    """The expected weights in the i-th episode of a launch, and what the best set is worth."""
    return score[0][0], score[1][0]


@on_device
def state_of(states, place):
    """The rows of a run."""
    return states[0][place], states[1][place], states[2][place], states[3][place], states[4][place]


@on_device
def weigh(world, row, e, words, run):
    """The weight of item e, as the environment's `draw` gives it; `row` is that of a table."""
    kind, values, _, _, table, indptr, indices = world
    c1, c2, c3, k0 = words
    if kind == BERNOULLI:
        return coin(uniform_at(np.uint64(e), c1, c2, c3, k0, run), values[e])
    if kind == EXPONENTIAL:
        return exponential_at(np.uint64(e), c1, c2, c3, k0, run) + values[e]
    if kind == DENSE:
        return table[row * values.shape[0] + e]
    return entry(indptr, indices, table, row, e)


@on_device
def row_at(world, words, run):
    """Which row of a table a run sees in an episode."""
    c1, c2, c3, k0 = words
    if world[0] >= DENSE:
        return place_of(uniform_at(RUN_ITEM, c1, c2, c3, k0, run), world[3])
    return np.int64(0)


@on_device
def absorb(policy, schedule, state, e, weight, is_cost, words, run, i, t, k):
    """Count the weight of item e, as `kernels.statistics.absorb` and the policy's `observe` do.

    It is the k-th that was chosen in episode t, the i-th of the launch; i is -1 for what is seen before the first.
    """
    sums, counts, means, radii = state[0], state[1], state[2], state[3]
    gain = -weight if is_cost else weight
    n = counts[e] + 1
    total = sums[e] + gain
    counts[e] = n
    sums[e] = total
    means[e] = total / np.float64(n)
    radii[e] = radius_of(n)
    if policy[0] == BETA:
        c1, c2, c3, k0 = words
        if uniform_at(np.uint64(e), c1, c2, c3, k0, run) < chance_of(gain, is_cost):
            state[4][e] += 1


@on_device
def advance(policy, schedule, state, i, t, tid, n_threads):
    """Let an episode pass after its set was chosen: nothing fades here."""


@on_device
def clear(policy, state, e):
    """Let item e be one never seen."""
    state[0][e], state[1][e], state[2][e], state[3][e] = 0.0, 0, 0.0, np.inf
    if policy[0] == BETA:
        state[4][e] = 0


@by_block
def begin(start, policy, schedule, world, state, is_cost, seed, run, tid, n_threads):
    """Bring a run's state to where episode 1 finds it; nothing where a launch goes on."""
    if start != GO_ON:
        words, rounding = address(seed, 0, START), address(seed, 0, ROUNDING)
        row = row_at(world, words, run)
        n_items, e = np.uint32(state[0].shape[0]), tid
        while e < n_items:
            clear(policy, state, e)
            if start == OBSERVE:
                weight = weigh(world, row, e, words, run)
                absorb(policy, schedule, state, e, weight, is_cost, rounding, run, -1, 0, e)
            e = np.uint32(e + n_threads)
    cuda.syncthreads()


@by_block
def mark(bits, e):
    """Set the bit of item e."""
    cuda.atomic.or_(bits, np.uint32(e) >> _FIVE, _ONE << (np.uint32(e) & _31))


@by_block
def list_marked(bits, partial, items, tid, n_threads):
    """Write the items whose bits are set into `items`, ascending; a thread looks at neighbouring words of bits."""
    n_words = np.uint32(bits.shape[0])
    width = np.uint32((n_words + n_threads - 1) // n_threads)
    first = min(np.uint32(tid * width), n_words)
    last = min(np.uint32(first + width), n_words)
    n = np.int32(0)
    w = first
    while w < last:
        n = np.int32(n + cuda.popc(bits[w]))
        w = np.uint32(w + 1)
    partial[tid] = n
    cuda.syncthreads()
    if n > 0:
        k, i = np.uint32(0), np.uint32(0)
        while i < tid:
            k = np.uint32(k + partial[i])
            i = np.uint32(i + 1)
        w = first
        while w < last:
            word = bits[w]
            while word != 0:
                items[k] = 32 * w + cuda.ffs(word) - 1
                word = np.uint32(word & (word - _ONE))
                k = np.uint32(k + 1)
            w = np.uint32(w + 1)
    cuda.syncthreads()


@by_block
def learn(policy, schedule, world, mean_weights, state, items, numbers, is_cost, seed, i, t, run, tid, n_threads):
    """Draw the weights of the chosen items and count them; `numbers` keeps them, and behind them their means."""
    words, rounding = address(seed, t, WEIGHTS), address(seed, t, ROUNDING)
    row = row_at(world, words, run)
    size = np.uint32(items.shape[0])
    k = tid
    while k < size:
        e = items[k]
        weight = weigh(world, row, e, words, run)
        numbers[k] = weight
        numbers[size + k] = mean_weights[e]
        absorb(policy, schedule, state, e, weight, is_cost, rounding, run, i, t, k)
        k = np.uint32(k + n_threads)
    cuda.syncthreads()


@on_device
def add_up(numbers, size, total, best, is_cost, tid):
    """The total of a run after an episode: of returns for thread 0, of regret for thread 1.

    Added up item by item as `kernels.statistics.add_totals` does, so that the last digits are the same.
    """
    amount = 0.0
    k = np.uint32(tid * size)
    end = np.uint32(k + size)
    while k < end:
        amount += numbers[k]
        k = np.uint32(k + 1)
    if tid == 0:
        return total + amount
    return total + ((amount - best) if is_cost else (best - amount))


@by_block
def finish(is_last, n_before, counts, total, totals, choices, place, tid, n_threads):
    """Keep a run's totals for the next launch, or add up how often its items were chosen after the last one.

    `n_before` is how often every item was seen before episode 1.
    """
    if tid < 2:
        totals[tid, place] = total
    if is_last:
        n_items, e = np.uint32(counts.shape[0]), tid
        while e < n_items:
            if counts[e] > n_before:
                cuda.atomic.add(choices, e, np.uint64(counts[e] - n_before))
            e = np.uint32(e + n_threads)


def own_room(family, at, n_threads):
    """The shared memory of a family, from its eight-byte word number `at` on."""
    raise NotImplementedError


def choose(family, room, policy, state, c, i, seed, t, run, items, bits, partial, tid, n_threads):
    """Set the bits of the items of a best set, and synchronise; returns whether they are a basis."""
    raise NotImplementedError


def play(family, when, policy, schedule, worlds, score, states, results):
    """Play some episodes in every run, a block each; `_play.py` says what the arguments are.

    `family` begins with the size of a set. `_fit.py` counts the shared memory: here the weights of the chosen items
    and their means, the chosen items, a bit for each item, and a word for each thread.
    """
    tid, n_threads, place = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), cuda.blockIdx.x
    seed, first_run, first_t, n_episodes, start, n_before, is_last, is_cost, points, first_point = when
    totals, curves, choices, failed = results
    run = np.uint64(first_run + place)
    state = state_of(states, place)
    rank, n_words = family[0], (state[0].shape[0] + 31) // 32

    marks = cuda.shared.array(0, types.uint32)
    numbers = cuda.shared.array(0, types.float64)[: 2 * rank]
    at = 4 * rank
    items = marks[at : at + rank]
    at += rank
    bits = marks[at : at + n_words]
    at += n_words
    partial = marks[at : at + n_threads]
    room = own_room(family, (at + n_threads + 1) // 2, n_threads)

    begin(start, policy, schedule, world_at(worlds, -1), state, is_cost, seed, run, tid, n_threads)
    total = totals[tid, place] if tid < 2 else 0.0
    point = first_point
    for i in range(n_episodes):
        t = first_t + i
        c = schedule[0][i]
        if not choose(family, room, policy, state, c, i, seed, t, run, items, bits, partial, tid, n_threads):
            failed[place] = 1
            break
        list_marked(bits, partial, items, tid, n_threads)
        advance(policy, schedule, state, i, t, tid, n_threads)
        mean_weights, best = score_at(score, i)
        world = world_at(worlds, i)
        learn(policy, schedule, world, mean_weights, state, items, numbers, is_cost, seed, i, t, run, tid, n_threads)
        if tid < 2:
            total = add_up(numbers, np.uint32(rank), total, best, is_cost, tid)
        if t == points[point]:
            if tid < 2:
                curves[tid, place, point] = total
            point += 1
    finish(is_last, n_before, state[1], total, totals, choices, place, tid, n_threads)
