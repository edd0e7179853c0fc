"""One file for arrays and their JSON header, written so that a crash leaves the old file or the new one."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits.exceptions import SerializationError

_HEADER = "header.json"


def save(
    path: str | PathLike[str], format: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write an NPZ archive with a JSON member; the file at `path` is replaced whole or not at all."""
    target = Path(path)
    text = json.dumps({"format": format, "version": version, **header})
    name = target.parent / f".{target.name}.{secrets.token_hex(8)}"
    # not tempfile: a saved file gets the permissions that any new file would
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr(_HEADER, text)
                for key, array in arrays.items():
                    with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


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
