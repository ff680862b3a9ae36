"""Questions that test what was supposed: which form of distance holds, and whether chances that follow are fair."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.similarity.chances import fair_chances
from evenhand.similarity.forms import hull
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.questions import Question, as_shown

CHECKED, LIMIT, COMPARED = 40, 0.95, 100
"""Chances are proposed for so many people; pairs this near their limit are shown. So many pairs are compared between
two forms of distance."""


def between_forms(metrics: Sequence[DistanceLearner], rows: Floats, draws: np.random.Generator) -> Question | None:
    """Return a question about people (n, d) between forms of distance that agree with all answers; None where they
    hardly differ."""
    if len(metrics) == 1:
        return None
    pairs = draws.integers(len(rows), size=(COMPARED, 2))
    lows, highs = hull(metrics, rows[pairs[:, 0]] - rows[pairs[:, 1]])
    widest = int((highs - lows).argmax())
    low, high, (one, other) = float(lows[widest]), float(highs[widest]), sorted(pairs[widest].tolist())
    return None if high - low <= 2.0 * metrics[0].taken_at else Question(one, other, as_shown(0.5 * (low + high)))


def at_the_limit(
    metrics: Sequence[DistanceLearner],
    rows: Floats,
    rewards: Floats,
    asked: Container[tuple[int, int]],
    draws: np.random.Generator,
) -> Question | None:
    """Return a pair at the limit of the chances that follow for some of these people (n, d) that was not asked about;
    None where there is none."""
    if metrics[0].guarantee == "not known":
        return None
    some = np.sort(draws.permutation(len(rows))[:CHECKED])
    found = fair_chances(metrics, rows[some], rewards[some], max(1, len(some) // 10))
    pairs = draws.permutation(np.argwhere(np.triu(np.abs(found.chances[:, None] - found.chances) > EQUAL)))
    for i, j in pairs.tolist():
        gap, pair = float(abs(found.chances[i] - found.chances[j])), (int(some[i]), int(some[j]))
        low = float(hull(metrics, (rows[pair[0]] - rows[pair[1]])[None])[0][0])
        if pair not in asked and gap >= LIMIT * low and (shown := as_shown(gap, low)):
            return Question(*pair, shown, proposed=True)
    return None


def judged(unfair: Sequence[bool]) -> str:
    """Say how many proposed differences were called unfair, given which were, in the order of the answers.

    >>> judged([False, True, False, False])
    '1 of 4 proposed differences were called unfair, none of the last 2'
    """
    if not unfair:
        return "No proposed difference was judged: whether the form of distance is right was not checked"
    since = unfair[::-1].index(True) if any(unfair) else 0
    also = ": others in these chances may be unfair as well" * any(unfair)
    more = f", none of the last {since}" if since else also
    return f"{sum(unfair)} of {len(unfair)} proposed differences were called unfair{more}"
