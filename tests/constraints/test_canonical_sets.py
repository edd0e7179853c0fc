"""Best sets with heavy ties, masks, pins and unseen items against all sets, for every family."""

import numpy as np
import pytest

import families
from listed_sets import check_against_lists, check_forcing

FAMILIES = {
    "assignment": (families.assignment, {}),
    "path": (families.path, {}),
    "cyclic path": (families.cyclic_path, {"low": -3, "high": -1, "with_pins": False, "with_unseen": False}),
    "quotas": (families.quotas, {}),
    "intersection": (families.intersection, {}),
    "arborescence": (families.arborescence, {}),
    "explicit": (families.explicit, {}),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_to_looking_at_all_sets(family):
    make, options = FAMILIES[family]
    rng = np.random.default_rng(7)
    assert sum(check_against_lists(make(rng), rng, 20, **options) for _ in range(12)) > 350


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_equal_to_looking_at_all_sets_of_many(family):
    make, options = FAMILIES[family]
    rng = np.random.default_rng(8)
    assert sum(check_against_lists(make(rng), rng, 20, **options) for _ in range(500)) > 16_000


@pytest.mark.parametrize("family", FAMILIES)
def test_forced_sets_are_the_canonical_of_all(family):
    make, options = FAMILIES[family]
    rng = np.random.default_rng(9)
    low, high = (-8, -1) if options else (0, 8)
    assert sum(check_forcing(make(rng), rng, 3, low=low, high=high) for _ in range(12)) > 90
