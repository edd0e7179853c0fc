"""Where the weights w_t come from: one file per distribution, behind one small interface."""

from matroid_bandits.environments._availability import AvailabilityEnvironment
from matroid_bandits.environments._base import Environment, availability_of, delays_of
from matroid_bandits.environments._bernoulli import BernoulliEnvironment
from matroid_bandits.environments._beta import BetaEnvironment
from matroid_bandits.environments._delayed import DelayedEnvironment
from matroid_bandits.environments._exponential import ExponentialEnvironment
from matroid_bandits.environments._gaussian import GaussianEnvironment
from matroid_bandits.environments._linear import LinearEnvironment
from matroid_bandits.environments._row import RowEnvironment
from matroid_bandits.environments._sample import SampleEnvironment

__all__ = [
    "AvailabilityEnvironment",
    "BernoulliEnvironment",
    "BetaEnvironment",
    "DelayedEnvironment",
    "Environment",
    "ExponentialEnvironment",
    "GaussianEnvironment",
    "LinearEnvironment",
    "RowEnvironment",
    "SampleEnvironment",
    "availability_of",
    "delays_of",
]
