"""The race of the chapter beyond the paper, shortened: who forgets has less dynamic regret, beyond chance."""

import pytest

import matroid_bandits as mb
from matroid_bandits.paper._race import SCALES, race_problems

N_EPISODES = 3_000  # five changes, 500 episodes apart


@pytest.mark.compiled
@pytest.mark.long
def test_who_forgets_has_less_dynamic_regret():
    """Paired differences over 8 runs of a fixed seed; every interval of 95% (Student's t) must lie below 0.

    Pieces are too short here for a detector to be the best of all, as it is in the whole race: it is compared with
    OMM of the same scale, and discounted Thompson sampling with Thompson sampling.
    """
    policies = {
        "OMM": [mb.OMM(scale) for scale in SCALES],
        "Thompson": mb.ThompsonSampling(),
        "discounted": mb.DiscountedOMM(1.0 - 1.0 / 60.0, 0.1),
        "windowed": mb.SlidingWindowOMM(150, 0.25),
        "discounted Thompson": mb.DiscountedThompson(1.0 - 1.0 / 60.0),
        "restarting": mb.Restarting(mb.OMM(0.5), mb.CUSUM(n_first=50, threshold=10.0)),
    }
    moving = {
        name: each for name, each in race_problems((), N_EPISODES).items() if not each.environment.is_stationary
    }
    assert list(moving) == ["partition", "uniform", "graphic"]
    race = mb.sweep(moving, policies, n_episodes=N_EPISODES, n_runs=8, seed=12, checkpoints=[N_EPISODES])
    for best in race.best("OMM"):
        pairs = [(policy, steady) for policy in ("discounted", "windowed") for steady in (best.policy, "Thompson")]
        pairs += [("restarting", "OMM, scale=0.5"), ("restarting", "Thompson"), ("discounted Thompson", "Thompson")]
        for policy, steady in pairs:
            (margin,) = (
                each for each in race.differences(steady) if (each.problem, each.policy) == (best.problem, policy)
            )
            assert margin.high < 0.0, margin
