"""Whether a log can say anything about a policy: overlap, weights, and whether its propensities are true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import TableError, wanted
from evenhand.evaluation.candidates import Candidate
from evenhand.evaluation.course import Course
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.sequences import Steps, refutes
from evenhand.kernels.arrays import Floats
from evenhand.metrics.drift import REFUTED, shares_change

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_log", "known_weight", "notes_on", "weights_of"]

UNEVEN = 3.0
"""Standard errors from 1 at which a mean is remarked upon."""
FAR = 6.0
"""Standard errors from 1 at which propensities that never change are refused."""
SCARCE = 0.05
"""Effective rounds per row below which they are remarked upon."""


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
    table = weights_of(logged, None)
    for code, label in enumerate(logged.arms):
        mean, away = float(table["calibration"].iloc[code]), float(table["errors_away"].iloc[code])
        if abs(away) < UNEVEN:
            continue
        if logged.fixed:
            refuted = abs(away) > FAR and abs(mean - 1) > 1e-3
        else:
            steps = Steps()
            steps.add(np.where(logged.codes == code, 1 / logged.chances, 0.0))
            refuted = refutes([steps], 1.0, REFUTED / len(logged.arms))
        if refuted:
            where = f"propensity of arm {label!r}"
            mend = "the column must hold the chance of the arm in its own row, given the past and what was shown"
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
            what = "arms drawn whatever was shown, as there are no propensities"
            raise TableError(wanted(f"column {arm!r}", what, f"arms that depend on context {number + 1}", mend))


def known_weight(logged: Logged, candidate: Candidate) -> float | None:
    """Return the largest weight that is possible where the log's chances never change, None elsewhere."""
    if not logged.fixed or logged.every is None:
        return None
    every, mine = logged.every, candidate.probabilities
    if len(mine) not in (1, len(every)):
        return float(1 / every[every > 0].min())
    return float(
        np.divide(mine, every, out=np.zeros(np.broadcast_shapes(mine.shape, every.shape)), where=every > 0).max()
    )


def weights_of(logged: Logged, candidate: Candidate | None) -> pd.DataFrame:
    """Return the table of the arms' shares, probabilities and calibration."""
    import pandas as pd

    n, arms = len(logged.codes), len(logged.arms)
    inverse = 1 / logged.chances
    sums = np.bincount(logged.codes, inverse, arms)
    squares = np.bincount(logged.codes, inverse**2, arms)
    pulls = np.bincount(logged.codes, minlength=arms)
    error = np.sqrt(np.maximum(squares / n - 1, 0.0) / n)
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
            "calibration": sums / n,
            "errors_away": np.divide(sums / n - 1, error, out=np.zeros(arms), where=error > 0),
        }
    )


def notes_on(course: Course, table: pd.DataFrame) -> tuple[str, ...]:
    """Return what to know before a value is believed, in sentences."""
    logged, n = course.logged, course.rounds
    notes = []
    if logged.counted:
        notes.append("No propensities are given: each arm's share of the log is taken for its chance, and as exact.")
    elif not logged.fixed:
        notes.append("The propensities of an arm change from row to row, as a learner's do; m is of the rows before.")
    away = np.abs(table["errors_away"].to_numpy())
    if not logged.counted and away.max() > UNEVEN:
        worst = int(away.argmax())
        notes.append(
            f"The propensities of {(away > UNEVEN).sum()} of {len(table)} arms do not fit their pulls; worst is arm "
            f"{logged.arms[worst]!r}, whose mean of 1{{a}} / p is {table['calibration'].iloc[worst]:.3g}, wanted 1."
        )
    mean = course.weight / n
    spread = (max(course.squares / n - mean**2, 0.0) / n) ** 0.5
    if abs(mean - 1) > UNEVEN * spread and abs(mean - 1) > 1e-6:
        notes.append(
            f"The mean weight is {mean:.3g}, wanted 1: propensities are wrong, or the policies hardly overlap."
        )
    if course.effective_rounds < SCARCE * n:
        notes.append(
            f"The policy does what the log hardly ever did: {n} rows are as good as {course.effective_rounds:.0f} of "
            f"its own; the largest weight is {course.most:.3g}."
        )
    if course.largest is None and course.estimator != "ips":
        notes.append("No largest weight is known before the data, so that the interval is that of ips alone.")
    return tuple(notes)
