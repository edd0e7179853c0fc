"""Weights 0 or 1."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits.environments._base import Family, as_vector
from matroid_bandits.environments._labels import labelled
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class BernoulliEnvironment(Family):
    """Independent Bernoulli weights: item e has weight 1 with probability ``means[e]``, otherwise 0.

    Parameters
    ----------
    means : array_like of float, shape (L,), or mapping of label to float
        In [0, 1]. By label, `Problem` puts them into the order of its constraint's labels.

    Examples
    --------
    >>> import numpy as np
    >>> world = BernoulliEnvironment([0.0, 0.5, 1.0])
    >>> world.draw(Stream(seed=0, runs=[0]), t=1, items=np.array([0, 2]))
    array([[0., 1.]])

    Means by label are in any order:

    >>> import matroid_bandits as mb
    >>> matroid = mb.UniformMatroid(3, 1, labels=["hat", "scarf", "gloves"])
    >>> problem = mb.Problem(matroid, BernoulliEnvironment({"gloves": 0.9, "hat": 0.5, "scarf": 0.1}))
    >>> problem.environment.mean_weights
    array([0.5, 0.1, 0.9])
    """

    mean_range = (0.0, 1.0)

    def __init__(self, means: ItemValues) -> None:
        labels, means = labelled(means)
        super().__init__(as_vector("means", means, 0.0, 1.0), support=(0.0, 1.0), labels=labels)

    def draw_around(self, stream: Stream, t: int, items: IntArray, means: FloatArray) -> FloatArray:
        return (stream.uniform(t, items) < means).astype(np.float64)

    def compiled(self) -> forms.WorldForm:
        return forms.WorldForm(forms.BERNOULLI, *self.parameters(self.mean_weights))
