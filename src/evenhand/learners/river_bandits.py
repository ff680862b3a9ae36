"""Bandits of river as learners."""

from __future__ import annotations

import copy
from typing import Any

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, wanted
from evenhand.learners.adapter import Adapter
from evenhand.learners.elsewhere import Range, checked, class_in, shared_row
from evenhand.rng import Seed, draw_seed
from evenhand.saving.objects import described, rebuilt

__all__ = ["from_river"]

LIBRARIES = ("river",)


class RiverBandit:
    """A bandit of river and how many arms it chooses among."""

    def __init__(self, policy: Any, arms: int, contextual: bool) -> None:
        self.policy, self.arms, self.contextual = policy, list(range(arms)), contextual
        self.pulled = False


def from_river(policy: Any, *, arms: int, reward_range: Range = None, seed: Seed = None) -> Adapter:
    """Return a learner that chooses as a bandit of river does.

    Parameters
    ----------
    policy : an object of `river.bandit`, such as `UCB(delta=1.0)`. A contextual one, such as `LinUCBDisjoint`, sees one
        context in a round, which all arms share. The learner works on a copy, memory included.
    arms : how many arms it chooses among.
    reward_range : the lowest and the highest reward; None for [0, 1] under a quota.
    seed : seed of the bandit's own choices; None leaves them as they are.

    Raises
    ------
    MissingExtraError
        If river is not installed.
    ArgumentError
        If it is no bandit of river, or draws nothing that a seed could start.

    Examples
    --------
    >>> from river import bandit
    >>> from evenhand.learners import from_river
    >>> from evenhand.quotas import FairLearn
    >>> policy = FairLearn(from_river(bandit.UCB(delta=1.0), arms=2, seed=1), {"ads": 0.2, "news": 0.3})
    >>> decision = policy.ask()
    >>> policy.tell(decision, 1.0)
    """
    checked("policy", policy, class_in("river.bandit.base", "Policy", "from_river"), "a bandit of river")
    contextual = isinstance(policy, class_in("river.bandit.base", "ContextualPolicy", "from_river"))
    learner = RiverBandit(copy.deepcopy(policy), whole("arms", arms, low=2), contextual)
    if seed is not None:
        reseed(learner, draw_seed(seed))
    functions: dict[str, Any] = {"choose": choose, "update": update, "seed": reseed, "dump": dump, "load": load}
    return Adapter(learner, **functions, contextual=contextual, reward_range=reward_range, arms=arms)


def choose(learner: RiverBandit, *contexts: Any) -> int:
    """Return the arm that the bandit pulls."""
    learner.pulled = True
    if learner.contextual:
        return int(learner.policy.pull(learner.arms, context=_features(contexts[0])))
    return int(learner.policy.pull(learner.arms))


def update(learner: RiverBandit, *told: Any) -> None:
    """Tell the bandit a reward."""
    *contexts, index, reward = told
    if not learner.pulled:  # some, such as Exp3, learn of their arms when they pull for the first time
        choose(learner, *contexts)
    learner.policy.update(index, *map(_features, contexts), reward)


def reseed(learner: RiverBandit, number: int) -> None:
    """Start the bandit's choices anew."""
    stream = getattr(learner.policy, "_rng", None)
    if stream is None:
        raise ArgumentError(wanted("seed", f"None, as {type(learner.policy).__name__} has no random stream", number))
    stream.seed(number)


def dump(learner: RiverBandit) -> dict[str, Any]:
    """Return everything that the bandit remembers."""
    what = f"river's {type(learner.policy).__name__}"
    kept = {"arms": len(learner.arms), "contextual": learner.contextual, "pulled": learner.pulled}
    return kept | {"policy": described(learner.policy, LIBRARIES, what)}


def load(dumped: dict[str, Any]) -> RiverBandit:
    """Return a learner that goes on from there."""
    learner = RiverBandit(rebuilt(dumped["policy"], LIBRARIES), dumped["arms"], dumped["contextual"])
    learner.pulled = dumped["pulled"]
    return learner


def _features(contexts: Any) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(shared_row(contexts, "a bandit of river").tolist())}
