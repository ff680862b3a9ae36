"""A period between two times, what can be said of its end, whether a promise can still be kept by then, and when it
was broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.audit.decision_log import moments_of
from evenhand.display.digits import number, plain_number
from evenhand.errors import ArgumentError, TableError, Wording, expected
from evenhand.kernels.arrays import Bools
from evenhand.promises.clause import AT_MOST

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PeriodOutlook:
    """Whether a promise over a period can still be kept by its end.

    Attributes
    ----------
    by : the end of the period: a time, or how many rounds it has; with weights how much of them.
    rest : how many rounds, or how much weight, are to come until then.
    kept : whether it can be kept; None where sets of arms overlap and it is not known.
    due : a row for each share and cap: `promise`, `arm`, `limit`, `had`, `due` (what is still due, of a cap None),
        `allowed` (what a cap still allows), `rate` (the part of the rest that this is), `possible`.
    """

    by: datetime | int
    rest: int | Fraction
    kept: bool | None
    due: pd.DataFrame
    unit: str
    windowed: bool = False
    """Whether windows are promised too, which hold for any rounds in a row and so are not part of this."""

    @property
    def verdict(self) -> str:
        """Whether it can still be kept, as a sentence."""
        return (
            self._of_shares_and_caps() + "; this leaves out windows, which hold for any rounds in a row" * self.windowed
        )

    def _of_shares_and_caps(self) -> str:
        timed = isinstance(self.by, datetime)
        by = f"by {self.by:,} {self.unit}" if isinstance(self.by, int) else f"before {moment(self.by)} UTC"
        if self.rest:
            by += f", in {'about ' * timed}{plain_number(self.rest)} more {self.unit}"
            by += " (as fast as so far)" * timed
        if self.kept is None:
            return f"Whether the promise can be kept {by} is not known: sets of arms overlap"
        if self.kept and not self.rest:
            return f"The promise was kept {by}"
        if self.kept:
            rows = self.due[self.due["due"].fillna(0) > 0].sort_values("rate", ascending=False).to_dict("records")
            most = f": most is due to {_who(rows[0])}, {_needs(rows[0])}" if rows else ": nothing is due any more"
            return f"The promise can still be kept {by}{most}"
        rows = self.due[~self.due["possible"]].to_dict("records")
        said = "together shares and caps leave no room"
        if rows:
            missed = rows[0]["promise"] in AT_MOST
            said = f"{_who(rows[0])} " + ("is above its cap" if missed else f"needs {_needs(rows[0])}")
        return f"The promise {'can no longer be' if self.rest else 'was not'} kept {by}: {said}"


def _who(row: dict[Any, Any]) -> str:
    return " + ".join(map(str, row["arm"])) if isinstance(row["arm"], tuple) else str(row["arm"])


def _needs(row: dict[Any, Any]) -> str:
    return plain_number(row["due"]) + (f" ({number(row['rate'])} of them)" if row["rate"] == row["rate"] else "")


def moment(time: Any) -> str:
    """Return a time as the log has it, to the minute where it has no seconds; a line may break between date and time.

    >>> from datetime import datetime
    >>> moment(datetime(2026, 11, 29, 6)), moment("2026-11-29T06:00:07Z")
    ('2026-11-29 06:00', '2026-11-29 06:00:07Z')
    """
    said = str(time).removesuffix(":00") if isinstance(time, datetime) and time.tzinfo is None else str(time)
    return f"{said[:10]} {said[11:]}" if said[10:11] == "T" else said


def read_time(text: str, name: str, *, to_end: bool) -> datetime:
    """Return a time in UTC; a date is its first moment, or the end of it.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    import pandas as pd

    try:
        found = moments_of(pd.Series([text]), name)
    except TableError:
        found = np.zeros(0)
    if found.dtype.kind != "M":
        what = "a date such as 2026-12-31, or a time such as 2026-12-31T08:00+01:00"
        raise ArgumentError(expected(name, what, text))
    whole = to_end and len(text.strip()) == len("2026-12-31")
    return datetime.fromisoformat(str(found[0].astype("M8[us]"))) + timedelta(days=whole)


def between(at: NDArray[Any], since: str, until: str, what: str) -> tuple[Bools, str]:
    """Return which of some times (n,) in UTC lie from one on and before another, each "" for any, and how a
    sentence about these alone begins.

    Raises
    ------
    ArgumentError
        If these are no times, or none lies between them.
    """
    inside, said = np.ones(len(at), bool), []
    if since:
        begins = read_time(since, "since", to_end=False)
        inside &= at >= np.datetime64(begins)
        said.append(f"from {begins} UTC on")
    if until:
        ends = read_time(until, "until", to_end=True)
        inside &= at < np.datetime64(ends)
        said.append(f"before {ends} UTC")
    if said and not inside.any():
        span = (at.min(), at.max()) if len(at) else ()
        got = Wording(" to ".join(str(one.astype("M8[s]")).replace("T", " ") for one in span) or f"no {what} yet")
        raise ArgumentError(expected("since" if since else "until", f"a time with {what} of the log", got))
    return inside, f"Only the {inside.sum():,} of {len(at):,} {what} {' and '.join(said)}"


def when_broken(
    times: int, rounds: int, first: str = "", last: str | None = None, stretches: int = 0, *, still: bool = False
) -> str:
    """Return in which of so many rounds, 0 where they are not known, a promise was broken, in words: the names of the
    first and the last of them, if they are known, in how many stretches, and whether the last round is one.

    >>> when_broken(9991, 10_000, "row 10", "row 10,000", 1, still=True)
    'in 9,991 of 10,000 rounds, from row 10 on'
    >>> when_broken(5, 100, "row 60", "row 80", 3)
    'in 5 of 100 rounds, in 3 stretches, first after row 60, last after row 80'
    >>> when_broken(2, 0, "row 60"), when_broken(9, 100), when_broken(0, 100)
    ('in 2 rounds, first after row 60', 'in 9 of 100 rounds', 'never')
    """
    if not times:
        return "never"
    counted = f"{times:,} of {rounds:,} rounds" if rounds else f"{times:,} round{'s' * (times > 1)}"
    if not first:
        return f"in {counted}"
    if stretches == 1:
        where = f"from {first} on" if still else f"after {first}" if times == 1 else f"from {first} to {last}"
    else:
        where = f"in {stretches:,} stretches, first after {first}" if stretches else f"first after {first}"
        where += (f", last after {last}" if last else "") + ", the end of the log" * still
    return f"in {counted}, {where}"
