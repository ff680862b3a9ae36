"""Whether a log can say anything about a policy: overlap, weights, and whether its propensities are true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.audit.sequences import Book, refutes
from evenhand.errors import ArgumentError, TableError, wanted
from evenhand.evaluation.estimators import Candidate
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.value_curve import UNEVEN, ValueCurve
from evenhand.kernels.arrays import Bools, Floats
from evenhand.simulation.measures import REFUTED, shares_change

if TYPE_CHECKING:
    import pandas as pd

FAR = 6.0
"""Standard errors from 1 at which propensities that never change are refused."""
SCARCE = 0.05
"""Effective rounds per row below which they are remarked upon."""
ABSURD = 20.0
"""A mean weight that true chances reach with a probability of 1 in 20 at most (Markov's inequality)."""


def check_log(logged: Logged, arm: str) -> None:
    """Refuse a log whose arms depend on what is not said of them, or whose propensities are not those of its arms.

    Raises
    ------
    TableError
        If the propensities are refuted by the arms that were drawn; if there are none, and the arms depend on the
        contexts or their shares change over time.
    """
    if logged.counted:
        _check_shares(logged, arm)
        return
    table, given = weights_of(logged, None), _chance_given(logged)
    for code, label in enumerate(logged.arms):
        mean, away = float(table["calibration"].iloc[code]), float(table["errors_away"].iloc[code])
        if abs(away) < UNEVEN:
            continue
        if logged.fixed:
            refuted = abs(away) > FAR and abs(mean - 1) > 1e-3
        else:
            book = Book()
            inverse = np.where(logged.codes == code, 1 / logged.chances, 0.0)
            book.add(inverse if given is None else inverse[given[:, code]])
            refuted = refutes([book], 1.0, REFUTED / len(logged.arms))
        if refuted:
            where = f"propensity of arm {label!r}"
            mend = "the column must hold the probability of the arm in its row, given the past and the contexts"
            what = "chances with which the arm was drawn, so that the mean of 1{a} / p is near 1"
            raise TableError(wanted(where, what, round(mean, 3), mend))


def _check_shares(logged: Logged, arm: str) -> None:
    if shares_change(logged.codes, len(logged.arms)):
        mend = "name the column of the propensities with propensity=, or replay a policy with estimator='replay'"
        what = "arms drawn with the same chances from first to last, as there are no propensities"
        raise TableError(wanted(f"column {arm!r}", what, "shares that change, as a learner's do", mend))
    shown = logged.contexts
    if shown is None:
        return
    from scipy.stats import f_oneway

    shown = shown.reshape(len(shown), -1)
    groups = [logged.codes == code for code in range(len(logged.arms)) if (logged.codes == code).sum() > 1]
    for number in range(shown.shape[1]):
        parts = [shown[one, number] for one in groups]
        if len(parts) < 2 or any(np.ptp(part) == 0 for part in parts):
            continue
        if f_oneway(*parts).pvalue < REFUTED:
            mend = "name the column of the propensities with propensity=; without them the log is confounded"
            what = "arms drawn independently of the contexts, as there are no propensities"
            raise TableError(wanted(f"column {arm!r}", what, f"arms that depend on context {number + 1}", mend))


def known_weight(logged: Logged, candidate: Candidate) -> float | None:
    """Return the largest weight that is possible where the log's chances never change, None elsewhere."""
    if not logged.fixed or logged.every is None:
        return None
    every, mine = logged.every, candidate.probabilities
    if candidate.by_row:
        return float(1 / every[every > 0].min())
    shape = np.broadcast_shapes(mine.shape, every.shape)
    return float(np.divide(mine, every, out=np.zeros(shape), where=every > 0).max())


def check_largest(largest: float, candidate: Candidate, logged: Logged) -> None:
    """Refuse a largest weight that a row exceeds, or under which the rows refute that the mean weight is 1."""
    weights = candidate.weights(logged)
    if weights.max() > largest * (1 + 1e-9):
        what = f"at least the weight of row {int(weights.argmax()) + 1}, {weights.max():.6g}"
        raise ArgumentError(wanted("largest_weight", what, largest))
    book = Book()
    book.add(-weights, largest)
    if refutes([book], -1.0, REFUTED):
        what = "None, as the log does not try everything that the policy plays"
        mend = "a largest weight bounds the value only where every arm of the policy has a chance in every row"
        got = f"{largest:g} and a mean weight of {weights.mean():.3g}"
        raise ArgumentError(wanted("largest_weight", what, got, mend))


def check_weights(value_curve: ValueCurve) -> None:
    """Refuse propensities whose weights cannot be believed: their mean should be 1, and rewards lie in [0, 1].

    Raises
    ------
    TableError
        If the mean weight is 20 or more, or the value lies outside [-1, 2].
    """
    mean, raw = value_curve.weight / value_curve.rounds, value_curve.found()[0]
    if mean < ABSURD and not (value_curve.identified and abs(raw - 0.5) > 1.5):
        return
    weights, chances = value_curve.candidate.weights(value_curve.logged), value_curve.logged.chances
    row = int(weights.argmax())
    what = "propensities by which the mean weight is near 1 and the value in [0, 1]"
    got = f"a mean weight of {mean:.3g} and a value of {raw:.3g}"
    mend = f"check row {row + 1}: its propensity {chances[row]:.3g} gives it a weight of {weights[row]:.3g}"
    raise TableError(wanted("propensity", what, got, mend))


def _chance_given(logged: Logged) -> Bools | None:
    """Return whether each arm had a chance (n_rows, n_arms), None where the log does not say."""
    if logged.every is None:
        return None
    return np.asarray((logged.every[logged.at] if logged.fixed else logged.every) > 0)


def overlap_of(logged: Logged) -> pd.Series[float] | None:
    """Return the share of the rows in which each arm had a chance, None where the log does not say."""
    import pandas as pd

    given = _chance_given(logged.whole or logged)
    return None if given is None else pd.Series(given.mean(axis=0), index=list(logged.arms), name="overlap")


def uncovered(logged: Logged, candidate: Candidate) -> Bools:
    """Return the rows (n_rows,) in which an arm that the candidate may play had no chance; none where the log does not
    say."""
    given = _chance_given(logged)
    if given is None or given.all():
        return np.zeros(len(logged.codes), np.bool_)
    return np.asarray((~given & (candidate.probabilities[candidate.which] > 0)).any(axis=1))


def weights_of(logged: Logged, candidate: Candidate | None) -> pd.DataFrame:
    """Return the table of the arms' shares, probabilities and calibration."""
    import pandas as pd

    n, arms = len(logged.codes), len(logged.arms)
    inverse = 1 / logged.chances
    sums = np.bincount(logged.codes, inverse, arms)
    squares = np.bincount(logged.codes, inverse**2, arms)
    pulls = np.bincount(logged.codes, minlength=arms)
    had = _chance_given(logged)
    given = np.full(arms, float(n)) if had is None else had.sum(axis=0)
    error = np.sqrt(np.maximum(squares / given - 1, 0.0) / given)
    mean: Floats | float = float("nan")
    if candidate is not None:
        times = np.bincount(candidate.which, minlength=len(candidate.probabilities))
        mean = times @ candidate.probabilities / n
    return pd.DataFrame(
        {
            "arm": list(logged.arms),
            "pulls": pulls,
            "share": pulls / n,
            "probability": mean,
            "calibration": sums / given,
            "errors_away": np.divide(sums / given - 1, error, out=np.zeros(arms), where=error > 0),
        }
    )


def notes_on(value_curve: ValueCurve, table: pd.DataFrame) -> tuple[str, ...]:
    """Return what to know before a value is believed, in sentences."""
    logged, n = value_curve.logged, value_curve.rounds
    notes = [*logged.notes, *value_curve.candidate.notes]
    if logged.unit is None:
        notes.append("Rows are taken to be independent; where people have several, name their column: unit= (--unit).")
    else:
        how = "each counts once, by the mean of its rows" if value_curve.last[0].size else "their rows may be alike"
        notes.append(f"The {value_curve.length} units ({logged.unit}) are taken to be independent; {how}.")
    if logged.whole is not None:
        notes.append(
            f"Only the {n} of {len(logged.whole.codes)} rows are used in which every arm of the policy had a chance: "
            "stationary=True says that the value is the same in the others."
        )
    if not value_curve.identified:
        notes.append(_unidentified(value_curve))
    if logged.counted:
        notes.append("No propensities are given: each arm's share of the log is used as its exact probability.")
    elif not logged.fixed:
        notes.append("The propensities of an arm change from row to row, as a learner's do; m is of the rows before.")
    away = np.abs(table["errors_away"].to_numpy())
    if not logged.counted and away.max() > UNEVEN:
        worst = int(away.argmax())
        notes.append(
            f"The propensities of {(away > UNEVEN).sum()} of {len(table)} arms do not fit their plays; worst is arm "
            f"{logged.arms[worst]!r}, whose mean of 1{{a}} / p is {table['calibration'].iloc[worst]:.3g}, expected 1."
        )
    if value_curve.identified and abs(value_curve.weight_errors) > UNEVEN:
        notes.append(
            f"The mean weight is {value_curve.weight / n:.3g}, expected 1: propensities are wrong, or the log gives "
            f"what the "
            "policy does no chance in some rows."
        )
    if value_curve.effective_rounds < SCARCE * n:
        notes.append(
            f"The log hardly ever did what the policy does: {n} rows are as informative as "
            f"{value_curve.effective_rounds:.0f} of its own; the largest weight is {value_curve.most:.3g}."
        )
    if value_curve.largest is None and value_curve.identified and value_curve.estimator != "ips":
        notes.append("No largest weight is known in advance, so the interval is that of ips.")
    return tuple(notes)


def _unidentified(value_curve: ValueCurve) -> str:
    """Say which arms had no chance in which share of the rows, and what the interval is then of."""
    logged, candidate = value_curve.logged, value_curve.candidate
    given = _chance_given(logged)
    assert given is not None
    planned = np.bincount(candidate.which, minlength=len(candidate.probabilities)) @ (candidate.probabilities > 0)
    parts = [
        f"arm {label!r} had a chance in {100 * share:.3g} % of the rows"
        for label, share, rows in zip(logged.arms, given.mean(axis=0), planned, strict=True)
        if rows and share < 1
    ]
    missing = float(np.where(given, 0.0, candidate.probabilities[candidate.which]).sum(axis=1).mean())
    return (
        f"The log does not identify the value: {', '.join(parts)}. What these arms would have earned elsewhere, "
        f"{100 * missing:.3g} % of the policy's rounds, may be anything from 0 to 1; the interval allows for all of it."
    )
