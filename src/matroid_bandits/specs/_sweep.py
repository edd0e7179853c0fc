"""A sweep file: problems times policies, families of which differ in their parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self, cast

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from matroid_bandits._util.text import counted, did_you_mean, listed, shown
from matroid_bandits.policies import POLICIES, Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import Worlds
from matroid_bandits.specs._code import parameters
from matroid_bandits.specs._file import Plan, read_file, read_plan
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import PolicySpec, add_parameters
from matroid_bandits.specs._problem import ProblemSpec, RunsSpec, check_policies
from matroid_bandits.specs._spec import FileName, Spec, mistake, parse

#: The policies that one family may have; each of them is played on every problem.
_MOST_COMBINATIONS = 10_000


class ProblemFileSpec(Spec):
    """The problem of another file: its matroid, weights and direction, without its policies and sizes."""

    file: FileName = Field(description="A problem file, TOML or JSON; its path is relative to this one's.")

    def make(self, place: Place | None = None) -> tuple[Problem, Ground]:
        """Return the problem, and its items with their table rows."""
        place = Place() if place is None else place
        file = (place.file.parent if place.file is not None else Path()) / self.file
        data = read_file(file)
        if isinstance(data, dict):
            data = {key: value for key, value in data.items() if key in ProblemSpec.model_fields}
        spec: ProblemSpec = parse(ProblemSpec, data, Place(file), allow_files=True)
        return spec.make(Place(file))


class FamilySpec(PolicySpec):
    """A policy, by its name and parameters, or a family of them: one for every value of what ``vary`` names."""

    model_config = ConfigDict(json_schema_extra=lambda schema: add_parameters(schema, is_family=True))

    vary: dict[str, list[Any]] | None = Field(
        None, description="Parameters, each with a list of values: a policy for every combination."
    )

    @model_validator(mode="after")
    def _check_vary(self) -> Self:
        if self.vary is None:
            return self
        if not self.vary:
            raise mistake("expected a parameter or more, got none", "vary")
        known = parameters(POLICIES[self.policy]) if self.policy in POLICIES else self.vary
        for key, values in self.vary.items():
            if key not in known:
                hint = did_you_mean(key, known) or f"; known are {', '.join(sorted(known)) or 'none'}"
                raise mistake(f"unknown parameter{hint}", "vary", key)
            if not values:
                raise mistake("expected a value or more, got none", "vary", key)
            if any(isinstance(value, dict) for value in values):
                raise mistake(
                    "expected numbers or words that vary, got tables; name such policies one by one", "vary", key
                )
            if key in (self.model_extra or {}):
                raise mistake("expected one value, or several under vary; got both", key)
        n = math.prod(map(len, self.vary.values()))
        if n > _MOST_COMBINATIONS:
            raise mistake(f"expected at most {_MOST_COMBINATIONS:,} combinations of values, got {n:,}", "vary")
        return self

    def make_all(self, ground: Ground, place: Place | None = None) -> Policy | list[Policy]:
        """Return the policy, or the list of a family's, checked to be able to play on these items."""
        place = Place() if place is None else place
        if self.vary is None:
            return self.make(ground, place)
        return [
            self._make({**(self.model_extra or {}), **dict(zip(self.vary, values, strict=True))}, ground, place)
            for values in product(*self.vary.values())
        ]


def _check_problems(value: Any) -> Any:
    if isinstance(value, dict) and not value:
        raise mistake("expected a problem or more, got none")
    return value


def _which_problem(value: Any) -> str:
    return "(file)" if isinstance(value, dict) and "file" in value else "(problem)"


class DrawnSpec(ProblemSpec):
    """A problem with random numbers, ``mean = { draw = "uniform" }``; with `worlds`, a distribution of problems."""

    worlds: Annotated[int, Field(ge=1, le=2**20)] | None = Field(
        None, description="How many worlds to draw; by default the problem is one that is not drawn."
    )


#: A problem in the file itself, or the one of another file.
AnyProblem = Annotated[
    Annotated[DrawnSpec, Tag("(problem)")] | Annotated[ProblemFileSpec, Tag("(file)")],
    Discriminator(_which_problem),
]


class SweepSpec(RunsSpec):
    """Content of a sweep file: problems, policies, the number of episodes and of runs.

    Examples
    --------
    >>> spec = SweepSpec(
    ...     episodes=100,
    ...     problems={
    ...         name: {
    ...             "matroid": {"kind": "uniform", "rows": ["a", "b", "c"], "rank": 1},
    ...             "weights": {"family": "bernoulli", "mean": means},
    ...         }
    ...         for name, means in {"easy": [0.9, 0.1, 0.1], "hard": [0.5, 0.4, 0.4]}.items()
    ...     },
    ...     policies={"OMM": {"vary": {"scale": [0.5, 1.0]}}, "KLOSM": {}},
    ... )
    >>> spec.runs, list(spec.problems), spec.policies["OMM"].vary
    (20, ['easy', 'hard'], {'scale': [0.5, 1.0]})
    """

    problems: Annotated[dict[str, AnyProblem], BeforeValidator(_check_problems)] = Field(
        description="The problems by name: each a matroid with its weights, or the file of one."
    )
    policies: Annotated[dict[str, FamilySpec], BeforeValidator(check_policies)] = Field(  # type: ignore[assignment]
        description="Who plays: a name, and which policy with which parameters, or several with those that vary."
    )
    baseline: str | None = Field(
        None, description="The policy that others are compared with, run by run; by default the first."
    )

    @model_validator(mode="after")
    def _check_baseline(self) -> Self:
        alone = [name for name, policy in self.policies.items() if policy.vary is None]
        if self.baseline is not None and self.baseline not in alone:
            hint = did_you_mean(self.baseline, alone) or f"; those are {listed(alone)}"
            raise mistake(f"expected a policy without vary, got {shown(self.baseline)}{hint}", "baseline")
        return self


@dataclass(frozen=True, kw_only=True)
class SweepPlan(Plan):
    """Content of a sweep file, ready to run: problems, policies, the number of episodes and of runs.

    Attributes
    ----------
    name, title : str
        Short name, fit for files and links, and one for headings.
    about : str
        What it is about, in the file's own words; may be empty.
    problems : mapping of name to Problem or Worlds
        The problem.
    policies : callable
        From one of the problems to its policies, by name.
    n_episodes, n_runs, seed : int
        How long, how often, and which random numbers.
    start : {"observe", "explore"}
        Whether every item is seen once before episode 1.
    baseline : str, or None
        The policy that others are compared with.
    path : Path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ads.json"
    >>> _ = file.write_text('''{
    ...   "episodes": 100, "policies": {"OMM": {"vary": {"scale": [0.5, 1.0]}}},
    ...   "problems": {"ads": {"matroid": {"kind": "uniform", "rows": ["boots", "hats"], "rank": 1},
    ...                        "weights": {"mean": [0.2, 0.5], "family": "bernoulli"}}}
    ... }''')
    >>> plan = read_sweep(file).resized(n_runs=5)
    >>> plan.n_runs, plan.policies(plan.problems["ads"])
    (5, {'OMM': [OMM(scale=0.5), OMM(scale=1.0)]})
    """

    problems: Mapping[str, Problem | Worlds]
    policies: Callable[[Problem], Mapping[str, Any]]
    baseline: str | None

    @property
    def description(self) -> str:
        """Number of problems and their origin, as a sentence."""
        return f"{counted(len(self.problems), 'problem')}, from {self.path.name}."


def read_sweep(path: str | os.PathLike[str]) -> SweepPlan:
    """Read a sweep file; the examples folder has a commented one.

    Parameters
    ----------
    path : path
        The file: JSON where its name ends in ``.json``, else TOML. Paths in it are relative to it; files it names
        are read, and code it names is imported.

    Returns
    -------
    SweepPlan
        What to give to :func:`matroid_bandits.sweep`.

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
    ... policies = { OMM = {}, KLOSM = {} }
    ... [problems.ads]
    ... matroid = { kind = "uniform", rows = ["boots", "hats", "bags"], rank = 2 }
    ... weights = { mean = { boots = 0.2, hats = 0.5, bags = 0.4 }, family = "bernoulli" }
    ... ''')
    >>> list(read_sweep(file).problems)
    ['ads']
    """
    spec, place, facts = read_plan(path, SweepSpec)
    problems: dict[str, Problem | Worlds] = {}
    policies: dict[Problem, dict[str, Any]] = {}
    for name, one in spec.problems.items():
        at = place.at("problems").at(name)

        def draw(rng: np.random.Generator | None, one: Any = one, at: Place = at) -> Problem:
            problem, ground = one.make(replace(at, rng=rng))
            policies[problem] = spec.make_policies(problem, ground, place)
            return cast(Problem, problem)

        n_worlds = getattr(one, "worlds", None)
        problems[name] = draw(None) if n_worlds is None else Worlds(draw, n_worlds)
        if n_worlds is not None:
            draw(np.random.default_rng(0))  # so that what is wrong with the file is known before a run
    return SweepPlan(problems=problems, policies=policies.__getitem__, baseline=spec.baseline, **facts)
