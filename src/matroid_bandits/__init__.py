"""Matroid bandits: choose a basis of a matroid, see each chosen item's weight, choose better next time.

The constraint is a `Matroid`; the package finds its best basis for known weights, exactly and fast, and learns
it when they are not known (Kveton et al., "Matroid Bandits", UAI 2014).
"""

from typing import TYPE_CHECKING, Any

from matroid_bandits import bounds, compiled, evaluation, exceptions, gpu, testing
from matroid_bandits._version import __version__
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.constraints import (
    ArborescenceConstraint,
    AssignmentConstraint,
    ExplicitSets,
    MatroidIntersection,
    PathConstraint,
    QuotaIntersection,
)
from matroid_bandits.environments import (
    AutoregressiveEnvironment,
    AvailabilityEnvironment,
    BernoulliEnvironment,
    BetaEnvironment,
    ContextualEnvironment,
    DelayedEnvironment,
    DriftingEnvironment,
    Environment,
    ExponentialEnvironment,
    GaussianEnvironment,
    LinearEnvironment,
    PhasesEnvironment,
    PiecewiseEnvironment,
    RandomWalkEnvironment,
    RowEnvironment,
    SampleEnvironment,
    TraceEnvironment,
)
from matroid_bandits.evaluation import read_log
from matroid_bandits.learner import BestSet, Decision, Estimates, Explanation, Forced, Holdout, Learner
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
)
from matroid_bandits.policies import (
    AROQ,
    BGCTS,
    CLSG,
    CUSUM,
    ESCB,
    FPL,
    KLOSM,
    MOSS,
    OMM,
    UCBV,
    AffinePolicy,
    CombLinTS,
    CombLinUCB,
    Detector,
    DiscountedOMM,
    DiscountedThompson,
    EpsilonGreedy,
    Feedback,
    FixedSet,
    Hybrid,
    KLUCBPlusPlus,
    Memory,
    Plays,
    Policy,
    PolicyWrapper,
    Request,
    Restarting,
    SingleSeedThompson,
    SlidingWindowOMM,
    State,
    ThompsonSampling,
    UniformRandom,
    known_as,
    policy_from_dict,
    policy_to_dict,
)
from matroid_bandits.problem import Problem, lower_bound_problem
from matroid_bandits.simulation import SimulationResult, Sweep, Worlds, simulate, sweep
from matroid_bandits.stream import Stream

if TYPE_CHECKING:
    from matroid_bandits.client import AsyncClient, Client

__all__ = [
    "AROQ",
    "BGCTS",
    "CLSG",
    "CUSUM",
    "ESCB",
    "FPL",
    "KLOSM",
    "MOSS",
    "OMM",
    "UCBV",
    "AffinePolicy",
    "ArborescenceConstraint",
    "AssignmentConstraint",
    "AsyncClient",
    "AutoregressiveEnvironment",
    "AvailabilityEnvironment",
    "BernoulliEnvironment",
    "BestSet",
    "BetaEnvironment",
    "Client",
    "CombLinTS",
    "CombLinUCB",
    "Constraint",
    "ContextualEnvironment",
    "Decision",
    "DelayedEnvironment",
    "Detector",
    "DiscountedOMM",
    "DiscountedThompson",
    "DriftingEnvironment",
    "Environment",
    "EpsilonGreedy",
    "Estimates",
    "Explanation",
    "ExplicitSets",
    "ExponentialEnvironment",
    "Feedback",
    "FixedSet",
    "Forced",
    "GaussianEnvironment",
    "GraphicMatroid",
    "Holdout",
    "Hybrid",
    "KLUCBPlusPlus",
    "LaminarMatroid",
    "Learner",
    "LinearEnvironment",
    "LinearMatroid",
    "Matroid",
    "MatroidIntersection",
    "Memory",
    "OracleMatroid",
    "PartitionMatroid",
    "PathConstraint",
    "PhasesEnvironment",
    "PiecewiseEnvironment",
    "Plays",
    "Policy",
    "PolicyWrapper",
    "Problem",
    "QuotaIntersection",
    "RandomWalkEnvironment",
    "Request",
    "Restarting",
    "RowEnvironment",
    "SampleEnvironment",
    "SimulationResult",
    "SingleSeedThompson",
    "SlidingWindowOMM",
    "State",
    "Stream",
    "Sweep",
    "ThompsonSampling",
    "TraceEnvironment",
    "TransversalMatroid",
    "UniformMatroid",
    "UniformRandom",
    "Worlds",
    "__version__",
    "bounds",
    "compiled",
    "constraint_from_dict",
    "direct_sum",
    "evaluation",
    "exceptions",
    "gpu",
    "lower_bound_problem",
    "policy_from_dict",
    "policy_to_dict",
    "read_log",
    "simulate",
    "sweep",
    "testing",
]


def __getattr__(name: str) -> Any:
    """The clients, which need httpx, are imported when they are first used."""
    if name in ("AsyncClient", "Client"):
        from matroid_bandits import client

        return getattr(client, name)
    hint = f": {other}" if (other := known_as(name)) else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
