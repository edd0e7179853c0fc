"""Engines: algorithms that find the greedy basis of each episode; all make the same decisions at different speeds."""

from matroid_bandits.engines._base import Engine, GreedyEngine
from matroid_bandits.engines._classes import CountClassesEngine
from matroid_bandits.engines._kept_order import WarmEngine
from matroid_bandits.engines._kinetic import KineticEngine
from matroid_bandits.engines._select import ENGINES, EngineChoice, make_engine
from matroid_bandits.engines._threshold import ThresholdEngine

__all__ = [
    "ENGINES",
    "CountClassesEngine",
    "Engine",
    "EngineChoice",
    "GreedyEngine",
    "KineticEngine",
    "ThresholdEngine",
    "WarmEngine",
    "make_engine",
]
