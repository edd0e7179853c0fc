"""The live learner: ask for a set, act on it, tell the observed weights."""

from matroid_bandits.learner._answers import KINDS, Answers, Kind
from matroid_bandits.learner._book import Untold
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._explanation import BestSet, Estimates, Explanation, Forced
from matroid_bandits.learner._holdout import Holdout
from matroid_bandits.learner._learner import Default, Learner
from matroid_bandits.learner._order import Order
from matroid_bandits.learner._seen import UNSAID

__all__ = [
    "KINDS",
    "UNSAID",
    "Answers",
    "BestSet",
    "Decision",
    "Default",
    "Estimates",
    "Explanation",
    "Forced",
    "Holdout",
    "Kind",
    "Learner",
    "Order",
    "Untold",
]
