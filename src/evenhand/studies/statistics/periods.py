"""The statistics of some consecutive rounds of a study."""

from __future__ import annotations

import numpy as np

from evenhand.studies.log.operations import CHANGES
from evenhand.studies.log.reader import Reader
from evenhand.studies.statistics.statistics import MOMENTS, Statistics


def statistics_between(log: Reader, first: int, last: int) -> tuple[Statistics, Statistics]:
    """Return the statistics before a round and after another one, each with all that was told of its decisions. Of the
    promises, whose counts go on, the latter ones show what was seen from the first round on."""
    rounds = np.linspace(first, last, min(MOMENTS, last - first + 1)).astype(int)
    found = Statistics(log.first_policy, chosen={*rounds.tolist()})
    entries = _take(found, log, 0, first - 1)
    before = found.copy()
    found.look_anew()
    _take(found, log, entries, last, ("ask", *CHANGES))
    return before, found


def _take(found: Statistics, log: Reader, after: int, rounds: int, end_with: tuple[str, ...] = ("ask",)) -> int:
    """Take in the entries after one up to a round and to the next entry of some kind, and what was told of these rounds
    later; return the last entry before that."""
    end = None
    for row in log.entries(after):
        if end is None and row.kind in end_with and found.rounds == rounds:
            end = row.sequence - 1
        decided = row.kind == "ask" or row.kind in CHANGES
        if end is None if decided else (row.ticket or 0) in found.open:
            found.take(row)
    found.flush()
    return found.sequence if end is None else end
