"""Best-basis identification: stopping rules with a bound on the probability of error, and the lower bound on
rounds."""

from matroid_bandits.identification._bound import RoundsBound, rounds_bound
from matroid_bandits.identification._confidence import Confidence, Margin, confidence
from matroid_bandits.identification._endings import Endings
from matroid_bandits.identification._rule import StoppingRule, Threshold, Watch, as_delta

__all__ = [
    "Confidence",
    "Endings",
    "Margin",
    "RoundsBound",
    "StoppingRule",
    "Threshold",
    "Watch",
    "as_delta",
    "confidence",
    "rounds_bound",
]
