"""Whether shares over a period can still be kept by its end: what is still due, and how fast it must come.

With N plays in t rounds so far and R rounds to come a floor r with slack a needs, and a cap c with slack b allows,

    max(0, floor(r (t + R)) - a - N)        ceil(c (t + R)) + b - N

plays in these; of weights the same without rounding. All of it can be kept where `evenhand.promises.best_counts` finds
counts of the rounds to come within these limits.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.arguments import is_whole
from evenhand.audit.decision_log import moments_of
from evenhand.audit.findings import Audit
from evenhand.audit.period import PeriodOutlook, moment, read_time
from evenhand.display.digits import plain_number
from evenhand.errors import NOTHING, ArgumentError, Wording, expected
from evenhand.promises.best_counts import best_counts, limit_of
from evenhand.promises.clause import AT_MOST, Clause
from evenhand.promises.reading import overlap

DAY = 24 * 60 * 60 * 10**6
"""In microseconds."""


def outlook(finding: Audit, by: object, scale: int) -> PeriodOutlook:
    """Return what is still due by a time, or by so many rounds, and whether it can be kept; as many rounds come in a
    time as came so far in the times of the log. Weights are counted with so many whole numbers each.

    Raises
    ------
    ArgumentError
        If `by` is neither, or lies before the end of the log, or the log has no times that say how fast it goes.
    """
    import pandas as pd

    promise, named = finding.promise, finding.arms["weight" if finding.promise.weight else "pulls"]
    had = dict(zip(promise.arms, (Fraction(str(one)) for one in named), strict=True))
    so_far: int | Fraction = sum(had.values(), Fraction(0)) if promise.weight else finding.rounds
    end: Any = by
    if is_whole(by):
        rest = end - so_far
        if rest < 0:
            raise ArgumentError(expected("by", f"at least the {plain_number(so_far)} of the log, or a time", by))
    else:
        end, rest = _paced(finding, by, so_far, scale)
    clauses = [clause for clause in promise.clauses if clause.kind != "window"]
    if not clauses:
        why = "a window holds for any rounds in a row, a share of 0 always"
        raise ArgumentError(expected("by", Wording(NOTHING, " without shares or caps"), Wording(f"{by}"), why))
    limits = [_limit(clause, so_far + rest) - sum(had[arm] for arm in clause.arms) for clause in clauses]
    rows = [_row(*each, rest, promise.plays, had) for each in zip(clauses, limits, strict=True)]
    ahead: Any = np.array([limits], object), np.array([rest], object), promise.plays
    found = best_counts(np.zeros(len(had)), promise.arms, clauses, *ahead)
    found_none = None if overlap([members for members, _ in promise.sets]) else False
    kept = found_none if pd.isna(found).any() else True
    return PeriodOutlook(
        end if isinstance(end, datetime) else int(end),
        rest,
        kept,
        pd.DataFrame(rows),
        promise.weight or "rounds",
        bool(promise.windows),
    )


def _paced(finding: Audit, by: object, so_far: int | Fraction, scale: int) -> tuple[datetime, int | Fraction]:
    """Return a time, and what comes before it if it comes as fast as so far: by the day where times lie whole days
    apart, as dates do, else by the intervals between the first time and the last."""
    end = None
    if isinstance(by, (str, date, np.datetime64)):
        with suppress(ArgumentError):
            end = read_time(str(by), "by", to_end=True)
    if finding.times is None or end is None:
        what = "a time beside a log with times, or the number of all rounds of the period"
        raise ArgumentError(expected("by", what, by))
    times = moments_of(finding.times, "times").astype("M8[us]").astype(int)
    first, last, ends = int(times.min()), int(times.max()), int(np.datetime64(end, "us").astype(int))
    begun, latest = (moment(finding.times.iloc[at]) for at in (times.argmin(), times.argmax()))
    hint = "name the number of all rounds, or audit only those before it"
    if ends <= last:
        raise ArgumentError(expected("by", f"a time after those of the log, {begun} to {latest}", by, hint))
    if first == last and first % DAY:
        what = f"the number of all rounds, as the log has one time, {latest}, and so does not say how fast rounds come"
        raise ArgumentError(expected("by", what, by))
    if ((times - first) % DAY).any():
        part = Fraction((ends - last) * (finding.rounds - 1), (last - first) * finding.rounds)
    else:
        part = Fraction((ends - last - 1) // DAY, (last - first) // DAY + 1)
    coming = int(so_far * part * scale)
    return end, Fraction(coming, scale) if scale > 1 else coming


def _limit(clause: Clause, end: int | Fraction) -> int | Fraction:
    """Return the least plays, or weight, that a clause asks for at the end, of a cap the most."""
    if clause.weight is None:
        return int(limit_of(clause, np.array([int(end)], object), int(clause.slack))[0])
    return clause.share * end + (clause.slack if clause.kind in AT_MOST else -clause.slack)


def _row(
    clause: Clause, limit: int | Fraction, rest: int | Fraction, plays: int, had: dict[Any, Any]
) -> dict[str, Any]:
    """Return what is still due to a clause, or what it allows."""
    cap, left = clause.kind in AT_MOST, max(Fraction(0), Fraction(limit))
    amount = int(left) if left.denominator == 1 else float(left)
    return {
        "promise": clause.kind,
        "arm": clause.arms[0] if len(clause.arms) == 1 else clause.arms,
        "limit": clause.rate_as_text,
        "had": float(sum(had[arm] for arm in clause.arms)) if clause.weight else int(sum(had[a] for a in clause.arms)),
        "due": None if cap else amount,
        "allowed": amount if cap else None,
        "rate": float(min(left, rest) / rest if cap else left / rest) if rest else float("nan"),
        "possible": limit >= 0 if cap else left <= rest * min(len(clause.arms), plays),
    }
