"""Compile, or find compiled on disk, what a campaign's requests will need, before anybody waits for it."""

from __future__ import annotations

import logging

import numpy as np

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.learner import Learner

log = logging.getLogger("matroid_bandits.service")


def warm_up(learner: Learner) -> None:
    """Play a little with a fresh learner of the same kind, then preview a decision; the learner stays as it is."""
    constraint, policy = learner.constraint, learner.policy
    n_features, labels = policy.n_features, constraint.labels
    features = None if n_features is None else np.zeros((constraint.n_items, n_features))
    low, high = policy.support
    weight = min(max(0.0, low), high)
    try:
        trial = Learner(constraint, policy, minimize=learner.minimize, seed=learner.seed, features=features)
        for exclude in ([], [], labels[:1]):
            decision = trial.ask(exclude=list(exclude))
            for part in (decision.labels[:1], decision.labels[1:]):
                if part:
                    trial.tell(decision, dict.fromkeys(part, weight))
        trial.ask()
        trial.close_before(trial.n_decisions + 1)
        trial.estimates()
        trial.best_basis()
        if len(labels):
            trial.explain(labels[0])
        learner.preview(features=features)
    except MatroidBanditsError:  # of a policy or a constraint of a user's own
        log.debug("a learner could not be warmed up")
