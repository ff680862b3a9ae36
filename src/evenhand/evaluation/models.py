"""Rewards that a model expects of every arm, for the doubly robust estimator.

A model of scikit-learn is trained on the contexts and on which arm was played. What it says of a row must come from
other rows: from other folds, or from the rows before alone, which an interval needs that holds at every round.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float, as_floats
from evenhand.errors import ArgumentError, ModelError, none_for, wanted
from evenhand.evaluation.logged import Logged, check_columns, row_table
from evenhand.frames import is_frame
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import by_label

FOLDS = 5
PAST_BLOCKS = 10
"""A model that sees the past alone is trained anew so many times, before blocks of rows of equal size."""


class Estimates(NamedTuple):
    """Expected rewards (n, n_arms), which of them belong to each row (n_rows,), and the largest they may be there,
    known before the row (n_rows,)."""

    rewards: Floats
    of: Ints
    largest: Floats

    def only(self, rows: Bools) -> Estimates:
        """Return the estimates of some rows alone."""
        return self._replace(of=self.of[rows], largest=self.largest[rows])


def read_estimates(model: Any, logged: Logged, *, past_alone: bool) -> Estimates | None:
    """Return what a model expects; None where there is none, and the means of the rows before are to be taken.

    Parameters
    ----------
    model : None; a model with `fit` and `predict` (or `predict_proba`); a dict arm -> reward; an array (n_rows,
        n_arms) or a data frame with a column an arm, that must not come from the rewards of the log.
    past_alone : whether a model may see no row that comes later.

    Raises
    ------
    ArgumentError
        If it is none of these, or the expected rewards are not in [0, 1].
    ModelError
        If the model fails.
    """
    rows, arms = len(logged.codes), len(logged.arms)
    found: Floats | None
    if model is None:
        return None
    if hasattr(model, "fit"):
        return _trained(model, logged, past_alone)
    if is_frame(model):
        found = as_floats(row_table(model, logged, "model"))
    elif hasattr(model, "items"):
        check_columns("model", model, logged)
        given = dict(by_label(model, "model", "a dict arm -> expected reward", logged.arms))
        lacking = [arm for arm in logged.arms if arm not in given]
        if lacking:
            got = none_for(lacking[0], given, logged.arms)
            raise ArgumentError(wanted("model", "an expected reward for every arm", got))
        found = np.array([[as_float(given[arm]) for arm in logged.arms]])
    else:
        found = as_floats(model)
    if found is None or found.shape not in ((1, arms), (rows, arms)):
        what = f"a model with fit and predict, a dict arm -> reward, or an array of shape ({rows}, {arms})"
        raise ArgumentError(wanted("model", what, model))
    if not ((found >= 0) & (found <= 1)).all():
        raise ArgumentError(
            wanted("model", "expected rewards in [0, 1]", float(found[~((found >= 0) & (found <= 1))][0]))
        )
    of = np.zeros(rows, np.int64) if len(found) == 1 else np.arange(rows)
    return Estimates(found, of, np.broadcast_to(float(found.max()) if len(found) == 1 else 1.0, rows))


def _trained(model: Any, logged: Logged, past_alone: bool) -> Estimates:
    rows, arms = len(logged.codes), len(logged.arms)
    shown = np.zeros((rows, 0)) if logged.contexts is None else logged.contexts
    played = np.eye(arms)[logged.codes]
    per_arm = shown.ndim == 3
    mine = shown[np.arange(rows), logged.codes] if per_arm else shown
    features = np.column_stack([mine, played])
    found, largest = np.zeros((rows, arms)), np.zeros(rows)
    blocks = np.array_split(np.arange(rows), PAST_BLOCKS if past_alone else FOLDS)
    if not past_alone:
        blocks = [np.arange(fold, rows, FOLDS) for fold in range(FOLDS)]
    for block in blocks:
        if not block.size or (past_alone and block[0] == 0):
            continue
        others = np.arange(block[0]) if past_alone else np.setdiff1d(np.arange(rows), block, assume_unique=True)
        try:
            fitted = copy.deepcopy(model)
            fitted.fit(features[others], logged.rewards[others])
            seen = _predicted(fitted, features[others])
            for arm in range(arms):
                asked = shown[block, arm] if per_arm else shown[block]
                only = np.zeros((len(block), arms))
                only[:, arm] = 1.0
                found[block, arm] = _predicted(fitted, np.column_stack([asked, only]))
        except Exception as error:
            raise ModelError(f"model: {type(model).__name__} failed: {error}") from error
        largest[block] = np.clip(seen.max(), 0.0, 1.0)
        found[block] = np.clip(found[block], 0.0, largest[block[0]])
    return Estimates(found, np.arange(rows), largest)


def _predicted(fitted: Any, features: Floats) -> Floats:
    """Return the expected rewards: of a classifier the probability of a reward of 1."""
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict(features), np.float64)
    chances = np.asarray(fitted.predict_proba(features), np.float64)
    return np.asarray(chances @ np.asarray(fitted.classes_, np.float64), np.float64)
