"""What simulations cost, about: the one table of estimates by which it is chosen who plays, and how jobs are cut.

The figures are processor time on one core of a server of 2024. They decide when results are there, never what they
are; an `Agent` that is slower or faster than estimated is measured while it plays (see `Rival`).
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

from matroid_bandits.compiled._kernels import KERNELS
from matroid_bandits.kernels.compiling import seconds_compiling
from matroid_bandits.problem import Problem


class KernelCost(NamedTuple):
    """Seconds that it takes to load a kernel of whole episodes from disk, and to compile it."""

    load: float
    compile: float


#: The large kernels, which play every policy in every world, by name.
KERNEL_COSTS = {name: KernelCost(0.1, 15.0) for name in KERNELS if name.endswith("_any")}

#: Of small kernels.
_OTHER = KernelCost(0.1, 8.0)

#: Seconds that Numba takes to be imported and to set up its compiler, before the first kernel of a process.
_NUMBA_S = 1.0

#: Seconds of an `Agent`'s episode: of each slice, in Python; and of each of its runs, times the cube root of the
#: number of items, which fits 100 items (3.6 us) as well as 500,000 (50 us).
_EPISODE_S, _RUN_S = 1e-5, 8e-7

#: Seconds of a compiled episode for each of an `Agent`'s run.
COMPILED_SHARE = 0.53


def kernel_cost(kernel: str) -> KernelCost:
    """What a kernel costs in this process."""
    cost = KERNEL_COSTS.get(kernel, _OTHER)
    return cost if "numba" in sys.modules else KernelCost(cost.load + _NUMBA_S, cost.compile)


def agent_seconds(problem: Problem, n_runs: int) -> float:
    """Seconds that an `Agent` takes for an episode of `n_runs` runs at once, on one core."""
    return _EPISODE_S + n_runs * _RUN_S * float(problem.n_items ** (1 / 3))


def compiled_seconds(problem: Problem, n_runs: int) -> float:
    """Seconds that a kernel takes for an episode of `n_runs` runs, on one core."""
    return COMPILED_SHARE * (agent_seconds(problem, n_runs) - _EPISODE_S)


def playing_time() -> float:
    """Seconds of this thread's clock without those of the compiler; differences of two calls have a meaning."""
    return time.perf_counter() - seconds_compiling()
