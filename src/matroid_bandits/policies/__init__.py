"""Policies: OMM, its baselines and its successors; each maps the feedback so far to an index per item."""

from matroid_bandits.policies._aroq import AROQ
from matroid_bandits.policies._base import POLICIES, AffinePolicy, Policy, as_policy, check_takes
from matroid_bandits.policies._baselines import EpsilonGreedy, FixedSet, UniformRandom
from matroid_bandits.policies._bgcts import BGCTS
from matroid_bandits.policies._budget import Budget
from matroid_bandits.policies._clsg import CLSG
from matroid_bandits.policies._detectors import CUSUM, DETECTORS, Detector
from matroid_bandits.policies._discounted import DiscountedOMM
from matroid_bandits.policies._escb import ESCB, Certified
from matroid_bandits.policies._evaluate import (
    FREE,
    as_rows,
    available_of,
    choose_sets,
    coefficient,
    counted,
    evaluate,
    solve,
    wrong_sets,
)
from matroid_bandits.policies._floors import ExposureFloors, check_floors
from matroid_bandits.policies._fpl import FPL
from matroid_bandits.policies._hybrid import Hybrid
from matroid_bandits.policies._identifying import CLUCB, SoftMinimum
from matroid_bandits.policies._json import policy_from_dict, policy_to_dict
from matroid_bandits.policies._klosm import KLOSM
from matroid_bandits.policies._klucb import KLUCBPlusPlus
from matroid_bandits.policies._linear import CombLinTS, CombLinUCB
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._moss import MOSS
from matroid_bandits.policies._omm import OMM, scale_problem
from matroid_bandits.policies._position_bias import PositionBias
from matroid_bandits.policies._promises import check_memory, check_unchanged, copies_of, is_ours
from matroid_bandits.policies._request import Feedback, Plays, Request, Spending
from matroid_bandits.policies._restarting import Restarting
from matroid_bandits.policies._single_seed import SingleSeedThompson
from matroid_bandits.policies._state import State
from matroid_bandits.policies._steady import Steady
from matroid_bandits.policies._thompson import DiscountedThompson, ThompsonSampling
from matroid_bandits.policies._ucbv import UCBV
from matroid_bandits.policies._window import SlidingWindowOMM
from matroid_bandits.policies._wrapper import PolicyWrapper

__all__ = [
    "AROQ",
    "BGCTS",
    "CLSG",
    "CLUCB",
    "CUSUM",
    "DETECTORS",
    "ESCB",
    "FPL",
    "FREE",
    "KLOSM",
    "MOSS",
    "OMM",
    "POLICIES",
    "UCBV",
    "AffinePolicy",
    "Budget",
    "Certified",
    "CombLinTS",
    "CombLinUCB",
    "Detector",
    "DiscountedOMM",
    "DiscountedThompson",
    "EpsilonGreedy",
    "ExposureFloors",
    "Feedback",
    "FixedSet",
    "Hybrid",
    "KLUCBPlusPlus",
    "Memory",
    "Plays",
    "Policy",
    "PolicyWrapper",
    "PositionBias",
    "Request",
    "Restarting",
    "SingleSeedThompson",
    "SlidingWindowOMM",
    "SoftMinimum",
    "Spending",
    "State",
    "Steady",
    "ThompsonSampling",
    "UniformRandom",
    "as_policy",
    "as_rows",
    "available_of",
    "check_floors",
    "check_memory",
    "check_takes",
    "check_unchanged",
    "choose_sets",
    "coefficient",
    "copies_of",
    "counted",
    "evaluate",
    "is_ours",
    "policy_from_dict",
    "policy_to_dict",
    "scale_problem",
    "solve",
    "wrong_sets",
]
