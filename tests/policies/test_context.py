"""CombLinUCB and CombLinTS with features that come with every request: C2UCB and its Thompson twin."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.stream import POLICY, Stream
from samples import FEATURES, GRAPH

KINDS = {"UCB": mb.CombLinUCB, "TS": mb.CombLinTS}


def play(agents, requests, n_episodes=40, delay=0):
    """Let agents play side by side, each on its own requests, with the same weights; yields their indices."""
    rng, waiting = np.random.default_rng(1), []
    for t in range(1, n_episodes + 1):
        asked = [request(t) for request in requests]
        for agent in agents:
            agent.settle()
        yield t, [agent._policy.indices(agent.state, each) for agent, each in zip(agents, asked, strict=True)]
        plays = [agent.decide(each) for agent, each in zip(agents, asked, strict=True)]
        waiting.append((plays, rng.normal(size=plays[0].items.shape)))
        if len(waiting) > delay:
            old, weights = waiting.pop(0)
            for agent, each in zip(agents, old, strict=True):
                agent.learn(each, weights)


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("per_run", [False, True], ids=["shared", "per run"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_constant_features_are_those_of_the_constructor(kind, per_run, delay):
    n_runs = 3
    X = np.tile(FEATURES, (n_runs, 1, 1)) if per_run else FEATURES
    # narrow enough for what the constructor's own features add to keep roots real: 1e-12 of the prior's variance
    more = {"prior_scale": 0.5} | ({"c": 0.5} if kind is mb.CombLinUCB else {})
    policies = kind(FEATURES, **more), kind(n_features=3, **more)
    agents = [Agent(GRAPH, policy, n_runs=n_runs) for policy in policies]
    stream = Stream(0, range(n_runs), POLICY)
    requests = [lambda t: mb.Request(t, stream), lambda t: mb.Request(t, stream, features=X)]
    for _, (own, given) in play(agents, requests, delay=delay):
        assert np.allclose(own, given, rtol=0, atol=1e-12)
    assert agents[0].state.counts.tolist() == agents[1].state.counts.tolist()


def test_unit_features_count_plays():
    """X = I: the width is alpha / sqrt(lambda + N), and an item's mean is shrunk by lambda."""
    n, c, prior_scale, noise = 6, 0.7, 2.0, 0.5
    policy = mb.CombLinUCB(c=c, prior_scale=prior_scale, noise=noise, n_features=n)
    agent, stream = Agent(mb.UniformMatroid(n, 2), policy), Stream(0, range(1), POLICY)
    alpha, ridge = c * noise, (noise / prior_scale) ** 2
    for _, (U,) in play([agent], [lambda t: mb.Request(t, stream, features=np.eye(n))]):
        N, S = agent.state.counts[0], agent.state.sums[0]
        assert np.allclose(U[0], S / (ridge + N) + alpha / np.sqrt(ridge + N), rtol=0, atol=1e-12)


@pytest.mark.parametrize("delay", [0, 4])
def test_one_item_at_a_time_is_linucb(delay):
    """K = 1: V = lambda I + sum x x', b = sum gain x, solved anew in every episode; late answers with their own x."""
    n, d, c, noise = 5, 3, 1.3, 0.4
    policy = mb.CombLinUCB(c=c, prior_scale=0.8, noise=noise, n_features=d)
    agent, stream = Agent(mb.UniformMatroid(n, 1), policy), Stream(0, range(1), POLICY)
    V, W, b = ((noise / 0.8) ** 2 * np.eye(d) for _ in range(3))
    b = np.zeros(d)
    rng, waiting = np.random.default_rng(3), []
    for t in range(1, 60):
        X = rng.normal(size=(n, d))
        agent.settle()
        U = policy.indices(agent.state, mb.Request(t, stream, features=X))[0]
        W = V + sum((np.outer(x, x) for _, x, _ in waiting), np.zeros((d, d)))  # narrowed by what is to come
        expected = X @ np.linalg.solve(V, b) + c * noise * np.sqrt(np.einsum("ij,jk,ik->i", X, np.linalg.inv(W), X))
        assert np.allclose(U, expected, rtol=0, atol=1e-12)
        played = agent.decide(mb.Request(t, stream, features=X))
        assert played.items.tolist() == [[int(expected.argmax())]]
        waiting.append((played, X[played.items[0, 0]], rng.normal()))
        if len(waiting) > delay:
            old, x, gain = waiting.pop(0)
            agent.learn(old, np.array([[gain]]))
            V, b = V + np.outer(x, x), b + gain * x


def test_thompsons_twin_samples_the_belief():
    """Indices are x' theta~ with theta~ ~ N(theta, noise^2 V^-1): mean and covariance over many runs."""
    n_runs, d, noise = 20_000, 2, 0.3
    policy = mb.CombLinTS(prior_scale=1.5, noise=noise, n_features=d)
    agent, stream = Agent(mb.UniformMatroid(3, 3), policy, n_runs=n_runs), Stream(5, range(n_runs), POLICY)
    X = np.array([[1.0, 0.0], [0.5, 2.0], [1.0, -1.0]])
    agent.learn(agent.decide(mb.Request(1, stream, features=X)), np.tile([0.4, 1.0, -0.2], (n_runs, 1)))
    V = (noise / 1.5) ** 2 * np.eye(d) + X.T @ X
    U = policy.indices(agent.state, mb.Request(2, stream, features=np.eye(3)[:, :2]))[:, :2]
    covariance = noise**2 * np.linalg.inv(V)
    spread = np.sqrt(np.diag(covariance))
    assert (
        np.abs(U.mean(axis=0) - np.linalg.solve(V, X.T @ [0.4, 1.0, -0.2])) < 5 * spread / math.sqrt(n_runs)
    ).all()
    assert np.allclose(np.cov(U.T), covariance, rtol=0, atol=5 * spread.max() ** 2 * math.sqrt(2 / n_runs))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_exactly_one_kind_of_features_is_given(kind):
    for arguments, given in (({}, "neither"), ({"features": FEATURES, "n_features": 3}, "both")):
        with pytest.raises(PolicyError, match=f"expected either features, .* or n_features, .*; got {given}"):
            kind(**arguments)
    for n in (0, -1, 2.0, "3", True, 2**20):
        with pytest.raises(PolicyError, match="expected n_features to be an integer from 1 to 32768"):
            kind(n_features=n)
    assert kind(n_features=3).n_features == 3
    assert kind(FEATURES).n_features is None
    assert "n_features" not in kind(FEATURES).params()
    assert "features" not in kind(n_features=3).params()
    mb.testing.check_policy(kind(n_features=3))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_agent_without_features_is_told_so(kind):
    agent, stream = Agent(mb.UniformMatroid(4, 2), kind(n_features=2)), Stream(0, range(1), POLICY)
    with pytest.raises(
        PolicyError, match=r"expected features of 2 numbers per item with every request, .*; got none"
    ):
        agent.decide(mb.Request(1, stream))
    with pytest.raises(PolicyError, match=r"expected features of 2 numbers .*; got shape \(4, 3\)"):
        agent.decide(mb.Request(1, stream, features=np.zeros((4, 3))))
    with pytest.raises(PolicyError, match="expected 2 features of every item that is seen, got none"):
        agent.observe(mb.Request(0, stream), np.arange(4)[None], np.zeros((1, 4)))
    assert agent.state.counts.sum() == 0
    agent.observe(mb.Request(0, stream, features=np.eye(4)[:, :2]), np.arange(4)[None], np.ones((1, 4)))
    assert agent.state.counts.sum() == 4
    assert agent.state.extra["theta"][0, 0] > 0.5
