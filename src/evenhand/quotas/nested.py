"""Floors of sets of arms, nested or apart: what `DeadlineLearn` keeps where keys of its shares are tuples of arms.

The theorem and its proof stand at the head of `evenhand.promises.nested`. Sets that overlap have no such test; see
`evenhand.promises.overlapping`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.due_times import pace, position
from evenhand.promises.nested import forest, grant, pick
from evenhand.promises.promise import Promise
from evenhand.quotas.under_quota import Form, Ranking

__all__ = ["NESTED", "nested_parameters", "nested_state"]


class NestedParams(NamedTuple):
    numerators: Ints
    """Of all owners: the arms, then the sets, the smaller before the larger."""
    steps: Ints
    remainders: Ints
    denominator: int
    parents: Ints
    """(n_owners,): the smallest set around each owner, -1 where there is none."""
    learner: Any


class NestedState(NamedTuple):
    pulls: Ints
    whole: Ints
    rest: Ints
    scores: Floats
    chosen: Ints
    spare: Ints
    due: Ints
    below: Ints
    refused: Ints
    ahead_whole: Ints
    ahead_rest: Ints
    learner: Any


def _shares(promise: Promise) -> tuple[list[int], int]:
    shares = [*promise.shares, *(share for _, share in promise.sets)]
    denominator = math.lcm(*{share.denominator for share in shares})
    return [share.numerator * (denominator // share.denominator) for share in shares], denominator


def nested_parameters(promise: Promise, learner: Any) -> NestedParams:
    """Return the parameters of the rule."""
    owners = [{arm} for arm in promise.arms] + [set(arms) for arms, _ in promise.sets]
    first = len(promise.arms)
    parents = [
        next((place for place in range(max(first, i + 1), len(owners)) if owner <= owners[place]), -1)
        for i, owner in enumerate(owners)
    ]
    numerators, denominator = _shares(promise)
    return NestedParams(*pace(numerators, denominator), denominator, np.array(parents, np.int64), learner)


def nested_state(promise: Promise, learner: Any) -> NestedState:
    """Return the state of the rule before the first round."""
    numerators, denominator = _shares(promise)
    whole, rest = position(numerators, denominator, promise.slack + 1)
    fresh = forest(len(promise.arms), len(numerators))
    return NestedState(np.zeros(len(promise.arms), np.int64), whole, rest, **fresh._asdict(), learner=learner)


NESTED = Form(Ranking(pick, grant), nested_parameters, nested_state)
