"""A price in front of a learner's scores: under a promise, who comes decides who is owed.

`DeadlineLearn` overrides a learner as seldom as any rule that keeps the promise. Where contexts are seen that is not
the aim: it forces the owed arm on whoever comes next. With prices lambda the proposal of round t is

    argmax_i (score_i(x) + lambda_i),

and once arm I is played, whether or not it was proposed, each arm that is owed a share r_i > 0 has

    lambda_i <- clip(lambda_i + eta_t (r_i + e_i,t - 1{i = I}), 0, B).

The rule stays behind the prices, so the promise is as sure as without them.

Everything follows from the rewards' range [low, high] and the shares. With V = sum_i r_i (1 - r_i) over the arms owed,

    B = high - low,  eta_t = B / (4 sqrt(V (t + 200))),  e_i,t = sqrt(r_i (1 - r_i)) / (4 sqrt(t + 200)),

the e_i scaled down where the shares would otherwise sum to more than one. B is enough: for the best policy that keeps
the shares in the long run, and whose least price is 0, let arm j be played in context x at the price 0. Then m_j(x) >=
m_i(x) + lambda_i for every arm i, so that lambda_i is at most the range. The order of eta_t is that of projected
subgradient steps, whose squared length in arms has the mean V where each is played as often as it is owed. e_i,t leads
an arm over its share by about half a standard deviation of the number of independent draws that have the same share.
The factors 1/4 and 200 were fixed on worlds of our own before the rule was run on real contexts.

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
from evenhand.learners.adapter import learner_facts
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, deterministic, reason, unknown_probability
from evenhand.promises.promise import Promise
from evenhand.quotas.quota_kernels import update_learner

PRICED = reason("the learner's choice with prices, which lead by what is owed", "learner")
EARLY = 200
"""Rounds by which the steps start later, so that the first ones are no longer than the prices."""
PACE = 0.25
"""The length of the steps, in those that would cross the range at once."""

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


def priced_parameters(promise: Promise, rewards: tuple[float, float], learner: Any) -> PricedParams:
    """Return the parameters of the prices of a promise, around those of a learner."""
    shares = np.array(promise.shares, np.float64)
    spread, largest = shares * (1.0 - shares), rewards[1] - rewards[0]
    margins, room = PACE * np.sqrt(spread), float(1 - sum(promise.shares)) * math.sqrt(EARLY)
    margins *= min(1.0, room / max(float(margins.sum()), 1e-300))
    variance = float(spread.sum())
    return PricedParams(shares, margins, PACE * largest / math.sqrt(variance) if variance else 0.0, largest, learner)


def priced_state(arms: int, learner: Any) -> PricedState:
    """Return the state before the first round, around that of a learner."""
    return PricedState(np.zeros(arms), np.zeros(arms), learner)


def price_range(learner: Any, rewards: tuple[float, float], priced: bool | tuple[float, float]) -> tuple[float, float]:
    """Return the range of the rewards that prices are made from.

    Raises
    ------
    ArgumentError
        If the learner has no scores, or nobody says a finite range that it takes.
    """
    ours = isinstance(learner, KernelPolicy)
    scores = learner._kernels.rank if ours else learner_facts(learner).scores
    if scores is None or learner_facts(learner).own_choices:
        inner = learner_facts(learner).learner
        name = type(learner if inner is None or ours else getattr(inner, "policy", inner)).__name__
        mend = "Adapter(..., scores=) says those of another" if not ours else "LinUCB, UCB1 and Thompson have them"
        raise ArgumentError(wanted("priced", "a learner with a score for each arm", name, mend))
    low, high = rewards if isinstance(priced, bool) else priced
    if math.isinf(high - low):
        mend = "write priced=(low, high), such as priced=(0, 1)"
        raise ArgumentError(wanted("priced", "the lowest and the highest reward", f"{low:g} to {high:g}", mend))
    if low < rewards[0] or high > rewards[1]:
        what = f"rewards that the learner takes, {rewards[0]:g} to {rewards[1]:g}"
        raise ArgumentError(wanted("priced", what, f"{low:g} to {high:g}"))
    return low, high


def check_priceable(promise: Promise) -> None:
    """Refuse a promise for which no prices are known.

    Raises
    ------
    SharesError
        If it is more than shares of single arms, one of which is played in a round.
    """
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
