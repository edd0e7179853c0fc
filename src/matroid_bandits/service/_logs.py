"""The server's log: plain lines or JSON. At the default level no label, key or weight is in it."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback

log = logging.getLogger("matroid_bandits.service")


#: Loggers, and their levels; the service tells by itself, in a line, what SQLAlchemy says of broken connections.
_LEAST = {"matroid_bandits": "", "uvicorn": "WARNING", "alembic": "WARNING", "sqlalchemy": "CRITICAL",
          "py.warnings": "WARNING"}  # fmt: skip


def log_unexpected(error: BaseException) -> None:
    """Log an error that should not happen: where, and its class; what it says may hold labels, so at debug alone."""
    where = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    log.error("a request failed in a way it should not: %s\n%s", type(error).__name__, where)
    log.debug("it says: %s", error)


def set_up_logs(level: str, as_json: bool) -> None:
    """Send the log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.captureWarnings(as_json)
    for name, least in _LEAST.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(least or level.upper())


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        form = {
            "time": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "fields", None)  # of a request: the message holds the same as text
        if fields is not None:
            form |= {"message": record.getMessage().partition(" request_id=")[0], **fields}
        return json.dumps(form)
