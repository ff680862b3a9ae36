"""What is counted of a promise: its clauses as arrays, and the running counts of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evenhand.display.digits import number
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.promises.clause import listed
from evenhand.protocol import Label


class ClauseRates(NamedTuple):
    """What is promised, an entry for each clause (n_clauses,)."""

    kinds: Ints
    shares: Floats
    """r of a floor, to say r A - N by; 0 for others."""
    numerators: Ints
    denominators: Ints
    steps: Ints
    remainders: Ints
    """p, q, q // p and q % p."""
    plays: Ints
    lengths: Ints
    """n and w of a window; a or b of a floor or a cap."""
    live: Bools
    """Whether it is promised now."""
    first: Ints
    owners: Ints
    """Whose plays count: arm a is among the members of the clauses owners[first[a]] .. owners[first[a + 1] - 1]."""
    excuses: bool
    """Whether rounds are excused in which every arm on offer is at its cap."""


class Counts(NamedTuple):
    """The running counts and what they show: of each key (n_keys,), then of each key and clause (n_keys * n_clauses,),
    then of all."""

    tick: Ints
    next: Ints
    """No number changes before this tick but by a play."""
    wrong: Ints
    """How many clauses are broken."""
    round: Ints
    """The round of the last tick."""
    total: Ints
    """The weight of all ticks, 0 where rounds have none."""
    plays: Ints
    whole: Ints
    rest: Ints
    missed: Ints
    since: Ints
    """The tick from which on it is broken."""
    over: Ints
    """The tick from which on it was not broken any more."""
    idle: Ints
    away: Ints
    """Ticks of the key that were none of the clause, and their weight."""
    paused: Ints
    """The last of these ticks, and the round of the clause's own last tick before it."""
    before: Ints
    recent: Ints
    """(n_keys * n_clauses, most): the ticks of a window's last plays, in a ring."""
    begun: Ints
    """The round of the first tick."""
    times: Ints
    """After how many of its rounds it was broken, the first of them and by how much, the worst and by how much."""
    first: Ints
    first_by: Ints
    most_at: Ints
    most: Ints
    stretches: Ints
    """How many times it began to be broken, and the last round after which it was."""
    last: Ints
    worst: Floats
    """The largest r A - N, of a cap N - c A, and the round at whose end it was first reached."""
    worst_at: Ints
    clock: Ints
    """The ticks, or their weight, when it was closed."""
    excused: Ints
    """Plays that a cap does not count, and the first and the last round with one."""
    excused_first: Ints
    excused_last: Ints
    offered: Ints
    """(n_clauses,): the last round that offered one of its arms."""
    absent: Ints
    """(n_arms,): in how many rounds with such a play the arm was not on offer."""
    gone: Ints
    """(n_arms, 3): in how many rounds the arm was not on offer, and the first and the last of them."""
    broken: Ints
    """(5,): rounds after which one that ticked was broken; whether the last round was such a one; in how many stretches
    they lie, and the last of them; whether one is broken now, ticked or not."""


class Outage(NamedTuple):
    """In how many rounds an arm was not on offer, the first and the last of them, and by how many plays, or how much
    weight, it is behind its share now if these count too."""

    rounds: int
    first: int
    last: int
    behind: float = 0.0


def away_of(counts: Counts, arms: Sequence[Label], before: Mapping[Label, Outage]) -> dict[Label, Outage]:
    """Return when each arm was not on offer, also in earlier rounds."""
    found, never = dict(before), Outage(0, 0, 0)
    for arm, (rounds, first, last) in zip(arms, counts.gone.tolist(), strict=True):
        if rounds:
            earlier = found.get(arm, never)
            found[arm] = Outage(earlier.rounds + rounds, earlier.first or first, last)
    return found


def note_outages(
    outages: Mapping[Label, Outage], unit: str = "plays", name_of: Callable[[int], str] = "round {:,}".format
) -> tuple[str, ...]:
    """Return a sentence about arms that were away, () where there are none.

    >>> note_outages({"a": Outage(12, 5, 40, 2.5), "b": Outage(1, 7, 7, -3.0)})
    ('By all rounds a is 2.5 plays behind (away in 12, from round 5 to round 40), b 3 plays ahead (away in round 7).',)
    """
    said: list[str] = []
    for arm, (rounds, first, last, behind) in outages.items():
        when = f"{rounds:,}, from {name_of(first)} to {name_of(last)}" if rounds > 1 else name_of(first)
        where = f"{number(abs(behind))} {unit} {'behind' if behind >= 0 else 'ahead'}"
        said.append(f"{arm}{' is' * (not said)} {where} (away in {when})")
    return (f"By all rounds {listed(said)}.",) if said else ()


def note_ends(counts: Counts, arms: Sequence[Label], last: int) -> tuple[str, ...]:
    """Return a sentence about arms that were away from the first round on or to the last, () where there are none."""
    gone = zip(arms, counts.gone.tolist(), strict=True)
    there = [arm for arm, (rounds, began, ended) in gone if rounds and (began == 1 or ended == last)]
    were = f"{listed(there)} {'was' if len(there) == 1 else 'were'} away from the first round on or to the last"
    return (f"{were}: a log does not tell an outage from an arm that has not joined yet or has left.",) if there else ()


class Excused(NamedTuple):
    """Rounds in which every arm on offer was at its cap, whose plays no cap counts.

    Attributes
    ----------
    plays, first, last : how many such plays, and the first and the last round with one, 0 for none.
    away : in how many of these rounds each arm was not on offer; without those that always were.
    """

    plays: int = 0
    first: int = 0
    last: int = 0
    away: Mapping[Label, int] = {}

    @classmethod
    def of(cls, counts: Counts, arms: Sequence[Label]) -> Excused:
        """Return what was counted of the plays of these arms."""
        away = {arm: times for arm, times in zip(arms, counts.absent.tolist(), strict=True) if times}
        first = min(counts.excused_first[counts.excused > 0].tolist(), default=0)
        return cls(int(counts.excused.sum()), first, int(counts.excused_last.max(initial=0)), away)

    def then(self, later: Excused) -> Excused:
        """Return this followed by what was found in later rounds."""
        away = {arm: self.away.get(arm, 0) + later.away.get(arm, 0) for arm in {**self.away, **later.away}}
        return Excused(self.plays + later.plays, self.first or later.first, later.last or self.last, away)

    def notes(self, name_of: Callable[[int], str] = "round {:,}".format) -> tuple[str, ...]:
        """Return a sentence that says so, () where there were none; `name_of` says what a round is called.

        >>> Excused(3, 5, 9, {"c": 3}).notes()
        ('No cap counts 3 plays, from round 5 to round 9, when every arm on offer was at its cap; away then: c (3).',)
        """
        if not self.plays:
            return ()
        when = f"from {name_of(self.first)} to {name_of(self.last)}" if self.plays > 1 else f"in {name_of(self.first)}"
        most = sorted(self.away.items(), key=lambda one: (-one[1], str(one[0])))
        away = listed([f"{arm} ({times:,})" for arm, times in most])
        what = f"{self.plays:,} play{'s' if self.plays > 1 else ''}"
        return (f"No cap counts {what}, {when}, when every arm on offer was at its cap; away then: {away}.",)
