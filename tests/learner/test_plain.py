"""The few steps of plain calls against the agent's own, decision by decision and state by state."""

import threading

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import strategies
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import FeedbackError, PolicyError, ScaleWarning
from matroid_bandits.kernels import statistics

POLICIES = {
    "OMM": mb.OMM(0.7),
    "KL-OSM": mb.KLOSM(),
    "MOSS": mb.MOSS(100),
    "UCBV": mb.UCBV(),
    "epsilon": mb.EpsilonGreedy(0.3),
    "chance": mb.UniformRandom(),
    "beta": mb.ThompsonSampling(),
    "normal": mb.ThompsonSampling("normal", noise=0.3),
    "discounted": mb.DiscountedOMM(0.9, 0.5),
    "window": mb.SlidingWindowOMM(5, scale=0.5),
    "soft": mb.SoftMinimum(),
    "certain": mb.CLUCB(0.1),
    "steady": mb.Steady(mb.OMM(0.5), 0.1),
    "restarting": mb.Restarting(mb.OMM(), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)),
}


class Steps:
    """A learner of an agent's four steps, one after the other."""

    def __init__(self, learner, engine):
        self.agent = Agent(learner.constraint, learner.policy, minimize=learner.minimize, engine=engine)
        self.stream, self.t = mb.Stream(learner.seed, range(1), mb.stream.POLICY), 0

    def ask(self, excluded=None):
        self.t += 1
        return self.agent.decide(mb.Request(self.t, self.stream, excluded=excluded)).items[0].tolist()

    def tell(self, t, weights, places=None):
        self.agent.learn(self.agent.open[t], np.array(weights, np.float64), places)

    def close(self, t):
        play = self.agent.open[t]
        self.agent.close([(play, play.untold())])

    def state(self):
        return state_of(self.agent)


def state_of(agent):
    """Everything that an agent knows, as something that compares."""
    agent.settle()
    state = agent.state
    names = ("counts", "waiting", "lost", "sums", "means", "radii", "n_waiting", "_totals")
    arrays = {name: getattr(state, name).tobytes() for name in names}
    arrays |= {name: array.tobytes() for name, array in state.extra.items()}
    plays = {
        t: (play.items.tolist(), None if play.told is None else play.told.tolist()) for t, play in agent.open.items()
    }
    return arrays, list(plays.items()), state.episode


def one_of_each(kind, weights):
    """Weights as callers have them."""
    if kind == "list":
        return [float(w) for w in weights]
    if kind == "array":
        return np.array(weights, np.float64)
    if kind == "strided":
        return np.repeat(np.array(weights, np.float64), 2)[::2]
    return np.array(weights, np.float32)  # quarters, which it holds


@settings(max_examples=80, deadline=None)
@given(
    pair=strategies.nested(depth=1).filter(lambda pair: pair[0].n_items > 0),
    name=st.sampled_from(sorted(POLICIES)),
    engine=st.sampled_from(["auto", "greedy"]),
    minimize=st.booleans(),
    prior=st.none() | st.sampled_from([0.25, 0.5]),
    seed=st.integers(0, 10**6),
)
def test_random_histories_equal_the_steps_of_the_agent(pair, name, engine, minimize, prior, seed):
    priors = None if prior is None else {0: (prior, 2.0)}
    try:
        learner = mb.Learner(pair[0], POLICIES[name], minimize=minimize, engine=engine, seed=5, priors=priors)
    except PolicyError:
        assume(False)
    steps = Steps(learner, engine)
    if prior is not None:
        steps.agent.set_priors(np.array([0]), np.array([-prior if minimize else prior]), np.array([2.0]))
    play_beside(learner, steps, np.random.default_rng(seed), 40)


BLOCKS = mb.PartitionMatroid([e * e % 5 for e in range(90)], 3)


@pytest.mark.parametrize(
    ("constraint", "engine", "names"),
    [
        (mb.UniformMatroid(120, 7), "threshold", ["OMM", "KL-OSM", "beta", "discounted"]),
        (BLOCKS, "threshold", ["OMM", "KL-OSM", "beta", "discounted"]),
        (BLOCKS, "kinetic", ["OMM", "discounted"]),
        (mb.UniformMatroid(120, 7), "classes", ["OMM", "KL-OSM"]),
        (mb.GraphicMatroid([(u, v) for v in range(9) for u in range(v)]), "warm", ["OMM"]),
        (mb.AssignmentConstraint.between("abcd", "wxyz"), "greedy", ["OMM", "KL-OSM"]),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_engine_is_told_what_has_changed(constraint, engine, names):
    for name in names:
        learner = mb.Learner(constraint, POLICIES[name], engine=engine, seed=5)
        play_beside(learner, Steps(learner, engine), np.random.default_rng(7), 150)


def play_beside(learner, steps, rng, n):
    """Let the same things happen to both, at once and late, whole and in parts."""
    waiting = {}
    for _ in range(n):
        happening = rng.random()
        if happening < 0.6 or not waiting:
            if happening < 0.05:
                barred = rng.permutation(learner.constraint.n_items)[:1]
                decision, expected = learner.ask(exclude=barred), steps.ask(barred)
            else:
                decision, expected = learner.ask(), steps.ask()
            assert decision.items.tolist() == expected
            if expected:
                waiting[decision.id] = decision
            if not expected or happening > 0.45:
                continue
            t, kind = decision.id, ["list", "array", "strided", "float32"][int(rng.integers(4))]
            weights = (rng.integers(0, 5, len(expected)) / 4).tolist()
            if rng.random() < 0.2:  # which changes nothing
                before = learner.n_steps
                for wrong in ([float("nan")] * len(expected), weights + [1.0], ["a"] * len(expected), 1.0):
                    with pytest.raises(FeedbackError):
                        learner.tell(decision, wrong)
                assert learner.n_steps == before
            learner.tell(decision if rng.random() < 0.9 else t, one_of_each(kind, weights))
            steps.tell(t, weights)
            del waiting[t]
        elif happening < 0.9:
            t = int(rng.choice(list(waiting)))
            play = steps.agent.open[t]
            places = play.untold() if rng.random() < 0.6 else play.untold()[:1]
            weights = (rng.integers(0, 5, places.size) / 4).tolist()
            named = dict(zip(play.items[0, places].tolist(), weights, strict=True))
            is_whole = places.size == play.items.size
            learner.tell(waiting[t], weights if is_whole else named)
            steps.tell(t, weights, None if is_whole else places)
        elif happening < 0.95:
            t = int(rng.choice(list(waiting)))
            learner.close(waiting[t], default=None)
            steps.close(t)
        else:
            assert state_of(learner._agent) == steps.state()
        waiting = {t: decision for t, decision in waiting.items() if t in steps.agent.open}
        assert learner.n_outstanding == len(learner.book) == len(waiting)
        assert learner.n_decisions == steps.t
    assert state_of(learner._agent) == steps.state()


def test_every_reader_sees_the_last_decision():
    learner = mb.Learner(mb.UniformMatroid(6, 2, labels="abcdef"), mb.OMM(), seed=0)
    for look in (
        lambda: [decision.id for decision in learner.outstanding],
        lambda: [id for id, _ in learner.book.times()],
        lambda: [each.id for each in learner.book.untold_before(99)],
        lambda: [decision.id for decision, _ in learner.book.oldest(9)],
        lambda: [id for id in range(99) if id in learner.book],
        lambda: [id for id in range(99) if learner.book.untold(id) is not None],
        lambda: [id for id in range(99) if learner.book.untouched(id) is not None],
        lambda: [decision.id for decision in mb.Learner.__copy__(learner).outstanding],
    ):
        decision = learner.ask()
        assert (learner.n_outstanding, look()) == (1, [decision.id])
        assert learner.estimates().waiting.sum() == 2
        learner.tell(decision, [0.0, 1.0])
        assert (learner.n_outstanding, look()) == (0, [])


def test_settings_that_change_between_a_decision_and_its_answer_hold():
    log = []
    learner = mb.Learner(mb.UniformMatroid(4, 2, labels="abcd"), mb.OMM(), seed=0)
    first = learner.ask()
    learner.record = log.append
    learner.tell(first, [0.5, 0.25])
    assert [event["event"] for event in log] == ["told"]
    second = learner.ask()
    learner.record = None
    learner.configure(policy=mb.KLOSM())
    with pytest.raises(FeedbackError, match=r"KLOSM\(.*\) needs weights in \[0, 1\], got 1.5"):
        learner.tell(second, [0.5, 1.5])
    learner.tell(second, [0.5, 1.0])
    third = learner.ask()
    learner.change(mb.UniformMatroid(5, 2, labels="xdcba"))
    learner.tell(third, dict.fromkeys(third.labels, 0.5))
    fourth = learner.ask()
    learner.tell(fourth, [0.5, 0.5])
    fifth = learner.ask()
    learner.restart()
    learner.tell(fifth, [1.0, 1.0])
    assert learner.estimates().counts.sum() == 0
    learner.configure(holdout=1.0)
    assert learner.ask().is_held_out


def test_a_warning_names_the_line_that_told():
    learner = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), seed=0)
    learner.tell(learner.ask(), [0.0, 1.0])
    with pytest.warns(ScaleWarning) as caught:
        learner.tell(learner.ask(), [0.0, 1000.0])
    assert caught[0].filename == __file__


def test_threads_share_a_learner():
    learner = mb.Learner(mb.UniformMatroid(30, 3), mb.OMM(), seed=0)

    def play():
        for _ in range(200):
            learner.tell(learner.ask(), [0.25, 0.5, 0.75])

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (learner.n_decisions, learner.n_outstanding, learner.n_steps) == (800, 0, 1600)
    assert learner.estimates().counts.sum() == 2400


def test_counting_at_once_equals_counting():
    rng = np.random.default_rng(3)
    states = [mb.State(mb.UniformMatroid(8, 3), n_runs=1) for _ in range(2)]
    for t in range(200):
        if t % 3 == 0:
            late = rng.permutation(8)[:2]
            for state in states:
                state.wait(np.zeros(2, np.int64), late)
        items, gains = np.sort(rng.permutation(8)[:3]), rng.normal(size=3) * 10.0 ** rng.integers(-8, 8)
        states[0].count(np.zeros(3, np.int64), items, gains, False)
        outside = statistics.answer_at_once(items, gains, -np.inf, np.median(gains), *states[1].answered)
        assert outside == np.flatnonzero(gains > np.median(gains))[0]
        assert statistics.answer_at_once(items, gains, -np.inf, np.inf, *states[1].answered) == -1
        for one, other in zip(*(state.answered for state in states), strict=True):
            assert one.tobytes() == other.tobytes()


def test_an_event_after_a_plain_decision_follows_it():
    log = []
    source = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), seed=0, id="a", record=log.append)
    for _ in range(2):
        source.ask()
    for trust in (False, True):
        learner = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), seed=0, id="a")
        learner.ask()
        learner.apply(log[2], trust=trust)
        assert learner.has_state_of(source)
