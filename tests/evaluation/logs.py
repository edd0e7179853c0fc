"""Logs of many learners at once: OMM on a uniform matroid with a hold-out, as a user would write it in NumPy."""

from dataclasses import dataclass

import numpy as np

from matroid_bandits.evaluation import Decisions, Target


@dataclass
class Logs:
    """T decisions of R learners: what was played and held out, what was expected and what was seen."""

    items: np.ndarray  # (T, R, K)
    weights: np.ndarray  # (T, R, K)
    propensities: np.ndarray  # (T, R, K)
    predictions: np.ndarray  # (T, R, L)
    is_held_out: np.ndarray  # (T, R)
    uplift: np.ndarray  # (T, R): expected value of the learner's set beyond a random one's

    def decisions(self, r, units=None):
        T, _, K = self.items.shape
        rows = np.arange(T)[:, None]
        return Decisions(
            np.repeat(np.arange(T), K),
            self.weights[:, r].ravel(),
            self.propensities[:, r].ravel(),
            self.predictions[rows, r, self.items[:, r]].ravel(),
            self.is_held_out[:, r],
            units,
        )

    def target(self, r, inclusions):
        T = self.items.shape[0]
        return Target(
            inclusions[self.items[:, r]].ravel(),
            np.full(T, inclusions.sum()),
            self.predictions[:, r] @ inclusions,
        )


def play(means, K, share, T, R, seed, scale=0.3):
    """Logs of OMM with this scale on a uniform matroid with 0/1 weights."""
    L = means.size
    rng = np.random.default_rng(seed)
    rows, q = np.arange(R)[:, None], K / L
    N, S = np.zeros((R, L)), np.zeros((R, L))
    log = Logs(
        np.empty((T, R, K), np.int64), np.empty((T, R, K)), np.empty((T, R, K)), np.empty((T, R, L)),
        np.empty((T, R), bool), np.empty((T, R)),
    )  # fmt: skip
    for t in range(T):
        with np.errstate(divide="ignore", invalid="ignore"):
            U = np.where(N > 0, S / N + scale * np.sqrt(2 * np.log(max(t, 1)) / N), np.inf)
        learner = np.argsort(-U, axis=1, kind="stable")[:, :K]
        is_in = np.zeros((R, L), bool)
        is_in[rows, learner] = True
        held_out = rng.random(R) < share
        played = np.where(held_out[:, None], rng.random((R, L)).argpartition(K, axis=1)[:, :K], learner)
        log.predictions[t] = np.where(N > 0, S / np.maximum(N, 1), 0.5)
        x = (rng.random((R, K)) < means[played]).astype(float)
        log.items[t], log.weights[t], log.is_held_out[t] = played, x, held_out
        log.propensities[t] = share * q + (1 - share) * is_in[rows, played]
        log.uplift[t] = means[learner].sum(axis=1) - q * means.sum()
        N[rows, played] += 1
        S[rows, played] += x
    return log
