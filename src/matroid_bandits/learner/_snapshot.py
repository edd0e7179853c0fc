"""A learner as one file: arrays with a JSON header, never code."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util import files
from matroid_bandits.agent import Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import PolicyError, SerializationError
from matroid_bandits.matroids import matroid_from_dict
from matroid_bandits.policies import POLICIES, Policy, Request

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

_FORMAT = "matroid-bandits/learner"
_VERSION = 1


def save(learner: Learner, path: str | PathLike[str]) -> None:
    """Write a learner to one file, atomically."""
    constraint, policy, state = learner.constraint, learner.policy, learner._agent.state
    params = _params(policy)
    arrays = {f"policy/{key}": value for key, value in (params or {}).items() if isinstance(value, np.ndarray)}
    try:
        stored = constraint.to_dict()
    except SerializationError:
        stored = None
    header = {
        "matroid": stored,
        "n_items": constraint.n_items,
        "policy": type(policy).__name__,
        "params": None if params is None else {k: v for k, v in params.items() if not isinstance(v, np.ndarray)},
        "minimize": learner.minimize,
        "seed": learner.seed,
        "episode": learner.n_decisions,
        "open": [
            [id, play.items[0].tolist(), None if play.told is None else play.told.tolist()]
            for id, play in learner._agent.open.items()
        ],
    }
    arrays |= {"counts": state.counts[0], "sums": state.sums[0]}
    arrays |= {f"extra/{key}": value for key, value in state.extra.items()}
    files.save(path, _FORMAT, _VERSION, header, arrays)


def load(
    kind: type[Learner],
    path: str | PathLike[str],
    constraint: Constraint | None,
    policy: Policy | None,
    engine: EngineChoice,
) -> Learner:
    """The learner that `save` wrote."""
    header, arrays = files.load(path, _FORMAT, _VERSION)
    try:
        constraint = _constraint(header, constraint)
        policy = _policy(header, arrays, policy)
        if constraint.n_items != header["n_items"] or type(policy).__name__ != header["policy"]:
            raise SerializationError(
                f"expected a matroid of {header['n_items']} items and a {header['policy']}, "
                f"got {constraint.n_items} items and {policy!r}"
            )
        learner = kind(constraint, policy, minimize=header["minimize"], seed=header["seed"], engine=engine)
        _restore(learner, header, arrays)
    except SerializationError as error:
        raise SerializationError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, MemoryError) as error:
        raise SerializationError(f"{path}: malformed learner: {error}") from error
    return learner


def _params(policy: Policy) -> dict[str, Any] | None:
    """What the policy can be made of again; None where that is not known."""
    if POLICIES.get(type(policy).__name__) is not type(policy):
        return None
    try:
        params = policy.params()
    except PolicyError:
        return None
    return params if all(map(_is_plain, params.values())) else None


def _is_plain(value: Any) -> bool:
    """Whether a parameter can be stored as it is: a plain value, an array, or a list of plain values."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(part) and not isinstance(part, np.ndarray) for part in value)
    return isinstance(value, (str, int, float, bool, np.ndarray)) or value is None


def _constraint(header: Mapping[str, Any], given: Constraint | None) -> Constraint:
    stored = None if header["matroid"] is None else matroid_from_dict(header["matroid"])
    if given is None:
        if stored is None:
            raise SerializationError("the matroid could not be stored; pass it as constraint=...")
        return stored
    if stored is not None and given != stored:
        raise SerializationError(f"expected the matroid that the learner was saved with, got {given!r}")
    return given


def _policy(header: Mapping[str, Any], arrays: Mapping[str, AnyArray], given: Policy | None) -> Policy:
    if given is not None:
        return given
    name = header["policy"]
    if header["params"] is None:
        raise SerializationError(f"the policy {name} could not be stored; pass it as policy=...")
    if name not in POLICIES:
        raise SerializationError(f"the policy {name} is not defined here: import it, or pass it as policy=...")
    return POLICIES[name](**header["params"] | _unprefixed(arrays, "policy/"))


def _restore(learner: Learner, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    state = learner._agent.state
    counts, sums = arrays["counts"], arrays["sums"]
    if (
        _layout(counts) != _layout(state.counts[0])
        or _layout(sums) != _layout(state.sums[0])
        or (counts < 0).any()
        or not np.isfinite(sums).all()
    ):
        raise ValueError("counts and sums do not fit the matroid")
    extra = _unprefixed(arrays, "extra/")
    if {key: _layout(value) for key, value in extra.items()} != {k: _layout(v) for k, v in state.extra.items()}:
        raise ValueError("the policy's arrays do not fit the matroid")
    state.restore(counts, sums)
    for key, value in extra.items():
        state.extra[key][:] = value
    episode = operator.index(header["episode"])
    if not 0 <= episode < learner.MOST_DECISIONS:
        raise ValueError(f"a learner cannot have made {episode} decisions")
    learner._episode = episode
    for id, items, told in header["open"]:
        if (
            not 1 <= operator.index(id) <= episode
            or not isinstance(items, list)
            or (told is not None and len(told) != len(items))
        ):
            raise ValueError("an outstanding decision was never made")
        chosen = learner.constraint.as_items(np.asarray(items))  # numbers, whatever the labels
        request = Request(int(id), learner._stream)
        learner._agent.open[int(id)] = Play(
            request, chosen[None], np.array([chosen.size]), None if told is None else np.array(told, bool)
        )


def _layout(array: AnyArray) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return array.shape, array.dtype


def _unprefixed(arrays: Mapping[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
