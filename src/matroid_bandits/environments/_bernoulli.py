"""Weights 0 or 1."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits.environments._base import Family, as_vector
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class BernoulliEnvironment(Family):
    """Independent Bernoulli weights: item e has weight 1 with probability ``means[e]``, otherwise 0.

    Parameters
    ----------
    means : array_like of float, shape (L,)
        In [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> world = BernoulliEnvironment([0.0, 0.5, 1.0])
    >>> world.draw(Stream(seed=0, runs=[0]), t=1, items=np.array([0, 2]))
    array([[0., 1.]])
    """

    mean_range = (0.0, 1.0)

    def __init__(self, means: ArrayLike) -> None:
        super().__init__(as_vector("means", means, 0.0, 1.0), support=(0.0, 1.0))

    def draw_around(self, stream: Stream, t: int, items: IntArray, means: FloatArray) -> FloatArray:
        return (stream.uniform(t, items) < means).astype(np.float64)

    def compiled(self) -> forms.WorldForm:
        return forms.WorldForm(forms.BERNOULLI, *self.parameters(self.mean_weights))
