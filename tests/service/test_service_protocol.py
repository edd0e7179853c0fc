"""What comes before any key: heads and pipelines without end, halves of requests, more connections than files."""

import contextlib
import json
import resource
import socket

import pytest

from matroid_bandits.service import Settings
from matroid_bandits.service import _protocol as protocol
from matroid_bandits.service._protocol import Gate
from service_kit import create, received, serving, until

GET = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = "POST /v1/campaigns HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "campaigns.db")


def connect(client):
    found = socket.create_connection((client.base_url.host, client.base_url.port))
    found.settimeout(240.0)
    return found


def send(sock, data, most=1 << 62):
    """Send until the server closes; how much it took."""
    sent = 0
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        while sent < min(len(data), most):
            sent += sock.send(data[sent : sent + 65536])
    return sent


def statuses(answers):
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def refusal(sock):
    """The status and the detail of what the server says before it closes."""
    head, _, body = received(sock).partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert b"connection: close" in head
    form = json.loads(body)
    assert int(head.split()[1]) == form["status"]
    return form["status"], form["detail"]


def test_urls_and_headers_have_limits(file):
    with serving(file) as client:
        exact = "GET /healthz?" + "x" * (8192 - 9) + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        with connect(client) as sock:
            sock.sendall(exact.encode())
            assert statuses(received(sock)) == [200]
        cases = {
            "GET /healthz?" + "x" * (8192 - 8): (414, "expected a URL of at most 8,192 bytes, got more"),
            GET + f"A: {'x' * 33000}\r\n\r\n": (431, "expected headers of at most 32,768 bytes, got more"),
            GET + "A: b\r\n" * 100 + "\r\n": (431, "expected at most 100 headers, got more"),
            CHUNKED + "A: b\r\n" * 100 + "\r\n": (431, "expected at most 100 headers, got more"),
            GET.replace("Host", "Host\0"): (400, "expected a request of HTTP/1.1, got another"),
        }
        for text, expected in cases.items():
            with connect(client) as sock:
                sock.sendall(text.encode())
                assert refusal(sock) == expected


@pytest.mark.parametrize(
    "begin",
    [
        b"GET /",
        GET.encode() + b"A: ",
        GET.encode() + b"A",
        b"POST /v1/campaigns HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nA: ",
        b"POST /v1/campaigns HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
    ids=["url", "value", "name", "trailer", "extension"],
)
def test_a_part_of_a_head_without_end_is_cut_off(file, begin):
    """What the server takes is bounded, however much is sent: its limit, and what sockets hold."""
    with serving(file) as client, connect(client) as sock:
        sock.sendall(begin)
        assert send(sock, b"x" * (64 << 20)) < 16 << 20
        assert client.get("/healthz").status_code == 200


@pytest.mark.long
def test_requests_that_wait_for_an_earlier_answer_are_few(file):
    with serving(file) as client, connect(client) as sock:
        at = create(client)
        sock.sendall((GET + "\r\n").encode() * 5 + (GET + "Connection: close\r\n\r\n").encode())
        assert statuses(received(sock)) == [200] * 6
        with connect(client) as many:  # a stream, whose answer never ends, and requests behind it
            stream = f"GET {at}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            many.sendall(stream.encode())
            until(lambda: client.service.n_watchers == 1)
            assert send(many, (GET + "\r\n").encode() * 500_000) < 16 << 20
            until(lambda: client.service.n_watchers == 0)
        with connect(client) as long:  # and one with a body that nothing reads
            body = "POST /v1/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n"
            long.sendall((stream + body).encode())
            assert send(long, b" " * 64_000_000) < 16 << 20
            until(lambda: client.service.n_watchers == 0)


@pytest.mark.parametrize(
    "part",
    ["", "\r\n", "GET", GET, GET + "\r\n" + GET, "POST /v1/campaigns HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"],
    ids=["nothing", "newline", "method", "head", "second", "body"],
)
def test_half_a_request_has_a_timeout(file, part):
    with serving(file, request_timeout=0.3) as client, connect(client) as sock:
        sock.sendall(part.encode())
        said = received(sock)  # until it is closed
        assert statuses(said)[-1:] == [408]
        assert b"expected a whole request within 0.3 seconds, got a part of one" in said


def test_a_byte_now_and_then_does_not_extend_the_timeout(file):
    with serving(file, request_timeout=0.3) as client, connect(client) as sock, contextlib.suppress(ConnectionError):
        sock.settimeout(0.02)
        for _ in range(8000):  # fewer bytes than a URL may have
            sock.sendall(b"x")
            with contextlib.suppress(TimeoutError):
                if not sock.recv(65536):
                    return
        pytest.fail("the connection was never closed")


@pytest.mark.long
def test_a_client_that_takes_nothing_is_cut_off(file):
    with serving(file, answer_timeout=0.3) as client:
        at = create(client)
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((client.base_url.host, client.base_url.port))
        sock.sendall(f"GET {at}/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        until(lambda: client.service.n_watchers == 1)
        requests = [{"exclude": ["boots"], "pinned": ["beret"]}] * 1000
        for _ in range(100):
            if not client.service.n_watchers:
                break
            assert client.post(f"{at}/ask/batch", json={"requests": requests}).status_code == 200
        until(lambda: client.service.n_watchers == 0)
        sock.close()


def test_connections_of_an_address_and_in_all_have_limits(file):
    with serving(file, max_connections_per_address=5) as client, contextlib.ExitStack() as stack:
        assert client.get("/healthz").status_code == 200
        held = [stack.enter_context(connect(client)) for _ in range(4)]
        until(lambda: client.gate._n == 5)
        with connect(client) as more:
            assert refusal(more) == (503, "expected at most 5 connections of one address at a time, got one more")
        assert client.get("/healthz").status_code == 200  # the others go on
        held.pop().close()
        until(lambda: client.gate._n == 4)
        with connect(client) as more:
            more.sendall((GET + "Connection: close\r\n\r\n").encode())
            assert statuses(received(more)) == [200]
    assert not client.gate._of_address
    with serving(file, max_connections=2) as client, connect(client):
        assert client.get("/healthz").status_code == 200
        with connect(client) as more:
            assert refusal(more) == (503, "expected at most 2 connections at a time, got one more")


def test_files_are_kept_for_the_database(file, monkeypatch):
    """Connections take no file that an old request may need, however few files there are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert Gate(Settings()).most == min(soft - 128, 10_000)
    for files, most in ((1024, 896), (200, 100), (100_000, 10_000)):
        with monkeypatch.context() as patched:
            patched.setattr(resource, "getrlimit", lambda _, files=files: (files, hard))
            assert Gate(Settings()).most == most


def test_addresses_of_one_site_count_together():
    same = [protocol.network(host) for host in ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2")]
    assert same[0] == same[1] != protocol.network("2001:db8:0:2::1")
    assert protocol.network("10.0.0.1") != protocol.network("10.0.0.2")
    assert protocol.network("::ffff:10.0.0.1") != protocol.network("::ffff:10.0.0.2")
    assert protocol.network("") == ""
