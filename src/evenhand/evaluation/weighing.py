"""The pass over the rows: of each its weight w = pi(a) / p(a), and the doubly robust step

    Gamma = sum_a pi(a) m(a) + w (R - m(a_t)),

where m is what the rows before have shown of each arm (or the same for all arms), or estimates that are given.
"""

from __future__ import annotations

from typing import NamedTuple

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel


class Rows(NamedTuple):
    """Consecutive rows of a log and of a candidate (n_rows,), and the candidate's probabilities (n, n_arms)."""

    codes: Ints
    rewards: Floats
    chances: Floats
    which: Ints
    probabilities: Floats


PRIOR = 20.0
"""Rows of the mean of all arms that are added to each arm's own."""


class Means(NamedTuple):
    """Of the rows before: sums of rewards (n_arms,), 1 / (count + PRIOR) (n_arms,), and (2,) the sum of all rewards and
    the count + 1, both weighted where one m serves all arms."""

    sums: Floats
    inverses: Floats
    total: Floats


@kernel
def weigh_learning(rows: Rows, past: Means, weights: Floats, steps: Floats, tops: Floats) -> None:
    """Fill in the weights and steps (n_rows,), m from the rows before: the mean of an arm's rewards, drawn towards that
    of all. `tops` gets the largest m."""
    for t in range(rows.codes.size):
        arm, mine = rows.codes[t], rows.which[t]
        drawn = PRIOR * past.total[0] / past.total[1]
        expected, top = 0.0, 0.0
        for a in range(past.sums.size):
            mean = (past.sums[a] + drawn) * past.inverses[a]
            expected += rows.probabilities[mine, a] * mean
            top = max(top, mean)
        weight = rows.probabilities[mine, arm] / rows.chances[t]
        weights[t], tops[t] = weight, top
        steps[t] = expected + weight * (rows.rewards[t] - (past.sums[arm] + drawn) * past.inverses[arm])
        past.sums[arm] += rows.rewards[t]
        past.inverses[arm] = past.inverses[arm] / (1.0 + past.inverses[arm])
        past.total[0] += rows.rewards[t]
        past.total[1] += 1.0


@kernel
def weigh_levelled(rows: Rows, past: Means, weights: Floats, steps: Floats, tops: Floats) -> None:
    """Do the same with one m for all arms: the weighted mean of the rewards before."""
    for t in range(rows.codes.size):
        level = past.total[0] / past.total[1]
        weight = rows.probabilities[rows.which[t], rows.codes[t]] / rows.chances[t]
        weights[t], tops[t] = weight, level
        steps[t] = level + weight * (rows.rewards[t] - level)
        past.total[0] += weight * rows.rewards[t]
        past.total[1] += weight


@kernel
def weigh_given(rows: Rows, estimates: Floats, of: Ints, weights: Floats, steps: Floats, tops: Floats) -> None:
    """Do the same with estimates m (n, n_arms), of which `of` (n_rows,) says the row; `tops` is left as it is."""
    arms = estimates.shape[1]
    for t in range(rows.codes.size):
        arm, mine, row = rows.codes[t], rows.which[t], of[t]
        expected = 0.0
        for a in range(arms):
            expected += rows.probabilities[mine, a] * estimates[row, a]
        weight = rows.probabilities[mine, arm] / rows.chances[t]
        weights[t] = weight
        steps[t] = expected + weight * (rows.rewards[t] - estimates[row, arm])


@kernel
def add_up(
    rows: Rows, estimates: Floats, of: Ints, expected: Floats, robust: bool, normalized: bool, totals: Floats
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
