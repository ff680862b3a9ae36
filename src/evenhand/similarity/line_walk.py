"""Random metrics from the posterior belief, given answers that may be wrong.

Answer i, a difference of treatment gap_i between two people of direction u_i, is wrong under the metric g where s_i
(<g, u_i> - gap_i^2) > 0, s_i = 1 for "unfair" and -1 for "acceptable". An auditor errs at an unknown rate r with the
prior Beta(1, 4) on [0, 1/2]. Integrated over r, a metric of which k of the n answers are wrong has the weight

    w_n(k) = int_0^{1/2} r^k (1 - r)^(n - k) (1 - r)^3 dr,

a product of these where several auditors have rates of their own, on the positive semidefinite matrices of a Frobenius
norm up to the radius. Along a line the weight is constant between crossings of answers, so that a point of the line is
drawn exactly (hit-and-run; R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly distributed
over bounded regions", 1984).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from evenhand.kernels.arrays import Bools, Floats, Ints

RATES = (np.arange(800) + 0.5) / 1600.0
"""Midpoints of [0, 1/2], over which rates are integrated."""

STEEP = 50.0
"""By so much falls the logarithm of the weight with each wrong answer above the most that are allowed."""

RIDGE, NEWTON = 1e-2, 50
"""Of the logistic regression: the penalty of its scaled coefficients, and the most steps."""

LEAST = 1e-3
"""An eigenvalue of the first metric is at least this, relative to the largest one: the walk begins inside."""

TABLE_ROWS = 4096


class Answers(NamedTuple):
    """n answers in m coordinates of metrics."""

    directions: Floats
    """(n, m): u_i, of its own length, so that <g, u_i> is the square of the distance."""
    levels: Floats
    """(n,): gap_i^2, plus s_i times how far a square may be from any metric's."""
    signs: Floats
    """(n,): s_i."""
    auditors: Ints
    """(n,): the number of who answered."""


class MetricCone(NamedTuple):
    """The positive semidefinite matrices in given coordinates, up to a norm."""

    rows: Ints
    columns: Ints
    scales: Floats
    """(m,): coordinate n of G is scales[n] G[rows[n], columns[n]]."""
    radius: float

    @property
    def map(self) -> Floats:
        """The matrix (d, d, m) that takes coordinates to symmetric matrices."""
        d, m = int(self.rows.max()) + 1, self.rows.size
        entries, times = np.zeros((d, d, m)), np.zeros((d, d))
        entries[self.rows, self.columns, np.arange(m)] = 1.0 / self.scales
        times[self.rows, self.columns] = 1.0
        table: Floats = entries + entries.transpose(1, 0, 2)
        return table / np.maximum(times + times.T, 1.0)[:, :, None]


def log_weights(answers: Answers, at_most: float | None) -> tuple[Floats, Ints]:
    """Return the logarithms of w_n(0), ..., w_n(n) of each auditor, one after another, and where each begins.

    With `at_most` they are flat up to this share of wrong answers and then fall steeply; all auditors are one.
    """
    if at_most is not None:
        counts = np.arange(len(answers.signs) + 1)
        return -STEEP * np.maximum(counts - int(at_most * len(answers.signs)), 0.0), np.zeros(1, np.int64)
    totals = np.bincount(answers.auditors)
    tables = []
    for n in map(int, totals):
        # By parts: of a million answers one table over all rates would take gigabytes.
        parts = (np.arange(first, min(first + TABLE_ROWS, n + 1)) for first in range(0, n + 1, TABLE_ROWS))
        tables += [np.asarray(logsumexp(_log_density(k, n), axis=1)) for k in parts]
    return np.concatenate(tables), np.r_[0, np.cumsum(totals + 1)[:-1]]


def _log_density(k: NDArray[Any], n: int) -> Floats:
    """Return ln r^k (1 - r)^(n - k + 3) for each k and each of `RATES`."""
    density: Floats = k[:, None] * np.log(RATES) + (n + 3.0 - k[:, None]) * np.log1p(-RATES)
    return density


def rate_density(wrong: Ints, n: int) -> Floats:
    """Return the probabilities of `RATES` for an auditor of whose n answers so many are wrong, one number per
    metric."""
    counts, times = np.unique(wrong, return_counts=True)
    logs = _log_density(counts, n)
    mixed: Floats = times @ np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) / times.sum()
    return mixed


def wrong_under(draws: Floats, answers: Answers) -> Bools:
    """Return which answers (n,) are wrong under each of the metrics (draws, m)."""
    squares = np.einsum("gm,nm->gn", draws, answers.directions)
    wrong: Bools = answers.signs * (squares - answers.levels) > 0.0
    return wrong


def start(answers: Answers, metrics: MetricCone) -> Floats:
    """Return the metric at which the walk begins: logistic regression of "unfair" on (gap^2, -u), made positive
    definite.

    From anywhere else one walk in ten stays where many answers are wrong.
    """
    found = _regression(np.column_stack([answers.levels, -answers.directions]), answers.signs > 0.0)
    table = metrics.map
    d = len(table)
    matrix = table @ (found[1:] / found[0]) if found[0] > 0.0 else np.zeros((d, d))
    values, vectors = np.linalg.eigh(matrix)
    if values[-1] <= 0.0:
        values[:] = 0.5 * metrics.radius / d
    values = np.maximum(values, LEAST * values[-1])
    values *= min(1.0, 0.9 * metrics.radius / float(np.linalg.norm(values)))
    within: Floats = (vectors * values) @ vectors.T
    return metrics.scales * within[metrics.rows, metrics.columns]


def _regression(columns: Floats, unfair: Bools) -> Floats:
    """Return the coefficients of a ridge logistic regression without an intercept, by Newton's method."""
    sizes = np.sqrt(np.square(columns).mean(axis=0)) + 1e-12
    scaled, found = columns / sizes, np.zeros(columns.shape[1])
    for _ in range(NEWTON):
        chance = 1.0 / (1.0 + np.exp(-np.clip(scaled @ found, -500.0, 500.0)))
        weights = chance * (1.0 - chance) + 1e-9
        bend = np.einsum("ni,n,nj->ij", scaled, weights, scaled) + RIDGE * np.eye(found.size)
        step = np.linalg.solve(bend, scaled.T @ (unfair - chance) - RIDGE * found)
        found += step
        if np.abs(step).max() < 1e-8:
            break
    result: Floats = found / sizes
    return result


def walk(
    answers: Answers,
    metrics: MetricCone,
    weights: tuple[Floats, Ints],
    begin: Floats,
    steps: int,
    random: np.random.Generator,
) -> Floats:
    """Return the metrics (steps, m) that a walk of so many steps passes.

    Each step goes along the difference of two earlier metrics, every third in any direction.
    """
    m, map, point = begin.size, metrics.map, begin
    passed = np.empty((steps, m))
    for n in range(steps):
        along = random.normal(size=m)
        if n >= 2 * m and n % 3:
            one, other = random.integers(n, size=2)
            if not np.array_equal(passed[one], passed[other]):
                along = passed[one] - passed[other]
        along = along / np.sqrt(np.einsum("m,m", along, along))
        low, high = _chord(point, along, map, metrics.radius)
        if high > low:
            point = point + _drawn(point, along, low, high, answers, weights, random) * along
        passed[n] = point
    return passed


def _chord(point: Floats, along: Floats, map: Floats, radius: float) -> tuple[float, float]:
    """Return between which multiples of a direction a matrix stays positive semidefinite and within the radius."""
    half = float(np.einsum("m,m", point, along))
    root = np.sqrt(max(half * half - float(np.einsum("m,m", point, point)) + radius * radius, 0.0))
    low, high = -half - root, -half + root
    values, vectors = np.linalg.eigh(np.einsum("ijm,m->ij", map, point))
    shape = vectors / np.sqrt(np.maximum(values, 1e-300))
    slopes = np.linalg.eigvalsh(shape.T @ np.einsum("ijm,m->ij", map, along) @ shape)
    if slopes[0] < 0.0:
        high = min(high, -1.0 / slopes[0])
    if slopes[-1] > 0.0:
        low = max(low, -1.0 / slopes[-1])
    return float(low), float(high)


def _drawn(
    point: Floats,
    along: Floats,
    low: float,
    high: float,
    answers: Answers,
    weights: tuple[Floats, Ints],
    random: np.random.Generator,
) -> float:
    """Return a multiple of the direction between two ends, drawn by the weight of the metrics on the way."""
    excess = np.einsum("nm,m->n", answers.directions, point) - answers.levels
    slopes = np.einsum("nm,m->n", answers.directions, along)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        places = -excess / slopes
    crossed = np.flatnonzero((places > low) & (places < high))
    crossed = crossed[np.argsort(places[crossed])]
    becoming = answers.signs[crossed] * slopes[crossed] > 0.0
    wrong = answers.signs * excess > 0.0
    wrong[crossed] = ~becoming
    turns, (logs, begins) = np.where(becoming, 1, -1), weights
    counts, value = np.zeros(crossed.size + 1, np.int64), np.zeros(crossed.size + 1)
    for auditor, first in enumerate(begins):
        mine = answers.auditors == auditor if begins.size > 1 else np.ones(wrong.size, bool)
        np.cumsum(turns * mine[crossed], out=counts[1:])
        value += logs[first + np.count_nonzero(wrong & mine) + counts]
    ends = np.concatenate([[low], places[crossed], [high]])
    lengths = ends[1:] - ends[:-1]
    # Less the largest logarithm: the weights of some hundred answers underflow, and no part could be drawn.
    mass = np.cumsum(lengths * np.exp(value - value.max()))
    part = min(int(np.searchsorted(mass, random.random() * mass[-1], side="right")), crossed.size)
    return float(ends[part] + random.random() * lengths[part])
