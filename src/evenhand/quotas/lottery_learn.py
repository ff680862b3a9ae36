"""LotteryLearn: the exact promise of DeadlineLearn, drawn by lottery, so that every arm has a chance at every round.

Under a rule that forces pulls the round decides: an arm may be certain in one and impossible in the next. Here an arm
that falls behind wins tickets in time, so that a deadline hardly ever has to force. With x_i = r_i t - N_i before round
t is decided, a = floor(alpha), f the floor, m = 4 and clamp to [0, 3],

    e_i = r_i clamp(1 - f + (x_i - (a + 1 - m)) / 2),    rho = min(1, (1 - f sum r) / sum e),
    p   = f r + rho e + (1 - f sum r - rho sum e) q,

q being the distribution of the learner's wish. What is drawn from p is a wish of DeadlineLearn: granted iff every
promise can still be kept after it, else the arm with the earliest deadline is played.

- The promise holds surely, as DeadlineLearn keeps it whatever the wishes are.
- The floor: every arm that may be played at all has at least the probability f r_i. An arm that may not be played could
  be played by no rule that keeps the promise.
- How often it is forced: while a learner never plays the arm, x drifts by -r (x - (a + 1 - m)) / 2 and has the noise
  variance r (1 - r), so its stationary variance is 1 - r, and x comes m above its centre, to where a pull is forced, in
  about exp(-m^2 / (2 (1 - r))) of the rounds, however large alpha and the horizon are. The price against DeadlineLearn
  is about m pulls an arm, once.
- With alpha < m arms are kept ahead of their shares. Where the shares sum to one they cannot all be ahead: there force
  is rare only with alpha >= m.

Ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import real
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import OPEN, bind, interpreted, kernel
from evenhand.kernels.deadlines import outlook, played
from evenhand.kernels.random import draw, uniform
from evenhand.learners.thompson import Thompson
from evenhand.learners.ucb1 import UCB1
from evenhand.policy.policy import FORCED, KernelPolicy, Kernels
from evenhand.protocol import Label
from evenhand.quotas.composed_chances import settle_in_place
from evenhand.quotas.deadlines import DEADLINE_RULE, check_tolerance, look_work, warn_of_idle_arms
from evenhand.quotas.foreign import wishes
from evenhand.quotas.under_quota import LOT, WISH, Shares, UnderQuota, compose, promise_over, settled_each
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["LotteryLearn"]

MARGIN = 4.0
"""By how many pulls an arm is kept away from where it would be forced."""
STEEPNESS = 0.5
MOST_TICKETS = 3.0


class LotteryParams(NamedTuple):
    numerators: Ints
    steps: Ints
    remainders: Ints
    denominator: int
    shares: Floats
    up_to: Floats
    """(n_arms,): the sums of the shares up to each arm's."""
    floor: float
    rise: float
    """By how much the sum of the tickets rises in a round, at most."""
    learner: Any


class LotteryState(NamedTuple):
    pulls: Ints
    whole: Ints
    """whole + rest/R is when the arm's next owed pull falls due, as for DeadlineLearn."""
    rest: Ints
    memo: Ints
    soonest: Ints
    ahead_whole: Ints
    ahead_rest: Ints
    due: Floats
    """(n_arms,): whole + rest/R as one number."""
    tickets: Floats
    """(n_arms,): the probabilities e_i, unscaled, of the round in which they were last needed."""
    most: Floats
    """(2,): their sum and that round."""
    stream: Words
    learner: Any


forced = settled = served = redistributed = settle_each = learner_choose = OPEN
asks_always = False


@kernel
def hand_out_tickets(params: LotteryParams, state: LotteryState, round: int) -> tuple[float, float]:
    """Fill `tickets`, and return their sum and by what to scale them."""
    arms, least = params.shares.size, 1.0 - params.floor + STEEPNESS * MARGIN
    for arm in range(arms):
        share = params.shares[arm]
        odds = least - STEEPNESS * share * (state.due[arm] - round)
        odds = 0.0 if odds < 0.0 else odds
        odds = MOST_TICKETS if odds > MOST_TICKETS else odds
        state.tickets[arm] = share * odds
    total, other = 0.0, 0.0  # two sums, as each addition waits for the one before
    for pair in range(arms // 2):
        total += state.tickets[2 * pair]
        other += state.tickets[2 * pair + 1]
    total += other + (state.tickets[arms - 1] if arms % 2 == 1 else 0.0)
    state.most[0], state.most[1] = total, round
    free = 1.0 - params.floor * params.up_to[arms - 1]
    return total, 1.0 if total <= free else free / total


@kernel
def lot(params: LotteryParams, state: LotteryState, round: int) -> int:
    """Return the arm that wins the round, -1 where it is the learner's.

    Tickets are handed out only where the mark may lie among them: their sum cannot have risen faster than time.
    """
    winner, arms = 0, params.shares.size
    owed = params.up_to[arms - 1]
    mark = uniform(state.stream) - params.floor * owed
    if mark < 0.0:
        mark = owed + mark / params.floor
        for arm in range(arms):
            winner += params.up_to[arm] <= mark
    else:
        if mark >= state.most[0] + params.rise * (round - state.most[1]):
            return -1
        total, scale = hand_out_tickets(params, state, round)
        if mark >= scale * total:
            return -1
        mark /= scale
        for arm in range(arms):
            mark -= state.tickets[arm]
            winner += mark >= 0.0
    while winner == arms or params.shares[winner] == 0.0:  # where rounding leads beyond the last share
        winner = arms - 1 if winner == arms else winner - 1
    return winner


@kernel
def count(params: LotteryParams, state: LotteryState, round: int, arm: int) -> None:
    state.pulls[arm] += 1
    played(params, state, arm)
    state.due[arm] = state.whole[arm]
    if params.numerators[arm] > 0:
        state.due[arm] += state.rest[arm] / params.numerators[arm]


RULE = DEADLINE_RULE._replace(served=count, kept=("whole", "rest", "due"))


@kernel
def _choose(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    must = forced(params, state, round)
    arm, why = must, FORCED
    if must < 0:
        wish, why = lot(params, state, round), LOT
        if wish < 0:
            wish, why = learner_choose(params.learner, state.learner, contexts, round, waiting)
        elif asks_always:
            learner_choose(params.learner, state.learner, contexts, round, waiting)
        arm = settled(params, state, round, wish)
        if arm != wish:
            why = FORCED
    redistributed(params, state, round, must)
    served(params, state, round, arm)
    return arm, why


@kernel
def _draw_lots_and_settle(params: Any, state: Any, round: int, must: int, probabilities: Floats) -> None:
    """Turn the distribution of the learner's wishes into that of the arms that are played, in place."""
    total, scale = hand_out_tickets(params, state, round)
    left = 1.0 - params.floor * params.up_to[params.shares.size - 1] - scale * total
    left = 0.0 if left < 0.0 else left
    for arm in range(probabilities.size):
        lots = params.floor * params.shares[arm] + scale * state.tickets[arm]
        probabilities[arm] = lots + left * probabilities[arm]
    settle_each(params, state, round, must, probabilities)


@kernel
def _leave_wishes(params: Any, state: Any, round: int, must: int, probabilities: Floats) -> None:
    """Leave the distribution of wishes as it is."""


@register("quotas/lottery-learn")
class LotteryLearn(UnderQuota, KernelPolicy):
    """Play any learner under any guaranteed shares with sum at most one by lottery, so that every arm keeps a
    probability of at least floor times its share.

    The promise is that of `DeadlineLearn`, N_i(t) >= floor(r_i t) - alpha for every arm at every round, and holds
    surely. Every decision knows its exact probabilities given the past, so a log of them can be evaluated and analysed
    like an experiment. An arm has a probability below floor r_i only in a round in which no rule that keeps the promise
    could play it. The guide to the lottery says how seldom that is and what the lottery costs.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`. Where it is an object from elsewhere, the
        probabilities are those given its wish.
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind. Where the shares sum to one, 4 or more makes force
        rare.
    floor : f in [0, 1]; every arm has at least the probability f r_i. A larger one leaves the lottery less room to
        catch up, and costs more.
    plays, caps : 1 and None; `DeadlineLearn` takes others, without a lottery.
    arms : labels, where `shares` has none.
    seed : seed of the lottery and of the learner's random choices.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one an arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative or beyond any conversation, the floor is not in [0, 1], several plays or caps are
        asked for, or the learner has decided before or cannot choose and update.

    Examples
    --------
    >>> policy = LotteryLearn(UCB1(), {"red": 0.3, "green": 0.2, "blue": 0.1}, tolerance=4, seed=1)
    >>> for _ in range(20):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "blue" else 0.0)
    >>> {arm: round(chance, 3) for arm, chance in policy.probabilities().items()}
    {'red': 0.345, 'green': 0.12, 'blue': 0.535}
    >>> policy.promise.kept(policy.pulls, 20)
    True

    Source: the head of this module.
    """

    caps = None
    rule = RULE
    _lots = bind(_draw_lots_and_settle, settle_each=_leave_wishes)
    _each = settled_each(RULE)
    _chances: Floats | None = None

    def __init__(
        self,
        learner: Any,
        shares: Shares | Any,
        tolerance: float = 0.0,
        floor: float = 0.5,
        *,
        plays: int = 1,
        caps: Any = None,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self._one_play_without_caps(plays, caps)
        self.floor = real("floor", floor, low=0.0, high=1.0)
        promise = promise_over(learner, shares, tolerance, arms)
        check_tolerance(promise)
        warn_of_idle_arms(promise)
        self._set_up(learner, promise, seed)

    def _bound(self, learner: Kernels) -> Kernels:
        return compose(learner, RULE, _choose, _draw_lots_and_settle)

    def quota_parameters(self, learner: Any) -> LotteryParams:
        shares = self.promise.floats()
        rise = STEEPNESS * float(shares @ shares) * (1.0 + 1e-12)
        counted = *self.promise.pace(), self.promise.fixed_point[1]
        return LotteryParams(*counted, shares, np.cumsum(shares), self.floor, rise, learner)

    def quota_memory(self, learner: Any) -> LotteryState:
        arms = len(self.promise.arms)
        whole, rest = self.promise.position(self.promise.slack + 1)
        due = whole + rest / np.maximum(self.promise.pace().numerators, 1)
        books = np.zeros(arms, np.int64), whole, rest, *outlook(arms)
        return LotteryState(*books, due, np.zeros(arms), np.array([np.inf, 0.0]), self.stream(), learner)

    def call_work(self) -> int:
        return super().call_work() + look_work(self.promise)

    def distribution(self, why: int) -> Floats | None:
        """Return the distribution of the decision just taken, given its wish where the learner is from elsewhere."""
        return super().distribution(why) if self.compiled else self._chances

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        if self.compiled:
            return super()._choose(shown)
        round, why = self.round + 1, FORCED
        arm = self._ask_kernel(round, *self._arrays)
        chances = np.zeros(len(self._labels))
        if arm >= 0:
            chances[arm] = 1.0
        else:
            wish = self._first_allowed(wishes(self, shown), round)
            chances[wish] = 1.0
            settle_in_place(self._lots, self._params, self._state, round, chances)
            drawn = chances.copy()
            settle_in_place(self._each, self._params, self._state, round, chances)
            mark = interpreted(uniform)(self._state.stream.copy())
            arm = int(interpreted(draw)(self._state.stream, chances))
            why = WISH if arm == wish else LOT
            in_place_of_others = chances[arm] > drawn[arm] <= mark - chances[:arm].sum()
            if in_place_of_others:
                why = FORCED
        self._tell_kernel(round, arm, *self._arrays)
        self.round, self._chances = round, chances
        return arm, why, float(chances[arm])

    def _first_allowed(self, said: list[int], round: int) -> int:
        """Return the first arm of a ranking that may be played; the first of all where none may."""
        for wish in said if len(said) > 1 else ():
            chances = np.zeros(len(self._labels))
            chances[wish] = 1.0
            settle_in_place(self._each, self._params, self._state, round, chances)
            if chances[wish]:
                return wish
        return said[0]

    @classmethod
    def examples(cls) -> Iterator[tuple[LotteryLearn, Any]]:
        yield cls(UCB1(), {"a": 0.5, "b": 0.1, "c": 0.1}), BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5})
        yield cls(Thompson(), ["1/2", "1/3", "1/6"], 4.5, 0.8), BernoulliArms([0.1, 0.2, 0.9])
