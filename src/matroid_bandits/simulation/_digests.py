"""Digests of stored simulations: what a problem, a policy and the settings are, by their content.

A digest is the same in every process, on every machine and with every NumPy: it is made of numbers and text, never of
addresses, pickles or the order of a hash table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.names import encode
from matroid_bandits.constraint import FORMAT, FORMATS, Constraint
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import MatroidBanditsError, SerializationError
from matroid_bandits.policies import Policy, policy_to_dict
from matroid_bandits.problem import Problem

#: Arrays are hashed as numbers of these types, whatever the machine keeps them in.
_NUMBERS = {"b": "|u1", "i": "<i8", "u": "<u8", "f": "<f8"}

#: The number of entries of an array that are converted at a time.
_CHUNK = 2**20


def problem_digest(problem: Problem) -> str:
    """The digest of a problem: equal for problems whose items, constraint, weights and direction are the same."""
    return digest([problem.constraint, problem.environment, problem.minimize])


def keys_of(problem: Problem, policies: Mapping[str, Policy]) -> tuple[str | None, tuple[str | None, ...]]:
    """Digests of a problem and of its policies, by which results know them; None for code that has no name."""

    def key(thing: Any) -> str | None:
        try:
            return digest(thing)[:32]
        except MatroidBanditsError:
            return None

    if problem not in _keys:
        _keys[problem] = key([problem.constraint, problem.environment, problem.minimize])
    return _keys[problem], tuple(key(policy) for policy in policies.values())


#: The digests of problems, which do not change, for as long as these exist.
_keys: WeakKeyDictionary[Problem, str | None] = WeakKeyDictionary()


def digest(value: Any) -> str:
    """The SHA-256 of plain values, arrays, policies, environments and constraints in each other."""
    found = hashlib.sha256()
    for piece in _pieces(value):
        found.update(piece)
    return found.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    """What is hashed of a value: a letter for its type, its length where it has one, and its content."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        text = (value.hex() if isinstance(value, float) else str(value)).encode("utf-8", "surrogatepass")
        yield f"{type(value).__name__} {len(text)} ".encode()
        yield text
    elif isinstance(value, np.ndarray):
        yield from _array(value)
    elif isinstance(value, Mapping):
        yield from _fields("", value)
    elif isinstance(value, (list, tuple)):
        yield f"list {len(value)} ".encode()
        for part in value:
            yield from _pieces(part)
    elif isinstance(value, Constraint):
        yield b"constraint "
        yield from _constraint(value)
    elif isinstance(value, Environment):
        yield b"environment "
        yield from _pieces(_name(type(value)))
        yield from _fields(type(value).__name__, value.content())
    elif isinstance(value, Policy):
        arrays: dict[str, AnyArray] = {}
        yield from _policy(policy_to_dict(value, arrays, _name), arrays)
    else:
        yield b"code "
        yield from _pieces(_name_of_code(value))


def _fields(owner: str, fields: Mapping[str, Any]) -> Iterator[bytes]:
    """Named values in the order of their names; an error says whose and which it is about."""
    yield f"dict {len(fields)} ".encode()
    for name in sorted(fields):
        yield from _pieces(name)
        try:
            yield from _pieces(fields[name])
        except SerializationError as error:
            hint = f"; where it is a cache, {owner}.content() is to leave it out" if owner else ""
            raise SerializationError(f"{owner}.{name}: {error}{hint}" if owner else str(error)) from error


def _policy(form: Any, arrays: Mapping[str, AnyArray]) -> Iterator[bytes]:
    """The form of a policy, or a value in one, with the arrays that `policy_to_dict` has left out of it."""
    if isinstance(form, list):
        yield f"list {len(form)} ".encode()
        for part in form:
            yield from _policy(part, {})
        return
    if not isinstance(form, Mapping):
        yield from _pieces(form)
        return
    fields = dict(form)
    for key, tag in (("policy", b"policy "), ("kind", b"detector ")):
        if key in form:
            yield tag
            yield from _pieces(fields.pop(key))
            break
    inner: dict[str, dict[str, AnyArray]] = {}
    for path, array in arrays.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = array
        else:
            fields[name] = array
    yield f"dict {len(fields)} ".encode()
    for name in sorted(fields):
        yield from _pieces(name)
        yield from _policy(fields[name], inner.get(name, {}))


def _array(array: AnyArray) -> Iterator[bytes]:
    kind = array.dtype.kind
    if kind not in _NUMBERS:
        yield f"array {array.shape} ".encode()
        yield from _pieces(array.tolist())
        return
    yield f"array {kind} {array.shape} ".encode()
    flat = array.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK].astype(_NUMBERS[kind]).tobytes()


def _constraint(constraint: Constraint) -> Iterator[bytes]:
    """A constraint's JSON form; what is around a predicate of the user's own has none, but content."""
    try:
        form = constraint.to_dict()
    except SerializationError:
        if not _is_ours(type(constraint)):
            raise
        labels = [encode(label, "label") for label in constraint.labels]
        yield from _pieces([_name(type(constraint)), constraint.n_items, labels, *constraint.content()])
    else:
        # the format as it was called when the first stores were written
        yield json.dumps(form, sort_keys=True).replace(f'"{FORMAT}"', f'"{FORMATS[1]}"').encode()


def _name(kind: type) -> str:
    """The name of a class: its own for one of the package, the one that the user gave it for another."""
    if _is_ours(kind):
        return kind.__name__
    given = vars(kind).get("kind")
    if not isinstance(given, str) or not given:
        raise SerializationError(
            f"{kind.__name__} is a class of your own, whose code a store cannot compare: expected it to have a name, "
            f"kind = '...' in its body, to be changed when what it does changes; got {given!r}"
        )
    return f"own {given}"


def _name_of_code(thing: Any) -> str:
    """The name that the user gave to a function, such as the predicate of an `OracleMatroid`."""
    given = getattr(thing, "kind", None)
    if callable(thing) and not isinstance(thing, type) and isinstance(given, str) and given:
        return f"own {given}"
    if not callable(thing):
        raise SerializationError(
            f"expected numbers, text, arrays and named code in what is stored, got {type(thing).__name__}"
        )
    name = getattr(thing, "__name__", type(thing).__name__)
    raise SerializationError(
        f"{name} is code, which a store cannot compare: expected it to have a name, an attribute "
        f"kind = '...', to be changed when what it does changes; got {given!r}"
    )


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("matroid_bandits.")
