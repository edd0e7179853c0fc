"""Which engine serves which constraint and policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._base import Engine, GreedyEngine, OwnSetsEngine
from matroid_bandits.engines._classes import CountClassesEngine
from matroid_bandits.engines._kept_order import WarmEngine
from matroid_bandits.engines._kinetic import KineticEngine
from matroid_bandits.engines._threshold import ThresholdEngine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, State

#: Engines by the name that simulations and learners take.
ENGINES: dict[str, type[Engine]] = {
    "greedy": GreedyEngine,
    "warm": WarmEngine,
    "kinetic": KineticEngine,
    "classes": CountClassesEngine,
    "threshold": ThresholdEngine,
}


#: The name of an engine, or what makes one of a constraint, a policy and a state.
EngineChoice = str | Callable[[Any, Policy, State], Engine]


def make_engine(name: EngineChoice, constraint: Constraint, policy: Policy, state: State) -> Engine:
    """Make the engine called `name`, the fastest one that fits for "auto", or one of the given class.

    Raises
    ------
    PolicyError
        There is no such engine, or it does not fit.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.engines import make_engine
    >>> matroid, policy = mb.UniformMatroid(100_000, 10), mb.OMM()
    >>> type(make_engine("auto", matroid, policy, mb.State(matroid, n_runs=1))).__name__
    'KineticEngine'
    """
    if policy.chooses_sets:
        if name in ("auto", "greedy"):
            return OwnSetsEngine(constraint, policy, state)
        raise PolicyError(f'expected engine to be "auto" for {policy!r}, which chooses sets itself; got {name!r}')
    if name == "auto":
        name = _fastest(constraint, policy)
        if name == "kinetic":
            return KineticEngine(constraint, policy, state, may_rest=True)
        if name == "classes":
            return CountClassesEngine(constraint, policy, state, may_rest=True)
    if callable(name):
        return name(constraint, policy, state)
    if not isinstance(name, str) or name not in ENGINES:
        raise PolicyError(f"expected engine to be one of auto, {', '.join(ENGINES)}; got {name!r}")
    return ENGINES[name](constraint, policy, state)


def _fastest(constraint: Constraint, policy: Policy) -> str:
    """The engine that measurements favour (see `benchmarks`): memory pays only while indices move slowly."""
    if KineticEngine.fits(constraint, policy) and constraint.n_items >= KineticEngine.LEAST_ITEMS:
        return "kinetic"
    if CountClassesEngine.pays(policy, constraint.n_items) and CountClassesEngine.fits(constraint, policy):
        return "classes"
    if ThresholdEngine.fits(constraint):
        return "threshold"
    if policy.affine is None or not isinstance(constraint, Matroid) or KineticEngine.fits(constraint, policy):
        return "greedy"
    return "warm" if _is_small(constraint) else "greedy"


def _is_small(matroid: Matroid) -> bool:
    """Whether few items may be chosen or not; where the rank tells, the items in every basis are not looked for."""
    n_loops = matroid.span(np.empty(0, np.int64)).sum() if matroid.has_quick_coloops else 0
    if matroid.n_items - n_loops - matroid.rank > WarmEngine.MOST_ITEMS:
        return False
    return matroid.reduction()[1].size <= WarmEngine.MOST_ITEMS
