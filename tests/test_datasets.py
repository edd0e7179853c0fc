"""Parsers on small files, stand-ins against the paper's printed figures, the real data where it is there."""

import csv
import gzip
import json
import os
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments import (
    DEFAULT_ISPS,
    ROCKETFUEL_ASNS,
    Dataset,
    isp,
    isp_names,
    kiva,
    movielens,
    rocketfuel,
)
from matroid_bandits.experiments import _paper as paper
from matroid_bandits.experiments._parse import (
    Loans,
    choose_movies,
    join_lenders,
    read_loans,
    read_movies,
    read_network,
    read_ratings,
)
from matroid_bandits.experiments._records import CLUSTERS, GENRES

# ---------------------------------------------------------------------------------------------------------
# RocketFuel


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def test_network_links_in_order_of_first_appearance(tmp_path):
    network = read_network(write(tmp_path / "x", "b,+X1 a 3\na b,+X1 3\na c 1\nc a 1\n"))
    assert network.links == [("b,+X1", "a"), ("a", "c")]
    assert network.latencies.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a b 1\nb a 1\na b\n", r"line 3: expected 'node node latency'"),
        ("a b 1 1\n", r"line 1: expected 'node node latency'"),
        ("a b 1\n\nb a 1\n", r"line 2: expected 'node node latency'"),
        ("a  b 1\n", r"line 1: expected 'node node latency'"),
        ("a b 1\nb a 1.5\n", r"line 2: .* whole milliseconds, at least 1; got '1.5'"),
        ("a b 0\n", r"line 1: .* got '0'"),
        ("a b -1\n", r"line 1: .* got '-1'"),
        ("a b 1_0\n", r"line 1: .* got '1_0'"),
        ("a b 1\nb a 1\nc c 2\n", r"line 3: link from c to itself"),
        ("a b 1\nb a 1\na b 1\n", r"line 3: link a b is already on line 1"),
        ("a b 1\nb a 2\n", r"line 2: latency 2 differs from 1 in the other direction, line 1"),
        ("a b 1\nb a 1\na c 2\n", r"line 3: link a c is not listed in the other direction"),
        (b"a b 1\n\xff a 1\n", r"line 2: not utf-8 text"),
        ("", r"the file is empty"),
    ],
)
def test_malformed_network(tmp_path, text, match):
    path = write(tmp_path / "latencies.intra", text)
    with pytest.raises(DataError, match=match) as error:
        read_network(path)
    assert str(path) in str(error.value)


# ---------------------------------------------------------------------------------------------------------
# Kiva

HEADER = "loan_id,partner_id,status,posted_date,lenders,support\n"
LOAN = "7,20,paid,2014-01-25T09:00:02Z,6,CA:1 XX:4\n"


def test_loans(tmp_path):
    text = HEADER + LOAN + "6,9,in_repayment,2014-01-25T09:00:02Z,1,\n5,20,expired,2014-01-24T09:00:02Z,2,AK:2\n"
    path = write(tmp_path / "loans.csv.gz", text)
    loans = read_loans(path, 3)
    assert loans.partners == [9, 20]
    assert [x.tolist() for x in loans.outcomes] == [[0.7], [1.0, 0.0]]
    assert loans.support.sum(axis=1).tolist() == [0, 7]
    assert dict(zip(CLUSTERS, loans.support[1].tolist(), strict=True))["XX"] == 4
    assert read_loans(path, 1).partners == [20]
    with pytest.raises(DataError, match="expected at least 4 loans, got 3"):
        read_loans(path, 4)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("loan_id,partner_id\n" + LOAN, "line 1: expected the header"),
        (HEADER + LOAN + "6,20,paid\n", "line 3: expected 6 fields, got 3"),
        (HEADER + LOAN.replace("7,20", "7,x"), "line 2: expected whole numbers"),
        (HEADER + LOAN.replace("paid", "lost"), "line 2: unknown status 'lost'"),
        (HEADER + LOAN.replace("T09", " 09"), "line 2: expected a date"),
        (HEADER + LOAN.replace("CA:1", "DC:1"), "line 2: expected support"),
        (HEADER + LOAN.replace("CA:1", "CA:"), "line 2: expected support"),
        (HEADER + LOAN.replace("CA:1 ", "CA:1  "), "line 2: expected support"),
        (HEADER + LOAN + LOAN.replace("2014", "2015"), "line 3: loans must be listed newest first"),
        (HEADER + LOAN + LOAN, "line 3: loans must be listed newest first"),
        ("", "the file is empty"),
    ],
)
def test_malformed_loans(tmp_path, text, match):
    with pytest.raises(DataError, match=match):
        read_loans(write(tmp_path / "loans.csv.gz", text), 2)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "loans.csv.gz"
    whole = gzip.compress((HEADER + LOAN).encode())
    for raw in (b"not gzip", whole[:-12]):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"loans\.csv\.gz: cannot be read"):
            read_loans(path, 1)


def test_partners_are_joined_to_the_top_half_of_their_supporters():
    support = np.zeros((3, 51), np.int64)
    support[0, [0, 3, 7, 50]] = 5, 1, 5, 9  # four supporters: XX, then AK before DE
    support[1, [2, 4, 6]] = 1, 2, 1  # three: one is kept
    support[2, 8] = 3  # one: none is kept
    lending = join_lenders(Loans([1, 2, 3], [np.ones(1)] * 3, support))
    assert lending.clusters == [[1, 51], [5], []]


# ---------------------------------------------------------------------------------------------------------
# MovieLens

MOVIES = "1::Alpha (1999)::Comedy|Drama\n2::Beta: Two::War\n5::Gämma::Drama\n4::Delta::Horror\n".encode("latin-1")


def test_movies_and_ratings(tmp_path):
    movies = read_movies(write(tmp_path / "movies.dat", MOVIES))
    assert movies.titles == ["Alpha (1999)", "Beta: Two", "Gämma", "Delta"]
    assert movies.genres[0] == ("Comedy", "Drama")
    ratings = write(
        tmp_path / "ratings.dat", "9::5::5::1\n9::1::1::2\n3::5::3::3\n3::2::3::3\n8::2::3::3\n8::4::1::3"
    )
    person, position = read_ratings(ratings, movies)
    assert person.tolist() == [2, 2, 0, 0, 1, 1]
    assert position.tolist() == [2, 0, 2, 1, 1, 3]
    audience = choose_movies(movies, person, position, 1, 2)  # Beta has a colon
    assert audience.titles == ["Gämma", "Alpha (1999)", "Delta"]
    assert audience.rated.tolist() == [[1, 0, 0], [0, 0, 1], [1, 1, 0]]
    with pytest.raises(DataError, match="expected at least 5 rated movies, got 3"):
        choose_movies(movies, person, position, 1, 4)


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


# ---------------------------------------------------------------------------------------------------------
# Where data is looked for


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """An empty cache folder, and no folder named by the environment."""
    monkeypatch.delenv("MATROID_BANDITS_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache"


TRIANGLE = "a b 1\nb a 1\nb c 2\nc b 2\nc a 4\na c 4\n"


def test_no_data_means_the_standin(no_data):
    for dataset in (rocketfuel(1755), kiva(), movielens()):
        assert (dataset.source, dataset.path) == ("stand-in", None)


def test_environment_comes_before_the_cache(no_data, tmp_path, monkeypatch):
    cached = write(no_data / "rocketfuel/1755/latencies.intra", TRIANGLE)
    assert rocketfuel(1755).path == cached
    monkeypatch.setenv("MATROID_BANDITS_DATA", str(tmp_path / "mine"))
    with pytest.raises(DataError, match=r"expected a data folder \(MATROID_BANDITS_DATA\), got .*mine, which is not"):
        rocketfuel(1755)
    (tmp_path / "mine").mkdir()
    assert rocketfuel(1755).path == cached
    mine = write(tmp_path / "mine/rocketfuel/1755/latencies.intra", TRIANGLE)
    network = rocketfuel("1755")
    assert (network.path, network.source, network.problem.optimal_value) == (mine, "real", 3.0)
    assert network.facts == {
        "nodes": 3,
        "edges": 3,
        "components": 1,
        "min_latency": 1.0,
        "max_latency": 4.0,
        "mean_latency": 7 / 3,
    }
    assert network.problem.constraint.labels[0] == ("a", "b")
    assert rocketfuel(1755, standin=True).source == "stand-in"


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (lambda **k: rocketfuel(1221, **k), "rocketfuel/1221/latencies.intra"),
        (kiva, "kiva/loans.csv.gz"),
        (movielens, "movielens-1m/movies.dat"),
    ],
)
def test_a_named_folder_must_hold_the_data(no_data, tmp_path, load, file):
    with pytest.raises(DataError, match="expected the file") as error:
        load(data=tmp_path)
    assert str(tmp_path / file) in str(error.value)
    with pytest.raises(DataError, match=r"expected a data folder, got .*none, which is not one"):
        load(data=tmp_path / "none")
    with pytest.raises(DataError, match="expected the file"):
        load(standin=False)
    assert load(data=tmp_path, standin=True).source == "stand-in"


def test_small_data_folder(tmp_path, monkeypatch):
    for name, value in {"N_LOANS": 2, "N_POPULAR": 1, "N_OBSCURE": 1}.items():
        monkeypatch.setattr(paper, name, value)
    loans = write(tmp_path / "kiva/loans.csv.gz", HEADER + LOAN + LOAN.replace("7,20,paid", "6,9,in_repayment"))
    lending = kiva(tmp_path)
    assert (lending.source, lending.path) == ("real", loans)
    assert lending.problem.constraint.labels == (9, 20)
    assert lending.problem.constraint.neighbors == [(51,), (51,)]
    assert lending.problem.optimal_value == 1.0
    assert lending.facts["cluster_partners"][50] == 2
    assert lending.facts["cluster_rates"][50] == pytest.approx(0.85)

    write(tmp_path / "movielens-1m/movies.dat", MOVIES)
    write(tmp_path / "movielens-1m/ratings.dat", "1::1::5::1\n2::1::5::1\n2::4::5::1\n")
    audience = movielens(tmp_path)
    assert (audience.source, audience.path) == ("real", tmp_path / "movielens-1m")
    assert audience.problem.constraint.labels == ("Alpha (1999)", "Delta")
    assert audience.facts["titles"] == ("Alpha", "Delta")
    assert audience.problem.environment.mean_weights.tolist() == [1.0, 0.5]


def test_half_a_data_set_is_an_error(no_data):
    write(no_data / "movielens-1m/movies.dat", MOVIES)
    with pytest.raises(DataError, match=r"expected the file .*ratings\.dat"):
        movielens()


@pytest.mark.parametrize("asn", [7, "abc", None])
def test_unknown_network(asn):
    with pytest.raises(DataError, match="expected one of the networks 1221, "):
        rocketfuel(asn)


# ---------------------------------------------------------------------------------------------------------
# Stand-ins keep what the paper prints


def check_network(network: Dataset, row: paper.PrintedNetwork) -> None:
    facts = network.facts
    assert (facts["nodes"], facts["edges"]) == (row.n_nodes, row.n_edges)
    assert (facts["min_latency"], facts["max_latency"]) == (row.min_latency, row.max_latency)
    assert f"{facts['mean_latency']:.2f}" == f"{row.mean_latency:.2f}"
    assert network.problem.optimal_value == pytest.approx(row.optimal, rel=0.02)
    assert network.problem.minimize


@pytest.mark.parametrize("asn", ROCKETFUEL_ASNS)
def test_standin_network(asn):
    network = rocketfuel(asn, standin=True)
    check_network(network, paper.NETWORKS[asn])
    links = {frozenset(link) for link in network.problem.constraint.labels}
    assert len(links) == network.facts["edges"]
    assert all(len(link) == 2 for link in links)
    assert network.problem.optimal_value == round(paper.NETWORKS[asn].optimal)


def test_standin_lending():
    lending = kiva(standin=True)
    facts, problem = lending.facts, lending.problem
    assert (facts["partners"], facts["clusters"], facts["loans"]) == (232, 51, 194_876)
    assert 4_900 <= facts["edges"] <= 5_300
    best = problem.optimal_basis
    assert best.size == paper.TRANSVERSAL_SIZE
    means = problem.environment.mean_weights
    top = best[np.argsort(-means[best], kind="stable")][:12]
    assert [problem.constraint.labels[e] for e in top] == [row.partner for row in paper.PARTNERS]
    for e, row in zip(top, paper.PARTNERS, strict=True):
        assert f"{means[e]:.3f}" == f"{row.rate:.3f}"
        assert row.cluster in problem.constraint.neighbors[e]
        assert facts["cluster_partners"][row.cluster - 1] == row.cluster_partners
        assert f"{facts['cluster_rates'][row.cluster - 1]:.3f}" == f"{row.cluster_rate:.3f}"
    assert sum(facts["cluster_partners"]) == facts["edges"]
    assert facts["cluster_rates"].count(None) == 5


def check_movies(audience: Dataset) -> None:
    problem, facts = audience.problem, audience.facts
    assert (facts["people"], facts["movies"], len(facts["genre_names"])) == (6040, 100, 18)
    means = problem.environment.mean_weights
    best = problem.optimal_basis
    assert best.size == paper.MOVIE_BASIS_SIZE
    top = best[np.argsort(-means[best], kind="stable")][:12]
    assert [
        paper.PrintedMovie(facts["titles"][e], round(float(means[e]), 3), facts["genres"][e]) for e in top
    ] == list(paper.MOVIES)


def test_standin_audience():
    audience = movielens(standin=True)
    check_movies(audience)
    assert {name for names in audience.facts["genres"] for name in names} == set(GENRES)
    assert len(set(audience.problem.constraint.labels)) == 100


def test_standins_are_the_same_every_time():
    one, two = rocketfuel(3967, standin=True).problem, rocketfuel(3967, standin=True).problem
    assert one.matroid.labels == two.matroid.labels
    np.testing.assert_array_equal(one.environment.mean_weights, two.environment.mean_weights)


# ---------------------------------------------------------------------------------------------------------
# topohub


@pytest.mark.parametrize("name", DEFAULT_ISPS)
def test_default_isps(name):
    network = isp(name)
    assert network.source == "real"
    assert network.problem.minimize
    assert network.facts["min_latency"] >= 1
    assert network.problem.constraint.rank == network.facts["nodes"] - network.facts["components"]
    assert len(set(network.problem.constraint.labels)) == network.facts["edges"]


def test_isp_latency_is_length_at_200_km_per_ms_and_the_noise():
    file = resources.files("topohub") / "data/topozoo/Abilene.json"
    lengths = [edge["dist"] for edge in json.loads(file.read_text())["edges"]]
    assert min(lengths) == 263.4  # kilometres
    means = isp("topozoo/Abilene").problem.environment.mean_weights
    np.testing.assert_allclose(means, 1 + np.array(lengths) / 200)


def test_unknown_isp():
    with pytest.raises(DataError, match=r"unknown ISP 'abilen'; did you mean topozoo/Abilene"):
        isp("abilen")
    with pytest.raises(DataError, match=r"unknown ISP '~'; see isp_names"):
        isp("~")
    assert set(DEFAULT_ISPS) <= set(isp_names())


# ---------------------------------------------------------------------------------------------------------
# The paper's data


@pytest.fixture
def real_data() -> Path:
    folder = os.environ.get("MATROID_BANDITS_DATA")
    if not folder or not all((Path(folder) / name).is_dir() for name in ("rocketfuel", "movielens-1m", "kiva")):
        pytest.skip("the paper's data is not here")
    return Path(folder)


@pytest.mark.parametrize(
    ("asn", "cost", "rank"),
    [
        (1221, 305, 105),
        (1239, 632, 314),
        (1755, 193, 86),
        (3257, 551, 160),
        (3967, 307, 78),
        (6461, 377, 139),
    ],
)
def test_real_network(real_data, asn, cost, rank):
    network = rocketfuel(asn, real_data)
    assert network.source == "real"
    check_network(network, paper.NETWORKS[asn])
    assert network.problem.optimal_value == cost
    assert network.problem.optimal_basis.size == rank


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


def test_real_lending(real_data):
    lending = kiva(real_data)
    facts, problem = lending.facts, lending.problem
    assert (facts["partners"], facts["edges"], facts["loans"]) == (233, 5_237, 194_876)
    assert problem.optimal_basis.size == 45
    assert f"{problem.optimal_value:.3f}" == "39.920"
    new_jersey = CLUSTERS.index("NJ")
    assert new_jersey + 1 == 31
    assert facts["cluster_partners"][new_jersey] == 199
    assert f"{facts['cluster_rates'][new_jersey]:.3f}" == "0.736"


def test_real_loans_agree_with_the_table_of_partners(real_data):
    loans = read_loans(real_data / "kiva/loans.csv.gz", paper.N_LOANS)
    with (real_data / "kiva/partners.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert loans.partners == [int(row["partner_id"]) for row in rows]
    for outcomes, support, row in zip(loans.outcomes, loans.support, rows, strict=True):
        assert outcomes.size == int(row["loans"])
        assert np.count_nonzero(outcomes == 1.0) == int(row["paid"])
        assert np.count_nonzero(outcomes == 0.7) == int(row["in_repayment"])
        assert outcomes.mean() == pytest.approx(float(row["weight"]), abs=1e-6)
        assert support.tolist() == [int(row[name]) for name in CLUSTERS]
