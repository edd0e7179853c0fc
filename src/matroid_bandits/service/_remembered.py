"""What is stored of a request that has an id: its id, a hash of what it asked for, and its answer, all of it short.

Ids are kept for days, two for every visit, so their bytes are most of what a recent visit costs. Rows that early
versions wrote have all of it in full, and are read as well.
"""

from __future__ import annotations

import hashlib
import re
from binascii import b2a_base64
from functools import lru_cache
from typing import Any

from pydantic_core import from_json, to_json

#: A character that no client may send in an id, before an id that is written in another way.
_MARK = "\x01"

#: What ids begin with that a server made for a request without one; no client may send it, and the index of the
#: migration 0006 has it too. They are remembered for longer than any pause of a server after which it might go on.
MADE = "\x02"
MADE_IDS_S = 6 * 3600.0

#: The header of a request that a server passes on: its id, the database's clock as it last read it, and the key that
#: it made for a request that writes.
MARK = b"x-matroid-bandits-passed"

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{32}")
_PASSED = re.compile(r"([0-9a-f]{16}) (\d{1,12}\.\d{3})(?: ([A-Za-z0-9_-]{16}))?")

#: What every decision in an answer says, in this order; the learner's id is known from the campaign.
_DECISION = ("decision", "learner", "items", "numbers", "pinned", "full", "held_out")
_TOLD = ("decision", "told", "waiting")


def short_id(id: str) -> str:
    """An id as it is stored: of the usual kind, 23 characters instead of 36."""
    if _UUID.fullmatch(id) is None:
        return id
    return _MARK + _text(bytes.fromhex(id.replace("-", "")))


@lru_cache(maxsize=16)  # a request's is read some times, one after the other
def read_mark(value: bytes) -> tuple[str, float, str]:
    """The server that passed a request on, the time it knew, and the id that it made; empty and 0 without one."""
    found = _PASSED.fullmatch(value.decode("latin-1"))
    if found is None:
        return "", 0.0, ""
    return found[1], float(found[2]), "" if found[3] is None else MADE + found[3]


def short_digest(digest: str) -> str:
    """A digest as it is stored: its first 64 bits, which tell the requests of one id apart."""
    return _text(bytes.fromhex(digest)[:8]) if _DIGEST.fullmatch(digest) else digest


def sealed(id: str, digest: str, status: int, answer: str) -> str:
    """A request's digest as it is stored: short, with a checksum of the whole row."""
    short = short_digest(digest)
    return f"{short}.{_checksum(id, short, status, answer)}"


def is_sound(id: str, stored: str, status: int, answer: str) -> bool:
    """Whether a row is as it was written; rows of versions up to 0.2 have no checksum, and count as sound."""
    short, dot, checksum = stored.partition(".")
    return not dot or checksum == _checksum(id, short, status, answer)


def is_same(stored: str, digest: str) -> bool:
    """Whether a stored digest, short or not, is that of a request."""
    return stored.partition(".")[0] in (digest, short_digest(digest))


def short_decision(form: dict[str, Any]) -> str:
    """The answer to an ask as it is stored: values without their names, and without the learner's id."""
    if tuple(form)[:7] != _DECISION:
        return to_json(form).decode()
    values = [form[name] for name in _DECISION if name != "learner"]
    return to_json([*values, {name: form[name] for name in form if name not in _DECISION}]).decode()


def short_told(form: dict[str, Any]) -> str:
    """The answer to a tell as it is stored."""
    return to_json([form[name] for name in _TOLD]).decode()


def whole(answer: str, learner: str) -> bytes:
    """An answer as it was sent, from what is stored of it."""
    if not answer.startswith("["):
        return answer.encode()
    values = from_json(answer)
    if len(values) == len(_TOLD):
        return to_json(dict(zip(_TOLD, values, strict=True)))
    decision, *others, more = values
    return to_json(dict(zip(_DECISION, (decision, learner, *others), strict=True)) | more)


def _checksum(id: str, short: str, status: int, answer: str) -> str:
    return _text(hashlib.blake2b(f"{id}\n{short}\n{status}\n{answer}".encode(), digest_size=4).digest())


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode()
