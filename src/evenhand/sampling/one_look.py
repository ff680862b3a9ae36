"""A certificate from rows that are looked at once: exact, and with fewer rows than one that holds at every look."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.arguments import one_of, real
from evenhand.data.rows import in_step
from evenhand.data.tables import places_in
from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.protocol import Label
from evenhand.sampling.measures import most_frequent_errors
from evenhand.sampling.models.losses import BOUNDED, counted_rows
from evenhand.sampling.pools.labels import as_predicted, grouped, read_labels
from evenhand.sampling.problem import MOST


def certify_once(
    y: object,
    prediction: object,
    *,
    groups: object,
    threshold: float,
    delta: float = 0.05,
    loss: str = "zero_one",
    among: Sequence[Label] | None = None,
) -> Any:
    """Return whether each group's risk is at most a threshold, from fresh rows that are looked at once.

    A data frame by group: `rows` that counted, `wrong` among them, `risk`, the limits `low` and `high`, the `verdict`,
    "certified", "refuted" or "not_shown", and `needed`, about how many more of these certify a group if its risk stays
    as it is, NaN where none do; for the 0-1 loss also `most_frequent`, the error rate on these rows of whoever always
    predicts the label `attrs["most_frequent"]`. Each limit is Clopper and Pearson's for one side at level delta / m, m
    groups: with probability 1 - delta no verdict is wrong. Rows that were added after a look void this; see
    `Certification`.

    Parameters
    ----------
    y : the labels (n,).
    prediction : what any model predicts of these rows (n,).
    groups : the group of each row (n,).
    threshold : the largest risk that is acceptable in any group.
    delta : probability with which some verdict may be wrong.
    loss : "zero_one", "false_negative" or "false_positive"; of two labels the last one in order is positive.
    among : the groups (m,) that are judged, also those without a row; by default those that have rows.

    Raises
    ------
    ArgumentError
        If there are not as many labels, predictions and groups, or there are no rows, one is missing, a number is out
        of range, a row has another group than those judged, or there are not two labels where the loss needs them.

    Examples
    --------
    >>> found = certify_once([1] * 724, [0] * 180 + [1] * 544, groups=["a"] * 724, threshold=0.3, delta=0.0125)
    >>> found["high"].round(3).tolist(), found["verdict"].tolist()
    ([0.287], ['certified'])

    Source: C. Clopper, E. Pearson, "The Use of Confidence or Fiducial Limits" (1934).
    """
    import pandas as pd

    y, prediction, groups = in_step(("y", y), ("prediction", prediction), ("groups", groups))
    threshold = real("threshold", threshold, low=0.0, high=1.0)
    level, named = real("delta", delta, low=1e-300, high=1.0), one_of("loss", loss, BOUNDED)
    predicted = np.array(read_labels(prediction, "prediction"))
    labels, (known, codes) = as_predicted(y, None, predicted), grouped(groups, "groups")
    if not predicted.shape == labels.shape == codes.shape or not len(codes):
        got = f"{len(labels)}, {len(predicted)} and {len(codes)}"
        raise ArgumentError(expected("groups", "a label, a prediction and a group for each row", got))
    if among is not None:
        places = places_in(np.array(known, dtype=object), list(among))
        if (places < 0).any():
            raise ArgumentError(expected_one_of("groups", among, known[int(places.argmin())], what="groups among"))
        known, codes = tuple(among), places[codes]
    classes = sorted({*labels.tolist(), *predicted.tolist()})
    if named != "zero_one" and len(classes) != 2:
        raise ArgumentError(expected("y", f"two labels for {loss}", classes))
    counted = counted_rows(named, labels == classes[-1])
    rows = np.bincount(codes[counted], minlength=len(known))
    wrong = np.bincount(codes[counted & (labels != predicted)], minlength=len(known))
    level /= len(known)
    limits = [exact_limits(int(bad), int(n), level) for bad, n in zip(wrong, rows, strict=True)]
    low, high = np.array(limits).T
    with np.errstate(invalid="ignore"):
        risk = wrong / rows
    verdict = np.where(high <= threshold, "certified", np.where(low > threshold, "refuted", "not_shown"))
    needed = [rows_needed(bad, int(n), threshold, level) for bad, n in zip(wrong, rows, strict=True)]
    columns = {"rows": rows, "wrong": wrong, "risk": risk, "low": low, "high": high, "verdict": verdict}
    table = pd.DataFrame(columns | {"needed": needed}, index=pd.Index(known, name="group"))
    if named == "zero_one":
        counts = np.zeros((len(known), len(classes)), np.int64)
        np.add.at(counts, (codes, np.searchsorted(classes, labels)), 1)
        code, table["most_frequent"] = most_frequent_errors(counts)
        table.attrs["most_frequent"] = classes[code]
    return table


def exact_limits(wrong: int, rows: int, level: float) -> tuple[float, float]:
    """Return Clopper and Pearson's lower and upper limit of a risk, each missed with probability at most `level`.

    >>> [round(limit, 4) for limit in exact_limits(0, 59, 0.05)]
    [0.0, 0.0495]
    """
    from scipy.special import betaincinv

    low = float(betaincinv(wrong, rows - wrong + 1, level)) if wrong else 0.0
    return low, float(betaincinv(wrong + 1, rows - wrong, 1.0 - level)) if wrong < rows else 1.0


def rows_needed(
    wrong: float,
    rows: int,
    threshold: float,
    level: float,
    limits: Callable[[int, int, float], tuple[float, float]] = exact_limits,
) -> float:
    """Return about how many more rows bring the upper limit down to the threshold if the risk stays as it is; NaN where
    no number is known to.

    >>> rows_needed(0, 10, 0.05, 0.05)
    49.0
    """
    risk = wrong / rows if rows else 0.0
    if not risk < threshold:
        return math.nan

    def shown(more: int) -> bool:
        n = rows + more
        return limits(math.ceil(risk * n - 1e-9), n, level)[1] <= threshold

    if shown(0):
        return 0.0
    most = 1
    while not shown(most):
        most *= 2
        if most > MOST:
            return math.nan
    return float(bisect_left(range(most + 1), True, lo=most // 2 + 1, key=shown))
