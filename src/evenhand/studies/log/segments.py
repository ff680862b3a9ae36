"""The segments of a log: which Parquet files hold its first entries, and what they say of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection

from evenhand.errors import ArgumentError, StoreError, wanted
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.segment_files import Contents, Group, contents_of, read_group
from evenhand.studies.store.statements import read
from evenhand.studies.store.store import Store

__all__ = ["Segment", "Segments", "folder_named", "hash_of", "recorded_path", "sha256_of"]

MANY = 500
CACHED = 2
"""How many row groups are kept: those of a decision and of its report."""


class Segment(NamedTuple):
    """A part of a study's log that is a Parquet file, see `evenhand.studies.Study.archive`.

    Attributes
    ----------
    path : the file.
    first, last : the numbers of its first and last entries in the log.
    first_ticket, last_ticket : of its first and last decisions.
    sha256 : of the file, as its entry "move" in the log says.
    before, digest : the digests before its first entry, and of its last entry.
    setting, closed_by : see `evenhand.studies.store.schema`.
    """

    path: str
    first: int
    last: int
    first_ticket: int
    last_ticket: int
    sha256: str
    before: str
    digest: str
    setting: str | None
    closed_by: int


ROWS = f"SELECT {', '.join(Segment._fields)} FROM segments WHERE study = ? AND last > ? ORDER BY first"
END = "SELECT last, setting FROM segments WHERE study = ? ORDER BY last DESC LIMIT 1"
KEYS = "SELECT sequence FROM moved_keys WHERE study = ? AND hash IN "


class Segments:
    """The segments of a log, read as far as they are needed.

    Parameters
    ----------
    folder : where the files are now, if they were moved; those that are not there are looked for where they were.
    """

    def __init__(self, store: Store, study: int, folder: str | None = None) -> None:
        self._store, self._study, self._folder = store, study, folder
        self._contents: dict[str, Contents] = {}
        self._groups: dict[tuple[str, int], Group] = {}

    def rows(self, connection: Connection, *, after: int = 0) -> list[Segment]:
        """Return the segments that hold an entry after the one numbered `after`, in order, with their present paths."""
        found = read(connection, ROWS, self._study, after)
        return [Segment._make((self._path(path), *rest)) for path, *rest in found]

    def last(self, connection: Connection) -> int:
        """Return the number of the last entry that left the store, 0 where none did."""
        return self.end(connection)[0]

    def end(self, connection: Connection) -> tuple[int, str | None]:
        """Return the number of the last entry that left the store, 0 where none did, and the last setting that did."""
        return next(iter(read(connection, END, self._study)), (0, None))

    def page(self, connection: Connection, after: int, up_to: int | None = None) -> list[Entry]:
        """Return the first entries after the one numbered `after`, up to the one numbered `up_to`; none where they are
        not in a segment."""
        for segment in self.rows(connection, after=after)[:1]:
            contents = self._checked(segment)
            entries = self._group(segment, contents.group_of(after + 1)).entries
            skipped = max(0, after + 1 - entries[0].sequence)
            return [entry for entry in entries[skipped:] if up_to is None or entry.sequence <= up_to]
        return []

    def entries(self, connection: Connection) -> Iterator[Entry]:
        """Yield all entries that left the store."""
        for segment in self.rows(connection):
            for group in range(len(self._checked(segment).ends)):
                yield from self._group(segment, group).entries

    def of_ticket(self, connection: Connection, ticket: int) -> list[Entry]:
        """Return the entries about a ticket that left the store."""
        for segment in self.rows(connection):
            if segment.first_ticket <= ticket <= segment.last_ticket:
                contents = self._checked(segment)
                numbers = [0, *contents.tickets]
                number = next(i for i, (low, high) in enumerate(pairwise(numbers)) if low < ticket <= high)
                group = self._group(segment, number)
                asks = [entry for entry in group.entries if entry.kind == "ask" and entry.ticket == ticket]
                closed = group.closed.get(ticket)
                return [*asks, *(self.page(connection, closed - 1, closed) if closed else [])]
        return []

    def of_keys(self, connection: Connection, keys: Sequence[str]) -> list[Entry]:
        """Return the asks that left the store under these keys."""
        if not keys:
            return []
        hashes = [str(hash_of(key)) for key in keys]
        pages = (hashes[start : start + MANY] for start in range(0, len(hashes), MANY))
        there = [at for page in pages for (at,) in read(connection, f"{KEYS}({', '.join(page)})", self._study)]
        found = [one for at in sorted(there) for one in self.page(connection, at - 1, at)]
        return [one for one in found if one.key in keys]

    def asks_open_at(self, connection: Connection, floor: int, at: int) -> list[Entry]:
        """Return the asks behind the ticket `floor` that left the store since, and were open after the entry `at`."""
        found = []
        for segment in self.rows(connection):
            if segment.first <= at < segment.closed_by:
                for number in range(self._checked(segment).group_of(at) + 1):
                    if number < len(self._checked(segment).ends):
                        entries, closed = self._group(segment, number)
                        later = {ticket for ticket, by in closed.items() if by > at and ticket > floor}
                        found += [one for one in entries if one.sequence <= at and one.ticket in later]
        return [entry for entry in found if entry.kind == "ask"]

    def last_tickets(self, connection: Connection, most: int) -> list[int]:
        """Return the last tickets that left the store, newest first."""
        found: list[int] = []
        for segment in reversed(self.rows(connection)):
            for number in reversed(range(len(self._checked(segment).ends))):
                if len(found) >= most:
                    return found[:most]
                found += sorted(self._group(segment, number).closed, reverse=True)
        return found[:most]

    def damages(self, connection: Connection, after: int = 0) -> list[str]:
        """Return what is wrong with the files of entries after the one numbered `after`, in words."""
        found = []
        for segment in self.rows(connection, after=after):
            try:
                self._checked(segment)
                if sha256_of(segment.path) != segment.sha256:
                    found.append(f"{segment.path}: was changed after it was written: restore it from a backup")
            except StoreError as error:
                found.append(str(error))
        return found

    def _checked(self, segment: Segment) -> Contents:
        """Return the metadata of a segment's file.

        Raises
        ------
        StoreError
            If it is not there, or holds something else.
        """
        if segment.path not in self._contents:
            where = f"{segment.path}: entries {segment.first} to {segment.last} of the log"
            if not os.path.isfile(segment.path):
                mend = "put the file back, or name its folder: segments=FOLDER, in the shell --segments FOLDER"
                raise StoreError(f"{where} were moved to this file, and it is not there; {mend}")
            said = contents_of(segment.path)
            if said is None or said.digests[-1] != segment.digest or said.before != segment.before:
                raise StoreError(f"{where} were moved to this file, and it holds others: restore it from a backup")
            self._contents[segment.path] = said
        return self._contents[segment.path]

    def _group(self, segment: Segment, number: int) -> Group:
        at = segment.path, number
        if at not in self._groups:
            read = read_group(segment.path, self._checked(segment), number)
            self._groups = {**dict(list(self._groups.items())[1 - CACHED :]), at: read}
        return self._groups[at]

    def _path(self, path: str) -> str:
        if self._folder is not None:
            moved = os.path.join(self._folder, os.path.basename(path))
            if os.path.isfile(moved):
                return moved
        return os.path.join(os.path.dirname(self._store.file or ""), path)


def folder_named(name: str, folder: Any) -> str | None:
    """Return the path of a folder.

    Raises
    ------
    ArgumentError
        If it is not a path.
    """
    if folder is None or (isinstance(folder, (str, os.PathLike)) and os.fspath(folder)):
        return None if folder is None else str(os.fspath(folder))
    raise ArgumentError(wanted(name, "the path of a folder", folder))


def recorded_path(store: Store, path: str) -> str:
    """Return the path that the store keeps of a file: relative to its own folder if it lies below it, so that both may
    move together, absolute otherwise."""
    absolute = os.path.abspath(path)
    home = os.path.join(os.path.dirname(store.file), "") if store.file else None
    return absolute[len(home) :] if home is not None and absolute.startswith(home) else absolute


def hash_of(key: str) -> int:
    """Return the hash of a request's key that fits a column of whole numbers."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], signed=True)


def sha256_of(path: Any) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
