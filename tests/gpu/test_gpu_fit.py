"""What fits on a GPU and what does not, in words; nothing here needs one."""

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DeviceError, SimulationError
from matroid_bandits.gpu import _cuda, _explain

COINS = mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1])
PROBLEM = mb.Problem(mb.UniformMatroid(4, 2), COINS)
SETTINGS = {"n_episodes": 4, "n_runs": 2, "seed": 0}


class Curious(mb.AffinePolicy):
    """Its coefficient looks at the counts from the third episode on, or at once."""

    def __init__(self, first=1):
        self.first = first

    def coefficient(self, state, request):
        return float(state.counts.max()) if request.episode >= self.first else 0.0


class Own(mb.OMM):
    """OMM that keeps lines of its own."""

    def lines(self, state):
        return state.means, state.radii


class Rescaled(mb.OMM):
    """OMM whose radii are divided by two."""

    def exponent(self, state):
        return 1


class Hidden(mb.OMM):
    """OMM that engines should not follow."""

    affine = None


class Alarmed(mb.OMM):
    """OMM that counts alarms, of which there are none."""

    memory = tuple(mb.Memory(name, dtype=np.int64) for name in ("n_alarms", "last_alarm"))


class Unknown(mb.Environment):
    """Weights of 1, whose means nobody says."""

    def draw(self, stream, t, items):
        return np.ones((stream.n_runs, items.shape[-1]))


class OwnPieces(mb.PiecewiseEnvironment):
    """Pieces that a subclass plays otherwise."""

    def draw(self, stream, t, items):
        return 1.0 - super().draw(stream, t, items)


UNKNOWN = Unknown(n_items=4)
DRIFT = mb.DriftingEnvironment(COINS, to=[0.1, 0.2, 0.3, 0.4], over=9)


@pytest.mark.parametrize(
    ("constraint", "environment", "policy", "words"),
    [
        (PROBLEM.constraint, COINS, mb.KLOSM(), "KLOSM takes logarithms"),
        (PROBLEM.constraint, COINS, mb.MOSS(), "MOSS has no kernel for a GPU"),
        (PROBLEM.constraint, COINS, mb.FixedSet([0]), "FixedSet has no compiled form"),
        (PROBLEM.constraint, COINS, Own(), r"Own has lines\(\) of its own"),
        (PROBLEM.constraint, COINS, Rescaled(), r"Rescaled has exponent\(\) of its own"),
        (PROBLEM.constraint, COINS, Hidden(), "Hidden has affine of its own"),
        (PROBLEM.constraint, COINS, Alarmed(), r"Alarmed has memory of its own"),
        (PROBLEM.constraint, COINS, mb.Restarting(mb.OMM()), "Restarting has no compiled form"),
        (PROBLEM.constraint, COINS, mb.Restarting(mb.UniformRandom()), "Restarting has no compiled form"),
        (PROBLEM.constraint, COINS, Curious(), "Curious.coefficient looks at 'counts'"),
        (
            PROBLEM.constraint,
            mb.PiecewiseEnvironment([COINS, UNKNOWN], [3]),
            mb.OMM(),
            "Unknown has no compiled form",
        ),
        (PROBLEM.constraint, OwnPieces([COINS, COINS], [2]), mb.OMM(), r"OwnPieces has draw\(\) of its own"),
        (
            PROBLEM.constraint,
            mb.DelayedEnvironment(COINS, 2),
            mb.OMM(),
            "answers that come late are played on the CPU alone",
        ),
        (
            PROBLEM.constraint,
            mb.AvailabilityEnvironment(COINS, 0.5),
            mb.OMM(),
            "AvailabilityEnvironment has no compiled form",
        ),
        (mb.UniformMatroid(4, 0), COINS, mb.OMM(), "rank 0 leaves nothing to choose"),
        (mb.LaminarMatroid(4, [([0, 1], 1), ([0, 1, 2, 3], 2)]), COINS, mb.OMM(), "are nested"),
    ],
)
def test_what_does_not_fit_is_named(constraint, environment, policy, words):
    problem = mb.Problem(constraint, environment)
    with pytest.raises(DeviceError, match=words):
        mb.simulate(problem, policy, device="gpu", **SETTINGS)
    assert mb.simulate(problem, policy, device="auto", **SETTINGS).device == "cpu"
    device, why = mb.gpu.explain(problem, {"it": policy}, n_episodes=4, n_runs=2)
    assert device == "cpu"
    assert why == mb.gpu.obstacle(problem, policy)


@pytest.mark.parametrize(
    "policy",
    [
        mb.OMM(),
        mb.EpsilonGreedy(),
        mb.UniformRandom(),
        mb.ThompsonSampling(),
        mb.DiscountedOMM(0.9),
        mb.SlidingWindowOMM(9),
        mb.DiscountedThompson(0.9),
    ],
)
def test_what_fits_has_no_obstacle(policy):
    turns = mb.PiecewiseEnvironment([COINS, mb.PiecewiseEnvironment([COINS, DRIFT], [7])], [2])
    vectors, seats = mb.LinearMatroid(np.eye(4, dtype=int)), mb.TransversalMatroid([[0, 1], [0], [1], [0]])
    for environment in (COINS, turns, mb.GaussianEnvironment([1, 2, 3, 4])):
        for matroid in (mb.UniformMatroid(4, 2), vectors, seats):
            assert mb.gpu.obstacle(mb.Problem(matroid, environment), policy) is None


def test_a_sweep_names_the_policy_and_the_problem_that_do_not_fit(tmp_path):
    problems = {"ads": PROBLEM, "late": mb.Problem(mb.UniformMatroid(4, 2), mb.DelayedEnvironment(COINS, 2))}
    for store in (None, tmp_path / "store"):
        with pytest.raises(DeviceError, match=r"'KLOSM on ads' cannot be simulated on a GPU: KLOSM "):
            mb.sweep({"ads": PROBLEM}, [mb.OMM(), mb.KLOSM()], device="gpu", store=store, **SETTINGS)
        with pytest.raises(DeviceError, match=r"'OMM on late' cannot .*: answers that come late are played on"):
            mb.sweep(problems, mb.OMM(), device="gpu", store=store, **SETTINGS)


def test_devices_and_executors_of_a_sweep():
    with pytest.raises(SimulationError, match='expected device to be "cpu", "gpu" or "auto", got'):
        mb.sweep(PROBLEM, mb.OMM(), device="cuda", **SETTINGS)
    with pytest.raises(SimulationError, match='expected no executor with device="gpu"'):
        mb.sweep(PROBLEM, mb.OMM(), device="gpu", executor=2, **SETTINGS)


def test_auto_sweeps_on_the_cpu_where_that_is_sooner_or_there_is_no_gpu(monkeypatch):
    def nothing():
        raise DeviceError("no GPU can be used: there is none")

    assert mb.sweep(PROBLEM, mb.OMM(), device="auto", **SETTINGS)["problem 1"].device == "cpu"
    monkeypatch.setattr(mb.gpu, "LEAST_EPISODES", 1)
    monkeypatch.setattr(mb.gpu, "find_device", nothing)
    assert mb.sweep(PROBLEM, mb.OMM(), device="auto", **SETTINGS)["problem 1"].device == "cpu"


def test_auto_knows_how_much_fast_memory_there_is(monkeypatch):
    small = mb.gpu.Device("a small GPU", n_processors=1, free_bytes=2**30, block_bytes=100)
    monkeypatch.setattr(_explain, "find_device", lambda: small)
    device, why = mb.gpu.explain(PROBLEM, mb.OMM(), n_episodes=10_000, n_runs=10_000)
    assert device == "cpu"
    assert "bytes of fast memory, and a small GPU has 100 for a block of threads" in why
    assert why == mb.gpu.obstacle(PROBLEM, mb.OMM(), device=small)


def test_work_space_that_does_not_fit_is_one_sentence():
    """The rows of vectors are in fast memory, the plays of a window in the other; both are known beforehand."""
    vectors = np.random.default_rng(0).integers(0, 2, (300, 200))
    wide = mb.Problem(mb.LinearMatroid(vectors, field=2), mb.BernoulliEnvironment(np.full(300, 0.5)))
    small = mb.gpu.Device("a small GPU", n_processors=1, free_bytes=2**30, block_bytes=48 * 1024)
    why = mb.gpu.obstacle(wide, mb.OMM(), device=small)
    assert re.fullmatch(r"a run needs 1\d\d,\d{3} bytes of fast memory, and a small GPU has 49,152 for .*", why)
    window = mb.SlidingWindowOMM(10**8)
    assert mb.gpu.obstacle(PROBLEM, window, 1000, small) is None  # no more episodes than are played
    why = mb.gpu.obstacle(PROBLEM, window, 10**8, small)
    assert why == "a small GPU has too little free memory: a run needs 2,288 MiB, and 819 MiB may be used"


def test_more_episodes_than_kernels_count():
    assert "are more than kernels count" in mb.gpu.obstacle(PROBLEM, mb.OMM(), n_episodes=2**31)


@pytest.mark.parametrize("device", ["cuda", None, 0, True])
def test_devices_are_three_words(device):
    with pytest.raises(SimulationError, match='expected device to be "cpu", "gpu" or "auto", got'):
        mb.simulate(PROBLEM, mb.OMM(), device=device, **SETTINGS)


@pytest.mark.parametrize("setting", [{"executor": 1}, {"engine": "greedy"}])
def test_settings_of_the_cpu_are_no_settings_of_a_gpu(setting):
    (name,) = setting
    with pytest.raises(SimulationError, match=f'expected no {name} with device="gpu"'):
        mb.simulate(PROBLEM, mb.OMM(), device="gpu", **setting, **SETTINGS)
    assert mb.simulate(PROBLEM, mb.OMM(), device="auto", **setting, **SETTINGS).device == "cpu"


def test_auto_takes_a_gpu_where_there_is_enough_to_do(monkeypatch):
    big = {"n_episodes": 10_000, "n_runs": 10_000}
    found = mb.gpu.Device("a GPU", n_processors=1, free_bytes=2**30, block_bytes=2**16)
    monkeypatch.setattr(_explain, "find_device", lambda: found)
    assert mb.gpu.explain(PROBLEM, mb.OMM(), **big) == ("gpu", "everything fits on a GPU")
    assert mb.gpu.explain(PROBLEM, mb.OMM(), n_episodes=10, n_runs=10)[0] == "cpu"

    def nothing():
        raise DeviceError("no GPU can be used: there is none")

    monkeypatch.setattr(_explain, "find_device", nothing)
    assert mb.gpu.explain(PROBLEM, mb.OMM(), **big) == ("cpu", "no GPU can be used: there is none")


@pytest.fixture
def fresh_load():
    _cuda.load.cache_clear()
    yield
    _cuda.load.cache_clear()


def test_a_package_that_is_missing_or_old_is_one_sentence(monkeypatch, fresh_load):
    def missing(name):
        raise PackageNotFoundError

    monkeypatch.setattr(_cuda, "version", missing)
    with pytest.raises(DeviceError, match="needs the package numba-cuda, which is not installed: pip install"):
        mb.simulate(PROBLEM, mb.OMM(), device="gpu", **SETTINGS)
    monkeypatch.setattr(_cuda, "version", lambda name: "0.2.1")
    with pytest.raises(DeviceError, match=r"needs numba-cuda 0.23 or newer, got 0.2.1: pip install"):
        mb.simulate(PROBLEM, mb.OMM(), device="gpu", **SETTINGS)


class _Driver:
    """Stands for numba.cuda on a machine with an old GPU, or with none."""

    MULTIPROCESSOR_COUNT, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 8, 49152
    compute_capability, name = (5, 2), b"GeForce GTX 970"

    def __init__(self, is_there):
        self.is_available = lambda: is_there

    def get_current_device(self):
        return self

    current_context = get_current_device

    def get_memory_info(self):
        return (2**30, 2**32)

    def cuda_error(self):
        return "Error at driver init:\n\nCUDA driver library cannot be found.\n:"


@pytest.mark.skipif(_cuda.is_simulated(), reason="the simulator stands for any GPU")
@pytest.mark.parametrize(
    ("is_there", "words"),
    [
        (False, "no GPU can be used: .*CUDA driver library cannot be found"),
        (True, "expected a GPU of compute capability 6.0 or newer, got GeForce GTX 970 of 5.2"),
    ],
)
def test_no_driver_and_an_old_gpu_are_one_sentence(monkeypatch, is_there, words):
    monkeypatch.setattr(_cuda, "load", lambda: _Driver(is_there))
    with pytest.raises(DeviceError, match=words) as caught:
        mb.simulate(PROBLEM, mb.OMM(), device="gpu", **SETTINGS)
    assert "\n" not in str(caught.value)


def test_nothing_of_numba_cuda_is_imported_without_a_gpu_being_asked_for():
    program = (
        "import sys, matroid_bandits as mb\n"
        "p = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))\n"
        "mb.gpu.explain(p, mb.OMM(), n_episodes=5, n_runs=5)\n"
        "assert not any(name.startswith(('numba_cuda', 'cuda')) for name in sys.modules), 'imported'\n"
    )
    path = {"PYTHONPATH": str(Path(mb.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_where_it_was_is_saved_and_older_files_say_cpu(tmp_path):
    result = mb.simulate(PROBLEM, mb.OMM(), **SETTINGS)
    result.save(tmp_path / "result.npz")
    assert mb.SimulationResult.load(tmp_path / "result.npz").device == "cpu"
    object.__setattr__(result, "device", "abacus")
    with pytest.raises(mb.exceptions.SerializationError, match='expected device to be "cpu" or "gpu", got'):
        result.save(tmp_path / "other.npz")
