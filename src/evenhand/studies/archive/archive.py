"""Move the oldest entries of a log from the store to a Parquet file.

The file is written under another name, waits for the disk, and is read back. Then one transaction, in which nobody else
writes to the log, gives it its name, notes it in the store and in the log, and deletes its entries. A process that is
killed leaves the entries in the store, in the file, or in both; the next call writes the file again.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, StoreError, wanted
from evenhand.extras import optional
from evenhand.policy.traits import traits_of
from evenhand.studies.archive.segment_writing import write_segment
from evenhand.studies.log.chain import Entry, check_link
from evenhand.studies.log.codec import from_text, now
from evenhand.studies.log.segment_files import Contents, contents_of, read_group
from evenhand.studies.log.segments import Segment, hash_of, recorded_path, sha256_of
from evenhand.studies.log.snapshots import latest_replay, mark_version
from evenhand.studies.log.transaction import Transaction
from evenhand.studies.store.schema import EVENTS, MOVED_KEYS, SEGMENTS

__all__ = ["archive"]

LAST = 2**63 - 1
LARGEST = 1_000_000
"""Entries of one file: while they are deleted, which takes seconds, nobody else writes."""
MANY = 10_000
"""Keys that are written at a time."""


class Written(NamedTuple):
    """A file that was written and read back: its temporary path, contents and SHA-256, and the last entry that closed a
    ticket in it."""

    part: str
    contents: Contents
    sha256: str
    closed_by: int


def archive(study: Any, to: str | None, up_to: int | None, older_than: float | None) -> list[Segment]:
    """Move the entries of one log, see `evenhand.studies.Study.archive`."""
    optional("pyarrow", "a segment of a log")
    if up_to is not None:
        whole("up_to", up_to, low=1)
    if to is None:
        raise ArgumentError(wanted("to", "the path of a folder", to))
    try:
        os.makedirs(to, exist_ok=True)
    except OSError as error:
        raise ArgumentError(wanted("to", "a folder that can be written to", to, error.strerror or "")) from error
    _find_again(study, to)
    study.snapshot()  # the state after everything that closed a ticket: who opens it needs no earlier entry
    already = len(study.segments)
    try:
        while (written := _write(study, to, up_to, older_than)) is not None:
            try:
                _move(study, to, written)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(written.part)
    except OSError as error:
        raise ArgumentError(wanted("to", "a folder that can be written to", to, error.strerror or "")) from error
    moved = study.segments[already:]
    if moved:
        study.store.shrink(EVENTS)
    return moved


def _find_again(study: Any, to: str) -> None:
    """Note the new place of files that were moved to this folder."""
    for segment in study.segments:
        moved = os.path.join(to, os.path.basename(segment.path))
        if not os.path.isfile(segment.path) and os.path.isfile(moved) and sha256_of(moved) == segment.sha256:
            mine = SEGMENTS.c.study == study._number, SEGMENTS.c.first == segment.first
            with study.store.writing() as connection:
                connection.execute(update(SEGMENTS).where(*mine).values(path=recorded_path(study.store, moved)))


def _write(study: Any, to: str, up_to: int | None, older_than: float | None) -> Written | None:
    """Write the entries that are due to a file under a temporary name, and read it back; None where none are due."""
    log = study._log
    upper = None if up_to is None else getattr(study.first_policy, "first_ticket", 1) + up_to - 1
    with study.store.reading() as connection:
        earlier = log.segments.rows(connection, after=log.segments.last(connection) - 1)
        first, before = (earlier[-1].last + 1, earlier[-1].digest) if earlier else (1, study.birth)
        last = _last_due(connection, study, first, upper, older_than)
        if last is None:
            return None
        part = os.path.join(to, f"{_file_name(study, first)}.{secrets.token_hex(8)}.part")
        try:
            contents, closed_by = write_segment(
                part,
                _unchanged(log.stored(connection, first - 1, last), first - 1, before),
                lambda low, high: log.closings(connection, low, high),
                _numbered(connection, study),
                {"study": study.name, "birth": study.birth, "before": before},
            )
            for group in range(len(contents.ends)):
                read_group(part, contents, group)
            if contents_of(part) != contents:
                raise StoreError(f"{part}: does not read as it was written; nothing has changed")
            return Written(part, contents, sha256_of(part), closed_by)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(part)
            raise


def _last_due(
    connection: Connection, study: Any, first: int, upper: int | None, older_than: float | None
) -> int | None:
    """Return the last entry to move, a decision; None where none is due.

    Everything that closed a ticket of a moved decision is in the last snapshot, and the last decision stays.

    Parameters
    ----------
    upper : the last ticket to move.
    """
    mine = EVENTS.c.study == study._number
    asks = mine, EVENTS.c.kind == "ask"
    saved = latest_replay(connection, study._log)
    still_open = study._log.open_asks(connection, saved.tickets.floor, LAST, 1, at=saved.sequence)
    newest = connection.scalar(select(func.max(EVENTS.c.sequence)).where(*asks)) or 0
    bounds = [saved.sequence, newest - 1, first + LARGEST - 1, *(ask.sequence - 1 for ask in still_open)]
    if upper is not None:
        due = select(func.max(EVENTS.c.sequence)).where(*asks, EVENTS.c.ticket <= upper)
        bounds.append(connection.scalar(due) or 0)
    if older_than is not None:
        younger = select(func.min(EVENTS.c.sequence)).where(mine, EVENTS.c.at > now() - round(older_than * 1e6))
        bounds.append((connection.scalar(younger) or LAST) - 1)
    within = EVENTS.c.sequence.between(first, min(bounds))
    return connection.scalar(select(func.max(EVENTS.c.sequence)).where(*asks, within))


def _numbered(connection: Connection, study: Any) -> bool:
    """Say whether the arms of a log are whole numbers, one a decision."""
    labels = traits_of(latest_replay(connection, study._log).policy).labels
    ask = select(EVENTS.c.decision).where(EVENTS.c.study == study._number, EVENTS.c.kind == "ask").limit(1)
    decision = from_text(connection.scalar(ask))
    return {type(label) for label in (*labels, decision.get("arm", decision.get("group")))} == {int}


def _unchanged(pages: Iterable[list[Entry]], sequence: int, digest: str) -> Iterator[Entry]:
    for page in pages:
        for entry in page:
            check_link(sequence, digest, entry)
            sequence, digest = entry.sequence, entry.digest
            yield entry


def _file_name(study: Any, first: int) -> str:
    """Return the name of the file of entries from `first` on; by name, the files of a log are in its order."""
    return f"{study.name.rstrip('/').replace('/', '.')}-{first:012}.parquet"


def _move(study: Any, to: str, written: Written) -> None:
    """Give a file its name, note it, and delete its entries from the store, all or nothing."""
    log, contents = study._log, written.contents
    name = _file_name(study, contents.first)
    target = os.path.join(to, name)
    with study._turn, study._transaction() as (connection, _):
        replay = study._follow(connection)
        mark_version(replay, connection, study._number, now())
        if log.segments.last(connection) != contents.first - 1:
            raise StoreError(f"{study.name}: another process moved these entries meanwhile; nothing has changed")
        _check_replaced(connection, study, target)
        os.replace(written.part, target)
        _sync(to)
        row = {
            "study": study._number,
            "first": contents.first,
            "last": contents.last,
            "first_ticket": _first_ticket(connection, study),
            "last_ticket": contents.tickets[-1],
            "closed_by": written.closed_by,
            "path": recorded_path(study.store, target),
            "sha256": written.sha256,
            "before": contents.before,
            "digest": contents.digests[-1],
            "setting": log.setting_text(connection, contents.last),
        }
        connection.execute(insert(SEGMENTS), row)
        moved = EVENTS.c.study == study._number, EVENTS.c.sequence <= contents.last
        keyed = connection.execute(select(EVENTS.c.key, EVENTS.c.sequence).where(*moved, EVENTS.c.key.is_not(None)))
        for rows in keyed.partitions(MANY):
            hashes = [{"study": study._number, "hash": hash_of(key), "sequence": at} for key, at in rows]
            connection.execute(insert(MOVED_KEYS), hashes)
        connection.execute(delete(EVENTS).where(*moved))
        transaction = Transaction(connection, log, replay, study._ticket)
        transaction.move({"file": name, "first": contents.first, "last": contents.last, "sha256": written.sha256})
        transaction.commit()


def _first_ticket(connection: Connection, study: Any) -> int:
    asks = EVENTS.c.study == study._number, EVENTS.c.kind == "ask"
    return connection.scalar(select(func.min(EVENTS.c.ticket)).where(*asks)) or 0


def _check_replaced(connection: Connection, study: Any, target: str) -> None:
    """Refuse to replace a file, unless it is one that a killed process left and the store still has its entries."""
    if not os.path.lexists(target):
        return
    with suppress(StoreError):
        said = contents_of(target)
        if said is not None and said.birth == study.birth:
            last = EVENTS.c.study == study._number, EVENTS.c.sequence == said.last
            if connection.scalar(select(EVENTS.c.digest).where(*last)) == said.digests[-1]:
                return
    raise ArgumentError(wanted("to", f"a folder without another {os.path.basename(target)}", target, "move it away"))


def _sync(folder: str) -> None:
    """Wait until the names in a folder are on disk, where the system can."""
    if os.name == "posix":
        at = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(at)
        finally:
            os.close(at)
