"""What an audit finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand.display.html import Card, Shown, Table
from evenhand.errors import figure
from evenhand.promises.clause import Clause, Kind
from evenhand.promises.promise import Promise
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Breach:
    """Where a promise was broken first, and by how much.

    Attributes
    ----------
    promise : "floor", "cap" or "window".
    arms : the arm, or the arms that are promised their share together.
    limit : the share, the cap, or the window as (plays, rounds).
    round : the round after which it was broken, counted from 1 over the whole log.
    by : by how many plays.
    segment : inside which segment, None where the promise is about all rounds.
    """

    promise: Kind
    arms: tuple[Label, ...]
    limit: Fraction | tuple[int, int]
    round: int
    by: int
    segment: Label | None = None

    def __str__(self) -> str:
        who = "arm " + repr(self.arms[0]) if len(self.arms) == 1 else "the arms " + ", ".join(map(repr, self.arms))
        inside = "" if self.segment is None else f" in segment {self.segment!r}"
        what = Clause(self.promise, self.arms, self.limit).missed(self.by)
        return f"after round {self.round}{inside}, the plays of {who} were {what}"


def when_broken(times: int, first: int, rounds: int, unit: str = "row") -> str:
    """Return in which of so many rounds a promise was broken, in words.

    >>> when_broken(9991, 10, 10_000), when_broken(2, 60, 100), when_broken(0, 0, 100)
    ('in 9,991 of 10,000 rounds, from row 10 on', 'in 2 of 100 rounds, first at row 60', 'never')
    """
    if not times:
        return "never"
    since = f"from {unit} {first:,} on" if times == rounds - first + 1 else f"first at {unit} {first:,}"
    return f"in {times:,} of {rounds:,} rounds, {since}"


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """The finding of an audit.

    Attributes
    ----------
    kept : whether every promise held after every round.
    rounds : the number of rounds: of rows, where a row is a round.
    worst_shortfall : the largest r_i t - N_i(t) over all floors and rounds, in pulls.
    worst_arm, worst_round : whose it was, and after which round it was first reached (0: before the first).
    rounds_in_violation : after how many rounds a promise that applied to them was broken.
    first_violation : the first such round and an arm (or a tuple of arms) to which it was broken, or None.
    first_breach : the same with the promise's name, its segment, and by how many plays.
    arms : a row an arm, its floors alone: `arm`, `owed` (its share), `share` (what it got of the rounds in which it was
        on offer), `pulls`, `worst_shortfall`, `worst_round`, `rounds_in_violation`; with segments also
        `behind_over_segments`, the sum of r_i t - N_i over all segments at the end.
    promises : a row a promise: `promise` (floor, cap or window), `arm` (a tuple for a set), `segment`, `since` (its
        first round), `limit`, `first_broken` (a round, 0 if it held), `broken_by` (the most plays), `worst_round`,
        `rounds_in_violation`, `worst_shortfall` (of a floor).
    timeline : at up to 1,000 rounds: `round`, `shortfall` (the largest r_i t - N_i(t) now of whom a share is owed),
        `excess` (the largest N_i(t) - c_i t now of whom a cap holds), `broken` (after how many rounds up to now a
        promise was broken).
    promise : the shares and caps that were checked, the latest where they changed.
    windows : the windows that were checked, arm -> (plays, rounds).
    enough : False where segments in which no decision could have broken a promise hold more than half of the rounds,
        as where the column names each row; `kept` says nothing then.
    notes : what to know before the finding is believed.
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
    enough: bool = True
    notes: tuple[str, ...] = ()

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
            return f"The promise was kept in each of {self.rounds:,} rounds"
        times, first = self.rounds_in_violation, self.first_breach.round
        return f"The promise was broken {when_broken(times, first, self.rounds, 'round')}"

    def card(self) -> Card:
        behind = f"{figure(self.worst_shortfall, 4)} plays, of {self.worst_arm!r} after round {self.worst_round}"
        facts: dict[str, Any] = {"finding": self.verdict}
        facts |= {} if self.first_breach is None else {"first broken": self.first_breach}
        facts["largest shortfall"] = behind if self.worst_shortfall > 0 else "none"
        if self.never_seen:
            facts["never seen"] = self.never_seen
        tables = [Table.of(self.arms, "Arms")]
        if self.promises is not None and (self.promises["promise"] != "floor").any():
            tables.append(Table.of(self.promises, "Promises"))
        return Card("Audit", facts, tables)
