"""Bandits of river as learners."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from evenhand.arguments import is_whole, whole
from evenhand.errors import ArgumentError, wanted
from evenhand.learners.adapter import Adapter
from evenhand.learners.elsewhere import Range, checked, class_in, shared_row
from evenhand.protocol import Label, arm_labels
from evenhand.rng import Seed, draw_seed
from evenhand.saving.objects import described, rebuilt

__all__ = ["from_river"]

LIBRARIES = ("river",)


class RiverBandit:
    """A bandit of river, the ids of its arms, and the positions of those that it was last asked about."""

    def __init__(self, policy: Any, ids: Sequence[Label], contextual: bool, asked: Sequence[int] = ()) -> None:
        self.policy, self.ids, self.contextual, self.asked = policy, list(ids), contextual, list(asked)


def from_river(policy: Any, *, arms: int | Sequence[Label], reward_range: Range = None, seed: Seed = None) -> Adapter:
    """Return a learner that chooses as a bandit of river does, among the arms that are on offer.

    Parameters
    ----------
    policy : an object of `river.bandit`, such as `UCB(delta=1.0)`. A contextual one, such as `LinUCBDisjoint`, sees one
        context in a round, which all arms share. The learner works on a copy, memory included.
    arms : how many arms it chooses among; or their labels, under which it learns, and has learned if it has.
    reward_range : the lowest and the highest reward; None for [0, 1] under a quota.
    seed : seed of the bandit's own choices; None leaves them as they are.

    Raises
    ------
    MissingExtraError
        If river is not installed.
    ArgumentError
        If it is no bandit of river, has learned under other labels, or draws nothing that a seed could start.

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
    ids = tuple(range(whole("arms", arms, low=2))) if is_whole(arms) else arm_labels(arms)
    known = policy.ranking
    if not set(known) <= set(ids):
        mend = "name them, or pass policy.clone(), which has learned nothing"
        raise ArgumentError(wanted("arms", f"the labels under which the bandit has learned, {known}", arms, mend))
    learner = RiverBandit(copy.deepcopy(policy), ids, contextual)
    if seed is not None:
        reseed(learner, draw_seed(seed))
    functions: dict[str, Any] = {"choose": choose, "update": update, "seed": reseed, "dump": dump, "load": load}
    own = ids if known else arms
    return Adapter(learner, **functions, contextual=contextual, reward_range=reward_range, arms=own, among=True)


def choose(learner: RiverBandit, *contexts_arms: Any) -> int:
    """Return the arm that the bandit pulls among these."""
    *contexts, arms = contexts_arms
    learner.asked = list(arms)
    ids = [learner.ids[arm] for arm in arms]
    named = {"context": _features(contexts[0])} if learner.contextual else {}
    return int(arms[ids.index(learner.policy.pull(ids, **named))])


def update(learner: RiverBandit, *told: Any) -> None:
    """Tell the bandit a reward."""
    *contexts, index, reward = told
    if index not in learner.asked:  # some, such as Exp3, weigh a reward by the chance that the arm had in the last pull
        choose(learner, *contexts, range(len(learner.ids)))
    learner.policy.update(learner.ids[index], *map(_features, contexts), reward)


def reseed(learner: RiverBandit, number: int) -> None:
    """Start the bandit's choices anew."""
    stream = getattr(learner.policy, "_rng", None)
    if stream is None:
        raise ArgumentError(wanted("seed", f"None, as {type(learner.policy).__name__} has no random stream", number))
    stream.seed(number)


def dump(learner: RiverBandit) -> dict[str, Any]:
    """Return everything that the bandit remembers."""
    what = f"river's {type(learner.policy).__name__}"
    kept = {"ids": learner.ids, "contextual": learner.contextual, "asked": learner.asked}
    return kept | {"policy": described(learner.policy, LIBRARIES, what)}


def load(dumped: dict[str, Any]) -> RiverBandit:
    """Return a learner that goes on from there."""
    policy = rebuilt(dumped["policy"], LIBRARIES)
    return RiverBandit(policy, dumped["ids"], dumped["contextual"], dumped["asked"])


def _features(contexts: Any) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(shared_row(contexts, "a bandit of river").tolist())}
