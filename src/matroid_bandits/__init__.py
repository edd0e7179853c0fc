"""Matroid bandits: choose a basis of a matroid, observe each chosen item's weight, and learn to choose better.

The constraint is a `Matroid`; the package finds its best basis for known weights, exactly and fast, and learns
it when they are not known (Kveton et al., "Matroid Bandits", UAI 2014).
"""

from typing import TYPE_CHECKING, Any

from matroid_bandits._version import __version__

if TYPE_CHECKING:
    from matroid_bandits import bounds, compiled, evaluation, exceptions, gpu, testing
    from matroid_bandits.client import AsyncClient, Client
    from matroid_bandits.constraint import Constraint, constraint_from_dict
    from matroid_bandits.constraints import (
        ArborescenceConstraint,
        AssignmentConstraint,
        ExplicitSets,
        KnapsackConstraint,
        MatroidIntersection,
        PathConstraint,
        QuotaIntersection,
    )
    from matroid_bandits.environments import (
        AutoregressiveEnvironment,
        AvailabilityEnvironment,
        BernoulliEnvironment,
        BetaEnvironment,
        CascadeEnvironment,
        ContextualEnvironment,
        DelayedEnvironment,
        DriftingEnvironment,
        Environment,
        ExponentialEnvironment,
        GaussianEnvironment,
        LinearEnvironment,
        PhasesEnvironment,
        PiecewiseEnvironment,
        PositionEnvironment,
        RandomWalkEnvironment,
        RowEnvironment,
        SampleEnvironment,
        TraceEnvironment,
    )
    from matroid_bandits.evaluation import read_log
    from matroid_bandits.exceptions import MatroidBanditsError
    from matroid_bandits.identification import (
        Confidence,
        Endings,
        Margin,
        RoundsBound,
        StoppingRule,
        rounds_bound,
    )
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
        CLUCB,
        CUSUM,
        ESCB,
        FPL,
        KLOSM,
        MOSS,
        OMM,
        UCBV,
        AffinePolicy,
        Budget,
        CombLinTS,
        CombLinUCB,
        Detector,
        DiscountedOMM,
        DiscountedThompson,
        EpsilonGreedy,
        ExposureFloors,
        Feedback,
        FixedSet,
        Hybrid,
        KLUCBPlusPlus,
        Memory,
        Plays,
        Policy,
        PolicyWrapper,
        PositionBias,
        Request,
        Restarting,
        SingleSeedThompson,
        SlidingWindowOMM,
        SoftMinimum,
        Spending,
        State,
        Steady,
        ThompsonSampling,
        UniformRandom,
        policy_from_dict,
        policy_to_dict,
    )
    from matroid_bandits.problem import Problem, lower_bound_problem
    from matroid_bandits.simulation import (
        Identification,
        SimulationResult,
        Sweep,
        Worlds,
        identify,
        simulate,
        sweep,
    )
    from matroid_bandits.stream import Stream
    from matroid_bandits.warming import warm_up

__all__ = [
    "AROQ",
    "BGCTS",
    "CLSG",
    "CLUCB",
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
    "Budget",
    "CascadeEnvironment",
    "Client",
    "CombLinTS",
    "CombLinUCB",
    "Confidence",
    "Constraint",
    "ContextualEnvironment",
    "Decision",
    "DelayedEnvironment",
    "Detector",
    "DiscountedOMM",
    "DiscountedThompson",
    "DriftingEnvironment",
    "Endings",
    "Environment",
    "EpsilonGreedy",
    "Estimates",
    "Explanation",
    "ExplicitSets",
    "ExponentialEnvironment",
    "ExposureFloors",
    "Feedback",
    "FixedSet",
    "Forced",
    "GaussianEnvironment",
    "GraphicMatroid",
    "Holdout",
    "Hybrid",
    "Identification",
    "KLUCBPlusPlus",
    "KnapsackConstraint",
    "LaminarMatroid",
    "Learner",
    "LinearEnvironment",
    "LinearMatroid",
    "Margin",
    "Matroid",
    "MatroidBanditsError",
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
    "PositionBias",
    "PositionEnvironment",
    "Problem",
    "QuotaIntersection",
    "RandomWalkEnvironment",
    "Request",
    "Restarting",
    "RoundsBound",
    "RowEnvironment",
    "SampleEnvironment",
    "SimulationResult",
    "SingleSeedThompson",
    "SlidingWindowOMM",
    "SoftMinimum",
    "Spending",
    "State",
    "Steady",
    "StoppingRule",
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
    "identify",
    "lower_bound_problem",
    "policy_from_dict",
    "policy_to_dict",
    "read_log",
    "rounds_bound",
    "simulate",
    "sweep",
    "testing",
    "warm_up",
]

#: The public names by the module that has them. They are imported when they are first used, so that
#: `import matroid_bandits` waits neither for Numba nor for a module that the program does not need.
_NAMES = {
    "client": "AsyncClient Client",
    "constraint": "Constraint constraint_from_dict",
    "constraints": """
        ArborescenceConstraint AssignmentConstraint ExplicitSets KnapsackConstraint MatroidIntersection
        PathConstraint QuotaIntersection
    """,
    "environments": """
        AutoregressiveEnvironment AvailabilityEnvironment BernoulliEnvironment BetaEnvironment
        CascadeEnvironment ContextualEnvironment DelayedEnvironment DriftingEnvironment Environment
        ExponentialEnvironment GaussianEnvironment LinearEnvironment PhasesEnvironment PiecewiseEnvironment
        PositionEnvironment RandomWalkEnvironment RowEnvironment SampleEnvironment TraceEnvironment
    """,
    "evaluation": "read_log",
    "exceptions": "MatroidBanditsError",
    "identification": "Confidence Endings Margin RoundsBound StoppingRule rounds_bound",
    "learner": "BestSet Decision Estimates Explanation Forced Holdout Learner",
    "matroids": """
        GraphicMatroid LaminarMatroid LinearMatroid Matroid OracleMatroid PartitionMatroid TransversalMatroid
        UniformMatroid direct_sum
    """,
    "policies": """
        AROQ BGCTS CLSG CLUCB CUSUM ESCB FPL KLOSM MOSS OMM UCBV AffinePolicy Budget CombLinTS CombLinUCB Detector
        DiscountedOMM DiscountedThompson EpsilonGreedy ExposureFloors Feedback FixedSet Hybrid KLUCBPlusPlus
        Memory Plays Policy PolicyWrapper PositionBias Request Restarting SingleSeedThompson SlidingWindowOMM
        SoftMinimum Spending State Steady ThompsonSampling UniformRandom policy_from_dict policy_to_dict
    """,
    "problem": "Problem lower_bound_problem",
    "simulation": "Identification SimulationResult Sweep Worlds identify simulate sweep",
    "stream": "Stream",
    "warming": "warm_up",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # where names are checked, those that the package does not have are errors

    def __getattr__(name: str) -> Any:
        """Import a public name, or a module of the package, when it is first used."""
        from importlib import import_module
        from importlib.util import find_spec

        if name in _MODULE_OF:
            value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        elif name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        elif name.isidentifier() and find_spec(f"{__name__}.{name}"):
            value = import_module(f"{__name__}.{name}")
        else:
            from matroid_bandits._util.literature import known_as

            hint = f": {other}" if (other := known_as(name)) else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        globals()[name] = value
        return value
