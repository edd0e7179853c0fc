"""Where data is looked for, what is there, and whether it is the known data."""

import pytest

from archive_server import CONTENTS, source
from data_files import LOAN, LOANS_HEADER, MOVIES, write
from matroid_bandits.datasets import SOURCES, check, kiva, list_datasets, movielens, printed, rocketfuel
from matroid_bandits.exceptions import DataError

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
        monkeypatch.setattr(printed, name, value)
    loans = write(tmp_path / "kiva/loans.csv.gz", LOANS_HEADER + LOAN + LOAN.replace("7,20,paid", "6,9,in_repayment"))
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


def test_list_and_check(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "rocketfuel", source("rocketfuel"))
    first, second = (tmp_path / "rocketfuel" / member for member in CONTENTS)
    for status in list_datasets(tmp_path):
        assert not status.is_present
        assert status.is_sound
        assert status.folder == tmp_path
        assert status.how
        assert status.terms
    first.parent.mkdir(parents=True)
    second.parent.mkdir(parents=True)
    first.write_bytes(CONTENTS["1221/latencies.intra"])
    second.write_bytes(b"c d 6" + CONTENTS["1239/latencies.intra"][5:])
    listed, checked = list_datasets(tmp_path)[0], check(tmp_path)[0]
    assert listed.is_present
    assert [file.state for file in listed.files] == ["present", "present"]
    assert [(file.path, file.state) for file in checked.files] == [(first, "ok"), (second, "wrong checksum")]
    assert not checked.is_sound
    second.write_bytes(b"")
    assert [file.state for file in check(tmp_path)[0].files] == ["ok", "wrong size"]


def test_check_looks_in_every_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "rocketfuel", source("rocketfuel"))
    monkeypatch.setenv("MATROID_BANDITS_DATA", str(tmp_path / "mine"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    (tmp_path / "mine").mkdir()
    assert check()[0].folder == tmp_path / "mine"
    for member, raw in CONTENTS.items():
        path = tmp_path / "cache/rocketfuel" / member
        path.parent.mkdir(parents=True)
        path.write_bytes(raw)
    status = check()[0]
    assert (status.folder, status.is_present, status.is_sound) == (tmp_path / "cache", True, True)


def test_real_data_is_the_known_one():
    statuses = [status for status in check() if status.is_present]
    if not statuses:
        pytest.skip("the paper's data is not here")
    assert all(status.is_sound for status in statuses)
