"""A look for policies that draw from a global random number generator, which no seed sets."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from matroid_bandits.compiled import Settings, Slice
from matroid_bandits.exceptions import RandomnessWarning
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._play import Game


def check_randomness(settings: Settings, policies: Mapping[str, Policy], first: int) -> None:
    """Play an episode of each policy that is not the package's own, and warn where a global generator has moved."""
    one = replace(settings, n_episodes=1, n_runs=1, checkpoints=np.ones(1, np.int64), until=None)
    for name, policy in policies.items():
        if _is_ours(policy):
            continue
        before = _states()
        with suppress(Exception):  # which comes again in the simulation, with a note where it happened
            # with copies, since a user's classes may count their calls
            copies = copy.deepcopy((policy, one))
            Game(Slice(name, copies[0], first, first + 1), copies[1]).play(1, lambda n: False)
        moved = [name for name, state in _states().items() if pickle.dumps(state) != pickle.dumps(before[name])]
        np.random.set_state(before["np.random"])  # noqa: NPY002
        random.setstate(before["random"])
        if moved:
            warnings.warn(
                f"an episode of {name!r} drew from {' and '.join(moved)}, which `seed` does not set, so that results "
                "cannot be repeated; a policy draws from request.stream, an environment from its stream",
                RandomnessWarning,
                stacklevel=3,
            )


def _states() -> dict[str, Any]:
    """The states of the global generators, by their modules."""
    return {"np.random": np.random.get_state(), "random": random.getstate()}  # noqa: NPY002


def _is_ours(thing: object) -> bool:
    """Whether a policy, and those that it is made of, are classes of this package."""
    is_own = type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]
    parts = (part for part in vars(thing).values() if isinstance(part, Policy))
    return is_own and all(map(_is_ours, parts))
