"""Gauges of a study: numbers for a monitoring program such as Prometheus.

    shortfall        plays by which the arm furthest behind its share is behind now
    shortfall_of_all_rounds  the same if the rounds count in which the arm was away; only where arms with a share were
    worst_shortfall  the most plays by which any arm was ever behind
    excused_plays    plays that no cap counts, as every arm on offer was at its cap; only where caps allow that
    promise_kept     1 while the promise held at every round, 0 once it was broken
    recent_reward    the mean of the last rewards
    share_drift      the largest change of a group's part of the decisions, of an arm's where there are no groups, in
                     the last `DRIFT` against all before
    group_gap        by how much a group's mean reward is shown to differ from that of the others, by a test that ever
                     overstates the difference with a probability of 5 %
    open_tickets     tickets neither told nor forgotten

A gauge that has no value yet, or none for a study, is left out.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from evenhand.studies.statistics.statistics import DRIFT, Statistics

GAUGES = {
    "shortfall": "By how many plays the arm furthest behind its share is behind now.",
    "worst_shortfall": "By how many plays an arm was ever behind its share at most.",
    "shortfall_of_all_rounds": "The first of these if rounds count in which the arm was away.",
    "excused_plays": "Plays that no cap counts, as every arm on offer was at its cap.",
    "promise_kept": "1 while the promise held at every round, 0 once it was broken.",
    "recent_reward": "The mean of the last rewards.",
    "share_drift": f"The largest change of a group's or arm's share, in the last {DRIFT:,} decisions against before.",
    "group_gap": "By how much a group's mean reward is shown to differ from that of the others.",
    "open_tickets": "Tickets neither told nor forgotten.",
}
"""Their names, and what each is in a sentence."""
LATE = (60, 3_600, 86_400, 604_800)
"""Seconds after which open tickets are counted as overdue: a minute, an hour, a day, a week."""
ERROR = 0.05
"""The probability with which `group_gap` ever shows a larger difference than there is."""


def gauges_of(statistics: Statistics) -> dict[str, float]:
    """Return the gauges that have a value, by name."""
    worst, reward = statistics.worst, statistics.reward
    found = {
        "shortfall": _shortfall(statistics),
        "worst_shortfall": None if worst is None else worst[0],
        "shortfall_of_all_rounds": max(statistics.behind_by_all) if statistics.outages else None,
        "excused_plays": statistics.excused.plays if statistics.promise and statistics.promise.excuses else None,
        "promise_kept": statistics.kept,
        "recent_reward": None if reward is None else reward[1],
        "share_drift": _drift(statistics),
        "group_gap": statistics.shown_gap(ERROR),
        "open_tickets": len(statistics.open),
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def overdue_of(statistics: Statistics, at: int) -> dict[int, int]:
    """Return how many tickets have been open for longer than each time of `LATE`; `at` is now in microseconds."""
    asked = np.array([asked for _, asked in statistics.open.values()], np.int64)
    return {seconds: int((asked < at - seconds * 1_000_000).sum()) for seconds in LATE}


def _shortfall(statistics: Statistics) -> float | None:
    if statistics.owed is None or not statistics.rounds:
        return None
    return float(statistics.owed.max())


def _drift(statistics: Statistics) -> float | None:
    codes, counts = statistics.last_arms, statistics.counts
    if statistics.groups:
        codes, counts = statistics.last_groups, statistics.group_counts
    before = int(counts.sum()) - DRIFT
    if len(codes) < DRIFT or before < DRIFT:
        return None
    recent = np.bincount(list(islice(codes, len(codes) - DRIFT, None)), minlength=len(counts))
    return float(np.abs(recent / DRIFT - (counts - recent) / before).max())
