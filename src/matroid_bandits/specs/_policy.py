"""The section ``policies`` of a problem file: who plays, under which name, with which parameters."""

from __future__ import annotations

import inspect
from typing import Any

from matroid_bandits._util.plots import OPTIMAL
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import DataError, MatroidBanditsError
from matroid_bandits.policies import POLICIES, Policy
from matroid_bandits.simulation import check_support
from matroid_bandits.specs._items import Ground, read_features
from matroid_bandits.specs._toml import Section


def read_policies(keys: Section, ground: Ground, environment: Environment) -> dict[str, Policy]:
    """Read the policies by name; each must be able to play on these items and weights."""
    policies: dict[str, Policy] = {}
    for name in keys.names():
        if name == OPTIMAL:
            raise keys.error(name, "expected another name, since the optimum itself is shown under this one")
        section = keys.section(name)
        kind = section.take("policy", str, name)
        if kind not in POLICIES:
            hint = did_you_mean(kind, POLICIES)
            key, whose = ("policy", section) if section.has("policy") else (name, keys)
            raise whose.error(key, f"expected a policy, one of {', '.join(POLICIES)}; got {shown(kind)}{hint}")
        values = _read_parameters(section, POLICIES[kind], ground)
        try:
            policies[name] = POLICIES[kind](**values)
            policies[name].check(ground.matroid)
            check_support(policies[name], environment.support)
        except TypeError as error:
            raise keys.error(name, f"{kind}: {error}") from error
        except MatroidBanditsError as error:
            raise keys.error(name, str(error)) from error
    if not policies:
        raise DataError(f"{keys.file}: policies: expected a policy or more, got none")
    return policies


def _read_parameters(section: Section, policy: type[Policy], ground: Ground) -> dict[str, Any]:
    """The arguments of a policy's constructor; columns become features, and labels of items their numbers."""
    values: dict[str, Any] = {}
    for parameter in inspect.signature(policy).parameters:
        if section.has(parameter):
            values[parameter] = section.take(parameter, object)
        else:
            section.take(parameter, object, None)
    section.close()
    if isinstance(values.get("features"), list):
        values["features"] = read_features(section, "features", ground.sheet, ground.rows, values["features"])
    if isinstance(values.get("items"), list):
        values["items"] = [_item_number(section, ground, item) for item in values["items"]]
    return values


def _item_number(section: Section, ground: Ground, item: Any) -> Any:
    """The number of an item given by its label; what is no label, such as a number, is left to the policy."""
    if not isinstance(item, str):
        return item
    if item not in ground.numbers:
        hint = did_you_mean(item, ground.names)
        raise section.error("items", f"item {item!r} is not in {ground.sheet.path.name}{hint}")
    return ground.numbers[item]
