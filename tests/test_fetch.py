"""Downloads against a local server: good, cut off and resumed, damaged, missing; and what is on disk."""

import hashlib
import io
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments import check, fetch, list_datasets
from matroid_bandits.experiments._catalog import SOURCES, DataFile, Source

CONTENTS = {"1221/latencies.intra": b"a b 1\nb a 1\n", "1239/latencies.intra": b"c d 5\nd c 5\n" * 5000}


def source(name: str, contents: dict[str, bytes] = CONTENTS) -> Source:
    files = tuple(
        DataFile(f"{name}/{member}", len(raw), hashlib.sha256(raw).hexdigest(), member)
        for member, raw in contents.items()
    )
    return Source(name, name, "http://127.0.0.1:9/none", f"data fetch {name}", "terms", files)


def tar_of(contents: dict[str, bytes], top: str = "weights-dist/") -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=0) as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def zip_of(contents: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.mkdir("top")
        for name, content in contents.items():
            archive.writestr("top/" + name, content)
    return raw.getvalue()


class Server(ThreadingHTTPServer):
    """Serves one body at /archive; may stop early, ignore ranges, or leave the length out."""

    body = tar_of(CONTENTS)
    stop_after: int | None = None
    has_ranges = True
    has_length = True
    is_chunked = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/archive"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if self.path != "/archive":
            self.send_error(404)
            return
        body, start = self.server.body, 0
        if asked and self.server.has_ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if self.server.is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif self.server.has_length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        if self.server.is_chunked:
            self.wfile.write(f"{len(body) - start:x}\r\n".encode())
        self.wfile.write(body[start : self.server.stop_after])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(SOURCES, "rocketfuel", source("rocketfuel"))
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


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
