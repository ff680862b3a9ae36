"""LotteryLearn: a promise that is drawn by lottery, so that every arm has a chance at every round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.arguments import real
from evenhand.learners.indices import UCB1
from evenhand.learners.random import Thompson
from evenhand.protocol import Label
from evenhand.quotas.deadline_learn import DeadlineLearn
from evenhand.quotas.quota_policy import Shares
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed


@register("quotas/lottery-learn")
class LotteryLearn(DeadlineLearn):
    """Play any learner under any guaranteed shares with sum at most one by lottery, so that every arm keeps a
    probability of at least floor times its share: `DeadlineLearn(learner, shares, tolerance, lottery=floor)`.

    The promise always holds. Every decision carries its exact probabilities given the past, so a log of them can be
    evaluated and analysed like an experiment. An arm has a probability below floor r_i only in a round in which no rule
    that keeps the promise could play it. The guide to the lottery says how seldom that is and what the lottery costs.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`. With an object from elsewhere, the probabilities are conditional on its proposal.
    shares : the share r_i of the rounds owed to each arm, as for `DeadlineLearn`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind. Where the shares sum to one, 4 or more makes forced
        plays rare.
    floor : f in [0, 1]; every arm has at least the probability f r_i. A larger one leaves the lottery less room to
        catch up, and costs more.
    plays, caps, arms, seed : as for `DeadlineLearn`.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one share per arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative or too large to count, the floor is not in [0, 1], or the learner has decided
        before or cannot choose and update.

    Examples
    --------
    >>> policy = LotteryLearn(UCB1(), {"red": 0.3, "green": 0.2, "blue": 0.1}, tolerance=4, seed=1)
    >>> for _ in range(20):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "blue" else 0.0)
    >>> {arm: round(chance, 3) for arm, chance in policy.probabilities().items()}
    {'red': 0.495, 'green': 0.1, 'blue': 0.405}
    >>> policy.promise.is_kept(policy.pulls, 20)
    True

    Source: the head of `evenhand.promises.lottery`.
    """

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
        self.floor = real("floor", floor, low=0.0, high=1.0)
        super().__init__(learner, shares, tolerance, plays, caps, lottery=self.floor, arms=arms, seed=seed)

    @classmethod
    def examples(cls) -> Iterator[tuple[LotteryLearn, Any]]:
        yield cls(UCB1(), {"a": 0.5, "b": 0.1, "c": 0.1}), BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5})
        yield cls(Thompson(), ["1/2", "1/3", "1/6"], 4.5, 0.8), BernoulliArms([0.1, 0.2, 0.9])
