"""What a promise owes and what was played, counted round by round in whole numbers: shares of arms and of sets of arms,
caps and windows, each arm by its own clock.

A share r is broken at the end of a round where floor(r A) - N > a, that is from A >= (N + a + 1) / r on, with A rounds
on the arm's clock and N plays; where r A - N may be b, exactly, it is broken from A > (N + b) / r on. A cap c is broken
where N > ceil(c t) + b, that is up to t <= (N - b - 1) / c. A window (n, w) is broken where the n-th last play was w
rounds ago or more; the time before the first round counts as played.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Any, Self

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.quotas.problem import Promise

__all__ = ["Books", "Owner"]

NEVER = 1 << 62
Owner = int | tuple[int, ...]
"""The position of an arm, or the positions of a set of arms."""


class Books:
    """The counts of one promise in one sequence of rounds.

    Attributes
    ----------
    owners : whom shares are owed to: the arms (n_arms,), then the sets of arms.
    rounds : how many rounds were entered.
    behind : r A - N for each owner (n_owners,) now.
    worst, worst_round : the largest of it at the end of any round, and the round.
    """

    def __init__(self, promise: Promise | None, windows: dict[int, tuple[int, int]], retired: Sequence[int]) -> None:
        place = {} if promise is None else {arm: i for i, arm in enumerate(promise.arms)}
        sets = () if promise is None else promise.sets
        self.owners: list[Owner] = [*range(len(place)), *(tuple(place[arm] for arm in arms) for arms, _ in sets)]
        self._around = [[i] for i in range(len(place))]
        """For each arm the positions of the owners that its plays count for."""
        for owner, (arms, _) in enumerate(sets, len(place)):
            for arm in arms:
                self._around[place[arm]].append(owner)
        self.rounds, self._slack = 0, 0 if promise is None else promise.slack
        self._limits = None if promise is None else promise.behind
        n = len(self.owners)
        self._clock, self._plays, self._on = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, np.int64)
        self.worst, self.worst_round = np.zeros(n), np.zeros(n, np.int64)
        self._on[list(retired)] = 0
        self._share([] if promise is None else [*promise.shares, *(share for _, share in sets)])
        self._caps = () if promise is None or promise.caps is None else promise.caps
        self._ahead = 0 if promise is None else floor(promise.cap_tolerance)
        self._capped = np.zeros(len(self._caps), np.int64)
        """Up to which round the arm's plays are more than its cap allows."""
        self._windows = {arm: length for arm, (_, length) in windows.items()}
        self._last = {arm: deque([0] * count, maxlen=count) for arm, (count, _) in windows.items()}

    def _share(self, shares: list[Fraction]) -> None:
        """Owe these shares from now on."""
        self.shares, self._floats = shares, np.array([float(share) for share in shares])
        self._due = np.array([self._falls_due(owner) for owner in range(len(shares))], np.int64)

    def _falls_due(self, owner: int) -> int:
        """Return when, on its clock, the owner's present plays break its share."""
        share = self.shares[owner]
        if not share or not self._on[owner]:
            return NEVER
        if self._limits is not None:
            return min(NEVER, floor((int(self._plays[owner]) + self._limits[owner]) / share) + 1)
        needed = (int(self._plays[owner]) + self._slack + 1) * share.denominator
        return min(NEVER, -(-needed // share.numerator))

    # ------------------------------------------------------------------ rounds

    @property
    def behind(self) -> Floats:
        behind: Floats = self._floats * np.maximum(self._clock, 0) - self._plays
        return behind

    def enter(self, played: Sequence[int], offered: Sequence[int] | None) -> None:
        """Enter a round: the arms that were played, and those on offer where not all were."""
        self.rounds += 1
        if offered is None:
            self._clock += self._on
        else:
            self._clock[list(offered)] += 1
        for arm in played:
            for owner in self._around[arm] if self._around else ():
                self._plays[owner] += 1
                self._due[owner] = self._falls_due(owner)
            cap = self._caps[arm] if self._caps else None
            if cap is not None:
                over = int(self._plays[arm]) - self._ahead - 1
                self._capped[arm] = over * cap.denominator // cap.numerator
            if arm in self._last:
                self._last[arm].append(self.rounds)
        behind = self.behind
        more = behind > self.worst
        self.worst[more], self.worst_round[more] = behind[more], self.rounds

    def broken(self) -> Owner | None:
        """Return to whom the promise is broken at the end of this round, None where it is kept."""
        late = np.flatnonzero(self._clock >= self._due)
        if late.size:
            return self.owners[int(late[0])]
        over = np.flatnonzero(self._capped >= self.rounds) if self.rounds else late
        if over.size:
            return int(over[0])
        return next((arm for arm, last in self._last.items() if last[0] + self._windows[arm] <= self.rounds), None)

    # ------------------------------------------------------------------ changes

    def retire(self, arm: int) -> None:
        """Owe an arm nothing from now on."""
        self._on[arm] = 0
        self._due[arm] = NEVER
        self.shares[arm] = Fraction(0)
        self._floats[arm] = 0.0

    def add(self, arm: int, share: Fraction, wait: int) -> None:
        """Owe a new arm, or one that comes back, its share after so many rounds on its clock."""
        if arm == len(self.owners):
            self.owners.append(arm)
            self._around.append([arm])
            self.shares.append(share)
            for name in ("_clock", "_plays", "_on", "_due", "_floats", "worst", "worst_round"):
                setattr(self, name, np.append(getattr(self, name), np.zeros(1, getattr(self, name).dtype)))
        self.shares[arm], self._floats[arm] = share, float(share)
        self._on[arm], self._plays[arm], self._clock[arm] = 1, 0, -wait
        self._due[arm] = self._falls_due(arm)

    def change(self, shares: Sequence[Fraction]) -> None:
        """Owe other shares, plays and rounds counted from now."""
        self._clock[:] = self._plays[:] = 0
        self._share(list(shares))

    @classmethod
    def counted(cls, promise: Promise, rounds: int, plays: Any, worst: Any, worst_round: Any) -> Self:
        """Return the books after so many rounds in which every arm was on offer, counted elsewhere."""
        books = cls(promise, {}, ())
        books.rounds = rounds
        books._clock[:], books._plays[:] = rounds, plays
        books.worst[:], books.worst_round[:] = np.maximum(worst, 0.0), worst_round
        books._share(books.shares)
        return books

    # ------------------------------------------------------------------ files

    def state(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        names = ("_clock", "_plays", "_on", "_capped", "worst", "worst_round")
        counts = {name: getattr(self, name).tolist() for name in names}
        last = [[arm, list(rounds)] for arm, rounds in self._last.items()]
        return counts | {"rounds": self.rounds, "shares": [str(share) for share in self.shares], "last": last}

    def fill(self, state: dict[str, Any]) -> None:
        """Continue from the state of books of the same promise, which may have changed since."""
        while len(self.owners) < len(state["shares"]):
            self.add(len(self.owners), Fraction(0), 0)
        for name in ("_clock", "_plays", "_on", "_capped", "worst", "worst_round"):
            getattr(self, name)[:] = state[name]
        self.rounds = int(state["rounds"])
        self._last = {arm: deque(rounds, maxlen=len(rounds)) for arm, rounds in state["last"]}
        self._share([Fraction(share) for share in state["shares"]])
