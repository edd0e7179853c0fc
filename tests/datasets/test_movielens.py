"""MovieLens: the readers on small files, the real ratings where they are there."""

import pytest

from data_files import MOVIES, write
from matroid_bandits.datasets import movielens
from matroid_bandits.datasets._movielens import choose_movies, read_movies, read_ratings
from matroid_bandits.exceptions import DataError
from printed_figures import check_movies


def test_movies_and_ratings(tmp_path):
    movies = read_movies(write(tmp_path / "movies.dat", MOVIES))
    assert movies.titles == ["Alpha (1999)", "Beta: Two", "Gämma", "Delta"]
    assert movies.genres[0] == ("Comedy", "Drama")
    ratings = write(
        tmp_path / "ratings.dat", "9::5::5::1\n9::1::1::2\n3::5::3::3\n3::2::3::3\n8::2::3::3\n8::4::1::3"
    )
    person, position, users = read_ratings(ratings, movies)
    assert users.tolist() == [3, 8, 9]
    assert person.tolist() == [2, 2, 0, 0, 1, 1]
    assert position.tolist() == [2, 0, 2, 1, 1, 3]
    audience = choose_movies(movies, person, position, users, 1, 2)  # Beta has a colon
    assert audience.titles == ["Gämma", "Alpha (1999)", "Delta"]
    assert audience.rated.tolist() == [[1, 0, 0], [0, 0, 1], [1, 1, 0]]
    with pytest.raises(DataError, match="expected at least 5 rated movies, got 3"):
        choose_movies(movies, person, position, users, 1, 4)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("7::Title", "line 5: expected 'id::title::genres'"),
        ("7::A::B::Drama", "line 5: expected 'id::title::genres'"),
        ("x::Title::Drama", "line 5: expected a whole number as movie id"),
        ("5::Title::Drama", "line 5: movie 5 is already on line 3"),
        ("7::::Drama", "line 5: empty title"),
        ("7::Title::Opera", "line 5: unknown genre 'Opera'"),
        ("7::Title::", "line 5: unknown genre ''"),
        ("7::Title::War|War", "line 5: a genre is repeated"),
    ],
)
def test_malformed_movies(tmp_path, line, match):
    with pytest.raises(DataError, match=match):
        read_movies(write(tmp_path / "movies.dat", MOVIES + line.encode() + b"\n"))


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("1::2::3", "line 3: expected 'user::movie::rating::time'"),
        ("1::2::3::4::5", "line 3: expected"),
        ("1:2::3::4", "line 3: expected"),
        ("1::2::3::4 ", "line 3: expected"),
        ("x::2::3::4", "line 3: expected"),
        ("", "line 3: expected"),
        ("1::2::6::4", "line 3: expected a rating from 1 to 5, got '6'"),
        ("1::2::0::4", "line 3: expected a rating from 1 to 5, got '0'"),
        ("1::2::3.5::4", "line 3: expected a rating from 1 to 5, got '3.5'"),
        ("1::3::3::4", "line 3: unknown movie 3"),
        ("1::99::3::4", "line 3: unknown movie 99"),
        ("1::1::3::4", "line 3: user 1 has rated movie 1 already"),
    ],
)
def test_malformed_ratings(tmp_path, line, match):
    movies = read_movies(write(tmp_path / "movies.dat", MOVIES))
    path = write(tmp_path / "ratings.dat", f"1::1::5::1\n2::1::5::1\n{line}\n7::4::1::1\n")
    with pytest.raises(DataError, match=match):
        read_ratings(path, movies)


def test_missing_ratings(tmp_path):
    movies = read_movies(write(tmp_path / "movies.dat", MOVIES))
    with pytest.raises(DataError, match=r"ratings\.dat: cannot be read"):
        read_ratings(tmp_path / "ratings.dat", movies)


def test_real_movies(real_data):
    audience = movielens(real_data)
    check_movies(audience)
    assert f"{audience.problem.optimal_value:.4f}" == "5.4210"
    titles = [audience.facts["titles"][e] for e in audience.problem.optimal_basis]
    assert titles[12] == "Toy Story"
    assert set(titles[13:]) == {
        "Frank and Ollie",
        "Hungarian Fairy Tale",
        "Tashunga",
        "Waltzes from Vienna",
    }
