"""What another policy would have earned: inclusion probabilities, estimators and uplift from a learner's log."""

from matroid_bandits.evaluation._estimators import Decisions, Estimate, Target, estimate
from matroid_bandits.evaluation._inclusion import Inclusion, inclusion_probabilities
from matroid_bandits.evaluation._uplift import Look, UpliftSequence

__all__ = [
    "Decisions",
    "Estimate",
    "Inclusion",
    "Look",
    "Target",
    "UpliftSequence",
    "estimate",
    "inclusion_probabilities",
]
