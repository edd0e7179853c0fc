"""What has been seen of each item, updated in place, and totals over bases."""

import numpy as np

from matroid_bandits.kernels.compiling import njit

# 1 / sqrt(n) for small n: both operations round correctly, so the table's bits are those of the expression
_N_RADII = 2048
_RADII = 1.0 / np.sqrt(np.maximum(np.arange(_N_RADII), 1))


@njit(cache=True, nogil=True, error_model="numpy")
def absorb(runs, items, gains, counts, sums, means, radii):
    """Count the gain (n,) of each of `items` (n,) in its run (n,).

    Keeps means = sums / counts and radii = 1 / sqrt(counts) of what it touches, all (R, L).
    """
    for i in range(items.shape[0]):
        run, e = np.uint64(runs[i]), np.uint64(items[i])
        n = counts[run, e] + 1
        total = sums[run, e] + gains[i]
        counts[run, e] = n
        sums[run, e] = total
        means[run, e] = total / n
        radii[run, e] = _RADII[n] if n < _N_RADII else 1.0 / np.sqrt(np.float64(n))


@njit(cache=True, nogil=True)
def total_mean(items, mean_weights):
    """The expected weight of a set, added up as `add_totals` does."""
    mean = 0.0
    for k in range(items.shape[0]):
        mean += mean_weights[items[k]]
    return mean


@njit(cache=True, nogil=True)
def add_totals(items, weights, mean_weights, best, sign, returns, regret):
    """Add each row's total weight to `returns` (R,), and to `regret` (R,) what it expects to lose to `best`."""
    for run in range(items.shape[0]):
        total, mean = 0.0, 0.0
        for k in range(items.shape[1]):
            total += weights[run, k]
            mean += mean_weights[np.uint64(items[run, k])]
        returns[run] += total
        regret[run] += sign * (best - mean)


@njit(cache=True, nogil=True)
def first_outside(values, low, high):
    """The first position whose value is not in [low, high], NaN included; -1 for none."""
    for i in range(values.shape[0]):
        if not low <= values[i] <= high:
            return i
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _excess(x):
    """x - log(1 + x) for x of at most 0.01 in size, to 12 digits."""
    return x * x * (0.5 - x * (1 / 3 - x * (0.25 - x * (0.2 - x * (1 / 6 - x / 7)))))


@njit(cache=True, nogil=True, error_model="numpy")
def kl(p, q):
    """Kullback-Leibler divergence between Bernoulli variables of means p in [0, 1] and q in (0, 1)."""
    gap = q - p
    if abs(gap) < 0.01 * min(p, 1.0 - p):  # close together: the two logarithms would cancel
        return p * _excess(gap / p) + (1.0 - p) * _excess(-gap / (1.0 - p))
    d = 0.0
    if p > 0.0:
        d += p * np.log(p / q)
    if p < 1.0:
        d += (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
    return d


@njit(cache=True, nogil=True, error_model="numpy")
def kl_indices(means, counts, offset, budget, out):
    """The largest q with counts * kl(means + offset, q) <= budget, to 1e-12, less `offset`; +inf where counts are 0.

    The divergence is convex and increasing above the mean, so Newton's method from above falls to the root, and
    an error is never larger than twice the step that it leads to.
    """
    for run in range(means.shape[0]):
        for e in range(means.shape[1]):
            n = counts[run, e]
            if n == 0:
                out[run, e] = np.inf
                continue
            p = min(max(means[run, e] + offset, 0.0), 1.0)
            target = budget / n
            if target <= 0.0 or p >= 1.0:
                out[run, e] = p - offset
                continue
            # kl(p, q) >= (q - p)^2 / 2v where v is at least x (1 - x) on [p, q]: for one v = 1/4, q and 1 - p
            width = min(np.sqrt(0.5 * target), np.sqrt(2.0 * (1.0 - p) * target))
            q = p + min(width, target + np.sqrt(target * (target + 2.0 * p)))
            if q > 0.9:  # near one the logarithm of 1 - q rules: leave out that of q
                entropy = -(1.0 - p) * np.log(1.0 - p)
                if p > 0.0:
                    entropy -= p * np.log(p)
                q = min(q, 1.0 - np.exp(-(target + entropy) / (1.0 - p)))
            for _ in range(100):
                if not p < q < 1.0:
                    break
                step = (kl(p, q) - target) * q * (1.0 - q) / (q - p)
                q -= step
                if step <= 1e-13:
                    break
            out[run, e] = max(q, p) - offset


@njit(cache=True, nogil=True, error_model="numpy")
def kalman(runs, items, gains, features, variance, theta, covariance):
    """Condition each run's Gaussian belief theta (R, d), covariance (R, d, d) on noisy linear observations.

    Observation i is the gain (n,) of an item (n,) with its row of `features` (L, d), in its run (n,).
    """
    d = features.shape[1]
    direction = np.empty(d, np.float64)
    for k in range(items.shape[0]):
        mean, cov, x = theta[runs[k]], covariance[runs[k]], features[items[k]]
        spread, error = variance, gains[k]
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += cov[i, j] * x[j]
            direction[i] = total
            spread += total * x[i]
            error -= mean[i] * x[i]
        for i in range(d):
            mean[i] += direction[i] * error / spread
            for j in range(d):
                cov[i, j] -= direction[i] * direction[j] / spread
