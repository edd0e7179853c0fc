"""`Learner.preview`: what `ask` would choose, without an episode passing."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ItemError, PolicyError
from matroid_bandits.policies import counted

POLICIES = [
    mb.OMM(),
    mb.KLOSM(),
    mb.MOSS(),
    mb.CLSG(),
    mb.SingleSeedThompson(),
    mb.ThompsonSampling(),
    mb.DiscountedOMM(0.9),
    mb.SlidingWindowOMM(5),
    mb.DiscountedThompson(0.9),
    mb.Restarting(mb.OMM(), mb.CUSUM(n_first=2, threshold=0.5)),
    mb.EpsilonGreedy(0.3),
    mb.CombLinUCB(np.eye(8)),
    mb.CombLinTS(np.eye(8)),
]


@pytest.mark.parametrize("engine", ["greedy", "warm", "kinetic", "classes"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_preview_is_the_next_decision_and_changes_none(policy, engine, tmp_path):
    matroid = mb.PartitionMatroid(dict(zip("abcdefgh", "uuuvvvww", strict=True)))
    if (engine == "kinetic" and policy.affine is None) or (engine == "classes" and counted(policy, False) is None):
        engine = "auto"
    looked, plain = (mb.Learner(matroid, policy, seed=3, id="x", holdout=0.2, engine=engine) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(60):
        request = {"exclude": [str(rng.choice(list("abcdefgh")))]} if rng.random() < 0.3 else {}
        if rng.random() < 0.3:
            request["pinned"] = [str(rng.choice([x for x in "abcdefgh" if x not in request.get("exclude", "")]))]
        for _ in range(rng.integers(3)):
            seen = looked.preview(**request)
        seen = looked.preview(**request)
        before = looked.n_outstanding, looked.n_decisions
        one, other = looked.ask(**request), plain.ask(**request)
        assert before == (looked.n_outstanding - 1, looked.n_decisions - 1)
        assert seen.labels == one.labels == other.labels
        assert seen.id == 0
        assert one == other
        assert (seen.is_held_out, seen.pinned.tolist()) == (one.is_held_out, one.pinned.tolist())
        if rng.random() < 0.7:
            weights = rng.random(one.items.size).round(2)
            looked.preview()
            looked.tell(one, weights)
            plain.tell(other, weights)
    assert np.array_equal(looked.estimates().indices, plain.estimates().indices)


def test_a_preview_raises_what_asking_would():
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
    with pytest.raises(ItemError, match="exclude"):
        learner.preview(exclude=["z"])
    with pytest.raises(PolicyError, match="features"):
        learner.preview(features=[[1.0]] * 3)
    shown = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.CombLinUCB(n_features=1))
    assert shown.preview(features={"a": [0.0], "b": [1.0]}).labels == ("b",)
