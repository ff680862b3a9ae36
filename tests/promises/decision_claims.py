"""What a decision states, judged: its reason beside the learner's proposal, its chances beside what is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.promises.promise import Promise
from tests.promises.judge import Allowed

__all__ = ["CHANCE", "NEEDLESS", "REASON", "Evidence", "Finding", "judge_chances", "judge_reason"]

REASON = "gives a wrong reason"
CHANCE = "states a wrong chance"
NEEDLESS = "refuses a proposal that some rule could grant"
SILENT = ("drawn", "other")
"""Kinds of reasons that say nothing about the learner's proposal."""
SURE = 1e6
WEIGHED = 16
"""After how many decisions evidence is weighed again."""
STAKES = (0.03, 0.1, 0.3, 1.0)


class Finding(NamedTuple):
    """What is wrong: which kind of fault, and what was seen."""

    fault: str
    seen: str


def arms_in(bits: int) -> list[int]:
    """Return the positions of arms that are given as bits."""
    return [arm for arm in range(bits.bit_length()) if bits >> arm & 1]


def judge_reason(
    decision: Any,
    ranking: Sequence[int],
    plays: int,
    offered: int,
    played: int,
    allowed: Allowed | None,
    floors: Allowed | None,
    lottery: bool,
) -> Finding | None:
    """Return what is wrong with what a decision says about the learner's proposal, a ranking of some arms; `floors` is
    what may be played where all caps are taken away.

    That a proposal is refused which `allowed` grants is a finding of its own kind, a fault of rules alone that say they
    are exact.
    """
    first = [arm for arm in ranking if offered >> arm & 1][:plays]
    if not first:
        return None
    code = getattr(decision, "reason_code", "other")
    wished = sum(1 << arm for arm in first)
    if played == wished:
        forced = code == "forced" and not lottery
        return (
            Finding(REASON, f"it says forced where the learner proposed {first}, which was played") if forced else None
        )
    if code not in (*SILENT, "forced", "capped"):
        return Finding(REASON, f"it does not say forced where {first} was proposed and {arms_in(played)} played")
    if allowed is not None and wished in allowed.granted and not lottery:
        return Finding(NEEDLESS, f"it played {arms_in(played)} where {first} was proposed and could be granted")
    if floors is not None and code in ("forced", "capped") and not lottery:
        owed = wished in floors.granted
        if owed == (code == "forced") and (owed or wished in floors.barred):
            return Finding(
                REASON, f"it says {code} where {first}, which floors {'grant' if owed else 'bar'}, was proposed"
            )
    return None


def judge_chances(
    decision: Any, promise: Promise, offered: int, played: int, allowed: Allowed | None, floor: float
) -> Finding | None:
    """Return what is wrong with the chances that a decision states; `floor` is the part of its share that an arm which
    may be played keeps, 0 for none."""
    said, plays = np.asarray(decision.probabilities, float), played.bit_count()
    if said.shape != (len(promise.arms),) or not ((said >= 0) & (said <= 1 + 1e-9)).all():
        return Finding(CHANCE, f"the probabilities are {said.tolist()}")
    if abs(said.sum() - plays) > 1e-6:
        return Finding(CHANCE, f"the probabilities sum to {said.sum():.6g} where {plays} arms are played")
    own = getattr(decision, "propensity", None) if promise.plays == 1 else None
    least = min(said[arm] for arm in arms_in(played))
    if least <= 0 or (own is not None and abs(own - least) > 1e-9):
        return Finding(CHANCE, f"{arms_in(played)} was played with propensity {own} and probabilities {said.tolist()}")
    for arm, chance in enumerate(said.tolist()):
        off = not offered >> arm & 1
        if chance > 1e-9 and (off or (allowed is not None and allowed.must_not(arm))):
            return Finding(CHANCE, f"arm {arm} has chance {chance:.3g} where it may not be played")
        owed = floor * float(promise.shares[arm]) / promise.plays
        if allowed is not None and allowed.may_play(arm) and chance < owed - 1e-9:
            return Finding(CHANCE, f"arm {arm} has chance {chance:.3g} where it may be played and is owed {owed:.3g}")
    return None


class Evidence:
    """Evidence against the chances that are stated, of one conversation.

    For a true chance p of an arm that is played X times, 0 or 1, exp(s (X - p) - p (1 - p) (e^s - 1 - s)) has mean at
    most 1 (G. Bennett, Journal of the American Statistical Association 57, 1962), and so has X - p turned around. The
    products over rounds are bets against what is stated; one passes `SURE` times the number of bets in a conversation
    of any length with probability at most 1 / SURE if all chances are true (J. Ville, 1939).
    """

    def __init__(self, arms: int) -> None:
        self._surplus, self._spread, self._decisions = np.zeros(arms), np.zeros(arms), 0
        self._needed = math.log(SURE * 2 * arms * len(STAKES))

    def enter(self, chances: Any, played: int) -> Finding | None:
        """Count a decision and return what is wrong by now."""
        said = np.asarray(chances, float)
        self._surplus += np.array([played >> arm & 1 for arm in range(len(said))]) - said
        self._spread += said * (1 - said)
        self._decisions += 1
        if self._decisions % WEIGHED:
            return None
        bets = (s * np.abs(self._surplus) - self._spread * (math.exp(s) - 1 - s) for s in STAKES)
        against = np.max([*bets], axis=0)
        arm = int(against.argmax())
        if against[arm] <= self._needed:
            return None
        more = f"{abs(self._surplus[arm]):.1f} plays {'more' if self._surplus[arm] > 0 else 'fewer'}"
        return Finding(CHANCE, f"arm {arm} had {more} than its chances sum to")
