"""Subjects: the people whom contexts are about; their contexts are encrypted, and erased by deleting the key.

A subject has a key for every day (UTC) on which something is asked about it. The log keeps the contexts encrypted by
that key, under an id that says nothing about the subject, so that its chain of digests holds when the key is deleted.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from evenhand.errors import StoreError
from evenhand.extras import optional
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import CHECKED, SEALED, Sealed, from_text, now, to_text
from evenhand.studies.store.schema import STUDIES, SUBJECTS

DAY = 86_400_000_000
"""Microseconds."""
NONCE, SECRET = 12, 32
"""Bytes, as AES-GCM has them."""
MANY = 500


class Erasure(NamedTuple):
    """What was erased.

    Attributes
    ----------
    subjects : how many subjects.
    forgotten : how many of their tickets were open; these were closed, because nothing could be learned from them.
    purged : whether the deleted keys are gone from the files of the database as well. False where another program was
        reading: the next erasure, or the database itself, clears them.
    """

    subjects: int
    forgotten: int
    purged: bool


class Subjects:
    """The subjects of a study, in one transaction that writes."""

    def __init__(self, connection: Connection, study: int) -> None:
        self._connection, self._study = connection, study

    def seal(self, name: str, given: Mapping[str, Any]) -> str:
        """Return the text that the log keeps of an ask's arguments: what promises are checked by, and the rest
        encrypted."""
        private = {argument: value for argument, value in given.items() if argument not in CHECKED}
        if not private:
            return to_text(dict(given))
        id, secret = self._today(name)
        nonce = secrets.token_bytes(NONCE)
        text = base64.b64encode(nonce + _cipher(secret).encrypt(nonce, to_text(private).encode(), id.encode())).decode()
        shown = {argument: value for argument, value in given.items() if argument in CHECKED}
        return to_text({**shown, SEALED: [id, text]})

    def check(self, name: str) -> None:
        """Check that the keys of a subject can be used, before anything is done with them.

        Raises
        ------
        StoreError
            If one is damaged.
        """
        mine = select(SUBJECTS.c.id, SUBJECTS.c.secret).where(SUBJECTS.c.study == self._study, SUBJECTS.c.name == name)
        for row in self._connection.execute(mine):
            _bytes_of(row.secret, f"subject key {row.id}")

    def hidden(self, name: str, key: str) -> str:
        """Return what the log keeps in place of a request's key, which may say who the subject is: a digest by the
        secret of the study, so that an erasure does not let the same request be decided again. It begins as no key of
        a caller does, with a tab."""
        return "\t" + hmac.digest(self._secret, "\x1f".join((name, key)).encode(), "sha256").hex()

    @cached_property
    def _secret(self) -> bytes:
        row = self._connection.execute(select(STUDIES.c.secret).where(STUDIES.c.id == self._study)).one()
        return bytes.fromhex(row.secret)

    def find(self, *, name: str | None = None, before: int | None = None) -> dict[str, str]:
        """Return id -> name of the keys of a subject, or of those of a day that began before a time."""
        mine = select(SUBJECTS.c.id, SUBJECTS.c.name).where(SUBJECTS.c.study == self._study)
        if name is not None:
            mine = mine.where(SUBJECTS.c.name == name)
        if before is not None:
            mine = mine.where(SUBJECTS.c.day < -(-before // DAY))
        return {row.id: row.name for row in self._connection.execute(mine)}

    def drop(self, ids: Sequence[str]) -> None:
        """Delete keys: what they encrypted cannot be read again."""
        for start in range(0, len(ids), MANY):
            self._connection.execute(delete(SUBJECTS).where(SUBJECTS.c.id.in_(ids[start : start + MANY])))

    def _today(self, name: str) -> tuple[str, str]:
        """Return the id and the key of a subject today; make them if there are none."""
        day = now() // DAY
        mine = SUBJECTS.c.study == self._study, SUBJECTS.c.name == name, SUBJECTS.c.day == day
        row = self._connection.execute(select(SUBJECTS.c.id, SUBJECTS.c.secret).where(*mine)).first()
        if row is not None:
            return row.id, row.secret
        secret = secrets.token_hex(SECRET)
        id = _id_of(secret, self._study, name, day)
        made = {"id": id, "secret": secret, "study": self._study, "name": name, "day": day}
        self._connection.execute(insert(SUBJECTS), made)
        return id, secret


def has_subjects(connection: Connection, study: int) -> bool:
    """Return whether contexts of a study are encrypted."""
    return connection.scalar(select(SUBJECTS.c.id).where(SUBJECTS.c.study == study).limit(1)) is not None


def changed_subjects(connection: Connection, study: int, ids: Collection[str]) -> Iterator[str]:
    """Yield the keys of subjects that do not belong to the study, the name and the day that they were made for.

    An erasure looks for them by these, and would not find them.

    Parameters
    ----------
    ids : of keys that the study's log names, wherever they are now.
    """
    rows = list(connection.execute(select(SUBJECTS).where(SUBJECTS.c.study == study)))
    strangers = sorted(set(ids) - {row.id for row in rows})
    for start in range(0, len(strangers), MANY):
        rows += connection.execute(select(SUBJECTS).where(SUBJECTS.c.id.in_(strangers[start : start + MANY])))
    for row in rows:
        try:
            made_for = _id_of(row.secret, row.study, row.name, row.day)
        except StoreError as error:
            yield str(error)
            continue
        if row.id != made_for or row.study != study:
            what = "its study, name, day or secret differs from the one it was created with"
            yield f"subject key {row.id} was changed: {what}, so that an erasure may miss what it encrypts"


def _id_of(secret: str, study: int, name: str, day: int) -> str:
    """Return the id of a subject's key, which says nothing of the subject, and which no other name has."""
    about = "\x1f".join((str(study), str(day), name)).encode()  # an f-string shows a member of (str, Enum) as its name
    return hmac.digest(_bytes_of(secret, "a subject key"), about, "sha256").hex()[:32]


def _bytes_of(secret: str, what: str) -> bytes:
    try:
        found = bytes.fromhex(secret)
    except (TypeError, ValueError):
        found = b""
    if len(found) != SECRET:
        raise StoreError(f"{what}: its secret is damaged; restore the row of the table subjects")
    return found


def sealed_under(entry: Entry) -> str | None:
    """Return the id under which an entry's contexts are encrypted, None where they are not."""
    return from_text(entry.given).get(SEALED, [None])[0] if f'"{SEALED}"' in entry.given else None


def opened(connection: Connection, entries: list[Entry]) -> list[Entry]:
    """Return entries with their contexts decrypted, as far as their keys are there."""
    ids = {position: id for position, entry in enumerate(entries) if (id := sealed_under(entry)) is not None}
    if not ids:
        return entries
    found = _secrets(connection, set(ids.values()))
    entries = list(entries)
    for position, id in ids.items():
        entries[position] = _opened(entries[position], found.get(id))
    return entries


def _secrets(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    expected, found = sorted(ids), dict[str, str]()
    for start in range(0, len(expected), MANY):
        mine = select(SUBJECTS.c.id, SUBJECTS.c.secret).where(SUBJECTS.c.id.in_(expected[start : start + MANY]))
        found |= {row.id: row.secret for row in connection.execute(mine)}
    return found


def _opened(entry: Entry, secret: str | None) -> Entry:
    raw = str(entry.given)
    given = from_text(raw)
    id, text = given.pop(SEALED)
    if secret is None:
        return entry._replace(given=Sealed(raw, None))
    data = base64.b64decode(text)
    from cryptography.exceptions import InvalidTag

    try:
        plain = _cipher(secret).decrypt(data[:NONCE], data[NONCE:], id.encode())
    except (InvalidTag, StoreError):  # another key: verification says that nobody erased it
        return entry._replace(given=Sealed(raw, None))
    return entry._replace(given=Sealed(raw, to_text({**given, **from_text(plain.decode())})))


def _cipher(secret: str) -> Any:
    module = optional("cryptography.hazmat.primitives.ciphers.aead", "a subject", extra="service")
    return module.AESGCM(_bytes_of(secret, "a subject key"))
