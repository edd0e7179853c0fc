"""Experiments: policies times runs of a problem, and what came of it."""

from matroid_bandits.simulation._progress import Progress
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.simulation._simulate import check_support, simulate

__all__ = ["Progress", "SimulationResult", "check_support", "simulate"]
