"""Whether a log can say anything about a policy: overlap, weights, and whether its propensities are true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from evenhand.audit.confidence_sequences import Book, refutes
from evenhand.audit.units import read_differently
from evenhand.data.tables import ROUNDING
from evenhand.errors import NOTHING, ArgumentError, TableError, Wording, argument, expected
from evenhand.evaluation.estimators import Candidate
from evenhand.evaluation.findings import Interval
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.propensities import doubts, fit_of
from evenhand.evaluation.value_curve import ValueCurve
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.simulation.measures import REFUTED, shares_change

if TYPE_CHECKING:
    import pandas as pd

FAR = 6.0
"""Standard errors of the mean weight from 1 at which it is remarked upon."""
ENOUGH = 30
"""Effective rows with a reward above the mean, and with one below it, that a normal interval needs."""
EVEN = 0.8
"""Units whose weights are worth less than this part of as many equal ones, for rows that are alike, are uneven."""
NAME = Wording("name the column of the propensities with ", argument("propensity"))
CHOSEN = (
    "The policy is taken not to have been chosen with these rows: the best of many on the same rows looks better than "
    "it is. To judge a choice, make it anew before each block of rows: see the page on evaluation."
)
HIDDEN = Wording(
    "Only the propensity of the arm that was drawn is known. This hides the rows in which another arm could not be "
    "drawn, which bias the value, and nothing shows it. Name the columns of all arms: ",
    Wording("propensity={arm: column}", shell="--propensity a=COLUMN,b=COLUMN"),
    "; an export of a study with form bandit has them.",
)
SCARCE = 0.05
"""Effective rounds per row below which they are remarked upon."""


def check_log(logged: Logged, arm: str) -> None:
    """Refuse a log without propensities whose arms depend on what is not said of them.

    Raises
    ------
    TableError
        If the arms depend on the contexts, or their shares change over time.
    """
    if not logged.counted:
        return
    if logged.units is not None:  # the tests are for independent rows: one of each unit
        logged = logged.take(np.unique(logged.units, return_index=True)[1])
    if shares_change(logged.codes, len(logged.arms)):
        hint = Wording(NAME, ", or replay a policy with ", argument("estimator", "replay"))
        what = "arms drawn with the same chances from first to last, as there are no propensities"
        raise TableError(expected(f"column {arm!r}", what, "shares that change, as a learner's do", hint))
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
            hint = Wording(NAME, "; without them the log is confounded")
            what = "arms drawn independently of the contexts, as there are no propensities"
            raise TableError(expected(f"column {arm!r}", what, f"arms that depend on context {number + 1}", hint))


def _over_chances(mine: Floats, every: Floats) -> Floats:
    """Return pi / p of each arm, 0 where p is 0."""
    shape = np.broadcast_shapes(mine.shape, every.shape)
    return np.asarray(np.divide(mine, every, out=np.zeros(shape), where=every > 0))


def known_weight(logged: Logged, candidate: Candidate, given: float | None = None) -> float | None:
    """Return the largest weight that is possible: what is given, or where the log's chances never change, what these
    say; else None.

    Raises
    ------
    ArgumentError
        If a row exceeds what is given, or the rows then refute that the mean weight is 1.
    """
    if given is not None:
        _check_largest(given, logged, candidate.weights(logged))
        return given
    if not logged.fixed or logged.every is None:
        return None
    if candidate.by_row:
        return float(1 / logged.every[logged.every > 0].min())
    return float(_over_chances(candidate.probabilities, logged.every).max())


def single_weight(logged: Logged, candidate: Candidate) -> float | None:
    """Return the weight of every row that has one, where pi / p is 0 or this for each arm in each row, and rewards are
    0 or 1: w R then takes two values. None elsewhere, and where pi or p may depend on rewards: Clopper and Pearson's
    interval is for independent rows."""
    if not logged.fixed or logged.every is None or candidate.refitted or not np.isin(logged.rewards, (0, 1)).all():
        return None
    mine, every = candidate.probabilities, logged.every
    if candidate.by_row:
        mine, every = mine[candidate.which], every[logged.at]
    ratios = _over_chances(mine, every)
    found = ratios[ratios > 0]
    return float(found[0]) if found.size and np.allclose(found, found[0], rtol=1e-9, atol=0.0) else None


def known_difference(one: ValueCurve, other: ValueCurve) -> tuple[float, float, float] | None:
    """Return the most by which a weight of one may be above that of the other and below it, and the most by which their
    plays may differ; None where the largest weights are not known."""
    logged, mine, theirs = one.logged, one.candidate, other.candidate
    if one.largest is None or other.largest is None:
        return None
    if mine.by_row or theirs.by_row or not logged.fixed or logged.every is None:
        return one.largest, other.largest, 1.0
    gap = mine.probabilities - theirs.probabilities
    ratios = _over_chances(gap, logged.every)
    return float(max(ratios.max(), 0.0)), float(max(-ratios.min(), 0.0)), float(np.abs(gap).sum(axis=1).max() / 2)


def effective_rows(weights: Floats) -> float:
    """Return (sum w)^2 / sum w^2: so many rows of equal weight would say as much."""
    return float(weights.sum() ** 2 / max(np.square(weights).sum(), 1e-300))


def check_normal(rewards: Floats, weights: Floats, units: Ints | None = None, of: str = "the value") -> None:
    """Refuse a normal interval if the rows on which a mean rests whose reward is above their mean, or those below it,
    are effectively fewer than 30: by what they contribute, or by their part in all rows' weights; and if units are,
    by their weights, where these differ from unit to unit as if an arm were drawn for all rows of each.

    Raises
    ------
    ArgumentError
        If so.
    """
    otherwise = Wording("; for one look pass ", argument("interval", "once"))
    if units is not None:
        # Student's quantile makes up for few units, but not for few that have most of the weight.
        count = effective_rows(np.asarray(np.bincount(units, weights), np.float64))
        alike = effective_rows(np.bincount(units).astype(np.float64))
        if count < min(ENOUGH * (1 - ROUNDING), EVEN * alike):
            got = f"'normal' of {np.unique(units).size} units with uneven weights"
            enough = f"by their weights in {of} these are effectively {count:.3g}, and a normal interval needs {ENOUGH}"
            raise ArgumentError(expected("interval", "'anytime' or 'once'", got, Wording(enough, otherwise)))
    mine, total = weights > 0, max(weights.sum(), 1e-300)
    apart = rewards - weights @ rewards / total
    for what, parts in (("above", np.maximum(apart, 0.0)), ("below", np.maximum(-apart, 0.0))):
        paid = weights * parts
        share = paid.sum() ** 2 / max(total * (paid @ parts), 1e-300)
        count = min(effective_rows(weights) * share, effective_rows(paid))
        if count < ENOUGH * (1 - ROUNDING):
            got = f"'normal' where {np.count_nonzero(paid)} of {mine.sum()} rows have a reward {what} their mean"
            enough = f"by their weights in {of} these are effectively {count:.3g}, and a normal interval needs {ENOUGH}"
            raise ArgumentError(expected("interval", "'anytime' or 'once'", got, Wording(enough, otherwise)))


def _check_largest(largest: float, logged: Logged, weights: Floats) -> None:
    """Refuse a largest weight that a row exceeds, or under which the rows refute that the mean weight is 1."""
    if weights.max() > largest * (1 + 1e-9):
        what = f"at least the weight of row {logged.rows[weights.argmax()] + 1}, {weights.max():.6g}"
        raise ArgumentError(expected("largest_weight", what, largest))
    book = Book()
    book.add(-logged.by_unit(weights), largest)
    if refutes([book], -1.0, REFUTED):
        what = Wording(NOTHING, ", as the log does not try everything that the policy plays")
        hint = "a largest weight bounds the value only where every arm of the policy has a chance in every row"
        got = f"{largest:g} and a mean weight of {weights.mean():.3g}"
        raise ArgumentError(expected("largest_weight", what, got, hint))


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
    pulls = np.bincount(logged.codes, minlength=arms)
    had = _chance_given(logged)
    given = np.full(arms, float(n)) if had is None else had.sum(axis=0)
    mean: Floats | float = float("nan")
    if candidate is not None:
        times = np.bincount(candidate.which, minlength=len(candidate.probabilities))
        mean = times @ candidate.probabilities / n
    table = {"arm": list(logged.arms), "pulls": pulls, "share": pulls / n, "probability": mean}
    return pd.DataFrame(table | {"calibration": sums / given, "p_value": fit_of(logged)})


def notes_on(value_curve: ValueCurve, table: pd.DataFrame, interval: Interval) -> tuple[str, ...]:
    """Return what to know before a value is believed, in sentences."""
    logged, n = value_curve.logged, value_curve.rounds
    notes = [*logged.notes, *value_curve.candidate.notes]
    if not value_curve.candidate.refitted:
        notes.append(CHOSEN)
    if logged.unit is None:
        independent = "Rows are taken to be independent; where people have several, name their column: "
        notes.append(Wording(independent, argument("unit"), "."))
    else:
        how = "each counts once, by the mean of its rows" if value_curve.last[0].size else "their rows may be alike"
        notes.append(f"The {value_curve.length} units ({logged.unit}) are taken to be independent; {how}.")
        if np.isfinite(value_curve.value):
            by_row, _, _, by_unit = (one.mean for one in value_curve.unit_means())
            if read_differently(by_row, by_unit):
                notes.append(
                    "Units have different numbers of rows: a normal interval and its value are of the mean over rows, "
                    f"here {by_row:.4g}, all others of the mean over units, here {by_unit:.4g}."
                )
        if not logged.fixed:
            notes.append(
                "No propensity may have been learned from what other units earned, or the interval does not hold."
            )
    if logged.whole is not None:
        used = (
            f"Only the {n} of {len(logged.whole.codes)} rows are used in which every arm of the policy had a chance: "
        )
        notes.append(Wording(used, argument("stationary", True), " says that the value is the same in the others."))
    if not value_curve.identified:
        notes.append(_unidentified(value_curve))
    if logged.counted:
        notes.append("No propensities are given: each arm's share of the log is used as its exact probability.")
    elif not logged.fixed:
        notes.append(
            "The propensities of an arm change from row to row: what is expected of one comes from those before."
        )
    notes += [HIDDEN] * (logged.every is None)
    notes += doubts(logged, table)
    if value_curve.identified and logged.every is None and abs(value_curve.weight_errors) > FAR:
        notes.append(
            f"The mean weight is {value_curve.weight / n:.3g}, expected 1: propensities are wrong, or the log gives "
            "what the policy does no chance in some rows."
        )
    if value_curve.most > n / 10:
        weights = value_curve.candidate.weights(logged)
        row = int(weights.argmax())
        notes.append(
            f"Row {logged.rows[row] + 1} alone has a weight of {weights[row]:.3g}, as its propensity is "
            f"{logged.chances[row]:.3g}: check that this is the probability of its arm."
        )
    if value_curve.effective_rounds < SCARCE * n:
        notes.append(
            f"The log hardly ever did what the policy does: {n} rows are as informative as "
            f"{value_curve.effective_rounds:.0f} of its own; the largest weight is {value_curve.most:.3g}."
        )
    return (*notes, *_on_interval(value_curve, interval))


def _on_interval(value_curve: ValueCurve, interval: Interval) -> Iterator[str]:
    """Yield what to know of the kind of interval."""
    if value_curve.estimator == "dm":
        yield "dm has no interval: what the model expects may be wrong by any amount, and no row corrects it."
    elif interval != "normal" and value_curve.largest is None and value_curve.identified:
        if value_curve.estimator != "ips":
            yield "No largest weight is known in advance, so the interval is that of ips."
        if interval == "once":
            unknown = "No largest weight is known in advance, so one look narrows nothing; "
            yield Wording(unknown, argument("largest_weight"), " can say it, such as from the floor of a lottery.")


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
