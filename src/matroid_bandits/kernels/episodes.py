"""What items go through in an episode: the formulas of indices, weights and counts, for one item and for some.

Plain functions, compiled for the CPU in `compiled/`, those of one item for a GPU in `gpu/` too; what is NumPy in
policies and environments gives the same bits. A product that is added to something is written `times`, so that a
GPU's compiler does not round the two steps as one.

Loops over items are apart for every kind, so that they are compiled to SIMD, and there are no operations on whole
arrays, which take long to compile.
"""

import math

import numpy as np

from matroid_bandits.kernels import kinetic, random, statistics
from matroid_bandits.kernels.compiling import called, inlined, times
from matroid_bandits.kernels.forms import BERNOULLI, CHANCE, EPSILON, EXPONENTIAL, NORMAL

#: Stands for a run as a whole where an item is part of a random number's address, as in `Stream.run_uniform`.
RUN_ITEM = np.uint64(2**32 - 1)

_WORD = np.uint64(0xFFFFFFFF)
_N_RADII = 2048
_RADII = 1.0 / np.sqrt(np.maximum(np.arange(_N_RADII), 1))

index, kl_index = kinetic.index, statistics.kl_index
address, uniform_at, fill_betas = random.address, random.uniform_at, random.fill_betas
exponential_at, normal_at = random.exponential_at, random.normal_at


@inlined
def sampled_mean(mean, radius, noise, z):
    """The mean that Thompson sampling with a normal belief draws, of a standard normal z."""
    return mean + times(times(noise, z), radius)


@inlined
def coin(u, mean):
    """A weight of 0 or 1, of a uniform u."""
    return 1.0 if u < mean else 0.0


@inlined
def noisy(z, mean, noise):
    """A normal weight, of a standard normal z."""
    return mean + times(noise, z)


@inlined
def place_of(u, n):
    """One of n places, of a uniform u."""
    return np.int64(u * n)


@inlined
def chance_of(gain, is_cost):
    """The probability with which a gain counts as a success: the weight, or 1 less it where weights are costs."""
    return 1.0 + gain if is_cost else gain


@inlined
def radius_of(n):
    """1 / sqrt(n) of a whole number of plays."""
    return 1.0 / math.sqrt(np.float64(n))


@inlined
def radius(n):
    """`radius_of`, from a table of few plays."""
    return _RADII[n] if n < _N_RADII else radius_of(n)


@inlined
def fill_lines(means, radii, items, is_all, c, out):
    """The affine index of each of `items` (n,); `is_all` where they are 0 to L - 1."""
    if is_all:
        for i in range(items.shape[0]):
            out[i] = index(means[i], radii[i], c)
    else:
        for i in range(items.shape[0]):
            e = np.uint64(items[i])
            out[i] = index(means[e], radii[e], c)


@called
def fill_simple(kind, number, means, radii, seed, t, purpose, items, run, out):
    """The index of each of `items` (n,) of the policies CHANCE, EPSILON and NORMAL."""
    c1, c2, c3, k0 = address(seed, t, purpose)
    n = items.shape[0]
    if kind == CHANCE or (kind == EPSILON and uniform_at(RUN_ITEM, c1, c2, c3, k0, run) < number):
        for i in range(n):
            out[i] = uniform_at(np.uint64(items[i]) & _WORD, c1, c2, c3, k0, run)
    elif kind == NORMAL:
        for i in range(n):
            out[i] = normal_at(np.uint64(items[i]) & _WORD, c1, c2, c3, k0, run)
        for i in range(n):
            e = np.uint64(items[i])
            out[i] = sampled_mean(means[e], radii[e], number, out[i])
    else:
        for i in range(n):
            out[i] = means[np.uint64(items[i])]
    if kind != CHANCE:
        for i in range(n):  # an item never seen comes first
            out[i] = np.inf if radii[np.uint64(items[i])] == np.inf else out[i]


@inlined
def n_plays(counts, waiting, e):
    """How many plays are behind the mean of an item, answered or not; `waiting` is (1,) where no answer is late."""
    return counts[e] + (waiting[e] if waiting.shape[0] == counts.shape[0] else 0)


@called
def fill_bounds(offset, budget, means, counts, waiting, items, out):
    """The Kullback-Leibler index of each of `items` (n,)."""
    for i in range(items.shape[0]):
        e = np.uint64(items[i])
        out[i] = kl_index(means[e], n_plays(counts, waiting, e), offset, budget)


@called
def fill_beliefs(successes, counts, seed, t, purpose, items, run, alpha, beta, out):
    """A mean drawn from the beta belief of each of `items` (n,); `alpha` and `beta` are room."""
    for i in range(items.shape[0]):
        e = np.uint64(items[i])
        alpha[i], beta[i] = 1.0 + successes[e], 1.0 + (counts[e] - successes[e])
    c1, c2, c3, k0 = address(seed, t, purpose)
    fill_betas(alpha, beta, items, c1, c2, c3, k0, run, out)


@called
def draw_simple(kind, values, noises, seed, t, purpose, items, run, out):
    """The weights of `items` (n,) of the worlds BERNOULLI, EXPONENTIAL and GAUSSIAN, as their `draw` gives them."""
    c1, c2, c3, k0 = address(seed, t, purpose)
    n = items.shape[0]
    if kind == BERNOULLI:
        for k in range(n):
            out[k] = uniform_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            out[k] = coin(out[k], values[np.uint64(items[k])])
    elif kind == EXPONENTIAL:
        for k in range(n):
            out[k] = exponential_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            out[k] += values[np.uint64(items[k])]
    else:
        for k in range(n):
            out[k] = normal_at(np.uint64(items[k]) & _WORD, c1, c2, c3, k0, run)
        for k in range(n):
            e = np.uint64(items[k])
            out[k] = noisy(out[k], values[e], noises[e])


@called
def clear_plays(sums, counts, means, radii, extra):
    """Bring a run to where nothing was played; `extra` (X, L) is what the policy keeps besides."""
    for e in range(sums.shape[0]):
        sums[e], counts[e], means[e], radii[e] = 0.0, 0, 0.0, np.inf
        for j in range(extra.shape[0]):
            extra[j, e] = 0.0


@inlined
def count_plays(sums, counts, means, radii, items, weights, is_cost):
    """Count the weights of some items, as `kernels.statistics.absorb` does."""
    for k in range(items.shape[0]):
        e = np.uint64(items[k])
        n = counts[e] + 1
        total = sums[e] + (-weights[k] if is_cost else weights[k])
        counts[e] = n
        sums[e] = total
        means[e] = total / n
        radii[e] = radius(n)


@called
def count_successes(successes, items, weights, is_cost, seed, t, purpose, run):
    """Count each weight as a success of its item's beta belief, with the probability that `chance_of` gives."""
    c1, c2, c3, k0 = address(seed, t, purpose)
    for k in range(items.shape[0]):
        e = np.uint64(items[k])
        u = uniform_at(e & _WORD, c1, c2, c3, k0, run)
        successes[e] += coin(u, chance_of(-weights[k] if is_cost else weights[k], is_cost))


@inlined
def add_up(items, weights, mean_weights, best, sign, total):
    """Add an episode to a run's return and regret, item by item as `kernels.statistics.add_totals` does."""
    worth, mean = 0.0, 0.0
    for k in range(items.shape[0]):
        worth += weights[k]
        mean += mean_weights[np.uint64(items[k])]
    total[0] += worth
    total[1] += sign * (best - mean)
