"""Servers as processes that can be killed: forked from one that has imported everything, so that a start is quick.

As a script it reads lines of JSON, the settings of a server each, forks that server, and writes its process id.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

_ROOT = Path(__file__).parent.parent

#: Signals to a server: die between the next commit and its answer; stop inside the next transaction.
DIES, STOPS = signal.SIGUSR1, signal.SIGUSR2


class Nursery:
    """Starts servers of its own, and ends those that are left."""

    def __init__(self):
        paths = [str(_ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self._alive = set()

    def start(self, url, port, **more):
        """The process id of a server that has begun to start."""
        self._process.stdin.write(json.dumps({"db": str(url), "port": port, "tick": 0.2, **more}) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        self._alive.add(pid)
        return pid

    def end(self, pid, sig=signal.SIGKILL):
        """Kill a server, and wait until it is gone, and its port with it."""
        self._alive.discard(pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)
            while True:
                os.kill(pid, 0)
                time.sleep(0.001)

    def close(self):
        for pid in list(self._alive):
            self.end(pid)
        self._process.stdin.close()
        self._process.wait(240)
        self._process.stdout.close()


@contextlib.contextmanager
def nursery():
    found = Nursery()
    try:
        yield found
    finally:
        found.close()


def wait_until_ready(port, seconds=240.0):
    """Wait until the server of a port has loaded its campaigns."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            assert time.monotonic() < end, "the server did not come"
            time.sleep(0.02)


def children(pid):
    """The processes that a process has started, but for Python's own helper."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_text()
            if int(fields[1]) == pid and fields[0] != "Z" and "resource_tracker" not in command:
                found.append(int(stat.parent.name))
    return sorted(found)


def _main():
    import matroid_bandits as mb
    from matroid_bandits.service import Settings, run_server

    mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM()).warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _arm()
            try:
                run_server(Settings(**json.loads(line)), say=lambda words: None)
            finally:
                os._exit(0)
        print(pid, flush=True)


def _arm():
    """Let two signals choose a moment: the next batch is committed and not answered, or stops half written."""
    from matroid_bandits.service import _store, _writer

    answer, append = _writer.Writer._answer, _store.Database.append
    armed = set()

    def answer_or_die(self, batch):
        if DIES in armed and any(operation.is_write for operation in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        answer(self, batch)

    def append_or_stop(self, connection, rows):
        append(self, connection, rows)
        if STOPS in armed:
            armed.discard(STOPS)
            os.kill(os.getpid(), signal.SIGSTOP)

    _writer.Writer._answer, _store.Database.append = answer_or_die, append_or_stop
    for each in (DIES, STOPS):
        signal.signal(each, lambda sig, _: armed.add(sig))


if __name__ == "__main__":
    _main()
