"""A local server with a small archive, for whoever tests downloads."""

import hashlib
import io
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from matroid_bandits.datasets import SOURCES, DataFile, Source

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
