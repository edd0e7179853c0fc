"""Items that come and go while the rules stay."""

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import InvalidMatroidError, ItemError
from matroid_bandits.matroids import edited

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
