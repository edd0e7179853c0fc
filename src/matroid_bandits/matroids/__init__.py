"""Matroids: the common families, and operations that make new matroids from given ones."""

from matroid_bandits.matroids._base import Matroid
from matroid_bandits.matroids._exchanges import Exchanges
from matroid_bandits.matroids._graphic import GraphicMatroid
from matroid_bandits.matroids._laminar import LaminarMatroid
from matroid_bandits.matroids._linear import LinearMatroid
from matroid_bandits.matroids._operations import (
    Contraction,
    DirectSum,
    Dual,
    Restriction,
    Truncation,
    direct_sum,
)
from matroid_bandits.matroids._oracle import OracleMatroid
from matroid_bandits.matroids._partition import PartitionMatroid
from matroid_bandits.matroids._transversal import TransversalMatroid
from matroid_bandits.matroids._uniform import UniformMatroid

__all__ = [
    "Contraction",
    "DirectSum",
    "Dual",
    "Exchanges",
    "GraphicMatroid",
    "LaminarMatroid",
    "LinearMatroid",
    "Matroid",
    "OracleMatroid",
    "PartitionMatroid",
    "Restriction",
    "TransversalMatroid",
    "Truncation",
    "UniformMatroid",
    "direct_sum",
]
