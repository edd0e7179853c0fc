"""Simulations of worlds that do not offer everything, and answer late or never."""

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
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import AVAILABILITY, DELAY, Stream
from samples import GRAPH, POLICIES, PROBLEM, TENTHS


class Outspoken(mb.AvailabilityEnvironment):
    """Says of every episode that everything is there, and of every answer that it comes at once."""

    def __init__(self, environment):
        super().__init__(environment, 1.0)

    def availability(self, stream, t):
        return np.ones((stream.n_runs, self.n_items), bool)

    def delays(self, stream, t, items):
        return np.zeros((stream.n_runs, items.shape[-1]), np.int64)


class Offering(Outspoken):
    """Only the first of these."""

    delays = Environment.delays


class Answering(Outspoken):
    """Only the second."""

    availability = Environment.availability


def flaky(world, chance=0.7):
    return mb.AvailabilityEnvironment(world, np.linspace(chance, 1.0, world.n_items))


def late(world):
    n = world.n_items
    return mb.DelayedEnvironment(world, np.arange(n) % 3, mean=np.linspace(0, 4, n), never=np.linspace(0.3, 0, n))


def simulate(problem, policies=POLICIES, **options):
    return mb.simulate(problem, policies, **{"n_episodes": 30, "n_runs": 4, "seed": 11} | options)


def problem_of(wrap, problem=PROBLEM):
    return mb.Problem(problem.constraint, wrap(problem.environment), problem.minimize)


# The plain path


@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize(
    "wrap",
    [
        Outspoken,
        Offering,
        Answering,
        lambda world: mb.AvailabilityEnvironment(world, 1.0),
        lambda world: mb.AvailabilityEnvironment(world, lambda stream, t: None),
        lambda world: mb.DelayedEnvironment(world, 0),
        lambda world: mb.DelayedEnvironment(world, lambda stream, t, items: np.zeros(items.shape, np.int64)),
    ],
    ids=["all", "available", "at once", "chance 1", "timetable", "delay 0", "schedule"],
)
def test_everything_at_once_is_the_plain_path(wrap, start):
    assert simulate(problem_of(wrap), start=start) == simulate(PROBLEM, start=start)


@settings(max_examples=30)
@given(pair=strategies.nested(), minimize=st.booleans(), seed=st.integers(0, 2**64 - 1))
def test_everything_at_once_is_the_plain_path_on_any_matroid(pair, minimize, seed):
    matroid, _ = pair
    plain = mb.Problem(matroid, mb.BernoulliEnvironment(np.resize(TENTHS, matroid.n_items)), minimize)
    options = {"policies": [mb.OMM(), mb.KLOSM()], "n_runs": 2, "seed": seed, "start": "explore"}
    for wrap in (Offering, Answering):
        assert simulate(problem_of(wrap, plain), **options) == simulate(plain, **options)


# The obvious model


@settings(max_examples=100)
@given(
    pair=strategies.nested(),
    minimize=st.booleans(),
    start=st.sampled_from(["observe", "explore"]),
    engine=st.sampled_from(["auto", "greedy"]),
    has_ties=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
    chances=st.lists(st.sampled_from([0.0, 0.3, 0.8, 1.0]), min_size=1, max_size=5),
    fixed=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    mean=st.sampled_from([0.0, 0.5, 6.0]),
    never=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_omm_plays_as_the_obvious_model(pair, minimize, start, engine, has_ties, seed, chances, fixed, mean, never):
    matroid, is_independent = pair
    n, n_runs, n_episodes = matroid.n_items, 2, 25
    means = np.resize(TENTHS, n)
    diary = reference.Diary(mb.BernoulliEnvironment(means) if has_ties else mb.GaussianEnvironment(means))
    world = mb.AvailabilityEnvironment(diary, np.resize(chances, n))
    world = mb.DelayedEnvironment(world, np.resize(fixed, n), mean=mean, never=never)
    problem = mb.Problem(matroid, world, minimize)
    result = mb.simulate(
        problem, [mb.OMM()], n_episodes=n_episodes, n_runs=n_runs, seed=seed, start=start, engine=engine
    )
    is_independent = reference.remembered(is_independent)
    choices, sign = np.zeros(n, np.int64), -1.0 if minimize else 1.0
    for run in range(n_runs):

        def available(t, run=run):
            mask = world.availability(Stream(seed, [run], AVAILABILITY), t)
            return list(range(n)) if mask is None else np.flatnonzero(mask[0]).tolist()

        def delays(t, items, run=run):
            found = world.delays(Stream(seed, [run], DELAY), t, np.array(items, np.int64))
            return np.zeros(len(items), np.int64) if found is None else found[0]

        draw = reference.weights_of(diary.world, seed, run)
        sets = reference.waiting_omm(
            n, is_independent, draw, n_episodes, available=available, delays=delays,
            minimize=minimize, scale=1.0, observe=start == "observe",
        )  # fmt: skip
        assert [sorted(diary.asked.get((run, t), [])) for t in range(1, n_episodes + 1)] == sets
        returns = regret = 0.0
        for t, A in enumerate(sets, 1):
            order = sorted(available(t), key=lambda e: (-sign * means[e], e))
            best = reference.greedy(order, is_independent)
            returns += added(draw(t, A).tolist())
            regret += sign * (added(means[best].tolist()) - added(means[A].tolist()))
            np.add.at(choices, np.array(A, np.int64), 1)
        assert result.final_returns[0, run] == returns
        assert result.final_regret[0, run] == regret
    assert result.choices[0].tolist() == choices.tolist()


def test_only_what_was_chosen_is_drawn_and_only_what_is_there_is_chosen():
    diary = reference.Diary(PROBLEM.environment)
    world = late(flaky(diary, chance=0.1))
    result = simulate(mb.Problem(GRAPH, world), [mb.OMM()])
    assert {len(set(items)) for items in diary.asked.values()} >= {2, 3, 4}
    for (run, t), items in diary.asked.items():
        mask = world.availability(Stream(11, [run], AVAILABILITY), t)[0]
        assert len(set(items)) == len(items)
        assert mask[items].all()
    assert sum(map(len, diary.asked.values())) == result.choices.sum()


def test_nothing_available():
    """In every other episode, in all runs or in one."""

    def hours(stream, t):
        return np.tile(((stream.runs > 0) | (t % 2 > 0))[:, None] & (t % 3 > 0), 8)

    problem = problem_of(lambda world: late(mb.AvailabilityEnvironment(world, hours)))
    result = simulate(problem, n_runs=2)
    assert (result.choices.sum(axis=1) == GRAPH.rank * (10 + 20)).all()
    closed = problem_of(lambda world: late(mb.AvailabilityEnvironment(world, 0.0)))
    result = simulate(closed)
    assert not result.choices.any()
    assert not result.final_returns.any()
    assert not result.final_regret.any()
    assert result.optimal_value == pytest.approx(0.0)


# Delays


@pytest.mark.parametrize("delay", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize(("n_items", "rank"), [(12, 4), (13, 4), (5, 5), (7, 1)])
def test_whatever_the_delay_everything_is_asked_for_in_time(n_items, rank, delay):
    problem = mb.Problem(
        mb.UniformMatroid(n_items, rank), mb.DelayedEnvironment(mb.BernoulliEnvironment([0.5] * n_items), delay)
    )
    in_time = math.ceil(n_items / rank)
    for n_episodes in {in_time, max(in_time - 1, 1)}:
        result = simulate(problem, [mb.OMM()], n_episodes=n_episodes, start="explore")
        assert (result.choices >= 4).all() == (n_episodes == in_time)  # in each of the 4 runs


def test_an_answer_that_never_comes_waits_for_ever():
    """As one that comes after the end."""
    for wrap in (
        lambda world: mb.DelayedEnvironment(world, never=1.0),
        lambda world: mb.DelayedEnvironment(world, 99),
    ):
        result = simulate(problem_of(wrap), {"OMM": mb.OMM()}, start="explore")
        assert result.choices.min() > 0  # it goes on exploring
        assert (result.final_returns > 0).all()  # returns count when the set is chosen, answered or not
    never, too_late = (simulate(problem_of(wrap)) for wrap in (
        lambda world: mb.DelayedEnvironment(world, never=1.0), lambda world: mb.DelayedEnvironment(world, 30)
    ))  # fmt: skip
    assert never == too_late


@pytest.mark.long
def test_late_answers_are_learnt_in_the_end():
    policies = {"OMM": mb.OMM(0.3), "KLOSM": mb.KLOSM(), "normal": mb.ThompsonSampling("normal", noise=0.3)}
    problem = problem_of(lambda world: mb.DelayedEnvironment(world, 50, mean=20, never=0.2))
    options = {"n_episodes": 2000, "n_runs": 8, "start": "explore"}
    result = simulate(problem, policies | {"chance": mb.UniformRandom()}, **options)
    *learnt, chance = result.regret[:, -1]
    assert max(learnt) < chance / 3


def test_memory_is_bounded_by_what_waits(monkeypatch):
    open_plays = []

    class Counted(Agent):
        def decide(self, request):
            play = super().decide(request)
            open_plays.append(len(self.open))
            assert all(each.request.available is None for each in self.open.values() if each is not play)
            return play

    monkeypatch.setattr("matroid_bandits.simulation._play.Agent", Counted)
    world = mb.DelayedEnvironment(flaky(PROBLEM.environment, chance=0.2), 3, never=0.5)
    simulate(mb.Problem(GRAPH, world), [mb.OMM()], n_episodes=200, n_runs=3)
    assert max(open_plays) == 4  # those of the last three episodes, and the new one


# A run's numbers are a function of (seed, run)


@pytest.fixture(scope="module")
def hard():
    return problem_of(lambda world: late(flaky(world)))


@pytest.fixture(scope="module")
def race(hard):
    return simulate(hard)


def test_slices_do_not_change_a_run(hard, race, monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation._jobs._MAX_SLICE_CELLS", 8)
    assert simulate(hard) == race


@pytest.mark.parametrize("n", [1, 3])
def test_threads_do_not_change_a_run(hard, race, monkeypatch, n):
    for module in ("matroid_bandits._util.threads", "matroid_bandits.simulation._executors"):
        monkeypatch.setattr(f"{module}.n_threads", lambda: n)
    assert simulate(hard) == race


def test_processes_do_not_change_a_run(hard, race):
    pytest.importorskip("joblib")
    assert simulate(hard, executor=2) == race


def test_the_order_of_wrappers_does_not_matter(race):
    assert simulate(problem_of(lambda world: flaky(late(world)))) == race


@pytest.mark.parametrize("engine", ["greedy", "kinetic"])
def test_engines_agree(engine):
    world = late(flaky(mb.BernoulliEnvironment(np.resize(TENTHS, 40))))
    problem = mb.Problem(mb.PartitionMatroid(np.arange(40) % 5, dict.fromkeys(range(5), 2)), world)
    expected = simulate(problem, [mb.OMM()], n_episodes=100)
    assert simulate(problem, [mb.OMM()], n_episodes=100, engine=engine) == expected


# Regret


@pytest.mark.parametrize("minimize", [False, True])
def test_whoever_plays_the_best_available_set_has_no_regret(minimize):
    """Weights without noise, all seen before the first episode."""
    world = mb.GaussianEnvironment(np.array([0.1, 0.7, 0.2, 0.9, 0.3, 0.4, 0.6, 0.8]), noise=0.0)
    problem = mb.Problem(GRAPH, flaky(world, chance=0.1), minimize)
    result = simulate(problem, {"best": mb.OMM(0.0), "chance": mb.UniformRandom()}, n_episodes=200)
    best, chance = result.final_regret
    assert (best == 0.0).all()
    assert (chance > 0.0).all()
    # the optimum per step is that of what was there
    assert result.optimal_value == pytest.approx(result.per_step_return[0, -1], rel=1e-12)
    assert result.optimal_value != problem.optimal_value


# What a simulation refuses


class Broken(Environment):
    def __init__(self, mask=None, delays=None):
        super().__init__([0.5, 0.5, 0.5])
        self.mask, self.late = mask, delays

    def draw(self, stream, t, items):
        return np.zeros((stream.n_runs, items.shape[-1]))

    def availability(self, stream, t):
        return self.mask

    def delays(self, stream, t, items):
        return self.late


@pytest.mark.parametrize("wrap", [lambda world: world, flaky, late], ids=["bare", "flaky", "late"])
@pytest.mark.parametrize(
    ("world", "message"),
    [
        (Broken([True] * 3), r"Broken\.availability to give bool of shape \(2, 3\), or None; got list"),
        (Broken(np.ones(3, bool)), r"Broken\.availability .* got bool of shape \(3,\)"),
        (Broken(np.ones((2, 3))), r"Broken\.availability .* got float64 of shape \(2, 3\)"),
        (Broken(delays=5), r"Broken\.delays to give int64 of shape \(2, 0\), or None; got int"),
        (Broken(delays=np.zeros((2, 0))), r"Broken\.delays .* got float64 of shape \(2, 0\)"),
        (Broken(delays=np.zeros((2, 0), np.int64)), r"Broken\.delays .* got int64 of shape \(2, 0\)"),
    ],
)
def test_broken_worlds(world, message, wrap, monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation._executors.n_threads", lambda: 1)
    with pytest.raises(InvalidEnvironmentError, match=message):
        simulate(mb.Problem(mb.UniformMatroid(3, 1), wrap(world)), [mb.OMM()], n_runs=2)
