"""The pictures of a study: the share of each arm since its promise began, and how far arms were behind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.studies.statistics.statistics import Statistics

STRETCHES = 60
"""Points of the picture of shortfalls; each is the worst of a stretch of time."""
SETTLED = 25
"""A share is drawn from such a part of the picture on, when it does not jump any more."""
FREE: dict[str, Any] = {"promise": "floor", "limit": "0", "since": 1, "until": 0}


def pictures(statistics: Statistics, before: Statistics | None = None) -> dict[str, Callable[..., Any]]:
    """Return what draws the shares of a study, each since its promise began or, if that is later, since what came
    `before`, and how far arms were behind theirs, by name."""
    from evenhand.plots.studies import plot_course, plot_owed

    labels, promise = statistics.labels, statistics.promise
    if not statistics.moments or not labels:
        return {}
    rounds = np.array([moment.round for moment in statistics.moments])
    rows = [FREE | {"arm": label} for label in labels] if promise is None else statistics.promises
    sets = dict.fromkeys(row["arm"] for row in rows if isinstance(row["arm"], tuple) and row["promise"] != "window")
    names = [*labels, *(" + ".join(map(str, members)) for members in sets)]
    found = [_course(statistics, before, [row for row in rows if row["arm"] == one]) for one in (*labels, *sets)]
    shares, promised, caps, behind = np.stack(found, axis=2)
    weighed = promise is not None and promise.weight is not None  # shares of a weight are none of the decisions
    limits = {} if weighed or promise is None else {"promised": promised, "caps": caps}
    begin = 1 if before is None else before.rounds + 1
    marks = [epoch.round for epoch in statistics.epochs[1:] if rounds[0] <= epoch.round <= rounds[-1]]
    drawn: dict[str, Callable[..., Any]] = {
        "shares": partial(plot_course, rounds, shares, names, **limits, changes=marks, first=begin)
    }
    owed = np.flatnonzero(~np.isnan(behind).all(axis=0))
    if promise is not None and len(owed):
        limit = promise.slack + 1.0 if statistics.when == "at every round" else None
        stretches = np.array_split(np.arange(len(rounds)), min(STRETCHES, len(rounds)))
        ends = rounds[[stretch[-1] for stretch in stretches]]
        worst = np.array([np.fmax.reduce(behind[stretch][:, owed]) for stretch in stretches])
        drawn["shortfall"] = partial(plot_owed, ends, worst, [names[arm] for arm in owed], limit, changes=marks)
    return drawn


def _course(statistics: Statistics, before: Statistics | None, rows: list[dict[str, Any]]) -> Floats:
    """Return the share of an arm, or of a set of arms, what is promised and its cap, and how far an arm is behind
    (4, n_moments), by the rows of its promises; nan where there is none."""
    moments, weighed = statistics.moments, statistics.promise is not None and statistics.promise.weight is not None
    rounds = np.array([moment.round for moment in moments])
    found = np.full((4, len(moments)), np.nan)
    for row in (row for row in rows if row["promise"] != "window"):
        inside: Bools = (rounds >= row["since"]) & (rounds <= (row["until"] or rounds[-1]))
        rate = float(Fraction(row["limit"]))
        if row["promise"] == "cap":
            found[2, inside] = rate
        if row["promise"] != "floor" or not inside.any():
            continue
        arms = row["arm"] if isinstance(row["arm"], tuple) else (row["arm"],)
        mine = [statistics.labels.index(arm) for arm in arms]
        start, counts, owed = _start(statistics, before, row["since"], mine)
        had = np.array([moment.counts[mine].sum() for moment in moments])[inside] - counts
        of = rounds[inside] - start
        if rate and len(arms) == 1:
            found[1, inside] = rate
            found[3, inside] = behind = np.array([moment.owed[mine[0]] for moment in moments])[inside]
            if not weighed:  # r A, by the arm's own clock, is what it had and is behind
                of = (behind - owed + had) / rate
        elif rate:
            found[1, inside] = rate
        settled = of >= min(of.max(), max(len(statistics.labels), (rounds[-1] - rounds[0]) / SETTLED, 1))
        found[0, inside] = np.where(settled, had / np.maximum(of, 1), np.nan)
    return found


def _start(statistics: Statistics, before: Statistics | None, since: int, arms: list[int]) -> tuple[int, int, float]:
    """Return after which round a share is drawn that was promised since a round, how many plays of these arms came
    before, and by how many the first one was behind then."""
    if since == 1 and before is None:
        return 0, 0, 0.0
    if before is not None and since <= before.rounds:
        counts: Ints = np.pad(before.counts, (0, len(statistics.counts) - len(before.counts)))
        behind = before.owed
        return before.rounds, int(counts[arms].sum()), 0.0 if behind is None else float(behind[arms[0]])
    counts = next(np.array(epoch.counts) for epoch in statistics.epochs if epoch.round == since)
    return since - 1, int(np.pad(counts, (0, len(statistics.counts) - len(counts)))[arms].sum()), 0.0
