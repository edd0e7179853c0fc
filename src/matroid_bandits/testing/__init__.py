"""Checks that a user's own matroid, policy or environment keeps what the rest of the package relies on."""

from matroid_bandits.testing._environment import check_environment
from matroid_bandits.testing._matroid import EXHAUSTIVE_ITEMS, check_matroid
from matroid_bandits.testing._policy import check_policy

__all__ = ["EXHAUSTIVE_ITEMS", "check_environment", "check_matroid", "check_policy"]
