"""Real ISP maps with link lengths, from the PyPI package topohub (Topology Zoo and CAIDA)."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from matroid_bandits._util.extras import missing
from matroid_bandits.datasets._dataset import Dataset
from matroid_bandits.datasets._latencies import network_dataset
from matroid_bandits.datasets._records import Network
from matroid_bandits.exceptions import DataError

#: A handful of varied size for the report: from 11 nodes and 14 links to 290 nodes and 832 links.
DEFAULT_ISPS: tuple[str, ...] = (
    "topozoo/Abilene",
    "topozoo/AttMpls",
    "topozoo/Geant2012",
    "caida/1221",
    "topozoo/TataNld",
    "caida/20115",
)

# The collections of real networks whose coordinates are places on Earth.
_COLLECTIONS = ("topozoo", "caida")
_KM_PER_MS = 200.0  # light in fibre


def isp_names() -> tuple[str, ...]:
    """Return the names that :func:`isp` accepts: ``topozoo/NAME`` and ``caida/ASN``.

    Examples
    --------
    >>> "topozoo/Abilene" in isp_names()
    True
    """
    return tuple(_keys())


def isp(name: str) -> Dataset:
    """Load a real ISP map of the package topohub as a minimum-latency spanning tree problem, like the paper's
    networks.

    Parameters
    ----------
    name : str
        One of :func:`isp_names`, such as ``topozoo/Abilene`` or ``caida/1221``.

    Returns
    -------
    Dataset
        The same facts as :func:`rocketfuel`.

    Raises
    ------
    DataError
        No map has that name; the message has close ones.

    Notes
    -----
    A link's latency is its length at 200 km per ms, the speed of light in fibre, plus Exp(1) noise: the
    paper's model with mean length / 200 + 1. No latency is negative, and short links remain different.

    Examples
    --------
    >>> abilene = isp("topozoo/Abilene")
    >>> abilene.problem.constraint.n_items, abilene.problem.rank
    (14, 10)
    """
    network = read_isp(name)
    collection, short = name.split("/")
    origin = {"topozoo": "the Internet Topology Zoo", "caida": "CAIDA"}[collection]
    about = f"Map from {origin} (package topohub): latency is length / 200 km per ms, plus the paper's noise."
    title = f"AS {short} (CAIDA)" if collection == "caida" else f"{short} (Topology Zoo)"
    return network_dataset(name, title, network, about, None, is_real=True)


def read_isp(name: str) -> Network:
    """Links and mean latencies of one map: length / 200 km per ms, plus the noise's mean of 1 ms."""
    keys = _keys()
    if name not in keys:
        by_fold = {other.lower(): other for other in keys} | {other.split("/")[1].lower(): other for other in keys}
        close = difflib.get_close_matches(name.lower(), by_fold, n=3, cutoff=0.5)
        hint = ", ".join(dict.fromkeys(by_fold[other] for other in close))
        raise DataError(f"unknown ISP {name!r}" + (f"; did you mean {hint}?" if hint else "; see isp_names()"))
    # Not topohub.get(), which leaves the file open.
    graph: dict[str, Any] = json.loads((_root() / f"{keys[name]}.json").read_text(encoding="utf-8"))
    repeated = Counter(node.get("name") for node in graph["nodes"])
    names = {}
    for node in graph["nodes"]:
        given = node.get("name")
        names[node["id"]] = given if given and repeated[given] == 1 else f"{given or 'node'} ({node['id']})"
    links = [(names[edge["source"]], names[edge["target"]]) for edge in graph["edges"]]
    lengths = np.array([edge["dist"] for edge in graph["edges"]], np.float64)
    return Network(links, 1.0 + lengths / _KM_PER_MS)


@cache
def _keys() -> dict[str, str]:
    """Our name of each map -> topohub's key, which holds the month of CAIDA's maps; the latest is taken."""
    found = {}
    for collection in _COLLECTIONS:
        for path in sorted(_maps(_root() / collection, collection)):
            found[f"{collection}/{path.rsplit('/', 1)[1]}"] = path
    return dict(sorted(found.items()))


def _maps(folder: Traversable, key: str) -> list[str]:
    maps: list[str] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            maps += _maps(entry, f"{key}/{entry.name}")
        elif entry.name.endswith(".json"):
            maps.append(f"{key}/{entry.name.removesuffix('.json')}")
    return maps


def _root() -> Traversable:
    try:
        return resources.files("topohub") / "data"
    except ImportError as error:  # pragma: no cover - installed wherever the tests run
        raise missing("ISP maps come with topohub", "experiments") from error
