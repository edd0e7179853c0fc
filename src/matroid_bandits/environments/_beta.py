"""Weights between 0 and 1."""

from __future__ import annotations

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits.environments._base import Family, as_vector
from matroid_bandits.environments._labels import in_order, labelled
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class BetaEnvironment(Family):
    """Independent beta weights: item e's weight has distribution Beta(``alpha[e]``, ``beta[e]``).

    Parameters
    ----------
    alpha, beta : array_like of float, shape (L,), or mapping of label to float
        In [1e-300, 1e300]; the mean is ``alpha / (alpha + beta)``. By label, `Problem` puts them into the order of
        its constraint's labels.

    Examples
    --------
    >>> BetaEnvironment(alpha=[1, 3], beta=[1, 1]).mean_weights
    array([0.5 , 0.75])
    """

    mean_range = (1e-15, 1.0 - 1e-15)

    def __init__(self, alpha: ItemValues, beta: ItemValues) -> None:
        labels, alpha = labelled(alpha)
        beta = in_order("beta", beta, labels)
        self._alpha = as_vector("alpha", alpha, 1e-300, 1e300)
        self._beta = as_vector("beta", beta, 1e-300, 1e300)
        if self._alpha.size != self._beta.size:
            raise InvalidEnvironmentError(
                f"expected alpha and beta of one size; got {self._alpha.size} and {self._beta.size}"
            )
        super().__init__(self._alpha / (self._alpha + self._beta), support=(0.0, 1.0), labels=labels)

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return stream.beta(t, items, self._alpha[items], self._beta[items])

    def draw_around(self, stream: Stream, t: int, items: IntArray, means: FloatArray) -> FloatArray:
        """Draw beta weights around the given means, with each item's own alpha + beta."""
        size = self._alpha[items] + self._beta[items]
        return stream.beta(t, items, means * size, (1.0 - means) * size)

    def parameters(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        size = self._alpha + self._beta
        return means * size, (1.0 - means) * size

    def compiled(self) -> forms.WorldForm:
        return forms.WorldForm(forms.BETA_WEIGHTS, self._alpha, self._beta)
