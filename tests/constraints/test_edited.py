"""Items that come and go while the rules stay."""

import pytest

import matroid_bandits as mb
from matroid_bandits.constraints import edited
from matroid_bandits.exceptions import InvalidConstraintError, InvalidMatroidError, ItemError

PAGE = mb.PartitionMatroid({"cup": "sport", "goal": "sport", "vote": "politics"}, {"sport": 2, "politics": 1})


@pytest.mark.parametrize(
    ("before", "add", "remove", "after"),
    [
        (
            mb.UniformMatroid(3, 2, labels="abc"),
            {"d": None, "e": None},
            ["b"],
            mb.UniformMatroid(4, 2, labels="acde"),
        ),
        (
            PAGE,
            {"law": "politics"},
            ["goal"],
            mb.PartitionMatroid({"cup": "sport", "vote": "politics", "law": "politics"}, {"sport": 2, "politics": 1}),
        ),
        (
            mb.TransversalMatroid({"ann": ["day"], "eve": ["day", "night"]}),
            {"bob": ["night"]},
            ["ann"],
            mb.TransversalMatroid({"eve": ["day", "night"], "bob": ["night"]}),
        ),
        (
            mb.GraphicMatroid([(0, 1), (1, 2)], labels=["x", "y"]),
            {"z": [2, 3]},
            ["x"],
            mb.GraphicMatroid([(1, 2), (2, 3)], labels=["y", "z"]),
        ),
        (PAGE.truncate(2), {"win": "sport"}, [], edited(PAGE, {"win": "sport"}).truncate(2)),
        (
            mb.direct_sum(mb.UniformMatroid(3, 1, labels="abc"), PAGE),
            {},
            ["a", "goal"],
            mb.direct_sum(mb.UniformMatroid(2, 1, labels="bc"), edited(PAGE, None, ["goal"])),
        ),
    ],
    ids=["uniform", "partition", "transversal", "graphic", "truncation", "direct sum"],
)
def test_items_come_and_go_and_the_rules_stay(before, add, remove, after):
    found = edited(before, add, remove)
    assert found == after
    assert edited(found) == found
    assert found.labels == after.labels


def test_categories_may_be_new_or_have_other_room():
    found = edited(PAGE, {"rain": "weather"}, capacities={"weather": 1, "sport": 1})
    assert found.capacities == {"sport": 1, "politics": 1, "weather": 1}
    assert edited(PAGE, None, ["vote"]).capacities == {"sport": 2}


@pytest.mark.parametrize(
    ("before", "given", "error", "words"),
    [
        (PAGE, {"add": {"rain": "weather"}}, InvalidMatroidError, "block of 'rain'"),
        (PAGE, {"add": {"cup": "sport"}}, ItemError, "'cup', which is there already"),
        (PAGE, {"remove": ["law"]}, ItemError, "'law', which is not there"),
        (PAGE.truncate(3), {"remove": ["vote"]}, InvalidMatroidError, "expected to keep the rank 3"),
        (mb.UniformMatroid(2, 2, labels="ab"), {"remove": ["a"]}, InvalidMatroidError, "keep the rank 2"),
        (mb.UniformMatroid(2, 2, labels="ab"), {"add": {"c": "sport"}}, InvalidMatroidError, "nothing to be said"),
        (mb.UniformMatroid(2, 2, labels="ab"), {"capacities": {"x": 1}}, InvalidMatroidError, "a partition matroid"),
        (mb.UniformMatroid(2, 1), {"remove": [1]}, InvalidMatroidError, "a constraint with labels"),
        (mb.TransversalMatroid({"ann": ["day"]}), {"add": {"bob": ["late"]}}, InvalidMatroidError, "right vertices"),
        (mb.TransversalMatroid({"ann": ["day"]}), {"add": {"bob": "day"}}, InvalidMatroidError, "right vertices"),
        (mb.GraphicMatroid([(0, 1)], labels="x"), {"add": {"y": [1]}}, InvalidMatroidError, "two ends"),
        (PAGE.truncate(1).dual(), {"remove": ["cup"]}, InvalidMatroidError, "give the whole constraint instead"),
    ],
)
def test_what_cannot_be_is_refused(before, given, error, words):
    with pytest.raises(error, match=words):
        edited(before, **given)


STORIES = {
    "cup": {"section": "sport", "brand": "x"},
    "goal": {"section": "sport", "brand": "y"},
    "vote": {"section": "news", "brand": "x"},
}
BY_SECTION = mb.QuotaIntersection.from_rows(STORIES, {"section": 2, "brand": 1}, total=3)
PROMPT = mb.KnapsackConstraint({"a": 60, "b": 50, "c": 20}, 100, {"a": "x", "c": "y"}, at_most=2, unit="tokens")


def test_two_quotas_are_edited_by_the_names_of_their_dimensions():
    new = {"law": {"section": "news", "brand": "z"}, "film": ["arts", "x"]}
    found = edited(BY_SECTION, new, ["goal"], change={"cup": {"section": "arts", "brand": "y"}})
    rows = {
        "cup": {"section": "arts", "brand": "y"},
        "vote": STORIES["vote"],
        "law": {"section": "news", "brand": "z"},
        "film": {"section": "arts", "brand": "x"},
    }
    assert found == mb.QuotaIntersection.from_rows(rows, {"section": 2, "brand": 1}, total=3)
    assert found.in_words() == "at most 2 of each section, at most 1 of each brand, 3 in all"
    # the total outlives a day on which few items are there
    few = edited(BY_SECTION, None, ["cup", "goal"])
    assert few.largest_size == 1
    assert edited(few, {"cup": STORIES["cup"], "goal": STORIES["goal"]}).total == 3
    other = edited(BY_SECTION, {"law": ["law", "z"]}, capacities={"section": {"law": 1}, "brand": {"x": 2}})
    assert other.in_words() == (
        "at most 2 of sport, 2 of news, 1 of law (section), at most 2 of x, 1 of y, 1 of z (brand), 3 in all"
    )


def test_a_budget_is_edited_by_costs_groups_and_the_budget():
    found = edited(PROMPT, {"d": 30, "e": {"cost": 10, "group": "y"}}, ["b"], change={"a": 40}, budget=90)
    costs = {"a": 40, "c": 20, "d": 30, "e": 10}
    groups = {"a": "x", "c": "y", "e": "y"}
    assert found == mb.KnapsackConstraint(costs, 90, groups, at_most=2, unit="tokens")
    assert edited(PROMPT, change={"a": {"group": None}}).groups == {"a": None, "b": None, "c": "y"}
    assert edited(PROMPT) == PROMPT


@pytest.mark.parametrize(
    ("before", "given", "error", "words"),
    [
        (PAGE, {"change": {"cap": "sport"}}, ItemError, "an item to change, got 'cap', which is not there; did you"),
        (PAGE, {"change": {"cup": "arts"}}, InvalidMatroidError, "block of 'cup'"),
        (
            PAGE,
            {"change": {"cup": "sport"}, "remove": ["cup"]},
            ItemError,
            "to change or to remove, got 'cup' for both",
        ),
        (PAGE, {"budget": 3}, InvalidConstraintError, "a budget of a KnapsackConstraint, got one for Partition"),
        (
            BY_SECTION,
            {"add": {"law": "news"}},
            InvalidConstraintError,
            "its section and its brand to be said of 'law'",
        ),
        (BY_SECTION, {"add": {"law": {"section": "news"}}}, InvalidConstraintError, "its section and its brand"),
        (BY_SECTION, {"capacities": {"x": 2}}, InvalidConstraintError, "capacities of section and brand, by these"),
        (
            PROMPT,
            {"add": {"d": {"group": "x"}}},
            InvalidConstraintError,
            "expected the cost of 'd', or its cost and g",
        ),
        (PROMPT, {"add": {"d": {"cost": 1, "price": 2}}}, InvalidConstraintError, "its cost and group; got"),
        (
            PROMPT,
            {"add": {"d": 2.5}},
            InvalidConstraintError,
            "cost of item 'd' to be a whole number, got 2.5: scale",
        ),
        (PROMPT, {"capacities": {"x": 2}}, InvalidConstraintError, "expected no capacities, since .* has a budget"),
    ],
)
def test_what_quotas_and_budgets_refuse(before, given, error, words):
    with pytest.raises(error, match=words):
        edited(before, **given)


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (PAGE, {"cup": "politics"}, {"cup": "politics", "goal": "sport", "vote": "politics"}),
        (mb.TransversalMatroid({"ann": ["day"], "eve": ["day", "night"]}), {"ann": ["night"]}, None),
        (mb.GraphicMatroid([(0, 1), (1, 2)], labels=["x", "y"]), {"x": [0, 2]}, None),
        (mb.UniformMatroid(2, 1, labels="ab"), {"a": None}, None),
    ],
)
def test_items_change_where_they_stand(before, change, after):
    found = edited(before, change=change)
    assert found.labels == before.labels
    if after is not None:
        assert found.blocks == list(after.values())
    if isinstance(found, mb.TransversalMatroid):
        assert [list(rights) for rights in found.neighbors] == [["night"], ["day", "night"]]
    if isinstance(found, mb.GraphicMatroid):
        assert list(map(tuple, found.edges)) == [(0, 2), (1, 2)]
