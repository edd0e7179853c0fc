"""Weights as integers, whose totals are exact."""

import math

import numpy as np

from matroid_bandits.kernels.compiling import kernel


@kernel
def snap(weights, bits, most, gains):
    """Round each row of `weights` (R, L) to multiples of a power of two, `bits` below its largest; fills `gains`.

    Whole numbers stay as they are where they are small enough. Items never seen, +inf, count more than `most` others.
    Returns the place of the first weight that is NaN or -inf, -1 where there is none.
    """
    n_items = weights.shape[1]
    limit = math.ldexp(2.0 * (most + 1), bits)
    for run in range(weights.shape[0]):
        largest, is_whole = 0.0, True
        for e in range(n_items):
            w = weights[run, e]
            if w == math.inf:
                is_whole = False
            elif abs(w) < math.inf:
                largest = max(largest, abs(w))
                is_whole = is_whole and w == np.rint(w)
            else:
                return run * n_items + e
        shift = 0 if is_whole and largest <= limit else bits - math.frexp(largest)[1]
        is_normal = -1000 < shift < 1000
        scale = math.ldexp(1.0, shift) if is_normal else 1.0
        for e in range(n_items):
            w = weights[run, e]
            if w == math.inf:
                w = limit
            elif is_normal:
                w = w * scale
            else:
                w = math.ldexp(w, shift)
            gains[run, e] = np.int64(np.rint(w))
    return -1
