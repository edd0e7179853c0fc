"""The one atomic writer: modes, links, long names, odd folders, crashes."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from matroid_bandits._util import files
from matroid_bandits._util.files import replacing, write_file

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and locks are those of POSIX")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """New files get 0o640."""
    old = os.umask(0o027)
    yield
    os.umask(old)


# What is replaced keeps what it was


@posix
@pytest.mark.parametrize("kept", [0o600, 0o644, 0o664, 0o660, 0o444, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, umask, kept):
    path = tmp_path / "file"
    write_file(path, "old")
    path.chmod(kept)
    write_file(path, "new")
    assert (path.read_text(), mode(path)) == ("new", kept)


@posix
def test_a_new_file_gets_an_ordinary_mode(tmp_path, umask):
    path = tmp_path / "file"
    write_file(path, "new")
    assert mode(path) == 0o640


@posix
def test_a_private_file_is_never_open_to_others_meanwhile(tmp_path):
    path = tmp_path / "file"
    write_file(path, "old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        modes = {name: mode(tmp_path / name) for name in os.listdir(tmp_path)}
        assert len(modes) == 2
        assert set(modes.values()) == {0o600}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    write_file(path, "old")
    os.chown(path, 65534, 65533)
    write_file(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)


@posix
def test_links_stay_and_their_targets_are_replaced(tmp_path):
    folder, elsewhere = tmp_path / "here", tmp_path / "there"
    folder.mkdir()
    elsewhere.mkdir()
    target = elsewhere / "file"
    target.write_text("old")
    target.chmod(0o604)
    (folder / "link").symlink_to("../there/file")
    (folder / "second").symlink_to("link")
    write_file(folder / "second", "new")
    assert (folder / "second").is_symlink()
    assert (folder / "link").is_symlink()
    assert (target.read_text(), mode(target), target.is_symlink()) == ("new", 0o604, False)
    assert sorted(os.listdir(folder)) == ["link", "second"]
    assert os.listdir(elsewhere) == ["file"]


@posix
def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    write_file(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match=r"[Ss]ymbolic link"):
        write_file(loop, "new")
    assert loop.is_symlink()


@posix
def test_devices_and_pipes_are_written_to_and_folders_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, "new")
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, "new")
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "雪" * 85, "a b\nc", ".hidden"])
def test_names_may_be_as_long_as_names_may_be(tmp_path, name):
    path = tmp_path / name
    write_file(path, "old")
    write_file(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == [name]


@posix
def test_folders_that_may_be_written_but_not_listed():
    """Root may list everything, so it becomes nobody for a moment."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        outer, folder = Path(name), Path(name) / "drop"
        outer.chmod(0o755)
        folder.mkdir()
        folder.chmod(0o333)
        try:
            if is_root:
                os.seteuid(65534)
            with pytest.raises(PermissionError):
                os.listdir(folder)
            write_file(folder / "file", "old")
            (folder / place_of("file", 3)).write_text("left behind")
            write_file(folder / "file", "new")
            assert (folder / "file").read_text() == "new"
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)
        assert os.listdir(folder) == ["file"]


def place_of(name, i):
    """The name of the i-th temporary file beside a file."""
    with tempfile.TemporaryDirectory() as folder, replacing(Path(folder) / name):
        (temporary,) = os.listdir(folder)
    return temporary.replace(".0.", f".{i}.")


# Leftovers


@posix
def test_leftovers_of_the_same_file_are_removed_and_nothing_else_is(tmp_path):
    ours = [place_of("file", i) for i in range(8)]
    others = [place_of("other", 0), ".file.0123456789abcdef", "file~", ".hidden", ours[0] + ".bak"]
    for name in ours + others:
        (tmp_path / name).write_text("left behind")
    write_file(tmp_path / "file", "new")
    assert sorted(os.listdir(tmp_path)) == sorted(["file", *others])


@posix
def test_what_a_living_process_writes_is_left_alone(tmp_path):
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
            assert len(os.listdir(tmp_path)) == 2
        assert path.read_text() == "second"
        write_file(path, "third")
        assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_more_writers_than_places(tmp_path):
    path = tmp_path / "file"

    def nest(depth):
        with replacing(path) as file:
            file.write(b"%d" % depth)
            if depth:
                nest(depth - 1)

    nest(12)
    assert path.read_text() == "12"
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_places_that_others_hold_are_left_alone(tmp_path):
    """A link, a folder and a pipe under our names are not ours."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / place_of("file", 0)).symlink_to("precious")
    (tmp_path / place_of("file", 1)).mkdir()
    os.mkfifo(tmp_path / place_of("file", 2))
    write_file(tmp_path / "file", "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert len(os.listdir(tmp_path)) == 5


@posix
def test_file_systems_without_locks(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    left = tmp_path / place_of("file", 0)
    left.write_text("perhaps somebody's")
    write_file(tmp_path / "file", "old")
    write_file(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"
    assert len(os.listdir(tmp_path)) == 2


def test_systems_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    write_file(tmp_path / "file", "old")
    write_file(tmp_path / "file", "new")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file"):
        1 / 0  # noqa: B018
    assert (tmp_path / "file").read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_threads_that_save_at_the_same_time_each_save_whole(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([65 + i]) * 20_000 for i in range(12)]

    def save(content):
        for _ in range(25):
            write_file(path, content)
            assert path.read_bytes() in contents

    threads = [threading.Thread(target=save, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]


# Crashes

KILLING = """
import os, random, signal, sys, time
from pathlib import Path
import matroid_bandits as mb

path, chance = Path("learner"), random.Random(0)
learner = mb.Learner(mb.UniformMatroid(50, 5), mb.ThompsonSampling(), seed=1)
learner.tell(learner.ask(), [0.5] * 5)  # what is compiled is compiled
learner.save(path)
mb.Learner.load(path)
n_left = 0
for trial in range(150):
    begun, say = os.pipe()
    child = os.fork()
    if child == 0:
        learner = mb.Learner.load(path)
        if trial % 3 == 0:  # every third waits for its end where the new file is whole and has another name
            os.replace = lambda *names: (os.write(say, b"."), signal.pause())
        else:
            os.write(say, b".")
        while True:
            learner.tell(learner.ask(), [0.5] * 5)
            learner.save(path)
    os.read(begun, 1)
    os.close(begun), os.close(say)
    time.sleep(chance.random() * 0.012)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    mb.Learner.load(path)
    n_left += len(os.listdir()) > 1
assert n_left >= 50, n_left
assert len(os.listdir()) <= 2, os.listdir()  # each child has removed what the one before left
learner.save(path)
assert os.listdir() == ["learner"], os.listdir()
print(n_left)
"""


@pytest.mark.long
@posix
@pytest.mark.compiled
def test_kills_while_saving_leave_the_old_file_or_the_new_and_no_leftovers(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLING], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
