"""What a result's file may hold: edited, damaged and oversized ones are refused."""

import contextlib
import copy
import math
import random
import tracemalloc

import numpy as np
import pytest

import matroid_bandits as mb
import saved_files
from matroid_bandits.exceptions import SerializationError
from samples import PROBLEM


@pytest.fixture(scope="module")
def race():
    return mb.simulate(PROBLEM, [mb.OMM(), mb.UniformRandom()], n_episodes=20, n_runs=3, seed=5)


@pytest.fixture
def path(tmp_path, race):
    path = tmp_path / "race"
    race.save(path)
    return path


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"policies": "OMM"}, "expected policies to be different names, got 'OMM'"),
        ({"policies": ["OMM"]}, "expected 'choices' to be .*"),
        ({"policies": ["OMM", "OMM"]}, "expected policies to be different names"),
        ({"policies": ["OMM", 3]}, "expected policies to be different names"),
        ({"policies": []}, "expected policies to be different names"),
        ({"n_runs": 4}, "expected 'final_returns' to be"),
        ({"n_runs": 3.0}, "expected n_runs to be an integer"),
        ({"n_runs": 10**8}, r"expected 'final_returns' to be float64 of shape \(2, 100000000\), got float64 of"),
        ({"n_episodes": 21}, "expected checkpoints to ascend from 1 or more to 21"),
        ({"n_episodes": True}, "expected n_episodes to be an integer"),
        ({"seed": None}, "expected seed to be an integer"),
        ({"seed": "5"}, "expected seed to be an integer"),
        ({"start": "late"}, 'expected start to be "observe" or "explore", got \'late\''),
        ({"start": ["observe"]}, "expected start to be"),
        ({"minimize": "false"}, "expected minimize to be True or False"),
        ({"optimal_value": math.nan}, "expected optimal_value to be a finite number"),
        ({"optimal_value": "1"}, "expected optimal_value to be a finite number"),
        ({"wall_time": -1.0}, "expected wall_time to be a finite number of at least 0"),
        ({"versions": ["numpy"]}, "expected versions of libraries by name"),
        ({"versions": {"numpy": 2}}, "expected versions of libraries by name"),
        ({"note": 1}, "expected nothing called 'note'"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused(path, header, message):
    saved_files.edit(path, header)
    with pytest.raises(SerializationError, match=message):
        mb.SimulationResult.load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("checkpoints", lambda a: a[::-1], "expected checkpoints to ascend"),
        ("checkpoints", lambda a: a.astype(float), "expected 'checkpoints' to be"),
        ("checkpoints", lambda a: changed(a, 0, -1), "expected checkpoints to ascend"),
        ("returns", lambda a: a[:, 1:], "expected 'returns' to be"),
        ("returns", lambda a: changed(a, (0, 3), math.nan), "expected returns to be finite"),
        ("regret", lambda a: changed(a, (1, 3), math.inf), "expected regret to be finite"),
        ("regret", lambda a: a + 1.0, "expected regret to end in the mean of final_regret"),
        ("regret_se", lambda a: a * 2.0, "expected regret_se to end in the standard error of final_regret"),
        ("returns_se", lambda a: changed(a, (0, 0), -1.0), "expected returns_se to be NaN for one run"),
        ("returns_se", lambda a: changed(a, (0, 0), math.nan), "expected returns_se to be NaN for one run"),
        ("final_returns", lambda a: a[:, :2], "expected 'final_returns' to be"),
        ("final_returns", lambda a: changed(a, (0, 0), 9.0), "expected returns to end in the mean of final_returns"),
        ("choices", lambda a: changed(a, (0, 0), -1), "expected an item to be chosen once an episode at most"),
        ("choices", lambda a: changed(a, (0, 0), 2**62), "expected an item to be chosen once an episode at most"),
        ("choices", lambda a: a[0], "expected 'choices' to be"),
        ("curves", lambda a: np.zeros(3), "expected 'curves' to be None"),
    ],
)
def test_arrays_that_cannot_be_true_are_refused(path, name, change, message):
    _, arrays = saved_files.members(path)
    saved_files.edit(path, arrays={name: change(arrays.get(name))})
    with pytest.raises(SerializationError, match=message):
        mb.SimulationResult.load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("run_regret", lambda a: a[:, :, 1:], "expected 'run_regret' to be float64 of shape"),
        ("run_regret", lambda a: changed(a, (0, 0, 0), math.nan), "expected run_regret to be finite"),
        ("run_regret", lambda a: changed(a, (0, 0, -1), 99.0), "expected run_regret to end in final_regret"),
        ("run_returns", lambda a: changed(a, (0, 0, 0), 99.0), "expected returns to be the mean of run_returns"),
        ("returns_se", lambda a: changed(a, (0, 0), 9.0), "expected returns_se to be the standard error of run_ret"),
        ("run_returns", lambda a: np.zeros(0), "expected 'run_returns' to be float64 of shape"),
    ],
)
def test_curves_of_runs_that_cannot_be_true_are_refused(path, name, change, message):
    kept = mb.simulate(PROBLEM, [mb.OMM(), mb.UniformRandom()], n_episodes=20, n_runs=3, seed=5, keep_runs=True)
    kept.save(path)
    assert mb.SimulationResult.load(path) == kept
    _, arrays = saved_files.members(path)
    saved_files.edit(path, arrays={name: change(arrays[name])})
    with pytest.raises(SerializationError, match=message):
        mb.SimulationResult.load(path)


def test_what_load_would_refuse_is_not_written(path, race):
    old = path.read_bytes()
    broken = copy.copy(race)
    object.__setattr__(broken, "returns", race.returns * math.nan)
    with pytest.raises(SerializationError, match="malformed simulation: expected returns to be finite"):
        broken.save(path)
    assert path.read_bytes() == old


def test_the_largest_weights_make_a_result_that_comes_back(path):
    world = mb.GaussianEnvironment([1e100, -1e100, 0.0], noise=1e100)
    for n_runs in (1, 4):
        result = mb.simulate(
            mb.Problem(mb.UniformMatroid(3, 2), world), [mb.OMM()], n_episodes=9, n_runs=n_runs, seed=1
        )
        result.save(path)
        assert mb.SimulationResult.load(path) == result


def test_hundreds_of_damaged_files_are_refused_or_harmless(path, race):
    whole, chance, n_refused = path.read_bytes(), random.Random(4), 0
    for _ in range(500):
        content = bytearray(whole)
        a = chance.randrange(len(content))
        b = a + chance.choice([1, 4, 32])
        content[a:b] = chance.choice([b"", chance.randbytes(b - a), b"\xff" * (b - a)])
        path.write_bytes(content)
        try:
            again = mb.SimulationResult.load(path)
        except SerializationError:
            n_refused += 1
        else:
            assert again == race
    assert n_refused > 300


@pytest.mark.long
def test_hundreds_of_edited_files_take_little_memory_and_come_back_or_are_refused(path):
    chance = random.Random(5)
    header, arrays = saved_files.members(path)
    values = [None, True, 0, -1, 10**8, 2**63, 10**400, 0.5, math.nan, "", "x", [], {}, [1], {"a": "b"}]
    tracemalloc.start()
    for _ in range(300):
        form = header | {
            chance.choice([key for key in header if key not in ("format", "version")]): chance.choice(values)
        }
        saved_files.write(path, form, arrays)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with contextlib.suppress(SerializationError):
            again = mb.SimulationResult.load(path)
            again.summary()
            again.save(path)
            assert mb.SimulationResult.load(path) == again
        assert tracemalloc.get_traced_memory()[1] - before < 2_000_000
    tracemalloc.stop()
