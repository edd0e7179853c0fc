"""When episodes are compiled, why, and what the caller sees of it: markers, fallbacks, progress, results."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import matroid_bandits as mb
from compiled_cases import kernels, play_compiled, settings_of  # noqa: F401 - a fixture
from matroid_bandits import compiled
from matroid_bandits.compiled import Misfit, ProblemForms, Settings, Slice, Stopped, _choice, _ready
from matroid_bandits.exceptions import InvalidEnvironmentError

IS_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
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


@needs_compiler
def test_more_episodes_than_kernels_count():
    assert "are more than kernels count" in compiled.explain(PROBLEM, mb.OMM(), n_episodes=2**31, n_runs=1)["OMM"][1]


@needs_compiler
def test_why_episodes_are_compiled_or_not(monkeypatch):
    facts = {"is_loaded": False, "is_cached": False, "can_be_cached": True}
    for name in facts:
        monkeypatch.setattr(_ready, name, lambda kernel, name=name: facts[name])

    def asked(**size):
        return compiled.explain(PROBLEM, mb.OMM(), **({"n_episodes": 100, "n_runs": 10} | size))["OMM"]

    assert asked() == ("agent", "the simulation is shorter than it takes to compile the kernel")
    assert asked(**LONG) == ("compiled", "the simulation is long enough to compile the kernel first")
    facts["can_be_cached"] = False
    assert asked(**LONG)[0] == "agent"
    assert "NUMBA_CACHE_DIR" in asked(**LONG)[1]
    facts |= {"can_be_cached": True, "is_cached": True}
    assert asked() == ("agent", "the simulation is shorter than it takes to load the kernel")
    assert asked(**LONG) == ("compiled", "the kernel is on disk")
    facts["is_loaded"] = True
    assert asked() == ("compiled", "the kernel is compiled")
    assert asked(engine="greedy") == ("agent", "an engine was named")


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
def test_a_marker_says_that_a_kernel_is_on_disk_and_old_code_is_not_used(monkeypatch, tmp_path):
    source = tmp_path / "small.py"
    source.write_text(
        "from matroid_bandits.kernels.compiling import njit\n"
        "@njit(cache=True)\n"
        "def small(x):\n    x[0] += 1\n    return -1\n"
    )

    def fresh():
        spec = importlib.util.spec_from_file_location("small", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(_ready.KERNELS, "small", module.small)
        monkeypatch.setattr(_ready, "_MODULES", (module,))
        return module.small

    monkeypatch.setattr(_ready, "is_interpreted", lambda: False)
    monkeypatch.setattr(_ready, "_digest", lambda: "one")
    x = np.zeros(1)
    small = fresh()
    assert not _ready.is_cached("small")
    assert _ready.can_be_cached("small")
    _ready.call("small", x)
    assert _ready.is_loaded("small")
    assert _ready.is_cached("small")
    small = fresh()
    assert not _ready.is_loaded("small")
    _ready.call("small", x)
    assert sum(small.stats.cache_hits.values()) == 1
    monkeypatch.setattr(_ready, "_digest", lambda: "two")  # something that it calls was edited
    small = fresh()
    assert not _ready.is_cached("small")
    _ready.call("small", x)
    assert not small.stats.cache_hits
    assert x[0] == 3


def test_seconds_are_those_of_all_cores(monkeypatch):
    monkeypatch.setattr(_choice, "n_threads", lambda: 10**9)
    monkeypatch.setattr(_ready, "is_loaded", lambda kernel: False)
    assert compiled.explain(PROBLEM, mb.OMM(), **LONG)["OMM"][0] == "agent"


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
    assert mb.compiled.warm_up(problem, policies) > 0.0
    after = mb.simulate(problem, policies, seed=1, **size)
    print(before.engine, after.engine, before == after)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "('agent', 'agent') ('agent', 'compiled') True\n" * 2


def test_nothing_is_compiled_for_what_has_no_compiled_form(monkeypatch):
    monkeypatch.setattr(_ready, "call", None)
    unfit = mb.Problem(mb.UniformMatroid(4, 2), mb.AvailabilityEnvironment(COINS, 0.5))
    assert compiled.warm_up(unfit, mb.OMM()) >= 0.0
    assert compiled.warm_up(PROBLEM, {"it": mb.FixedSet([0, 1])}) >= 0.0
