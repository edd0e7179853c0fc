"""Closed stretches of logs as files: JSON Lines, compressed, with the hashes that chain them to the rest."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SerializationError
from matroid_bandits.service._places import place_of
from matroid_bandits.service._store import chained

FORMAT = "matroid-bandits/archive"
VERSION = 1

#: Number, time and payload of an event.
Event = tuple[int, float, str]

_NAME = re.compile(r"([^/]+)/(\d{12})-(\d{12})\.jsonl\.gz")
_LINE = re.compile(r'\{"seq":(\d+),"at":([-+.0-9e]+),(.*)', re.DOTALL)


@dataclass(frozen=True)
class Stretch:
    """A file with the events from `first` to `last`."""

    first: int
    last: int
    file: str


class Archive:
    """Folder of archived events, with a subfolder for each campaign; several servers may share it.

    Parameters
    ----------
    folder : path or str
        A folder, created where it is not there, in one that is; or the address of an object store that fsspec knows,
        such as ``s3://bucket/folder``.

    Examples
    --------
    >>> import tempfile
    >>> archive = Archive(tempfile.mkdtemp())
    >>> file, digest = archive.write("ads", "a1b2", "", 1, 1, [(1, 0.5, '{"event":"created"}')])
    >>> file, list(archive.read(file, ""))
    ('ads-a1b2/000000000001-000000000001.jsonl.gz', [(1, 0.5, '{"event":"created"}')])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._place = place_of(os.fspath(folder))

    def open(self) -> None:
        """Create the folder, accessible to its owner alone."""
        self._place.open()

    def write(
        self, name: str, learner: str, before: str, first: int, last: int, events: Iterable[Event]
    ) -> tuple[str, str]:
        """Write consecutive events to a file, atomically."""
        file_name = f"{name}-{learner[:12]}/{first:012}-{last:012}.jsonl.gz"
        header = {
            "format": FORMAT,
            "version": VERSION,
            "name": name,
            "learner": learner,
            "first": first,
            "last": last,
        }
        checksum, digest, number = hashlib.sha256(), before, first - 1
        with (
            self._place.write(file_name) as raw,
            gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file,
        ):

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
        return file_name, digest

    def read(self, file: str, before: str) -> Iterator[Event]:
        """Yield the events of a file that follows a log with the digest `before`."""
        try:
            with self._opened(file) as lines:
                yield from _read(f"{self._place}/{file}", lines, before)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, ValueError) as error:
            if isinstance(error, SerializationError):
                raise
            where = f"{self._place}/{file}"
            raise SerializationError(f"{where}: expected an archive of events, got one that is damaged") from error

    @contextlib.contextmanager
    def _opened(self, file: str) -> Iterator[IO[str]]:
        with self._place.read(file) as raw, gzip.open(raw, "rt", encoding="utf-8", newline="\n") as lines:
            yield lines

    def stretches(self, name: str, learner: str) -> list[Stretch]:
        """Return the files of a campaign, and of campaigns it was copied from (last), oldest first."""
        matches = [match for file in self._place.sizes() if (match := _NAME.fullmatch(file))]
        is_of_it = [match for match in matches if match[1].endswith(f"-{learner[:12]}")]
        found = [Stretch(int(match[2]), int(match[3]), match[0]) for match in is_of_it]
        own = f"{name}-{learner[:12]}/"
        return sorted(found, key=lambda each: (each.first, not each.file.startswith(own)))

    def events(self, name: str, learner: str, after: int, before: str, until: int) -> Iterator[Event]:
        """Yield the archived events of a campaign after a given event, with the digest `before`, up to `until`."""
        stretches = self.stretches(name, learner)
        path = _way(stretches, after + 1, until)
        if path is None and after < until:
            raise SerializationError(f"expected event {after + 1} of {name} in the archive {self._place}, got none")
        digest = before
        for first, last in path or ():
            same = [each.file for each in stretches if (each.first, each.last) == (first, last)]
            file = next((each for each in same if self._follows(each, digest)), same[0])
            for seq, at, payload in self.read(file, digest):
                digest = chained(digest, seq, at, payload)
                yield seq, at, payload

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return the number of files and bytes of every campaign, by its name."""
        found: dict[str, tuple[int, int]] = {}
        for file, size in self._place.sizes().items():
            match = _NAME.fullmatch(file)
            if match is not None:
                name = match[1].rpartition("-")[0]
                n, total = found.get(name, (0, 0))
                found[name] = n + 1, total + size
        return found

    def _follows(self, file: str, before: str) -> bool:
        """Whether a file says that it follows a log with this digest."""
        try:
            with self._opened(file) as lines:
                header = json.loads(lines.readline())
        except (OSError, EOFError, zlib.error, ValueError):
            return False
        return isinstance(header, dict) and header.get("before") == before


def _way(stretches: list[Stretch], first: int, until: int) -> list[tuple[int, int]] | None:
    """Stretches that follow each other from one event to another; a server that ended early may have left more."""
    ways: dict[int, list[tuple[int, int]]] = {first: []}
    for start, end in sorted({(each.first, each.last) for each in stretches}):
        if start in ways and end <= until:
            ways.setdefault(end + 1, [*ways[start], (start, end)])
    return ways.get(until + 1)


def _read(path: str, file: IO[str], before: str) -> Iterator[Event]:
    checksum, digest, number = hashlib.sha256(), before, 0
    held: Event | None = None  # given away when the next line is known to be sound, so the last after the checksum
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


def _check_end(path: str, end: dict[str, Any], last: int, digest: str, checksum: str) -> None:
    if (end.get("end"), end.get("digest"), end.get("checksum")) != (last, digest, checksum):
        raise SerializationError(f"{path}: expected events as they were written, got others")
