"""Problem files: the examples, and every way to say it."""

from pathlib import Path

import numpy as np
import pytest

from matroid_bandits import SimulationResult, Stream, simulate
from matroid_bandits.exceptions import DataError
from matroid_bandits.reporting import simulation_chapter
from matroid_bandits.specs import SimulationSpec, read_simulation
from problem_files import HEAD, MEAN, OMM, UNIFORM, write_problem

EXAMPLES = Path(__file__).parents[2] / "examples"


def play(spec: SimulationSpec) -> SimulationResult:
    return simulate(
        spec.problem,
        spec.policies,
        n_episodes=spec.n_episodes,
        n_runs=spec.n_runs,
        seed=spec.seed,
        start=spec.start,
    )


def problem_of(path: Path):
    return read_simulation(path).problem


@pytest.mark.parametrize(
    ("name", "n_items", "rank", "optimum"),
    [
        ("graph", 16, 7, 51.0),
        ("partition", 13, 6, 1.15),
        ("transversal", 9, 5, 4.39),
        ("linear", 8, 4, 2.7555),
        ("uniform", 10, 3, 2.34),
        ("quotas", 11, 6, 2.60),
    ],
)
def test_examples(name, n_items, rank, optimum):
    spec = read_simulation(EXAMPLES / f"{name}.toml")
    problem = spec.problem
    assert (problem.n_items, problem.constraint.rank) == (n_items, rank)
    assert problem.optimal_value == pytest.approx(optimum, abs=1e-4)
    short = spec.resized(n_episodes=30, n_runs=2)
    result = play(short)
    chapter = simulation_chapter(
        problem, spec.policies, result, name=name, title=spec.title, description=spec.description, lead=spec.about
    )
    assert chapter.lead
    assert [table.name for table in chapter.tables] == ["policies", "basis"]
    assert len(chapter.tables[1].rows) == rank


@pytest.mark.parametrize(("name", "n_chosen", "optimum"), [("routes", 3, 22.0), ("two_quotas", 5, 1.8)])
def test_examples_that_are_no_matroids(name, n_chosen, optimum):
    spec = read_simulation(EXAMPLES / f"{name}.toml")
    problem = spec.problem
    assert (problem.optimal_basis.size, problem.optimal_value) == (n_chosen, pytest.approx(optimum))
    result = play(spec.resized(n_episodes=30, n_runs=2))
    assert (result.regret >= 0).all()


@pytest.mark.parametrize(
    ("name", "n_items", "rank", "optima"),
    [("drift", 9, 3, {1: 1.65, 2000: 1.35, 2001: 1.70, 4001: 1.65}), ("context", 6, 2, {})],
)
def test_examples_of_worlds_that_move(name, n_items, rank, optima):
    spec = read_simulation(EXAMPLES / f"{name}.toml")
    problem = spec.problem
    assert (problem.n_items, problem.rank) == (n_items, rank)
    for t, optimum in optima.items():
        assert problem.optimum(t, Stream(0, [0]))[2] == pytest.approx(optimum, abs=1e-3)
    result = play(spec.resized(n_episodes=30, n_runs=2))
    assert result.is_regret_known
    chapter = simulation_chapter(
        problem, spec.policies, result, name=name, title=spec.title, description=spec.description, lead=spec.about
    )
    assert chapter.lead
    assert [table.name for table in chapter.tables] == ["policies"]


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.toml")} - {"sweep"} == {  # whose tests are beside these
        "graph",
        "partition",
        "transversal",
        "linear",
        "uniform",
        "quotas",
        "drift",
        "context",
        "routes",
        "two_quotas",
    }


def test_defaults(tmp_path):
    spec = read_simulation(write_problem(tmp_path, "episodes = 20\n" + UNIFORM + MEAN + OMM))
    assert (spec.n_episodes, spec.n_runs, spec.seed, spec.start) == (20, 20, 0, "observe")
    assert spec.title == "problem"
    problem = spec.problem
    assert not problem.minimize
    assert problem.constraint.labels == ("a", "b", "c")
    assert problem.optimal_value == 1.25


def test_direction_and_start(tmp_path):
    spec = read_simulation(
        write_problem(tmp_path, HEAD + 'direction = "minimize"\nstart = "explore"\nseed = 5\n' + UNIFORM + MEAN + OMM)
    )
    assert spec.problem.optimal_value == 0.75
    assert (spec.start, spec.seed) == ("explore", 5)


@pytest.mark.parametrize(("capacity", "rank"), [("", 2), ("capacity = 5\n", 3), ('capacity = "capacity"\n', 2)])
def test_capacities(tmp_path, capacity, rank):
    toml = HEAD + '[matroid]\nkind = "partition"\nfile = "items.csv"\ncategory = "kind"\n' + capacity + MEAN + OMM
    assert problem_of(write_problem(tmp_path, toml)).constraint.rank == rank


def test_linear_features_are_all_other_columns(tmp_path):
    items = "item,x,y,mean\na,1,1,0.5\nb,1,-1,0.25\nc,2,0,0.75\n"
    toml = HEAD + '[matroid]\nkind = "linear"\nfile = "items.csv"\n' + MEAN + OMM
    matroid = problem_of(write_problem(tmp_path, toml, items=items)).constraint
    assert (matroid.rank, matroid.is_exact) == (2, True)
    assert (
        problem_of(
            write_problem(tmp_path, toml.replace("[weights]", "field = 2\n[weights]"), items=items)
        ).constraint.rank
        == 1
    )
    floats = items.replace("2,0", "2.5,0")
    assert not problem_of(write_problem(tmp_path, toml, items=floats)).constraint.is_exact


def test_graph_with_parallel_links(tmp_path):
    links = "source,target,cable,mean\nu,v,red,0.5\nu,v,blue,0.25\n"
    toml = HEAD + '[matroid]\nkind = "graphic"\nfile = "items.csv"\nlabel = "cable"\n' + MEAN + OMM
    assert problem_of(write_problem(tmp_path, toml, items=links)).constraint.labels == ("red", "blue")


def test_transversal_with_means_beside_the_pairs(tmp_path):
    pairs = "item,partner,mean\na,1,0.5\na,2,0.5\nb,1,0.75\n"
    toml = HEAD + '[matroid]\nkind = "transversal"\nfile = "items.csv"\n' + MEAN + OMM
    assert problem_of(write_problem(tmp_path, toml, items=pairs)).optimal_value == 1.25


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("bernoulli", "BernoulliEnvironment"),
        ("exponential", "ExponentialEnvironment"),
        ('gaussian"\nnoise = "2', "GaussianEnvironment"),
        ("beta", "BetaEnvironment"),
    ],
)
def test_families(tmp_path, family, name):
    weights = f'[weights]\nmean = "mean"\nfamily = "{family}"\n'.replace('"2"', "2")
    problem = problem_of(write_problem(tmp_path, HEAD + UNIFORM + weights + OMM))
    assert type(problem.environment).__name__ == name
    np.testing.assert_allclose(problem.environment.mean_weights, [0.5, 0.25, 0.75])


def test_observations(tmp_path):
    weights = '[weights]\nobservations = "past.csv"\nweight = "w"\n'
    path = write_problem(tmp_path, HEAD + UNIFORM + weights + OMM, past="item,w\nb,1\na,2\nb,4\nc,0\n")
    np.testing.assert_allclose(problem_of(path).environment.mean_weights, [2.0, 2.5, 0.0])
    weights = '[weights]\nobservations = "past.csv"\nlayout = "wide"\n'
    path = write_problem(tmp_path, HEAD + UNIFORM + weights + OMM, past="c,a,b\n1,2,3\n3,4,5\n")
    np.testing.assert_allclose(problem_of(path).environment.mean_weights, [3.0, 4.0, 2.0])


def test_policies(tmp_path):
    policies = (
        '[policies]\nOMM = { scale = 2 }\nbest = { policy = "FixedSet", items = ["a", "c"] }\n'
        'linear = { policy = "CombLinTS", features = ["x", "y"] }\n'
    )
    spec = read_simulation(write_problem(tmp_path, HEAD + UNIFORM + MEAN + policies))
    assert [repr(spec.policies[name]) for name in ("OMM", "linear")] == [
        "OMM(scale=2.0)",
        "CombLinTS(features=<array (3, 2)>, prior_scale=1.0, noise=0.1)",
    ]
    assert spec.policies["best"].items.tolist() == [0, 2]
    assert list(spec.policies) == ["OMM", "best", "linear"]
    assert not play(spec).regret[1].any()


def test_items_of_a_policy_are_labels_or_numbers(tmp_path):
    toml = HEAD + UNIFORM + MEAN + '[policies]\nFixedSet = { items = ["c", 1] }\n'
    assert read_simulation(write_problem(tmp_path, toml)).policies["FixedSet"].items.tolist() == [1, 2]
    path = write_problem(tmp_path, toml.replace('"c"', '"z"'))
    with pytest.raises(DataError, match=r"policies\.FixedSet\.items: item 'z' is not in items\.csv"):
        read_simulation(path)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    assert read_simulation(write_problem(tmp_path, "\ufeff" + HEAD + UNIFORM + MEAN + OMM)).n_runs == 2


def test_names_of_files_become_names_for_links(tmp_path):
    path = write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    spec = read_simulation(path.rename(tmp_path / 'a "b" & c#1.toml'))
    assert (spec.name, spec.title) == ("a-b-c-1", 'a "b" & c#1')
    assert read_simulation((tmp_path / 'a "b" & c#1.toml').rename(tmp_path / "&.toml")).name == "problem"
