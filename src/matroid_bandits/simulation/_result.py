"""What a simulation found: arrays over policies and checkpoints, as a table, a frame, a figure and a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits.exceptions import MissingDependencyError, SimulationError
from matroid_bandits.simulation import _file

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What `simulate` found: for each policy and checkpoint the mean over runs and its standard error.

    Attributes
    ----------
    policies : tuple of str
        Names, in the order given; the first axis of every array.
    checkpoints : int64 array (C,)
        Episodes at which the curves are known; the last is `n_episodes`.
    returns, returns_se : float64 arrays (P, C)
        Cumulative realised return (total weight, cost when `minimize`), its mean over runs and standard error.
    regret, regret_se : float64 arrays (P, C)
        Cumulative regret of expected weights.
    final_returns, final_regret : float64 arrays (P, R)
        The same for every run, after the last episode.
    choices : int64 array (P, L)
        How often each item was chosen, over all runs.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
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

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def per_step_return(self) -> FloatArray:
        """Cumulative return divided by the number of episodes, shape (P, C): the paper's measure."""
        per_step: FloatArray = self.returns / self.checkpoints
        return per_step

    @property
    def per_step_return_se(self) -> FloatArray:
        """Standard error of `per_step_return`."""
        error: FloatArray = self.returns_se / self.checkpoints
        return error

    def index(self, policy: str) -> int:
        """The row of a policy in the arrays."""
        try:
            return self.policies.index(policy)
        except ValueError:
            raise SimulationError(f"expected one of {', '.join(self.policies)}; got {policy!r}") from None

    def summary(self) -> str:
        """A table: per-step return and cumulative regret of each policy after the last episode."""
        measure = "cost per step" if self.minimize else "return per step"
        rows = [("policy", measure, "regret")]
        for p, name in enumerate(self.policies):
            rows.append(
                (
                    name,
                    _with_error(self.per_step_return[p, -1], self.per_step_return_se[p, -1], 4),
                    _with_error(self.regret[p, -1], self.regret_se[p, -1], 2),
                )
            )
        widths = [max(len(row[c]) for row in rows) for c in range(3)]
        lines = [
            "  ".join((row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]))) for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        head = f"{self.n_runs} runs of {self.n_episodes:,} episodes, seed {self.seed}, {self.wall_time:.1f} s"
        return "\n".join([head, f"optimum {self.optimal_value:.4f} per step", "", *lines])

    def to_frame(self) -> pandas.DataFrame:
        """A long table: one row per policy and checkpoint."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("to_frame needs pandas: pip install 'matroid-bandits[frame]'") from None
        n_policies, n_points = self.returns.shape
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
            }
        )

    def plot(self, *, bounds: Mapping[str, ArrayLike] | None = None, log_x: bool = True) -> Figure:
        """Regret and per-step return against episodes, with 95% confidence bands, as a matplotlib figure.

        Parameters
        ----------
        bounds : mapping of label to array, optional
            Regret bounds at `checkpoints` to draw beside the curves.
        log_x : bool, default True
            Whether episodes are on a log axis.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingDependencyError("plot needs matplotlib: pip install 'matroid-bandits[plot]'") from None
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        measure = "cost" if self.minimize else "return"
        for axes, mean, error, title in (
            (left, self.regret, self.regret_se, "Cumulative regret"),
            (right, self.per_step_return, self.per_step_return_se, f"Per-step {measure}"),
        ):
            for p, name in enumerate(self.policies):
                (line,) = axes.plot(self.checkpoints, mean[p], label=name)
                if self.n_runs > 1:
                    low, high = mean[p] - 1.96 * error[p], mean[p] + 1.96 * error[p]
                    axes.fill_between(self.checkpoints, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
            axes.set(title=title, xlabel="episode", xscale="log" if log_x else "linear")
            axes.grid(alpha=0.3)
        right.axhline(self.optimal_value, color="black", linewidth=0.8, linestyle=":", label="optimum")
        for label, values in (bounds or {}).items():
            bound = np.asarray(values, float)
            if bound.shape != self.checkpoints.shape:
                raise SimulationError(
                    f"expected bound {label!r} at the {self.checkpoints.size} checkpoints, got shape {bound.shape}"
                )
            left.plot(self.checkpoints, bound, linestyle="--", linewidth=1, label=label)
        if bounds and any((np.asarray(line.get_ydata()) > 0.0).any() for line in left.lines):
            left.set_yscale("log")
        left.legend(frameon=False)
        right.legend(frameon=False)
        return figure

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one NPZ file with a JSON header, atomically: a crash leaves the old file or the new."""
        _file.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SimulationResult:
        """What `save` wrote.

        Raises
        ------
        SerializationError
            The file is damaged, foreign or newer, or its parts do not fit each other.
        """
        return _file.load(cls, path)

    def __eq__(self, other: object) -> bool:
        """Equal results; wall time and versions may differ."""
        if not isinstance(other, SimulationResult):
            return NotImplemented
        return all(
            np.array_equal(value, getattr(other, name), equal_nan=value.dtype.kind == "f")
            if isinstance(value, np.ndarray)
            else value == getattr(other, name)
            for name, value in vars(self).items()
            if name not in ("wall_time", "versions")
        )

    __hash__ = None  # type: ignore[assignment]


def _with_error(mean: float, error: float, digits: int) -> str:
    """A mean and its standard error, which one run does not have."""
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")
