"""From what was seen to an index per item: the paper's algorithm, its baselines and its successors."""

from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._baselines import EpsilonGreedy, Optimal, UniformRandom
from matroid_bandits.policies._klosm import KLOSM
from matroid_bandits.policies._linear import CombLinTS, CombLinUCB
from matroid_bandits.policies._omm import OMM
from matroid_bandits.policies._state import State
from matroid_bandits.policies._thompson import ThompsonSampling

#: Policies by the name that stored learners give them.
POLICIES: dict[str, type[Policy]] = {
    policy.__name__: policy
    for policy in (OMM, EpsilonGreedy, UniformRandom, KLOSM, ThompsonSampling, CombLinUCB, CombLinTS)
}

__all__ = [
    "KLOSM",
    "OMM",
    "POLICIES",
    "AffinePolicy",
    "CombLinTS",
    "CombLinUCB",
    "EpsilonGreedy",
    "Optimal",
    "Policy",
    "State",
    "ThompsonSampling",
    "UniformRandom",
]
