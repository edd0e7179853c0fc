"""Compile, or load from disk, what the requests to a learner will need, before the first of them waits for it."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits.kernels.compiling import at_once

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


def warm_up(learner: Learner) -> float:
    """Play a little with a fresh learner of the same kind, then preview a decision; the learner stays as it is."""
    began = time.perf_counter()
    with at_once():
        _play(learner)
    return time.perf_counter() - began


def _play(learner: Learner) -> None:
    constraint, policy = learner.constraint, learner.policy
    n_features, labels = policy.n_features, constraint.labels
    features = None if n_features is None else np.zeros((constraint.n_items, n_features))
    low, high = policy.support
    weight = min(max(0.0, low), high)
    trial = type(learner)(constraint, policy, minimize=learner.minimize, seed=learner.seed, features=features)
    for exclude in ([], [], labels[:1]):
        decision = trial.ask(exclude=list(exclude))
        for part in (decision.labels[:1], decision.labels[1:]):
            if part:
                trial.tell(decision, dict.fromkeys(part, weight))
    decision = trial.ask()
    trial.tell(decision, [weight] * len(decision.items))
    trial.ask()
    trial.close_before(trial.n_decisions + 1)
    trial.estimates()
    best = trial.best_basis().labels
    inside = frozenset(best)
    others = (label for label in labels if label not in inside)
    for label in (*best[:1], *itertools.islice(others, 1)):  # explained by different kernels
        trial.explain(label)
    learner.preview(features=features)
