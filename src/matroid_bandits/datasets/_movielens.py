"""MovieLens 1M: the movies of the paper's Section 5.3."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray
from matroid_bandits.datasets import _printed
from matroid_bandits.datasets._dataset import Dataset
from matroid_bandits.datasets._folders import find
from matroid_bandits.datasets._lines import fail, is_whole, read_lines
from matroid_bandits.datasets._records import GENRES, Audience, genre_vectors
from matroid_bandits.datasets._registry import SOURCES
from matroid_bandits.datasets._standins import standin_audience
from matroid_bandits.environments import RowEnvironment
from matroid_bandits.exceptions import DataError
from matroid_bandits.matroids import LinearMatroid
from matroid_bandits.problem import Problem


def movielens(data: str | os.PathLike[str] | None = None, *, standin: bool | None = None) -> Dataset:
    """Load the movie recommendation problem (Section 5.3): 100 movies, 18 genres, one person per episode.

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
        paper writes them, without year and article) and ``genres``. ``rated`` has a row for each person,
        and ``users`` the id of each.

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
        audience = standin_audience()
        about = "Made-up movies around the twelve that the paper prints, and as many people as it had."
    else:
        audience = _read_audience(folder / "movielens-1m")
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
            "rated": audience.rated,
            "users": audience.users,
        },
    )


def _read_audience(folder: Path) -> Audience:
    """The paper's 100 movies and who rated them, from MovieLens's files."""
    movies = read_movies(folder / "movies.dat")
    person, position, users = read_ratings(folder / "ratings.dat", movies)
    return choose_movies(movies, person, position, users, _printed.N_POPULAR, _printed.N_OBSCURE)


def _short(title: str) -> str:
    """A title as the paper writes it, without year and article: 'Matrix' for 'Matrix, The (1999)'."""
    return re.sub(r"(, (The|A|An))?( \(\d{4}\))?$", "", title)


@dataclass(frozen=True)
class Movies:
    """The movies of ``movies.dat``: ids, titles and genres, in the order of the file."""

    ids: IntArray
    titles: list[str]
    genres: list[tuple[str, ...]]


def read_movies(path: Path) -> Movies:
    """Read MovieLens's ``movies.dat``: ``id::title::genre|genre|...`` a line, in latin-1."""
    ids: dict[int, int] = {}
    titles, genres = [], []
    for line, text in read_lines(path, encoding="latin-1"):
        fields = text.split("::")
        if len(fields) != 3:
            fail(path, line, f"expected 'id::title::genres', got {text!r}")
        movie, title, names = fields
        if not is_whole(movie):
            fail(path, line, f"expected a whole number as movie id, got {movie!r}")
        if int(movie) in ids:
            fail(path, line, f"movie {movie} is already on line {ids[int(movie)]}")
        if not title:
            fail(path, line, "empty title")
        listed = tuple(names.split("|"))
        if unknown := [name for name in listed if name not in GENRES]:
            fail(path, line, f"unknown genre {unknown[0]!r}")
        if len(set(listed)) < len(listed):
            fail(path, line, f"a genre is repeated in {names!r}")
        ids[int(movie)] = line
        titles.append(title)
        genres.append(listed)
    return Movies(np.array(list(ids), np.int64), titles, genres)


# Possessive, so that a million lines are matched without remembering where to go back to.
_RATINGS = re.compile(rb"(?:\d{1,9}::\d{1,9}::[1-5]::\d{1,12}\r?\n)*+")
_RATING_FIELDS = re.compile(r"\d{1,9}::\d{1,9}::(.*)::\d{1,12}")


def read_ratings(path: Path, movies: Movies) -> tuple[IntArray, IntArray, IntArray]:
    """Read MovieLens's ``ratings.dat``: ``user::movie::rating::time`` a line."""
    # Returns the person and the position in `movies` of each rating, and the user id of each person; persons are
    # numbered from 0.
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    if not data.endswith(b"\n"):
        data += b"\n"
    matched = _RATINGS.match(data)
    end = matched.end() if matched else 0
    if end < len(data):
        text = data[end : data.index(b"\n", end)].decode("ascii", "replace")
        line = data.count(b"\n", 0, end) + 1
        if rating := _RATING_FIELDS.fullmatch(text):
            fail(path, line, f"expected a rating from 1 to 5, got {rating[1]!r}")
        fail(path, line, f"expected 'user::movie::rating::time' in whole numbers, got {text!r}")
    users, ids = np.fromstring(data.replace(b"::", b" ").decode("ascii"), np.int64, sep=" ").reshape(-1, 4).T[:2]

    order = np.argsort(movies.ids)
    rank = np.minimum(np.searchsorted(movies.ids, ids, sorter=order), movies.ids.size - 1)
    position = order[rank]
    unknown = np.flatnonzero(movies.ids[position] != ids)
    if unknown.size:
        fail(path, int(unknown[0]) + 1, f"unknown movie {ids[unknown[0]]}")
    people, person = np.unique(users, return_inverse=True)
    pairs = person * movies.ids.size + position
    _, first = np.unique(pairs, return_index=True)
    if first.size < pairs.size:
        again = int(np.setdiff1d(np.arange(pairs.size), first)[0])
        fail(path, again + 1, f"user {users[again]} has rated movie {ids[again]} already")
    return person, position, people


def choose_movies(
    movies: Movies, person: IntArray, position: IntArray, users: IntArray, n_popular: int, n_obscure: int
) -> Audience:
    """Keep the most rated movies and the least rated ones with any rating, ties by lowest id."""
    # Movies with a colon in the title are left out: none is in the paper's list, though five would be.
    n_people = int(person.max(initial=-1)) + 1
    counts = np.bincount(position, minlength=movies.ids.size)
    plain = np.array([":" not in title for title in movies.titles], np.bool_)
    rated = np.flatnonzero(plain & (counts > 0))
    if rated.size < n_popular + n_obscure:
        raise DataError(f"expected at least {n_popular + n_obscure} rated movies, got {rated.size}")
    popular = rated[np.lexsort((movies.ids[rated], -counts[rated]))][:n_popular]
    others = np.setdiff1d(rated, popular)
    obscure = others[np.lexsort((movies.ids[others], counts[others]))][:n_obscure]
    chosen = np.concatenate((popular, obscure))

    item: AnyArray = np.full(movies.ids.size, -1)
    item[chosen] = np.arange(chosen.size)
    wanted = item[position] >= 0
    matrix = np.zeros((n_people, chosen.size), np.uint8)
    matrix[person[wanted], item[position[wanted]]] = 1
    return Audience([movies.titles[e] for e in chosen], [movies.genres[e] for e in chosen], matrix, users)
