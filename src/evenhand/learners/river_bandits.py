"""Bandits of river as learners."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arguments import is_whole, whole
from evenhand.errors import ArgumentError, ContextError, Wording, expected
from evenhand.extras import optional
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels, combined_label
from evenhand.learners.adapter import Adapter, read_features
from evenhand.learners.functions import know
from evenhand.protocol import Label, arm_labels, label_of
from evenhand.rng import Seed, draw_seed
from evenhand.saving.objects import described, rebuilt

LIBRARIES = ("river",)


class RiverBandit:
    """A bandit of river, the ids of its arms, the names of its features where it has its own, and the positions of the
    arms that it was last asked about."""

    def __init__(self, policy: Any, ids: list[Any], features: list[Any] | None, asked: Sequence[int] = ()) -> None:
        self.policy, self.ids, self.features, self.asked = policy, ids, features, list(asked)

    @property
    def learner(self) -> Any:
        """The bandit, for whoever asks what is wrapped."""
        return self.policy

    def seen(self, contexts: Floats) -> dict[Any, float]:
        """Return the context that all arms share, as river takes it."""
        if (contexts != contexts[0]).any():
            hint = "a river bandit takes one context per round; ask([...]) with one row"
            raise ContextError(expected("contexts", "one row that all arms share", "rows that differ", hint))
        row = np.array(contexts[0]).tolist()
        names = _numbered(len(row)) if self.features is None else self.features
        if len(names) != len(row):
            what = Wording("a number for each of the features ", names)
            raise ContextError(expected("contexts", what, Wording(f"{len(row)} numbers")))
        return dict(zip(names, row, strict=True))


def from_river(
    policy: object,
    *,
    arms: int | Sequence[Label],
    features: Sequence[str] | None = None,
    reward_range: Sequence[float] | None = None,
    seed: Seed = None,
) -> Adapter:
    """Return a learner that chooses as a bandit of river does, among the arms that are on offer.

    Parameters
    ----------
    policy : an object of `river.bandit`, such as `UCB(delta=1.0)`. A contextual one, such as `LinUCBDisjoint`, sees one
        context in a round, which all arms share. The learner works on a copy, memory included.
    arms : how many arms it chooses among at first; or their labels, under which it learns, and has learned if it has.
        What it has learned under False, True or ("a", 1) has the label "false", "true" or "a & 1".
    features : the names of the numbers in a context, in their order; under these a contextual bandit learns, and has
        learned if it has. A data frame or a dict is then read by these names. None for x0, x1, ...
    reward_range : the lowest and the highest reward; None for [0, 1] under a quota.
    seed : seed of the bandit's own choices; None leaves them as they are.

    Raises
    ------
    MissingExtraError
        If river is not installed.
    ArgumentError
        If it is not a bandit of river, has learned under other labels or features, or has no randomness to seed.

    Examples
    --------
    >>> from river import bandit
    >>> from evenhand.learners import from_river
    >>> from evenhand.quotas import FairLearn
    >>> policy = FairLearn(from_river(bandit.UCB(delta=1.0), arms=2, seed=1), {"ads": 0.2, "news": 0.3})
    >>> decision = policy.ask()
    >>> policy.tell(decision, 1.0)
    """
    base = optional("river.bandit.base", "from_river")
    if not isinstance(policy, base.Policy):
        hint = f"write {policy.__name__}(...)" if isinstance(policy, type) else ""
        raise ArgumentError(expected("policy", "a bandit of river", policy, hint))
    contextual = isinstance(policy, base.ContextualPolicy)
    labels = tuple(range(whole("arms", arms, low=2))) if is_whole(arms) else arm_labels(arms)
    known = policy.ranking
    ids = _ids("arms", "labels", known, labels, arms)
    names = None if features is None else read_features(features, contextual)
    learner = RiverBandit(copy.deepcopy(policy), ids, _features(policy, names) if contextual else None)
    if seed is not None:
        reseed(learner, draw_seed(seed))
    own = labels if known else arms
    more: dict[str, Any] = {"features": names, "reward_range": reward_range, "arms": own}
    more["scores"] = scores if type(policy).__name__ in SCORES and not policy.reward_scaler else None
    return Adapter(learner, **FUNCTIONS, contextual=contextual, **more, among=True)


def choose(learner: RiverBandit, *contexts_arms: Any) -> int:
    """Return the arm that the bandit pulls among these."""
    *contexts, arms = contexts_arms
    learner.asked = list(arms)
    ids = [learner.ids[arm] for arm in arms]
    shown = {"context": learner.seen(contexts[0])} if contexts else {}
    return int(arms[ids.index(learner.policy.pull(ids, **shown))])


def scores(learner: RiverBandit, *contexts_arms: Any) -> list[float]:
    """Return the upper bound of each of these arms, infinite for one that the bandit must try first."""
    *contexts, arms = contexts_arms
    learner.asked = list(arms)
    bandit, shown = learner.policy, [learner.seen(one) for one in contexts]
    bound = SCORES[type(bandit).__name__]
    counts = [bandit._counts[learner.ids[arm]] for arm in arms]
    tried = [count >= bandit.burn_in for count in counts]
    return [bound(bandit, learner.ids[arm], *shown) if so else math.inf for arm, so in zip(arms, tried, strict=True)]


def _linear_bound(bandit: Any, arm: Any, context: dict[Any, float]) -> float:
    found = bandit._bayes_lin_regs[arm].predict_one(context, with_dist=True)
    return float(found.mu + found.sigma)


def _ucb_bound(bandit: Any, arm: Any) -> float:
    reward = bandit._rewards.get(arm)
    if reward is None:
        return math.inf
    if isinstance(reward, optional("river.proba.base", "from_river").Distribution):
        return float(reward.mode)
    return float(reward.get() + bandit.delta * math.sqrt(2 * math.log(bandit._n) / bandit._counts[arm]))


SCORES: dict[str, Any] = {"LinUCBDisjoint": _linear_bound, "UCB": _ucb_bound}
"""The scores of the bandits that have one for each arm, as their `pull` computes them, in the unit of the rewards."""


def update(learner: RiverBandit, *told: Any) -> None:
    """Tell the bandit a reward."""
    *contexts, index, reward = told
    if index not in learner.asked:  # some, such as Exp3, weigh a reward by the chance that the arm had in the last pull
        choose(learner, *contexts, range(len(learner.ids)))
    learner.policy.update(learner.ids[index], *map(learner.seen, contexts), reward)


def add(learner: RiverBandit, label: Label) -> None:
    """Choose among one more arm, of which the bandit has learned nothing."""
    numbered = learner.ids == [*range(len(learner.ids))]
    learner.ids.append(len(learner.ids) if numbered else label)


def reseed(learner: RiverBandit, number: int) -> None:
    """Start the bandit's choices anew."""
    stream = getattr(learner.policy, "_rng", None)
    if stream is None:
        raise ArgumentError(expected("seed", f"None, as {type(learner.policy).__name__} has no random stream", number))
    stream.seed(number)


def dump(learner: RiverBandit) -> dict[str, Any]:
    """Return everything that the bandit remembers."""
    return described(vars(learner), LIBRARIES, f"river's {type(learner.policy).__name__}")


def load(dumped: dict[str, Any]) -> RiverBandit:
    """Return a learner that goes on from there."""
    return RiverBandit(**rebuilt(dumped, LIBRARIES))


FUNCTIONS: dict[str, Any] = {"choose": choose, "update": update, "add": add}
FUNCTIONS |= {"seed": reseed, "dump": dump, "load": load}
"""What state files may name."""
know(*FUNCTIONS.values(), scores)


def _ids(argument: str, what: str, known: list[Any], labels: Sequence[Any], given: object) -> list[Any]:
    """Return under which id a bandit knows, or will know, each label; all that it has learned under must be there."""
    ids, named = dict(enumerate(labels)), list(map(combined_label, known))
    found = Labels(labels).places(named)
    ids |= {place: one for place, one in zip(found, known, strict=True) if place >= 0}
    if -1 in found or len(set(found)) < len(found):
        shown = [one if label_of(one) is None else label_of(one) for one in named]
        hint = "name them all, or pass policy.clone(), which has learned nothing"
        raise ArgumentError(expected(argument, f"the {what} that the bandit has learned with, {shown}", given, hint))
    return list(ids.values())


def _features(policy: Any, given: list[str] | None) -> list[Any] | None:
    """Return the names under which a contextual bandit knows its features, None for x0, x1, ..."""
    models = getattr(policy, "_bayes_lin_regs", {}).values()
    learned: list[Any] = [getattr(model, "_idx", None) or getattr(model, "_m", ()) for model in models]
    known = list(dict.fromkeys(name for names in learned for name in names))
    if given is not None:
        return _ids("features", "names", known, given, given)
    if set(known) != set(_numbered(len(known))) or (policy.ranking and not known):
        what = f"the names that the bandit has learned with, {known or 'which it does not list'}"
        raise ArgumentError(expected("features", what, None, "name them in the order of the numbers in a context"))
    return None


def _numbered(count: int) -> list[str]:
    return [f"x{j}" for j in range(count)]
