"""Arrays with a JSON header in one file, as NPZ archives; whatever a file declares is checked before it is read."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.files import replacing
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SerializationError

_HEADER = "header.json"

#: Kinds of arrays that are plain data: truth values, numbers, and text of fixed length.
PLAIN_KINDS = "biufcSU"

#: How many times its compressed size a member may be: what DEFLATE can do, and for the header what text needs.
_MOST_INFLATION, _MOST_HEADER_INFLATION = 1032, 64


class Layout(NamedTuple):
    """What an array is before its numbers are known: its type and its shape."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: AnyArray) -> Layout:
        """The layout of an array."""
        return cls(array.dtype, array.shape)

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


class Archive:
    """A file that `save` wrote, open for reading.

    Attributes
    ----------
    header : dict
        The JSON header, without its format and version.
    layouts : dict of Layout by name
        The arrays that the file holds. Their sizes agree with the file's, so `read` takes no more memory than they
        say; whether they are the ones expected is for the caller to check before that.
    """

    def __init__(self, archive: zipfile.ZipFile, what: str) -> None:
        self._archive, self._what = archive, what
        with _whole(what):
            infos = archive.infolist()
            _check_members(infos, os.fstat(archive.fp.fileno()).st_size)  # type: ignore[union-attr]
            self.header: Any = json.loads(archive.read(_HEADER))
            self._infos = {info.filename.removesuffix(".npy"): info for info in infos if info.filename != _HEADER}
            self.layouts = {name: self._layout(info) for name, info in self._infos.items()}

    def read(self, prefix: str = "") -> dict[str, AnyArray]:
        """The arrays whose names begin with `prefix`, by what follows it."""
        arrays: dict[str, AnyArray] = {}
        with _whole(self._what):
            for name, info in self._infos.items():
                if name.startswith(prefix):
                    with self._archive.open(info) as member:
                        arrays[name.removeprefix(prefix)] = np.lib.format.read_array(member, allow_pickle=False)
        return arrays

    def _layout(self, info: zipfile.ZipInfo) -> Layout:
        with self._archive.open(info) as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError(f"expected {info.filename} in version 1.0 of the NPY format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
            size = member.tell() + math.prod(shape) * dtype.itemsize
        if dtype.kind not in PLAIN_KINDS or min(shape, default=0) < 0 or info.file_size != size:
            raise ValueError(f"expected {info.filename} to be as long as its numbers, got {info.file_size:,} bytes")
        return Layout(dtype, shape)


def save(
    path: str | PathLike[str], format: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write an NPZ archive with a JSON member; the file at `path` is replaced whole or not at all."""
    text = json.dumps({"format": format, "version": version, **header})
    with replacing(Path(path)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        header_info = zipfile.ZipInfo(_HEADER)  # without the time of day, so that equal contents are equal bytes
        archive.writestr(header_info, text, zipfile.ZIP_STORED)  # as it is, so that it is no larger than the file
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), version=(1, 0), allow_pickle=False)


@contextlib.contextmanager
def reading(path: str | PathLike[str], format: str, version: int) -> Iterator[Archive]:
    """A file that `save` wrote, opened, with its header read and its kind checked."""
    what = f"not a complete {format} file"
    with open(path, "rb") as file, contextlib.ExitStack() as stack:
        try:
            with _whole(what):
                opened = stack.enter_context(zipfile.ZipFile(file))
            archive = Archive(opened, what)
            header = archive.header
            if not isinstance(header, dict) or header.pop("format", None) != format:
                raise SerializationError(f"expected a {format} file, got another kind")
            found = header.pop("version", None)
            if type(found) is not int or not 1 <= found <= version:
                raise SerializationError(
                    f"expected version {version} or older, got {shown(found)}: upgrade matroid-bandits"
                )
            yield archive
        except SerializationError as error:
            raise SerializationError(f"{path}: {error}") from error


@contextlib.contextmanager
def malformed(what: str) -> Iterator[None]:
    """What is wrong with a thing's parts, as a SerializationError; an error of the disk stays one."""
    try:
        yield
    except (SerializationError, OSError):
        raise
    except Exception as error:  # a file may hold anything, and code that a user wrote may meet it
        raise SerializationError(f"malformed {what}: {error}") from error


@contextlib.contextmanager
def _whole(what: str) -> Iterator[None]:
    """Whatever a damaged archive makes zlib, zipfile, json or numpy raise, as the package's error."""
    try:
        yield
    except Exception as error:
        # an archive with wrong offsets makes seek() complain of its argument; the others are the disk's own errors
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise SerializationError(f"{what} ({error})") from error


def _check_members(infos: list[zipfile.ZipInfo], n_bytes: int) -> None:
    """Raise ValueError unless members differ, are of a known kind, and are no larger than the file can hold."""
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        raise ValueError("expected every member once")
    if sum(info.compress_size for info in infos) > n_bytes:
        raise ValueError(f"expected members within {n_bytes:,} bytes")
    for info in infos:
        is_header = info.filename == _HEADER
        if not (is_header or info.filename.endswith(".npy")):
            raise ValueError(f"expected {_HEADER} and arrays, got {shown(info.filename)}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"expected {shown(info.filename)} stored or deflated, got method {info.compress_type}")
        inflation = _MOST_HEADER_INFLATION if is_header else _MOST_INFLATION
        if info.file_size > inflation * info.compress_size:
            raise ValueError(
                f"expected {shown(info.filename)} of {info.compress_size:,} bytes, compressed, to be at most "
                f"{inflation} times that, got {info.file_size:,}"
            )
