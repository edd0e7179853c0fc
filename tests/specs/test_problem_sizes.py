"""Problem files of many items: every name is looked up, none is searched for."""

from pathlib import Path

from matroid_bandits.specs._csv import Row, Sheet, _header
from matroid_bandits.specs._items import Ground
from matroid_bandits.specs._toml import Section

import matroid_bandits as mb
from matroid_bandits._util.text import did_you_mean
from matroid_bandits.specs._environment import _read_means, _read_observations
from matroid_bandits.specs._policy import _item_number
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
    rows = tuple(
        Row(e + 2, {columns[0]: name, **dict.fromkeys(columns[1:], "0.5")}) for e, name in enumerate(names())
    )
    return Sheet(Path("more.csv"), columns, rows)


class Keys(Section):
    """The keys of a section whose files are at hand."""

    def __init__(self, files: Sheet, **table: str) -> None:
        super().__init__(Path("problem.toml"), "weights", table)
        self.files = files

    def sheet(self, key: str) -> Sheet:
        self.take(key, str)
        return self.files


def ground() -> Ground:
    made = Ground(sheet("item"), names(), [], mb.UniformMatroid(N, 1))
    _ = made.numbers
    return made


def test_means_in_a_file_of_their_own():
    keys, items = Keys(sheet("item", "mean"), file="more.csv"), ground()
    assert looks(lambda: _read_means(keys, items, "mean", 0.0, 1.0)) <= 20 * N


def test_long_observations():
    keys, items = Keys(sheet("item", "weight"), observations="more.csv"), ground()
    assert looks(lambda: _read_observations(keys, items)) <= 20 * N


def test_wide_observations():
    wide = Sheet(Path("wide.csv"), tuple(names()), (Row(2, dict.fromkeys(names(), "0.5")),))
    keys, items = Keys(wide, observations="wide.csv", layout="wide"), ground()
    assert looks(lambda: _read_observations(keys, items)) <= 20 * N


def test_headers_and_columns():
    columns = names()
    assert looks(lambda: _header(Path("wide.csv"), 1, columns)) <= 20 * N
    wide = Sheet(Path("wide.csv"), tuple(columns), ())
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
    keys, items = Keys(sheet("item")), ground()
    listed = names()
    assert looks(lambda: [_item_number(keys, items, name) for name in listed]) <= 20 * N
    assert _item_number(keys, items, Name("item 7")) == 7
