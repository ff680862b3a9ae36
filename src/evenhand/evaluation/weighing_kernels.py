"""The weights of consecutive rows of a log, what a model expects of them, and their sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel

SHOWN = 3.0
"""Standard deviations by which the arms' means must differ more than chance makes them, before they are told apart."""


class LoggedRows(NamedTuple):
    """Consecutive rows of a log and of a candidate (n_rows,), and the candidate's probabilities (n, n_arms); rows of
    one unit follow each other."""

    codes: Ints
    rewards: Floats
    chances: Floats
    units: Ints
    which: Ints
    probabilities: Floats


class PastMeans(NamedTuple):
    """Of the rows before: sums of rewards and counts (n_arms,), and (5,) the number of rows, the sums of their rewards
    and of the squares of these, the sum over the arms of sums^2 / count, and that of count^2."""

    sums: Floats
    counts: Floats
    totals: Floats


@kernel
def prior_rows(past: PastMeans) -> float:
    """Return how many rows of the mean of all arms each arm's own mean is worth: the variance of the rewards over that
    of the arms' means, as the rows before show it; infinite where they do not show that arms differ.

    Were the arms alike, `apart` would be (seen - 1) times the variance on average, with a variance of its own to which
    rare rewards, whose kurtosis is about 1 / variance, add the second term.
    """
    rows, total, squares, between, crowded = past.totals
    seen = 0
    for a in range(past.counts.size):
        seen += past.counts[a] > 0
    if rows < 2 or seen < 2:
        return np.inf
    apart, variance = between - total * total / rows, (squares - total * total / rows) / (rows - 1.0)
    excess = apart - (seen - 1) * variance
    chance = np.sqrt(2.0 * (seen - 1) * variance * variance + seen * seen * variance / rows)
    return variance * (rows - crowded / rows) / excess if excess > SHOWN * chance else np.inf


@kernel
def learn_row(past: PastMeans, arm: int, reward: float) -> None:
    """Count the reward of a row."""
    count = past.counts[arm]
    past.totals[3] -= past.sums[arm] * past.sums[arm] / count if count > 0 else 0.0
    past.sums[arm] += reward
    past.counts[arm] += 1.0
    past.totals[0] += 1.0
    past.totals[1] += reward
    past.totals[2] += reward * reward
    past.totals[3] += past.sums[arm] * past.sums[arm] / past.counts[arm]
    past.totals[4] += 2.0 * count + 1.0


@kernel
def weigh_learning(
    rows: LoggedRows, past: PastMeans, weights: Floats, expected: Floats, own: Floats, tops: Floats
) -> None:
    """Fill in the weights (n_rows,), the reward that m expects of the candidate, and of the arm that was played; m is
    the mean of an arm's rewards in the rows of the units before, drawn towards that of all. `tops` gets the largest m.
    """
    first, size = 0, rows.codes.size
    for t in range(size):
        arm, mine, prior = rows.codes[t], rows.which[t], prior_rows(past)
        level = past.totals[1] / (past.totals[0] + 1.0)
        expected[t], tops[t] = 0.0, 0.0
        for a in range(past.sums.size):
            count = past.counts[a]
            mean = level + ((past.sums[a] - count * level) / (count + prior) if count > 0 else 0.0)
            expected[t] += rows.probabilities[mine, a] * mean
            tops[t] = max(tops[t], mean)
            if a == arm:
                own[t] = mean
        weights[t] = rows.probabilities[mine, arm] / rows.chances[t]
        # Only after its unit: with rewards of its own in m, or of rows that resemble it and were perhaps given the same
        # arm, the step is biased, and the interval no longer holds.
        if t + 1 == size or rows.units[t + 1] != rows.units[t]:
            for row in range(first, t + 1):
                learn_row(past, rows.codes[row], rows.rewards[row])
            first = t + 1


@kernel
def weigh_given(
    rows: LoggedRows, estimates: Floats, of: Ints, weights: Floats, expected: Floats, own: Floats, tops: Floats
) -> None:
    """Do the same with estimates m (n, n_arms), of which `of` (n_rows,) says the row; `tops` is left as it is."""
    for t in range(rows.codes.size):
        arm, mine, row = rows.codes[t], rows.which[t], of[t]
        expected[t] = 0.0
        for a in range(estimates.shape[1]):
            expected[t] += rows.probabilities[mine, a] * estimates[row, a]
        weights[t], own[t] = rows.probabilities[mine, arm] / rows.chances[t], estimates[row, arm]


@kernel
def add_up(
    rows: LoggedRows, estimates: Floats, of: Ints, expected: Floats, robust: bool, normalized: bool, totals: Floats
) -> None:
    """Add to `totals` (11,) the sums of x, y, x^2, x y, y^2, where the value is sum x / sum y, then those of w R, w,
    (w R)^2, w^2 R, w^2, and enter the largest w. `expected` (n, n_estimates) holds sum_a pi(a) m(a) where it is known,
    else it is empty."""
    x_sum, y_sum, xx, xy, yy = 0.0, 0.0, 0.0, 0.0, 0.0
    paid_sum, w_sum, paid_paid, paid_w, ww, most = 0.0, 0.0, 0.0, 0.0, 0.0, totals[10]
    for t in range(rows.codes.size):
        arm, mine = rows.codes[t], rows.which[t]
        weight = rows.probabilities[mine, arm] / rows.chances[t]
        paid = weight * rows.rewards[t]
        x, y = paid, 1.0
        if robust:
            row = of[t]
            x -= weight * estimates[row, arm]
            if expected.size > 0:
                x += expected[mine, row]
            else:
                for a in range(estimates.shape[1]):
                    x += rows.probabilities[mine, a] * estimates[row, a]
        elif normalized:
            y = weight
        x_sum += x
        y_sum += y
        xx += x * x
        xy += x * y
        yy += y * y
        paid_sum += paid
        w_sum += weight
        paid_paid += paid * paid
        paid_w += paid * weight
        ww += weight * weight
        most = max(most, weight)
    totals[0] += x_sum
    totals[1] += y_sum
    totals[2] += xx
    totals[3] += xy
    totals[4] += yy
    totals[5] += paid_sum
    totals[6] += w_sum
    totals[7] += paid_paid
    totals[8] += paid_w
    totals[9] += ww
    totals[10] = most
