"""Student's t distribution, for confidence bands from few runs."""

from __future__ import annotations

import math


def t_quantile(p: float, df: float) -> float:
    """The p-quantile of Student's t distribution with `df` degrees of freedom, for 0.5 <= p < 1."""
    # Newton's method on :math:`P(T \le t) = 1 - I_{df / (df + t^2)}(df / 2, 1 / 2) / 2`, kept between bounds that
    # close in: nine digits up to a hundred thousand degrees of freedom, five beyond.
    if p == 0.5:
        return 0.0
    low, high = 0.0, 1.0
    while t_tail(high, df) > 1.0 - p:
        low, high = high, 2.0 * high
    log_constant = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    t = 0.5 * (low + high)
    for _ in range(200):
        excess = t_tail(t, df) - (1.0 - p)  # positive where t is too small
        low, high = (t, high) if excess > 0.0 else (low, t)
        density = math.exp(log_constant - (df + 1) / 2 * math.log1p(t * t / df))
        step = t + excess / density
        new = step if low < step < high else 0.5 * (low + high)
        if abs(new - t) <= 1e-14 * new:
            return new
        t = new
    return t


def t_tail(t: float, df: float) -> float:
    """The probability of more than t >= 0."""
    return 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction on the side where that is quick."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 10_000):  # Lentz's algorithm, two terms a round
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return math.exp(log_front) * fraction / a
