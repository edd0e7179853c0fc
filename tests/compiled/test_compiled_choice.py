"""When episodes are compiled, why, and what the caller sees of it: markers, fallbacks, progress, results."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import matroid_bandits as mb
from compiled_cases import kernels, play_compiled, settings_of  # noqa: F401 - a fixture
from matroid_bandits import compiled
from matroid_bandits.compiled import (
    Misfit,
    ProblemForms,
    Schedule,
    Settings,
    Slice,
    Stopped,
    _background,
    _choice,
    _costs,
    _ready,
)
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import compiling
from matroid_bandits.simulation._play import play

IS_INTERPRETED = compiling._chosen_tier() == "interpreted"
needs_compiler = pytest.mark.skipif(IS_INTERPRETED, reason="nothing is compiled")
COINS = mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1])
PROBLEM = mb.Problem(mb.UniformMatroid(4, 2), COINS)
LONG = {"n_episodes": 10**6, "n_runs": 10**6}


class Own(mb.OMM):
    """OMM that keeps lines of its own."""

    def lines(self, state):
        return state.means, state.radii


class Renamed(mb.OMM):
    """OMM with another coefficient, which its compiled form asks for."""

    def coefficient(self, state, request):
        return 1.0 / request.episode


class Moody(mb.EpsilonGreedy):
    """Epsilon-greedy that need not try everything."""

    tries_unseen = False


class Shifted(mb.BernoulliEnvironment):
    """Coins that pay 1 or 2."""

    def draw_around(self, stream, t, items, means):
        return 1.0 + super().draw_around(stream, t, items, means)


class Slow(mb.DelayedEnvironment):
    """Delays that are twice as long."""

    def delays(self, stream, t, items):
        return 2 * super().delays(stream, t, items)


class Backwards(mb.UniformMatroid):
    """Takes the last of an order."""

    def best_sets(self, weights, *, available=None, pinned=None):
        return super().best_sets(-weights, available=available, pinned=pinned)


class Late(mb.AffinePolicy):
    """Its coefficient looks at the state, but not in the first episodes."""

    def coefficient(self, state, request):
        return 0.5 if request.episode > 40 and state.n_runs else 0.0


class Failing(mb.AffinePolicy):
    """Its coefficient has a limited number of episodes."""

    def coefficient(self, state, request):
        return ([0.5] * 40)[request.episode - 1]


@pytest.mark.parametrize(
    ("problem", "policy", "words"),
    [
        (PROBLEM, mb.FixedSet([0]), "FixedSet has no compiled form"),
        (PROBLEM, mb.Restarting(mb.OMM()), "Restarting has no compiled form"),
        (PROBLEM, Own(), "Own has lines() of its own, which its compiled form does not know"),
        (PROBLEM, Moody(), "Moody has tries_unseen of its own, which its compiled form does not know"),
        (mb.Problem(mb.UniformMatroid(2, 1), Shifted([0.1, 0.2])), mb.OMM(), "Shifted has draw_around() of its own"),
        (mb.Problem(Backwards(4, 2), COINS), mb.OMM(), "Backwards has best_sets() of its own"),
        (mb.Problem(mb.UniformMatroid(4, 0), COINS), mb.OMM(), "a matroid of rank 0 leaves nothing to choose"),
        (
            mb.Problem(mb.UniformMatroid(4, 2), mb.AvailabilityEnvironment(COINS, 0.5)),
            mb.OMM(),
            "AvailabilityEnvironment has no compiled form",
        ),
        (
            mb.Problem(mb.UniformMatroid(4, 2), mb.DelayedEnvironment(COINS, lambda stream, t, items: 0 * items)),
            mb.OMM(),
            "the delays of DelayedEnvironment are a function, which has no compiled form",
        ),
        (
            mb.Problem(mb.UniformMatroid(4, 2), Slow(COINS, 2)),
            mb.OMM(),
            "Slow has delays() of its own, which its compiled form does not know",
        ),
    ],
)
@needs_compiler
def test_what_has_no_compiled_form_is_named(problem, policy, words):
    engine, why = compiled.explain(problem, {"it": policy}, **LONG)["it"]
    assert engine == "agent"
    assert words in why
    with pytest.raises(Misfit, match=words.split("(")[0]):
        ProblemForms(problem).check(policy, 10)


def test_what_a_declaration_asks_for_may_be_overridden():
    ProblemForms(PROBLEM).check(Renamed(), 10)
    assert ProblemForms(PROBLEM).schedule(Renamed()).rows(1, 3)[:, 0].tolist() == [1.0, 0.5, 1.0 / 3.0]


def test_coefficients_are_kept_for_the_next_simulation_of_an_equal_policy(monkeypatch):
    problem = mb.Problem(mb.UniformMatroid(4, 2), COINS)
    first = ProblemForms(problem).schedule(mb.OMM())
    assert ProblemForms(problem).schedule(mb.OMM()) is first
    assert ProblemForms(problem).schedule(mb.OMM(0.5)) is not first
    assert ProblemForms(mb.Problem(mb.UniformMatroid(4, 2), COINS)).schedule(mb.OMM()) is not first
    assert ProblemForms(problem).schedule(Renamed()) is not ProblemForms(problem).schedule(Renamed())
    for scale in range(1, 10):
        ProblemForms(problem).schedule(mb.OMM(scale / 16))
    assert ProblemForms(problem).schedule(mb.OMM()) is not first  # only the most recent ones
    monkeypatch.setattr(Schedule, "MOST_KEPT", 100)
    long = ProblemForms(problem).schedule(mb.OMM())
    assert long.rows(1, 200)[199, 0] == first.rows(1, 200)[199, 0]
    assert ProblemForms(problem).schedule(mb.OMM()) is not long


@needs_compiler
def test_more_episodes_than_kernels_count():
    assert "are more than kernels count" in compiled.explain(PROBLEM, mb.OMM(), n_episodes=2**31, n_runs=1)["OMM"][1]


@pytest.fixture
def facts(monkeypatch):
    """What is known of the kernels, to be changed; nothing was played so far."""
    known = {"is_loaded": False, "is_cached": False, "can_be_cached": True}
    for name in known:
        monkeypatch.setattr(_ready, name, lambda kernel, name=name: known[name])
    monkeypatch.setattr(_choice, "_played", {})
    monkeypatch.setitem(_costs.KERNEL_COSTS, "play_quotas", _costs.KernelCost(load=0.3, compile=20.0))
    return known


def asked(**size):
    return compiled.explain(PROBLEM, mb.OMM(), **({"n_episodes": 100, "n_runs": 10} | size))["OMM"]


@needs_compiler
def test_why_episodes_are_compiled_or_not(facts, monkeypatch):
    assert asked() == ("agent", "the simulations so far are shorter than it takes to compile the kernel")
    assert asked(**LONG) == ("compiled", "the simulation is long enough to compile the kernel first")
    monkeypatch.setenv("MATROID_BANDITS_BACKGROUND", "1")
    assert asked(**LONG) == ("agent", "the kernel is not on disk yet; a child process compiles it")
    facts["can_be_cached"] = False
    assert asked(**LONG)[0] == "agent"
    assert "NUMBA_CACHE_DIR" in asked(**LONG)[1]
    facts |= {"can_be_cached": True, "is_cached": True}
    assert asked() == ("agent", "the simulations so far are shorter than it takes to load the kernel")
    assert asked(**LONG) == ("compiled", "the kernel is on disk")
    facts["is_loaded"] = True
    assert asked() == ("compiled", "the kernel is compiled")
    assert asked(engine="greedy") == ("agent", "an engine was named")


@needs_compiler
def test_a_kernel_is_loaded_where_an_agent_takes_longer_than_loading_and_compiled_episodes(facts):
    """The first size is 0.01 s of an agent, the last 50 s; whatever the number of cores."""
    facts["is_cached"] = True
    load = _costs.kernel_cost("play_quotas").load
    for n_episodes, n_runs in ((100, 10), (1000, 100), (10_000, 100), (10**6, 50)):
        agent = n_episodes * _costs.agent_seconds(PROBLEM, n_runs)
        sooner = agent > load + n_episodes * _costs.compiled_seconds(PROBLEM, n_runs)
        assert asked(n_episodes=n_episodes, n_runs=n_runs)[0] == ("compiled" if sooner else "agent")


@needs_compiler
def test_what_was_played_before_counts(facts):
    """Of many short simulations one loads the kernel, and what agents have lost by then is what loading takes."""
    facts["is_cached"] = True
    load = _costs.kernel_cost("play_quotas").load
    n = 0
    while asked()[0] == "agent":
        _choice._played["play_quotas"] = _choice._played.get("play_quotas", 0.0) + 0.01
        n += 1
    assert load / 0.01 < n < 3 * load / 0.01
    facts["is_cached"] = False
    assert asked()[0] == "agent"


class Clock:
    """A clock that a test turns."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def rival_of(monkeypatch, n_episodes=1000):
    clock, begun = Clock(), []
    monkeypatch.setattr(_choice, "playing_time", clock)
    monkeypatch.setattr(_choice, "begin", lambda kernel, *_: begun.append(kernel))
    settings = Settings(PROBLEM, n_episodes, 10, 1, "observe", np.array([n_episodes]))
    return clock, begun, compiled.Rival(Slice("OMM", mb.OMM(), 0, 10), settings)


@needs_compiler
def test_an_agent_leaves_a_slice_to_a_kernel_that_is_done_before_it(facts, monkeypatch):
    clock, begun, rival = rival_of(monkeypatch)
    clock.now = 1.0
    assert not rival.is_sooner(1000)  # a tenth in a second: 9 more, less than it takes to compile
    assert begun == []
    assert _choice._played == {"play_quotas": 1.0}
    facts["is_cached"] = True
    clock.now = 1.05
    assert not rival.is_sooner(0)  # a look every tenth of a second
    clock.now = 2.0
    assert rival.is_sooner(1000)  # 8 s more, or 0.3 to load and 5.3 from the start
    clock.now = 6.0
    assert not rival.is_sooner(4000)  # 4 s more
    assert _choice._played == {"play_quotas": 6.0}


@needs_compiler
def test_a_child_compiles_what_takes_less_time_than_the_agent_has_left(facts, monkeypatch):
    clock, begun, rival = rival_of(monkeypatch)
    clock.now = 30.0
    assert not rival.is_sooner(1000)
    assert begun == ["play_quotas"]
    _, begun, _ = rival_of(monkeypatch, 10**8)  # known before it begins
    assert begun == ["play_quotas"]
    facts["is_cached"] = True
    _, begun, _ = rival_of(monkeypatch, 10**8)
    assert begun == []


def test_what_has_no_compiled_form_has_no_rival(monkeypatch):
    settings = Settings(PROBLEM, 10, 10, 1, "observe", np.array([10]))
    rival = compiled.Rival(Slice("fixed", mb.FixedSet([0, 1]), 0, 10), settings)
    monkeypatch.setattr(_ready, "is_loaded", lambda kernel: True)
    assert not rival.is_sooner(50)


@needs_compiler
def test_a_slice_changes_hands_with_the_same_bits(monkeypatch):
    """After some episodes of an agent a kernel plays the slice from its first; progress goes on where it was."""
    settings = Settings(PROBLEM, 600, 4, 1, "observe", np.array([300, 600]))
    slice, seen = Slice("OMM", mb.OMM(), 0, 4), []
    mb.warm_up(PROBLEM, mb.OMM())
    compiled_part = play(slice, settings, lambda n: False)
    monkeypatch.setattr(compiled, "choose", lambda *_: ("agent", "for a test"))
    agent_part = play(slice, settings, lambda n: False)
    monkeypatch.setattr(compiled.Rival, "is_sooner", lambda self, n: sum(seen) > 1000)
    part = play(slice, settings, lambda n: bool(seen.append(n)))
    assert (compiled_part.engine, agent_part.engine, part.engine) == ("compiled", "agent", "compiled")
    assert sum(seen) == 2400
    for other in (compiled_part, agent_part):
        assert np.array_equal(part.regret, other.regret)
        assert np.array_equal(part.choices, other.choices)


def test_a_child_takes_a_call_and_says_its_processor_time(monkeypatch, tmp_path):
    """Of a policy without a kernel, so nothing is compiled; while another process compiles, there is less to do."""
    monkeypatch.setenv("MATROID_BANDITS_BACKGROUND", "1")
    monkeypatch.setattr(_background, "_tried", set())
    _background.begin("none", PROBLEM, mb.FixedSet([0, 1]), tmp_path)
    [thread] = [each for each in threading.enumerate() if each.name == "matroid-bandits-compiler"]
    thread.join()
    assert (seconds := compiled.compiling()["none"]) > 0.0
    _background.begin("none", PROBLEM, mb.FixedSet([0, 1]), tmp_path)
    assert compiled.compiling()["none"] == seconds  # done once
    _background.begin("unsendable", PROBLEM, Unsendable(), tmp_path)
    assert "unsendable" not in compiled.compiling()


class Unsendable(mb.OMM):
    """Cannot be sent to another process."""

    def __reduce__(self):
        raise TypeError("not to be sent")


def test_no_child_is_started_where_that_is_forbidden(monkeypatch, tmp_path):
    monkeypatch.setattr(_background, "_tried", set())
    _background.begin("forbidden", PROBLEM, mb.FixedSet([0, 1]), tmp_path)
    assert "forbidden" not in compiled.compiling()


@needs_compiler
@pytest.mark.long
@pytest.mark.compiled
def test_a_kernel_that_is_not_on_disk_is_compiled_while_an_agent_plays(tmp_path):
    code = """
import matroid_bandits as mb
import threading
from matroid_bandits.compiled import _costs
coins = mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1])
problem = mb.Problem(mb.UniformMatroid(4, 2), coins)
_costs.KERNEL_COSTS["play_quotas"] = _costs.KernelCost(0.01, 0.01)
size = {"n_episodes": 20_000, "n_runs": 10, "seed": 1}
before = mb.simulate(problem, mb.OMM(), **size)
[child] = [thread for thread in threading.enumerate() if thread.name == "matroid-bandits-compiler"]
child.join()
after = mb.simulate(problem, mb.OMM(), **size)
print(before.engine, after.engine, before == after, mb.compiled.compiling()["play_quotas"] > 1.0)
"""
    environment = os.environ | {"MATROID_BANDITS_BACKGROUND": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "('agent',) ('compiled',) True True\n"


def test_without_a_compiler_an_agent_plays(monkeypatch):
    monkeypatch.setattr(_ready, "is_interpreted", lambda: True)
    assert compiled.explain(PROBLEM, mb.OMM(), **LONG)["OMM"][0] == "agent"


@needs_compiler
def test_results_say_how_they_were_found_and_files_keep_it(tmp_path):
    policies = {"OMM": mb.OMM(), "fixed": mb.FixedSet([0, 1])}
    settings = {"n_episodes": 30, "n_runs": 3, "seed": 1}
    result = mb.simulate(PROBLEM, policies, **settings)  # the kernel is compiled in this process
    assert result.engine == ("compiled", "agent")
    assert result["fixed"].engine == "agent"
    named = mb.simulate(PROBLEM, policies, engine="greedy", **settings)
    assert named.engine == ("agent", "agent")
    assert result == named
    result.save(tmp_path / "result.npz")
    assert mb.SimulationResult.load(tmp_path / "result.npz").engine == result.engine
    object.__setattr__(result, "engine", ("compiled",))
    with pytest.raises(mb.exceptions.SerializationError, match="expected engine to be a word for each policy"):
        result.save(tmp_path / "other.npz")


@needs_compiler
@pytest.mark.parametrize("policy", [Late(), Failing()])
def test_a_coefficient_that_turns_out_not_to_fit_is_played_by_an_agent(policy):
    seen = []
    settings = {"n_episodes": 90, "n_runs": 3, "seed": 1, "progress": lambda done, total: seen.append((done, total))}
    if isinstance(policy, Failing):
        with pytest.raises(IndexError) as caught:
            mb.simulate(PROBLEM, policy, **settings)
        assert any("episode 41" in note for note in caught.value.__notes__)
        return
    result = mb.simulate(PROBLEM, policy, **settings)
    assert result.engine == ("agent",)
    assert seen[-1] == (270, 270)
    assert result == mb.simulate(PROBLEM, policy, engine="greedy", **settings)


def test_a_slice_that_is_stopped_stops():
    played = []

    def tick(n):
        played.append(n)
        return len(played) == 2

    settings = Settings(PROBLEM, 500, 4, 1, "observe", np.array([500]))
    with pytest.raises(Stopped):
        compiled.play(Slice("OMM", mb.OMM(), 0, 4), settings, tick)
    assert sum(played) < 4 * 500


def test_progress_adds_up_and_ends_where_the_world_changes():
    played = []
    world = mb.PiecewiseEnvironment([COINS, COINS], [5])
    settings = Settings(mb.Problem(mb.UniformMatroid(4, 2), world), 30, 3, 1, "observe", np.array([30]))
    compiled.play(Slice("OMM", mb.OMM(), 0, 3), settings, lambda n: bool(played.append(n)))
    assert sum(played) == 90
    assert played[0] == 4


def test_weights_beyond_all_bounds_are_refused_as_an_agent_refuses_them():
    problem = mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([0.0, 0.0], noise=1e200))
    settings = Settings(problem, 5, 2, 1, "observe", np.array([3, 5]))
    with pytest.raises(InvalidEnvironmentError, match=r"expected weights of at most 1e\+100 in size; got others by"):
        compiled.play(Slice("OMM", mb.OMM(), 0, 2), settings, lambda n: False)


def test_settings_are_sent_without_what_was_made_of_them():
    import pickle

    settings = settings_of(("uniform", "OMM", "bernoulli", "observe", False), 9, 4, 2)
    play_compiled(mb.OMM(), settings)
    assert "forms" in vars(settings)
    assert "forms" not in vars(pickle.loads(pickle.dumps(settings)))


@needs_compiler
def test_after_warming_up_short_simulations_are_compiled():
    code = """
import matroid_bandits as mb
coins = mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1])
policies = {"fixed": mb.FixedSet([0]), "OMM": mb.OMM()}
for matroid in (mb.UniformMatroid(4, 2), mb.GraphicMatroid([(0, 1), (1, 2), (0, 2), (2, 3)])):
    problem = mb.Problem(matroid, coins)
    size = {"n_episodes": 5, "n_runs": 2}
    before = mb.simulate(problem, policies, seed=1, **size)
    assert mb.warm_up(problem, policies) > 0.0
    after = mb.simulate(problem, policies, seed=1, **size)
    print(before.engine, after.engine, before == after)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "('agent', 'agent') ('agent', 'compiled') True\n" * 2


def test_nothing_is_compiled_for_what_has_no_compiled_form(monkeypatch):
    monkeypatch.setattr(_ready, "call", None)
    unfit = mb.Problem(mb.UniformMatroid(4, 2), mb.AvailabilityEnvironment(COINS, 0.5))
    compiled.prepare(unfit, mb.OMM())
    compiled.prepare(PROBLEM, mb.FixedSet([0, 1]))
