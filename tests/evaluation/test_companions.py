"""Whether items are worth less beside good ones."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.evaluation import companion_effect
from matroid_bandits.exceptions import EvaluationError


def play(competition, n, holdout=0.5, seed=0):
    events, rng = [], np.random.default_rng(seed)
    learner = mb.Learner(mb.UniformMatroid(8, 3), mb.OMM(), seed=seed, holdout=holdout, record=events.append)
    chances = np.linspace(0.1, 0.6, 8)
    for _ in range(n):
        decision = learner.ask()
        own = chances[decision.items]
        told = own - competition * (own.sum() - own - 2 * chances.mean())
        learner.tell(decision, (rng.random(3) < told).astype(float))
    return events


def test_slopes_are_found_where_there_are_any():
    """Without an effect 20 values of z have a variance of 1; with one, the slope is that of the world."""
    z = [found.slope / found.error for found in (companion_effect(play(0.0, 250, seed=seed)) for seed in range(20))]
    assert 0.4 < np.std(z) < 1.7  # chances of 10^-3 on either side
    assert abs(np.mean(z)) < 0.9
    found = companion_effect(play(0.15, 2500))
    assert abs(found.slope + 0.15) < 4 * found.error
    assert found.p_value < 0.01


def test_too_few_random_sets():
    with pytest.raises(EvaluationError, match="expected at least 100 answered items of random sets"):
        companion_effect(play(0.0, 30))
    with pytest.raises(EvaluationError, match="got 0; a larger hold-out"):
        companion_effect(play(0.0, 200, holdout=0.0))
