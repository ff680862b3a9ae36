"""A learner under any promise, with or without a lottery: the rule of `evenhand.promises` around any learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Kernel, bind, flat, kernel, packers
from evenhand.policy.kernel_set import FORCED, Kernels, ProbabilityFunction, deterministic, sampled, unknown_probability
from evenhand.promises.allowed import BY_DEADLINE, BY_LOT, cause
from evenhand.promises.lottery import TRIES, draw_slate, finish_one, lot, prepare_one, spread
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
    """Return the best of the arms in `scores` that may be played, else `proposal`, the most urgent; and why it is
    that."""
    best = best_of(state, state.open)
    state.chosen[0] = proposal if best < 0 else best
    return state.chosen[0], cause(state, round - 1, 1)


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
def _chances_of_proposal(state: RuleState, proposal: int, left: float, urgent: int) -> None:
    for arm in range(state.chances.size):
        state.chances[arm] = 1.0 if arm == proposal else 0.0
    spread(state, left, urgent)


@kernel
def _chances_of_learner(state: RuleState, proposal: int, left: float, urgent: int) -> None:
    for arm in range(state.chances.size):
        state.chances[arm] = state.learner.probabilities[arm]
    spread(state, left, urgent)


@kernel
def _chances_later(state: RuleState, proposal: int, left: float, urgent: int) -> None:
    """Stand where the learner's distribution takes longer than the decision, and is computed when it is read."""


@kernel
def _choose(params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    now = round - 1
    urgent, left = prepare_one(params, state, now)
    # the learner is asked even where a lot wins: `tell_chances` needs its proposal, or the distribution that it drew
    # from
    proposal, said = first_proposal(params, state, contexts, round, waiting, urgent, LOT)
    arm, why, overruled = -1, FORCED, False
    for _ in range(TRIES):
        drawn_arm, reason = lot(state), LOT
        if drawn_arm < 0:
            drawn_arm, reason = next_proposal(params, state, contexts, round, waiting, proposal, said)
        if state.open[drawn_arm] == 1:
            arm = drawn_arm
            why = FORCED if overruled else reason
            break
        overruled = overruled or state.offered[drawn_arm] == 1
    if arm < 0:
        arm = urgent
    tell_chances(state, proposal, left, urgent)
    finish_one(params, state, arm)
    return arm, why


@kernel
def _choose_slate(params: RuleParams, state: RuleState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
    overruled = draw_slate(params, state, round - 1)
    return state.chosen[0], FORCED if overruled else LOT


@kernel
def _chance(params: RuleParams, state: RuleState, index: int) -> float:
    return state.chances[index]


DRAWN = Kernels(accept_proposal, update_learner, _chance)
"""Of a learner from elsewhere, which is called between the kernels that draw."""

draw_proposal = bind(
    _choose,
    first_proposal=_best_allowed,
    next_proposal=_same_proposal,
    tell_chances=_chances_of_proposal,
    FORCED=BY_DEADLINE,
    LOT=BY_LOT,
)


@kernel
def draw_ranked(round: int, arrays: tuple[Any, ...]) -> int:
    """Choose by the ranking in `scores`, for a learner that is called from Python; return why these arms are played."""
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    if state.chosen.size > 1:
        return BY_DEADLINE if draw_slate(params, state, round - 1) else BY_LOT
    return draw_proposal(params, state, state.scores, round, state.chosen)[1]


def draw_for(learner: Kernels, update: Kernel, plays: int, rank_proposal: Kernel) -> Kernels:
    """Return the kernels of a learner under the lottery."""
    ranking = learner.rank or rank_proposal
    if plays > 1:
        return Kernels(bind(_choose_slate, learner_rank=ranking), update, _chance)
    ranks, draws = bind(_ranked_proposal, learner_rank=ranking), bind(_drawn_proposal, learner_choose=learner.choose)
    among = False
    if learner.probability is deterministic:
        first, following, told = ranks, _same_proposal, _chances_of_proposal
    elif learner.probability is sampled:
        first, following, told = draws, draws, _chances_of_learner
    else:
        among = learner.rank is not None and (learner.chances is None or learner.chances.among)
        first, following, told = _same_proposal, ranks if among else draws, _chances_later
    choose = bind(_choose, first_proposal=first, next_proposal=following, tell_chances=told)
    if told is not _chances_later:
        return Kernels(choose, update, _chance)
    if learner.chances is None:
        return Kernels(choose, update, unknown_probability)
    kept = (*READ, *(f"learner.{name}" for name in learner.chances.reads))
    return Kernels(
        choose,
        update,
        unknown_probability,
        chances=ProbabilityFunction(
            partial(_spread, learner.chances.function, among), kept, learner.chances.reads_waiting
        ),
    )


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
    state.chances[:] = of_learner(*own, state.open) if among else of_learner(*own)
    lazy_kernel(_spread_over, *pack)(left, urgent, arrays)
    chances: Floats = state.chances
    return chances
