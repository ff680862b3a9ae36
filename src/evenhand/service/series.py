"""A study over time: its shares, shortfalls and rewards at some of its rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.service.sessions import Session
from evenhand.studies.log.codec import moment as time_of
from evenhand.studies.statistics.statistics import Moment, Statistics

SERIES = 50_000
"""The most labels times rounds of one series: with many labels there are fewer rounds."""


def series_of(session: Session, points: int) -> dict[str, Any]:
    """Return a study's series at about `points` rounds, fewer if there are many labels.

    The last point is the present, with all reports so far.
    """
    with session.reading() as (statistics, _):
        moments, reward = statistics.moments, statistics.reward
        if moments and reward is not None:
            moments[-1] = moments[-1]._replace(reward_mean=reward[0], reward_recent=reward[1])
        kept = _spread(0, len(moments) - 1, points, len(statistics.labels))
        return _columns(statistics, [moments[i] for i in kept] if len(moments) > len(kept) else moments)


def close_up(session: Session, first: int, last: int | None, points: int) -> dict[str, Any]:
    """Return a study's series from round `first` to `last` (None: the present) at about `points` rounds, read anew."""
    with session.reading() as (statistics, _):
        last, labels = min(last or statistics.rounds, statistics.rounds), len(statistics.labels)
    chosen = _spread(first, last, points, labels)
    closer = Statistics(session.reader.log.first_policy, chosen=set(chosen))
    if chosen:
        for entry in session.reader.log.entries():
            closer.take(entry)
            if closer.rounds == last:
                break
    closer.settle()
    return _columns(closer, closer.moments if chosen else [])


def _spread(first: int, last: int, points: int, labels: int) -> list[int]:
    """Return whole numbers from `first` to `last`: all of them, or `points` of them, fewer if there are many labels."""
    points = max(2, min(points, SERIES // max(1, labels), last - first + 1))
    return np.unique(np.linspace(first, last, points).round().astype(int)).tolist() if last >= first else []


def _columns(statistics: Statistics, moments: list[Moment]) -> dict[str, Any]:
    promise, k = statistics.promise, len(statistics.labels)
    counts = np.array([moment.counts for moment in moments]).reshape(-1, k)
    rounds = np.array([moment.round for moment in moments], dtype=np.int64)
    owed = np.array([moment.owed for moment in moments]).reshape(-1, k)
    return {
        "round": rounds.tolist(),
        "at": [time_of(moment.at) for moment in moments],
        "labels": list(statistics.labels),
        "shares": (counts / np.maximum(rounds, 1)[:, None]).T.tolist(),
        "promised": None if promise is None else promise.floats().tolist(),
        "shortfall": None if promise is None else owed.T.tolist(),
        "reward_mean": [moment.reward_mean for moment in moments],
        "reward_recent": [moment.reward_recent for moment in moments],
        "forced": [moment.forced for moment in moments],
    }
