"""A problem described without code: a TOML or JSON file, and a CSV or two."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import TypeAdapter

from matroid_bandits._util.files import check_not_device
from matroid_bandits._util.text import shortened, shown
from matroid_bandits.exceptions import DataError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._problem import RunsSpec, SimulationSpec
from matroid_bandits.specs._spec import TOO_DEEP, parse

S = TypeVar("S", bound=RunsSpec)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the plans of problem files and of sweep files share: names, sizes, and where they come from."""

    name: str
    title: str
    about: str
    n_episodes: int
    n_runs: int
    seed: int
    start: Literal["observe", "explore"]
    path: Path

    def resized(self, *, n_episodes: int | None = None, n_runs: int | None = None, seed: int | None = None) -> Self:
        """Return the same plan with other numbers of episodes or runs, or another seed."""
        return replace(
            self,
            n_episodes=self.n_episodes if n_episodes is None else n_episodes,
            n_runs=self.n_runs if n_runs is None else n_runs,
            seed=self.seed if seed is None else seed,
        )


@dataclass(frozen=True, kw_only=True)
class SimulationPlan(Plan):
    """Content of a problem file, ready to run: a problem, policies, the number of episodes and of runs.

    Attributes
    ----------
    name, title : str
        Short name, fit for files and links, and one for headings.
    about : str
        What the problem is, in the file's own words; may be empty.
    problem : Problem
        The matroid and the weights.
    policies : mapping of name to Policy
        Who plays.
    n_episodes, n_runs, seed : int
        How long, how often, and which random numbers.
    start : {"observe", "explore"}
        Whether every item is seen once before episode 1.
    path : Path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ads.json"
    >>> _ = file.write_text('''{
    ...   "episodes": 100, "policies": {"OMM": {}},
    ...   "matroid": {"kind": "uniform", "rows": ["boots", "hats"], "rank": 1},
    ...   "weights": {"mean": [0.2, 0.5], "family": "bernoulli"}
    ... }''')
    >>> plan = read_simulation(file).resized(n_runs=5)
    >>> plan.n_episodes, plan.n_runs, plan.description
    (100, 5, 'A uniform matroid of 2 items and rank 1, from ads.json.')
    """

    problem: Problem
    policies: Mapping[str, Policy]

    @property
    def description(self) -> str:
        """Kind of the problem and its origin, as a sentence."""
        problem, constraint = self.problem, self.problem.constraint
        what = f"A {constraint.kind} matroid of {problem.n_items} items and rank {problem.rank}"
        if not isinstance(constraint, Matroid):
            what = f"{type(constraint).__name__} of {problem.n_items} items, at most {problem.rank} in a set"
        return f"{what}, from {self.path.name}."


def read_simulation(path: str | os.PathLike[str]) -> SimulationPlan:
    """Read a problem file; the examples folder has a commented one for each kind of matroid.

    Parameters
    ----------
    path : path
        The file: JSON where its name ends in ``.json``, else TOML. Paths in it are relative to it; files it names
        are read, and code it names is imported.

    Returns
    -------
    SimulationPlan
        What to give to :func:`matroid_bandits.simulate`.

    Raises
    ------
    DataError
        With the key, or the CSV file and line, that is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ads.toml"
    >>> _ = file.write_text('''
    ... episodes = 100
    ... policies = { OMM = {} }
    ... matroid = { kind = "uniform", rows = ["boots", "hats", "bags"], rank = 2 }
    ... weights = { mean = { boots = 0.2, hats = 0.5, bags = 0.4 }, family = "bernoulli" }
    ... ''')
    >>> read_simulation(file).problem.optimal_value
    0.9
    """
    spec, place, facts = read_plan(path, SimulationSpec)
    problem, ground = spec.make(place)
    return SimulationPlan(problem=problem, policies=spec.make_policies(problem, ground, place), **facts)


def read_plan(path: str | os.PathLike[str], model: type[S]) -> tuple[S, Place, dict[str, Any]]:
    """A problem or sweep file by its model, its place, and what its plan says besides problems and policies."""
    file = Path(path)
    _check_name(file)
    place = Place(file)
    spec: S = parse(model, read_file(file), place, allow_files=True, allow_code=True)
    title = file.stem if spec.title is None else spec.title
    sizes = {"n_episodes": spec.episodes, "n_runs": spec.runs, "seed": spec.seed, "start": spec.start}
    return spec, place, {"name": _name_of(file), "title": title, "about": spec.about, "path": file, **sizes}


def read_file(file: Path) -> Any:
    """Read a TOML or JSON file as plain data.

    Raises
    ------
    DataError
        The file cannot be read, or is not what its name says.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "size.json"
    >>> _ = file.write_text('{"episodes": 100}')
    >>> read_file(file)
    {'episodes': 100}
    """
    is_json = file.suffix.lower() == ".json"
    format = "JSON" if is_json else "TOML"
    try:
        check_not_device(file)
        text = file.read_bytes().decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_once) if is_json else tomllib.loads(text)
    except OSError as error:
        raise DataError(f"{shortened(str(file))}: cannot be read ({error.strerror})") from error
    except RecursionError:
        raise DataError(f"{file}: {TOO_DEEP}") from None
    except ValueError as error:  # of the text, of its encoding, or of a number with thousands of digits
        raise DataError(f"{file}: not a {format} file: {error}") from error


def json_schema(model: Any = SimulationSpec) -> dict[str, Any]:
    """Return the JSON Schema of a spec, by default of a whole problem file.

    What reads a file is marked with ``x-reads-file``, what imports code with ``x-imports-code``.

    Examples
    --------
    >>> sorted(json_schema()["required"])
    ['episodes', 'policies', 'weights']
    """
    schema = TypeAdapter(model).json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part["description"] = part.get("description", "").split("\n\n")[0]  # the docstring without its examples
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose keys must differ as those of a TOML table do."""
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {shown(key)} is there twice")
        table[key] = value
    return table


def _name_of(file: Path) -> str:
    """A file's name without its suffix, fit for names of files, ids and links."""
    return re.sub(r"[^\w.-]+", "-", file.stem).strip("-.") or "problem"


def _check_name(file: Path) -> None:
    """Raise when the name of a file is no text: it is shown in reports, which are UTF-8."""
    try:
        str(file).encode()
    except UnicodeEncodeError:
        raise DataError(f"expected a file whose name is UTF-8, got {shown(str(file))}") from None
