"""RocketFuel's maps of Internet providers: the networks of the paper's Section 5.1."""

import os
from pathlib import Path

import numpy as np

from matroid_bandits.datasets import _printed
from matroid_bandits.datasets._dataset import Dataset
from matroid_bandits.datasets._folders import find
from matroid_bandits.datasets._latencies import network_dataset
from matroid_bandits.datasets._lines import fail, is_whole, read_lines
from matroid_bandits.datasets._records import Network
from matroid_bandits.datasets._registry import SOURCES
from matroid_bandits.datasets._standins import standin_network
from matroid_bandits.exceptions import DataError

#: The paper's six networks, by autonomous system number.
ROCKETFUEL_ASNS: tuple[int, ...] = tuple(_printed.NETWORKS)


def rocketfuel(asn: int | str, data: str | os.PathLike[str] | None = None, *, standin: bool | None = None) -> Dataset:
    """Load one of the paper's ISP networks (Section 5.1) as a minimum-latency spanning tree problem.

    Items are links, labelled by their two nodes; weights are latencies in ms, to be minimised.

    Parameters
    ----------
    asn : {1221, 1239, 1755, 3257, 3967, 6461}
        Autonomous system number.
    data : path, optional
        Data folder; the file is ``rocketfuel/<ASN>/latencies.intra`` in it. By default
        ``MATROID_BANDITS_DATA`` and the user's cache folder are searched.
    standin : bool, optional
        True: the stand-in, whatever is there. False: never. By default the stand-in where no `data` is
        named and none is found.

    Returns
    -------
    Dataset
        Facts: ``nodes``, ``edges``, ``components``, ``min_latency``, ``max_latency``, ``mean_latency``.

    Raises
    ------
    DataError
        The file is not where it was said to be, or is malformed.

    Examples
    --------
    >>> network = rocketfuel(1755, standin=True)
    >>> network.facts["nodes"], network.facts["edges"], round(network.facts["mean_latency"], 2)
    (87, 161, 2.91)
    >>> float(network.problem.optimal_value)
    193.0
    """
    key = int(asn) if str(asn).isdecimal() else None
    if key not in _printed.NETWORKS:
        raise DataError(f"expected one of the networks {', '.join(map(str, ROCKETFUEL_ASNS))}; got {asn!r}")
    file = f"rocketfuel/{key}/latencies.intra"
    folder = find([file], data, standin, SOURCES["rocketfuel"])
    path = None if folder is None else folder / file
    network = standin_network(key) if path is None else read_network(path)
    about = (
        "RocketFuel's map of the provider, with link latencies inferred from measurements."
        if path
        else "A made-up network with the nodes, links, latencies and optimal cost of the paper's Table 1."
    )
    return network_dataset(f"rocketfuel-{key}", f"ISP network {key}", network, about, path, is_real=path is not None)


def read_network(path: Path) -> Network:
    """Read RocketFuel's ``latencies.intra``: ``node node latency`` a line, each link once in each direction."""
    # Links are numbered in the order in which they first appear.
    first_seen: dict[tuple[str, str], tuple[int, int]] = {}  # directed link -> line, latency
    for line, text in read_lines(path):
        fields = text.split(" ")
        if len(fields) != 3 or not all(fields):
            fail(path, line, f"expected 'node node latency' separated by single spaces, got {text!r}")
        u, v, latency = fields
        if not is_whole(latency) or int(latency) < 1:
            fail(path, line, f"expected a latency in whole milliseconds, at least 1; got {latency!r}")
        if u == v:
            fail(path, line, f"link from {u} to itself")
        if (u, v) in first_seen:
            fail(path, line, f"link {u} {v} is already on line {first_seen[u, v][0]}")
        if (v, u) in first_seen and first_seen[v, u][1] != int(latency):
            there, other = first_seen[v, u]
            fail(path, line, f"latency {latency} differs from {other} in the other direction, line {there}")
        first_seen[u, v] = line, int(latency)
    for (u, v), (line, _) in first_seen.items():
        if (v, u) not in first_seen:
            fail(path, line, f"link {u} {v} is not listed in the other direction")
    links = {(u, v): latency for (u, v), (line, latency) in first_seen.items() if line < first_seen[v, u][0]}
    return Network(list(links), np.array(list(links.values()), np.float64))
