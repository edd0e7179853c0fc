"""``matroid-bandits data``: list, fetch, check."""

import pytest

from command_line import call, one_sentence

pytestmark = pytest.mark.usefixtures("own_folder")


def test_list(tmp_path):
    result = call("data", "list")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert words.count("not here in") == 3
    assert words.count("a stand-in is used in its place") == 3
    assert str(tmp_path / "cache/kiva/loans.csv.gz") in result.stdout
    assert "matroid-bandits data fetch movielens" in words
    assert "place the extract by hand" in words
    assert "no redistribution" in words
    (tmp_path / "mine").mkdir()
    words = " ".join(call("data", "list", "--data", "mine").stdout.split())
    assert words.count("not here in mine; runs that need it end with an error") == 3
    assert "matroid-bandits data fetch movielens --data mine" in words


def test_fetch_and_check(server, tmp_path):
    result = call("data", "fetch", "rocketfuel", "--url", server.url, "--data", tmp_path / "mine")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Terms: terms") < result.stdout.index("is in")
    assert "present in" in " ".join(call("data", "list", "--data", tmp_path / "mine").stdout.split())
    result = call("data", "check", "--data", tmp_path / "mine")
    assert result.exit_code == 0
    assert "ok" in result.stdout
    assert "missing" in result.stdout
    (tmp_path / "mine/rocketfuel/1221/latencies.intra").write_text("a b 9\nb a 9\n")
    result = call("data", "check", "--data", tmp_path / "mine")
    assert result.exit_code == 1
    assert "rocketfuel: files differ" in one_sentence(result)


def test_progress_in_a_file_is_lines(server, tmp_path, monkeypatch):
    monkeypatch.setattr("matroid_bandits._util.progress.EVERY_S", 0.0)
    result = call("data", "fetch", "rocketfuel", "--url", server.url, "--data", tmp_path)
    assert result.stderr.startswith("download: ")
    assert "\r" not in result.stderr
    assert result.stderr.endswith("100%, in 0:00\n")


def test_check_of_nothing(tmp_path):
    result = call("data", "check", "--data", tmp_path)
    assert result.exit_code == 1
    assert one_sentence(result) == (
        "matroid-bandits: there is no data to check; matroid-bandits data list says how to get it.\n"
    )


def test_fetch_without_network(tmp_path):
    result = call("data", "fetch", "movielens", "--url", "http://127.0.0.1:9/none", "--data", tmp_path)
    assert result.exit_code == 1
    one_sentence(result)
    assert "GroupLens's own terms" in " ".join(result.stdout.split())


def test_fetch_of_what_is_not_published(tmp_path):
    result = call("data", "fetch", "kiva", "--data", tmp_path)
    assert result.exit_code == 1
    assert "kiva cannot be downloaded: place the extract by hand" in one_sentence(result)
