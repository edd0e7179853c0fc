"""Where data is looked for, what is there, and whether it is the known data."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from matroid_bandits._util.extras import missing
from matroid_bandits.datasets._registry import SOURCES, DataFile, Source
from matroid_bandits.exceptions import DataError

#: Environment variable that names the data folder.
DATA_VARIABLE = "MATROID_BANDITS_DATA"

FileState = Literal["ok", "present", "missing", "wrong size", "wrong checksum"]


@dataclass(frozen=True)
class FileStatus:
    """A file of a data set and its status; ``present`` means that its content was not checked.

    Examples
    --------
    >>> import tempfile
    >>> from matroid_bandits.datasets import list_datasets
    >>> file = list_datasets(tempfile.mkdtemp())[0].files[0]
    >>> file.path.name, file.state, file.is_needed
    ('latencies.intra', 'missing', True)
    """

    path: Path
    state: FileState
    is_needed: bool = True


@dataclass(frozen=True)
class DatasetStatus:
    """Status of a data set: whether it is installed, in which folder, and how to get it.

    Attributes
    ----------
    name, title : str
        What it is called in calls, and in full.
    is_present : bool
        Whether every file that an experiment needs is there.
    folder : Path
        The data folder it is in, or would be put into.
    how, terms : str
        How to get it, and on what terms.
    files : tuple of FileStatus
        Its files, needed or not.

    Examples
    --------
    >>> import tempfile
    >>> from matroid_bandits.datasets import list_datasets
    >>> status = list_datasets(tempfile.mkdtemp())[1]
    >>> status.name, status.is_present, len(status.files)
    ('movielens', False, 4)
    """

    name: str
    title: str
    is_present: bool
    folder: Path
    how: str
    terms: str
    files: tuple[FileStatus, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no file differs from the published one; missing files do not count."""
        return all(file.state in ("ok", "present", "missing") for file in self.files)


def data_folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders that are searched for data, in order; downloads go to the first.

    Parameters
    ----------
    data : path, optional
        The one folder to look in. By default ``MATROID_BANDITS_DATA`` where it is set, then the user's
        cache folder.

    Examples
    --------
    >>> [folder.name for folder in data_folders("my-data")]
    ['my-data']
    """
    if data is not None:
        return [Path(data).expanduser()]
    try:
        from platformdirs import user_cache_path
    except ImportError as error:  # pragma: no cover - installed wherever the tests run
        raise missing("the user's cache folder needs platformdirs", "experiments") from error
    folders = [user_cache_path("matroid-bandits", appauthor=False)]
    if variable := os.environ.get(DATA_VARIABLE):
        folders.insert(0, Path(variable).expanduser())
    return folders


def existing_folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """The folders of :func:`data_folders`, for reading: one given by an argument or the environment must exist."""
    folders = data_folders(data)
    if (data is not None or os.environ.get(DATA_VARIABLE)) and not folders[0].is_dir():
        whose = "" if data is not None else f" ({DATA_VARIABLE})"
        raise DataError(f"expected a data folder{whose}, got {folders[0]}, which is not one")
    return folders


def list_datasets(data: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Return the status of every data set, without checking file contents.

    Parameters
    ----------
    data : path, optional
        The folder to look in; see :func:`data_folders`.

    Raises
    ------
    DataError
        The folder that is named, here or by ``MATROID_BANDITS_DATA``, does not exist.

    Examples
    --------
    >>> import tempfile
    >>> [(status.name, status.is_present) for status in list_datasets(tempfile.mkdtemp())]
    [('rocketfuel', False), ('movielens', False), ('kiva', False)]
    """
    return [_status(source, data, is_checked=False) for source in SOURCES.values()]


def check(data: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Like :func:`list_datasets`, but compare the size and sha256 of every file with the published ones.

    Parameters
    ----------
    data : path, optional
        The folder to look in; see :func:`data_folders`.

    Examples
    --------
    >>> import tempfile
    >>> {file.state for status in check(tempfile.mkdtemp()) for file in status.files}
    {'missing'}
    """
    return [_status(source, data, is_checked=True) for source in SOURCES.values()]


def find(paths: list[str], data: str | os.PathLike[str] | None, standin: bool | None, source: Source) -> Path | None:
    """The folder that holds the files of a data set, or None where the stand-in is to be used."""
    # Nothing is guessed when a folder was named, when real data was asked for, or when a folder holds some of the
    # files but not all.
    if standin:
        return None
    folders = existing_folders(data)
    missing: Path | None = None
    for folder in folders:
        absent = [folder / path for path in paths if not (folder / path).is_file()]
        if not absent:
            return folder
        if missing is None and (data is not None or standin is False or len(absent) < len(paths)):
            missing = absent[0]
    if missing is not None:
        how = source.how_into(folders[0], is_named=data is not None)
        raise DataError(f"{source.name}: expected the file {missing}. To get it: {how}")
    return None


def file_state(path: Path, file: DataFile) -> FileState:
    """Compare a file with the known one."""
    if not path.is_file():
        return "missing"
    if path.stat().st_size != file.size:
        return "wrong size"
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return "ok" if digest == file.sha256 else "wrong checksum"


def _status(source: Source, data: str | os.PathLike[str] | None, is_checked: bool) -> DatasetStatus:
    """The state of a data set in the folder that holds most of it."""
    folders = existing_folders(data)
    needed = [file.path for file in source.files if file.is_needed]
    # The folder that holds most of it; the first of equals.
    folder = max(folders, key=lambda folder: sum((folder / path).is_file() for path in needed))
    files = []
    for file in source.files:
        path = folder / file.path
        state = file_state(path, file) if is_checked else "present" if path.is_file() else "missing"
        files.append(FileStatus(path, state, file.is_needed))
    is_present = all(file.state != "missing" for file in files if file.is_needed)
    how = source.how_into(folder, is_named=data is not None)
    return DatasetStatus(source.name, source.title, is_present, folder, how, source.terms, tuple(files))
