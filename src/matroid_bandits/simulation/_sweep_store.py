"""The store of a sweep: a folder with what was played, from which an interrupted or a larger sweep goes on.

``store.json`` says that the folder is one. A policy on a problem with some settings has a folder, named by a digest,
with ``cell.json``, which says in plain words what they are, and an NPZ file for each interval of runs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from matroid_bandits._util import archives
from matroid_bandits._util.archives import Layout
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.files import claim, remove_leftovers, write_file
from matroid_bandits._util.text import shown
from matroid_bandits._version import __version__
from matroid_bandits.compiled import Part, Settings
from matroid_bandits.exceptions import SerializationError, SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._digests import digest

_FORMAT, _CELL, _PART = (f"matroid-bandits/sweep-{what}" for what in ("store", "cell", "part"))
_VERSION = 1

#: The first version of the package whose simulations have the numbers of this version. A release that changes them
#: sets it to its own version, and cells of earlier versions are played again.
_SAME_NUMBERS_SINCE = "0.1.0"

_NAME = re.compile(r"(\d{8,10})-(\d{8,10})\.npz")

#: What is stored of a part besides its runs.
_ARRAYS = [field.name for field in fields(Part) if field.name not in ("first", "last", "engine", "seconds")]

Interval = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """One policy on one problem with one set of settings: what is stored under one digest."""

    digest: str
    about: dict[str, Any]

    @classmethod
    def of(cls, problem: str, problem_digest: str, name: str, policy: Policy, settings: Settings) -> Cell:
        """The cell of a policy on a problem, both by name, with the problem's digest."""
        about = {
            "problem": problem,
            "problem_key": problem_digest,
            "policy": name,
            "policy_key": digest(policy),
            "seed": settings.seed,
            "n_episodes": settings.n_episodes,
            "checkpoints": settings.checkpoints.tolist(),
            "start": settings.start,
            "package": _SAME_NUMBERS_SINCE,
        }
        whole = digest({what: value for what, value in about.items() if what not in ("problem", "policy")})[:32]
        shown_as = {"problem_is": repr(settings.problem), "policy_is": repr(policy), "written_by": __version__}
        return cls(whole, about | shown_as)


class Store:
    """A folder that `sweep` reads and adds to; several processes may do so at once.

    A file is written whole or not at all, and never changed. A cell is claimed by the process that plays it, for as
    long as that lives; another process that wants it waits, and reads what is there then. What is in the folder must
    be a store, or nothing.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        try:
            self._folder = Path(folder)
        except TypeError:
            raise SimulationError(f"expected store to be a folder, got {shown(folder)}") from None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise SimulationError(f"expected store to be a folder, got {self._folder}, which is a file") from None
        mark = self._folder / "store.json"
        if not mark.exists():
            if any(not entry.name.startswith(".") for entry in self._folder.iterdir()) and not mark.exists():
                raise SimulationError(
                    f"expected store to be a new folder, an empty one or a store, got {self._folder}, which holds "
                    "other files"
                )
            write_file(mark, json.dumps({"format": _FORMAT, "version": _VERSION}) + "\n")
        self._check(_read_json(mark), mark)

    def __str__(self) -> str:
        return str(self._folder)

    def _check(self, form: Any, mark: Path) -> None:
        if not isinstance(form, dict) or form.get("format") != _FORMAT:
            raise SimulationError(f"expected {mark} to say that the folder is a store, got {shown(form)}")
        if form.get("version") != _VERSION:
            raise SerializationError(
                f"{mark}: expected version {_VERSION}, got {shown(form.get('version'))}: upgrade matroid-bandits"
            )

    def claim(self, cell: Cell) -> Callable[[], None] | None:
        """Take a cell for this process, and return what gives it back; None where another process plays it."""
        folder = self._folder / cell.digest
        folder.mkdir(exist_ok=True)
        give_back = claim(folder / "lock")
        if give_back is not None:
            remove_leftovers(folder)
        return give_back

    def intervals(self, cell: Cell) -> list[Interval]:
        """The intervals of runs that are stored, in order; they may overlap, where locks did not work."""
        folder = self._folder / cell.digest
        if not folder.is_dir():
            return []
        names = (_NAME.fullmatch(entry.name) for entry in folder.iterdir())
        return sorted((int(match[1]), int(match[2])) for match in names if match is not None)

    def write(self, cell: Cell, part: Part) -> None:
        """Store a part, and with the first one what the cell is."""
        folder = self._folder / cell.digest
        if not (folder / "cell.json").exists():
            form = {"format": _CELL, "version": _VERSION, **cell.about}
            lines = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in form.items())
            write_file(folder / "cell.json", "{\n" + ",\n".join(lines) + "\n}\n")
        header: dict[str, Any] = {"key": cell.digest, "first": part.first, "last": part.last}
        if math.isfinite(part.seconds):
            header["seconds"] = part.seconds
        arrays = {name: getattr(part, name) for name in _ARRAYS if getattr(part, name) is not None}
        archives.save(self._path(cell, (part.first, part.last)), _PART, _VERSION, header, arrays)

    def read(self, cell: Cell, interval: Interval, taken: Interval, settings: Settings) -> Part:
        """Some runs of a part that was stored, with all their choices together.

        Raises
        ------
        SerializationError
            The file is damaged, or is not what its name says.
        """
        path, (first, last) = self._path(cell, interval), interval
        with archives.reading(path, _PART, _VERSION) as archive, archives.malformed("part of a sweep"):
            expected = {"key": cell.digest, "first": first, "last": last}
            header = dict(archive.header)
            seconds = as_number("seconds", header.pop("seconds"), 0.0) if "seconds" in header else math.nan
            if header != expected:
                raise ValueError(f"expected the header {expected}, got {shown(archive.header)}")
            _check_layouts(archive.layouts, last - first, settings)
            rows = slice(taken[0] - first, taken[1] - first)
            arrays: dict[str, Any] = {name: array[rows] for name, array in archive.read().items()}
            for name in ("choices", "item_alarms"):
                if name in arrays:
                    arrays[name] = arrays[name].sum(axis=0, dtype=np.int64)
            share = (taken[1] - taken[0]) / (last - first)
            return Part(first=taken[0], last=taken[1], **arrays, engine="store", seconds=seconds * share)

    def _path(self, cell: Cell, interval: Interval) -> Path:
        return self._folder / cell.digest / f"{interval[0]:08d}-{interval[1]:08d}.npz"

    def changes(self, cells: Iterable[Cell]) -> list[str]:
        """What is stored under the names of cells of which nothing is stored, and how it differs, in words."""
        new = {(cell.about["problem"], cell.about["policy"]): cell for cell in cells if not self.intervals(cell)}
        if not new:
            return []
        found: dict[str, None] = {}
        for path in sorted(self._folder.glob("*/cell.json")):
            old = _read_json(path)
            cell = new.get((old.get("problem"), old.get("policy"))) if isinstance(old, dict) else None
            if cell is not None:
                found |= dict.fromkeys(_differences(old, cell.about))
        return list(found)


def _check_layouts(layouts: Mapping[str, Layout], n_runs: int, settings: Settings) -> None:
    """Raise ValueError unless the arrays of a stored part are those that `play` makes, each with a row per run."""
    floats, counts = np.dtype(np.float64), np.min_scalar_type(settings.n_episodes)
    expected = {name: Layout(floats, (n_runs, settings.checkpoints.size)) for name in ("returns", "regret")}
    expected["choices"] = Layout(counts, (n_runs, settings.problem.n_items))
    expected["surplus"] = Layout(floats, (n_runs,))
    if "optimum" in layouts:
        expected["optimum"] = expected["returns"]
    if "alarms" in layouts or "item_alarms" in layouts:
        whole = np.dtype(np.int64)
        expected["alarms"] = Layout(whole, expected["returns"].shape)
        expected["item_alarms"] = Layout(whole, expected["choices"].shape)
    for name, layout in expected.items():
        if layouts.get(name) != layout:
            raise ValueError(f"expected {name} to be {layout}, got {layouts.get(name)}")
    for name in layouts:
        if name not in expected:
            raise ValueError(f"expected {shown(name)} to be of a part, got {layouts[name]}")


def _differences(old: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """How one cell differs from another, in words."""
    words = []
    for key, label in (("problem", f"problem {now['problem']!r}"), ("policy", f"policy {now['policy']!r}")):
        if old.get(f"{key}_key") != now[f"{key}_key"]:
            before, after = old.get(f"{key}_is"), now[f"{key}_is"]
            words.append(
                f"{label} was {before} and is {after}" if before != after else f"{label} has changed in its data"
            )
    for key in ("seed", "n_episodes", "start", "package"):
        if old.get(key) != now[key]:
            words.append(f"{key if key != 'package' else 'matroid-bandits'} was {old.get(key)} and is {now[key]}")
    if old.get("n_episodes") == now["n_episodes"] and old.get("checkpoints") != now["checkpoints"]:
        words.append("checkpoints were others")
    return words


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SerializationError(f"{path}: not a JSON file ({error})") from error


def covered(intervals: Iterable[Interval], n_runs: int) -> list[tuple[Interval, Interval]]:
    """Each stored interval that is needed for the first runs, and which of its runs to take, none of them twice."""
    found, end = [], 0
    for first, last in sorted(intervals):
        lo, hi = max(first, end), min(last, n_runs)
        if lo < hi:
            found.append(((first, last), (lo, hi)))
            end = hi
    return found


def missing(intervals: Iterable[Interval], n_runs: int) -> list[Interval]:
    """The first runs that are in none of the intervals, as intervals."""
    found, end = [], 0
    for first, last in [*(taken for _, taken in covered(intervals, n_runs)), (n_runs, n_runs)]:
        if first > end:
            found.append((end, first))
        end = last
    return found
