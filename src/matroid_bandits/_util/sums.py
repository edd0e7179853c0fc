"""Sums of floats that have the same bits with every Python."""

from collections.abc import Iterable


def added(values: Iterable[float]) -> float:
    """The sum of floats, added from left to right and rounded after each."""
    # From Python 3.12 on, the builtin `sum` compensates rounding errors of floats, so that its last digits depend on
    # the version of Python. `make lint` refuses it for floats.
    total = 0.0
    for value in values:
        total += value
    return total
