"""Weights with normal noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits._util.checks import as_number
from matroid_bandits.environments._base import Family, as_vector
from matroid_bandits.environments._labels import in_order
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class GaussianEnvironment(Family):
    """Independent normal weights: item e's weight has mean ``means[e]``.

    Parameters
    ----------
    means : array_like of float, shape (L,), or mapping of label to float
        At most 1e100 in size. By label, `Problem` puts them into the order of its constraint's labels.
    noise : float, array_like of float, shape (L,), or mapping of label to float, default 1.0
        The standard deviation of every weight, or of each item's, 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> world = GaussianEnvironment([0.0, 10.0], noise=0.1)
    >>> np.rint(world.draw(Stream(seed=0, runs=range(2)), t=1, items=np.array([1])))
    array([[10.],
           [10.]])
    """

    def __init__(self, means: ItemValues, noise: ItemValues = 1.0) -> None:
        super().__init__(means)
        given: Any = in_order("noise", noise, self.labels)
        self._noise: float | FloatArray
        if np.ndim(given) == 0:
            self._noise = as_number("noise", given, 0.0, error=InvalidEnvironmentError)
        else:
            self._noise = as_vector("noise", given, 0.0)
            if self._noise.size != self.n_items:
                raise InvalidEnvironmentError(
                    f"expected one noise, or one for each of {self.n_items} items; got {self._noise.size}"
                )

    def draw_around(self, stream: Stream, t: int, items: IntArray, means: FloatArray) -> FloatArray:
        noise = self._noise if isinstance(self._noise, float) else self._noise[items]
        return means + noise * stream.normal(t, items)

    def parameters(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        return means, np.full(self.n_items, self._noise)

    def compiled(self) -> forms.WorldForm:
        return forms.WorldForm(forms.GAUSSIAN, *self.parameters(self.mean_weights))
