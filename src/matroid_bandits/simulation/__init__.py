"""Experiments: simulations of policies on one problem, sweeps over many problems, and their results."""

from matroid_bandits.simulation._executors import ExecutorChoice, named_executor
from matroid_bandits.simulation._identify import Identification, identify
from matroid_bandits.simulation._plot import curve_panel, regret_panel
from matroid_bandits.simulation._progress import Progress
from matroid_bandits.simulation._result import PolicyResult, SimulationResult
from matroid_bandits.simulation._simulate import check_fit, simulate
from matroid_bandits.simulation._statistics import Difference, Interval, Parts, enough_runs, holm
from matroid_bandits.simulation._sweep import sweep
from matroid_bandits.simulation._sweep_families import Family
from matroid_bandits.simulation._sweep_plot import parameter_panels, regret_panels
from matroid_bandits.simulation._sweep_result import Best, Sweep
from matroid_bandits.simulation._tables import best_rows, best_table, difference_table, regret_table
from matroid_bandits.simulation._worlds import World, Worlds

__all__ = [
    "Best",
    "Difference",
    "ExecutorChoice",
    "Family",
    "Identification",
    "Interval",
    "Parts",
    "PolicyResult",
    "Progress",
    "SimulationResult",
    "Sweep",
    "World",
    "Worlds",
    "best_rows",
    "best_table",
    "check_fit",
    "curve_panel",
    "difference_table",
    "enough_runs",
    "holm",
    "identify",
    "named_executor",
    "parameter_panels",
    "regret_panel",
    "regret_panels",
    "regret_table",
    "simulate",
    "sweep",
]
