"""WindowLearn: every arm is played at least c times in any a consecutive rounds, whatever came before.

Shares over all rounds so far let an arm that was ahead wait a long time. A window does not: "at least twice in any 25
consecutive rounds" holds from every round on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.errors import SharesError, wanted
from evenhand.learners.adapter import learner_facts
from evenhand.learners.indices import UCB1
from evenhand.learners.random import Thompson
from evenhand.promises.feasible import spaced_alone
from evenhand.promises.promise import Promise, read_promise
from evenhand.protocol import Label
from evenhand.quotas.deadline_learn import DeadlineLearn
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed


@register("quotas/window-learn")
class WindowLearn(DeadlineLearn):
    """Play any learner so that every arm is played at least c times in any a consecutive rounds: `DeadlineLearn` under
    a promise of windows alone, where every arm is always on offer.

    The learner's proposal is granted where every window can still be kept after it. The test is exact if the windows
    have at most 65,536 combinations of times left; otherwise it uses a chain of periods or, where none is sparse
    enough, a schedule found by search. Windows of density sum c/a up to 5/6 can always be scheduled, but a long search
    gives up; of those between 5/6 and 1 some cannot be, such as (2, 3, n) for every n.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; it learns from forced pulls too.
    windows : a dict arm -> a, at least one pull in any a rounds, or arm -> (c, a), at least c pulls; arms that are not
        named are owed nothing. Or a `Promise`.
    arms : labels of all arms, where some have no window.
    plays, caps, seed : as for `DeadlineLearn`.

    Raises
    ------
    SharesError
        If the windows cannot be read, need more rounds than there are, or no schedule is found for them.
    ArgumentError
        If the learner has decided before or cannot choose and update.

    Examples
    --------
    >>> from evenhand.learners import UCB1
    >>> policy = WindowLearn(UCB1(), {"small": (2, 10), "new": 5}, arms=["large", "small", "new"])
    >>> for _ in range(50):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "large" else 0.0)
    >>> policy.pulls["small"] >= 10, policy.pulls["new"] >= 10
    (True, True)

    Source: the head of `evenhand.promises.windows`.
    """

    def __init__(
        self,
        learner: Any,
        windows: Any,
        arms: int | Sequence[Label] | None = None,
        *,
        plays: int = 1,
        caps: Any = None,
        seed: Seed = None,
    ) -> None:
        if windows is None:
            raise SharesError(wanted("windows", "a dict arm -> rounds, or arm -> (plays, rounds); or a Promise", None))
        said = {"plays": plays, "caps": caps}
        if not isinstance(windows, Promise):
            arms = learner_facts(learner).arms if arms is None else arms
            windows, said = read_promise(windows=windows, offers="all", arms=arms, **said), {}
        super().__init__(learner, windows, arms=arms, seed=seed, **said)

    def _has_words(self, config: dict[str, Any]) -> bool:
        return spaced_alone(self.promise)

    @classmethod
    def examples(cls) -> Iterator[tuple[WindowLearn, Any]]:
        yield cls(UCB1(), {"a": 4, "b": (2, 9)}, ["a", "b", "c"]), BernoulliArms({"a": 0.3, "b": 0.5, "c": 0.8})
        yield cls(Thompson(), {0: 7, 1: 50, 2: 60, 3: 70}), BernoulliArms([0.2, 0.9, 0.4, 0.3])
