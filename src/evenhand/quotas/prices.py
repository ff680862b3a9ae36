"""A price in front of a learner's scores: under a promise, who comes decides who is owed.

`DeadlineLearn` overrides a learner as seldom as any rule that keeps the promise. Where contexts are seen that is not
the aim: it forces the owed arm on whoever comes next. With prices lambda the proposal of round t is

    argmax_i (score_i(x) + lambda_i),

and once arm I is played, whether or not it was proposed, each arm that is owed a share r_i > 0 has

    lambda_i <- clip(lambda_i + eta_t (r_i + e_i,t - 1{i = I}), 0, B).

The rule stays behind the prices, so the promise is as sure as without them.

Everything follows from the range [low, high] of what an arm earns on average and from the shares. With the spread V =
sum_i r_i (1 - r_i) over the arms owed,

    B = high - low,  eta_t = B / (2 sqrt(V (t + 200))),  e_i,t = sqrt(r_i (1 - r_i)) / (2 sqrt(t + 200)),

the e_i scaled down where the shares would otherwise sum to more than one.

- B is enough, and no less is. Some prices that are best in the long run leave an arm j at 0 that is played in some
  context x: if all arms that are played had a price above 0, the shares would sum to one, and all prices could fall
  until one of those arms is at 0 or an arm without a share is as good somewhere. There m_j(x) >= m_i(x) + lambda_i, so
  that lambda_i <= B; with means 1 and 0 whoever comes, the price is B.
- Prices descend along subgradients of the dual, E max_i (m_i + lambda_i) - sum_i r_i lambda_i, whose squared length
  is V on average while each arm is played as often as it is owed. Steps c / sqrt(t) from 0 lose about (|lambda|^2 /
  (2 c) + c V) sqrt(T) to the best prices lambda, least for c = |lambda| / sqrt(2 V). The step above is that for two
  arms whose prices are half-way up the range, |lambda|^2 = B^2 / 2.
- The e_i,t sum to one standard deviation, sqrt(r_i (1 - r_i) t), of the number of independent draws with that share: by
  so much an arm is ahead, and hardly ever has to be forced.
- Steps start as if 200 rounds had passed, or the first ones would cross the range. Of 50, 200 and 800, in four random
  worlds other than those of `benchmarks/bench_prices.py`, none was much better; it was chosen before real data was run.

Source of the prices: A. Slivkins, X. Zhou, K. A. Sankararaman, D. J. Foster, "Contextual Bandits with Packing and
Covering Constraints: A Modular Lagrangian Approach via Regression", JMLR 25 (2024). That the promise is kept exactly is
ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, SharesError, Wording, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.learners.adapter import learner_facts, reward_range_of
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, deterministic, reason, unknown_probability
from evenhand.promises.promise import Promise
from evenhand.quotas.quota_kernels import update_learner

PRICED = reason("the learner's choice with prices, which lead by what is owed", "learner")
EARLY = 200
"""Rounds that count as passed before the first."""
PACE = 0.5
"""The factor of the steps, and of the leads."""

learner_rank = rule_choose = OPEN


class PricedParams(NamedTuple):
    shares: Floats
    margins: Floats
    """(n_arms,): e_i,t sqrt(t + 200)."""
    step: float
    """eta_t sqrt(t + 200)."""
    largest: float
    """B."""
    learner: Any


class PricedState(NamedTuple):
    prices: Floats
    scores: Floats
    learner: Any


def priced_parameters(promise: Promise, largest: float, learner: Any) -> PricedParams:
    """Return the parameters of the prices of a promise, around those of a learner."""
    shares = np.array(promise.shares, np.float64)
    spread, room = shares * (1.0 - shares), float(1 - sum(promise.shares)) * math.sqrt(EARLY)
    margins, variance = PACE * np.sqrt(spread), float(spread.sum())
    margins *= min(1.0, room / max(float(margins.sum()), 1e-300))
    return PricedParams(shares, margins, PACE * largest / math.sqrt(variance) if variance else 0.0, largest, learner)


def priced_state(arms: int, learner: Any) -> PricedState:
    """Return the state before the first round, around that of a learner."""
    return PricedState(np.zeros(arms), np.zeros(arms), learner)


def largest_price(learner: Any, priced: bool | tuple[float, float]) -> float:
    """Return B.

    Raises
    ------
    ArgumentError
        If the learner has no scores, or nobody says a finite range that it takes.
    """
    ours, facts = isinstance(learner, KernelPolicy), learner_facts(learner)
    if facts.own_choices or (learner._kernels.rank if ours else facts.scores) is None:
        while (inner := learner_facts(learner).learner) is not None:
            learner = inner
        mend = "LinUCB, UCB1 and Thompson have them" if ours else "Adapter(..., scores=) says those of another"
        raise ArgumentError(wanted("priced", "a learner with a score for each arm", type(learner).__name__, mend))
    takes = reward_range_of(learner, (0.0, 1.0))
    low, high = takes if isinstance(priced, bool) else priced
    if math.isinf(high - low):
        mend = "write priced=(low, high), such as priced=(0, 1)"
        raise ArgumentError(wanted("priced", "the lowest and the highest reward", f"{low:g} to {high:g}", mend))
    if low < takes[0] or high > takes[1]:
        what = f"rewards that the learner takes, {takes[0]:g} to {takes[1]:g}"
        raise ArgumentError(wanted("priced", what, f"{low:g} to {high:g}"))
    return high - low


def check_priceable(promise: Promise, lottery: float | None) -> None:
    """Refuse a promise for which no prices are known.

    Raises
    ------
    SharesError
        If it is more than shares of single arms, one of which is played in a round, or a lottery draws.
    """
    if lottery is not None:
        raise SharesError(wanted("priced", "False together with lottery=", True))
    if promise.sets or promise.windows or promise.caps is not None or promise.plays > 1:
        mend = "leave priced out: the promise is then kept without prices"
        raise SharesError(wanted("priced", "shares of single arms, one play a round", Wording(str(promise)), mend))


@kernel
def first_of(scores: Floats) -> int:
    """Return the arm with the highest score, ties by the lowest arm."""
    best = 0
    for arm in range(1, scores.size):
        if scores[arm] > scores[best]:
            best = arm
    return best


@kernel
def add_prices(state: PricedState, scores: Floats) -> bool:
    """Put the prices in front of the scores; return whether another arm leads now."""
    before = first_of(scores)
    for arm in range(scores.size):
        scores[arm] += state.prices[arm]
    return first_of(scores) != before


@kernel
def settle_prices(params: PricedParams, state: PricedState, arm: int, round: int) -> None:
    """Move the prices once an arm is played in a round."""
    pace = math.sqrt(round + EARLY)
    for i in range(state.prices.size):
        price = 0.0
        if params.shares[i] > 0.0:
            behind = params.shares[i] + params.margins[i] / pace - (1.0 if i == arm else 0.0)
            price = min(max(state.prices[i] + params.step / pace * behind, 0.0), params.largest)
        state.prices[i] = price


@kernel
def _rank(params: PricedParams, state: PricedState, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    why = learner_rank(params.learner, state.learner, contexts, round, waiting, scores)
    return PRICED if add_prices(state, scores) else why


@kernel
def _propose(params: PricedParams, state: PricedState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    why = learner_rank(params, state, contexts, round, waiting, state.scores)
    return first_of(state.scores), why


@kernel
def _choose(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    arm, why = rule_choose(params, state, contexts, round, waiting)
    settle_prices(params.learner, state.learner, arm, round)
    return arm, why


def with_prices(learner: Kernels, under_rule: Callable[[Kernels], Kernels]) -> Kernels:
    """Return the kernels of a learner with prices; `under_rule` returns those of a learner under the rule."""
    rank = bind(_rank, learner_rank=learner.rank)
    probability = deterministic if learner.probability is deterministic else unknown_probability
    update = bind(update_learner, learner_update=learner.update)
    rule = under_rule(Kernels(bind(_propose, learner_rank=rank), update, probability, rank=rank))
    return Kernels(bind(_choose, rule_choose=rule.choose), rule.update, rule.probability)
