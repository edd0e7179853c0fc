"""Policies and detectors as plain JSON: their name and their arguments, which may be policies and detectors too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matroid_bandits.exceptions import SerializationError
from matroid_bandits.policies import DETECTORS, POLICIES, Detector, Policy


def form_of(part: Policy | Detector) -> dict[str, Any]:
    """A policy or a detector as plain JSON.

    Raises
    ------
    SerializationError
        Another one is known by its name.
    PolicyError
        It does not keep its arguments.
    """
    name, known = type(part).__name__, POLICIES if isinstance(part, Policy) else DETECTORS
    if known.get(name) is not type(part):
        kind = "policy" if isinstance(part, Policy) else "detector"
        raise SerializationError(f"expected a {kind} that is known by its name, got {name}, a name that is taken")
    return {"name": name, "params": {key: plain(value) for key, value in part.params().items()}}


def made_of(form: Any, error: type[Exception] = SerializationError) -> Any:
    """What `form_of` described; any other value as it is.

    Raises
    ------
    error
        Nothing is known by the name.
    """
    if not isinstance(form, Mapping) or form.keys() != {"name", "params"}:
        return form
    name = form["name"]
    kind = POLICIES.get(name) or DETECTORS.get(name)
    if kind is None:
        raise error(f"the policy or detector {name} is not defined here: import it")
    return kind(**{key: made_of(value, error) for key, value in form["params"].items()})


def plain(value: Any) -> Any:
    """An argument as plain JSON where it is an array, a policy or a detector; any other value as it is."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return form_of(value) if isinstance(value, (Policy, Detector)) else value
