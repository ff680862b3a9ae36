"""A promise in the arrays that the kernels of `evenhand.promises.laminar` and `evenhand.promises.allowed` work on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats, Words
from evenhand.kernels.deadlines import NEVER, Pace, pace, position
from evenhand.promises.feasible import forest_of, spaced_alone, tokens_of
from evenhand.promises.laminar import FARTHEST, ONCE
from evenhand.promises.promise import Promise
from evenhand.promises.reading import Members
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.window_schedules import find_schedule, phases
from evenhand.promises.windows import safe_states

NO_STREAM = np.zeros(0, np.uint64)
"""The random stream of a rule that draws nothing."""
NEVER_SOFT = np.zeros(0)


def rule_parameters(
    promise: Promise, learner: object, floor: float = 0.0, soft_rounds: Floats = NEVER_SOFT
) -> RuleParams:
    """Return the parameters of the rule; an arm without a cap stands still at its start, which no round reaches."""
    owners, parents = forest_of(promise)
    numerators, denominator = _shares(promise, owners)
    caps, common = _paced_caps(promise)
    tokens, lists = tokens_of(promise), _lists(promise)
    if promise.offers != "all":
        tokens = [token._replace(period=ONCE) for token in tokens]
    periods = [token.period for token in tokens if token.period != ONCE]
    horizon = min(math.lcm(denominator, *periods), NEVER)
    several = min(math.lcm(denominator, common), NEVER) if promise.plays > 1 and promise.caps is not None else 0
    of_tokens = [(owners.index(token.members), token.window, token.period) for token in tokens]
    token_owners, windows, spaced = np.array(of_tokens, np.int64).reshape(-1, 3).T.copy()
    rates = np.array(numerators) / denominator
    counted = *pace(numerators, denominator), denominator, horizon, FARTHEST, np.array(parents, np.int64)
    limits = *caps, several, np.array([len(members) for members in owners], np.int64)
    of_windows = [plays / rounds for plays, rounds in (dict(promise.windows).get(one, (0, 1)) for one in owners)]
    rho = _with_children(np.maximum(rates, of_windows), parents)
    tokens_at = token_owners, windows, spaced
    return RuleParams(*counted, *limits, *tokens_at, *lists, floor, soft_rounds, rates, rho, learner)


def look_work(params: RuleParams, plays: int) -> int:
    """Return about how many array entries a look ahead touches."""
    needs, entries = _with_children(params.rates, params.parents), params.rates.size + params.windows.size
    total = float(needs[params.parents < 0].sum() + (1.0 / params.periods).sum())
    return int(entries * min(FARTHEST, entries * total / max(plays - total, 1.0 / FARTHEST)))


def _with_children(rates: Floats, parents: Iterable[int]) -> Floats:
    """Return the rate of each owner, or what its children need if that is more; children stand before their parents."""
    needs, inside = rates.copy(), np.zeros(rates.size)
    for owner, parent in enumerate(parents):
        needs[owner] = max(needs[owner], inside[owner])
        if parent >= 0:
            inside[parent] += needs[owner]
    return needs


def _shares(promise: Promise, owners: list[Members]) -> tuple[list[int], int]:
    """Return the share of each owner in the integers that kernels use, and their common denominator."""
    by_members = dict(promise.sets) | {(a,): share for a, share in zip(promise.arms, promise.shares, strict=True)}
    shares = [by_members.get(members, 0) for members in owners]
    denominator = math.lcm(*{share.denominator for share in shares})
    return [share.numerator * (denominator // share.denominator) for share in shares], denominator


def _paced_caps(promise: Promise) -> tuple[Pace, int]:
    """Return the caps in the integers that kernels use, and their common denominator."""
    caps = promise.caps or (None,) * len(promise.arms)
    common = math.lcm(*(cap.denominator for cap in caps if cap is not None))
    paced = pace([int(cap * common) if cap is not None else 1 for cap in caps], common)
    for arm, cap in enumerate(caps):
        if cap is None:
            paced.steps[arm] = paced.remainders[arm] = 0
    return paced, common


def _lists(promise: Promise) -> tuple[Any, Any]:
    """Return the table that decides windows of single arms alone, one play a round, or else the phases of a schedule
    where no chain of periods is sparse enough; each empty where it is not needed."""
    tokens = tokens_of(promise)
    nothing = np.zeros(0, np.bool_), np.zeros((0, len(tokens)), np.int64)
    if not spaced_alone(promise):
        return nothing
    lengths = [token.window for token in tokens]
    safe = safe_states(lengths)
    if safe is not None:
        return safe.ravel(), nothing[1]
    schedule = None if sum(Fraction(1, token.period) for token in tokens) <= 1 else find_schedule(lengths)
    return nothing[0], nothing[1] if schedule is None else phases(schedule, [token.members for token in tokens])


def rule_state(promise: Promise, learner: object, stream: Words = NO_STREAM) -> RuleState:
    """Return the state of the rule before the first round."""
    numerators, denominator = _shares(promise, forest_of(promise)[0])
    whole, rest = position(numerators, denominator, promise.slack + 1)
    paced, common = _paced_caps(promise)
    cap_whole, cap_rest = np.full(len(promise.arms), -1), np.zeros(len(promise.arms), np.int64)
    ahead = math.floor(promise.cap_tolerance)
    for arm, cap in enumerate(promise.caps or ()):
        if cap is not None:
            cap_whole[arm], cap_rest[arm] = divmod(-ahead * common, int(paced.numerators[arm]))
    arms, owners = len(promise.arms), len(numerators)
    left = np.array([token.window for token in tokens_of(promise)], np.int64)
    pulls, gone, refused, open, *of_caps, ranks = [np.zeros(arms, np.int64) for _ in range(8)]
    due, below, within, *later = [np.zeros(owners, np.int64) for _ in range(5)]
    scores, lots, chances, inclusions = np.zeros((4, arms))
    chosen, spare = np.full(promise.plays, -1, np.int64), np.zeros(1, np.int64)
    tight, loose = np.zeros((2, promise.plays), np.int64)
    books = pulls, whole, rest, cap_whole, cap_rest, gone, left
    offer = np.ones(arms, np.int64), np.ones(owners, np.int64), scores, chosen, spare
    scanned = tight, loose, np.zeros(1, np.int64), np.zeros((promise.plays, arms), np.int64), refused, open
    looked = due, below, within, *later, np.zeros_like(left), *of_caps
    drawn = lots, chances, inclusions, ranks, np.zeros(owners), np.zeros(owners), np.ones(1), stream
    return RuleState._make((*books, *offer, *scanned, *looked, *drawn, learner))
