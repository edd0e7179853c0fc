"""The log-gamma function of the package beside Python's."""

import math

import numpy as np
import pytest

from matroid_bandits.kernels.statistics import log_gamma

ULP = 2.0**-52


def test_it_is_the_logarithm_of_the_gamma_function():
    rng = np.random.default_rng(0)
    xs = [
        *rng.uniform(0.5, 9.0, 2_000),
        *np.exp(rng.uniform(math.log(0.5), 35.0, 2_000)),
        0.5,
        0.9,
        1.23163,
        1.7316322,
    ]
    for x in map(float, xs):
        # units of what is added up on the way: of x log x, of numbers near 1 around the zeros at 1 and 2
        assert abs(log_gamma(x) - math.lgamma(x)) <= 8 * ULP * max(1.0, x * abs(math.log(x)))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 20, 21])
def test_it_is_the_logarithm_of_factorials(n):
    assert log_gamma(float(n)) == pytest.approx(math.log(math.factorial(n - 1)), rel=4 * ULP, abs=0.0)


def test_zeros_are_exact_and_halves_are_those_of_pi():
    assert log_gamma(1.0) == log_gamma(2.0) == 0.0
    assert log_gamma(0.5) == pytest.approx(math.log(math.pi) / 2, rel=4 * ULP)
