"""Matchings, paths, directed trees, quotas, budgets and lists of sets in problem files and campaigns."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DataError
from matroid_bandits.specs import CampaignSpec, ConstrainedSpec, parse, read_simulation
from problem_files import HEAD, OMM, write_problem

PAIRS = [{"row": "ann", "column": "x"}, {"row": "ann", "column": "y"}, {"row": "bob", "column": "x"}]
ARCS = [{"source": u, "target": v, "hops": 1} for u, v in ("ab", "bd", "ac", "cd", "bc")]
STORIES = [
    {"item": "p", "topic": "sport", "seller": "x"},
    {"item": "q", "topic": "sport", "seller": "y"},
    {"item": "r", "topic": "news", "seller": "x"},
]
QUOTAS = [{"kind": "partition", "category": column, "rows": STORIES} for column in ("topic", "seller")]
FORESTS = [
    {
        "kind": "graphic",
        "label": "item",
        "rows": [{"source": u, "target": v, "item": u + v} for u, v in ("ab", "bc")],
    },
    {"kind": "partition", "rows": [{"item": "ab", "category": "1"}, {"item": "bc", "category": "1"}]},
]
NOTES = [
    {"item": "intro", "tokens": 30, "source": "wiki"},
    {"item": "faq", "tokens": 50},
    {"item": "table", "tokens": 60, "source": "wiki"},
]
TABLES = {
    "two quotas": (
        {"kind": "quotas", "rows": STORIES, "most": {"topic": 2, "seller": {"x": 1, "y": 2}}, "total": 6},
        mb.QuotaIntersection,
        "p",
    ),
    "budget": (
        {"kind": "knapsack", "rows": NOTES, "budget": 100, "cost": "tokens", "group": "source", "at_most": 2},
        mb.KnapsackConstraint,
        "intro",
    ),
    "assignment": ({"kind": "assignment", "rows": PAIRS}, mb.AssignmentConstraint, "ann-x"),
    "path": ({"kind": "path", "rows": ARCS, "begin": "a", "end": "d"}, mb.PathConstraint, "a-b"),
    "arborescence": ({"kind": "arborescence", "rows": ARCS, "root": "a"}, mb.ArborescenceConstraint, "a-b"),
    "quotas": ({"kind": "intersection", "parts": QUOTAS}, mb.QuotaIntersection, "p"),
    "forests": ({"kind": "intersection", "parts": FORESTS}, mb.MatroidIntersection, "ab"),
    "sets": (
        {"kind": "sets", "rows": [{"set": "1", "item": ["s", "t"]}, {"set": "2", "item": "u"}]},
        mb.ExplicitSets,
        "s",
    ),
}


def constraint_of(table):
    return parse(ConstrainedSpec, {"constraint": table}).ground().constraint


@pytest.mark.parametrize("name", TABLES)
def test_inline_rows(name):
    table, kind, label = TABLES[name]
    made = constraint_of(table)
    assert type(made) is kind
    assert made.labels[0] == label
    assert constraint_of(made.to_dict()) == made


@pytest.mark.parametrize("name", TABLES)
def test_campaigns(name):
    campaign = parse(CampaignSpec, {"name": "ads", "constraint": TABLES[name][0], "policy": "OMM", "seed": 1})
    learner = campaign.learner()
    decision = learner.ask()
    learner.tell(decision, np.full(len(decision.items), 0.5))
    assert learner.constraint.allows(decision.items)


def test_csv_files(tmp_path):
    (tmp_path / "pairs.csv").write_text("courier,order,rate\nann,x,0.5\nann,y,0.25\nbob,x,0.75\n")
    toml = """
    [constraint]
    kind = "assignment"
    file = "pairs.csv"
    row = "courier"
    column = "order"
    [weights]
    family = "bernoulli"
    mean = "rate"
    """
    plan = read_simulation(write_problem(tmp_path, HEAD + toml + OMM))
    assert plan.problem.optimal_basis.tolist() == [1, 2]
    assert plan.description.startswith("AssignmentConstraint of 3 items, at most 2 in a set")


def test_quotas_and_budgets_name_columns_of_csv_files(tmp_path):
    (tmp_path / "shop.csv").write_text(
        "item,section,brand,cents,rate\na,shoes,x,30,0.5\nb,shoes,x,20,0.75\nc,hats,y,60,0.25\nd,hats,,50,0.5\n"
    )
    weights = '[weights]\nfamily = "bernoulli"\nmean = "rate"\n'
    quotas = '[constraint]\nkind = "quotas"\nfile = "shop.csv"\nmost = { section = 2, cents = 1 }\n'
    plan = read_simulation(write_problem(tmp_path, HEAD + quotas + weights + OMM))
    assert plan.problem.constraint.in_words() == "at most 2 of each section, at most 1 of each cents"
    budget = '[constraint]\nkind = "knapsack"\nfile = "shop.csv"\nbudget = 100\ncost = "cents"\ngroup = "brand"\n'
    plan = read_simulation(write_problem(tmp_path, HEAD + budget + weights + OMM))
    assert plan.problem.constraint.groups == {"a": "x", "b": "x", "c": "y", "d": None}
    assert plan.problem.optimal_basis.tolist() == [1, 3]
    assert mb.simulate(plan.problem, plan.policies, n_episodes=5, n_runs=2).regret.shape[-1] > 0
    for text, words in [
        (quotas.replace("cents", "brand"), r"shop.csv:5: expected something in column 'brand', got an empty cell"),
        (quotas.replace("cents", "brnd"), "shop.csv:1: expected a column 'brnd', got .*; did you mean 'brand'"),
        (quotas.replace("2,", "{ shoes = 1 },"), "most.section: expected a capacity for every category, got n"),
        (budget.replace('cost = "cents"', 'cost = "rate"'), "shop.csv:2: expected a whole number in column 'rate', "
         "got 0.5: scale costs and budget, to cents for example"),
        (budget.replace("100", "-1"), "constraint.budget: "),
    ]:  # fmt: skip
        with pytest.raises(DataError, match=words):
            read_simulation(write_problem(tmp_path, HEAD + text + weights + OMM))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {**TABLES["path"][0], "end": "z"},
            r"constraint\.rows: expected the target to be the end of an arc, got 'z'",
        ),
        ({**TABLES["path"][0], "begin": "d", "end": "a"}, "expected a path from 'd' to 'a', found none"),
        ({"kind": "path", "rows": ARCS}, r"constraint\.begin"),
        ({"kind": "assignment", "rows": [*PAIRS, PAIRS[0]]}, "item 'ann-x' is already"),
        ({**TABLES["arborescence"][0], "root": "b"}, "expected every vertex to be reached from 'b', got 'a'"),
        ({"kind": "intersection", "parts": QUOTAS[:1]}, r"constraint\.parts: expected two matroids, got 1"),
        ({"kind": "intersection", "parts": QUOTAS * 2}, "got 4: the best sets of three matroids are NP-hard to find"),
        (
            {"kind": "intersection", "parts": [QUOTAS[0], FORESTS[1]]},
            "expected the items of parts.0. in the same ord",
        ),
        (
            {"kind": "intersection", "parts": [QUOTAS[0], TABLES["sets"][0]]},
            "expected a matroid, of which others can",
        ),
        ({**TABLES["two quotas"][0], "most": {"topic": 1}}, "the columns of two kinds of categories, got 1"),
        (
            {**TABLES["two quotas"][0], "most": {"topic": 1, "seller": 1, "item": 1}},
            "got 3: three kinds of quotas at once are NP-hard",
        ),
        ({**TABLES["budget"][0], "budget": 99.5}, r"constraint\.budget"),
        ({"kind": "sets", "rows": [{"set": "1", "item": ["s", "s"]}]}, "item 's' is already in the set, "),
    ],
)
def test_mistakes(table, message):
    with pytest.raises(DataError, match=message):
        constraint_of(table)
