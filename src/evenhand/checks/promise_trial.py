"""Conversations with a policy whose promise is of one of the kinds of `evenhand.checks.promise_cases`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.checks.promise_cases import Books, Case
from evenhand.errors import ContractError, EvenhandError
from evenhand.traits import traits_of

__all__ = ["can_play", "play"]

SEGMENTS = 3
LATE = 0.6
"""The chance that an open ticket is told, again and again, after each round of a long conversation."""


def can_play(case: Case, make: Callable[[Case], Any]) -> bool:
    """Say whether policies of this class take such a promise at all."""
    policy = make(case)
    if policy is None or traits_of(policy).kept in ("at the horizon", "in the long run"):
        return False
    try:
        if case.kind == "changes":
            policy.change(case.shares)
        if case.kind == "arms on offer":
            policy.ask(available=list(range(case.arms)))
        if case.kind == "segments":
            policy.ask(segment=0)
    except (AttributeError, EvenhandError, TypeError):
        return False
    return True


class Trial:
    """One conversation; `pick` chooses among so many possibilities where nothing is drawn at random."""

    def __init__(self, policy: Any, case: Case, pick: Callable[[int], int], random: np.random.Generator | None) -> None:
        self._policy, self._case, self._pick, self._random = policy, case, pick, random
        self._books = {segment: Books(case) for segment in range(SEGMENTS if case.kind == "segments" else 1)}
        self._live = self._offered = list(range(case.arms))
        self._waiting: list[Any] = []

    def round(self, number: int) -> tuple[Sequence[int], str | None]:
        """Play a round; return the arms that were played, and what is wrong."""
        case, segment = self._case, 0
        asked: dict[str, Any] = {}
        offered = self._live
        if case.kind == "arms on offer" or (case.kind == "changes" and self._random is not None):
            offered = self._offered = self._some(offered)
            asked = {"available": offered}
        elif case.kind == "segments":
            segment = self._choice(2 if self._random is None else SEGMENTS)
            asked = {"segment": segment}
        decision = self._policy.ask(**asked)
        played = list(getattr(decision, "indexes", (decision.index,)))
        wanted = min(case.plays, len(offered))
        if len(set(played)) != len(played) or len(played) != wanted or not set(played) <= set(offered):
            return played, f"it played {played} where {wanted} of the arms {list(offered)} were to be played"
        found = self._books[segment].enter(offered, played)
        self._waiting.append((decision, [0.0] * len(played) if case.plays > 1 else 0.0))
        while self._waiting and (self._random is None or self._random.random() < LATE):
            at = 0 if self._random is None else int(self._random.integers(len(self._waiting)))
            self._policy.tell(*self._waiting.pop(at))
        if found is not None:
            return played, found[1]
        return played, self._change(number) if case.change_at else None

    def _choice(self, choices: int) -> int:
        return self._pick(choices) if self._random is None else int(self._random.integers(choices))

    def _some(self, arms: list[int]) -> list[int]:
        """Return some of the arms, at least one; in a long conversation a while the same."""
        if self._random is not None and set(self._offered) <= set(arms) and self._random.random() < 0.95:
            return self._offered
        chosen = 1 + self._choice(2 ** len(arms) - 1)
        return [arm for place, arm in enumerate(arms) if chosen >> place & 1]

    def _change(self, number: int) -> str | None:
        """Change the promise, now and then in a long conversation, once in a short one."""
        books, shares = self._books[0], {owed.arms[0]: owed.share for owed in self._books[0].floors}
        if self._random is None:
            if number != self._case.change_at:
                return None
            turned = dict(zip(shares, reversed(shares.values()), strict=True))
            return books.change(turned, self._policy.change(turned))
        if self._random.random() > 0.02:
            return None
        left = 1 - sum(shares.values(), Fraction(0))
        gone = [arm for arm in shares if arm not in self._live]
        way = int(self._random.integers(3))
        if way == 0 and len(self._live) > 2:
            arm = self._live[int(self._random.integers(len(self._live)))]
            self._live = [other for other in self._live if other != arm]
            self._policy.retire(arm)
            books.retire(arm)
        elif way == 1 and gone:
            part = left * int(self._random.integers(0, 11)) / 10
            books.add(gone[0], part, self._policy.add(gone[0], part))
            self._live = sorted([*self._live, gone[0]])
        elif way == 2:
            weights = self._random.integers(0, 20, len(self._live)).tolist()
            total = max(1, sum(weights) + int(self._random.choice([0, 0, 5])))
            new = {arm: Fraction(weight, total) for arm, weight in zip(self._live, weights, strict=True)}
            return books.change(new, self._policy.change(new))
        return None


def play(
    name: str,
    policy: Any,
    case: Case,
    pick: Callable[[int], int],
    random: np.random.Generator | None,
    rounds: int,
    pulls: list[int],
    said: str,
) -> None:
    """Play so many rounds, counting into `pulls`.

    Raises
    ------
    ContractError
        If the promise breaks; `said` words the wishes.
    """
    trial = Trial(policy, case, pick, random)
    for number in range(1, rounds + 1):
        played, wrong = trial.round(number)
        if wrong is not None:
            raise ContractError(f"{name} breaks its promise: {case}, {said}: after round {number} {wrong}")
        for arm in played:
            pulls[arm] += 1
