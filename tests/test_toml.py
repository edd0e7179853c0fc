"""Problem files: the examples, every way to say it, and every mistake with its key or line."""

from pathlib import Path

import numpy as np
import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments import read_problem, run

EXAMPLES = Path(__file__).parent.parent / "examples"

ITEMS = "item,kind,capacity,x,y,mean\na,p,1,1,0,0.5\nb,p,1,0,1,0.25\nc,q,2,1,1,0.75\n"
MEAN = '[weights]\nmean = "mean"\nnoise = "bernoulli"\n'
UNIFORM = '[matroid]\nkind = "uniform"\nfile = "items.csv"\nrank = 2\n'
HEAD = "episodes = 20\nruns = 2\n"
OMM = "[policies]\nOMM = {}\n"


def write(folder: Path, toml: str, **sheets: str) -> Path:
    for name, text in {"items": ITEMS, **sheets}.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    path = folder / "problem.toml"
    path.write_text(toml, encoding="utf-8")
    return path


def problem_of(path: Path):
    return read_problem(path).load(None)[0].problem


@pytest.mark.parametrize(
    ("name", "n_items", "rank", "optimum"),
    [
        ("graph", 16, 7, 51.0),
        ("partition", 13, 6, 1.15),
        ("transversal", 9, 5, 4.39),
        ("linear", 8, 4, 2.7555),
        ("uniform", 10, 3, 2.34),
    ],
)
def test_examples(name, n_items, rank, optimum):
    experiment = read_problem(EXAMPLES / f"{name}.toml")
    problem = experiment.load(None)[0].problem
    assert (problem.n_items, problem.constraint.rank) == (n_items, rank)
    assert problem.optimal_value == pytest.approx(optimum, abs=1e-4)
    outcome = run(experiment.resized(n_episodes=30, n_runs=2))
    chapter = experiment.write(outcome)
    assert chapter.lead
    assert [table.name for table in chapter.tables] == ["policies", "basis"]
    assert len(chapter.tables[1].rows) == rank


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == {
        "graph",
        "partition",
        "transversal",
        "linear",
        "uniform",
    }


def test_defaults(tmp_path):
    experiment = read_problem(write(tmp_path, "episodes = 20\n" + UNIFORM + MEAN + OMM))
    assert (experiment.n_episodes, experiment.n_runs, experiment.seed, experiment.start) == (20, 20, 0, "observe")
    assert experiment.title == "problem"
    problem = experiment.load(None)[0].problem
    assert not problem.minimize
    assert problem.constraint.labels == ("a", "b", "c")
    assert problem.optimal_value == 1.25


def test_direction_and_start(tmp_path):
    experiment = read_problem(
        write(tmp_path, HEAD + 'direction = "minimize"\nstart = "explore"\nseed = 5\n' + UNIFORM + MEAN + OMM)
    )
    assert experiment.load(None)[0].problem.optimal_value == 0.75
    assert (experiment.start, experiment.seed) == ("explore", 5)


@pytest.mark.parametrize(("capacity", "rank"), [("", 2), ("capacity = 5\n", 3), ('capacity = "capacity"\n', 2)])
def test_capacities(tmp_path, capacity, rank):
    toml = HEAD + '[matroid]\nkind = "partition"\nfile = "items.csv"\ncategory = "kind"\n' + capacity + MEAN + OMM
    assert problem_of(write(tmp_path, toml)).matroid.rank == rank


def test_linear_features_are_all_other_columns(tmp_path):
    items = "item,x,y,mean\na,1,1,0.5\nb,1,-1,0.25\nc,2,0,0.75\n"
    toml = HEAD + '[matroid]\nkind = "linear"\nfile = "items.csv"\n' + MEAN + OMM
    matroid = problem_of(write(tmp_path, toml, items=items)).matroid
    assert (matroid.rank, matroid.is_exact) == (2, True)
    assert (
        problem_of(write(tmp_path, toml.replace("[weights]", "field = 2\n[weights]"), items=items)).matroid.rank == 1
    )
    floats = items.replace("2,0", "2.5,0")
    assert not problem_of(write(tmp_path, toml, items=floats)).matroid.is_exact


def test_graph_with_parallel_links(tmp_path):
    links = "source,target,cable,mean\nu,v,red,0.5\nu,v,blue,0.25\n"
    toml = HEAD + '[matroid]\nkind = "graphic"\nfile = "items.csv"\nlabel = "cable"\n' + MEAN + OMM
    assert problem_of(write(tmp_path, toml, items=links)).matroid.labels == ("red", "blue")


def test_transversal_with_means_beside_the_pairs(tmp_path):
    pairs = "item,partner,mean\na,1,0.5\na,2,0.5\nb,1,0.75\n"
    toml = HEAD + '[matroid]\nkind = "transversal"\nfile = "items.csv"\n' + MEAN + OMM
    assert problem_of(write(tmp_path, toml, items=pairs)).optimal_value == 1.25


@pytest.mark.parametrize(
    ("noise", "name"),
    [
        ("bernoulli", "BernoulliEnvironment"),
        ("exponential", "ExponentialEnvironment"),
        ('gaussian"\nscale = "2', "GaussianEnvironment"),
        ("beta", "BetaEnvironment"),
    ],
)
def test_noise(tmp_path, noise, name):
    weights = f'[weights]\nmean = "mean"\nnoise = "{noise}"\n'.replace('"2"', "2")
    problem = problem_of(write(tmp_path, HEAD + UNIFORM + weights + OMM))
    assert type(problem.environment).__name__ == name
    np.testing.assert_allclose(problem.environment.mean_weights, [0.5, 0.25, 0.75])


def test_observations(tmp_path):
    weights = '[weights]\nobservations = "past.csv"\nweight = "w"\n'
    path = write(tmp_path, HEAD + UNIFORM + weights + OMM, past="item,w\nb,1\na,2\nb,4\nc,0\n")
    np.testing.assert_allclose(problem_of(path).environment.mean_weights, [2.0, 2.5, 0.0])
    weights = '[weights]\nobservations = "past.csv"\nlayout = "wide"\n'
    path = write(tmp_path, HEAD + UNIFORM + weights + OMM, past="c,a,b\n1,2,3\n3,4,5\n")
    np.testing.assert_allclose(problem_of(path).environment.mean_weights, [3.0, 4.0, 2.0])


def test_policies(tmp_path):
    policies = (
        '[policies]\nOMM = { scale = 2 }\nbest = { policy = "Optimal" }\n'
        'linear = { policy = "CombLinTS", features = ["x", "y"] }\n'
    )
    experiment = read_problem(write(tmp_path, HEAD + UNIFORM + MEAN + policies))
    assert list(map(repr, experiment.policies.values())) == [
        "OMM(scale=2.0)",
        "Optimal()",
        "CombLinTS(features=<array (3, 2)>, prior_scale=1.0, noise=0.1)",
    ]
    outcome = run(experiment)
    assert not outcome.trials[0].result.regret[1].any()


# ---------------------------------------------------------------------------------------------------------
# Mistakes in the TOML file, each with its key


@pytest.mark.parametrize(
    ("toml", "match"),
    [
        ("episodes = \n", r"problem\.toml: not a TOML file: .*line 1"),
        (UNIFORM + MEAN + OMM, "problem.toml: episodes: expected an integer, but the key is missing"),
        ("episodes = 0\n" + UNIFORM + MEAN + OMM, "episodes: expected an integer from 1 to 1,000,000,000, got 0"),
        (
            f"episodes = {10**23}\n" + UNIFORM + MEAN + OMM,
            "episodes: expected an integer from 1 to 1,000,000,000, got 1000",
        ),
        (
            HEAD.replace("2\n", f"{10**20}\n") + UNIFORM + MEAN + OMM,
            "runs: expected an integer from 1 to 1,000,000, got",
        ),
        (f"episodes = {'9' * 5000}\n" + UNIFORM + MEAN + OMM, "not a TOML file: "),
        ("episode = 3\n" + UNIFORM + MEAN + OMM, "episodes: .* the key is missing; the closest there is 'episode'"),
        (HEAD + UNIFORM + '[weights]\nmeans = "mean"\n' + OMM, "weights.mean: .* the closest there is 'means'"),
        (
            HEAD + UNIFORM.replace("items.csv", "") + MEAN + OMM,
            "matroid.file: expected the name of a CSV file, got ''",
        ),
        (HEAD + UNIFORM.replace("items.csv", "a\\u0000b") + MEAN + OMM, "matroid.file: expected the name of a CSV"),
        (
            HEAD + UNIFORM + '[weights]\nobservations = "none.csv"\n' + OMM,
            "weights.observations: .*none.csv: cannot be",
        ),
        (
            HEAD
            + UNIFORM.replace("uniform", "linear").replace("rank = 2", 'features = ["x"]')
            + '[weights]\nobservations = "items.csv"\nweight = "x"\nmean = "mean"\n'
            + OMM,
            "weights.mean: unknown key",
        ),
        (HEAD + UNIFORM + MEAN + '[policies]\n"a, b" = {}\n', 'policies."a, b": expected a policy'),
        (
            HEAD + UNIFORM + MEAN + '[policies]\noptimal = { policy = "OMM" }\n',
            "policies.optimal: expected another name",
        ),
        ("episodes = 1.5\n" + UNIFORM + MEAN + OMM, "episodes: expected an integer, got 1.5"),
        ("episodes = true\n" + UNIFORM + MEAN + OMM, "episodes: expected an integer, got True"),
        (HEAD + "episode = 3\n" + UNIFORM + MEAN + OMM, "episode: unknown key; did you mean 'episodes'"),
        (HEAD + "zzz = 3\n" + UNIFORM + MEAN + OMM, "zzz: unknown key; known are about, "),
        (HEAD + 'direction = "minimise"\n' + UNIFORM + MEAN + OMM, "direction: .* did you mean 'minimize'"),
        (HEAD + "seed = -1\n" + UNIFORM + MEAN + OMM, "seed: expected an integer from 0 to 2\\*\\*64 - 1, got -1"),
        (HEAD + 'start = "later"\n' + UNIFORM + MEAN + OMM, "start: expected one of observe, explore; got 'later'"),
        (HEAD + "matroid = 3\n" + MEAN + OMM, "matroid: expected a table, got 3"),
        (HEAD + MEAN + OMM, "matroid: expected a table, but the key is missing"),
        (HEAD + UNIFORM.replace("uniform", "unifrom") + MEAN + OMM, "matroid.kind: .* did you mean 'uniform'"),
        (HEAD + UNIFORM + "size = 2\n" + MEAN + OMM, "matroid.size: unknown key; known are file, item, kind, rank"),
        (
            HEAD + UNIFORM.replace("2", "4") + MEAN + OMM,
            "matroid.rank: expected at most the 3 items of items.csv, got 4",
        ),
        (
            HEAD + UNIFORM.replace("items.csv", "none.csv") + MEAN + OMM,
            r"matroid\.file: .*none\.csv: cannot be read \(No such file",
        ),
        (
            HEAD
            + '[matroid]\nkind = "partition"\nfile = "items.csv"\ncategory = "kind"\ncapacity = -1\n'
            + MEAN
            + OMM,
            "matroid.capacity: expected 0 or more, got -1",
        ),
        (
            HEAD
            + '[matroid]\nkind = "partition"\nfile = "items.csv"\ncategory = "kind"\ncapacity = 0\n'
            + MEAN
            + OMM,
            "matroid.kind: expected a matroid with a basis of an item or more",
        ),
        (HEAD + '[matroid]\nkind = "linear"\nfile = "items.csv"\nfeatures = []\n' + MEAN + OMM, "matroid.features"),
        (
            HEAD + '[matroid]\nkind = "linear"\nfile = "items.csv"\nfeatures = [1]\n' + MEAN + OMM,
            "matroid.features: expected names of columns, got 1",
        ),
        (
            HEAD + '[matroid]\nkind = "linear"\nfile = "items.csv"\nfeatures = ["x"]\nfield = 4\n' + MEAN + OMM,
            "matroid.file: .*items.csv: .*prime",
        ),
        (HEAD + UNIFORM + '[weights]\nnoise = "beta"\n' + OMM, "weights.mean: expected the column of mean weights"),
        (HEAD + UNIFORM + '[weights]\nmean = "mean"\n' + OMM, "weights.noise: expected a string, but .* missing"),
        (HEAD + UNIFORM + MEAN.replace("bernoulli", "gauss") + OMM, "weights.noise: .* did you mean 'gaussian'"),
        (HEAD + UNIFORM + MEAN + "scale = 1\n" + OMM, "weights.scale: unknown key"),
        (HEAD + UNIFORM + MEAN.replace("bernoulli", "gaussian") + "scale = -1\n" + OMM, "weights.scale: expected a"),
        (HEAD + UNIFORM + MEAN.replace("bernoulli", "beta") + "concentration = 0\n" + OMM, "weights.concentration"),
        (HEAD + UNIFORM + '[weights]\nobservations = "items.csv"\nmean = "mean"\n' + OMM, "column 'weight'"),
        (HEAD + UNIFORM + MEAN + "[policies]\n", "policies: expected a policy or more, got none"),
        (HEAD + UNIFORM + MEAN + "[policies]\nOMN = {}\n", "policies.OMN: expected a policy, .* did you mean 'OMM'"),
        (HEAD + UNIFORM + MEAN + "[policies]\nOMM = 1\n", "policies.OMM: expected a table, got 1"),
        (
            HEAD + UNIFORM + MEAN + '[policies]\nmine = { policy = "epsilongreedy" }\n',
            "policies.mine.policy: .* did you mean 'EpsilonGreedy'",
        ),
        (HEAD + UNIFORM + MEAN + "[policies]\nOMM = { scal = 1 }\n", "policies.OMM.scal: .* did you mean 'scale'"),
        (HEAD + UNIFORM + MEAN + "[policies]\nOMM = { scale = -1 }\n", "policies.OMM: expected scale to be"),
        (
            HEAD + UNIFORM + MEAN + '[policies]\nOMM = { scale = "1" }\n',
            "policies.OMM: expected scale to be a number",
        ),
        (HEAD + UNIFORM + MEAN + "[policies]\nCombLinTS = {}\n", "policies.CombLinTS: .*features"),
        (
            HEAD + UNIFORM + MEAN.replace("bernoulli", "gaussian") + "[policies]\nKLOSM = {}\n",
            r"policies.KLOSM: .* needs weights in \[0, 1\]",
        ),
    ],
)
def test_mistakes_in_keys(tmp_path, toml, match):
    with pytest.raises(DataError, match=match) as error:
        read_problem(write(tmp_path, toml))
    assert "\n" not in str(error.value)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    assert read_problem(write(tmp_path, "\ufeff" + HEAD + UNIFORM + MEAN + OMM)).n_runs == 2


def test_names_of_files_become_names_for_links(tmp_path):
    path = write(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    experiment = read_problem(path.rename(tmp_path / 'a "b" & c#1.toml'))
    assert (experiment.name, experiment.title) == ("a-b-c-1", 'a "b" & c#1')
    assert read_problem((tmp_path / 'a "b" & c#1.toml').rename(tmp_path / "&.toml")).name == "problem"


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"none\.toml: cannot be read \(No such file"):
        read_problem(tmp_path / "none.toml")


# ---------------------------------------------------------------------------------------------------------
# Mistakes in a CSV file, each with its line


@pytest.mark.parametrize(
    ("items", "match"),
    [
        ("", "items.csv: expected a header and a row or more, got nothing"),
        ("item,mean\n", "items.csv: expected a header and a row or more, got a header alone"),
        ("item,mean,item\n", "items.csv:1: column 'item' is there twice"),
        ("item,,mean\n", "items.csv:1: expected a name for column 2, got an empty cell"),
        ("itme,mean\na,1\n", "items.csv:1: expected a column 'item', got itme, mean; did you mean 'itme'"),
        ("item,avg\na,1\nb,1\n", "items.csv:1: expected a column 'mean', got item, avg$"),
        ("item,mean\na,1\n\nb,1,1\n", "items.csv:4: expected 2 cells, got 3"),
        ("item,mean\na,1\nb,x\n", "items.csv:3: expected a number in column 'mean', got 'x'"),
        ("item,mean\na,1\nb,\n", "items.csv:3: expected a number in column 'mean', got ''"),
        ("item,mean\na,1\nb,inf\n", "items.csv:3: expected a finite number in column 'mean', got 'inf'"),
        ("item,mean\na,1\nb,1e308\n", r"items.csv:3: expected at most 1e\+100 in size in column 'mean', got 1e308"),
        ("item,mean\na,1\nb,1.5\n", r"items.csv:3: expected column 'mean' in \[0, 1\], got 1.5"),
        ("item,mean\na,1\na,1\n", "items.csv:3: item 'a' is already on line 2"),
        ("item,mean\na,1\n,1\n", "items.csv:3: expected something in column 'item', got an empty cell"),
        ('item,mean\na,1\n"b,1\n', r"items.csv:3: malformed CSV \(unexpected end of data\)"),
    ],
)
def test_mistakes_in_items(tmp_path, items, match):
    with pytest.raises(DataError, match=match):
        read_problem(write(tmp_path, HEAD + UNIFORM + MEAN + OMM, items=items))


def test_not_utf8(tmp_path):
    path = write(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    (tmp_path / "items.csv").write_bytes(b"item,mean\n\xff,1\n")
    with pytest.raises(DataError, match=r"items\.csv: expected UTF-8 text"):
        read_problem(path)


def test_beta_means_lie_strictly_between(tmp_path):
    path = write(tmp_path, HEAD + UNIFORM + MEAN.replace("bernoulli", "beta") + OMM, items="item,mean\na,0.5\nb,1\n")
    with pytest.raises(DataError, match=r"weights\.noise: expected means strictly between 0 and 1.*'b'"):
        read_problem(path)


@pytest.mark.parametrize(
    ("matroid", "items", "match"),
    [
        (
            'kind = "graphic"',
            "source,target,mean\nu,v,1\nu,v,1\n",
            "items.csv:3: item 'u-v' is already on line 2 .name parallel",
        ),
        ('kind = "graphic"', "source,target,mean\nu,,1\n", "items.csv:2: expected something in column 'target'"),
        ('kind = "transversal"', "item,partner,mean\na,1,1\na,1,1\n", "items.csv:3: the pair 'a', '1' is already on"),
        (
            'kind = "transversal"',
            "item,partner,mean\na,1,1\na,2,0\n",
            "items.csv:3: expected 1 in column 'mean' as on",
        ),
        (
            'kind = "partition"\ncapacity = "cap"',
            "item,category,cap,mean\na,p,1,1\nb,p,2,1\n",
            "items.csv:3: expected capacity 1 for 'p' as on line 2, got 2",
        ),
        (
            'kind = "partition"\ncapacity = "cap"',
            "item,category,cap,mean\na,p,1.5,1\n",
            "items.csv:2: expected a whole number in column 'cap', got 1.5",
        ),
        (
            'kind = "linear"',
            "item,x,mean\na,1,1\nb,one,1\n",
            "items.csv:3: expected a number in column 'x', got 'one'",
        ),
    ],
)
def test_mistakes_in_other_sheets(tmp_path, matroid, items, match):
    with pytest.raises(DataError, match=match):
        read_problem(write(tmp_path, HEAD + f'[matroid]\nfile = "items.csv"\n{matroid}\n' + MEAN + OMM, items=items))


@pytest.mark.parametrize(
    ("weights", "past", "match"),
    [
        ("", "item,weight\nd,1\n", "past.csv:2: item 'd' is not in items.csv"),
        ("", "item,weight\na,1\nb,?\n", "past.csv:3: expected a number in column 'weight', got '?'"),
        ("", "item,weight\na,1\nb,1\n", "past.csv: expected an observation or more of every item, got none of 'c'"),
        ('layout = "wide"', "a,b,d\n1,1,1\n", "past.csv:1: column 'd' is not an item of items.csv"),
        ('layout = "wide"', "a,b\n1,1\n", "past.csv:1: expected a column 'c'"),
        ('layout = "wide"', "a,b,c\n1,1,x\n", "past.csv:2: expected a number in column 'c', got 'x'"),
        ('layout = "deep"', "a,b,c\n1,1,1\n", "weights.layout: expected one of long, wide; got 'deep'"),
        ('noise = "beta"', "item,weight\na,1\nb,1\nc,1\n", "weights.noise: unknown key"),
    ],
)
def test_mistakes_in_observations(tmp_path, weights, past, match):
    toml = HEAD + UNIFORM + f'[weights]\nobservations = "past.csv"\n{weights}\n' + OMM
    with pytest.raises(DataError, match=match):
        read_problem(write(tmp_path, toml, past=past))


@pytest.mark.parametrize(
    ("means", "match"),
    [
        ("item,mean\na,1\nb,1\n", "means.csv: expected a row for every item, got none for 'c'"),
        ("item,mean\na,1\nb,1\nd,1\n", "means.csv:4: item 'd' is not in items.csv"),
        ("item,mean\na,1\nb,1\nb,1\n", "means.csv:4: item 'b' is already on line 3"),
    ],
)
def test_mistakes_in_a_file_of_means(tmp_path, means, match):
    with pytest.raises(DataError, match=match):
        read_problem(write(tmp_path, HEAD + UNIFORM + MEAN + 'file = "means.csv"\n' + OMM, means=means))
