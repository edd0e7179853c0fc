"""Policies and detectors as plain JSON: the form they have in logs, saved learners, files, the API and its client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util import literature
from matroid_bandits._util.literature import known_as
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import MatroidBanditsError, PolicyError, SerializationError
from matroid_bandits.policies._base import POLICIES, Policy
from matroid_bandits.policies._detectors import DETECTORS, Detector

#: The key of a form that names the class.
_POLICY, _DETECTOR = "policy", "kind"


def policy_to_dict(
    policy: Policy, arrays: dict[str, AnyArray] | None = None, name_of: Callable[[type], str] | None = None
) -> dict[str, Any]:
    """Return a policy as plain JSON: its class name and its constructor's arguments.

    Parameters
    ----------
    policy : Policy
        Its arguments may be plain values, arrays, policies and detectors.
    arrays : dict, optional
        Where arrays are put, by the names of the arguments ("features", "base.features"), instead of into the form.
    name_of : callable, optional
        The name of a class of policies or detectors. By default its own, under which `policy_from_dict` finds it.

    Raises
    ------
    SerializationError
        Another policy is known by its name and no `name_of` is given, or an argument is no plain value.
    PolicyError
        It does not keep its arguments.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.policy_to_dict(mb.OMM(0.5))
    {'policy': 'OMM', 'scale': 0.5}
    """
    if not isinstance(policy, Policy):
        raise PolicyError(f"expected a policy, got {shown(policy)}")
    return _form(policy, "", arrays, _known_name if name_of is None else name_of)


def policy_from_dict(form: Mapping[str, Any], arrays: Mapping[str, AnyArray] | None = None) -> Policy:
    """Make the policy described by the output of `policy_to_dict`, of any policy class that is defined.

    Parameters
    ----------
    form : mapping
        What `policy_to_dict` gave.
    arrays : mapping, optional
        The arrays that were left out of it.

    Raises
    ------
    SerializationError
        The form is of something else, is incomplete or malformed, or is of a class that has not been defined.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.policy_from_dict({"policy": "Restarting", "base": {"policy": "OMM"}, "detector": {"kind": "CUSUM"}})
    Restarting(base=OMM(scale=1.0), detector=CUSUM(n_first=200, tolerance=0.1, threshold=20.0, width=1.0))
    """
    if not _is_form(form):
        raise SerializationError(f"expected a dict as made by policy_to_dict, got {shown(form)}")
    made = _made(form, {} if arrays is None else arrays)
    if not isinstance(made, Policy):
        raise SerializationError(f"expected the form of a policy, got that of {made!r}")
    return made


def _form(
    part: Policy | Detector, path: str, arrays: dict[str, AnyArray] | None, name_of: Callable[[type], str]
) -> dict[str, Any]:
    key, name = _POLICY if isinstance(part, Policy) else _DETECTOR, type(part).__name__
    form: dict[str, Any] = {key: name_of(type(part))}
    for argument, value in part.params().items():
        if argument == key:
            raise SerializationError(f"expected no argument called {key!r}, which names the class; got one of {name}")
        if isinstance(value, np.ndarray) and arrays is not None:
            arrays[path + argument] = value
        elif isinstance(value, (Policy, Detector)):
            form[argument] = _form(value, f"{path}{argument}.", arrays, name_of)
        else:
            form[argument] = _plain(value, f"{name}.{argument}", name_of)
    return form


def _known_name(kind: type) -> str:
    """The name of a class; one under which it can be found again."""
    name, is_policy = kind.__name__, issubclass(kind, Policy)
    if (POLICIES if is_policy else DETECTORS).get(name) is not kind:
        what = "policy" if is_policy else "detector"
        raise SerializationError(f"expected a {what} that is known by its name, got {name}, a name that is taken")
    return name


def _plain(value: Any, where: str, name_of: Callable[[type], str]) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist(), where, name_of)
    if isinstance(value, (list, tuple)):
        return [_plain(part, where, name_of) for part in value]
    if isinstance(value, (Policy, Detector)):
        return _form(value, "", None, name_of)
    if isinstance(value, dict) and all(type(key) is str for key in value) and not _is_form(value):
        return {key: _plain(part, where, name_of) for key, part in value.items()}
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise SerializationError(f"expected a plain value or an array as {where}, got {shown(value)}")


def _is_form(value: Any) -> bool:
    return isinstance(value, Mapping) and (not value.keys().isdisjoint((_POLICY, _DETECTOR)) or _is_former(value))


def _is_former(value: Mapping[str, Any]) -> bool:
    """Whether a form is as the first logs and saved learners have it."""
    return value.keys() == {"name", "params"}


def _made(form: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    if _is_former(form):
        form = {_POLICY if form["name"] in POLICIES else _DETECTOR: form["name"], **form["params"]}
    key, known = (_POLICY, POLICIES) if _POLICY in form else (_DETECTOR, DETECTORS)
    name = form[key]
    if not isinstance(name, str) or name not in known:
        what = "policy" if key == _POLICY else "detector"
        hint = known_as(name, literature.POLICIES) or "import it"
        raise SerializationError(f"the {what} {name} is not defined here: {hint}")
    inner: dict[str, dict[str, AnyArray]] = {}
    values = {argument: value for argument, value in form.items() if argument != key}
    for path, array in arrays.items():
        argument, _, rest = path.partition(".")
        if rest:
            inner.setdefault(argument, {})[rest] = array
        else:
            values[argument] = array
    try:
        nested = {
            argument: _value(values[argument], inner.get(argument, {}))
            for argument in [*values, *(inner.keys() - values.keys())]
        }
        return known[name](**nested)
    except SerializationError:
        raise
    except (MatroidBanditsError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError,
            MemoryError, RecursionError) as error:  # fmt: skip
        raise SerializationError(f"malformed {name}: {error}") from error


def _value(value: Any, arrays: Mapping[str, AnyArray]) -> Any:
    """An argument, with what forms in it are of."""
    if _is_form(value):
        return _made(value, arrays)
    if arrays:
        raise SerializationError(f"expected a policy with arrays, got {shown(value)}")
    if isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        return [_value(part, {}) for part in value]
    return {key: _value(part, {}) for key, part in value.items()} if isinstance(value, Mapping) else value
