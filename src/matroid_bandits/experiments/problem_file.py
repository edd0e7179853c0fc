"""A problem of one's own without code: a TOML file and a CSV or two."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.environments import (
    BernoulliEnvironment,
    BetaEnvironment,
    Environment,
    ExponentialEnvironment,
    GaussianEnvironment,
    RowEnvironment,
    SampleEnvironment,
)
from matroid_bandits.exceptions import DataError, MatroidBanditsError
from matroid_bandits.experiments._blocks import OPTIMAL, Chapter
from matroid_bandits.experiments._csv import LARGEST, Row, Sheet, did_you_mean
from matroid_bandits.experiments._spec import Experiment, Outcome, out_of_range
from matroid_bandits.experiments._tables import basis_table, curve_plot, policy_table
from matroid_bandits.experiments._toml import Section, read_toml
from matroid_bandits.experiments.datasets import Dataset
from matroid_bandits.matroids import (
    GraphicMatroid,
    LinearMatroid,
    Matroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
)
from matroid_bandits.policies import POLICIES, FixedSet, Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import check_support


def read_problem(path: str | os.PathLike[str]) -> Experiment:
    """Read a problem file; the examples folder has a commented one for each kind of matroid.

    Parameters
    ----------
    path : path
        The TOML file. Paths in it are relative to it.

    Returns
    -------
    Experiment
        Ready for :func:`run` and :class:`Report`.

    Raises
    ------
    DataError
        With the key, or the CSV file and line, that is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "ads.csv").write_text("item,clicks\\nboots,0.2\\nhats,0.5\\nbags,0.4\\n")
    >>> _ = (folder / "ads.toml").write_text('''
    ... episodes = 100
    ... policies = { OMM = {} }
    ... matroid = { kind = "uniform", file = "ads.csv", rank = 2 }
    ... weights = { mean = "clicks", noise = "bernoulli" }
    ... ''')
    >>> experiment = read_problem(folder / "ads.toml")
    >>> experiment.load(None)[0].problem.optimal_value
    0.9
    """
    file = Path(path)
    top = Section(file, "", read_toml(file))
    title = top.take("title", str, file.stem)
    name = re.sub(r"[^\w.-]+", "-", file.stem).strip("-.") or "problem"  # in names of files, ids and links
    about = top.take("about", str, "")
    n_episodes, n_runs, seed = _number(top, "episodes"), _number(top, "runs", 20), _number(top, "seed", 0)
    direction = top.choice("direction", ("maximize", "minimize"), "maximize")
    start = top.choice("start", ("observe", "explore"), "observe")
    matroid_keys, weight_keys = top.section("matroid"), top.section("weights")
    policy_keys = top.section("policies")
    top.close()

    ground = _read_matroid(matroid_keys, weight_keys)
    environment = _read_weights(weight_keys, ground)
    try:
        problem = Problem(ground.matroid, environment, direction == "minimize")
    except MatroidBanditsError as error:  # pragma: no cover - both were made for the same items
        raise DataError(f"{file}: {error}") from error
    policies = _read_policies(policy_keys, ground, environment)
    dataset = Dataset(
        name=name,
        title=title,
        problem=problem,
        description=f"A {ground.kind} matroid of {problem.n_items} items and rank {ground.matroid.rank},"
        f" from {file.name}.",
        source="real",
        path=file,
        facts={"items": problem.n_items, "rank": ground.matroid.rank},
    )

    def write(outcome: Outcome) -> Chapter:
        trial = outcome.trials[0]
        return Chapter(
            lead=about or dataset.description,
            blocks=(
                policy_table(trial, "policies", "Policies"),
                curve_plot(outcome, title, "Bands are 95% confidence intervals."),
                basis_table(trial, "basis", "The optimal basis"),
            ),
        )

    return Experiment(
        name=name,
        title=title,
        section="",
        load=lambda _: [dataset],
        policies=policies,
        n_episodes=n_episodes,
        n_runs=n_runs,
        seed=seed,
        write=write,
        start="observe" if start == "observe" else "explore",
    )


def _number(keys: Section, key: str, *default: int) -> int:
    value = keys.take(key, int, *default)
    if message := out_of_range(key, value):
        raise keys.error(key, message)
    return value


@dataclass(frozen=True)
class _Ground:
    """The items: their names, where each is first written, and the matroid over them."""

    kind: str
    sheet: Sheet
    names: list[str]
    rows: list[list[Row]]
    matroid: Matroid


# ---------------------------------------------------------------------------------------------------------
# Matroids


def _read_matroid(keys: Section, weights: Section) -> _Ground:
    kind = keys.choice("kind", tuple(_KINDS))
    sheet = keys.sheet("file")
    names, rows, build = _KINDS[kind](keys, sheet, weights)
    keys.close()
    try:
        matroid = build()
    except MatroidBanditsError as error:
        raise keys.error("file", f"{sheet.path}: {error}") from error
    if matroid.rank == 0:
        raise keys.error("kind", "expected a matroid with a basis of an item or more, got one of rank 0")
    return _Ground(kind, sheet, names, rows, matroid)


_Read = tuple[list[str], list[list[Row]], Callable[[], Matroid]]


def _read_graph(keys: Section, sheet: Sheet, _: Section) -> _Read:
    source, target = keys.take("source", str, "source"), keys.take("target", str, "target")
    name = keys.take("label", str) if keys.has("label") else None
    sheet.need(source, target, *([name] if name else []))
    ends = [(sheet.text(row, source), sheet.text(row, target)) for row in sheet.rows]
    named = (
        [(sheet.text(row, name), row) for row in sheet.rows]
        if name
        else [(f"{u}-{v}", row) for (u, v), row in zip(ends, sheet.rows, strict=True)]
    )
    names, rows = _unique(
        sheet, named, "" if name else " (name parallel links apart in a column, and give it as label)"
    )
    return names, rows, lambda: GraphicMatroid(ends, labels=names)


def _read_partition(keys: Section, sheet: Sheet, _: Section) -> _Read:
    names, rows = _items(keys, sheet)
    category = keys.take("category", str, "category")
    sheet.need(category)
    blocks = [sheet.text(row[0], category) for row in rows]
    if isinstance(keys.peek("capacity"), str):
        capacities = _capacities(sheet, rows, blocks, keys.take("capacity", str))
    else:
        capacity = keys.take("capacity", int, 1)
        if capacity < 0:
            raise keys.error("capacity", f"expected 0 or more, got {capacity}")
        capacities = dict.fromkeys(blocks, capacity)
    return names, rows, lambda: PartitionMatroid(blocks, capacities, labels=names)


def _capacities(sheet: Sheet, rows: list[list[Row]], blocks: list[str], column: str) -> dict[str, int]:
    sheet.need(column)
    found: dict[str, tuple[int, int]] = {}
    for (row,), block in zip(rows, blocks, strict=True):
        value = sheet.number(row, column, low=0)
        if value != int(value):
            raise sheet.error(row, f"expected a whole number in column {column!r}, got {row.cells[column]}")
        capacity, line = found.setdefault(block, (int(value), row.line))
        if capacity != value:
            raise sheet.error(row, f"expected capacity {capacity} for {block!r} as on line {line}, got {value:g}")
    return {block: capacity for block, (capacity, _) in found.items()}


def _read_transversal(keys: Section, sheet: Sheet, _: Section) -> _Read:
    item, partner = keys.take("item", str, "item"), keys.take("partner", str, "partner")
    sheet.need(item, partner)
    rows: dict[str, list[Row]] = {}
    pairs: dict[tuple[str, str], int] = {}
    for row in sheet.rows:
        pair = sheet.text(row, item), sheet.text(row, partner)
        if pair in pairs:
            raise sheet.error(row, f"the pair {pair[0]!r}, {pair[1]!r} is already on line {pairs[pair]}")
        pairs[pair] = row.line
        rows.setdefault(pair[0], []).append(row)
    neighbors = {name: [row.cells[partner] for row in group] for name, group in rows.items()}
    return list(rows), list(rows.values()), lambda: TransversalMatroid(neighbors)


def _read_linear(keys: Section, sheet: Sheet, weights: Section) -> _Read:
    names, rows = _items(keys, sheet)
    taken = [keys.take("item", str, "item"), *([] if weights.has("file") else [weights.peek("mean")])]
    columns = keys.take("features", list, [column for column in sheet.columns if column not in taken])
    if not columns:
        raise keys.error("features", "expected a column or more, got none")
    vectors = _features(keys, "features", sheet, rows, columns)
    p = keys.take("field", int) if keys.has("field") else None
    return names, rows, lambda: LinearMatroid(vectors, "auto" if p is None else p, labels=names)


def _read_uniform(keys: Section, sheet: Sheet, _: Section) -> _Read:
    names, rows = _items(keys, sheet)
    rank = keys.count("rank")
    if rank > len(names):
        raise keys.error("rank", f"expected at most the {len(names)} items of {sheet.path.name}, got {rank}")
    return names, rows, lambda: UniformMatroid(len(names), rank, labels=names)


_KINDS: dict[str, Callable[[Section, Sheet, Section], _Read]] = {
    "graphic": _read_graph,
    "partition": _read_partition,
    "transversal": _read_transversal,
    "linear": _read_linear,
    "uniform": _read_uniform,
}


def _items(keys: Section, sheet: Sheet) -> tuple[list[str], list[list[Row]]]:
    item = keys.take("item", str, "item")
    sheet.need(item)
    return _unique(sheet, [(sheet.text(row, item), row) for row in sheet.rows])


def _unique(sheet: Sheet, named: list[tuple[str, Row]], hint: str = "") -> tuple[list[str], list[list[Row]]]:
    first: dict[str, Row] = {}
    for name, row in named:
        if name in first:
            raise sheet.error(row, f"item {name!r} is already on line {first[name].line}{hint}")
        first[name] = row
    return list(first), [[row] for row in first.values()]


def _features(keys: Section, key: str, sheet: Sheet, rows: list[list[Row]], columns: list[Any]) -> Any:
    """A row of numbers per item, as integers where all of them are: those are treated exactly."""
    for column in columns:
        if not isinstance(column, str):
            raise keys.error(key, f"expected names of columns, got {column!r}")
    sheet.need(*columns)
    matrix = np.array([[sheet.number(row[0], column) for column in columns] for row in rows])
    is_whole = bool((matrix == np.rint(matrix)).all() and np.abs(matrix).max(initial=0.0) < 2**53)
    return matrix.astype(np.int64) if is_whole else matrix


# ---------------------------------------------------------------------------------------------------------
# Weights


def _read_weights(keys: Section, ground: _Ground) -> Environment:
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
    noise = keys.choice("noise", ("bernoulli", "exponential", "gaussian", "beta"))
    low, high = {"bernoulli": (0.0, 1.0), "beta": (0.0, 1.0)}.get(noise, (-np.inf, np.inf))
    means = _read_means(keys, ground, column, low, high)
    scale = keys.take("scale", float, 1.0) if noise == "gaussian" else 1.0
    concentration = keys.take("concentration", float, 10.0) if noise == "beta" else 1.0
    keys.close()
    if not 0 <= scale <= LARGEST:
        raise keys.error("scale", f"expected a standard deviation, 0 or more; got {scale:g}")
    if not 0 < concentration < np.inf:
        raise keys.error("concentration", f"expected a positive number, got {concentration:g}")
    if noise == "bernoulli":
        return BernoulliEnvironment(means)
    if noise == "exponential":
        return ExponentialEnvironment(means)
    if noise == "gaussian":
        return GaussianEnvironment(means, scale)
    if not ((means > 0) & (means < 1)).all():
        name = ground.names[int(((means <= 0) | (means >= 1)).argmax())]
        raise keys.error("noise", f"expected means strictly between 0 and 1 for beta, got 0 or 1 for item {name!r}")
    return BetaEnvironment(means * concentration, (1.0 - means) * concentration)


def _read_means(keys: Section, ground: _Ground, column: str, low: float, high: float) -> FloatArray:
    if keys.has("file"):
        sheet = keys.sheet("file")
        item = keys.take("item", str, "item")
        sheet.need(item, column)
        names, found = _unique(sheet, [(sheet.text(row, item), row) for row in sheet.rows])
        by_name = dict(zip(names, found, strict=True))
        for name, (row,) in by_name.items():
            _known(sheet, row, name, ground)
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


def _read_observations(keys: Section, ground: _Ground) -> Environment:
    sheet = keys.sheet("observations")
    if keys.choice("layout", ("long", "wide"), "long") == "wide":
        for column in sheet.columns:
            if column not in ground.names:
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
        _known(sheet, row, name, ground)
        samples[name].append(sheet.number(row, weight))
    for name, values in samples.items():
        if not values:
            raise DataError(f"{sheet.path}: expected an observation or more of every item, got none of {name!r}")
    return SampleEnvironment(list(samples.values()))


def _known(sheet: Sheet, row: Row, name: str, ground: _Ground) -> None:
    if name not in ground.names:
        hint = did_you_mean(name, ground.names)
        raise sheet.error(row, f"item {name!r} is not in {ground.sheet.path.name}{hint}")


# ---------------------------------------------------------------------------------------------------------
# Policies


def _read_policies(keys: Section, ground: _Ground, environment: Environment) -> dict[str, Policy]:
    policies: dict[str, Policy] = {}
    known: dict[str, Callable[..., Policy]] = {**POLICIES, "FixedSet": FixedSet}
    for name in keys.names():
        if name == OPTIMAL:
            raise keys.error(name, "expected another name, since the optimum itself is shown under this one")
        section = keys.section(name)
        kind = section.take("policy", str, name)
        if kind not in known:
            hint = did_you_mean(kind, known)
            key, whose = ("policy", section) if section.has("policy") else (name, keys)
            raise whose.error(key, f"expected a policy, one of {', '.join(known)}; got {kind!r}{hint}")
        values: dict[str, Any] = {}
        for parameter in inspect.signature(known[kind]).parameters:
            if section.has(parameter):
                values[parameter] = section.take(parameter, object)
            else:
                section.take(parameter, object, None)
        section.close()
        if isinstance(values.get("features"), list):
            values["features"] = _features(section, "features", ground.sheet, ground.rows, values["features"])
        try:
            policies[name] = known[kind](**values)
            policies[name].check(len(ground.names))
            check_support(policies[name], environment.support)
        except TypeError as error:
            raise keys.error(name, f"{kind}: {error}") from error
        except MatroidBanditsError as error:
            raise keys.error(name, str(error)) from error
    if not policies:
        raise DataError(f"{keys.file}: policies: expected a policy or more, got none")
    return policies
