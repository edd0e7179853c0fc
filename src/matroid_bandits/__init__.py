"""Matroid bandits: choose a basis of a matroid, see each chosen item's weight, choose better next time.

The constraint is a `Matroid`; the package finds its best basis for known weights, exactly and fast, and learns
it when they are not known (Kveton et al., "Matroid Bandits", UAI 2014).
"""

from matroid_bandits import bounds, exceptions, testing
from matroid_bandits._version import __version__
from matroid_bandits.environments import (
    BernoulliEnvironment,
    BetaEnvironment,
    Environment,
    ExponentialLatency,
    GaussianEnvironment,
    LinearEnvironment,
    RowEnvironment,
    SampleEnvironment,
)
from matroid_bandits.learner import Decision, Learner
from matroid_bandits.matroids import (
    GraphicMatroid,
    LaminarMatroid,
    LinearMatroid,
    Matroid,
    OracleMatroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
    direct_sum,
    matroid_from_dict,
)
from matroid_bandits.policies import (
    KLOMM,
    OMM,
    AffinePolicy,
    CombLinTS,
    CombLinUCB,
    EpsilonGreedy,
    Optimal,
    Policy,
    ThompsonSampling,
    UniformRandom,
)
from matroid_bandits.problem import MatroidBandit, lower_bound_problem
from matroid_bandits.simulation import Simulation, simulate
from matroid_bandits.stream import Stream

__all__ = [
    "KLOMM",
    "OMM",
    "AffinePolicy",
    "BernoulliEnvironment",
    "BetaEnvironment",
    "CombLinTS",
    "CombLinUCB",
    "Decision",
    "Environment",
    "EpsilonGreedy",
    "ExponentialLatency",
    "GaussianEnvironment",
    "GraphicMatroid",
    "LaminarMatroid",
    "Learner",
    "LinearEnvironment",
    "LinearMatroid",
    "Matroid",
    "MatroidBandit",
    "Optimal",
    "OracleMatroid",
    "PartitionMatroid",
    "Policy",
    "RowEnvironment",
    "SampleEnvironment",
    "Simulation",
    "Stream",
    "ThompsonSampling",
    "TransversalMatroid",
    "UniformMatroid",
    "UniformRandom",
    "__version__",
    "bounds",
    "direct_sum",
    "exceptions",
    "lower_bound_problem",
    "matroid_from_dict",
    "simulate",
    "testing",
]
