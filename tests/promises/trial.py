"""One conversation with a policy under a promise, and a judgement of everything that it says in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.promises.promise import Promise
from evenhand.protocol import Label
from evenhand.quotas import DeadlineLearn
from tests.promises.decision_claims import NEEDLESS, Evidence, Finding, arms_in, judge_chances, judge_reason
from tests.promises.generated_promises import Case, drawn_promise
from tests.promises.judge import CheckerCounts, Game, bits, choices
from tests.promises.walked import grants_all

__all__ = ["CLAIM", "NOT_PLAYABLE", "PROMISE", "Trial", "Wishes"]

PROMISE = "breaks its promise"
NOT_PLAYABLE = "plays what may not be played"
CLAIM = "states a wrong claim"
LATE = 0.6
"""The chance that an open ticket is told, again and again, after each round of a drawn conversation."""
STAYS = 0.9
"""The chance that in a long conversation what is on offer stays."""

Pick = Callable[[int, list[int]], int]
"""Chooses among so many possibilities, which are arms where the second argument names them by position."""


class Wishes:
    """A learner whose proposals are picked elsewhere; copies are the same.

    Attributes
    ----------
    last : its latest answer as a ranking, () where it was not asked in this round.
    """

    def __init__(self, pick: Pick, arms: int, ranks: bool) -> None:
        self._pick, self._arms, self._ranks = pick, arms, ranks
        self.last: list[int] = []

    def choose(self) -> Any:
        """Return the index of the arm that is proposed, or a ranking of all."""
        left, self.last = list(range(self._arms)), []
        for _ in range(self._arms if self._ranks else 1):
            self.last.append(left.pop(self._pick(len(left), left)))
        return list(self.last) if self._ranks else self.last[0]

    def update(self, index: int, reward: float) -> None:
        """Learn nothing."""

    def __deepcopy__(self, memo: Any) -> Wishes:
        return self


class Trial:
    """A conversation.

    Parameters
    ----------
    policy, case : what is tried.
    proposals : the learner inside, None where the policy has one of its own.
    pick : chooses proposals, or rewards.
    random : draws offers, changes and late reports; None for a conversation without any.
    judged : whether the game of all states is played beside it.

    Attributes
    ----------
    promise : what is promised now.
    pulls : how often each arm was played.
    worst : the largest number of plays by which a floor was behind what it was owed, None without floors.
    """

    def __init__(
        self,
        policy: Any,
        case: Case,
        wishes: Wishes | None,
        pick: Pick,
        pulls: list[int],
        random: np.random.Generator | None,
        judged: bool,
    ) -> None:
        self._policy, self._case, self._wishes, self._pick = policy, case, wishes, pick
        self._random, self._judged = random, judged
        self.promise, self._arms, self._live = case.promise, case.promise.arms, list(case.promise.arms)
        self._books = CheckerCounts(case.promise.clauses, self._arms)
        self._games: dict[Any, Game] = {}
        self._offers, self._offered = self._offers_now(), 0
        self._waiting: list[Any] = []
        self._evidence = Evidence(len(self._arms))
        self.pulls = pulls
        self.worst: int | None = None

    def round(self, checked: bool) -> Finding | None:
        """Play a round and return what is wrong; `checked` says whether the promise must hold at its end."""
        offered, asked = self._shown(), {}
        if "arms on offer" in self._case.parts:
            asked["available"] = [self._arms[arm] for arm in arms_in(offered)]
        if self._wishes is not None:
            self._wishes.last = []
        decision = self._policy.ask(**asked)
        indexes = list(getattr(decision, "indexes", (decision.index,)))
        plays = min(self.promise.plays, offered.bit_count())
        known = all(type(arm) is int and arm >= 0 and offered >> arm & 1 for arm in indexes)
        if not known or len(set(indexes)) != len(indexes) or len(indexes) != plays:
            return Finding(NOT_PLAYABLE, f"it played {indexes} where {plays} of {arms_in(offered)} were to be played")
        played = sum(1 << arm for arm in indexes)
        for arm in indexes:
            self.pulls[arm] += 1
        stated = self._stated(decision, offered, played)
        broken = self._books.enter(offered, played)
        self._tell(decision, plays)
        if checked:
            behind = self._books.worst()
            self.worst = behind if self.worst is None or behind is None else max(self.worst, behind)
            if broken is not None:
                return Finding(PROMISE, broken)
        return stated or self._change()

    def _shown(self) -> int:
        """Return what is on offer in the next round."""
        stays = self._random is not None and not self._judged and self._random.random() < STAYS
        if not (stays and self._offered in self._offers):
            self._offered = self._offers[self._drawn(len(self._offers))]
        return self._offered

    def _offers_now(self) -> list[int]:
        """Return everything that may be on offer."""
        if "arms on offer" in self._case.parts:
            every = choices(self._live, self.promise.offers, self.promise.plays)
            return [bits(offer, self._arms) for offer in every]
        return [bits(self._live, self._arms)]

    def _drawn(self, choices: int) -> int:
        return 0 if self._random is None else int(self._random.integers(choices))

    def _stated(self, decision: Any, offered: int, played: int) -> Finding | None:
        """Judge what the decision says of itself."""
        allowed, floors, lottery, found = None, None, self._case.lottery, None
        rule = isinstance(self._policy, DeadlineLearn) and grants_all(self._policy.promise)
        exact = bool(getattr(self._policy, "exact", rule))
        if self._judged:
            allowed = floors = self._allowed(self._books.counts, self._books.at, offered)
            if self.promise.caps is not None and allowed is not None:
                kept = [place for place, c in enumerate(self._books.counts) if c.clause.kind != "cap"]
                counts, at = (tuple(all[place] for place in kept) for all in (self._books.counts, self._books.at))
                floors = self._allowed(counts, at, offered)
        chances = getattr(decision, "probabilities", None)
        if self._wishes is not None:
            drawn = lottery is not None or chances is not None
            ranking, several = self._wishes.last, self.promise.plays
            found = judge_reason(decision, ranking, several, offered, played, allowed, floors, drawn)
        if found is not None and found.fault == NEEDLESS and not exact:
            found = None
        if found is None and chances is not None and self._random is not None:
            floor = (lottery or 0.0) if exact else 0.0
            found = judge_chances(decision, self.promise, offered, played, allowed, floor)
            found = found or self._evidence.enter(chances, played)
        return found

    def _allowed(self, counts: tuple[Any, ...], at: tuple[Any, ...], offered: int) -> Any:
        """Return what may be played of an offer by the game of these clauses."""
        key = counts, self.promise.plays, tuple(self._offers)
        if key not in self._games:
            self._games[key] = Game(*key)
        return self._games[key].allowed(at, offered)

    def _tell(self, decision: Any, plays: int) -> None:
        """Report what the decision brought, or some time later."""
        self._waiting.append((decision, plays))
        while self._waiting and (self._random is None or self._random.random() < LATE):
            late, number = self._waiting.pop(self._drawn(len(self._waiting)))
            reward = 0.0 if self._wishes is not None else float(self._pick(2, []))
            self._policy.tell(late, [reward] * number if self.promise.plays > 1 else reward)

    def _change(self) -> Finding | None:
        """Change the promise now and then, and judge the claims that the policy says are lost."""
        if "changes" not in self._case.parts or self._drawn(8 if self._judged else 50):
            return None
        shares = dict(zip(self._arms, self.promise.shares, strict=True))
        plain = self.promise == self._with(shares)
        if not plain or self._drawn(3) == 0:
            return self._renew(plain)
        gone = [arm for arm in self._arms if arm not in self._live]
        if gone and self._drawn(2):
            left = self.promise.plays - sum(shares.values(), Fraction(0))
            shares[gone[0]] = min(Fraction(1), left) * self._drawn(11) / 10
            wait = self._policy.add(gone[0], shares[gone[0]])
            self._live.append(gone[0])
            self._books.add(gone[0], shares[gone[0]], self.promise.slack, wait)
        elif len(self._live) > max(2, self.promise.plays):
            arm = self._live.pop(self._drawn(len(self._live)))
            shares[arm] = Fraction(0)
            self._policy.retire(arm)
            self._books.retire(arm)
        self.promise = self._with(shares)
        self._offers = self._offers_now()
        return None

    def _with(self, shares: Mapping[Label, Any]) -> Promise:
        """Return the promise of these shares that is like the present one in the rest of what shares alone need."""
        offers = self.promise.offers if isinstance(self.promise.offers, str) else "any"
        every = dict.fromkeys(self._arms, 0) | dict(shares)
        return Promise(every, self.promise.tolerance, plays=self.promise.plays, offers=offers)

    def _renew(self, plain: bool) -> Finding | None:
        """Change to another promise of the same parts, by its shares where these are all."""
        assert self._random is not None
        new = drawn_promise(self._case.parts, self._random, self._judged, like=self.promise)
        if new is None:
            return None
        given: Any = new
        if plain:
            given = {arm: share for arm, share in zip(self._arms, new.shares, strict=True) if arm in self._live}
            new = self._with(given)
        claims = self._books.claims(self._live)
        lost = self._policy.change(given)
        self.promise = new
        self._offers = self._offers_now()
        floors = {frozenset(clause.arms) for clause in new.clauses if clause.kind == "floor"}
        said = {frozenset(key if isinstance(key, tuple) else (key,)): float(lag) for key, lag in lost.items()}
        for members in {*said, *(claims.keys() - floors)}:
            was, now = float(claims.get(members, 0)), said.get(members, 0.0)
            if abs(was - now) > 1e-6:
                who = f"{now:g} plays of {sorted(members, key=str)}"
                return Finding(CLAIM, f"at a change it says that {who} are dropped where {was:g} were behind")
        carried = {members: lag for members, lag in claims.items() if members not in said}
        self._books = CheckerCounts(new.clauses, self._arms, carried)
        return None
