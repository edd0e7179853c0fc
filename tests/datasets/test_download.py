"""Downloads against a local server: good, cut off and resumed, damaged, missing."""

import io
import tarfile

import pytest

from archive_server import CONTENTS, tar_of, zip_of
from matroid_bandits.datasets import fetch
from matroid_bandits.exceptions import DataError


def assert_in_place(folder) -> None:
    for member, raw in CONTENTS.items():
        assert (folder / "rocketfuel" / member).read_bytes() == raw
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def assert_untouched(folder) -> None:
    assert not (folder / "rocketfuel").exists()


@pytest.mark.parametrize("pack", [tar_of, zip_of])
@pytest.mark.parametrize("has_length", [True, False])
def test_good(server, tmp_path, pack, has_length):
    server.body, server.has_length = pack(CONTENTS), has_length
    seen = []
    root = fetch("rocketfuel", tmp_path / "new", url=server.url, progress=lambda *args: seen.append(args))
    assert root == tmp_path / "new"
    assert_in_place(root)
    assert seen[-1] == (len(server.body), len(server.body) if has_length else None)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    fetch("rocketfuel", root, url=server.url)  # nothing to do
    assert len(server.ranges) == 1


def test_sound_files_are_left_alone_and_others_replaced(server, tmp_path):
    fetch("rocketfuel", tmp_path, url=server.url)
    kept, damaged = (tmp_path / "rocketfuel" / member for member in CONTENTS)
    before = kept.stat().st_mtime_ns
    damaged.write_bytes(b"x")
    fetch("rocketfuel", tmp_path, url=server.url)
    assert_in_place(tmp_path)
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize("has_ranges", [True, False])
def test_cut_off_then_resumed(server, tmp_path, has_ranges):
    server.has_ranges, server.stop_after = has_ranges, 10_000
    with pytest.raises(DataError, match=r"cut off after 10,000 of [\d,]+ bytes; fetch again"):
        fetch("rocketfuel", tmp_path, url=server.url)
    assert_untouched(tmp_path)
    server.stop_after = None
    seen = []
    fetch("rocketfuel", tmp_path, url=server.url, progress=lambda *args: seen.append(args))
    assert_in_place(tmp_path)
    assert server.ranges == [None, "bytes=10000-"]
    assert seen[-1] == (len(server.body), len(server.body))


def test_chunk_cut_off(server, tmp_path):
    server.is_chunked, server.stop_after = True, 10_000
    with pytest.raises(DataError, match=r"cut off after 0 bytes; fetch again"):
        fetch("rocketfuel", tmp_path, url=server.url)
    assert_untouched(tmp_path)


def test_whole_file_left_by_an_earlier_run(server, tmp_path):
    (tmp_path / ".rocketfuel.part").write_bytes(server.body)
    fetch("rocketfuel", tmp_path, url=server.url)
    assert_in_place(tmp_path)
    assert server.ranges == [f"bytes={len(server.body)}-"]


def test_remains_of_something_longer_are_dropped(server, tmp_path):
    (tmp_path / ".rocketfuel.part").write_bytes(server.body + b"more")
    fetch("rocketfuel", tmp_path, url=server.url)
    assert_in_place(tmp_path)


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"<html>log in first</html>", "not an archive"),
        (tar_of(CONTENTS)[:30_000], "not an archive, or a damaged one"),
        (zip_of(CONTENTS)[:-40], "not an archive, or a damaged one"),
        (tar_of({"1221/latencies.intra": b"a b 1\nb a 1\n"}), "holds no 1239/latencies.intra"),
        (
            tar_of(CONTENTS | {"1221/latencies.intra": b"a b 2\nb a 2\n"}),
            "1221/latencies.intra is not the known",
        ),
        (
            tar_of(CONTENTS | {"1221/latencies.intra": b"a b 1\nb a 1\nc"}),
            "1221/latencies.intra is not the known",
        ),
    ],
)
def test_damaged(server, tmp_path, body, match):
    good, server.body = server.body, body
    with pytest.raises(DataError, match=match):
        fetch("rocketfuel", tmp_path, url=server.url)
    assert_untouched(tmp_path)
    server.body = good  # what was damaged is not resumed
    fetch("rocketfuel", tmp_path, url=server.url)
    assert_in_place(tmp_path)
    assert server.ranges == [None, None]


def test_damaged_member_of_a_zip(server, tmp_path):
    server.body = zip_of(CONTENTS).replace(b"b a 1", b"b a 7")
    with pytest.raises(DataError, match="damaged"):
        fetch("rocketfuel", tmp_path, url=server.url)
    assert_untouched(tmp_path)


def test_names_in_the_archive_are_not_paths(server, tmp_path):
    server.body = tar_of(CONTENTS | {"../../evil": b"x"}, top="../outside/")
    fetch("rocketfuel", tmp_path / "data", url=server.url)
    assert_in_place(tmp_path / "data")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_links_in_a_tar_are_not_followed(server, tmp_path):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        link = tarfile.TarInfo("1221/latencies.intra")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    server.body = raw.getvalue()
    with pytest.raises(DataError, match="holds no 1221"):
        fetch("rocketfuel", tmp_path, url=server.url)


def test_not_found(server, tmp_path):
    with pytest.raises(DataError, match="the server answered 404"):
        fetch("rocketfuel", tmp_path, url=server.url + "x")


def test_nobody_listens(server, tmp_path):
    with pytest.raises(DataError, match="cannot be reached, is there a network"):
        fetch("rocketfuel", tmp_path, url="http://127.0.0.1:1/archive")
    assert_untouched(tmp_path)


def test_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="rocketfuel: cannot write to"):
        fetch("rocketfuel", tmp_path / "file", url=server.url)


def test_wrong_requests(tmp_path):
    with pytest.raises(DataError, match="unknown data set 'netflix'; expected one of rocketfuel, movielens, kiva"):
        fetch("netflix", tmp_path)
    with pytest.raises(DataError, match="kiva cannot be downloaded: place the extract by hand as ") as error:
        fetch("kiva", tmp_path)
    assert str(tmp_path / "kiva/loans.csv.gz") in str(error.value)
    with pytest.raises(DataError, match="expected an http or https address, got 'file:///etc/hosts'"):
        fetch("rocketfuel", tmp_path, url="file:///etc/hosts")
    with pytest.raises(DataError, match=r"expected an http or https address, got 'http://\['"):
        fetch("rocketfuel", tmp_path, url="http://[")
    assert list(tmp_path.iterdir()) == []
