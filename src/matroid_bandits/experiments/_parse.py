"""Strict readers of the paper's data files: a malformed line is an error with its file and line number."""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments._records import CLUSTERS, GENRES, Audience, Lending, Network


def read_network(path: Path) -> Network:
    """Read RocketFuel's ``latencies.intra``: ``node node latency`` a line, each link once in each direction.

    Links are numbered in the order in which they first appear.
    """
    first_seen: dict[tuple[str, str], tuple[int, int]] = {}  # directed link -> line, latency
    for line, text in _lines(path):
        fields = text.split(" ")
        if len(fields) != 3 or not all(fields):
            _fail(path, line, f"expected 'node node latency' separated by single spaces, got {text!r}")
        u, v, latency = fields
        if not _is_whole(latency) or int(latency) < 1:
            _fail(path, line, f"expected a latency in whole milliseconds, at least 1; got {latency!r}")
        if u == v:
            _fail(path, line, f"link from {u} to itself")
        if (u, v) in first_seen:
            _fail(path, line, f"link {u} {v} is already on line {first_seen[u, v][0]}")
        if (v, u) in first_seen and first_seen[v, u][1] != int(latency):
            there, other = first_seen[v, u]
            _fail(path, line, f"latency {latency} differs from {other} in the other direction, line {there}")
        first_seen[u, v] = line, int(latency)
    for (u, v), (line, _) in first_seen.items():
        if (v, u) not in first_seen:
            _fail(path, line, f"link {u} {v} is not listed in the other direction")
    links = {(u, v): latency for (u, v), (line, latency) in first_seen.items() if line < first_seen[v, u][0]}
    return Network(list(links), np.array(list(links.values()), np.float64))


STATUSES = ("paid", "in_repayment", "defaulted", "expired", "fundraising", "funded", "refunded")
_OUTCOMES = {status: {"paid": 1.0, "in_repayment": 0.7}.get(status, 0.0) for status in STATUSES}
_LOANS_HEADER = "loan_id,partner_id,status,posted_date,lenders,support"
_POSTED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Loans:
    """Outcomes of each partner's loans and, a row for each partner, its supporters by cluster."""

    partners: list[int]
    outcomes: list[FloatArray]
    support: IntArray


def read_loans(path: Path, n_loans: int) -> Loans:
    """Read the first `n_loans` rows, the newest, of Kiva's ``loans.csv.gz``; partners by ascending id."""
    column = {name: k for k, name in enumerate(CLUSTERS)}
    outcomes: dict[int, list[float]] = {}
    support: dict[int, list[int]] = {}
    before = ("9999", 0)
    lines = _lines(path)
    line, text = next(lines)
    if text != _LOANS_HEADER:
        _fail(path, line, f"expected the header {_LOANS_HEADER!r}, got {text!r}")
    for line, text in lines:
        if line > n_loans + 1:
            break
        fields = text.split(",")
        if len(fields) != 6:
            _fail(path, line, f"expected 6 fields, got {len(fields)}")
        loan, partner, status, posted, lenders, places = fields
        if not (_is_whole(loan) and _is_whole(partner) and _is_whole(lenders)):
            _fail(path, line, f"expected whole numbers as loan, partner and lenders, got {text!r}")
        if status not in _OUTCOMES:
            _fail(path, line, f"unknown status {status!r}; expected one of {', '.join(STATUSES)}")
        if not _POSTED.fullmatch(posted):
            _fail(path, line, f"expected a date such as 2014-01-25T09:00:02Z, got {posted!r}")
        if (posted, int(loan)) >= before and line > 2:
            _fail(path, line, "loans must be listed newest first, and by descending id within a second")
        before = posted, int(loan)
        counts = support.setdefault(int(partner), [0] * len(CLUSTERS))
        outcomes.setdefault(int(partner), []).append(_OUTCOMES[status])
        for place in places.split(" ") if places else ():
            name, _, count = place.partition(":")
            if name not in column or not _is_whole(count):
                _fail(path, line, f"expected support such as 'CA:1 XX:8', got {places!r}")
            counts[column[name]] += int(count)
    if line < n_loans + 1:
        raise DataError(f"{path}: expected at least {n_loans:,} loans, got {line - 1:,}")
    partners = sorted(outcomes)
    return Loans(
        partners,
        [np.array(outcomes[partner]) for partner in partners],
        np.array([support[partner] for partner in partners], np.int64),
    )


def join_lenders(loans: Loans) -> Lending:
    """Join each partner to the top half of its supporters.

    Of the m clusters with any support, ranked by support and then by number, the first floor(m / 2) are kept.
    """
    ranked = np.argsort(-loans.support, axis=1, kind="stable") + 1
    kept = np.count_nonzero(loans.support, axis=1) // 2
    clusters = [sorted(row[:m].tolist()) for row, m in zip(ranked, kept, strict=True)]
    return Lending(loans.partners, loans.outcomes, clusters)


@dataclass(frozen=True)
class Movies:
    """Ids, titles and genres, in the order of the file."""

    ids: IntArray
    titles: list[str]
    genres: list[tuple[str, ...]]


def read_movies(path: Path) -> Movies:
    """Read MovieLens's ``movies.dat``: ``id::title::genre|genre|...`` a line, in latin-1."""
    ids: dict[int, int] = {}
    titles, genres = [], []
    for line, text in _lines(path, encoding="latin-1"):
        fields = text.split("::")
        if len(fields) != 3:
            _fail(path, line, f"expected 'id::title::genres', got {text!r}")
        movie, title, names = fields
        if not _is_whole(movie):
            _fail(path, line, f"expected a whole number as movie id, got {movie!r}")
        if int(movie) in ids:
            _fail(path, line, f"movie {movie} is already on line {ids[int(movie)]}")
        if not title:
            _fail(path, line, "empty title")
        listed = tuple(names.split("|"))
        if unknown := [name for name in listed if name not in GENRES]:
            _fail(path, line, f"unknown genre {unknown[0]!r}")
        if len(set(listed)) < len(listed):
            _fail(path, line, f"a genre is repeated in {names!r}")
        ids[int(movie)] = line
        titles.append(title)
        genres.append(listed)
    return Movies(np.array(list(ids), np.int64), titles, genres)


# Possessive, so that a million lines are matched without remembering where to go back to.
_RATINGS = re.compile(rb"(?:\d{1,9}::\d{1,9}::[1-5]::\d{1,12}\r?\n)*+")
_RATING_FIELDS = re.compile(r"\d{1,9}::\d{1,9}::(.*)::\d{1,12}")


def read_ratings(path: Path, movies: Movies) -> tuple[IntArray, IntArray]:
    """Read MovieLens's ``ratings.dat``: ``user::movie::rating::time`` a line.

    Returns the person and the position in `movies` of each rating; persons are numbered from 0.
    """
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
            _fail(path, line, f"expected a rating from 1 to 5, got {rating[1]!r}")
        _fail(path, line, f"expected 'user::movie::rating::time' in whole numbers, got {text!r}")
    users, ids = np.fromstring(data.replace(b"::", b" ").decode("ascii"), np.int64, sep=" ").reshape(-1, 4).T[:2]

    order = np.argsort(movies.ids)
    rank = np.minimum(np.searchsorted(movies.ids, ids, sorter=order), movies.ids.size - 1)
    position = order[rank]
    unknown = np.flatnonzero(movies.ids[position] != ids)
    if unknown.size:
        _fail(path, int(unknown[0]) + 1, f"unknown movie {ids[unknown[0]]}")
    person = np.unique(users, return_inverse=True)[1]
    pairs = person * movies.ids.size + position
    _, first = np.unique(pairs, return_index=True)
    if first.size < pairs.size:
        again = int(np.setdiff1d(np.arange(pairs.size), first)[0])
        _fail(path, again + 1, f"user {users[again]} has rated movie {ids[again]} already")
    return person, position


def choose_movies(movies: Movies, person: IntArray, position: IntArray, n_popular: int, n_obscure: int) -> Audience:
    """Keep the most rated movies and the least rated ones with any rating, ties by lowest id.

    Movies with a colon in the title are left out: none is in the paper's list, though five would be.
    """
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
    return Audience([movies.titles[e] for e in chosen], [movies.genres[e] for e in chosen], matrix)


def _lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Line numbers and lines without their ends; an empty, unreadable or wrongly encoded file is an error."""
    line = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line, raw in enumerate(file, 1):
                yield line, raw.rstrip(b"\r\n").decode(encoding)
    except UnicodeDecodeError:
        _fail(path, line, f"not {encoding} text")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read after line {line} ({error})") from error
    if line == 0:
        raise DataError(f"{path}: the file is empty")


def _is_whole(text: str) -> bool:
    # int() also takes signs, spaces, underscores and other scripts' digits.
    return text.isascii() and text.isdecimal()


def _fail(path: Path, line: int, problem: str) -> NoReturn:
    raise DataError(f"{path}, line {line}: {problem}")
