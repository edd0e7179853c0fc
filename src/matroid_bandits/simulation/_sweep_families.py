"""Families of policies: one policy with several values of its parameters, each under a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matroid_bandits._util.names import plain
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import PolicyError, SimulationError
from matroid_bandits.policies import Detector, Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._simulate import check_policies

#: Values from which on a family is a grid, whose edges are worth a word.
_GRID = 3


@dataclass(frozen=True)
class Family:
    """Policies of a sweep that differ in one parameter, ``sweep.families["OMM"]``.

    Attributes
    ----------
    name : str
        What the family is called.
    policies : tuple of str
        The names of its policies, in the order given.
    parameter : str, or None
        The parameter in which they differ; None where they differ in several, or in something that is no plain value.
    values : tuple
        The parameter's value of each policy; empty without a parameter.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> policies = {"OMM": [mb.OMM(0.5), mb.OMM(1)]}
    >>> mb.sweep({"ads": problem}, policies, n_episodes=10, n_runs=2, seed=0).families["OMM"]
    Family(name='OMM', policies=('OMM, scale=0.5', 'OMM, scale=1'), parameter='scale', values=(0.5, 1.0))
    """

    name: str
    policies: tuple[str, ...]
    parameter: str | None
    values: tuple[Any, ...]

    def edge(self, policy: str) -> str:
        """Return "least" or "largest" if a policy's parameter is at that end of three or more values; empty
        otherwise.

        0 is no edge, since few parameters are negative.

        Examples
        --------
        >>> family = Family("OMM", ("a", "b", "c"), "scale", (0.5, 1.0, 2.0))
        >>> [family.edge(policy) for policy in family.policies]
        ['least', '', 'largest']
        """
        if not is_numeric(self.values) or len(set(self.values)) < _GRID:
            return ""
        value = self.values[self.policies.index(policy)]
        ends = {min(self.values): "least", max(self.values): "largest"}
        return ends.get(value, "") if value != 0 else ""


def expand(problem: Problem, policies: Any) -> tuple[dict[str, Policy], dict[str, Family]]:
    """Every policy by a name of its own, checked against the problem, and the families among them."""
    if not isinstance(policies, Mapping):
        return check_policies(problem, policies), {}
    named: dict[str, Any] = {}
    families: dict[str, Family] = {}
    for name, given in policies.items():
        if not isinstance(name, str):
            raise SimulationError(f"expected a policy's name to be a string, got {shown(name)}")
        if isinstance(given, (Policy, type, str, Mapping)) or not isinstance(given, Iterable):
            _add(named, name, given)
            continue
        members = list(given)
        family = families[name] = _family(name, members)
        for own, member in zip(family.policies, members, strict=True):
            _add(named, own, member)
    return check_policies(problem, named), families


def _add(named: dict[str, Any], name: str, policy: Any) -> None:
    if name in named:
        raise SimulationError(f"expected policies of different names, got {name!r} more than once")
    named[name] = policy


def _family(name: str, members: Sequence[Any]) -> Family:
    if not members:
        raise SimulationError(f"expected a policy or more in the family {name!r}, got none")
    for member in members:
        if not isinstance(member, Policy):
            hint = " (the class; an instance is needed)" if isinstance(member, type) else ""
            raise SimulationError(f"expected policies in the family {name!r}, got {shown(member)}{hint}")
    for i, member in enumerate(members):
        if member in members[:i]:
            raise SimulationError(f"expected policies that differ in the family {name!r}, got {member!r} twice")
    if len(members) == 1:
        return Family(name, (name,), None, ())
    varied = _varied(members)
    if not varied:
        return Family(name, tuple(f"{name}, {i}" for i in range(1, len(members) + 1)), None, ())
    names = [
        ", ".join([name, *(f"{key}={_text(values[i])}" for key, values in varied.items())])
        for i in range(len(members))
    ]
    if len(varied) > 1:
        return Family(name, tuple(names), None, ())
    ((parameter, values),) = varied.items()
    return Family(name, tuple(names), parameter, tuple(values))


def _varied(members: Sequence[Policy]) -> dict[str, list[Any]]:
    """The values of the parameters in which policies of one class differ; none where those are no plain values."""
    if len({type(member) for member in members}) > 1:
        return {}
    try:
        params = [_params(member) for member in members]
    except PolicyError:  # of a class that does not keep its arguments
        return {}
    if any(each.keys() != params[0].keys() for each in params):  # of policies around policies of several classes
        return {}
    varied = {}
    for key in params[0]:
        values = [plain(each[key]) for each in params]
        if not all(value is None or isinstance(value, (bool, int, float, str)) for value in values):
            if any(value is not values[0] for value in values):
                return {}
        elif any(value != values[0] for value in values):
            varied[key] = values
    return varied


def _params(policy: Policy | Detector) -> dict[str, Any]:
    """The arguments of a policy, and as "base.scale" those of a policy or detector among them."""
    found: dict[str, Any] = {}
    for key, value in policy.params().items():
        if isinstance(value, (Policy, Detector)):
            found |= {key: type(value).__name__} | {f"{key}.{inner}": each for inner, each in _params(value).items()}
        else:
            found[key] = value
    return found


def _text(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def is_numeric(values: Sequence[Any]) -> bool:
    """Return whether all values are numbers; booleans are none."""
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
