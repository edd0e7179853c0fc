"""Logs of other systems as tables: sets, the chances of their items, and rewards."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, Label
from matroid_bandits._util.extras import missing
from matroid_bandits._util.sums import added
from matroid_bandits._util.text import shown
from matroid_bandits.evaluation._estimators import Decisions, Target
from matroid_bandits.exceptions import EvaluationError


@dataclass(frozen=True)
class LoggedTable(Decisions):
    """Decisions of a table, with the items that were played; made by `read_table`, and taken by `estimate`.

    Attributes
    ----------
    items : tuple
        The item of each row of `weights`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> rows = {"shown": [["a"], ["b"]], "chance": [[0.5], [0.5]], "clicks": [[1.0], [0.0]]}
    >>> mb.evaluation.read_table(rows, set="shown", propensity="chance", reward="clicks").items
    ('a', 'b')
    """

    items: tuple[Label, ...] = ()

    def target(self, chances: Mapping[Label, float] | Iterable[Label]) -> Target:
        """Return the target that plays a set of items, or each item with a chance, at every decision.

        What was expected of an item before a decision is its mean reward in earlier rows; that of all items where it
        has none, and 0.5 before the first.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> rows = {"shown": [["a"], ["b"]], "chance": [[0.5], [0.5]], "clicks": [[1.0], [0.0]]}
        >>> log = mb.evaluation.read_table(rows, set="shown", propensity="chance", reward="clicks")
        >>> mb.evaluation.estimate(log, log.target(["a"]), "iips").value
        1.0
        """
        wanted = dict(chances) if isinstance(chances, Mapping) else dict.fromkeys(chances, 1.0)
        played = set(self.items)
        unknown = [item for item in wanted if item not in played]
        if unknown or not wanted:
            raise EvaluationError(f"expected items of the table, got {shown(unknown[0]) if unknown else 'none'}")
        if not all(0.0 <= chance <= 1.0 for chance in wanted.values()):
            raise EvaluationError(f"expected chances from 0 to 1, got {shown(chances)}")
        inclusions = np.array([wanted.get(item, 0.0) for item in self.items])
        sizes, known = np.full(len(self), float(np.sum([*wanted.values()]))), _Means()
        predicted, rows = np.empty(len(self)), _rows(self)
        for t in range(len(self)):
            predicted[t] = added(chance * known.of(item) for item, chance in wanted.items())
            for row in range(rows[t], rows[t + 1]):
                known.add(self.items[row], float(self.weights[row]))
        return Target(inclusions, sizes, predicted)


def read_table(
    table: Any,
    *,
    set: str,
    propensity: str,
    reward: str,
    decision: str | None = None,
    held_out: str | None = None,
    unit: str | None = None,
) -> LoggedTable:
    """Read a log of sets, propensities and rewards that another system wrote, for `estimate`.

    Parameters
    ----------
    table : DataFrame, mapping of str to column, or path
        A path is a Parquet file (needs the extra ``parquet``), or a CSV file with a line of names, in which a list is
        written as JSON. Rows are in the order of time.
    set, propensity, reward : str
        The columns of what was played, of the chance that the set contained each item, and of what each item was
        worth. With a row for each decision, each holds a list; a single item may be without one.
    decision : str, optional
        The column that tells which decision a row belongs to, where there is a row for each item.
    held_out : str, optional
        The column that tells whether a set was drawn at random; it is only counted.
    unit : str, optional
        The column of the units of randomisation, such as a visitor. By default each decision is a unit.

    Returns
    -------
    LoggedTable

    Raises
    ------
    EvaluationError
        A column is missing, lists differ in length, a decision has an item twice, a propensity is not above 0 and at
        most 1, or a reward is not finite.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> rows = {
    ...     "page": [1, 1, 2, 2],
    ...     "story": ["a", "b", "b", "c"],
    ...     "chance": [0.6, 0.7, 0.7, 0.7],
    ...     "clicks": [1, 0, 1, 0],
    ... }
    >>> log = mb.evaluation.read_table(rows, set="story", propensity="chance", reward="clicks", decision="page")
    >>> len(log), log.total(log.weights)
    (2, array([1., 1.]))
    """
    columns = _columns(
        table, [each for each in (set, propensity, reward, decision, held_out, unit) if each is not None]
    )
    keys = range(len(columns[set])) if decision is None else columns[decision]
    places: dict[Any, int] = {}
    rows: list[tuple[int, Any, Any, Any]] = []
    firsts: list[int] = []
    played: dict[tuple[int, Any], None] = {}
    for number, key in enumerate(keys):
        if key != key:
            raise EvaluationError(f"row {number + 1}: expected a decision in {decision!r}, got {key}")
        if key not in places:
            places[key] = len(places)
            firsts.append(number)
        cells = [columns[name][number] for name in (set, propensity, reward)]
        lists = [_listed(cell) for cell in cells]
        if len({len(each) for each in lists}) != 1 or not lists[0]:
            raise EvaluationError(
                f"row {number + 1}: expected as many items as propensities and rewards, and at least one; got "
                f"{', '.join(str(len(each)) for each in lists)}"
            )
        for item in lists[0]:
            if (places[key], item) in played:
                raise EvaluationError(
                    f"row {number + 1}: expected each item once in a decision, got {shown(item)} again"
                )
            played[places[key], item] = None
        rows += [(places[key], *each) for each in zip(*lists, strict=True)]
    if not rows:
        raise EvaluationError("expected at least one decision, got a table without any")
    rows.sort(key=lambda row: row[0])
    weights, chances = _numbers(reward, [row[3] for row in rows]), _numbers(propensity, [row[2] for row in rows])
    if not ((chances > 0.0) & (chances <= 1.0)).all():
        wrong = chances[~((chances > 0.0) & (chances <= 1.0))][0]
        raise EvaluationError(f"expected propensities above 0 and at most 1 in {propensity!r}, got {wrong:g}")
    items = tuple(row[1] for row in rows)
    found = LoggedTable(
        np.array([row[0] for row in rows], np.int64),
        weights,
        chances,
        np.zeros(len(rows)),
        np.array([held_out is not None and _is_true(columns[held_out][k]) for k in firsts], bool),
        None if unit is None else _codes([columns[unit][k] for k in firsts]),
        0,
        items,
    )
    predictions, known, ends = found.predictions, _Means(), _rows(found)
    for t in range(len(found)):
        span = range(ends[t], ends[t + 1])
        for row in span:
            predictions[row] = known.of(items[row])
        for row in span:
            known.add(items[row], float(weights[row]))
    return found


class _Means:
    """Mean rewards of items so far; that of all for an item without any."""

    def __init__(self) -> None:
        self._known: dict[Label, list[float]] = {}
        self._all = [0.0, 0.0]

    def add(self, item: Label, reward: float) -> None:
        for tally in (self._known.setdefault(item, [0.0, 0.0]), self._all):
            tally[0] += 1.0
            tally[1] += reward

    def of(self, item: Label) -> float:
        n, total = self._known.get(item, self._all)
        return total / n if n else 0.5


def _rows(log: Decisions) -> list[int]:
    """Where the rows of each decision begin, and where those of the last one end."""
    found: list[int] = np.searchsorted(log.decision, np.arange(len(log) + 1)).tolist()
    return found


def _columns(table: Any, names: list[str]) -> dict[str, list[Any]]:
    """The columns of these names as lists of the same length."""
    if isinstance(table, (str, PathLike)):
        table = _of_file(Path(table))
    given = [*table] if isinstance(table, Mapping) else [*getattr(table, "columns", ())]
    if not given:
        raise EvaluationError(f"expected a DataFrame, columns by name, or a file; got {type(table).__name__}")
    for name in names:
        if name not in given:
            raise EvaluationError(f"expected a column {name!r}, got {', '.join(map(str, given))}")
    found = {name: [*table[name]] for name in names}
    if len({len(column) for column in found.values()}) != 1:
        lengths = ", ".join(f"{len(column)} in {name}" for name, column in found.items())
        raise EvaluationError(f"expected columns of one length, got {lengths}")
    return found


def _of_file(path: Path) -> dict[str, list[Any]]:
    try:
        if path.suffix == ".parquet":
            try:
                import pyarrow.parquet
            except ImportError as error:
                raise missing("Parquet needs pyarrow", "parquet") from error
            columns: dict[str, list[Any]] = pyarrow.parquet.read_table(path).to_pydict()
            return columns
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            lines = [*reader]
        return {name: [line[name] for line in lines] for name in reader.fieldnames or ()}
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise EvaluationError(f"expected a Parquet or CSV file, got {str(path)!r}: {error}") from error


def _listed(cell: Any) -> list[Any]:
    """The entries of a cell; text in brackets is a list of JSON, and anything else that is no list is one entry."""
    if isinstance(cell, str) and cell.startswith("["):
        try:
            cell = json.loads(cell)
        except ValueError as error:
            raise EvaluationError(f"expected a list of JSON, got {shown(cell)}: {error}") from None
    return [*cell] if isinstance(cell, (list, tuple, np.ndarray)) else [cell]


def _numbers(name: str, cells: list[Any]) -> FloatArray:
    try:
        found = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"expected numbers in {name!r}: {error}") from None
    if not np.isfinite(found).all():
        raise EvaluationError(f"expected finite numbers in {name!r}, got {found[~np.isfinite(found)][0]}")
    return found


def _is_true(cell: Any) -> bool:
    return cell.strip().lower() in ("true", "1") if isinstance(cell, str) else bool(cell)


def _codes(values: list[Any]) -> Any:
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
