"""Which sets may be chosen, in words, and the category of each item where items have one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from matroid_bandits.constraint import Constraint
from matroid_bandits.constraints import QuotaIntersection
from matroid_bandits.matroids import Matroid

#: Categories with quotas of their own that are listed by name.
_FEW = 4


@dataclass(frozen=True)
class Rule:
    """What a constraint says, for a person."""

    words: str
    categories: list[tuple[Any, int]] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)


def rule_of(constraint: Constraint) -> Rule:
    """What a constraint says, for a person."""
    if isinstance(constraint, QuotaIntersection) and constraint.names is not None:
        first = _rule(constraint.matroids[0].to_dict(), constraint.largest_size)
        return Rule(constraint.in_words(), first.categories, first.codes)
    if not isinstance(constraint, Matroid) and constraint.kind not in ("quota-intersection", "matroid-intersection"):
        return Rule(constraint.in_words())
    return _rule(constraint.to_dict(), constraint.largest_size)


def _rule(form: dict[str, Any], largest: int) -> Rule:
    kind = form.get("kind")
    if kind == "uniform":
        return Rule(f"at most {_items(form['rank'])}")
    if kind == "partition":
        return _partition(form)
    if kind == "laminar":
        return _laminar(form)
    if kind == "truncation":
        base = _rule(form["base"], largest)
        return Rule(f"{base.words}, {form['rank']} in all", base.categories, base.codes)
    if kind == "direct-sum":
        parts = [_rule(part, largest) for part in form["parts"]]
        if len(parts) <= _FEW:
            return Rule("; and ".join(part.words for part in parts) + f" ({largest} in all)")
        return Rule(f"{len(parts)} parts, each by a rule of its own, {largest} in all")
    if kind == "graphic":
        return Rule(f"edges without a cycle, at most {largest}")
    if kind in ("quota-intersection", "matroid-intersection"):
        both = " and ".join(_rule(form[part], largest).words for part in ("one", "two"))
        return Rule(f"{both}; {largest} at most")
    if kind == "transversal":
        return Rule(f"items that can take {len(form['rights'])} places, one each")
    return Rule(f"at most {_items(largest)} ({kind})")


def _partition(form: dict[str, Any]) -> Rule:
    names, most = form["names"], form["capacities"]
    return Rule(_quotas(names, most, "category", "categories"), [*zip(names, most, strict=True)], form["blocks"])


def _laminar(form: dict[str, Any]) -> Rule:
    """Nested groups: the innermost are like categories, what contains all of them is a quota in all."""
    group, parent, most = form["group"], form["parent"], form["capacities"]
    roots = [g for g, above in enumerate(parent) if above < 0]
    whole = roots[0] if len(roots) == 1 and all(g >= 0 for g in group) else -1
    inner = sorted({g for g in group if g >= 0} - {whole})
    if not inner:
        return Rule(f"at most {_items(most[whole])}")
    places = {g: k for k, g in enumerate(inner)}
    names = [f"group {k}" for k in range(1, len(inner) + 1)]
    words = _quotas(names, [most[g] for g in inner], "group", "groups")
    if len(parent) > len(inner) + (whole >= 0):
        words += ", with quotas of larger groups"
    if whole >= 0:
        words += f", {most[whole]} in all"
    codes = [places.get(g, -1) for g in group]
    return Rule(words, [*zip(names, (most[g] for g in inner), strict=True)], codes)


def _quotas(names: list[Any], most: list[int], one: str, many: str) -> str:
    if len(names) == 1:
        return f"at most {most[0]} of one {one}"
    if len(set(most)) == 1:
        return f"at most {most[0]} of each of {len(names)} {many}"
    if len(names) <= _FEW:
        return "at most " + ", ".join(f"{n} of {name}" for name, n in zip(names, most, strict=True))
    usual, _ = Counter(most).most_common(1)[0]
    low, high = min(most), max(most)
    return f"at most {low} to {high} of each of {len(names)} {many}, mostly {usual}"


def _items(n: int) -> str:
    return f"{n} item{'' if n == 1 else 's'}"
