"""Simulations on a GPU: which ones fit, and how they are played; numba-cuda is imported on first use."""

from matroid_bandits.gpu._cuda import Device, find_device
from matroid_bandits.gpu._explain import LEAST_EPISODES, explain, obstacle
from matroid_bandits.gpu._play import play

__all__ = ["LEAST_EPISODES", "Device", "explain", "find_device", "obstacle", "play"]
