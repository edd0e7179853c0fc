"""Specs that somebody wrote to break the reader: each is refused in one sentence, or means something."""

import copy
import json
import math
import random
import tomllib
from pathlib import Path

import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.policies import POLICIES as DEFINED
from matroid_bandits.specs import Place, SimulationSpec, SweepSpec, parse, read_simulation
from problem_files import HEAD, ITEMS, MEAN, OMM, UNIFORM, write_problem

ROWS = [
    {"item": name, "kind": kind, "x": x, "mean": mean, "source": name, "target": kind, "partner": [kind, "z"]}
    for name, kind, x, mean in (("a", "p", 1, 0.5), ("b", "p", 0, 0.25), ("c", "q", 2, 0.75))
]
UNIFORM_OF_ROWS = {"kind": "uniform", "rows": ROWS, "rank": 2}
MATROIDS = [
    {"kind": "uniform", "file": "items.csv", "rank": 2},
    {"kind": "partition", "rows": ROWS, "category": "kind", "capacity": {"p": 1, "q": 1}},
    {
        "kind": "laminar",
        "rows": ROWS,
        "groups": [{"items": ["a", "b"], "capacity": 1}, {"category": "kind", "capacity": 1}],
    },
    {"kind": "graphic", "rows": ROWS, "label": "item"},
    {"kind": "transversal", "rows": ROWS},
    {"kind": "linear", "rows": ROWS, "features": ["x", "mean"]},
    {"kind": "linear", "rows": ROWS, "features": ["x"], "field": 7},
    {"kind": "truncate", "rank": 1, "of": {"kind": "restrict", "items": ["a", "b", "c"], "of": UNIFORM_OF_ROWS}},
    {"kind": "dual", "of": UNIFORM_OF_ROWS},
    {"kind": "direct_sum", "parts": [UNIFORM_OF_ROWS]},
]
WEIGHTS = [
    {"family": "bernoulli", "mean": "mean"},
    {"family": "bernoulli", "mean": "mean", "file": "items.csv", "item": "item"},
    {"family": "gaussian", "mean": [1, 2, 3], "noise": 0.5},
    {"family": "beta", "mean": {"a": 0.5, "b": 0.25, "c": 0.75}, "concentration": 3},
    {"family": "linear", "features": ["x"], "theta": [1.0], "noise": 0.1},
    {"family": "rows", "rows": [[1, 2, 3], {"a": 0, "b": 1, "c": 2}]},
    {"family": "samples", "samples": {"a": [1], "b": [2, 3], "c": [0]}},
    {"observations": "past.csv", "weight": "mean"},
]
POLICIES = {
    "OMM": {"scale": 2},
    "DiscountedOMM": {"gamma": 0.99, "scale": 0.2},
    "best": {"policy": "FixedSet", "items": ["a", 1]},
    "features": {"policy": "CombLinUCB", "features": ["x"], "noise": 0.5},
    "Thompson": {"policy": "ThompsonSampling", "prior": "normal", "noise": 1},
    "restarts": {
        "policy": "Restarting",
        "base": {"policy": "SlidingWindowOMM", "window": 100},
        "detector": {"kind": "CUSUM", "threshold": 10},
    },
}
DEEP = json.loads("[" * 100 + "]" * 100)
HOSTILE = [
    True, False, None, 0, -1, 1, 10**401, -(10**401), 16**5000, 2**63, 1e308, -1e308, 5e-324, math.nan, math.inf, 0.5,
    "", "a", "\0", "item", "kind", "uniform", "x" * 10_000,
    "é\u202e", "\ud800", "1_0", "../../etc/passwd", "os:system",
    [], [[]], [True], [None], ["a"], ["a", "a"], [10**401], [1, 2], [1, 2, 3],
    {}, {"a": 1}, {"": {}}, {"kind": "dual"}, DEEP,
]  # fmt: skip


def paths(data, here=()):
    """Every place in nested data."""
    yield here
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from paths(value, (*here, key))


def spoiled(data, rng):
    """A copy with one thing replaced, removed, renamed or repeated."""
    data = copy.deepcopy(data)
    *above, last = rng.choice([path for path in paths(data) if path])
    node = data
    for key in above:
        node = node[key]
    how = rng.randrange(5)
    if how == 0:
        del node[last]
    elif how == 1 and isinstance(node, dict):
        node[rng.choice(["kind", "rows", "file", "of", "items", "", "a b", last + "s"])] = node.pop(last)
    elif how == 2 and isinstance(node, list):
        node.append(node[last])
    else:
        node[last] = rng.choice(HOSTILE)
    return data


def test_thousands_of_hostile_specs(tmp_path):
    write_problem(tmp_path, "", past=ITEMS)
    place = Place(tmp_path / "problem.toml")
    rng = random.Random(9)
    refusals = []
    for number in range(2_000):
        data = {
            "episodes": 10,
            "seed": 3,
            "matroid": MATROIDS[number % len(MATROIDS)],
            "weights": rng.choice(WEIGHTS),
            "policies": POLICIES,
        }
        for _ in range(rng.randint(1, 2)):
            data = spoiled(data, rng)
        try:
            spec = parse(SimulationSpec, data, place, allow_files=True)
            problem, ground = spec.make(place)
            spec.make_policies(problem, ground, place)
        except DataError as error:
            refusals.append(str(error))
    assert 1_000 < len(refusals) < 2_000
    for refusal in refusals:
        assert "\n" not in refusal
        assert len(refusal.encode()) < 2_000


@pytest.mark.parametrize("name", ["problem.toml", "problem.json"])
def test_brackets_in_brackets(tmp_path, name):
    (tmp_path / name).write_text(('{"a": ' if name.endswith("json") else "a = ") + "[" * 3_000 + "]" * 3_000 + "}")
    with pytest.raises(DataError, match=f"{name}: expected at most 64 tables and lists in each other, got more"):
        read_simulation(tmp_path / name)


def test_towers_of_matroids(tmp_path):
    body = {"kind": "uniform", "rows": ["a", "b"], "rank": 1}
    for _ in range(150):
        body = {"kind": "dual", "of": body}
    with pytest.raises(DataError, match="expected at most 64 tables and lists in each other, got more"):
        parse(SimulationSpec, {"matroid": body, "episodes": 1, "weights": {}, "policies": {}})


@pytest.mark.parametrize("digits", ["9" * 401, "0x" + "f" * 5_000])
@pytest.mark.parametrize("key", ["episodes", "scale", "rank", "noise"])
def test_integers_of_hundreds_of_digits(tmp_path, digits, key):
    toml = HEAD + UNIFORM + MEAN.replace("bernoulli", "gaussian") + "noise = 1\n[policies]\nOMM = { scale = 1 }\n"
    old = {"episodes": "20", "scale": "1 }", "rank": "rank = 2", "noise": "noise = 1"}[key]
    path = write_problem(
        tmp_path, toml.replace(old, old.replace(old.split(" ")[-2 if key == "scale" else -1], digits))
    )
    with pytest.raises(DataError, match=f"{key}.*an integer of more than 100 digits") as error:
        read_simulation(path)
    assert "\n" not in str(error.value)


def test_booleans_are_no_numbers(tmp_path):
    for toml, match in (
        (
            HEAD + UNIFORM + MEAN + "[policies]\nOMM = { scale = true }\n",
            r"policies\.OMM: expected scale to be a number",
        ),
        (HEAD + UNIFORM.replace("2", "true") + MEAN + OMM, r"matroid\.rank: expected an integer, got True"),
        (
            HEAD + UNIFORM + MEAN + "[policies]\nFixedSet = { items = [true] }\n",
            r"policies\.FixedSet: expected an item",
        ),
    ):
        with pytest.raises(DataError, match=match):
            read_simulation(write_problem(tmp_path, toml))


@pytest.mark.parametrize("cell", ["1_0", "١", "１", "0x10", "1e", "1,5", "--1", "1 0", "½", "1.0.0", "e5", "+", "²"])
def test_what_is_no_number_in_a_cell(tmp_path, cell):
    """float() and int() take underscores and the digits of every script; a table should not."""
    path = write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM, items=f'item,mean\na,0.5\nb,"{cell}"\n')
    with pytest.raises(DataError, match=r"items\.csv:3: expected a number in column 'mean', got"):
        read_simulation(path)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("+.5", 0.5), ("1.", 1.0), ("5e-1", 0.5), ("01", 1.0), (" 1 ", 1.0), ("0.1E+0", 0.1), ("-0", 0)],
)
def test_what_is_a_number_in_a_cell(tmp_path, cell, value):
    path = write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM, items=f"item,mean\na,0.5\nb,{cell}\n")
    assert read_simulation(path).problem.environment.mean_weights[1] == value


def test_integers_of_a_table_stay_exact(tmp_path):
    """Beyond 2^53 neighbours round to the same float: these two vectors are parallel only if the reader rounds."""
    for big in (2**53, 2**70, 10**40):
        items = f"item,x,y,mean\na,{big},1,0.5\nb,{big * 3 + 1},3,0.25\n"
        toml = HEAD + '[matroid]\nkind = "linear"\nfile = "items.csv"\n' + MEAN + OMM
        matroid = read_simulation(write_problem(tmp_path, toml, items=items)).problem.constraint
        assert (matroid.rank, matroid.is_exact) == (2, True)
        items = f"item,x,y,mean\na,{big},1,0.5\nb,{big * 3},3,0.25\n"
        assert read_simulation(write_problem(tmp_path, toml, items=items)).problem.constraint.rank == 1
    items = f"item,x,mean\na,{10**101},0.5\n"
    with pytest.raises(DataError, match=r"items.csv:2: expected at most 1e\+100 in size in column 'x', got 1000"):
        read_simulation(write_problem(tmp_path, toml, items=items))
    with pytest.raises(DataError, match=r"items.csv:2: expected at most 1e\+100 in size in column 'x', got 9999"):
        read_simulation(write_problem(tmp_path, toml, items=f"item,x,mean\na,{'9' * 5_000},0.5\n"))


def test_names_of_files_that_are_no_text(tmp_path):
    path = write_problem(tmp_path, HEAD + UNIFORM + MEAN + OMM)
    with pytest.raises(DataError, match=r"expected a file whose name is UTF-8, got '.*caf\\udce9\.toml'"):
        read_simulation(path.rename(tmp_path / "caf\udce9.toml"))
    body = tomllib.loads(HEAD + MEAN + OMM) | {"matroid": {"kind": "uniform", "rows": ["\ud800"], "rank": 1}}
    with pytest.raises(DataError, match="expected text that UTF-8 can hold"):
        parse(SimulationSpec, body)


LONG = "k" * 10**5
BODY = {
    "episodes": 5,
    "matroid": {"kind": "uniform", "rows": ["a", "b"], "rank": 1},
    "weights": {"family": "bernoulli", "mean": [0.5, 0.5]},
    "policies": {"OMM": {}},
}


@pytest.mark.parametrize(
    "more",
    [
        {LONG: 1},
        {LONG + " ": 1},
        {"policies": {LONG: {}}},
        {"policies": {LONG: {"policy": "OMM", "scal": 1}}},
        {"policies": {"OMM": {LONG: 1}}},
        {"weights": {"family": "bernoulli", "mean": [0.5, 0.5], LONG: 1}},
        {"matroid": {"kind": "uniform", "rows": ["a"], "rank": 1, LONG: 1}},
        {"matroid": {"kind": "uniform", "file": LONG, "rank": 1}},
        {"matroid": {"kind": "partition", "rows": [{"item": "a", LONG: "x"}], "category": "slot"}},
    ],
)
def test_long_keys_are_shortened_in_messages(more):
    with pytest.raises(DataError) as caught:
        parse(SimulationSpec, BODY | more, allow_files=True).make()
    known = ", ".join(DEFINED)  # of other tests too: some messages list them
    assert len(str(caught.value)) < 500 + len(known)


@pytest.mark.parametrize("key", ["mean", "alpha", "beta"])
def test_a_beta_world_without_its_values(key):
    with pytest.raises(DataError, match=r"^weights\.mean: expected mean, or alpha and beta; got neither"):
        parse(SimulationSpec, BODY | {"weights": {"family": "beta", key: None}}).make()


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="no such device")
def test_devices_are_no_files(tmp_path):
    link = tmp_path / "items.csv"
    link.symlink_to("/dev/zero")
    for file in ("/dev/zero", str(link)):
        with pytest.raises(DataError, match=r"cannot be read \(a device, not a file\)"):
            parse(
                SimulationSpec, BODY | {"matroid": {"kind": "uniform", "file": file, "rank": 1}}, allow_files=True
            ).make()
        with pytest.raises(DataError, match=r"cannot be read \(a device, not a file\)"):
            read_simulation(file)


def test_a_family_has_a_bounded_number_of_policies():
    values = list(range(1, 101))
    data = {"episodes": 5, "problems": {"a": {key: BODY[key] for key in ("matroid", "weights")}}}
    vary = {"window": values, "scale": values}
    spec = parse(SweepSpec, data | {"policies": {"SlidingWindowOMM": {"vary": vary}}})
    assert spec.policies["SlidingWindowOMM"].vary == vary
    vary = {"window": values, "scale": [*values, 101]}
    with pytest.raises(
        DataError, match=r"policies\.SlidingWindowOMM\.vary: expected at most 10,000 comb.*got 10,100"
    ):
        parse(SweepSpec, data | {"policies": {"SlidingWindowOMM": {"vary": vary}}})
