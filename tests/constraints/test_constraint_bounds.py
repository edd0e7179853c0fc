"""Bounds for any constraint, and regret where it is known by other means."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ProblemError
from shared_draws import path_problem, ucb1_regrets

SQUARE = mb.AssignmentConstraint.between("ab", "xy")
COMB_UCB1 = mb.OMM(scale=0.75**0.5)


def test_gaps_of_matroids_are_what_replacing_costs():
    graph = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 3)])
    gaps = mb.bounds.least_gaps(mb.Problem(graph, mb.BernoulliEnvironment([0.5, 0.75, 0.25, 0.5, 1.0])))
    assert np.array_equal(gaps, [np.nan, np.nan, 0.25, np.nan, np.inf], equal_nan=True)


def test_gaps_of_paths_and_pairs():
    roads = mb.PathConstraint([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "e")], "a", "d")
    problem = mb.Problem(roads, mb.BernoulliEnvironment([0.5, 0.5, 0.25, 0.5, 0.5]))
    assert np.array_equal(mb.bounds.least_gaps(problem), [np.nan, np.nan, 0.25, 0.25, np.inf], equal_nan=True)
    costs = mb.Problem(roads, problem.environment, minimize=True)
    assert np.array_equal(mb.bounds.least_gaps(costs), [0.25, 0.25, np.nan, np.nan, np.inf], equal_nan=True)
    # with the first pair only one of two could be matched
    pairs = mb.AssignmentConstraint([("a", "x"), ("a", "y"), ("b", "x")])
    gaps = mb.bounds.least_gaps(mb.Problem(pairs, mb.BernoulliEnvironment([0.9, 0.5, 0.5])))
    assert np.array_equal(gaps, [np.inf, np.nan, np.nan], equal_nan=True)


def test_the_bound_holds_and_is_above_the_lower_one():
    problem = path_problem(5, 4, 0.5, 0.2)
    assert mb.bounds.comb_ucb1(problem, 20_000) == pytest.approx(
        534 * 4 * 16 / 0.8 * np.log(20_000) + (np.pi**2 / 3 + 1) * 80
    )
    assert mb.bounds.path_lower_bound(20, 4, 0.8) == 20.0
    result = mb.simulate(problem, [COMB_UCB1], n_episodes=300, n_runs=5, seed=0)
    assert result.regret[:, -1].max() < mb.bounds.comb_ucb1(problem, 300, is_gap_free=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mb.bounds.comb_ucb1(mb.Problem(SQUARE, mb.BernoulliEnvironment([0.5] * 4)), 10),
            "expected one optim",
        ),
        (
            lambda: mb.bounds.comb_ucb1(mb.Problem(SQUARE, mb.GaussianEnvironment([0.5] * 4, 1.0)), 10),
            "weights in .0, 1",
        ),
        (
            lambda: mb.bounds.comb_ucb1(
                mb.Problem(SQUARE, mb.DelayedEnvironment(mb.BernoulliEnvironment([0.5] * 4), 10)), 10
            ),
            "answers that come at once",
        ),
        (lambda: mb.bounds.comb_ucb1(5, 10), "expected a Problem, got int"),
        (lambda: mb.bounds.path_lower_bound(10, 4, 0.5), "expected n_items to be paths of 4 items, got 10"),
        (lambda: mb.bounds.path_lower_bound(8, 4, 5), "expected a gap above 0 and at most 4, got 5"),
        (lambda: mb.bounds.gap_dependent(mb.Problem(SQUARE, mb.BernoulliEnvironment([0.5] * 4)), 10), "for matroids"),
    ],
)
def test_where_bounds_do_not_hold(call, message):
    with pytest.raises(ProblemError, match=message):
        call()


def test_gaps_are_refused_where_they_are_hard_to_find():
    ring = mb.PathConstraint([("a", "b"), ("b", "c"), ("c", "b"), ("b", "d"), ("c", "d")], "a", "d")
    with pytest.raises(ProblemError, match=r"best sets with a given item can be found; got PathConstraint.*NP-hard"):
        mb.bounds.least_gaps(mb.Problem(ring, mb.BernoulliEnvironment([0.5] * 5), minimize=True))


def test_paths_with_shared_weights_are_arms_of_ucb1():
    """The same weights, so the same choices."""
    problem = path_problem(5, 4, 0.5, 0.2)
    result = mb.simulate(problem, [COMB_UCB1], n_episodes=400, n_runs=10, seed=3)
    expected = ucb1_regrets(problem, 5, 4, 400, 10, seed=3)
    assert result.regret[0, -1] == pytest.approx(expected.mean())
    assert expected.mean() > 100.0


@pytest.mark.long
@pytest.mark.compiled
def test_regret_on_a_grid_is_what_another_implementation_found():
    """Two policies of the table that `make science` prints in full: means and standard errors over 20 runs."""
    arcs, means = [], []
    for i in range(4):
        for j in range(4):
            for is_there, head, is_good in ((i < 3, (i + 1, j), j == 0), (j < 3, (i, j + 1), i == 3)):
                if is_there:
                    arcs.append(((i, j), head))
                    means.append(0.9 if is_good else 0.1)
    problem = mb.Problem(mb.PathConstraint(arcs, (0, 0), (3, 3)), mb.BernoulliEnvironment(means))
    policies = {"OMM(.3)": mb.OMM(scale=0.3), "Thompson": mb.ThompsonSampling()}
    result = mb.simulate(problem, policies, n_episodes=5000, n_runs=20, seed=7)
    for place, (mean, error) in enumerate([(25.3, 0.9), (4.5, 0.9)]):
        assert abs(result.regret[place, -1] - mean) <= 3.0 * np.hypot(error, result.regret_se[place, -1])
