"""Experiments: policies times runs of a problem, and what came of it."""

from matroid_bandits.simulation._executors import ExecutorChoice, named_executor
from matroid_bandits.simulation._plot import curve_panel, regret_panel
from matroid_bandits.simulation._progress import Progress
from matroid_bandits.simulation._result import PolicyResult, SimulationResult
from matroid_bandits.simulation._simulate import check_support, simulate

__all__ = [
    "ExecutorChoice",
    "PolicyResult",
    "Progress",
    "SimulationResult",
    "check_support",
    "curve_panel",
    "named_executor",
    "regret_panel",
    "simulate",
]
