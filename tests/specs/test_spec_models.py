"""The models behind problem files: everything they can say, in TOML, JSON and plain data, and what they refuse."""

import json
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError
from matroid_bandits.policies import POLICIES
from matroid_bandits.specs import (
    CampaignSpec,
    ConstraintSpec,
    PolicySpec,
    ProblemSpec,
    SimulationSpec,
    Spec,
    SweepSpec,
    UniformSpec,
    WeightsSpec,
    json_schema,
    parse,
    read_simulation,
)
from problem_files import HEAD, MEAN, OMM, UNIFORM, write_problem

ARTICLES = [
    {"item": f"{topic}{number}", "topic": topic, "desk": desk, "rate": 0.1 * number}
    for topic, desk in (("news", "day"), ("war", "day"), ("sport", "night"), ("food", "night"))
    for number in range(1, 6)
]
TOPICS = {"kind": "partition", "rows": ARTICLES, "category": "topic", "capacity": 2}
TEN = {"kind": "uniform", "rows": list("abcdefghij"), "rank": 4}


def matroid_of(data):
    return parse(ConstraintSpec, data).ground().constraint


def test_six_slots_two_per_topic_from_a_file(tmp_path):
    rows = "\n".join(f"{a['item']},{a['topic']},{a['rate']}" for a in ARTICLES)
    toml = HEAD + '[matroid]\nkind = "truncate"\nrank = 6\n[matroid.of]\nkind = "partition"\nfile = "items.csv"\n'
    toml += 'category = "kind"\ncapacity = 2\n'
    path = write_problem(tmp_path, toml + MEAN + OMM, items="item,kind,mean\n" + rows + "\n")
    problem = read_simulation(path).problem
    assert problem.rank == 6
    assert problem.optimal_value == pytest.approx(4 * 0.5 + 2 * 0.4)
    assert problem.constraint == matroid_of({"kind": "truncate", "rank": 6, "of": TOPICS})
    path = write_problem(tmp_path, toml.replace("rank = 6", "rank = 0") + MEAN + OMM)
    with pytest.raises(DataError, match=r"matroid\.rank: expected a positive integer, got 0"):
        read_simulation(path)
    path = write_problem(tmp_path, toml.replace('"kind"\n', '"knid"\n') + MEAN + OMM)
    with pytest.raises(DataError, match=r"items\.csv:1: expected a column 'knid', .*did you mean 'kind'"):
        read_simulation(path)
    path = write_problem(tmp_path, toml.replace('"items.csv"', '"none.csv"') + MEAN + OMM)
    with pytest.raises(DataError, match=r"matroid\.of\.file: .*none\.csv: cannot be read"):
        read_simulation(path)


@pytest.mark.parametrize(
    ("data", "matroid"),
    [
        (TEN, mb.UniformMatroid(10, 4, labels="abcdefghij")),
        ({"kind": "dual", "of": TEN}, mb.UniformMatroid(10, 6, labels="abcdefghij")),
        (
            {"kind": "restrict", "items": ["d", "a"], "of": TEN},
            mb.UniformMatroid(10, 4, labels="abcdefghij").restrict([0, 3]),
        ),
        (
            {"kind": "contract", "items": ["j"], "of": TEN},
            mb.UniformMatroid(10, 4, labels="abcdefghij").contract([9]),
        ),
        (
            {"kind": "direct_sum", "parts": [TEN, {"kind": "uniform", "rows": ["x"], "rank": 1}]},
            mb.direct_sum(mb.UniformMatroid(10, 4, labels="abcdefghij"), mb.UniformMatroid(1, 1, labels="x")),
        ),
        (
            {
                "kind": "truncate",
                "rank": 2,
                "of": {"kind": "dual", "of": {"kind": "contract", "items": ["a"], "of": TEN}},
            },
            mb.UniformMatroid(10, 4, labels="abcdefghij").contract([0]).dual().truncate(2),
        ),
        (
            {"kind": "graphic", "rows": [{"source": "u", "target": "v"}, {"source": "v", "target": "w"}]},
            mb.GraphicMatroid([("u", "v"), ("v", "w")], labels=["u-v", "v-w"]),
        ),
        (
            {"kind": "transversal", "rows": [{"item": "a", "partner": ["x", "y"]}, {"item": "b", "partner": "x"}]},
            mb.TransversalMatroid({"a": ["x", "y"], "b": ["x"]}),
        ),
        (
            {"kind": "linear", "rows": [{"item": "a", "x": 1, "y": 2}, {"item": "b", "x": 0, "y": 4}], "field": 2},
            mb.LinearMatroid([[1, 2], [0, 4]], 2, labels="ab"),
        ),
        (
            {
                "kind": "partition",
                "rows": [{"item": "a", "category": "p"}, {"item": "b", "category": "q"}],
                "capacity": {"p": 1, "q": 0},
            },
            mb.PartitionMatroid({"a": "p", "b": "q"}, {"p": 1, "q": 0}),
        ),
    ],
)
def test_every_constraint(data, matroid):
    made = matroid_of(data)
    assert made == matroid
    assert tuple(made.labels) == tuple(matroid.labels)


def test_nested_quotas():
    """Two per topic, three per desk, five in all; by columns, and by naming the items."""
    groups = [{"category": "topic", "capacity": 2}, {"category": "desk", "capacity": {"day": 3, "night": 4}}]
    all_of_it = {"items": [a["item"] for a in ARTICLES], "capacity": 5}
    matroid = matroid_of({"kind": "laminar", "rows": ARTICLES, "groups": [*groups, all_of_it]})
    assert matroid.rank == 5
    topics = [[e for e, a in enumerate(ARTICLES) if a["topic"] == t] for t in ("news", "war", "sport", "food")]
    expected = mb.LaminarMatroid(
        20,
        [*((t, 2) for t in topics), (range(10), 3), (range(10, 20), 4), (range(20), 5)],
        labels=[a["item"] for a in ARTICLES],
    )
    assert matroid == expected


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (TEN | {"rows": []}, "^rows: expected an item or more, got none"),
        (TEN | {"rows": ["a", "a"]}, r"^rows\[1\]: item 'a' is already in rows\[0\]"),
        (TEN | {"rows": ["a", 3]}, "^rows: expected items, each a string or a table, got 3"),
        (TEN | {"rows": [{"item": 3}]}, r"^rows\[0\]: expected a string in column 'item', got 3"),
        (TEN | {"rows": [{"itme": "a"}]}, "^rows: expected a column 'item', got itme; did you mean 'itme'"),
        (TEN | {"rank": 11}, "^rank: expected at most the 10 items of rows, got 11"),
        (TEN | {"rank": True}, "^rank: expected an integer, got True"),
        (TEN | {"file": "items.csv"}, "^file: expected no file"),
        (
            {"kind": "uniform", "rank": 1},
            "^file: expected the name of a CSV file here, or the items themselves in rows",
        ),
        ({"kind": "uniform", "rows": "abc", "rank": 1}, "^rows: expected a list, got 'abc'"),
        (
            TOPICS | {"capacity": {"news": 1, "war": 1, "sport": 1}},
            "^capacity: expected a capacity for every category",
        ),
        (TOPICS | {"capacity": {"nwes": 1}}, "^capacity: expected categories of the items, got 'nwes'"),
        (TOPICS | {"capacity": True}, "^capacity: expected an integer, a column or a table of integers, got True"),
        (TOPICS | {"capacity": "rate"}, r"^rows\[0\]: expected a whole number in column 'rate', got 0.1"),
        ({"kind": "restrict", "of": TEN, "items": ["z"]}, "^items: item 'z' is not in of.rows"),
        ({"kind": "restrict", "of": TEN}, "^items: expected a list, but the key is missing"),
        ({"kind": "contract", "of": TEN, "items": ["a", "a"]}, "expected distinct items"),
        ({"kind": "truncate", "of": TEN | {"rang": 2}, "rank": 2}, r"^of\.rang: unknown key; did you mean 'rank'"),
        ({"kind": "dual", "of": {"kind": "unifrom"}}, r"^of\.kind: expected one of .*; did you mean 'uniform'"),
        ({"kind": "dual"}, "^of: expected a table, but the key is missing"),
        ({"kind": 3}, "^kind: expected one of uniform, .*; got 3"),
        ({}, "^kind: expected a string, but the key is missing"),
        ({"kind": "direct_sum", "parts": [TEN, TEN]}, r"^parts\[1\]: item 'a' is already in parts\[0\]"),
        ({"kind": "direct_sum", "parts": [TEN, {"kind": "dual"}]}, r"^parts\[1\]\.of: expected a table"),
        (
            {
                "kind": "laminar",
                "rows": ["a", "b", "c"],
                "groups": [{"items": ["a", "b"], "capacity": 1}, {"items": ["b", "c"], "capacity": 1}],
            },
            "^rows: expected groups that are nested or disjoint",
        ),
        (
            {"kind": "laminar", "rows": ["a"], "groups": [{"items": ["z"], "capacity": 1}]},
            r"^groups\[0\]\.items: item 'z'",
        ),
        (
            {"kind": "laminar", "rows": ["a"], "groups": [{"capacity": 1}]},
            r"^groups\[0\]\.items: expected either items or",
        ),
        (
            {"kind": "transversal", "rows": [{"item": "a", "partner": ["x", "x"]}]},
            r"^rows\[0\]: the pair 'a', 'x' is already in rows\[0\]",
        ),
    ],
)
def test_mistakes_in_constraints(data, match):
    with pytest.raises(DataError, match=match):
        matroid_of(data)


THREE = {
    "kind": "linear",
    "rows": [{"item": "a", "x": 1, "m": 0.5}, {"item": "b", "x": 2, "m": 0.25}, {"item": "c", "x": 4, "m": 0.75}],
    "features": ["x"],
}


@pytest.mark.parametrize(
    ("weights", "name", "means"),
    [
        ({"family": "bernoulli", "mean": "m"}, "BernoulliEnvironment", [0.5, 0.25, 0.75]),
        ({"family": "exponential", "mean": [3, 2, 1]}, "ExponentialEnvironment", [3, 2, 1]),
        ({"family": "gaussian", "mean": {"c": 3, "a": 1, "b": 2}, "noise": 2}, "GaussianEnvironment", [1, 2, 3]),
        ({"family": "beta", "mean": "m", "concentration": 4}, "BetaEnvironment", [0.5, 0.25, 0.75]),
        ({"family": "beta", "alpha": [1, 1, 3], "beta": [1, 3, 1]}, "BetaEnvironment", [0.5, 0.25, 0.75]),
        ({"family": "linear", "features": ["x", "m"], "theta": [1, 2]}, "LinearEnvironment", [2, 2.5, 5.5]),
        ({"family": "rows", "rows": [[1, 2, 3], {"c": 5, "b": 2, "a": 3}]}, "RowEnvironment", [2, 2, 4]),
        ({"family": "samples", "samples": {"c": [1, 2], "a": [3], "b": [0, 0, 3]}}, "SampleEnvironment", [3, 1, 1.5]),
    ],
)
def test_every_environment(weights, name, means):
    environment = parse(WeightsSpec, weights).environment(parse(ConstraintSpec, THREE).ground())
    assert type(environment).__name__ == name
    np.testing.assert_allclose(environment.mean_weights, means)


@pytest.mark.parametrize("noise", ["m", [0.5, 0.25, 0.75], {"c": 0.75, "a": 0.5, "b": 0.25}])
def test_gaussian_noise_of_each_item(noise):
    spec = parse(WeightsSpec, {"family": "gaussian", "mean": [1, 2, 3], "noise": noise})
    assert spec.columns == (["m"] if noise == "m" else [])
    environment = spec.environment(parse(ConstraintSpec, THREE).ground())
    stream, items = mb.Stream(0, range(2)), np.arange(3)
    expected = mb.GaussianEnvironment([1, 2, 3], [0.5, 0.25, 0.75]).draw(stream, 1, items)
    assert np.array_equal(environment.draw(stream, 1, items), expected)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (3, "^expected a table, got 3"),
        ({"family": "gauss", "mean": "m"}, "^family: .*did you mean 'gaussian'"),
        ({"family": [], "mean": "m"}, r"^family: expected one of .*; got \[\]"),
        ({"family": "bernoulli", "mean": True}, "^mean: expected a column, a list or a table of numbers, got True"),
        ({"family": "bernoulli", "mean": [1, 0, True]}, "^mean: expected a number, got True"),
        ({"family": "bernoulli", "mean": [1, 0]}, "^mean: expected 3 numbers, one per item; got 2"),
        ({"family": "bernoulli", "mean": [1, 0, 2]}, r"^mean: expected a number in \[0, 1\] for 'c', got 2"),
        (
            {"family": "bernoulli", "mean": {"a": 1, "b": 1}},
            "^mean: expected a number for every item, got none for 'c'",
        ),
        ({"family": "bernoulli", "mean": {"a": 1, "z": 1}}, "^mean: item 'z' is not in rows"),
        ({"family": "gaussian", "mean": [0, 0, 10**401]}, "^mean: expected a finite number, got an integer of more"),
        ({"family": "gaussian", "mean": [0, 0, 1], "noise": 10**401}, "^noise: expected a finite number, got an int"),
        ({"family": "gaussian", "mean": [0, 0, 1], "noise": True}, "^noise: expected a number, got True"),
        (
            {"family": "gaussian", "mean": "m", "noise": [0, 0, -1]},
            r"^noise: expected a number in \[0, 1e\+100\] for 'c'",
        ),
        ({"family": "gaussian", "mean": "m", "noise": "loud"}, "expected a column 'loud'"),
        ({"family": "beta", "alpha": [1, 1, 1]}, "^beta: expected alpha and beta, got one of them"),
        ({"family": "linear", "features": ["x"], "theta": [1, 2]}, "^theta: expected 1, one per feature; got 2"),
        ({"family": "rows", "rows": [[1, 2]]}, r"^rows\[0\]: expected 3 numbers, one per item; got 2"),
        ({"family": "rows", "rows": [[1, 2, "x"]]}, "^rows: expected a number, got 'x'"),
        (
            {"family": "samples", "samples": {"a": [1], "b": [1]}},
            "^samples: expected an observation or more of every",
        ),
        ({"family": "samples", "samples": {"z": [1]}}, "^samples: item 'z' is not in"),
        ({"observations": "past.csv"}, "^observations: expected no file"),
    ],
)
def test_mistakes_in_weights(weights, match):
    with pytest.raises(DataError, match=match):
        parse(WeightsSpec, weights).environment(parse(ConstraintSpec, THREE).ground())


def test_toml_and_json_say_the_same(tmp_path):
    toml = HEAD + UNIFORM + MEAN + '[policies]\nOMM = {}\nbest = { policy = "FixedSet", items = ["a", "c"] }\n'
    path = write_problem(tmp_path, toml)
    (tmp_path / "problem.json").write_text(json.dumps(tomllib.loads(toml)))
    from_toml, from_json = read_simulation(path), read_simulation(tmp_path / "problem.json")
    assert from_toml.problem.constraint == from_json.problem.constraint
    assert from_toml.policies == from_json.policies
    assert from_json.n_episodes == 20
    (tmp_path / "problem.json").write_text('{"episodes": 1, "episodes": 2}')
    with pytest.raises(DataError, match=r"problem\.json: not a JSON file: the key 'episodes' is there twice"):
        read_simulation(tmp_path / "problem.json")
    (tmp_path / "problem.json").write_text('{"episodes": ')
    with pytest.raises(DataError, match=r"problem\.json: not a JSON file: .*line 1"):
        read_simulation(tmp_path / "problem.json")


def test_every_policy_is_in_the_schema():
    cases = json_schema()["$defs"]["PolicySpec"]["allOf"]
    ours = [name for name, kind in POLICIES.items() if kind.__module__.startswith("matroid_bandits.")]
    assert [case["if"]["properties"]["policy"]["const"] for case in cases] == ours
    assert cases[ours.index("OMM")]["then"]["properties"]["scale"] == {"type": "number"}
    discounted = cases[ours.index("DiscountedOMM")]["then"]
    assert discounted["required"] == ["gamma"]
    assert discounted["properties"]["gamma"] == discounted["properties"]["scale"] == {"type": "number"}
    assert cases[ours.index("CombLinUCB")]["then"]["oneOf"] == [
        {"required": ["features"]},
        {"required": ["n_features"]},
    ]
    assert cases[ours.index("SlidingWindowOMM")]["then"]["required"] == ["window"]
    restarting = cases[ours.index("Restarting")]["then"]
    assert restarting["required"] == ["base"]
    base = restarting["properties"]["base"]
    assert base["required"] == ["policy"]
    assert base["allOf"] == [case for case in cases if "base" not in case["then"]["properties"]]
    assert restarting["properties"]["detector"]["anyOf"][0]["properties"]["threshold"] == {"type": "number"}


def test_a_policy_inside_a_policy(tmp_path):
    toml = HEAD + UNIFORM + MEAN
    toml += '[policies.restarts]\npolicy = "Restarting"\nbase = { policy = "OMM", scale = 0.25 }\n'
    plan = read_simulation(write_problem(tmp_path, toml))
    assert plan.policies["restarts"] == mb.Restarting(mb.OMM(0.25))
    toml += 'detector = { kind = "CUSUM", threshold = 5 }\n'
    plan = read_simulation(write_problem(tmp_path, toml))
    assert plan.policies["restarts"] == mb.Restarting(mb.OMM(0.25), mb.CUSUM(threshold=5.0))
    for old, new, match in (
        ("base =", "bas =", r"policies\.restarts\.bas: unknown key; did you mean 'base'"),
        ('base = { policy = "OMM", scale = 0.25 }', "", r"policies\.restarts\.base: expected .* the key is missing"),
        ('base = { policy = "OMM", scale = 0.25 }', "base = 3", r"policies\.restarts\.base: expected a table, got 3"),
        ("scale", "scal", r"policies\.restarts\.base\.scal: unknown key; did you mean 'scale'"),
        ("0.25", "-1", r"policies\.restarts\.base: expected scale to be a number in .*, got -1"),
        ('"OMM"', '"OM"', r"policies\.restarts\.base\.policy: expected a policy, one of .*; did you mean 'OMM'"),
        ("CUSUM", "CUSU", r"policies\.restarts\.detector\.kind: expected a detector, one of CUSUM.*; got 'CUSU'"),
        ("threshold", "thresh", r"policies\.restarts\.detector\.thresh: unknown key; did you mean 'threshold'"),
        ("= 5", "= -5", r"policies\.restarts\.detector: expected threshold to be a number in .*, got -5"),
        ('kind = "CUSUM"', 'kind = "no_module:D"', r"restarts\.detector\.kind: no_module cannot be imported"),
        ('kind = "CUSUM"', 'kind = "math:pi"', r"detector\.kind: expected a Detector called pi in math, got 3\.14"),
    ):
        assert old in toml
        path = write_problem(tmp_path, toml.replace(old, new))
        with pytest.raises(DataError, match=match):
            read_simulation(path)


OWN = """
import matroid_bandits as mb

class Mine(mb.Policy):
    def __init__(self, power=1.0):
        self._power = power

    def indices(self, state, request):
        return state.means ** self._power

NOTHING = 3
"""


def test_a_policy_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "own_policies", raising=False)
    (tmp_path / "own_policies.py").write_text(OWN)
    before = list(sys.path)
    toml = HEAD + UNIFORM + MEAN + '[policies]\nmine = { policy = "own_policies:Mine", power = 2.0 }\n'
    plan = read_simulation(write_problem(tmp_path, toml))
    assert repr(plan.policies["mine"]) == "Mine(power=2.0)"
    assert sys.path == before
    for old, new, match in (
        ("power", "powr", r"policies\.mine\.powr: unknown key; did you mean 'power'"),
        (":Mine", ":Yours", r"policies\.mine\.policy: expected a Policy called Yours in own_policies, got None"),
        (":Mine", ":NOTHING", r"policies\.mine\.policy: expected a Policy called NOTHING in own_policies, got 3"),
        (
            "own_policies:",
            "no_such_module:",
            r"policies\.mine\.policy: no_such_module cannot be imported \(ModuleNot",
        ),
        (
            "own_policies:Mine",
            "own_policies:",
            r"policies\.mine\.policy: expected a policy of your own as module:Class",
        ),
    ):
        path = write_problem(tmp_path, toml.replace(old, new))
        with pytest.raises(DataError, match=match):
            read_simulation(path)


def test_strangers_neither_read_files_nor_import_code(tmp_path, monkeypatch):
    """Every field that is marked in the schema refuses, unless it is told otherwise."""
    path = write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    body = tomllib.loads(path.read_text())
    with pytest.raises(
        DataError, match=r"^matroid\.file: expected no file, since none are read here; got 'items.csv'"
    ):
        parse(SimulationSpec, body)
    body["matroid"] = {"kind": "uniform", "rows": ["a"], "rank": 1}
    for weights in ({"family": "bernoulli", "mean": "m", "file": "m.csv"}, {"observations": "past.csv"}):
        with pytest.raises(DataError, match="expected no file"):
            parse(SimulationSpec, body | {"weights": weights})
    body["weights"] = {"family": "bernoulli", "mean": [0.5]}
    for policy in ("os:system", "own_policies:Mine", ":", "os.path:"):
        with pytest.raises(DataError, match=r"^policies\.x\.policy: .*no code is imported here"):
            parse(SimulationSpec, body | {"policies": {"x": {"policy": policy}}})
    with pytest.raises(ValueError, match="no code is imported here"):  # pydantic's own way in refuses too
        PolicySpec.model_validate({"policy": "os:system"})
    assert parse(SimulationSpec, body).make()[0].n_items == 1
    # the marks: nothing else in the vocabulary is called a file
    text = json.dumps(json_schema())
    definitions = json_schema()["$defs"].items()
    reading = {
        (name, key)
        for name, model in definitions
        for key, about in model.get("properties", {}).items()
        if "x-reads-file" in json.dumps(about)
    }
    tables = ("UniformSpec", "PartitionSpec", "LaminarSpec", "GraphicSpec", "TransversalSpec", "LinearSpec")
    tables += ("AssignmentSpec", "PathSpec", "ArborescenceSpec", "QuotasSpec", "KnapsackSpec", "SetsSpec")
    weights = ("BernoulliSpec", "ExponentialSpec", "GaussianSpec", "BetaSpec")
    assert reading == {(name, "file") for name in (*tables, *weights)} | {("ObservationsSpec", "observations")}
    assert text.count("x-imports-code") == 2  # of policies and of constraints


def test_a_constraint_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "own_rules", raising=False)
    (tmp_path / "own_rules.py").write_text(
        "import matroid_bandits as mb\n"
        "class Rows(mb.PartitionMatroid):\n"
        "    def __init__(self, n_rows, labels=None):\n"
        "        super().__init__([e % n_rows for e in range(4)], labels=labels)\n"
    )
    weights = "[weights]\nfamily = 'bernoulli'\nmean = { a = 0.1, b = 0.2, c = 0.3, d = 0.4 }\n"
    toml = HEAD + "[constraint]\nkind = 'own_rules:Rows'\nn_rows = 2\nlabels = ['a', 'b', 'c', 'd']\n" + weights + OMM
    plan = read_simulation(write_problem(tmp_path, toml))
    assert type(plan.problem.constraint).__name__ == "Rows"
    assert plan.problem.optimal_basis.tolist() == [2, 3]
    for old, new, match in (
        ("n_rows", "n_row", r"constraint\.n_row: unknown key; did you mean 'n_rows'"),
        ("n_rows = 2", "n_rows = 0", r"constraint: Rows: integer modulo by zero|constraint: .*zero"),
        (":Rows", ":Columns", r"constraint\.kind: expected a Constraint called Columns in own_rules, got None"),
        (":Rows", ":mb", r"constraint\.kind: expected a Constraint called mb in own_rules, got <module"),
        ("own_rules:Rows", "own_rules:", r"constraint\.kind: expected a constraint of your own as module:Class"),
        ("mean = { a = 0.1, b = 0.2, c = 0.3, d = 0.4 }", "mean = 'clicks'", "expected a table of items for the col"),
        ("[constraint]", "[constrant]", r"constraint: .* both keys are missing; the closest there is 'constrant'"),
    ):
        with pytest.raises(DataError, match=match):
            read_simulation(write_problem(tmp_path, toml.replace(old, new)))
    body = {"kind": "own_rules:Rows", "n_rows": 2}
    with pytest.raises(DataError, match=r"^kind: expected the name of a constraint, since no code is imported here"):
        parse(ConstraintSpec, body)
    with pytest.raises(DataError, match=r"^of\.kind: expected the name of a constraint, since no code"):
        parse(ConstraintSpec, {"kind": "dual", "of": body})
    assert parse(ConstraintSpec, {"kind": "dual", "of": body}, allow_code=True).ground().constraint.rank == 2


def test_either_word_but_one_for_the_constraint():
    body = {"weights": {"family": "bernoulli", "mean": [0.5] * 10}}
    found = [parse(ProblemSpec, body | {key: TEN}).make()[0].constraint for key in ("constraint", "matroid")]
    assert found[0] == found[1]
    with pytest.raises(DataError, match=r"^matroid: expected constraint or matroid, got both"):
        parse(ProblemSpec, body | {"constraint": TEN, "matroid": TEN})
    with pytest.raises(DataError, match=r"^constraint\.rank: "):
        parse(ProblemSpec, body | {"constraint": TEN | {"rank": "x"}})
    stored = mb.GraphicMatroid([("a", "b"), ("b", "c")]).to_dict()
    stored |= {"format": "matroid-bandits/matroid"}
    weights = {"family": "bernoulli", "mean": {"a-b": 0.5, "b-c": 0.25}}
    problem, _ = parse(ProblemSpec, {"constraint": stored, "weights": weights}).make()
    assert problem.environment.mean_weights.tolist() == [0.5, 0.25]


def test_a_vocabulary_that_grows():
    """What a later spec, such as a campaign's, takes from here."""

    class CampaignSpec(Spec):
        matroid: ConstraintSpec
        policy: PolicySpec
        minimize: bool = False

    campaign = parse(CampaignSpec, {"matroid": TEN, "policy": {"policy": "FixedSet", "items": ["c"]}})
    ground = campaign.matroid.ground()
    learner = mb.Learner(ground.constraint, campaign.policy.make(ground), seed=0)
    assert "c" in learner.ask().labels
    with pytest.raises(DataError, match=r"^policy\.policy: expected a policy, .*did you mean 'OMM'"):
        parse(CampaignSpec, {"matroid": TEN, "policy": {"policy": "OMMN"}})
    with pytest.raises(DataError, match=r"^minimise: unknown key; did you mean 'minimize'"):
        parse(CampaignSpec, {"matroid": TEN, "policy": {"policy": "OMM"}, "minimise": True})


def test_the_core_needs_no_schema_library():
    code = (
        "import sys, matroid_bandits; print([m for m in ('pydantic', 'jinja2', 'pooch', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_models_made_in_python():
    spec = UniformSpec(kind="uniform", rows=["a", "b"], rank=1)
    assert UniformSpec.model_validate(spec.model_dump(exclude_none=True)) == spec


WORLD = """
episodes = 50
policies = { OMM = {} }
matroid = { kind = "uniform", rows = ["a", "b", "c"], rank = 1 }

[weights]
family = "bernoulli"
mean = [0.9, 0.5, 0.1]
"""


def test_availability_and_delays_from_a_file(tmp_path):
    path = tmp_path / "late.toml"
    path.write_text(
        WORLD + "availability = [1.0, 0.5, 0.5]\ndelay = { episodes = [0, 5, 9], mean = 2, never = 0.1 }\n"
    )
    world = read_simulation(path).problem.environment
    assert isinstance(world, mb.DelayedEnvironment)
    stream = mb.Stream(0, range(200))
    assert world.availability(stream, 1)[:, 0].all()
    delays = world.delays(stream, 1, np.array([0, 1, 2]))
    assert [delays[:, e][delays[:, e] >= 0].min() for e in range(3)] == [0, 5, 9]
    assert 0 < (delays < 0).mean() < 0.3


def test_lists_from_a_file(tmp_path):
    path = tmp_path / "lists.toml"
    path.write_text(WORLD + 'lists = { until = "failure", order = "explore" }\ndelay = { episodes = 3 }\n')
    lists = read_simulation(path).problem.environment.lists
    assert isinstance(lists, mb.CascadeEnvironment)
    assert (lists.until, lists.worst_first) == ("failure", True)
    path.write_text(WORLD.replace("OMM = {}", 'OMM = { policy = "PositionBias", base = { policy = "OMM" } }')
                    + "lists = { attention = [1, 0.5] }\n")  # fmt: skip
    plan = read_simulation(path)
    assert plan.problem.environment.lists.attention.tolist() == [1.0, 0.5]
    assert plan.policies == {"OMM": mb.PositionBias(mb.OMM())}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("lists = { }", "weights.lists.until: expected until, or attention; got neither"),
        ('lists = { until = "click", attention = [1] }', "expected until, or attention; got both"),
        ('lists = { until = "clack" }', "weights.lists.until"),
        ('lists = { attention = [1], order = "best" }', "weights.lists.order: unknown key with attention"),
        ("lists = { attention = [1, 2] }", r"weights.lists: expected attention in \[0, 1\]"),
        ("availability = 1.5", "weights: .*availability"),
        ("availability = [0.5]", "weights.availability"),
        ("delay = { episodes = 0.5 }", "weights.delay.episodes: expected whole numbers of episodes"),
        ("delay = { never = 2 }", "weights: .*never"),
        ("delay = { epsodes = 2 }", "weights.delay.epsodes: .*did you mean 'episodes'"),
    ],
)
def test_mistakes_about_who_is_there_and_when(tmp_path, lines, message):
    path = tmp_path / "late.toml"
    path.write_text(WORLD + lines + "\n")
    with pytest.raises(DataError, match=message):
        read_simulation(path)


@pytest.mark.parametrize("model", [SimulationSpec, SweepSpec, CampaignSpec, PolicySpec])
def test_schemas_are_complete(model):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema(model)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "dynamic" not in json.dumps(schema)
    named = set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(schema)))
    assert named <= schema.get("$defs", {}).keys()
