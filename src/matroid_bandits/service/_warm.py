"""Compile what the requests of campaigns will need, while they are answered by interpreted kernels.

A child process of low priority compiles into the cache on disk, from which kernels are loaded once that pays: so no
request waits for the compiler, and the server's threads are not slowed down by it.
"""

from __future__ import annotations

import base64
import logging
import pickle
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache

from matroid_bandits.evaluation import UpliftSequence
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.kernels import compiling, statistics
from matroid_bandits.learner import Learner

log = logging.getLogger("matroid_bandits.service")

#: What the child runs.
_PROGRAM = "from matroid_bandits.warming import _compile_what_is_sent as run; run()"

#: Seconds of compiling that are worth a line in the log.
_LONG_S = 1.0


@cache
def warm_up_uplift() -> None:
    """Compile what counts settled decisions, once in a process."""
    UpliftSequence(0.0, 1.0).add([0.0], [False], 0.5)


class Compiler:
    """A child process that compiles for the campaigns of this one, one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._n_done = self._n_asked = 0
        self._name: str | None = None

    def add(self, learner: Learner, name: str) -> None:
        """Compile what the requests of a learner will need; where it cannot be sent, they find out by themselves."""
        if statistics.answer.folder is None:  # nothing can be kept on disk
            return
        kind = learner.constraint, learner.policy, learner.minimize, learner.seed
        try:
            job = base64.b64encode(pickle.dumps(kind)).decode()
        except Exception:  # of a policy or a constraint of a user's own
            log.debug("campaign %s cannot be compiled in advance", name)
            return
        with self._lock:
            self._n_asked += 1
            self._jobs.put((name, job))
            if self._n_asked - self._n_done == 1:
                threading.Thread(target=self._run, name="matroid-bandits-compiler", daemon=True).start()

    def doing(self, name: str) -> str | None:
        """How far compiling is, for the campaign that is compiled."""
        with self._lock:
            return f"campaign {self._n_done + 1} of {self._n_asked}" if name == self._name else None

    def _run(self) -> None:
        """Send jobs to a child until none is left."""
        child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        with child:
            is_left = True
            while is_left:
                name, job = self._jobs.get()
                with suppress(OSError):  # it was killed; reading finds its end
                    child.stdin.write(job + "\n")
                for line in child.stdout:
                    if line == "done\n":
                        break
                    self._begin(name)  # it says "compiling"
                else:
                    log.warning("campaign %s: the process that compiles has ended early", name)
                with self._lock:
                    self._name = None
                    self._n_done += 1
                    is_left = self._n_done < self._n_asked
                    if not is_left:
                        self._n_done = self._n_asked = 0
            with suppress(OSError):
                child.stdin.close()

    def _begin(self, name: str) -> None:
        with self._lock:
            is_new, self._name = self._name != name, name
        if is_new:
            log.info("compiling, %s: %s; it is answered meanwhile, more slowly", self.doing(name), name)


_compiler = Compiler()
compiling_now = _compiler.doing


def warm_up(learner: Learner, name: str = "") -> None:
    """Compile what a campaign's requests will need; a policy or a constraint that cannot be played is left alone."""
    if compiling.tier() == "tiered":
        _compiler.add(learner, name)
    if compiling.tier() != "compiled":
        return
    try:
        seconds = learner.warm_up()
    except MatroidBanditsError:  # of a policy or a constraint of a user's own
        log.debug("a learner could not be warmed up")
        return
    warm_up_uplift()
    if seconds >= _LONG_S:
        log.info("campaign %s: compiled in %.1f seconds; the next start finds it on disk", name, seconds)
