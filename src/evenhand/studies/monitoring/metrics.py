"""The metrics of monitors: five figures of a study's statistics, each with its window.

    shortfall   the promise is at risk: an arm is more than `threshold` pulls behind its share, tolerance taken off
    drift       a group (or an arm, where there are no groups) had another part of the last `window` decisions than of
                all before, by more than `threshold`
    reward      the mean of the last `window` rewards is below `threshold`
    overdue     more than `threshold` tickets have been open for over `window` seconds
    group-gap   a group's mean reward is shown to differ from that of the others by more than `threshold`, by a test
                that raises no alert, ever, with a probability of 95 % while it does not

A metric with a window has no value before the window is full.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import is_whole, real
from evenhand.errors import ArgumentError, wanted
from evenhand.labels import label_texts
from evenhand.protocol import find_label
from evenhand.studies.addresses import check_webhook
from evenhand.studies.statistics.statistics import WATCHED, Statistics

__all__ = ["METRICS", "Monitor", "check", "exceeds", "measure"]

METRICS = {
    "shortfall": "pulls behind a promised share",
    "drift": "change of a group's share of the decisions",
    "reward": "mean of the last rewards",
    "overdue": "tickets open for too long",
    "group-gap": "difference of the groups' mean rewards",
}


ERROR = 0.05
"""The probability with which "group-gap" ever shows a larger difference than there is."""
FIRST = ("shortfall", "drift", "reward", "overdue")


class Monitor(NamedTuple):
    """A metric of a study that is watched.

    Attributes
    ----------
    id : its number in the store.
    metric : one of `METRICS`.
    threshold : where the alert begins: above it, and for "reward" below it.
    window : decisions ("drift"), rewards ("reward") or seconds ("overdue"); 0 for "shortfall" and "group-gap".
    subject : the arm or group that is watched, None for the worst.
    webhook : the address to which alerts are posted, or None.
    """

    id: int
    metric: str
    threshold: float
    window: int
    subject: str | None
    webhook: str | None


def measure(monitor: Monitor, statistics: Statistics, at: int) -> float | None:
    """Return the metric's value now, None if it has none yet; `at` is the time in microseconds."""
    if monitor.metric == "shortfall":
        return _shortfall(monitor, statistics)
    if monitor.metric == "drift":
        return _drift(monitor, statistics)
    if monitor.metric == "reward":
        last = _last(statistics.last_rewards, monitor.window)
        return None if last is None else math.fsum(last) / len(last)
    if monitor.metric == "group-gap":
        group = None if monitor.subject is None else _position(monitor, statistics)
        return statistics.shown_gap(ERROR, group)
    late = at - monitor.window * 1_000_000
    return float(sum(asked < late for _, asked in statistics.open.values()))


def exceeds(monitor: Monitor, value: float | None) -> bool:
    """Return whether a value raises an alert."""
    if value is None:
        return False
    return value < monitor.threshold if monitor.metric == "reward" else value > monitor.threshold


def check(statistics: Statistics, metric: str, threshold: Any, window: Any, subject: Any, webhook: Any) -> None:
    """Refuse a monitor that does not fit a study with these statistics.

    Raises
    ------
    ArgumentError
        See `monitors.add`.
    """
    if not isinstance(metric, str) or metric not in METRICS:
        raise ArgumentError(wanted("metric", f"one of {', '.join(FIRST)}", metric, "or group-gap, for arms in groups"))
    real("threshold", threshold)
    if metric == "shortfall":
        if window != 0:
            raise ArgumentError(wanted("window", "none for shortfall, which is judged at every round", window))
        if statistics.promise is None:
            raise ArgumentError(wanted("metric", "another one: this policy promises no shares", metric))
    elif metric == "group-gap":
        if window != 0:
            raise ArgumentError(wanted("window", "none for group-gap, which looks at all rewards", window))
        if statistics.gaps is None:
            raise ArgumentError(wanted("metric", "another one: this policy knows no groups", metric))
        real("threshold", threshold, low=0)
    elif not is_whole(window) or not 1 <= window <= (WATCHED if metric != "overdue" else 10**9):
        unit = {
            "drift": f"decisions, 1 to {WATCHED}",
            "reward": f"rewards, 1 to {WATCHED}",
            "overdue": "seconds, 1 or more",
        }
        raise ArgumentError(wanted("window", f"a whole number of {unit[metric]}", window))
    if subject is not None:
        known = _subjects(statistics, metric)
        if find_label(str(subject), known) is None:
            raise ArgumentError(wanted("subject", f"one of {known}" if known else f"none for {metric}", subject))
    if webhook is not None:
        check_webhook(webhook)


def _subjects(statistics: Statistics, metric: str) -> list[str]:
    if metric == "shortfall":
        return label_texts(statistics.labels)
    if metric == "drift":
        return label_texts(statistics.groups or statistics.labels)
    if metric == "group-gap":
        return label_texts(statistics.groups)
    return []


def _shortfall(monitor: Monitor, statistics: Statistics) -> float | None:
    if statistics.owed is None or statistics.promise is None or not statistics.rounds:
        return None
    behind = statistics.owed - np.array(statistics.promise.slacks, np.float64)
    return float(behind.max() if monitor.subject is None else behind[_position(monitor, statistics)])


def _drift(monitor: Monitor, statistics: Statistics) -> float | None:
    """Compare the last decisions with all before them."""
    codes, counts = (
        (statistics.last_groups, statistics.group_counts)
        if statistics.groups
        else (statistics.last_arms, statistics.counts)
    )
    last = _last(codes, monitor.window)
    before = int(counts.sum()) - monitor.window
    if last is None or before < monitor.window:
        return None
    recent = np.bincount(last, minlength=len(counts))
    moved = np.abs(recent / monitor.window - (counts - recent) / before)
    return float(moved.max() if monitor.subject is None else moved[_position(monitor, statistics)])


def _position(monitor: Monitor, statistics: Statistics) -> int:
    position = find_label(str(monitor.subject), _subjects(statistics, monitor.metric))
    assert position is not None
    return position


def _last(values: deque[Any], window: int) -> list[Any] | None:
    if len(values) < window:
        return None
    return list(islice(values, len(values) - window, None))
