"""Mistakes in problem files: those in TOML are told with their key, those in CSV with their line."""

import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.specs import read_simulation
from problem_files import HEAD, MEAN, OMM, UNIFORM, write_problem


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
        (HEAD + MEAN + OMM, "constraint: expected a table here or in matroid, but both keys are missing"),
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
            "matroid.kind: expected a constraint with a set of an item or more",
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
        (HEAD + UNIFORM + '[weights]\nfamily = "beta"\n' + OMM, "weights.mean: expected the column of mean weights"),
        (HEAD + UNIFORM + '[weights]\nmean = "mean"\n' + OMM, "weights.family: expected a string, but .* missing"),
        (HEAD + UNIFORM + MEAN.replace("bernoulli", "gauss") + OMM, "weights.family: .* did you mean 'gaussian'"),
        (HEAD + UNIFORM + MEAN + "noise = 1\n" + OMM, "weights.noise: unknown key"),
        (HEAD + UNIFORM + MEAN.replace("bernoulli", "gaussian") + "noise = -1\n" + OMM, "weights.noise: expected a"),
        (HEAD + UNIFORM + MEAN.replace("bernoulli", "beta") + "concentration = 0\n" + OMM, "weights.concentration"),
        (HEAD + UNIFORM + '[weights]\nobservations = "items.csv"\n' + OMM, "items.csv:1: expected a column 'weight'"),
        (HEAD + UNIFORM + MEAN + "[policies]\n", "policies: expected a policy or more, got none"),
        (HEAD + UNIFORM + MEAN + "[policies]\nOMMN = {}\n", "policies.OMMN: expected a policy, .* did you mean .OMM"),
        (HEAD + UNIFORM + MEAN + "[policies]\nOMM = 1\n", "policies.OMM: expected a table, got 1"),
        (
            HEAD + UNIFORM + MEAN + '[policies]\nmine = { policy = "epsilongreedy" }\n',
            "policies.mine.policy: .* epsilon-greedy is EpsilonGreedy here",
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
        read_simulation(write_problem(tmp_path, toml))
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"none\.toml: cannot be read \(No such file"):
        read_simulation(tmp_path / "none.toml")


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
        read_simulation(write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM, items=items))


def test_not_utf8(tmp_path):
    path = write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    (tmp_path / "items.csv").write_bytes(b"item,mean\n\xff,1\n")
    with pytest.raises(DataError, match=r"items\.csv: expected UTF-8 text"):
        read_simulation(path)


def test_beta_means_lie_strictly_between(tmp_path):
    path = write_problem(
        tmp_path, HEAD + UNIFORM + MEAN.replace("bernoulli", "beta") + OMM, items="item,mean\na,0.5\nb,1\n"
    )
    with pytest.raises(DataError, match=r"weights\.family: expected means strictly between 0 and 1.*'b'"):
        read_simulation(path)


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
        read_simulation(
            write_problem(tmp_path, HEAD + f'[matroid]\nfile = "items.csv"\n{matroid}\n' + MEAN + OMM, items=items)
        )


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
        ('family = "beta"', "item,weight\na,1\nb,1\nc,1\n", "weights.family: unknown key"),
    ],
)
def test_mistakes_in_observations(tmp_path, weights, past, match):
    toml = HEAD + UNIFORM + f'[weights]\nobservations = "past.csv"\n{weights}\n' + OMM
    with pytest.raises(DataError, match=match):
        read_simulation(write_problem(tmp_path, toml, past=past))


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
        read_simulation(write_problem(tmp_path, HEAD + UNIFORM + MEAN + 'file = "means.csv"\n' + OMM, means=means))
