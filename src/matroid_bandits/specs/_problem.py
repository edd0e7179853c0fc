"""A problem of one's own without code: a TOML file and a CSV or two."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from matroid_bandits.exceptions import DataError, MatroidBanditsError
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.specs._constraint import read_constraint
from matroid_bandits.specs._environment import read_environment
from matroid_bandits.specs._limits import out_of_range
from matroid_bandits.specs._policy import read_policies
from matroid_bandits.specs._toml import Section, read_toml


@dataclass(frozen=True)
class SimulationSpec:
    """What a problem file says: a problem, who plays on it, how long and how often.

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
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "ads.csv").write_text("item,clicks\\nboots,0.2\\nhats,0.5\\n")
    >>> _ = (folder / "ads.toml").write_text('''
    ... episodes = 100
    ... policies = { OMM = {} }
    ... matroid = { kind = "uniform", file = "ads.csv", rank = 1 }
    ... weights = { mean = "clicks", family = "bernoulli" }
    ... ''')
    >>> spec = read_simulation(folder / "ads.toml").resized(n_runs=5)
    >>> spec.n_episodes, spec.n_runs, spec.description
    (100, 5, 'A uniform matroid of 2 items and rank 1, from ads.toml.')
    """

    name: str
    title: str
    about: str
    problem: Problem
    policies: Mapping[str, Policy]
    n_episodes: int
    n_runs: int
    seed: int
    start: Literal["observe", "explore"]
    path: Path

    @property
    def description(self) -> str:
        """What kind of problem it is and where it comes from, in a sentence."""
        problem, kind = self.problem, self.problem.constraint.kind
        return f"A {kind} matroid of {problem.n_items} items and rank {problem.rank}, from {self.path.name}."

    def resized(
        self, *, n_episodes: int | None = None, n_runs: int | None = None, seed: int | None = None
    ) -> SimulationSpec:
        """The same simulation, longer or shorter; what is not given stays."""
        return replace(
            self,
            n_episodes=self.n_episodes if n_episodes is None else n_episodes,
            n_runs=self.n_runs if n_runs is None else n_runs,
            seed=self.seed if seed is None else seed,
        )


def read_simulation(path: str | os.PathLike[str]) -> SimulationSpec:
    """Read a problem file; the examples folder has a commented one for each kind of matroid.

    Parameters
    ----------
    path : path
        The TOML file. Paths in it are relative to it.

    Returns
    -------
    SimulationSpec
        What to give to :func:`matroid_bandits.simulate`.

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
    ... weights = { mean = "clicks", family = "bernoulli" }
    ... ''')
    >>> read_simulation(folder / "ads.toml").problem.optimal_value
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

    ground = read_constraint(matroid_keys, weight_keys)
    environment = read_environment(weight_keys, ground)
    try:
        problem = Problem(ground.matroid, environment, direction == "minimize")
    except MatroidBanditsError as error:  # pragma: no cover - both were made for the same items
        raise DataError(f"{file}: {error}") from error
    return SimulationSpec(
        name=name,
        title=title,
        about=about,
        problem=problem,
        policies=read_policies(policy_keys, ground, environment),
        n_episodes=n_episodes,
        n_runs=n_runs,
        seed=seed,
        start="observe" if start == "observe" else "explore",
        path=file,
    )


def _number(keys: Section, key: str, *default: int) -> int:
    """A number of episodes, of runs, or a seed, within its limits."""
    value = keys.take(key, int, *default)
    if message := out_of_range(key, value):
        raise keys.error(key, message)
    return value
