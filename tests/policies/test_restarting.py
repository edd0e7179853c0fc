"""Detectors, and policies that start anew with items whose weights have changed."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.sums import added
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies import DETECTORS, evaluate
from matroid_bandits.stream import POLICY, Stream
from samples import FEATURES, GRAPH, PROBLEM

EAGER = mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)


class Slow:
    """CUSUM for one item, from the text."""

    def __init__(self, M, eps, h):
        self.M, self.eps, self.h = M, eps, h
        self.clear()

    def clear(self):
        self.first, self.up, self.down = [], 0.0, 0.0

    def alarm(self, x):
        if len(self.first) < self.M:
            self.first.append(x)
            return False
        u = added(self.first) / self.M
        self.up = max(0.0, self.up + x - u - self.eps)
        self.down = max(0.0, self.down + u - x - self.eps)
        return self.up > self.h or self.down > self.h


@pytest.mark.parametrize("width", [1.0, 40.0])
def test_cusum_is_the_texts(width):
    rng, n = np.random.default_rng(0), 50
    detector, slow = mb.CUSUM(5, 0.1, 2.0, width), [Slow(5, 0.1 * width, 2.0 * width) for _ in range(n)]
    kept = detector.prepare((n,))
    n_alarms = 0
    for t in range(200):
        gains = width * (rng.random(n) + (t > 100))
        is_alarm = detector.observe(kept, gains)
        assert is_alarm.tolist() == [each.alarm(x) for each, x in zip(slow, gains.tolist(), strict=True)]
        for name, array in detector.prepare((n,)).items():
            kept[name][is_alarm] = array[is_alarm]
        for each in np.flatnonzero(is_alarm):
            slow[each].clear()
        n_alarms += is_alarm.sum()
    assert n_alarms > n


@pytest.mark.compiled
@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_false_alarms_are_rare(p):
    """At most 0.1 per 10,000 plays: of 4,000,000 plays at most 40, where 20 are expected at p = 0.5."""
    detector, n_items, n_plays = mb.CUSUM(), 4_000, 1_000
    kept, rng, n_alarms = detector.prepare((n_items,)), np.random.default_rng(1), 0
    for _ in range(n_plays):
        is_alarm = detector.observe(kept, (rng.random(n_items) < p).astype(float))
        for name, array in detector.prepare((n_items,)).items():
            kept[name][is_alarm] = array[is_alarm]
        n_alarms += int(is_alarm.sum())
    assert n_alarms <= 0.1 * n_items * n_plays / 10_000


@pytest.mark.parametrize(("before", "after"), [(0.2, 0.8), (0.8, 0.2)])
def test_a_jump_is_found_within_100_plays(before, after):
    detector, n_items, rng = mb.CUSUM(), 1_000, np.random.default_rng(2)
    kept, is_found = detector.prepare((n_items,)), np.zeros(n_items, bool)
    for _ in range(300):
        assert not detector.observe(kept, (rng.random(n_items) < before).astype(float)).any()
    for _ in range(100):
        is_found |= detector.observe(kept, (rng.random(n_items) < after).astype(float))
    assert is_found.all()


# A policy with a detector


BASES = {
    "OMM": mb.OMM(0.5),
    "KLOSM": mb.KLOSM(),
    "beta": mb.ThompsonSampling(),
    "normal": mb.ThompsonSampling("normal"),
    "fading": mb.DiscountedThompson(0.95),
    "window": mb.SlidingWindowOMM(15, 0.5),
    "discounted": mb.DiscountedOMM(0.95, 0.5),
    "CombLinUCB": mb.CombLinUCB(FEATURES),
    "chance": mb.UniformRandom(),
}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_a_detector_that_is_silent_changes_nothing(base):
    policies = {"base": base, "restarting": mb.Restarting(base, mb.CUSUM(threshold=1e9))}
    result = mb.simulate(PROBLEM, policies, n_episodes=60, n_runs=3, seed=1)
    assert np.array_equal(result.choices[0], result.choices[1])
    assert np.array_equal(result.final_returns[0], result.final_returns[1])
    assert result.alarms.max() == 0


@pytest.mark.compiled
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_any_policy_may_have_a_detector(base):
    mb.testing.check_policy(mb.Restarting(base, EAGER), n_items=8)
    result = mb.simulate(PROBLEM, mb.Restarting(base, EAGER), n_episodes=60, n_runs=3, seed=1)
    assert result.alarms[0, -1] > 0
    assert result.choices.sum() == 60 * 3 * GRAPH.rank  # plays that were forgotten were played


@pytest.mark.parametrize("delay", [0, 6])
@pytest.mark.parametrize("engine", ["greedy", "warm", "kinetic"])
def test_an_item_starts_anew_and_the_others_do_not(delay, engine):
    """Counts and sums by hand: an alarm clears the item's, and its waiting plays go on waiting."""
    policy, n_items = mb.Restarting(mb.OMM(0.3), EAGER), 5
    agent = Agent(mb.UniformMatroid(n_items, 2), policy, engine=engine)
    stream, rng, waiting = Stream(0, range(1), POLICY), np.random.default_rng(0), []
    detectors = [Slow(3, 0.05, 0.6) for _ in range(n_items)]
    counts, sums, asked, n_alarms, last = (np.zeros(n_items) for _ in range(5))
    everything, n_answers = 0.0, 0
    means = np.zeros(n_items)
    for t in range(1, 150):
        n_waiting = np.bincount([e for play, _ in waiting for e in play.items[0]], minlength=n_items)
        with np.errstate(divide="ignore", invalid="ignore"):
            n = np.where(counts + n_waiting > 0, counts + n_waiting, 0)
            c = 0.3 * math.sqrt(2 * math.log(max(t - 1, 1)))
            U = np.where(n > 0, np.where(counts > 0, sums / counts, means) + c / np.sqrt(n), np.inf)
        agent.settle()
        assert np.allclose(evaluate(policy, agent.state, mb.Request(t, stream))[0], U, rtol=1e-12)
        play = agent.decide(mb.Request(t, stream))
        asked[play.items[0]] += 1
        waiting.append((play, rng.random((1, 2))))
        for e in play.items[0]:
            if counts[e] == 0:
                means[e] = everything / n_answers if n_answers else 0.0
        if len(waiting) > delay:
            answered, gains = waiting.pop(0)
            agent.learn(answered, gains)
            everything, n_answers = everything + gains.sum(), n_answers + 2
            for e, x in zip(answered.items[0].tolist(), gains[0].tolist(), strict=True):
                counts[e], sums[e] = counts[e] + 1, sums[e] + x
                if detectors[e].alarm(x):
                    detectors[e].clear()
                    counts[e], sums[e], n_alarms[e], last[e] = 0, 0.0, n_alarms[e] + 1, answered.request.episode
                    means[e] = everything / n_answers
    assert agent.state.counts[0].tolist() == counts.tolist()
    assert agent.state.asked[0].tolist() == asked.tolist()
    assert [array[0].tolist() for array in agent.state.alarms] == [n_alarms.tolist(), last.tolist()]
    assert n_alarms.sum() > 5


def test_engines_serve_an_affine_base():
    policy = mb.Restarting(mb.SlidingWindowOMM(20, 0.4), EAGER)
    problem = mb.Problem(mb.UniformMatroid(30, 5), mb.BernoulliEnvironment(np.linspace(0.1, 0.9, 30)))
    greedy, *others = (
        mb.simulate(problem, policy, n_episodes=300, n_runs=2, seed=4, engine=engine)
        for engine in ("greedy", "warm", "kinetic")
    )
    assert all(other == greedy for other in others)
    assert policy.affine == mb.SlidingWindowOMM(20, 0.4)
    assert mb.Restarting(mb.KLOSM()).affine is None
    with pytest.raises(PolicyError, match="the kinetic engine needs an affine policy"):
        mb.simulate(problem, mb.Restarting(mb.KLOSM()), n_episodes=2, n_runs=1, engine="kinetic")


def test_it_has_the_nature_of_its_base():
    base = mb.ThompsonSampling()
    policy = mb.Restarting(base, EAGER)
    assert (policy.support, policy.tries_unseen, policy.takes_priors) == ((0.0, 1.0), False, True)
    assert (policy.base, policy.detector) == (base, EAGER)
    assert policy == mb.Restarting(mb.ThompsonSampling(), mb.CUSUM(3, 0.05, 0.6)) != mb.Restarting(base)
    linear = mb.Restarting(mb.CombLinUCB(n_features=2))
    assert (linear.n_features, linear.takes_priors, linear.tries_unseen) == (2, False, False)
    assert mb.Restarting(mb.OMM()).detector == mb.CUSUM()


def test_a_jump_is_noticed_and_followed():
    class Turning(mb.BernoulliEnvironment):
        def draw(self, stream, t, items):
            return np.abs((t > 1_500) - super().draw(stream, t, items))

    problem = mb.Problem(mb.UniformMatroid(4, 1), Turning([0.9, 0.8, 0.2, 0.1]))
    policies = {"OMM": mb.OMM(0.25), "restarting": mb.Restarting(mb.OMM(0.25))}
    result = mb.simulate(problem, policies, n_episodes=4_000, n_runs=5, seed=0, checkpoints=[1_500, 4_000])
    assert result.alarms.tolist() == [[0.0, 0.0], [0.0, result.alarms[1, 1]]]
    assert result.alarms[1, 1] >= 1.0
    assert result["restarting"].returns[-1] > result["OMM"].returns[-1]


# What users may get wrong, and may write


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_first": 0}, "expected n_first to be an integer from 1 to"),
        ({"n_first": 2.5}, "expected n_first to be an integer"),
        ({"tolerance": -0.1}, r"expected tolerance to be a number in \[0, 1e\+100\]"),
        ({"threshold": math.nan}, "expected threshold to be a number in"),
        ({"threshold": -1}, "expected threshold to be a number in"),
        ({"width": 0}, "expected width to be a number in"),
        ({"width": "1"}, "expected width to be a number in"),
    ],
)
def test_detectors_that_make_no_sense(arguments, message):
    with pytest.raises(PolicyError, match=message):
        mb.CUSUM(**arguments)


@pytest.mark.parametrize("base", [None, 3, mb.OMM, mb.CUSUM(), mb.Restarting(mb.OMM())])
def test_bases_that_make_no_sense(base):
    with pytest.raises(PolicyError, match="expected base to be a policy that does not restart by itself, got"):
        mb.Restarting(base)


@pytest.mark.parametrize("detector", [3, mb.CUSUM, mb.OMM(), "CUSUM"])
def test_no_detectors(detector):
    with pytest.raises(PolicyError, match="expected detector to be a Detector, such as CUSUM"):
        mb.Restarting(mb.OMM(), detector)


class Third(mb.Detector):
    """An alarm with every third gain."""

    def prepare(self, shape):
        return {"n": np.zeros(shape, np.int64)}

    def observe(self, kept, gains):
        kept["n"] += 1
        return kept["n"] == 3


class Mumbling(Third):
    """Says nothing of use."""

    def observe(self, kept, gains):
        return [False] * gains.size


def test_a_detector_of_ones_own():
    assert DETECTORS["Third"] is Third
    learner = mb.Learner(mb.UniformMatroid(2, 2, labels="ab"), mb.Restarting(mb.OMM(), Third()), seed=0)
    for t in range(1, 8):
        learner.tell(learner.ask(), [1.0, 0.0])
        assert learner.estimates().alarms.tolist() == [t // 3] * 2
        assert learner.estimates().counts.tolist() == [t % 3] * 2
    learner = mb.Learner(mb.UniformMatroid(2, 2), mb.Restarting(mb.OMM(), Mumbling()))
    decision = learner.ask()
    with pytest.raises(PolicyError, match=r"expected Mumbling\.observe to return a bool for each of 2 gains, got"):
        learner.tell(decision, [1.0, 0.0])
    assert learner.estimates().counts.tolist() == [0, 0]


def test_names_that_the_detector_takes():
    class Hoarder(mb.OMM):
        memory = (mb.Memory("n_alarms"),)

    with pytest.raises(PolicyError, match=r"expected Hoarder.* to keep nothing called 'n_alarms'"):
        mb.Restarting(Hoarder())
