"""The data of the paper's three experiments as labelled problems: real where it is there, else stand-ins."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.environments import ExponentialEnvironment, RowEnvironment, SampleEnvironment
from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments import _paper, _parse, _standins
from matroid_bandits.experiments._catalog import SOURCES, find
from matroid_bandits.experiments._records import CLUSTERS, GENRES, Audience, Lending, Network, genre_vectors
from matroid_bandits.experiments._topohub import read_isp
from matroid_bandits.matroids import GraphicMatroid, LinearMatroid, TransversalMatroid
from matroid_bandits.problem import Problem

#: The paper's six networks, by autonomous system number.
ROCKETFUEL_ASNS: tuple[int, ...] = tuple(_paper.NETWORKS)


@dataclass(frozen=True)
class Dataset:
    """A problem and where it comes from.

    Attributes
    ----------
    name, title : str
        Short name, such as ``rocketfuel-1221``, and one for headings.
    problem : Problem
        The problem; its matroid carries labels.
    description : str
        What it is, in a sentence or two.
    source : {"real", "stand-in"}
        Whether the data is real or made up to match the paper's figures.
    path : Path or None
        The file or folder it was read from.
    facts : mapping
        Plain figures for a report; which ones, each function says.
    """

    name: str
    title: str
    problem: Problem
    description: str
    source: Literal["real", "stand-in"]
    path: Path | None
    facts: Mapping[str, Any]


def rocketfuel(asn: int | str, data: str | os.PathLike[str] | None = None, *, standin: bool | None = None) -> Dataset:
    """One of the paper's ISP networks (Section 5.1): the routing forest of least latency.

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
    if key not in _paper.NETWORKS:
        raise DataError(f"expected one of the networks {', '.join(map(str, ROCKETFUEL_ASNS))}; got {asn!r}")
    file = f"rocketfuel/{key}/latencies.intra"
    folder = find([file], data, standin, SOURCES["rocketfuel"])
    path = None if folder is None else folder / file
    network = _standins.standin_network(key) if path is None else _parse.read_network(path)
    about = (
        "RocketFuel's map of the provider, with link latencies inferred from measurements."
        if path
        else "A made-up network with the nodes, links, latencies and optimal cost of the paper's Table 1."
    )
    return _network_dataset(f"rocketfuel-{key}", f"ISP network {key}", network, about, path, is_real=path is not None)


def isp(name: str) -> Dataset:
    """A real ISP map of the package topohub as a problem like the paper's networks.

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
    >>> abilene.problem.constraint.n_items, abilene.problem.constraint.rank
    (14, 10)
    """
    network = read_isp(name)
    collection, short = name.split("/")
    origin = {"topozoo": "the Internet Topology Zoo", "caida": "CAIDA"}[collection]
    about = f"Map from {origin} (package topohub): latency is length / 200 km per ms, plus the paper's noise."
    title = f"AS {short} (CAIDA)" if collection == "caida" else f"{short} (Topology Zoo)"
    return _network_dataset(name, title, network, about, None, is_real=True)


def kiva(data: str | os.PathLike[str] | None = None, *, standin: bool | None = None) -> Dataset:
    """Lending partners assigned to clusters of lenders (Section 5.2): the best transversal.

    Items are partners, labelled by their ids; a weight is the outcome of a random loan of the partner: 1
    paid, 0.7 in repayment, 0 otherwise. Right vertices are cluster numbers, 1 (AK) to 50 (WY) and 51 (XX,
    outside the US).

    Parameters
    ----------
    data : path, optional
        Data folder; the file is ``kiva/loans.csv.gz`` in it. See :func:`rocketfuel`.
    standin : bool, optional
        See :func:`rocketfuel`.

    Returns
    -------
    Dataset
        Facts: ``partners``, ``loans``, ``edges``, ``clusters``, and one entry for each cluster in
        ``cluster_names``, ``cluster_partners`` (how many are eligible) and ``cluster_rates`` (the mean of
        their rates; None without partners).

    Raises
    ------
    DataError
        The file is not where it was said to be, or is malformed.

    Examples
    --------
    >>> lending = kiva(standin=True)
    >>> lending.facts["partners"], lending.facts["loans"], lending.problem.optimal_basis.size
    (232, 194876, 46)
    """
    file = "kiva/loans.csv.gz"
    folder = find([file], data, standin, SOURCES["kiva"])
    if folder is None:
        lending = _standins.standin_lending()
        about = "A made-up lender graph with the sizes of the paper's and the rows of its Figure 2."
    else:
        lending = _parse.join_lenders(_parse.read_loans(folder / file, _paper.N_LOANS))
        about = (
            "The newest 194,876 loans of Kiva's snapshot of 25 January 2014; a partner is joined to the"
            " top half of the clusters that support it. The paper used another cut of the same source."
        )
    rates = np.array([outcomes.mean() for outcomes in lending.outcomes])
    return Dataset(
        name="kiva",
        title="Kiva lending partners",
        problem=Problem(
            TransversalMatroid(lending.clusters, labels=lending.partners), SampleEnvironment(lending.outcomes)
        ),
        description=about,
        source="stand-in" if folder is None else "real",
        path=None if folder is None else folder / file,
        facts={
            "partners": len(lending.partners),
            "loans": sum(len(outcomes) for outcomes in lending.outcomes),
            "edges": sum(len(clusters) for clusters in lending.clusters),
            **_cluster_facts(lending, rates),
        },
    )


def movielens(data: str | os.PathLike[str] | None = None, *, standin: bool | None = None) -> Dataset:
    """Popular movies of independent genres (Section 5.3): 100 movies, 18 genres, one person an episode.

    Items are movies, labelled by their titles, the most rated first; a weight is 1 when the person of the
    episode has rated the movie, so weights are dependent.

    Parameters
    ----------
    data : path, optional
        Data folder; the files are ``movielens-1m/movies.dat`` and ``ratings.dat``. See :func:`rocketfuel`.
    standin : bool, optional
        See :func:`rocketfuel`.

    Returns
    -------
    Dataset
        Facts: ``movies``, ``people``, ``genre_names``, and one entry for each item in ``titles`` (as the
        paper writes them, without year and article) and ``genres``.

    Raises
    ------
    DataError
        A file is not where it was said to be, or is malformed.

    Notes
    -----
    The paper does not say which 75 movies are "not well known": the least rated ones are taken, ties by
    lowest id. Movies with a colon in the title are left out, which its list of movies implies.

    Examples
    --------
    >>> audience = movielens(standin=True)
    >>> best = audience.problem.optimal_basis
    >>> [audience.problem.constraint.labels[e] for e in best[:2]], best.size
    (['American Beauty', 'Jurassic Park'], 17)
    """
    files = ["movielens-1m/movies.dat", "movielens-1m/ratings.dat"]
    folder = find(files, data, standin, SOURCES["movielens"])
    if folder is None:
        audience = _standins.standin_audience()
        about = "Made-up movies around the twelve that the paper prints, and as many people as it had."
    else:
        audience = _read_audience(*(folder / file for file in files))
        about = "MovieLens 1M: the 25 most rated movies and 75 of the least rated ones, and who rated them."
    return Dataset(
        name="movielens",
        title="MovieLens movies",
        problem=Problem(
            LinearMatroid(genre_vectors(audience.genres), labels=audience.titles),
            RowEnvironment(audience.rated),
        ),
        description=about,
        source="stand-in" if folder is None else "real",
        path=None if folder is None else folder / "movielens-1m",
        facts={
            "movies": len(audience.titles),
            "people": len(audience.rated),
            "genre_names": GENRES,
            "titles": tuple(_short(title) for title in audience.titles),
            "genres": tuple(audience.genres),
        },
    )


def _network_dataset(
    name: str, title: str, network: Network, about: str, path: Path | None, *, is_real: bool
) -> Dataset:
    matroid = GraphicMatroid(network.links)
    n_nodes = len({node for link in network.links for node in link})
    return Dataset(
        name=name,
        title=title,
        problem=Problem(matroid, ExponentialEnvironment(network.latencies), minimize=True),
        description=about,
        source="real" if is_real else "stand-in",
        path=path,
        facts={
            "nodes": n_nodes,
            "edges": len(network.links),
            "components": n_nodes - matroid.rank,
            "min_latency": float(network.latencies.min()),
            "max_latency": float(network.latencies.max()),
            "mean_latency": float(network.latencies.mean()),
        },
    )


def _cluster_facts(lending: Lending, rates: FloatArray) -> dict[str, Any]:
    is_joined = np.array([np.isin(np.arange(1, len(CLUSTERS) + 1), row) for row in lending.clusters])
    degrees, totals = is_joined.sum(axis=0).tolist(), (rates @ is_joined).tolist()
    return {
        "clusters": len(CLUSTERS),
        "cluster_names": CLUSTERS,
        "cluster_partners": tuple(degrees),
        "cluster_rates": tuple(total / d if d else None for total, d in zip(totals, degrees, strict=True)),
    }


def _read_audience(movies_path: Path, ratings_path: Path) -> Audience:
    movies = _parse.read_movies(movies_path)
    person, position = _parse.read_ratings(ratings_path, movies)
    return _parse.choose_movies(movies, person, position, _paper.N_POPULAR, _paper.N_OBSCURE)


def _short(title: str) -> str:
    """'Matrix, The (1999)' -> 'Matrix'."""
    return re.sub(r"(, (The|A|An))?( \(\d{4}\))?$", "", title)
