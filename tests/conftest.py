"""Settings and fixtures that tests of several rooms share."""

import gc
import logging
import os
import sys
from pathlib import Path

# No test depends on the tier that the clock would choose: kernels are compiled, in processes that tests start too, or
# interpreted where MATROID_BANDITS_KERNELS or NUMBA_DISABLE_JIT says so.
os.environ.setdefault("MATROID_BANDITS_KERNELS", "compiled")

# There is a process of tests for each core: threads of a BLAS would only wait for each other, and take time for that.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # the oracles and strategies beside the tests

from archive_server import server  # noqa: F401 - a fixture
from browsing import chromium, site, visit  # noqa: F401 - fixtures
from matroid_bandits.compiled import _choice
from matroid_bandits.kernels import compiling, notice
from service_databases import postgres, url  # noqa: F401 - fixtures

# Kernels are compiled where a test asks for it, not by a child process when the clock says that it pays.
os.environ.setdefault("MATROID_BANDITS_BACKGROUND", "0")

_choice.playing_time = lambda: 0.0  # whether simulations are compiled depends on estimates alone
notice.LONG_S = 1e6  # what a test reads on standard error does not depend on the machine's speed

# Fixed examples: a failure seen once is seen again, and the time a run takes does not depend on luck.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_configure() -> None:
    """What modules of tests make while they are collected is made by interpreted kernels."""
    compiling._tier = "interpreted"


def pytest_collection_finish() -> None:
    """Tests run in the tier that the environment names, and no garbage is looked for in all that was collected."""
    compiling._tier = compiling._chosen_tier()
    gc.freeze()


@pytest.fixture(autouse=True)
def loggers() -> None:
    """Loggers are as when the process began, whatever servers an earlier test has run in it."""
    for logger in map(logging.getLogger, ("matroid_bandits", "uvicorn", "alembic", "sqlalchemy", "py.warnings")):
        if logger.handlers or not logger.propagate:
            logger.handlers, logger.propagate = [], True
            logger.setLevel(logging.NOTSET)


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no folder named by the environment."""
    monkeypatch.delenv("MATROID_BANDITS_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def own_folder(no_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data anywhere, and a folder of one's own to run in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the paper's data."""
    folder = os.environ.get("MATROID_BANDITS_DATA")
    if not folder or not all((Path(folder) / name).is_dir() for name in ("rocketfuel", "movielens-1m", "kiva")):
        pytest.skip("the paper's data is not here")
    return Path(folder)
