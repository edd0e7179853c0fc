"""Whether what a learner's file says can be true: one function for each part of it, called before anything is built.

Each raises ValueError with what was expected and what was given; a part that is added to the file gets a function
here, or a line in one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.archives import PLAIN_KINDS, Layout
from matroid_bandits._util.arrays import offsets
from matroid_bandits._util.checks import MOST_WEIGHT, as_flag, as_integer, as_number
from matroid_bandits._util.names import decode_any
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.learner._answers import as_answers
from matroid_bandits.learner._holdout import Holdout, read_tags
from matroid_bandits.learner._items import NOWHERE
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy

#: Episodes of decisions lie below this; those past it address further looks at items before the first decision.
MOST_DECISIONS: Final = 2**47

#: Arrays of a learner's state with a number per item, and what a request may ask for.
PLAYS: Final = ("counts", "waiting", "lost", "sums", "means")
WANTED: Final = ("available", "exclude", "pinned")

_KEYS = (
    "constraint", "n_items", "policy", "minimize", "seed", "id", "holdout", "max_departed", "episode",
    "n_changes", "departed",
)  # fmt: skip
_OPTIONAL_KEYS = ("fingerprint", "restarted_at", "changed_at", "control", "evidence", "answers", "knows_forgotten")


def check_header(header: Mapping[str, Any]) -> None:
    """The header by itself: every key, every type, and the decisions that wait."""
    for key in _KEYS:
        if key not in header:
            raise ValueError(f"{key!r} is missing")
    for key in header:
        if key not in _KEYS + _OPTIONAL_KEYS:
            raise ValueError(f"expected nothing called {shown(key)}")
    _check_type("constraint", header["constraint"], dict, type(None))
    _check_type("policy", header["policy"], dict, str)
    _check_type("fingerprint", header.get("fingerprint"), str, type(None))
    as_integer("n_items", header["n_items"])
    as_flag("minimize", header["minimize"])
    as_integer("a seed", header["seed"], 0, 2**64 - 1)
    episode = header["episode"]
    if type(episode) is not int or not 0 <= episode < MOST_DECISIONS:
        raise ValueError(f"a learner cannot have made {shown(episode)} decisions")
    if type(header["id"]) is not str or not header["id"]:
        raise ValueError(f"expected id to be a string, got {shown(header['id'])}")
    Holdout.of(header["holdout"])
    as_flag("knows_forgotten", header.get("knows_forgotten", False))
    if "answers" in header:
        as_answers(header["answers"])
    as_integer("max_departed", header["max_departed"])
    as_integer("n_changes", header["n_changes"])
    for key in ("restarted_at", "changed_at"):
        as_integer(key, header.get(key, 0), 0, episode)
    if "evidence" in header:
        _check_evidence(header["evidence"])
    _check_type("departed", header["departed"], list)
    if len(header["departed"]) > header["max_departed"]:
        raise ValueError(f"expected at most {header['max_departed']} departed items, got {len(header['departed'])}")


def _check_evidence(form: Any) -> None:
    """What a learner's confidence rests on besides counts and sums."""
    if not isinstance(form, dict) or form.keys() != {"weights", "n_known", "has_forgotten", "is_whole"}:
        raise ValueError(f"expected evidence to have weights, n_known, has_forgotten and is_whole, got {shown(form)}")
    as_integer("n_known", form["n_known"])
    as_flag("has_forgotten", form["has_forgotten"])
    as_flag("is_whole", form["is_whole"])
    ends = form["weights"]
    if ends is None:
        return
    if type(ends) is not list or len(ends) != 2 or not all(end is None or type(end) in (int, float) for end in ends):
        raise ValueError(f"expected the least and the largest weight, got {shown(ends)}")
    low, high = (
        limit if end is None else as_number("a weight", end, -MOST_WEIGHT, MOST_WEIGHT)
        for end, limit in zip(ends, (-MOST_WEIGHT, MOST_WEIGHT), strict=True)
    )
    if low > high:
        raise ValueError(f"expected the least and the largest weight, got {shown(ends)}")


def check_layouts(layouts: Mapping[str, Layout], n_items: int, n_departed: int) -> None:
    """The arrays of a learner before they are read: which there are, of what types and shapes."""
    whole, real, flag = (np.dtype(kind) for kind in (np.int64, np.float64, np.bool_))
    kinds = {"counts": whole, "waiting": whole, "lost": whole, "sums": real, "means": real}
    expected = {name: Layout(kinds[name], (n_items,)) for name in PLAYS}
    if any(layouts.get(name) != layout for name, layout in expected.items()):
        raise ValueError(f"counts and sums do not fit {n_items} items")
    if "forgotten" in layouts:
        expected["forgotten"] = Layout(whole, (n_items,))
    if any(name.startswith("priors/") for name in layouts):
        expected |= {f"priors/{name}": Layout(real, (n_items,)) for name in ("means", "counts")}
    expected |= {"totals/partials": Layout(real, (40,)), "totals/n_partials": Layout(whole, ())}
    expected["totals/n_answers"] = Layout(whole, ())
    n_open, n_cells = (layouts[name].shape[:1] if name in layouts else () for name in ("open/ids", "open/items"))
    expected |= {f"open/{name}": Layout(whole, n_open) for name in ("ids", "sizes")}
    expected |= {"open/held_out": Layout(flag, n_open), "open/items": Layout(whole, n_cells)}
    expected["open/told"] = Layout(flag, n_cells)
    if "open/places" in layouts:
        expected["open/places"] = Layout(whole, n_cells)
    of_some = {"open/times": real, "open/control": whole, "open/apart": flag}
    expected |= {name: Layout(kind, n_open) for name, kind in of_some.items() if name in layouts}
    texts = [name for name in ("open/tags", "open/names") if name in layouts]
    expected |= {name: Layout(np.dtype(np.uint8), layouts[name].shape[:1]) for name in texts}
    if "wanted/ids" in layouts:
        expected["wanted/ids"] = Layout(whole, layouts["wanted/ids"].shape[:1])
        for name in WANTED:
            items = layouts.get(f"wanted/{name}/items", Layout(whole, ()))
            expected[f"wanted/{name}/sizes"] = expected["wanted/ids"]
            expected[f"wanted/{name}/items"] = Layout(whole, items.shape[:1])
    for name, layout in expected.items():
        if layouts.get(name) != layout:
            raise ValueError(f"expected {name} as {layout}, got {layouts.get(name)}")
    for name, layout in layouts.items():
        is_table = name in ("features", "open/features", "open/kept")
        is_rows = is_table and len(layout.shape) == 2 and layout.dtype == real
        is_column = name.startswith("departed/") and len(layout.shape) >= 2 and layout.shape[1] == n_departed
        if name not in expected and not is_rows and not is_column and not name.startswith(("policy/", "extra/")):
            raise ValueError(f"expected no array called {shown(name)}")


def check_plays(arrays: Mapping[str, AnyArray], header: Mapping[str, Any], constraint: Constraint) -> None:
    """The plays that wait: decisions that were made, of items that are known, and as many as the state says."""
    ids, sizes, items, told = (arrays[f"open/{name}"] for name in ("ids", "sizes", "items", "told"))
    if ids.size and (ids[0] < 1 or ids[-1] > header["episode"] or (np.diff(ids) <= 0).any()):
        raise ValueError(f"expected outstanding decisions in 1..{header['episode']}, in the order they were made")
    if (sizes < 0).any() or sizes.sum() != items.size:
        raise ValueError("expected the sizes of outstanding decisions to add up to their items")
    _check_text(arrays, "open/tags", ids.size, "tags", lambda tags: read_tags(tags) == tags)
    n_lost = int((items == NOWHERE).sum())
    _check_text(arrays, "open/names", n_lost, "labels of forgotten items", _is_label)
    if "open/times" in arrays and np.isinf(arrays["open/times"]).any():
        raise ValueError("expected finite times of outstanding decisions, got others")
    n_departed = len(header["departed"])
    is_known = (items == NOWHERE) | ((items >= -n_departed) & (items < constraint.n_items))
    if not is_known.all():
        raise ValueError(f"expected items in 0..{constraint.n_items - 1}, got {items[~is_known][0]}")
    owner = np.repeat(np.arange(ids.size), sizes)
    n_untold = np.bincount(owner[~told], minlength=ids.size)
    if ((n_untold == 0) & (sizes > 0)).any():
        raise ValueError(
            f"expected something to wait for in decision {ids[((n_untold == 0) & (sizes > 0)).argmax()]}"
        )
    _check_places(arrays.get("open/places"), sizes)
    is_held_out = arrays["open/held_out"]
    is_apart = arrays.get("open/apart", np.zeros(ids.size, bool))
    if (is_apart & ~is_held_out).any() or arrays.get("open/control", np.zeros_like(ids))[~is_held_out].any():
        raise ValueError("expected only decisions that are held out to be a control's, got others")
    is_counted = ~np.repeat(is_apart, sizes)
    waits = np.bincount(items[(items >= 0) & ~told & is_counted], minlength=constraint.n_items)
    if (arrays["waiting"] != waits).any() or (arrays["lost"] < 0).any():
        e = int((arrays["waiting"] != waits).argmax())
        raise ValueError(f"expected {waits[e]} waiting plays of item {e}, got {arrays['waiting'][e]}")
    if (arrays.get("forgotten", arrays["lost"]) < 0).any():
        raise ValueError("expected plays that left no trace in a number of 0 or more, got less")
    if not np.isfinite(arrays["means"]).all():
        raise ValueError("expected finite means, got others")
    if "priors/means" in arrays:
        means, counts = arrays["priors/means"], arrays["priors/counts"]
        if not (np.isfinite(means).all() and (counts >= 0.0).all() and np.isfinite(counts).all()):
            raise ValueError("expected finite priors worth 0 plays or more, got others")
    if "features" in arrays and not np.isfinite(arrays["features"]).all():
        raise ValueError("expected finite features, got others")
    _check_totals(arrays)
    _check_wanted(arrays, constraint.n_items, len(header["departed"]))
    if header["n_changes"] == 0:
        _check_sets(ids, sizes, items, constraint)


def _check_places(places: IntArray | None, sizes: IntArray) -> None:
    """The places at which items are shown: of each decision 0, 1, 2, ... in any order, or -1 where it is no list."""
    if places is None:
        return
    owner, edges = np.repeat(np.arange(sizes.size), sizes), offsets(sizes)
    is_list = places[edges[:-1][sizes > 0]] >= 0
    ranks = np.arange(places.size) - edges[:-1][owner]
    expected = np.where(np.repeat(is_list, sizes[sizes > 0]), ranks, -1)
    if (places[np.lexsort((places, owner))] != expected).any():
        raise ValueError("expected every place of a list once, got others")


def check_kept(arrays: Mapping[str, AnyArray], policy: Policy) -> None:
    """What the policy keeps of the plays that wait."""
    n_cells = arrays["open/items"].size
    kept = arrays.get("open/kept", np.zeros((n_cells, 0)) if policy.n_kept and n_cells else None)
    if kept is None:
        return
    if kept.shape != (n_cells, policy.n_kept) or not np.isfinite(kept).all():
        raise ValueError(
            f"expected {policy.n_kept} finite numbers kept of each of {n_cells} waiting plays, got shape {kept.shape}"
        )


def _check_text(
    arrays: Mapping[str, AnyArray], name: str, n: int, what: str, is_sound: Callable[[Any], bool]
) -> None:
    """An array of bytes, where there is one: a JSON list of n entries that are null or sound."""
    if name not in arrays:
        return
    try:
        forms = json.loads(arrays[name].tobytes())
        is_list = isinstance(forms, list) and len(forms) == n
        if is_list and all(form is None or is_sound(form) for form in forms):
            return
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ValueError(f"expected the {what} of outstanding decisions as JSON, got something else")


def _is_label(form: Any) -> bool:
    return isinstance(form, list) and len(decode_any(form)) == 1


def _check_totals(arrays: Mapping[str, AnyArray]) -> None:
    n, partials = int(arrays["totals/n_partials"]), arrays["totals/partials"]
    if not 0 <= n <= partials.size or not np.isfinite(partials).all() or int(arrays["totals/n_answers"]) < 0:
        raise ValueError("expected a finite total of the gains answered, got another")


def _check_wanted(arrays: Mapping[str, AnyArray], n_items: int, n_departed: int) -> None:
    if "wanted/ids" not in arrays:
        return
    if not np.isin(arrays["wanted/ids"], arrays["open/ids"]).all():
        raise ValueError("expected requests of outstanding decisions, got others")
    for name in WANTED:
        sizes, items = arrays[f"wanted/{name}/sizes"], arrays[f"wanted/{name}/items"]
        if (sizes < -1).any() or np.maximum(sizes, 0).sum() != items.size:
            raise ValueError(f"expected the sizes of {name} to add up to their items")
        if ((items != NOWHERE) & ((items < -n_departed) | (items >= n_items))).any():
            raise ValueError(f"expected items in 0..{n_items - 1} in {name}")


def _check_sets(ids: IntArray, sizes: IntArray, items: IntArray, constraint: Constraint) -> None:
    """Sets that the constraint lets one choose, ascending; where nothing has changed since they were chosen."""
    starts = offsets(sizes)[:-1]
    is_first = np.zeros(items.size + 1, bool)
    is_first[starts] = True
    present = (items >= 0)[1:] & (items >= 0)[:-1]
    if (present & ~is_first[1:-1] & (np.diff(items) <= 0)).any():
        raise ValueError("expected the items of outstanding decisions ascending, got others")
    if not ids.size or not getattr(constraint, "is_exact", True):
        return  # rounding may depend on the order of items
    if (items < 0).any():
        return  # what was forgotten cannot be checked
    if not isinstance(constraint, Matroid):
        for id, lo, size in zip(ids.tolist(), starts.tolist(), sizes.tolist(), strict=True):
            if size and not constraint.allows(items[lo : lo + size]):
                raise ValueError(f"expected decision {id} to be a set that may be chosen, got another")
        return
    rows = np.zeros((ids.size, int(sizes.max())), np.int64)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = items
    is_wrong = constraint.greedy(rows, sizes)[1] != sizes
    if is_wrong.any():
        raise ValueError(f"expected decision {ids[is_wrong.argmax()]} to be a set that may be chosen, got another")


def check_extra(layouts: Mapping[str, Layout], policy: Policy, n_items: int) -> None:
    """The arrays that the policy keeps, before they are read; `Policy.check_extra` looks at their numbers."""
    found = {name: layout for name, layout in layouts.items() if name.startswith("extra/")}
    expected = {}
    for each in policy.memory:
        name, shape = f"extra/{each.name}", (1, *each.axes(n_items))
        given = found[name].shape if name in found and each.kind == "growing" else ()
        is_grown = given[:1] == (1,) and len(given) == len(shape)
        expected[name] = Layout(np.dtype(each.dtype), given if is_grown else shape)
    if found != expected or any(layout.dtype.kind not in PLAIN_KINDS for layout in found.values()):
        raise ValueError(
            f"the policy's arrays do not fit: expected {_listed(expected)} of plain data, got {_listed(found)}"
        )


def check_statistics(counts: IntArray, sums: FloatArray, policy: Policy, minimize: bool) -> None:
    """Check that counts can be reached, and that sums are possible for that number of weights."""
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


def _listed(layouts: Mapping[str, Layout]) -> str:
    return shown({name: str(layout) for name, layout in layouts.items()})


def _check_type(what: str, value: Any, *kinds: type) -> None:
    if type(value) not in kinds:
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise ValueError(f"expected {what} to be of type {names}, got {shown(value)}")
