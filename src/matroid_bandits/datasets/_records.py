"""A data set before it is a problem: what the parsers read and the stand-ins generate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matroid_bandits._typing import FloatArray, IntArray

_STATES = (
    "AK AL AR AZ CA CO CT DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY "
    "OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY"
)

#: Clusters of lenders, numbered from 1: the 50 states by abbreviation, then everyone outside the US.
CLUSTERS: tuple[str, ...] = (*_STATES.split(), "XX")

GENRES: tuple[str, ...] = (
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)


@dataclass(frozen=True)
class Network:
    """Links between named nodes and the mean latency of each, in milliseconds."""

    links: list[tuple[str, str]]
    latencies: FloatArray


@dataclass(frozen=True)
class Lending:
    """Partners by ascending id, the outcomes of each one's loans, and its clusters (numbers from 1)."""

    partners: list[int]
    outcomes: list[FloatArray]
    clusters: list[list[int]]


@dataclass(frozen=True)
class Audience:
    """Movies, and who rated them: ``rated[i, e]`` is 1 when person i, with the id ``users[i]``, rated movie e."""

    titles: list[str]
    genres: list[tuple[str, ...]]
    rated: NDArray[np.uint8]
    users: IntArray


def genre_vectors(genres: Sequence[tuple[str, ...]]) -> IntArray:
    """One 0/1 row over the 18 genres for each movie."""
    vectors = np.zeros((len(genres), len(GENRES)), np.int64)
    for row, names in zip(vectors, genres, strict=True):
        row[[GENRES.index(name) for name in names]] = 1
    return vectors
