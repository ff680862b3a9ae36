"""A learner under a quota rule: the kernels of a rule, and the templates that put a learner under one.

A rule is three kernels over the quota's own arrays:

    must_play(params, state, round) -> the arm that must be played now, or -1
    resolve(params, state, round, proposal) -> the arm that is played when the learner proposes `proposal`
    record(params, state, round, arm) -> None, counts the play

A rule that chooses among rankings, for several arms a round or arms that are not always on offer, is two kernels:

    select(params, state, now) -> why the arms in `state.chosen`, which it fills, are not simply the first of those in
        `state.scores`: 0 (or False) if they are, 1 (or True) if the first of them would break a floor or a window, and
        see `promises.allowed`
    is_grantable(params, state, now, proposal) -> whether `proposal` is played, where that is quickly seen; the same, of
    one arm

Around them stands any learner: ours inside the same compiled function, a foreign one called from Python between the
kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Kernel, LazyKernel, bind, entry, flat, kernel, packers
from evenhand.policy.kernel_set import (
    FORCED,
    Kernels,
    ProbabilityFunction,
    RewardContext,
    reason,
    sampled,
    unknown_probability,
)
from evenhand.promises.allowed import AS_RANKED
from evenhand.promises.rule_state import RuleParams, RuleState

PROPOSAL = reason("the learner's proposal", "learner")
CAPPED = reason("another arm is at its cap, or near it", "capped")
ABSENT = reason("the learner ranked no arm on offer", "absent")
UNRANKED = reason("the learner ranked no other arm on offer")
LOT = reason("drawn by lottery", "drawn")
OF_CAUSE = -1, FORCED, CAPPED, UNRANKED, ABSENT, LOT
"""The reason of each cause, in the order of those of `evenhand.promises.allowed`."""


class QuotaRule(NamedTuple):
    """The kernels of a quota rule, see the head of this module.

    `reads` names the fields of its state on which `must_play` and `resolve` depend, where the others only save
    time while they are zero; "*" for all.
    """

    must_play: Any
    resolve: Any
    record: Any
    reads: tuple[str, ...] = ("*",)


class RankingRule(NamedTuple):
    """The kernels of a rule that chooses among rankings, see the head of this module."""

    select: Any
    is_grantable: Any


must_play = resolve = record = redistributed = resolve_each = learner_choose = learner_update = pack_params = (
    pack_state
) = OPEN
select = is_grantable = learner_rank = OPEN
split = 0


class Around(Protocol):
    """Parameters or the state of a rule, around those of a learner."""

    @property
    def learner(self) -> Any: ...


class NoLearner(NamedTuple):
    """Stands where the arrays of a compiled learner would be."""

    nothing: Floats


@kernel
def explain_cause(cause: int, why: int) -> int:
    """Return the reason of a decision: the learner's own, `why`, where nothing else is the cause."""
    return why if cause == AS_RANKED else OF_CAUSE[int(cause)]


@kernel
def _choose(params: Around, state: Around, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    must = must_play(params, state, round)
    arm, why = must, FORCED
    if must < 0:
        proposal, why = learner_choose(params.learner, state.learner, contexts, round, waiting)
        arm = resolve(params, state, round, proposal)
        if arm != proposal:
            why = FORCED
    redistributed(params, state, round, must)
    record(params, state, round, arm)
    return arm, why


@kernel
def choose_ranked(params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    """Have the learner rank all arms, and return the best one that may be played, with the cause."""
    why = learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
    why = explain_cause(select(params, state, round - 1), why)
    return state.chosen[0], why


@kernel
def choose_first(params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    """Do what `choose_ranked` does, but ask the learner for the best arm first and for a ranking only if need be."""
    proposal, why = learner_choose(params.learner, state.learner, contexts, round, waiting)
    if not is_grantable(params, state, round - 1, proposal):
        learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
        why = explain_cause(select(params, state, round - 1), why)
        proposal = state.chosen[0]
    return proposal, why


@kernel
def rank_proposal(params: object, state: object, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    """Stand for the `rank` of a learner that only knows the best arm."""
    proposal, why = learner_choose(params, state, contexts, round, waiting)
    for arm in range(scores.size):
        scores[arm] = -math.inf
    scores[proposal] = 0.0
    return why


@kernel
def update_learner(
    params: Around, state: Around, contexts: Floats, index: int, reward: float, ticket: RewardContext
) -> None:
    """Tell the learner inside."""
    learner_update(params.learner, state.learner, contexts, index, reward, ticket)


@kernel
def _nothing_known(params: object, state: object, round: int, must: int) -> None:
    """Stand for `_resolve_all` where the learner's distribution is not known, or trivial."""


@kernel
def _resolve_all(params: object, state: Around, round: int, must: int) -> None:
    resolve_each(params, state, round, must, state.learner.probabilities)


@kernel
def _resolve_each(params: object, state: object, round: int, must: int, probabilities: Floats) -> None:
    """Turn the distribution of the learner's proposals into that of the arms that are played, in place."""
    for proposal in range(probabilities.size):
        if probabilities[proposal] > 0.0:
            arm = must if must >= 0 else resolve(params, state, round, proposal)
            if arm != proposal:
                chance = probabilities[proposal]
                probabilities[proposal] = 0.0
                probabilities[arm] += chance


@kernel
def _drawn_inside(params: object, state: Around, index: int) -> float:
    return state.learner.probabilities[index]


@kernel
def accept_proposal(params: object, state: object, round: int, proposal: int) -> int:
    """The `resolve` of a rule that never overrules a learner once it has asked it."""
    return proposal


@kernel
def must_play_alone(round: int, arrays: tuple[Any, ...]) -> int:
    """Return the arm that the rule forces, -1 for none."""
    return must_play(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round)


@kernel
def resolve_alone(round: int, proposal: int, arrays: tuple[Any, ...]) -> int:
    """Return the arm that is played where the learner proposes one, and enter it."""
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    arm = resolve(params, state, round, proposal)
    record(params, state, round, arm)
    return arm


@kernel
def select_alone(round: int, arrays: tuple[Any, ...]) -> int:
    """Return what a learner that only knows its best arm would play, of the arms that may be played."""
    return select(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round - 1)


def compose(learner: Kernels, rule: QuotaRule) -> Kernels:
    """Return the kernels of a learner under a rule."""
    known, each = learner.probability is sampled, bind(_resolve_each, resolve=rule.resolve)
    redistribute = bind(_resolve_all, resolve_each=each) if known else _nothing_known
    callees = {"must_play": rule.must_play, "resolve": rule.resolve, "record": rule.record}
    return Kernels(
        bind(_choose, learner_choose=learner.choose, redistributed=redistribute, **callees),
        bind(update_learner, learner_update=learner.update),
        _drawn_inside if known else learner.probability,
        chances=None if known or learner.chances is None else under_rule(rule, each, learner.chances),
    )


NOT_KNOWN = Kernels(accept_proposal, update_learner, unknown_probability)
"""Of a learner from elsewhere, which is called between the rule's kernels."""


# ---------------------------------------------------------------------- probabilities


PLAIN_CALLS = 100
"""How many decisions are gone through as plain Python before the kernels are compiled."""


@kernel
def _resolve(round: int, must: int, probabilities: Floats, arrays: tuple[Any, ...]) -> None:
    resolve_each(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round, must, probabilities)


@cache
def lazy_kernel(template: Kernel, *names: tuple[str, Any]) -> LazyKernel:
    """Return a function that runs as plain Python at first, and compiled when it is called often."""
    return LazyKernel(entry(template, **dict(names)), None, PLAIN_CALLS)


def under_rule(rule: QuotaRule, each: Kernel, learner: ProbabilityFunction) -> ProbabilityFunction:
    """Return how the probabilities of a learner with these are computed under a rule; `each` settles all its
    proposals."""
    kept = ("pulls", *rule.reads, *(f"learner.{name}" for name in learner.reads))
    return ProbabilityFunction(partial(_played, rule.must_play, each, learner.function), kept, learner.reads_waiting)


def _played(
    forced: Kernel,
    each: Kernel,
    of_learner: Callable[..., Floats],
    params: Any,
    state: Any,
    contexts: Floats,
    round: int,
    waiting: Ints,
) -> Floats:
    # As one tuple: for a call with as many arguments as arrays nothing can be compiled ahead.
    first = lazy_kernel(must_play_alone, ("must_play", forced), *packers(params, state))
    must = first(round, (*flat(params), *flat(state)))
    if must >= 0:
        certain = np.zeros(state.pulls.size)
        certain[must] = 1.0
        return certain
    chances: Floats = of_learner(params.learner, state.learner, contexts, round, waiting)
    settle = lazy_kernel(_resolve, ("resolve_each", each), *packers(params, state))
    settle(round, -1, chances, (*flat(params), *flat(state)))
    return chances
