"""Download a published data set: resumable, checked against known sums, moved into place whole."""

import hashlib
import http.client
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from matroid_bandits._util.extras import missing
from matroid_bandits._util.files import write_file
from matroid_bandits.datasets._folders import data_folders, file_state
from matroid_bandits.datasets._registry import SOURCES, DataFile
from matroid_bandits.exceptions import DataError

_TIMEOUT = 10.0  # seconds to connect, and between two pieces
_PIECE = 1 << 16

#: Called with the bytes at hand and the bytes in all, where the server tells.
Progress = Callable[[int, int | None], None]


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download a data set from its publisher into a data folder.

    An interrupted download is continued by the next call. Nothing is put in place unless every file has
    the known size and sha256, and a file that is already there and sound is left alone.

    Parameters
    ----------
    name : {"movielens", "rocketfuel"}
        The data set. ``"kiva"`` is not published; the error says how to place it by hand.
    folder : path, optional
        The data folder; by default the first of :func:`data_folders`.
    url : str, optional
        Another http(s) address of the publisher's archive.
    progress : callable, optional
        Called with (bytes at hand, bytes in all or None) as the download goes on.

    Returns
    -------
    Path
        The data folder.

    Raises
    ------
    DataError
        No such data set, no network, or what was downloaded is not what is known.

    Examples
    --------
    >>> fetch("kiva", "my-data")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.DataError: kiva cannot be downloaded: place the extract by hand as ...
    """
    if name not in SOURCES:
        raise DataError(f"unknown data set {name!r}; expected one of {', '.join(SOURCES)}")
    source = SOURCES[name]
    root = data_folders(folder)[0]
    if source.url is None:
        raise DataError(f"{name} cannot be downloaded: {source.how_into(root, is_named=folder is not None)}")
    files = [file for file in source.files if file_state(root / file.path, file) != "ok"]
    if not files:
        return root
    address = url or source.url
    if not address.startswith(("http://", "https://")):
        raise DataError(f"expected an http or https address, got {address!r}")
    part = root / f".{name}.part"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _download(address, part, progress)
        try:
            contents = _unpack(part, files, address)
        except DataError:
            part.unlink()  # a bad archive must not be resumed
            raise
        for file, content in contents.items():
            write_file(root / file.path, content)
        part.unlink()
    except OSError as error:
        raise DataError(f"{name}: cannot write to {root} ({error})") from error
    return root


def _download(url: str, part: Path, progress: Progress | None) -> None:
    """Add what is missing to the part that is here; pooch does the talking."""
    try:
        import pooch
        import requests
    except ImportError as error:  # pragma: no cover - installed wherever the tests run
        raise missing("downloads need pooch", "experiments") from error

    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "matroid-bandits", "Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={have}-"} if have else {}
    growing = _Growing(part, have, progress)
    download = pooch.HTTPDownloader(
        chunk_size=_PIECE, timeout=_TIMEOUT, headers=headers, hooks={"response": growing.begin}
    )
    try:
        download(url, growing, None)
    except requests.HTTPError as error:
        answer = error.response
        if answer.status_code != requests.codes.requested_range_not_satisfiable or not have:
            raise DataError(f"{url}: the server answered {answer.status_code} {answer.reason}") from error
        if answer.headers.get("Content-Range") != f"bytes */{have}":  # else all of it is here already
            part.unlink()
            _download(url, part, progress)
        return
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
        raise DataError(f"expected an http or https address, got {url!r} ({error})") from error
    except requests.RequestException as error:
        if growing.file is not None:
            raise growing.cut_off(url) from error
        raise DataError(f"{url}: cannot be reached, is there a network? ({_first_cause(error)})") from error
    finally:
        growing.close()
    if growing.total not in (None, growing.done):
        raise growing.cut_off(url)


def _first_cause(error: BaseException) -> BaseException:
    """What the system said, without what each layer above added."""
    while error.__context__ is not None:
        error = error.__context__
    return error


class _Growing:
    """The file that a download is written to: it goes on where the part ends, or anew where the server does."""

    def __init__(self, part: Path, have: int, progress: Progress | None) -> None:
        self._part, self._have, self._progress = part, have, progress
        self._answers: list[Any] = []
        self.file: IO[bytes] | None = None
        self.done = 0
        self.total: int | None = None

    def begin(self, answer: Any, **_: Any) -> None:
        """Look at the server's answer before its content comes."""
        self._answers.append(answer)
        if not answer.ok or answer.is_redirect:
            return
        # a short answer is told by its length below, and what came of it is kept
        answer.raw.enforce_content_length = False
        is_rest = answer.headers.get("Content-Range", "").startswith(f"bytes {self._have}-")
        self.done = self._have if answer.status_code == http.client.PARTIAL_CONTENT and is_rest else 0
        length = answer.headers.get("Content-Length", "")
        self.total = self.done + int(length) if length.isdecimal() else None
        self.file = self._part.open("ab" if self.done else "wb")

    def write(self, piece: bytes) -> None:
        """Add what came."""
        assert self.file is not None
        self.file.write(piece)
        self.done += len(piece)
        if self._progress is not None:
            self._progress(self.done, self.total)

    def flush(self) -> None:
        """Put it on the disk, so that an interrupt loses nothing."""
        assert self.file is not None
        self.file.flush()

    def close(self) -> None:
        """Hang up."""
        if self.file is not None:
            self.file.close()
        for answer in self._answers:
            answer.close()

    def cut_off(self, url: str) -> DataError:
        """The error that not everything came."""
        of_all = f" of {self.total:,}" if self.total is not None else ""
        return DataError(f"{url}: cut off after {self.done:,}{of_all} bytes; fetch again to continue from there")


def _unpack(archive: Path, files: list[DataFile], url: str) -> dict[DataFile, bytes]:
    """Contents of the wanted files, all of them checked; names inside the archive are never used as paths."""
    contents: dict[DataFile, bytes] = {}
    try:
        for name, stream in _members(archive):
            parts = PurePosixPath(name).parts
            for file in files:
                wanted = PurePosixPath(file.member).parts
                if parts[-len(wanted) :] == wanted and file not in contents:
                    # One byte more than expected is enough to tell, however large the member claims to be.
                    contents[file] = stream.read(file.size + 1)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise DataError(f"{url}: what came is not an archive, or a damaged one; fetch again") from error
    for file in files:
        if file not in contents:
            raise DataError(f"{url}: the archive holds no {file.member}")
        if len(contents[file]) != file.size or hashlib.sha256(contents[file]).hexdigest() != file.sha256:
            raise DataError(f"{url}: {file.member} is not the known file (size or sha256 differs)")
    return contents


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    with zipped.open(info) as stream:
                        yield info.filename, stream
        return
    with tarfile.open(archive) as tarred:
        for member in tarred:
            if member.isreg() and (content := tarred.extractfile(member)) is not None:
                with content:
                    yield member.name, content
