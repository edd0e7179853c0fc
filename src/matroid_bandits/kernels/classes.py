"""Indices that are a function of an item's mean and its number of plays, and never fall with the mean.

The formulas of `kernels.forms` that are of this kind, each written once: for all items, for one, and for the best of
all items that were played equally often.
"""

import math

import numpy as np

from matroid_bandits.kernels import random, statistics
from matroid_bandits.kernels.compiling import njit, times
from matroid_bandits.kernels.forms import AFFINE, KL_SHARE, ONE_NORMAL, SHARE

kl_bound, log = statistics.kl_bound, random._log  # the logarithm has the same bits everywhere

_kernel = njit(cache=True, nogil=True, error_model="numpy")
_inlined = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)


@_inlined
def index(kind, number, x, mean, n):
    """The index of an item of n plays, a float, with this mean gain; x is what the episode and the run are about.

    x is c_t for lines, a budget for KL, K t / L for shares, a number drawn for all items otherwise. An item without a
    play has index +inf where the formula has none for it.
    """
    if kind == ONE_NORMAL:
        return (mean if n > 0.0 else 1.0 - number) + times(x, 1.0 / math.sqrt(n + 1.0))
    if kind > ONE_NORMAL:
        p = min(max(mean + number, 0.0), 1.0)
        return beta_quantile(1.0 + p * n, 1.0 + (1.0 - p) * n, x) - number
    if n == 0.0:
        return np.inf
    if kind == AFFINE:
        return mean + times(x, 1.0 / math.sqrt(n))
    if kind == SHARE:
        return mean + (math.sqrt(times(number, log(x / n)) / n) if x > n else 0.0)
    budget = x
    if kind == KL_SHARE:
        share = max(log(x / n), 0.0) if x > 0.0 else 0.0
        y = x / n * (times(share, share) + 1.0)
        budget = log(y) if y > 1.0 else 0.0
    return kl_bound(min(max(mean + number, 0.0), 1.0), budget / n) - number


@_kernel
def indices(kind, number, xs, means, plays, out):
    """The index of every item, (R, L), of its mean and its plays, float64 or int64; xs (R,) float64."""
    for run in range(means.shape[0]):
        for e in range(means.shape[1]):
            out[run, e] = index(kind, number, xs[run], means[run, e], np.float64(plays[run, e]))


@_kernel
def beta_quantile(a, b, u):
    """The u-quantile of Beta(a, b), for a and b of at least 1, to 1e-12.

    Halley's method between bounds that close in; the first guess is that of Abramowitz and Stegun, 26.5.22.
    """
    if u <= 0.0:
        return 0.0
    if a == 1.0:
        return -math.expm1(math.log1p(-u) / b)
    if b == 1.0:
        return math.exp(math.log(u) / a)
    tail = math.sqrt(-2.0 * math.log(min(u, 1.0 - u)))
    z = (2.30753 + 0.27061 * tail) / (1.0 + tail * (0.99229 + 0.04481 * tail)) - tail
    z = z if u < 0.5 else -z
    ra, rb = 1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0)
    h, skew = 2.0 / (ra + rb), (z * z - 3.0) / 6.0
    w = -z * math.sqrt(max(h + skew, 0.0)) / h - (rb - ra) * (skew + 5.0 / 6.0 - 2.0 / (3.0 * h))
    x = a / (a + b * math.exp(2.0 * min(max(w, -300.0), 300.0)))
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    low, high = 0.0, 1.0
    for _ in range(200):
        if not low < x < high:
            x = 0.5 * (low + high)
        excess, density = _beta_cdf(a, b, log_beta, x, u)
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess / density if density > 0.0 else np.inf
        if abs(step) < 1e300:  # Halley's correction, from the slope of the density
            curve = step * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))
            step /= 1.0 - 0.5 * min(max(curve, -1.0), 1.0)
        x -= step
        if abs(step) <= 1e-9 * min(x, 1.0 - x) or high - low <= 1e-15:
            break
    return min(max(x, 0.0), 1.0)


@_kernel
def _beta_cdf(a, b, log_beta, x, u):
    """The probability of less than x under Beta(a, b), less u, and the density at x."""
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta)
    if x < (a + 1.0) / (a + b + 2.0):
        below = front * _beta_fraction(a, b, x) / a - u
    else:
        below = (1.0 - u) - front * _beta_fraction(b, a, 1.0 - x) / b
    return below, front / (x * (1.0 - x))


@_kernel
def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's algorithm, two terms a round."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        fraction *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return fraction
