"""A learner as one file: arrays with a JSON header, never code. `_validate` says what such a file may hold."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._util import archives
from matroid_bandits._util.archives import PLAIN_KINDS, Archive, Layout
from matroid_bandits._util.names import encode
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import PolicyError, SerializationError
from matroid_bandits.learner import _validate
from matroid_bandits.matroids import matroid_from_dict
from matroid_bandits.policies import POLICIES, Policy
from matroid_bandits.stream import Stream

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

_FORMAT = "matroid-bandits/learner"
_VERSION = 1


def save(learner: Learner, path: str | PathLike[str]) -> None:
    """Write a learner to one file, atomically, unless it is one that `load` would refuse."""
    constraint, policy, state = learner.constraint, learner.policy, learner._agent.state
    params = _params(policy)
    arrays = {f"policy/{key}": value for key, value in (params or {}).items() if isinstance(value, np.ndarray)}
    header = {
        "matroid": _form(constraint),
        "n_items": constraint.n_items,
        "policy": type(policy).__name__,
        "params": None if params is None else {k: v for k, v in params.items() if not isinstance(v, np.ndarray)},
        "minimize": learner.minimize,
        "seed": learner.seed,
        "episode": learner.n_decisions,
        "open": [
            [id, play.items[0].tolist(), None if told is None else told.tolist()]
            for id, (play, told) in learner._open.items()
        ],
    }
    if header["matroid"] is None:
        header["fingerprint"] = _fingerprint(constraint)
    arrays |= {"counts": state.counts[0], "sums": state.sums[0]}
    arrays |= {f"extra/{key}": value for key, value in state.extra.items()}
    with archives.malformed("learner"):
        layouts = {name: Layout.of(array) for name, array in arrays.items()}
        _validate.check_extra(layouts, policy, constraint, learner.minimize)
        _validate.check_statistics(state.counts[0], state.sums[0], policy, learner.minimize)
        policy.check_extra(state)
    archives.save(path, _FORMAT, _VERSION, header, arrays)


def load(
    kind: type[Learner],
    path: str | PathLike[str],
    constraint: Constraint | None,
    policy: Policy | None,
    engine: EngineChoice,
) -> Learner:
    """The learner that `save` wrote."""
    with archives.reading(path, _FORMAT, _VERSION) as archive:
        header, layouts = archive.header, archive.layouts
        with archives.malformed("learner"):
            _validate.check_header(header)
            _validate.check_layouts(layouts, header["n_items"])
            constraint = _constraint(header, constraint)
            policy = _policy(header, archive, constraint, policy)
            policy.check(constraint)
            _validate.check_extra(layouts, policy, constraint, header["minimize"])
            _validate.check_sets(header["open"], constraint)
            arrays = archive.read()
            _validate.check_statistics(arrays["counts"], arrays["sums"], policy, header["minimize"])
        learner = kind(constraint, policy, minimize=header["minimize"], seed=header["seed"], engine=engine)
        state = learner._agent.state
        state.restore(arrays["counts"], arrays["sums"])
        for key, array in state.extra.items():
            array[:] = arrays[f"extra/{key}"]
        with archives.malformed("learner"):
            policy.check_extra(state)
    learner._episode = header["episode"]
    for id, items, told in header["open"]:
        play = learner._play(id, np.array(items, np.int64))
        learner._open[id] = (play, None if told is None else np.array(told, bool))
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
    """Whether a parameter can be stored as it is: a plain value, an array of them, or a list of plain values."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in PLAIN_KINDS
    if isinstance(value, (list, tuple)):
        return all(_is_plain(part) and not isinstance(part, np.ndarray) for part in value)
    return value is None or isinstance(value, (str, int, float, bool))


def _is_same(own: Any, stored: Any) -> bool:
    """Whether a parameter is the one that was stored, in which tuples have become lists."""
    if isinstance(own, np.ndarray) or isinstance(stored, np.ndarray):
        return np.array_equal(own, stored)
    return _is_plain(own) and bool(json.loads(json.dumps(own)) == stored)


def _form(constraint: Constraint) -> dict[str, Any] | None:
    """The constraint as JSON; None where it is code."""
    try:
        return constraint.to_dict()
    except SerializationError:
        return None


def _fingerprint(constraint: Constraint) -> str:
    """What tells a constraint that cannot be stored from others: its labels, and the best sets for random weights."""
    items, sizes = constraint.best_sets(Stream(0, range(4)).uniform(0, np.arange(constraint.n_items)))
    sets = [row[:size] for row, size in zip(items.tolist(), sizes.tolist(), strict=True)]
    labels = []
    for label in constraint.labels if constraint.has_labels else ():
        try:
            labels.append(encode(label, "label"))
        except SerializationError:  # an object, which nothing is known of from one process to the next
            labels.append(None)
    return hashlib.sha256(json.dumps([constraint.n_items, labels, sets]).encode()).hexdigest()


def _constraint(header: Mapping[str, Any], given: Constraint | None) -> Constraint:
    form, n_items = header["matroid"], header["n_items"]
    stored = None if form is None else matroid_from_dict(form)
    if stored is not None and stored.n_items != n_items:
        raise SerializationError(f"expected a matroid of {n_items} items, got {stored!r}")
    if given is None:
        if stored is None:
            raise SerializationError("the matroid could not be stored; pass it as constraint=...")
        return stored
    mark = header.get("fingerprint")
    is_other = given != stored if stored is not None else mark is not None and mark != _fingerprint(given)
    if is_other and given.n_items == n_items:
        raise SerializationError(f"expected the matroid that the learner was saved with, got {given!r}")
    return given


def _policy(header: Mapping[str, Any], archive: Archive, constraint: Constraint, given: Policy | None) -> Policy:
    name, params, n_items = header["policy"], header["params"], header["n_items"]
    arrays = {key for key in archive.layouts if key.startswith("policy/")}
    if params is None and given is None:
        raise SerializationError(f"the policy {name} could not be stored; pass it as policy=...")
    if name not in POLICIES and given is None:
        raise SerializationError(f"the policy {name} is not defined here: import it, or pass it as policy=...")
    kind = POLICIES[name] if given is None else type(given)
    if kind.__name__ != name or constraint.n_items != n_items:
        raise SerializationError(
            f"expected a matroid of {n_items} items and a {name}, got {constraint.n_items} items and {given!r}"
        )
    known = inspect.signature(kind).parameters if params is not None else {}
    takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for key in arrays:
        if key.removeprefix("policy/") not in known and not takes_any:
            raise ValueError(f"{name} got an unexpected keyword argument, the array {key!r}")
    if params is None:
        assert given is not None
        return given
    stored = params | archive.read("policy/")
    if given is None:
        return kind(**stored)
    with contextlib.suppress(PolicyError):  # of a policy that does not keep its arguments
        own = given.params()
        if own.keys() != stored.keys() or not all(_is_same(own[key], stored[key]) for key in own):
            raise SerializationError(
                f"expected the {name} that the learner was saved with, {shown(params)}, got {given!r}"
            )
    return given
