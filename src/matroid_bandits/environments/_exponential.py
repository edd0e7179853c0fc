"""Latencies with an exponential tail."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits._util.arrays import frozen
from matroid_bandits.environments._base import Family, as_vector
from matroid_bandits.environments._labels import labelled
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class ExponentialEnvironment(Family):
    """Independent latencies ``means[e] - 1 + Exp(1)``, as in the paper's minimum-cost-routing experiment.

    Parameters
    ----------
    means : array_like of float, shape (L,), or mapping of label to float
        At most 1e100 in size; in the paper's unit, milliseconds, the noise has mean and standard deviation 1.
        By label, `Problem` puts them into the order of its constraint's labels.

    Examples
    --------
    >>> import numpy as np
    >>> world = ExponentialEnvironment([5.0, 2.0])
    >>> latencies = world.draw(Stream(seed=0, runs=range(1000)), t=1, items=np.array([0, 1]))
    >>> bool((latencies >= [4.0, 1.0]).all())
    True
    """

    def __init__(self, means: ItemValues) -> None:
        labels, means = labelled(means)
        floor = as_vector("means", means) - 1.0
        super().__init__(means, support=(min(floor, default=0.0), np.inf), labels=labels)
        self._floor = frozen(floor)

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        latencies = stream.exponential(t, items)
        latencies += self._floor[items]
        return latencies

    def draw_around(self, stream: Stream, t: int, items: IntArray, means: FloatArray) -> FloatArray:
        return stream.exponential(t, items) + (means - 1.0)

    def support_of(self, low: float, high: float) -> tuple[float, float]:
        return low - 1.0, np.inf

    def parameters(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        return means - 1.0, means

    def compiled(self) -> forms.WorldForm:
        return forms.WorldForm(forms.EXPONENTIAL, *self.parameters(self.mean_weights))
