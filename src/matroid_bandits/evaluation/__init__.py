"""Off-policy evaluation from a learner's log: inclusion probabilities, estimators and uplift."""

from matroid_bandits.evaluation._companions import CompanionEffect, companion_effect
from matroid_bandits.evaluation._estimators import Decisions, Estimate, Target, estimate
from matroid_bandits.evaluation._evaluate import Evaluation, evaluate
from matroid_bandits.evaluation._inclusion import Inclusion, inclusion_probabilities
from matroid_bandits.evaluation._log import Event, Log, LoggedDecision, read_log
from matroid_bandits.evaluation._matching import matching_replay
from matroid_bandits.evaluation._uplift import Look, Trace, UpliftSequence

__all__ = [
    "CompanionEffect",
    "Decisions",
    "Estimate",
    "Evaluation",
    "Event",
    "Inclusion",
    "Log",
    "LoggedDecision",
    "Look",
    "Target",
    "Trace",
    "UpliftSequence",
    "companion_effect",
    "estimate",
    "evaluate",
    "inclusion_probabilities",
    "matching_replay",
    "read_log",
]
