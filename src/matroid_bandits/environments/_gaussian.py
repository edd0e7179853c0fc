"""Weights with normal noise."""

from __future__ import annotations

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.environments._base import Environment
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream


class GaussianEnvironment(Environment):
    """Independent weights, item e's normal around ``means[e]``.

    Parameters
    ----------
    means : array_like of float, shape (L,)
        At most 1e100 in size.
    noise : float, default 1.0
        The standard deviation of every weight, 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> world = GaussianEnvironment([0.0, 10.0], noise=0.1)
    >>> np.rint(world.draw(Stream(seed=0, runs=range(2)), t=1, items=np.array([1])))
    array([[10.],
           [10.]])
    """

    def __init__(self, means: ArrayLike, noise: float = 1.0) -> None:
        super().__init__(means)
        self._noise = as_number("noise", noise, 0.0, error=InvalidEnvironmentError)

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self._mean_weights[items] + self._noise * stream.normal(t, items)
