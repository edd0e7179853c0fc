"""Policies that do to their workers what happens to workers, and what comes of it on every executor."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import matroid_bandits as mb

PROBLEM = mb.Problem(mb.UniformMatroid(6, 2), mb.BernoulliEnvironment(np.linspace(0.1, 0.9, 6)))
POLICIES = {"OMM": mb.OMM(), "Thompson": mb.ThompsonSampling()}


def simulate(policies=POLICIES, problem=PROBLEM, **settings):
    return mb.simulate(problem, policies, **{"n_episodes": 40, "n_runs": 7, "seed": 3} | settings)


class Greedy(mb.Policy):
    """Always the basis that looks best so far; `act` happens in one episode of one run."""

    def __init__(self, episode=20, run=3):
        self.episode, self.run = episode, run

    def indices(self, state, request):
        if request.episode == self.episode and self.run in request.stream.runs:
            self.act()
        return state.means

    def act(self):
        """Nothing happens."""


class Slow(Greedy):
    """Takes a millisecond an episode, or more: long enough to be measured after some hundred of them."""

    def indices(self, state, request):
        time.sleep(0.001)
        return super().indices(state, request)


class Dying(Greedy):
    """Kills its process, as often as there are to be files in a folder."""

    def __init__(self, folder, n_times=1, **where):
        super().__init__(**where)
        self.folder, self.n_times = str(folder), n_times

    def act(self):
        for number in range(self.n_times):
            try:
                (Path(self.folder) / str(number)).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


class Failing(Greedy):
    """Raises an error, which it makes."""

    def __init__(self, error, *arguments, **where):
        super().__init__(**where)
        self.error, self.arguments = error, arguments

    def act(self):
        raise self.error(*self.arguments)


class Endless(mb.Policy):
    """Says in a folder which process plays it."""

    def __init__(self, folder):
        self.folder = str(folder)

    def indices(self, state, request):
        if request.episode == 20:
            (Path(self.folder) / str(os.getpid())).touch()
        return state.means


@contextmanager
def ctrl_c_once(folder, n_workers=1):
    """Press Ctrl-C as soon as so many workers play, and again after a while."""
    is_over = threading.Event()
    former = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press():
        while len(list(Path(folder).iterdir())) < n_workers:
            if is_over.wait(0.02):
                return
        signal.raise_signal(signal.SIGINT)
        while not is_over.wait(60.0):  # what is raised inside a garbage collector's callback is lost
            signal.raise_signal(signal.SIGINT)

    keyboard = threading.Thread(target=press)
    keyboard.start()
    try:
        yield
    finally:
        is_over.set()
        keyboard.join()
        signal.signal(signal.SIGINT, former)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(condition, seconds=600.0):
    """Whether a condition comes true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
