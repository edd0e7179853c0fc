"""Files written so that a crash leaves the old one or the new one; the one writer of the package."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no such locks; there, what a crash leaves behind stays
    fcntl = None  # type: ignore[assignment]

#: The number of processes and threads that can write to one file at once, under names that a later save finds again.
_N_PLACES = 8


def write_file(path: Path, content: str | bytes) -> None:
    """Replace a file with this content, and make the folders above it where they are not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def check_not_device(path: Path) -> None:
    """Raise where a path leads to a device, such as ``/dev/zero``, which has no end; files and pipes have one."""
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "a device, not a file")


def claim(path: Path) -> Callable[[], None] | None:
    """Lock an empty file for this process, and return what releases it; None where another process holds it."""
    # A claim ends with its process, however that ends. Where a system has no locks, each process gets it: a claim
    # saves work, and nothing may depend on it.
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:  # of a file system without locks
            pass
    _claimed.add(handle)

    def give_back() -> None:
        if handle in _claimed:
            _claimed.remove(handle)
            if fcntl is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    return give_back


#: Open files that are claimed.
_claimed: set[int] = set()


def _forget_claims() -> None:
    """A forked child has no claims: those of its parent must not outlive the parent in it."""
    for handle in _claimed:
        os.close(handle)
    _claimed.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_claims)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file to write to, which takes the place of `path` when the block ends and vanishes when it fails."""
    # The file that is replaced keeps its mode, and a link to it stays a link. What is neither a file nor missing,
    # such as a device, is written to as it is.
    # Until it is complete, the new file lies beside the old one under a name made from the old one's, locked by the
    # process that writes it. A lock ends with its process, so the next save to the same path knows what a crash has
    # left behind, and removes it; nothing needs to list the folder.
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(path, "wb") as device:
            yield device
        return
    target = Path(os.path.realpath(path))
    handle, temporary = _create(target, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if old is not None:
                _imitate(file.fileno(), old)
            os.fsync(file.fileno())
            if fcntl is not None:  # while it is locked, so that no other process takes it for a leftover
                os.replace(temporary, target)
        if fcntl is None:  # Windows moves no open file
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _create(target: Path, mode: int) -> tuple[int, Path]:
    """A new, locked file beside the target, and its name; what crashes have left there is removed."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:32]
    places = [target.parent / f".{digest}.{i}.saving" for i in range(_N_PLACES)]
    for place in places:
        _remove_leftover(place)
    for place in [*places, target.parent / f".{digest}.{secrets.token_hex(8)}.saving"]:
        with contextlib.suppress(FileExistsError):  # another process saves to the same path now
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
            if _lock(handle, place, without_locks=True) or place not in places:
                return handle, place
            os.close(handle)  # another process took it for a leftover before it was locked, and removes it
    raise FileExistsError(f"{target.parent}: expected to find a name for a new file")


def remove_leftovers(folder: Path) -> None:
    """Remove what crashes have left in a folder of files that were being written; what is being written stays."""
    for place in folder.glob(".*.saving"):
        _remove_leftover(place)


def _remove_leftover(place: Path) -> None:
    """Remove a file of ours that no living process writes to."""
    if fcntl is None:
        return
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # mostly there is none
        return
    try:
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and _lock(handle, place, without_locks=False):
            os.unlink(place)
    finally:
        os.close(handle)


def _lock(handle: int, place: Path, *, without_locks: bool) -> bool:
    """Whether the open file is now locked, for as long as it is open, and still has that name."""
    # Where the system has no locks, the answer is `without_locks`.
    if fcntl is None:
        return without_locks
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), os.stat(place, follow_symlinks=False))
    except (BlockingIOError, FileNotFoundError):  # another has locked it, or has removed it
        return False
    except OSError:
        return without_locks


def _imitate(handle: int, old: os.stat_result) -> None:
    """Give an open file the owner, where that is allowed, and the mode of the one it replaces."""
    if os.name == "posix":
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can and the folder may be opened."""
    if os.name == "posix":
        with contextlib.suppress(PermissionError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
