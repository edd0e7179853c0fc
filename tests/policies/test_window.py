"""The sliding window: OMM where it has no end, the obvious recount where it has, in batches and with every engine."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from matroid_bandits._util.sums import added
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.stream import POLICY, Stream

LATE = {"at once": None, "late": 3, "now and then": [0, 2, 9, -1]}


def world_of(n_items, late, has_ties=True):
    means = np.resize([0.3, 0.6, 0.6, 0.1, 0.9, 0.5, 0.5, 0.2], n_items)
    world = mb.BernoulliEnvironment(means) if has_ties else mb.GaussianEnvironment(means)
    if late is None:
        return world
    return Late(world, np.atleast_1d(late))


class Late(mb.DelayedEnvironment):
    """Delays that go round a list; -1 is an answer that never comes."""

    def __init__(self, world, delays):
        super().__init__(world, 1)
        self._cycle = delays

    def delays(self, stream, t, items):
        return self._cycle[(t + np.broadcast_to(items, (stream.n_runs, np.shape(items)[-1]))) % self._cycle.size]


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    pair=strategies.nested(depth=1),
    late=st.sampled_from(list(LATE.values())),
    start=st.sampled_from(["observe", "explore"]),
    minimize=st.booleans(),
    has_ties=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_a_window_without_end_is_omm_bit_for_bit(pair, late, start, minimize, has_ties, seed):
    matroid, _ = pair
    problem = mb.Problem(matroid, world_of(matroid.n_items, late, has_ties), minimize)
    policies = {"OMM": mb.OMM(0.7), "window": mb.SlidingWindowOMM(40, scale=0.7)}
    result = mb.simulate(problem, policies, n_episodes=40, n_runs=3, seed=seed, start=start)
    assert np.array_equal(result.choices[0], result.choices[1])
    assert np.array_equal(result.final_returns[0], result.final_returns[1])


class Recounted:
    """One run of the policy, written out: all plays ever made, of which those in the window are added up anew."""

    def __init__(self, matroid, window, scale, gains_before):
        self.matroid, self.window, self.scale = matroid, window, scale
        self.plays = [(0, e, x) for e, x in enumerate(gains_before)]  # episode, item, gain or None while it waits
        self.gains, self.means = list(gains_before), list(gains_before)

    def inside(self, e, t):
        """What plays of an item are in the window at the decision of episode t: gains, None where one waits."""
        return [x for s, item, x in self.plays if item == e and s >= t - self.window]

    def lines(self, t):
        """Means and radii at the decision of episode t."""
        items = range(self.matroid.n_items)
        radii = np.array([1 / math.sqrt(n) if (n := len(self.inside(e, t))) else math.inf for e in items])
        return np.where(np.isinf(radii), 0.0, self.means), radii

    def decide(self, t):
        means, radii = self.lines(t)
        c = self.scale * math.sqrt(2 * math.log(max(min(t - 1, self.window), 1)))
        U = np.where(np.isinf(radii), np.inf, means + c * np.where(np.isinf(radii), 0.0, radii))
        return self.matroid.max_weight_basis(U)

    def ask(self, t, items):
        self.plays += [(t, e, None) for e in items]
        for e in range(self.matroid.n_items):
            self.update(e, t)
        for e in items:
            if all(x is None for x in self.inside(e, t + 1)):
                self.means[e] = added(self.gains) / len(self.gains)

    def tell(self, t, item, gain, now):
        self.plays[self.plays.index((t, item, None))] = (t, item, gain)
        self.gains.append(gain)
        self.update(item, now)

    def update(self, e, now):
        """The mean of the answers in the window after episode `now`; an item without any keeps the mean it had."""
        answered = [x for x in self.inside(e, now + 1) if x is not None]
        if answered:
            self.means[e] = added(answered) / len(answered)


@pytest.mark.parametrize("engine", ["greedy", "warm", "kinetic"])
@pytest.mark.parametrize("window", [1, 2, 5, 16])
@pytest.mark.parametrize("delay", [0, 3, 8])
def test_decisions_are_those_of_plays_recounted(window, delay, engine):
    """Gains are quarters, so that sums are exact and ties are many; answers come in time, late and too late."""
    matroid, n_runs = mb.PartitionMatroid([0, 0, 0, 1, 1, 1, 1, 2], {0: 1, 1: 2, 2: 1}), 2
    agent = Agent(matroid, mb.SlidingWindowOMM(window, scale=0.4), n_runs=n_runs, engine=engine)
    stream, rng = Stream(0, range(n_runs), POLICY), np.random.default_rng(window + delay)
    first = rng.integers(0, 5, (n_runs, 8)) / 4
    agent.observe(mb.Request(0, stream), np.tile(np.arange(8), (n_runs, 1)), first)
    slow = [Recounted(matroid, window, 0.4, row.tolist()) for row in first]
    waiting = []
    for t in range(1, 60):
        play = agent.decide(mb.Request(t, stream))
        assert play.items.tolist() == [each.decide(t).tolist() for each in slow]
        for each, items in zip(slow, play.items.tolist(), strict=True):
            each.ask(t, items)
        waiting.append((play, rng.integers(0, 5, play.items.shape) / 4))
        if len(waiting) > delay:
            asked, gains = waiting.pop(0)
            agent.learn(asked, gains)
            for each, items, row in zip(slow, asked.items.tolist(), gains.tolist(), strict=True):
                for e, x in zip(items, row, strict=True):
                    each.tell(asked.request.episode, e, x, t)
    agent.settle()
    means, radii = mb.SlidingWindowOMM(window).lines(agent.state)
    for run, each in enumerate(slow):
        assert np.array_equal(each.lines(60)[1], radii[run])
        assert np.allclose(each.lines(60)[0], means[run], rtol=0, atol=1e-12)


def test_sums_do_not_drift():
    """Gains of very different sizes, of which a running sum would keep the large ones' rounding."""
    window, rng = 50, np.random.default_rng(0)
    agent = Agent(mb.UniformMatroid(1, 1), mb.SlidingWindowOMM(window))
    stream, gains = Stream(0, range(1), POLICY), 10.0 ** rng.integers(-8, 8, 2_000)
    for t, x in enumerate(gains.tolist(), 1):
        agent.learn(agent.decide(mb.Request(t, stream)), np.array([[x]]))
        inside = gains[max(t - window, 0) : t]
        bound = 2.0**-52 * window**2 * gains[max(t - 2 * window, 0) : t].max()
        assert abs(agent.state.extra["sums"][0, 0] - math.fsum(inside)) <= bound


def test_the_ring_is_as_long_as_needed():
    policy = mb.SlidingWindowOMM(2**40)
    agent, stream = Agent(mb.UniformMatroid(3, 2), policy), Stream(0, range(1), POLICY)
    for t in range(1, 70):
        agent.learn(agent.decide(mb.Request(t, stream)), np.ones((1, 2)))
    assert agent.state.extra["codes"].shape == (1, 128, 2)
    assert agent.state.extra["counts"].tolist() == agent.state.counts.tolist()


@pytest.mark.compiled
@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
def test_engines_agree_where_plays_leave(late):
    rng = np.random.default_rng(3)
    matroid = mb.LaminarMatroid(40, [(range(40), 7), (range(20), 4), (range(5), 1), (range(25, 33), 2)])
    problem = mb.Problem(matroid, mb.BernoulliEnvironment(rng.random(40)) if late is None else world_of(40, late))
    policies = {"short": mb.SlidingWindowOMM(30, 0.3), "long": mb.SlidingWindowOMM(400, 0.3)}
    greedy, *others = (
        mb.simulate(problem, policies, n_episodes=1_000, n_runs=3, seed=2, engine=engine)
        for engine in ("greedy", "warm", "kinetic")
    )
    assert all(other == greedy for other in others)


def test_a_world_that_turns_over_is_followed():
    class Turning(mb.BernoulliEnvironment):
        def draw(self, stream, t, items):
            return np.abs((t > 2_000) - super().draw(stream, t, items))

    share = {}
    for policy in (mb.OMM(0.25), mb.SlidingWindowOMM(400, 0.25)):
        world = reference.Watched(Turning([0.9, 0.8, 0.2, 0.1]))
        mb.simulate(mb.Problem(mb.UniformMatroid(4, 1), world), policy, n_episodes=3_000, n_runs=4, seed=0)
        bases = np.array(list(world.bases.values()))[:, 2_000:]
        share[type(policy)] = (bases >= 2).mean()  # of episodes after the turn with an item that is good now
    assert share[mb.SlidingWindowOMM] > 0.8 > 0.7 > share[mb.OMM]


@pytest.mark.parametrize("window", [0, -1, 2.0, True, "5", None, 2**48])
def test_windows_that_make_no_sense(window):
    with pytest.raises(PolicyError, match="expected window to be an integer from 1 to"):
        mb.SlidingWindowOMM(window)


@pytest.mark.parametrize("scale", [-1, math.nan, math.inf, 1e101, "1"])
def test_scales_that_make_no_sense(scale):
    with pytest.raises(PolicyError, match=r"expected scale to be a number in \[0, 1e\+100\]"):
        mb.SlidingWindowOMM(10, scale)


@pytest.mark.compiled
def test_the_policy_keeps_its_contract():
    for window in (1, 4):
        mb.testing.check_policy(mb.SlidingWindowOMM(window, 0.3), n_episodes=30)
    assert (mb.SlidingWindowOMM(4).window, mb.SlidingWindowOMM(4, 0.3).scale) == (4, 0.3)
