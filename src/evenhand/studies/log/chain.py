"""The log's entries as they are stored, and the digests that chain them."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from evenhand.errors import ReplayError

NOTHING = "\x00"
"""Represents a missing value in a digest; such a character in a text is doubled."""


class Birth(NamedTuple):
    """What a study is created with: its name, that of its policy, the secret of its tickets, and when."""

    name: str
    policy: str
    secret: str
    created_at: int

    @property
    def digest(self) -> str:
        """The digest before the first entry, over all of it."""
        return hashlib.sha256("\x1f".join(["", *map(str, self)]).encode()).hexdigest()


class Entry(NamedTuple):
    """One entry as it is stored, in texts and whole numbers; `Event` explains the fields."""

    sequence: int
    kind: str
    ticket: int | None
    at: int
    given: str
    decision: str | None
    version: str
    random_state: str | None
    key: str | None
    actor: str | None
    digest: str


def digest_of(before: str, entry: tuple[Any, ...]) -> str:
    """Return the digest of an entry, or of its fields, that follows the one with the digest `before`.

    >>> entry = Entry(1, "tell", 1, 0, "{}", None, "0", None, None, None, "")
    >>> digest_of("", entry)[:8] == digest_of("", entry._replace(actor="me"))[:8]
    False
    >>> digest_of("", entry) == digest_of("", entry._replace(actor=chr(0)))
    False
    """
    # No entry of ours has the character of NOTHING: it is doubled where somebody wrote it there.
    shown = (NOTHING if one is None else str(one).replace(NOTHING, 2 * NOTHING) for one in entry[:-1])
    return hashlib.sha256("\x1f".join([before, *shown]).encode()).hexdigest()


def check_link(before: int, digest: str, entry: Entry) -> None:
    """Check that an entry follows the one numbered `before` with that digest, and is unchanged.

    Raises
    ------
    ReplayError
        If an entry is missing between them, or this one was changed.
    """
    if entry.sequence != before + 1:
        raise ReplayError(f"entry {before + 1} is missing from the log")
    if digest_of(digest, entry) != entry.digest:
        raise ReplayError(f"entry {entry.sequence} was changed after it was written: its digest does not match")
