"""Bandits of MABWiser as learners."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from evenhand.learners.adapter import Adapter
from evenhand.learners.elsewhere import Range, checked, class_in, shared_row
from evenhand.rng import Seed, draw_seed
from evenhand.saving.objects import described, rebuilt

__all__ = ["from_mabwiser"]

LIBRARIES = ("mabwiser", "sklearn", "scipy")


class MabwiserBandit:
    """A bandit of MABWiser, the rewards that it is fitted to first, and how often each arm was chosen before."""

    def __init__(self, mab: Any) -> None:
        self.mab = mab
        self.asked = [0] * len(mab.arms)
        self.first: list[tuple[int, float, list[float]]] = []


def from_mabwiser(mab: Any, *, reward_range: Range = None, seed: Seed = None) -> Adapter:
    """Return a learner that chooses as a bandit of MABWiser does.

    A bandit that was not fitted yet plays each arm in turn, until each has a reward and there are as many as its
    clusters or neighbours, and is fitted to these. A contextual one sees one context in a round, which all arms share.
    Thompson sampling without a `binarizer` knows rewards of 0 and 1 alone: one in between counts as 1 with that
    probability.

    Parameters
    ----------
    mab : a `mabwiser.mab.MAB` with as many arms as the policy around it. The learner works on a copy, memory included.
    reward_range : the lowest and the highest reward; None for [0, 1] under a quota.
    seed : seed of the bandit's own choices; None leaves them as they are.

    Raises
    ------
    MissingExtraError
        If MABWiser is not installed.
    ArgumentError
        If it is no bandit of MABWiser.

    Examples
    --------
    >>> from mabwiser.mab import MAB, LearningPolicy
    >>> from evenhand.learners import from_mabwiser
    >>> from evenhand.quotas import FairLearn
    >>> mab = MAB(["ads", "news"], LearningPolicy.UCB1(alpha=1.0))
    >>> policy = FairLearn(from_mabwiser(mab, seed=1), {"ads": 0.2, "news": 0.3})
    >>> decision = policy.ask()
    >>> policy.tell(decision, 1.0)
    """
    checked("mab", mab, class_in("mabwiser.mab", "MAB", "from_mabwiser"), "a MAB of MABWiser")
    learner = MabwiserBandit(copy.deepcopy(mab))
    if seed is not None:
        reseed(learner, draw_seed(seed))
    if _binary(mab):
        reward_range = (0.0, 1.0)
    functions: dict[str, Any] = {"choose": choose, "update": update, "seed": reseed, "dump": dump, "load": load}
    contextual = bool(mab.is_contextual)
    return Adapter(learner, **functions, contextual=contextual, reward_range=reward_range, arms=len(mab.arms))


def choose(learner: MabwiserBandit, *contexts: Any) -> int:
    """Return the arm that the bandit predicts, or each in turn before it is fitted."""
    mab = learner.mab
    if mab._is_initial_fit:
        return int(mab.arms.index(mab.predict(*map(_row, contexts))))
    index = learner.asked.index(min(learner.asked))
    learner.asked[index] += 1
    return index


def update(learner: MabwiserBandit, *told: Any) -> None:
    """Tell the bandit a reward."""
    *contexts, index, reward = told
    mab = learner.mab
    if _binary(mab) and 0.0 < reward < 1.0:
        reward = float(mab._rng.rand() < reward)
    row = _row(contexts[0])[0] if contexts else []
    if mab._is_initial_fit:
        mab.partial_fit([mab.arms[index]], [reward], *([[row]] if contexts else []))
        return
    learner.first.append((index, reward, row))
    if len({arm for arm, _, _ in learner.first}) == len(mab.arms) and len(learner.first) >= _least(mab):
        arms, rewards, rows = ([each[part] for each in learner.first] for part in range(3))
        mab.fit([mab.arms[arm] for arm in arms], rewards, *([rows] if contexts else []))
        learner.first = []


def reseed(learner: MabwiserBandit, number: int) -> None:
    """Start the bandit's choices anew; all its parts share one stream."""
    learner.mab._rng.seed, learner.mab._rng.rng = number, np.random.default_rng(number)


def dump(learner: MabwiserBandit) -> dict[str, Any]:
    """Return everything that the bandit remembers."""
    what = f"MABWiser's {type(learner.mab._imp).__name__.strip('_')}"
    first = [list(each) for each in learner.first]
    return {"asked": learner.asked, "first": first, "mab": described(learner.mab, LIBRARIES, what)}


def load(dumped: dict[str, Any]) -> MabwiserBandit:
    """Return a learner that goes on from there."""
    learner = MabwiserBandit(rebuilt(dumped["mab"], LIBRARIES))
    learner.asked, learner.first = list(dumped["asked"]), [tuple(each) for each in dumped["first"]]
    return learner


def _binary(mab: Any) -> bool:
    """Say whether the bandit takes rewards of 0 and 1 alone."""
    learning = mab.learning_policy
    return type(learning).__name__ == "ThompsonSampling" and learning.binarizer is None


def _least(mab: Any) -> int:
    """Return how many rewards the bandit needs before it can predict."""
    return max(int(getattr(mab.neighborhood_policy, name, 0) or 0) for name in ("k", "n_clusters"))


def _row(contexts: Any) -> list[list[float]]:
    return [shared_row(contexts, "a bandit of MABWiser").tolist()]
