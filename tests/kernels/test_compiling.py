"""Kernels compile where nothing can be written, and all of them through one decorator."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import matroid_bandits as mb
from matroid_bandits.kernels.compiling import njit

SOURCES = Path(mb.__file__).parent

PROGRAM = """
import numba, tempfile
import matroid_bandits as mb
from matroid_bandits.kernels import statistics
problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
result = mb.simulate(problem, [mb.OMM()], n_episodes=20, n_runs=2, seed=0)
assert result.choices.sum() == 80
assert numba.config.DISABLE_JIT or statistics.absorb.signatures, "compiled"
print(mb.__file__)
"""


@pytest.mark.compiled
@pytest.mark.long
def test_a_read_only_install_without_a_home_imports_and_runs_compiled(tmp_path):
    """Files stand where Numba would make its folders, which stops root too."""
    package = tmp_path / "site" / "matroid_bandits"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(each for each in package.rglob("*") if each.is_dir())]:
        (folder / "__pycache__").write_text("no folder")
    (tmp_path / "home").write_text("no folder")
    nowhere = {name: str(tmp_path / "home" / name) for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM],
        env=kept | nowhere | {"PYTHONPATH": str(tmp_path / "site"), "IPYTHONDIR": nowhere["HOME"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parent == package


@pytest.mark.compiled
def test_other_errors_of_the_compiler_come_through():
    with pytest.raises((RuntimeError, KeyError, TypeError, ValueError)):
        njit(cache=True, no_such_option=True)(lambda x: x)(1)


def test_every_kernel_is_compiled_through_the_one_decorator():
    for source in SOURCES.rglob("*.py"):
        if source.name != "compiling.py":
            assert not re.search(r"^\s*(from numba\b|import numba\b)", source.read_text(), re.M), source


NOTICE = """
from matroid_bandits.kernels import compiling

compiling.LONG_S = {long_s}
with {when}:
    compiling.times(1.0, 2.0), compiling.times(1, 2)
"""


@pytest.mark.compiled
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_compiling_is_announced_once_where_it_takes_long(tmp_path):
    """On a terminal, or where it was asked for; not where it is soon done, or found on disk."""
    import pty

    def said(when, long_s=0.0, cache="cache", is_terminal=False):
        leader, follower = pty.openpty() if is_terminal else os.pipe()
        subprocess.run(
            [sys.executable, "-c", NOTICE.format(long_s=long_s, when=when)],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / cache)},
            stderr=follower,
            check=True,
        )
        if is_terminal:
            os.write(follower, b".")  # a terminal has no end
            os.set_blocking(leader, False)
        else:
            os.close(follower)
        text = os.read(leader, 10_000).decode().rstrip(".")
        os.close(leader)
        return text

    notice = "matroid_bandits: compiling for this machine, up to a minute; the next process finds it on disk"
    assert said("compiling.announced()", long_s=1e6) == ""
    shutil.rmtree(tmp_path / "cache")
    assert said("compiling.suppress()", is_terminal=True) == f"\r{notice}\r\n"
    assert said("compiling.suppress()", is_terminal=True) == ""  # found on disk
    shutil.rmtree(tmp_path / "cache")
    assert said("compiling.announced()") == f"{notice}\n"
