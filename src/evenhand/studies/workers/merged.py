"""Several logs as one: in the canonical order, and as they arrive.

Canonical is the order by the largest `at` so far in an entry's own log, then by worker, then by the log's own order,
the serial beginning before all else. It is an order in which every log keeps its own, whatever clocks do.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import arguments_of, from_text

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies.study import Study

__all__ = ["Following", "decision_of", "merged_frame"]


class Following:
    """Reads several logs on: each call yields what is new, in the canonical order of what is new.

    All that was yielded so far is one merge order of the logs, in which entries are numbered 1, 2, ...

    Attributes
    ----------
    read : by the worker's number, the last entry that was read, and the largest time so far.
    sequence : how many entries that are.
    """

    def __init__(self, read: Mapping[int, tuple[int, int]] | None = None) -> None:
        self.read = dict(read or {})
        self.sequence = sum(after for after, _ in self.read.values())

    def copy(self) -> Following:
        """Return one that reads on independently."""
        return Following(self.read)

    def new(self, logs: Mapping[int, Study]) -> Iterator[Entry]:
        """Yield the new entries of these logs, by the workers' numbers; number 0 is the serial beginning."""
        # the serial beginning last: what the others did after it comes with the whole of it
        ends = {number: logs[number].sequence for number in sorted(logs, reverse=True)}
        parts = [self._entries(number, logs[number], last) for number, last in ends.items()]
        for _, _, _, entry in heapq.merge(*parts):
            self.sequence += 1
            yield entry._replace(sequence=self.sequence)

    def _entries(self, number: int, log: Study, last: int) -> Iterator[tuple[int, int, int, Entry]]:
        after, at = self.read.get(number, (0, 0))
        while after < last:
            for entry in log.next_page(after, last):
                after, at = entry.sequence, max(at, entry.at)
                self.read[number] = after, at
                yield (at if number else 0), number, after, entry


def decision_of(entry: Entry) -> tuple[list[int], dict[str, Any]]:
    """Return the positions of the arms of a decision in the log, and the arguments of its `ask`."""
    decision = from_text(entry.decision)
    return decision.get("indexes", [decision["index"]]), {} if entry.given == "{}" else arguments_of(entry.given)


def merged_frame(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the decisions of several logs in the canonical order, by the workers' names in the order of their numbers.

    The tables are those of `evenhand.studies.table.log_table` with `clock`; the result has the column `worker` in its
    place, "" for the serial beginning.
    """
    import pandas as pd

    parts = []
    for number, (name, table) in enumerate(tables.items()):
        key = table["_at"] if name else 0
        own = pd.Series(range(len(table)), index=table.index)
        parts.append(table.assign(worker=name, _at=key, _worker=number, _own=own))
    whole = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    whole = whole.sort_values(["_at", "_worker", "_own"], ignore_index=True).drop(columns=["_at", "_worker", "_own"])
    return whole[["ticket", "worker", *(name for name in whole.columns if name not in ("ticket", "worker"))]]
