"""FairUCB: the paper's rule over UCB1, see `evenhand.quotas.fair_learn`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.learners.ucb1 import UCB1
from evenhand.protocol import Label
from evenhand.quotas.fair_learn import FairLearn, at_most_equal_shares
from evenhand.quotas.under_quota import Shares, promise_over
from evenhand.registry import register
from evenhand.rng import Seed


@register("quotas/fair-ucb")
class FairUCB(FairLearn):
    """Play UCB1 under guaranteed shares, the paper's Fair-UCB: `FairLearn(UCB1(), shares, tolerance)` in one word.

    Parameters
    ----------
    shares : the share r_i of the rounds owed to each arm, at most 1/n_arms: a list, a dict arm -> share, or one number
        with `arms`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    arms : labels, where `shares` has none.
    seed : unused by this rule, kept so that policies are interchangeable.

    Raises
    ------
    SharesError, ArgumentError
        As `FairLearn` does.

    Examples
    --------
    >>> policy = FairUCB({"a": 0.25, "b": 0.25, "c": 0.25})
    >>> policy.ask().reason, policy.ask().reason
    ('never tried before', 'owed its share')

    Source: Patil, Ghalme, Nair, Narahari (2021), Algorithm 1 with UCB1, Theorems 2 to 4. Its r-regret is at most
    (1 + pi^2/3) sum_i Delta_i + sum over { i : r_i T - alpha < 8 ln T / Delta_i^2 } of Delta_i (8 ln T / Delta_i^2 -
    (r_i T - alpha)).
    """

    def __init__(
        self,
        shares: Shares | Any,
        tolerance: float = 0.0,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self._set_up(UCB1(), at_most_equal_shares(promise_over(None, shares, tolerance, arms)), seed)

    @classmethod
    def examples(cls) -> Iterator[tuple[FairUCB, Any]]:
        from evenhand.quotas.worlds import BernoulliArms

        yield cls([0.2, 0.3, 0.25]), BernoulliArms([0.7, 0.5, 0.4])
        yield cls([0.08] * 10, tolerance=3), BernoulliArms([0.05 * i for i in range(10)])
