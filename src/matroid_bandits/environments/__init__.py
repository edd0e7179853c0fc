"""Environments: distributions that the weights w_t of each episode are drawn from, one file per distribution."""

from matroid_bandits.environments._availability import AvailabilityEnvironment
from matroid_bandits.environments._base import Environment, Family
from matroid_bandits.environments._bernoulli import BernoulliEnvironment
from matroid_bandits.environments._beta import BetaEnvironment
from matroid_bandits.environments._contextual import ContextualEnvironment
from matroid_bandits.environments._delayed import DelayedEnvironment
from matroid_bandits.environments._drifting import DriftingEnvironment
from matroid_bandits.environments._exponential import ExponentialEnvironment
from matroid_bandits.environments._gaussian import GaussianEnvironment
from matroid_bandits.environments._hooks import availability_of, delays_of, features_of, means_of
from matroid_bandits.environments._labels import check_labels
from matroid_bandits.environments._linear import LinearEnvironment
from matroid_bandits.environments._lists import CascadeEnvironment, ListEnvironment, PositionEnvironment
from matroid_bandits.environments._phases import PhasesEnvironment
from matroid_bandits.environments._piecewise import PiecewiseEnvironment
from matroid_bandits.environments._row import RowEnvironment
from matroid_bandits.environments._sample import SampleEnvironment
from matroid_bandits.environments._trace import TraceEnvironment
from matroid_bandits.environments._wandering import AutoregressiveEnvironment, RandomWalkEnvironment
from matroid_bandits.environments._wrapper import has_hook

__all__ = [
    "AutoregressiveEnvironment",
    "AvailabilityEnvironment",
    "BernoulliEnvironment",
    "BetaEnvironment",
    "CascadeEnvironment",
    "ContextualEnvironment",
    "DelayedEnvironment",
    "DriftingEnvironment",
    "Environment",
    "ExponentialEnvironment",
    "Family",
    "GaussianEnvironment",
    "LinearEnvironment",
    "ListEnvironment",
    "PhasesEnvironment",
    "PiecewiseEnvironment",
    "PositionEnvironment",
    "RandomWalkEnvironment",
    "RowEnvironment",
    "SampleEnvironment",
    "TraceEnvironment",
    "availability_of",
    "check_labels",
    "delays_of",
    "features_of",
    "has_hook",
    "means_of",
]
