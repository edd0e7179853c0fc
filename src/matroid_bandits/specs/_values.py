"""A number for each item: a column of a table, a list in the items' order, or a table by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.text import shown
from matroid_bandits.specs._ground import Ground, check_complete, check_known, unique_rows
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import LARGEST, Row, Sheet
from matroid_bandits.specs._spec import Number, Spec, check_number, mistake


def _check_values(value: Any) -> Any:
    if isinstance(value, list):
        return [check_number(number) for number in value]
    if isinstance(value, LawSpec) or (isinstance(value, dict) and isinstance(value.get("draw"), str)):
        return value if isinstance(value, LawSpec) else LawSpec.model_validate(value)
    if isinstance(value, dict):
        return {name: check_number(number) for name, number in value.items()}
    if not isinstance(value, str):
        raise mistake(f"expected a column, a list or a table of numbers, got {shown(value)}")
    return value


class LawSpec(Spec):
    """Distribution of a number for each item, drawn anew for every world of a sweep: uniform, normal or beta."""

    draw: Literal["uniform", "normal", "beta"]
    low: Number = Field(0.0, description="Uniform: the lower end.")
    high: Number = Field(1.0, description="Uniform: the upper end.")
    mean: Number = Field(0.0, description="Normal: the mean.")
    deviation: Number = Field(1.0, description="Normal: the standard deviation.")
    alpha: Number = Field(1.0, description="Beta: the first parameter.")
    beta: Number = Field(1.0, description="Beta: the second parameter.")

    @model_validator(mode="after")
    def _check_parameters(self) -> Self:
        of = {"uniform": ("low", "high"), "normal": ("mean", "deviation"), "beta": ("alpha", "beta")}[self.draw]
        for key in self.model_fields_set - {"draw", *of}:
            raise mistake(f"unknown parameter of {self.draw}; known are {' and '.join(of)}", key)
        if self.low > self.high:
            raise mistake(f"expected low up to high, got {self.low:g} and {self.high:g}", "low")
        if self.deviation < 0.0:
            raise mistake(f"expected a standard deviation, 0 or more; got {self.deviation:g}", "deviation")
        for key in ("alpha", "beta"):
            if getattr(self, key) <= 0.0:
                raise mistake(f"expected a positive number, got {getattr(self, key):g}", key)
        return self

    def numbers(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw a number for each of n items."""
        if self.draw == "uniform":
            return rng.uniform(self.low, self.high, n)
        return (
            rng.normal(self.mean, self.deviation, n) if self.draw == "normal" else rng.beta(self.alpha, self.beta, n)
        )


#: A column, or a number for each item: in their order, or by name; or a law that they are drawn from.
Values = Annotated[str | list[float] | dict[str, float] | LawSpec, BeforeValidator(_check_values)]

#: One number for all items, or what gives each its own.
NumberOrValues = Annotated[
    float | str | list[float] | dict[str, float] | LawSpec,
    BeforeValidator(
        lambda value: (_check_values if isinstance(value, str | list | dict | LawSpec) else check_number)(value)
    ),
]


def read_values(
    values: str | list[float] | dict[str, float] | LawSpec,
    ground: Ground,
    place: Place,
    own: tuple[Sheet, str] | None = None,
    low: float = -np.inf,
    high: float = np.inf,
) -> FloatArray:
    """The number of every item, which must be in [low, high].

    A column is one of the items' own tables, or where `own` gives another and its column of items, of that. Numbers
    of a law are drawn where worlds are.
    """
    if isinstance(values, str):
        if own is None:
            ground.check_columns([values])
        rows = ground.rows if own is None else _own_rows(*own, values, ground)
        return np.array([_agreed(group, values, low, high) for group in rows.values()], np.float64)
    if isinstance(values, LawSpec):
        if place.rng is None:
            raise place.error("expected numbers, since a law is for worlds: a problem of a sweep with worlds = N")
        named = list(zip(ground.rows, values.numbers(len(ground.rows), place.rng).tolist(), strict=True))
    elif isinstance(values, dict):
        for name in values:
            if message := ground.check_item(name):
                raise place.error(message)
        check_complete(ground.rows, values, str(place), "expected a number for every item, got none for")
        named = [(name, values[name]) for name in ground.rows]
    else:
        if len(values) != len(ground.rows):
            raise place.error(f"expected {len(ground.rows)} numbers, one per item; got {len(values)}")
        named = list(zip(ground.rows, values, strict=True))
    high, low = min(high, LARGEST), max(low, -LARGEST)
    for name, value in named:
        if not low <= value <= high:
            raise place.error(f"expected a number in [{low:g}, {high:g}] for {shown(name)}, got {value:g}")
    return np.array([value for _, value in named], np.float64)


def _own_rows(sheet: Sheet, item: str, column: str, ground: Ground) -> dict[str, list[Row]]:
    """The rows of a table of its own that has one for every item."""
    sheet.need(item, column)
    rows = unique_rows((row.text(item), row) for row in sheet.rows)
    for name, (row,) in rows.items():
        check_known(row, name, ground)
    check_complete(ground.rows, rows, sheet.base, "expected a row for every item, got none for")
    return {name: rows[name] for name in ground.rows}


def _agreed(rows: list[Row], column: str, low: float, high: float) -> float:
    """The number in all rows of an item: one of a transversal has a row for each partner."""
    value = rows[0].number(column, low, high)
    for row in rows[1:]:
        if row.number(column, low, high) != value:
            raise row.error(
                f"expected {value:g} in column {shown(column)} as {rows[0].place}, got {row.shown(column)}"
            )
    return float(value)
