"""A part of a log as a Parquet file: a row a decision, in plain columns, and every entry of the log to the letter.

The entries between one decision and the next are the list `entries` of the latter, so a segment ends with a decision.
Digests are not stored: they follow from the entries, and the file's metadata have the last one of each row group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import orjson

from evenhand.errors import StoreError
from evenhand.extras import optional
from evenhand.studies.log.chain import Entry, digest_of

__all__ = ["KEY", "STORED", "Contents", "Group", "contents_of", "read_group"]

KEY = b"evenhand.segment"
"""The name of the contents in the file's metadata."""
STORED = Entry._fields[1:-1]
"""What is stored of an entry: its number follows from its place, and its digest from all before it."""


class Contents(NamedTuple):
    """What the metadata of a file say.

    Attributes
    ----------
    study, birth : the name of the log, and the digest before its first entry, which no other log has.
    first, last : the numbers of its first and last entries.
    rounds : its first and last round.
    before, first_digest : the digests before the first entry, and of it.
    ends, tickets, digests : the number, the ticket and the digest of the last entry of each row group.
    """

    study: str
    birth: str
    first: int
    last: int
    rounds: list[int | None]
    before: str
    first_digest: str
    ends: list[int]
    tickets: list[int]
    digests: list[str]

    def group_of(self, sequence: int) -> int:
        """Return the row group that holds an entry."""
        return bisect_left(self.ends, sequence)


class Group(NamedTuple):
    """The entries of a row group, and by ticket the entry that closed it."""

    entries: list[Entry]
    closed: dict[int, int]


def contents_of(path: str) -> Contents | None:
    """Return what the metadata of a file say; None of a file that is no segment.

    Raises
    ------
    StoreError
        If the file cannot be read as Parquet.
    """
    with _opened(path) as file:
        said = (file.metadata.metadata or {}).get(KEY)
    return None if said is None else Contents(**orjson.loads(said))


def read_group(path: str, contents: Contents, group: int) -> Group:
    """Return a row group of a file.

    Raises
    ------
    StoreError
        If the file cannot be read, or its entries do not lead to the digest in its metadata.
    """
    with _opened(path) as file:
        table = file.read_row_group(group, columns=["sequence", "closed", *STORED[1:], "entries"])
    lists = table["entries"].combine_chunks()
    places = lists.offsets.to_numpy()[1:] + np.arange(table.num_rows)
    total = table.num_rows + len(lists.values)
    others = np.delete(np.arange(total), places)
    columns = []
    for name, values in zip(STORED, lists.values.flatten(), strict=True):
        column = np.empty(total, dtype=object)
        column[others] = _values(values)
        column[places] = "ask" if name == "kind" else _values(table[name].combine_chunks())
        columns.append(column.tolist())
    first = table["sequence"][0].as_py() - int(places[0])
    digest = contents.digests[group - 1] if group else contents.before
    entries = []
    for fields in zip(range(first, first + total), *columns, strict=True):
        digest = digest_of(digest, Entry._make((*fields, "")))
        entries.append(Entry._make((*fields, digest)))
    if digest != contents.digests[group] or entries[-1].sequence != contents.ends[group]:
        raise StoreError(f"{path}: entries {first} to {contents.ends[group]} were changed: restore it from a backup")
    return Group(entries, dict(zip(table["ticket"].to_pylist(), table["closed"].to_pylist(), strict=True)))


def _values(array: Any) -> list[Any]:
    pa = optional("pyarrow", "a segment of a log")
    return (array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array).to_pylist()


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    pa, pq = optional("pyarrow", "a segment of a log"), optional("pyarrow.parquet", "a segment of a log")
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError, LookupError) as error:
        why = str(error).strip().split("\n", 1)[0]
        raise StoreError(f"{path}: cannot be read as a segment: {why}; restore it from a backup") from error
