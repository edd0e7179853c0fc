"""Sweep files: problems of other files and their own, families, and mistakes told with their key."""

import json
from pathlib import Path

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError
from matroid_bandits.specs import SweepSpec, json_schema, parse, read_sweep
from problem_files import HEAD, MEAN, OMM, UNIFORM, write_problem

EXAMPLES = Path(__file__).parents[2] / "examples"

INLINE = """
[problems.ads]
matroid = { kind = "uniform", rows = ["a", "b", "c"], rank = 1 }
weights = { family = "bernoulli", mean = [0.5, 0.25, 0.75] }
"""

BOTH = HEAD + INLINE  # all but the policies

FAMILY = "[policies]\nOMM = { vary = { scale = [0.5, 1] } }\n"


def write(folder, toml):
    path = folder / "my sweep.toml"
    path.write_text(toml, encoding="utf-8")
    return path


def test_the_example():
    plan = read_sweep(EXAMPLES / "sweep.toml")
    assert list(plan.problems) == ["quotas", "couriers", "banner"]
    policies = plan.policies(plan.problems["banner"])
    assert policies["OMM"] == [mb.OMM(s) for s in (0.1, 0.2, 0.5, 1.0)]
    assert (plan.baseline, plan.n_runs, plan.seed, plan.start) == ("KLOSM", 30, 1, "observe")
    assert plan.description == "3 problems, from sweep.toml."
    assert plan.resized(n_runs=2, n_episodes=3, seed=4) != plan
    assert plan.resized() == plan


def test_problems_of_other_files_and_items_of_their_own(tmp_path):
    write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "s.toml"
    policies = """
[policies]
mine = { policy = "FixedSet", items = ["c"] }
C = { policy = "CombLinUCB", features = ["x", "y"] }
"""
    more = """
[problems.other]
file = "../problem.toml"
[problems.cut]
direction = "minimize"
matroid = { kind = "restrict", items = ["c", "a"], of = { kind = "uniform", file = "../items.csv", rank = 1 } }
weights = { mean = "mean", family = "gaussian" }
"""
    path.write_text("episodes = 5\n" + more + policies)
    plan = read_sweep(path)
    other, cut = plan.problems.values()
    assert (other.n_items, cut.n_items, cut.minimize) == (3, 2, True)
    for problem in (other, cut):  # the item of a name has another number in each
        made = plan.policies(problem)
        assert [problem.constraint.labels[e] for e in made["mine"].items] == ["c"]
        assert made["C"].params()["features"].shape == (problem.n_items, 2)
    assert mb.sweep(plan.problems, plan.policies, n_episodes=5, n_runs=2, seed=0).policies == ("mine", "C")


def test_families_are_products(tmp_path):
    path = write(
        tmp_path,
        "episodes = 5\n"
        + INLINE
        + '[policies.T]\npolicy = "ThompsonSampling"\nvary = { prior = ["beta", "normal"], noise = [1, 2] }\n',
    )
    plan = read_sweep(path)
    (problem,) = plan.problems.values()
    made = plan.policies(problem)["T"]
    assert [(p.params()["prior"], p.params()["noise"]) for p in made] == [
        ("beta", 1.0), ("beta", 2.0), ("normal", 1.0), ("normal", 2.0)
    ]  # fmt: skip
    assert plan.name == "my-sweep"


def test_json_says_the_same(tmp_path):
    data = {
        "episodes": 5,
        "problems": {"quotas": {"file": str(EXAMPLES / "quotas.toml")}},
        "policies": {"OMM": {"vary": {"scale": [0.5, 1]}}},
    }
    (tmp_path / "s.json").write_text(json.dumps(data))
    assert read_sweep(tmp_path / "s.json").problems["quotas"].n_items == 11


@pytest.mark.parametrize(
    ("toml", "match"),
    [
        (INLINE + FAMILY, "my sweep.toml: episodes: expected an integer, but the key is missing"),
        (HEAD + FAMILY, "problems: expected a table, but the key is missing"),
        (HEAD + "problems = {}\n" + FAMILY, "problems: expected a problem or more, got none"),
        (HEAD + "problems = 3\n" + FAMILY, "problems: expected a table, got 3"),
        (HEAD + "problems = { a = 3 }\n" + FAMILY, r"problems\.a: expected a table, got 3"),
        (HEAD + INLINE, "policies: expected a table, but the key is missing"),
        (BOTH + "[policies]\n", "policies: expected a policy or more, got none"),
        (HEAD + INLINE.replace("rank", "rnk") + FAMILY, r"problems\.ads\.matroid\.rank: .* closest there is 'rnk'"),
        (
            HEAD + INLINE.replace("weights", "weight") + FAMILY,
            r"problems\.ads\.weights: .* closest there is 'weight'",
        ),
        (
            HEAD + INLINE.replace("0.5,", "1.5,") + FAMILY,
            r"problems\.ads\.weights\.mean: expected a number in \[0, 1\]",
        ),
        (HEAD + '[problems.a]\nfile = "none.toml"\n' + FAMILY, "none.toml: cannot be read"),
        (HEAD + '[problems.a]\nfile = "none.toml"\nrank = 1\n' + FAMILY, r"problems\.a\.rank: unknown key"),
        (HEAD + '[problems.a]\nfile = "my sweep.toml"\n' + FAMILY, r"my sweep.toml: constraint: .* keys are missing"),
        (BOTH + "[policies]\nOMMN = {}\n", r"policies\.OMMN: expected a policy, one of"),
        (
            BOTH + "[policies]\nlinear = { policy = 'CombLinUCB', n_features = 2 }\n",
            r"policies\.linear: CombLinUCB\(.*\) needs 2 features of every item in each episode; .* has none",
        ),
        (BOTH + "[policies]\nOMM = { vary = {} }\n", r"policies\.OMM\.vary: expected a parameter or more, got none"),
        (
            BOTH + "[policies]\nOMM = { vary = { scale = [] } }\n",
            r"policies\.OMM\.vary\.scale: expected a value or more",
        ),
        (
            BOTH + "[policies]\nOMM = { vary = { scale = 3 } }\n",
            r"policies\.OMM\.vary\.scale: expected a list, got 3",
        ),
        (
            BOTH + "[policies]\nOMM = { vary = { scle = [1] } }\n",
            r"vary\.scle: unknown parameter; did you mean 'scale'",
        ),
        (BOTH + "[policies]\nOMM = { vary = { x = [1] } }\n", r"vary\.x: unknown parameter; known are scale"),
        (
            BOTH + "[policies]\nOMM = { scale = 1, vary = { scale = [2] } }\n",
            r"OMM\.scale: expected one value, or several",
        ),
        (BOTH + "[policies]\nOMM = { vary = { scale = [1, -1] } }\n", r"policies\.OMM: expected scale to be"),
        (BOTH + "[policies]\nOMM = { varies = 3 }\n", r"policies\.OMM\.varies: unknown key; did you mean 'vary'"),
        (
            HEAD + 'baseline = "OMM"\n' + INLINE + FAMILY,
            "baseline: expected a policy without vary, got 'OMM'; those are none",
        ),
        (HEAD + 'baseline = "KLSM"\n' + INLINE + FAMILY + "KLOSM = {}\n", "baseline: .* did you mean 'KLOSM'"),
        (
            HEAD + INLINE.replace("bernoulli", "gaussian") + "[policies]\nKLOSM = {}\n",
            r"policies\.KLOSM: .* needs weights in",
        ),
        (HEAD + "matroid = 3\n" + INLINE + FAMILY, "matroid: unknown key"),
    ],
)
def test_mistakes_in_sweep_files(tmp_path, toml, match):
    with pytest.raises(DataError, match=match):
        read_sweep(write(tmp_path, toml))


def test_strangers_read_no_files_and_import_no_code():
    data = {"episodes": 1, "problems": {"a": {"file": "x.toml"}}, "policies": {"OMM": {}}}
    with pytest.raises(DataError, match=r"problems\.a\.file: expected no file, since none are read here"):
        parse(SweepSpec, data)
    data["policies"] = {"mine": {"policy": "m:C", "vary": {"a": [1]}}}
    with pytest.raises(DataError, match=r"policies\.mine\.policy: expected the name of a policy, since no code"):
        parse(SweepSpec, data, allow_files=True)


def test_the_schema_of_sweep_files():
    schema = json_schema(SweepSpec)
    assert sorted(schema["required"]) == ["episodes", "policies", "problems"]
    cases = {
        case["if"]["properties"]["policy"]["const"]: case["then"] for case in schema["$defs"]["FamilySpec"]["allOf"]
    }
    assert set(cases["OMM"]["properties"]) == {"policy", "vary", "scale"}
    assert "required" not in cases["FixedSet"]  # what varies need not be given too
    assert "vary" not in json.dumps(json_schema())
    assert schema["$defs"]["ProblemFileSpec"]["properties"]["file"]["x-reads-file"] is True


LAW = """
[problems.drawn]
worlds = 5
matroid = { kind = "uniform", rows = ["a", "b", "c"], rank = 1 }
weights = { family = "bernoulli", mean = { draw = "uniform", low = 0.2, high = 0.8 }, walk = { step = 0.01 } }
"""


def test_worlds_that_are_drawn(tmp_path):
    plan = read_sweep(write(tmp_path, BOTH + LAW + FAMILY))
    assert plan.problems["drawn"].n_worlds == 5
    size = {"n_episodes": 3, "n_runs": 2, "checkpoints": [3]}
    first, second = (mb.sweep(plan.problems, plan.policies, seed=seed, **size).worlds["drawn"] for seed in (1, 2))
    means = [world.problem.environment.environment.mean_weights for world in (*first, *second)]
    assert len({tuple(each) for each in means}) == 10
    assert all((each >= 0.2).all() and (each <= 0.8).all() for each in means)
    assert json_schema(SweepSpec)["$defs"]["LawSpec"]


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ('{ draw = "uniform", deviation = 2 }', "unknown parameter of uniform; known are low and high"),
        ('{ draw = "uniform", low = 2 }', "expected low up to high, got 2 and 1"),
        ('{ draw = "normal", mean = 0.5, deviation = 9 }', r"expected a number in \[0, 1\]"),
        ('{ draw = "beta", alpha = 0 }', "expected a positive number, got 0"),
        ('{ draw = "cauchy" }', "cauchy"),
    ],
)
def test_laws_that_are_none(tmp_path, law, message):
    text = BOTH + LAW.replace('{ draw = "uniform", low = 0.2, high = 0.8 }', law) + FAMILY
    with pytest.raises(DataError, match=message):
        read_sweep(write(tmp_path, text))


def test_a_law_needs_worlds(tmp_path):
    with pytest.raises(DataError, match="expected numbers, since a law is for worlds"):
        read_sweep(write(tmp_path, BOTH + LAW.replace("worlds = 5\n", "") + FAMILY))
    with pytest.raises(DataError, match="worlds"):
        read_sweep(write(tmp_path, BOTH + LAW.replace("worlds = 5", "worlds = 0") + FAMILY))
