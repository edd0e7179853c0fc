"""Whether what a learner's file says can be true: one function for each part of it, called before anything is built.

Each raises ValueError with what was expected and what was given; a part that is added to the file gets a function
here, or a line in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.archives import PLAIN_KINDS, Layout
from matroid_bandits._util.checks import MOST_WEIGHT, as_flag, as_integer
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, State

#: Episodes of decisions lie below this; those past it address further looks at items before the first decision.
MOST_DECISIONS: Final = 2**47

_KEYS = ("matroid", "n_items", "policy", "params", "minimize", "seed", "episode", "open")
_OPTIONAL_KEYS = ("fingerprint",)


def check_header(header: Mapping[str, Any]) -> None:
    """The header by itself: every key, every type, and the decisions that wait."""
    for key in _KEYS:
        if key not in header:
            raise ValueError(f"{key!r} is missing")
    for key in header:
        if key not in _KEYS + _OPTIONAL_KEYS:
            raise ValueError(f"expected nothing called {shown(key)}")
    _check_type("matroid", header["matroid"], dict, type(None))
    _check_type("policy", header["policy"], str)
    _check_type("params", header["params"], dict, type(None))
    _check_type("fingerprint", header.get("fingerprint"), str, type(None))
    as_integer("n_items", header["n_items"])
    as_flag("minimize", header["minimize"])
    as_integer("a seed", header["seed"], 0, 2**64 - 1)
    episode = header["episode"]
    if type(episode) is not int or not 0 <= episode < MOST_DECISIONS:
        raise ValueError(f"a learner cannot have made {shown(episode)} decisions")
    _check_open(header["open"], episode)


def check_sets(open: list[list[Any]], constraint: Constraint) -> None:
    """The items of the decisions that wait: sets that the constraint lets one choose."""
    sets = [constraint.as_items(np.asarray(items)) for _, items, _ in open]  # numbers, whatever the labels
    if not isinstance(constraint, Matroid) or not sets:
        return
    K = constraint.rank
    is_wrong = np.array([items.size != K for items in sets])
    if not is_wrong.any() and getattr(constraint, "is_exact", True):  # rounding may depend on the order of items
        is_wrong = constraint.greedy(np.array(sets, np.int64).reshape(-1, K))[1] != K
    if is_wrong.any():
        id, items, _ = open[int(is_wrong.argmax())]
        raise ValueError(f"expected decision {id} to be a basis of {K} items, got {shown(items)}")


def check_layouts(layouts: Mapping[str, Layout], n_items: int) -> None:
    """The arrays that every learner has, before they are read; besides, there are those of its policy alone."""
    expected = {"counts": Layout(np.dtype(np.int64), (n_items,)), "sums": Layout(np.dtype(np.float64), (n_items,))}
    if any(layouts.get(name) != layout for name, layout in expected.items()):
        raise ValueError(f"counts and sums do not fit {n_items} items")
    for name in layouts:
        if name not in expected and not name.startswith(("policy/", "extra/")):
            raise ValueError(f"expected no array called {shown(name)}")


def check_extra(layouts: Mapping[str, Layout], policy: Policy, constraint: Constraint, minimize: bool) -> None:
    """The arrays that the policy keeps, before they are read; `Policy.check_extra` looks at their numbers."""
    state = State(constraint, 0, minimize)  # a state without runs takes no memory
    try:
        policy.prepare(state)
    except Exception:  # a policy that cannot prepare nothing
        state = State(constraint, 1, minimize)
        policy.prepare(state)
    expected = {f"extra/{key}": Layout(array.dtype, (1, *array.shape[1:])) for key, array in state.extra.items()}
    found = {name: layout for name, layout in layouts.items() if name.startswith("extra/")}
    if found != expected or any(layout.dtype.kind not in PLAIN_KINDS for layout in found.values()):
        raise ValueError(
            f"the policy's arrays do not fit: expected {_listed(expected)} of plain data, got {_listed(found)}"
        )


def check_statistics(counts: IntArray, sums: FloatArray, policy: Policy, minimize: bool) -> None:
    """Counts that can be reached, and sums that so many weights can have."""
    if (counts < 0).any() or (counts > 2 * MOST_DECISIONS).any() or not np.isfinite(sums).all():
        raise ValueError("counts and sums do not fit each other: expected counts from 0 to 2**48 and finite sums")
    low, high = max(policy.support[0], -MOST_WEIGHT), min(policy.support[1], MOST_WEIGHT)
    if minimize:
        low, high = -high, -low
    n = counts.astype(np.float64)
    slack = n * n * np.finfo(np.float64).eps * max(-low, high)  # what adding up n numbers can round to
    is_wrong = ~((low * n - slack <= sums) & (sums <= high * n + slack))
    if is_wrong.any():
        e = int(is_wrong.argmax())
        raise ValueError(
            f"counts and sums do not fit each other: expected gains in [{low:g}, {high:g}], got a sum of {sums[e]} "
            f"from {counts[e]} of item {e}"
        )


def _check_open(open: Any, episode: int) -> None:
    _check_type("open", open, list)
    last = 0
    for entry in open:
        if type(entry) is not list or len(entry) != 3:
            raise ValueError(f"expected an outstanding decision as [id, items, told], got {shown(entry)}")
        id, items, told = entry
        if (
            type(id) is not int
            or not 1 <= id <= episode
            or type(items) is not list
            or any(type(item) is not int for item in items)
            or not (told is None or (type(told) is list and len(told) == len(items)))
        ):
            raise ValueError(f"an outstanding decision was never made: {shown(entry)}")
        if id <= last:
            raise ValueError(f"expected outstanding decisions in the order they were made, got {id} after {last}")
        if any(a >= b for a, b in pairwise(items)):
            raise ValueError(f"expected the items of decision {id} ascending, got {shown(items)}")
        if told is not None and (any(type(is_told) is not bool for is_told in told) or all(told)):
            raise ValueError(f"expected True or False, and one False, for what was told of {id}, got {shown(told)}")
        last = id


def _listed(layouts: Mapping[str, Layout]) -> str:
    return shown({name: str(layout) for name, layout in layouts.items()})


def _check_type(what: str, value: Any, *kinds: type) -> None:
    if type(value) not in kinds:
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise ValueError(f"expected {what} to be of type {names}, got {shown(value)}")
