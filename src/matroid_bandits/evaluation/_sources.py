"""Where logs come from: files of lines, archives of the service, clients, and anything that yields events."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import ArchivedEventsError, EvaluationError

#: How many events are fetched from a server at once.
_PAGE = 1000

_STRETCH = re.compile(r"(\d{12})-(\d{12})\.jsonl\.gz")

Form = Mapping[str, Any]


def read_forms(source: Any, archive: Any = None) -> Iterator[Form]:
    """The events of a log as mappings, those of an archive before those of the source.

    Raises
    ------
    EvaluationError
        The source is no log, or the archive is not of this one.
    """
    if archive is None and isinstance(source, str | os.PathLike) and Path(source).is_dir():
        source, archive = (), source
    if archive is None:
        yield from _paged(source, 0) if _is_client(source) else _entries(source)
        return
    if not isinstance(archive, str | os.PathLike) or not Path(archive).is_dir():
        raise EvaluationError(f"expected the folder of an archive, got {str(archive)!r}")
    tail, first = None, None
    if _is_client(source):
        name, learner = str(source.name), str(source.id)
    else:
        tail = _entries(source)
        first = next(tail, None)  # headers come before it
        if first is not None and first["event"] == "created":  # nothing comes before it
            yield first
            yield from tail
            return
        name, learner = tail.name, tail.learner
    last = 0
    for form in _archived(Path(archive), name, learner):
        last = form["seq"]
        yield form
    if tail is None:
        yield from _paged(source, last)
        return
    for form in chain([] if first is None else [first], tail):
        number = form.get("seq")
        if type(number) is not int or number > last + 1:
            raise EvaluationError(f"expected event {last + 1} after those of the archive, got {number!r}")
        if number > last:  # some are still in the database while they are archived
            last = number
            yield form


def _is_client(source: Any) -> bool:
    return callable(getattr(source, "events", None))


def _paged(client: Any, after: int) -> Iterator[Form]:
    """The events of a server after one, a page at a time."""
    try:
        while page := client.events(after=after, limit=_PAGE):
            yield from _Entries(page)
            after = page[-1]["seq"]
    except ArchivedEventsError as error:
        raise EvaluationError(f"{error}; give the folder of archives, as serve has it, with archive=") from error


def _entries(source: Any) -> _Entries:
    if isinstance(source, str | os.PathLike):
        return _Entries(_lines(Path(source)))
    if isinstance(source, Iterable):
        return _Entries(source)
    raise EvaluationError(f"expected a file, a client or events, got {type(source).__name__}")


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            yield from file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise EvaluationError(f"expected a file of events, got {str(path)!r}: {error}") from error


class _Entries(Iterator[Form]):
    """Events among lines or mappings; the header and the last line of an exported campaign are none.

    Attributes
    ----------
    name, learner : str
        What headers that were read so far say of the campaign; empty where there was none.
    """

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = iter(entries)
        self._n = self._n_headers = 0
        self.name = self.learner = ""

    def __next__(self) -> Form:
        for entry in self._entries:
            self._n += 1
            form = self._read(entry)
            if form is None:
                continue
            if "event" in form:
                if not isinstance(form["event"], str):
                    raise EvaluationError(
                        f'expected the kind of an event as text after "event", got {shown(form["event"])} in line '
                        f"{self._n}"
                    )
                return form
            self._note(form)
        raise StopIteration

    def _read(self, entry: Any) -> Form | None:
        form = entry
        if isinstance(entry, str | bytes):
            if not entry.strip():
                return None
            try:
                form = json.loads(entry)
            except ValueError as error:
                raise EvaluationError(f"line {self._n} of the log is no JSON: {error}") from None
        if not isinstance(form, Mapping):
            raise EvaluationError(f"expected events as mappings, got {type(form).__name__} in line {self._n}")
        return form

    def _note(self, form: Form) -> None:
        if "format" in form:
            self._n_headers += 1
            if self._n_headers > 1:
                raise EvaluationError("expected the log of one campaign, got those of several; export one by name")
            self.name = str(form.get("name", ""))
        elif "snapshot" in form:
            try:
                self.learner = str(json.loads(form["snapshot"]["extra"])["id"])
            except (KeyError, TypeError, ValueError):
                raise EvaluationError(f"expected a snapshot with its learner's id in line {self._n}") from None


def _archived(folder: Path, name: str, learner: str) -> Iterator[Form]:
    """The events of a campaign's archive, each file checked to be whole and to follow the one before."""
    stretches = _stretches(folder, name, learner)
    number, digest = 1, ""
    while number in stretches:
        found = [path for path, before in stretches[number] if before == digest]
        if not found:
            path = stretches[number][0][0]
            raise EvaluationError(f"{path}: expected what follows event {number - 1} of this log, got another")
        number, digest = yield from _stretch(found[0], number)
    if number == 1:
        raise EvaluationError(f"expected archived events from the first one on in {str(folder)!r}, got none")


def _stretch(path: Path, number: int) -> Generator[Form, None, tuple[int, str]]:
    """The events of one file from a number on; returns the number and the digest of the log after it."""
    checksum = hashlib.sha256()
    for raw in _lines(path):
        line = raw.rstrip("\n")
        try:
            form = json.loads(line)
        except ValueError:
            break
        if "end" in form:
            if (form["end"], form["checksum"]) != (number - 1, checksum.hexdigest()):
                break
            return number, form["digest"]
        checksum.update(line.encode())
        if "event" in form:
            if form["seq"] != number:
                break
            number += 1
            yield form
    raise EvaluationError(f"{path}: expected an archive of events as it was written, got a damaged one")


def _stretches(folder: Path, name: str, learner: str) -> dict[int, list[tuple[Path, str]]]:
    """Files of a campaign, and the digests that they follow, by the number of their first event; own ones first."""
    folders = [folder]
    if not any(map(_STRETCH.fullmatch, os.listdir(folder))):
        folders = sorted(each for each in folder.iterdir() if each.is_dir() and each.name[-13:-12] == "-")
        if learner:
            folders = [each for each in folders if each.name.endswith(f"-{learner[:12]}")]
            folders.sort(key=lambda each: each.name != f"{name}-{learner[:12]}")  # others are copies of it
        elif name:
            folders = [each for each in folders if each.name[:-13] == name]
        if len({each.name[-12:] for each in folders}) > 1:
            named = ", ".join(each.name for each in folders[:5])
            raise EvaluationError(f"expected the archive of one campaign, got {len(folders)}: {named}; give one")
    found: dict[int, list[tuple[Path, str]]] = {}
    for path in (path for each in folders for path in sorted(each.iterdir())):
        if match := _STRETCH.fullmatch(path.name):
            try:
                header = json.loads(next(_lines(path), ""))
                found.setdefault(int(match[1]), []).append((path, header["before"]))
            except (ValueError, KeyError, TypeError):
                raise EvaluationError(f"{path}: expected an archive of events, got something else") from None
    return found
