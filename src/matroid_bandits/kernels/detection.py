"""Detectors of changes, a step at a time for many items at once."""

from matroid_bandits.kernels.compiling import kernel


@kernel
def cusum(gains, counts, means, above, below, n_first, tolerance, threshold, is_alarm):
    """Take a gain (n,) of each item into its counts, means and sums above and below, all (n,); fills `is_alarm`.

    The mean is that of the first `n_first` gains; from then on the sums say how far gains have moved away from it.
    """
    for i in range(gains.shape[0]):
        is_alarm[i] = False
        counts[i] += 1
        if counts[i] <= n_first:
            means[i] += (gains[i] - means[i]) / counts[i]
            continue
        above[i] = max(0.0, above[i] + gains[i] - means[i] - tolerance)
        below[i] = max(0.0, below[i] + means[i] - gains[i] - tolerance)
        is_alarm[i] = above[i] > threshold or below[i] > threshold
