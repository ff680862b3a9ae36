"""What a log did with a promise: by how much each clause was ahead or behind, and at its worst, exactly.

Every clause has a balance that adds over logs. With x the ticks of its clock, those rounds of its segment in which one
of its arms was on offer, and N the plays on them:

    floor r     N - r x, which must stay above -(a + 1)
    cap c       c x - N, which must stay above -(b + 1)
    window w    minus the longest stretch without a play, which must stay above -w
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from fractions import Fraction

from evenhand.promises.clause import Clause
from evenhand.protocol import Label

__all__ = ["Balance", "reach", "room"]


class Balance:
    """The rounds of one log, the plays in them, and the least balance of each clause after any of its rounds.

    Parameters
    ----------
    clauses, arms : what is promised, and all arms by their positions.

    Examples
    --------
    >>> balance = Balance([Clause("floor", (arm,), Fraction(1, 2)) for arm in "ab"], ("a", "b"))
    >>> for arm in (0, 0, 1):
    ...     balance.play([arm])
    >>> balance.now(), balance.least()
    ([Fraction(1, 2), Fraction(-1, 2)], [Fraction(0, 1), Fraction(-1, 1)])
    """

    def __init__(self, clauses: Sequence[Clause], arms: Sequence[Label]) -> None:
        self.clauses = tuple(clauses)
        self.rounds = 0
        self._of = [[place for place, clause in enumerate(clauses) if arm in clause.arms] for arm in arms]
        """The clauses of each arm."""
        self._accounts: dict[Hashable, list[_Account]] = {}
        self._ticks: dict[Hashable, int] = {}

    @property
    def keys(self) -> list[Hashable]:
        """The segments that rounds were in, None for a log without."""
        return list(self._accounts)

    def play(self, arms: Sequence[int], offered: Collection[int] | None = None, key: Hashable = None) -> None:
        """Count the next round, in which these arms were played, and only those were on offer, None for all."""
        accounts, tick = self._at(key), self._ticks.get(key, 0)
        plays: dict[int, int] = {}
        for arm in arms:
            for place in self._of[arm]:
                plays[place] = plays.get(place, 0) + 1
        for place, count in plays.items():
            accounts[place].play(count, tick)
        if offered is not None:
            shown = {place for arm in offered for place in self._of[arm]}
            for place, account in enumerate(accounts):
                account.missed += place not in shown
        self._ticks[key] = tick + 1
        self.rounds += 1
        self._accounts[key] = accounts

    def _at(self, key: Hashable) -> list[_Account]:
        return self._accounts.get(key) or [_Account(clause) for clause in self.clauses]

    def now(self, key: Hashable = None) -> list[Fraction]:
        """Return the balance of each clause after the last round (n_clauses,)."""
        return [account.now(self._ticks.get(key, 0)) for account in self._at(key)]

    def least(self, key: Hashable = None) -> list[Fraction]:
        """Return the least balance of each clause after any round, and before the first (n_clauses,)."""
        return [account.worst(self._ticks.get(key, 0))[0] for account in self._at(key)]

    def stretches(self, place: int, key: Hashable = None) -> list[Fraction]:
        """Return of a window the balances that allow 0, 1, ... plays of it in the stretch."""
        return self._at(key)[place].worst(self._ticks.get(key, 0))


class _Account:
    """One clause in one segment."""

    def __init__(self, clause: Clause) -> None:
        self.clause, self.plays, self.missed = clause, 0, 0
        self.window = clause.rate if isinstance(clause.rate, tuple) else None
        rate = Fraction(0) if isinstance(clause.rate, tuple) else clause.rate
        self.numerator, self.denominator = rate.as_integer_ratio()
        self.recent = [0] * (self.window[0] if self.window else 1)
        """The ticks of the last plays of a window."""
        self.low = [0] * len(self.recent)
        """The balance at its least before the last play, in parts of the denominator."""

    def play(self, plays: int, before: int) -> None:
        """Count so many plays in the round that follows `before`."""
        if self.clause.kind != "cap":  # between two plays it falls
            self.low = self._worst(before)
        self.plays += plays
        if self.window:
            self.recent = [*self.recent, *[before + 1 - self.missed] * plays][-len(self.recent) :]
        if self.clause.kind == "cap":  # and that of a cap rises
            self.low = self._worst(before + 1)

    def _parts(self, ticks: int) -> list[int]:
        own = ticks - self.missed
        if self.window:
            return [last - own for last in reversed(self.recent)]
        ahead = self.denominator * self.plays - self.numerator * own
        return [-ahead if self.clause.kind == "cap" else ahead]

    def _worst(self, ticks: int) -> list[int]:
        return list(map(min, self.low, self._parts(ticks)))

    def now(self, ticks: int) -> Fraction:
        """Return the balance after so many rounds of the segment."""
        return Fraction(self._parts(ticks)[0], self.denominator)

    def worst(self, ticks: int) -> list[Fraction]:
        """Return it at its least."""
        return [Fraction(low, self.denominator) for low in self._worst(ticks)]


def reach(clause: Clause) -> Fraction:
    """Return by how much the balance of a clause may fall before it is broken: plays, or of a window rounds."""
    return Fraction(clause.rate[1] if isinstance(clause.rate, tuple) else clause.slack + 1)


def room(base: Balance, workers: Iterable[Balance]) -> list[Fraction]:
    """Return for each clause by how much every prefix of every merge order behind `base` stays above what breaks it, in
    the segment where that is least (n_clauses,): the promise is kept iff all are above 0."""
    logs = list(workers)
    keys = {key: None for log in (base, *logs) for key in log.keys} or {None: None}
    return [min(_room(base, logs, place, key) for key in keys) for place in range(len(base.clauses))]


def _room(base: Balance, logs: Sequence[Balance], place: int, key: Hashable) -> Fraction:
    clause = base.clauses[place]
    if isinstance(clause.rate, tuple):
        return reach(clause) + _longest([log.stretches(place, key) for log in (base, *logs)])
    worst = base.now(key)[place] + sum(log.least(key)[place] for log in logs)
    return min(worst, base.least(key)[place]) + reach(clause)


def _longest(stretches: Sequence[Sequence[Fraction]]) -> Fraction:
    """Return the balance of the longest stretch that holds fewer plays than the window: the plays that it may hold are
    split over the logs so that the sum is the least."""
    best = [Fraction(0)] * len(stretches[0])
    for own in stretches:
        best = [min(best[n - mine] + own[mine] for mine in range(n + 1)) for n in range(len(best))]
    return best[-1]
