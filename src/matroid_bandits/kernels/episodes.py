"""What an item goes through in an episode: the formulas of indices, weights and counts, one item at a time.

Plain functions, compiled for the CPU in `compiled/` and for a GPU in `gpu/`; what is NumPy in policies and
environments gives the same bits. A product that is added to something is written `times`, so that a GPU's compiler
does not round the two steps as one.
"""

import math

import numpy as np

from matroid_bandits.kernels.compiling import njit, times

_inlined = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)

#: Stands for a run as a whole where an item is part of a random number's address, as in `Stream.run_uniform`.
RUN_ITEM = np.uint64(2**32 - 1)


@_inlined
def sampled_mean(mean, radius, noise, z):
    """The mean that Thompson sampling with a normal belief draws, of a standard normal z."""
    return mean + times(times(noise, z), radius)


@_inlined
def coin(u, mean):
    """A weight of 0 or 1, of a uniform u."""
    return 1.0 if u < mean else 0.0


@_inlined
def noisy(z, mean, noise):
    """A normal weight, of a standard normal z."""
    return mean + times(noise, z)


@_inlined
def place_of(u, n):
    """One of n places, of a uniform u."""
    return np.int64(u * n)


@_inlined
def chance_of(gain, is_cost):
    """The probability with which a gain counts as a success: the weight, or 1 less it where weights are costs."""
    return 1.0 + gain if is_cost else gain


@_inlined
def radius_of(n):
    """1 / sqrt(n) of a whole number of plays."""
    return 1.0 / math.sqrt(np.float64(n))
