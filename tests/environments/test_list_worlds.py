"""Lists that are read from the top: what is seen, what it is worth, and what fits."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DeviceError, InvalidEnvironmentError, ProblemError, StoppingError
from matroid_bandits.simulation import sweep
from matroid_bandits.stream import ATTENTION

MEANS = np.array([0.6, 0.2, 0.5, 0.1, 0.3, 0.4])
COINS = mb.BernoulliEnvironment(MEANS)
LISTS = {
    "click": mb.CascadeEnvironment(COINS),
    "explore": mb.CascadeEnvironment(COINS, order="explore"),
    "failure": mb.CascadeEnvironment(COINS, until="failure"),
    "positions": mb.PositionEnvironment(COINS, [1.0, 0.6, 0.2]),
}
POLICIES = {
    "click": [mb.OMM(0.3), mb.ThompsonSampling()],
    "explore": [mb.OMM(0.3), mb.ThompsonSampling()],
    "failure": [mb.OMM(0.3), mb.ThompsonSampling()],
    "positions": [mb.PositionBias(mb.OMM(0.3)), mb.PositionBias(mb.ThompsonSampling(), [1.0, 0.6, 0.2])],
}


class TestClicks(mb.testing.EnvironmentSuite):
    environment = LISTS["click"]
    latest = 300


class TestFailures(mb.testing.EnvironmentSuite):
    environment = LISTS["failure"]
    latest = 300


class TestPlaces(mb.testing.EnvironmentSuite):
    environment = LISTS["positions"]
    latest = 300


class TestLateClicks(mb.testing.EnvironmentSuite):
    environment = mb.DelayedEnvironment(mb.AvailabilityEnvironment(LISTS["click"], 0.8), mean=3)
    latest = 300


def test_a_list_is_read_down_to_the_first_click_or_failure():
    items, places = np.array([[0, 1, 2], [0, 1, 2]]), np.array([[2, 0, 1], [1, 0, -1]])
    weights = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    stream = mb.Stream(0, [0, 1], ATTENTION)
    _, is_seen = LISTS["click"].look(stream, 1, items, weights, places)
    assert is_seen[0].tolist() == [False, True, True]  # item 1 first, item 2 is clicked
    assert is_seen[1, :2].all()  # nothing is clicked, all is read
    _, is_seen = LISTS["failure"].look(stream, 1, items, weights, places)
    assert is_seen[0].tolist() == [False, True, False]
    assert is_seen[1, :2].tolist() == [False, True]


def test_worths():
    places, weights = np.array([[1, 0, 2], [0, -1, -1]]), np.array([[0.5, 0.25, 0.5], [0.5, 0.9, 0.9]])
    assert LISTS["click"].worth(weights, places).tolist() == [1.0 - 0.5 * 0.75 * 0.5, 0.5]
    assert LISTS["failure"].worth(weights, places).tolist() == [0.0625, 0.5]
    assert LISTS["positions"].worth(weights, places) == pytest.approx([0.25 + 0.6 * 0.5 + 0.2 * 0.5, 0.5])
    assert LISTS["positions"].earned(weights, places).tolist() == [1.25, 0.5]
    for world in LISTS.values():
        assert world.worth(np.empty((2, 0)), np.empty((2, 0), np.int64)).tolist() == [0.0, 0.0]
    assert LISTS["failure"].worth(np.zeros((1, 2)), np.full((1, 2), -1)).tolist() == [0.0]


@pytest.mark.parametrize("name", LISTS)
def test_slices_of_runs_have_the_same_numbers(name):
    problem = mb.Problem(mb.PartitionMatroid("aabbcc"), LISTS[name])
    options = {"n_episodes": 150, "seed": 7, "keep_runs": True}
    whole = mb.simulate(problem, POLICIES[name], n_runs=5, **options)
    parts = [mb.simulate(problem, POLICIES[name], n_runs=n, first_run=i, **options) for i, n in ((0, 2), (2, 3))]
    joined = parts[0].join(parts[1])
    assert (whole.run_regret == joined.run_regret).all()
    assert (whole.run_returns == joined.run_returns).all()
    assert (whole.choices == joined.choices).all()
    assert whole == mb.simulate(problem, POLICIES[name], n_runs=5, executor=2, **options)


@pytest.mark.parametrize("name", LISTS)
def test_the_optimum_has_no_regret_and_earns_what_it_is_worth(name):
    problem = mb.Problem(mb.PartitionMatroid("aabbcc"), LISTS[name])

    class Known(mb.Policy):
        takes = frozenset(("cascade", "positions"))
        is_clairvoyant = True

        def indices(self, state, request):
            return np.tile(MEANS, (state.n_runs, 1))

    n = 4000
    result = mb.simulate(problem, Known(), n_episodes=n, n_runs=10, seed=1)
    assert (result.final_regret == 0.0).all()
    # sums of n worths in [0, 3] each; 6 standard errors
    assert abs(result.final_returns.mean() / n - problem.optimal_value) < 6 * 1.5 / np.sqrt(10 * n)
    assert problem.optimal_value == problem.worth(problem.optimal_order, MEANS)
    assert problem.no_regret == ""
    assert "total weight" in problem.no_bounds


def test_regret_is_the_worth_that_the_sets_lack():
    problem = mb.Problem(mb.UniformMatroid(6, 2), LISTS["click"])
    result = mb.simulate(problem, mb.FixedSet([1, 3]), n_episodes=50, n_runs=2, seed=1)
    gap = (1 - 0.4 * 0.5) - (1 - 0.8 * 0.9)
    assert result.final_regret[0] == pytest.approx([50 * gap] * 2)


def test_means_that_move_have_the_worth_of_each_episode():
    moving = mb.PiecewiseEnvironment([COINS, mb.BernoulliEnvironment(MEANS[::-1].copy())], [26])
    problem = mb.Problem(mb.UniformMatroid(6, 2), mb.CascadeEnvironment(moving))
    result = mb.simulate(problem, mb.FixedSet([0, 2]), n_episodes=50, n_runs=2, seed=1)
    best, other = 1 - 0.4 * 0.5, 1 - (1 - 0.4) * (1 - 0.1)
    assert result.final_regret[0] == pytest.approx([25 * (best - other)] * 2)
    assert result.optimum[-1] == pytest.approx(best)
    with pytest.raises(InvalidEnvironmentError, match="inside of CascadeEnvironment"):
        mb.Problem(mb.UniformMatroid(6, 2), mb.PiecewiseEnvironment([LISTS["click"], COINS], [26]))


def test_availability_and_late_answers_of_lists():
    world = mb.DelayedEnvironment(mb.AvailabilityEnvironment(LISTS["click"], 0.7), mean=5, never=0.1)
    problem = mb.Problem(mb.UniformMatroid(6, 3), world)
    options = {"n_episodes": 300, "n_runs": 4, "seed": 3, "start": "explore"}
    result = mb.simulate(problem, [mb.OMM(0.3), mb.ThompsonSampling()], **options)
    assert np.isfinite(result.final_regret).all()
    assert (np.diff(result.regret) >= -1e-12).all()
    inside = mb.CascadeEnvironment(mb.DelayedEnvironment(mb.AvailabilityEnvironment(COINS, 0.7), mean=5, never=0.1))
    assert result == mb.simulate(
        mb.Problem(mb.UniformMatroid(6, 3), inside), [mb.OMM(0.3), mb.ThompsonSampling()], **options
    )


def test_regret_is_not_known_where_items_are_not_independent_and_the_summary_says_why():
    rows = mb.RowEnvironment(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.CascadeEnvironment(rows))
    result = mb.simulate(problem, [mb.OMM(), mb.UniformRandom()], n_episodes=50, n_runs=3, seed=0)
    assert np.isnan(result.regret).all()
    assert not result.is_regret_known
    assert (result.returns[:, -1] > 0).all()
    assert "independent items; this environment does not say that its items are" in result.summary()
    places = mb.Problem(mb.UniformMatroid(3, 2), mb.PositionEnvironment(rows, [1.0, 0.5]))
    result = mb.simulate(places, mb.PositionBias(mb.OMM()), n_episodes=50, n_runs=3, seed=0)
    assert result.is_regret_known  # a sum needs no independence

    class Coins(mb.Environment):
        def draw(self, stream, t, items):
            return (stream.uniform(t, items) < self.mean_weights[items]).astype(np.float64)

    own = Coins([0.5, 0.5, 0.1], support=(0, 1))
    assert mb.Problem(mb.UniformMatroid(3, 2), mb.CascadeEnvironment(own)).no_regret
    Coins.is_independent = True
    assert not mb.Problem(mb.UniformMatroid(3, 2), mb.CascadeEnvironment(own)).no_regret


def test_a_result_of_lists_is_saved_with_its_reason(tmp_path):
    rows = mb.RowEnvironment(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.CascadeEnvironment(rows))
    result = mb.simulate(problem, mb.OMM(), n_episodes=20, n_runs=3, seed=0)
    result.save(tmp_path / "lists")
    assert type(result).load(tmp_path / "lists").no_regret == problem.no_regret


def test_compiled_episodes_and_the_gpu_leave_lists_to_the_agent():
    problem = mb.Problem(mb.UniformMatroid(6, 2), mb.DelayedEnvironment(LISTS["click"], 2))
    ((engine, why),) = mb.compiled.explain(problem, mb.OMM(), n_episodes=10**6, n_runs=100).values()
    assert engine == "agent"
    assert "interpreted" in why or "CascadeEnvironment" in why
    with pytest.raises(DeviceError, match="CascadeEnvironment has no compiled form"):
        mb.simulate(problem, mb.OMM(), n_episodes=10, n_runs=1, device="gpu")


def test_stopping_rules_are_refused():
    problem = mb.Problem(mb.UniformMatroid(6, 2), LISTS["click"])
    with pytest.raises(StoppingError, match="every chosen weight to be seen"):
        mb.simulate(problem, mb.CLUCB(0.1), n_episodes=10, n_runs=1, until=mb.StoppingRule(delta=0.1, weights="unit"))


def test_sweeps_have_lists(tmp_path):
    problems = {name: mb.Problem(mb.UniformMatroid(6, 3), LISTS[name]) for name in ("click", "explore", "failure")}
    options = {"n_episodes": 60, "n_runs": 3, "seed": 2, "store": tmp_path / "store"}
    first = sweep(problems, [mb.OMM(0.3), mb.KLOSM()], **options)
    again = sweep(problems, [mb.OMM(0.3), mb.KLOSM()], **options)
    for name in problems:
        assert first[name] == again[name]
        assert set(again[name].engine) == {"store"}
    assert first["click"] != first["explore"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mb.CascadeEnvironment(COINS, until="never"), 'expected until to be "click" or "failure"'),
        (lambda: mb.CascadeEnvironment(COINS, order="worst"), 'expected order to be "best" or "explore"'),
        (lambda: mb.CascadeEnvironment(mb.GaussianEnvironment(MEANS)), r"expected weights in \[0, 1\]"),
        (lambda: mb.CascadeEnvironment(LISTS["click"]), "weights are seen as they are"),
        (
            lambda: mb.PositionEnvironment(mb.DelayedEnvironment(LISTS["click"], 1), [1.0]),
            "weights are seen as they are",
        ),
        (lambda: mb.PositionEnvironment(COINS, [0.9, 0.5]), "1 at the top and never rising"),
        (lambda: mb.PositionEnvironment(COINS, [1.0, 0.4, 0.5]), "1 at the top and never rising"),
        (lambda: mb.PositionEnvironment(COINS, []), "1 at the top"),
        (lambda: mb.PositionEnvironment(COINS, [1.0, -0.5]), r"expected attention in \[0, 1\]"),
    ],
)
def test_what_environments_refuse(make, words):
    with pytest.raises(InvalidEnvironmentError, match=words):
        make()


def test_what_problems_refuse():
    with pytest.raises(ProblemError, match="got minimize=True"):
        mb.Problem(mb.UniformMatroid(6, 2), LISTS["click"], minimize=True)
    with pytest.raises(ProblemError, match="attention of each of 4 places"):
        mb.Problem(mb.UniformMatroid(6, 4), LISTS["positions"])
    tasks = mb.AssignmentConstraint.between("ab", "xyz")
    with pytest.raises(ProblemError, match="expected a matroid for lists"):
        mb.Problem(tasks, LISTS["positions"])
    with pytest.raises(ProblemError, match="the empty set never fails"):
        mb.Problem(mb.KnapsackConstraint(np.ones(6, int), 3), LISTS["failure"])
    roads = mb.PathConstraint([(0, 1), (1, 2), (2, 1), (0, 2), (2, 3), (1, 3)], 0, 3)
    with pytest.raises(ProblemError, match="until a click"):
        mb.Problem(roads, LISTS["click"])
    with pytest.raises(ProblemError, match="costs"):
        mb.Problem(roads, COINS)


def test_weights_between_0_and_1_end_no_reading():
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.CascadeEnvironment(mb.BetaEnvironment([1, 2, 3], [2, 2, 2])))
    with pytest.raises(InvalidEnvironmentError, match="expected weights 0 or 1"):
        mb.simulate(problem, mb.OMM(), n_episodes=5, n_runs=1)


def test_means_by_label_are_put_in_the_order_of_the_constraint():
    matroid = mb.UniformMatroid(3, 2, labels=["hat", "scarf", "gloves"])
    world = mb.CascadeEnvironment(mb.BernoulliEnvironment({"gloves": 0.9, "hat": 0.5, "scarf": 0.1}))
    problem = mb.Problem(matroid, world)
    assert problem.environment.lists.mean_weights.tolist() == [0.5, 0.1, 0.9]
    assert problem.worth(["gloves", "hat"], {"hat": 0.5, "gloves": 0.9, "scarf": 0.1}) == pytest.approx(0.95)
