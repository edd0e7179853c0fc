"""A simulation's result as one file, and whether what such a file says can be true."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util import archives
from matroid_bandits._util.archives import Layout
from matroid_bandits._util.checks import as_flag, as_integer, as_number
from matroid_bandits._util.text import shown
from matroid_bandits.identification import Endings

if TYPE_CHECKING:
    from matroid_bandits.simulation._result import SimulationResult

_FORMAT = "matroid-bandits/simulation"
_VERSION = 1

_KEYS = (
    "policies", "n_episodes", "n_runs", "seed", "start", "minimize", "optimal_value", "wall_time", "versions"
)  # fmt: skip
_LATER_KEYS = (
    "device",
    "no_bounds",
    "no_regret",
    "engine",
    "world_runs",
    "until",
    "run_ranges",
    "problem_key",
    "policy_keys",
)  # not in files of earlier versions
_LISTS = ("policies", "engine", "policy_keys")
_CURVES = ("returns", "returns_se", "regret", "regret_se")
_FINALS = ("final_returns", "final_regret")
_RUNS = ("run_returns", "run_regret")  # both or neither
_ALARMS = ("alarms", "item_alarms")  # both or neither
_OPTIONAL = (*_RUNS, *_ALARMS, "optimum", "endings", "seconds")
_ENDINGS = ("rounds", "is_sure", "is_wrong", "bases", "counts", "sums")  # of Endings, all or none


def save(result: SimulationResult, path: str | PathLike[str]) -> None:
    """Write a result to one file, atomically, unless it is one that `load` would refuse."""
    arrays = {name: value for name, value in vars(result).items() if isinstance(value, np.ndarray)}
    header = {name: value for name, value in vars(result).items() if name not in arrays and name not in _OPTIONAL}
    if result.endings is None:
        del header["until"]
    else:
        arrays |= {f"endings/{name}": getattr(result.endings, name) for name in _ENDINGS}
    if not result.is_regret_known:
        header["optimal_value"] = None  # JSON has no NaN
    with archives.malformed("simulation"):
        header |= {name: list(header[name]) for name in _LISTS if header[name] is not None}
        header["run_ranges"] = [list(each) for each in result.run_ranges]
        _check_header(header)
        _check_layouts(header, {name: Layout.of(array) for name, array in arrays.items()})
        _check_arrays(header, arrays)
    archives.save(path, _FORMAT, _VERSION, header, arrays)


def load(kind: type[SimulationResult], path: str | PathLike[str]) -> SimulationResult:
    """The result that `save` wrote."""
    with archives.reading(path, _FORMAT, _VERSION) as archive, archives.malformed("simulation"):
        header = archive.header
        _check_header(header)
        _check_layouts(header, archive.layouts)
        arrays = archive.read()
        _check_arrays(header, arrays)
        if header["optimal_value"] is None:
            header["optimal_value"] = math.nan
        tuples = {name: tuple(header[name]) for name in _LISTS if header.get(name) is not None}
        if "run_ranges" in header:
            tuples["run_ranges"] = tuple(tuple(each) for each in header["run_ranges"])
        ended = {name: arrays.pop(f"endings/{name}") for name in _ENDINGS if f"endings/{name}" in arrays}
        endings = {"endings": Endings(**ended)} if ended else {}
        return kind(**{**header, **arrays, **tuples, **endings})


def _check_header(header: Mapping[str, Any]) -> None:
    for key in _KEYS:
        if key not in header:
            raise ValueError(f"{key!r} is missing")
    for key in header:
        if key not in _KEYS + _LATER_KEYS:
            raise ValueError(f"expected nothing called {shown(key)}")
    names, versions = header["policies"], header["versions"]
    if type(names) is not list or not names or not _are_strings(names) or len(set(names)) < len(names):
        raise ValueError(f"expected policies to be different names, got {shown(names)}")
    if type(versions) is not dict or not _are_strings(versions) or not _are_strings(versions.values()):
        raise ValueError(f"expected versions of libraries by name, got {shown(versions)}")
    if header["start"] not in ("observe", "explore"):
        raise ValueError(f'expected start to be "observe" or "explore", got {shown(header["start"])}')
    if header.get("device", "cpu") not in ("cpu", "gpu"):
        raise ValueError(f'expected device to be "cpu" or "gpu", got {shown(header["device"])}')
    for reason in ("no_bounds", "no_regret"):
        if type(header.get(reason, "")) is not str:
            raise ValueError(f"expected {reason} to be text, got {shown(header[reason])}")
    engine = header.get("engine")
    if engine is not None and (type(engine) is not list or not _are_strings(engine)):
        raise ValueError(f"expected engine to be a word for each policy, got {shown(engine)}")
    as_integer("n_episodes", header["n_episodes"], 1, 2**47)
    as_integer("n_runs", header["n_runs"], 1, 2**32)
    as_integer("seed", header["seed"], 0, 2**64 - 1)
    if header.get("world_runs") is not None:
        as_integer("world_runs", header["world_runs"], 1, 2**32)
    as_flag("minimize", header["minimize"])
    if header["optimal_value"] is not None:
        as_number("optimal_value", header["optimal_value"])
    as_number("wall_time", header["wall_time"], 0.0)


def _check_keys(header: Mapping[str, Any]) -> None:
    keys, n_policies = header.get("policy_keys"), len(header["policies"])
    if keys is not None and (type(keys) is not list or len(keys) != n_policies):
        raise ValueError(f"expected policy_keys to be a digest or null for each policy, got {shown(keys)}")
    for key in [header.get("problem_key"), *(keys or ())]:
        if key is not None and type(key) is not str:
            raise ValueError(f"expected the digests of problem and policies to be text, got {shown(key)}")


def _check_ranges(ranges: Any, seed: int, n_runs: int) -> None:
    """Raise unless ranges of runs, where there are any, are as many runs as there are, from the seed on."""
    if ranges is None:
        return
    try:
        sizes = [
            as_integer("a run range", n, 1, 2**32)
            for own, first, n in ranges
            if as_integer("its seed", own, 0, 2**64 - 1) + as_integer("its first run", first, 0, 2**32) >= 0
        ]
    except (TypeError, ValueError):
        sizes = []
    if sum(sizes) != n_runs or ranges[0][0] != seed:
        raise ValueError(
            f"expected run_ranges to be seed, first run and number of {n_runs} runs, got {shown(ranges)}"
        )


def _check_layouts(header: Mapping[str, Any], layouts: Mapping[str, Layout]) -> None:
    """The arrays, before they are read: (P, C), (P, R), (P, L), and (P, R, C) where the curves of runs were kept."""
    P, R = len(header["policies"]), header["n_runs"]
    n_points, n_items = (layouts[name].shape[-1:] if name in layouts else () for name in ("checkpoints", "choices"))
    floats, integers = np.dtype(np.float64), np.dtype(np.int64)
    expected = {"checkpoints": Layout(integers, n_points), "choices": Layout(integers, (P, *n_items))}
    expected |= dict.fromkeys(_CURVES, Layout(floats, (P, *n_points)))
    expected |= dict.fromkeys(_FINALS, Layout(floats, (P, R)))
    if any(name in layouts for name in _RUNS):
        expected |= dict.fromkeys(_RUNS, Layout(floats, (P, R, *n_points)))
    if "optimum" in layouts and header["optimal_value"] is not None:
        expected["optimum"] = Layout(floats, n_points)
    if any(name.startswith("endings/") for name in layouts):
        K = layouts["endings/bases"].shape[-1:] if "endings/bases" in layouts else ()
        flags = np.dtype(np.bool_)
        kinds = (integers, flags, flags, integers, integers, floats)
        shapes = ((), (), (), K, n_items, n_items)
        expected |= {
            f"endings/{name}": Layout(kind, (P, R, *shape))
            for name, kind, shape in zip(_ENDINGS, kinds, shapes, strict=True)
        }
    if any(name in layouts for name in _ALARMS):
        expected |= {"alarms": expected["regret"], "item_alarms": expected["choices"]}
    if "seconds" in layouts:
        expected["seconds"] = Layout(floats, (P,))
    for name in {**expected, **layouts}:
        if layouts.get(name) != expected.get(name):
            raise ValueError(f"expected {shown(name)} to be {expected.get(name)}, got {layouts.get(name)}")
    _check_keys(header)
    _check_ranges(header.get("run_ranges"), header["seed"], header["n_runs"])
    if header.get("engine") is not None and len(header["engine"]) != P:
        raise ValueError(f"expected engine to be a word for each policy, got {shown(header['engine'])}")


def _check_arrays(header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """The numbers: finite, ascending where time passes, and means and errors those of the runs."""
    n_runs, points, choices = header["n_runs"], arrays["checkpoints"], arrays["choices"]
    is_rising = points.size and points[0] >= 1 and (points[1:] > points[:-1]).all()
    if not is_rising or points[-1] != header["n_episodes"]:
        raise ValueError(f"expected checkpoints to ascend from 1 or more to {header['n_episodes']}, the last episode")
    n_chances = n_runs * (header.get("world_runs") or 1) * header["n_episodes"]
    if (choices < 0).any() or (choices > n_chances).any():
        raise ValueError(f"expected an item to be chosen once an episode at most, got {shown(choices.max())} times")
    is_known = header["optimal_value"] is not None
    if not is_known:
        for name in ("regret", "regret_se", "final_regret", "run_regret"):
            if not np.isnan(arrays.get(name, np.nan)).all():
                raise ValueError(f"expected {name} to be NaN, since the optimum is not known")
    if "optimum" in arrays:
        best = arrays["optimum"]
        if not np.isfinite(best).all() or abs(best[-1] - header["optimal_value"]) > 1e-9 * np.abs(best).max():
            raise ValueError("expected optimum to be finite and to end in optimal_value")
    measured = ("returns", "regret") if is_known else ("returns",)
    for name in (*measured, *(f"final_{name}" for name in measured)):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"expected {name} to be finite")
    if (arrays.get("seconds", np.zeros(1)) < 0.0).any():
        raise ValueError("expected seconds of 0 or more, or NaN")
    if "endings/rounds" in arrays:
        _check_endings(header, arrays)
    if "alarms" in arrays:
        _check_alarms(arrays["alarms"], arrays["item_alarms"], n_runs * (header.get("world_runs") or 1))
    for name in measured:
        errors, runs = arrays[f"{name}_se"], arrays[f"final_{name}"]
        if not (np.isnan(errors).all() if n_runs == 1 else (np.isfinite(errors) & (errors >= 0.0)).all()):
            raise ValueError(f"expected {name}_se to be NaN for one run, and 0 or more for several")
        size = np.abs(runs).max(axis=1)
        if not (np.abs(runs.mean(axis=1) - arrays[name][:, -1]) <= 1e-9 * size).all():
            raise ValueError(f"expected {name} to end in the mean of final_{name}")
        if (
            n_runs > 1
            and not (np.abs(runs.std(axis=1, ddof=1) / np.sqrt(n_runs) - errors[:, -1]) <= 1e-6 * size).all()
        ):
            raise ValueError(f"expected {name}_se to end in the standard error of final_{name}")
        if f"run_{name}" in arrays:
            _check_runs(name, arrays)


def _check_endings(header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Rounds that were played, items that there are, and plays that can have been answered."""
    rounds, bases, counts = (arrays[f"endings/{name}"] for name in ("rounds", "bases", "counts"))
    n_items = counts.shape[-1]
    if type(header.get("until")) is not dict:
        raise ValueError(f"expected until to be the form of a stopping rule, got {shown(header.get('until'))}")
    if (rounds < 1).any() or (rounds > header["n_episodes"]).any():
        raise ValueError(f"expected runs to end in 1..{header['n_episodes']}, got others")
    if (bases < 0).any() or (bases >= n_items).any() or (counts < 0).any():
        raise ValueError(f"expected the sets of runs to have items in 0..{n_items - 1}, and plays of 0 or more")
    if not np.isfinite(arrays["endings/sums"]).all():
        raise ValueError("expected finite gains of runs, got others")


def _check_alarms(alarms: AnyArray, by_item: AnyArray, n_runs: int) -> None:
    """Alarms that do not become fewer, and as many by item as in all."""
    is_rising = np.isfinite(alarms).all() and (np.diff(alarms, axis=1, prepend=0.0) >= 0.0).all()
    if not is_rising or (by_item < 0).any():
        raise ValueError("expected alarms of 0 or more that do not become fewer")
    if not np.allclose(by_item.sum(axis=1), alarms[:, -1] * n_runs, rtol=1e-9, atol=0.0):
        raise ValueError("expected alarms to end in the mean over runs of item_alarms")


def _check_runs(name: str, arrays: Mapping[str, AnyArray]) -> None:
    """The curves of every run: they end in the final values, and their means and errors are the result's own."""
    curves = arrays[f"run_{name}"]
    if not np.isfinite(curves).all():
        raise ValueError(f"expected run_{name} to be finite")
    if not np.array_equal(curves[:, :, -1], arrays[f"final_{name}"]):
        raise ValueError(f"expected run_{name} to end in final_{name}")
    size = np.abs(curves).max(axis=1)
    if not (np.abs(curves.mean(axis=1) - arrays[name]) <= 1e-9 * size).all():
        raise ValueError(f"expected {name} to be the mean of run_{name}")
    n_runs = curves.shape[1]
    if n_runs > 1:
        errors = curves.std(axis=1, ddof=1) / np.sqrt(n_runs)
        if not (np.abs(errors - arrays[f"{name}_se"]) <= 1e-6 * size).all():
            raise ValueError(f"expected {name}_se to be the standard error of run_{name}")


def _are_strings(values: Any) -> bool:
    return all(type(value) is str for value in values)
