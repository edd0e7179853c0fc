"""Worlds that do not draw, and the phases that mislead averages."""

from math import ceil

import numpy as np
import pytest
from pydantic import TypeAdapter

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError, InvalidEnvironmentError
from matroid_bandits.specs import ConstraintSpec, WeightsSpec, parse

ROWS = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.25, 0.0, 1.0], [0.0, 0.0, 0.0]])
STREAM = mb.Stream(seed=3, runs=[4, 0])


class TestTrace(mb.testing.EnvironmentSuite):
    environment = mb.TraceEnvironment(ROWS)
    n_draws = 200


class TestPhases(mb.testing.EnvironmentSuite):
    environment = mb.PhasesEnvironment(5, [1, 3])


def test_rows_come_in_order_and_again():
    world = mb.TraceEnvironment(ROWS)
    for t in range(1, 11):
        expected = np.tile(ROWS[(t - 1) % 4], (2, 1))
        assert np.array_equal(world.draw(STREAM, t, np.arange(3)), expected)
        assert np.array_equal(world.means(t, STREAM), expected[0])
        assert np.array_equal(world.totals(t), sum(ROWS[s % 4] for s in range(t)))
    assert (world.support, world.n_rows, world.is_stationary) == ((0.0, 1.0), 4, False)
    assert np.array_equal(world.draw(STREAM, 0, np.array([[2], [0]])), [[0.5], [1.0]])  # the first row, seen before


@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize("minimize", [False, True])
def test_compiled_episodes_play_the_same_rows(start, minimize):
    problem = mb.Problem(mb.UniformMatroid(3, 1), mb.TraceEnvironment(ROWS), minimize)
    settings = {"n_episodes": 41, "n_runs": 3, "seed": 1, "start": start}
    assert mb.gpu.obstacle(problem, mb.OMM(), 41) is None
    for policy in (mb.OMM(0.5), mb.ThompsonSampling()):
        fused, plain = (mb.simulate(problem, policy, engine=engine, **settings) for engine in ("auto", "greedy"))
        assert np.array_equal(fused.regret, plain.regret)
        assert np.array_equal(fused.choices, plain.choices)


def test_regret_in_hindsight_is_a_difference():
    rows = np.random.default_rng(1).integers(0, 2, (30, 5))
    problem = mb.Problem(mb.UniformMatroid(5, 2), mb.TraceEnvironment(rows))
    best = problem.constraint.max_weight_basis(problem.environment.totals(30))
    result = mb.simulate(problem, [mb.FixedSet(best), mb.FixedSet([0, 1])], n_episodes=30, n_runs=1, seed=0)
    of_best, of_other = result.regret[:, -1]
    assert of_other - of_best == pytest.approx(rows[:, best].sum() - rows[:, :2].sum())


def test_phases_alternate_and_grow():
    world = mb.PhasesEnvironment(4, best=[2], gap=0.25, growth=2.0)
    assert world.changes[:5] == (2, 6, 14, 30, 62)
    lengths = np.diff((0, *mb.PhasesEnvironment(2, [0]).changes[:20]))
    assert lengths.tolist() == [ceil(1.6**n) for n in range(1, 21)]
    high, low = [0.75, 0.75, 1, 0.75], [0, 0, 0.25, 0]
    for t, means in ((0, high), (1, high), (2, low), (5, low), (6, high)):
        assert np.array_equal(world.means(t, STREAM), means)
    problem = mb.Problem(mb.UniformMatroid(4, 1), world)
    assert mb.simulate(problem, mb.FixedSet([2]), n_episodes=100, n_runs=1, seed=0).final_regret == 0.0
    other = mb.simulate(problem, mb.FixedSet([0]), n_episodes=100, n_runs=1, seed=0).final_regret
    assert other == pytest.approx(25.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.TraceEnvironment([]), "expected rows of weights in a 2-D array"),
        (lambda: mb.TraceEnvironment(np.empty((0, 3))), "expected at least one row"),
        (lambda: mb.TraceEnvironment([[0, 1], [np.nan, 0]]), "got nan for item 0 in row 1"),
        (lambda: mb.TraceEnvironment([[1e200]]), "at most 1e\\+100"),
        (lambda: mb.TraceEnvironment(ROWS).totals(-1), "expected n_episodes"),
        (lambda: mb.PhasesEnvironment(3, [3]), "expected an item of best"),
        (lambda: mb.PhasesEnvironment(3, []), "an item or more"),
        (lambda: mb.PhasesEnvironment(3, 1), "a row of items"),
        (lambda: mb.PhasesEnvironment(3, [1], gap=0), "above 0"),
        (lambda: mb.PhasesEnvironment(3, [1], growth=1), "expected growth"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(InvalidEnvironmentError, match=message):
        make()


def test_specs():
    ground = parse(ConstraintSpec, {"kind": "uniform", "rows": ["a", "b"], "rank": 1}).ground()
    read = TypeAdapter(WeightsSpec).validate_python
    trace = read({"family": "trace", "rows": [[0, 1], {"a": 1, "b": 0.5}]}).environment(ground)
    assert np.array_equal(trace.rows, [[0, 1], [1, 0.5]])
    phases = read({"family": "phases", "best": ["b"], "gap": 0.5}).environment(ground)
    assert np.array_equal(phases.means(1, STREAM), [0.5, 1.0])
    with pytest.raises(DataError, match=r"best.*'c'"):
        read({"family": "phases", "best": ["c"]}).environment(ground)
