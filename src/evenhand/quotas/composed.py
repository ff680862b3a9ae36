"""A learner under any promise, with or without a lottery: the rule of `evenhand.promises` around any learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Kernel, bind, flat, kernel, packers
from evenhand.policy.kernel_set import Kernels, ProbabilityFunction, deterministic, sampled, unknown_probability
from evenhand.promises.allowed import AS_RANKED, BY_LOT, cause, refusal
from evenhand.promises.lottery import TRIES, chances_by_mark, draw_slate, finish_one, hear, lot, prepare_one, spread
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.windows import best_of
from evenhand.quotas.quota_kernels import LOT, accept_proposal, explain_cause, lazy_kernel, update_learner

READ = ("pulls", "whole", "rest", "cap_whole", "cap_rest", "left", "offered", "spare")
"""The fields of the rule's state on which what may be played depends."""

learner_choose = learner_rank = first_proposal = next_proposal = tell_chances = OPEN
pack_params = pack_state = OPEN
split = 0


@kernel
def _best_allowed(
    params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints, proposal: int, why: int
) -> tuple[int, int]:
    """Return the best of the arms in `scores` that may be played and are heard, else `proposal`, the most urgent; and
    why it is that."""
    best = best_of(state, state.within)
    state.chosen[0] = proposal if best < 0 else best
    return state.chosen[0], cause(params, state, round - 1, 1)


@kernel
def _ranked_proposal(
    params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints, proposal: int, why: int
) -> tuple[int, int]:
    """Have the learner rank all arms, and do what `_best_allowed` does."""
    said = learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
    arm, kind = _best_allowed(params, state, contexts, round, waiting, proposal, why)
    return arm, explain_cause(kind, said)


@kernel
def _drawn_proposal(
    params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints, proposal: int, why: int
) -> tuple[int, int]:
    return learner_choose(params.learner, state.learner, contexts, round, waiting)


@kernel
def _same_proposal(
    params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints, proposal: int, why: int
) -> tuple[int, int]:
    return proposal, why


@kernel
def _chances_of_proposal(params: RuleParams, state: RuleState, proposal: int, left: float, urgent: int) -> None:
    if params.soft_rounds.size > 0:
        chances_by_mark(state)
    else:
        for arm in range(state.chances.size):
            state.chances[arm] = 1.0 if arm == proposal else 0.0
    spread(state, left, urgent)


@kernel
def _chances_of_learner(params: object, state: RuleState, proposal: int, left: float, urgent: int) -> None:
    for arm in range(state.chances.size):
        state.chances[arm] = state.learner.probabilities[arm]
    spread(state, left, urgent)


@kernel
def _chances_later(params: object, state: RuleState, proposal: int, left: float, urgent: int) -> None:
    """Stand where the learner's distribution takes longer than the decision, and is computed when it is read."""


@kernel
def _choose(params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    now = round - 1
    urgent, left = prepare_one(params, state, now)
    # the learner is asked even where a lot wins: `tell_chances` needs its proposal, or the distribution that it drew
    # from
    hear(params, state)
    proposal, said = first_proposal(params, state, contexts, round, waiting, urgent, LOT)
    arm, why, refused = -1, LOT, AS_RANKED
    for _ in range(TRIES):
        drawn_arm, reason = lot(state), LOT
        if drawn_arm < 0:
            drawn_arm, reason = next_proposal(params, state, contexts, round, waiting, proposal, said)
        if state.open[drawn_arm] == 1:
            arm, why = drawn_arm, reason
            break
        if refused == AS_RANKED:  # the first that was drawn would be played, were it not for what refuses it
            state.chosen[0] = drawn_arm
            refused = refusal(params, state, now)
    if arm < 0:
        arm = urgent
    tell_chances(params, state, proposal, left, urgent)
    finish_one(params, state, now, arm)
    return arm, explain_cause(refused, why)


@kernel
def _choose_slate(params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
    why = explain_cause(draw_slate(params, state, round - 1), LOT)
    return state.chosen[0], why


@kernel
def _chance(params: RuleParams, state: RuleState, index: int) -> float:
    return state.chances[index]


DRAWN = Kernels(accept_proposal, update_learner, _chance)
"""Of a learner from elsewhere, which is called between the kernels that draw."""


@kernel
def _cause_alone(cause: int, why: int) -> int:
    """Stand for `explain_cause` where reasons are causes, which Python explains."""
    return why if cause == AS_RANKED else cause


draw_proposal = bind(
    _choose,
    first_proposal=_best_allowed,
    next_proposal=_same_proposal,
    tell_chances=_chances_of_proposal,
    explain_cause=_cause_alone,
    LOT=BY_LOT,
)


@kernel
def draw_ranked(round: int, arrays: tuple[Any, ...]) -> int:
    """Choose by the ranking in `scores`, for a learner that is called from Python; return why these arms are played."""
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    if state.chosen.size > 1:
        return draw_slate(params, state, round - 1)
    return draw_proposal(params, state, state.scores, round, state.chosen)[1]


def hears_among(learner: Kernels) -> bool:
    """Return whether a learner can be asked about some of the arms alone, and its chances among them are known if its
    chances are."""
    ranks = learner.rank is not None and learner.probability is not sampled
    return ranks and (learner.chances is None or learner.chances.among)


def draw_for(learner: Kernels, update: Kernel, plays: int, rank_proposal: Kernel) -> Kernels:
    """Return the kernels of a learner under the lottery."""
    ranking = learner.rank or rank_proposal
    if plays > 1:
        return Kernels(bind(_choose_slate, learner_rank=ranking), update, _chance)
    ranks, draws = bind(_ranked_proposal, learner_rank=ranking), bind(_drawn_proposal, learner_choose=learner.choose)
    among = hears_among(learner)
    if learner.probability is deterministic:
        first, following, told = ranks, _same_proposal, _chances_of_proposal
    elif learner.probability is sampled:
        first, following, told = draws, draws, _chances_of_learner
    else:
        first, following, told = _same_proposal, ranks if among else draws, _chances_later
    choose = bind(_choose, first_proposal=first, next_proposal=following, tell_chances=told)
    if told is not _chances_later:
        return Kernels(choose, update, _chance)
    if learner.chances is None:
        return Kernels(choose, update, unknown_probability)
    kept = (*READ, *(f"learner.{name}" for name in learner.chances.reads))
    later = ProbabilityFunction(partial(_spread, learner.chances.function, among), kept, learner.chances.reads_waiting)
    return Kernels(choose, update, unknown_probability, chances=later)


@kernel
def _prepare(round: int, arrays: tuple[Any, ...]) -> tuple[int, float]:
    return prepare_one(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round - 1)


@kernel
def _spread_over(left: float, urgent: int, arrays: tuple[Any, ...]) -> None:
    spread(pack_state(*arrays[split:]), left, urgent)


def _spread(
    of_learner: Callable[..., Floats],
    among: bool,
    params: RuleParams,
    state: RuleState,
    contexts: Floats,
    round: int,
    waiting: Ints,
) -> Floats:
    """Return the chances of a round from the state before it, where the learner's own are computed now."""
    arrays = (*flat(params), *flat(state))
    pack = packers(params, state)
    state.chosen[:] = -1
    urgent, left = lazy_kernel(_prepare, *pack)(round, arrays)
    own = params.learner, state.learner, contexts, round, waiting
    if among:
        marks = np.unique(state.inclusions[state.open == 1])  # between two of them the same arms are heard
        sets = zip(marks, np.diff(marks, append=1.0), strict=True)
        state.chances[:] = sum(part * of_learner(*own, state.open * (state.inclusions <= low)) for low, part in sets)
    else:
        state.chances[:] = of_learner(*own)
    lazy_kernel(_spread_over, *pack)(left, urgent, arrays)
    chances: Floats = state.chances
    return chances
