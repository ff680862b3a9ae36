"""The request keys that left the store with their entries: which must be there, so that no request is decided twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sqlalchemy import Connection

from evenhand.studies.log import segments
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.log import Log
from evenhand.studies.log.request_keys import shown_key
from evenhand.studies.store.statements import read

__all__ = ["MovedKeys"]

ROWS = "SELECT hash, sequence FROM moved_keys WHERE study = ?"


class MovedKeys:
    """Compares the keys of a log's entries, in its order, with the table of those that left the store.

    Parameters
    ----------
    since : the last entry that is not read; keys up to it are only compared with later ones.
    """

    def __init__(self, connection: Connection, log: Log, since: int) -> None:
        self._last, self._since = log.segments.last(connection), since
        self._kept: set[tuple[int, int]] = set()
        if self._last:
            self._kept = {(int(key), int(at)) for key, at in read(connection, ROWS, log.study)}
        self._met: dict[int, list[tuple[int, str | None]]] = defaultdict(list)
        """By hash, the entries with such keys; of those that are not read the key is unknown."""
        for key, at in self._kept:
            if at <= since:
                self._met[key].append((at, None))
        self._missing: list[Entry] = []
        self._twice: list[Entry] = []

    def take(self, entry: Entry) -> None:
        """Note the key of the next entry."""
        if entry.key is None or not self._last:
            return
        key = segments.hash_of(entry.key)
        if entry.sequence <= self._last and (key, entry.sequence) not in self._kept:
            self._missing.append(entry)
        if any(name in (None, entry.key) for _, name in self._met[key]):
            self._twice.append(entry)
        self._met[key].append((entry.sequence, entry.key))

    def problems(self) -> Iterator[str]:
        """Yield what is wrong, in words."""
        for entry in self._missing[:1]:
            more = f", and {len(self._missing) - 1} more keys" if len(self._missing) > 1 else ""
            yield (
                f"the key {shown_key(entry.key)!r} of entry {entry.sequence}{more} is missing from the table of moved "
                "keys: the same request would be decided again"
            )
        for entry in self._twice:
            met = self._met[segments.hash_of(entry.key or "")]
            places = " and ".join(str(at) for at, name in met if name in (None, entry.key))
            yield f"the key {shown_key(entry.key)!r} was decided for in several entries: {places}"
        there = {at for places in self._met.values() for at, _ in places}
        foreign = {at for _, at in self._kept if at > self._since} - there
        for at in sorted(foreign)[:1]:
            yield f"the table of moved keys names entry {at}, which has no key"
