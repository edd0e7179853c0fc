"""Logs of many learners at once: OMM on a uniform matroid with a hold-out, as a user would write it in NumPy."""

from dataclasses import dataclass
from itertools import permutations

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


@dataclass
class Assignments(Logs):
    """The same of one column for each of n rows: items are n * row + column."""

    means: np.ndarray = None  # (R, L)
    sets: np.ndarray = None  # (n!, n): all allowed sets


def play_assignments(n, T, R, seed, *, low, high, share=0.2, scale=0.3):
    """Logs of OMM on assignments of n rows to n columns, with clicks whose chances are uniform in [low, high]."""
    rng = np.random.default_rng(seed)
    sets = np.array([*permutations(range(n))]) + n * np.arange(n)
    L, rows = n * n, np.arange(R)[:, None]
    means, N, S = rng.uniform(low, high, (R, L)), np.zeros((R, L)), np.zeros((R, L))
    log = Assignments(
        np.empty((T, R, n), np.int64), np.empty((T, R, n)), np.empty((T, R, n)), np.empty((T, R, L)),
        np.empty((T, R), bool), np.empty((T, R)), means, sets,
    )  # fmt: skip
    for t in range(T):
        U = np.where(N > 0, S / np.maximum(N, 1) + scale * np.sqrt(2 * np.log(max(t, 1)) / np.maximum(N, 1)), 1e6)
        learner = sets[U[:, sets].sum(axis=2).argmax(axis=1)]
        is_in = np.zeros((R, L), bool)
        is_in[rows, learner] = True
        held_out = rng.random(R) < share
        played = np.where(held_out[:, None], sets[rng.integers(len(sets), size=R)], learner)
        typical = S.sum(axis=1) / N.sum(axis=1) if t else np.full(R, 0.5)
        log.predictions[t] = np.where(N > 0, S / np.maximum(N, 1), typical[:, None])
        x = (rng.random((R, n)) < means[rows, played]).astype(float)
        log.items[t], log.weights[t], log.is_held_out[t] = played, x, held_out
        log.propensities[t] = share / n + (1 - share) * is_in[rows, played]
        N[rows, played] += 1
        S[rows, played] += x
    return log
