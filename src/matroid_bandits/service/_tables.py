"""The tables of the service. The log in `events` is the truth; everything else can be made from it, or guards it."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

#: One row per campaign. A server that appends to its log holds the row's lock; `seq` is the number of the last event,
#: `digest` the hash of the whole log up to it, see `chained`.
campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False),
    Column("spec", Text, nullable=False),  # JSON: title, about, answer_window, default
    Column("status", String(16), nullable=False),
    Column("reason", Text),
    Column("seq", BigInteger, nullable=False),
    Column("digest", String(32), nullable=False),
    Column("trusted", BigInteger, nullable=False),  # decisions up to this event are taken by the log's word
    Column("decisions", BigInteger, nullable=False),
    Column("waiting", BigInteger, nullable=False),
    Column("created", Double, nullable=False),
    Column("first", BigInteger, nullable=False, server_default="1"),  # earlier events are in archives alone
    Column("alarms", Integer, nullable=False, server_default="0"),  # that were not acknowledged
    UniqueConstraint("name", name="campaigns_name"),
)

#: The log: what happened to each campaign, in order, with the database's time in seconds since 1970.
events = Table(
    "events",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("payload", Text, nullable=False),
    sqlite_with_rowid=False,
)

#: Ids that clients gave their requests, what each was for, and what was answered. The campaign is 0 for requests that
#: create one, and -1 where an older version of the tables did not say.
requests = Table(
    "requests",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(32), nullable=False),
    Column("status", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)

#: Learners as files, so that a restart need not replay the whole log. Those that are `kept` are where a log begins,
#: or will begin, and are never removed before another is.
snapshots = Table(
    "snapshots",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", String(32), nullable=False),
    Column("build", Text, nullable=False),
    Column("checksum", String(64), nullable=False),
    Column("extra", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("format", Integer, nullable=False, server_default="1"),
    Column("kept", Integer, nullable=False, server_default="0"),
    Column("at", Double, nullable=False, server_default="0"),
)

#: Keys of clients, hashed.
keys = Table(
    "keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("role", String(8), nullable=False),
    Column("campaign", String(64)),
    Column("rate", Double),
    Column("about", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
    Column("expires", Double),
    Column("used", Double),  # to a minute
)

#: Secrets that the servers of one database share.
secrets = Table(
    "secrets",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("value", String(64), nullable=False),
)

#: Logins that browsers made with keys, hashed, and when they end.
sessions = Table(
    "sessions",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("key", String(16), nullable=False),
    Column("ends", Double, nullable=False),
)

#: Which server keeps the learner of a campaign, where others reach it, and until when, by the database's clock. A
#: hint: what is written is guarded by the campaign's row alone.
leases = Table(
    "leases",
    metadata,
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("server", String(32), nullable=False),
    Column("url", String(300), nullable=False),
    Column("until", Double, nullable=False),
)
