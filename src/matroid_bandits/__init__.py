"""Matroid bandits: choose a basis of a matroid, see each chosen item's weight, choose better next time.

The constraint is a `Matroid`; the package finds its best basis for known weights, exactly and fast, and learns
it when they are not known (Kveton et al., "Matroid Bandits", UAI 2014).
"""

from matroid_bandits import exceptions, testing
from matroid_bandits.matroids import (
    GraphicMatroid,
    LaminarMatroid,
    LinearMatroid,
    Matroid,
    OracleMatroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
    direct_sum,
    matroid_from_dict,
)

__version__ = "0.1.0"

__all__ = [
    "exceptions",
    "GraphicMatroid",
    "LaminarMatroid",
    "LinearMatroid",
    "Matroid",
    "OracleMatroid",
    "PartitionMatroid",
    "TransversalMatroid",
    "UniformMatroid",
    "direct_sum",
    "matroid_from_dict",
    "testing",
]
