"""Weights that features explain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike
from matroid_bandits.environments._base import as_table, as_vector
from matroid_bandits.environments._gaussian import GaussianEnvironment
from matroid_bandits.environments._labels import labelled_rows
from matroid_bandits.exceptions import InvalidEnvironmentError


class LinearEnvironment(GaussianEnvironment):
    """Normal weights whose means are linear in the items' features, ``features @ theta``.

    Parameters
    ----------
    features : array_like of float, shape (L, d), or mapping of label to row
        A row per item; a pandas DataFrame has labels in its index. By label, `Problem` puts them into the order of
        its constraint's labels.
    theta : array_like of float, shape (d,)
        The coefficients a learner does not know.
    noise : float, default 0.1
        The standard deviation of every weight, 0 or more.

    Examples
    --------
    >>> LinearEnvironment([[1, 0], [0, 1], [1, 1]], theta=[0.5, 2.0]).mean_weights
    array([0.5, 2. , 2.5])
    """

    def __init__(self, features: ArrayLike | Mapping[Any, ArrayLike], theta: ArrayLike, noise: float = 0.1) -> None:
        labels, features = labelled_rows(features)
        rows = as_table("features", features)
        coefficients = as_vector("theta", theta)
        if rows.shape[1] != coefficients.size:
            raise InvalidEnvironmentError(
                f"expected a theta of {rows.shape[1]}, one per feature; got {coefficients.size}"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a mean is refused as one
            means = rows @ coefficients
        super().__init__(means if labels is None else dict(zip(labels, means, strict=True)), noise)
