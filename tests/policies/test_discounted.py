"""Discounted OMM in simulations, against the textbook's recursion and OMM."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import ContractError
from matroid_bandits.stream import POLICY, START, Stream
from samples import OftenRebased


class SeldomRebased(mb.DiscountedOMM):
    """Powers of two change when g is tiny."""

    _REBASE_BITS = 300


def problem(kind, rng, n_items=30):
    matroid = {
        "uniform": lambda: mb.UniformMatroid(n_items, 6),
        "partition": lambda: mb.PartitionMatroid(np.arange(n_items) % 5),
        "graphic": lambda: mb.GraphicMatroid(rng.integers(0, 9, (n_items, 2))),
    }[kind]()
    return mb.Problem(matroid, mb.BernoulliEnvironment(rng.choice([0.25, 0.5, 0.75], n_items)))


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize("kind", ["uniform", "partition", "graphic"])
def test_without_fading_simulations_are_those_of_omm(kind, start, minimize):
    game = problem(kind, np.random.default_rng(1))
    game = mb.Problem(
        game.constraint, mb.DelayedEnvironment(game.environment, 3) if minimize else game.environment, minimize
    )
    policies = {"plain": mb.OMM(0.5), "faded": mb.DiscountedOMM(1.0, 0.5)}
    result = mb.simulate(game, policies, n_episodes=150, n_runs=3, seed=2, start=start)
    assert np.array_equal(result["plain"].regret, result["faded"].regret)
    assert np.array_equal(result["plain"].returns, result["faded"].returns)


@pytest.mark.parametrize("gamma", [0.8, 0.99])
@pytest.mark.parametrize("start", ["observe", "explore"])
def test_indices_are_those_of_the_textbook_recursion(gamma, start):
    """N = gamma N + 1 for what is played, over several changes of the powers of two."""
    game, scale, n_episodes = problem("uniform", np.random.default_rng(3)), 0.3, 700
    policy, stream = mb.DiscountedOMM(gamma, scale), Stream(0, range(2))
    own = stream.with_purpose(POLICY)
    agent = Agent(game.constraint, policy, n_runs=2, waits=False)
    N, S, tau = np.zeros((2, game.n_items)), np.zeros((2, game.n_items)), 0.0
    if start == "observe":
        items = np.tile(np.arange(game.n_items), (2, 1))
        S = game.environment.draw(stream.with_purpose(START), 0, items)
        N += 1.0
        agent.observe(mb.Request(0, own), items, S.copy())
    for t in range(1, n_episodes + 1):
        request = mb.Request(t, own)
        with np.errstate(divide="ignore", invalid="ignore"):
            U = np.where(N > 0.0, S / N + scale * np.sqrt(2 * math.log(max(tau, 1.0)) / N), np.inf)
        np.testing.assert_allclose(policy.indices(agent.state, request), U, rtol=1e-12)
        play = agent.decide(request)
        weights = game.environment.draw(stream, t, play.items)
        agent.learn(play, weights)
        N, S, tau = gamma * N, gamma * S, gamma * tau + 1.0
        np.put_along_axis(N, play.items, np.take_along_axis(N, play.items, 1) + 1.0, 1)
        np.put_along_axis(S, play.items, np.take_along_axis(S, play.items, 1) + weights, 1)
    assert policy.exponent(agent.state) == 30 * int(n_episodes * math.log2(1 / gamma) / 60)


@pytest.mark.parametrize("gamma", [0.05, 0.7, 0.99])
@pytest.mark.parametrize("kind", ["uniform", "graphic"])
def test_changing_powers_of_two_at_other_times_changes_no_decision(kind, gamma):
    game = problem(kind, np.random.default_rng(4))
    game = mb.Problem(game.constraint, mb.DelayedEnvironment(game.environment, 2))
    policies = {kind.__name__: kind(gamma, 0.4) for kind in (mb.DiscountedOMM, OftenRebased, SeldomRebased)}
    result = mb.simulate(game, policies, n_episodes=300, n_runs=3, seed=5)
    returns = [result[name].returns for name in policies]
    assert np.array_equal(returns[0], returns[1])
    assert np.array_equal(returns[0], returns[2])


@pytest.mark.parametrize("kind", [mb.DiscountedOMM, OftenRebased])
@pytest.mark.parametrize("gamma", [0.01, 0.9, 1.0])
def test_it_keeps_what_a_policy_must(kind, gamma):
    mb.testing.check_policy(kind(gamma, 0.3))


def test_a_contract_knows_powers_of_two_and_waiting():
    class Sinking(mb.OMM):
        """Says that its lines were multiplied, while its coefficient is what it was: it has grown."""

        def exponent(self, state):
            return -3

    class Greedy(mb.OMM):
        def wait(self, state, plays):
            state.counts[plays.runs, plays.items] += 1

    with pytest.raises(ContractError, match="expected coefficient never to fall"):
        mb.testing.check_policy(Falling())
    with pytest.raises(ContractError, match=r"expected wait to leave the state as it is; it changed state\.counts"):
        mb.testing.check_policy(Greedy())
    mb.testing.check_policy(Sinking())


class Falling(mb.OMM):
    """Its lines are multiplied less and less, and its coefficient does not make up for it."""

    memory = (mb.Memory("n", "time"),)

    def advance(self, state, request):
        state.extra["n"] += 1.0

    def exponent(self, state):
        return -int(state.extra["n"][0])


def test_nothing_is_kept_to_undo_what_cannot_fail(monkeypatch):
    monkeypatch.setattr(mb.State, "remember", None)
    for policy in (mb.OMM(), mb.DiscountedOMM(0.9)):
        learner = mb.Learner(mb.UniformMatroid(2, 1), policy)
        learner.tell(learner.ask(), [0.5])
        assert learner.estimates().means[0] == pytest.approx(0.5)


def test_repr_and_equality():
    assert repr(mb.DiscountedOMM(0.999, scale=0.2)) == "DiscountedOMM(gamma=0.999, scale=0.2)"
    assert mb.DiscountedOMM(0.999) == mb.DiscountedOMM(0.999, 0.25) != mb.DiscountedOMM(0.99)
    assert (mb.DiscountedOMM(0.5, 0.1).gamma, mb.DiscountedOMM(0.5, 0.1).scale) == (0.5, 0.1)


@pytest.mark.parametrize("n_items", [0, 1])
def test_few_items(n_items):
    learner = mb.Learner(mb.UniformMatroid(n_items, n_items), OftenRebased(0.5))
    for _ in range(9):
        learner.tell(learner.ask(), [1e100] * n_items)
    assert learner.estimates().means == pytest.approx([1e100] * n_items)
