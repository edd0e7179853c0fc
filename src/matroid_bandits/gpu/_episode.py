"""What the threads of a block do in an episode of their run, whatever the matroid: index, draw, learn, add up.

A run's arrays are its rows of the state in the GPU's memory; the tuples `state`, `policy`, `world` and `words` keep
together what goes together. Functions that synchronise must be called by all threads of a block.
"""

import numpy as np

from matroid_bandits.gpu._codes import GO_ON, OBSERVE
from matroid_bandits.gpu._device import (
    address,
    beta_at,
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
    uniform_at,
)
from matroid_bandits.kernels.episodes import RUN_ITEM
from matroid_bandits.kernels.forms import BERNOULLI, BETA, CHANCE, DENSE, EPSILON, EXPONENTIAL, NORMAL
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
def index_at(policy, is_random, state, e, words, run):
    """The index of item e, as the `indices` of a policy that is not affine gives it."""
    kind, number = policy
    _, counts, means, radii, successes = state
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
    kind, number = policy
    c1, c2, c3, k0 = words
    return kind == EPSILON and uniform_at(RUN_ITEM, c1, c2, c3, k0, run) < number


@on_device
def weigh(world, row, e, words, run):
    """The weight of item e, as the environment's `draw` gives it; `row` is that of a table."""
    kind, values, _, table, indptr, indices = world
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
    kind, _, n_rows, _, _, _ = world
    c1, c2, c3, k0 = words
    if kind >= DENSE:
        return place_of(uniform_at(RUN_ITEM, c1, c2, c3, k0, run), n_rows)
    return np.int64(0)


@on_device
def absorb(policy, state, e, weight, is_cost, words, run):
    """Count the weight of item e, as `kernels.statistics.absorb` and the policy's `observe` do."""
    sums, counts, means, radii, successes = state
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
            successes[e] += 1


@cuda.jit(device=True)
def begin(start, policy, world, state, is_cost, seed, run, tid, n_threads):
    """Bring a run's state to where episode 1 finds it; nothing where a launch goes on."""
    sums, counts, means, radii, successes = state
    if start != GO_ON:
        words, rounding = address(seed, 0, START), address(seed, 0, ROUNDING)
        row = row_at(world, words, run)
        n_items, e = np.uint32(sums.shape[0]), tid
        while e < n_items:
            sums[e], counts[e], means[e], radii[e] = 0.0, 0, 0.0, np.inf
            if policy[0] == BETA:
                successes[e] = 0
            if start == OBSERVE:
                absorb(policy, state, e, weigh(world, row, e, words, run), is_cost, rounding, run)
            e = np.uint32(e + n_threads)
    cuda.syncthreads()


@cuda.jit(device=True)
def mark(bits, e):
    """Set the bit of item e."""
    cuda.atomic.or_(bits, np.uint32(e) >> _FIVE, _ONE << (np.uint32(e) & _31))


@cuda.jit(device=True)
def list_marked(bits, width, partial, items, tid):
    """Write the items whose bits are set into `items`, ascending; a thread looks at `width` words of bits."""
    n_words = np.uint32(bits.shape[0])
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


@cuda.jit(device=True)
def learn(policy, world, mean_weights, state, items, numbers, is_cost, seed, t, run, tid, n_threads):
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
        absorb(policy, state, e, weight, is_cost, rounding, run)
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


@on_device
def policy_words(seed, t):
    """The part of the address that a policy's own random numbers of an episode share."""
    return address(seed, t, POLICY)


@cuda.jit(device=True)
def end_episode(
    policy, world, mean_weights, best, state, bits, width, partial, items, numbers, is_cost, seed, t, run, points,
    point, curves, place, total, tid, n_threads,
):  # fmt: skip
    """List the items whose bits are set, learn their weights, add them up and keep totals at a checkpoint.

    Returns the run's total, as `add_up` does, and the number of the next checkpoint.
    """
    list_marked(bits, width, partial, items, tid)
    learn(policy, world, mean_weights, state, items, numbers, is_cost, seed, t, run, tid, n_threads)
    if tid < 2:
        total = add_up(numbers, np.uint32(items.shape[0]), total, best, is_cost, tid)
    if t == points[point]:
        if tid < 2:
            curves[tid, place, point] = total
        point += 1
    return total, point


@cuda.jit(device=True)
def finish(is_last, n_before, state, total, totals, choices, place, tid, n_threads):
    """Keep a run's totals for the next launch, or add up how often its items were chosen after the last one.

    `n_before` is how often every item was seen before episode 1.
    """
    if tid < 2:
        totals[tid, place] = total
    if is_last:
        counts = state[1]
        n_items, e = np.uint32(counts.shape[0]), tid
        while e < n_items:
            if counts[e] > n_before:
                cuda.atomic.add(choices, e, np.uint64(counts[e] - n_before))
            e = np.uint32(e + n_threads)
