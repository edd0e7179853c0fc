"""Compile, or find compiled on disk, what a campaign's requests will need, before anybody waits for it."""

from __future__ import annotations

import copy
import logging

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.learner import Learner

log = logging.getLogger("matroid_bandits.service")


def warm_up(learner: Learner) -> None:
    """Play a little with a copy of a learner; the learner itself stays as it is."""
    trial = copy.deepcopy(learner)
    labels = trial.constraint.labels
    low, high = trial.policy.support
    weight = min(max(0.0, low), high)
    try:
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
    except MatroidBanditsError:  # a policy that needs features, say: its first request compiles
        log.debug("a learner could not be warmed up")
