"""Floors, caps, several arms a round, arms that are not always on offer: the rule that goes down a learner's ranking.

Each round plays the arms that come first in the learner's ranking among all slates after which every promise can still
be kept. The theorem and its proof stand at the heads of `evenhand.kernels.deadlines` and `evenhand.promises.slates`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.due_times import Pace, pace
from evenhand.promises.promise import Promise
from evenhand.promises.slates import grant, pick, slate
from evenhand.quotas.under_quota import Form, Ranking

__all__ = ["RANKED", "ranked_parameters", "ranked_state"]


class RankedParams(NamedTuple):
    numerators: Ints
    steps: Ints
    remainders: Ints
    denominator: int
    cap_numerators: Ints
    cap_steps: Ints
    cap_remainders: Ints
    learner: Any


class RankedState(NamedTuple):
    pulls: Ints
    whole: Ints
    """whole + rest/R is when the arm's next owed pull falls due; rounded up it is the deadline."""
    rest: Ints
    offered: Ints
    scores: Floats
    chosen: Ints
    spare: Ints
    cap_whole: Ints
    cap_rest: Ints
    order: Ints
    room: Ints
    ahead_whole: Ints
    ahead_rest: Ints
    learner: Any


def ranked_parameters(promise: Promise, learner: Any) -> RankedParams:
    """Return the parameters of the rule; an arm without a cap stands still at its start, which no round reaches."""
    return RankedParams(*promise.pace(), promise.fixed_point()[1], *_paced_caps(promise)[0], learner)


def _paced_caps(promise: Promise) -> tuple[Pace, int]:
    """Return the caps in the integers that kernels use, and their common denominator."""
    caps = promise.caps or (None,) * len(promise.arms)
    common = math.lcm(*(cap.denominator for cap in caps if cap is not None))
    paced = pace([int(cap * common) if cap is not None else 1 for cap in caps], common)
    for arm, cap in enumerate(caps):
        if cap is None:
            paced.steps[arm] = paced.remainders[arm] = 0
    return paced, common


def ranked_state(promise: Promise, learner: Any) -> RankedState:
    """Return the state of the rule before the first round."""
    fresh = slate(len(promise.arms), promise.plays)
    paced, common = _paced_caps(promise)
    ahead = math.floor(promise.cap_tolerance)
    for arm, cap in enumerate(promise.caps or ()):
        if cap is not None:
            fresh.cap_whole[arm], fresh.cap_rest[arm] = divmod(-ahead * common, int(paced.numerators[arm]))
    whole, rest = promise.start()
    return RankedState(np.zeros(len(promise.arms), np.int64), whole, rest, **fresh._asdict(), learner=learner)


RANKED = Form(Ranking(pick, grant), ranked_parameters, ranked_state)
