"""Kernels are compiled once in a run of the tests, by one process; the others wait and load them."""

import fcntl
import tempfile
from pathlib import Path

import pytest

from compiled_cases import play_compiled, settings_of
from matroid_bandits import OMM


@pytest.fixture(scope="session", autouse=True)
def _kernels():
    with open(Path(tempfile.gettempdir()) / "matroid-bandits-kernels.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for family in ("uniform", "graph"):
            play_compiled(OMM(), settings_of((family, "OMM", "bernoulli", "observe", False), 9, 2, 1))
