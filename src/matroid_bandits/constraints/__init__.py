"""Sets that are no matroids and whose best ones can be found exactly: matchings, paths, two matroids at once."""

from matroid_bandits.constraints._assignment import AssignmentConstraint
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.constraints._path import PathConstraint
from matroid_bandits.constraints._quotas import QuotaIntersection

__all__ = ["AssignmentConstraint", "ExactConstraint", "PathConstraint", "QuotaIntersection"]
