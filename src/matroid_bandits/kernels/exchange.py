"""Exchanges of a basis: how sure it is that no item outside should replace one inside, and what to play to learn it.

An exchange is a pair (e, f): e leaves the basis, f enters, and the outcome is a basis. Row r has the exchanges
``leaves[first[r]:last[r]]``, ``enters[...]``, int64. `counts` and `means` are float64 (R, L): answered plays and
their mean gain; gains of the law `UNIT` lie in [0, 1]. `deviation` is that of a weight under the law `GAUSSIAN`.
"""

import math

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel
from matroid_bandits.kernels.statistics import log_gamma

#: Laws of the weights.
GAUSSIAN, UNIT = 0, 1

#: Tests of an exchange: mixtures of likelihood ratios, plain likelihood ratios, intervals from mixtures, CLUCB's.
MIXTURE, RATIO, INTERVAL, CLUCB = 0, 1, 2, 3


@inlined
def _divergence(law, deviation, x, y):
    """How many nats a play with mean x tells against the mean y."""
    if law == GAUSSIAN:
        return (x - y) * (x - y) / (2.0 * deviation * deviation)
    d = 0.0
    if x > 0.0:
        d += x * math.log(x / y)
    if x < 1.0:
        d += (1.0 - x) * math.log((1.0 - x) / (1.0 - y))
    return max(d, 0.0)


@inlined
def _meeting(law, tolerance, n, x, k, y):
    """The mean l of the first item, of n plays with mean x, at which l and l + tolerance of the second fit best.

    The second has k plays with mean y, and y < x + tolerance.
    """
    if tolerance == 0.0:
        return (n * x + k * y) / (n + k)
    if law == GAUSSIAN:
        return (n * x + k * (y - tolerance)) / (n + k)
    low, high = max(y - tolerance, 0.0), min(x, 1.0 - tolerance)  # the slope is 0 or less here, 0 or more there
    if low >= high:
        return high
    for _ in range(60):
        l = 0.5 * (low + high)  # noqa: E741
        other = l + tolerance
        slope = n * (l - x) / (l * (1.0 - l)) + k * (other - y) / (other * (1.0 - other))
        if slope < 0.0:
            low = l
        else:
            high = l
    return 0.5 * (low + high)


@inlined
def _ratio(law, deviation, tolerance, n, x, k, y):
    """The log likelihood ratio against "the second item is better by more than the tolerance"."""
    if y >= x + tolerance:
        return 0.0
    if law == UNIT and tolerance >= 1.0:
        return np.inf
    l = _meeting(law, tolerance, n, x, k, y)  # noqa: E741
    return n * _divergence(law, deviation, x, l) + k * _divergence(law, deviation, y, l + tolerance)


@inlined
def _penalty(law, rho, n, x):
    """What the likelihood of an item's best mean is ahead of a mixture over all means, in nats.

    The mixtures are a normal worth `rho` plays, and Jeffreys' beta distribution for weights in [0, 1].
    """
    if law == GAUSSIAN:
        return 0.5 * math.log1p(n / rho)
    s = min(max(n * x, 0.0), n)
    best = 0.0
    if s > 0.0:
        best += s * math.log(s / n)
    if s < n:
        best += (n - s) * math.log((n - s) / n)
    return best - (log_gamma(s + 0.5) + log_gamma(n - s + 0.5) - log_gamma(n + 1.0) - math.log(math.pi))


@inlined
def _effective(law, test, rho, n):
    """The plays that a mixture counts for n plays of normal weights."""
    return n * n / (n + rho) if law == GAUSSIAN and test == MIXTURE else n


@inlined
def _radius(test, deviation, rho, level, n):
    """Half the width of an interval around a mean of n plays."""
    if test == CLUCB:
        return deviation * math.sqrt(2.0 * level / n)
    return deviation * math.sqrt(2.0 * (n + rho) / (n * n) * (level + 0.5 * math.log1p(n / rho)))


@inlined
def _tested(law, test, deviation, rho, tolerance, level, n, x, k, y):
    """The statistic of an exchange, and the threshold that it must exceed."""
    if test in (MIXTURE, RATIO):
        n_e, n_f = _effective(law, test, rho, n), _effective(law, test, rho, k)
        statistic = _ratio(law, deviation, tolerance, n_e, x, n_f, y)
        threshold = level
        if test == MIXTURE:
            threshold += _penalty(law, rho, n, x) + _penalty(law, rho, k, y)
        return statistic, threshold
    return x - y + tolerance, _radius(test, deviation, rho, level, n) + _radius(test, deviation, rho, level, k)


@kernel(work=lambda counts, means, first, last, *others: 20 * int((last - first).sum()))
def all_pass(counts, means, first, last, leaves, enters, law, test, deviation, rho, tolerance, levels, passes):
    """passes[r]: whether every exchange of row r passes its test at levels[r]; none of an item without plays does."""
    n_items = counts.shape[1]
    penalties = np.empty(n_items)
    for run in range(counts.shape[0]):
        level = levels[run]
        passes[run] = True
        if test == MIXTURE:
            penalties[:] = np.nan
        for j in range(first[run], last[run]):
            e, f = leaves[j], enters[j]
            n, k = counts[run, e], counts[run, f]
            x, y = means[run, e], means[run, f]
            if n == 0.0 or k == 0.0:
                passes[run] = False
                break
            if test == MIXTURE:
                # the statistic is dear with a tolerance, the threshold is known without it
                for item in (e, f):
                    if math.isnan(penalties[item]):
                        penalties[item] = _penalty(law, rho, counts[run, item], means[run, item])
                n_e, n_f = _effective(law, test, rho, n), _effective(law, test, rho, k)
                is_past = _ratio(law, deviation, tolerance, n_e, x, n_f, y) > level + (penalties[e] + penalties[f])
            else:
                statistic, threshold = _tested(law, test, deviation, rho, tolerance, level, n, x, k, y)
                is_past = statistic > threshold
            if not is_past:
                passes[run] = False
                break


@kernel
def tested(counts, means, leaves, enters, law, test, deviation, rho, tolerance, level, statistics, thresholds):
    """The statistic and the threshold of every exchange of one row; 0 and infinity of an item without plays."""
    for j in range(leaves.shape[0]):
        e, f = leaves[j], enters[j]
        if counts[e] == 0.0 or counts[f] == 0.0:
            statistics[j], thresholds[j] = 0.0, np.inf
            continue
        statistics[j], thresholds[j] = _tested(
            law, test, deviation, rho, tolerance, level, counts[e], means[e], counts[f], means[f]
        )


@kernel
def plays_needed(counts, means, leaves, enters, law, test, deviation, rho, tolerance, level, needed):
    """How many more plays of both items each exchange needs at the means of today; -1 where no number is enough.

    Nothing more is needed where a test passes already. Of an item without plays nothing can be said: -1.
    """
    for j in range(leaves.shape[0]):
        e, f = leaves[j], enters[j]
        n, x, k, y = counts[e], means[e], counts[f], means[f]
        needed[j] = -1
        if n == 0.0 or k == 0.0 or x - y + tolerance <= 0.0:
            continue
        low, high = -1, 0  # not enough, enough
        while high < 2**52:
            statistic, threshold = _tested(law, test, deviation, rho, tolerance, level, n + high, x, k + high, y)
            if statistic > threshold:
                break
            low, high = high, max(1, 2 * high)
        if high >= 2**52:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            statistic, threshold = _tested(law, test, deviation, rho, tolerance, level, n + middle, x, k + middle, y)
            if statistic > threshold:
                high = middle
            else:
                low = middle
        needed[j] = high


@kernel
def soft_minimum(counts, means, first, last, leaves, enters, law, deviation, gradients):
    """The slope of a soft minimum of the exchanges' likelihood ratios in the plays of each item, (R, L).

    Every exchange counts exp(-(Z - least Z)). A tiny share of 1/plays lets ties go to the item with fewer plays.
    """
    for run in range(counts.shape[0]):
        least = np.inf
        begin, end = first[run], last[run]
        ratios = np.empty(end - begin)
        for j in range(begin, end):
            e, f = leaves[j], enters[j]
            n, k = counts[run, e], counts[run, f]
            z = _ratio(law, deviation, 0.0, n, means[run, e], k, means[run, f])
            ratios[j - begin] = z
            least = min(least, z)
        for e in range(counts.shape[1]):
            gradients[run, e] = 1e-12 / counts[run, e]
        for j in range(begin, end):
            share = math.exp(least - ratios[j - begin])
            if share < 1e-12:
                continue
            e, f = leaves[j], enters[j]
            n, k = counts[run, e], counts[run, f]
            x, y = means[run, e], means[run, f]
            meeting = (n * x + k * y) / (n + k)
            gradients[run, e] += share * _divergence(law, deviation, x, meeting)
            gradients[run, f] += share * _divergence(law, deviation, y, meeting)


@kernel
def allocation_step(shares, means, leaves, enters, law, deviation, cooling, gradient):
    """The least ratio of the exchanges at these shares of the plays, and the slope (L,) of a softened minimum.

    The slope is of weights on exchanges that add up to 1, so the best set for it bounds what any shares can reach.
    """
    least = np.inf
    ratios = np.empty(leaves.shape[0])
    for j in range(leaves.shape[0]):
        e, f = leaves[j], enters[j]
        z = _ratio(law, deviation, 0.0, shares[e], means[e], shares[f], means[f])
        ratios[j] = z
        least = min(least, z)
    gradient[:] = 0.0
    total = 0.0
    for j in range(leaves.shape[0]):
        e, f = leaves[j], enters[j]
        share = math.exp((least - ratios[j]) * cooling / least)
        total += share
        meeting = (shares[e] * means[e] + shares[f] * means[f]) / (shares[e] + shares[f])
        gradient[e] += share * _divergence(law, deviation, means[e], meeting)
        gradient[f] += share * _divergence(law, deviation, means[f], meeting)
    for e in range(gradient.shape[0]):
        gradient[e] /= total
    return least
