"""The tables of a store.

    evenhand_version  the version of these tables
    studies     a name, the policy's kind, the key that signs its tickets
    events      the log, never changed: every ask, tell, forget, expiry and change of the promise, chained by digests
    snapshots   the policy's state after some event, so that opening need not replay everything
    keys        the keys of the service, hashed, each with its end and the studies that it is limited to
    subjects    the people whose contexts are encrypted, each with a key for every day
    summaries   what views show of a log up to some entry, so that a restarted service reads only those behind it

Everything but `events`, `subjects` and a study's first snapshot can be rebuilt.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = 4
"""Of these tables. A store of another version is refused; nothing reads or forwards it."""

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)
"""Times are microseconds since 1970 in UTC."""


VERSIONS = Table("evenhand_version", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))
"""One row: the `VERSION` that made the tables."""


def _of_study(primary_key: bool = False) -> Column[int]:
    return Column("study", ForeignKey("studies.id"), primary_key=primary_key, nullable=False)


STUDIES = Table(
    "studies",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("policy", String(100), nullable=False),
    Column("secret", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

EVENTS = Table(
    "events",
    METADATA,
    _of_study(primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(6), nullable=False),
    Column("ticket", BigInteger),
    Column("at", BigInteger, nullable=False),
    Column("given", Text, nullable=False),
    Column("decision", Text),
    Column("version", String(100), nullable=False),
    Column("random_state", Text),
    Column("key", String(200)),
    Column("actor", String(100)),
    Column("digest", String(64), nullable=False),
    UniqueConstraint("study", "ticket", "kind"),
    UniqueConstraint("study", "key"),
)

SNAPSHOTS = Table(
    "snapshots",
    METADATA,
    _of_study(primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("version", String(100), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
)

KEYS = Table(
    "keys",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("role", String(10), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("note", String(200), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("expires_at", BigInteger),
    Column("studies", Text),
)

SUBJECTS = Table(
    "subjects",
    METADATA,
    Column("id", String(32), primary_key=True),
    _of_study(),
    Column("name", String(200), nullable=False),
    Column("day", Integer, nullable=False),
    Column("secret", String(64), nullable=False),
    UniqueConstraint("study", "name", "day"),
)

SUMMARIES = Table(
    "summaries",
    METADATA,
    _of_study(primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("seal", String(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
)
