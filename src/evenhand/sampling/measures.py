"""What a collection achieved: risks with intervals by group, confidence sequences, and a report through fairlearn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.arguments import real, whole
from evenhand.data.groupings import Grouping
from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import Label
from evenhand.sampling.models.losses import BOUNDED, Loss
from evenhand.sampling.pools.labels import predicted_rows
from evenhand.sampling.problem import MOST


def confidence_sequence(total: float, n: int, *, delta: float = 0.05) -> tuple[float, float]:
    """Return (low, high) for the mean of losses in [0, 1]: with probability 1 - delta it holds at every n at once.

    The mixture of likelihood ratios over a uniform prior, M_n(p) = B(S + 1, n - S + 1) / (p^S (1 - p)^(n - S)), is a
    nonnegative supermartingale under mean p for any losses in [0, 1] with sum S; the interval is {p : M_n(p) < 1 /
    delta}.

    Parameters
    ----------
    total : the sum S of the losses.
    n : their number.
    delta : probability with which the interval may ever miss the mean.

    Raises
    ------
    ArgumentError
        If `n` is not a whole number >= 0, `total` is not a number from 0 to n, or `delta` is out of range.

    Examples
    --------
    >>> low, high = confidence_sequence(20, 100, delta=0.05)
    >>> round(low, 3), round(high, 3)
    (0.093, 0.348)
    >>> confidence_sequence(0, 0)
    (0.0, 1.0)

    Source: Robbins (1970), "Statistical Methods Related to the Law of the Iterated Logarithm"; Ville's inequality.
    """
    from scipy.optimize import brentq
    from scipy.special import betaln

    real("delta", delta, low=1e-300, high=1.0)
    n = whole("n", n, low=0, high=MOST)
    total = real("total", total, low=0, high=n)
    if n == 0:
        return 0.0, 1.0
    hits, misses = total, n - total
    level = float(betaln(hits + 1, misses + 1)) + math.log(delta)

    def excess(p: float) -> float:
        return level - (hits * math.log(p) if hits else 0.0) - (misses * math.log1p(-p) if misses else 0.0)

    edge, mean = 1e-12, min(max(hits / n, 1e-12), 1 - 1e-12)
    low = 0.0 if excess(edge) < 0 else float(brentq(excess, edge, mean))
    high = 1.0 if excess(1 - edge) < 0 else float(brentq(excess, mean, 1 - edge))
    return low, high


def most_frequent_errors(counts: Ints) -> tuple[int, Floats]:
    """Return the class that is most frequent in all groups together, of counts (m, k) by group and class, and the error
    rate (m,) of whoever always predicts it; NaN where a group has no rows.

    >>> most_frequent_errors(np.array([[10, 30], [6, 4]]))
    (1, array([0.25, 0.6 ]))
    """
    code, rows = int(counts.sum(axis=0).argmax()), counts.sum(axis=1)
    with np.errstate(invalid="ignore"):  # errors over rows, as of a model: 1 less the share would differ by rounding
        return code, np.asarray((rows - counts[:, code]) / rows)


def risk_table(groups: tuple[Label, ...], training: Ints, sums: Floats, counts: Ints, loss: Loss) -> Any:
    """Return a data frame by group: `training`, `validation`, `risk`, `low`, `high`; NaN where nothing counted
    yet.
    """
    import pandas as pd

    with np.errstate(invalid="ignore", divide="ignore"):
        risks = sums / counts
    bounded = isinstance(loss, str) and loss in BOUNDED
    limits = [
        confidence_sequence(s, int(n)) if bounded else (math.nan, math.nan) for s, n in zip(sums, counts, strict=True)
    ]
    columns: dict[str, Any] = {"training": training.copy(), "validation": counts.copy(), "risk": risks}
    columns |= {"low": [low for low, _ in limits], "high": [high for _, high in limits]}
    return pd.DataFrame(columns, index=pd.Index(groups, name="group"))


def fairness_report(
    model: object,
    X: object,
    y: object,
    *,
    groups: Sequence[Any],
    metrics: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Return fairlearn's `MetricFrame` of a model on held-out rows: `by_group`, `overall`, `difference()`; its `notes`
    say which groups have too few rows.

    Parameters
    ----------
    model : anything with `predict`.
    X, y : held-out features (n, d) and labels (n,).
    groups : the group of each row (n,).
    metrics : a dict name -> function of (y_true, y_pred); error rate, selection rate and count when left out.

    Raises
    ------
    ArgumentError
        If the model cannot predict, a metric is no function, or predictions, labels and groups do not fit the rows; see
        `group_errors`.
    MissingExtraError
        If fairlearn is not installed.
    """
    from sklearn.metrics import zero_one_loss

    fairlearn = optional("fairlearn.metrics", "fairness_report")
    chosen = {"error rate": zero_one_loss, "count": fairlearn.count} if metrics is None else metrics
    if not isinstance(chosen, Mapping) or not chosen or not all(map(callable, chosen.values())):
        raise ArgumentError(expected("metrics", "a dict name -> function of (y_true, y_pred)", metrics))
    predicted, told, named, codes = predicted_rows(model, X, y, groups)
    of_rows = np.array(named, dtype=object)[codes]
    report = fairlearn.MetricFrame(metrics=dict(chosen), y_true=told, y_pred=predicted, sensitive_features=of_rows)
    sizes = np.bincount(codes)
    report.notes = Grouping.of_rows(list(named), sizes).note("groups", "have too few rows to be compared")
    return report
