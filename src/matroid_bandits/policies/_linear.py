"""Policies that generalise across items through features."""

from __future__ import annotations

from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import statistics
from matroid_bandits.policies._base import Policy, as_number
from matroid_bandits.policies._state import State
from matroid_bandits.stream import Stream


class _LinearPolicy(Policy):
    """A Gaussian belief over theta, where an item's mean weight is its features times theta."""

    tries_unseen = False

    def __init__(self, features: ArrayLike, prior_scale: float = 1.0, noise: float = 0.1) -> None:
        try:
            F = np.array(features, np.float64)
        except (ValueError, TypeError):
            raise PolicyError("expected features as a 2-d array of numbers, one row per item") from None
        if F.ndim != 2 or F.shape[1] == 0 or not np.isfinite(F).all():
            raise PolicyError(f"expected finite features of shape (n_items, n_features), got shape {F.shape}")
        F.flags.writeable = False
        self._features = F
        self._prior_scale = as_number("prior_scale", prior_scale, 1e-150, 1e150)
        self._noise = as_number("noise", noise, 1e-150, 1e150)

    def check(self, n_items: int) -> None:
        if self._features.shape[0] != n_items:
            raise PolicyError(f"expected features for {n_items} items, got {self._features.shape[0]} rows")

    def prepare(self, state: State) -> None:
        d = self._features.shape[1]
        state.extra["theta"] = np.zeros((state.n_runs, d))
        state.extra["covariance"] = np.tile(self._prior_scale**2 * np.eye(d), (state.n_runs, 1, 1))

    def observe(self, state: State, t: int, items: IntArray, weights: FloatArray, stream: Stream) -> None:
        gains = -weights if state.minimize else weights
        theta, covariance = state.extra["theta"], state.extra["covariance"]
        statistics.kalman(items, gains, self._features, self._noise**2, theta, covariance)

    def _params(self) -> dict[str, Any]:
        return {"features": self._features, "prior_scale": self._prior_scale, "noise": self._noise}


class CombLinUCB(_LinearPolicy):
    r"""Combinatorial linear UCB (Wen, Kveton and Ashkan, ICML 2015), the generalisation the paper's end asks for.

    With belief :math:`N(\theta, \Sigma)`, kept by Kalman updates, the index of an item with features x is
    :math:`x^\top \theta + c \sqrt{x^\top \Sigma x}`.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features)
        What is known of each item.
    c : float, default 1.0
        How optimistic to be.
    prior_scale : float, default 1.0
        Standard deviation of each coefficient before anything is seen.
    noise : float, default 0.1
        Standard deviation of a weight around its mean.
    """

    def __init__(self, features: ArrayLike, c: float = 1.0, prior_scale: float = 1.0, noise: float = 0.1) -> None:
        super().__init__(features, prior_scale, noise)
        self._c = as_number("c", c, 0.0)

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        F = self._features
        root = _square_root(state.extra["covariance"])
        widths = np.sqrt(np.square(F @ root).sum(axis=2))  # |x^T root| for every item
        U: FloatArray = _values(F, state.extra["theta"]) + self._c * widths
        return U

    def _params(self) -> dict[str, Any]:
        return {"c": self._c, **super()._params()}


class CombLinTS(_LinearPolicy):
    r"""Combinatorial linear Thompson sampling (Wen, Kveton and Ashkan, ICML 2015).

    Each episode :math:`\theta` is sampled from the belief :math:`N(\theta, \Sigma)`, kept by Kalman updates, and the
    basis that is best for it is played.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features)
        What is known of each item.
    prior_scale : float, default 1.0
        Standard deviation of each coefficient before anything is seen.
    noise : float, default 0.1
        Standard deviation of a weight around its mean.
    """

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        z = stream.normal(t, np.arange(self._features.shape[1]))
        root = _square_root(state.extra["covariance"])
        theta = state.extra["theta"] + (root @ z[:, :, None])[:, :, 0]
        return _values(self._features, theta)


def _values(features: FloatArray, theta: FloatArray) -> FloatArray:
    """x^T theta of every item, one product per run: its bits must not depend on how many runs there are."""
    values: FloatArray = (features @ theta[:, :, None])[:, :, 0]
    return values


def _square_root(covariance: FloatArray) -> FloatArray:
    """A matrix whose square is the covariance, for each run; a little is added where rounding made it singular."""
    jitter = 1e-12 * np.trace(covariance, axis1=1, axis2=2)[:, None, None] * np.eye(covariance.shape[1])
    try:
        return np.linalg.cholesky(covariance + jitter)
    except np.linalg.LinAlgError:
        if covariance.shape[0] > 1:  # a run's numbers must not depend on the others': each finds its own way
            return np.concatenate([_square_root(one[None]) for one in covariance])
        values, vectors = np.linalg.eigh(covariance)
        root: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return root
