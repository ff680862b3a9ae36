"""What books show of a log, as the finding of an audit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.audit.audited_promise import AuditedPromise, Term
from evenhand.audit.findings import Audit, Breach
from evenhand.data.groupings import Grouping
from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.books import Books
from evenhand.promises.clause import AT_MOST, Clause
from evenhand.promises.round_kernels import Counts, position_of
from evenhand.protocol import Label

LOOKS = 1000
FOREVER = 2**62
"""Ticks of a clock after which all is broken that can be."""


class Entered(NamedTuple):
    """What was entered into books.

    Attributes
    ----------
    rounds : how many.
    pulls, on_offer : of each arm (n_arms,), its plays and the rounds in which it was on offer.
    keys : the segments in natural order and the key of each; {None: 0} where there are none.
    looks, now : rounds, and what is seen after each (n_looks, 3), as `Books.follow` returns it.
    """

    rounds: int
    pulls: Ints
    on_offer: Ints
    keys: dict[Label | None, int]
    looks: Ints
    now: Floats


def open_books(owed: AuditedPromise, keys: int, **start: Any) -> Books:
    """Return books of everything that is promised."""
    spans = [(term.start, term.end) for term in owed.terms]
    return Books([term.clause for term in owed.terms], owed.promise.arms, keys, spans=spans, **start)


def looks_at(rounds: int) -> Ints:
    """Return the rounds, at most 1,000, at which the finding says how large the largest shortfall is."""
    at: Ints = np.unique(np.linspace(1, rounds, min(rounds, LOOKS)).astype(np.int64))
    return at


def finding(owed: AuditedPromise, counts: Counts, entered: Entered) -> Audit:
    """Return the finding of an audit whose books were closed."""
    import pandas as pd

    promise, labels = owed.promise, owed.promise.arms
    place = {label: i for i, label in enumerate(labels)}
    largest, worst_rounds = np.zeros(len(labels)), np.zeros(len(labels), np.int64)
    in_violation, left = np.zeros(len(labels), np.int64), np.zeros(len(labels))
    rows: list[dict[str, Any]] = []
    first: Breach | None = None
    furthest: tuple[float, int, Any] = 0.0, 0, labels[0]
    for q, term in enumerate(owed.terms):
        kind, arms, rate, _ = term.clause
        for segment, key in entered.keys.items():
            at = key * len(owed.terms) + q
            rows.append(_row(term, counts, at, segment))
            began, worst, worst_at = int(counts.first[at]), float(counts.worst[at]), int(counts.worst_at[at])
            if began and (first is None or began < first.round):
                first = Breach(kind, arms, rate, began, int(counts.first_by[at]), segment)
            if kind == "floor":
                if worst > furthest[0]:
                    furthest = worst, worst_at, _named(arms)
                if len(arms) == 1:
                    i = place[arms[0]]
                    if worst > largest[i]:
                        largest[i], worst_rounds[i] = worst, worst_at
                    in_violation[i] += counts.times[at]
                    left[i] += float(rate) * int(counts.clock[at]) - int(counts.plays[at])  # type: ignore[arg-type]
    enough, notes = _tested(owed, counts, entered) if first is None else (True, ())
    on_offer, (behind, ahead, broken) = entered.on_offer, np.where(entered.now == -np.inf, np.nan, entered.now).T
    seen = {"round": entered.looks, "shortfall": behind, "excess": ahead, "broken": broken.astype(np.int64)}
    table = {
        "arm": labels,
        "owed": promise.floats(),
        "share": np.divide(entered.pulls, on_offer, out=np.full(len(labels), np.nan), where=on_offer > 0),
        "pulls": entered.pulls,
        "worst_shortfall": largest,
        "worst_round": worst_rounds,
        "rounds_in_violation": in_violation,
    }
    return Audit(
        kept=first is None,
        rounds=entered.rounds,
        worst_shortfall=furthest[0],
        worst_arm=furthest[2],
        worst_round=furthest[1],
        rounds_in_violation=int(counts.broken[0]),
        first_violation=None if first is None else (first.round, _named(first.arms)),
        arms=pd.DataFrame(table if None in entered.keys else table | {"behind_over_segments": left}),
        timeline=pd.DataFrame(seen),
        promise=promise,
        first_breach=first,
        promises=pd.DataFrame(rows),
        windows=owed.windows,
        enough=enough,
        notes=notes,
    )


def _tested(owed: AuditedPromise, counts: Counts, entered: Entered) -> tuple[bool, tuple[str, ...]]:
    """Return whether segments are long enough for promises that were kept, and what is to be said where no decision
    could have broken them."""
    at_once = -(-int(entered.pulls.sum()) // entered.rounds)
    if not any(_breakable(term.clause, FOREVER, at_once) for term in owed.terms):
        return True, ("Nothing is promised that could be broken, such as a share above 0.",)
    clocks = counts.clock.reshape(-1, len(owed.terms)).tolist()
    judged = np.array(
        [
            any(_breakable(term.clause, clock, at_once) for term, clock in zip(owed.terms, clocks[key], strict=True))
            for key in entered.keys.values()
        ]
    )
    if None in entered.keys:
        short = f"No decision could have broken a promise: the log is too short, {entered.rounds:,} rounds."
        return True, () if judged.all() else (short,)
    segments = Grouping(list(entered.keys), counts.tick[list(entered.keys.values())], judged)
    return segments.enough, segments.note("segments", "are too short for a promise to be broken in them")


def _breakable(clause: Clause, clock: int, at_once: int) -> bool:
    """Return whether a clause can be broken in so many ticks of its clock: at worst its arms are never played, or those
    of a cap always."""
    plays = min(len(clause.arms), at_once) * clock if clause.kind in AT_MOST else 0
    return position_of(clause, plays, clock, [0])[2] > 0


def row_of(clause: Clause, segment: Label | None) -> dict[str, Any]:
    """Return the names of a clause in a table of promises."""
    return {"promise": clause.kind, "arm": _named(clause.arms), "segment": segment, "limit": clause.rate_as_text}


def _row(term: Term, counts: Counts, at: int, segment: Label | None) -> dict[str, Any]:
    """Return a clause's row in the table of promises."""
    return {
        **row_of(term.clause, segment),
        "since": int(counts.begun[at]),
        "first_broken": int(counts.first[at]),
        "broken_by": int(counts.most[at]),
        "worst_round": int(counts.most_at[at]),
        "rounds_in_violation": int(counts.times[at]),
        "worst_shortfall": float(counts.worst[at]) if term.clause.kind == "floor" else None,
    }


def _named(arms: tuple[Label, ...]) -> Any:
    """Return an arm's label, or the labels of a set of arms."""
    return arms[0] if len(arms) == 1 else arms
