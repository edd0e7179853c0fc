"""Problem files of worlds that move and of worlds with features."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError
from matroid_bandits.specs import ConstraintSpec, SimulationSpec, WeightsSpec, json_schema, parse, read_simulation
from matroid_bandits.stream import FEATURES, Stream
from problem_files import HEAD, MEAN, OMM, UNIFORM, write_problem

ROWS = [
    {"item": "a", "mean": 0.5, "later": 0.25, "x": 1.0, "y": 0.0},
    {"item": "b", "mean": 0.25, "later": 0.75, "x": 0.0, "y": 2.0},
]
GROUND = parse(ConstraintSpec, {"kind": "uniform", "rows": ROWS, "rank": 1}).ground()
COINS = {"family": "bernoulli", "mean": "mean"}
CONTEXT = Stream(0, range(3), FEATURES)


def world_of(weights):
    return parse(WeightsSpec, weights).environment(GROUND)


def test_pieces():
    late = {"family": "gaussian", "mean": [3.0, 4.0], "delay": {"episodes": 2}}
    swing = COINS | {"drift": {"amplitude": 0.125, "period": 8}}
    world = world_of({"family": "piecewise", "pieces": [COINS, late, swing], "changes": [5, 9], "availability": 0.5})
    assert isinstance(world, mb.AvailabilityEnvironment)
    pieces = world.environment
    assert isinstance(pieces, mb.PiecewiseEnvironment)
    assert pieces.changes == (5, 9)
    assert [world.means(t, CONTEXT).tolist() for t in (4, 5, 10)] == [[0.5, 0.25], [3.0, 4.0], [0.625, 0.375]]
    nested = {
        "family": "piecewise",
        "pieces": [{"family": "piecewise", "pieces": [COINS], "changes": []}],
        "changes": [],
    }
    assert world_of(nested).means(1, CONTEXT).tolist() == [0.5, 0.25]
    assert parse(WeightsSpec, nested).columns == ["mean"]


def test_means_that_wander():
    walk = world_of(COINS | {"walk": {"step": {"a": 0.1, "b": 0.0}, "high": 0.75}})
    assert isinstance(walk, mb.RandomWalkEnvironment)
    assert walk.bounds == (0.0, 0.75)
    assert (walk.means(9, CONTEXT)[:, 1] == 0.25).all()
    own = world_of(
        {"family": "gaussian", "mean": "mean", "autoregressive": {"deviation": "later", "correlation": 0.5}}
    )
    assert isinstance(own, mb.AutoregressiveEnvironment)
    assert parse(WeightsSpec, COINS | {"walk": {"step": "x"}}).columns == ["x", "mean"]
    with pytest.raises(DataError, match="expected one of drift, walk, autoregressive; got drift and walk"):
        world_of(COINS | {"walk": {}, "drift": {}})
    with pytest.raises(DataError, match="walk: expected step"):
        world_of(COINS | {"walk": {"step": [-1, 0]}})


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (COINS, "BernoulliEnvironment"),
        ({"family": "exponential", "mean": "mean"}, "ExponentialEnvironment"),
        ({"family": "gaussian", "mean": "mean", "noise": 0.5}, "GaussianEnvironment"),
        ({"family": "beta", "mean": "mean"}, "BetaEnvironment"),
    ],
)
def test_every_family_may_drift(family, kind):
    weights = family | {"drift": {"to": "later", "over": 10}}
    world = world_of(weights)
    assert type(world.environment).__name__ == kind
    assert world.means(5, CONTEXT) == pytest.approx([0.375, 0.5])
    assert sorted(parse(WeightsSpec, weights).columns) == ["later", "mean"]
    swing = family | {"drift": {"amplitude": {"a": 0.125, "b": 0.0}, "period": [8.0, 9.0], "phase": 0.5}}
    assert world_of(swing).means(2, CONTEXT) == pytest.approx([0.375, 0.25])


def test_linear_weights_drift():
    world = world_of(
        {"family": "linear", "features": ["x", "y"], "theta": [1, 2], "drift": {"to": [0, 0], "over": 2}}
    )
    assert world.means(1, CONTEXT).tolist() == [0.5, 2.0]


def test_a_drift_from_a_table_of_its_own(tmp_path):
    toml = HEAD + UNIFORM + MEAN + 'file = "own.csv"\ndrift = { to = "later" }\n' + OMM
    own = "item,mean,later\na,0.5,0.75\nb,0.5,0.5\nc,0.5,0.25\n"
    problem = read_simulation(write_problem(tmp_path, toml, own=own)).problem
    assert problem.environment.means(1000, CONTEXT).tolist() == [0.75, 0.5, 0.25]


def test_context():
    plain = {"family": "contextual", "features": ["x", "y"], "theta": [0.5, 1.0]}
    world = world_of(plain)
    assert world.n_features == 2
    assert world.support == (-np.inf, np.inf)
    assert np.array_equal(world_of(plain | {"spread": 0}).features(CONTEXT, 1)[0], [[1.0, 0.0], [0.0, 2.0]])
    still = world_of(plain | {"spread": [0, 1], "noise": 0}).features(CONTEXT, 1)
    assert np.array_equal(still[:, :, 0], [[1.0, 0.0]] * 3)
    coins = plain | {"theta": [0.25, 0.25], "spread": [0.0, 0.0], "distribution": "bernoulli"}
    assert world_of(coins).support == (0.0, 1.0)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ({"family": "piecewise", "changes": []}, "^pieces: expected a list, but the key is missing"),
        ({"family": "piecewise", "pieces": [COINS], "changes": [3]}, "expected 0 changes, one for each piece"),
        ({"family": "piecewise", "pieces": [COINS, COINS], "changes": [0]}, r"^changes\[0\]: expected a positive"),
        ({"family": "piecewise", "pieces": [COINS, COINS], "changes": [1]}, "a change to be an integer from 2"),
        ({"family": "piecewise", "pieces": [COINS, COINS], "changes": [2.5]}, r"^changes\[0\]: expected an integer"),
        ({"family": "piecewise", "pieces": [], "changes": []}, "expected a sequence of environments, one or more"),
        ({"family": "piecewise", "pieces": COINS, "changes": []}, "^pieces: expected a list"),
        (
            {"family": "piecewise", "pieces": [COINS, {"family": "bernouli", "mean": "mean"}], "changes": [3]},
            r"^pieces\[1\]\.family: .* did you mean 'bernoulli'",
        ),
        (
            {"family": "piecewise", "pieces": [COINS, COINS | {"mean": [0.5]}], "changes": [3]},
            r"^pieces\[1\]\.mean: expected 2 numbers, one per item; got 1",
        ),
        (COINS | {"drift": {"amplitud": 1}}, r"^drift\.amplitud: unknown key; did you mean 'amplitude'"),
        (COINS | {"drift": {"amplitude": 0.75}}, r"^drift: expected the means of BernoulliEnvironment to stay in"),
        (COINS | {"drift": {"period": 0}}, "^drift: expected period to be a finite number of at least 1"),
        (COINS | {"drift": {"to": 0.5}}, r"^drift\.to: expected a column, a list or a table of numbers, got 0.5"),
        (COINS | {"drift": {"to": {"c": 0.5}}}, r"^drift\.to: item 'c' is not in"),
        (COINS | {"drift": 3}, "^drift: expected a table, got 3"),
        ({"family": "rows", "rows": [[1, 2]], "drift": {}}, "^drift: unknown key"),
        ({"family": "contextual", "features": ["x"], "theta": [1, 2]}, "^theta: expected 1, one per feature; got 2"),
        ({"family": "contextual", "features": ["x"], "theta": [1], "spread": [1, 2]}, "^spread: expected 1, one per"),
        ({"family": "contextual", "features": ["x"], "theta": [1], "spread": -1}, "spread to be a finite number"),
        ({"family": "contextual", "features": ["x"], "theta": [1], "noise": -1}, "^noise: expected a standard dev"),
        (
            {"family": "contextual", "features": ["x"], "theta": [1], "distribution": "beta"},
            "^distribution: .* one of",
        ),
        ({"family": "contextual", "features": ["x"], "theta": [1], "distribution": "bernoulli"}, "expected means in"),
        ({"family": "contextual", "features": ["z"], "theta": [1]}, "z"),
    ],
)
def test_mistakes(weights, match):
    with pytest.raises(DataError, match=match):
        world_of(weights)


class Asking(mb.Policy):
    n_features = 3

    def indices(self, state, request):
        return state.means


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (COINS, r"policies\.Asking: .* needs 3 features of every item in each episode; this environment has none"),
        ({"family": "contextual", "features": ["x"], "theta": [1]}, "needs 3 features .* this environment has 1"),
    ],
)
def test_a_policy_that_needs_other_features_is_refused_by_name(weights, match):
    matroid = {"kind": "uniform", "rows": ROWS, "rank": 1}
    spec = SimulationSpec(episodes=3, matroid=matroid, weights=weights, policies={"Asking": {}})
    problem, ground = spec.make()
    with pytest.raises(DataError, match=match):
        spec.make_policies(problem, ground)


def test_the_schema_knows_them():
    schema = json_schema()
    assert {"PiecewiseSpec", "ContextualSpec", "DriftSpec"} <= set(schema["$defs"])
    assert "drift" in schema["$defs"]["BernoulliSpec"]["properties"]
    assert schema["$defs"]["PiecewiseSpec"]["description"].startswith("Piecewise-stationary weights")
