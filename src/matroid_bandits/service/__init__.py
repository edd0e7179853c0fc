"""The HTTP service: campaigns (learners with names) in a database, served by any number of processes."""

try:
    import alembic  # noqa: F401 - the files below need these, and a person without them a sentence
    import sqlalchemy  # noqa: F401
    import starlette  # noqa: F401
except ImportError as error:  # pragma: no cover - installed wherever the tests run
    from matroid_bandits._util.extras import missing

    raise missing("the service needs starlette, sqlalchemy and alembic", "serve") from error

from matroid_bandits.service._app import create_app
from matroid_bandits.service._apply import in_words
from matroid_bandits.service._archive import Archive
from matroid_bandits.service._commands import (
    apply_campaign,
    create_campaign,
    delete_campaign,
    move_campaign,
)
from matroid_bandits.service._health import api_document
from matroid_bandits.service._keys import create_key, list_keys, revoke_key
from matroid_bandits.service._past import campaign_uplift
from matroid_bandits.service._run import run_server
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._store import Database
from matroid_bandits.service._transfer import (
    backup,
    export_campaign,
    repair,
    restore,
)
from matroid_bandits.service._typescript import typescript
from matroid_bandits.service._verify import Verified, verify_campaign

__all__ = [
    "Archive",
    "Database",
    "Service",
    "Settings",
    "Verified",
    "api_document",
    "apply_campaign",
    "backup",
    "campaign_uplift",
    "create_app",
    "create_campaign",
    "create_key",
    "delete_campaign",
    "export_campaign",
    "in_words",
    "list_keys",
    "move_campaign",
    "repair",
    "restore",
    "revoke_key",
    "run_server",
    "typescript",
    "verify_campaign",
]
