"""A price in front of a learner's scores: under a promise, who comes decides who is owed.

`DeadlineLearn` overrides a learner as seldom as any rule that keeps the promise. Where contexts are seen that is not
the aim: it forces the owed arm on whoever comes. With prices lambda the proposal of a round is

    argmax_i (score_i(x) + lambda_i),

and once arm I is played, whether or not it was proposed, each arm that is owed a share r_i > 0 and is on offer has

    lambda_i <- clip(lambda_i + eta_i (r_i + e_i - 1{i = I}), 0, B).

Other prices stay as they are, since a share counts only the rounds in which its arm is on offer. The rule stays behind
the prices, so the promise is as sure as without them.

Everything follows from the shares and from the range [low, high] of an arm's mean reward in any context. The mean over
all contexts, of which the range may be much narrower, is not enough. With the spread V = sum_i r_i (1 - r_i) over the
arms owed, and t the rounds in which arm i was on offer and owed its share,

    B = high - low,  eta_i = B / (2 sqrt(V (t + 200))),  e_i = sqrt(r_i (1 - r_i)) / (2 sqrt(t + 200)),

the e_i scaled down where the shares would otherwise sum to more than one.

- B is enough, and no less is. Some prices that are best in the long run leave an arm j at 0 that is played in some
  context x: if all arms that are played had a price above 0, their shares would sum to one, and all prices could fall
  until one of those arms is at 0 or an arm without a share is as good somewhere. There m_j(x) >= m_i(x) + lambda_i, so
  that lambda_i <= B; with means 1 and 0 whoever comes, the price is B.
- Prices descend along subgradients of the dual, E max_i (m_i + lambda_i) - sum_i r_i lambda_i, whose squared length
  is V on average while each arm is played as often as it is owed. Steps c / sqrt(t) from 0 lose about (|lambda|^2 /
  (2 c) + c V) sqrt(T) to the best prices lambda, least for c = |lambda| / sqrt(2 V). The step above is that for two
  arms whose prices are half-way up the range, |lambda|^2 = B^2 / 2.
- Not scaled down, the e_i sum to (sqrt(t + 200) - sqrt(200)) sqrt(r_i (1 - r_i)) after t rounds. That is .41 of a
  standard deviation of the number of t independent draws with that share after 200 rounds, .87 after 10,000, and
  tends to one. By so much an arm comes to be ahead, less what its price took to rise: about lambda_i / eta_i of the
  first rounds, 2 sqrt(200 V) lambda_i / B plays. A tolerance of as many plays has room for these.
- Where the shares sum to one, no arm can be ahead, and all e_i are 0: with a tolerance of 0 nearly as many plays are
  forced as without prices. `docs/quotas.md` has what was measured; nothing is proved about how many are.
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

from evenhand.errors import ArgumentError, SharesError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.learners.adapter import learner_facts, reward_range_of
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, deterministic, is_forced, reason, unknown_probability
from evenhand.promises.promise import Promise
from evenhand.quotas.quota_kernels import update_learner

RANGE = "the lowest and the highest mean reward of an arm in any context"
SUCH_AS = "write priced=(low, high), such as priced=(0, 1)"
PRICED = reason("the learner's choice with prices, which lead by what is owed", "learner")
EARLY = 200
"""Rounds that count as passed before the first."""
PACE = 0.5
"""The factor of the steps, and of the leads."""

learner_rank = rule_choose = may_come = OPEN


class PricedParams(NamedTuple):
    shares: Floats
    margins: Floats
    """(n_arms,): e_i sqrt(t + 200)."""
    step: float
    """eta_i sqrt(t + 200)."""
    largest: float
    """B."""
    learner: Any


class PricedState(NamedTuple):
    prices: Floats
    rounds: Ints
    """(n_arms,): in how many rounds each arm was on offer and owed a share."""
    scores: Floats
    """(n_arms,): the learner's own, without the prices."""
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
    return PricedState(np.zeros(arms), np.zeros(arms, np.int64), np.zeros(arms), learner)


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
        hint = "LinUCB, UCB1 and Thompson have them" if ours else "Adapter(..., scores=) says those of another"
        raise ArgumentError(expected("priced", "a learner with a score for each arm", type(learner).__name__, hint))
    takes = reward_range_of(learner, (0.0, 1.0))
    low, high = (facts.scored or takes) if isinstance(priced, bool) else priced
    if math.isinf(high - low):
        raise ArgumentError(expected("priced", RANGE, f"{low:g} to {high:g}", SUCH_AS))
    if low < takes[0] or high > takes[1]:
        what = f"rewards that the learner takes, {takes[0]:g} to {takes[1]:g}"
        raise ArgumentError(expected("priced", what, f"{low:g} to {high:g}"))
    return high - low


def check_priceable(promise: Promise, lottery: float | None) -> None:
    """Refuse a promise for which no prices are known.

    Raises
    ------
    SharesError
        If it is more than shares of single arms, one of which is played in a round, or a lottery draws.
    """
    if lottery is not None:
        raise SharesError(expected("priced", "False together with lottery=", True))
    if promise.sets or promise.windows or promise.caps is not None or promise.plays > 1:
        hint = "leave priced out: the promise is then kept without prices"
        raise SharesError(expected("priced", "shares of single arms, one play a round", Wording(str(promise)), hint))


@kernel
def settle_prices(params: Any, state: Any, arm: int, why: int, round: int) -> int:
    """Move the prices of the arms that are on offer once an arm is played in a round, and return why it was: by `why`,
    or because of the prices."""
    owed, priced, own = params.learner, state.learner, -1
    for i in range(priced.prices.size):
        if may_come(state, i, round - 1):
            own = i if own < 0 or priced.scores[i] > priced.scores[own] else own
            if owed.shares[i] > 0.0:
                priced.rounds[i] += 1
                pace = math.sqrt(priced.rounds[i] + EARLY)
                behind = owed.shares[i] + owed.margins[i] / pace - (1.0 if i == arm else 0.0)
                priced.prices[i] = min(max(priced.prices[i] + owed.step / pace * behind, 0.0), owed.largest)
    return why if arm == own or is_forced(why) else PRICED


@kernel
def _rank(params: PricedParams, state: PricedState, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    why = learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
    for arm in range(scores.size):
        scores[arm] = state.scores[arm] + state.prices[arm]
    return why


@kernel
def _propose(params: PricedParams, state: PricedState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    why, best = learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores), 0
    for arm in range(1, state.scores.size):
        if state.scores[arm] + state.prices[arm] > state.scores[best] + state.prices[best]:
            best = arm
    return best, why


@kernel
def _choose(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    arm, why = rule_choose(params, state, contexts, round, waiting)
    return arm, settle_prices(params, state, arm, why, round)


def with_prices(learner: Kernels, under_rule: Callable[[Kernels], Kernels], may_come: Any) -> Kernels:
    """Return the kernels of a learner with prices; `under_rule` returns those of a learner under the rule, and the
    kernel `may_come` says whether an arm is on offer."""
    rank, propose = bind(_rank, learner_rank=learner.rank), bind(_propose, learner_rank=learner.rank)
    probability = deterministic if learner.probability is deterministic else unknown_probability
    rule = under_rule(Kernels(propose, bind(update_learner, learner_update=learner.update), probability, rank=rank))
    settle = bind(settle_prices, may_come=may_come)
    return Kernels(bind(_choose, rule_choose=rule.choose, settle_prices=settle), rule.update, rule.probability)
