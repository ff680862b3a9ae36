"""Classifiers and regressors of scikit-learn as learners: a reward model for each arm, greedy but for exploration."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, ModelError, expected
from evenhand.kernels.arrays import Floats
from evenhand.learners.adapter import Adapter, read_range
from evenhand.learners.functions import know
from evenhand.protocol import Estimator, columns_seen, gives_probabilities
from evenhand.rng import Seed, draw_seed, generator
from evenhand.saving.objects import described, rebuilt

LIBRARIES = ("sklearn", "scipy")
UNTOLD = sys.float_info.max / 2
"""The score of an arm that was neither asked for nor told, above all predictions."""
GROWTH = 1.1
"""A model that cannot be fed row by row is fitted anew when its rows are so many times those of the last fit."""


class ArmModel:
    """What is known of an arm: how often it was chosen and told, the mean reward, the model, and the rows it needs."""

    def __init__(self) -> None:
        self.asked = self.told = self.fitted = 0
        self.mean = 0.0
        self.model: Any = None
        self.rows: list[list[float]] = []
        self.rewards: list[float] = []


class SklearnLearner:
    """An untrained model, the names of its features where a frozen part knows them, its copy for each arm, and the
    random stream of all choices."""

    def __init__(
        self,
        estimator: Any,
        features: list[str] | None,
        epsilon: float,
        warmup: int,
        classifies: bool,
        random: Any,
    ) -> None:
        self.estimator, self.features, self.epsilon, self.warmup = estimator, features, epsilon, warmup
        self.classifies, self.random = classifies, random
        self.arms: list[ArmModel] = []

    def table(self, rows: Any) -> Any:
        """Return rows as the model takes them, under the names of its features."""
        if self.features is None:
            return np.asarray(rows)
        import pandas as pd

        return pd.DataFrame(rows, columns=self.features)


def from_sklearn(
    estimator: Any,
    *,
    epsilon: float = 0.1,
    warmup: int = 10,
    reward_range: Sequence[float] | None = None,
    seed: Seed = None,
) -> Adapter:
    """Return a contextual learner that predicts the reward of each arm by a model of scikit-learn and plays the best.

    Each arm has a model of its own, trained on the contexts in which the arm was played; one that joins later gets a
    fresh one. Until an arm has `warmup` rewards its mean reward is used as the prediction; an arm without any is played
    first. A model with `partial_fit` is fed reward by reward; any other is fitted anew whenever its rows have grown by
    a tenth, and keeps them all.

    Parameters
    ----------
    estimator : an untrained regressor, or a classifier with `predict_proba`, which predicts the chance that the reward
        is 1: a reward between 0 and 1 counts as 1 with that probability. A pipeline will do. It is cloned, so no part
        of it may be trained yet, except in a `FrozenEstimator`. If a frozen first step was trained on a data frame,
        contexts are read by the names of its columns.
    epsilon : the probability of playing a uniformly random arm.
    warmup : how many rewards an arm needs before its model is asked.
    reward_range : the lowest and the highest reward of a regressor; None for [0, 1] under a quota.
    seed : seed of all choices, and of a model's `random_state` that is None.

    Raises
    ------
    ArgumentError
        If it is neither a regressor nor a classifier with `predict_proba`, or trained already.

    Examples
    --------
    >>> from sklearn.linear_model import SGDRegressor
    >>> from evenhand.learners import from_sklearn
    >>> from evenhand.quotas import DeadlineLearn
    >>> policy = DeadlineLearn(from_sklearn(SGDRegressor(), seed=1), {"ads": 0.2, "news": 0.3}, seed=1)
    >>> decision = policy.ask([[0.1, 0.7], [0.1, 0.7]])
    >>> policy.tell(decision, 1.0)
    """
    from sklearn.base import clone, is_classifier, is_regressor

    what, hint = "an untrained classifier or regressor of scikit-learn", ""
    if isinstance(estimator, type):
        raise ArgumentError(expected("estimator", what, estimator, f"write {estimator.__name__}()"))
    fits = isinstance(estimator, Estimator)
    classifies = fits and is_classifier(estimator)
    if not classifies and not (fits and is_regressor(estimator)):
        raise ArgumentError(expected("estimator", what, estimator))
    if classifies and not gives_probabilities(estimator):
        hint = "such as SGDClassifier(loss='log_loss')"
        raise ArgumentError(expected("estimator", "a classifier with predict_proba", estimator, hint))
    random = generator(draw_seed(seed))
    own, given = clone(estimator), estimator.get_params()
    copied = {"": own, **own.get_params()}
    lost = [name for name, one in {"": estimator, **given}.items() if _trained(one) and not _trained(copied.get(name))]
    if lost:
        got = f"one whose {lost[0]} is trained" if lost[0] else "a trained one"
        raise ArgumentError(expected("estimator", what, got, "pass sklearn.base.clone(estimator)"))
    missing = [name for name in sorted(given) if name.split("__")[-1] == "random_state" and given[name] is None]
    own.set_params(**{name: int(random.integers(2**31)) for name in missing})
    names = columns_seen(own)
    features = None if names is None else list(map(str, names))
    explores, waits = real("epsilon", epsilon, low=0, high=1), whole("warmup", warmup, low=1)
    learner = SklearnLearner(own, features, explores, waits, classifies, random)
    own_range = None if reward_range is None else read_range(reward_range)
    pays = (0.0, 1.0) if classifies else own_range
    return Adapter(learner, **FUNCTIONS, contextual=True, features=features, reward_range=pays, arms="rows", among=True)


def choose(learner: SklearnLearner, contexts: Floats, arms: list[int]) -> list[int]:
    """Return these arms, the best first, by their scores."""
    found = dict(zip(arms, scores(learner, contexts, arms), strict=True))
    return sorted(arms, key=found.__getitem__, reverse=True)


def scores(learner: SklearnLearner, contexts: Floats, arms: list[int]) -> list[float]:
    """Return what each of these arms is predicted to earn; more than that for one drawn evenly if this round explores,
    and for those without a reward, of which the one asked least often has most."""
    known = _arms(learner, len(contexts))
    found = [_predicted(learner, known[arm], contexts[arm]) for arm in arms]
    drawn, explores = int(learner.random.integers(len(arms))), learner.random.random() < learner.epsilon
    if explores:
        found[drawn] = math.inf
    known[arms[found.index(max(found))]].asked += 1
    return found


def update(learner: SklearnLearner, contexts: Floats, index: int, reward: float) -> None:
    """Train the model of an arm on a reward."""
    arm = _arms(learner, max(len(contexts), len(learner.arms)))[index]
    arm.told += 1
    arm.mean += (reward - arm.mean) / arm.told
    if learner.classifies and 0.0 < reward < 1.0:
        reward = float(learner.random.random() < reward)
    label: Any = int(reward) if learner.classifies else reward
    row = contexts[index]
    if hasattr(learner.estimator, "partial_fit"):
        arm.model = _untrained(learner) if arm.model is None else arm.model
        arm.model.partial_fit(learner.table(row[None]), [label], **({"classes": [0, 1]} if learner.classifies else {}))
        return
    arm.rows.append(row.tolist())
    arm.rewards.append(label)
    kinds = len(set(arm.rewards)) > 1 or not learner.classifies
    if arm.told >= max(learner.warmup, arm.fitted * GROWTH) and kinds:
        arm.model, arm.fitted = _untrained(learner).fit(learner.table(arm.rows), np.array(arm.rewards)), arm.told


def reseed(learner: SklearnLearner, number: int) -> None:
    """Start the choices anew."""
    learner.random = generator(number)


def dump(learner: SklearnLearner) -> dict[str, Any]:
    """Return everything that the learner remembers."""
    kept = {name: value for name, value in vars(learner).items() if name != "arms"}
    what = f"a model of scikit-learn ({type(learner.estimator).__name__})"
    return described(kept | {"arms": [vars(arm) for arm in learner.arms]}, LIBRARIES, what)


def load(dumped: dict[str, Any]) -> SklearnLearner:
    """Return a learner that goes on from there."""
    kept = rebuilt(dumped, LIBRARIES)
    arms = kept.pop("arms")
    learner = SklearnLearner(**kept)
    for arm in arms:
        own = ArmModel()
        vars(own).update(arm)
        learner.arms.append(own)
    return learner


FUNCTIONS: dict[str, Any] = {"choose": choose, "update": update, "scores": scores}
FUNCTIONS |= {"seed": reseed, "dump": dump, "load": load}
"""What state files may name."""
know(*FUNCTIONS.values())


def _trained(estimator: object) -> bool:
    """Return whether an object is an estimator that was fitted, as scikit-learn tells it."""
    if isinstance(estimator, type) or not isinstance(estimator, Estimator):
        return False
    says = getattr(estimator, "__sklearn_is_fitted__", None)
    if callable(says):
        return bool(says())
    return any(name.endswith("_") and not name.startswith("_") for name in vars(estimator))


def _untrained(learner: SklearnLearner) -> Any:
    from sklearn.base import clone

    return clone(learner.estimator)


def _arms(learner: SklearnLearner, count: int) -> list[ArmModel]:
    known = learner.arms
    known += [ArmModel() for _ in range(count - len(known))]
    if len(known) > count:
        raise ArgumentError(expected("contexts", f"a row for each of the {len(known)} arms that it knows", count))
    return known


def _predicted(learner: SklearnLearner, arm: ArmModel, row: Floats) -> float:
    if not arm.told:
        return UNTOLD / (1 + arm.asked)
    if arm.model is None or arm.told < learner.warmup:
        return arm.mean
    if learner.classifies:
        value = float(arm.model.predict_proba(learner.table(row[None]))[0, list(arm.model.classes_).index(1)])
    else:
        value = float(arm.model.predict(learner.table(row[None]))[0])
    if not math.isfinite(value):  # it would be neither more nor less than any other
        name = type(learner.estimator).__name__
        raise ModelError(expected("estimator", f"finite predictions of {name}", value, "scale the contexts or rewards"))
    return value
