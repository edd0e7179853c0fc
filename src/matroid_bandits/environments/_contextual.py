"""Worlds in which something is known of the items in each episode, and matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import MOST_FEATURE, MOST_WEIGHT, as_number
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment, as_table, as_vector
from matroid_bandits.environments._labels import labelled_rows
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import FEATURES, Stream


class ContextualEnvironment(Environment):
    r"""Weights with means linear in item features that are drawn anew in each episode and run.

    In episode t item e has the features :math:`x = F_e + S_e u`, with independent u that are uniform in [-1, 1], and
    a weight of mean :math:`x^\top \theta`. A simulation shows the features to policies that ask for them; the best
    set is another one in every episode and run, and regret is against that.

    Parameters
    ----------
    features : array_like of float, shape (L, d), or mapping of label to row
        What is usual for each item, :math:`F`; a row per item. No feature may exceed 1e50 in size.
    theta : array_like of float, shape (d,)
        The coefficients a learner does not know.
    spread : float, or array_like of float, shape (d,) or (L, d), default 1.0
        How far a feature goes to either side of the usual, :math:`S`: one for all, one for each feature, or one for
        each feature of each item; 0 or more. With 0 everywhere this is a `LinearEnvironment`.
    noise : float, default 0.1
        The standard deviation of a Gaussian weight around its mean, 0 or more.
    distribution : "gaussian" or "bernoulli", default "gaussian"
        Whether weights are normal around their mean, or 1 with the mean as probability and 0 otherwise; then features
        and theta must be such that no mean leaves [0, 1].

    Attributes
    ----------
    n_features : int
        The number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> world = mb.ContextualEnvironment(np.zeros((3, 2)), theta=[0.5, 2.0])
    >>> stream = mb.Stream(seed=0, runs=range(4), purpose=mb.stream.FEATURES)
    >>> features, means = world.features(stream, t=1), world.means(1, stream)
    >>> features.shape, bool(np.allclose(features @ [0.5, 2.0], means))
    ((4, 3, 2), True)
    """

    n_features: int

    is_independent = True

    def __init__(
        self,
        features: ArrayLike | Mapping[Any, ArrayLike],
        theta: ArrayLike,
        spread: float | ArrayLike = 1.0,
        *,
        noise: float = 0.1,
        distribution: Literal["gaussian", "bernoulli"] = "gaussian",
    ) -> None:
        labels, features = labelled_rows(features)
        self._usual = as_table("features", features)
        n_items, d = self._usual.shape
        if d == 0:
            raise InvalidEnvironmentError("expected a feature of every item or more; got none")
        self._theta = as_vector("theta", theta)
        if self._theta.size != d:
            raise InvalidEnvironmentError(f"expected a theta of {d}, one per feature; got {self._theta.size}")
        if n_items * d >= 2**32 - 1:
            raise InvalidEnvironmentError(f"expected fewer than 2**32 features in all; got {n_items} times {d}")
        self._spread = _as_spread(spread, (n_items, d))
        self._noise = as_number("noise", noise, 0.0, error=InvalidEnvironmentError)
        if not isinstance(distribution, str) or distribution not in ("gaussian", "bernoulli"):
            raise InvalidEnvironmentError(
                f'expected distribution to be "gaussian" or "bernoulli"; got {shown(distribution)}'
            )
        self._is_binary, self.n_features = distribution == "bernoulli", d
        self._check_range()
        super().__init__(None, (0.0, 1.0) if self._is_binary else (-np.inf, np.inf), n_items=n_items, labels=labels)

    def features(self, stream: Stream, t: int) -> FloatArray:
        """Return the features (R, L, d) of every item in episode t of each run."""
        return self._rows(stream, t, np.arange(self.n_items))

    def means(self, t: int, stream: Stream) -> FloatArray:
        """Return the means (R, L) of every item, given its features."""
        return self._means(self.features(stream, t))

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        means = self._means(self._rows(stream, t, items))
        if self._is_binary:
            return (stream.uniform(t, items) < means).astype(np.float64)
        return means + self._noise * stream.normal(t, items)

    def _rows(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        """The features (R, K, d) of some items; each is drawn at an address of its own."""
        d, width = self.n_features, items.shape[-1]
        places = (items[..., None] * d + np.arange(d)).reshape(*items.shape[:-1], width * d)
        u = stream.with_purpose(FEATURES).uniform(t, places).reshape(stream.n_runs, width, d)
        rows: FloatArray = self._usual[items] + self._spread[items] * (2.0 * u - 1.0)
        return rows

    def _means(self, rows: FloatArray) -> FloatArray:
        """Features times theta, added up one by one: the bits must not depend on how many are asked for."""
        means = np.zeros(rows.shape[:-1])
        for j, coefficient in enumerate(self._theta):
            means += rows[..., j] * coefficient
        return np.clip(means, 0.0, 1.0) if self._is_binary else means  # where rounding leads out

    def _check_range(self) -> None:
        """Raise where an item's features or its mean may leave the range that they must stay in."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.abs(self._usual) + self._spread
            middle, reach = self._usual @ self._theta, self._spread @ np.abs(self._theta)
        is_far = ~(far <= MOST_FEATURE)
        if is_far.any():
            e, j = np.argwhere(is_far)[0].tolist()
            raise InvalidEnvironmentError(
                f"expected features of at most {MOST_FEATURE:g} in size, with their spread; got {far[e, j]:g} for "
                f"item {e}"
            )
        low, high = (0.0, 1.0) if self._is_binary else (-MOST_WEIGHT, MOST_WEIGHT)
        is_out = ~((middle - reach >= low - 1e-12) & (middle + reach <= high + 1e-12))
        if is_out.any():
            e = int(is_out.argmax())
            raise InvalidEnvironmentError(
                f"expected means in [{low:g}, {high:g}], whatever the features; got item {e}, whose mean lies "
                f"between {middle[e] - reach[e]:g} and {middle[e] + reach[e]:g}"
            )


def _as_spread(spread: float | ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """How far each feature of each item goes, of one number for all, one for each feature, or all of them."""
    try:
        n_axes = np.ndim(spread)
    except ValueError:  # ragged
        n_axes = 2
    if isinstance(spread, (int, float, np.generic)):
        table = np.full(shape, as_number("spread", spread, 0.0, error=InvalidEnvironmentError))
    elif n_axes == 1:
        row = as_vector("spread", spread, 0.0)
        if row.size != shape[1]:
            raise InvalidEnvironmentError(f"expected a spread of {shape[1]}, one per feature; got {row.size}")
        table = np.tile(row, (shape[0], 1))
    else:
        table = as_table("spread", spread)
        if table.shape != shape:
            raise InvalidEnvironmentError(f"expected a spread of shape {shape}; got {table.shape}")
        if (table < 0.0).any():
            raise InvalidEnvironmentError(f"expected a spread of 0 or more; got {table.min():g}")
    return frozen(table)
