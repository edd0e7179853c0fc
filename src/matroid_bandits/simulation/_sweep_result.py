"""What a sweep found: a result for each problem, and what can be said across policies, parameters and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.extras import pandas_for
from matroid_bandits._util.latex import to_latex
from matroid_bandits._util.plots import Width
from matroid_bandits._util.text import counted, did_you_mean, in_a_line, listed, printable, shown
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import _sweep_plot, _tables
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.simulation._statistics import (
    Difference,
    Interval,
    Method,
    Parts,
    check_level,
    difference,
    parts,
    with_holm,
)
from matroid_bandits.simulation._sweep_families import Family
from matroid_bandits.simulation._worlds import World

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: A bound on the regret of a problem after each number of episodes, such as `matroid_bandits.bounds.gap_dependent`.
Bound = Callable[[Problem, IntArray], ArrayLike]


#: From this number of runs on, one half chooses the best of a family and the other half says how good it is.
_FEW = 4


class Best(NamedTuple):
    """The policy of a family with the least regret on a problem.

    Attributes
    ----------
    problem, policy : str
        Which policy is best where.
    value : object
        The value of its parameter; None for a family without one.
    regret, regret_se : float
        Its regret after the last episode, and the standard error, in runs that had no part in choosing it.
    rivals : tuple of str
        The policies of the family that may be as good: those whose paired difference, in the same runs, is not clear.
    n_runs : int
        The runs that `regret` is the mean of.
    edge : str
        "least" or "largest" where `value` is at that edge of the values that were tried, three or more, so that
        values beyond it may be better; empty elsewhere. 0 is no edge, since few parameters are negative.

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
    n_runs: int = 0
    edge: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Result of `sweep`: a `SimulationResult` for every problem, families of policies, and comparisons.

    ``sweep["ads"]`` is the `SimulationResult` of a problem, the one that `simulate` would have given.

    Attributes
    ----------
    results : dict of SimulationResult by name
        The result of each problem; for `Worlds`, the result in which each world takes the place of a run.
    problems : dict of Problem by name
        The problems; for `Worlds` the first world.
    players : dict of dict of Policy, by the names of problems and policies
        The policies of each problem.
    families : dict of Family by name
        The policies that differ in a parameter.
    wall_time : float
        Wall time in seconds.
    n_played, n_stored : int
        How many runs, over all problems and policies, were played, and how many were found in the store.
    worlds : dict of tuple of World by name
        The worlds that were drawn, of each `Worlds` among the problems.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2)}
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.2, 1.0)], "KLOSM": mb.KLOSM()}
    >>> sweep = mb.sweep(problems, policies, n_episodes=500, n_runs=10, seed=0)
    >>> sweep
    Sweep(2 problems × 3 policies; 10 runs of 500 episodes, seed 0, start "observe")
    >>> sweep["gap 0.1"]
    SimulationResult('OMM, scale=0.2', 'OMM, scale=1', 'KLOSM'; 10 runs of 500 episodes, seed 0, start "observe")
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
    worlds: dict[str, tuple[World, ...]] = field(default_factory=dict)

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of all policies, including members of families."""
        return self._any.policies

    @property
    def seconds(self) -> FloatArray:
        """Seconds that the simulations of each policy took on all problems, shape (P,); see `SimulationResult`."""
        unknown = np.full(len(self.policies), np.nan)
        total: FloatArray = np.sum(
            [unknown if r.seconds is None else r.seconds for r in self.results.values()], axis=0
        )
        return total

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of the policies by family; a policy without a family forms its own group."""
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
            raise SimulationError(
                f"expected a problem, one of {listed(self.results)}; got {shown(problem)}"
                f"{did_you_mean(problem, self.results)}"
            ) from None

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

    def differences(self, baseline: str, *, level: float = 0.95, episode: int | None = None) -> list[Difference]:
        """Return paired differences in regret between every other policy and `baseline` on every problem, with p
        values.

        All policies get the same weights in a run, so differences are paired by run (for drawn worlds: by world),
        which removes common noise. Intervals and `p_value` are Student's t, for single comparisons; `p_holm` is
        adjusted for multiple comparisons.

        Parameters
        ----------
        baseline : str
            The policy to compare with.
        level : float, default 0.95
            The confidence of each interval.
        episode : int, optional
            After which episode, one of the checkpoints; by default after the last. Others need the curves of every
            run: ``sweep(..., keep_runs=True)``.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> policies = [mb.OMM(), mb.KLOSM()]
        >>> sweep = mb.sweep({"blocks": problem}, policies, n_episodes=500, n_runs=10, seed=0)
        >>> (difference,) = sweep.differences("OMM")
        >>> difference.policy, difference.high < 0, difference.p_holm < 0.01
        ('KLOSM', True, True)
        """
        level = check_level(level)
        if isinstance(baseline, str) and baseline in self.families and baseline not in self.policies:
            own = listed(self.families[baseline].policies)
            raise SimulationError(f"expected a policy, got {baseline!r}, which is the family of {own}")
        found = (result.raw_differences(name, baseline, level, episode) for name, result in self.results.items())
        return with_holm([each for own in found for each in own])

    def intervals(self, method: Method = "t", *, level: float = 0.95, measure: str = "regret") -> list[Interval]:
        """Return confidence intervals of every policy on every problem; see `SimulationResult.intervals`."""
        return [
            each._replace(problem=name)
            for name, result in self.results.items()
            for each in result.intervals(method, level=level, measure=measure)
        ]

    def quantiles(self, probabilities: ArrayLike = (0.25, 0.5, 0.75), *, measure: str = "regret") -> dict[str, Any]:
        """Return quantiles over runs (for `Worlds`: over random problems) by problem, each an array (P, n)."""
        return {name: result.quantiles(probabilities, measure=measure) for name, result in self.results.items()}

    def tail_warnings(self, measure: str = "regret") -> list[str]:
        """Return a warning for each policy and problem of which a few runs dominate the mean."""
        return [
            f"{printable(name)}: {warning}"
            for name, result in self.results.items()
            for warning in result.tail_warnings(measure)
        ]

    def variance_parts(self) -> list[Parts]:
        """Return the variance of regret between and within random problems, for each `Worlds` and policy.

        More runs make the second part small, only more worlds the first.
        """
        return [
            parts(name, policy, np.stack([world.result.final_regret[p] for world in worlds]))
            for name, worlds in self.worlds.items()
            for p, policy in enumerate(self.policies)
        ]

    def best(self, family: str) -> list[Best]:
        """Return the policy of a family with the least regret after the last episode, for each problem.

        The policy is chosen on the first half of the runs (for drawn worlds: of the worlds) and reported on the
        second half, since the smallest of several means is biased downwards on the runs that selected it. With fewer
        than four runs all runs are used for both.

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
            if np.isnan(result.regret[rows, -1]).any():
                raise SimulationError(f"expected regret of every policy, got NaN on {name!r}")
            n = result.n_runs
            choosing, telling = (slice(0, n // 2), slice(n // 2, n)) if n >= _FEW else (slice(0, n), slice(0, n))
            p = rows[int(result.final_regret[rows, choosing].mean(axis=1).argmin())]
            own = result.final_regret[:, telling]
            rivals = tuple(
                result.policies[q]
                for q in rows
                if q != p and not difference("", "", "", own[q] - own[p], 0.95).is_clear
            )
            n_told = own.shape[1]
            error = float(own[p].std(ddof=1)) / float(np.sqrt(n_told)) if n_told > 1 else float("nan")
            policy = result.policies[p]
            found.append(
                Best(
                    name,
                    policy,
                    values.get(policy),
                    float(own[p].mean()),
                    error,
                    rivals,
                    n_told,
                    members.edge(policy),
                )
            )
        return found

    def _family(self, name: str) -> Family:
        if not isinstance(name, str) or name not in self.families:
            known = (
                f"a family, one of {listed(self.families)}" if self.families else "none, since there are no families"
            )
            raise SimulationError(f"expected {known}; got {shown(name)}{did_you_mean(name, self.families)}")
        return self.families[name]

    def to_frame(self) -> pandas.DataFrame:
        """Return a long table with one row per problem, policy and checkpoint, and the family's parameter value."""
        pd = pandas_for("to_frame")
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

    def to_run_frame(self) -> pandas.DataFrame:
        """Return a long table with one row per problem, policy and run after the last episode, for every random
        problem."""
        pd = pandas_for("to_run_frame")
        frames = []
        for name, result in self.results.items():
            drawn = self.worlds.get(name)
            for world, own in enumerate([result] if drawn is None else [each.result for each in drawn]):
                frame = own.to_run_frame()
                frame.insert(0, "problem", name)
                frame.insert(1, "world", world)
                frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def edge_warnings(self) -> list[str]:
        """Return a warning for each family whose best value is the least or the largest that was tried.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> policies = {"OMM": [mb.OMM(s) for s in (0.5, 1.0, 2.0)]}
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> sweep = mb.sweep({"blocks": problem}, policies, n_episodes=200, n_runs=5, seed=0)
        >>> sweep.edge_warnings()
        ['OMM: the best scale is the least that was tried, 0.5, on blocks; smaller values may be better.']
        """
        if not all(result.is_regret_known for result in self.results.values()):
            return []
        warned = []
        for family in self.families.values():
            best = self.best(family.name)
            for edge, beyond in (("least", "smaller"), ("largest", "larger")):
                own = [each for each in best if each.edge == edge]
                if own:
                    where = listed([each.problem for each in own[:3]])
                    more = f" and {len(own) - 3} more" if len(own) > 3 else ""
                    warned.append(
                        f"{in_a_line(family.name)}: the best {family.parameter} is the {edge} that was tried,"
                        f" {own[0].value:g}, on {where}{more}; {beyond} values may be better."
                    )
        return warned

    def summary(self) -> str:
        """Return a text table of regret after the last episode: a row per policy, a column per problem."""
        warned = [*self.tail_warnings(), *self.edge_warnings()]
        head = f"{self._size()}, {self.wall_time:.1f} s{self._any.about_errors}"
        table = _tables.timed(_tables.regret_table(self), self.seconds).to_text()
        return "\n".join([head, "regret", "", table, *([""] if warned else []), *warned])

    def to_latex(
        self,
        *,
        best: bool = False,
        baseline: str | None = None,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Return a table of regret after the last episode as a LaTeX float for a paper.

        A row for each policy, a column for each problem, the best of each column in bold, as in
        `SimulationResult.to_latex`, which says what the table needs.

        Parameters
        ----------
        best : bool, default False
            Whether to show the best policy of each family on each problem instead, as `best` finds it.
        baseline : str, optional
            The policy that others are compared with; the table is then that of `differences`.
        caption : str, optional
            Plain text; by default what is shown, runs, episodes, seed, and what ± and bold mean.
        label : str, optional
            For ``\ref``; by default "tab:regret", "tab:best" or "tab:differences".

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2)}
        >>> sweep = mb.sweep(problems, {"OMM": mb.OMM(), "KLOSM": mb.KLOSM()}, n_episodes=500, n_runs=10, seed=0)
        >>> print(sweep.to_latex(caption="Two problems."))
        \begin{table}
        \centering
        \begin{tabular}{lrr}
        \toprule
        policy & gap 0.1 & gap 0.2 \\
        \midrule
        OMM & 51.12 $\pm$~2.22 & 67.20 $\pm$~3.74 \\
        KLOSM & \textbf{32.80} $\pm$~3.26 & \textbf{37.88} $\pm$~7.80 \\
        \bottomrule
        \end{tabular}
        \caption{Two problems.}
        \label{tab:regret}
        \end{table}
        """
        if best and baseline is not None:
            raise SimulationError("expected best or a baseline, which are tables of their own; got both")
        if best and not self.families:
            raise SimulationError("expected families to show the best of; this sweep has none")
        if best:
            table = _tables.best_table(self)
        elif baseline is not None:
            table = _tables.difference_table(self.differences(baseline), baseline)
        else:
            table = _tables.regret_table(self)
        if best or baseline is not None:
            table = replace(table, note=f"{_tables.note(self._any)} {table.note}")
        return to_latex(table, caption=caption, label=label)

    @property
    def provenance(self) -> str:
        """Sentence for a paper that states how the numbers were made; see `SimulationResult.provenance`."""
        return self._any.provenance

    def _size(self) -> str:
        return f'{self._any.size}, seed {self._any.seed}, start "{self._any.start}"'

    def __repr__(self) -> str:
        n_policies = len(self.policies)
        policies = f"{n_policies:,} {'policy' if n_policies == 1 else 'policies'}"
        return f"Sweep({counted(len(self), 'problem')} × {policies}; {self._size()})"

    def _repr_html_(self) -> str:
        """The table of `summary`, for notebooks."""
        return _tables.timed(_tables.regret_table(self), self.seconds).to_html(f"regret; {self._size()}")

    def plot(
        self,
        *,
        problems: Sequence[str] | None = None,
        policies: Sequence[str] | None = None,
        unit: str = "",
        bounds: Mapping[str, Bound] | None = None,
        log_x: bool = True,
        log_y: bool | None = None,
        best: bool = False,
        width: Width | None = None,
        height: float | None = None,
    ) -> Figure:
        """Plot regret against episodes with 95% confidence bands, a panel for each problem.

        The policies of a family share a colour, lighter for those that come first, and each has a dash and marker of
        its own. A policy looks the same in all figures of a sweep.

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
        log_y : bool, optional
            Whether regret is on a log axis; by default where bounds are drawn.
        best : bool, default False
            Whether to draw one curve for each family, that of the policy which `best` chooses on the problem. The
            curve is the mean over all runs, one half of which made the choice.
        width : "column", "page" or float, optional
            The width of the figure: of a column of a paper (3.25 inches), of both columns (6.75), or in inches. By
            default 3.7 inches a panel.
        height : float, optional
            The height in inches; by default what panels and legend take.

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
        figure: Figure = _sweep_plot.draw_regret(
            self, problems, policies, unit, bounds, log_x, log_y, best, width, height
        )
        return figure

    def plot_parameter(
        self,
        family: str,
        *,
        problems: Sequence[str] | None = None,
        unit: str = "",
        log_x: bool | None = None,
        log_y: bool = False,
        width: Width | None = None,
        height: float | None = None,
    ) -> Figure:
        """Plot regret after the last episode against a family's parameter, with 95% confidence bands, by problem.

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
        log_y : bool, default False
            Whether regret is on a log axis.
        width, height
            As in `plot`.

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
        figure: Figure = _sweep_plot.draw_parameter(
            self, self._family(family), problems, unit, log_x, log_y, width, height
        )
        return figure
