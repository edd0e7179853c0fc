"""Thompson sampling that fades: without fading it is the plain one, with it the textbook recursion."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.stream import POLICY, ROUNDING, Stream
from samples import GRAPH, TENTHS


@pytest.mark.compiled
@pytest.mark.parametrize("minimize", [False, True], ids=["gains", "costs"])
@pytest.mark.parametrize("delay", [0, 4])
def test_without_fading_it_is_thompson_sampling_bit_for_bit(delay, minimize):
    world = mb.BetaEnvironment(TENTHS * 4, 4 - TENTHS * 4)
    problem = mb.Problem(GRAPH, mb.DelayedEnvironment(world, delay) if delay else world, minimize)
    policies = {"plain": mb.ThompsonSampling(), "fading": mb.DiscountedThompson(1.0)}
    for start in ("observe", "explore"):
        result = mb.simulate(problem, policies, n_episodes=200, n_runs=4, seed=3, start=start)
        assert np.array_equal(result.choices[0], result.choices[1])
        assert np.array_equal(result.final_returns[0], result.final_returns[1])


@pytest.mark.parametrize("gamma", [0.5, 0.99])
@pytest.mark.parametrize("delay", [0, 5])
def test_successes_and_failures_follow_the_recursion(gamma, delay):
    n_items, n_runs, policy = 6, 3, mb.DiscountedThompson(gamma)
    agent = Agent(mb.UniformMatroid(n_items, 2), policy, n_runs=n_runs)
    stream, rng = Stream(4, range(n_runs), POLICY), np.random.default_rng(0)
    S, F, G = np.zeros((3, n_runs, n_items))
    waiting = []
    for t in range(1, 80):
        play = agent.decide(mb.Request(t, stream))
        S, F, G = gamma * S, gamma * F, gamma * G
        waiting.append((play, rng.random(play.items.shape)))
        if len(waiting) > delay:
            asked, weights = waiting.pop(0)
            agent.learn(asked, weights)
            s = asked.request.episode
            share = gamma ** (t - s)  # as much as if it had come at once
            for run, items in enumerate(asked.items.tolist()):
                for e, w in zip(items, weights[run].tolist(), strict=True):
                    u = stream.with_purpose(ROUNDING).take([run]).uniform(s, np.array([e]))[0, 0]
                    S[run, e] += share * (u < w)
                    F[run, e] += share * (u >= w)
                    G[run, e] += share * w
        U = policy.indices(agent.state, mb.Request(t + 1, stream))
        expected = stream.beta(t + 1, np.arange(n_items), 1.0 + S, 1.0 + F)
        assert np.allclose(U, expected, rtol=0, atol=1e-9)
        means, _, plays = policy.beliefs(agent.state)
        assert np.allclose(plays, S + F, rtol=1e-12, atol=1e-12)
        assert np.allclose(means[plays > 0], (G / np.maximum(S + F, 1e-300))[plays > 0], rtol=1e-10)
        assert np.isnan(means[plays == 0]).all()


def test_what_is_not_played_is_forgotten():
    learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.DiscountedThompson(0.5), seed=0)
    learner.observe([1.0, 0.0])
    assert learner.estimates().means.tolist() == [1.0, 0.0]
    for _ in range(1_200):
        learner.tell(learner.ask(pinned=["a"]), [1.0])
    estimates = learner.estimates()
    assert estimates.means[0] == 1.0
    assert np.isnan(estimates.means[1])  # nothing is left of a play of 1,200 episodes ago
    assert learner.explain("a").plays == pytest.approx(2.0)  # 1 + 1/2 + 1/4 ...


def test_priors_fade_from_when_their_items_came():
    learner = mb.Learner(
        mb.UniformMatroid(2, 1, labels="ab"), mb.DiscountedThompson(0.5), seed=0, priors={"a": (0.75, 8)}
    )
    assert learner.explain("a").plays == 8.0
    assert learner.explain("a").mean == 0.75
    for _ in range(3):
        learner.tell(learner.ask(pinned=["b"]), [0.0])
    assert learner.explain("a").plays == 1.0
    learner.change(mb.UniformMatroid(3, 1, labels="abc"), priors={"c": (0.5, 4)})
    assert (learner.explain("a").plays, learner.explain("c").plays) == (1.0, 4.0)
    learner.tell(learner.ask(pinned=["b"]), [0.0])
    assert (learner.explain("a").plays, learner.explain("c").plays) == (0.5, 2.0)
    learner.change(mb.UniformMatroid(1, 1, labels="b"))
    learner.tell(learner.ask(), [0.0])
    learner.change(mb.UniformMatroid(2, 1, labels="bc"))
    assert learner.explain("c").plays == 1.0  # who was away has faded too


@pytest.mark.parametrize("gamma", [-0.1, 1.1, math.nan, "1", None, True])
def test_gammas_that_make_no_sense(gamma):
    with pytest.raises(PolicyError, match=r"expected gamma to be a number in \[0, 1\], got"):
        mb.DiscountedThompson(gamma)


def test_gamma_is_above_nothing():
    with pytest.raises(PolicyError, match="expected gamma to be above 0, got 0"):
        mb.DiscountedThompson(0)
    assert mb.DiscountedThompson(1).gamma == 1.0


@pytest.mark.compiled
def test_the_policy_keeps_its_contract():
    mb.testing.check_policy(mb.DiscountedThompson(0.9))
