"""Errors as answers: one table from classes to status codes, and the form of RFC 9457."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

from pydantic_core import to_json
from sqlalchemy import exc as database

from matroid_bandits import exceptions as known


class MediaTypeError(known.MalformedRequestError):
    """The body is of a type that is not served."""


#: The status of each error; a class stands for those derived from it that are not listed.
STATUS: Final[dict[type[Exception], int]] = {
    known.MalformedRequestError: 400,
    known.AccessError: 403,
    known.UnknownCampaignError: 404,
    known.UnknownDecisionError: 404,
    known.ArchivedEventsError: 410,
    known.DecisionClosedError: 409,
    known.CampaignStateError: 409,
    known.RequestIdError: 409,
    known.LimitError: 413,
    MediaTypeError: 415,
    known.ItemError: 422,
    known.FeedbackError: 422,
    known.PolicyError: 422,
    known.InvalidConstraintError: 422,
    known.SerializationError: 422,
    known.WeightsError: 422,
    known.SeedError: 422,
    known.StoppingError: 422,
    known.DataError: 422,
    known.RateLimitError: 429,
    known.CampaignStoppedError: 503,
    known.UnavailableError: 503,
}

#: The database is away, or cannot serve now: 503 too. Other errors of it are mistakes of the server.
_AWAY = (
    database.OperationalError,
    database.InterfaceError,
    database.InternalError,
    database.DisconnectionError,
    database.TimeoutError,
)

_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}

#: `given` ends at a semicolon outside quotes, where advice begins. Words that only point at what was given, as in
#: "got another", are no `given`.
_EXPECTED = re.compile(
    r"""expected (?P<expected>.+?)[,;] got (?!(?:another|others|more|fewer|both|one|what)\b)"""
    r"""(?P<given>(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^;])+)""",
    re.DOTALL,
)


def status_of(error: BaseException) -> int:
    """The status that an error is answered with: its class's own, or that of the nearest class it derives from."""
    if isinstance(error, known.AccessError) and getattr(error, "is_unknown", False):
        return 401
    if isinstance(error, _AWAY):
        return 503
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(status: int, error: str, detail: str, more: dict[str, Any] | None = None) -> bytes:
    """The body of an answer that says what went wrong."""
    form: dict[str, Any] = {
        "type": "about:blank",
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "error": error,
        "detail": detail,
    }
    found = _EXPECTED.search(detail)
    if found:
        form |= found.groupdict()
    return to_json(form | (more or {}))


def problem_of(error: BaseException) -> tuple[int, bytes]:
    """The status and the body that tell of an error; of one that should not happen, nothing but that."""
    status = status_of(error)
    if status == 500:
        return 500, problem(500, "InternalError", "the server has made a mistake; its log says more")
    if isinstance(error, _AWAY):  # whose own words may hold a statement's values
        return status, problem(status, known.UnavailableError.__name__, "the database does not answer; try again")
    more = {"first": error.first} if isinstance(error, known.ArchivedEventsError) else {}
    return status, problem(status, type(error).__name__, str(error), more)
