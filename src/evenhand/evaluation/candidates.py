"""Read the distribution whose value is asked for: the same for every row, for every position, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float, as_floats
from evenhand.data.probabilities import scaled_note, summed
from evenhand.data.tables import twin_of
from evenhand.errors import ArgumentError, ModelError, UnknownArmError, none_for, of_one_type, wanted, wanted_one_of
from evenhand.evaluation.logged import Logged, row_table
from evenhand.frames import is_frame
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import by_label
from evenhand.protocol import Label

WHAT = "probabilities that sum to 1"


class Candidate(NamedTuple):
    """Probabilities (n, n_arms), which of them belong to each row (n_rows,), whether each row has its own, and what is
    to be known of them."""

    probabilities: Floats
    which: Ints
    by_row: bool = False
    notes: tuple[str, ...] = ()

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
        If these are no probabilities, or of another shape; if their sum misses 1 by more than rounding explains; if
        they are given by position and the positions are not those of the log.
    ModelError
        If the function fails.
    UnknownArmError
        If an arm of the log has no probability, or an arm that the log never tried has one above 0.
    """
    if callable(policy):
        if isinstance(policy, type):
            mend = f"write {policy.__name__}()"
            raise ArgumentError(wanted("policy", "a distribution, a function or a policy, not its class", policy, mend))
        try:
            found = policy(logged.frame if logged.contexts is None else logged.contexts)
        except Exception as error:
            raise ModelError(f"policy: the function failed: {error}") from error
        return _by_row(found, logged, "policy(...)")
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
        return _candidate(np.array(parts), logged.at, lambda at: f"policy[{logged.places[at]!r}]")
    if is_frame(policy) or getattr(policy, "ndim", 1) == 2:
        return _by_row(policy, logged, "policy")
    found = _distribution(policy, logged, "policy")[None, :]
    return _candidate(found, np.zeros(len(logged.codes), np.int64), lambda _: "policy")


def _candidate(found: Floats, which: Ints, name: Callable[[int], str], by_row: bool = False) -> Candidate:
    """Return probabilities scaled to sum to 1, or refuse a row whose sum is wrong; `name` says what a row is of."""
    read = summed(found)
    if read.wrong is not None:
        row = read.wrong
        raise ArgumentError(wanted(name(row), WHAT, f"a sum of {read.sums[row]:.6g}", read.mend(row)))
    return Candidate(read.rows, which, by_row, scaled_note("The probabilities of the policy", read.missed))


def _distribution(given: Any, logged: Logged, name: str) -> Floats:
    values = by_label(given, name, "a dict arm -> probability", logged.arms)
    if isinstance(values, list):
        if len(values) != len(logged.arms):
            raise ArgumentError(wanted(name, f"a probability for each of {len(logged.arms)} arms", len(values)))
        values = dict(zip(logged.arms, values, strict=True))
    named: dict[Label, float] = {}
    unnamed = [arm for arm in logged.arms if arm not in values]
    for label, value in values.items():
        number, twin = as_float(value), None if label in logged.arms else twin_of(label, unnamed)
        if not 0 <= number <= 1:
            mend = "write it as a number, without quotation marks" if isinstance(value, str) else ""
            raise ArgumentError(wanted(f"{name}[{label!r}]", "a probability in [0, 1]", value, mend))
        if label in logged.arms:
            named[label] = number
        elif twin is not None or len(unnamed) == len(logged.arms) or not of_one_type(logged.arms, label):
            mend = "" if twin is None else f"did you mean {twin!r}?"
            raise UnknownArmError(wanted_one_of(name, logged.arms, label, what="the arms of the log,", mend=mend))
        elif number > 0:
            mend = "its value cannot be known from this log; run an experiment that tries it"
            raise UnknownArmError(wanted(f"{name}[{label!r}]", "0 for an arm that the log never tried", value, mend))
    lacking = [label for label in logged.arms if label not in named]
    if lacking:
        got, mend = none_for(lacking[0], values, logged.arms), "give it a probability, 0 if it is never played"
        raise UnknownArmError(wanted(name, "every arm of the log", got, mend))
    return np.array([named[label] for label in logged.arms])


def _by_row(given: Any, logged: Logged, name: str) -> Candidate:
    rows, arms = len(logged.codes), len(logged.arms)
    found = as_floats(row_table(given, logged, name))
    if found is None or found.shape != (rows, arms):
        got = type(given).__name__ if found is None else f"an array of shape {found.shape}"
        raise ArgumentError(wanted(name, f"an array of shape ({rows}, {arms}), a row for each row of the log", got))
    bad = np.argwhere(~((found >= 0) & (found <= 1)))
    if bad.size:
        row, column = bad[0]
        where = f"{name}, row {row + 1}, arm {logged.arms[column]!r}"
        raise ArgumentError(wanted(where, "a probability in [0, 1]", found[row, column]))
    return _candidate(found, np.arange(rows), lambda row: f"{name}, row {row + 1}", True)
