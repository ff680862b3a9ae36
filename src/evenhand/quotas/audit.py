"""Audit any log of decisions, whoever made them, against promised shares.

Round t is the t-th row. The promise floor(r_i t) - N_i(t) <= alpha is checked for every arm after every row, in exact
integers, by the same kernels that count in a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import SharesError, TableError, UnknownArmError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry, kernel
from evenhand.metrics.shares import Tally, behind, count, tally, violations, worst
from evenhand.protocol import Label
from evenhand.quotas.problem import Promise
from evenhand.tables import cells, column, levels

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audit", "audit", "follow"]


@dataclass(frozen=True)
class Audit:
    """The finding of an audit.

    Attributes
    ----------
    kept : whether the promise held after every row.
    rounds : the number of rows.
    worst_shortfall : the largest r_i t - N_i(t) over all arms and rounds, in pulls.
    worst_arm, worst_round : whose it was, and after which row it was first reached (0: before the first).
    rounds_in_violation : after how many rows the promise was broken to at least one arm.
    first_violation : the first such row and an arm it was broken to, or None.
    arms : a row an arm: `arm`, `owed` (its share), `share` (what it got), `pulls`, `worst_shortfall`, `worst_round`,
        `rounds_in_violation`.
    timeline : the largest shortfall of any arm now, at up to 1,000 rounds: `round`, `shortfall`.
    promise : what was checked.
    """

    kept: bool
    rounds: int
    worst_shortfall: float
    worst_arm: Label
    worst_round: int
    rounds_in_violation: int
    first_violation: tuple[int, Label] | None
    arms: pd.DataFrame
    timeline: pd.DataFrame
    promise: Promise

    @property
    def never_seen(self) -> tuple[Label, ...]:
        """The arms that are promised a share and never appear in the log."""
        seen = zip(self.promise.arms, self.promise.shares, self.arms["pulls"], strict=True)
        return tuple(arm for arm, share, pulls in seen if share > 0 and pulls == 0)


@kernel
def follow(books: Tally, codes: Ints, start: int, worst_rounds: Ints, summary: Ints, now: Floats) -> None:
    """Enter the rounds start + 1, start + 2, ... of a log; `summary` gets the rounds in violation so far, the first of
    them (0: none) and an arm it hit, `now` (n_rounds,) the largest shortfall at each."""
    for n in range(codes.size):
        t = start + n + 1
        arm = codes[n]
        seen = books.worst[arm]
        count(books, arm, t)
        if books.worst[arm] > seen:
            worst_rounds[arm] = t - 1
        broken = False
        now[n] = -np.inf
        for i in range(books.pulls.size):
            now[n] = max(now[n], books.shares[i] * t - books.pulls[i])
            if behind(books, i, t):
                broken = True
                if summary[1] == 0:
                    summary[1], summary[2] = t, i
        if broken:
            summary[0] += 1


def audit(frame: pd.DataFrame, *, arm: str, shares: Any, tolerance: float = 0.0, order: str | None = None) -> Audit:
    """Check a decision log against shares: N_i(t) >= floor(r_i t) - alpha after every row t.

    Parameters
    ----------
    frame : the log, a row a decision, in the order in which they were taken.
    arm : name of the column that says for whom each decision was.
    shares : the share owed to each arm: a dict or Series arm -> share, or one number for every arm of the log and every
        level that a categorical column declares.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    order : a column to sort by first, numbers or times (text as in ISO 8601); rows with the same value keep their
        order.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell, the log has no rows, or `order` is neither numbers nor times.
    SharesError, ArgumentError
        If shares or tolerance cannot be promised.
    UnknownArmError
        If the log decides for an arm that has no share.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"item": ["a", "a", "a", "b", "a", "b"]})
    >>> finding = audit(log, arm="item", shares={"a": 0.5, "b": 0.5})
    >>> finding.kept, finding.first_violation, finding.rounds_in_violation
    (False, (2, 'b'), 5)
    """
    labels = column(frame, arm)
    kinds = levels(frame, arm)
    if isinstance(shares, (list, tuple, np.ndarray)):
        raise SharesError(wanted("shares", "a dict arm -> share, or one number for every arm", shares))
    by_arm = isinstance(shares, Mapping) or hasattr(shares, "to_dict")
    promise = Promise.read(shares, tolerance, arms=None if by_arm else kinds)
    positions = {label: i for i, label in enumerate(promise.arms)}
    seen = set(labels.tolist())
    unknown = [kind for kind in kinds if kind in seen and kind not in positions]
    if unknown:
        row = int(np.flatnonzero(labels == unknown[0])[0]) + 1
        mend = "give it a share, 0 if it is owed nothing"
        raise UnknownArmError(wanted(f"column {arm!r}, row {row}", "an arm that has a share", unknown[0], mend))
    codes = np.array([positions[label] for label in labels.tolist()], dtype=np.int64)
    return _found(promise, codes if order is None else codes[_sequence(frame, order)])


def _sequence(frame: pd.DataFrame, order: str) -> Ints:
    """Return the positions (n_rows,) of the rows from first to last by a column of numbers or times."""
    import pandas as pd

    if order not in frame.columns:
        raise TableError(wanted("order", f"one of {[str(c) for c in frame.columns]}", order))
    moments = cells(frame, order)
    if moments.dtype.kind not in "iufM":
        given = moments.astype(object)
        read = pd.to_numeric(given, errors="coerce")
        if read.isna().any():
            read = pd.to_datetime(given.where(read.isna()), format="ISO8601", errors="coerce", utc=True)
        bad = np.flatnonzero(read.isna().to_numpy())
        if bad.size:
            where, mend = f"column {order!r}, row {bad[0] + 1}", "write times as 2026-11-21 09:30:00"
            raise TableError(wanted(where, "numbers alone or times alone", moments.iloc[bad[0]], mend))
        moments = read
    return np.argsort(moments.to_numpy(), kind="stable")


def _found(promise: Promise, codes: Ints) -> Audit:
    import pandas as pd

    rounds, arms = len(codes), len(promise.arms)
    books = tally(promise, arms)
    worst_rounds, summary, now = np.zeros(arms, np.int64), np.zeros(3, np.int64), np.empty(rounds)
    entry(follow)(books, codes, 0, worst_rounds, summary, now)
    largest = np.array([entry(worst)(books, i, rounds) for i in range(arms)])
    ended = largest > books.worst
    worst_rounds[ended] = rounds
    table = pd.DataFrame(
        {
            "arm": promise.arms,
            "owed": promise.floats(),
            "share": books.pulls / rounds,
            "pulls": books.pulls,
            "worst_shortfall": largest,
            "worst_round": worst_rounds,
            "rounds_in_violation": [entry(violations)(books, i, rounds) for i in range(arms)],
        }
    )
    at = np.unique(np.linspace(1, rounds, min(rounds, 1000)).astype(np.int64))
    furthest = int(np.argmax(largest))
    return Audit(
        kept=bool(summary[0] == 0),
        rounds=rounds,
        worst_shortfall=float(largest[furthest]),
        worst_arm=promise.arms[furthest],
        worst_round=int(worst_rounds[furthest]),
        rounds_in_violation=int(summary[0]),
        first_violation=(int(summary[1]), promise.arms[summary[2]]) if summary[0] else None,
        arms=table,
        timeline=pd.DataFrame({"round": at, "shortfall": now[at - 1]}),
        promise=promise,
    )
