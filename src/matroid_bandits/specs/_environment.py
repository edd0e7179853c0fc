"""The section ``weights`` of a problem file: means with noise, or observations to draw from."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.text import did_you_mean
from matroid_bandits.environments import (
    BernoulliEnvironment,
    BetaEnvironment,
    Environment,
    ExponentialEnvironment,
    GaussianEnvironment,
    RowEnvironment,
    SampleEnvironment,
)
from matroid_bandits.exceptions import DataError
from matroid_bandits.specs._csv import LARGEST
from matroid_bandits.specs._items import Ground, check_known, unique_rows
from matroid_bandits.specs._toml import Section


def read_environment(keys: Section, ground: Ground) -> Environment:
    """Read where the weights of the items come from."""
    if keys.has("observations"):
        environment = _read_observations(keys, ground)
        keys.close()
        return environment
    if not keys.has("mean"):
        near = keys.closest("mean") or keys.closest("observations")
        raise keys.error(
            "mean", f"expected the column of mean weights here, or a CSV file in weights.observations{near}"
        )
    column = keys.take("mean", str)
    family = keys.choice("family", ("bernoulli", "exponential", "gaussian", "beta"))
    low, high = {"bernoulli": (0.0, 1.0), "beta": (0.0, 1.0)}.get(family, (-np.inf, np.inf))
    means = _read_means(keys, ground, column, low, high)
    noise = keys.take("noise", float, 1.0) if family == "gaussian" else 1.0
    concentration = keys.take("concentration", float, 10.0) if family == "beta" else 1.0
    keys.close()
    if not 0 <= noise <= LARGEST:
        raise keys.error("noise", f"expected a standard deviation, 0 or more; got {noise:g}")
    if not 0 < concentration < np.inf:
        raise keys.error("concentration", f"expected a positive number, got {concentration:g}")
    if family == "bernoulli":
        return BernoulliEnvironment(means)
    if family == "exponential":
        return ExponentialEnvironment(means)
    if family == "gaussian":
        return GaussianEnvironment(means, noise)
    if not ((means > 0) & (means < 1)).all():
        name = ground.names[int(((means <= 0) | (means >= 1)).argmax())]
        raise keys.error("family", f"expected means strictly between 0 and 1 for beta, got 0 or 1 for item {name!r}")
    return BetaEnvironment(means * concentration, (1.0 - means) * concentration)


def _read_means(keys: Section, ground: Ground, column: str, low: float, high: float) -> FloatArray:
    """The mean weight of every item, from the matroid's own CSV file or from another that ``file`` names."""
    if keys.has("file"):
        sheet = keys.sheet("file")
        item = keys.take("item", str, "item")
        sheet.need(item, column)
        names, found = unique_rows(sheet, [(sheet.text(row, item), row) for row in sheet.rows])
        by_name = dict(zip(names, found, strict=True))
        for name, (row,) in by_name.items():
            check_known(sheet, row, name, ground)
        for name in ground.names:
            if name not in by_name:
                raise DataError(f"{sheet.path}: expected a row for every item, got none for {name!r}")
        rows = [by_name[name] for name in ground.names]
    else:
        sheet, rows = ground.sheet, ground.rows
        sheet.need(column)
    means = np.empty(len(rows))
    for e, group in enumerate(rows):
        means[e] = sheet.number(group[0], column, low, high)
        for row in group[1:]:  # an item of a transversal has a row for each partner
            if sheet.number(row, column, low, high) != means[e]:
                raise sheet.error(
                    row,
                    f"expected {means[e]:g} in column {column!r} as on line {group[0].line}, got {row.cells[column]}",
                )
    return means


def _read_observations(keys: Section, ground: Ground) -> Environment:
    """Past weights to draw from: of each item on its own, or of all items in rows that belong together."""
    sheet = keys.sheet("observations")
    if keys.choice("layout", ("long", "wide"), "long") == "wide":
        for column in sheet.columns:
            if column not in ground.numbers:
                hint = did_you_mean(column, ground.names)
                raise DataError(f"{sheet.path}:1: column {column!r} is not an item of {ground.sheet.path.name}{hint}")
        sheet.need(*ground.names)
        return RowEnvironment(
            np.array([[sheet.number(row, name) for name in ground.names] for row in sheet.rows], np.float64)
        )
    item, weight = keys.take("item", str, "item"), keys.take("weight", str, "weight")
    sheet.need(item, weight)
    samples: dict[str, list[float]] = {name: [] for name in ground.names}
    for row in sheet.rows:
        name = sheet.text(row, item)
        check_known(sheet, row, name, ground)
        samples[name].append(sheet.number(row, weight))
    for name, values in samples.items():
        if not values:
            raise DataError(f"{sheet.path}: expected an observation or more of every item, got none of {name!r}")
    return SampleEnvironment(list(samples.values()))
