"""Closed stretches of logs as files: JSON Lines, compressed, with the hashes that chain them to the rest."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matroid_bandits._util.files import replacing
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import DataError, SerializationError
from matroid_bandits.service._store import chained

FORMAT = "matroid-bandits/archive"
VERSION = 1

#: Number, time and payload of an event.
Event = tuple[int, float, str]

_NAME = re.compile(r"(\d{12})-(\d{12})\.jsonl\.gz")
_LINE = re.compile(r'\{"seq":(\d+),"at":([-+.0-9e]+),(.*)', re.DOTALL)


@dataclass(frozen=True)
class Stretch:
    """A file with the events from `first` to `last`."""

    first: int
    last: int
    path: Path


class Archive:
    """Folder of archived events, with a subfolder for each campaign; several servers may share it.

    Parameters
    ----------
    folder : path
        Created where it is not there, in a folder that is.

    Examples
    --------
    >>> import tempfile
    >>> archive = Archive(tempfile.mkdtemp())
    >>> path, digest = archive.write("ads", "a1b2", "", 1, 1, [(1, 0.5, '{"event":"created"}')])
    >>> path.name, list(archive.read(path, ""))
    ('000000000001-000000000001.jsonl.gz', [(1, 0.5, '{"event":"created"}')])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def open(self) -> None:
        """Create the folder, accessible to its owner alone.

        Raises
        ------
        DataError
            It is no folder, or cannot be made.
        """
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"expected a folder for archives, got {str(self.folder)!r} ({error.strerror or error})"
            ) from error

    def write(
        self, name: str, learner: str, before: str, first: int, last: int, events: Iterable[Event]
    ) -> tuple[Path, str]:
        """Write consecutive events to a file, atomically.

        Parameters
        ----------
        name, learner : str
            The campaign, and its learner's id, which tells it from another one of that name.
        before : str
            The digest of the log before the first event.
        first, last : int
            The numbers of the first and the last event.
        events : iterable of (number, time, payload)
            What is written.

        Returns
        -------
        path, and the digest of the log after the last event
        """
        folder = self._own(name, learner)
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{first:012}-{last:012}.jsonl.gz"
        header = {
            "format": FORMAT,
            "version": VERSION,
            "name": name,
            "learner": learner,
            "first": first,
            "last": last,
        }
        checksum, digest, number = hashlib.sha256(), before, first - 1
        with replacing(path) as raw, gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:

            def put(line: str) -> None:
                checksum.update(line.encode())
                file.write(f"{line}\n".encode())

            put(json.dumps(header | {"before": before}))
            for seq, at, payload in events:
                number += 1
                if seq != number:
                    raise SerializationError(f"expected event {number} of {name}, got {seq}")
                put(f'{{"seq":{seq},"at":{at!r},{payload[1:]}')
                digest = chained(digest, seq, at, payload)
            if number != last:
                raise SerializationError(f"expected events of {name} up to {last}, got {number}")
            end = {"end": last, "digest": digest, "checksum": checksum.hexdigest()}
            file.write(f"{json.dumps(end)}\n".encode())
        return path, digest

    def read(self, path: Path, before: str) -> Iterator[Event]:
        """Yield the events of a file that follows a log with the digest `before`; the last one only after all are
        checked.

        Raises
        ------
        SerializationError
            The file is damaged, of something else, or follows another log.
        """
        try:
            yield from _read(path, before)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, ValueError) as error:
            if isinstance(error, SerializationError):
                raise
            raise SerializationError(f"{path}: expected an archive of events, got one that is damaged") from error

    def stretches(self, name: str, learner: str) -> list[Stretch]:
        """Return the files of a campaign, and of campaigns it was copied from (last), oldest first."""
        own = self._own(name, learner)
        others = sorted(self.folder.glob(f"*-{learner[:12]}")) if self.folder.is_dir() else []
        found = []
        for folder in dict.fromkeys([own, *others]):
            named = sorted(folder.iterdir()) if folder.is_dir() else []
            matches = ((path, match) for path in named if (match := _NAME.fullmatch(path.name)))
            found += [Stretch(int(match[1]), int(match[2]), path) for path, match in matches]
        return sorted(found, key=lambda stretch: stretch.first)  # which keeps own ones before others

    def events(self, name: str, learner: str, after: int, before: str, until: int) -> Iterator[Event]:
        """Yield the archived events of a campaign after a given event, with the digest `before`, up to `until`.

        Raises
        ------
        SerializationError
            A file is missing or damaged.
        """
        stretches = self.stretches(name, learner)
        path = _way(stretches, after + 1, until)
        if path is None and after < until:
            raise SerializationError(f"expected event {after + 1} of {name} in the archive {self.folder}, got none")
        digest = before
        for first, last in path or ():
            same = [each.path for each in stretches if (each.first, each.last) == (first, last)]
            file = next((each for each in same if _follows(each, digest)), same[0])
            for seq, at, payload in self.read(file, digest):
                digest = chained(digest, seq, at, payload)
                yield seq, at, payload

    def size_of(self, name: str) -> tuple[int, int]:
        """Return the number of files and bytes of a campaign."""
        found = self.folder.glob(f"{name}-{'[0-9a-f]' * 12}/*.jsonl.gz") if self.folder.is_dir() else ()
        sizes = [path.stat().st_size for path in found]
        return len(sizes), sum(sizes)

    def _own(self, name: str, learner: str) -> Path:
        return self.folder / f"{name}-{learner[:12]}"


def _way(stretches: list[Stretch], first: int, until: int) -> list[tuple[int, int]] | None:
    """Stretches that follow each other from one event to another; a server that ended early may have left more."""
    ways: dict[int, list[tuple[int, int]]] = {first: []}
    for start, end in sorted({(each.first, each.last) for each in stretches}):
        if start in ways and end <= until:
            ways.setdefault(end + 1, [*ways[start], (start, end)])
    return ways.get(until + 1)


def _follows(path: Path, before: str) -> bool:
    """Whether a file says that it follows a log with this digest."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            header = json.loads(file.readline())
    except (OSError, EOFError, zlib.error, ValueError):
        return False
    return isinstance(header, dict) and header.get("before") == before


def _read(path: Path, before: str) -> Iterator[Event]:
    checksum, digest, number = hashlib.sha256(), before, 0
    held: Event | None = None  # given away when the next line is known to be sound, so the last after the checksum
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        line = file.readline().rstrip("\n")
        header = json.loads(line)
        if header.get("format") != FORMAT or header.get("version") != VERSION:
            raise SerializationError(f"{path}: expected {FORMAT} of version {VERSION}, got {shown(line)}")
        if header["before"] != before:
            raise SerializationError(f"{path}: expected what follows the log so far, got a stretch of another log")
        checksum.update(line.encode())
        number = header["first"] - 1
        for raw in file:
            line = raw.rstrip("\n")
            match = _LINE.fullmatch(line)
            if match is None:
                _check_end(path, json.loads(line), number, digest, checksum.hexdigest())
                if held is not None:
                    yield held
                return
            checksum.update(line.encode())
            seq, at, payload = int(match[1]), float(match[2]), "{" + match[3]
            number += 1
            if seq != number:
                raise SerializationError(f"{path}: expected event {number}, got {seq}")
            digest = chained(digest, seq, at, payload)
            if held is not None:
                yield held
            held = seq, at, payload
    raise SerializationError(f"{path}: expected a last line with a checksum, got the end of the file")


def _check_end(path: Path, end: dict[str, Any], last: int, digest: str, checksum: str) -> None:
    if (end.get("end"), end.get("digest"), end.get("checksum")) != (last, digest, checksum):
        raise SerializationError(f"{path}: expected events as they were written, got others")
