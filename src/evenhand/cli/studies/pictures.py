"""The pictures of a study: the share of each arm since its promise began, and how far arms were behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.studies.statistics.statistics import Moment, Statistics

STRETCHES = 60
"""Points of the picture of shortfalls; each is the worst of a stretch of time."""
SETTLED = 25
"""A share is drawn from such a part of the picture on, when it does not jump any more."""


def pictures(statistics: Statistics, first: int = 1) -> dict[str, Callable[..., Any]]:
    """Return what draws from a round on, by name, the share of each arm since its promise began, and how far arms were
    behind."""
    from evenhand.plots.studies import plot_course, plot_owed

    labels, promise = statistics.labels, statistics.promise
    moments = [moment for moment in statistics.moments if moment.round >= first]
    if not moments or not labels:
        return {}
    free = {"promise": "floor", "limit": "0", "since": 1, "until": 0}
    rows = [row for row in statistics.promises if row["promise"] != "window"]
    rows = rows or [free | {"arm": label} for label in labels]
    subjects = [*labels, *dict.fromkeys(row["arm"] for row in rows if isinstance(row["arm"], tuple))]
    names = [" + ".join(map(str, one)) if isinstance(one, tuple) else one for one in subjects]
    courses = [_course(statistics, moments, [row for row in rows if row["arm"] == one]) for one in subjects]
    shares, promised, caps, behind = np.stack(courses, axis=2)
    rounds, last = np.array([moment.round for moment in moments]), moments[-1].round
    changes = [epoch.round for epoch in statistics.epochs[1:] if first <= epoch.round <= last]
    limits = {} if promise is None or promise.weight else {"promised": promised, "caps": caps}
    drawn: dict[str, Callable[..., Any]] = {
        "shares": partial(plot_course, rounds, shares, names, **limits, changes=changes)
    }
    owed = np.flatnonzero(~np.isnan(behind).all(axis=0))
    if len(owed):
        limit = promise.slack + 1.0 if statistics.when == "at every round" else None
        stretches = np.array_split(np.arange(len(rounds)), min(STRETCHES, len(rounds)))
        ends = rounds[[stretch[-1] for stretch in stretches]]
        worst = np.array([np.fmax.reduce(behind[stretch][:, owed]) for stretch in stretches])
        drawn["shortfall"] = partial(plot_owed, ends, worst, [names[arm] for arm in owed], limit, changes=changes)
    return drawn


def _course(statistics: Statistics, moments: Sequence[Moment], rows: list[dict[str, Any]]) -> Floats:
    """Return the share of an arm, or of a set of arms, what is promised and its cap, and how far an arm is behind
    (4, n_moments), by the rows of its promises; nan where there is none."""
    rounds, found = np.array([moment.round for moment in moments]), np.full((4, len(moments)), np.nan)
    before = {epoch.round: epoch.counts for epoch in statistics.epochs}
    for row in rows:
        inside = (rounds >= row["since"]) & (rounds <= (row["until"] or rounds[-1]))
        rate = float(Fraction(row["limit"]))
        if rate or row["promise"] == "cap":
            found[1 + (row["promise"] == "cap"), inside] = rate
        if row["promise"] == "cap" or not inside.any():
            continue
        mine = [statistics.labels.index(arm) for arm in (row["arm"] if isinstance(row["arm"], tuple) else [row["arm"]])]
        had = np.array([moment.counts[mine].sum() for moment in moments], float)[inside]
        had -= sum(sum(before.get(row["since"], [])[arm : arm + 1]) for arm in mine)
        of = rounds[inside] - row["since"] + 1.0
        if rate and len(mine) == 1:
            found[3, inside] = behind = np.array([moment.owed[mine[0]] for moment in moments])[inside]
            of = of if statistics.promise.weight else (behind + had) / rate  # r A, by its own clock
        settled = of >= min(of.max(), max(len(statistics.labels), (rounds[-1] - rounds[0]) / SETTLED))
        found[0, inside] = np.where(settled, had / np.maximum(of, 1.0), np.nan)
    return found
