"""The chances of HYBRID's rule on quotas, and sets that have them."""

import math

import numpy as np

from matroid_bandits.kernels.compiling import kernel

#: Chances are this far from 0 and 1 at least, and add up to their number within this.
_LEAST, _SUM = 1e-14, 1e-10


@kernel
def chances(losses, is_open, starts, members, room, gammas, rate, x):
    """Rows of the x that minimise <losses, x> + (1 / rate) sum(-sqrt x + gamma (1 - x) log(1 - x)) in every quota.

    Of `room` items each quota has as much; `is_open` (1, L) or (R, L) are the items that count, others get 0. On
    entry x (R, L) has a guess. The multiplier nu of a quota's sum is found by Newton's method inside a bracket, and
    so is each x_e for it: the sum grows with nu.
    """
    n_rows, n_items = losses.shape
    places = np.empty(n_items, np.int64)
    for r in range(n_rows):
        mask = is_open[r if is_open.shape[0] > 1 else 0]
        for b in range(room.shape[0]):
            n = 0
            for j in range(starts[b], starts[b + 1]):
                e = members[j]
                if mask[e]:
                    places[n] = e
                    n += 1
                else:
                    x[r, e] = 0.0
            if room[b] >= n or room[b] == 0:
                for j in range(n):
                    x[r, places[j]] = 1.0 if room[b] > 0 else 0.0
            else:
                _solve(losses[r], places[:n], float(room[b]), gammas[b], rate, x[r])


@kernel
def _solve(losses, items, total, gamma, rate, x):
    low, high = losses[items[0]], losses[items[0]]
    middle, nu = 2.0, 0.0
    for e in items:
        low, high = min(low, losses[e]), max(high, losses[e])
        x[e] = min(max(x[e], _LEAST), 1.0 - _LEAST)
        if abs(x[e] - 0.5) < middle:  # where the multiplier that the guess stands for is best known
            middle = abs(x[e] - 0.5)
            nu = losses[e] - (0.5 / math.sqrt(x[e]) + gamma * (math.log1p(-x[e]) + 1.0)) / rate
    low, high = low - 40.0 / rate, high + 60.0 / rate
    nu = min(max(nu, low), high)
    for _ in range(200):
        found, slope = 0.0, 0.0
        for e in items:
            a, b, z, c = _LEAST, 1.0 - _LEAST, x[e], rate * (losses[e] - nu)
            for _ in range(60):
                excess = c - 0.5 / math.sqrt(z) - gamma * (math.log1p(-z) + 1.0)
                if excess < 0.0:
                    a = z
                else:
                    b = z
                step = excess / (0.25 / (z * math.sqrt(z)) + gamma / (1.0 - z))
                new = z - step
                if not a < new < b:
                    new = 0.5 * (a + b)
                is_near = abs(new - z) <= 1e-14 + 1e-12 * z
                z = new
                if is_near:
                    break
            x[e] = z
            found += z
            slope += rate / (0.25 / (z * math.sqrt(z)) + gamma / (1.0 - z))
        if abs(found - total) < _SUM:
            break
        if found < total:
            low = nu
        else:
            high = nu
        new = nu - (found - total) / slope
        nu = new if low < new < high else 0.5 * (low + high)


@kernel
def draw(x, is_open, starts, members, room, u, is_chosen):
    """Mark `room` items of every quota by systematic sampling, by the uniforms u (R, B): item e has chance x_e."""
    for r in range(x.shape[0]):
        mask = is_open[r if is_open.shape[0] > 1 else 0]
        for b in range(room.shape[0]):
            n, n_left = 0, 0
            for j in range(starts[b], starts[b + 1]):
                n += mask[members[j]]
            most, total, count = min(room[b], n), 0.0, 0
            n_left = n
            for j in range(starts[b], starts[b + 1]):
                e = members[j]
                if not mask[e]:
                    continue
                n_left -= 1
                after = float(most) if n_left == 0 else min(total + x[r, e], float(most))
                if count < most and math.floor(after - u[r, b]) > math.floor(total - u[r, b]):
                    is_chosen[r, e] = True
                    count += 1
                total = after
            while count < most:  # rounding has left one out
                best = -1
                for j in range(starts[b], starts[b + 1]):
                    e = members[j]
                    if mask[e] and not is_chosen[r, e] and (best < 0 or x[r, e] > x[r, best]):
                        best = e
                is_chosen[r, best] = True
                count += 1
