"""Experiments: policies times runs of a problem, and what came of it."""

from matroid_bandits.simulation._plot import curve_panel, regret_panel
from matroid_bandits.simulation._progress import Progress
from matroid_bandits.simulation._result import PolicyResult, SimulationResult
from matroid_bandits.simulation._simulate import check_features, check_support, simulate

__all__ = [
    "PolicyResult",
    "Progress",
    "SimulationResult",
    "check_features",
    "check_support",
    "curve_panel",
    "regret_panel",
    "simulate",
]
