"""Which files make up each data set, where they are looked for, how to get them, are they sound."""

import hashlib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from matroid_bandits.exceptions import DataError, MissingDependencyError

#: Environment variable that names the data folder.
DATA_VARIABLE = "MATROID_BANDITS_DATA"


@dataclass(frozen=True)
class DataFile:
    """A file: its place in a data folder and in the publisher's archive, its size and sha256."""

    path: str
    size: int
    sha256: str
    member: str = ""
    is_needed: bool = True


@dataclass(frozen=True)
class Source:
    """A data set's files, its publisher's archive (none: not published), how to get it and on what terms."""

    name: str
    title: str
    url: str | None
    how: str
    terms: str
    files: tuple[DataFile, ...]

    def how_into(self, folder: Path, *, is_named: bool) -> str:
        """How to get it into a data folder, which the command must name too where the caller did."""
        option = f" --data {shlex.quote(str(folder))}" if is_named else ""
        return self.how.format(folder=folder, option=option)


_LATENCIES = (
    (1221, 15_172, "f94b0e6324f82a9e64f75838d855bddc65a6884068e4c845df0ec02ba403eef9"),
    (1239, 68_272, "a084360c144b3ba2c3ed6e9fd34452e938952e532e9a1f6f6eafb955bf7ccd4d"),
    (1755, 14_840, "fdee72ed6ba0025c8fb0fbaace30b94b35a45ff611f235d50293ec1ffc406088"),
    (3257, 24_066, "7e8075f06fd6abed304016ba54eb590077274c787f86301e1f8852a8c269bc73"),
    (3967, 10_350, "3887faf4b71d1049d453cf4b29d598312d117a9a1eb86a8d7c913d59af6bb386"),
    (6461, 21_896, "3aed3e90f4a91cd8baab753b048f222359a92a548e274591493ac96c0c9619a3"),
)

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            name="rocketfuel",
            title="RocketFuel ISP maps with link latencies (University of Washington)",
            url="http://research.cs.washington.edu/networking/rocketfuel/maps/weights-dist.tar.gz",
            how="matroid-bandits data fetch rocketfuel{option}",
            terms=(
                "No licence file is known to come with the maps; their authors released them to the"
                " community. Cite Mahajan, Spring, Wetherall, Anderson, 'Inferring Link Weights using"
                " End-to-End Measurements' (IMW 2002) and Spring, Mahajan, Wetherall, 'Measuring ISP"
                " Topologies with Rocketfuel' (SIGCOMM 2002)."
            ),
            files=tuple(
                DataFile(f"rocketfuel/{asn}/latencies.intra", size, sha256, f"{asn}/latencies.intra")
                for asn, size, sha256 in _LATENCIES
            ),
        ),
        Source(
            name="movielens",
            title="MovieLens 1M (GroupLens Research, University of Minnesota)",
            url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
            how="matroid-bandits data fetch movielens{option}",
            terms=(
                "GroupLens's own terms (in the data set's README): research use; acknowledge the data set;"
                " imply no endorsement; no commercial use without permission; no redistribution without"
                " separate permission. Cite Harper, Konstan, 'The MovieLens Datasets: History and Context'"
                " (ACM TiiS 5(4), 2015)."
            ),
            files=(
                DataFile(
                    "movielens-1m/movies.dat",
                    171_308,
                    "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9",
                    "ml-1m/movies.dat",
                ),
                DataFile(
                    "movielens-1m/ratings.dat",
                    24_594_131,
                    "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
                    "ml-1m/ratings.dat",
                ),
                DataFile(
                    "movielens-1m/README",
                    5_577,
                    "2d5ddce86ccbd247207456165827b4b9ddf27282bca93807d4c763e28414f133",
                    "ml-1m/README",
                    is_needed=False,
                ),
            ),
        ),
        Source(
            name="kiva",
            title="Kiva loans, an extract of the snapshot of 25 January 2014",
            url=None,
            how=(
                "place the extract by hand as {folder}/kiva/loans.csv.gz: a header, then the loans"
                " that have lenders, newest first, with loan_id, partner_id, status, posted_date,"
                " lenders and support (lenders by US state, XX abroad, such as 'CA:1 XX:8')"
            ),
            terms=(
                "Kiva publishes snapshots for developers and researchers under its API terms of service; no"
                " open licence is known for this one. Check before publishing anything that contains it."
            ),
            files=(
                DataFile(
                    "kiva/loans.csv.gz",
                    3_572_111,
                    "ddb2ccc829c86ee873c25872e9188ed852fac5bd9c14fafa3b8ec3f06ed7c73b",
                ),
                DataFile(
                    "kiva/partners.csv",
                    41_628,
                    "1c944895469be57c6d99d2cdfcb2ee74b664825364eeecccd9efc0c83f1bb967",
                    is_needed=False,
                ),
            ),
        ),
    )
}


FileState = Literal["ok", "present", "missing", "wrong size", "wrong checksum"]


@dataclass(frozen=True)
class FileStatus:
    """A file of a data set and its state; ``present`` says that its contents were not looked at."""

    path: Path
    state: FileState
    is_needed: bool = True


@dataclass(frozen=True)
class DatasetStatus:
    """Whether a data set is there, where, and how to get it.

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
        """No file differs from the known one; files that are missing do not count."""
        return all(file.state in ("ok", "present", "missing") for file in self.files)


def data_folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders in which data is looked for, first to last; the first is where downloads go.

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
        raise MissingDependencyError(
            "the user's cache folder needs platformdirs: pip install 'matroid-bandits[experiments]'"
        ) from error
    folders = [user_cache_path("matroid-bandits", appauthor=False)]
    if variable := os.environ.get(DATA_VARIABLE):
        folders.insert(0, Path(variable).expanduser())
    return folders


def existing_folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """The same, where data is read: a folder that somebody named must be there."""
    folders = data_folders(data)
    if (data is not None or os.environ.get(DATA_VARIABLE)) and not folders[0].is_dir():
        whose = "" if data is not None else f" ({DATA_VARIABLE})"
        raise DataError(f"expected a data folder{whose}, got {folders[0]}, which is not one")
    return folders


def list_datasets(data: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """What is present, from where, and how to get the rest; file contents are not looked at.

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
    """Like :func:`list_datasets`, with the size and sha256 of every file compared with the known ones.

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
    """The folder that holds the files, or None for the stand-in.

    Nothing is guessed when a folder was named, when real data was asked for, or when a folder holds some of
    the files but not all.
    """
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
