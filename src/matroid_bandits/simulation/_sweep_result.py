"""What a sweep found: a result for each problem, and what can be said across policies, parameters and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from matroid_bandits._typing import ArrayLike, IntArray
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.student import t_quantile
from matroid_bandits._util.text import counted, did_you_mean, printable, with_error
from matroid_bandits.exceptions import MissingDependencyError, SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import _sweep_plot
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.simulation._sweep_families import Family

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: A bound on the regret of a problem after each number of episodes, such as `matroid_bandits.bounds.gap_dependent`.
Bound = Callable[[Problem, IntArray], ArrayLike]


class Difference(NamedTuple):
    """How much more regret one policy has than another on a problem, run by run in the same world.

    Attributes
    ----------
    problem, policy, baseline : str
        Whose regret, less whose.
    mean : float
        The mean over runs of the difference after the last episode; negative where `policy` is better.
    low, high : float
        The ends of its confidence interval; NaN for a single run.

    Examples
    --------
    >>> Difference("ads", "KLOSM", "OMM", mean=-3.0, low=-4.0, high=-2.0).is_clear
    True
    """

    problem: str
    policy: str
    baseline: str
    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves no doubt about which of the two is better: 0 is outside."""
        return self.low > 0.0 or self.high < 0.0


class Best(NamedTuple):
    """The policy of a family with the least regret on a problem.

    Attributes
    ----------
    problem, policy : str
        Which policy is best where.
    value : object
        The value of its parameter; None for a family without one.
    regret, regret_se : float
        Its regret after the last episode, and the standard error.
    rivals : tuple of str
        The policies of the family that may be as good: those whose paired difference is not clear.

    Examples
    --------
    >>> Best("ads", "OMM, scale=0.5", 0.5, regret=12.0, regret_se=0.4, rivals=()).value
    0.5
    """

    problem: str
    policy: str
    value: Any
    regret: float
    regret_se: float
    rivals: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """What `sweep` found: every policy on every problem.

    ``sweep["ads"]`` is the `SimulationResult` of a problem, the one that `simulate` would have given.

    Attributes
    ----------
    results : dict of SimulationResult by name
        What was found on each problem.
    problems : dict of Problem by name
        The problems.
    players : dict of dict of Policy, by the names of problems and policies
        Who played on each problem.
    families : dict of Family by name
        The policies that differ in a parameter.
    wall_time : float
        Seconds it took.
    n_played, n_stored : int
        How many runs, over all problems and policies, were played, and how many were found in the store.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2)}
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.2, 1.0)], "KLOSM": mb.KLOSM()}
    >>> sweep = mb.sweep(problems, policies, n_episodes=500, n_runs=10, seed=0)
    >>> sweep
    Sweep(2 problems × 3 policies; 10 runs of 500 episodes, seed 0)
    >>> sweep["gap 0.1"]
    SimulationResult(OMM, scale=0.2, OMM, scale=1, KLOSM; 10 runs of 500 episodes, seed 0)
    >>> [(best.problem, best.value) for best in sweep.best("OMM")]
    [('gap 0.1', 0.2), ('gap 0.2', 0.2)]
    """

    results: dict[str, SimulationResult]
    problems: dict[str, Problem]
    players: dict[str, dict[str, Policy]]
    families: dict[str, Family]
    wall_time: float
    n_played: int
    n_stored: int

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies' names, those of families included."""
        return self._any.policies

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The policies' names by family; a policy of no family is one of its own."""
        member_of = {policy: family.name for family in self.families.values() for policy in family.policies}
        found: dict[str, tuple[str, ...]] = {}
        for policy in self.policies:
            name = member_of.get(policy, policy)
            found[name] = (*found.get(name, ()), policy)
        return found

    @property
    def _any(self) -> SimulationResult:
        """One of the results, for what they have in common."""
        return next(iter(self.results.values()))

    def __getitem__(self, problem: str) -> SimulationResult:
        try:
            return self.results[problem]
        except (KeyError, TypeError):
            names = ", ".join(self.results)
            raise SimulationError(f"expected one of {names}; got {problem!r}") from None

    def __iter__(self) -> Iterator[str]:
        """The problems' names, as a dict has its keys."""
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __eq__(self, other: object) -> bool:
        """Equal results; how long it took and what came from a store may differ."""
        if not isinstance(other, Sweep):
            return NotImplemented
        mine, theirs = self.results, other.results
        return list(mine) == list(theirs) and mine == theirs and self.families == other.families

    __hash__ = None  # type: ignore[assignment]

    def differences(self, baseline: str, *, level: float = 0.95) -> list[Difference]:
        """How much more regret every other policy has than `baseline` after the last episode, on every problem.

        All policies meet the same weights in a run, so the difference is taken run by run, which leaves little of the
        noise that both share; intervals are Student's t, each on its own.

        Parameters
        ----------
        baseline : str
            The policy to compare with.
        level : float, default 0.95
            The confidence of each interval.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> policies = [mb.OMM(), mb.KLOSM()]
        >>> sweep = mb.sweep({"blocks": problem}, policies, n_episodes=500, n_runs=10, seed=0)
        >>> (difference,) = sweep.differences("OMM")
        >>> difference.policy, difference.high < 0
        ('KLOSM', True)
        """
        level = as_number("level", level, 1e-6, 1.0 - 1e-6, error=SimulationError)
        found = []
        for name, result in self.results.items():
            base = result.final_regret[result.index(baseline)]
            for p, policy in enumerate(result.policies):
                if policy != baseline:
                    found.append(_difference(name, policy, baseline, result.final_regret[p] - base, level))
        return found

    def best(self, family: str) -> list[Best]:
        """The policy of a family with the least regret after the last episode, for each problem.

        Parameters
        ----------
        family : str
            The name of a family.

        Raises
        ------
        SimulationError
            There is no such family, or regret is not known.
        """
        members = self._family(family)
        values = dict(zip(members.policies, members.values, strict=bool(members.values)))
        found = []
        for name, result in self.results.items():
            rows = [result.index(policy) for policy in members.policies]
            regret = result.regret[rows, -1]
            if np.isnan(regret).any():
                raise SimulationError(f"expected regret of every policy, got NaN on {name!r}")
            p = rows[int(regret.argmin())]
            rivals = [
                result.policies[q]
                for q in rows
                if q != p
                and not _difference("", "", "", result.final_regret[q] - result.final_regret[p], 0.95).is_clear
            ]
            policy = result.policies[p]
            error = float(result.regret_se[p, -1])
            found.append(Best(name, policy, values.get(policy), float(result.regret[p, -1]), error, tuple(rivals)))
        return found

    def _family(self, name: str) -> Family:
        if not isinstance(name, str) or name not in self.families:
            known = f"one of {', '.join(self.families)}" if self.families else "none, since there are no families"
            raise SimulationError(f"expected {known}; got {name!r}{did_you_mean(name, self.families)}")
        return self.families[name]

    def to_frame(self) -> pandas.DataFrame:
        """A long table: one row per problem, policy and checkpoint, with the value of the family's parameter."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("to_frame needs pandas: pip install 'matroid-bandits[frame]'") from None
        about: dict[str, tuple[str, str | None, Any]]
        about = {policy: (name, None, None) for name, policies in self.groups.items() for policy in policies}
        for family in self.families.values():
            for policy, value in zip(family.policies, family.values, strict=bool(family.values)):
                about[policy] = (family.name, family.parameter, value)
        frames = []
        for name, result in self.results.items():
            frame = result.to_frame()
            frame.insert(0, "problem", name)
            for place, column in enumerate(("family", "parameter", "value")):
                frame.insert(2 + place, column, [about[policy][place] for policy in frame["policy"]])
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> str:
        """A table of regret after the last episode: a row per policy, a column per problem."""
        rows = [[text.replace("\u00a0", " ") for text in row] for row in self._table()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([f"{self._size()}, {self.wall_time:.1f} s", "regret", "", *lines])

    def _table(self) -> list[list[str]]:
        """The heading and a row for each policy, as text."""
        rows = [["policy", *map(printable, self.results)]]
        for p, policy in enumerate(self.policies):
            ends = [(float(each.regret[p, -1]), float(each.regret_se[p, -1])) for each in self.results.values()]
            rows.append([printable(policy), *(with_error(mean, error, ".2f") for mean, error in ends)])
        return rows

    def _size(self) -> str:
        any = self._any
        return f"{counted(any.n_runs, 'run')} of {counted(any.n_episodes, 'episode')}, seed {any.seed}"

    def __repr__(self) -> str:
        n_policies = len(self.policies)
        policies = f"{n_policies:,} {'policy' if n_policies == 1 else 'policies'}"
        return f"Sweep({counted(len(self), 'problem')} × {policies}; {self._size()})"

    def _repr_html_(self) -> str:
        """The table of `summary`, for notebooks."""
        head, *rows = ([escape(text) for text in row] for row in self._table())
        heading = "".join(f"<th>{text}</th>" for text in head)
        cells = "".join(
            f"<tr><th>{row[0]}</th>{''.join(f'<td>{text}</td>' for text in row[1:])}</tr>" for row in rows
        )
        return (
            f'<table><caption style="text-align: left">regret; {self._size()}</caption>'
            f"<thead><tr>{heading}</tr></thead><tbody>{cells}</tbody></table>"
        )

    def plot(
        self,
        *,
        problems: Sequence[str] | None = None,
        policies: Sequence[str] | None = None,
        unit: str = "",
        bounds: Mapping[str, Bound] | None = None,
        log_x: bool = True,
    ) -> Figure:
        """Regret against episodes with 95% confidence bands, a panel for each problem.

        The policies of a family share a colour, lighter for those that come first.

        Parameters
        ----------
        problems, policies : sequence of str, optional
            Which panels and whose curves to draw, and in which order; by default all. A family's name stands for its
            policies.
        unit : str, optional
            What weights are measured in, such as "ms", for the axes.
        bounds : mapping of label to callable, optional
            Regret bounds to draw beside the curves, each a function of (problem, episodes) such as
            `matroid_bandits.bounds.gap_dependent`.
        log_x : bool, default True
            Whether episodes are on a log axis.

        Returns
        -------
        matplotlib Figure

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2)}
        >>> sweep = mb.sweep(problems, mb.OMM(), n_episodes=100, n_runs=5, seed=0)
        >>> figure = sweep.plot(bounds={"Theorem 2": mb.bounds.gap_dependent})
        >>> [axes.get_title() for axes in figure.axes]
        ['gap 0.1', 'gap 0.2']
        """
        figure: Figure = _sweep_plot.draw_regret(self, problems, policies, unit, bounds, log_x)
        return figure

    def plot_parameter(
        self, family: str, *, problems: Sequence[str] | None = None, unit: str = "", log_x: bool | None = None
    ) -> Figure:
        """Regret after the last episode against a family's parameter, with 95% confidence bands, by problem.

        Parameters
        ----------
        family : str
            A family whose parameter is a number.
        problems : sequence of str, optional
            Which panels to draw, and in which order; by default all.
        unit : str, optional
            What weights are measured in, such as "ms", for the axes.
        log_x : bool, optional
            Whether the parameter is on a log axis; by default where its values are positive and the largest is at
            least five times the least.

        Returns
        -------
        matplotlib Figure

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> policies = {"OMM": [mb.OMM(s) for s in (0.1, 0.3, 1.0)]}
        >>> sweep = mb.sweep({"blocks": problem}, policies, n_episodes=100, n_runs=5, seed=0)
        >>> sweep.plot_parameter("OMM").axes[0].get_xlabel()
        'scale'
        """
        figure: Figure = _sweep_plot.draw_parameter(self, self._family(family), problems, unit, log_x)
        return figure


def _difference(problem: str, policy: str, baseline: str, runs: Any, level: float) -> Difference:
    """The mean of a difference over runs, and its Student's t interval."""
    mean, n = float(runs.mean()), runs.size
    if n == 1:
        return Difference(problem, policy, baseline, mean, float("nan"), float("nan"))
    half = t_quantile(0.5 + level / 2.0, n - 1) * float(runs.std(ddof=1)) / float(np.sqrt(n))
    return Difference(problem, policy, baseline, mean, mean - half, mean + half)
