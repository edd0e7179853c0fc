"""Lines of data files, read strictly: a malformed one is an error with its file and line number."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from matroid_bandits.exceptions import DataError


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Line numbers and lines without their ends; an empty, unreadable or wrongly encoded file is an error."""
    line = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line, raw in enumerate(file, 1):
                yield line, raw.rstrip(b"\r\n").decode(encoding)
    except UnicodeDecodeError:
        fail(path, line, f"not {encoding} text")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read after line {line} ({error})") from error
    if line == 0:
        raise DataError(f"{path}: the file is empty")


def is_whole(text: str) -> bool:
    """Whether a text is a whole number in plain digits."""
    # int() also takes signs, spaces, underscores and other scripts' digits.
    return text.isascii() and text.isdecimal()


def fail(path: Path, line: int, problem: str) -> NoReturn:
    """Raise a DataError that names the file and the line."""
    raise DataError(f"{path}, line {line}: {problem}")
