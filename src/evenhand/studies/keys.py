"""Keys of a service: each has one role, is shown once, and is stored as a digest.

A key may end at a time, and may be limited to some studies. It reads `eh_ROLE_ID_SECRET`; its secret has 256 random
bits, so that a plain SHA-256 of it is as safe at rest as a slow hash would be.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Literal, NamedTuple

from sqlalchemy import insert, select, update

from evenhand.errors import ArgumentError, expected
from evenhand.studies.creation import NAME
from evenhand.studies.log.codec import from_text, moment, now, to_text
from evenhand.studies.log.durations import check_future, read_moment
from evenhand.studies.store.schema import KEYS
from evenhand.studies.store.store import Store

Role = Literal["decide", "report", "read", "both"]
ROLES: tuple[Role, ...] = ("decide", "report", "read")
"""To take decisions, to report rewards, to read: what a route needs, and the roles that most keys have."""
LONGEST_NOTE = 200
"""Characters of a key's note."""
ALLOWED: Mapping[Role, tuple[Role, ...]] = {role: (role,) for role in ROLES} | {"both": ("decide", "report")}
"""What a key of each role may do. "both" is for people who label, and for programs that ask and tell alike."""


class Key(NamedTuple):
    """What the store knows about a key: everything but the key itself.

    Attributes
    ----------
    id : the part of its text that may be shown; it names the key when it is revoked.
    role : "decide", "report", "read", or "both" to decide and to report.
    note : its owner or its purpose.
    created, revoked : when, in UTC; a valid key was never revoked.
    expires : when it stops working, in UTC; None for never.
    studies : the names of the studies that it is limited to; None for all.
    """

    id: str
    role: Role
    note: str
    created: datetime
    revoked: datetime | None
    expires: datetime | None = None
    studies: tuple[str, ...] | None = None

    def reaches(self, study: str) -> bool:
        """Return whether the key works for a study."""
        return self.studies is None or study in self.studies


def new_key(role: Role) -> str:
    """Return the text of a new key; nothing is stored.

    >>> new_key("read").startswith("eh_read_")
    True
    """
    if role not in ALLOWED:
        raise ArgumentError(expected("role", f"one of {', '.join(ROLES)}", role, "both means decide and report"))
    return f"eh_{role}_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def passing_key(text: str, note: str) -> tuple[Key, str]:
    """Return a key that is valid without being stored, with its digest.

    Raises
    ------
    ArgumentError
        If the text is not one that `new_key` made.
    """
    parts = text.split("_", 3)
    if len(parts) != 4 or parts[0] != "eh" or parts[1] not in (*ROLES, "both") or len(parts[3]) < 43:
        raise ArgumentError(expected("key", "the text of a key, from new_key", "something else"))
    role: Role = parts[1]
    return Key(parts[2], role, note, datetime.now(UTC), None), _digest(text)


def add_key(
    store: Store,
    role: Role,
    note: str = "",
    *,
    expires: datetime | timedelta | str | None = None,
    studies: Sequence[str] | None = None,
) -> str:
    """Store a new key and return its text, which cannot be shown again.

    Parameters
    ----------
    expires : when the key stops working, see `read_moment`; a date is its last second; by default never.
    studies : the names of the studies that the key is limited to; by default it works for all.

    Raises
    ------
    ArgumentError
        If there is no such role, the note is longer than 200 characters or has some that cannot be printed, the end is
        no time to come, or a study's name cannot be one.
    """
    if not isinstance(note, str) or len(note) > LONGEST_NOTE or not note.isprintable():  # a terminal obeys the others
        raise ArgumentError(expected("note", f"a text of up to {LONGEST_NOTE} printable characters", note))
    text, end = new_key(role), None
    if expires is not None:
        end = check_future(read_moment(expires, "expires", of_date=time(23, 59, 59)), "expires")
    reach = _names(studies)
    row = {"id": _id_of(text), "role": role, "digest": _digest(text), "note": note, "created_at": now()}
    row |= {"expires_at": end, "studies": reach}
    with store.writing() as connection:
        connection.execute(insert(KEYS), row)
    return text


def _names(studies: Sequence[str] | None) -> str | None:
    if studies is None:
        return None
    names = [studies] if isinstance(studies, str) else list(studies)
    wrong = [name for name in names if not (isinstance(name, str) and NAME.fullmatch(name))]
    if wrong or not names:
        raise ArgumentError(expected("studies", "the names of studies", wrong[0] if wrong else names))
    return to_text(sorted(set(names)))


def list_keys(store: Store) -> list[Key]:
    """Return all keys, oldest first, the revoked ones too."""
    return [key for key, _ in read_keys(store)]


def revoke_key(store: Store, id: str) -> Literal["revoked", "already revoked"]:
    """Revoke a key, named by its id or its text.

    Raises
    ------
    ArgumentError
        If there is no such key.
    """
    named = _id_of(id) or id
    with store.writing() as connection:
        found = connection.execute(select(KEYS.c.revoked_at).where(KEYS.c.id == named)).first()
        if found is None:
            raise ArgumentError(expected("key", "the id of a key; `evenhand keys STORE list` shows them", named))
        if found.revoked_at is not None:
            return "already revoked"
        connection.execute(update(KEYS).where(KEYS.c.id == named).values(revoked_at=now()))
    return "revoked"


def read_keys(store: Store) -> list[tuple[Key, str]]:
    """Return all keys with their digests, oldest first."""
    with store.reading() as connection:
        rows = connection.execute(select(KEYS).order_by(KEYS.c.created_at, KEYS.c.id)).all()
    found = []
    for row in rows:
        revoked, expires = (None if at is None else moment(at) for at in (row.revoked_at, row.expires_at))
        studies = None if row.studies is None else tuple(from_text(row.studies))
        found.append((Key(row.id, row.role, row.note, moment(row.created_at), revoked, expires, studies), row.digest))
    return found


class Ring:
    """The keys that were not revoked, found by their texts."""

    def __init__(self, keys: Iterable[tuple[Key, str]]) -> None:
        self._keys: Mapping[str, tuple[Key, str]] = {key.id: (key, digest) for key, digest in keys if not key.revoked}

    def holder(self, text: str) -> Key | None:
        """Return the key with this text, None if there is none; the time it takes reveals nothing about a secret."""
        found = self._keys.get(_id_of(text) or "")
        if found is None or not hmac.compare_digest(found[1], _digest(text)):
            return None
        return found[0]


def _id_of(text: str) -> str | None:
    parts = text.split("_", 3)
    return parts[2] if len(parts) == 4 and parts[0] == "eh" else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
