"""What has been seen of each item, updated in place, and totals over bases."""

import math

import numpy as np

from matroid_bandits.kernels.compiling import borrowed, inlined, kernel

# 1 / sqrt(n) for small n: both operations round correctly, so the table's bits are those of the expression
_N_RADII = 2048
_RADII = 1.0 / np.sqrt(np.maximum(np.arange(_N_RADII), 1))


#: How many parts an exact sum of doubles may have; a row of totals holds them, how many there are, and how many
#: numbers were added.
N_PARTIALS = 40


@kernel
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


@inlined
def _radius(n):
    """1 / sqrt(n) for a whole number of plays."""
    return _RADII[n] if n < _N_RADII else 1.0 / np.sqrt(np.float64(n))


@inlined
def _line(run, e, counts, waiting, lost, sums, prior_means, prior_counts, means, radii):
    """Bring the mean and the radius of one item up to date with its plays.

    An answered item goes by its answers, and its waiting plays narrow the radius. One that was asked for and never
    answered keeps its mean, which was set when it was asked for. A prior counts as plays made on arrival.
    """
    n, n_waiting = counts[run, e], waiting[run, e]
    if prior_counts.shape[0] > 0 and prior_counts[run, e] > 0.0:
        n0 = prior_counts[run, e]
        means[run, e] = (sums[run, e] + n0 * prior_means[run, e]) / (n + n0)
        radii[run, e] = 1.0 / np.sqrt(n + n_waiting + n0)
    elif n > 0:
        means[run, e] = sums[run, e] / n
        radii[run, e] = _radius(n + n_waiting)
    else:
        n_asked = n_waiting + lost[run, e]
        radii[run, e] = _radius(n_asked) if n_asked > 0 else np.inf
        if n_asked == 0:
            means[run, e] = 0.0


@kernel
def update_lines(runs, items, counts, waiting, lost, sums, prior_means, prior_counts, means, radii):
    """Bring the means and radii of `items` (n,) in `runs` (n,) up to date with their plays."""
    counts, waiting, lost, sums = borrowed(counts), borrowed(waiting), borrowed(lost), borrowed(sums)
    prior_means, prior_counts = borrowed(prior_means), borrowed(prior_counts)
    means, radii = borrowed(means), borrowed(radii)
    for i in range(items.shape[0]):
        _line(runs[i], items[i], counts, waiting, lost, sums, prior_means, prior_counts, means, radii)


@kernel
def wait(runs, items, counts, waiting, lost, sums, prior_means, prior_counts, means, radii, n_waiting, totals):
    """Count a play of each of `items` (n,) in its run (n,) that waits for an answer.

    An item never answered takes the mean of all gains answered so far in its run.
    """
    counts, waiting, lost, sums = borrowed(counts), borrowed(waiting), borrowed(lost), borrowed(sums)
    prior_means, prior_counts = borrowed(prior_means), borrowed(prior_counts)
    means, radii, totals = borrowed(means), borrowed(radii), borrowed(totals)
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        if counts[run, e] == 0:
            means[run, e] = exact_mean(totals[run])
        waiting[run, e] += 1
        n_waiting[run] += 1
        _line(run, e, counts, waiting, lost, sums, prior_means, prior_counts, means, radii)


@kernel
def answer(runs, items, gains, was_waiting, counts, waiting, sums, means, radii, n_waiting, totals):
    """Count the gain (n,) of each of `items` (n,) in its run (n,), and in the exact total of the run.

    Where it `was_waiting`, a waiting play of each is taken back. Leaves the lines of items that have no prior up to
    date.
    """
    totals = borrowed(totals)
    if was_waiting:
        for i in range(items.shape[0]):
            waiting[runs[i], items[i]] -= 1
            n_waiting[runs[i]] -= 1
    for i in range(items.shape[0]):
        _count(np.uint64(runs[i]), np.uint64(items[i]), gains[i], counts, waiting, sums, means, radii, n_waiting)
    for i in range(items.shape[0]):  # apart, so that the lines are fetched from memory side by side
        add_gain(gains[i], totals[runs[i]])


@inlined
def _count(run, e, gain, counts, waiting, sums, means, radii, n_waiting):
    """Count a gain of an item, and bring its line up to date where it has no prior."""
    n = counts[run, e] + 1
    total = sums[run, e] + gain
    counts[run, e] = n
    sums[run, e] = total
    means[run, e] = total / n
    radii[run, e] = _radius(n + waiting[run, e] if n_waiting[run] > 0 else n)  # mostly nothing to look up


@kernel
def answer_at_once(items, gains, low, high, counts, waiting, sums, means, radii, n_waiting, totals):
    """`answer` for a single run whose last decision did not count as waiting, if all gains are in [low, high].

    Returns the first position whose gain is not, with nothing counted; -1 for none.
    """
    n = items.shape[0]
    for i in range(n):
        if not low <= gains[i] <= high:
            return i
    for i in range(n):
        _count(np.uint64(0), np.uint64(items[i]), gains[i], counts, waiting, sums, means, radii, n_waiting)
    total = totals[0]
    for i in range(n):
        add_gain(gains[i], total)
    return -1


@kernel
def drop(runs, items, counts, waiting, lost, sums, prior_means, prior_counts, means, radii, n_waiting):
    """Take back a waiting play of each of `items` (n,) in its run (n,), to which no answer will come."""
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        waiting[run, e] -= 1
        n_waiting[run] -= 1
        lost[run, e] += 1
        _line(run, e, counts, waiting, lost, sums, prior_means, prior_counts, means, radii)


@inlined
def _add_exactly(x, partials, n):
    """Add x to a sum kept as n parts that do not overlap (Shewchuk, 1997), so that no order of adding matters.

    Returns the new number of parts; 40 hold any sum of doubles.
    """
    kept = 0
    for i in range(n):
        y = partials[i]
        high = x + y
        rest = high - x
        low = (x - (high - rest)) + (y - rest)  # without asking which is larger (Knuth)
        partials[kept] = low
        kept += low != 0.0
        x = high
    partials[kept] = x
    return kept + 1


@inlined
def add_gain(gain, total):
    """Count a gain in a row of totals."""
    total[N_PARTIALS] = _add_exactly(gain, total, int(total[N_PARTIALS]))
    total[N_PARTIALS + 1] += 1.0


@inlined
def _rounded(partials, n):
    """The sum of n parts, correctly rounded."""
    if n == 0:
        return 0.0
    n -= 1
    high = partials[n]
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = partials[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    # a tie that what is left would break
    if n > 0 and ((low < 0.0 and partials[n - 1] < 0.0) or (low > 0.0 and partials[n - 1] > 0.0)):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return high


@inlined
def exact_mean(total):
    """The mean of what was added to a row of totals, 0 of nothing."""
    n = total[N_PARTIALS + 1]
    return _rounded(total, int(total[N_PARTIALS])) / n if n > 0.0 else 0.0


@kernel
def total_means(items, sizes, mean_weights, out):
    """The expected weight (R,) of the first `sizes` (R,) entries of each row, added up as `add_totals` does."""
    for run in range(items.shape[0]):
        mean = 0.0
        for k in range(sizes[run]):
            mean += mean_weights[np.uint64(items[run, k])]
        out[run] = mean


@kernel
def add_totals(items, sizes, weights, mean_weights, best, sign, returns, regret):
    """Add each row's total weight to `returns` (R,), and to `regret` (R,) what it expects to lose to `best` (R,).

    A row's items are its first `sizes` (R,) entries; `weights` (n,) has one for each, row after row.
    """
    i = np.uint64(0)
    for run in range(items.shape[0]):
        total, mean = 0.0, 0.0
        for k in range(sizes[run]):
            total += weights[i]
            mean += mean_weights[np.uint64(items[run, k])]
            i += np.uint64(1)
        returns[run] += total
        regret[run] += sign * (best[run] - mean)


@kernel
def first_outside(values, low, high):
    """The first position whose value is not in [low, high], NaN included; -1 for none."""
    for i in range(values.shape[0]):
        if not low <= values[i] <= high:
            return i
    return -1


@kernel
def _excess(x):
    """x - log(1 + x) for x of at most 0.01 in size, to 12 digits."""
    return x * x * (0.5 - x * (1 / 3 - x * (0.25 - x * (0.2 - x * (1 / 6 - x / 7)))))


@kernel
def kl(p, q):
    """Kullback-Leibler divergence between Bernoulli variables of means p in [0, 1] and q in (0, 1)."""
    gap = q - p
    if abs(gap) < 0.01 * min(p, 1.0 - p):  # close together: the two logarithms would cancel
        return p * _excess(gap / p) + (1.0 - p) * _excess(-gap / (1.0 - p))
    d = 0.0
    if p > 0.0:
        d += p * math.log(p / q)
    if p < 1.0:
        d += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return d


@kernel
def log_gamma(x):
    """The logarithm of the gamma function for x of at least 0.5, to some units in the last place (after fdlibm)."""
    if x < 2.0:
        low, y = 0.0, x
        if x <= 0.9:  # gamma(x) = gamma(x + 1) / x
            low, y = -math.log(x), x + 1.0
        if y >= 1.7316322:
            y = 2.0 - y if x > 0.9 else 1.0 - x
            z = y * y
            even = 7.72156649015328655494e-02 + z * (6.73523010531292681824e-02 + z * (7.38555086081402883957e-03
                + z * (1.19270763183362067845e-03 + z * (2.20862790713908385557e-04
                + z * 2.52144565451257326939e-05))))  # fmt: skip
            odd = z * (3.22467033424113591611e-01 + z * (2.05808084325167332806e-02 + z * (2.89051383673415629091e-03
                + z * (5.10069792153511336608e-04 + z * (1.08011567247583939954e-04
                + z * 4.48640949618915160150e-05)))))  # fmt: skip
            return low + (y * even + odd - 0.5 * y)
        if y >= 1.23163:  # around the minimum
            y = x - 1.46163214496836224576 if x > 0.9 else x - (1.46163214496836224576 - 1.0)
            z = y * y
            w = z * y
            p0 = 4.83836122723810047042e-01 + w * (-3.27885410759859649565e-02 + w * (6.10053870246291332635e-03
                + w * (-1.40346469989232843813e-03 + w * 3.15632070903625950361e-04)))  # fmt: skip
            p1 = -1.47587722994593911752e-01 + w * (1.79706750811820387126e-02 + w * (-3.68452016781138256760e-03
                + w * (8.81081882437654011382e-04 + w * -3.12754168375120860518e-04)))  # fmt: skip
            p2 = 6.46249402391333854778e-02 + w * (-1.03142241298341437450e-02 + w * (2.25964780900612472250e-03
                + w * (-5.38595305356740546715e-04 + w * 3.35529192635519073543e-04)))  # fmt: skip
            return low + (-1.21486290535849611461e-01 + (z * p0 - (-3.63867699703950536541e-18 - w * (p1 + y * p2))))
        y = x - 1.0
        above = -7.72156649015328655494e-02 + y * (6.32827064025093366517e-01 + y * (1.45492250137234768737
            + y * (9.77717527963372745603e-01 + y * (2.28963728064692451092e-01
            + y * 1.33810918536787660377e-02))))  # fmt: skip
        below = 1.0 + y * (2.45597793713041134822 + y * (2.12848976379893395361 + y * (7.69285150456672783825e-01
            + y * (1.04222645593369134254e-01 + y * 3.21709242282423911810e-03))))  # fmt: skip
        return -0.5 * y + y * above / below
    if x < 8.0:  # gamma(2 + y), times the whole steps up to x
        y = x - math.floor(x)
        above = -7.72156649015328655494e-02 + y * (2.14982415960608852501e-01 + y * (3.25778796408930981787e-01
            + y * (1.46350472652464452805e-01 + y * (2.66422703033638609560e-02 + y * (1.84028451407337715652e-03
            + y * 3.19475326584100867617e-05)))))  # fmt: skip
        below = 1.0 + y * (1.39200533467621045958 + y * (7.21935547567138069525e-01 + y * (1.71933865632803078993e-01
            + y * (1.86459191715652901344e-02 + y * (7.77942496381893596434e-04
            + y * 7.32668430744625636189e-06)))))  # fmt: skip
        product, step = 1.0, x - 1.0
        while step >= 2.0:
            product *= step
            step -= 1.0
        return 0.5 * y + y * above / below + (math.log(product) if x >= 3.0 else 0.0)
    z = 1.0 / x
    y = z * z
    rest = 4.18938533204672725052e-01 + z * (8.33333333333329678849e-02 + y * (-2.77777777728775536470e-03
        + y * (7.93650558643019558500e-04 + y * (-5.95187557450339963135e-04 + y * (8.36339918996282139126e-04
        + y * -1.63092934096575273989e-03)))))  # fmt: skip
    return (x - 0.5) * (math.log(x) - 1.0) + rest


@inlined
def kl_bound(p, target):
    """The largest q with kl(p, q) <= target, to 1e-12, for p in [0, 1].

    The divergence is convex and increasing above p, so Newton's method from above falls to the root, and an error is
    never larger than twice the step that it leads to.
    """
    if target <= 0.0 or p >= 1.0:
        return p
    # kl(p, q) >= (q - p)^2 / 2v where v is at least x (1 - x) on [p, q]: for one v = 1/4, q and 1 - p
    width = min(np.sqrt(0.5 * target), np.sqrt(2.0 * (1.0 - p) * target))
    q = p + min(width, target + np.sqrt(target * (target + 2.0 * p)))
    if q > 0.9:  # near one the logarithm of 1 - q rules: leave out that of q
        entropy = -(1.0 - p) * math.log(1.0 - p)
        if p > 0.0:
            entropy -= p * math.log(p)
        q = min(q, 1.0 - math.exp(-(target + entropy) / (1.0 - p)))
    for _ in range(100):
        if not p < q < 1.0:
            break
        step = (kl(p, q) - target) * q * (1.0 - q) / (q - p)
        q -= step
        if step <= 1e-13:
            break
    return max(q, p)


@inlined
def kl_index(mean, n, offset, budget):
    """The largest q with n * kl(mean + offset, q) <= budget, less `offset`; +inf where n is 0."""
    return np.inf if n == 0 else kl_bound(min(max(mean + offset, 0.0), 1.0), budget / n) - offset


@kernel
def kl_indices(means, counts, offset, budget, out):
    """The `kl_index` of all `means` and `counts` (R, L), into `out`."""
    for run in range(means.shape[0]):
        for e in range(means.shape[1]):
            out[run, e] = kl_index(means[run, e], counts[run, e], offset, budget)


@kernel
def _condition(root, x, variance, shift):
    """Condition a covariance (d, d), given by its Cholesky factor, on an observation with features x (d,).

    Carlson's square-root filter (1973): the factor stays lower triangular with a positive diagonal, and its small
    numbers keep their digits, as no difference of covariances is taken. Fills `shift` (d,) with covariance times x
    and returns the variance of the observation.
    """
    d = x.shape[0]
    spread = variance
    for i in range(d):
        shift[i] = 0.0
    for k in range(d - 1, -1, -1):
        f = 0.0
        for i in range(k, d):
            f += root[i, k] * x[i]
        before, spread = np.sqrt(spread), spread + f * f
        after = np.sqrt(spread)
        scale, share = before / after, f / (before * after)
        for i in range(k, d):
            value = root[i, k]
            root[i, k] = scale * value - share * shift[i]
            shift[i] += value * f
    return spread


@kernel
def kalman(runs, features, gains, variance, theta, root):
    """Condition each run's Gaussian belief on noisy linear observations.

    The belief has means theta (R, d) and a covariance, of which `root` (R, d, d) is the Cholesky factor. Observation
    i is a gain (n,) with its row of `features` (n, d), in its run (n,).
    """
    d = features.shape[1]
    shift = np.empty(d, np.float64)
    for k in range(runs.shape[0]):
        mean, x, error = theta[runs[k]], features[k], gains[k]
        for i in range(d):
            error -= mean[i] * x[i]
        spread = _condition(root[runs[k]], x, variance, shift)
        for i in range(d):
            mean[i] += shift[i] * error / spread


@kernel
def narrow(runs, features, variance, root):
    """Condition each run's covariance, of which `root` (R, d, d) is the Cholesky factor, on observations with
    `features` (n, d), whatever they will be."""
    shift = np.empty(features.shape[1], np.float64)
    for k in range(runs.shape[0]):
        _condition(root[runs[k]], features[k], variance, shift)


@kernel
def widen(runs, features, variance, root):
    """Take observations with `features` (n, d) out of each run's covariance, which `narrow` has taken in.

    `root` (R, d, d) is its Cholesky factor. Where an observation is most of what is known of its direction, too many
    digits would be lost; the first number of the run's factor becomes NaN then.
    """
    d = features.shape[1]
    shift = np.empty(d, np.float64)
    for k in range(runs.shape[0]):
        L, x = root[runs[k]], features[k]
        spread = variance
        for i in range(d):
            shift[i] = 0.0
        for j in range(d):
            f = 0.0
            for i in range(j, d):
                f += L[i, j] * x[i]
            spread -= f * f
            for i in range(j, d):
                shift[i] += L[i, j] * f
        if not spread >= 0.5 * variance:
            L[0, 0] = np.nan
            continue
        for i in range(d):
            shift[i] /= np.sqrt(spread)
        for j in range(d):  # the factor of a covariance plus shift times its transpose
            if shift[j] == 0.0:
                continue
            length = np.sqrt(L[j, j] * L[j, j] + shift[j] * shift[j])
            cosine, sine = L[j, j] / length, shift[j] / length
            for i in range(j, d):
                value = L[i, j]
                L[i, j] = cosine * value + sine * shift[i]
                shift[i] = cosine * shift[i] - sine * value
