"""Threads for what enters Python: as many as pay, by measurement, and the same numbers however runs are parted."""

import dataclasses
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.threads import n_threads
from matroid_bandits.compiled import Settings, Slice
from matroid_bandits.simulation import _execute, _sharing, _sweep, _worker
from matroid_bandits.simulation._cutting import Job
from matroid_bandits.simulation._play import Game, can_be_parted
from matroid_bandits.simulation._sharing import WAIT_S, Sharing, search
from reference import Watched
from sweep_worlds import files

COINS = mb.BernoulliEnvironment([0.1, 0.3, 0.5, 0.6, 0.7, 0.9])
GRAPH = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (3, 4)])
EAGER = mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)


class Replacing(mb.Policy):
    """Keeps something of every kind, writes to it in place or replaces it, and looks at all of it."""

    memory = (mb.Memory("seen"), mb.Memory("total", "run"), mb.Memory("clock", "time", shape=(2,)))

    def indices(self, state, request):
        return state.means + state.extra["seen"] / (1.0 + state.extra["total"])[:, None] + state.extra["clock"][:, :1]

    def observe(self, state, feedback):
        state.extra["seen"][feedback.runs, feedback.items] += 0.25
        state.extra["total"] = state.extra["total"] + 1.0

    def advance(self, state, request):
        state.extra["clock"] = state.extra["clock"] + [1.0, 2.0]


class Prepared(mb.Policy):
    """Prepares an array for the constraint that is as long as there are runs."""

    tries_unseen = False

    def prepare(self, constraint):
        return np.linspace(0.0, 1.0, 7)

    def indices(self, state, request):
        return np.tile(state.prepared[:6], (state.n_runs, 1))


GAMES = {
    "as many numbers as runs": (mb.UniformMatroid(6, 2), COINS, Prepared()),
    "thresholds": (mb.UniformMatroid(6, 2), COINS, mb.OMM()),
    "warm orders": (GRAPH, COINS, mb.KLOSM()),
    "restarts": (mb.UniformMatroid(6, 2), COINS, mb.Restarting(mb.OMM(0.4), EAGER)),
    "own memory": (GRAPH, COINS, Replacing()),
    "moving": (GRAPH, mb.DriftingEnvironment(COINS, amplitude=0.1, period=20), mb.DiscountedOMM(0.9)),
    "absence": (mb.UniformMatroid(6, 2), mb.AvailabilityEnvironment(COINS, 0.7), mb.ThompsonSampling()),
    "features": (
        mb.UniformMatroid(6, 2),
        mb.ContextualEnvironment(np.full((6, 3), 0.2), np.linspace(-1.0, 1.0, 3)),
        mb.CombLinUCB(n_features=3),
    ),
}


def settings_of(name, n_episodes=60, by_run=False):
    matroid, world, _ = GAMES[name]
    problem = mb.Problem(matroid, world, minimize=name == "own memory")
    return Settings(problem, n_episodes, 9, 5, "observe", np.array([1, 7, 33, n_episodes]), "auto", by_run)


def assert_same(part, other):
    for field in dataclasses.fields(part):
        if field.name == "seconds":  # no part of what was found
            continue
        assert np.array_equal(getattr(part, field.name), getattr(other, field.name)), field.name


@pytest.mark.parametrize("by_run", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_runs_that_go_on_in_parts_give_the_same_bits(name, by_run):
    settings, policy = settings_of(name, by_run=by_run), GAMES[name][2]
    assert can_be_parted(settings, policy)
    slice, tick = Slice("x", policy, 2, 9), lambda n: False
    whole, parted = Game(slice, settings), Game(slice, settings)
    whole.play(60, tick)
    for until, n in ((1, 1), (7, 3), (8, 7), (33, 2), (50, 1), (60, 4)):
        parts = parted.parts(n)
        for part in reversed(parts):
            part.play(until, tick)
        parted.rejoin(parts)
    assert_same(parted.result(), whole.result())


def test_late_answers_and_arrays_that_grow_are_not_parted():
    late = mb.Problem(mb.UniformMatroid(6, 2), mb.DelayedEnvironment(COINS, 5))
    settings = settings_of("thresholds")
    assert not can_be_parted(dataclasses.replace(settings, problem=late), mb.OMM())
    assert not can_be_parted(settings, mb.SlidingWindowOMM(5))


def restless(trial, alone, n, took, n_next, most):
    """In place of `search`: tries numbers of parts one after the other."""
    for number in (3, 1, most, 2):
        trial(min(number, most), took)
    return min(4, most), took


@pytest.fixture
def five_threads(monkeypatch):
    """All is measured, on five threads of however many cores."""
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setattr(_execute, "n_threads", lambda: 5)
    monkeypatch.setattr(_sharing, "_FIRST_S", 0.0)
    monkeypatch.setattr(_sharing, "_SHORT_S", 0.0)
    monkeypatch.setattr(_sharing, "_HOLDS", 0.0)
    monkeypatch.setattr(_sharing, "search", restless)


@pytest.mark.usefixtures("five_threads")
@pytest.mark.parametrize("name", ["own memory", "restarts"])
def test_what_is_measured_is_played_once(name):
    matroid, world, policy = GAMES[name]
    watched = Watched(world)
    counts = []
    arguments = {"n_episodes": 300, "n_runs": 8, "seed": 2, "checkpoints": [10, 300], "engine": "greedy"}
    found = mb.simulate(
        mb.Problem(matroid, watched), {"a": policy, "b": mb.OMM()}, **arguments, progress=lambda *n: counts.append(n)
    )
    expected = mb.simulate(mb.Problem(matroid, world), {"a": policy, "b": mb.OMM()}, **arguments, executor=1)
    assert np.array_equal(found.regret, expected.regret)
    assert np.array_equal(found.choices, expected.choices)
    assert {run: len(bases) for run, bases in watched.bases.items()} == dict.fromkeys(range(8), 2 * 300)
    assert counts[-1] == (2 * 8 * 300,) * 2
    assert counts == sorted(counts)


class Counting(mb.Policy):
    """Takes note of how many runs each call has, and in which thread."""

    kind = "counting"

    def __init__(self):
        super().__init__()
        self.sizes, self.threads = set(), set()

    def indices(self, state, request):
        self.sizes.add(state.n_runs)
        self.threads.add(threading.get_ident())
        return state.means


@pytest.mark.usefixtures("five_threads")
def test_a_number_of_threads_that_is_set_is_the_most(monkeypatch):
    monkeypatch.setattr(_execute, "n_threads", n_threads)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    policy = Counting()
    mb.simulate(mb.Problem(mb.UniformMatroid(6, 2), COINS), policy, n_episodes=200, n_runs=6, seed=1)
    assert max(policy.sizes) == 6
    assert min(policy.sizes) == 2


def test_an_executor_of_threads_has_as_many_as_it_has():
    policy = Counting()
    with ThreadPoolExecutor(3) as pool:
        mb.simulate(
            mb.Problem(mb.UniformMatroid(6, 2), COINS), policy, n_episodes=200, n_runs=6, seed=1, executor=pool
        )
    assert policy.sizes == {2}


@pytest.mark.usefixtures("five_threads")
def test_a_sweep_with_a_store_shares_threads_by_the_same_rule(tmp_path, monkeypatch):
    """Jobs that enter Python begin in one thread, whole, and are cut into slices only where they take long."""
    problem = mb.Problem(mb.UniformMatroid(6, 2), COINS)
    monkeypatch.setattr(_worker, "_PROBE_S", 0.0)
    for slice_s, n_slices in ((3.0, 1), (1e-9, 6)):
        monkeypatch.setattr(_sweep, "SLICE_S", slice_s)
        store, policy, counts = tmp_path / str(slice_s), Counting(), []
        mb.sweep(
            problem,
            policy,
            n_episodes=200,
            n_runs=6,
            seed=1,
            store=store,
            progress=lambda *n: counts.append(n),  # noqa: B023
        )
        assert [len(names) for names in files(store).values()] == [n_slices]
        assert {6, 2} <= policy.sizes  # whole, then in three parts
        assert counts[-1] == (1200, 1200)


OWN = {"OMM": mb.OMM(), "chance": mb.UniformRandom(), "own": Counting()}


@pytest.mark.compiled
@pytest.mark.usefixtures("five_threads")
def test_short_jobs_are_cut_into_few_slices():
    """To begin a slice of compiled episodes takes Python, for which others would wait."""
    problem = mb.Problem(mb.PartitionMatroid(np.arange(1000) // 100), mb.BernoulliEnvironment(np.full(1000, 0.5)))
    mb.compiled.warm_up(problem, OWN)
    for n_episodes, n_slices in ((50, 1), (500, 2), (100_000, 5)):
        settings = Settings(problem, n_episodes, 20, 1, "observe", np.array([n_episodes]), "auto")
        jobs = [Job(name, settings, name, policy, 0, 20) for name, policy in OWN.items()]
        assert [_execute._cut(job, 5).n_slices for job in jobs] == [n_slices, n_slices, 1]
        assert [_execute._cut(job, 5).shrinks for job in jobs] == [n_episodes == 100_000] * 2 + [False]
        if n_episodes < 1000:
            found = [(job.key, part.engine) for job, part in _execute.run_jobs(jobs)]
            assert sorted(found) == sorted(
                [(name, "compiled") for name in ("OMM", "chance")] * n_slices + [("own", "agent")]
            )


def test_other_slices_use_the_threads_that_are_left(monkeypatch):
    """And wait while the first slice that enters Python is measured."""
    monkeypatch.setattr(_sharing, "_FIRST_S", 0.0)
    monkeypatch.setattr(_sharing, "_SHORT_S", math.inf)
    assert Sharing(16, 0).n_free == math.inf
    seen, policy = [], Counting()
    sharing = Sharing(16, 1, lambda: False)

    def report(n):
        seen.append(sharing.n_free)

    play = sharing.reserve(Slice("x", policy, 0, 9), settings_of("thresholds"), math.inf, report, lambda: False)
    assert sharing.n_free == 0
    play()
    assert seen[-1] == 15
    assert sharing.n_free == math.inf
    sharing.close()


class Failing(mb.Policy):
    def indices(self, state, request):
        if request.episode == 150 and 6 in request.stream.runs:
            raise ZeroDivisionError("in run 6")
        return state.means


@pytest.mark.usefixtures("five_threads")
def test_an_error_in_a_part_is_the_policys_own_and_says_where():
    problem = mb.Problem(mb.UniformMatroid(6, 2), COINS)
    with pytest.raises(ZeroDivisionError, match="in run 6") as caught:
        mb.simulate(problem, {"mine": Failing()}, n_episodes=400, n_runs=8, seed=1)
    assert any("policy 'mine', run" in note and "episode 150" in note for note in caught.value.__notes__)


#: Millions of episodes a second of jobs that an `Agent` plays, on 1, 2, 4, 8 and 16 threads of 16 cores; their runs.
MEASURED = {
    "graph of 972 edges, few runs": (0.042, 0.074, 0.128, 0.078, 0.038, 100),
    "graph of 972 edges": (0.037, 0.060, 0.122, 0.242, 0.234, 2000),
    "graph of 153 edges, few runs": (0.172, 0.257, 0.190, 0.088, 0.020, 100),
    "graph of 153 edges": (0.147, 0.285, 0.546, 0.771, 0.416, 2000),
    "10 of 1,000, few runs": (0.165, 0.247, 0.253, 0.128, 0.049, 100),
    "10 of 1,000": (0.139, 0.260, 0.491, 0.798, 0.559, 2000),
    "one of each of 10 blocks, few runs": (0.289, 0.404, 0.282, 0.157, 0.051, 100),
    "one of each of 10 blocks": (0.207, 0.450, 0.874, 1.317, 0.565, 2000),
    "matchings": (0.189, 0.303, 0.180, 0.085, 0.047, 100),
    "vectors": (0.073, 0.107, 0.156, 0.083, 0.014, 100),
    "a policy in NumPy, few runs": (0.087, 0.120, 0.083, 0.026, 0.014, 100),
    "a policy in NumPy": (0.113, 0.256, 0.459, 0.618, 0.198, 2000),
    "very few runs": (0.155, 0.101, 0.042, 0.015, 0.011, 20),
}


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("name", MEASURED)
def test_threads_are_as_many_as_pay(name, noise):
    """At least nine tenths of the best number's speed, of every series; few numbers are tried."""
    *rates, n_runs = MEASURED[name]
    times = [n_runs / rate / 1e6 for rate in rates]
    rng, tried = np.random.default_rng(1), []

    def seconds(n):
        return math.exp(np.interp(math.log(n), np.log([1, 2, 4, 8, 16]), np.log(times)))

    def trial(n, took):
        tried.append(n)
        return seconds(n) * math.exp(noise * rng.normal())

    n_next = max(2, round(math.sqrt(times[0] / WAIT_S)))
    n, _ = search(trial, times[0], 1, times[0], n_next, 16)
    assert seconds(n) * 0.9 <= min(times)
    assert len(tried) <= 4
    again, _ = search(trial, times[0], n, seconds(n), n + max(1, n // 2), 16)
    assert seconds(again) * 0.9 <= min(times)


def test_jobs_at_once_are_as_many_as_the_interpreter_lets_play():
    for alone, n_jobs, expected in ((1e-4, 40, 1), (1e-3, 40, 4), (1.0, 40, 16), (1.0, 3, 3)):
        sharing = Sharing(16, n_jobs)
        assert sharing.n_at_once == 1
        sharing.measured(alone, alone, 10)
        assert sharing.n_at_once == expected


def test_processes_are_for_long_jobs_alone():
    asked = []
    for n_left in (1000, 100_000):
        Sharing(16, 1, lambda n_left=n_left: asked.append(n_left)).measured(2e-3, 1e-3, n_left)
    assert asked == [100_000]


def test_runs_without_items_are_parted_too():
    assert mb.State(mb.UniformMatroid(0, 0), n_runs=4).rows(slice(1, 2)).counts.shape == (1, 0)
