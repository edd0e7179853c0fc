"""Problem files of many items: every name is looked up, none is searched for."""

from pathlib import Path

import pytest

import matroid_bandits as mb
from matroid_bandits._util.text import did_you_mean
from matroid_bandits.specs import _environment
from matroid_bandits.specs._environment import BernoulliSpec, ObservationsSpec
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import Row, Sheet, _header
from steps import Name

N = 400


def looks(call) -> int:
    """How many names are compared or hashed."""
    Name.n_looked_at = 0
    call()
    return Name.n_looked_at


def names() -> list[Name]:
    return [Name(f"item {e}") for e in range(N)]


def sheet(*columns: str) -> Sheet:
    """A file with a line for each item, its name in the first of some columns and 0.5 in the others."""
    made = Sheet("more.csv", "more.csv", columns, is_file=True)
    for e, name in enumerate(names()):
        made.rows.append(Row(made, e + 2, {columns[0]: name, **dict.fromkeys(columns[1:], "0.5")}))
    return made


def ground() -> Ground:
    return Ground("items.csv", {row.text("item"): [row] for row in sheet("item").rows}, mb.UniformMatroid(N, 1))


@pytest.fixture
def file(monkeypatch):
    """Lay a sheet where the next file is read."""
    return lambda made: monkeypatch.setattr(_environment, "read_sheet", lambda file, place: made)


def test_means_in_a_file_of_their_own(file):
    file(sheet("item", "mean"))
    spec, items = BernoulliSpec.model_construct(file="more.csv", item="item", mean="mean"), ground()
    assert looks(lambda: spec.environment(items)) <= 20 * N


def test_long_observations(file):
    file(sheet("item", "weight"))
    spec, items = ObservationsSpec.model_construct(observations="more.csv"), ground()
    assert looks(lambda: spec.environment(items)) <= 20 * N


def test_wide_observations(file):
    wide = Sheet("wide.csv", "wide.csv", tuple(names()), is_file=True)
    wide.rows.append(Row(wide, 2, dict.fromkeys(names(), "0.5")))
    file(wide)
    spec, items = ObservationsSpec.model_construct(observations="wide.csv", layout="wide"), ground()
    assert looks(lambda: spec.environment(items)) <= 20 * N


def test_headers_and_columns():
    columns = names()
    assert looks(lambda: _header(Path("wide.csv"), 1, columns)) <= 20 * N
    wide = Sheet("wide.csv", "wide.csv", tuple(columns), is_file=True)
    assert looks(lambda: wide.need(*names())) <= 20 * N


def test_a_hint_looks_at_no_more_than_thousands_of_names():
    n_given = 0

    def many():
        nonlocal n_given
        for n_given in range(10**6):
            yield f"item {n_given}"

    assert did_you_mean("itme 77", many()) == "; did you mean 'item 77'?"
    assert n_given < 10_000


def test_items_of_a_policy():
    items, place = ground(), Place()
    listed = names()
    assert looks(lambda: [items.numbers([name], place) for name in listed]) <= 20 * N
    assert items.numbers([Name("item 7")], place) == [7]
