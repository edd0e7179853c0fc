"""Conformance tests for a user's matroids, constraints, policies, environments and engines: a suite for each kind.

Derive a test class from a suite, or call a function ``check_...``, which runs all its tests. No test runner is
needed.
"""

from matroid_bandits.testing._constraint import EXHAUSTIVE_ITEMS, ConstraintSuite, check_constraint
from matroid_bandits.testing._engine import EngineSuite, check_engine
from matroid_bandits.testing._environment import EnvironmentSuite, check_environment
from matroid_bandits.testing._matroid import MatroidSuite, check_matroid
from matroid_bandits.testing._policy import PolicySuite, check_policy
from matroid_bandits.testing._suite import Suite

__all__ = [
    "EXHAUSTIVE_ITEMS",
    "ConstraintSuite",
    "EngineSuite",
    "EnvironmentSuite",
    "MatroidSuite",
    "PolicySuite",
    "Suite",
    "check_constraint",
    "check_engine",
    "check_environment",
    "check_matroid",
    "check_policy",
]
