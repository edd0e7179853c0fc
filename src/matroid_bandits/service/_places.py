"""Where archived files lie: in a folder, or in an object store that fsspec knows.

Both have the same methods. A name is ``folder/file``; a file appears whole, or not at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from matroid_bandits._util.extras import missing
from matroid_bandits._util.files import replacing
from matroid_bandits.exceptions import DataError


def place_of(address: str) -> Folder | Bucket:
    """A folder by its path, or an object store by its address, such as ``s3://bucket/folder``."""
    return Bucket(address) if "://" in address else Folder(Path(address))


class Folder:
    """A folder of this machine; what is made in it is its owner's alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self) -> None:
        """Create the folder."""
        try:
            self._root.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"expected a folder for archives, got {str(self._root)!r} ({error.strerror or error})"
            ) from error

    def sizes(self) -> dict[str, int]:
        """The names of all files, sorted, with their sizes in bytes."""
        found = sorted(self._root.glob("*/*")) if self._root.is_dir() else []
        return {f"{path.parent.name}/{path.name}": path.stat().st_size for path in found}

    def read(self, name: str) -> BinaryIO:
        """A file to read from."""
        return open(self._root / name, "rb")

    def write(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """A new file to write to."""
        path = self._root / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return replacing(path)

    def __str__(self) -> str:
        return str(self._root)


class Bucket:
    """A folder of an object store, of any kind that fsspec knows: S3, GCS, Azure and others by their own packages."""

    def __init__(self, address: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise missing("an archive in an object store needs fsspec", "archive") from None
        self._address = address
        try:
            self._files, self._root = fsspec.core.url_to_fs(address)
        except (ValueError, ImportError) as error:
            raise DataError(f"expected the address of an object store, got {address!r} ({error})") from error

    def open(self) -> None:
        """Create the folder, where the store has folders."""
        try:
            self._files.makedirs(self._root, exist_ok=True)
        except Exception as error:  # of the store's own package
            raise DataError(f"expected a folder of an object store, got {self._address!r} ({error})") from error

    def sizes(self) -> dict[str, int]:
        """The names of all files, sorted, with their sizes in bytes."""
        self._files.invalidate_cache()  # other servers write here, too
        found = self._files.find(self._root, maxdepth=2, detail=True)
        first = len(self._root.rstrip("/")) + 1
        return {path[first:]: about["size"] for path, about in sorted(found.items()) if path.count("/", first) == 1}

    @contextlib.contextmanager
    def read(self, name: str) -> Iterator[Any]:
        """A file to read from."""
        with self._files.open(self._path(name), "rb") as file:
            yield file

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[Any]:
        """A new file to write to."""
        path = self._path(name)
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        with self._files.transaction, self._files.open(path, "wb") as file:
            yield file

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def __str__(self) -> str:
        return self._address
