"""Results that are joined are those of one simulation; what does not belong together is refused. Time per policy."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import matroid_bandits as mb
from matroid_bandits._util.sums import added
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._result_file import load

COINS = mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.3, 0.1])
PROBLEM = mb.Problem(mb.UniformMatroid(5, 2), COINS)
DETECTOR = mb.CUSUM(3, threshold=1)
POLICIES = {"OMM": mb.OMM(), "chance": mb.UniformRandom(), "alarms": mb.Restarting(mb.OMM(), DETECTOR)}


class Loop(mb.Policy):
    """Played in Python, without a kind."""

    def indices(self, state, request):
        return state.means


def simulate(policies=POLICIES, problem=PROBLEM, **settings):
    given = {"n_episodes": 30, "n_runs": 9, "seed": 3, "keep_runs": True, **settings}
    return mb.simulate(problem, policies, **given)


@pytest.mark.parametrize("sizes", [(4, 5), (1, 1, 7)], ids=str)
def test_joined_runs_are_one_simulation(sizes):
    firsts = np.cumsum([0, *sizes[:-1]])
    parts = [simulate(n_runs=n, first_run=int(first)) for n, first in zip(sizes, firsts, strict=True)]
    whole = simulate()
    assert parts[0].join(*parts[1:]) == whole
    assert parts[-1].join(*parts[:-1]) == whole  # in the order of their numbers
    backwards = simulate(dict(reversed(POLICIES.items())), n_runs=sizes[0])
    assert backwards.join(*parts[1:])["OMM"].regret.tolist() == whole["OMM"].regret.tolist()
    joined = parts[0].join(*parts[1:])
    assert joined.seconds == pytest.approx(added(part.seconds for part in parts))
    assert joined.wall_time == pytest.approx(added(part.wall_time for part in parts))


def test_joined_runs_without_curves_are_one_simulation_but_for_rounding():
    parts = [simulate(n_runs=4, keep_runs=False), simulate(n_runs=1, first_run=4, keep_runs=False)]
    joined, whole = parts[0].join(parts[1]), simulate(n_runs=5, keep_runs=False)
    for name in ("returns", "returns_se", "regret", "regret_se", "alarms"):
        assert np.allclose(getattr(joined, name), getattr(whole, name), rtol=1e-12, atol=1e-14)
    for name in ("final_returns", "final_regret", "choices", "item_alarms", "optimal_value", "run_ranges", "n_runs"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))


def test_worlds_that_move_and_runs_that_end_are_joined():
    moving = mb.Problem(
        PROBLEM.constraint, mb.AvailabilityEnvironment(mb.RandomWalkEnvironment(COINS, step=0.05), 0.9)
    )
    parts = [simulate(problem=moving, n_runs=4), simulate(problem=moving, n_runs=5, first_run=4)]
    joined, whole = parts[0].join(parts[1]), simulate(problem=moving)
    assert np.allclose(joined.optimum, whole.optimum, rtol=1e-12)
    assert np.array_equal(joined.regret, whole.regret)
    rule = {"until": mb.StoppingRule(delta=0.3, weights="unit"), "policies": mb.SoftMinimum(), "n_episodes": 200}
    ended = simulate(n_runs=4, **rule).join(simulate(n_runs=5, first_run=4, **rule))
    assert ended == simulate(**rule)


def test_other_seeds_are_other_runs(tmp_path):
    joined = simulate(n_runs=4).join(simulate(n_runs=2, seed=7), simulate(n_runs=2, first_run=4))
    assert joined.run_ranges == ((3, 0, 6), (7, 0, 2))
    assert joined.n_runs == 8
    assert 'seed 3 and seed 7, start "observe"' in repr(joined)
    for text in (joined.provenance, joined.to_latex()):  # what a paper states names every seed
        assert "seed 3 and seed 7" in text
    joined.save(tmp_path / "joined.npz")
    assert load(mb.SimulationResult, tmp_path / "joined.npz") == joined
    assert joined.part(slice(4, 7)).run_ranges == ((3, 4, 2), (7, 0, 1))


def test_joined_policies_are_one_simulation():
    first, second = simulate({"OMM": mb.OMM()}), simulate({k: v for k, v in POLICIES.items() if k != "OMM"})
    assert first.join(second) == simulate()
    assert np.array_equal(first.join(second).seconds, [*first.seconds, *second.seconds])
    assert first.join(second).differences("OMM") == simulate().differences("OMM")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: simulate(), r"runs that are not in both results, got runs 0 to 8 of seed 3 in both"),
        (lambda: simulate(first_run=8), r"got run 8 of seed 3 in both"),
        (lambda: simulate(seed=4, n_episodes=31), "the same n_episodes, got 30 and 31"),
        (lambda: simulate(seed=4, start="explore"), "the same start, got 'observe' and 'explore'"),
        (lambda: simulate(seed=4, checkpoints=[7]), "the same checkpoints"),
        (lambda: simulate(POLICIES | {"OMM": mb.OMM(2.0)}, seed=4), "two that differ as 'OMM'"),
        (lambda: simulate({"OMM": mb.OMM(), "new": mb.KLOSM()}, seed=4), "got OMM in both, and others"),
        (lambda: simulate({"new": mb.KLOSM()}, seed=4), "got runs 0 to 8 of seed 3 and runs 0 to 8 of seed 4"),
        (lambda: simulate(problem=mb.lower_bound_problem(5, 2, 0.1), seed=4), "results of the same problem"),
        (lambda: simulate(problem=mb.lower_bound_problem(6, 2, 0.1), seed=4), "results of the same problem"),
        (lambda: "a result", "expected a SimulationResult to join, got 'a result'"),
    ],
)
def test_what_does_not_belong_together_is_refused(other, message):
    mine = simulate()
    with pytest.raises(SimulationError, match=message):
        mine.join(other())


def test_worlds_are_not_joined():
    law = mb.Worlds(lambda rng: mb.lower_bound_problem(6, 2, rng.uniform(0.1, 0.3)), 2)
    found = mb.sweep({"law": law}, mb.OMM(), n_episodes=5, n_runs=2, seed=0)["law"]
    with pytest.raises(SimulationError, match="drawn worlds"):
        found.join(found)


def test_problems_and_policies_without_keys_are_known_by_their_optimum_and_names():
    one = simulate({"loop": Loop()})
    assert one.policy_keys == (None,)
    assert one.join(simulate({"loop": Loop()}, seed=4)).n_runs == 18


@pytest.mark.parametrize("executor", [None, 2], ids=["threads", "processes"])
def test_time_per_policy(tmp_path, executor):
    if executor is not None:
        pytest.importorskip("joblib")
    result = simulate({"OMM": mb.OMM(), "loop": Loop()}, executor=executor)
    assert result.seconds.shape == (2,)
    assert (result.seconds > 0.0).all()
    assert result["loop"].seconds == result.seconds[1]
    result.save(tmp_path / "race.npz")
    assert np.array_equal(load(mb.SimulationResult, tmp_path / "race.npz").seconds, result.seconds)
    assert result.summary().splitlines()[3].endswith("seconds")
    assert ">seconds<" in result._repr_html_()


class Compiling(Loop):
    """Compiles for 1,000 seconds in every episode, by a clock that is a microsecond later whenever it is read."""

    now = 0.0

    def indices(self, state, request):
        with global_compiler_lock:
            Compiling.now += 1000.0
        return super().indices(state, request)

    @classmethod
    def clock(cls):
        cls.now += 1e-6
        return cls.now


@pytest.mark.parametrize("executor", [None, "pool"])
def test_time_per_policy_does_not_count_the_compiler(monkeypatch, executor):
    """In threads that find out how many of them pay, and in a pool of the caller's."""
    monkeypatch.setattr(time, "perf_counter", Compiling.clock)
    with ThreadPoolExecutor(1) as pool:
        result = simulate({"slow": Compiling()}, executor=pool if executor else None)
    assert 0.0 < result.seconds[0] < 1.0
    assert result.wall_time > 1000.0


def test_time_per_policy_of_sweeps(tmp_path):
    problems = {"a": PROBLEM, "b": mb.lower_bound_problem(6, 2, 0.1)}
    settings = {"n_episodes": 20, "seed": 0, "store": tmp_path}
    found = mb.sweep(problems, [mb.OMM(), mb.KLOSM()], n_runs=4, **settings)
    assert np.array_equal(found.seconds, found["a"].seconds + found["b"].seconds)
    assert (found.seconds > 0.0).all()
    again = mb.sweep(problems, [mb.OMM(), mb.KLOSM()], n_runs=4, **settings)
    assert again.n_played == 0
    assert np.array_equal(again.seconds, found.seconds)  # of runs that were stored
    assert found.summary().splitlines()[3].endswith("seconds")
    fewer = mb.sweep(problems, [mb.OMM(), mb.KLOSM()], n_runs=2, **settings)
    assert (fewer.seconds < found.seconds).all()
