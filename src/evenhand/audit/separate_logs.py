"""Audit logs that were written apart: is the promise kept in whatever order their rounds are merged?

Every clause has a balance that adds over logs (see the head of `evenhand.promises.split`). A prefix of a merge order is
one prefix of each log, and every choice of prefixes occurs. So a floor or a cap is at its worst where each log is at
its own least, and a window where the longest stretches of all logs that hold too few plays meet (Theorems 1 and 3
there). Both are found log by log, in time linear in the rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.audit.audited_promise import AuditedPromise
from evenhand.audit.findings import row_of
from evenhand.data.tables import in_natural_order
from evenhand.display.html import Card, HasCard, Table
from evenhand.kernels.arrays import Bools, Ints
from evenhand.labels import Labels
from evenhand.promises.clause import Clause
from evenhand.promises.feasible import check_kinds
from evenhand.promises.promise import Promise
from evenhand.promises.round_kernels import Rounds, excess_of, position_of
from evenhand.protocol import Label, distinct

if TYPE_CHECKING:
    import pandas as pd

NOTE = (
    "The logs do not say in which order their rounds happened, so every order counts. A promise that is broken in some "
    "order need not have been broken in the one that happened: audit one log in the order of time to know."
)

STRICT = (
    "Caps count every play, also in rounds in which arms were away and every other was at its cap: which rounds are "
    "excused depends on the order, so a cap that is broken here may have been kept. Audit one log to know."
)
UNSAID = (
    "A log without a column of offers counts as one in which every arm always was on offer, so caps count every play. "
    "Where arms were away and every other was at its cap, a cap that is broken here may have been kept."
)


@dataclass(frozen=True, eq=False, repr=False)
class ApartAudit(HasCard):
    """The result of an audit of several logs that were written apart.

    Attributes
    ----------
    kept : whether every promise held after every round, in whatever order the logs' rounds are merged.
    rounds : the number of rounds of each log.
    promises : one row per promise: `promise` (floor, cap or window), `arm` (a tuple for a set), `segment`, `limit`,
        `plays`, `broken_by` (the most plays that are missing or too many in any order; 0 if it held in all of them);
        with weights also `weight`, that of its plays, and `broken_by` is in their unit.
    promise : the shares, caps and windows that were checked.
    notes : what to know before trusting the result.
    """

    kept: bool
    rounds: tuple[int, ...]
    promises: pd.DataFrame
    promise: Promise
    notes: tuple[str, ...] = ()

    def _card(self) -> Card:
        verdict = "kept in every order of the logs" if self.kept else "broken in some order of the logs"
        facts: dict[str, Any] = {"promises": verdict, "logs": len(self.rounds), "rounds": sum(self.rounds)}
        return Card("Audit of logs written apart", facts, [Table.of(self.promises, "Promises")])


class Inside:
    """The rounds of one log inside one segment: when each arm was played, and what was on offer."""

    def __init__(self, log: Rounds, mine: Bools) -> None:
        position = np.where(mine, np.cumsum(mine) - 1, -1)
        at = position if len(log.starts) == 0 else np.repeat(position, np.diff(log.starts))
        inside = at >= 0
        order = np.argsort(log.codes[inside], kind="stable")
        self._at, codes = at[inside][order], log.codes[inside][order]
        self._bounds = np.searchsorted(codes, np.arange(len(log.arms) + 1))
        self._offered = log.offers[mine] if len(log.offers) else None
        self._rounds = int(mine.sum())
        self._weights = log.weights[mine] if len(log.weights) else np.ones(self._rounds, np.int64)

    def played(self, places: Sequence[int]) -> Played:
        """Return the plays of arms together, by the clock of the rounds in which one of them was on offer."""
        at = np.sort(np.concatenate([self._at[self._bounds[place] : self._bounds[place + 1]] for place in places]))
        always = np.ones(self._rounds, np.bool_)
        on_offer = always if self._offered is None else self._offered[:, places].any(axis=1)
        weights = np.cumsum(self._weights * on_offer)
        total = int(weights[-1]) if len(weights) else 0
        return Played((np.cumsum(on_offer) - 1)[at], int(on_offer.sum()), self._weights[at], weights[at], total)


class Played(NamedTuple):
    """A clause in one log: the tick of each of its plays, in order, and the ticks of its clock; the weight of each
    play, that of the clock up to its end, and that of the whole clock. Without weights each tick has one of 1."""

    ticks: Ints
    clock: int
    weights: Ints
    ends: Ints
    total: int

    def at_worst(self, clause: Clause) -> tuple[int, int]:
        """Return the plays and the clock, by weight, of the prefix in which a floor or a cap has its least balance."""
        plays = np.concatenate([[0], np.cumsum(self.weights)])
        capped, rate = clause.kind == "cap", clause.share
        # A floor is behind most before a play or at the end, a cap ahead most after a play or before the first round.
        clocks = np.concatenate([[0], self.ends] if capped else [self.ends - self.weights, [self.total]])
        balance = plays * rate.denominator - clocks * rate.numerator  # below 2**30 times the rounds
        worst = int(np.argmax(balance) if capped else np.argmin(balance))
        return int(plays[worst]), int(clocks[worst])

    def stretches(self, most: int) -> list[int]:
        """Return the longest stretches that hold 0, 1, ... up to `most` - 1 plays."""
        ends = np.concatenate([[-1], self.ticks, [self.clock]])
        gaps = [ends[held + 1 :] - ends[: -held - 1] - 1 for held in range(min(most, len(ends) - 1))]
        return [int(each.max()) for each in gaps] + [self.clock] * (most - len(gaps))


def judge_all_orders(owed: AuditedPromise, logs: Sequence[tuple[Rounds, tuple[Label, ...]]]) -> ApartAudit:
    """Return what logs that were written apart, each with its segments, show of a promise in all orders in which they
    can be merged."""
    import pandas as pd

    check_kinds(owed.promise.clauses)
    known, rows = Labels(owed.promise.arms), []
    segments = in_natural_order(distinct(name for _, names in logs for name in names)) or [None]
    inside = {one: [Inside(log, _rounds_of(one, log, names)) for log, names in logs] for one in segments}
    for clause in (term.clause for term in owed.terms):
        mine = known.places(clause.arms)
        for segment in segments:
            each = [log.played(mine) for log in inside[segment]]
            plays = sum(len(log.ticks) for log in each)
            row = row_of(clause, segment) | {"plays": plays, "broken_by": _broken_by(clause, each, owed.scale)}
            weight = Fraction(sum(int(log.weights.sum()) for log in each), owed.scale)
            rows.append(row | ({"weight": int(weight) if owed.scale == 1 else float(weight)} if owed.unit else {}))
    table, rounds = pd.DataFrame(rows), tuple(log.size for log, _ in logs)
    kept = not table["broken_by"].any()
    notes: tuple[str, ...] = () if kept else (NOTE,)
    if owed.unit is None and owed.promise.excuses and any(row["promise"] == "cap" and row["broken_by"] for row in rows):
        notes += (STRICT,) if not all(log.offers.all() for log, _ in logs) else ()
        notes += (UNSAID,) if not all(len(log.offers) for log, _ in logs) else ()
    return ApartAudit(kept, rounds, table, owed.promise, notes)


def _rounds_of(segment: Label | None, log: Rounds, names: tuple[Label, ...]) -> Bools:
    """Return which rounds of a log are of a segment, all of them where there are none (n_rounds,)."""
    if segment is None:
        return np.ones(log.size, np.bool_)
    mine: Bools = log.keys == Labels(names).places([segment])[0]
    return mine


def _broken_by(clause: Clause, logs: Sequence[Played], scale: int) -> float:
    """Return how many plays, or how much weight, is missing, or too much, in the order of the logs that is worst for a
    clause."""
    if isinstance(clause.rate, tuple):
        least, length = clause.rate
        together = reduce(_joined, [log.stretches(least) for log in logs])
        return sum(stretch >= length for stretch in together)
    plays, clock = np.sum([log.at_worst(clause) for log in logs], axis=0).tolist()
    if clause.weight:
        return float(max(Fraction(0), excess_of(clause, plays, clock, scale)))
    return position_of(clause, plays, clock, [])[2]


def _joined(some: list[int], more: list[int]) -> list[int]:
    """Return the longest stretches of two logs together that hold 0, 1, ... plays."""
    return [int(np.add(some[: held + 1], more[held::-1]).max()) for held in range(len(some))]
