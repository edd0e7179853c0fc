"""Constraints that are not matroids and have exact solvers: matchings, paths, trees, matroid intersections,
budgets, explicit sets."""

from matroid_bandits.constraints._arborescence import ArborescenceConstraint
from matroid_bandits.constraints._assignment import AssignmentConstraint
from matroid_bandits.constraints._edited import edited
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.constraints._explicit import ExplicitSets
from matroid_bandits.constraints._intersection import MatroidIntersection
from matroid_bandits.constraints._knapsack import KnapsackConstraint
from matroid_bandits.constraints._path import PathConstraint
from matroid_bandits.constraints._product import ProductConstraint, list_constraint
from matroid_bandits.constraints._quotas import QuotaIntersection

__all__ = [
    "ArborescenceConstraint",
    "AssignmentConstraint",
    "ExactConstraint",
    "ExplicitSets",
    "KnapsackConstraint",
    "MatroidIntersection",
    "PathConstraint",
    "ProductConstraint",
    "QuotaIntersection",
    "edited",
    "list_constraint",
]
