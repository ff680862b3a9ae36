"""What an estimator weighs and expects: the distribution that is evaluated, and the rewards that a model expects.

A distribution is the same for every row, for every position, or row by row. A model of scikit-learn is trained on the
contexts and on which arm was played. What it says of a row must come from other rows: from other folds, or from the
rows before alone, which an interval needs that holds at every round.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float, as_floats
from evenhand.data.probabilities import scaled_note, summed
from evenhand.data.tables import twin_of
from evenhand.errors import (
    ArgumentError,
    ModelError,
    UnknownArmError,
    Wording,
    argument,
    expected,
    expected_one_of,
    none_for,
    of_one_type,
)
from evenhand.evaluation.logged import Logged, check_columns, check_order, row_table
from evenhand.frames import dimensions, is_frame
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import Labels, is_by_label
from evenhand.protocol import Estimator, Label, gives_probabilities

WHAT = "probabilities that sum to 1"
FOLDS = 5
PAST_BLOCKS = 10
"""A model that sees the past alone is trained anew so many times, before blocks of rows of equal size."""


class Candidate(NamedTuple):
    """Probabilities (n, n_arms), which of them belong to each row (n_rows,), whether each row has its own, what is to
    be known of them, and whether they were fitted to rows that they do not judge."""

    probabilities: Floats
    which: Ints
    by_row: bool = False
    notes: tuple[str, ...] = ()
    refitted: bool = False

    def only(self, rows: Bools | Ints) -> Candidate:
        """Return the distribution of some rows alone, or of all in another order."""
        return self._replace(which=self.which[rows])

    def weights(self, logged: Logged) -> Floats:
        """Return pi(a) / p(a) of the arm that was drawn in each row (n_rows,)."""
        return np.asarray(self.probabilities[self.which, logged.codes] / logged.chances)


def read_candidate(policy: Any, logged: Logged) -> Candidate:
    """Return the distribution of each row.

    Parameters
    ----------
    policy : a dict or Series arm -> probability, a list in the order of the log's arms, a dict position -> such a dict,
        a data frame or an array (n_rows, n_arms), or a function of the log without its arms and rewards, or of its
        contexts where they are named, that returns one of these. Lists and arrays are refused where the arms stand in
        no known order.

    Raises
    ------
    ArgumentError
        If these are no probabilities, or of another shape; if their sum misses 1 by more than rounding explains; if
        they are given by position and the positions are not those of the log.
    ModelError
        If the function fails.
    UnknownArmError
        If an arm of the log has no probability, or an arm that the log never tried has one above 0.
    """
    if callable(policy):
        if isinstance(policy, type):
            hint = f"write {policy.__name__}()"
            raise ArgumentError(
                expected("policy", "a distribution, a function or a policy, not its class", policy, hint)
            )
        try:
            found = policy(logged.undecided() if logged.contexts is None else logged.contexts)
        except Exception as error:
            given = ""
            if logged.contexts is not None:
                named = "" if logged.columns is None else f" with the columns {logged.columns}"
                given = f"; it is given an array of shape {logged.contexts.shape}{named}"
            raise ModelError(f"policy: the function failed: {error}{given}") from error
        return _read(found, logged, "policy(...)")
    return _read(policy, logged, "policy")


def _read(policy: Any, logged: Logged, name: str) -> Candidate:
    if isinstance(policy, Mapping) and policy and all(isinstance(each, Mapping) for each in policy.values()):
        given = dict(Labels(logged.places).read(policy, name, "a dict position -> (arm -> probability)"))
        if not logged.positions or set(given) != set(logged.places):
            if not logged.positions:
                hint = Wording("name the column of the positions with ", argument("position"))
                raise ArgumentError(expected(name, "one distribution, as the log has no positions", list(given), hint))
            what = Wording("a distribution for each of the positions ", list(logged.places))
            raise ArgumentError(expected(name, what, list(given), "the positions must be those of the log"))
        parts = [_distribution(given[place], logged, f"{name}[{place!r}]") for place in logged.places]
        return _candidate(np.array(parts), logged.at, lambda at: f"{name}[{logged.places[at]!r}]")
    if is_frame(policy) or dimensions(policy) == 2:
        return _by_row(policy, logged, name)
    found = _distribution(policy, logged, name)[None, :]
    if not is_by_label(policy):
        check_order(name, found, logged, "pass a dict arm -> probability")
    return _candidate(found, np.zeros(len(logged.codes), np.int64), lambda _: name)


def _candidate(found: Floats, which: Ints, name: Callable[[int], str], by_row: bool = False) -> Candidate:
    """Return probabilities scaled to sum to 1, or refuse a row whose sum is wrong; `name` says what a row is of."""
    read = summed(found)
    if read.wrong is not None:
        row = read.wrong
        raise ArgumentError(expected(name(row), WHAT, Wording(f"a sum of {read.sums[row]:.6g}"), read.hint(row)))
    return Candidate(read.rows, which, by_row, scaled_note("The probabilities of the policy", read.missed))


def _distribution(given: Any, logged: Logged, name: str) -> Floats:
    values = Labels(logged.arms).read(given, name, "a dict arm -> probability")
    if isinstance(values, list):
        if len(values) != len(logged.arms):
            hint = "pass a dict arm -> probability, or a data frame with the arms as columns and the rows of the log"
            raise ArgumentError(expected(name, f"a probability for each of {len(logged.arms)} arms", len(values), hint))
        values = dict(zip(logged.arms, values, strict=True))
    named: dict[Label, float] = {}
    unnamed = [arm for arm in logged.arms if arm not in values]
    for label, value in values.items():
        number, twin = as_float(value), None if label in logged.arms else twin_of(label, unnamed)
        if not 0 <= number <= 1:
            hint = "write it as a number, without quotation marks" if isinstance(value, str) else ""
            raise ArgumentError(expected(f"{name}[{label!r}]", "a probability in [0, 1]", value, hint))
        if label in logged.arms:
            named[label] = number
        elif twin is not None or len(unnamed) == len(logged.arms) or not of_one_type(logged.arms, label):
            hint = "" if twin is None else f"did you mean {twin!r}?"
            raise UnknownArmError(expected_one_of(name, logged.arms, label, what="the arms of the log,", hint=hint))
        elif number > 0:
            hint = "this log cannot show its value; run an experiment that tries it"
            raise UnknownArmError(expected(f"{name}[{label!r}]", "0 for an arm that the log never tried", value, hint))
    lacking = [label for label in logged.arms if label not in named]
    if lacking:
        got, hint = none_for(lacking[0], values, logged.arms), "give it a probability, 0 if it is never played"
        raise UnknownArmError(expected(name, "every arm of the log", got, hint))
    return np.array([named[label] for label in logged.arms])


def _by_row(given: Any, logged: Logged, name: str) -> Candidate:
    rows, arms = len(logged.codes), len(logged.arms)
    found = as_floats(row_table(given, logged, name))
    if found is None or found.shape != (rows, arms):
        got = given if found is None else f"an array of shape {found.shape}"
        raise ArgumentError(expected(name, f"an array of shape ({rows}, {arms}), a row for each row of the log", got))
    bad = np.argwhere(~((found >= 0) & (found <= 1)))
    if bad.size:
        row, column = bad[0]
        where = f"{name}, row {row + 1}, arm {logged.arms[column]!r}"
        raise ArgumentError(expected(where, "a probability in [0, 1]", found[row, column]))
    read = _candidate(found, np.arange(rows), lambda row: f"{name}, row {row + 1}", True)
    if not is_frame(given):
        check_order(name, found, logged, "pass a data frame with the arms as columns")
    return read


class RewardEstimates(NamedTuple):
    """Expected rewards (n, n_arms), which of them belong to each row (n_rows,), and the largest they may be there,
    known before the row (n_rows,)."""

    rewards: Floats
    of: Ints
    largest: Floats

    def only(self, rows: Bools | Ints) -> RewardEstimates:
        """Return the estimates of some rows alone, or of all in another order."""
        return self._replace(of=self.of[rows], largest=self.largest[rows])


def read_estimates(model: Any, logged: Logged, *, past_alone: bool) -> RewardEstimates:
    """Return what a model expects.

    Parameters
    ----------
    model : a model with `fit` and `predict` (or `predict_proba`); a dict arm -> reward; an array (n_rows,
        n_arms) or a data frame with one column per arm, that must not come from the rewards of the log.
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
    if isinstance(model, Estimator):
        return _trained(model, logged, past_alone)
    if is_frame(model):
        found = as_floats(row_table(model, logged, "model"))
    elif is_by_label(model):
        check_columns("model", model, logged)
        given = dict(Labels(logged.arms).read(model, "model", "a dict arm -> expected reward"))
        lacking = [arm for arm in logged.arms if arm not in given]
        if lacking:
            got = none_for(lacking[0], given, logged.arms)
            raise ArgumentError(expected("model", "an expected reward for every arm", got))
        found = np.array([[as_float(given[arm]) for arm in logged.arms]])
    else:
        found = as_floats(model)
    if found is None or found.shape not in ((1, arms), (rows, arms)):
        what = f"a model with fit and predict, a dict arm -> reward, or an array of shape ({rows}, {arms})"
        raise ArgumentError(expected("model", what, model))
    if not ((found >= 0) & (found <= 1)).all():
        raise ArgumentError(
            expected("model", "expected rewards in [0, 1]", float(found[~((found >= 0) & (found <= 1))][0]))
        )
    if not is_frame(model) and not is_by_label(model):
        check_order("model", found, logged, "pass a dict arm -> reward, or a data frame with the arms as columns")
    of = np.zeros(rows, np.int64) if len(found) == 1 else np.arange(rows)
    return RewardEstimates(found, of, np.broadcast_to(float(found.max()) if len(found) == 1 else 1.0, rows))


def _trained(model: Any, logged: Logged, past_alone: bool) -> RewardEstimates:
    rows, arms = len(logged.codes), len(logged.arms)
    shown = np.zeros((rows, 0)) if logged.contexts is None else logged.contexts
    played = np.eye(arms)[logged.codes]
    per_arm = shown.ndim == 3
    mine = shown[np.arange(rows), logged.codes] if per_arm else shown
    features = np.column_stack([mine, played])
    found, largest = np.zeros((rows, arms)), np.zeros(rows)
    # What is said of a row may not be learned from rows of its own unit, which resemble it.
    of = np.arange(rows) if logged.units is None else np.unique(logged.units, return_inverse=True)[1]
    part = of * PAST_BLOCKS // (of[-1] + 1) if past_alone else of % FOLDS
    for number in range(int(part.max()) + 1):
        block, others = part == number, part < number if past_alone else part != number
        if not block.any() or not others.any():
            continue
        try:
            fitted = copy.deepcopy(model)
            fitted.fit(features[others], logged.rewards[others])
            seen = expected_by(fitted, features[others])
            for arm in range(arms):
                asked = shown[block, arm] if per_arm else shown[block]
                only = np.zeros((len(asked), arms))
                only[:, arm] = 1.0
                found[block, arm] = expected_by(fitted, np.column_stack([asked, only]))
        except Exception as error:
            raise ModelError(f"model: {type(model).__name__} failed: {error}") from error
        # The interval needs a bound on m that is known before the block: what the model said of its own training rows.
        largest[block] = top = np.clip(seen.max(), 0.0, 1.0)
        found[block] = np.clip(found[block], 0.0, top)
    return RewardEstimates(found, np.arange(rows), largest)


def expected_by(fitted: Any, features: Any) -> Floats:
    """Return the expected rewards: of a classifier the probability of a reward of 1."""
    if not gives_probabilities(fitted):
        return np.asarray(fitted.predict(features), np.float64)
    chances = np.asarray(fitted.predict_proba(features), np.float64)
    return np.asarray(chances @ np.asarray(fitted.classes_, np.float64), np.float64)
