"""Sets that are no matroids and whose best ones can be found exactly: matchings, paths, two matroids at once."""

from matroid_bandits.constraints._arborescence import ArborescenceConstraint
from matroid_bandits.constraints._assignment import AssignmentConstraint
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.constraints._explicit import ExplicitSets
from matroid_bandits.constraints._intersection import MatroidIntersection
from matroid_bandits.constraints._path import PathConstraint
from matroid_bandits.constraints._quotas import QuotaIntersection

__all__ = [
    "ArborescenceConstraint",
    "AssignmentConstraint",
    "ExactConstraint",
    "ExplicitSets",
    "MatroidIntersection",
    "PathConstraint",
    "QuotaIntersection",
]
