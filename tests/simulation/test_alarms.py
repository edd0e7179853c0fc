"""Alarms of policies with a detector, in what a simulation finds."""

import dataclasses

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import SerializationError

EAGER = mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)
PROBLEM = mb.Problem(mb.UniformMatroid(5, 2), mb.BernoulliEnvironment([0.2, 0.4, 0.5, 0.6, 0.8]))
RACE = {"OMM": mb.OMM(0.4), "restarting": mb.Restarting(mb.OMM(0.4), EAGER)}
SETTINGS = {"n_episodes": 120, "n_runs": 6, "seed": 1, "checkpoints": [10, 60, 120]}


@pytest.fixture(scope="module")
def result():
    return mb.simulate(PROBLEM, RACE, **SETTINGS)


def test_alarms_are_counted_by_checkpoint_and_by_item(result):
    alone = [mb.simulate(PROBLEM, RACE["restarting"], **SETTINGS | {"n_runs": n}) for n in (1, 6)]
    assert np.array_equal(alone[1].alarms[0], result.alarms[1])
    assert result.alarms[0].tolist() == [0.0, 0.0, 0.0]
    assert 0 < result.alarms[1, 1] < result.alarms[1, 2]
    assert result.item_alarms[1].sum() == round(6 * result.alarms[1, -1])
    assert (alone[0].item_alarms <= alone[1].item_alarms).all()  # run 0 is the same in a batch
    one = result["restarting"]
    assert one.alarms.tolist() == result.alarms[1].tolist()
    assert one.item_alarms.tolist() == result.item_alarms[1].tolist()
    assert mb.simulate(PROBLEM, RACE, **SETTINGS, executor=2) == result


def test_late_answers_raise_alarms_too(result):
    late = mb.Problem(PROBLEM.constraint, mb.DelayedEnvironment(PROBLEM.environment, 5))
    found = mb.simulate(late, RACE, **SETTINGS)
    assert found.alarms[1, -1] > 0
    assert found.choices.sum(axis=1).tolist() == [6 * 120 * 2] * 2


def test_alarms_are_shown_only_where_there_are_detectors(result):
    plain = mb.simulate(PROBLEM, mb.OMM(), **SETTINGS)
    assert (plain.alarms, plain.item_alarms, plain["OMM"].alarms) == (None, None, None)
    assert "alarms" not in plain.summary()
    assert "alarms" not in plain._repr_html_()
    lines = result.summary().splitlines()
    assert lines[3].endswith("alarms per run  seconds")
    assert lines[5].split()[-2] == "0.00"
    assert lines[6].split()[-2] == f"{result.alarms[1, -1]:.2f}"
    assert f"<td>{result.alarms[1, -1]:.2f}</td>" in result._repr_html_()
    pytest.importorskip("pandas")
    assert "alarms" not in plain.to_frame()
    assert result.to_frame().alarms.tolist() == result.alarms.reshape(-1).tolist()


def test_a_file_holds_the_alarms(result, tmp_path):
    path = tmp_path / "race.npz"
    result.save(path)
    assert mb.SimulationResult.load(path) == result
    for name, value, message in (
        ("alarms", None, "expected 'alarms' to be"),
        ("item_alarms", None, "expected 'item_alarms' to be"),
        ("alarms", -result.alarms, "expected alarms of 0 or more that do not become fewer"),
        ("alarms", result.alarms[:, ::-1].copy(), "expected alarms of 0 or more that do not become fewer"),
        ("item_alarms", result.item_alarms + 1, "expected alarms to end in the mean over runs of item_alarms"),
    ):
        with pytest.raises(SerializationError, match=message):
            dataclasses.replace(result, **{name: value}).save(tmp_path / "bad.npz")
    assert not (tmp_path / "bad.npz").exists()
