"""Claims: one process has a file, for as long as it lives; where there are no locks, everybody has."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import matroid_bandits
from matroid_bandits._util import files
from matroid_bandits._util.files import claim, remove_leftovers

needs_flock = pytest.mark.skipif(
    files.fcntl is None, reason="flock is a call of POSIX; without it claims always succeed"
)

CHILD = """
import sys, time
from pathlib import Path
from matroid_bandits._util.files import claim
assert claim(Path(sys.argv[1])) is not None
print("mine", flush=True)
time.sleep(60)
"""


@needs_flock
def test_a_claim_ends_with_its_process(tmp_path):
    path = tmp_path / "lock"
    environment = os.environ | {"PYTHONPATH": str(Path(matroid_bandits.__file__).parent.parent)}
    command = [sys.executable, "-c", CHILD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout.readline() == b"mine\n"
        assert claim(path) is None
        child.kill()
        child.wait()
    claim(path)()
    assert path.read_bytes() == b""


def test_without_locks_every_claim_succeeds(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    claims = [claim(tmp_path / "lock") for _ in range(2)]
    for give_back in claims:
        give_back()
    (tmp_path / ".x.0.saving").write_text("")
    remove_leftovers(tmp_path)  # it may be in use
    assert (tmp_path / ".x.0.saving").exists()


@needs_flock
def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(handle, kind):
        raise OSError("no locks here")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    claims = [claim(tmp_path / "lock") for _ in range(2)]
    for give_back in claims:
        give_back()


@needs_flock
def test_what_crashes_left_behind_is_removed(tmp_path):
    (tmp_path / ".x.0.saving").write_text("half of it")
    (tmp_path / "mine.saving").write_text("a user's own")
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.saving"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_holds_no_claim(tmp_path):
    path = tmp_path / "lock"
    give_back = claim(path)
    assert claim(path) is None
    ready, done = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, which newer Pythons warn of
        child = os.fork()
    if child == 0:  # stays until the parent has asked
        os.read(ready, 1)
        os._exit(0)
    give_back()
    give_back()  # twice is as good as once
    again = claim(path)
    os.write(done, b"x")
    os.waitpid(child, 0)
    assert again is not None
    again()
