"""Every policy takes lists that are seen in part, and clicks by place, or says which policy does."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies import POLICIES

N_ITEMS = 6
FEATURES = np.column_stack([np.ones(N_ITEMS), np.linspace(0, 1, N_ITEMS)])
MEANS = np.array([0.6, 0.2, 0.5, 0.1, 0.3, 0.4])
WORLDS = {
    "cascade": mb.CascadeEnvironment(mb.BernoulliEnvironment(MEANS)),
    "positions": mb.PositionEnvironment(mb.BernoulliEnvironment(MEANS), [1.0, 0.5, 0.25]),
}
EVERY = [
    mb.OMM(), mb.KLOSM(), mb.KLUCBPlusPlus(), mb.EpsilonGreedy(), mb.UniformRandom(), mb.FixedSet([0, 1, 2]),
    mb.ThompsonSampling(), mb.ThompsonSampling("normal"), mb.DiscountedThompson(0.99), mb.SingleSeedThompson(),
    mb.CombLinUCB(FEATURES), mb.CombLinTS(FEATURES), mb.DiscountedOMM(0.99, 0.3), mb.SlidingWindowOMM(50), mb.MOSS(),
    mb.UCBV(), mb.CLSG(), mb.BGCTS(), mb.ESCB(), mb.AROQ(100), mb.FPL(100), mb.Hybrid(), mb.CLUCB(0.1),
    mb.SoftMinimum(), mb.Budget(mb.OMM(), np.ones(N_ITEMS), 3.0), mb.Steady(mb.OMM(), 0.1),
    mb.ExposureFloors(mb.OMM(), {}), mb.Restarting(mb.OMM()), mb.PositionBias(mb.OMM()),
    mb.Budget(mb.PositionBias(mb.KLOSM()), np.ones(N_ITEMS), 3.0), mb.Restarting(mb.PositionBias(mb.OMM())),
]  # fmt: skip


def test_the_list_has_every_policy_of_the_package():
    ours = {name for name, kind in POLICIES.items() if kind is getattr(mb, name, None)}
    assert {type(policy).__name__ for policy in EVERY} == ours - {"PolicyWrapper"}


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("policy", EVERY, ids=repr)
@pytest.mark.parametrize("start", ["observe", "explore"])
def test_a_policy_takes_lists_or_names_one_that_does(policy, kind, start):
    problem = mb.Problem(mb.UniformMatroid(N_ITEMS, 3), WORLDS[kind])
    options = {"n_episodes": 60, "n_runs": 3, "seed": 4, "start": start}
    if kind not in policy.takes:
        named = "PositionBias" if kind == "positions" else "OMM, KLOSM and ThompsonSampling do"
        with pytest.raises(PolicyError, match=named):
            mb.simulate(problem, policy, **options)
        return
    result = mb.simulate(problem, policy, **options)
    assert result.choices.sum() == 60 * 3 * 3
    assert np.isfinite(result.final_regret).all()
    assert (np.diff(result.regret) >= -1e-12).all()


def test_what_was_not_looked_at_leaves_no_trace_in_what_is_known():
    agent, stream = Agent(mb.UniformMatroid(4, 3), mb.OMM()), mb.Stream(0, [0])
    request = mb.Request(1, stream)
    items, sizes = agent.choose(request)
    play = agent.play(request, items, sizes, places=agent.order(request, items, sizes))
    agent.learn(play, np.array([1.0]), np.array([0]))
    agent.close([(play, np.array([1, 2]))], were_unseen=True)
    state = agent.state
    assert state.counts.tolist() == [[1, 0, 0, 0]]
    assert state.lost.sum() == state.waiting.sum() == state.n_waiting.sum() == 0
    assert state.is_unseen.tolist() == [[False, True, True, True]]
    assert state.asked.tolist() == [[1, 1, 1, 0]]
    assert not agent.open


def test_a_policy_that_chooses_sets_by_their_total_is_refused_where_lists_multiply():
    diamond = mb.PathConstraint([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")], "a", "d")
    world = mb.CascadeEnvironment(mb.BernoulliEnvironment([0.9, 0.9, 0.8, 0.8]), until="failure")
    with pytest.raises(PolicyError, match="largest product"):
        mb.simulate(mb.Problem(diamond, world), mb.ESCB(), n_episodes=5, n_runs=1)
