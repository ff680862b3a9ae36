"""Policies that are fitted to the log: each block of rows judges what was fitted to the rows before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, ModelError, expected
from evenhand.evaluation.estimators import Candidate, expected_by, read_candidate
from evenhand.evaluation.logged import Logged
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import Estimator, Label

BLOCKS = 20


@dataclass(frozen=True)
class Refitted:
    """A policy that is fitted to the rows before each block of a log, and evaluated on the block.

    A policy that was chosen with some rows looks better on them than it is. Here no row judges what was fitted to it:
    the first block only trains, and is in no mean. What is estimated is the mean value of the policies as refitted,
    whose first ones knew little; a policy that is fitted to the whole log may do better.

    Parameters
    ----------
    fit : a function of a data frame with rows of the log, that returns a policy as `evaluate` takes it; or an estimator
        of scikit-learn, which predicts the reward, whose clones are fitted to the contexts and the arm (0 or 1 for
        each); the policy plays the arm with the best prediction. A pipeline is given a data frame with the contexts and
        the column of the arm as the log has them.
    blocks : how many blocks of rows, as equal as can be, of which the first only trains.

    Raises
    ------
    ArgumentError
        If `fit` is neither, or `blocks` is no whole number from 2 on.

    Examples
    --------
    >>> import pandas as pd
    >>> import evenhand as eh
    >>> log = pd.DataFrame({"item": ["a", "b"] * 500, "click": [1, 0, 0, 0] * 250, "p": 0.5})
    >>> best = lambda rows: {item: float(item == rows.groupby("item").click.mean().idxmax()) for item in "ab"}
    >>> named = {"arm": "item", "reward": "click", "propensity": "p", "estimator": "ips"}
    >>> found = eh.evaluate(log, eh.evaluation.Refitted(best), **named)
    >>> found.rounds, round(found.value, 2)
    (950, 0.5)
    """

    fit: Callable[[Any], Any] | Estimator
    blocks: int = BLOCKS

    def __post_init__(self) -> None:
        if isinstance(self.fit, type) or not (callable(self.fit) or isinstance(self.fit, Estimator)):
            what = "a function of rows that returns a policy, or an estimator of scikit-learn"
            raise ArgumentError(expected("fit", what, self.fit))
        whole("blocks", self.blocks, low=2)

    def ends(self, logged: Logged) -> list[int]:
        """Return the rows before which each block ends, which never part a unit."""
        units = np.arange(len(logged.codes)) if logged.units is None else logged.units
        starts = np.flatnonzero(np.diff(units, prepend=-1))
        if len(starts) < self.blocks:
            what = f"at least {self.blocks} rows or units, one for each block"
            raise ArgumentError(expected("log", what, len(starts), "pass fewer blocks"))
        firsts = [int(part[0]) for part in np.array_split(starts, self.blocks)]
        return [*firsts[1:], len(units)]

    def candidate(self, logged: Logged, first: int) -> Candidate:
        """Return the probabilities (n_rows, n_arms) of the policies in the blocks that have rows after the first ones,
        which judge nothing; those of the other blocks are 0.

        Raises
        ------
        ModelError
            If the function or the estimator fails.
        """
        blocks = [(start, end) for start, end in pairwise(self.ends(logged)) if end > first]
        judging = "one block" if len(blocks) == 1 else f"each of {len(blocks)} blocks"
        over = f"rows {first + 1:,} to {len(logged.codes):,}"
        if logged.units is not None:
            over = f"the last {len(np.unique(logged.units[first:])):,} units"
        said = f"The policy is refitted before {judging}, to the rows before: the value is the mean over {over}."
        found, notes = np.zeros((len(logged.codes), len(logged.arms))), {said: None}
        for start, end in blocks:
            before, block = logged.take(np.arange(start)), logged.take(np.arange(start, end))
            try:
                policy = self._fitted(before, block)
            except Exception as error:
                raise ModelError(f"policy: fitting it to the first {start} rows failed: {error}") from error
            part = read_candidate(policy, block)
            found[start:end] = part.probabilities[part.which]
            notes |= dict.fromkeys(part.notes)
        return Candidate(found, np.arange(len(found)), True, tuple(notes), refitted=True)

    def _fitted(self, before: Logged, block: Logged) -> Any:
        rows, arms = len(block.codes), len(block.arms)
        if not isinstance(self.fit, Estimator):
            policy = self.fit(before.frame)
            return policy(block.undecided()) if callable(policy) and not isinstance(policy, type) else policy
        if before.rewards.min() == before.rewards.max():  # a classifier cannot be fitted to one class
            return np.full((rows, arms), 1 / arms)
        from sklearn.base import clone

        model = clone(self.fit)
        model.fit(_features(model, before, before.codes), before.rewards)
        each = [expected_by(model, _features(model, block, np.full(rows, arm))) for arm in range(arms)]
        return _always(np.argmax(each, axis=0), block.arms, block.frame)


def _always(best: Any, arms: Sequence[Label], rows: Any) -> Any:
    """Return the table of probabilities of playing one arm in each row."""
    import pandas as pd

    return pd.DataFrame(np.eye(len(arms))[np.asarray(best, np.int64)], index=rows.index, columns=list(arms))


def _features(model: Any, logged: Logged, codes: Ints) -> Any:
    """Return what an estimator sees of rows in which these arms are played."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        return logged.frame[list(logged.shown)].assign(**{logged.arm: np.array(logged.arms, dtype=object)[codes]})
    played: Floats = np.eye(len(logged.arms))[codes]
    if logged.contexts is None:
        return played
    mine = logged.contexts[np.arange(len(codes)), codes] if logged.contexts.ndim == 3 else logged.contexts
    return np.column_stack([mine, played])


def best_by(columns: Sequence[str], arm: str, reward: str, arms: Sequence[Label]) -> Callable[[Any], Any]:
    """Return the function that finds the arm with the best mean reward for each value of some columns; for values that
    are new, and for equal means, the best of all rows, or the first."""

    def fit(rows: Any) -> Callable[[Any], Any]:
        means = rows.groupby(arm)[reward].mean().reindex(list(arms), fill_value=-np.inf).to_numpy()
        overall, chosen = int(means.argmax()), {}
        if columns:
            by = rows.groupby([*columns, arm])[reward].mean().unstack(arm).reindex(columns=list(arms))
            chosen = {key: int(np.nanargmax(row)) for key, row in zip(by.index, by.to_numpy(), strict=True)}
        return lambda new: _always([chosen.get(key, overall) for key in keys(new)], arms, new)

    def keys(new: Any) -> Any:
        return new.set_index(list(columns)).index if columns else [()] * len(new)

    return fit


def logistic_by(columns: Sequence[str], arm: str) -> Any:
    """Return a logistic regression of the reward on the arm and some columns, for each arm another, as a pipeline over
    data frames."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

    coded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [*columns, arm]))
    return make_pipeline(coded, PolynomialFeatures(2, interaction_only=True), LogisticRegression(max_iter=1000))
