"""Files written so that a crash leaves the old one or the new one; the one writer of the package."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_file(path: Path, content: str | bytes) -> None:
    """Replace a file with this content, and make the folders above it where they are not there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "report" / "index.html"
    >>> write_file(path, "<p>Done.</p>")
    >>> path.read_text()
    '<p>Done.</p>'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file to write to, which takes the place of `path` when the block ends and vanishes when it fails."""
    # the name alone may be as long as a file system allows, so it is cut where more is added to it
    temporary = path.parent / f".{path.name[:200]}.{secrets.token_hex(8)}"
    # not tempfile: a written file gets the permissions that any new file would
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
