"""What a simulation found: arrays over policies and checkpoints, as a table, a frame, a figure and a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.extras import pandas_for
from matroid_bandits._util.latex import to_latex
from matroid_bandits._util.plots import Width
from matroid_bandits._util.text import counted, did_you_mean, listed, number, shown, with_error
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.identification import Endings
from matroid_bandits.simulation import _join, _plot, _result_file, _statistics, _tables
from matroid_bandits.simulation._plot import Bands
from matroid_bandits.simulation._statistics import Difference, Interval, Method

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

AxesT = TypeVar("AxesT")

#: What a result says about itself that is no part of what was found: equal results may differ in it.
_NOT_FOUND = ("wall_time", "seconds", "versions", "device", "no_bounds", "no_regret", "engine") + (
    "problem_key",
    "policy_keys",
)

#: How versions are written in a sentence.
_NAMES = {"python": "Python", "numpy": "NumPy", "numba": "Numba"}

#: What is measured of a policy.
Measure = Literal["regret", "returns"]


@dataclass(frozen=True, eq=False, repr=False)
class PolicyResult:
    """Result of one policy, ``result["OMM"]``: its rows of a `SimulationResult`.

    Attributes
    ----------
    name : str
        The policy's name.
    checkpoints : int64 array (C,)
        Episodes at which the curves are known.
    regret, regret_se : float64 arrays (C,)
        Cumulative regret of expected weights, its mean over runs and standard error.
    returns, returns_se : float64 arrays (C,)
        Cumulative realised return.
    per_step_return, per_step_return_se : float64 arrays (C,)
        Expected return per step, averaged over the episodes so far.
    realised_per_step_return, realised_per_step_return_se : float64 arrays (C,)
        The same of realised weights.
    final_returns, final_regret : float64 arrays (R,)
        Cumulative return and regret of every run, after the last episode.
    choices : int64 array (L,)
        How often each item was chosen, over all runs.
    run_returns, run_regret : float64 arrays (R, C), or None
        The curves of every run, where they were kept.
    alarms : float64 array (C,), or None
        How often items had started anew in a run, its mean over runs; None where no policy has a detector.
    item_alarms : int64 array (L,), or None
        Number of resets of each item, over all runs.
    engine : str, or None
        How its episodes were played, as in `SimulationResult`.
    seconds : float, or None
        How long its episodes took, as in `SimulationResult`.
    endings : Endings, or None
        When each run ended, and with which set; None where all ended with the last episode.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> result = mb.simulate(problem, {"OMM": mb.OMM()}, n_episodes=100, n_runs=5, seed=0, keep_runs=True)
    >>> result["OMM"].run_regret.shape == (5, result.checkpoints.size)
    True
    >>> bool(result["OMM"].regret[-1] == result["OMM"].final_regret.mean())
    True
    """

    name: str
    checkpoints: IntArray
    regret: FloatArray
    regret_se: FloatArray
    returns: FloatArray
    returns_se: FloatArray
    per_step_return: FloatArray
    per_step_return_se: FloatArray
    realised_per_step_return: FloatArray
    realised_per_step_return_se: FloatArray
    final_returns: FloatArray
    final_regret: FloatArray
    choices: IntArray
    run_returns: FloatArray | None
    run_regret: FloatArray | None
    alarms: FloatArray | None = None
    item_alarms: IntArray | None = None
    engine: str | None = None
    endings: Endings | None = None
    seconds: float | None = None

    def __repr__(self) -> str:
        regret = _regret_text(self.regret[-1], self.regret_se[-1]).replace("\u00a0", " ")
        return f"PolicyResult({self.name!r}: regret {regret} after {counted(int(self.checkpoints[-1]), 'episode')})"


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult:
    """Result of `simulate`: for each policy and checkpoint, means over runs and their standard errors.

    Attributes
    ----------
    policies : tuple of str
        Names, in the order given; the first axis of every array.
    checkpoints : int64 array (C,)
        Episodes at which the curves are known; the last is `n_episodes`.
    returns, returns_se : float64 arrays (P, C)
        Cumulative realised return (total weight, cost when `minimize`; see `Problem.worth`), its mean over runs and
        standard error.
    regret, regret_se : float64 arrays (P, C)
        Cumulative regret of expected worth, by default the total weight, against the best available set of each
        episode; NaN where that is not known, as `no_regret` says.
    final_returns, final_regret : float64 arrays (P, R)
        The same for every run, after the last episode.
    choices : int64 array (P, L)
        How often each item was chosen, over all runs.
    run_returns, run_regret : float64 arrays (P, R, C), or None
        The curves of every run, where ``simulate(..., keep_runs=True)`` kept them.
    alarms : float64 array (P, C), or None
        Number of resets of items by a change detector in a run (see `Restarting`), mean over runs; None if no policy
        has a detector.
    item_alarms : int64 array (P, L), or None
        Number of resets of each item, over all runs.
    n_episodes, n_runs, seed, start, minimize
        The settings of the simulation.
    optimal_value : float
        Expected return (or cost) per step of the optimum; the mean over episodes and runs if availability or means
        change; NaN if the environment does not know its means.
    optimum : float64 array (C,), or None
        The same over the episodes up to each checkpoint, if means change; None if they are constant or not known.
    wall_time : float
        Wall time in seconds.
    versions : dict
        Versions of this package and its dependencies.
    device : str
        Where it was simulated, "cpu" or "gpu".
    no_bounds : str
        Why the paper's bounds do not hold for the problem; empty where they do, and in files of earlier versions.
    no_regret : str
        Why regret is NaN although means may be known; empty where it is not, and in files of earlier versions.
    engine : tuple of str, or None
        How the episodes of each policy were played: "compiled", whole ones in compiled code, on either device;
        "agent", one by one; "store" for runs that were read from a sweep's store. None in files of earlier versions.
    world_runs : int, or None
        For random problems of a sweep (see `Worlds`), the number of runs in each world; a "run" above is then a
        world, averaged over its runs. None otherwise.
    endings : Endings, or None
        When each run of each policy ended, and with which set, where ``simulate(..., until=...)`` let them end; None
        where all ended with the last episode.
    until : dict, or None
        The form of the stopping rule.
    seconds : float64 array (P,), or None
        How long the episodes of each policy took, added up over the threads, processes and machines that played
        them; waiting, sending and compiling do not count. NaN where several policies were played at once on a GPU;
        None in files of earlier versions. Runs that a sweep has read from its store count with the time that they
        took when they were played.
    run_ranges : tuple of (int, int, int)
        Which runs these are: a seed, the number of the first run, and how many, for each part (see `join`).
    problem_key, policy_keys : str and tuple of str, or None
        Digests of the problem and of each policy, by which `join` knows them; None for classes of the user's that
        have no `kind`, and in files of earlier versions.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> result
    SimulationResult(OMM; 5 runs of 100 episodes, seed 0, start "observe")
    >>> result["OMM"].regret[-1] == result.regret[0, -1]
    np.True_
    >>> result.choices.sum()
    np.int64(500)
    >>> bool((result.regret[0, 1:] >= result.regret[0, :-1]).all())
    True
    """

    policies: tuple[str, ...]
    checkpoints: IntArray
    returns: FloatArray
    returns_se: FloatArray
    regret: FloatArray
    regret_se: FloatArray
    final_returns: FloatArray
    final_regret: FloatArray
    choices: IntArray
    n_episodes: int
    n_runs: int
    seed: int
    start: str
    minimize: bool
    optimal_value: float
    wall_time: float
    versions: dict[str, str]
    run_returns: FloatArray | None = None
    run_regret: FloatArray | None = None
    optimum: FloatArray | None = None
    alarms: FloatArray | None = None
    item_alarms: IntArray | None = None
    device: str = "cpu"
    no_bounds: str = ""
    no_regret: str = ""
    engine: tuple[str, ...] | None = None
    world_runs: int | None = None
    endings: Endings | None = None
    until: dict[str, Any] | None = None
    seconds: FloatArray | None = None
    run_ranges: tuple[tuple[int, int, int], ...] = ()
    problem_key: str | None = None
    policy_keys: tuple[str | None, ...] | None = None

    def __post_init__(self) -> None:
        if not self.run_ranges:
            object.__setattr__(self, "run_ranges", ((self.seed, 0, self.n_runs),))
        endings = () if self.endings is None else vars(self.endings).values()
        for value in (*vars(self).values(), *endings):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def is_regret_known(self) -> bool:
        """Whether the optimum is known, so that regret can be computed."""
        return not math.isnan(self.optimal_value)

    @property
    def per_step_return(self) -> FloatArray:
        """Expected return (cost when `minimize`) per step, averaged over the episodes so far, shape (P, C).

        The paper's measure: the optimum and the regret of the sets chosen, so the weights' own noise is not in it.
        NaN where means are not known; `realised_per_step_return` is there always.
        """
        sign = 1.0 if self.minimize else -1.0
        best = self.optimal_value if self.optimum is None else self.optimum
        per_step: FloatArray = best + sign * self.regret / self.checkpoints
        return per_step

    @property
    def per_step_return_se(self) -> FloatArray:
        """Standard error of `per_step_return`."""
        error: FloatArray = self.regret_se / self.checkpoints
        return error

    @property
    def realised_per_step_return(self) -> FloatArray:
        """Realised return per step, averaged over the episodes so far, shape (P, C)."""
        per_step: FloatArray = self.returns / self.checkpoints
        return per_step

    @property
    def realised_per_step_return_se(self) -> FloatArray:
        """Standard error of `realised_per_step_return`."""
        error: FloatArray = self.returns_se / self.checkpoints
        return error

    def join(self, *others: SimulationResult) -> SimulationResult:
        """Join results of the same problem: more runs of the same policies, or more policies on the same runs.

        Runs are known by their seed and their number. More runs come from another seed, or from ``first_run`` of
        `simulate` with the same one; then the joined result is that of one simulation of all these runs. Policies
        join only on the same runs, where all met the same weights, so that differences between them stay paired.

        Parameters
        ----------
        *others : SimulationResult
            What to add, in this order. Policies may be in any order.

        Returns
        -------
        SimulationResult
            With the runs of a seed in the order of their numbers. `wall_time` and `seconds` are sums.

        Raises
        ------
        SimulationError
            A result is of another problem, of other episodes or settings, has a run that another one has too, or has
            some of the policies but not all. What can be compared of a problem and a policy is: a class of the user's
            is known by its `kind`, as in `sweep`, and else by the name that the policy was given.

        Notes
        -----
        With ``keep_runs=True`` curves are exactly those of one simulation. Without, means and standard errors before
        the last episode are put together from those of the parts, which rounds differently.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> settings = {"n_episodes": 100, "seed": 0, "keep_runs": True}
        >>> first = mb.simulate(problem, mb.OMM(), n_runs=10, **settings)
        >>> more = mb.simulate(problem, mb.OMM(), n_runs=5, first_run=10, **settings)
        >>> first.join(more) == mb.simulate(problem, mb.OMM(), n_runs=15, **settings)
        True
        >>> rival = mb.simulate(problem, mb.KLOSM(), n_runs=10, **settings)
        >>> first.join(rival).policies
        ('OMM', 'KLOSM')
        """
        joined = self
        for other in others:
            if not isinstance(other, SimulationResult):
                raise SimulationError(f"expected a SimulationResult to join, got {shown(other)}")
            joined = _join.join(joined, other)
        return joined

    def __getitem__(self, policy: str) -> PolicyResult:
        p = self.index(policy)
        own: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[p]
            for name in PolicyResult.__dataclass_fields__
            if name not in ("name", "checkpoints")
        }
        return PolicyResult(name=policy, checkpoints=self.checkpoints, **own)

    def __iter__(self) -> Iterator[str]:
        """The policies' names, as a dict has its keys."""
        return iter(self.policies)

    def index(self, policy: str) -> int:
        """Return the row of a policy in the arrays."""
        try:
            return self.policies.index(policy)
        except ValueError:
            raise SimulationError(
                f"expected a policy, one of {listed(self.policies)}; got {shown(policy)}"
                f"{did_you_mean(policy, self.policies)}"
            ) from None

    def summary(self) -> str:
        """Return a text table: expected per-step return and cumulative regret of each policy after the last
        episode."""
        head = f"{self._size()}, {self.wall_time:.1f} s{self.about_errors}"
        warned = self.tail_warnings("regret" if self.is_regret_known else "returns")
        table = _tables.timed(_tables.policy_table(self), self.seconds).to_text()
        return "\n".join([head, self._about_optimum(), "", table, *([""] if warned else []), *warned])

    def to_latex(
        self,
        *,
        quantiles: Sequence[float] = (),
        baseline: str | None = None,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Return the table of `summary`, or paired differences, as a LaTeX float for a paper.

        Needs the package booktabs. Digits are equal and decimals aligned in a column, and text is escaped. The best
        policy is in bold, and with it those that are not clearly worse: their paired difference from it has a 95%
        confidence interval that reaches 0.

        Parameters
        ----------
        quantiles : sequence of float, optional
            Quantiles of regret over runs to add, such as (0.05, 0.5, 0.95).
        baseline : str, optional
            The policy that others are compared with; the table is then that of `differences`.
        caption : str, optional
            Plain text; by default what is shown, runs, episodes, seed, and what ± and bold mean.
        label : str, optional
            For ``\ref``; by default "tab:policies" or "tab:differences".

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> result = mb.simulate(problem, [mb.OMM(), mb.KLOSM()], n_episodes=500, n_runs=10, seed=0)
        >>> print(result.to_latex(caption="Two policies.", label="tab:two"))
        \begin{table}
        \centering
        \begin{tabular}{lrr}
        \toprule
        policy & return per step & regret \\
        \midrule
        OMM & 0.8656 $\pm$~0.0075 & 67.20 $\pm$~3.74 \\
        KLOSM & \textbf{0.9242} $\pm$~0.0156 & \textbf{37.88} $\pm$~7.80 \\
        \bottomrule
        \end{tabular}
        \caption{Two policies.}
        \label{tab:two}
        \end{table}
        """
        if baseline is None:
            table = _tables.policy_table(self, quantiles)
        else:
            table = _tables.difference_table(self.differences(baseline), baseline)
            table = replace(table, note=f"{_tables.note(self)} {table.note}")
        return to_latex(table, caption=caption, label=label)

    @property
    def provenance(self) -> str:
        """Sentence for a paper that states the number of runs and episodes, the seed, the start and the versions.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> result = mb.simulate(mb.lower_bound_problem(6, 2, gap=0.2), [mb.OMM()], n_episodes=500, n_runs=10, seed=0)
        >>> result.provenance  # doctest: +ELLIPSIS
        '10 runs of 500 episodes, seed 0, every item observed once before episode 1; matroid-bandits ..., Python ...'
        """
        start = "every item observed once" if self.start == "observe" else "no item observed"
        used = ", ".join(f"{_NAMES.get(name, name)} {version}" for name, version in self.versions.items())
        return f"{self.size}, {_join.seeds_of(self.run_ranges)}, {start} before episode 1; {used}."

    @property
    def measure(self) -> str:
        """Name of the per-step measure: "return" or "cost", "realised return" or "realised cost" without known
        means."""
        return f"{'' if self.is_regret_known else 'realised '}{'cost' if self.minimize else 'return'}"

    def shown_per_step(self) -> tuple[FloatArray, FloatArray]:
        """Return the `measure` per step and its standard error, for expected or realised weights."""
        if self.is_regret_known:
            return self.per_step_return, self.per_step_return_se
        return self.realised_per_step_return, self.realised_per_step_return_se

    def _about_optimum(self) -> str:
        """What is to be said of the optimum, in a line."""
        if not self.is_regret_known:
            return f"optimum and regret not known, since {self.no_regret or 'the environment does not say its means'}"
        moves = "" if self.optimum is None else " on average; means change, and regret is against each episode's own"
        return f"optimum {number(self.optimal_value, '.4f')} per step{moves}"

    @property
    def size(self) -> str:
        """Number of runs and episodes, as text."""
        runs = counted(self.n_runs, "run")
        if self.world_runs is not None:
            runs = f"{counted(self.n_runs, 'world')} × {counted(self.world_runs, 'run')}"
        return f"{runs} of {counted(self.n_episodes, 'episode')}"

    @property
    def about_errors(self) -> str:
        """Note on the meaning of ± for tables, after a semicolon; empty for a single run."""
        if self.n_runs == 1:
            return ""
        return "; ± is one standard error" + (" over worlds" if self.world_runs is not None else "")

    def _size(self) -> str:
        return f'{self.size}, {_join.seeds_of(self.run_ranges)}, start "{self.start}"'

    def __repr__(self) -> str:
        names = listed(self.policies[:4])
        more = f" and {len(self.policies) - 4} more" if len(self.policies) > 4 else ""
        return f"SimulationResult({names}{more}; {self._size()})"

    def _repr_html_(self) -> str:
        """The table of `summary`, for notebooks."""
        table = _tables.timed(_tables.policy_table(self), self.seconds)
        return table.to_html(f"{self._size()}; {self._about_optimum()}")

    def to_frame(self) -> pandas.DataFrame:
        """Return a long table with one row per policy and checkpoint."""
        pd = pandas_for("to_frame")
        n_policies, n_points = self.returns.shape
        alarms = {} if self.alarms is None else {"alarms": self.alarms.reshape(-1)}
        return pd.DataFrame(
            {
                "policy": np.repeat(np.array(self.policies, object), n_points),
                "episode": np.tile(self.checkpoints, n_policies),
                **{
                    name: getattr(self, name).reshape(-1)
                    for name in (
                        "returns",
                        "returns_se",
                        "per_step_return",
                        "per_step_return_se",
                        "regret",
                        "regret_se",
                    )
                },
                **alarms,
            }
        )

    def to_run_frame(self) -> pandas.DataFrame:
        """Return a long table with one row per policy and run after the last episode, or per stored checkpoint."""
        pd = pandas_for("to_run_frame")
        curves = (self.run_returns, self.run_regret)
        has_curves = curves[0] is not None and curves[1] is not None
        episodes = self.checkpoints if has_curves else self.checkpoints[-1:]
        shape = (len(self.policies), self.n_runs, episodes.size)
        columns = {"policy": np.array(self.policies, object), "run": np.arange(self.n_runs), "episode": episodes}
        axes = {
            name: np.broadcast_to(np.expand_dims(values, tuple(a for a in range(3) if a != axis)), shape).reshape(-1)
            for axis, (name, values) in enumerate(columns.items())
        }
        returns, regret = curves if has_curves else (self.final_returns, self.final_regret)
        return pd.DataFrame(axes | {"returns": np.ravel(cast(Any, returns)), "regret": np.ravel(cast(Any, regret))})

    def part(self, runs: slice) -> SimulationResult:
        """Return the result of some of the runs (for `Worlds`: of the random problems), after the last episode alone.

        Choose on one half and report on the other: the best of several is too good in the runs that made it the best.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> result = mb.simulate(problem, [mb.OMM(), mb.KLOSM()], n_episodes=100, n_runs=10, seed=0)
        >>> choosing, telling = result.part(slice(0, 5)), result.part(slice(5, 10))
        >>> best = choosing.policies[choosing.regret[:, -1].argmin()]
        >>> bool(telling[best].regret[-1] == result[best].final_regret[5:].mean())
        True
        """
        returns, regret = self.final_returns[:, runs], self.final_regret[:, runs]
        n = regret.shape[1]
        if not n:
            raise SimulationError(f"expected a run or more of {self.n_runs}, got {runs}")

        def ends(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            errors = values.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(values), np.nan)
            return values.mean(axis=1)[:, None], errors[:, None]

        (mean_returns, returns_se), (mean_regret, regret_se) = ends(returns), ends(regret)
        return replace(
            self,
            checkpoints=self.checkpoints[-1:].copy(),
            returns=mean_returns,
            returns_se=returns_se,
            regret=mean_regret,
            regret_se=regret_se,
            final_returns=returns.copy(),
            final_regret=regret.copy(),
            n_runs=n,
            run_ranges=_join.part_of(self.run_ranges, runs),
            run_returns=None,
            run_regret=None,
            optimum=None if self.optimum is None else self.optimum[-1:].copy(),
            alarms=None,
            item_alarms=None,
        )

    def quantiles(self, probabilities: ArrayLike = (0.25, 0.5, 0.75), *, measure: str = "regret") -> FloatArray:
        """Return quantiles over runs after the last episode, shape (P, n), of "regret" or "returns".

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> result = mb.simulate(problem, [mb.OMM(), mb.KLOSM()], n_episodes=100, n_runs=5, seed=0)
        >>> result.quantiles([0.1, 0.9]).shape
        (2, 2)
        """
        return _statistics.quantiles(self._final(measure), probabilities)

    def medians(self, measure: str = "regret") -> FloatArray:
        """Return the median over runs after the last episode for each policy, shape (P,)."""
        return self.quantiles([0.5], measure=measure)[:, 0]

    def intervals(self, method: Method = "t", *, level: float = 0.95, measure: str = "regret") -> list[Interval]:
        """Return confidence intervals of each policy's mean after the last episode.

        Parameters
        ----------
        method : "t" or "bootstrap", default "t"
            Student's t, or a bootstrap (BCa, of 4,000 resamples that are always the same), which follows skewness.
        level : float, default 0.95
            The confidence of each interval.
        measure : "regret" or "returns", default "regret"
            Of what.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
        >>> (own,) = result.intervals()
        >>> own.low < result["OMM"].regret[-1] < own.high
        np.True_
        """
        return [
            Interval("", policy, float(own.mean()), *_statistics.interval(own, method, level))
            for policy, own in zip(self.policies, self._final(measure), strict=True)
        ]

    def differences(self, baseline: str, *, level: float = 0.95, episode: int | None = None) -> list[Difference]:
        """Return paired differences in regret between every other policy and `baseline`, with p values (see `Sweep`).

        Parameters
        ----------
        baseline : str
            The policy to compare with.
        level : float, default 0.95
            The confidence of each interval.
        episode : int, optional
            After which episode, one of `checkpoints`; by default after the last. Others need the curves of every run:
            ``simulate(..., keep_runs=True)``.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> result = mb.simulate(problem, [mb.OMM(), mb.KLOSM()], n_episodes=500, n_runs=10, seed=0)
        >>> (difference,) = result.differences("OMM")
        >>> difference.mean < 0, difference.p_holm < 0.01
        (True, True)
        """
        return _statistics.with_holm(self.raw_differences("", baseline, _statistics.check_level(level), episode))

    def raw_differences(
        self, problem: str, baseline: str, level: float, episode: int | None = None
    ) -> list[Difference]:
        """Return differences to a baseline on one problem, with p values not adjusted for multiple tests."""
        regret = self.regret_at(episode)
        base = regret[self.index(baseline)]
        return [
            _statistics.difference(problem, policy, baseline, own - base, level)
            for policy, own in zip(self.policies, regret, strict=True)
            if policy != baseline
        ]

    def regret_at(self, episode: int | None = None) -> FloatArray:
        """Return the regret of every run after a checkpoint, shape (P, R); by default after the last episode.

        Raises
        ------
        SimulationError
            The episode is no checkpoint, or the curves of runs were not kept (``simulate(..., keep_runs=True)``).

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(6, 2, gap=0.2)
        >>> settings = {"n_episodes": 100, "n_runs": 5, "seed": 0, "checkpoints": [10], "keep_runs": True}
        >>> result = mb.simulate(problem, [mb.OMM(), mb.KLOSM()], **settings)
        >>> result.regret_at(10).shape
        (2, 5)
        """
        if episode is None:
            return self.final_regret
        after = as_integer("episode", episode, 1, self.n_episodes, error=SimulationError)
        point = int(np.searchsorted(self.checkpoints, after))
        if self.checkpoints[point] != after:
            near = " and ".join(str(each) for each in self.checkpoints[max(point - 1, 0) : point + 1])
            raise SimulationError(f"expected episode to be a checkpoint, got {after}; the nearest are {near}")
        if after == self.n_episodes:
            return self.final_regret
        if self.run_regret is None:
            raise SimulationError(
                f"expected the curves of every run, for regret after episode {after}; they were not kept: "
                "play with keep_runs=True"
            )
        regret: FloatArray = self.run_regret[:, :, point]
        return regret

    def tail_warnings(self, measure: str = "regret") -> list[str]:
        """Return a warning for each policy of which a few runs dominate the mean.

        They do where the 5% of runs that are farthest from the median have more than a quarter of the sum of all
        distances from it. The warning names the number of runs from which ± is reliable, 25 times the squared
        skewness (Cochran's rule for 95% intervals), where that is at least double. A tail that is too rare to be in
        these runs cannot be seen by any rule.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.lower_bound_problem(24, 4, gap=0.1)
        >>> result = mb.simulate(problem, [mb.OMM(0.1)], n_episodes=1000, n_runs=20, seed=0)
        >>> result.tail_warnings()
        []
        """
        what, unit = ("regret" if measure == "regret" else "return"), "runs" if self.world_runs is None else "worlds"
        found = (
            _statistics.tail_warning(policy, own, what, unit)
            for policy, own in zip(self.policies, self._final(measure), strict=True)
        )
        return [warning for warning in found if warning]

    def _final(self, measure: str) -> FloatArray:
        if measure not in ("regret", "returns"):
            raise SimulationError(f'expected measure to be "regret" or "returns", got {measure!r}')
        return self.final_regret if measure == "regret" else self.final_returns

    @overload
    def plot(
        self,
        *,
        ax: None = None,
        policies: Sequence[str] | None = None,
        unit: str = "",
        bounds: Mapping[str, ArrayLike] | None = None,
        log_x: bool = True,
        log_y: bool | None = None,
        measure: Measure | None = None,
        bands: Bands = "mean",
        width: Width | None = None,
        height: float | None = None,
    ) -> Figure: ...

    @overload
    def plot(
        self,
        *,
        ax: AxesT,
        policies: Sequence[str] | None = None,
        unit: str = "",
        bounds: Mapping[str, ArrayLike] | None = None,
        log_x: bool = True,
        log_y: bool | None = None,
        measure: Measure | None = None,
        bands: Bands = "mean",
        width: Width | None = None,
        height: float | None = None,
    ) -> AxesT: ...

    def plot(
        self,
        *,
        ax: Any = None,
        policies: Sequence[str] | None = None,
        unit: str = "",
        bounds: Mapping[str, ArrayLike] | None = None,
        log_x: bool = True,
        log_y: bool | None = None,
        measure: Measure | None = None,
        bands: Bands = "mean",
        width: Width | None = None,
        height: float | None = None,
    ) -> Any:
        """Plot regret and expected per-step return against episodes, with 95% confidence bands.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them, optional
            Where to draw, such as what ``plt.subplots()`` made: regret on the first, return on the second. By default
            a new figure is made that is no part of pyplot and that notebooks show.
        policies : sequence of str, optional
            The policies whose curves to draw, in this order; by default all.
        unit : str, optional
            What weights are measured in, such as "ms", for the axes.
        bounds : mapping of label to array, optional
            Regret bounds at `checkpoints` to draw beside the curves; refused where means change or are not known,
            since the theorems are about means that stay.
        log_x : bool, default True
            Whether episodes are on a log axis.
        log_y : bool, optional
            Whether regret is on a log axis; by default where bounds are drawn.
        measure : "regret" or "returns", optional
            The panel to draw; by default both.
        bands : "mean" or "quantiles", default "mean"
            Around the mean over runs its 95% confidence interval; or the median of regret, with a band from the 5% to
            the 95% quantile over runs, which needs ``simulate(..., keep_runs=True)``.
        width : "column", "page" or float, optional
            The width of the figure: of a column of a paper (3.25 inches), of both columns (6.75), or in inches. Text
            is 8 points then. By default 3.7 inches a panel.
        height : float, optional
            The height in inches; by default what panels and legend take.

        Returns
        -------
        matplotlib Figure, or `ax` where it was given

        Notes
        -----
        Bands are Student's t intervals of the mean over runs, one at a time for each episode. Where the environment
        does not know its means there is no regret to draw, and the return is the realised one.

        Curves differ in dash or marker as well as in colour, so that the figure can be printed in grey; a policy
        looks the same whichever policies are drawn. The figure's ``savefig`` keeps text as text (TrueType in PDF).

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
        >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
        >>> figure = result.plot(unit="clicks")
        >>> [axes.get_title() for axes in figure.axes]
        ['Cumulative regret', 'Per-step return']
        """
        return _plot.draw(self, ax, policies, unit, bounds, log_x, log_y, measure, bands, width, height)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to one NPZ file with a JSON header, atomically: a crash leaves the old file or the new
        one."""
        _result_file.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SimulationResult:
        """Load a result that `save` wrote.

        Raises
        ------
        SerializationError
            The file is damaged, foreign or newer, or its parts do not fit each other.
        """
        return _result_file.load(cls, path)

    def __eq__(self, other: object) -> bool:
        """Equal results; times, versions, the device, the engine and what is said of the problem may differ."""
        if not isinstance(other, SimulationResult):
            return NotImplemented
        return all(
            _is_same(value, getattr(other, name)) for name, value in vars(self).items() if name not in _NOT_FOUND
        )

    __hash__ = None  # type: ignore[assignment]


def _regret_text(regret: float, error: float) -> str:
    return "not known" if math.isnan(regret) else with_error(float(regret), float(error), ".2f")


def _is_same(a: Any, b: Any) -> bool:
    """Whether two parts of results are equal; NaN is equal to itself."""
    if isinstance(a, (np.ndarray, float)) and isinstance(b, (np.ndarray, float)):
        return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
    return type(a) is type(b) and bool(a == b)
