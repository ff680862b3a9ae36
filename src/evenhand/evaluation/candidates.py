"""Read the distribution whose value is asked for: the same for every row, for every position, or row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float, as_floats
from evenhand.errors import ArgumentError, ModelError, UnknownArmError, none_for, of_one_type, wanted, wanted_one_of
from evenhand.evaluation.logged import Logged
from evenhand.frames import as_pandas, is_frame
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import by_label, in_order
from evenhand.protocol import Label

__all__ = ["Candidate", "read_candidate"]

SUMS = 1e-6
"""By how much probabilities may miss 1; they are scaled to it."""
WHAT = "probabilities that sum to 1"


class Candidate(NamedTuple):
    """Probabilities (n, n_arms), which of them belong to each row (n_rows,), and whether each row has its own."""

    probabilities: Floats
    which: Ints
    by_row: bool = False

    def only(self, rows: Bools) -> Candidate:
        """Return the distribution of some rows alone."""
        return self._replace(which=self.which[rows])


def read_candidate(policy: Any, logged: Logged) -> Candidate:
    """Return the distribution of each row.

    Parameters
    ----------
    policy : a dict or Series arm -> probability, a list in the order of the log's arms, a dict position -> such a dict,
        an array (n_rows, n_arms), or a function of the log, or of its contexts where they are named, that returns one.

    Raises
    ------
    ArgumentError
        If these are no probabilities, or of another shape; if they are given by position and the positions are not
        those of the log.
    ModelError
        If the function fails.
    UnknownArmError
        If an arm of the log has no probability, or an arm that the log never tried has one above 0.
    """
    rows = np.arange(len(logged.codes))
    if callable(policy):
        if isinstance(policy, type):
            mend = f"write {policy.__name__}()"
            raise ArgumentError(wanted("policy", "a distribution, a function or a policy, not its class", policy, mend))
        try:
            found = policy(logged.frame if logged.contexts is None else logged.contexts)
        except Exception as error:
            raise ModelError(f"policy: the function failed: {error}") from error
        return Candidate(_matrix(found, logged, "policy(...)"), rows, True)
    if isinstance(policy, Mapping) and policy and all(isinstance(each, Mapping) for each in policy.values()):
        given = dict(by_label(policy, "policy", "a dict position -> (arm -> probability)", logged.places))
        if not logged.positions or set(given) != set(logged.places):
            if not logged.positions:
                mend = "name the column of the positions with position="
                raise ArgumentError(
                    wanted("policy", "one distribution, as the log has no positions", list(given), mend)
                )
            what = f"a distribution for each of the positions {list(logged.places)}"
            raise ArgumentError(wanted("policy", what, list(given), "the positions must be those of the log"))
        parts = [_distribution(given[place], logged, f"policy[{place!r}]") for place in logged.places]
        return Candidate(np.array(parts), logged.at)
    if is_frame(policy) or getattr(policy, "ndim", 1) == 2:
        return Candidate(_matrix(policy, logged, "policy"), rows, True)
    return Candidate(_distribution(policy, logged, "policy")[None, :], np.zeros(len(rows), np.int64))


def _distribution(given: Any, logged: Logged, name: str) -> Floats:
    values = by_label(given, name, "a dict arm -> probability", logged.arms)
    if isinstance(values, list):
        if len(values) != len(logged.arms):
            raise ArgumentError(wanted(name, f"a probability for each of {len(logged.arms)} arms", len(values)))
        values = dict(zip(logged.arms, values, strict=True))
    named: dict[Label, float] = {}
    for label, value in values.items():
        number = as_float(value)
        if not 0 <= number <= 1:
            raise ArgumentError(wanted(f"{name}[{label!r}]", "a probability in [0, 1]", value))
        if label in logged.arms:
            named[label] = number
        elif not of_one_type(logged.arms, label):
            raise UnknownArmError(wanted_one_of(name, logged.arms, label, what="the arms of the log,"))
        elif number > 0:
            mend = "its value cannot be known from this log; run an experiment that tries it"
            raise UnknownArmError(wanted(f"{name}[{label!r}]", "0 for an arm that the log never tried", value, mend))
    lacking = [label for label in logged.arms if label not in named]
    if lacking:
        got, mend = none_for(lacking[0], values, logged.arms), "give it a probability, 0 if it is never played"
        raise UnknownArmError(wanted(name, "every arm of the log", got, mend))
    found = np.array([named[label] for label in logged.arms])
    if abs(found.sum() - 1) > SUMS:
        raise ArgumentError(wanted(name, WHAT, f"a sum of {found.sum():.6g}"))
    return np.asarray(found / found.sum(), np.float64)


def _matrix(given: Any, logged: Logged, name: str) -> Floats:
    rows, arms = len(logged.codes), len(logged.arms)
    if is_frame(given):
        given = as_pandas(given, name)
        given = in_order(given, [None, logged.arms], name, refusal=UnknownArmError)
    found = as_floats(given)
    if found is None or found.shape != (rows, arms):
        got = type(given).__name__ if found is None else f"an array of shape {found.shape}"
        raise ArgumentError(wanted(name, f"an array of shape ({rows}, {arms}), a row for each row of the log", got))
    bad = np.argwhere(~((found >= 0) & (found <= 1)))
    if bad.size:
        row, column = bad[0]
        where = f"{name}, row {row + 1}, arm {logged.arms[column]!r}"
        raise ArgumentError(wanted(where, "a probability in [0, 1]", found[row, column]))
    off = np.flatnonzero(np.abs(found.sum(axis=1) - 1) > SUMS)
    if off.size:
        raise ArgumentError(wanted(f"{name}, row {off[0] + 1}", WHAT, f"a sum of {found[off[0]].sum():.6g}"))
    return found
