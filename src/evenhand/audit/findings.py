"""The result of an audit, and how it is read from the counts of a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.audit.audited_promise import ALL_ON_OFFER, AuditedPromise
from evenhand.audit.period import PeriodOutlook, moment, when_broken
from evenhand.data.groupings import Grouping
from evenhand.display.digits import plain_number
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import figure
from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.books import ClauseCounts
from evenhand.promises.clause import AT_MOST, Clause, Kind
from evenhand.promises.clause_counts import Counts, Excused, Outage, note_ends, note_outages
from evenhand.promises.promise import Promise
from evenhand.promises.round_kernels import excess_of, position_of
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd


LOOKS = 1000
NARROW = 20
"""A picture shows all rounds where those from the first breach to the last are at least one in so many."""
FOREVER = 2**62
"""Ticks of a clock after which all is broken that can be."""


@dataclass(frozen=True)
class Breach:
    """Where a promise was broken first, and by how much.

    Attributes
    ----------
    promise : "floor", "cap" or "window".
    arms : the arm, or the arms that are promised their share together.
    limit : the share, the cap, or the window as (plays, rounds).
    round : the round after which it was broken, counted from 1 over the whole log.
    by : by how many plays, or how much weight, beyond what is tolerated.
    segment : inside which segment; None where the promise is about all rounds.
    slack : how many plays, or how much weight, is tolerated.
    weight : what is shared, None for rounds.
    """

    promise: Kind
    arms: tuple[Label, ...]
    limit: Fraction | tuple[int, int]
    round: int
    by: int | Fraction
    segment: Label | None = None
    slack: int | Fraction = 0
    weight: str | None = None

    def __str__(self) -> str:
        who = "arm " + repr(self.arms[0]) if len(self.arms) == 1 else "the arms " + ", ".join(map(repr, self.arms))
        inside = "" if self.segment is None else f" in segment {self.segment!r}"
        what = Clause(self.promise, self.arms, self.limit, self.slack, self.weight).missed(self.by)
        whose = f"the sum of {self.weight} of {who} was" if self.weight else f"the plays of {who} were"
        return f"after round {self.round:,}{inside}, {whose} {what}"


@dataclass(frozen=True, eq=False, repr=False)
class Audit(HasCard):
    """The result of an audit.

    Attributes
    ----------
    kept : whether every promise held after every round.
    rounds : the number of rounds: of rows, where a row is a round.
    worst_shortfall : the largest r_i t - N_i(t) over all floors and rounds, in pulls; with weights the largest
        r_i W - W_i, in their unit, as all that follows.
    worst_arm, worst_round : the arm concerned, and after which round it was first reached (0: before the first).
    rounds_in_violation : the number of rounds after which a promise that applied was broken.
    first_violation : the first such round and an arm (or a tuple of arms) to which it was broken, or None.
    first_breach : the same with the promise's name, its segment, and by how many plays.
    last_violation, stretches : the last such round, 0 if there is none, and in how many stretches they lie.
    arms : one row per arm, its floors alone: `arm`, `owed` (its share), `share` (what it got of the rounds in which it
        was on offer), `pulls`, `worst_shortfall`, `worst_round`, `rounds_in_violation`; with segments also
        `behind_over_segments`, the sum of r_i t - N_i over all segments at the end; with weights also `weight`, their
        sum.
    promises : one row per promise: `promise` (floor, cap or window), `arm` (a tuple for a set), `segment`, `limit`,
        `since` and `until` (its first round, and its last one, 0 if it is in force at the end), `had` and `of` (the
        plays of its arms, and of how many rounds that offered one; of weights their sums), `share` (`had` of `of`),
        `behind` (of a floor, r A - N at its end), `first_broken`, `last_broken` (rounds, 0 if it held), `stretches`,
        `broken_by` (the most plays), `worst_round`, `rounds_in_violation`, `excused` (plays that a cap does not count)
        with `first_excused` and `last_excused`, `worst_shortfall` (of a floor), `worst_excess` (of a cap, the largest
        N_i(t) - c_i t); with times also `first_broken_at`, `last_broken_at`, `worst_at`, `first_excused_at` and
        `last_excused_at`.
    timeline : at up to 1,000 rounds, and as many of `view`: `round`, its time `at` where it is known, `shortfall` (the
        largest r_i t - N_i(t) then, of arms with a share), `excess` (the largest N_i(t) - c_i t then, of arms with a
        cap), `broken` (the number of rounds so far after which a promise was broken).
    promise : the shares and caps that were checked, the latest where they changed.
    windows : the windows that were checked, arm -> (plays, rounds).
    enough : False where segments in which no decision could have broken a promise hold more than half of the rounds, as
        where each row has a segment of its own; `kept` then says nothing.
    notes : what to know before trusting the result.
    excused : the rounds in which every arm on offer was at its cap, whose plays no cap counts.
    outages : of each arm with a share that was not always on offer, when that was, and how far it is behind at the end
        by all rounds; not where shares change.
    times : the time of each round, as the log has it (n_rounds,), where it has times.
    before : how many of the rounds came before those that are looked at.
    outlook : whether the promise can still be kept by the end of a period, where one was named.
    """

    kept: bool
    rounds: int
    worst_shortfall: float
    worst_arm: Any
    worst_round: int
    rounds_in_violation: int
    first_violation: tuple[int, Any] | None
    arms: pd.DataFrame
    timeline: pd.DataFrame
    promise: Promise
    first_breach: Breach | None = None
    promises: pd.DataFrame = field(default=None)  # type: ignore[assignment]
    windows: dict[Label, tuple[int, int]] = field(default_factory=dict)
    last_violation: int = 0
    stretches: int = 0
    enough: bool = True
    notes: tuple[str, ...] = ()
    excused: Excused = Excused()
    outages: Mapping[Label, Outage] = field(default_factory=dict)
    times: pd.Series[Any] | None = None
    outlook: PeriodOutlook | None = None
    before: int = 0

    @property
    def unit(self) -> str:
        """What shares and shortfalls are counted in: plays, or the name of the weights."""
        return self.promise.weight or "plays"

    def amount(self, value: float) -> str:
        """Write a shortfall: four digits of one in plays, all of one in a unit of weights."""
        return f"{plain_number(value)} {self.unit}" if self.promise.weight else figure(value, 4)

    @property
    def view(self) -> tuple[int, int]:
        """The first and the last round that a picture shows: all, or those about a breach that is short beside them."""
        if self.first_breach is None or (self.last_violation - self.first_breach.round) * NARROW > self.rounds:
            return 1, self.rounds
        room = max(self.last_violation - self.first_breach.round, NARROW)
        return max(1, self.first_breach.round - room), min(self.rounds, self.last_violation + room)

    def time_of(self, round: int) -> Any:
        """Return the time of a round, counted from 1, None where it is not known."""
        return None if self.times is None or not 0 < round <= len(self.times) else self.times.iloc[round - 1]

    def name_of(self, round: int, unit: str = "round") -> str:
        """Return what a round is called in words, with its time."""
        time = self.time_of(round)
        return f"{unit} {round:,}" + ("" if time is None else f" ({moment(time)})")

    def when(self, unit: str = "round") -> str:
        """Return in which rounds a promise was broken, in words."""
        first = self.first_violation[0] if self.first_violation else 0
        return self._when(self.rounds_in_violation, first, self.last_violation, self.stretches, unit)

    def when_one(self, row: Mapping[Any, Any], unit: str = "round") -> str:
        """Return in which rounds the promise of a row of `promises` was broken, in words."""
        always = row["segment"] is None and row["since"] <= 1 and not row["until"]
        times, first, last = (row[name] for name in ("rounds_in_violation", "first_broken", "last_broken"))
        return self._when(times, first, last, row["stretches"], unit, always)

    def _when(self, times: int, first: int, last: int, stretches: int, unit: str, always: bool = True) -> str:
        rounds, begun = self.rounds - self.before if always else 0, self.name_of(first, unit) if first else ""
        return when_broken(times, rounds, begun, self.name_of(last, unit), stretches, still=last == self.rounds)

    @property
    def never_seen(self) -> tuple[Label, ...]:
        """The arms that are promised a share or a window, or have a cap, and never appear in the log."""
        promised = {arm for clause in self.promise.clauses for arm in clause.arms if len(clause.arms) == 1}
        seen = zip(self.promise.arms, self.arms["pulls"], strict=True)
        return tuple(arm for arm, pulls in seen if arm in promised and pulls == 0)

    @property
    def owed(self) -> pd.DataFrame:
        """The rows of `promises` that promise something."""
        return self.promises[(self.promises["promise"] != "floor") | (self.promises["limit"] != "0")]

    @property
    def verdict(self) -> str:
        """Whether the promise was kept, as a sentence: in how many rounds it was broken, and from where on."""
        if not self.enough:
            return "The promise was not put to the test: most segments are too short to break it"
        if self.first_breach is None:
            return f"The promise was kept in {f'each of {self.rounds:,} rounds' if self.rounds > 1 else '1 round'}"
        return f"The promise was broken {self.when()}"

    def _card(self) -> Card:
        worst = self.name_of(self.worst_round)
        behind = f"{self.amount(self.worst_shortfall)}{'' if self.promise.weight else ' plays'}"
        behind += f", of {self.worst_arm!r} after {worst}"
        facts: dict[str, Any] = {"finding": self.verdict}
        facts |= {} if self.first_breach is None else {"first broken": self.first_breach}
        facts["largest shortfall"] = behind if self.worst_shortfall > 0 else "none"
        if self.never_seen:
            facts["never seen"] = self.never_seen
        facts |= {"by the end": self.outlook.verdict} if self.outlook else {}
        tables = [Table.of(self.arms, "Arms")]
        if self.promises is not None and (self.promises["promise"] != "floor").any():
            tables.append(Table.of(self.promises, "Promises"))
        return Card("Audit", facts, tables)


class Entered(NamedTuple):
    """What was entered into books.

    Attributes
    ----------
    rounds : how many.
    pulls, on_offer : of each arm (n_arms,), its plays and the rounds in which it was on offer, or their weight.
    keys : the segments in natural order and the key of each; {None: 0} where there are none.
    looks, now : rounds, and what is seen after each (n_looks, 3), as `ClauseCounts.follow` returns it.
    weights : of each arm (n_arms,) the weight of its plays, 0 where rounds have none.
    """

    rounds: int
    pulls: Ints
    on_offer: Ints
    keys: dict[Label | None, int]
    looks: Ints
    now: Floats
    weights: Ints


def open_books(owed: AuditedPromise, keys: int, **start: Any) -> ClauseCounts:
    """Return books of everything that is promised."""
    start |= {"spans": [term[1:] for term in owed.terms], "scale": owed.scale, "excuses": owed.promise.excuses}
    return ClauseCounts([term.clause for term in owed.terms], owed.promise.arms, keys, **start)


def looks_at(first: int, last: int) -> Ints:
    """Return the rounds, at most 1,000 of these, at which the finding says how large the largest shortfall is."""
    at: Ints = np.unique(np.linspace(first, last, min(last - first + 1, LOOKS)).astype(np.int64))
    return at


def with_times(finding: Audit, times: pd.Series[Any] | None) -> Audit:
    """Return a finding that names the time of each round (n_rounds,) beside its number."""
    found = replace(finding, times=times)
    if times is not None:
        found = _with_columns_of_times(found)
    outages = note_outages(found.outages, found.unit, found.name_of)
    return replace(found, notes=(*found.notes, *outages, *found.excused.notes(found.name_of)))


def _with_columns_of_times(found: Audit) -> Audit:
    """Return a finding whose tables name the times of rounds."""
    named = {"first_broken_at": "first_broken", "last_broken_at": "last_broken", "worst_at": "worst_round"}
    named |= {"first_excused_at": "first_excused", "last_excused_at": "last_excused"}
    promises = {name: [*map(found.time_of, found.promises[of])] for name, of in named.items()}
    timeline = found.timeline.assign(at=[*map(found.time_of, found.timeline["round"])])
    return replace(found, promises=found.promises.assign(**promises), timeline=timeline)


def finding(owed: AuditedPromise, counts: Counts, entered: Entered) -> Audit:
    """Return the finding of an audit whose books were closed."""
    import pandas as pd

    promise, labels = owed.promise, owed.promise.arms
    place = {label: i for i, label in enumerate(labels)}
    largest = [(0.0, 0)] * len(labels)
    in_violation, left = np.zeros(len(labels), np.int64), np.zeros(len(labels))
    rows: list[dict[str, Any]] = []
    first: Breach | None = None
    furthest: tuple[float, int, Any] = 0.0, 0, labels[0]
    for q, term in enumerate(owed.terms):
        kind, arms, rate, slack, weight = term.clause
        for segment, key in entered.keys.items():
            at = key * len(owed.terms) + q
            shown = _extent(term.clause, counts, at, owed.scale)
            row = promise_row(term.clause, counts, at, owed.scale, segment, span=(int(counts.begun[at]), 0))
            rows.append(row | {"until": term.end if term.end < entered.rounds else 0})
            began, worst, worst_at = int(counts.first[at]), shown.worst, shown.worst_at
            if began and (first is None or began < first.round):
                first = Breach(kind, arms, rate, began, shown.first_by, segment, slack, weight)
            if kind == "floor":
                furthest = (worst, worst_at, _named(arms)) if worst > furthest[0] else furthest
                if len(arms) == 1:
                    i = place[arms[0]]
                    largest[i] = max(largest[i], (worst, worst_at), key=itemgetter(0))
                    in_violation[i] += counts.times[at]
                    left[i] += float((term.clause.share * int(counts.clock[at]) - int(counts.plays[at])) / owed.scale)
    enough, notes = _tested(owed, counts, entered) if first is None else (True, _supposed(owed, rows, entered))
    on_offer, got = entered.on_offer, entered.weights if owed.unit else entered.pulls
    behind_now, ahead, broken = np.where(entered.now == -np.inf, np.nan, entered.now).T
    seen = {"round": entered.looks, "shortfall": behind_now / owed.scale, "excess": ahead / owed.scale}
    table = {
        "arm": labels,
        "owed": promise.floats(),
        "share": np.divide(got, on_offer, out=np.full(len(labels), np.nan), where=on_offer > 0),
        "pulls": entered.pulls,
        **({"weight": got / owed.scale if owed.scale > 1 else got} if owed.unit else {}),
        "worst_shortfall": [float(behind) for behind, _ in largest],
        "worst_round": [round for _, round in largest],
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
        timeline=pd.DataFrame(seen | {"broken": broken.astype(np.int64)}),
        promise=promise,
        first_breach=first,
        promises=pd.DataFrame(rows),
        windows=owed.windows,
        last_violation=int(counts.broken[3]),
        stretches=int(counts.broken[2]),
        enough=enough,
        notes=(*notes, *note_ends(counts, labels, entered.rounds)),
        excused=Excused.of(counts, labels),
        outages=_outages(owed, counts, entered),
    )


def _supposed(owed: AuditedPromise, rows: list[dict[str, Any]], entered: Entered) -> tuple[str, ...]:
    """Return what a broken cap supposes where no arm is known to have been away."""
    capped = owed.promise.excuses and any(row["promise"] == "cap" and row["first_broken"] for row in rows)
    return (ALL_ON_OFFER,) if capped and (entered.on_offer == entered.rounds).all() else ()


def _outages(owed: AuditedPromise, counts: Counts, entered: Entered) -> dict[Label, Outage]:
    """Return when the arms with a share were away, and how far they are behind by all rounds."""
    had, all_rounds = (entered.weights, int(counts.total.sum())) if owed.unit else (entered.pulls, entered.rounds)
    away = zip(owed.promise.arms, owed.promise.shares, had.tolist(), counts.gone.tolist(), strict=True)
    return {
        arm: Outage(rounds, first, last, float((share * all_rounds - mine) / owed.scale))
        for arm, share, mine, (rounds, first, last) in away
        if share and rounds and not any(term.start for term in owed.terms)
    }


def _tested(owed: AuditedPromise, counts: Counts, entered: Entered) -> tuple[bool, tuple[str, ...]]:
    """Return whether segments are long enough for promises that were kept, and what is to be said where no decision
    could have broken them."""
    at_once = -(-int(entered.pulls.sum()) // entered.rounds)
    if not any(_breakable(term.clause, FOREVER, at_once, owed.scale) for term in owed.terms):
        return True, ("Nothing is promised that could be broken, such as a share above 0.",)
    clocks = counts.clock.reshape(-1, len(owed.terms)).tolist()
    judged = np.array(
        [
            any(
                _breakable(term.clause, clock, at_once, owed.scale)
                for term, clock in zip(owed.terms, clocks[key], strict=True)
            )
            for key in entered.keys.values()
        ]
    )
    if None in entered.keys:
        rounds = f"{entered.rounds:,} round{'s' * (entered.rounds > 1)}"
        short = f"No decision could have broken a promise: the log is too short, {rounds}."
        return True, () if judged.all() else (short,)
    segments = Grouping(list(entered.keys), counts.tick[list(entered.keys.values())], judged)
    return segments.enough, segments.note("segments", "are too short for a promise to be broken in them")


def _breakable(clause: Clause, clock: int, at_once: int, scale: int) -> bool:
    """Return whether a clause can be broken in so many ticks of its clock, or in ticks of such a weight: at worst its
    arms are never played, or those of a cap always."""
    plays = min(len(clause.arms), at_once) * clock if clause.kind in AT_MOST else 0
    if clause.weight:
        return excess_of(clause, plays, clock, scale) > 0
    return position_of(clause, plays, clock, [0])[2] > 0


def row_of(clause: Clause, segment: Label | None) -> dict[str, Any]:
    """Return the names of a clause in a table of promises."""
    return {"promise": clause.kind, "arm": _named(clause.arms), "segment": segment, "limit": clause.rate_as_text}


class Extent(NamedTuple):
    """How far a clause was missed: the largest r A - N, of a cap N - c A, and its round, the most plays, or weight,
    beyond what is tolerated and its round, and how many when it was broken first."""

    worst: float
    worst_at: int
    most: float
    most_at: int
    first_by: int | Fraction


def _extent(clause: Clause, counts: Counts, at: int, scale: int) -> Extent:
    """Return how far a clause was missed, in the unit in which weights are counted with so many whole numbers each."""
    worst, worst_at = float(counts.worst[at]), int(counts.worst_at[at])
    most, most_at, first_by = int(counts.most[at]), int(counts.most_at[at]), int(counts.first_by[at])
    if not clause.weight:
        return Extent(worst, worst_at, most, most_at, first_by)
    whole = clause.share.denominator * scale
    furthest, broken = Fraction(most, whole), counts.first[at] > 0
    over = float(furthest - clause.slack) if broken else 0.0
    return Extent(float(furthest), most_at, over, most_at if broken else 0, Fraction(first_by, whole))


def promise_row(
    clause: Clause, counts: Counts, at: int, scale: int, segment: Label | None = None, *, span: tuple[int, int]
) -> dict[str, Any]:
    """Return a clause's row in the table of promises, from books that were closed: `span` is the first round in which
    it is in force, and for how many of these its clock waited."""
    shown, whole = _extent(clause, counts, at, scale), float if clause.weight else int
    had, clock = Fraction(int(counts.plays[at]), scale), Fraction(int(counts.clock[at]), scale)
    of = clock + span[1]
    return {
        **row_of(clause, segment),
        "since": span[0],
        "until": 0,
        "had": whole(had),
        "of": whole(of),
        "share": float(had / of) if of else None,
        "behind": float(clause.share * max(clock, Fraction(0)) - had) if clause.kind == "floor" else None,
        "first_broken": int(counts.first[at]),
        "last_broken": int(counts.last[at]),
        "stretches": int(counts.stretches[at]),
        "broken_by": shown.most,
        "worst_round": shown.most_at,
        "rounds_in_violation": int(counts.times[at]),
        "excused": int(counts.excused[at]),
        "first_excused": int(counts.excused_first[at]),
        "last_excused": int(counts.excused_last[at]),
        "worst_shortfall": shown.worst if clause.kind == "floor" else None,
        "worst_excess": shown.worst if clause.kind in AT_MOST else None,
    }


def _named(arms: tuple[Label, ...]) -> Any:
    """Return an arm's label, or the labels of a set of arms."""
    return arms[0] if len(arms) == 1 else arms
