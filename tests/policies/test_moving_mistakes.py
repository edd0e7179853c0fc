"""Every parameter of what is for worlds that move, given what it cannot be: one clear error, whatever it is."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import MatroidBanditsError

COINS = mb.BernoulliEnvironment([0.5, 0.5])
TABLE = [[1.0, 2.0], [3.0, 4.0]]

#: Wrong for every parameter below: other types, nothing, NaN, infinities, what is huge, and shapes that nothing has.
NEVER = [
    "x", "", b"x", 1j, object(), int, {}, {1: 2}, set(), lambda: 0, mb.BernoulliEnvironment, mb.KLOSM,
    math.nan, math.inf, -math.inf, np.float64("nan"), 1e308, -1e308, 10**400, -(10**400), -3,
    [], (), [[]], np.array([]), [1.0], [1.0, 2.0, 3.0], [[1.0], [2.0, 3.0]], [[[1.0]]], ["a", "b"], [None, None],
    [math.nan, 0.5], [math.inf, 0.5], [1e308, 1e308], [10**400, 1.0], np.array(["2020-01-01"] * 2, "M8[D]"),
]  # fmt: skip

#: How a parameter is given, and what is wrong for it beside all of these.
PARAMETERS = {
    "pieces": (lambda value: mb.PiecewiseEnvironment(value, [5]), [None, COINS, [COINS, None]]),
    "piece": (lambda value: mb.PiecewiseEnvironment([COINS, value], [5]), [None, mb.OMM(), 0]),
    "changes": (lambda value: mb.PiecewiseEnvironment([COINS, COINS], value), [None, 5, 0, [1], [2.5], [True]]),
    "change": (lambda value: mb.PiecewiseEnvironment([COINS, COINS], [value]), [None, 0, 1, 2.5, True, 2**48]),
    "environment": (mb.DriftingEnvironment, [None, 0, mb.RowEnvironment(TABLE)]),
    "amplitude": (lambda value: mb.DriftingEnvironment(COINS, amplitude=value), [None, True, 0.6, [-0.1, 0.1]]),
    "period": (lambda value: mb.DriftingEnvironment(COINS, period=value), [None, True, 0, 0.5, [0.5, 2.0]]),
    "phase": (lambda value: mb.DriftingEnvironment(COINS, phase=value), [None, True]),
    "to": (lambda value: mb.DriftingEnvironment(COINS, to=value), [0, 0.5, True, [0.5, 1.5], [-0.5, 0.5]]),
    "over": (lambda value: mb.DriftingEnvironment(COINS, over=value), [None, True, 0, 0.5, [0.5, 2.0]]),
    "usual": (lambda value: mb.ContextualEnvironment(value, [1.0, 2.0]), [None, 0, [1.0, 2.0], [[1e51, 0.0]]]),
    "theta": (lambda value: mb.ContextualEnvironment(TABLE, value), [None, 0, True, TABLE, [1e100, 1e100]]),
    "spread": (lambda value: mb.ContextualEnvironment(TABLE, [1.0, 2.0], value), [None, True, [-1.0, 1.0], 1e51]),
    "noise": (lambda value: mb.ContextualEnvironment(TABLE, [1.0, 2.0], noise=value), [None, True, [1.0, 2.0]]),
    "distribution": (lambda value: mb.ContextualEnvironment(TABLE, [0.1, 0.1], distribution=value), [None, "beta"]),
    "gamma": (mb.DiscountedOMM, [None, True, 0, 0.0009, 1.0001, [0.9, 0.9]]),
    "scale": (lambda value: mb.DiscountedOMM(0.9, value), [None, True, -0.1, 1e101, [1.0, 2.0]]),
    "window": (mb.SlidingWindowOMM, [None, True, 0, 5.0, 2**48, [5, 5]]),
    "width of the radius": (lambda value: mb.SlidingWindowOMM(9, value), [None, True, -0.1, 1e101, [1.0, 2.0]]),
    "fading": (mb.DiscountedThompson, [None, True, 0, 0.0, 1.0001, [0.9, 0.9]]),
    "base": (mb.Restarting, [None, 0, mb.CUSUM(), mb.Restarting(mb.OMM())]),
    "detector": (lambda value: mb.Restarting(mb.OMM(), value), [0, mb.OMM(), mb.CUSUM]),
    "n_first": (lambda value: mb.CUSUM(n_first=value), [None, True, 0, 2.5, 2**48, [1, 2]]),
    "tolerance": (lambda value: mb.CUSUM(tolerance=value), [None, True, -0.1, 1e101, [1.0, 2.0]]),
    "threshold": (lambda value: mb.CUSUM(threshold=value), [None, True, -0.1, 1e101, [1.0, 2.0]]),
    "width": (lambda value: mb.CUSUM(width=value), [None, True, 0, 1e-101, 1e101, [1.0, 2.0]]),
    "n_features": (lambda value: mb.CombLinUCB(n_features=value), [None, True, 0, 2.0, 2**16, [1, 2]]),
    "n_features of CombLinTS": (lambda value: mb.CombLinTS(n_features=value), [None, True, 0, 2.0, 2**16, [1, 2]]),
}

#: What is right for a parameter although it is wrong for the others.
FINE = {"phase": [-3], "noise": [1e308]}


def is_among(value: object, values: list[object]) -> bool:
    return any(type(value) is type(each) and isinstance(value, (int, float)) and value == each for each in values)


@pytest.mark.parametrize("name", PARAMETERS)
def test_what_was_expected_and_what_was_given(name):
    make, more = PARAMETERS[name]
    for value in [*NEVER, *more]:
        if is_among(value, FINE.get(name, [])):
            continue
        with pytest.raises(MatroidBanditsError) as caught:
            make(value)
        assert isinstance(caught.value, ValueError)
        text = str(caught.value)
        assert text.startswith("expected "), value
        assert "got " in text, value
        assert len(text) < 400, value


@pytest.mark.parametrize("kind", [mb.CombLinUCB, mb.CombLinTS])
def test_features_that_items_keep(kind):
    for value in NEVER:
        with pytest.raises(ValueError, match=r"^expected .*got "):
            kind(value)
