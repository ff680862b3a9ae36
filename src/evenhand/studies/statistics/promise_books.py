"""What a promise owes and what was played, counted round by round in whole numbers: each clause, a floor, a cap or a
window of an arm or of a set of arms, by its own clock.

The clock A counts the rounds in which one of the clause's arms was on offer, N its plays in them. A floor r is broken
where floor(r A) - N > a, that is from A >= (N + a + 1) / r on; where r A - N may be b, exactly, it is broken from
A > (N + b) / r on. A cap c is broken where N > ceil(c A) + b, that is up to A <= (N - b - 1) / c. A window (n, w) is
broken where the n-th last play was w ticks of the clock ago or more; the time before the first counts as played.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Any, Self

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.promises.promise import Promise

__all__ = ["Books", "Owner"]

NEVER = 1 << 62
Owner = int | tuple[int, ...]
"""The position of an arm, or the positions of a set of arms."""
SAVED = ("_clock", "_wait", "_plays", "_on", "worst", "worst_round")


class Books:
    """The counts of one promise in one sequence of rounds.

    Attributes
    ----------
    owners : whom something is promised to: the arms, then sets of arms, then arms that came later.
    rounds : how many rounds were entered.
    worst, worst_round : the largest r A - N of each owner (n_owners,) at the end of any round, and the round.
    """

    def __init__(self, promise: Promise, retired: Sequence[int]) -> None:
        self.rounds = 0
        self.owners: list[Owner] = []
        self._at: dict[Owner, int] = {}
        none = np.zeros(0, np.int64)
        self._clock, self._plays, self._on, self.worst_round = none, none, none, none
        self._wait, self.worst = none, np.zeros(0)
        """On the clock of each owner, when its floor begins to count; and see above."""
        self._last: dict[int, deque[int]] = {}
        """The moments of the last plays of owners with a window, by their clocks."""
        self.owe(promise)
        for arm in retired:
            self._take_off(arm)

    def owe(self, promise: Promise) -> None:
        """Owe what a promise says from the present counts on."""
        place = {arm: i for i, arm in enumerate(promise.arms)}
        sets = [tuple(place[arm] for arm in arms) for arms, _ in promise.sets]
        stated = [(tuple(place[arm] for arm in clause.arms), clause) for clause in promise.clauses]
        wanted: list[Owner] = [*place.values(), *sets, *(who for who, _ in stated if len(who) > 1)]
        for owner in wanted:
            if owner not in self._at:
                self._at[owner] = len(self.owners)
                self.owners.append(owner)
        more = len(self.owners) - len(self._clock)
        for name in SAVED:
            begun = 1 if name == "_on" else 0
            setattr(self, name, np.pad(getattr(self, name), (0, more), constant_values=begun))
        self._together = [(n, set(who)) for n, who in enumerate(self.owners) if isinstance(who, tuple)]
        self._shares = [Fraction(0)] * len(self.owners)
        self._slacks: list[int | Fraction] = [promise.slack] * len(self.owners)
        self._caps: dict[int, tuple[Fraction, int]] = {}
        """The caps, and by how many plays owners may be ahead of them."""
        self._windows: dict[int, int] = {}
        for who, (kind, _, rate, slack) in stated:
            n = self._at[who if len(who) > 1 else who[0]]
            if isinstance(rate, tuple):
                self._windows[n] = rate[1]
                self._last.setdefault(n, deque([int(self._clock[n])] * rate[0], maxlen=rate[0]))
            elif kind == "cap":
                self._caps[n] = rate, int(slack)
            else:
                self._shares[n], self._slacks[n] = rate, slack
        self._settle()

    def _settle(self) -> None:
        """Work out from the counts when each floor falls due, and up to when each cap is passed."""
        self._floats = np.array([float(share) for share in self._shares])
        self._due = np.array([self._falls_due(n) for n in range(len(self.owners))], np.int64)
        self._over = np.array([self._passed_until(n) for n in range(len(self.owners))], np.int64)

    def _falls_due(self, n: int) -> int:
        """Return when, on its clock, the owner's present plays break its share."""
        share, slack, plays = self._shares[n], self._slacks[n], int(self._plays[n])
        if not share or not self._on[n]:
            return NEVER
        if isinstance(slack, Fraction):
            return min(NEVER, floor((plays + slack) / share) + 1 + int(self._wait[n]))
        return min(NEVER, -(-(plays + slack + 1) * share.denominator // share.numerator) + int(self._wait[n]))

    def _passed_until(self, n: int) -> int:
        """Return up to when, on its clock, the owner's present plays are more than its cap allows."""
        if n not in self._caps:
            return -NEVER
        (cap, ahead), plays = self._caps[n], int(self._plays[n])
        if not cap:
            return NEVER if plays > ahead else -NEVER
        return max(-NEVER, (plays - ahead - 1) * cap.denominator // cap.numerator)

    # ------------------------------------------------------------------ rounds

    @property
    def behind(self) -> Floats:
        """r A - N for each owner (n_owners,) now."""
        behind: Floats = self._floats * np.maximum(self._clock - self._wait, 0) - self._plays
        return behind

    def behind_of(self, arms: int) -> Floats:
        """Return r A - N for each of so many arms now."""
        return self.behind[[self._at[arm] for arm in range(arms)]]

    def enter(self, played: Sequence[int], offered: Sequence[int] | None) -> None:
        """Enter a round: the arms that were played, and those on offer where not all were."""
        self.rounds += 1
        if offered is None:
            self._clock += self._on
        else:
            self._clock[[self._at[arm] for arm in offered]] += 1
            for n, members in self._together:
                self._clock[n] += not members.isdisjoint(offered)
        for arm in played:
            self._count(self._at[arm])
            for n, members in self._together:
                if arm in members:
                    self._count(n)
        behind = self.behind
        more = behind > self.worst
        self.worst[more], self.worst_round[more] = behind[more], self.rounds

    def _count(self, n: int) -> None:
        self._plays[n] += 1
        self._due[n], self._over[n] = self._falls_due(n), self._passed_until(n)
        if n in self._last:
            self._last[n].append(int(self._clock[n]))

    def broken(self) -> Owner | None:
        """Return to whom the promise is broken at the end of this round, None where it is kept."""
        for wrong in (self._clock >= self._due, self._clock <= self._over):
            if wrong.any():
                return self.owners[int(wrong.argmax())]
        late = (n for n, length in self._windows.items() if self._last[n][0] + length <= self._clock[n])
        first = next((n for n in late if self._on[n]), None)
        return None if first is None else self.owners[first]

    # ------------------------------------------------------------------ changes

    def _take_off(self, arm: int) -> None:
        self._on[self._at[arm]] = 0
        for n, members in self._together:
            self._on[n] = any(self._on[self._at[member]] for member in members)

    def retire(self, arm: int, promise: Promise) -> None:
        """Owe what a promise says from now on, in which an arm is off offer."""
        self._take_off(arm)
        self.owe(promise)

    def add(self, arm: int, promise: Promise, wait: int) -> None:
        """Owe what a promise says from now on, to a new arm, or one that comes back, after so many rounds on its
        clock."""
        self.owe(promise)
        n = self._at[arm]
        self._on[n], self._plays[n], self._clock[n], self._wait[n] = 1, 0, 0, wait
        self._settle()

    def change(self, promise: Promise) -> None:
        """Owe what another promise says, plays and rounds counted from now."""
        self._clock[:] = self._plays[:] = self._wait[:] = 0
        self._last.clear()
        self.owe(promise)

    @classmethod
    def counted(cls, promise: Promise, rounds: int, plays: Any, worst: Any, worst_round: Any) -> Self:
        """Return the books after so many rounds in which every arm was on offer, counted elsewhere."""
        books = cls(promise, ())
        books.rounds = rounds
        books._clock[:], books._plays[:] = rounds, plays
        books.worst[:], books.worst_round[:] = np.maximum(worst, 0.0), worst_round
        books._settle()
        return books

    # ------------------------------------------------------------------ files

    def state(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        counts = {name: getattr(self, name).tolist() for name in SAVED}
        return counts | {"rounds": self.rounds, "last": [[n, list(rounds)] for n, rounds in self._last.items()]}

    def fill(self, state: dict[str, Any]) -> None:
        """Continue from the state of books of the same promise."""
        self.rounds = int(state["rounds"])
        for name in SAVED:
            getattr(self, name)[:] = state[name]
        self._last = {n: deque(rounds, maxlen=len(rounds)) for n, rounds in state["last"]}
        self._settle()
