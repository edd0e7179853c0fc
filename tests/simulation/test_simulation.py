"""The simulator: numbers that depend on (seed, run) alone, checkpoints, results, interruption, errors."""

import io
import json
import math
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.sums import added
from matroid_bandits.exceptions import (
    MissingDependencyError,
    PolicyError,
    RandomnessWarning,
    SeedError,
    SerializationError,
    SimulationError,
)
from matroid_bandits.simulation import _simulate
from samples import BEST, GRAPH, POLICIES, PROBLEM


def set_threads(monkeypatch, n):
    for module in ("matroid_bandits._util.threads", "matroid_bandits.simulation._executors"):
        monkeypatch.setattr(f"{module}.n_threads", lambda: n)


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def n_threads(request, monkeypatch):
    set_threads(monkeypatch, request.param)
    return request.param


def simulate(policies=POLICIES, problem=PROBLEM, **settings):
    return mb.simulate(problem, policies, **{"n_episodes": 30, "n_runs": 4, "seed": 11} | settings)


@pytest.fixture(scope="module")
def race():
    return simulate()


# A run's numbers are a function of (seed, run)


def assert_same_runs(result, expected, n_runs=4):
    """Bit for bit, run by run."""
    for name in result.policies:
        mine, other = result.index(name), expected.index(name)
        assert result.final_regret[mine, :n_runs].tolist() == expected.final_regret[other, :n_runs].tolist(), name
        assert result.final_returns[mine, :n_runs].tolist() == expected.final_returns[other, :n_runs].tolist(), name


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_threads_do_not_change_a_run(race, monkeypatch, n):
    set_threads(monkeypatch, n)
    result = simulate()
    assert result == race


def test_the_number_of_runs_does_not_change_a_run(race):
    assert_same_runs(simulate(n_runs=2), race, n_runs=2)
    assert_same_runs(simulate(n_runs=1), race, n_runs=1)


def test_batches_do_not_change_a_run(race, monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation._jobs._MAX_SLICE_CELLS", 8)
    assert simulate() == race


@pytest.mark.parametrize("name", POLICIES)
def test_other_policies_do_not_change_a_run(race, name):
    assert_same_runs(simulate({name: POLICIES[name]}), race)


def test_processes_do_not_change_a_run(race):
    pytest.importorskip("joblib")
    assert simulate(executor=2) == race


def test_checkpoints_do_not_change_a_run(race):
    assert_same_runs(simulate(checkpoints=[3]), race)


def test_seeds_and_starts_do(race):
    for settings, unmoved in (({"seed": 12}, {"optimal"}), ({"start": "explore"}, {"optimal", "chance"})):
        other = simulate(**settings)
        for name in set(POLICIES) - unmoved:
            p = race.index(name)
            assert race.final_regret[p].tolist() != other.final_regret[p].tolist(), name


def test_a_fresh_seed_is_carried_by_the_result():
    first, second = (simulate({"OMM": mb.OMM()}, seed=None) for _ in range(2))
    assert first.seed != second.seed
    assert simulate({"OMM": mb.OMM()}, seed=first.seed) == first


def test_policies_meet_the_same_weights():
    """Two names for one policy have one result."""
    result = simulate({"a": mb.OMM(), "b": mb.OMM()})
    assert result.final_returns[0].tolist() == result.final_returns[1].tolist()


# What a simulation reports


def test_regret_and_returns_add_up():
    result = simulate({"OMM": mb.OMM(), "optimal": BEST}, n_episodes=30, checkpoints=range(1, 31))
    means = PROBLEM.environment.mean_weights
    expected = PROBLEM.optimal_value * 30 * 4 - result.choices @ means
    assert np.allclose(result.final_regret.sum(axis=1), expected, atol=1e-10)
    assert (result.choices.sum(axis=1) == 30 * 4 * GRAPH.rank).all()
    assert np.allclose(result.regret[:, -1], result.final_regret.mean(axis=1))
    assert np.allclose(result.regret_se[:, -1], result.final_regret.std(axis=1, ddof=1) / math.sqrt(4))
    assert np.allclose(result.returns[:, -1], result.final_returns.mean(axis=1))
    assert np.allclose(result.returns_se[:, -1], result.final_returns.std(axis=1, ddof=1) / math.sqrt(4))
    assert np.array_equal(result.realised_per_step_return, result.returns / np.arange(1, 31))
    assert np.array_equal(result.realised_per_step_return_se, result.returns_se / np.arange(1, 31))
    assert np.array_equal(result.per_step_return, result.optimal_value - result.regret / np.arange(1, 31))
    assert np.array_equal(result.per_step_return_se, result.regret_se / np.arange(1, 31))
    assert (result.regret[1] == 0.0).all()
    assert (np.diff(result.regret[0]) >= 0.0).all()
    assert result.versions.keys() == {"matroid-bandits", "python", "numpy", "numba"}
    assert result.wall_time > 0.0
    assert (result.n_episodes, result.n_runs, result.start, result.minimize) == (30, 4, "observe", False)


def test_costs_have_regret_too():
    problem = mb.Problem(GRAPH, mb.ExponentialEnvironment(np.arange(2.0, 10.0)), minimize=True)
    best = mb.FixedSet(problem.optimal_basis)
    result = simulate({"OMM": mb.OMM(), "optimal": best, "chance": mb.UniformRandom()}, problem)
    assert (result.final_regret[1] == 0.0).all()
    assert (result.final_regret[[0, 2]] > 0.0).all()
    expected = result.choices @ problem.environment.mean_weights - problem.optimal_value * 30 * 4
    assert np.allclose(result.final_regret.sum(axis=1), expected, atol=1e-9)
    assert result.minimize
    assert "cost per step" in result.summary()


def test_default_checkpoints_are_few_ascending_and_end_at_the_end():
    for n in (1, 2, 7, 100, 101, 12_345, 10**12):
        points = _simulate._check_checkpoints(None, n)
        assert points[0] == 1
        assert points[-1] == n
        assert (np.diff(points) > 0).all()
        assert min(n, 6) <= points.size <= 101  # memory does not grow with n
        assert points.dtype == np.int64
    result = simulate({"OMM": mb.OMM()}, n_episodes=300)
    assert result.checkpoints.tolist() == _simulate._check_checkpoints(None, 300).tolist()
    assert result.regret.shape == result.returns_se.shape == (1, result.checkpoints.size)


def test_checkpoints_of_ones_own():
    result = simulate({"OMM": mb.OMM()}, n_episodes=20, checkpoints=[10, 5, 10])
    assert result.checkpoints.tolist() == [5, 10, 20]
    everything = simulate({"OMM": mb.OMM()}, n_episodes=20, checkpoints=np.arange(1, 21))
    assert everything.regret[0, [4, 9, 19]].tolist() == result.regret[0].tolist()
    assert everything.returns[0, [4, 9, 19]].tolist() == result.returns[0].tolist()


def test_summary_is_a_table():
    problem = mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([1.0, 3.0], noise=0.0))
    result = mb.simulate(
        problem, {"best": mb.FixedSet([1]), "a longer name": mb.OMM()}, n_episodes=1234, n_runs=2, seed=9
    )
    lines = result.summary().splitlines()
    assert lines[0].startswith("2 runs of 1,234 episodes, seed 9, ")
    assert lines[1] == "optimum 3.0000 per step"
    assert lines[3].split() == ["policy", "return", "per", "step", "regret", "seconds"]
    assert lines[5].split()[:-1] == ["best", "3.0000", "±", "0.0000", "0.00", "±", "0.00"]
    assert lines[6].startswith("a longer name  ")
    assert len({len(line) for line in lines[3:]}) == 1


def test_frame_has_a_row_per_policy_and_checkpoint(race):
    pytest.importorskip("pandas")
    frame = race.to_frame()
    assert len(frame) == len(POLICIES) * race.checkpoints.size
    assert list(frame) == [
        "policy",
        "episode",
        "returns",
        "returns_se",
        "per_step_return",
        "per_step_return_se",
        "regret",
        "regret_se",
        "alarms",
    ]
    row = frame[(frame.policy == "eps") & (frame.episode == 30)].iloc[0]
    assert row.regret == race.regret[race.index("eps"), -1]
    assert row.per_step_return_se == race.per_step_return_se[race.index("eps"), -1]


def test_plot_shows_curves_bands_and_bounds(race):
    pytest.importorskip("matplotlib")
    bounds = {
        "Theorem 2": mb.bounds.gap_dependent(PROBLEM, race.checkpoints),
        "Theorem 3": mb.bounds.gap_free(8, 4, race.checkpoints),
    }
    figure = race.plot(bounds=bounds)
    left, right = figure.axes
    names = list(POLICIES)
    assert [line.get_label() for line in left.lines] == [*names, "Theorem 2", "Theorem 3"]
    assert [line.get_label() for line in right.lines] == [*names, "optimum"]
    assert left.lines[0].get_ydata().tolist() == race.regret[0].tolist()
    assert left.lines[-1].get_ydata().tolist() == bounds["Theorem 3"].tolist()
    assert right.lines[0].get_ydata().tolist() == race.per_step_return[0].tolist()
    assert len(left.collections) == len(right.collections) == len(names)  # the bands
    assert (left.get_title(), right.get_title()) == ("Cumulative regret", "Per-step return")
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    figure.savefig(io.BytesIO(), format="png", dpi=40)

    plain = race.plot(log_x=False)
    assert (plain.axes[0].get_xscale(), plain.axes[0].get_yscale()) == ("linear", "linear")
    with pytest.raises(SimulationError, match=r"expected bound 'mine' at the \d+ checkpoints, got shape \(2,\)"):
        race.plot(bounds={"mine": [1.0, 2.0]})
    alone = simulate({"optimal": BEST}, n_runs=1)
    figure = alone.plot(bounds={"zero": np.zeros(alone.checkpoints.size)})
    assert len(figure.axes[0].collections) == 0
    figure.savefig(io.BytesIO(), format="png", dpi=40)


@pytest.mark.parametrize(("module", "call"), [("pandas", "to_frame"), ("matplotlib", "plot")])
def test_what_is_missing_is_named(race, monkeypatch, module, call):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"{call} needs .*pip install 'matroid-bandits\["):
        getattr(race, call)()


def test_joblib_is_only_needed_for_processes(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "joblib", None)
    simulate({"OMM": mb.OMM()})
    with pytest.raises(MissingDependencyError, match="executor=N, for processes, needs joblib"):
        simulate({"OMM": mb.OMM()}, executor=2)


def test_simulations_are_equal_by_their_results(race):
    short = {"policies": {"OMM": mb.OMM()}, "n_episodes": 5}
    assert simulate(**short) == simulate(**short)
    assert simulate(**short) != simulate(**short | {"seed": 12})
    assert simulate(**short) != simulate(**short | {"n_episodes": 6})
    assert simulate(**short) != simulate(**short | {"policies": {"UCB": mb.OMM()}})
    assert simulate(**short) != "a race"
    assert simulate(**short, n_runs=1) == simulate(**short, n_runs=1)  # standard errors are NaN in both
    with pytest.raises(TypeError, match="unhashable"):
        hash(race)
    with pytest.raises(SimulationError, match=r"expected a policy, one of OMM, .*; got 'UCB'"):
        race.index("UCB")


# Files


def test_saved_simulations_come_back(race, tmp_path):
    path = tmp_path / "race.npz"
    race.save(path)
    again = mb.SimulationResult.load(path)
    assert again == race
    assert again.wall_time == race.wall_time
    assert again.versions == race.versions
    assert again.summary() == race.summary()
    assert [p.name for p in tmp_path.iterdir()] == ["race.npz"]
    alone = simulate({"OMM": mb.OMM()}, n_runs=1)
    alone.save(str(path))
    assert mb.SimulationResult.load(str(path)) == alone


def test_files_hold_plain_data(race, tmp_path):
    path = tmp_path / "race.npz"
    race.save(path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        assert header["format"] == "matroid-bandits/simulation"
        assert header["version"] == 1
        assert header["seed"] == 11
        assert header["versions"]["matroid-bandits"] == mb.__version__
        for name in set(archive.namelist()) - {"header.json"}:
            array = np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
            assert array.dtype.kind in "if"


def test_damaged_and_foreign_files(race, tmp_path):
    path = tmp_path / "race.npz"
    race.save(path)
    whole = path.read_bytes()
    for keep in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:keep])
        with pytest.raises(SerializationError, match="not a complete matroid-bandits/simulation file"):
            mb.SimulationResult.load(path)
    mb.Learner(GRAPH, mb.OMM()).save(path)
    with pytest.raises(SerializationError, match="expected a matroid-bandits/simulation file, got another kind"):
        mb.SimulationResult.load(path)
    with pytest.raises(FileNotFoundError):
        mb.SimulationResult.load(tmp_path / "nothing")
    _rewrite(whole, path, lambda header: header | {"version": 2})
    with pytest.raises(SerializationError, match="expected version 1 or older, got 2: upgrade matroid-bandits"):
        mb.SimulationResult.load(path)
    _rewrite(whole, path, lambda header: {key: header[key] for key in ("format", "version", "policies")})
    with pytest.raises(SerializationError, match="malformed simulation"):
        mb.SimulationResult.load(path)


def _rewrite(whole, path, change):
    """The same file with another header."""
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, json.dumps(change(json.loads(content))) if name == "header.json" else content)


# Progress, interruption, errors from inside


def test_progress_reaches_the_total(n_threads):
    seen = []
    simulate(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30 * 4 * len(POLICIES),) * 2
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_progress_of_processes():
    pytest.importorskip("joblib")
    seen = []
    simulate({"OMM": mb.OMM()}, executor=2, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (120, 120)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    simulate({"OMM": mb.OMM()}, progress=True)
    assert sys.stderr.getvalue().endswith("100%  0:00 left \n")
    assert "█" in sys.stderr.getvalue()
    assert capsys.readouterr().out == ""


def test_progress_in_a_file_is_a_line_now_and_then(tmp_path):
    program = """
import matroid_bandits as mb
from matroid_bandits._util import progress
from matroid_bandits.simulation import _progress as simulation

class Clock:
    now = 0.0

    def monotonic(self):
        return self.now

clock = progress.time = simulation.time = Clock()

class Mine(mb.Policy):  # without a compiled form
    def indices(self, state, request):
        clock.now += 0.004
        return state.means

problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
mb.simulate(problem, Mine(), n_episodes=1000, n_runs=2, seed=1, progress=True)  # done in eight seconds: no line
for play in (mb.simulate, mb.sweep):
    play(problem, Mine(), n_episodes=10_000, n_runs=2, seed=1, progress=True)
    print("done")
"""
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-u", "-c", program], stdout=log, stderr=subprocess.STDOUT, check=True)
    log = (tmp_path / "log").read_text()
    assert re.fullmatch(r"((\d+%, \d+:\d\d left\n)+100%, in \d+:\d\d\ndone\n){2}", log), log


class Failing(mb.Policy):
    """Fails in one episode of one run."""

    def __init__(self, error, t=3, run=0):
        self.error, self.t, self.run = error, t, run

    def indices(self, state, request):
        if request.episode == self.t and self.run in request.stream.runs:
            raise self.error
        return state.means


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("run", [0, 3])
def test_errors_of_a_policy_come_through(n_threads, error, run):
    """With their own type, and without waiting for the other runs, which would take for ever."""
    n_before = threading.active_count()
    with pytest.raises(type(error)) as caught:
        simulate({"failing": Failing(error, run=run), "OMM": mb.OMM()}, n_episodes=10**9)
    assert caught.value is error
    assert threading.active_count() <= n_before


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyboardInterrupt()])
def test_errors_of_a_progress_callback_come_through(n_threads, error):
    def report(done, total):
        raise error

    with pytest.raises(type(error)):
        simulate(progress=report, n_episodes=10**9)


def test_errors_come_through_from_processes():
    pytest.importorskip("joblib")
    with pytest.raises(ZeroDivisionError, match="mine"):
        simulate({"failing": Failing(ZeroDivisionError("mine"))}, executor=2)


@pytest.mark.compiled  # interpreted and traced, the bar may not have been drawn when the key is pressed
@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
def test_ctrl_c_ends_a_simulation(n_threads, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    n_before = threading.active_count()
    is_over = threading.Event()
    # where the tests run in the background, interrupts are ignored
    former = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press():
        """Once the bar is drawn, and again: what is raised inside a garbage collector's callback is lost."""
        while not terminal.getvalue() and not is_over.wait(0.1):
            pass
        while not is_over.is_set():
            signal.raise_signal(signal.SIGINT)
            is_over.wait(60.0)

    keyboard = threading.Thread(target=press)
    keyboard.start()
    try:
        with pytest.raises(KeyboardInterrupt):  # not after the day that 10**9 episodes take
            simulate({"OMM": mb.OMM(), "chance": mb.UniformRandom()}, n_episodes=10**9, progress=True)
    finally:
        is_over.set()
        keyboard.join()
        signal.signal(signal.SIGINT, former)
    assert threading.active_count() <= n_before
    assert terminal.getvalue().endswith("\n")  # the bar's line is finished


# Bad settings


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_episodes": 0}, SimulationError, "expected n_episodes to be an integer from 1 to .*, got 0"),
        ({"n_episodes": 1.5}, SimulationError, "expected n_episodes to be an integer from 1 to .*, got 1.5"),
        ({"n_runs": -1}, SimulationError, "expected n_runs to be an integer from 1 to .*, got -1"),
        ({"n_runs": True}, SimulationError, "expected n_runs to be an integer from 1 to .*, got True"),
        ({"n_runs": "5"}, SimulationError, "expected n_runs to be an integer from 1 to .*, got '5'"),
        ({"seed": -1}, SeedError, r"expected a seed that is None or an integer in \[0, 2\*\*64\); got -1"),
        ({"seed": 0.5}, SeedError, "got 0.5"),
        ({"start": "random"}, SimulationError, 'expected start to be "observe" or "explore", got \'random\''),
        ({"checkpoints": []}, SimulationError, "expected checkpoints to be a row of episode numbers"),
        ({"checkpoints": [[1]]}, SimulationError, "expected checkpoints to be a row of episode numbers"),
        ({"checkpoints": [1.5]}, SimulationError, "expected checkpoints to be a row of episode numbers"),
        ({"checkpoints": [[1], [2, 3]]}, SimulationError, "expected checkpoints to be a row of episode numbers"),
        ({"checkpoints": [0, 5]}, SimulationError, r"expected checkpoints in 1\.\.30, got 0"),
        ({"checkpoints": [41]}, SimulationError, r"expected checkpoints in 1\.\.30, got 41"),
        *(
            (
                {"executor": executor},
                SimulationError,
                r"expected executor to be None \(threads\), a number of processes of at least 1, a "
                rf'concurrent.futures.Executor, a Dask Client or "ray"; got {executor!r}$',
            )
            for executor in (0, -1, 1.5, True, "Ray")
        ),
        ({"engine": "steam"}, PolicyError, "expected engine to be one of auto, .*; got 'steam'"),
        ({"policies": {}}, SimulationError, "expected at least one policy, got none"),
        (
            {"policies": [mb.OMM(2), mb.OMM(2)]},
            SimulationError,
            r"expected policies that differ, got OMM\(scale=2.0\) more than once; name them in a dict",
        ),
        (
            {"policies": {"OMM": mb.OMM}},
            SimulationError,
            "expected 'OMM' to be a Policy, got .*an instance is needed",
        ),
        ({"policies": [mb.OMM]}, SimulationError, "an instance is needed"),
        ({"policies": mb.OMM}, SimulationError, "expected policies by name in a dict, or a list of them"),
        ({"policies": None}, SimulationError, "expected policies by name in a dict, or a list of them, got None"),
        ({"policies": "OMM"}, SimulationError, "expected policies by name in a dict, or a list of them, got 'OMM'"),
        ({"policies": {1: mb.OMM()}}, SimulationError, "expected a policy's name to be a string, got 1"),
        ({"policies": {"x": 3}}, SimulationError, "expected 'x' to be a Policy, got 3"),
        ({"policies": [mb.CombLinTS(np.eye(5))]}, PolicyError, "expected features for 8 items, got 5 rows"),
        ({"problem": GRAPH}, SimulationError, "expected a Problem, got GraphicMatroid"),
    ],
)
def test_bad_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        simulate(**{"policies": {"OMM": mb.OMM()}} | settings)


def test_policies_for_weights_up_to_one_say_so():
    problem = mb.Problem(GRAPH, mb.ExponentialEnvironment(np.arange(2.0, 10.0)))
    for policy in (mb.KLOSM(), mb.ThompsonSampling()):
        with pytest.raises(PolicyError, match=r"needs weights in \[0, 1\]; this environment's lie in \[1, inf\]"):
            simulate([policy], problem)
    simulate([mb.ThompsonSampling("normal")], problem, n_episodes=2)


def test_a_policy_by_itself_needs_no_list():
    assert simulate(mb.OMM()).policies == simulate([mb.OMM()]).policies == ("OMM",)
    assert simulate(iter([mb.OMM(), mb.KLOSM()])).policies == ("OMM", "KLOSM")


def test_numpy_integers_are_integers():
    result = simulate(
        {"OMM": mb.OMM()}, n_episodes=np.int32(4), n_runs=np.int64(2), seed=np.uint8(3), executor=np.int64(2)
    )
    assert (result.n_episodes, result.n_runs, result.seed) == (4, 2, 3)
    assert type(result.n_episodes) is type(result.seed) is int


# The smallest problems


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize(
    ("matroid", "means"),
    [
        (mb.UniformMatroid(1, 1), [0.5]),
        (mb.UniformMatroid(3, 0), [0.1, 0.2, 0.3]),
        (mb.UniformMatroid(3, 3), [0.1, 0.2, 0.3]),
        (mb.UniformMatroid(0, 0), []),
        (mb.PartitionMatroid([]), []),
        (mb.GraphicMatroid([]), []),
        (mb.GraphicMatroid([(0, 0), (0, 1)]), [0.9, 0.1]),
    ],
    ids=["one item", "rank 0", "rank L", "empty", "empty partition", "empty graph", "a loop"],
)
def test_smallest_problems(matroid, means, minimize, start):
    problem = mb.Problem(matroid, mb.BernoulliEnvironment(means), minimize)
    features = np.ones((matroid.n_items, 2))
    policies = POLICIES | {"CombLinUCB": mb.CombLinUCB(features), "CombLinTS": mb.CombLinTS(features)}
    policies["optimal"] = mb.FixedSet(problem.optimal_basis)
    policies["budget"] = mb.Budget(mb.OMM(0.3), np.arange(matroid.n_items), 4.0)
    for n_runs in (1, 3):
        result = simulate(policies, problem, n_episodes=5, n_runs=n_runs, start=start)
        assert (result.final_regret == 0.0).all()
        assert (result.choices.sum(axis=1) == 5 * n_runs * matroid.rank).all()
        assert np.isnan(result.regret_se).all() == (n_runs == 1)
        assert result.summary()
        assert result.optimal_value == added(means[e] for e in problem.optimal_basis)


def test_one_run_has_no_standard_error(tmp_path):
    result = simulate(n_runs=1)
    assert np.isnan(result.returns_se).all()
    assert "nan" not in result.summary()
    assert np.isfinite(result.returns).all()
    pytest.importorskip("matplotlib")
    result.plot()


class Draws(mb.Environment):
    """Weights of our choosing, whatever was asked for."""

    def __init__(self, draw):
        super().__init__([0.5, 0.5, 0.5])
        self._draw = draw

    def draw(self, stream, t, items):
        return self._draw(np.zeros((stream.n_runs, items.shape[-1])))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda w: w[:, :1],
            r"expected Draws\.draw to give float64 of shape \(1, 3\), got float64 of shape \(1, 1\)",
        ),
        (lambda w: w[0], r"got float64 of shape \(3,\)"),
        (lambda w: w.astype(int), "got int64 of shape"),
        (lambda w: w.tolist(), "got list"),
        (lambda w: w * np.nan, "expected finite weights; got others by episode 1"),
        (lambda w: w + 1e308, "expected finite weights; got others by episode 1"),
        (lambda w: w + 1e200, r"expected weights of at most 1e\+100 in size; got others by episode 1"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # by NumPy, where kernels are interpreted
def test_weights_that_an_environment_must_not_give(draw, message):
    problem = mb.Problem(mb.UniformMatroid(3, 3), Draws(draw))
    with pytest.raises(mb.exceptions.InvalidEnvironmentError, match=message):
        mb.simulate(problem, [mb.OMM()], n_episodes=5, n_runs=1, seed=0)


def test_results_and_problems_cannot_be_changed():
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.1, 0.2, 0.3]), minimize=True)
    result = mb.simulate(problem, [mb.OMM()], n_episodes=5, n_runs=2, seed=0, engine="kinetic")
    for array in (
        result.regret,
        problem.optimal_basis,
        problem.suboptimal_items,
        problem.gains,
        problem.optimal_order,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_problem_stays_read_only_when_it_travels():
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.1, 0.2, 0.3]), minimize=True)
    assert problem.optimal_order.size == 2  # so that it is kept, and travels too
    again = pickle.loads(pickle.dumps(problem))
    for array in (again.optimal_basis, again.gains, again.optimal_order, again.environment.mean_weights):
        assert not array.flags.writeable


class Width(mb.Policy):
    """Keeps its argument where nothing finds it."""

    def __init__(self, width):
        self.__width = width

    def indices(self, state, request):
        return state.means + self.__width * state.radii


def test_policies_that_hide_an_argument_are_named_in_a_dict():
    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
    hidden = "expected Width to keep its argument 'width' in an attribute of that name, width or _width"
    with pytest.raises(SimulationError, match=hidden):
        mb.simulate(problem, [Width(1.0), Width(2.0)], n_episodes=10, n_runs=2, seed=0)
    named = mb.simulate(problem, {"1": Width(1.0), "9": Width(9.0)}, n_episodes=300, n_runs=20, seed=0)
    assert named.regret[0, -1] < named.regret[1, -1]


class Dice(mb.Policy):
    """Draws from a global generator, or from the stream."""

    def __init__(self, draw):
        self.draw = draw

    def indices(self, state, request):
        return self.draw(state, request)


def test_draws_from_a_global_generator_are_a_warning(recwarn):
    problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    settings = {"n_episodes": 20, "n_runs": 2, "seed": 0}
    draws = {
        "np.random": lambda state, request: np.random.random(state.counts.shape),  # noqa: NPY002
        "random": lambda state, request: np.full(state.counts.shape, random.random()),
    }
    for module, draw in draws.items():
        before = random.getstate()
        np.random.seed(7)  # noqa: NPY002
        text = f"an episode of 'Dice' drew from {module}, which `seed` does not set"
        with pytest.warns(RandomnessWarning, match=text) as said:
            mb.simulate(problem, Dice(draw), **settings)
        assert said[0].filename == __file__
        random.setstate(before)
    restless = mb.ExposureFloors(Dice(draws["np.random"]), {0: 0.1})
    with pytest.warns(RandomnessWarning, match="an episode of 'ExposureFloors' drew from np.random"):
        mb.simulate(problem, restless, **settings)
    own = Dice(lambda state, request: request.stream.uniform(request.episode, np.arange(3)))
    mb.simulate(problem, [own, mb.ThompsonSampling()], **settings)
    assert not recwarn.list
