"""Files written so that a crash leaves the old one or the new one; among them arrays with a JSON header."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits.exceptions import SerializationError

_HEADER = "header.json"


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


def save(
    path: str | PathLike[str], format: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write an NPZ archive with a JSON member; the file at `path` is replaced whole or not at all."""
    text = json.dumps({"format": format, "version": version, **header})
    with replacing(Path(path)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_HEADER, text)
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def load(path: str | PathLike[str], format: str, version: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The header and the arrays that `save` wrote.

    Raises
    ------
    SerializationError
        The file is truncated, foreign, of another format, or of a newer version. A missing file is the usual
        FileNotFoundError.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(_HEADER))
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name != _HEADER
            }
    except OSError:
        raise
    except Exception as error:  # whatever a damaged archive makes zlib, zipfile, json or numpy raise
        raise SerializationError(f"{path}: not a complete {format} file ({error})") from error
    if not isinstance(header, dict) or header.pop("format", None) != format:
        raise SerializationError(f"{path}: expected a {format} file, got another kind")
    found = header.pop("version", None)
    if not isinstance(found, int) or not 1 <= found <= version:
        raise SerializationError(
            f"{path}: expected version {version} or older, got {found!r}: upgrade matroid-bandits"
        )
    return header, arrays


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
